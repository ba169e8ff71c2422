// SPDX-License-Identifier: MIT
// flame_states.ts - the states of a flame graph of coroutines: colour, strip and legend.

import { h } from "../base/dom.ts";
import { TASK_STATES, type FlameNode } from "../data/flame_tree.ts";

// The class of the colour: the state with the largest share.
export function stateTone(n: FlameNode): string {
	return `flame-${TASK_STATES[n.states.indexOf(Math.max(...n.states))]}`;
}

// Shares of the states as one strip.
export function stateStrip(n: FlameNode): HTMLElement {
	const strip = h("span", { class: "flame-states", aria: { hidden: true } });
	n.states.forEach((samples, i) => {
		if (samples === 0) return;
		const part = h("i", { class: `flame-${TASK_STATES[i]}` });
		part.style.width = `${(100 * samples / n.samples).toFixed(2)}%`;
		strip.append(part);
	});
	return strip;
}

export function stateKey(): HTMLElement {
	return h("p", { class: "flame-key muted" }, ...TASK_STATES.map((s) => h("span", null, h("i", { class: `flame-${s}` }), s)));
}
