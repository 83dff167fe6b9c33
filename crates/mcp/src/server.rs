//! What a client can ask for, as the SDK hands it over. Nothing is decided here.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{Owner, OwnerKind};
use plan::Surroundings;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    ContentBlock, CustomRequest, CustomResult, ErrorCode, ErrorData, GetPromptRequestParams,
    GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, Reference, ResourceUpdatedNotificationParam, ServerCapabilities,
    ServerConfig, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleServer, SubscriptionContext};
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OnceCell, oneshot};

use crate::answer::{Answer, Refusal};
use crate::changes::Change;
use crate::desk::{Asked, Counter, Request};
use crate::ticket::Ticket;
use crate::tools_list::{self, FULL, Offer};
use crate::{prompts, resources, roots};

const INSTRUCTIONS: &str = "Sub-agents for this project. delegate_to_subagents and subagent run \
    tasks in parallel, each by an agent with a context of its own, and wait for them; \
    background_agent does not wait. A call that is answered with status running goes on: \
    get_subagent_output waits for its sessions. Sessions last, and can be continued with resume.";

/// One client.
#[derive(Clone)]
pub(crate) struct Server {
    shared: Arc<Shared>,
}

struct Shared {
    counter: Counter,
    offer: Offer,
    /// Where this process stands.
    here: Surroundings,
    /// Where the client works, once that is known.
    place: OnceCell<Surroundings>,
    next_call: AtomicU64,
    /// Whether the client hears of changes, by the older way. Once is enough.
    is_told: AtomicBool,
    /// What the client wants to hear of, by the older way to say so.
    subscribed: Mutex<BTreeSet<String>>,
}

impl Server {
    pub(crate) fn new(counter: Counter, here: Surroundings, offer: Offer) -> Server {
        Server {
            shared: Arc::new(Shared {
                counter,
                offer,
                here,
                place: OnceCell::new(),
                next_call: AtomicU64::new(1),
                is_told: AtomicBool::new(false),
                subscribed: Mutex::default(),
            }),
        }
    }

    /// Where the client works. Found out before anything is done for it.
    async fn place(
        &self,
        peer: &Peer<RoleServer>,
        client: Option<Implementation>,
    ) -> &Surroundings {
        let found = self.shared.place.get_or_init(|| async {
            let mut place = self.shared.here.clone();
            if let Some(root) = roots::root(peer, &place.cwd).await {
                place.cwd = root;
            }
            let id = client.map(|client| clean(&client.name));
            let owner = Owner { kind: OwnerKind::Mcp, id };
            self.shared.counter.hand_in(Request::Begin(Box::new(place.clone()), owner));
            place
        });
        found.await
    }

    async fn place_of(&self, context: &RequestContext<RoleServer>) -> &Surroundings {
        self.place(&context.peer, context.client_info()).await
    }

    /// Looks something up, which may take its time.
    async fn look_up<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        find: impl FnOnce(&Surroundings) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let place = self.place_of(context).await.clone();
        tokio::task::spawn_blocking(move || find(&place))
            .await
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?
    }

    /// Has somebody look at an address. Nothing that changes there after this is missed.
    async fn watch(&self, uri: String) {
        let (watched, is_watched) = oneshot::channel();
        self.shared.counter.hand_in(Request::Subscribe(uri, watched));
        // A desk that has closed tells nobody anything.
        let _ = is_watched.await;
    }

    fn subscribed(&self) -> MutexGuard<'_, BTreeSet<String>> {
        // A thread that panicked with the lock has left nothing half done.
        self.shared.subscribed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses what is no tool of ours, before anybody looks at its arguments.
    fn check_tool(&self, place: &Surroundings, name: &str) -> Result<(), ErrorData> {
        let (settings, _) = plan::load_settings(place);
        let tools = tools_list::list(settings.tools, self.shared.offer);
        if tools.iter().any(|tool| tool.name == name) {
            return Ok(());
        }
        let message = if self.shared.offer == Offer::OnlyLooking && tools_list::is_delegating(name)
        {
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
        if self.shared.is_told.swap(true, Ordering::Relaxed) {
            return;
        }
        let client = context.peer.peer_info().map(|info| info.client_info.clone());
        let mut changes = self.shared.counter.changes();
        self.place(&context.peer, client).await;
        loop {
            let changed = match changes.recv().await {
                Ok(change) => vec![change],
                Err(RecvError::Lagged(_)) => everything(&*self.subscribed()),
                Err(RecvError::Closed) => return,
            };
            for change in changed {
                let told = match change {
                    Change::List => context.peer.notify_resource_list_changed().await,
                    Change::Resource(uri) if self.subscribed().contains(&uri) => {
                        let updated = ResourceUpdatedNotificationParam::new(uri);
                        context.peer.notify_resource_updated(updated).await
                    }
                    Change::Resource(_) => Ok(()),
                };
                if told.is_err() {
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
        let (settings, _) = plan::load_settings(self.place_of(&context).await);
        Ok(ListToolsResult::with_all_items(tools_list::list(settings.tools, self.shared.offer)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.into_owned();
        let place = self.place_of(&context).await;
        self.check_tool(place, &name)?;
        let mut arguments = request.arguments.unwrap_or_default();
        let full = tools_list::is_cut(&name).then(|| arguments.remove(FULL)).flatten();
        let is_full = match full {
            None | Some(Value::Null) => false,
            Some(Value::Bool(is_full)) => is_full,
            Some(_) => {
                let message = format!("{FULL}: must be true or false");
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        let number = self.shared.next_call.fetch_add(1, Ordering::Relaxed);
        let arguments = Value::Object(arguments);
        let token = context.meta.get_progress_token();
        let counter = self.shared.counter.clone();
        let mut ticket = Ticket::hand_in(counter, token, |caller| Asked {
            number,
            name,
            arguments,
            is_full,
            caller,
        });
        let reply = tokio::select! {
            reply = ticket.wait(&context.peer) => reply,
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
            // Nobody reads this: the call was cancelled, or the conversation is over.
            None => Err(ErrorData::internal_error("cancelled", None)),
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        self.look_up(&context, move |place| resources::list(place, cursor.as_deref())).await
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
        let read = move |place: &Surroundings| resources::read(place, &request.uri);
        Ok(self.look_up(&context, read).await?.into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let uri = resources::parse(&request.uri)?.to_string();
        self.place_of(&context).await;
        let is_new = self.subscribed().insert(uri.clone());
        if is_new {
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
            self.shared.counter.hand_in(Request::Unsubscribe(request.uri));
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
        }
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.shared.counter.changes();
        self.place_of(context.request_context()).await;
        let uris = context.accepted().resource_subscriptions.clone().unwrap_or_default();
        for uri in &uris {
            self.watch(uri.clone()).await;
            // The SDK has told the client that we look, before we did.
            let _ = context.sink().notify_resource_updated(uri.clone()).await;
        }
        let telling = async {
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
                        Change::Resource(uri) => context.sink().notify_resource_updated(uri).await,
                    };
                }
            }
        };
        tokio::select! {
            () = telling => {}
            () = context.cancelled() => {}
            // The SDK waits for everybody who still has something to say.
            () = self.shared.counter.closed() => {}
        }
        for uri in uris {
            self.shared.counter.hand_in(Request::Unsubscribe(uri));
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
                let find = move |place: &Surroundings| {
                    resources::complete(place, &template.uri, &argument.name, &argument.value)
                };
                Ok(CompleteResult::new(self.look_up(&context, find).await?))
            }
            // A task is anything.
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
            // They all tell to delegate.
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

    /// What the SDK did not take for one of the methods above, although it may be called so.
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
    /// What is wrong with a value, if anything is.
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

/// What may have changed while nobody listened.
fn everything<'a>(uris: impl IntoIterator<Item = &'a String>) -> Vec<Change> {
    let resources = uris.into_iter().cloned().map(Change::Resource);
    [Change::List].into_iter().chain(resources).collect()
}

/// What others wrote may be shown in a terminal.
fn clean(text: &str) -> String {
    session::clean(text).into_owned()
}

fn result(answer: Answer) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
    result.structured_content = Some(answer.structured);
    result.is_error = Some(answer.is_error);
    result
}
