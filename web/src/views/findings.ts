// SPDX-License-Identifier: MIT
// findings.ts - the findings of the report: filtered, each with its meaning and its evidence.

import { button, h, replace, setText } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { coroHref, viewHref, type Params } from "../base/route.ts";
import { rangeOf } from "../base/selection.ts";
import { LifeChart } from "../ui/life_chart.ts";
import { CONFIDENCES, stateMark, sureMark } from "../ui/marks.ts";
import { empty, plainTable } from "../ui/parts.ts";
import { SortTable } from "../ui/sort_table.ts";
import { sheetButtons } from "../ui/save.ts";
import { debounce, type Context, type View } from "../ui/view.ts";
import type { Part } from "../trace.ts";
import type { Affected, Example, Finding, Step } from "../data/types.ts";

export function findingKey(f: Finding): string {
	return `${f.detector}@${f.place?.text ?? ""}@${f.kind ?? ""}`.slice(0, 300);
}

interface Card {
	json: string;              // the finding, without the fields that grow by themselves
	el: HTMLElement;
	row: number;
	chart?: LifeChart;
}

const VOLATILE = new Set(["age_ns", "at_ts", "oldest_ns"]);

export class Findings implements View {
	readonly el: HTMLElement;
	readonly fill = false;
	readonly title = "Findings";
	private readonly ctx: Context;
	private readonly list: HTMLElement;
	private readonly result: HTMLElement;
	private readonly text: HTMLInputElement;
	private readonly detector: HTMLSelectElement;
	private readonly sure = new Map<string, HTMLButtonElement>();
	private params: Params = {};
	private readonly charts = new Map<string, LifeChart>();
	private readonly cards = new Map<string, Card>();

	constructor(ctx: Context) {
		this.ctx = ctx;
		this.text = h("input", { type: "search", aria: { label: "Filter findings by text" } });
		this.text.placeholder = "Filter by text";
		this.detector = h("select", { aria: { label: "Detector" } });
		this.result = h("span", { class: "result", role: "status" });
		this.list = h("div", { class: "findings" });
		const sure = CONFIDENCES.map((c) => {
			const el = button("", () => this.toggleSure(c), { aria: { pressed: false } });
			el.append(sureMark(c));
			this.sure.set(c, el);
			return el;
		});
		this.el = h("div", null,
			h("div", { class: "filters", role: "search" }, this.text, this.detector,
				h("span", { class: "segments", role: "group", aria: { label: "How sure" } }, ...sure), this.result,
				sheetButtons("findings", () => this.sheet())),
			this.list);
		this.text.addEventListener("input", debounce(120, () => this.set({ q: this.text.value })));
		this.detector.addEventListener("change", () => this.set({ findings: this.detector.value }));
	}

	show(params: Params): void {
		this.params = params;
		if (document.activeElement !== this.text) this.text.value = params.q ?? "";
		this.draw();
		if (params.open) this.reveal(params.open);
	}

	update(parts: ReadonlySet<Part>): void {
		if (parts.has("report") || parts.has("coros")) this.draw();
	}

	private set(change: Params): void {
		this.params = { ...this.params, open: "", ...change };
		this.ctx.setParams(this, this.params);
		this.draw();
	}

	private toggleSure(c: string): void {
		const now = new Set((this.params.sure ?? "").split(",").filter((x) => x));
		if (!now.delete(c)) now.add(c);
		this.set({ sure: [...now].join(",") });
	}

	private reveal(key: string): void {
		const el = this.cards.get(key)?.el;
		if (!el) return;
		el.scrollIntoView({ block: "start" });
		el.querySelector<HTMLElement>("h2")?.focus({ preventScroll: true });
	}

	private shown(): Finding[] {
		const words = (this.params.q ?? "").toLowerCase().split(/\s+/).filter((w) => w);
		const sure = (this.params.sure ?? "").split(",").filter((x) => x);
		return this.ctx.trace.report.findings.filter((f) => {
			if (!this.isSelected(f)) return false;
			if (sure.length > 0 && !sure.includes(f.confidence)) return false;
			const text = [f.detector, f.title, f.place?.text, f.kind, f.seen, f.hint, ...f.evidence,
				...f.coroutines.map((c) => c.name ?? "")].join(" ").toLowerCase();
			return words.every((w) => text.includes(w));
		});
	}

	// Of the selection that all views share; the text is tested beside it.
	private isSelected(f: Finding): boolean {
		const { trace } = this.ctx;
		const p = this.params;
		const range = rangeOf(p);
		if (p.findings && p.findings !== "any" && f.detector !== p.findings) return false;
		if (p.kind && f.kind !== trace.kind(Number(p.kind))?.text) return false;
		if (p.site && f.place?.text !== trace.siteText(Number(p.site))) return false;
		if (!range || !f.example) return true;
		const [since, at] = [trace.offsetOf(f.example.since_ts), trace.offsetOf(f.example.at_ts)];
		return since <= range.to && Math.max(since, at) >= range.from;
	}

	private drawFilters(): void {
		const names = [...new Set(this.ctx.trace.report.findings.map((f) => f.detector))].sort();
		const option = (value: string, label: string) => {
			const el = h("option", null, label);
			el.value = value;
			return el;
		};
		replace(this.detector, option("", "All detectors"), ...names.map((n) => option(n, n)));
		this.detector.value = this.params.findings === "any" ? "" : (this.params.findings ?? "");
		const sure = (this.params.sure ?? "").split(",");
		for (const [c, el] of this.sure) el.setAttribute("aria-pressed", String(sure.includes(c)));
	}

	private draw(): void {
		const all = this.ctx.trace.report.findings;
		const shown = this.shown();
		this.drawFilters();
		const { suppressed } = this.ctx.trace.report;
		this.result.textContent = `${fmt.count(shown.length)} of ${fmt.count(all.length)}` +
			(suppressed > 0 ? `, ${fmt.count(suppressed)} suppressed` : "");
		if (shown.length === 0) {
			replace(this.list, empty(all.length > 0 ? "No finding matches the filter." :
				this.ctx.trace.live === "live" ? "Nothing found so far. Findings appear here as they become true." :
					"Nothing found: no detector has anything to say about this trace."));
			return;
		}
		this.sync(shown.map((f) => this.card(f)));
	}

	// Elements that stay are not touched: no flicker, and the selection stays.
	private sync(elements: HTMLElement[]): void {
		const keep = new Set<Element>(elements);
		for (const child of [...this.list.children]) if (!keep.has(child)) child.remove();
		elements.forEach((el, i) => {
			if (this.list.children[i] !== el) this.list.insertBefore(el, this.list.children[i] ?? null);
		});
	}

	private card(f: Finding): HTMLElement {
		const key = findingKey(f);
		const json = JSON.stringify(f, (k, v: unknown) => (VOLATILE.has(k) ? undefined : v)) + String(this.ctx.trace.complete);
		const known = this.cards.get(key);
		if (known && known.json === json) {
			this.refresh(known, f);
			return known.el;
		}
		this.charts.get(key)?.remove();
		const el = h("article", { class: "panel finding", data: { sure: f.confidence, detector: f.detector } },
			this.cardHead(f), this.cardBody(f, key));
		if (known?.el.isConnected) known.el.replaceWith(el);
		const card = { json, el, row: f.example ? this.ctx.trace.coros.rowOfId(String(f.example.probe_id)) : -1, chart: this.charts.get(key) };
		this.cards.set(key, card);
		return el;
	}

	// Updates the fields that grow.
	private refresh(card: Card, f: Finding): void {
		const [longest, age] = [card.el.querySelector(".finding-longest"), card.el.querySelector(".finding-age")];
		if (longest) setText(longest, `longest ${fmt.duration(f.oldest_ns)}`);
		if (age && f.example) setText(age, this.ageOf(f.example));
		if (card.row >= 0) card.chart?.load(card.row);
	}

	private cardHead(f: Finding): HTMLElement {
		return h("div", { class: "finding-head" },
			sureMark(f.confidence), h("h2", { tabindex: -1 }, f.title),
			h("span", { class: "finding-count" }, `×${fmt.count(f.count)}`),
			f.oldest_ns > 0 ? h("span", { class: "muted finding-longest" }, `longest ${fmt.duration(f.oldest_ns)}`) : null,
			f.example === undefined ? null : h("a", {
				class: "end-link", href: viewHref("coroutines", { findings: f.detector }),
			}, f.count === 1 ? "in the table of coroutines" : "all of them in the table"));
	}

	private siteIndex(text: string): number {
		return this.ctx.trace.sites.sites.findIndex((s, i) => i > 0 && s.text === text);
	}

	private placeLine(f: Finding): HTMLElement | null {
		if (!f.place && !f.kind) return null;
		const site = f.place ? this.siteIndex(f.place.text) : -1;
		const place = f.place ? (site > 0
			? h("a", { class: "mono", href: viewHref("sites", { place: String(site) }) }, f.place.text)
			: h("span", { class: "mono" }, f.place.text)) : null;
		return h("p", { class: "finding-place" }, place, f.kind ? h("span", { class: "muted" }, place ? " by " : "", f.kind) : null);
	}

	private cardBody(f: Finding, key: string): HTMLElement {
		return h("div", { class: "finding-body" },
			h("div", { class: "finding-words" },
				this.placeLine(f),
				h("p", { class: "finding-seen" }, sentence(f.seen)),
				f.evidence.length > 0 ? h("ul", { class: "evidence", aria: { label: "Evidence" } }, ...f.evidence.map((e) => h("li", null, sentence(e)))) : null,
				f.doubt ? h("p", { class: "finding-doubt" }, `But ${f.doubt}.`) : null,
				h("h3", null, "What it means"), h("p", null, sentence(f.meaning)),
				h("h3", null, "What to look at"), h("p", null, sentence(f.advice)),
				f.hint !== f.advice ? h("h3", null, "What to do here") : null,
				f.hint !== f.advice ? h("p", { class: "finding-hint" }, sentence(f.hint)) : null,
				this.coroutines(f)),
			f.example ? this.example(f.example, key) : empty("About the program as a whole: no single coroutine shows it."));
	}

	private example(e: Example, key: string): HTMLElement {
		const id = String(e.probe_id);
		const row = this.ctx.trace.coros.rowOfId(id);
		const box = h("div", { class: "finding-life" });
		if (row >= 0) {
			const chart = new LifeChart(this.ctx, { height: 92, interactive: false });
			this.charts.set(key, chart);
			box.append(chart.el);
			chart.load(row);
		}
		return h("div", { class: "finding-example" },
			h("div", { class: "example-head" }, h("h3", null, "Example"),
				h("a", { href: coroHref(id) }, e.name ? `${e.name} #${id}` : `#${id}`), stateMark(e.state),
				h("span", { class: "muted finding-age" }, this.ageOf(e)),
				e.lost > 0 ? h("span", { class: "alarm" }, `${fmt.count(e.lost)} of its events lost`) : null),
			box, this.chain(e), e.last.length > 0 ? h("h3", null, "Its last steps") : null, this.steps(e));
	}

	// For a state that is over: when it was, and what the coroutine does now.
	private ageOf(e: Affected): string {
		const { trace } = this.ctx;
		const reason = e.state === "suspended" && e.reason ? `, ${e.reason}${e.resource !== undefined ? ` ${fmt.resource(BigInt(e.resource))}` : ""}` : "";
		const what = e.age_ns === 0 ? "" : `for ${fmt.duration(e.age_ns)}${reason}`;
		const at = trace.offsetOf(e.at_ts);
		const row = trace.coros.rowOfId(String(e.probe_id));
		const now = row >= 0 ? trace.state(trace.coros.c.state[row]) : e.state;
		if (at >= trace.now - 1000) return what;
		return `${what} (at ${fmt.offset(at, 1e6)}${now !== e.state ? `; now ${now}` : ""})`.trim();
	}

	// All coroutines of a finding about several; the example is one of them.
	private coroutines(f: Finding): HTMLElement | null {
		if (f.coroutines.length < 2) return null;
		const table = new SortTable<Affected>({
			label: "Coroutines of the finding", rows: f.coroutines, limit: 10, empty: "", columns: [
				{
					key: "coroutine", label: "Coroutine", value: (c) => `${c.name ?? ""} #${c.probe_id}`.trim(),
					show: (c) => h("a", { href: coroHref(String(c.probe_id)) }, `${c.name ?? ""} #${c.probe_id}`.trim()),
				},
				{ key: "confidence", label: "How sure", value: (c) => (CONFIDENCES as readonly string[]).indexOf(c.confidence ?? ""), show: (c) => sureMark(c.confidence ?? "") },
				{ key: "state", label: "State", value: (c) => c.state, show: (c) => stateMark(c.state) },
				{ key: "since_ns", label: "Since", end: true, value: (c) => this.ctx.trace.offsetOf(c.since_ts), show: (c) => fmt.stamp(this.ctx.trace.offsetOf(c.since_ts)) },
			],
		});
		return h("div", { class: "affected" }, h("h3", null, "Coroutines"), table.el,
			f.coroutines_omitted > 0 ? h("p", { class: "muted" }, `and ${fmt.count(f.coroutines_omitted)} more`) : null);
	}

	private chain(e: Example): HTMLElement | null {
		if (e.awaited_by.length === 0) return null;
		return h("div", { class: "chain" }, h("h3", null, "Awaited by"),
			h("ol", null, ...e.awaited_by.map((l) => h("li", null,
				h("a", { href: coroHref(String(l.probe_id)) }, `#${l.probe_id}`), " ", h("span", { class: "mono" }, l.place.text)))));
	}

	private steps(e: Example): HTMLElement | null {
		if (e.last.length === 0) return null;
		const { trace } = this.ctx;
		return plainTable<Step>("Last steps of the example", [
			{ label: "At", end: true, show: (s) => fmt.stamp(trace.offsetOf(s.ts)) },
			{ label: "What", show: (s) => s.kind },
			{ label: "Thread", class: "mono", show: (s) => String(s.tid) },
			{ label: "Where, by whom", class: "clip mono", show: (s) => this.stepPlace(s) },
		], e.last);
	}

	private stepPlace(s: Step): Node | string {
		if (s.waker !== undefined) return h("a", { href: coroHref(String(s.waker)) }, `#${s.waker}`);
		return s.place?.text ?? "";
	}

	private sheet() {
		return {
			name: "findings",
			head: ["detector", "confidence", "fault", "count", "longest_ns", "place", "file", "line", "kind", "example_id", "example_name", "seen", "evidence", "doubt", "hint"],
			rows: this.shown().map((f) => [
				f.detector, f.confidence, f.fault, f.count, f.oldest_ns, f.place?.text, f.place?.file, f.place?.line, f.kind,
				f.example ? String(f.example.probe_id) : null, f.example?.name, f.seen, f.evidence.join("; "), f.doubt, f.hint,
			]),
		};
	}
}

function sentence(text: string): string {
	const t = text.charAt(0).toUpperCase() + text.slice(1);
	return /[.!?]$/.test(t) ? t : `${t}.`;
}
