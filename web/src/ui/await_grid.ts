// SPDX-License-Identifier: MIT
// await_grid.ts - the lines of an await tree as a table that opens and closes, by mouse and keys.

import { button, h, replace } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import type { TreeAnswer } from "../worker/moments.ts";
import type { TreeLine } from "../worker/tree_lines.ts";
import { edgeWords, forWords, stateWord, whyWords } from "./line_words.ts";
import { stateMark } from "./marks.ts";
import { tableBox } from "./parts.ts";
import type { Context } from "./view.ts";

export interface AwaitActions {
	choose(nr: number): void;
	turn(key: string, open: boolean): void;
	more(): void;
	open(nr: number): void;
	jump(by: number): void;            // to the change before or after
}

const HEAD = ["Coroutine", "State", "For", "Where", "What it waits for"];

export class AwaitGrid {
	readonly el: HTMLElement;
	private readonly ctx: Context;
	private readonly acts: AwaitActions;
	private readonly body = h("tbody", null);
	private readonly table: HTMLTableElement;
	private readonly rest = h("p", { class: "muted", hidden: true });
	private lines: TreeLine[] = [];
	private current = "";      // key of the line with the focus

	constructor(ctx: Context, acts: AwaitActions) {
		this.ctx = ctx;
		this.acts = acts;
		const cells = HEAD.map((label) => {
			const th = h("th", { class: label === "For" ? "end" : "" }, label);
			th.setAttribute("scope", "col");
			return th;
		});
		this.table = h("table", { class: "plain await-grid", role: "treegrid", aria: { label: "Await tree" } }, h("thead", null, h("tr", null, ...cells)), this.body);
		this.el = h("div", null, tableBox("Await tree, scrolls", this.table), this.rest);
		this.body.addEventListener("keydown", (ev) => this.onKey(ev));
	}

	show(a: TreeAnswer, sel: number): void {
		const hadFocus = this.body.contains(document.activeElement);
		this.lines = a.lines;
		if (!a.lines.some((l) => l.key === this.current)) this.current = a.lines.find((l) => l.nr + 1 === sel && l.count === 1)?.key ?? a.lines[0]?.key ?? "";
		replace(this.body, ...a.lines.map((l) => this.row(l, a.t, sel)));
		if (hadFocus) this.rowOf(this.current)?.focus({ preventScroll: true });
		this.rest.hidden = a.more === 0;
		replace(this.rest, `${fmt.plural(a.more, "line")} more. `, button("Show more", () => this.acts.more()));
	}

	private row(l: TreeLine, t: number, sel: number): HTMLElement {
		const { trace } = this.ctx;
		const mine = l.count === 1 && l.nr + 1 === sel;
		const place = trace.sitePlace(l.site);
		const words = edgeWords(l);
		const mark = l.kids > 0 ? h("span", { class: "await-turn", aria: { hidden: true }, on: { click: (ev) => {
			ev.stopPropagation();
			this.acts.turn(l.key, !l.open);
		} } }, l.open ? "▾" : "▸") : h("span", { class: "await-turn" });
		const who = h("td", { class: "await-who" }, mark, l.count > 1 ? h("b", null, `${fmt.count(l.count)} × `) : null, h("span", { class: "await-title" }, this.title(l)),
			words !== "" ? h("span", { class: "muted" }, ` ${words}`) : null, l.ring > 0 ? h("span", { class: "badge", data: { sure: "proven" } }, `ring ${l.ring}`) : null);
		who.style.paddingLeft = `${0.4 + 1.15 * Math.min(l.depth, 24)}rem`;
		const where = h("td", { class: "clip mono" }, place);
		if (place !== "") where.title = trace.siteText(l.site);
		const row = h("tr", {
			class: `${l.faint ? "faint" : ""} ${mine ? "chosen" : ""}`, role: "row", tabindex: l.key === this.current ? 0 : -1, data: { key: l.key },
			aria: { level: l.depth + 1, selected: mine, ...(l.kids > 0 ? { expanded: l.open } : {}) }, on: { click: () => this.click(l) },
		}, who, h("td", null, stateMark(stateWord(l.state))), h("td", { class: "end nowrap" }, forWords(l, t)), where,
		h("td", null, ...whyWords(trace, l, (nr) => trace.titleOfNr(nr))));
		if (!Number.isNaN(l.until)) row.title = `until ${fmt.stamp(l.until)}`;
		return row;
	}

	private title(l: TreeLine): string {
		const { trace } = this.ctx;
		if (l.count === 1) return trace.titleOfNr(l.nr);
		const row = trace.coros.rowOf(l.nr);
		return trace.kind(trace.coros.c.kind[row])?.text ?? "coroutines";
	}

	private click(l: TreeLine): void {
		this.focus(l.key);
		if (l.count === 1) this.acts.choose(l.nr);
		else this.acts.turn(l.key, !l.open);
	}

	private rowOf(key: string): HTMLElement | undefined {
		return [...this.body.children].find((el) => (el as HTMLElement).dataset.key === key) as HTMLElement | undefined;
	}

	private focus(key: string): void {
		this.rowOf(this.current)?.setAttribute("tabindex", "-1");
		this.current = key;
		const row = this.rowOf(key);
		row?.setAttribute("tabindex", "0");
		row?.focus();
	}

	// The line above it in the tree.
	private parentOf(at: number): number {
		let i = at - 1;
		while (i >= 0 && this.lines[i].depth >= this.lines[at].depth) i--;
		return i;
	}

	private onKey(ev: KeyboardEvent): void {
		if (ev.ctrlKey || ev.metaKey || ev.altKey) return;
		const at = this.lines.findIndex((l) => l.key === this.current);
		const l = this.lines[at];
		if (!l) return;
		const moves: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: this.lines.length - 1, PageDown: at + 10, PageUp: at - 10 };
		if (ev.key in moves) this.focus(this.lines[Math.max(0, Math.min(this.lines.length - 1, moves[ev.key]))].key);
		else if (ev.key === "ArrowRight" && l.kids > 0 && !l.open) this.acts.turn(l.key, true);
		else if (ev.key === "ArrowRight" && l.kids > 0) this.focus(this.lines[Math.min(at + 1, this.lines.length - 1)].key);
		else if (ev.key === "ArrowLeft" && l.open) this.acts.turn(l.key, false);
		else if (ev.key === "ArrowLeft" && this.parentOf(at) >= 0) this.focus(this.lines[this.parentOf(at)].key);
		else if (ev.key === " ") this.click(l);
		else if (ev.key === "Enter" && l.count === 1) this.acts.open(l.nr);
		else if (ev.key === "Enter") this.click(l);
		else if (ev.key === "," || ev.key === ".") this.acts.jump(ev.key === "," ? -1 : 1);
		else return;
		ev.preventDefault();
	}
}
