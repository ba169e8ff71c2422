// SPDX-License-Identifier: MIT
// flame_box.ts - a flame graph that hangs down: a click zooms in, a filter marks, every block has its numbers.

import { h, replace } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { buildFlameTree, drawFlame, hitShare, TASK_STATES, type FlameBlock, type FlameNode, type FlameStack } from "../data/flame_tree.ts";
import { empty, Tip } from "./parts.ts";
import { matches } from "./sort_table.ts";

const BLOCKS_MOST = 4000;
const WIDTH_LEAST = 0.0008;    // a block of one pixel

export interface FlameOptions {
	stacks: readonly FlameStack[];
	back: HTMLButtonElement;   // disabled while all is shown
	empty: string;             // what is said of no stacks
	title(n: FlameNode): string;
	text(n: FlameNode): string; // what the filter looks at
	facts(n: FlameNode): [string, string][];
}

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

export class FlameBox {
	readonly el = h("div", { class: "flame", role: "group", aria: { label: "Flame graph" } });
	private readonly o: FlameOptions;
	private top: FlameNode;
	private readonly tip = new Tip();
	private focus: FlameNode;
	private words: readonly string[] = [];

	constructor(options: FlameOptions) {
		this.o = options;
		this.top = this.focus = buildFlameTree(options.stacks);
		this.el.addEventListener("keydown", (ev) => ev.key === "Escape" && this.zoom(this.top));
	}

	setStacks(stacks: readonly FlameStack[]): void {
		this.top = this.focus = buildFlameTree(stacks);
		this.draw();
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
		return matches(this.words, this.o.text(n));
	}

	private draw(): void {
		const { blocks, rows, hidden } = drawFlame(this.focus, WIDTH_LEAST, BLOCKS_MOST);
		this.o.back.disabled = this.focus === this.top;
		this.tip.hide();
		if (blocks.length === 0) {
			replace(this.el, empty(this.o.empty));
			return;
		}
		const chart = h("div", { class: "flame-chart" }, ...blocks.map((b) => this.block(b)));
		chart.style.height = `${(rows * 1.75).toFixed(2)}rem`;
		replace(this.el, chart, hidden > 0 ? h("p", { class: "muted" }, `${fmt.plural(hidden, "more node")} too narrow or too deep to show; zoom in for them.`) : null);
	}

	private block(b: FlameBlock): HTMLElement {
		const { node } = b;
		const [title, facts] = [this.o.title(node), this.o.facts(node)];
		const main = TASK_STATES[node.states.indexOf(Math.max(...node.states))];
		const show = (x: number, y: number) => this.tip.show(x, y, title, facts);
		const el = h("button", {
			class: `flame-block flame-${main}${this.words.length === 0 ? "" : this.isHit(node) ? " hit" : " miss"}`, type: "button",
			aria: { label: `${title}: ${facts.map(([k, v]) => `${k} ${v}`).join(", ")}` },
			data: node === this.focus ? { focus: "" } : {},
			on: {
				click: () => this.zoom(node), pointermove: (ev) => show(ev.clientX, ev.clientY), pointerleave: () => this.tip.hide(), blur: () => this.tip.hide(),
				focus: () => {
					const box = el.getBoundingClientRect();
					if (el.matches(":focus-visible")) show(box.left, box.bottom - 12);
				},
			},
		}, b.width > 0.012 ? h("span", { class: "flame-name" }, title, node.level.line === null ? null : h("span", { class: "muted" }, `:${node.level.line}`)) : null, stateStrip(node));
		el.style.left = `${(100 * b.from).toFixed(4)}%`;
		el.style.width = `${(100 * b.width).toFixed(4)}%`;
		el.style.top = `${(b.row * 1.75).toFixed(2)}rem`;
		return el;
	}
}

export function stateKey(): HTMLElement {
	return h("p", { class: "flame-key muted" }, ...TASK_STATES.map((s) => h("span", null, h("i", { class: `flame-${s}` }), s)));
}

