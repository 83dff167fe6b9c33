#!/usr/bin/env node
// Runs the program of this platform, which is in its own package.

import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";

const name = `@pi-subagents/${process.platform}-${process.arch}`;
let program;
try {
	program = createRequire(import.meta.url).resolve(`${name}/pi-subagents`);
} catch {
	console.error(
		`error: the package ${name} is missing: this platform has none, or npm left it out.\n` +
			"hint: install @pi-subagents/cli without `--omit=optional`, or build it with `cargo install`",
	);
	process.exit(1);
}
const args = process.argv.slice(2);
// Replaces this process where Node can, so that signals reach the program directly.
if (process.execve) {
	process.execve(program, [program, ...args], process.env);
}
const { status, signal, error } = spawnSync(program, args, { stdio: "inherit" });
if (error) {
	console.error(`error: ${program} cannot be started: ${error.message}`);
}
if (signal) {
	process.kill(process.pid, signal);
}
process.exit(status ?? 1);
