// SPDX-License-Identifier: MIT
// overview.ts - summary of the run: how many coroutines are in which state, how fast, and what is
// wrong.

import { h, replace } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { viewHref, type Params } from "../base/route.ts";
import { rangeOf, type Range } from "../base/selection.ts";
import { Chart, type Columns } from "../ui/chart.ts";
import { sureMark } from "../ui/marks.ts";
import { bar, empty, keyValues, panel, plainTable, type Panel } from "../ui/parts.ts";
import { goView, type Context, type View } from "../ui/view.ts";
import type { Part } from "../trace.ts";
import type { Finding, Meta, Thread } from "../data/types.ts";
import { SERIES } from "../data/series.ts";
import { findingKey } from "./findings.ts";

const CARDS = 6;
const THREADS = 64;

// "506, none lost"; null: frames were not recorded.
function framesText(f: Meta["frames"]): string | null {
	if (!f || f.of + f.lost === 0) return null;
	const kept = f.kept < f.of ? ` (this page has ${fmt.count(f.kept)}, evenly spread)` : "";
	return `${fmt.count(f.of)}${kept}, ${f.lost > 0 ? fmt.count(f.lost) : "none"} lost`;
}

export class Overview implements View {
	readonly el: HTMLElement;
	readonly fill = false;
	readonly title = "Overview";
	private readonly ctx: Context;
	private readonly states: Chart;
	private readonly rate: Chart;
	private readonly cards: Panel;
	private readonly threads: Panel;
	private readonly about: Panel;
	private readonly charts: HTMLElement;
	private readonly noCharts: HTMLElement;
	private madeCards = "";
	private range: Range | null = null;
	private readonly missing: Panel;

	constructor(ctx: Context) {
		this.ctx = ctx;
		const onRange = (from: number, to: number) =>
			goView(ctx, "timeline", { from: String(Math.round(from)), to: String(Math.round(to)) });
		this.states = new Chart({
			label: "Coroutines alive, suspended, ready and running over time", height: 210, sync: "overview", onRange,
			lines: [
				{ label: "alive", colour: "ended", width: 1.5, dash: [6, 4] },
				{ label: "suspended", colour: "suspended", fill: true },
				{ label: "ready", colour: "ready", dash: [2, 3], width: 2 },
				{ label: "running", colour: "running", width: 2 },
			],
		});
		this.rate = new Chart({
			label: "Events a second over time", height: 130, sync: "overview", unit: (v) => `${fmt.short(v)}/s`, idle: "peak", onRange,
			lines: [
				{ label: "transitions", colour: "accent", fill: true },
				{ label: "wakes", colour: "ready", dash: [6, 4] },
				{ label: "lost", colour: "alarm", dash: [2, 3], width: 2 },
			],
		});
		const sheet = () => this.sheet();
		const statesPanel = panel("Coroutines over time", { note: "mean of each step; drag to select a part", sheet });
		statesPanel.body.append(this.states.el);
		const ratePanel = panel("Event rate", { sheet });
		ratePanel.body.append(this.rate.el);
		this.cards = panel("Findings", { class: "found-panel" });
		this.threads = panel("Threads", { sheet: () => this.threadSheet() });
		this.about = panel("The run");
		this.missing = panel("What is missing");
		this.charts = h("div", { class: "stack" }, statesPanel.el, ratePanel.el);
		this.noCharts = h("section", { class: "panel", hidden: true }, h("p", { class: "empty" },
			"There are too few events for a picture of the run over time."));
		this.el = h("div", { class: "overview" },
			h("div", { class: "stack wide" }, this.charts, this.noCharts, this.threads.el),
			h("div", { class: "stack" }, this.cards.el, this.missing.el, this.about.el));
		this.draw();
	}

	show(params: Params): void {
		this.range = rangeOf(params);
		this.draw();
	}

	update(parts: ReadonlySet<Part>): void {
		if (parts.has("series")) this.drawCharts();
		if (parts.has("report")) this.drawCards();
		if (parts.has("meta")) this.drawFacts();
	}

	remove(): void {
		this.states.remove();
		this.rate.remove();
	}

	private draw(): void {
		this.drawCharts();
		this.drawCards();
		this.drawFacts();
	}

	private drawCharts(): void {
		const s = this.ctx.trace.series;
		this.charts.hidden = s.rows < 2;
		this.noCharts.hidden = s.rows >= 2;
		const x = s.times();
		// The selected range; without one, all of it.
		const [from, to] = [this.range?.from ?? 0, this.range?.to ?? Infinity];
		const end = x.findIndex((t) => t > to);
		const begin = Math.max(0, x.findIndex((t) => t + s.width > from));
		const part = (column: ArrayLike<number>) => Array.prototype.slice.call(column, begin, end < 0 ? undefined : Math.max(end, begin + 2));
		this.states.setData([x, s.c.alive_mean, s.c.suspended_mean, s.c.ready_mean, s.c.running_mean].map(part) as Columns);
		this.rate.setData([x, s.rates("events"), s.rates("wakes"), s.rates("lost")].map(part) as Columns);
	}

	private card(f: Finding): HTMLElement {
		return h("a", { class: "card", href: viewHref("findings", { open: findingKey(f) }), data: { sure: f.confidence } },
			h("span", { class: "card-head" }, sureMark(f.confidence), h("b", null, f.title),
				h("span", { class: "card-count" }, `×${fmt.count(f.count)}`)),
			f.place ? h("span", { class: "card-place mono" }, f.place.text) : null,
			h("span", { class: "card-seen" }, f.seen));
	}

	private drawCards(): void {
		const { findings } = this.ctx.trace.report;
		// Unchanged elements are not replaced: one of them may have the focus.
		const made = JSON.stringify([this.ctx.trace.live, findings.map((f) => [f.detector, f.confidence, f.count, f.place, f.seen])]);
		if (made === this.madeCards) return;
		this.madeCards = made;
		const faults = findings.filter((f) => f.fault).length;
		this.cards.note.textContent = findings.length === 0 ? "" :
			`${fmt.plural(faults, "fault")}, ${fmt.count(findings.length - faults)} for information`;
		if (findings.length === 0) {
			replace(this.cards.body, empty(this.ctx.trace.live === "live"
				? "Nothing found so far. Findings appear here as they become true."
				: "Nothing found: no detector has anything to say about this trace."));
			return;
		}
		replace(this.cards.body, h("div", { class: "cards" }, ...findings.slice(0, CARDS).map((f) => this.card(f))),
			findings.length > CARDS ? h("a", { class: "more", href: viewHref("findings") }, `All ${fmt.count(findings.length)} findings`) : null);
	}

	private drawFacts(): void {
		this.drawThreads();
		this.drawMissing();
		this.drawAbout();
	}

	private drawThreads(): void {
		const { meta } = this.ctx.trace;
		const rows = meta.threads.slice(0, THREADS);
		const span = Math.max(1, meta.end);
		this.threads.note.textContent = meta.threads_of > rows.length
			? `the ${rows.length} that resumed most, of ${fmt.count(meta.threads_of)}` : "";
		if (rows.length === 0) {
			replace(this.threads.body, empty("No thread has resumed a coroutine."));
			return;
		}
		replace(this.threads.body, plainTable<Thread>("Threads", [
			{ label: "Thread", class: "mono", show: (t) => String(t.tid) },
			{ label: "Resumes", end: true, show: (t) => fmt.count(t.resumes) },
			{ label: "Resumes a second", end: true, show: (t) => fmt.rate(t.resumes, span) },
			{ label: "Busy", end: true, show: (t) => fmt.duration(t.busy) },
			{ label: "Mean slice", end: true, show: (t) => (t.slices > 0 ? fmt.duration(t.busy / t.slices) : fmt.dash) },
			{ label: "Of the run", end: true, show: (t) => fmt.percent(t.busy, span) },
			{ label: "Of the run, as a bar", isBar: true, class: "bar-cell", show: (t) => bar(t.busy / span, "running") },
		], rows));
	}

	private drawMissing(): void {
		const { meta } = this.ctx.trace;
		const t = meta.totals;
		const pairs: [string, string | null][] = [
			["missing", meta.completeness?.missing ?? null],
			["lost", t.lost === null ? (meta.stream ? `${fmt.count(meta.stream.lost)} events so far` : "not known: the trace has no totals of its collector") :
				t.lost + (t.others_lost ?? 0) === 0 ? "nothing" :
					`${fmt.count(t.lost)} transitions, ${fmt.count(t.others_lost ?? 0)} others`],
			["garbage", t.garbage === 0 ? "none" : `${fmt.plural(t.garbage, "record")} set aside, in no other number`],
			["thinned out", meta.thinned.length === 0 ? "nothing: the page holds all events that were read" : meta.thinned.map((x) => x.text).join(" ")],
		];
		const first = (meta.garbage.first ?? []).slice(0, 5);
		replace(this.missing.body, keyValues(pairs),
			first.length > 0 ? h("ul", { class: "lines" }, ...first.map((g) =>
				h("li", null, h("span", { class: "mono" }, `line ${fmt.count(g.line)}`), ` ${g.reason}`))) : null,
			meta.notes.length > 0 ? h("ul", { class: "lines" }, ...meta.notes.map((n) => h("li", null, n))) : null);
	}

	private drawAbout(): void {
		const { meta } = this.ctx.trace;
		const { run } = meta;
		const started = run?.start_realtime_ms ? new Date(run.start_realtime_ms).toLocaleString() : null;
		const how = run?.signal ? `killed by signal ${run.signal}` :
			run?.exit_status !== null && run?.exit_status !== undefined ? `exit status ${run.exit_status}` : null;
		replace(this.about.body, keyValues([
			["trace", meta.trace],
			["command", run?.command ? h("span", { class: "mono" }, run.command.join(" ")) : null],
			["process", run?.pid ? `${run.pid}${run.hostname ? ` on ${run.hostname}` : ""}${run.arch ? `, ${run.arch}` : ""}` : null],
			["started", started],
			["ended", how],
			["coroutines", `${fmt.count(meta.totals.coroutines)}; ${fmt.count(meta.totals.not_ended)} had not ended`],
			["events", `${fmt.plural(meta.totals.transitions, "transition")}, ${fmt.plural(meta.totals.others, "other")}`],
			["frames", framesText(meta.frames)],
			["written by", meta.tool],
		]));
	}

	private sheet() {
		const s = this.ctx.trace.series;
		return {
			name: "series", head: ["start_ns", "width_ns", ...SERIES],
			rows: Array.from({ length: s.rows }, (_, i) => [s.start + i * s.width, s.width, ...SERIES.map((n) => s.c[n][i])]),
		};
	}

	private threadSheet() {
		return {
			name: "threads", head: ["tid", "resumes", "slices", "busy_ns"],
			rows: this.ctx.trace.meta.threads.map((t) => [String(t.tid), t.resumes, t.slices, t.busy]),
		};
	}
}
