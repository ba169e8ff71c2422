// SPDX-License-Identifier: MIT
// marks.ts - states and confidences: a shape, a colour and the word, always together.

import { h, svg } from "../base/dom.ts";
import { viewHref } from "../base/route.ts";
import type { Trace } from "../trace.ts";

// In the order of the bundle's numbers.
export const STATES = ["unknown", "new", "ready", "running", "suspended", "ended", "destroyed"] as const;
export type State = (typeof STATES)[number];

export const CONFIDENCES = ["proven", "strong", "suspect", "info"] as const;
export type Confidence = (typeof CONFIDENCES)[number];

const SIZE = 11;

function shape(tag: string, attrs: Record<string, string | number>): SVGElement {
	const out = svg("svg", { width: SIZE, height: SIZE, viewBox: `0 0 ${SIZE} ${SIZE}`, "aria-hidden": "true" });
	out.appendChild(svg(tag, { fill: "currentColor", ...attrs }));
	return out;
}

const hollow = { fill: "none", stroke: "currentColor", "stroke-width": 1.6 };

const STATE_SHAPES: Record<string, () => SVGElement> = {
	running: () => shape("path", { d: "M2 1 L10 5.5 L2 10 Z" }),
	suspended: () => shape("path", { d: "M2 1.5h2.6v8H2z M6.4 1.5H9v8H6.4z" }),
	ready: () => shape("path", { d: "M5.5 1 L10 5.5 L5.5 10 L1 5.5 Z", ...hollow }),
	new: () => shape("circle", { cx: 5.5, cy: 5.5, r: 3.6, ...hollow }),
	ended: () => shape("rect", { x: 2, y: 2, width: 7, height: 7 }),
	destroyed: () => shape("path", { d: "M2 2l7 7M9 2l-7 7", ...hollow }),
	unknown: () => shape("path", { d: "M1.5 5.5h8", ...hollow }),
};

const SURE_SHAPES: Record<string, () => SVGElement> = {
	proven: () => shape("path", { d: "M5.5 1 L10.5 10 H.5 Z" }),
	strong: () => shape("path", { d: "M5.5 .8 L10.2 5.5 L5.5 10.2 L.8 5.5 Z" }),
	suspect: () => shape("path", { d: "M5.5 1.6 L9.4 5.5 L5.5 9.4 L1.6 5.5 Z", ...hollow }),
	info: () => shape("circle", { cx: 5.5, cy: 5.5, r: 3.6, ...hollow }),
};

export function stateMark(state: string): HTMLElement {
	const make = STATE_SHAPES[state] ?? STATE_SHAPES.unknown;
	return h("span", { class: "state", data: { state } }, make(), state);
}

// Into a cell that may already hold the right mark.
export function putState(cell: HTMLElement, state: string): void {
	if (cell.dataset.state === state) return;
	cell.dataset.state = state;
	cell.replaceChildren(stateMark(state));
}

export function sureMark(confidence: string): HTMLElement {
	const make = SURE_SHAPES[confidence] ?? SURE_SHAPES.info;
	return h("span", { class: "badge", data: { sure: confidence } }, make(), confidence);
}

// A link to the findings of a detector, with the highest confidence among them.
export function findingBadge(trace: Trace, detector: string): HTMLElement {
	const sure = trace.report.findings.find((f) => f.detector === detector)?.confidence ?? "info";
	const make = SURE_SHAPES[sure] ?? SURE_SHAPES.info;
	return h("a", { class: "badge", data: { sure }, href: viewHref("findings", { findings: detector }) }, make(), detector);
}
