//! Which server of the fleet is used.

use fleet::{AddressError, ServerAddress};
use plan::{Settings, Surroundings, named_server};

use crate::arguments::ServerArguments;
use crate::error::CommandError;

/// The server that the flags name, else the environment, else the settings of the agent directory.
pub(super) fn fleet_server(
    arguments: &ServerArguments,
    settings: &Settings,
    surroundings: &Surroundings,
) -> Result<ServerAddress, CommandError> {
    let named = named_server(settings, surroundings);
    let url = arguments.fleet.clone().or(named.url);
    let url = url.ok_or_else(|| CommandError::usage(AddressError::Missing))?;
    let credentials = arguments.credentials.clone().or(named.credentials);
    let ca = arguments.ca.clone().or(named.ca);
    ServerAddress::new(&url, credentials, ca).map_err(CommandError::usage)
}
