// SPDX-License-Identifier: MIT
// coroutines.ts - all coroutines, however many: filtered and sorted in the worker, only visible
// rows are drawn.

import { button, h } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import type { Params } from "../base/route.ts";
import { rangeOf } from "../base/selection.ts";
import { Grid, putText, type Column, type Sort } from "../ui/grid.ts";
import { putState, stateMark } from "../ui/marks.ts";
import { sheetButtons } from "../ui/save.ts";
import { selectedCoros } from "../ui/selection_bar.ts";
import { debounce, goCoro, type Context, type View } from "../ui/view.ts";
import type { Part } from "../trace.ts";
import { type CoroFilter } from "../worker/query.ts";
import type { Cell } from "../base/csv.ts";

const DEFAULT_SORT: Sort = { key: "longest", down: true };

export class Coroutines implements View {
	readonly el: HTMLElement;
	readonly fill = true;
	readonly title = "Coroutines";
	private readonly ctx: Context;
	private readonly grid: Grid;
	private rows = new Uint32Array(0);
	private params: Params = {};
	private asked = 0;
	private readonly text: HTMLInputElement;
	private readonly age: HTMLInputElement;
	private readonly suspends: HTMLInputElement;
	private readonly detector: HTMLSelectElement;
	private readonly states = new Map<number, HTMLButtonElement>();
	private readonly chips: HTMLElement;
	private readonly result: HTMLElement;

	constructor(ctx: Context) {
		this.ctx = ctx;
		this.text = this.input("search", "Name, kind, place or id", "Filter by name, kind, place or id", "q");
		this.age = this.input("text", "e.g. 100 ms", "In its state for at least", "age");
		this.suspends = this.input("text", "0", "Suspended at least so often", "suspends");
		this.age.size = 8;
		this.suspends.size = 5;
		this.detector = h("select", { aria: { label: "Findings" }, on: { change: () => this.set({ findings: this.detector.value }) } });
		this.chips = h("span", { class: "chips" });
		this.result = h("span", { class: "result", role: "status" });
		const states = h("span", { class: "segments", role: "group", aria: { label: "State" } });
		ctx.trace.meta.states.forEach((name, i) => {
			if (name === "unknown") return;
			const el = button("", () => this.toggleState(i), { aria: { pressed: false }, data: { state: name } });
			el.append(stateMark(name));
			this.states.set(i, el);
			states.append(el);
		});
		this.grid = new Grid({
			label: "Coroutines", columns: this.columns(), sort: DEFAULT_SORT, empty: "",
			rowKey: (row) => String(this.rows[row]), onSort: (sort) => this.set({ sort: (sort.down ? "-" : "") + sort.key }),
			onOpen: (row) => goCoro(ctx, ctx.trace.coros.id(this.rows[row])),
		});
		this.el = h("div", { class: "fill-view" },
			h("div", { class: "filters", role: "search" }, this.text, states,
				h("label", { class: "field" }, "in state ≥", this.age), h("label", { class: "field" }, "suspends ≥", this.suspends),
				this.detector, this.chips, this.result, sheetButtons("coroutines", () => this.sheet())),
			this.grid.el);
	}

	private input(type: string, placeholder: string, label: string, key: string): HTMLInputElement {
		const el = h("input", { type, aria: { label } });
		el.placeholder = placeholder;
		el.addEventListener("input", debounce(120, () => this.set({ [key]: el.value })));
		return el;
	}

	// On return with the same filters the table is where it was left.
	show(params: Params): void {
		const isNew = JSON.stringify(params) !== JSON.stringify(this.params);
		this.params = params;
		this.fillFilters();
		void this.query(isNew);
	}

	update(parts: ReadonlySet<Part>): void {
		if (parts.has("sites")) this.grid.refresh();
		if (parts.has("coros") || parts.has("meta")) void this.query(false);
	}

	private get sort(): Sort {
		const text = this.params.sort ?? "";
		return text === "" ? DEFAULT_SORT : { key: text.replace(/^-/, ""), down: text.startsWith("-") };
	}

	private set(change: Params): void {
		this.params = { ...this.params, ...change };
		this.ctx.setParams(this, this.params);
		this.fillFilters();
		void this.query(true);
	}

	private toggleState(i: number): void {
		const name = this.ctx.trace.state(i);
		const now = new Set((this.params.state ?? "").split(",").filter((x) => x));
		if (!now.delete(name)) now.add(name);
		this.set({ state: [...now].join(",") });
	}

	private fillFilters(): void {
		const p = this.params;
		for (const [el, value] of [[this.text, p.q], [this.age, p.age], [this.suspends, p.suspends]] as const) {
			if (document.activeElement !== el) el.value = value ?? "";
		}
		const states = (p.state ?? "").split(",");
		for (const [i, el] of this.states) el.setAttribute("aria-pressed", String(states.includes(this.ctx.trace.state(i))));
		const option = (value: string, label: string) => {
			const el = h("option", null, label);
			el.value = value;
			return el;
		};
		const names = [...new Set(this.ctx.trace.report.findings.map((f) => f.detector))].sort();
		this.detector.replaceChildren(option("", "With or without findings"), option("any", "With any finding"),
			...names.map((n) => option(n, `Finding: ${n}`)));
		this.detector.value = p.findings ?? "";
		this.age.setAttribute("aria-invalid", String((p.age ?? "") !== "" && fmt.parseDuration(p.age) === null));
		this.chips.replaceChildren(...this.chipList());
		this.grid.setSort(this.sort);
	}

	// Filters that other views set: shown, and removed with a click.
	private chipList(): HTMLElement[] {
		const chip = (key: string, text: string) => button(`${text} ×`, () => this.set({ [key]: "" }),
			{ class: "button chip", aria: { label: `Remove the filter ${text}` } });
		const out: HTMLElement[] = [];
		if (this.params.parent) out.push(chip("parent", `children of #${this.params.parent}`));
		return out;
	}

	private filter(): CoroFilter {
		const { trace } = this.ctx;
		const p = this.params;
		const states = (p.state ?? "").split(",");
		const number = (text: string | undefined, otherwise: number) => {
			const n = Number(text);
			return text !== undefined && text !== "" && Number.isFinite(n) ? n : otherwise;
		};
		return {
			...selectedCoros(this.ctx, p), ...(rangeOf(p) ?? {}),
			states: trace.meta.states.reduce((bits, name, i) => (states.includes(name) ? bits | (1 << i) : bits), 0),
			minInState: fmt.parseDuration(p.age ?? "") ?? 0, minSuspends: number(p.suspends, 0),
			parent: p.parent ? trace.coros.rowOfId(p.parent) : -1,
		};
	}

	private async query(isNew: boolean): Promise<void> {
		const { trace } = this.ctx;
		const mine = ++this.asked;
		if (!trace.complete) {
			this.grid.setEmpty("Reading the coroutines…");
			this.grid.setRows(0);
			return;
		}
		const rows = await trace.engine.call<Uint32Array<ArrayBuffer>>("query", [this.filter(), this.sort]);
		if (mine !== this.asked) return;
		this.rows = rows;
		this.grid.setEmpty(trace.coros.rows === 0 ? "The trace has no coroutine." : "No coroutine matches the filter.");
		if (isNew) this.grid.scrollToTop();
		this.grid.setRows(rows.length, (key) => rows.indexOf(Number(key)));
		const { kept, of } = trace.meta.coros;
		this.result.textContent = `${fmt.count(rows.length)} of ${fmt.count(trace.coros.rows)}` +
			(kept < of ? ` (${fmt.count(of - kept)} more were left out of the file)` : "");
	}

	private columns(): Column[] {
		const { trace } = this.ctx;
		const row = (i: number) => this.rows[i];
		const c = () => trace.coros.c;
		const text = (f: (r: number) => string, title?: (r: number) => string) => (cell: HTMLElement, i: number) =>
			putText(cell, f(row(i)), title?.(row(i)));
		const number = (key: string, label: string, title: string, f: (r: number) => string, width = 6.4): Column =>
			({ key, label, title, width, align: "end", render: text(f) });
		const time = (v: number) => (v > 0 ? fmt.duration(v) : fmt.dash);
		return [
			{ key: "id", label: "Id", width: 5.6, align: "end", mono: true, render: text((r) => `#${trace.coros.id(r)}`) },
			{ key: "name", label: "Name", width: 9, grow: 1.2, render: text((r) => trace.name(r) || trace.kind(c().kind[r])?.text || fmt.dash) },
			{ key: "state", label: "State", width: 8, render: (cell, i) => putState(cell, trace.state(c().state[row(i)])) },
			number("instate", "In state", "How long it has been in its state", (r) => {
				const v = trace.coros.inState(r, trace.now);
				return Number.isNaN(v) ? fmt.dash : fmt.duration(v);
			}),
			{ key: "site", label: "Place", title: "Where it waits, or waited last", width: 12, grow: 1.8, mono: true, render: text((r) => trace.sitePlace(c().site[r]) || fmt.dash, (r) => trace.siteText(c().site[r])) },
			{ key: "reason", label: "Why", width: 6.6, render: text((r) => trace.reason(c().reason[r]) || fmt.dash) },
			number("longest", "Longest wait", "Its longest wait", (r) => time(c().longest[r]), 7.4),
			number("waited", "Waited", "In all", (r) => time(c().waited[r])),
			number("ran", "Ran", "In all", (r) => time(c().ran[r])),
			number("suspends", "Suspends", "How often it was suspended", (r) => fmt.count(c().suspends[r]), 7.4),
			number("threads", "Threads", "Different ones that it ran on", (r) => fmt.count(c().threads[r]), 5.4),
			number("life", "Lifetime", "From its birth or first event to its end, or the end of the trace", (r) => fmt.duration(trace.coros.lifetime(r, trace.now))),
			{ key: "findings", label: "Findings", width: 11.5, grow: 1.6, render: text((r) => trace.findingsOf(c().findings[r]).join(", ")) },
		];
	}

	private sheet() {
		const { trace } = this.ctx;
		const c = trace.coros.c;
		const time = (v: number): Cell => (Number.isNaN(v) ? null : v);
		const rows: Cell[][] = Array.from(this.rows, (r) => [
			trace.coros.id(r), trace.name(r), trace.kind(c.kind[r])?.text, trace.state(c.state[r]), time(trace.coros.inState(r, trace.now)),
			trace.siteText(c.site[r]), trace.reason(c.reason[r]), trace.coros.resource(r), time(c.birth[r]), time(c.first[r]), time(c.end[r]),
			trace.coros.lifetime(r, trace.now), c.suspends[r], c.resumes[r], c.migrations[r], c.threads[r], c.longest[r],
			trace.siteText(c.longest_site[r]), c.waited[r], c.ready[r], c.ran[r], c.lost[r], trace.findingsOf(c.findings[r]).join(" "),
		]);
		return {
			name: "coroutines", rows,
			head: ["id", "name", "kind", "state", "in_state_ns", "place", "reason", "resource", "birth_ns", "first_ns", "end_ns", "lifetime_ns",
				"suspends", "resumes", "migrations", "threads", "longest_wait_ns", "longest_wait_place", "waited_ns", "ready_ns", "ran_ns", "lost", "findings"],
		};
	}
}
