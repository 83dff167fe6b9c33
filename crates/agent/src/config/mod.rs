//! Which model is asked, where, and with which key. The files are pi's own.

mod model;
mod secret;

pub use model::{Api, Compat, Model, Rates};
pub use secret::Secret;
