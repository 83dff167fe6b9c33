/**
 * Sub-agents inside pi. The program `pi-subagents` decides everything; this extension passes messages between it and
 * pi.
 */

import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default async function (pi: ExtensionAPI): Promise<void> {
	if (process.env.PI_SUBAGENTS_GITHUB_COPILOT_INITIATOR === "agent") {
		pi.registerProvider("github-copilot", { headers: { "X-Initiator": "agent" } });
	}
	// A sub-agent has no sub-agents. Many of them start at the same time, so they load nothing else.
	if (process.env.PI_SUBAGENTS_CHILD === "1") return;
	const { serve } = await import("./session.ts");
	serve(pi);
}
