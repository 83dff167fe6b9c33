//! The methods of the protocol, as the SDK calls them. Calls of tools go to the worker; everything else is
//! looked up on the side.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{Owner, OwnerKind};
use plan::Surroundings;
use process::NoThread;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    ContentBlock, CustomRequest, CustomResult, ErrorCode, ErrorData, GetPromptRequestParams,
    GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, PingRequest,
    ReadResourceRequestParams, ReadResourceResponse, Reference, ResourceUpdatedNotificationParam,
    ServerCapabilities, ServerConfig, ServerRequest, SubscribeRequestParams, SubscriptionFilter,
    UnsubscribeRequestParams,
};
use rmcp::service::{
    NotificationContext, Peer, PeerRequestOptions, RequestContext, RoleServer, SubscriptionContext,
};
use serde_json::Value;
use session::cut_chars;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OnceCell, Semaphore, oneshot};
use tools::{Choices, Tool};

use crate::answer::{Answer, Refusal};
use crate::changes::Change;
use crate::flow::UnderWay;
use crate::pending_call::PendingCall;
use crate::tools_list::{self, FULL, Offer};
use crate::worker::{CallHandle, Request};
use crate::{elicitation, prompts, resources, roots};

/// How much of a client's name is kept.
const NAME_CHARS: usize = 80;
/// How many addresses a client can subscribe to, and watch in one request.
const SUBSCRIPTIONS: usize = 1024;
/// How many lookups go on at a time; the others wait.
const LOOKUPS: usize = 16;

const INSTRUCTIONS: &str = "Sub-agents for this project. delegate_to_subagents and subagent run \
    tasks in parallel, each by an agent with a context of its own, and wait for them; \
    background_agent does not wait. A call that is answered with status running goes on: \
    get_subagent_output waits for its sessions. Sessions last, and can be continued with resume.";

/// Serves one client.
#[derive(Clone)]
pub(crate) struct Server {
    shared: Arc<Shared>,
}

struct Shared {
    handle: CallHandle,
    offer: Offer,
    /// Those of this process.
    here: Surroundings,
    /// Those of the client, once it has said where it works.
    surroundings: OnceCell<Surroundings>,
    next_call: AtomicU64,
    /// How many more lookups may have a thread.
    lookups: Semaphore,
    /// Whether a client of an older version of the protocol gets notifications of changes.
    is_notified: AtomicBool,
    /// The addresses to which a client of an older version has subscribed.
    subscribed: Mutex<BTreeSet<String>>,
}

impl Server {
    pub(crate) fn new(handle: CallHandle, here: Surroundings, offer: Offer) -> Server {
        Server {
            shared: Arc::new(Shared {
                handle,
                offer,
                here,
                surroundings: OnceCell::new(),
                next_call: AtomicU64::new(1),
                lookups: Semaphore::new(LOOKUPS),
                is_notified: AtomicBool::new(false),
                subscribed: Mutex::default(),
            }),
        }
    }

    /// Finds out where the client works, before anything is done for it.
    async fn begin(
        &self,
        peer: &Peer<RoleServer>,
        client: Option<Implementation>,
    ) -> &Surroundings {
        let found = self.shared.surroundings.get_or_init(|| async {
            let mut surroundings = self.shared.here.clone();
            if let Some(root) = roots::root(peer, &surroundings.cwd).await {
                surroundings.cwd = root;
            }
            let id = client.map(|client| cut_chars(&clean(&client.name), NAME_CHARS).to_owned());
            let owner = Owner { kind: OwnerKind::Mcp, id };
            self.shared.handle.send(Request::Begin(Box::new(surroundings.clone()), owner));
            surroundings
        });
        found.await
    }

    async fn surroundings(&self, context: &RequestContext<RoleServer>) -> &Surroundings {
        self.begin(&context.peer, context.client_info()).await
    }

    /// From now on, what agents ask is put to the client's user, if the client can do that. Clients of the
    /// newest version do not get here: it has no requests of servers.
    fn ask_client(&self, peer: &Peer<RoleServer>) {
        if !peer.peer_info().is_some_and(|info| elicitation::can_ask(&info.capabilities)) {
            return;
        }
        let (asking, mut asked) = tokio::sync::mpsc::unbounded_channel();
        self.shared.handle.send(Request::AskClient(asking));
        let (peer, handle) = (peer.clone(), self.shared.handle.clone());
        tokio::spawn(async move {
            // The SDK counts its requests from 0, and clients of the TypeScript SDK do not let a request
            // with the id 0 be taken back. The answer to this one is of no interest.
            let ping = ServerRequest::PingRequest(PingRequest::default());
            let _ = peer.send_cancellable_request(ping, PeerRequestOptions::no_options()).await;
            while let Some(asked) = asked.recv().await {
                tokio::spawn(elicitation::ask(peer.clone(), handle.clone(), asked));
            }
        });
    }

    /// Looks something up without holding up other requests.
    async fn look_up<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        find: impl FnOnce(&Surroundings) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let surroundings = self.surroundings(context).await.clone();
        // Nothing closes it, so there is always a permit.
        let _permit = self.shared.lookups.acquire().await;
        let (sender, found) = oneshot::channel();
        let look = move || drop(sender.send(find(&surroundings)));
        // Not on the runtime's own threads: it panics where there are none to be had. Then other
        // requests wait.
        if let Err(NoThread { work: Some(look), .. }) = process::start_thread(look) {
            look();
        }
        found.await.map_err(|_| ErrorData::internal_error("the lookup failed", None))?
    }

    /// Returns when the worker watches an address, so that no later change is missed.
    async fn watch(&self, uri: String) {
        let (watched, is_watched) = oneshot::channel();
        self.shared.handle.send(Request::Subscribe(uri, watched));
        // The worker is gone only if the conversation is over.
        let _ = is_watched.await;
    }

    fn subscribed(&self) -> MutexGuard<'_, BTreeSet<String>> {
        // A thread that panicked while it held the lock has left nothing half done.
        self.shared.subscribed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the address is a new one.
    fn add_subscription(&self, uri: &str) -> Result<bool, ErrorData> {
        let mut subscribed = self.subscribed();
        if subscribed.len() >= SUBSCRIPTIONS && !subscribed.contains(uri) {
            let message = format!(
                "uri: there are {SUBSCRIPTIONS} subscriptions, and there can be no more; \
                 end some with resources/unsubscribe"
            );
            return Err(ErrorData::invalid_params(message, None));
        }
        Ok(subscribed.insert(uri.to_owned()))
    }

    /// Refuses a tool that the client is not offered, before its arguments are read.
    fn check_tool(&self, surroundings: &Surroundings, name: &str) -> Result<(), ErrorData> {
        let (settings, _) = plan::load_settings(surroundings);
        let tools = tools_list::list(&Choices::default(), settings.tools, self.shared.offer);
        if tools.iter().any(|tool| tool.name == name) {
            return Ok(());
        }
        let changes_agents = Tool::named(name).is_some_and(Tool::changes_agents);
        let message = if self.shared.offer == Offer::OnlyLooking && changes_agents {
            format!(
                "A sub-agent cannot have sub-agents of its own, so there is no tool \"{name}\" here."
            )
        } else {
            let known: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
            format!("There is no tool \"{name}\"; there are {}.", known.join(", "))
        };
        Err(ErrorData::invalid_params(clean(&message), None))
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_completions()
            .build();
        let implementation =
            Implementation::new("pi-subagents", env!("CARGO_PKG_VERSION")).with_title("Sub-agents");
        let info = ServerConfig::new(capabilities).with_server_info(implementation);
        match self.shared.offer {
            Offer::Everything => info.with_instructions(INSTRUCTIONS),
            Offer::OnlyLooking => info,
        }
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.shared.is_notified.swap(true, Ordering::Relaxed) {
            return;
        }
        let client = context.peer.peer_info().map(|info| info.client_info.clone());
        let mut changes = self.shared.handle.changes();
        self.begin(&context.peer, client).await;
        self.ask_client(&context.peer);
        loop {
            let changed = match changes.recv().await {
                Ok(change) => vec![change],
                Err(RecvError::Lagged(_)) => everything(&*self.subscribed()),
                Err(RecvError::Closed) => return,
            };
            for change in changed {
                let notified = match change {
                    Change::List => context.peer.notify_resource_list_changed().await,
                    Change::Tools => context.peer.notify_tool_list_changed().await,
                    Change::Resource(uri) if self.subscribed().contains(&uri) => {
                        let updated = ResourceUpdatedNotificationParam::new(uri);
                        context.peer.notify_resource_updated(updated).await
                    }
                    Change::Resource(_) => Ok(()),
                };
                if notified.is_err() {
                    return;
                }
            }
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let offer = self.shared.offer;
        let listed = self.look_up(&context, move |surroundings| {
            let (settings, _) = plan::load_settings(surroundings);
            let choices = Choices::here(Vec::new(), surroundings);
            Ok((tools_list::list(&choices, settings.tools, offer), choices))
        });
        let (tools, choices) = listed.await?;
        self.shared.handle.send(Request::Listed(Box::new(choices)));
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.into_owned();
        self.check_tool(self.surroundings(&context).await, &name)?;
        let mut arguments = request.arguments.unwrap_or_default();
        let is_cut = Tool::named(&name).is_some_and(tools_list::is_cut);
        let full = is_cut.then(|| arguments.remove(FULL)).flatten();
        let is_full = match full {
            None | Some(Value::Null) => false,
            Some(Value::Bool(is_full)) => is_full,
            Some(_) => {
                let message = format!("{FULL}: must be true or false");
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        let number = self.shared.next_call.fetch_add(1, Ordering::Relaxed);
        let call = (name, Value::Object(arguments), is_full);
        let token = context.meta.get_progress_token();
        let under_way = context.extensions.get::<UnderWay>().cloned();
        let handle = self.shared.handle.clone();
        let mut pending = PendingCall::send(handle, token, number, call, under_way);
        let reply = tokio::select! {
            reply = pending.wait(&context.peer) => reply,
            () = context.ct.cancelled() => None,
        };
        match reply {
            Some(Ok(answer)) => Ok(result(answer).into()),
            Some(Err(Refusal::Arguments(message))) => {
                Err(ErrorData::invalid_params(clean(&message), None))
            }
            Some(Err(Refusal::Failed(message))) => {
                let content = vec![ContentBlock::text(clean(&message))];
                Ok(CallToolResult::error(content).into())
            }
            // The client does not read this: it has cancelled the call, or closed its end.
            None => Err(ErrorData::internal_error("cancelled", None)),
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        self.look_up(&context, move |here| resources::list(here, cursor.as_deref())).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = move |here: &Surroundings| resources::read(here, &request.uri);
        Ok(self.look_up(&context, read).await?.into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let uri = resources::parse(&request.uri)?.to_string();
        self.surroundings(&context).await;
        if self.add_subscription(&uri)? {
            self.watch(uri).await;
        }
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if self.subscribed().remove(&request.uri) {
            self.shared.handle.send(Request::Unsubscribe(request.uri));
        }
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.retain(|uri| resources::parse(uri).is_ok());
            uris.truncate(SUBSCRIPTIONS);
        }
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.shared.handle.changes();
        self.surroundings(context.request_context()).await;
        let uris = context.accepted().resource_subscriptions.clone().unwrap_or_default();
        for uri in &uris {
            self.watch(uri.clone()).await;
            // The SDK has said to the client that we watch, before we did.
            let _ = context.sink().notify_resource_updated(uri.clone()).await;
        }
        let notifying = async {
            loop {
                let changed = match changes.recv().await {
                    Ok(change) => vec![change],
                    Err(RecvError::Lagged(_)) => everything(&uris),
                    Err(RecvError::Closed) => return,
                };
                for change in changed {
                    // The sink passes on what was accepted, and refuses the rest.
                    let _ = match change {
                        Change::List => context.sink().notify_resource_list_changed().await,
                        Change::Tools => context.sink().notify_tool_list_changed().await,
                        Change::Resource(uri) => context.sink().notify_resource_updated(uri).await,
                    };
                }
            }
        };
        tokio::select! {
            () = notifying => {}
            () = context.cancelled() => {}
            // The SDK ends the conversation only when this has returned.
            () = self.shared.handle.closed() => {}
        }
        for uri in uris {
            self.shared.handle.send(Request::Unsubscribe(uri));
        }
        Ok(())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let CompleteRequestParams { r#ref, argument, .. } = request;
        match r#ref {
            Reference::Resource(template) => {
                let find = move |here: &Surroundings| {
                    resources::complete(here, &template.uri, &argument.name, &argument.value)
                };
                Ok(CompleteResult::new(self.look_up(&context, find).await?))
            }
            // The only argument of a prompt is a task, which can be anything.
            _ => Ok(CompleteResult::default()),
        }
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = match self.shared.offer {
            Offer::Everything => prompts::list(),
            // All prompts say to delegate.
            Offer::OnlyLooking => Vec::new(),
        };
        Ok(ListPromptsResult::with_all_items(prompts))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if self.shared.offer == Offer::OnlyLooking {
            return Err(ErrorData::invalid_params("name: there are no prompts here", None));
        }
        let prompt = prompts::get(&request.name, request.arguments.as_ref());
        Ok(prompt.map_err(|message| ErrorData::invalid_params(clean(&message), None))?.into())
    }

    /// A request that the SDK could not read as one of the methods above.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let fields: &[(&str, Field)] = match request.method.as_str() {
            "tools/call" | "prompts/get" => &[("name", Field::Text), ("arguments", Field::Object)],
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => {
                &[("uri", Field::Text)]
            }
            "completion/complete" => &[("ref", Field::Reference), ("argument", Field::Argument)],
            method => {
                let message = format!("there is no method \"{}\"", clean(method));
                return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None));
            }
        };
        let params = request.params.unwrap_or_default();
        let wrong = fields.iter().find_map(|(name, field)| {
            let problem = field.problem(params.get(name))?;
            Some(format!("{name}: {problem}"))
        });
        let message = wrong.unwrap_or_else(|| "params: are not those of this method".to_owned());
        Err(ErrorData::invalid_params(message, None))
    }
}

/// What a parameter of a method must be.
#[derive(Clone, Copy)]
enum Field {
    Text,
    Object,
    Reference,
    Argument,
}

impl Field {
    /// What is wrong with a value.
    fn problem(self, value: Option<&Value>) -> Option<&'static str> {
        let is_text =
            |name: &str| value.and_then(|value| value.get(name)).is_some_and(Value::is_string);
        match (self, value) {
            (Field::Object, None | Some(Value::Object(_)))
            | (Field::Text, Some(Value::String(_))) => None,
            (_, None) => Some("is missing"),
            (Field::Text, _) => Some("must be a text"),
            (Field::Object, _) => Some("must be an object"),
            (Field::Reference, _) if is_text("type") && (is_text("uri") || is_text("name")) => None,
            (Field::Reference, _) => Some("must have a type, and a uri or a name"),
            (Field::Argument, _) if is_text("name") && is_text("value") => None,
            (Field::Argument, _) => Some("must have a name and a value"),
        }
    }
}

/// What may have changed while changes were lost.
fn everything<'a>(uris: impl IntoIterator<Item = &'a String>) -> Vec<Change> {
    let resources = uris.into_iter().cloned().map(Change::Resource);
    [Change::List].into_iter().chain(resources).collect()
}

/// What others wrote is shown in terminals.
fn clean(text: &str) -> String {
    session::clean(text).into_owned()
}

fn result(answer: Answer) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
    result.structured_content = Some(answer.structured);
    result.is_error = Some(answer.is_error);
    result
}
