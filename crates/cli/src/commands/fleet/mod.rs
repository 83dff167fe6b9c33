//! The fleet: which server is used, a worker, and the relay that stands for an agent on another machine.

mod relay;
mod worker;

use std::env;
use std::path::PathBuf;

use fleet::{AddressError, ServerAddress};
use model::variables;
use plan::Settings;

pub(crate) use self::relay::relay;
pub(crate) use self::worker::worker;
use crate::arguments::ServerArguments;
use crate::error::CommandError;

/// The server that the flags name, else the environment, else the settings of the agent directory.
pub(super) fn server(
    arguments: &ServerArguments,
    settings: &Settings,
) -> Result<ServerAddress, CommandError> {
    let variable = |name| env::var(name).ok().filter(|value| !value.is_empty());
    let path = |flag: &Option<PathBuf>, name, setting: &Option<PathBuf>| {
        flag.clone().or_else(|| variable(name).map(PathBuf::from)).or_else(|| setting.clone())
    };
    let of_settings = &settings.fleet;
    let url = arguments.fleet.clone().or_else(|| variable(variables::FLEET));
    let url = url.or_else(|| of_settings.url.clone());
    let url = url.ok_or_else(|| CommandError::usage(AddressError::Missing))?;
    let credentials =
        path(&arguments.credentials, variables::FLEET_CREDENTIALS, &of_settings.credentials);
    let ca = path(&arguments.ca, variables::FLEET_CA, &of_settings.ca);
    ServerAddress::new(&url, credentials, ca).map_err(CommandError::usage)
}
