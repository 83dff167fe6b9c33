//! A long stream in pi's shapes.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

const USAGE: &str = r#""usage":{"input":100,"output":20,"cacheRead":0,"cacheWrite":0,"reasoning":0,"totalTokens":120,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;

const DELTAS: usize = 100;
const RECORDS: usize = DELTAS + 8;

/// Writes about this many records: turns of a hundred deltas, a message, a tool call and its
/// result. Returns the number of records.
pub(crate) fn write(path: &Path, records: usize) -> io::Result<usize> {
    let mut file = BufWriter::new(File::create(path)?);
    let delta_text = "some words of the answer that the model writes, ";
    writeln!(file, r#"{{"type":"session","version":3,"id":"bench","timestamp":"","cwd":"/"}}"#)?;
    writeln!(file, r#"{{"type":"agent_start"}}"#)?;
    let turns = records / RECORDS;
    for turn in 0..turns {
        let id = format!("call_{turn}");
        let text = delta_text.repeat(20);
        let message = format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}},{{"type":"toolCall","id":"{id}","name":"bash","arguments":{{"command":"echo {turn}"}}}}],"api":"openai-completions","provider":"fake","model":"fake-1",{USAGE},"stopReason":"toolUse","timestamp":1794766250060}}"#
        );
        let output = r"a line of output\n".repeat(20);
        let result = format!(
            r#"{{"role":"toolResult","toolCallId":"{id}","toolName":"bash","content":[{{"type":"text","text":"{output}"}}],"isError":false,"timestamp":1794766250060}}"#
        );
        writeln!(file, r#"{{"type":"turn_start"}}"#)?;
        writeln!(
            file,
            r#"{{"type":"message_start","message":{{"role":"assistant","content":[],{USAGE},"stopReason":"pending"}}}}"#
        )?;
        for _ in 0..DELTAS {
            writeln!(
                file,
                r#"{{"type":"message_update",{USAGE},"assistantMessageEvent":{{"type":"text_delta","contentIndex":0,"delta":"{delta_text}"}}}}"#
            )?;
        }
        writeln!(file, r#"{{"type":"message_end","message":{message}}}"#)?;
        writeln!(
            file,
            r#"{{"type":"tool_execution_start","toolCallId":"{id}","toolName":"bash","args":{{"command":"echo {turn}"}}}}"#
        )?;
        writeln!(
            file,
            r#"{{"type":"tool_execution_end","toolCallId":"{id}","toolName":"bash","result":{{"content":[{{"type":"text","text":"{output}"}}]}},"isError":false}}"#
        )?;
        writeln!(file, r#"{{"type":"message_start","message":{result}}}"#)?;
        writeln!(file, r#"{{"type":"message_end","message":{result}}}"#)?;
        writeln!(file, r#"{{"type":"turn_end","message":{message},"toolResults":[{result}]}}"#)?;
    }
    writeln!(
        file,
        r#"{{"type":"message_end","message":{{"role":"assistant","content":[{{"type":"text","text":"done"}}],{USAGE},"stopReason":"stop"}}}}"#
    )?;
    writeln!(file, r#"{{"type":"agent_end","messages":[],"willRetry":false}}"#)?;
    writeln!(file, r#"{{"type":"agent_settled"}}"#)?;
    file.flush()?;
    Ok(turns * RECORDS + 5)
}
