// Hands the key of a sub-agent's profile to pi, where it wins over every stored login, and takes it
// out of the environment, so that no command of the agent inherits it.
export default function (pi) {
  const key = process.env.PI_API_KEY;
  const named = process.env.PI_SUBAGENTS_KEY_PROVIDER;
  delete process.env.PI_API_KEY;
  delete process.env.PI_SUBAGENTS_KEY_PROVIDER;
  if (!key) return;
  pi.on("session_start", async (_event, context) => {
    const provider = named || context.model?.provider;
    if (provider) await context.modelRegistry.runtime.setRuntimeApiKey(provider, key);
  });
}
