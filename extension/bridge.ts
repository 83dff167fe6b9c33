/** Starts `pi-subagents bridge` and speaks JSON-RPC with it: one message per line, requests in both directions. */

import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import type { Socket } from "node:net";
import { delimiter, join, resolve, sep } from "node:path";

export type Params = Record<string, any>;
export type Request = (method: string, params: Params) => Promise<any>;

/** What the bridge needs from pi. */
export interface Host {
	cwd(): string;
	/** Initializes a new process. Other requests wait until this is done. */
	greet(request: Request): Promise<void>;
	/** Answers a request of the bridge. The signal is aborted when the bridge takes it back, or has ended. */
	answer(method: string, params: Params, gone: AbortSignal): Promise<unknown>;
	/** Handles a notification of the bridge. */
	take(method: string, params: Params): void;
	/** The process has ended. */
	ended(): void;
}

const PROGRAM = "pi-subagents";
const MAX_LAST_OUTPUT = 2048;
const GREETING_MS = 10_000;
const CLOSING_MS = 10_000;
/** How long to wait for the remaining output of a process that has exited. */
const DRAINING_MS = 1_000;

/** Starts the process at the first request, and again after it has died. */
export class Bridge {
	private connection: Connection | undefined;
	private ready: Promise<Connection> | undefined;

	constructor(
		private readonly directory: string,
		private readonly host: Host,
	) {}

	get isRunning(): boolean {
		return this.connection !== undefined;
	}

	/** The running process, or a new one that is initialized. */
	connect(): Promise<Connection> {
		this.ready ??= this.start();
		return this.ready;
	}

	request: Request = async (method, params) => (await this.connect()).request(method, params);

	/** Ends the process, if there is one, and waits until it and everything that it runs has ended. */
	async close(): Promise<void> {
		await this.connection?.close();
	}

	private async start(): Promise<Connection> {
		let connection: Connection | undefined;
		const forget = () => {
			if (this.connection === connection) this.connection = this.ready = undefined;
		};
		try {
			const cwd = this.host.cwd();
			connection = new Connection(findProgram(this.directory, cwd), cwd, this.host, () => {
				forget();
				this.host.ended();
			});
			this.connection = connection;
			await connection.greet();
			return connection;
		} catch (error) {
			await connection?.close();
			forget();
			throw error;
		}
	}
}

/** One process and its messages. */
export class Connection {
	private readonly child: ChildProcess;
	private readonly streams: [stdin: Socket, stdout: Socket, stderr: Socket];
	private readonly waiting = new Map<number, { resolve: (result: any) => void; reject: (error: Error) => void }>();
	/** The requests of the process that are being answered. */
	private readonly answering = new Map<number | string, AbortController>();
	/** Aborted when the process has ended and its output was read. */
	private readonly gone = new AbortController();
	private lastOutput = "";
	private nextId = 1;

	constructor(
		private readonly program: string,
		cwd: string,
		private readonly host: Host,
		private readonly onEnd: () => void,
	) {
		// Its own process group: Ctrl-C in the terminal reaches pi only, which cancels the calls.
		this.child = spawn(program, ["bridge"], { cwd, stdio: "pipe", detached: true });
		this.child.once("error", (error) => this.end(`could not be started: ${error.message}`));
		this.child.once("exit", (code, signal) => {
			const end = () => this.end(signal ? `was killed by ${signal}` : `ended with exit code ${code}`);
			const timer = setTimeout(end, DRAINING_MS);
			this.child.once("close", () => {
				clearTimeout(timer);
				end();
			});
		});
		this.streams = [this.child.stdin as Socket, this.child.stdout as Socket, this.child.stderr as Socket];
		const [stdin, stdout, stderr] = this.streams;
		// Ignored: writing to a process that has ended fails, and its exit code says more than that.
		stdin.on("error", () => {});
		stderr.setEncoding("utf8").on("data", (output: string) => this.remember(output));
		let pieces: string[] = [];
		stdout.setEncoding("utf8").on("data", (text: string) => {
			const [first = "", ...rest] = text.split("\n");
			pieces.push(first);
			for (const next of rest) {
				this.receive(pieces.join(""));
				pieces = [next];
			}
		});
		this.holdEventLoop();
	}

	async greet(): Promise<void> {
		const timer = setTimeout(() => {
			this.child.kill("SIGKILL");
			this.end(`has not answered within ${GREETING_MS / 1000} seconds`);
		}, GREETING_MS);
		try {
			await this.host.greet(this.request);
		} finally {
			clearTimeout(timer);
		}
	}

	request: Request = (method, params) => {
		if (this.gone.signal.aborted) return Promise.reject(this.gone.signal.reason);
		const id = this.nextId++;
		return new Promise((resolve, reject) => {
			this.waiting.set(id, { resolve, reject });
			this.holdEventLoop();
			this.send({ id, method, params });
		});
	};

	notify(method: string, params: Params): void {
		this.send({ method, params });
	}

	async close(): Promise<void> {
		if (this.gone.signal.aborted) return;
		const timer = setTimeout(() => this.child.kill("SIGKILL"), CLOSING_MS);
		this.streams[0].end();
		await new Promise((resolve) => this.gone.signal.addEventListener("abort", resolve));
		clearTimeout(timer);
	}

	private send(message: Params): void {
		if (this.streams[0].writable) this.streams[0].write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
	}

	private receive(line: string): void {
		let message: Params;
		try {
			message = JSON.parse(line);
		} catch {
			return this.remember(`\nThis is not a message: ${line}`);
		}
		const { id, method, params = {}, result, error } = message;
		if (method === "ui/cancel") return this.answering.get(params.id)?.abort();
		if (method !== undefined) return id === undefined ? this.host.take(method, params) : this.answer(id, method, params);
		const waiting = this.waiting.get(id);
		this.waiting.delete(id);
		this.holdEventLoop();
		if (error) waiting?.reject(new Error(error.message));
		else waiting?.resolve(result);
	}

	private answer(id: number | string, method: string, params: Params): void {
		const cancelled = new AbortController();
		this.answering.set(id, cancelled);
		this.host
			.answer(method, params, AbortSignal.any([this.gone.signal, cancelled.signal]))
			.then(
				(result) => this.send({ id, result }),
				(error) => this.send({ id, error: { code: -32603, message: messageOf(error) } }),
			)
			.finally(() => this.answering.delete(id));
	}

	private remember(output: string): void {
		this.lastOutput = (this.lastOutput + output).slice(-MAX_LAST_OUTPUT);
	}

	/** Rejects all requests that wait for an answer. */
	private end(how: string): void {
		if (this.gone.signal.aborted) return;
		const output = this.lastOutput.trim();
		const error = new Error(`The bridge (${this.program}) ${how}.${output ? ` Its last output:\n${output}` : ""}`);
		for (const { reject } of this.waiting.values()) reject(error);
		this.waiting.clear();
		this.onEnd();
		this.gone.abort(error);
	}

	/** An idle bridge does not keep pi from exiting; one with an open request does. */
	private holdEventLoop(): void {
		for (const handle of [this.child, ...this.streams]) this.waiting.size > 0 ? handle.ref() : handle.unref();
	}
}

export function messageOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}

/** The program: from the environment, else beside the extension, else of the npm package, else on the PATH. */
function findProgram(directory: string, cwd: string): string {
	const named = process.env.PI_SUBAGENTS_BIN;
	const beside = join(directory, PROGRAM);
	const packaged = ofPlatform(directory);
	const folders = (process.env.PATH ?? "").split(delimiter);
	const onPath = folders.map((folder) => resolve(cwd, folder, PROGRAM)).filter((path) => !isOfAnother(path));
	const found = (named ? [resolve(cwd, named)] : [beside, ...packaged, ...onPath]).find(isProgram);
	if (found) return found;
	const looked = named ? `PI_SUBAGENTS_BIN is ${named}` : `neither ${beside} nor ${PROGRAM} on the PATH`;
	throw new Error(
		`The program ${PROGRAM} was not found, or cannot be run: ${looked}. Install it with \`cargo install --path ` +
			"crates/cli` and run `pi-subagents setup pi`, or set PI_SUBAGENTS_BIN to its path.",
	);
}

/** The program in the npm package of this platform. */
function ofPlatform(directory: string): string[] {
	try {
		const name = `@pi-subagents/${process.platform}-${process.arch}/${PROGRAM}`;
		return [createRequire(join(directory, "package.json")).resolve(name)];
	} catch {
		return [];
	}
}

/** Whether a program belongs to the npm package of this name, which is not ours: ours have a scope. */
function isOfAnother(path: string): boolean {
	try {
		return realpathSync(path).includes(join(sep, "node_modules", PROGRAM, sep));
	} catch {
		return false;
	}
}

function isProgram(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return statSync(path).isFile();
	} catch {
		return false;
	}
}
