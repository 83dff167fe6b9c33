//! What the versions of pi differ in, as far as its arguments depend on it.
//!
//! A version that is not known counts as an early one: a pi that does not know a flag refuses to start.

use serde::Deserialize;

use crate::profile_fields::Configuration;
use crate::{StartError, Version};

/// From here on, MCP servers are part of pi, and a list of tools says nothing of theirs.
const HAS_SERVERS: Version = Version::new(1, 0, 4);
/// From here on, a provider without a model is refused.
const NEEDS_MODEL: Version = Version::new(1, 0, 0);
/// What the tools of servers begin with.
pub(super) const OF_SERVER: &str = "mcp__";

/// Whether the arguments depend on the version.
pub(crate) fn matters(configuration: &Configuration) -> bool {
    let Configuration { no_tools, tools, exclude_tools, provider, model, .. } = configuration;
    let is_restricted = *no_tools || !tools.is_empty() || !exclude_tools.is_empty();
    is_restricted || provider.is_some() && model.is_none()
}

/// The version in the description of a package, if it is pi's.
pub(crate) fn in_package(json: &[u8]) -> Option<Version> {
    #[derive(Deserialize)]
    struct Package {
        name: String,
        version: String,
    }
    let package: Package = serde_json::from_slice(json).ok()?;
    // It has had two owners.
    let is_pi = package.name.ends_with("/pi-coding-agent");
    Version::parse(&package.version).filter(|_| is_pi)
}

/// The argument that leaves the servers out, where tools are restricted and pi has servers.
pub(super) fn without_servers(version: Option<Version>) -> Option<&'static str> {
    version.filter(|version| *version >= HAS_SERVERS).map(|_| "--no-mcp")
}

/// Refuses what this pi would refuse without saying which profile is wrong.
pub(super) fn check_provider(
    origin: &str,
    configuration: &Configuration,
    version: Option<Version>,
) -> Result<(), StartError> {
    let Configuration { provider: Some(provider), model: None, .. } = configuration else {
        return Ok(());
    };
    match version.filter(|version| *version >= NEEDS_MODEL) {
        Some(version) => Err(StartError::ProviderWithoutModel {
            origin: origin.to_owned(),
            provider: provider.clone(),
            version,
        }),
        None => Ok(()),
    }
}
