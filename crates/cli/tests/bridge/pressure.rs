//! Messages that are longer than any that pi sends.

use test_support::peak_memory;

use super::*;

#[test]
fn a_line_that_is_too_long_is_refused_by_its_id_and_the_bridge_goes_on() {
    let world = world();
    let mut bridge = Bridge::of_pi(&world, &quick());
    bridge.write(
        b"{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"tools/list\",\"params\":{\"models\":[\"",
    );
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..200 {
        bridge.write(&piece);
    }
    bridge.write(b"\"]}}\n");
    let refused = bridge.response(77);
    assert_eq!(refused["error"]["code"], json!(-32600), "{refused}");
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("67108864"), "{message}");
    let memory = peak_memory(bridge.pid());
    assert!(memory < 190, "{memory} MiB");
    let listed = bridge.request("tools/list", &json!({"models": ["a/one"]}));
    assert!(listed["result"]["tools"].is_array(), "{listed}");
    assert_eq!(bridge.close().code, Some(0));
    world.assert_nothing_left();
}
