//! The tools for any client of the Model Context Protocol, over two streams.
//!
//! The official SDK speaks the protocol, on a thread of its own with a small runtime. Everything
//! that runs is served by the thread that called [`serve`], as at every other door: one loop over
//! one dispatcher, which is the `desk`. The two talk through channels, and neither waits for the
//! other's work.

mod answer;
mod changes;
mod desk;
mod pending;
mod place;
mod prompts;
mod resources;
mod roots;
mod server;
mod ticket;
mod tools_list;
mod transport;

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use plan::{Surroundings, SurroundingsError};
use rmcp::ServiceExt;

pub use self::tools_list::Offer;

use self::desk::Desk;
use self::server::Server;
use self::transport::Streams;

/// How long a client that has closed its end may take to read what is left.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The server cannot do its work.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum McpError {
    #[error(transparent)]
    Surroundings(#[from] SurroundingsError),
    #[error("the server cannot be started: {0}")]
    Start(io::Error),
}

/// Serves one client, until it closes the input. `warn` is told what people should know and no
/// message of the protocol can say.
pub fn serve(
    input: OwnedFd,
    output: Box<dyn Write + Send>,
    offer: Offer,
    warn: &dyn Fn(&str),
) -> Result<(), McpError> {
    serve_in(Surroundings::of_this_process()?, input, output, offer, warn)
}

/// The same for a client whose server stands somewhere else.
pub fn serve_in(
    surroundings: Surroundings,
    input: OwnedFd,
    output: Box<dyn Write + Send>,
    offer: Offer,
    warn: &dyn Fn(&str),
) -> Result<(), McpError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(McpError::Start)?;
    let (counter, desk) = Desk::open(warn).map_err(McpError::Start)?;
    let server = Server::new(counter.clone(), surroundings, offer);
    let (streams, written) =
        Streams::open(input, output, counter.clone()).map_err(McpError::Start)?;
    let speaking = move || {
        runtime.block_on(async move {
            // A client that goes away before it has said who it is wants nothing.
            if let Ok(service) = server.serve(streams).await {
                let _ = service.waiting().await;
            }
        });
        // What somebody still looks up is of no interest any more.
        runtime.shutdown_background();
        counter.end();
    };
    // The kernel ties supervisors to the thread that starts them, so the desk keeps this one.
    thread::Builder::new().name("mcp".to_owned()).spawn(speaking).map_err(McpError::Start)?;
    desk.run();
    // What was answered last is on its way, unless nobody reads it.
    let _ = written.recv_timeout(LAST_WORDS);
    Ok(())
}
