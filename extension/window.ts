/** Paints windows in the colours of the theme, at the width and the height of the screen. The bridge decides their parts. */

import { getMarkdownTheme, keyText, type Theme, type ThemeColor } from "@earendil-works/pi-coding-agent";
import { type Component, Markdown, truncateToWidth, visibleWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";

/** A line: pieces of text with their role, and whether they are bold. */
export type Line = [role: string, text: string, isBold?: boolean][];

/** A cell of a row: the blanks before it, where its text stands, how wide it is at least, and when it leaves a narrow screen. */
interface Cell {
	text: Line;
	gap: number;
	align?: "right" | "rest";
	least?: number;
	leaves?: number;
}

/** Something that an agent said or did, and what came of it. */
interface Step {
	line: Line;
	indent: number;
	result?: Line;
}

interface Row {
	row: string;
	cells: Cell[];
}

interface Steps {
	steps: Step[];
	bar: string;
	/** Of a running task: how many rows it has at most. */
	most?: number | null;
}

/** An answer; collapsed, if only so many rows of it are shown. */
interface Answer {
	markdown: string;
	most?: number;
}

export type Part = Line | Row | Steps | Answer;

const COLOURS: Record<string, ThemeColor> = {
	title: "toolTitle",
	accent: "accent",
	moving: "accent",
	muted: "muted",
	openingKey: "muted",
	dim: "dim",
	success: "success",
	warning: "warning",
	error: "error",
	added: "toolDiffAdded",
	removed: "toolDiffRemoved",
	output: "toolOutput",
};

/** The mark of a running task. pi draws while it works, and each time the mark has moved. */
const SPINNER = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const SPINNER_MS = 100;
const SEGMENTER = new Intl.Segmenter();
/** The rows of the screen that pi itself needs while tasks run. */
const PI_ROWS = 14;
/** Results stand below each other where they are short. */
const RESULTS_AT = 60;

/** The height of the screen. */
export function screenRows(): number {
	return process.stdout.rows ?? 40;
}

export function isMoving(part: Part): boolean {
	return "row" in part && part.cells.some(({ text }) => text.some(([role]) => role === "moving"));
}

/** The text of a line, without its roles. */
function plain(line: Line): string {
	return line.map(([, text]) => text).join("");
}

/** The text of all parts, for a screen of another program. */
export function plainText(parts: Part[]): string {
	const rows = parts.flatMap((part) => {
		if ("row" in part) return part.cells.map(({ text }) => plain(text)).filter(Boolean).join("  ");
		if ("steps" in part) return part.steps.map(({ line, result = [] }) => `  ${plain([...line, ["plain", "  "], ...result])}`);
		return "markdown" in part ? part.markdown : plain(part);
	});
	return rows.join("\n");
}

/** The parts of a window, below each other. */
export class Window implements Component {
	private size = "";
	private rows: string[] = [];
	/** The rows whose mark moves. */
	private moving: number[] = [];

	constructor(
		private readonly parts: Part[],
		private readonly theme: Theme,
	) {}

	invalidate(): void {
		this.size = "";
	}

	render(width: number): string[] {
		const size = `${width}x${screenRows()}`;
		if (size !== this.size) {
			this.size = size;
			this.paint(width);
		}
		if (this.moving.length === 0) return this.rows;
		const frame = Math.floor(Date.now() / SPINNER_MS);
		const rows = [...this.rows];
		for (const index of this.moving) {
			// Neighbours move apart, as in the shell.
			const mark = SPINNER[(frame + 3 * index) % SPINNER.length] ?? "";
			rows[index] = (rows[index] ?? "").replace(SPINNER[0] ?? "", mark);
		}
		return rows;
	}

	private paint(width: number): void {
		const tables = this.tables(width);
		const painted = this.parts.map((part) => this.paintPart(part, width, tables));
		const heights = shareHeights(this.parts, painted);
		this.rows = [];
		this.moving = [];
		for (const [index, part] of this.parts.entries()) {
			if (isMoving(part)) this.moving.push(this.rows.length);
			const { shown, hasGap } = heights.get(index) ?? { shown: Number.POSITIVE_INFINITY, hasGap: false };
			const rows = painted[index] ?? [];
			if (shown > 0) this.rows.push(...rows.slice(-shown));
			if (hasGap && index + 1 < this.parts.length) this.rows.push("");
		}
	}

	/** The widths of the columns of each table. */
	private tables(width: number): Map<string, (number | undefined)[]> {
		const rows = new Map<string, Cell[][]>();
		for (const part of this.parts) {
			if ("row" in part) rows.set(part.row, [...(rows.get(part.row) ?? []), part.cells]);
		}
		return new Map([...rows].map(([name, cells]) => [name, columnWidths(cells, width)]));
	}

	private paintPart(part: Part, width: number, tables: Map<string, (number | undefined)[]>): string[] {
		if ("row" in part) return [this.paintRow(part.cells, tables.get(part.row) ?? [], width)];
		if ("steps" in part) {
			const bar = this.colour(part.bar, "┃ ");
			return part.steps.flatMap((step) => this.paintStep(step, Math.max(1, width - 2))).map((row) => bar + row);
		}
		if ("markdown" in part) return this.paintAnswer(part, width);
		const indent = /^[ ❯]*/.exec(plain(part))?.[0].length ?? 0;
		return wrap(this.text(part), width, indent);
	}

	private paintRow(cells: Cell[], columns: (number | undefined)[], width: number): string {
		let row = "";
		const widths = withEmptyCells(cells, columns);
		for (const [index, { text, gap, align }] of cells.entries()) {
			const wide = widths[index];
			if (wide === undefined) continue;
			const cell = this.text(cut(text, wide));
			const blanks = " ".repeat(Math.max(0, wide - visibleWidth(cell)));
			const before = " ".repeat(row === "" ? 0 : gap);
			row += before + (align === "right" ? blanks + cell : cell + blanks);
		}
		// What never leaves can still be too wide for a very narrow screen.
		return visibleWidth(row) <= width ? row : truncateToWidth(row, width, "");
	}

	/** A step: its result beside it where that is short, else below. */
	private paintStep({ line, indent, result }: Step, width: number): string[] {
		const rows = wrap(this.text(line), width, indent);
		if (!result) return rows;
		const painted = this.text(result);
		const used = visibleWidth(plain(line));
		const at = Math.max(Math.min(RESULTS_AT, Math.floor(width / 2)), used + 2);
		if (at + visibleWidth(painted) <= Math.min(width, 2 * RESULTS_AT)) {
			return [this.text(line) + " ".repeat(at - used) + painted];
		}
		const blanks = " ".repeat(Math.min(indent, width - 1));
		const below = wrapTextWithAnsi(painted, Math.max(1, width - blanks.length));
		return [...rows, ...below.map((row) => blanks + row)];
	}

	private paintAnswer({ markdown, most }: Answer, width: number): string[] {
		const rows = new Markdown(markdown, 2, 0, getMarkdownTheme()).render(width);
		const more = most === undefined ? 0 : rows.length - most;
		// One row more needs no sign, which would take its place.
		if (most === undefined || more < 2) return rows;
		const first = rows.slice(0, most);
		while (first.at(-1)?.trim() === "") first.pop();
		return [...first, this.text([["dim", `  (${more} more lines, `], ["openingKey", ""], ["dim", ")"]])];
	}

	private text(line: Line): string {
		return line.map(([role, text, isBold]) => this.colour(role, isBold ? this.theme.bold(text) : text)).join("");
	}

	private colour(role: string, text: string): string {
		const colour = COLOURS[role];
		const words = role === "openingKey" ? keyText("app.tools.expand") : text;
		return colour ? this.theme.fg(colour, words) : words;
	}
}

/** The rows that each window of a running task has, and whether a blank one follows: what it needs, or its share of the screen. */
function shareHeights(parts: Part[], painted: string[][]): Map<number, { shown: number; hasGap: boolean }> {
	const wanted = new Map<number, number>();
	let left = screenRows() - PI_ROWS;
	for (const [index, part] of parts.entries()) {
		const rows = painted[index]?.length ?? 0;
		if ("steps" in part && part.most) wanted.set(index, Math.min(rows, part.most));
		else left -= rows;
	}
	// Windows that need less than their share leave the rest to the others, which all get the same.
	let share = 0;
	for (const [number, rows] of [...wanted.values()].sort((a, b) => a - b).entries()) {
		share = Math.max(0, Math.floor(left / (wanted.size - number)));
		if (rows + 1 > share) break;
		left -= rows + 1;
	}
	const gap = share > 2 ? 1 : 0;
	return new Map([...wanted].map(([index, rows]) => [index, { shown: Math.min(rows, share - gap), hasGap: gap > 0 && rows > 0 }]));
}

/** How wide each column is; undefined for one that has no text, or has left because the screen is too narrow. */
function columnWidths(rows: Cell[][], width: number): (number | undefined)[] {
	const columns = rows[0] ?? [];
	const widths: (number | undefined)[] = columns.map(({ align, leaves, least = 0 }, index) => {
		const widest = Math.max(...rows.map((row) => visibleWidth(plain(row[index]?.text ?? []))));
		// A long name leaves room for the rest.
		const wide = leaves === undefined ? Math.min(widest, Math.floor(width / 2)) : widest;
		if (align === "rest") return least;
		return Math.max(wide, least) || undefined;
	});
	const needed = () => {
		const shown = columns.map(({ gap }, index) => ({ gap, wide: widths[index] })).filter(({ wide }) => wide !== undefined);
		return shown.reduce((sum, { gap, wide = 0 }, index) => sum + (index > 0 ? gap : 0) + wide, 0);
	};
	const leaving = columns.map(({ leaves }, index) => ({ leaves, index })).filter(({ leaves }) => leaves !== undefined);
	leaving.sort((a, b) => (a.leaves ?? 0) - (b.leaves ?? 0));
	for (const { index } of leaving) {
		if (needed() > width) widths[index] = undefined;
	}
	const rest = columns.findIndex(({ align }) => align === "rest");
	if (rest >= 0) widths[rest] = Math.max(0, (widths[rest] ?? 0) + width - needed());
	return widths;
}

/** The widths for one row: what its task does now, or what became of it, also has the room of the empty cells behind it. */
function withEmptyCells(cells: Cell[], columns: (number | undefined)[]): (number | undefined)[] {
	const widths = [...columns];
	const rest = cells.findIndex(({ align }) => align === "rest");
	for (let index = rest + 1; rest >= 0 && index < cells.length; index++) {
		const { text = [], gap = 0 } = cells[index] ?? {};
		if (widths[index] === undefined) continue;
		if (plain(text) !== "") break;
		widths[rest] = (widths[rest] ?? 0) + gap + (widths[index] ?? 0);
		widths[index] = undefined;
	}
	return widths;
}

/** A line that is no wider than this. What is cut has a sign; pi's own function would end the colour behind the text, too. */
function cut(line: Line, width: number): Line {
	if (visibleWidth(plain(line)) <= width) return line;
	const kept: Line = [];
	let left = width - 1;
	for (const [role, text, isBold] of line) {
		let beginning = "";
		for (const { segment } of SEGMENTER.segment(text)) {
			left -= visibleWidth(segment);
			if (left < 0) return width > 0 ? [...kept, [role, beginning, isBold], ["dim", "…"]] : [];
			beginning += segment;
		}
		kept.push([role, beginning, isBold]);
	}
	return kept;
}

/** Wraps at words; the rows after the first begin with so many blanks. */
function wrap(text: string, width: number, indent: number): string[] {
	const rows = wrapTextWithAnsi(text, width);
	if (rows.length === 1 || indent === 0 || indent >= width) return rows;
	const [first = "", ...others] = wrapTextWithAnsi(text, width - indent);
	return [first, ...others.map((row) => " ".repeat(indent) + row)];
}
