#!/usr/bin/env node
// Becomes the program of this platform, which is a package of its own.

import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";

const name = `@pi-subagents/${process.platform}-${process.arch}`;
let program;
try {
	program = createRequire(import.meta.url).resolve(`${name}/pi-subagents`);
} catch {
	console.error(
		`error: there is no pi-subagents for this platform, or the package ${name} was left out.\n` +
			"hint: install it without `--omit=optional`, or build it with `cargo install`",
	);
	process.exit(1);
}
const words = process.argv.slice(2);
// Where Node can, nothing of it stays: signals and the end of the caller reach the program itself.
if (process.execve) {
	process.execve(program, [program, ...words], process.env);
}
const { status, signal, error } = spawnSync(program, words, { stdio: "inherit" });
if (error) {
	console.error(`error: ${program} cannot be started: ${error.message}`);
}
if (signal) {
	process.kill(process.pid, signal);
}
process.exit(status ?? 1);
