// SPDX-License-Identifier: MIT
// sites.ts - sites where coroutines wait: how many now, how long they wait, which are stuck.

import { h, replace, svg } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { coroHref, viewHref, type Params } from "../base/route.ts";
import { shortPlace } from "../base/place.ts";
import { cpuPairs } from "../data/slice_cpu.ts";
import { lower, rebin } from "../data/histogram.ts";
import { Grid, putText, type Column, type Sort } from "../ui/grid.ts";
import { findingBadge } from "../ui/marks.ts";
import { keyValues, panel, plainTable } from "../ui/parts.ts";
import { sheetButtons } from "../ui/save.ts";
import { SelectionSums } from "../ui/selection_sums.ts";
import { debounce, type Context, type View } from "../ui/view.ts";
import type { Part } from "../trace.ts";
import type { Histogram, Site } from "../data/types.ts";
import { histogramOf, Steps, type Sums } from "../worker/sums.ts";

const DEFAULT_SORT: Sort = { key: "waiting", down: true };
const SPARK = { width: 120, height: 18 };

export class SitesView implements View {
	readonly el: HTMLElement;
	readonly fill = true;
	readonly title = "Sites";
	private readonly ctx: Context;
	private readonly grid: Grid;
	private readonly detail: HTMLElement;
	private readonly text: HTMLInputElement;
	private readonly result: HTMLElement;
	private readonly sums: SelectionSums;
	private chosen: readonly Site[] | null = null; // with the numbers of the selection; null: all is selected
	private params: Params = {};
	private rows: number[] = [];

	constructor(ctx: Context) {
		this.ctx = ctx;
		this.sums = new SelectionSums(ctx, 1, (sums) => this.takeSums(sums));
		this.text = h("input", { type: "search", aria: { label: "Filter places by text" } });
		this.text.placeholder = "File, function or address";
		this.text.addEventListener("input", debounce(120, () => this.set({ text: this.text.value })));
		this.result = h("span", { class: "result", role: "status" });
		this.detail = h("div", { class: "site-detail" });
		this.grid = new Grid({
			label: "Places where coroutines wait", columns: this.columns(), sort: DEFAULT_SORT, empty: "", rowHeight: 28,
			rowKey: (i) => String(this.rows[i]), onSort: (s) => this.set({ sort: (s.down ? "-" : "") + s.key }),
			onOpen: (i) => this.set({ place: String(this.rows[i]) }),
			onSelect: (i) => this.choose(this.rows[i]),
		});
		this.el = h("div", { class: "fill-view" },
			h("div", { class: "filters", role: "search" }, this.text, this.result, sheetButtons("places", () => this.sheet())),
			h("div", { class: "site-columns" }, this.grid.el, this.detail));
	}

	show(params: Params): void {
		this.params = params;
		this.sums.ask(params);
		if (document.activeElement !== this.text) this.text.value = params.text ?? "";
		this.draw();
		this.selectOne();
	}

	// The site that the address names; else the first.
	private selectOne(): void {
		if (!this.params.place && this.rows.length > 0) this.params = { ...this.params, place: String(this.rows[0]) };
		const at = this.rows.indexOf(Number(this.params.place ?? -1));
		if (at >= 0 && this.grid.selected !== at) this.grid.select(at);
	}

	update(parts: ReadonlySet<Part>): void {
		if (parts.has("sites")) {
			this.sums.ask(this.params, true);
			this.draw();
			this.selectOne();
		} else if (parts.has("report")) this.drawDetail();
	}

	private set(change: Params): void {
		this.params = { ...this.params, ...change };
		this.ctx.setParams(this, this.params);
		this.draw();
	}

	private choose(site: number): void {
		const isNew = this.params.place !== String(site);
		this.drawDetail();
		if (!isNew) return;
		this.params = { ...this.params, place: String(site) };
		this.ctx.setParams(this, this.params);
		this.drawDetail();
	}

	private get sort(): Sort {
		const text = this.params.sort ?? "";
		return text === "" ? DEFAULT_SORT : { key: text.replace(/^-/, ""), down: text.startsWith("-") };
	}

	// In a selection, waits and ready times are of what is selected.
	private get places(): readonly Site[] {
		return this.chosen ?? this.ctx.trace.sites.sites;
	}

	private takeSums(sums: Sums | null): void {
		const none = histogramOf(new Steps());
		const bySite = new Map(sums?.sites.map((s) => [s.site, s]));
		this.chosen = sums && this.ctx.trace.sites.sites.map((site, i) => {
			const sum = bySite.get(i);
			return { ...site, waits: sum ? histogramOf(sum.waits) : none, ready: sum ? histogramOf(sum.readies) : none };
		});
		this.draw();
	}

	private site(i: number): Site {
		return this.places[this.rows[i]];
	}

	private key(s: Site): number | string {
		switch (this.sort.key) {
		case "text": return s.text;
		case "waits": return s.waits.nr;
		case "p50": return s.waits.p50;
		case "p90": return s.waits.p90;
		case "p99": return s.waits.p99;
		case "max": return s.waits.max;
		case "ready": return s.ready.p99;
		case "slices": return s.slices.p99;
		case "oldest": return s.oldest.length > 0 ? this.ctx.trace.now - (s.oldest[0].since ?? 0) : -1;
		default: return s.waiting;
		}
	}

	private draw(): void {
		const sites = this.places;
		const words = (this.params.text ?? "").toLowerCase().split(/\s+/).filter((w) => w);
		const { down } = this.sort;
		// Site 0 stands for "unknown": shown only if it has waits or slices.
		this.rows = sites.map((_, i) => i).filter((i) => {
			const s = sites[i];
			if (i === 0 && s.waits.nr === 0 && s.waiting === 0 && s.slices.nr === 0) return false;
			if (this.chosen && s.waits.nr === 0 && !this.sums.hasSite(i)) return false;
			const text = `${s.text} ${s.addr ?? ""}`.toLowerCase();
			return words.every((w) => text.includes(w));
		});
		this.rows.sort((a, b) => {
			const [x, y] = [this.key(sites[a]), this.key(sites[b])];
			const order = x < y ? -1 : x > y ? 1 : 0;
			return (down ? -order : order) || sites[b].waits.nr - sites[a].waits.nr || a - b;
		});
		this.grid.setSort(this.sort);
		this.grid.setEmpty(!this.ctx.trace.complete ? "Reading the places…" :
			sites.length <= 1 && words.length === 0 ? "No coroutine has waited anywhere yet." : "No place matches the filter.");
		this.grid.setRows(this.rows.length, (key) => this.rows.indexOf(Number(key)));
		this.result.textContent = `${fmt.count(this.rows.length)} places${this.chosen ? "; waits and ready times are of the selection" : ""}`;
		this.drawDetail();
	}

	private columns(): Column[] {
		const text = (f: (s: Site) => string) => (cell: HTMLElement, i: number) => putText(cell, f(this.site(i)));
		const time = (key: string, label: string, title: string, f: (s: Site) => number): Column => ({
			key, label, title, width: 6, align: "end", render: text((s) => (f(s) > 0 ? fmt.duration(f(s)) : fmt.dash)),
		});
		return [
			{
				key: "text", label: "Place", width: 16, grow: 2, mono: true,
				render: (cell, i) => putText(cell, this.site(i).text === "" ? "not known" : shortPlace(this.site(i)), this.site(i).text),
			},
			{ key: "waiting", label: "Waiting", title: "Suspended there now", width: 6.6, align: "end", render: text((s) => fmt.count(s.waiting)) },
			{
				key: "oldest", label: "Oldest", title: "How long the longest of them has waited", width: 6, align: "end",
				render: text((s) => (s.oldest.length > 0 ? fmt.duration(this.ctx.trace.now - (s.oldest[0].since ?? 0)) : fmt.dash)),
			},
			{ key: "waits", label: "Waits", width: 7.4, align: "end", render: text((s) => fmt.count(s.waits.nr)) },
			{
				key: "spread", label: "1 ns … 100 s", title: "How many waits took how long: from a nanosecond at the left to a hundred seconds at the right", width: 10.6, sortable: false,
				render: (cell, i) => this.spark(cell, this.site(i).waits),
			},
			time("p50", "Median", "Half of the waits took no longer", (s) => s.waits.p50),
			time("p99", "p99", "99 of 100 took no longer", (s) => s.waits.p99),
			time("max", "Longest", "Longest wait that ended", (s) => s.waits.max),
			time("ready", "Ready p99", "From wake-up to running, 99 of 100", (s) => s.ready.p99),
		];
	}

	// Small bars, all on one time scale so that sites can be compared.
	private spark(cell: HTMLElement, hist: Histogram): void {
		const key = `${hist.nr}/${hist.max}/${hist.p50}`;
		if (cell.dataset.key === key) return;
		cell.dataset.key = key;
		const bins = rebin(hist, 1, 1e11, 33);
		const top = Math.max(1, ...bins);
		const w = SPARK.width / bins.length;
		const out = svg("svg", { width: SPARK.width, height: SPARK.height, class: "spark", "aria-hidden": "true" });
		out.appendChild(svg("rect", { x: 0, y: SPARK.height - 1, width: SPARK.width, height: 1, class: "spark-base" }));
		bins.forEach((n, i) => {
			const t = n === 0 ? 0 : Math.max(1.5, (SPARK.height - 2) * Math.sqrt(n / top));
			if (n > 0) out.appendChild(svg("rect", { x: i * w, y: SPARK.height - 1 - t, width: Math.max(1, w - 0.6), height: t }));
		});
		cell.replaceChildren(out);
	}

	private drawDetail(): void {
		const index = Number(this.params.place ?? NaN);
		const site = this.places[index];
		if (!site) {
			replace(this.detail, h("p", { class: "empty" }, "Choose a place to see how long coroutines wait there and who is stuck."));
			return;
		}
		const waits = panel("How long waits took", { note: "height: root of n", sheet: () => this.histogramSheet(site) });
		waits.body.append(bigHistogram(site.waits, this.ctx.trace.now));
		const stuck = panel("Waiting here now", {
			note: site.waiting > site.oldest.length ? `the ${site.oldest.length} that wait longest, of ${fmt.count(site.waiting)}` : "",
		});
		stuck.body.append(site.oldest.length === 0 ? h("p", { class: "muted" }, "None.") :
			plainTable("Waiting here now", [
				{ label: "Coroutine", show: (o) => h("a", { href: coroHref(o.id) }, this.ctx.trace.titleOfNr(o.nr)) },
				{ label: "For", end: true, show: (o) => (o.since === null ? fmt.dash : fmt.duration(this.ctx.trace.now - o.since)) },
			], site.oldest));
		stuck.body.append(h("p", { class: "more" }, h("a", { href: viewHref("coroutines", { site: String(index), sort: "-instate" }) },
			"All coroutines that waited here last"), " ",
			h("a", { href: viewHref("time", { site: String(index) }) }, "Where the time of its waits went")));
		const found = this.ctx.trace.findingsOf(site.findings);
		replace(this.detail, h("div", { class: "site-head" }, h("h2", { class: "mono" }, site.text || "Not known"),
			...found.map((d) => findingBadge(this.ctx.trace, d))),
		keyValues([
			["file", site.file ? h("span", { class: "mono" }, `${site.file}${site.line ? `:${site.line}` : ""}`) : null],
			["function", site.function ? h("span", { class: "mono" }, site.function) : null],
			["address", site.addr ? h("span", { class: "mono" }, site.addr) : null],
			["waits", quantiles(site.waits)], ["ready", quantiles(site.ready)], ["slices before", quantiles(site.slices)],
			...(site.cpu ? cpuPairs(site.cpu) : this.ctx.trace.meta.cpu ? [["processor time", "not measured"] as const] : []),
		]), waits.el, stuck.el);
	}

	private histogramSheet(site: Site) {
		return {
			name: "waits-at-place", head: ["from_ns", "to_ns", "waits"],
			rows: site.waits.steps.map(([s, n]) => [lower(s), lower(s + 1), n]),
		};
	}

	private sheet() {
		const { sites } = this.ctx.trace.sites;
		return {
			name: "places",
			head: ["place", "file", "line", "function", "addr", "waiting", "waits", "p50_ns", "p90_ns", "p99_ns", "max_ns", "ready_p99_ns", "slice_p99_ns", "findings", "on_processor_ns", "queued_ns", "blocked_ns"],
			rows: this.rows.map((i) => {
				const s = sites[i];
				return [s.text, s.file, s.line, s.function, s.addr, s.waiting, s.waits.nr, s.waits.p50, s.waits.p90, s.waits.p99, s.waits.max,
					s.ready.p99, s.slices.p99, this.ctx.trace.findingsOf(s.findings).join(" "),
					s.cpu ? s.cpu.measured - s.cpu.queued - s.cpu.blocked : null, s.cpu?.queued ?? null, s.cpu?.blocked ?? null];
			}),
		};
	}
}

function quantiles(hist: Histogram): string {
	if (hist.nr === 0) return "none";
	return `${fmt.count(hist.nr)}: median ${fmt.duration(hist.p50)}, p90 ${fmt.duration(hist.p90)}, p99 ${fmt.duration(hist.p99)}, longest ${fmt.duration(hist.max)}`;
}

// Bars on a logarithmic time scale, from the shortest to the longest.
function bigHistogram(hist: Histogram, _now: number): HTMLElement {
	if (hist.nr === 0) return h("p", { class: "muted" }, "No wait here has ended.");
	const low = 10 ** Math.floor(Math.log10(Math.max(1, lower(hist.steps[0]?.[0] ?? 0))));
	const high = 10 ** Math.ceil(Math.log10(Math.max(low * 10, hist.max + 1)));
	const decades = Math.round(Math.log10(high / low));
	const bins = rebin(hist, low, high, decades * Math.max(2, Math.min(10, Math.floor(60 / decades))));
	const [width, height, foot] = [480, 110, 18];
	const top = Math.max(...bins, 1);
	const w = width / bins.length;
	const out = svg("svg", { viewBox: `0 0 ${width} ${height + foot}`, class: "histogram", role: "img" });
	out.setAttribute("aria-label", `Waits: ${quantiles(hist)}`);
	for (let d = 0; d <= decades; d++) {
		const x = (d / decades) * width;
		out.appendChild(svg("line", { x1: x, x2: x, y1: 0, y2: height, class: "hist-line" }));
		const label = svg("text", { x: Math.min(width - 1, Math.max(1, x)), y: height + 13, "text-anchor": d === 0 ? "start" : d === decades ? "end" : "middle" });
		label.textContent = fmt.offset(low * 10 ** d, low * 10 ** d);
		if (decades < 8 || d % 2 === 0) out.appendChild(label);
	}
	bins.forEach((n, i) => {
		if (n === 0) return;
		const t = Math.max(2, (height - 4) * Math.sqrt(n / top));
		const bar = svg("rect", { x: i * w + 0.5, y: height - t, width: Math.max(1, w - 1), height: t });
		const title = svg("title", {});
		title.textContent = `${fmt.count(n)} of ${fmt.count(hist.nr)}`;
		bar.appendChild(title);
		out.appendChild(bar);
	});
	const box = h("div", { class: "histogram-box" });
	box.appendChild(out);
	return box;
}
