// SPDX-License-Identifier: MIT
// selection_bar.ts - below the list of views: what is selected, each part with a button that removes it.

import { button, h, replace } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import type { Params } from "../base/route.ts";
import { numberIn, rangeOf, SHARED, type Range } from "../base/selection.ts";
import { ALL, type CoroFilter } from "../worker/query.ts";
import type { Context } from "./view.ts";

// With the digits that matter for its length.
export function rangeText({ from, to }: Range): string {
	const step = 10 ** Math.floor(Math.log10(Math.max(1, (to - from) / 100)));
	return `${fmt.offset(from, step)} to ${fmt.offset(to, step)}`;
}

export class SelectionBar {
	readonly el = h("div", { class: "selection", role: "region", aria: { label: "Selection, the same in every view" }, hidden: true });
	private readonly ctx: Context;

	constructor(ctx: Context) {
		this.ctx = ctx;
	}

	show(shared: Params): void {
		const chips = this.parts(shared).map(([text, change]) => button(`${text} ×`, () => this.ctx.select(change),
			{ class: "button chip", aria: { label: `${text} ×: remove from the selection` } }));
		this.el.hidden = chips.length === 0;
		replace(this.el, h("span", { class: "muted" }, "Selected:"), ...chips,
			button("Select all", () => this.ctx.select(Object.fromEntries(SHARED.map((key) => [key, ""]))), { class: "button quiet" }));
	}

	private parts(p: Params): [string, Params][] {
		const { trace } = this.ctx;
		const out: [string, Params][] = [];
		const range = rangeOf(p);
		if (range) out.push([`${rangeText(range)} (${fmt.duration(range.to - range.from)})`, { from: "", to: "" }]);
		if (p.q) out.push([`“${p.q}”`, { q: "" }]);
		if (p.kind) out.push([`kind ${trace.kind(Number(p.kind))?.text ?? "not known"}`, { kind: "" }]);
		if (p.site) out.push([`at ${trace.sitePlace(Number(p.site)) || "no known place"}`, { site: "" }]);
		if (p.at && Number.isFinite(Number(p.at))) out.push([`at ${fmt.offset(Number(p.at), 1000)}`, { at: "" }]);
		if (p.sel) out.push([this.coroutine(p.sel), { sel: "" }]);
		if (p.findings) out.push([p.findings === "any" ? "with findings" : `finding ${p.findings}`, { findings: "" }]);
		return out;
	}

	private coroutine(id: string): string {
		const row = this.ctx.trace.coros.rowOfId(id);
		return row >= 0 ? this.ctx.trace.title(row) : `#${id}`;
	}
}

// The coroutines of a selection; its range is a matter of each view.
export function selectedCoros(ctx: Context, p: Params): CoroFilter {
	const { trace } = ctx;
	return {
		...ALL, text: p.q ?? "", kind: numberIn(p, "kind"), site: numberIn(p, "site"),
		findings: p.findings === "any" ? -1 : p.findings ? trace.detectorBits([p.findings]) : 0,
	};
}

export const isAll = (f: CoroFilter): boolean => f.text.trim() === "" && f.kind < 0 && f.site < 0 && f.findings === 0;
