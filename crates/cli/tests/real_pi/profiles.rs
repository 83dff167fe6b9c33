//! What a profile says reaches the model.

use serde_json::json;

use crate::{PiWorld, system_prompt, tools};

fn answering() -> PiWorld {
    PiWorld::new(&json!([{"text": "done"}]))
}

/// A text of this many bytes in which every part is different.
fn long_text(bytes: usize) -> String {
    let mut text: String = (0..bytes / 8).map(|number| format!("{number:07}\n")).collect();
    text.push_str("the end");
    text
}

#[test]
fn model_tools_thinking_and_prompts_are_those_of_the_profile() {
    let pi = answering();
    pi.worker(
        "provider: fake\nmodel: fake-2\nthinkingLevel: high\ntools: [grep, read]\n\
         appendSystemPrompt: Never guess.",
        "You are a librarian.",
    );
    let task = pi.complete(&["--profile", "worker"]);
    let request = pi.asked_once();
    assert_eq!(request["model"], "fake-2");
    assert_eq!(task["model"], "fake-2");
    assert_eq!(request["reasoning_effort"], "high", "{request:#}");
    assert_eq!(tools(&request), ["grep", "read"]);
    let system = system_prompt(&request);
    assert!(system.starts_with("You are a librarian.\n"), "{system}");
    assert!(system.contains("Never guess."), "{system}");
    assert!(!system.contains("coding assistant"), "pi's own prompt is still there: {system}");
}

#[test]
fn without_a_profile_pi_is_as_it_is() {
    let pi = answering();
    pi.complete(&[]);
    let request = pi.asked_once();
    assert_eq!(request["model"], "fake-1");
    assert_eq!(tools(&request), ["bash", "edit", "read", "write"]);
    assert!(system_prompt(&request).contains("coding assistant"));
}

#[test]
fn excluded_tools_are_not_offered() {
    let pi = answering();
    pi.worker("excludeTools: [bash, write]", "");
    pi.complete(&["--profile", "worker"]);
    assert_eq!(tools(&pi.asked_once()), ["edit", "read"]);
}

#[test]
fn no_tools_means_none() {
    let pi = answering();
    pi.worker("noTools: true", "");
    pi.complete(&["--profile", "worker"]);
    assert_eq!(tools(&pi.asked_once()), [""; 0]);
}

#[test]
fn a_long_system_prompt_and_a_long_skill_arrive_whole() {
    let pi = answering();
    let (body, skill) = (long_text(300_000), long_text(300_000));
    let head = "---\nname: deep\ndescription: Deep knowledge.\n---\n";
    pi.agent_file("skills/deep/SKILL.md", &format!("{head}{skill}"));
    pi.worker("loadSkills: [deep]", &body);
    pi.complete(&["--profile", "worker"]);
    let system = system_prompt(&pi.asked_once());
    assert!(system.starts_with(&body), "{} bytes arrived", system.len());
    let loaded = format!("<loaded_skill name=\"deep\">\n{skill}\n</loaded_skill>");
    assert!(system[body.len()..].contains(&loaded), "{} bytes arrived", system.len());
}

#[test]
fn suggested_skills_are_named_and_no_others() {
    let pi = answering();
    // pi itself does not look at the skills of a project that was approved only for this once.
    for (name, words) in [("baking", "How bread is baked."), ("sewing", "How to sew.")] {
        let text = format!("---\nname: {name}\ndescription: {words}\n---\nSecrets of {name}.");
        pi.project_file(&format!(".pi/skills/{name}/SKILL.md"), &text);
    }
    pi.worker("suggestedSkills: [baking]", "");
    pi.complete(&["--profile", "worker", "--approve"]);
    let system = system_prompt(&pi.asked_once());
    assert!(system.contains("How bread is baked."), "{system}");
    assert!(system.contains("skills/baking/SKILL.md"), "{system}");
    assert!(!system.contains("sewing") && !system.contains("Secrets of"), "{system}");
}
