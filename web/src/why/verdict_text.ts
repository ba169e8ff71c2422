// SPDX-License-Identifier: MIT
// verdict_text.ts - the verdict of a group as text and as a badge.

import { h } from "../base/dom.ts";
import type { Group } from "./types.ts";

// A task that was woken is ready, whatever it waited for.
const verdictWord = (g: Group) => (g.state === "ready" ? "ready" : g.verdict);

export const verdictText = (g: Group) => (g.confidence === "none" ? verdictWord(g) : `${verdictWord(g)}, ${g.confidence}`);

export function sureBadge(confidence: string, text: string): HTMLElement {
	return h("span", { class: "badge", data: { sure: confidence === "none" ? "info" : confidence } }, text);
}

export const verdictBadge = (g: Group, text = verdictText(g)) => sureBadge(g.confidence, text);

export const reasonText = (g: Group) => [g.reason, g.doubt ? `not proven: ${g.doubt}` : undefined].filter((t) => t !== undefined).join("; ");
