// SPDX-License-Identifier: MIT
// moment_bar.ts - chooses a moment: a slider, keys, and jumps to the next change.

import { button, h, setText } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import type { Range } from "../base/selection.ts";

export interface MomentChanges {
	before: number;            // NaN: none
	after: number;
	of: string;                // whose
}

const STEPS = 500;

export class MomentBar {
	readonly el: HTMLElement;
	readonly slider: HTMLInputElement;
	private readonly stamp = h("output", { class: "mono moment-stamp" });
	private readonly earlier: HTMLButtonElement;
	private readonly later: HTMLButtonElement;
	private readonly whose = h("span", { class: "muted moment-whose" });
	private readonly onTime: (t: number) => void;
	private range: Range = { from: 0, to: 1 };
	private changes: MomentChanges = { before: NaN, after: NaN, of: "" };
	private t = 0;

	constructor(onTime: (t: number) => void, strip: Node | null = null) {
		this.onTime = onTime;
		this.slider = h("input", { type: "range", class: "moment-slider", aria: { label: "Time" } });
		this.slider.step = "1";
		this.slider.addEventListener("input", () => this.onTime(Number(this.slider.value)));
		this.earlier = button("◀ change", () => this.jump(-1), { aria: { label: "◀ change: to the change before" } });
		this.later = button("change ▶", () => this.jump(1), { aria: { label: "change ▶: to the next change" } });
		this.el = h("div", { class: "moment" }, h("div", { class: "moment-row" }, this.stamp, this.earlier, this.later, this.whose),
			h("div", { class: "moment-track" }, strip instanceof Node ? strip : null, this.slider));
		this.slider.addEventListener("keydown", (ev) => this.onKey(ev));
	}

	show(t: number, range: Range): void {
		this.t = t;
		this.range = range;
		this.slider.min = String(Math.floor(range.from));
		this.slider.max = String(Math.ceil(range.to));
		this.slider.value = String(Math.round(t));
		this.slider.setAttribute("aria-valuetext", fmt.stamp(t));
		setText(this.stamp, fmt.stamp(t));
	}

	setChanges(changes: MomentChanges): void {
		this.changes = changes;
		this.earlier.disabled = Number.isNaN(changes.before);
		this.later.disabled = Number.isNaN(changes.after);
		setText(this.whose, changes.of === "" ? "" : `of ${changes.of}`);
	}

	// To the change before (-1) or after (1); false: there is none.
	jump(by: number): boolean {
		const t = by < 0 ? this.changes.before : this.changes.after;
		if (Number.isNaN(t)) return false;
		this.onTime(t);
		return true;
	}

	private onKey(ev: KeyboardEvent): void {
		if (ev.ctrlKey || ev.metaKey || ev.altKey) return;
		const step = Math.max(1, (this.range.to - this.range.from) / STEPS) * (ev.shiftKey ? 10 : 1);
		const times: Record<string, number> = {
			ArrowLeft: this.t - step, ArrowDown: this.t - step, ArrowRight: this.t + step, ArrowUp: this.t + step,
			PageDown: this.t - 20 * step, PageUp: this.t + 20 * step, Home: this.range.from, End: this.range.to,
		};
		if (ev.key === "," || ev.key === ".") this.jump(ev.key === "," ? -1 : 1);
		else if (ev.key in times) this.onTime(Math.round(Math.min(this.range.to, Math.max(this.range.from, times[ev.key]))));
		else return;
		ev.preventDefault();
	}
}
