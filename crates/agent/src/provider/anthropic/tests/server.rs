//! Against a server on loopback.
