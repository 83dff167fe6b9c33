//! The tools for any client of the Model Context Protocol, over two streams.
//!
//! The official SDK speaks the protocol, on a thread of its own with a small runtime. The thread that
//! called [`serve_in`] is the worker: it serves all calls, with the same engine as every other door. The
//! two talk through channels, and neither waits for the other's work.

mod answer;
mod changes;
mod elicitation;
mod flow;
mod missing_keys;
mod output_schema;
mod pending_call;
mod prompts;
mod resource_uri;
mod resources;
mod roots;
mod server;
mod tools_list;
mod transport;
mod worker;

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use plan::Surroundings;
use rmcp::ServiceExt;

pub use self::elicitation::read_elicited;
pub use self::tools_list::Offer;

use self::server::Server;
use self::transport::Streams;
use self::worker::{Request, Worker};

/// How long a client that has closed its end may take to read the last answers.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// The server cannot do its work.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum McpError {
    #[error("the server cannot be started: {0}")]
    Start(io::Error),
}

/// Serves one client, until it closes the input. `warn` gets what the user should know and no message
/// of the protocol can say.
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
    let (handle, worker) = Worker::new(warn).map_err(McpError::Start)?;
    let server = Server::new(handle.clone(), surroundings, offer);
    let (streams, written) =
        Streams::open(input, output, handle.clone()).map_err(McpError::Start)?;
    let speaking = move || {
        runtime.block_on(async move {
            // A client that goes away before it has said hello is not served.
            if let Ok(service) = server.serve(streams).await {
                let _ = service.waiting().await;
            }
        });
        // Lookups that are still under way have no reader any more.
        runtime.shutdown_background();
        handle.send(Request::End);
    };
    // The kernel ties supervisors to the thread that starts them, so that the worker keeps this one.
    thread::Builder::new().name("mcp".to_owned()).spawn(speaking).map_err(McpError::Start)?;
    worker.run();
    // The last answers are on their way, unless the client does not read.
    let _ = written.recv_timeout(LAST_ANSWERS);
    Ok(())
}
