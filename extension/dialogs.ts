/** What is shown in place of pi's editor: one thing at a time, because a second would replace the first, which then never ends. */
export class Dialogs {
	/** Ends when what was asked for last is closed. */
	private last: Promise<unknown> = Promise.resolve();
	private leaving: AbortController | undefined;

	/** Shows a dialog as soon as those before it are closed. A list makes way for it. */
	show<T>(dialog: () => Promise<T>): Promise<T> {
		this.leaving?.abort();
		return this.follow(this.last.then(dialog));
	}

	/** Shows a list while no dialog is open. It has to close when the signal is aborted. */
	async showList<T>(list: (leave: AbortSignal) => Promise<T>): Promise<T> {
		for (let last: Promise<unknown> | undefined; last !== this.last; ) {
			last = this.last;
			await last;
		}
		const leaving = new AbortController();
		this.leaving = leaving;
		return this.follow(list(leaving.signal));
	}

	private follow<T>(shown: Promise<T>): Promise<T> {
		this.last = shown.catch(() => {});
		return shown;
	}
}
