// SPDX-License-Identifier: MIT
// time.ts - where the time of the selection went: sums, a flame graph, a map of waits over time, sites.

import { button, h, replace, setText } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { viewHref, type Params } from "../base/route.ts";
import { buildFlameTree, TASK_STATES, type FlameLevel, type FlameNode, type FlameStack } from "../data/flame_tree.ts";
import { FlameBox } from "../ui/flame_box.ts";
import { stateKey, stateStrip, stateTone } from "../ui/flame_states.ts";
import { bar, empty, keyValues, panel, plainTable, type Panel } from "../ui/parts.ts";
import { SelectionSums } from "../ui/selection_sums.ts";
import { SortTable } from "../ui/sort_table.ts";
import { WaitMap } from "../ui/wait_map.ts";
import type { Context, View } from "../ui/view.ts";
import type { Part } from "../trace.ts";
import { quantile, type SiteSum, type Sums } from "../worker/sums.ts";

const COLUMNS = 160;
const EVERY = 3000;            // ms between sums of a running program

export class TimeView implements View {
	readonly el: HTMLElement;
	readonly fill = false;
	readonly title = "Time";
	private readonly ctx: Context;
	private readonly sums: SelectionSums;
	private readonly status: HTMLElement;
	private readonly facts: Panel;
	private readonly reasons: Panel;
	private readonly flame: FlameBox<FlameNode>;
	private readonly map: WaitMap;
	private readonly sites: Panel;
	private table: SortTable<SiteSum> | null = null;
	private last: Sums | null = null;
	private params: Params = {};
	private summed = 0;

	constructor(ctx: Context) {
		this.ctx = ctx;
		this.sums = new SelectionSums(ctx, COLUMNS, (sums, error) => this.takeSums(sums, error), true,
			(done, of) => of > 4 && setText(this.status, `Reading: ${done} of ${of} blocks`));
		this.status = h("p", { class: "muted", role: "status" }, "Reading…");
		this.facts = panel("Selected time");
		this.reasons = panel("Waiting, by reason");
		this.sites = panel("Places", { sheet: () => this.table?.sheet("places") ?? { name: "places", head: [], rows: [] } });
		const back = button("Show all", () => this.flame.reset(), { class: "button quiet" });
		this.flame = new FlameBox<FlameNode>(buildFlameTree([]), back, {
			empty: "Nothing ran or waited in the selection.", title: (n) => n.level.function ?? "", text: (n) => n.level.function ?? "",
			facts: (n) => this.nodeFacts(n), tone: stateTone, label: (n) => [n.level.function], strip: stateStrip,
		});
		const flame = panel("Flame graph", { note: "time of all coroutines together", tools: [back] });
		flame.body.append(h("p", { class: "muted" }, "Above are the coroutines that created those below; then the place where they wait or where their slices end, and why."),
			stateKey(), this.flame.el);
		this.map = new WaitMap((from, to) => ctx.select({ from: String(Math.round(from)), to: String(Math.round(to)) }));
		this.el = h("div", { class: "stack" }, this.status, h("div", { class: "time-sums" }, this.facts.el, this.reasons.el), flame.el, this.map.el, this.sites.el);
	}

	show(params: Params): void {
		this.params = params;
		this.sums.ask(params);
	}

	update(parts: ReadonlySet<Part>): void {
		if (!parts.has("coros") && !parts.has("index")) return;
		// A running program: the whole is summed now and then.
		const now = Date.now();
		if (this.last && now - this.summed < EVERY) return;
		this.summed = now;
		this.sums.ask(this.params, true);
	}

	hide(): void {
		this.map.hideTip();
	}

	private takeSums(sums: Sums | null, error?: Error): void {
		setText(this.status, error ? `The slices cannot be read: ${error.message}` : this.missing(sums!));
		this.status.hidden = this.status.textContent === "";
		if (!sums) return;
		this.last = sums;
		this.drawFacts(sums);
		this.drawReasons(sums);
		this.flame.setTop(buildFlameTree(this.stacksOf(sums)));
		this.map.setSums(sums, COLUMNS);
		this.drawSites(sums);
	}

	private missing(s: Sums): string {
		const { kept, of } = this.ctx.trace.meta.coros;
		return [s.unknown > 0 ? `${fmt.duration(s.unknown)} are between slices that are not in this file, and are in no sum below.` : "",
			kept < of ? `${fmt.count(of - kept)} coroutines were left out of the file.` : ""].join(" ").trim();
	}

	private drawFacts(s: Sums): void {
		const all = s.running + s.ready + s.waiting;
		const row = (what: string, steps: Sums["waits"]) => ({ what, nr: steps.nr, max: steps.max, q: [0.5, 0.9, 0.99].map((p) => quantile(steps, p)) });
		const time = (ns: number, nr: number) => (nr > 0 ? fmt.duration(ns) : fmt.dash);
		replace(this.facts.body, keyValues([
			["range", `${fmt.offset(s.from, 1e3)} to ${fmt.offset(s.to, 1e3)}, ${fmt.duration(s.to - s.from)}`],
			["coroutines", fmt.count(s.coros)],
			["running", `${fmt.duration(s.running)}, ${fmt.percent(s.running, all)}`],
			["ready", `${fmt.duration(s.ready)}, ${fmt.percent(s.ready, all)}`],
			["waiting", `${fmt.duration(s.waiting)}, ${fmt.percent(s.waiting, all)}`],
		]), plainTable("How long", [
			{ label: "Ended in it", show: (r) => r.what },
			{ label: "Number", end: true, show: (r) => fmt.count(r.nr) },
			...["Median", "p90", "p99"].map((label, i) => ({ label, end: true, show: (r: ReturnType<typeof row>) => time(r.q[i], r.nr) })),
			{ label: "Longest", end: true, show: (r) => time(r.max, r.nr) },
		], [row("slices", s.slices), row("waits", s.waits), row("ready times", s.readies)]));
	}

	private drawReasons(s: Sums): void {
		const most = Math.max(1, ...s.reasons.map((r) => r.waiting));
		replace(this.reasons.body, s.reasons.length === 0 ? empty("Nothing waited.") : plainTable("Waiting, by reason", [
			{ label: "Why", show: (r) => this.ctx.trace.reason(r.reason) || "not told" },
			{ label: "Time", end: true, show: (r) => fmt.duration(r.waiting) },
			{ label: "Of all waiting", end: true, show: (r) => fmt.percent(r.waiting, s.waiting) },
			{ label: "Share of the largest", isBar: true, class: "bar-cell", show: (r) => bar(r.waiting / most) },
			{ label: "Waits that ended", end: true, show: (r) => fmt.count(r.nr) },
		], s.reasons));
	}

	// ---- flame graph ----

	private level(text: string): FlameLevel {
		return { function: text, file: null, line: null, exact: true };
	}

	private stacksOf(s: Sums): FlameStack[] {
		const { trace } = this.ctx;
		const out: FlameStack[] = [];
		for (const k of s.stacks) {
			const kinds = k.kinds.map((kind) => this.level(trace.kind(kind)?.text ?? "kind not known"));
			const site = this.level(trace.sitePlace(k.site) || "place not known");
			const reason = trace.reason(k.reason);
			const stack = [...(reason ? [this.level(reason)] : []), site, ...kinds];
			const times = { waiting: k.waiting, ready: k.ready, running: k.running };
			for (const state of TASK_STATES) if (times[state] > 0) out.push({ stack, state, samples: times[state] });
		}
		return out;
	}

	private nodeFacts(n: FlameNode): [string, string][] {
		const all = this.last ? this.last.running + this.last.ready + this.last.waiting : 0;
		return [["time", fmt.duration(n.samples)], ["share", fmt.percent(n.samples, all)],
			...TASK_STATES.map((state, i): [string, string] => [state, `${fmt.duration(n.states[i])}, ${fmt.percent(n.states[i], n.samples)}`]).filter((_, i) => n.states[i] > 0)];
	}

	// ---- places ----

	private drawSites(s: Sums): void {
		const { trace } = this.ctx;
		this.table = new SortTable<SiteSum>({
			label: "Places", rows: s.sites, limit: 50, empty: "Nothing waited anywhere.", sort: { key: "waiting_ns", down: true }, columns: [
				{
					key: "place", label: "Place", class: "mono", value: (r) => trace.siteText(r.site),
					show: (r) => (r.site > 0 ? h("a", { href: viewHref("time", { ...this.params, site: String(r.site) }) }, trace.sitePlace(r.site)) : "not known"),
				},
				{ key: "waiting_ns", label: "Waiting", end: true, value: (r) => r.waiting, show: (r) => fmt.duration(r.waiting) },
				{ key: "ready_ns", label: "Ready", end: true, value: (r) => r.ready, show: (r) => fmt.duration(r.ready) },
				{ key: "waits", label: "Waits that ended", end: true, value: (r) => r.waits.nr },
				{ key: "p50_ns", label: "Median", end: true, value: (r) => quantile(r.waits, 0.5), show: (r) => this.timeOf(r, 0.5) },
				{ key: "p99_ns", label: "p99", end: true, value: (r) => quantile(r.waits, 0.99), show: (r) => this.timeOf(r, 0.99) },
				{ key: "max_ns", label: "Longest", end: true, value: (r) => r.waits.max, show: (r) => this.timeOf(r, 1) },
				{ key: "ready_p99_ns", label: "Ready p99", end: true, value: (r) => quantile(r.readies, 0.99), show: (r) => (r.readies.nr > 0 ? fmt.duration(quantile(r.readies, 0.99)) : fmt.dash) },
			],
		});
		replace(this.sites.body, this.table.el);
	}

	private timeOf(r: SiteSum, part: number): string {
		return r.waits.nr > 0 ? fmt.duration(quantile(r.waits, part)) : fmt.dash;
	}
}
