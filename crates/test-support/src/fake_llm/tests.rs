//! The server as clients see it, through a raw socket.

mod client;
mod contents;
mod messages;
mod misbehaviour;
mod responses;

use std::io::{BufRead, BufReader};
use std::slice;
use std::sync::mpsc;
use std::time::Instant;

use self::client::{Client, Response};
use super::*;

/// Far longer than anything here takes, far shorter than a test that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request for a stream: the script, then what the conversation has brought since.
fn request(script: &Value, following: &[Value]) -> Value {
    let mut messages =
        vec![json!({"role": "user", "content": format!("<<SCRIPT>>{script}<<END>>")})];
    messages.extend_from_slice(following);
    json!({"model": "fake-1", "stream": true, "messages": messages})
}

fn assistant() -> Value {
    json!({"role": "assistant", "content": "said"})
}

/// Plays the first turn of a script on a server of its own.
fn play(turn: Value) -> Response {
    let server = FakeLlm::start().unwrap();
    Client::connect(&server).post(&request(&Value::Array(vec![turn]), &[]))
}

/// Drops a server and checks that it takes its threads along, and takes no time for it.
fn assert_drops_cleanly(server: FakeLlm) {
    let (start, address) = (Instant::now(), server.address);
    drop(server);
    assert!(start.elapsed() < PATIENCE / 2, "dropping took {:?}", start.elapsed());
    assert!(TcpStream::connect(address).is_err(), "the port is still open");
    // A thread may be joined shortly before the kernel takes it off the list.
    let name = format!("fake-llm-{}\n", address.port());
    let is_alive = || {
        let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        tasks
            .into_iter()
            .any(|task| fs::read_to_string(task.path().join("comm")).is_ok_and(|it| it == name))
    };
    while cfg!(target_os = "linux") && is_alive() {
        assert!(start.elapsed() < PATIENCE, "a thread is left over");
        thread::sleep(RETRY_INTERVAL);
    }
}

#[test]
fn text_comes_in_pieces_of_whole_characters() {
    let response = play(json!({"text": "zażółć 漢字 🦀 e\u{301}", "chunk": 3}));
    assert_eq!(response.status, 200);
    assert!(response.headers.contains("content-type: text/event-stream"));
    assert!(response.complete && response.body.ends_with("data: [DONE]\n\n"));
    assert_eq!(response.deltas()[0], json!({"role": "assistant", "content": ""}));
    assert_eq!(response.deltas()[1], json!({"content": "zaż"}));
    assert_eq!(response.text(), "zażółć 漢字 🦀 e\u{301}");

    let chunks = response.chunks();
    let [.., finish, usage] = chunks.as_slice() else { panic!("too few chunks") };
    assert_eq!(finish["choices"], json!([{"index": 0, "delta": {}, "finish_reason": "stop"}]));
    assert_eq!(usage["object"], "chat.completion.chunk");
    assert_eq!(usage["choices"], json!([]));
    let expected = json!({
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 0},
    });
    assert_eq!(usage["usage"], expected);
    assert!(chunks.iter().all(|it| it["id"] == "chatcmpl-0" && it["model"] == "fake-1"));
}

#[test]
fn several_tools_share_one_message() {
    let tools =
        json!([{"name": "ls", "args": {"path": "a/long/path/to/look/at"}}, {"name": "now"}]);
    let server = FakeLlm::start().unwrap();
    let mut client = Client::connect(&server);
    let body = request(&json!([{"tools": tools}]), &[]);
    let response = client.post(&body);
    let deltas = response.deltas();
    assert_eq!(deltas[0], json!({"role": "assistant", "content": null}));
    let call = |id: &str, name| {
        let index = if id.ends_with('0') { 0 } else { 1 };
        let function = json!({"name": name, "arguments": ""});
        json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]})
    };
    assert_eq!(deltas[1], call("call_0_0", "ls"));
    assert_eq!(deltas[2]["tool_calls"][0]["function"]["arguments"], r#"{"path":"a/long/path"#);
    assert_eq!(deltas[4], call("call_0_1", "now"));
    let arguments = response.joined("/tool_calls/0/function/arguments");
    assert_eq!(arguments, r#"{"path":"a/long/path/to/look/at"}{}"#);
    assert!(response.body.contains(r#""finish_reason":"tool_calls""#));
    assert!(client.post(&body).body.contains("call_1_0"), "ids are unique per server");
}

#[test]
fn thinking_usage_and_finish_reason_are_as_scripted() {
    let usage = json!({"input": 7, "cached": 5});
    let turn = json!({"thinking": "hm", "text": "ok", "finish": "length", "usage": usage});
    let response = play(turn);
    assert_eq!(response.joined("/reasoning_content"), "hm");
    assert_eq!(response.deltas()[2], json!({"content": "ok"}));
    assert!(response.body.contains(r#""finish_reason":"length""#));
    let usage = &response.chunks().pop().unwrap()["usage"];
    assert_eq!(usage["total_tokens"], 27);
    assert_eq!(usage["prompt_tokens_details"]["cached_tokens"], 5);
}

#[test]
fn assistant_messages_after_the_script_count_the_turns() {
    let server = FakeLlm::start_with(&json!([{"text": "default"}])).unwrap();
    let mut client = Client::connect(&server);
    let script = json!([{"text": "one"}, {"text": "two"}]);
    let scripted = request(&script, &[])["messages"][0].clone();
    let plain = json!({"role": "user", "content": "no script here, not even <<SCRIPT>>"});
    let mut text =
        |messages: &[Value]| client.post(&json!({"stream": true, "messages": messages})).text();
    assert_eq!(text(slice::from_ref(&scripted)), "one");
    assert_eq!(text(&[assistant(), scripted.clone(), assistant(), plain.clone()]), "two");
    assert_eq!(text(&[scripted.clone(), assistant(), assistant()]), "(end of script)");
    assert_eq!(text(&[scripted.clone(), assistant(), scripted]), "one");
    assert_eq!(text(slice::from_ref(&plain)), "default");
    assert_eq!(text(&[plain, assistant()]), "(end of script)");
}

#[test]
fn text_is_filled_from_the_conversation() {
    let text = "{{prompt}}: {{result:1}}, {{result:9}} {{";
    let inner = json!([{"text": "inner"}]);
    let tools = json!([{"name": "start", "args": {"task": format!("<<SCRIPT>>{inner}<<END>>")}}]);
    let script = json!([{"tools": tools}, {"text": text}]);
    let part = |text: &str| json!({"type": "text", "text": text});
    let content = [part("<<SCRIPT>>"), part(&format!("{script}<<END>> do it"))];
    let tool = |text: &str| json!({"role": "tool", "content": [part(text)]});
    let user = json!({"role": "user", "content": content});
    let messages = json!([user, assistant(), tool("first"), tool("{{prompt}}")]);
    let server = FakeLlm::start().unwrap();
    let response = Client::connect(&server).post(&json!({"stream": true, "messages": messages}));
    assert_eq!(response.text(), "do it: {{prompt}}, {{result:9}} {{");
}

#[test]
fn an_error_is_given_as_often_as_scripted() {
    let server = FakeLlm::start().unwrap();
    let mut client = Client::connect(&server);
    let script =
        json!([{"error": 429, "retry_after": 3, "times": 2, "text": "at last"}, {"error": 400}]);
    for _ in 0..2 {
        let response = client.post(&request(&script, &[]));
        assert_eq!(response.status, 429);
        assert!(response.headers.contains("retry-after: 3\n"));
        assert_eq!(
            response.json(),
            json!({"error": {"message": "scripted error", "type": "invalid_request_error"}})
        );
    }
    assert_eq!(client.post(&request(&script, &[])).text(), "at last");
    for _ in 0..3 {
        assert_eq!(client.post(&request(&script, &[assistant()])).status, 400);
    }
}

#[test]
fn a_whole_completion_comes_without_stream() {
    let server = FakeLlm::start().unwrap();
    let tools = json!([{"name": "ls", "args": {"path": "."}}]);
    let mut body = request(&json!([{"text": "hello", "thinking": "hm", "tools": tools}]), &[]);
    body["stream"] = json!(false);
    let completion = Client::connect(&server).post(&body).json();
    assert_eq!(completion["object"], "chat.completion");
    assert_eq!(completion["usage"]["total_tokens"], 120);
    let choice = &completion["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["content"], "hello");
    assert_eq!(choice["message"]["reasoning_content"], "hm");
    assert_eq!(choice["message"]["tool_calls"][0]["function"]["arguments"], r#"{"path":"."}"#);
}

#[test]
fn dropping_ends_whatever_connections_wait_for() {
    let server = FakeLlm::start().unwrap();
    let turns = [
        json!({"hang": true}),
        json!({"text": "slow", "delay_ms": 600_000}),
        // More than the buffers of a socket hold, and the client does not read it.
        json!({"text": "{{result:0}}".repeat(12), "chunk": 1_000_000}),
    ];
    let megabyte = json!({"role": "tool", "content": "x".repeat(1_000_000)});
    let mut clients: Vec<Client> = turns
        .iter()
        .map(|turn| {
            let mut client = Client::connect(&server);
            client.send_post(&request(&json!([turn]), slice::from_ref(&megabyte)));
            assert_eq!(client.receive_head().0, 200);
            client
        })
        .collect();
    clients.push(Client::connect(&server));
    clients.push(Client::connect(&server));
    clients[4].send("POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 9\r\n\r\nhalf");
    assert_drops_cleanly(server);
    assert!(clients[0].is_at_end());
    assert!(clients[3].is_at_end());
}

#[test]
fn a_hanging_turn_ends_when_the_client_leaves() {
    let server = FakeLlm::start().unwrap();
    let mut client = Client::connect(&server);
    client.send_post(&request(&json!([{"hang": true}]), &[]));
    client.receive_head();
    client.shutdown_write();
    assert!(client.is_at_end());
}

#[test]
fn a_cut_turn_ends_in_the_middle() {
    let turn = json!({"text": "one two three four", "chunk": 4, "cut": true});
    let response = play(turn.clone());
    assert!(!response.complete);
    assert_eq!(response.text(), "one two thre");

    let server = FakeLlm::start().unwrap();
    let mut body = request(&json!([turn]), &[]);
    body["stream"] = json!(false);
    let response = Client::connect(&server).post(&body);
    assert!(!response.complete && response.body.starts_with(r#"{"id":"chatcmpl-0""#));
}

#[test]
fn garbage_takes_the_place_of_a_delta() {
    let response = play(json!({"text": "one two", "chunk": 4, "garbage": "data: {oops\n\n"}));
    assert!(response.complete);
    let events: Vec<&str> = response.body.split_terminator("\n\n").collect();
    assert_eq!(events.len(), 6);
    assert_eq!(events[1], "data: {oops");
    assert!(events[2].contains(r#""content":"two""#));
    assert!(play(json!({"garbage": "raw"})).body.contains("\n\nraw"));
}

#[test]
fn an_unfinished_stream_ends_in_good_order() {
    let response = play(json!({"text": "one", "unfinished": true}));
    assert!(response.complete && response.chunks().len() == 2);
    assert!(!response.body.contains("DONE") && response.body.contains(r#""content":"one""#));
}

#[test]
fn a_page_comes_instead_of_an_answer() {
    let response = play(json!({"page": "<html>hello"}));
    assert_eq!((response.status, response.body.as_str()), (200, "<html>hello"));
    assert!(response.headers.contains("content-type: text/html"));
}

#[test]
fn an_error_has_words_and_headers_of_its_own() {
    let headers = json!({"x-should-retry": "false"});
    let turn = json!({
        "error": 413, "error_message": "too long", "error_type": "x", "headers": headers,
    });
    let response = play(turn);
    assert_eq!(response.status, 413);
    assert!(response.headers.contains("x-should-retry: false\n"));
    assert_eq!(response.json(), json!({"error": {"message": "too long", "type": "x"}}));
}

#[test]
fn all_tokens_can_be_counted() {
    let usage = json!({"input": 50, "cached": 20, "written": 10, "output": 9, "thinking": 4});
    let usage = &play(json!({"usage": usage})).chunks().pop().unwrap()["usage"];
    let details = json!({"cached_tokens": 20, "cache_write_tokens": 10});
    assert_eq!(usage["prompt_tokens_details"], details);
    assert_eq!(usage["completion_tokens_details"], json!({"reasoning_tokens": 4}));
}

#[test]
fn connections_are_counted() {
    let server = FakeLlm::start().unwrap();
    let mut first = Client::connect(&server);
    first.get("/v1/models");
    first.get("/v1/models");
    Client::connect(&server).get("/v1/models");
    assert_eq!(server.connections(), 2);
}

#[test]
fn delays_lie_between_deltas() {
    let start = Instant::now();
    assert_eq!(play(json!({"text": "abc", "chunk": 1, "delay_ms": 20})).text(), "abc");
    assert!(start.elapsed() >= Duration::from_millis(60));
}

#[test]
fn connections_are_served_in_parallel_and_kept_alive() {
    let server = FakeLlm::start().unwrap();
    let mut hanging = Client::connect(&server);
    hanging.send_post(&request(&json!([{"hang": true}]), &[]));
    thread::scope(|scope| {
        for number in 0..16 {
            let server = &server;
            scope.spawn(move || {
                let mut client = Client::connect(server);
                let script = json!([{"text": format!("one {number}")}, {"text": "two"}]);
                assert_eq!(client.post(&request(&script, &[])).text(), format!("one {number}"));
                assert_eq!(client.post(&request(&script, &[assistant()])).text(), "two");
                assert_eq!(client.get("/v1/models?x=y").json()["data"][0]["id"], "fake-1");
                assert_eq!(client.get("/nowhere").status, 404);
                client.send("GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n");
                assert!(client.receive().headers.contains("connection: close"));
                assert!(client.is_at_end());
            });
        }
    });
    assert_drops_cleanly(server);
}

#[test]
fn requests_are_recorded() {
    let server = FakeLlm::start().unwrap();
    let mut client = Client::connect(&server);
    let body = request(&json!([]), &[]);
    client.post(&body);
    client.send("PUT /x?y HTTP/1.1\r\nX-Initiator:  agent \r\nContent-Length: 3\r\n\r\nraw");
    assert_eq!(client.receive().status, 404);

    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].body, body);
    assert_eq!((requests[1].method.as_str(), requests[1].path.as_str()), ("PUT", "/x?y"));
    assert_eq!(requests[1].header("x-initiator"), Some("agent"));
    assert_eq!(requests[1].body, "raw");
    assert_eq!(client.get("/requests").json(), json!(requests));
    assert_eq!(server.requests(), requests);
}

#[test]
fn malformed_requests_get_400_and_harm_nobody() {
    let server = FakeLlm::start().unwrap();
    let long = format!("GET / HTTP/1.1\r\nlong: {}\r\n\r\n", "x".repeat(1_000_000));
    let heads = [
        "nonsense\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        &long,
    ];
    for head in heads {
        let mut client = Client::connect(&server);
        client.send(head);
        assert_eq!(client.receive().status, 400, "{head:.40}");
        assert!(client.is_at_end());
    }
    let mut client = Client::connect(&server);
    let unknown_field = client.post(&request(&json!([{"txet": ""}]), &[]));
    assert_eq!(unknown_field.status, 400);
    assert!(unknown_field.body.contains("unknown field `txet`"));
    assert_eq!(client.post(&json!("no messages")).status, 400);
    assert_eq!(client.get("/v1/models").status, 200);
}

#[test]
fn a_body_of_ten_megabytes_is_read() {
    let server = FakeLlm::start().unwrap();
    let tool = json!({"role": "tool", "content": "x".repeat(10_000_000)});
    let body = request(&json!([{"text": "{{result:0}}", "chunk": 100_000}]), &[tool]);
    assert_eq!(Client::connect(&server).post(&body).text().len(), 10_000_000);
    assert_eq!(server.requests()[0].body, body);
}

#[test]
fn the_program_runs_until_its_input_ends() {
    let (mut input, input_end) = io::pipe().unwrap();
    let (output, mut output_end) = io::pipe().unwrap();
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        let arguments = ["--port", "0"].map(str::to_owned);
        done.send(main(arguments, &mut input, &mut output_end)).unwrap();
    });
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).unwrap();
    let address =
        line.trim().strip_prefix("http://").and_then(|it| it.strip_suffix("/v1")).unwrap();
    assert!(TcpStream::connect(address).is_ok());
    drop(input_end);
    is_done.recv_timeout(PATIENCE).unwrap().unwrap();
    assert!(TcpStream::connect(address).is_err());

    let error = main(["--prot".to_owned()], &mut io::empty(), &mut io::sink()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
}
