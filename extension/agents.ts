/** `/agents`: the runs of the session and the project. The bridge decides what is listed and what can be done with it. */

import type { ExtensionContext, Theme } from "@earendil-works/pi-coding-agent";
import { type Component, matchesKey, type TUI } from "@earendil-works/pi-tui";
import { messageOf, type Request } from "./bridge.ts";
import type { Dialogs } from "./dialogs.ts";
import { type Line, type Part, plainText, screenRows, Window } from "./window.ts";

/** What can be done with a run. What the bridge has to know for it is asked before, and what does harm is confirmed. */
interface Action {
	action: string;
	key: string;
	label: string;
	question?: string;
	asks?: string;
}

interface Run {
	runId: string;
	section: string;
	row: Part;
	text: string;
	actions: Action[];
}

interface Listing {
	runs: Run[];
	empty: string;
}

/** What the user wants to be done with a run. */
interface Chosen {
	run: Run;
	action: Action;
}

/** The two actions for which the list itself makes room. */
const LOOK = "look";
const CHANGES = "changes";
/** The list was closed for a dialog, and comes back behind it. */
const MADE_WAY = "made way";
const REFRESH_MS = 1_000;
/** The rows of the screen that pi and the list's own title and keys need. */
const OTHER_ROWS = 9;

/** Shows the runs until the user leaves. `act` carries out an action, and returns what came of it. */
export async function showAgents(
	{ ui, mode }: ExtensionContext,
	dialogs: Dialogs,
	request: Request,
	act: (run: string, action: string, text: string) => Promise<string>,
): Promise<void> {
	if (mode !== "tui") return chooseByDialogs(ui, request, act);
	let notice = "";
	for (;;) {
		const chosen = await dialogs.showList((leave) =>
			ui.custom<Chosen | typeof MADE_WAY | undefined>((tui, theme, _keybindings, done) => {
				const view = new AgentsView(tui, theme, request, notice, done);
				leave.addEventListener("abort", () => view.leave(MADE_WAY), { once: true });
				return view;
			}),
		);
		if (chosen === MADE_WAY) continue;
		if (!chosen) return;
		const { run, action } = chosen;
		try {
			const { asks } = action;
			const text = asks ? await dialogs.show(() => ui.editor(asks)) : "";
			notice = text === undefined ? "" : await act(run.runId, action.action, text);
		} catch (error) {
			notice = messageOf(error);
		}
	}
}

/** What an agent changed in its worktree. */
async function readChanges(request: Request, runId: string): Promise<Part[]> {
	return (await request("agents/act", { runId, action: CHANGES })).lines;
}

/** The same with the dialogs of a program that shows pi's windows in its own way. */
async function chooseByDialogs(
	ui: ExtensionContext["ui"],
	request: Request,
	act: (run: string, action: string, text: string) => Promise<string>,
): Promise<void> {
	const { runs, empty }: Listing = await request("agents/list", {});
	if (runs.length === 0) return ui.notify(empty, "info");
	const text = await ui.select(
		"Agents",
		runs.map((run) => run.text),
	);
	const run = runs.find((run) => run.text === text);
	if (!run) return;
	const label = await ui.select(
		run.text,
		run.actions.map((action) => action.label),
	);
	const action = run.actions.find((action) => action.label === label);
	if (!action) return;
	if (action.action === LOOK) {
		const { lines } = await request("view/expand", { runs: [run.runId] });
		return ui.notify(plainText(lines), "info");
	}
	if (action.action === CHANGES) return ui.notify(plainText(await readChanges(request, run.runId)), "info");
	if (action.question && !(await ui.confirm(action.question, run.text))) return;
	const told = action.asks ? await ui.editor(action.asks) : "";
	if (told !== undefined) ui.notify(await act(run.runId, action.action, told), "info");
}

/** The list, and one of its runs when it is opened. */
class AgentsView implements Component {
	private listing: Listing | undefined;
	private selected: string | undefined;
	private opened: { run: string; action: string; parts: Part[] } | undefined;
	/** How far the opened run is scrolled, in rows from its end. */
	private scrolled = 0;
	/** How many rows of the opened run are above the ones that are shown. */
	private above = 0;
	private question: Chosen | undefined;
	private readonly timer: NodeJS.Timeout;

	constructor(
		private readonly tui: TUI,
		private readonly theme: Theme,
		private readonly request: Request,
		private notice: string,
		private readonly done: (chosen: Chosen | typeof MADE_WAY | undefined) => void,
	) {
		void this.refresh();
		this.timer = setInterval(() => void this.refresh(), REFRESH_MS);
	}

	dispose(): void {
		clearInterval(this.timer);
	}

	invalidate(): void {}

	handleInput(data: string): void {
		const isKey = (...keys: string[]) => keys.some((key) => matchesKey(data, key as Parameters<typeof matchesKey>[1]));
		const run = this.run();
		const action = run?.actions.find(({ key }) => isKey(key));
		const { question } = this;
		if (question && isKey("y")) return this.leave(question);
		if (question) {
			if (!isKey("n", "escape", "q", "ctrl+c")) return;
			this.question = undefined;
		} else if (isKey("escape", "q", "ctrl+c")) {
			if (!this.opened) return this.leave(undefined);
			this.opened = undefined;
		} else if (isKey("up", "k")) this.move(-1);
		else if (isKey("down", "j")) this.move(1);
		else if (isKey("pageUp")) this.move(-this.room());
		else if (isKey("pageDown")) this.move(this.room());
		else if (run && action) this.take({ run, action });
		// What terminals answer to pi's questions arrives here, too.
		else return;
		this.notice = "";
		this.tui.requestRender();
	}

	render(width: number): string[] {
		const rows = this.opened ? this.renderOpened(width) : this.renderList(width);
		const border = this.theme.fg("border", "─".repeat(width));
		return [border, ...rows, "", ...new Window([this.bottom()], this.theme).render(width), border];
	}

	private take({ run, action }: Chosen): void {
		if (action.action === LOOK || action.action === CHANGES) {
			if (this.opened?.action !== action.action) this.opened = { run: run.runId, action: action.action, parts: [] };
			// An agent is followed, and a diff is read from its beginning.
			this.scrolled = action.action === LOOK ? 0 : Number.POSITIVE_INFINITY;
			void this.refresh();
		} else if (action.question) this.question = { run, action };
		else this.leave({ run, action });
	}

	leave(chosen: Chosen | typeof MADE_WAY | undefined): void {
		this.dispose();
		this.done(chosen);
	}

	private move(rows: number): void {
		if (this.opened) {
			this.scrolled = Math.max(0, Math.min(this.scrolled - rows, this.scrolled + this.above));
			return;
		}
		const runs = this.listing?.runs ?? [];
		const index = runs.findIndex(({ runId }) => runId === this.run()?.runId);
		this.selected = runs[Math.max(0, Math.min(index + rows, runs.length - 1))]?.runId;
	}

	/** The run that is selected: the first one, until the user has chosen another. */
	private run(): Run | undefined {
		const runs = this.listing?.runs ?? [];
		return runs.find(({ runId }) => runId === this.selected) ?? runs[0];
	}

	private room(): number {
		return Math.max(5, screenRows() - OTHER_ROWS);
	}

	private renderList(width: number): string[] {
		const { runs, empty } = this.listing ?? { runs: [], empty: "…" };
		if (runs.length === 0) return new Window([[["muted", ` ${empty}`]]], this.theme).render(width);
		// One table, so that the columns of all sections stand below each other.
		const table = new Window(
			runs.map(({ row }) => row),
			this.theme,
		).render(Math.max(1, width - 2));
		const rows: string[] = [];
		let selectedAt = 0;
		for (const [index, run] of runs.entries()) {
			if (run.section !== runs[index - 1]?.section) rows.push(` ${this.theme.fg("muted", run.section)}`);
			const isSelected = run.runId === this.run()?.runId;
			if (isSelected) selectedAt = rows.length;
			rows.push((isSelected ? this.theme.fg("accent", "❯ ") : "  ") + (table[index] ?? ""));
		}
		const room = this.room();
		const from = Math.max(0, Math.min(selectedAt - Math.floor(room / 2), rows.length - room));
		return rows.slice(from, from + room);
	}

	private renderOpened(width: number): string[] {
		const parts = this.opened?.parts ?? [];
		const rows = new Window(parts.length > 0 ? parts : [[["muted", "…"]]], this.theme).render(Math.max(1, width - 2));
		const room = this.room();
		const end = Math.max(Math.min(rows.length, room), rows.length - this.scrolled);
		this.scrolled = rows.length - end;
		this.above = Math.max(0, end - room);
		return rows.slice(this.above, end).map((row) => ` ${row}`);
	}

	/** What was done last, a question, or the keys. */
	private bottom(): Line {
		if (this.question) return [["warning", ` ${this.question.action.question} y/n`]];
		if (this.notice) return [["accent", ` ${this.notice}`]];
		const { opened } = this;
		const actions = (this.run()?.actions ?? []).filter(({ action }) => action !== opened?.action);
		const keys: [string, string][] = actions.map(({ key, label }) => [key === "enter" ? "⏎" : key, label]);
		keys.unshift(["↑↓", opened ? "scroll" : "select"]);
		keys.push(["Esc", opened ? "back" : "close"]);
		return keys.flatMap(([key, word]): Line => [["accent", ` ${key}`], ["muted", ` ${word}  `]]);
	}

	private async refresh(): Promise<void> {
		try {
			this.listing = await this.request("agents/list", {});
			const { opened } = this;
			if (opened?.action === LOOK) opened.parts = (await this.request("view/expand", { runs: [opened.run] })).lines;
			// What an agent that has ended changed stays as it is.
			if (opened?.action === CHANGES && opened.parts.length === 0) {
				opened.parts = await readChanges(this.request, opened.run);
				if (this.opened === opened) this.scrolled = Number.POSITIVE_INFINITY;
			}
		} catch (error) {
			this.notice = messageOf(error);
			if (this.opened?.action === CHANGES) this.opened = undefined;
		}
		this.tui.requestRender();
	}
}
