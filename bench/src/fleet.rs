//! The fleet beside one machine: many small tasks over three workers, and how soon an event of an agent is on the caller's screen.

mod latency;
mod many;

use std::path::PathBuf;

use xtask::{python_packages, repository_root};

use crate::scratch::Scratch;
use crate::table::Table;

pub(crate) fn run() -> Result<Table, String> {
    let installed = python_packages::install_nats_server();
    installed.map_err(|(install, what)| format!("`{install:?}` {what}"))?;
    let mut table = Table::default();
    let scratch = Scratch::new()?;
    many::run(&scratch, &mut table)?;
    latency::run(&scratch, &mut table)?;
    Ok(table)
}

fn nats_server() -> PathBuf {
    repository_root().join("e2e/fleet/server/bin/nats-server")
}
