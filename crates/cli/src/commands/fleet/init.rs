//! `fleet init`: a server for this machine.

use std::path::Path;

use fleet::{Key, Pool, Role, server_configuration};

use crate::arguments::FleetInit;
use crate::error::{CommandError, Exit};
use crate::printer::Printer;

const CONFIGURATION: &str = "nats.conf";

pub(super) fn init(arguments: &FleetInit, printer: &Printer) -> Result<Exit, CommandError> {
    let mut pools: Vec<Pool> =
        arguments.pools.iter().map(|name| Pool::parse(name)).collect::<Result<_, _>>()?;
    if pools.is_empty() {
        pools.push(Pool::default());
    }
    let mut roles = vec![("caller.nk".to_owned(), Role::Caller)];
    let of_worker = |pool: &Pool| (format!("worker-{pool}.nk"), Role::Worker(pool.clone()));
    roles.extend(pools.iter().map(of_worker));
    roles.push(("viewer.nk".to_owned(), Role::Viewer));
    let names = roles.iter().map(|(name, _)| name.as_str()).chain([CONFIGURATION]);
    store::create_export_directory(&arguments.directory).map_err(CommandError::usage)?;
    let directory = std::fs::canonicalize(&arguments.directory).map_err(|error| {
        CommandError::usage(format!("{}: {error}", arguments.directory.display()))
    })?;
    if let Some(name) = names.clone().find(|name| directory.join(name).symlink_metadata().is_ok()) {
        let path = directory.join(name);
        return Err(CommandError::usage(format!("{} is there already", path.display()))
            .hint("nothing was written; name another directory, or remove the files"));
    }
    let mut users = Vec::new();
    for (name, role) in &roles {
        let key = Key::new().map_err(CommandError::failure)?;
        store::create_export(&directory.join(name), &format!("{}\n", key.seed))?;
        users.push((role.clone(), key));
    }
    let users: Vec<(Role, &Key)> = users.iter().map(|(role, key)| (role.clone(), key)).collect();
    let text = server_configuration(arguments.port, &directory.join("store"), &users);
    store::create_export(&directory.join(CONFIGURATION), &text)?;
    printer.answer(&next_steps(&directory, arguments.port, &pools))?;
    Ok(Exit::Completed)
}

fn next_steps(directory: &Path, port: u16, pools: &[Pool]) -> String {
    let directory = directory.display();
    let worker = |pool: &Pool| {
        let of_pool =
            if *pool == Pool::default() { String::new() } else { format!(" --pool {pool}") };
        format!("\n  pi-subagents worker --credentials {directory}/worker-{pool}.nk{of_pool}")
    };
    let workers: String = pools.iter().map(worker).collect();
    format!(
        "Wrote {directory}. To use it:\n\
         \x20 nats-server --config {directory}/{CONFIGURATION}\n\
         \x20 export PI_SUBAGENTS_FLEET=nats://127.0.0.1:{port}{workers}\n\
         \x20 export PI_SUBAGENTS_FLEET_CREDENTIALS={directory}/caller.nk"
    )
}
