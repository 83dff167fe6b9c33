// Feeds one recorded stream to the `runSubAgent` of @harms-haus/pi-subagents, for measuring what reading it costs.
// Usage: e2e/node_modules/.bin/node e2e/peers/harms-haus-stream.mjs STREAM_FILE
// Prints {"status", "messages", "lines"}, where the last two count what the peer kept (it caps both), and fails if
// the stream was not read. An empty file is allowed: it measures the start-up that is to be subtracted.

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";

const PEER = new URL("../node_modules/@harms-haus/pi-subagents/src/", import.meta.url).href;

// Node strips no types below node_modules and guesses no file extensions, and the peer is published as TypeScript
// with extensionless imports. It also uses parameter properties, which have to be transformed, not just stripped.
registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier.startsWith("./") && context.parentURL?.startsWith(PEER) ? `${specifier}.ts` : specifier, context),
  load: (url, context, next) =>
    url.startsWith(PEER)
      ? {
          format: "module",
          source: stripTypeScriptTypes(readFileSync(new URL(url), "utf8"), { mode: "transform" }),
          shortCircuit: true,
        }
      : next(url, context),
});

const [, , argument] = process.argv;
if (!argument) {
  console.error("usage: harms-haus-stream.mjs STREAM_FILE");
  process.exit(2);
}
const stream = resolve(argument);
const { size } = statSync(stream);
const { runSubAgent } = await import(`${PEER}spawner.ts`);

const state = { sessionId: "stream", status: "running", exitCode: null, startedAt: Date.now() };
const win = { ...state, name: "stream", lines: [], allMessages: [], timeout: 600, toolCount: 0, fileCount: 0 };
const session = { ...state, taskName: "stream", prompt: "", messages: [] };

const directory = mkdtempSync(join(tmpdir(), "harms-haus-stream-"));
let loopDetected;
try {
  writeFileSync(join(directory, "pi"), '#!/bin/sh\nexec cat "$STREAM_FILE"\n', { mode: 0o755 });
  process.env.STREAM_FILE = stream;
  process.env.PATH = `${directory}${delimiter}${process.env.PATH}`;
  // The peer reads its settings from here; the user's own must not change the measurement.
  process.env.PI_AGENT_DIR = directory;
  // With a script in argv[1] the peer would start that script again instead of the `pi` on PATH.
  process.argv[1] = "";

  ({ loopDetected } = await runSubAgent({
    task: { name: "stream", prompt: "" },
    win,
    session,
    maxLines: 15, // This is the peer's default.
    loopingToolCount: 0, // A repeated recording looks like a loop, and the peer would stop reading there.
    onUpdate: () => {},
  }));
} finally {
  rmSync(directory, { recursive: true });
}

const { status, exitCode } = win;
const messages = session.messages.length;
const lines = win.lines.length;
console.log(JSON.stringify({ status, messages, lines }));

// A recorded provider error makes the status "error" although the stream was read, so the status decides nothing.
if (exitCode !== 0 || loopDetected || (size > 0 && messages + lines === 0)) {
  console.error(`the stream was not read: ${win.errorMessage ?? win.lines.at(-1)?.text ?? "no messages"}`);
  process.exitCode = 1;
}
