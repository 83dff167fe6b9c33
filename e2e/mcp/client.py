"""Plays one scenario with the client of the official Python SDK.

    python client.py SCENARIO OPTIONS

OPTIONS is a JSON object. A first line says that the client is connected. What was seen is printed
as a second line of JSON, in the words of the protocol, so that the tests
(crates/cli/tests/mcp_clients) compare it with what others see. client.mjs plays the same scenarios with the official TypeScript SDK.

Options of every scenario:
    server      the program to start, which is asked to `mcp`
    handshake   whether to greet the server as clients did before the protocol of 2026
    stay        a file to wait for, after the facts are printed, before the server is closed
"""

import json
import os
import sys
import time
import warnings

import anyio
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters

# The scenarios call what the protocol of 2026 has not any more, where they speak an older one.
warnings.simplefilter("ignore")

# After this time, in seconds, something that has to happen has not happened.
PATIENCE = 300


async def tour(client, options):
    """Everything that a server offers, once."""
    facts = {
        "protocol": client.protocol_version,
        "server": plain(client.server_info),
        "capabilities": plain(client.server_capabilities),
        "instructions": client.instructions,
        "tools": plain(await client.list_tools())["tools"],
    }

    async def call(tool, arguments):
        return plain(await client.call_tool(tool, arguments))

    delegated = await call("delegate_to_subagents", options["delegation"])
    session = delegated["structuredContent"]["sessions"][0]
    background = await call("background_agent", options["background"])
    facts["calls"] = {
        "delegate_to_subagents": delegated,
        "get_subagent_output": await call(
            "get_subagent_output", {"sessionId": session["sessionId"]}
        ),
        "get_subagent_session": await call(
            "get_subagent_session", {"sessionId": session["sessionId"]}
        ),
        "list_subagent_profiles": await call("list_subagent_profiles", {}),
        "subagent": await call("subagent", options["subagent"]),
        "background_agent": background,
        # Waits for the end of the background run, too.
        "get_subagent_output of the background run": await call(
            "get_subagent_output",
            {"sessionId": background["structuredContent"]["sessionId"]},
        ),
        "background_agent_status": await call(
            "background_agent_status", {"includeCompleted": True}
        ),
    }
    facts["mistakes"] = {
        "unknown tool": await error_of(client.call_tool("no_such_tool", {})),
        "wrong argument": await error_of(
            client.call_tool("delegate_to_subagents", {"tasks": 7})
        ),
        "unknown session": await call("get_subagent_output", {"sessionId": "none"}),
        "unknown resource": await error_of(
            client.read_resource("subagent://run/" + "0" * 32)
        ),
    }

    listed = await client.list_resources()
    facts["resources"] = plain(listed)["resources"]
    assert listed.next_cursor is None
    facts["templates"] = plain(await client.list_resource_templates())[
        "resourceTemplates"
    ]
    facts["read"] = {
        uri: plain(await client.read_resource(uri))["contents"]
        for uri in [
            f"subagent://session/{session['sessionId']}",
            f"subagent://run/{session['runId']}",
            f"subagent://profile/{options['profile']}",
        ]
    }

    facts["prompts"] = plain(await client.list_prompts())["prompts"]
    prompt = await client.get_prompt("implement", {"task": "a clock"})
    facts["prompt"] = plain(prompt)

    facts["completions"] = {}
    for uri, argument, begun in options["completions"]:
        completed = await client.complete(
            types.ResourceTemplateReference(uri=uri), {"name": argument, "value": begun}
        )
        facts["completions"][uri] = plain(completed)["completion"]["values"]
    return facts


async def listen(client, options):
    """What is told unasked, while an agent works that waits for the file `release`."""
    if options.get("handshake"):
        return await listen_by_subscribing(client, options)
    async with client.listen(resources_list_changed=True) as changes:
        started = plain(
            await client.call_tool("background_agent", options["background"])
        )
        listed = await next_of(changes)
    uri = f"subagent://session/{started['structuredContent']['sessionId']}"
    async with client.listen(resource_subscriptions=[uri]) as changes:
        touch(options["release"])
        updated = await next_of(changes)
        while not await has_ended(client, started):
            await next_of(changes)
    return {"uri": uri, "heard": [named(listed), named(updated)]}


async def listen_by_subscribing(client, options):
    """The same, as it was done before the protocol of 2026."""
    started = plain(await client.call_tool("background_agent", options["background"]))
    uri = f"subagent://session/{started['structuredContent']['sessionId']}"
    listed = await next_told(client.told)
    await client.subscribe_resource(uri)
    touch(options["release"])
    updated = await next_told(client.told)
    while not await has_ended(client, started):
        await next_told(client.told)
    await client.unsubscribe_resource(uri)
    return {"uri": uri, "heard": [listed, updated]}


async def call(client, options):
    """One call, or several, one after the other. `read` is an address to read before."""
    facts = {"answers": []}
    if options.get("read"):
        contents = plain(await client.read_resource(options["read"]))["contents"]
        facts["read"] = contents
    for one in options.get("calls", []):
        facts["answers"].append(await play_call(client, one))
    return facts


async def play_call(client, one):
    words = []

    async def take(progress, total, message):
        words.append([progress, message])

    began = time.monotonic()
    seen = {}
    try:
        answer = await client.call_tool(
            one["tool"],
            one["arguments"],
            read_timeout_seconds=one.get("timeout", PATIENCE),
            progress_callback=take if one.get("progress") else None,
        )
        seen["answer"] = plain(answer)
    except MCPError as error:
        seen["error"] = {"code": error.code, "message": error.message}
    seen["seconds"] = time.monotonic() - began
    seen["words"] = words
    return seen


async def cancel(client, options):
    """A call that is given up when the file `when` is there."""
    async with anyio.create_task_group() as group:
        group.start_soon(play_call, client, options["call"])
        await appearance(options["when"])
        group.cancel_scope.cancel()
    after = await client.call_tool("list_subagent_profiles", {})
    return {"after": plain(after)}


async def ask(client, options):
    """A call of an agent that asks. The user answers every question with `reply`, or does not answer,
    and then the file `unanswered` appears."""
    seen = await play_call(client, options["call"])
    # The answer to the call may overtake the word that takes the question back.
    await condition(lambda: options.get("reply") or len(client.asked) == 2)
    return {"asked": client.asked, **seen}


async def wait(client, options):
    """A call, and then waiting for the answer of its session for as long as it takes."""
    answers = [await play_call(client, options["call"])]
    structured = answers[0]["answer"]["structuredContent"]
    session = structured["sessions"][0]["sessionId"]
    while structured["status"] == "running":
        again = {"tool": "get_subagent_output", "arguments": {"sessionId": session}}
        answers.append(await play_call(client, again | options["limit"]))
        structured = answers[-1]["answer"]["structuredContent"]
    return {"answers": answers}


SCENARIOS = {
    "tour": tour,
    "listen": listen,
    "call": call,
    "cancel": cancel,
    "ask": ask,
    "wait": wait,
}


def plain(value):
    """As it came over the wire."""
    dumped = value.model_dump(by_alias=True, mode="json", exclude_none=True)
    # The SDK adds it where the server has not sent it.
    dumped.pop("resultType", None)
    return dumped


async def error_of(awaitable):
    try:
        await awaitable
    except MCPError as error:
        return {"code": error.code, "message": error.message}
    return None


async def next_of(changes):
    with anyio.fail_after(PATIENCE):
        return await anext(changes)


async def next_told(told):
    with anyio.fail_after(PATIENCE):
        return await told.receive()


def named(event):
    """An event of the SDK by the name of its notification."""
    uri = getattr(event, "uri", None)
    if uri is None:
        return {"method": "notifications/resources/list_changed"}
    return {"method": "notifications/resources/updated", "uri": uri}


async def has_ended(client, started):
    uri = f"subagent://run/{started['structuredContent']['runId']}"
    read = await client.read_resource(uri)
    return json.loads(read.contents[0].text)["status"] != "running"


def touch(path):
    open(path, "w").close()


async def appearance(path):
    """Waits until a file is there."""
    await condition(lambda: os.path.exists(path))


async def condition(is_true):
    with anyio.fail_after(PATIENCE):
        while not is_true():
            await anyio.sleep(0.01)


async def main():
    scenario, options = sys.argv[1], json.loads(sys.argv[2])
    # By default a server gets only a few variables; the tests find processes by another one.
    environment = dict(os.environ)
    server = StdioServerParameters(
        command=options["server"], args=["mcp"], env=environment
    )
    tell, told = anyio.create_memory_object_stream(1000)

    async def hear(message):
        if isinstance(message, types.ServerNotification):
            params = plain(message).get("params") or {}
            heard = {"method": message.method}
            if "uri" in params:
                heard["uri"] = params["uri"]
            tell.send_nowait(heard)

    asked = []

    async def answer(context, params):
        asked.append(plain(params))
        if options.get("reply"):
            return types.ElicitResult.model_validate(options["reply"])
        touch(options["unanswered"])
        try:
            await anyio.sleep(PATIENCE)
        finally:
            asked.append("taken back")

    mode = "legacy" if options.get("handshake") else "auto"
    elicits = {"elicitation_callback": answer} if scenario == "ask" else {}
    client = Client(server, mode=mode, message_handler=hear, **elicits)
    async with client:
        client.told = told
        client.asked = asked
        print("connected", flush=True)
        facts = await SCENARIOS[scenario](client, options)
        print(json.dumps(facts), flush=True)
        if options.get("stay"):
            await appearance(options["stay"])


if __name__ == "__main__":
    anyio.run(main)
