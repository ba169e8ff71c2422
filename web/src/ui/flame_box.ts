// SPDX-License-Identifier: MIT
// flame_box.ts - a flame graph: zoomed by a click, searched by words, read by pointer and keyboard.

import { h, replace } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { drawFlame, hitShare, type FlameBlock, type FlameShape } from "../data/flame_draw.ts";
import { empty, Tip } from "./parts.ts";
import { matches } from "./sort_table.ts";

const BLOCKS_MOST = 4000;
const WIDTH_LEAST = 0.0008;    // a block of one pixel

export interface FlameOptions<N> {
	empty: string;
	text(n: N): string;        // what a filter looks at
	title(n: N): string;
	facts(n: N): [string, string][];
	tone(n: N): string;        // the class of its colour
	label(n: N): (Node | string | null)[];
	strip?(n: N): Node;        // at the bottom of the block
}

export class FlameBox<N extends FlameShape<N>> {
	readonly el = h("div", { class: "flame", role: "group", aria: { label: "Flame graph" } });
	private readonly o: FlameOptions<N>;
	private top: N;
	private readonly back: HTMLButtonElement;
	private readonly tip = new Tip();
	private focus: N;
	private words: readonly string[] = [];

	constructor(top: N, back: HTMLButtonElement, options: FlameOptions<N>) {
		this.o = options;
		this.back = back;
		this.top = this.focus = top;
		this.el.addEventListener("keydown", (ev) => ev.key === "Escape" && this.zoom(this.top));
	}

	// Another tree, seen whole.
	setTop(top: N): void {
		this.top = this.focus = top;
		this.draw();
	}

	zoom(node: N): void {
		this.focus = node;
		this.draw();
		this.el.querySelector<HTMLElement>("[data-focus]")?.focus({ preventScroll: true });
	}

	reset(): void {
		this.zoom(this.top);
	}

	// The share of the width whose stacks match; null: no filter.
	search(words: readonly string[]): number | null {
		this.words = words;
		this.draw();
		return words.length === 0 ? null : hitShare(this.top, (n) => this.isHit(n));
	}

	private isHit(n: N): boolean {
		return matches(this.words, this.o.text(n));
	}

	private draw(): void {
		const { blocks, rows, hidden } = drawFlame(this.focus, WIDTH_LEAST, BLOCKS_MOST);
		this.back.disabled = this.focus === this.top;
		this.tip.hide();
		if (blocks.length === 0) {
			replace(this.el, empty(this.o.empty));
			return;
		}
		const chart = h("div", { class: "flame-chart" }, ...blocks.map((b) => this.block(b)));
		chart.style.height = `${(rows * 1.75).toFixed(2)}rem`;
		replace(this.el, chart, hidden > 0 ? h("p", { class: "muted" }, `${fmt.plural(hidden, "more node")} too narrow or too deep to show; zoom in for them.`) : null);
	}

	private block(b: FlameBlock<N>): HTMLElement {
		const { node } = b;
		const { title, facts, tone, label, strip } = this.o;
		const pairs = facts(node);
		const show = (x: number, y: number) => this.tip.show(x, y, title(node), pairs);
		const el = h("button", {
			class: `flame-block ${tone(node)}${this.words.length === 0 ? "" : this.isHit(node) ? " hit" : " miss"}`, type: "button",
			aria: { label: `${title(node)}: ${pairs.map(([k, v]) => `${k} ${v}`).join(", ")}` },
			data: node === this.focus ? { focus: "" } : {},
			on: {
				click: () => this.zoom(node), pointermove: (ev) => show(ev.clientX, ev.clientY), pointerleave: () => this.tip.hide(), blur: () => this.tip.hide(),
				focus: () => {
					const box = el.getBoundingClientRect();
					if (el.matches(":focus-visible")) show(box.left, box.bottom - 12);
				},
			},
		}, b.width > 0.012 ? h("span", { class: "flame-name" }, ...label(node)) : null, strip?.(node) ?? null);
		el.style.left = `${(100 * b.from).toFixed(4)}%`;
		el.style.width = `${(100 * b.width).toFixed(4)}%`;
		el.style.top = `${(b.row * 1.75).toFixed(2)}rem`;
		return el;
	}
}
