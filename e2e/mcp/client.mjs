// Plays one scenario with the client of the official TypeScript SDK.
//
//     node client.mjs SCENARIO OPTIONS
//
// OPTIONS is a JSON object. A first line says that the client is connected. What was seen is printed
// as a second line of JSON, in the words of the protocol, so that the tests
// (crates/cli/tests/mcp_clients) compare it with what others see. client.py plays the same scenarios
// with the official Python SDK, and tells the options that all scenarios have.

import { existsSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  ElicitRequestSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

// After this time, in seconds, something that has to happen has not happened.
const PATIENCE = 300;

const scenarios = {
  /** Everything that a server offers, once. */
  async tour(client, options) {
    const facts = {
      protocol: client.transport.negotiated,
      server: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
      tools: (await client.listTools()).tools,
    };
    const call = (name, args) => client.callTool({ name, arguments: args });

    const delegated = await call("delegate_to_subagents", options.delegation);
    const { sessionId, runId } = delegated.structuredContent.sessions[0];
    const background = await call("background_agent", options.background);
    facts.calls = {
      delegate_to_subagents: delegated,
      get_subagent_output: await call("get_subagent_output", { sessionId }),
      get_subagent_session: await call("get_subagent_session", { sessionId }),
      list_subagent_profiles: await call("list_subagent_profiles", {}),
      subagent: await call("subagent", options.subagent),
      background_agent: background,
      // Waits for the end of the background run, too.
      "get_subagent_output of the background run": await call("get_subagent_output", {
        sessionId: background.structuredContent.sessionId,
      }),
      background_agent_status: await call("background_agent_status", { includeCompleted: true }),
    };
    facts.mistakes = {
      "unknown tool": await errorOf(call("no_such_tool", {})),
      "wrong argument": await errorOf(call("delegate_to_subagents", { tasks: 7 })),
      "unknown session": await call("get_subagent_output", { sessionId: "none" }),
      "unknown resource": await errorOf(
        client.readResource({ uri: `subagent://run/${"0".repeat(32)}` }),
      ),
    };

    const listed = await client.listResources();
    if (listed.nextCursor !== undefined) throw new Error("there is a second page");
    facts.resources = listed.resources;
    facts.templates = (await client.listResourceTemplates()).resourceTemplates;
    facts.read = {};
    for (const uri of [
      `subagent://session/${sessionId}`,
      `subagent://run/${runId}`,
      `subagent://profile/${options.profile}`,
    ]) {
      facts.read[uri] = (await client.readResource({ uri })).contents;
    }

    facts.prompts = (await client.listPrompts()).prompts;
    facts.prompt = await client.getPrompt({ name: "implement", arguments: { task: "a clock" } });

    facts.completions = {};
    for (const [uri, name, value] of options.completions) {
      const ref = { type: "ref/resource", uri };
      const completed = await client.complete({ ref, argument: { name, value } });
      facts.completions[uri] = completed.completion.values;
    }
    return facts;
  },

  /** What is told unasked, while an agent works that waits for the file `release`. */
  async listen(client, options) {
    const told = notifications(client);
    const started = await client.callTool({
      name: "background_agent",
      arguments: options.background,
    });
    const uri = `subagent://session/${started.structuredContent.sessionId}`;
    const listed = await told.next();
    await client.subscribeResource({ uri });
    writeFileSync(options.release, "");
    const updated = await told.next();
    while (!(await hasEnded(client, started))) await told.next();
    await client.unsubscribeResource({ uri });
    return { uri, heard: [listed, updated] };
  },

  /** One call, or several, one after the other. `read` is an address to read before. */
  async call(client, options) {
    const facts = { answers: [] };
    if (options.read) {
      facts.read = (await client.readResource({ uri: options.read })).contents;
    }
    for (const one of options.calls ?? []) facts.answers.push(await playCall(client, one));
    return facts;
  },

  /** A call that is given up when the file `when` is there. */
  async cancel(client, options) {
    const abort = new AbortController();
    const call = playCall(client, options.call, abort.signal);
    await appearance(options.when);
    abort.abort();
    await call;
    const after = await client.callTool({ name: "list_subagent_profiles", arguments: {} });
    return { after };
  },

  /**
   * A call of an agent that asks. The user answers every question with `reply`, or does not answer,
   * and then the file `unanswered` appears.
   */
  async ask(client, options) {
    const asked = [];
    client.setRequestHandler(ElicitRequestSchema, async ({ params }, { signal }) => {
      const { _meta, ...form } = params;
      asked.push(form);
      if (options.reply) return options.reply;
      writeFileSync(options.unanswered, "");
      if (!signal.aborted) {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      }
      asked.push("taken back");
      return { action: "cancel" };
    });
    const seen = await playCall(client, options.call);
    // The answer to the call may overtake the word that takes the question back.
    await condition(() => options.reply || asked.length === 2);
    return { asked, ...seen };
  },

  /** A call, and then waiting for the answer of its session for as long as it takes. */
  async wait(client, options) {
    const answers = [await playCall(client, options.call)];
    let structured = answers[0].answer.structuredContent;
    const { sessionId } = structured.sessions[0];
    while (structured.status === "running") {
      const again = { tool: "get_subagent_output", arguments: { sessionId }, ...options.limit };
      const seen = await playCall(client, again);
      answers.push(seen);
      structured = seen.answer.structuredContent;
    }
    return { answers };
  },
};

/** Calls a tool. `timeout` is in seconds; with `reset`, it begins anew with every word. */
async function playCall(client, one, signal) {
  const words = [];
  const limits = { signal, timeout: (one.timeout ?? PATIENCE) * 1000 };
  if (one.reset) limits.resetTimeoutOnProgress = true;
  if (one.progress) limits.onprogress = ({ progress, message }) => words.push([progress, message]);
  const began = performance.now();
  const seen = {};
  try {
    const params = { name: one.tool, arguments: one.arguments };
    seen.answer = await client.callTool(params, undefined, limits);
  } catch (error) {
    seen.error = { code: error.code, message: error.message };
  }
  seen.seconds = (performance.now() - began) / 1000;
  seen.words = words;
  return seen;
}

/** What the server tells unasked, one after the other. */
function notifications(client) {
  const heard = [];
  let wake = () => {};
  const hear = ({ method, params }) => {
    heard.push(params?.uri === undefined ? { method } : { method, uri: params.uri });
    wake();
  };
  client.setNotificationHandler(ResourceListChangedNotificationSchema, hear);
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, hear);
  return {
    async next() {
      const late = AbortSignal.timeout(PATIENCE * 1000);
      while (heard.length === 0) {
        await new Promise((resolve, reject) => {
          wake = resolve;
          late.onabort = () => reject(new Error("nothing was told"));
        });
      }
      return heard.shift();
    },
  };
}

async function hasEnded(client, started) {
  const uri = `subagent://run/${started.structuredContent.runId}`;
  const { contents } = await client.readResource({ uri });
  return JSON.parse(contents[0].text).status !== "running";
}

async function errorOf(promise) {
  try {
    await promise;
    return null;
  } catch (error) {
    return { code: error.code, message: error.message };
  }
}

/** Waits until a file is there. */
async function appearance(path) {
  await condition(() => existsSync(path), `${path} is not there`);
}

async function condition(isTrue, problem = "what is waited for does not happen") {
  const late = performance.now() + PATIENCE * 1000;
  while (!isTrue()) {
    if (performance.now() > late) throw new Error(problem);
    await sleep(10);
  }
}

const [scenario, given] = process.argv.slice(2);
const options = JSON.parse(given);
// By default a server gets only a few variables; the tests find processes by another one.
const transport = new StdioClientTransport({
  command: options.server,
  args: ["mcp"],
  env: process.env,
});
transport.setProtocolVersion = (version) => {
  transport.negotiated = version;
};
const capabilities = scenario === "ask" ? { elicitation: {} } : {};
const client = new Client({ name: "mcp", version: "0.1.0" }, { capabilities });
await client.connect(transport);
process.stdout.write("connected\n");
try {
  const facts = await scenarios[scenario](client, options);
  process.stdout.write(`${JSON.stringify(facts)}\n`);
  if (options.stay) await appearance(options.stay);
} finally {
  await client.close();
}
