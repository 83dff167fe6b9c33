//! How providers with the protocol of OpenAI differ from OpenAI.

use crate::config::Model;

/// The needs of a provider, from its configuration, else from its name and address.
#[derive(Debug)]
pub(super) struct Traits {
    pub(super) store: bool,
    pub(super) developer_role: bool,
    pub(super) reasoning_effort: bool,
    pub(super) usage_in_stream: bool,
    pub(super) finish_reason: bool,
    pub(super) max_tokens_field: String,
    pub(super) tool_result_name: bool,
    pub(super) assistant_after_tool_result: bool,
    pub(super) thinking_as_text: bool,
    pub(super) reasoning_content: bool,
    pub(super) thinking_format: ThinkingFormat,
    pub(super) budget_field: Option<String>,
    pub(super) cache_control: bool,
    pub(super) affinity: Affinity,
    pub(super) tool_stream: bool,
}

/// The format in which a request sets the level of thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThinkingFormat {
    OpenAi,
    OpenRouter,
    DeepSeek,
    Zai,
    Together,
    AntLing,
    Qwen,
    QwenChatTemplate,
    ChatTemplate,
    Baseten,
    String,
}

/// The headers that send all requests of a session to the same machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Affinity {
    None,
    OpenAi,
    OpenRouter,
    Other,
}

impl Traits {
    pub(super) fn of(model: &Model) -> Traits {
        let url = model.base_url.to_lowercase();
        let is = |names: &[&str], hosts: &[&str]| {
            names.contains(&model.provider.as_str()) || hosts.iter().any(|host| url.contains(host))
        };
        let zai = is(&["zai", "zai-coding-cn"], &["api.z.ai", "open.bigmodel.cn"]);
        let together = is(&["together"], &["api.together.ai", "api.together.xyz"]);
        let moonshot = is(&["moonshotai", "moonshotai-cn"], &["api.moonshot."]);
        let open_router = is(&["openrouter"], &["openrouter.ai"]);
        let workers = is(&["cloudflare-workers-ai"], &["api.cloudflare.com"]);
        let gateway = is(&["cloudflare-ai-gateway"], &["gateway.ai.cloudflare.com"]);
        let nvidia = is(&["nvidia"], &["integrate.api.nvidia.com"]);
        let ant_ling = is(&["ant-ling"], &["api.ant-ling.com"]);
        let cerebras = is(&["cerebras"], &["cerebras.ai"]);
        let deepseek = is(&["deepseek"], &["deepseek.com"]);
        let grok = is(&["xai"], &["api.x.ai"]);
        let chutes = is(&[], &["chutes.ai"]);
        let opencode = is(&["opencode"], &["opencode.ai"]);
        let other = nvidia || cerebras || grok || together || chutes || deepseek || zai;
        let other = other || moonshot || opencode || workers || gateway || ant_ling;
        let short_field = chutes || deepseek || moonshot || gateway || together || nvidia;
        let short_field = short_field || ant_ling || zai;
        let effort = !(grok || zai || moonshot || together || gateway || nvidia || ant_ling);
        let is_anthropic = model.id.starts_with("anthropic/");
        let developer =
            if open_router { is_anthropic || model.id.starts_with("openai/") } else { !other };

        let compat = &model.compat;
        let thinking_format = match compat.thinking_format.as_deref() {
            Some("openrouter") => ThinkingFormat::OpenRouter,
            Some("deepseek") => ThinkingFormat::DeepSeek,
            Some("zai") => ThinkingFormat::Zai,
            Some("together") => ThinkingFormat::Together,
            Some("ant-ling") => ThinkingFormat::AntLing,
            Some("qwen") => ThinkingFormat::Qwen,
            Some("qwen-chat-template") => ThinkingFormat::QwenChatTemplate,
            Some("chat-template") => ThinkingFormat::ChatTemplate,
            Some("baseten") => ThinkingFormat::Baseten,
            Some("string-thinking") => ThinkingFormat::String,
            None if deepseek => ThinkingFormat::DeepSeek,
            None if zai => ThinkingFormat::Zai,
            None if together => ThinkingFormat::Together,
            None if ant_ling => ThinkingFormat::AntLing,
            None if open_router => ThinkingFormat::OpenRouter,
            _ => ThinkingFormat::OpenAi,
        };
        let affinity = match compat.session_affinity_format.as_deref() {
            _ if !compat.send_session_affinity_headers.unwrap_or(open_router) => Affinity::None,
            Some("openrouter") => Affinity::OpenRouter,
            Some("openai") => Affinity::OpenAi,
            Some(_) => Affinity::Other,
            None if open_router => Affinity::OpenRouter,
            None => Affinity::OpenAi,
        };
        let usual_field = if short_field { "max_tokens" } else { "max_completion_tokens" };
        let budget = compat.supports_thinking_token_budget.unwrap_or(false);
        let caches = model.provider == "openrouter" && is_anthropic;
        Traits {
            store: compat.supports_store.unwrap_or(!other),
            developer_role: compat.supports_developer_role.unwrap_or(developer),
            reasoning_effort: compat.supports_reasoning_effort.unwrap_or(effort),
            usage_in_stream: compat.supports_usage_in_streaming.unwrap_or(true),
            finish_reason: compat.supports_finish_reason.unwrap_or(true),
            max_tokens_field: compat.max_tokens_field.as_deref().unwrap_or(usual_field).to_owned(),
            tool_result_name: compat.requires_tool_result_name.unwrap_or(false),
            assistant_after_tool_result: compat
                .requires_assistant_after_tool_result
                .unwrap_or(false),
            thinking_as_text: compat.requires_thinking_as_text.unwrap_or(false),
            reasoning_content: compat
                .requires_reasoning_content_on_assistant_messages
                .unwrap_or(deepseek),
            thinking_format,
            budget_field: compat
                .thinking_token_budget_field
                .clone()
                .or_else(|| budget.then(|| "thinking_token_budget".to_owned())),
            cache_control: compat
                .cache_control_format
                .as_deref()
                .map_or(caches, |format| format == "anthropic"),
            affinity,
            tool_stream: compat.zai_tool_stream.unwrap_or(false),
        }
    }
}
