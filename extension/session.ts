/** The extension in a pi that is not a sub-agent. */

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AgentToolUpdateCallback, ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { showAgents } from "./agents.ts";
import { Bridge, type Host, messageOf, type Params, type Request } from "./bridge.ts";
import { Dialogs } from "./dialogs.ts";
import { type AskForWindow, type Details, drawCall, drawEnded, drawResult } from "./render.ts";

const PROTOCOL = 2;
const DIRECTORY = dirname(fileURLToPath(import.meta.url));
/** The prefix of our entry types in pi's sessions, and the key of our status line. */
const OURS = "pi-subagents";

/** A tool, as the bridge describes it. */
interface Tool {
	name: string;
	label: string;
	description: string;
	promptSnippet?: string;
	/** A JSON schema; pi accepts it in place of a TypeBox schema. */
	parameters: any;
}

/**
 * The tools of the previous session in this process. After `/reload`, `/resume` and the like, pi draws the conversation
 * before it starts the session, and it draws calls of unknown tools as JSON.
 */
const lastTools: Map<string, Tool> = ((globalThis as any)[Symbol.for(`${OURS}:tools`)] ??= new Map());

/** Registers the handlers and the commands. The tools follow when a session starts and its models are known. */
export function serve(pi: ExtensionAPI): void {
	const session = new Session(pi);
	for (const tool of lastTools.values()) session.register(tool);
	pi.on("resources_discover", () => ({ promptPaths: [join(DIRECTORY, "prompts")] }));
	pi.on("session_start", (event, context) => session.start(event.reason, context));
	pi.on("session_tree", (_event, context) => session.start("tree", context));
	pi.on("before_agent_start", (_event, context) => session.registerTools(context));
	pi.on("model_select", (_event, context) => session.registerTools(context));
	pi.on("tool_result", (event) => session.mark(event.toolCallId));
	pi.on("session_shutdown", () => session.shutDown());
	pi.registerCommand("profile", {
		description: "Manage subagent profiles (list, show, create, edit, delete)",
		getArgumentCompletions: (prefix) => session.complete("profile", prefix),
		handler: (args, context) => session.command("profile", args, context),
	});
	pi.registerCommand("agents", {
		description: "Look into, speak to, stop or resume the sub-agents of this session and project",
		handler: (_args, context) => session.agents(context),
	});
	pi.registerMessageRenderer(`${OURS}:bg-complete`, drawEnded);
}

function keyOf(models: string[]): string {
	return models.map((model) => model.toLowerCase()).sort().join("\n");
}

/** One session of pi, from its start to its shutdown. */
class Session implements Host {
	private readonly bridge = new Bridge(DIRECTORY, this);
	/** The latest context from pi; undefined before the start and after the shutdown. */
	private context: ExtensionContext | undefined;
	private readonly started = Promise.withResolvers<void>();
	/** Why the next bridge is started. */
	private reason = "startup";
	/** The tools as they are registered. */
	private registered: string | undefined;
	/** The models in the order in which the tools name them: another order alone is no reason to change the tools. */
	private models: string[] = [];
	/** The last reported error, so that it is reported once. */
	private reported: string | undefined;
	private readonly dialogs = new Dialogs();
	private readonly updates = new Map<string, AgentToolUpdateCallback<Details>>();
	/** Failed calls with details. To mark a failure, pi expects an exception, which cannot carry details. */
	private readonly failed = new Set<string>();

	constructor(private readonly pi: ExtensionAPI) {}

	async start(reason: string, context: ExtensionContext): Promise<void> {
		this.context = context;
		this.started.resolve();
		// If the bridge is not running, `greet` sends the entries when it starts.
		if (reason !== "tree") this.reason = reason;
		if (this.bridge.isRunning) {
			await this.attempt(() => this.sendEntries(reason, this.bridge.request));
		}
		await this.registerTools(context);
	}

	/** Registers the tools, unless they are registered as they are now: models and presets come and go. Retries after a failure. */
	async registerTools(context: ExtensionContext): Promise<void> {
		this.context = context;
		const models = modelsOf(context);
		if (models.length === 0) return;
		if (keyOf(models) !== keyOf(this.models)) this.models = models;
		await this.attempt(async () => {
			const connection = await this.bridge.connect();
			const { tools }: { tools: Tool[] } = await connection.request("tools/list", { models: this.models });
			const offered = JSON.stringify(tools);
			if (offered === this.registered) return;
			const dropped = new Set(lastTools.keys());
			lastTools.clear();
			for (const tool of tools) {
				dropped.delete(tool.name);
				lastTools.set(tool.name, tool);
				this.register(tool);
			}
			// pi cannot unregister a tool, but it can hide it from the model.
			if (dropped.size > 0) this.pi.setActiveTools(this.pi.getActiveTools().filter((name) => !dropped.has(name)));
			this.registered = offered;
			this.reported = undefined;
		});
	}

	register(tool: Tool): void {
		const ask: AskForWindow = async (method, params) => {
			await this.started.promise;
			return this.bridge.request(method, params);
		};
		this.pi.registerTool<any, Details>({
			...tool,
			execute: (callId, args, signal, onUpdate, context) => this.call(tool, callId, args, signal, onUpdate, context),
			renderCall: drawCall(tool.name, ask),
			renderResult: drawResult(ask),
		});
	}

	/** Marks the result of a call that has failed. */
	mark(callId: string): { isError: true } | undefined {
		return this.failed.delete(callId) ? { isError: true } : undefined;
	}

	async shutDown(): Promise<void> {
		this.ended();
		// Later failures are not reported.
		this.context = undefined;
		await this.bridge.close();
	}

	async complete(name: string, prefix: string): Promise<{ value: string; label: string }[] | null> {
		try {
			const { items } = await this.bridge.request("command/complete", { name, prefix });
			return items.length > 0 ? items : null;
		} catch {
			return null;
		}
	}

	async command(name: string, args: string, context: ExtensionContext): Promise<void> {
		this.context = context;
		this.reported = undefined;
		await this.attempt(() => this.bridge.request("command/run", { name, arguments: args }));
	}

	async agents(context: ExtensionContext): Promise<void> {
		this.context = context;
		this.reported = undefined;
		const act = async (runId: string, action: string, text: string) => {
			const params = { runId, action, text, models: modelsOf(context), allTools: this.allTools() };
			const { message, text: answer } = await this.bridge.request("agents/act", params);
			return message ?? answer;
		};
		await this.attempt(() => showAgents(context, this.dialogs, this.bridge.request, act));
	}

	async greet(request: Request): Promise<void> {
		const context = this.present();
		const script = process.argv[1];
		await request("initialize", {
			protocol: PROTOCOL,
			extensionVersion: JSON.parse(readFileSync(join(DIRECTORY, "package.json"), "utf8")).version,
			mode: context.mode,
			sessionId: context.sessionManager.getSessionId(),
			// The script of a compiled pi is inside its executable, where another program cannot start it.
			agent: script && !script.startsWith("/$bunfs/") ? [process.execPath, script] : null,
			trusted: context.isProjectTrusted(),
			columns: process.stdout.columns ?? null,
		});
		await this.sendEntries(this.reason, request);
	}

	async answer(method: string, params: Params, gone: AbortSignal): Promise<unknown> {
		const { ui, hasUI, mode } = this.present();
		const ask = async <T>(dialog: () => Promise<T>) => {
			if (!hasUI) return { value: null };
			return { value: (await (mode === "tui" ? this.dialogs.show(dialog) : dialog())) ?? null };
		};
		switch (method) {
			case "ui/select":
				return ask(() => ui.select(params.title, params.options, { signal: gone }));
			case "ui/input":
				return ask(() => ui.input(params.title, params.placeholder, { signal: gone }));
			case "ui/editor":
				return ask(() => ui.editor(params.title, params.prefill));
			case "ui/confirm":
				return ask(() => ui.confirm(params.title, params.message, { signal: gone }));
			default:
				throw new Error(`This extension knows no request ${method}.`);
		}
	}

	take(method: string, params: Params): void {
		try {
			switch (method) {
				case "tools/update":
					this.updates.get(params.callId)?.(resultOf(params));
					break;
				case "session/append":
					this.pi.appendEntry(params.customType, params.data);
					break;
				case "session/message": {
					const { customType, content, details } = params;
					this.pi.sendMessage({ customType, content, display: true, details }, { triggerTurn: false });
					break;
				}
				case "ui/notify":
					this.notify(params.message, params.level);
					break;
				case "ui/status":
					this.present().ui.setStatus(OURS, params.text ?? undefined);
					break;
			}
		} catch {
			// pi has switched to another session in the meantime. That must not fail a task.
		}
	}

	ended(): void {
		this.take("ui/status", { text: null });
	}

	cwd(): string {
		return this.present().cwd;
	}

	private async call(
		{ name }: Tool,
		callId: string,
		args: unknown,
		signal: AbortSignal | undefined,
		onUpdate: AgentToolUpdateCallback<Details> | undefined,
		context: ExtensionContext,
	) {
		this.context = context;
		const connection = await this.bridge.connect();
		// Waits for the answer even after a cancellation: it means that every process of the call has ended.
		const cancel = () => connection.notify("tools/cancel", { callId });
		try {
			if (onUpdate) this.updates.set(callId, onUpdate);
			const params = { callId, name, arguments: args, models: modelsOf(context), allTools: this.allTools() };
			const answering = connection.request("tools/call", params);
			if (signal?.aborted) cancel();
			else signal?.addEventListener("abort", cancel);
			const answer = await answering;
			if (answer.isError) this.failed.add(callId);
			return resultOf(answer);
		} finally {
			signal?.removeEventListener("abort", cancel);
			this.updates.delete(callId);
		}
	}

	private allTools(): string[] {
		return this.pi.getAllTools().map((tool) => tool.name);
	}

	/** Sends the bridge its entries from the current branch of the session. */
	private async sendEntries(reason: string, request: Request) {
		const branch = reason === "new" ? [] : this.present().sessionManager.getBranch();
		const entries = branch
			.filter((entry) => entry.type === "custom")
			.filter((entry) => entry.customType.startsWith(OURS))
			.map(({ customType, data }) => ({ customType, data }));
		await request("session/start", { reason, entries });
		// If this bridge dies, the next one starts from the entries that it wrote.
		this.reason = "reload";
	}

	/** Runs an action that may fail without harm to pi. The same error is reported once. */
	private async attempt(action: () => Promise<unknown>): Promise<void> {
		try {
			await action();
		} catch (error) {
			const message = messageOf(error);
			if (!this.context || message === this.reported) return;
			this.reported = message;
			this.notify(message, "error");
		}
	}

	/** Tells the user something: on standard error where pi has no other way, which is so with `-p`. */
	private notify(message: string, level: "info" | "warning" | "error"): void {
		const { ui, hasUI } = this.present();
		if (hasUI) ui.notify(message, level);
		else console.error(message);
	}

	private present(): ExtensionContext {
		if (!this.context) throw new Error("This session of pi has ended.");
		return this.context;
	}
}

/** The available models, in pi's order. */
function modelsOf(context: ExtensionContext): string[] {
	return context.modelRegistry.getAvailable().map((model) => `${model.provider}/${model.id}`);
}

/** The answer of the bridge in the form that pi expects. */
function resultOf({ text, details, usage }: Params) {
	return { content: [{ type: "text" as const, text }], details, ...(usage ? { usage } : {}) };
}
