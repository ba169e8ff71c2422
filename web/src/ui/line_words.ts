// SPDX-License-Identifier: MIT
// line_words.ts - a coroutine at a moment, in words.

import { h } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import type { Trace } from "../trace.ts";
import { EDGE, ORIGIN } from "../worker/await_forest.ts";
import { AT, NEED } from "../worker/moment.ts";
import type { TreeLine } from "../worker/tree_lines.ts";

const STATE_WORDS = ["unknown", "new", "ready", "running", "suspended", "ended", "not in this file", "not created yet"] as const;

export const stateWord = (state: number): string => STATE_WORDS[state] ?? STATE_WORDS[0];

// Why it is where it is in the tree; "": nothing to say.
export function edgeWords(l: TreeLine): string {
	if (l.edge === EDGE.awaited) return "awaited";
	if (l.edge === EDGE.holder) return "holds the lock";
	if (l.edge === EDGE.created) return "created by it";
	if (l.origin === ORIGIN.unknown) return "creator not known";
	if (l.origin === ORIGIN.over) return "creator has ended";
	return l.origin === ORIGIN.leftOut ? "creator left out of this file" : "";
}

// How long it has been so, at time @t.
export function forWords(l: TreeLine, t: number): string {
	if (Number.isNaN(l.since) || l.state === AT.absent || l.state === AT.omitted) return fmt.dash;
	if (l.state === AT.ended) return `${fmt.duration(t - l.since)} ago`;
	return `${l.count > 1 ? "up to " : ""}${fmt.duration(t - l.since)}`;
}

function needWords(trace: Trace, l: TreeLine, name: (nr: number) => Node | string): (Node | string)[] {
	const names = l.needs.flatMap((nr, i) => [i > 0 ? ", " : "", name(nr)]);
	const more = l.needsMore > 0 ? ` and ${fmt.count(l.needsMore)} more` : "";
	if (l.needKind === NEED.join) return l.needs.length > 0 ? ["awaits ", ...names] : [`awaits ${l.resource ? `#${l.resource}` : "a coroutine"}, which is not in this file`];
	const lock = `${trace.reason(l.reason)}${l.resource ? ` ${fmt.resource(BigInt(l.resource))}` : ""}`;
	return l.needs.length > 0 ? [`${lock}, held by `, ...names, more] : [`${lock}, holder ${l.needsOmitted ? "not in this file" : "not known"}`];
}

// What it waits for, or does.
export function whyWords(trace: Trace, l: TreeLine, name: (nr: number) => Node | string): (Node | string)[] {
	if (l.state === AT.running) return [`on thread ${trace.thread(l.thread)}`];
	if (l.state === AT.omitted) return ["its slices of this time are not in this file"];
	if (l.state === AT.fresh) return ["has not run yet"];
	if (l.needKind !== NEED.none) return needWords(trace, l, name);
	const reason = trace.reason(l.reason);
	// The resource of a timer is its deadline.
	if (reason === "timer" && l.resource && l.resource !== "0") return [`timer, due at ${fmt.stamp(trace.offsetOf(l.resource))}`];
	return reason === "" ? [] : [`${reason}${l.resource ? ` ${fmt.resource(BigInt(l.resource))}` : ""}`];
}

// A button that looks like a link: the coroutine becomes the chosen one.
export function chooser(trace: Trace, nr: number, choose: (nr: number) => void, text = trace.titleOfNr(nr)): HTMLElement {
	if (trace.coros.rowOf(nr) < 0) return h("span", { class: "muted" }, text);
	return h("button", { type: "button", class: "as-link", tabindex: 0, on: { click: () => choose(nr) } }, text);
}
