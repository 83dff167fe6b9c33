/** Draws calls and results in the colours of the theme. The bridge decides the lines. */

import type { Theme, ThemeColor, ToolDefinition } from "@earendil-works/pi-coding-agent";
import { type Component, truncateToWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";

/** A line: pieces of text with their role, and whether they are bold. */
type Line = [role: string, text: string, isBold?: boolean][];

/** The lines of a collapsed result, and the runs to ask the bridge about when it is expanded. */
export interface Details {
	lines?: Line[];
	runs?: string[];
}

/** Asks the bridge for lines. */
export type AskForLines = (method: string, params: Record<string, unknown>) => Promise<Line[]>;

/** The state of a call between two drawings. */
interface Drawn {
	call?: Line[];
	expanded?: Line[];
	isAsking?: boolean;
	askedAt?: number;
	isFinal?: boolean;
}

type DrawCall = NonNullable<ToolDefinition<any, Details, Drawn>["renderCall"]>;
type DrawResult = NonNullable<ToolDefinition<any, Details, Drawn>["renderResult"]>;

const COLOURS: Record<string, ThemeColor> = {
	title: "toolTitle",
	accent: "accent",
	muted: "muted",
	dim: "dim",
	success: "success",
	warning: "warning",
	error: "error",
	added: "toolDiffAdded",
	removed: "toolDiffRemoved",
	output: "toolOutput",
};

/** The shortest time between two requests for the expanded view of a running call. */
const REFRESH_MS = 1_000;

/** Draws a call: first its name, then the lines from the bridge. */
export function drawCall(name: string, ask: AskForLines): DrawCall {
	return (args, theme, { state, argsComplete, isPartial, invalidate }) => {
		const title: Line[] = [[["title", name, true]]];
		// For a call of an earlier session, pi never sets `argsComplete`, but the call has a result.
		if (!state.call && (argsComplete || !isPartial)) {
			state.call = title;
			const show = (lines: Line[]) => {
				state.call = lines;
				invalidate();
			};
			ask("view/call", { name, arguments: args }).then(show, () => {});
		}
		return new Lines(state.call ?? title, theme, false);
	};
}

/** Draws a result. A refused call has no details, only text. */
export function drawResult(ask: AskForLines): DrawResult {
	return ({ content, details }, { expanded }, theme, context) => {
		const { lines, runs } = details ?? {};
		if (lines && !expanded) return new Lines(lines, theme, false);
		if (lines && runs?.length) {
			refresh(runs, context, ask);
			return new Lines(context.state.expanded ?? lines, theme, context.state.expanded !== undefined);
		}
		const text = content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
		const role = context.isError ? "error" : "output";
		return new Lines(text.split("\n").map((line) => [[role, line]]), theme, true);
	};
}

/** Asks for the expanded view: at intervals while the runs continue, once when they have ended, one request at a time. */
function refresh(runs: string[], { state, isPartial, invalidate }: Parameters<DrawResult>[3], ask: AskForLines): void {
	const isRecent = isPartial && Date.now() - (state.askedAt ?? 0) < REFRESH_MS;
	if (state.isAsking || state.isFinal || isRecent) return;
	state.isAsking = true;
	state.askedAt = Date.now();
	state.isFinal = !isPartial;
	const show = (lines: Line[] | undefined) => {
		state.isAsking = false;
		state.expanded = lines;
		invalidate();
	};
	ask("view/expand", { runs }).then(show, () => show(state.expanded));
}

/** Lines that are cut at the width, or wrapped. Errors are always wrapped: half an error message helps little. */
class Lines implements Component {
	private width = -1;
	private drawn: string[] = [];

	constructor(
		private readonly lines: Line[],
		private readonly theme: Theme,
		private readonly isWrapped: boolean,
	) {}

	invalidate(): void {
		this.width = -1;
	}

	render(width: number): string[] {
		if (width !== this.width) {
			this.width = width;
			this.drawn = this.lines.flatMap((line) => this.draw(line, width));
		}
		return this.drawn;
	}

	private draw(line: Line, width: number): string[] {
		const painted = line.map(([role, text, isBold]) => {
			const words = isBold ? this.theme.bold(text) : text;
			const colour = COLOURS[role];
			return colour ? this.theme.fg(colour, words) : words;
		});
		const isWhole = this.isWrapped || line.some(([role]) => role === "error");
		return isWhole ? wrapTextWithAnsi(painted.join(""), width) : [truncateToWidth(painted.join(""), width, "…")];
	}
}
