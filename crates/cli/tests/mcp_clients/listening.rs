//! What clients are told unasked.

use serde_json::json;

use crate::{Client, assert_only_results_are_left, working_world};

with_both_clients!(changes_are_told);

#[test]
fn changes_are_told_as_they_were_before_the_protocol_of_2026() {
    changes_are_told(Client::PythonWithHandshake);
}

/// The agent is let go as soon as the client is told that it will hear of changes, so that none is
/// told of which a server misses that looks only later.
fn changes_are_told(client: Client) {
    let world = working_world();
    let facts = client.play(
        &world,
        "listen",
        &json!({
            "background": {"preset": "scout", "task": "look"}, "release": world.path("go"),
        }),
    );
    assert_eq!(
        facts["heard"],
        json!([
            {"method": "notifications/resources/list_changed"},
            {"method": "notifications/resources/updated", "uri": facts["uri"]},
        ])
    );
    world.wait_until_nothing_is_left();
    assert_only_results_are_left(&world);
}
