#!/bin/sh
# The smallest agent: it answers every prompt with its first line, in the stream that pi prints.
# Whatever reads a prompt on standard input and prints such records can be a sub-agent.
read -r prompt
escaped=$(printf '%s' "$prompt" | sed 's/[\\"]/\\&/g')
cat <<RECORDS
{"type":"agent_start"}
{"type":"tool_execution_start","toolCallId":"1","toolName":"bash","args":{"command":"date"}}
{"type":"tool_execution_end","toolCallId":"1","toolName":"bash","result":{"content":[{"type":"text","text":"$(date)"}]},"isError":false}
{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"You said: $escaped"}],"model":"echo","stopReason":"stop"}}
{"type":"agent_end","messages":[],"willRetry":false}
{"type":"agent_settled"}
RECORDS
