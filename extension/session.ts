/** What the extension does in a pi that is no sub-agent. */

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AgentToolUpdateCallback, ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { Bridge, type Host, messageOf, type Params, type Request } from "./bridge.ts";
import { type AskForLines, type Details, drawCall, drawResult } from "./render.ts";

const PROTOCOL = 1;
const DIRECTORY = dirname(fileURLToPath(import.meta.url));
/** What the types of our entries in pi's sessions start with, and the key of our status line. */
const OURS = "pi-subagents";

/** A tool, as the bridge describes it. */
interface Tool {
	name: string;
	label: string;
	description: string;
	promptSnippet?: string;
	/** A JSON schema, which pi takes in the place of one of TypeBox. */
	parameters: any;
}

/**
 * The tools of the last session in this process. After `/reload`, `/resume` and the like, pi draws the conversation before it
 * starts the session, and draws calls of tools that it does not know as JSON.
 */
const lastTools: Map<string, Tool> = ((globalThis as any)[Symbol.for(`${OURS}:tools`)] ??= new Map());

/** Registers what does not depend on models, and everything else when a session starts. */
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
}

/** One session of pi, from its start to its shutdown. */
class Session implements Host {
	private readonly bridge = new Bridge(DIRECTORY, this);
	/** The latest that pi gave us; none before the start and after the shutdown. */
	private context: ExtensionContext | undefined;
	private readonly started = Promise.withResolvers<void>();
	/** What the next bridge is told about why it is started. */
	private reason = "startup";
	/** The models that the tools were registered for. */
	private registeredFor: string | undefined;
	/** What the user was told last, so that it is told once. */
	private reported: string | undefined;
	private readonly updates = new Map<string, AgentToolUpdateCallback<Details>>();
	/** The calls that have failed and have details: only a throw would tell pi, and lose them. */
	private readonly failed = new Set<string>();

	constructor(private readonly pi: ExtensionAPI) {}

	async start(reason: string, context: ExtensionContext): Promise<void> {
		this.context = context;
		this.started.resolve();
		// A bridge that is started later reads the entries itself.
		if (reason !== "tree") this.reason = reason;
		if (this.bridge.isRunning) {
			await this.attempt(() => this.tellEntries(reason, this.bridge.request));
		}
		await this.registerTools(context);
	}

	/** Registers the tools, unless that was done for the same models. Tries again what has failed before. */
	async registerTools(context: ExtensionContext): Promise<void> {
		this.context = context;
		const models = modelsOf(context);
		const key = models.map((model) => model.toLowerCase()).sort().join("\n");
		if (models.length === 0 || (key === this.registeredFor && this.bridge.isRunning)) return;
		await this.attempt(async () => {
			const connection = await this.bridge.connect();
			if (key === this.registeredFor) return;
			const { tools }: { tools: Tool[] } = await connection.request("tools/list", { models });
			const dropped = new Set(lastTools.keys());
			lastTools.clear();
			for (const tool of tools) {
				dropped.delete(tool.name);
				lastTools.set(tool.name, tool);
				this.register(tool);
			}
			// A tool cannot be taken back, but the model need not see it.
			if (dropped.size > 0) this.pi.setActiveTools(this.pi.getActiveTools().filter((name) => !dropped.has(name)));
			this.registeredFor = key;
			this.reported = undefined;
		});
	}

	register(tool: Tool): void {
		const ask: AskForLines = async (method, params) => {
			await this.started.promise;
			return (await this.bridge.request(method, params)).lines;
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
		// What fails from now on is of no interest to anybody.
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

	async greet(request: Request): Promise<void> {
		const context = this.present();
		const script = process.argv[1];
		await request("initialize", {
			protocol: PROTOCOL,
			extensionVersion: JSON.parse(readFileSync(join(DIRECTORY, "package.json"), "utf8")).version,
			mode: context.mode,
			sessionId: context.sessionManager.getSessionId(),
			// A pi that was compiled into one program has its script inside, where nobody else can start it.
			agent: script && !script.startsWith("/$bunfs/") ? [process.execPath, script] : null,
			trusted: context.isProjectTrusted(),
			columns: process.stdout.columns ?? null,
		});
		await this.tellEntries(this.reason, request);
	}

	async answer(method: string, params: Params, gone: AbortSignal): Promise<unknown> {
		const { ui, hasUI } = this.present();
		switch (method) {
			case "ui/select":
				return { value: (hasUI && (await ui.select(params.title, params.options, { signal: gone }))) || null };
			case "ui/input":
				return { value: hasUI ? ((await ui.input(params.title, params.placeholder, { signal: gone })) ?? null) : null };
			case "ui/editor":
				return { value: hasUI ? ((await ui.editor(params.title, params.prefill)) ?? null) : null };
			case "ui/confirm":
				return { value: hasUI && (await ui.confirm(params.title, params.message, { signal: gone })) };
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
					this.present().ui.notify(params.message, params.level);
					break;
				case "ui/status":
					this.present().ui.setStatus(OURS, params.text ?? undefined);
					break;
			}
		} catch {
			// pi has gone on to another session in the meantime. No task fails because of that.
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
		// Cancelled or not, the answer is waited for: with it, everything that the call has started is gone.
		const cancel = () => connection.notify("tools/cancel", { callId });
		try {
			if (onUpdate) this.updates.set(callId, onUpdate);
			const allTools = this.pi.getAllTools().map((tool) => tool.name);
			const models = modelsOf(context);
			const answering = connection.request("tools/call", { callId, name, arguments: args, models, allTools });
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

	/** Tells the bridge what it has written down on the current branch of the session. */
	private async tellEntries(reason: string, request: Request) {
		const branch = reason === "new" ? [] : this.present().sessionManager.getBranch();
		const entries = branch
			.filter((entry) => entry.type === "custom")
			.filter((entry) => entry.customType.startsWith(OURS))
			.map(({ customType, data }) => ({ customType, data }));
		await request("session/start", { reason, entries });
		// Another bridge, after this one has died, starts with what this one will have written down.
		this.reason = "reload";
	}

	/** Does something that may fail without harm to pi. Why it failed is told once. */
	private async attempt(action: () => Promise<unknown>): Promise<void> {
		try {
			await action();
		} catch (error) {
			const message = messageOf(error);
			if (!this.context || message === this.reported) return;
			this.reported = message;
			if (this.context.hasUI) this.context.ui.notify(message, "error");
			else console.error(message);
		}
	}

	private present(): ExtensionContext {
		if (!this.context) throw new Error("This session of pi has ended.");
		return this.context;
	}
}

/** The models that can be used, in pi's order. */
function modelsOf(context: ExtensionContext): string[] {
	return context.modelRegistry.getAvailable().map((model) => `${model.provider}/${model.id}`);
}

/** What the bridge says about a call, as pi wants it. */
function resultOf({ text, details, usage }: Params) {
	return { content: [{ type: "text" as const, text }], details, ...(usage ? { usage } : {}) };
}
