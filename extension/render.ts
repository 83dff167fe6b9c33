/** Draws calls, results and messages. */

import type { MessageRenderer, ToolDefinition } from "@earendil-works/pi-coding-agent";
import { Box } from "@earendil-works/pi-tui";
import { type Part, Window } from "./window.ts";

/** The parts of a collapsed result, and its windows, whose runs the bridge is asked about when it is expanded. */
export interface Details {
	lines?: Part[];
	windows?: { runId: string }[];
}

/** What is kept with a message about a run that has ended: its heading, and where in the text the agent's words begin. */
interface Ended {
	lines?: Part[];
	answerFrom?: number;
}

/** The answer of the bridge to a question about a window. */
interface Shown {
	lines: Part[];
	expanded?: Part[];
}

/** Asks the bridge for the parts of a window. */
export type AskForWindow = (method: string, params: Record<string, unknown>) => Promise<Shown>;

/** The state of a call between two drawings. */
interface Drawn {
	call?: Shown;
	expanded?: Part[];
	isAsking?: boolean;
	askedAt?: number;
	isFinal?: boolean;
}

type DrawCall = NonNullable<ToolDefinition<any, Details, Drawn>["renderCall"]>;
type DrawResult = NonNullable<ToolDefinition<any, Details, Drawn>["renderResult"]>;

/** The shortest time between two requests for the expanded view of a running call. */
const REFRESH_MS = 1_000;
/** How many rows of an answer a message has before it is opened. */
const FIRST_ROWS = 3;

/** Draws a call: first its name, then what the bridge says about it. */
export function drawCall(name: string, ask: AskForWindow): DrawCall {
	return (args, theme, { state, argsComplete, isPartial, expanded, invalidate }) => {
		const title: Part[] = [[["title", name, true]]];
		// For a call of an earlier session, pi never sets `argsComplete`, but the call has a result.
		if (!state.call && (argsComplete || !isPartial)) {
			state.call = { lines: title };
			const show = (shown: Shown) => {
				state.call = shown;
				invalidate();
			};
			ask("view/call", { name, arguments: args }).then(show, () => {});
		}
		const { lines, expanded: opened } = state.call ?? { lines: title };
		return new Window((expanded && opened) || lines, theme);
	};
}

/** Draws a result. A refused call has no details, only text. */
export function drawResult(ask: AskForWindow): DrawResult {
	return ({ content, details }, { expanded }, theme, context) => {
		const { lines, windows } = details ?? {};
		if (lines && !expanded) return new Window(lines, theme);
		const text = content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
		if (lines && windows?.length) {
			const runs = windows.map(({ runId }) => runId);
			refresh(runs, context, ask);
			const opened = context.state.expanded ?? lines;
			// The records of the runs are gone: what the model was told has the answers, too.
			return new Window(opened.length > 0 ? opened : [...lines, { markdown: text }], theme);
		}
		const role = context.isError ? "error" : "output";
		const output: Part[] = text.split("\n").map((line) => [[role, line]]);
		return new Window(output, theme);
	};
}

/** Draws the message about a background run that has ended. A message of an earlier version is left to pi. */
export const drawEnded: MessageRenderer<Ended> = ({ content, details }, { expanded, outputPad }, theme) => {
	const { lines, answerFrom } = details ?? {};
	if (!lines || typeof content !== "string") return undefined;
	const markdown = content.slice(answerFrom);
	const box = new Box(outputPad, 1, (text) => theme.bg("customMessageBg", text));
	box.addChild(new Window([...lines, expanded ? { markdown } : { markdown, most: FIRST_ROWS }], theme));
	return box;
};

/** Asks for the expanded view: at intervals while the runs continue, once when they have ended, one request at a time. */
function refresh(runs: string[], { state, isPartial, invalidate }: Parameters<DrawResult>[3], ask: AskForWindow): void {
	const isRecent = isPartial && Date.now() - (state.askedAt ?? 0) < REFRESH_MS;
	if (state.isAsking || state.isFinal || isRecent) return;
	state.isAsking = true;
	state.askedAt = Date.now();
	state.isFinal = !isPartial;
	const show = (parts: Part[] | undefined) => {
		state.isAsking = false;
		state.expanded = parts;
		invalidate();
	};
	ask("view/expand", { runs }).then(
		({ lines }) => show(lines),
		() => show(state.expanded),
	);
}
