// What pi has to know when it is a sub-agent.
export default function (pi) {
  const key = process.env.PI_API_KEY;
  const named = process.env.PI_SUBAGENTS_KEY_PROVIDER;
  delete process.env.PI_API_KEY;
  delete process.env.PI_SUBAGENTS_KEY_PROVIDER;
  // GitHub Copilot asks who begins a conversation: here it is never a person.
  if (process.env.PI_SUBAGENTS_GITHUB_COPILOT_INITIATOR === "agent") {
    pi.registerProvider("github-copilot", { headers: { "X-Initiator": "agent" } });
  }
  if (!key) return;
  // The key of the profile wins over every stored login, and is gone from the environment, so that no
  // command of the agent inherits it.
  pi.on("session_start", async (_event, context) => {
    const provider = named || context.model?.provider;
    if (provider) await context.modelRegistry.runtime.setRuntimeApiKey(provider, key);
  });
}
