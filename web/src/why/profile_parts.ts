// SPDX-License-Identifier: MIT
// profile_parts.ts - the parts of the page of `why --sample --html`: flame graph and table of stacks.

import { button, h, replace, setText } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { tablePart, type PagePart } from "../ui/part_page.ts";
import { empty, panel, Tip } from "../ui/parts.ts";
import { matches, SortTable } from "../ui/sort_table.ts";
import { buildFlameTree, drawFlame, hitShare, TASK_STATES, type FlameBlock, type FlameNode } from "./flame_tree.ts";
import { functionText, placeText, stackList } from "./stack_list.ts";
import type { ProfileData, ProfileStack } from "./types.ts";

const BLOCKS_MOST = 4000;
const WIDTH_LEAST = 0.0008;    // a block of one pixel
const STACKS_SHOWN = 300;

// ---- texts ----

export const taskTime = (d: ProfileData, samples: number) => fmt.duration(samples * d.period_ns);

const nodeText = (n: FlameNode) => `${functionText(n.level)} ${placeText(n.level)} ${n.level.awaits ?? ""}`;

function nodeFacts(d: ProfileData, n: FlameNode): [string, string][] {
	return [
		["place", placeText(n.level)],
		["share", fmt.percent(n.samples, d.samples)],
		["task time", taskTime(d, n.samples)],
		["tasks on average", (n.samples / Math.max(1, d.looks)).toFixed(1)],
		...TASK_STATES.map((s, i): [string, string] => [s, fmt.percent(n.states[i], n.samples)]).filter((_, i) => n.states[i] > 0),
		...(n.own > 0 && n.own < n.samples ? [["innermost here", taskTime(d, n.own)] as [string, string]] : []),
	];
}

// ---- flame graph ----

// Shares of the states as one strip.
function stateStrip(n: FlameNode): HTMLElement {
	const strip = h("span", { class: "flame-states", aria: { hidden: true } });
	n.states.forEach((samples, i) => {
		if (samples === 0) return;
		const part = h("i", { class: `flame-${TASK_STATES[i]}` });
		part.style.width = `${(100 * samples / n.samples).toFixed(2)}%`;
		strip.append(part);
	});
	return strip;
}

class FlameBox {
	readonly el = h("div", { class: "flame", role: "group", aria: { label: "Flame graph" } });
	private readonly d: ProfileData;
	private readonly top: FlameNode;
	private readonly back: HTMLButtonElement;
	private readonly tip = new Tip();
	private focus: FlameNode;
	private words: readonly string[] = [];

	constructor(d: ProfileData, back: HTMLButtonElement) {
		this.d = d;
		this.back = back;
		this.top = this.focus = buildFlameTree(d.stacks);
		this.el.addEventListener("keydown", (ev) => ev.key === "Escape" && this.zoom(this.top));
	}

	zoom(node: FlameNode): void {
		this.focus = node;
		this.draw();
		this.el.querySelector<HTMLElement>("[data-focus]")?.focus({ preventScroll: true });
	}

	reset(): void {
		this.zoom(this.top);
	}

	// The share of the task time whose stacks match; null: no filter.
	search(words: readonly string[]): number | null {
		this.words = words;
		this.draw();
		return words.length === 0 ? null : hitShare(this.top, (n) => this.isHit(n));
	}

	private isHit(n: FlameNode): boolean {
		return matches(this.words, nodeText(n));
	}

	private draw(): void {
		const { blocks, rows, hidden } = drawFlame(this.focus, WIDTH_LEAST, BLOCKS_MOST);
		this.back.disabled = this.focus === this.top;
		this.tip.hide();
		if (blocks.length === 0) {
			replace(this.el, empty("No task was seen."));
			return;
		}
		const chart = h("div", { class: "flame-chart" }, ...blocks.map((b) => this.block(b)));
		chart.style.height = `${(rows * 1.75).toFixed(2)}rem`;
		replace(this.el, chart, hidden > 0 ? h("p", { class: "muted" }, `${fmt.plural(hidden, "more node")} too narrow or too deep to show; zoom in for them.`) : null);
	}

	private block(b: FlameBlock): HTMLElement {
		const { node } = b;
		const facts = nodeFacts(this.d, node);
		const main = TASK_STATES[node.states.indexOf(Math.max(...node.states))];
		const show = (x: number, y: number) => this.tip.show(x, y, functionText(node.level), facts);
		const el = h("button", {
			class: `flame-block flame-${main}${this.words.length === 0 ? "" : this.isHit(node) ? " hit" : " miss"}`, type: "button",
			aria: { label: `${functionText(node.level)}: ${facts.map(([k, v]) => `${k} ${v}`).join(", ")}` },
			data: node === this.focus ? { focus: "" } : {},
			on: {
				click: () => this.zoom(node), pointermove: (ev) => show(ev.clientX, ev.clientY), pointerleave: () => this.tip.hide(), blur: () => this.tip.hide(),
				focus: () => {
					const box = el.getBoundingClientRect();
					if (el.matches(":focus-visible")) show(box.left, box.bottom - 12);
				},
			},
		}, b.width > 0.012 ? h("span", { class: "flame-name" }, functionText(node.level), node.level.line === null ? null : h("span", { class: "muted" }, `:${node.level.line}`)) : null, stateStrip(node));
		el.style.left = `${(100 * b.from).toFixed(4)}%`;
		el.style.width = `${(100 * b.width).toFixed(4)}%`;
		el.style.top = `${(b.row * 1.75).toFixed(2)}rem`;
		return el;
	}
}

function stateKey(): HTMLElement {
	return h("p", { class: "flame-key muted" }, ...TASK_STATES.map((s) => h("span", null, h("i", { class: `flame-${s}` }), s)));
}

export function flamePart(d: ProfileData): PagePart {
	const back = button("Show all", () => flame.reset(), { class: "button quiet" });
	const flame = new FlameBox(d, back);
	const box = panel("Flame graph", { tools: [back] });
	box.el.id = "flame";
	box.body.append(h("p", { class: "muted" }, "Each coroutine awaits those below it. The width is the time that tasks spent in these stacks; a click zooms in, Escape zooms out."),
		stateKey(), flame.el);
	const filter = (words: readonly string[]) => {
		const share = flame.search(words);
		setText(box.note, share === null ? "" : `${fmt.percent(share, 1)} of the task time matches`);
	};
	return { view: "flame", label: "Flame graph", el: box.el, filter };
}

// ---- stacks ----

export function stacksPart(d: ProfileData): PagePart {
	const table = new SortTable<ProfileStack>({
		label: "Stacks", rows: d.stacks, limit: STACKS_SHOWN, empty: "No task was seen.", columns: [
			{ key: "percent", label: "Share", end: true, value: (s) => s.percent, show: (s) => fmt.percent(s.samples, d.samples) },
			{ key: "task_seconds", label: "Task time", end: true, title: "Tasks times time", value: (s) => s.task_seconds, show: (s) => taskTime(d, s.samples) },
			{ key: "tasks", label: "Tasks", end: true, title: "Tasks on average", value: (s) => s.tasks, show: (s) => s.tasks.toFixed(1) },
			{ key: "most", label: "At most", end: true, title: "Tasks in one look, at most", value: (s) => s.most },
			{ key: "state", label: "State", value: (s) => s.state, show: (s) => h("span", { class: "nowrap flame-key" }, h("i", { class: `flame-${s.state}` }), s.state) },
			{ key: "stack", label: "Stack, innermost first", class: "name", value: (s) => s.stack.map((l) => `${functionText(l)} ${placeText(l)}`.trim()).join(" <- "), show: (s) => stackList(s) },
		],
	});
	return tablePart("stacks", "Stacks", "Stacks", table, d.stacks.length, "stacks");
}
