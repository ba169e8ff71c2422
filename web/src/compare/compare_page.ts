// SPDX-License-Identifier: MIT
// compare_page.ts - the page of `diff --html`: its head, summary and parts.
//
//   #view=site&site=3              a part, a site
//   #view=sites&metric=run&q=serve what is compared, the filter
//   #view=flame&flame=time         the scale of the flame graph

import { h } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { formatRoute, parseRoute, type Params } from "../base/route.ts";
import { headBar } from "../ui/head_bar.ts";
import { PartPage, type PagePart } from "../ui/part_page.ts";
import { panel, plainTable } from "../ui/parts.ts";
import { changeText, median } from "./change_text.ts";
import { diffFlamePart } from "./flame_part.ts";
import { siteDetailPart } from "./site_detail.ts";
import { changesPart, kindsPart, sitesPart } from "./tables.ts";
import { METRICS, type CompareData, type Metric, type RunTotals } from "./types.ts";

const fileName = (path: string) => path.split("/").filter((p) => p !== "").pop() ?? path;

// "base.jsonl", "3 runs: base1.jsonl …"
const sideName = (names: readonly string[]) => (names.length === 1 ? fileName(names[0]) : `${names.length} runs: ${fileName(names[0] ?? "")} …`);

function compareHead(d: CompareData): HTMLElement {
	const facts: [string, string][] = [["worse", fmt.count(d.worse)], ["better", fmt.count(d.better)], ["new", fmt.count(d.new)], ["gone", fmt.count(d.gone)],
		["sites compared", fmt.count(d.sites_compared)]];
	const title = `${sideName(d.base)} → ${sideName(d.head)}`;
	return headBar(h("h1", { title }, title), h("dl", { class: "facts" }, ...facts.map(([key, value]) =>
		h("div", { class: `fact ${key === "worse" && d.worse > 0 ? "loud" : ""}`, data: { fact: key } }, h("dt", null, key), h("dd", null, value)))));
}

// ---- summary ----

interface SummaryRow {
	label: string;
	of(run: RunTotals): number | null;
	show(value: number): string;
}

const SUMMARY: readonly SummaryRow[] = [
	{ label: "Duration", of: (r) => r.duration_ns, show: fmt.duration },
	{ label: "Coroutines", of: (r) => r.coroutines, show: fmt.count },
	{ label: "Not ended", of: (r) => r.alive, show: fmt.count },
	{ label: "Transitions", of: (r) => r.transitions, show: fmt.count },
	{ label: "Threads", of: (r) => r.threads, show: fmt.count },
	{ label: "Strong findings", of: (r) => r.findings, show: fmt.count },
	{ label: "Lost events", of: (r) => r.lost, show: fmt.count },
	{ label: "Corrupt records", of: (r) => r.garbage, show: fmt.count },
];

const known = (row: SummaryRow, runs: readonly RunTotals[]): number[] => runs.map((r) => row.of(r)).filter((v): v is number => v !== null);

// The median run, and the range of all.
function summaryCell(row: SummaryRow, runs: readonly RunTotals[]): Node | string {
	const values = known(row, runs);
	if (values.length === 0) return "not known";
	const [least, most] = [Math.min(...values), Math.max(...values)];
	const middle = row.show(median(values));
	return least === most ? middle : h("span", null, middle, " ", h("span", { class: "range muted" }, `${row.show(least)} to ${row.show(most)}`));
}

function summaryPart(d: CompareData): PagePart {
	const change = (row: SummaryRow) => {
		const [b, t] = [known(row, d.base_runs), known(row, d.head_runs)];
		return b.length > 0 && t.length > 0 ? changeText(median(b), median(t)) : fmt.dash;
	};
	const box = panel("Summary", {
		note: d.base.length + d.head.length > 2 ? "the median run, and the range of all" : "",
		sheet: () => ({
			name: "summary", head: ["side", "trace", "verdict", ...SUMMARY.map((r) => r.label)],
			rows: (["base", "head"] as const).flatMap((side) => d[`${side}_runs`].map((r) => [side, r.trace, r.verdict, ...SUMMARY.map((row) => row.of(r))])),
		}),
	});
	box.el.id = "summary";
	box.body.append(plainTable("Summary", [
		{ label: "In a run", show: (r: SummaryRow) => r.label },
		{ label: "Base", end: true, show: (r: SummaryRow) => summaryCell(r, d.base_runs) },
		{ label: "Head", end: true, show: (r: SummaryRow) => summaryCell(r, d.head_runs) },
		{ label: "Change", end: true, show: change },
	], SUMMARY), h("div", { class: "side-lists" }, ...(["base", "head"] as const).map((side) =>
		h("div", null, h("h3", null, side === "base" ? "Base" : "Head"), h("ul", { class: "mono" }, ...d[`${side}_runs`].map((r) =>
			h("li", null, r.trace, r.verdict === "complete" ? "" : ` (${r.verdict})`)))))));
	return { view: "summary", label: "Summary", el: box.el, filter: () => {} };
}

function verdictLine(d: CompareData): string {
	if (d.changes.length === 0) return "No difference beyond noise.";
	const parts = ([["worse", d.worse], ["better", d.better], ["new", d.new], ["gone", d.gone]] as const).filter(([, n]) => n > 0);
	return `${parts.map(([word, n]) => `${fmt.count(n)} ${word}`).join(", ")}.`;
}

function compareIntro(d: CompareData): HTMLElement {
	const single = d.base.length < 2 || d.head.length < 2;
	return h("div", { class: "intro" }, h("h2", null, verdictLine(d)),
		...d.notes.map((note) => h("p", { class: "remark" }, `${note}.`.replace(/([.?])\.$/, "$1"))),
		h("p", { class: "muted" }, `A difference counts from ${d.threshold_percent} % and ${fmt.duration(d.min_change_ns)} on, if it is beyond noise. `,
			single ? "One run on a side: the noise between runs is not known, so only large changes count." : "The noise is the spread between the runs of a side."));
}

// ---- the page ----

const go = (view: string, change: Params) => {
	const { params } = parseRoute(location.hash);
	location.hash = formatRoute({ view, coro: null, params: { ...params, ...change } });
};

export function buildComparePage(root: HTMLElement, d: CompareData): void {
	const sites = sitesPart(d, (metric) => go("sites", { metric: metric === "wait" ? "" : metric }));
	const flame = diffFlamePart(d, (scale) => go("flame", { flame: scale === "share" ? "" : scale }));
	const detail = siteDetailPart(d);
	new PartPage(root, {
		title: `${sideName(d.base)} → ${sideName(d.head)} – comparison`,
		head: compareHead(d),
		intro: compareIntro(d),
		parts: [summaryPart(d), changesPart(d), sites, detail, flame, kindsPart(d)],
		foot: "Percentiles are at most 1/64 above the exact ones. Made by corotracer diff --html.",
		filterLabel: "Filter by place, kind or state",
		// Everything that the address names is shown before the page scrolls to its part.
		target: (params) => {
			sites.setMetric((METRICS as readonly string[]).includes(params.metric) ? params.metric as Metric : "wait");
			flame.setScale(params.flame === "time" ? "time" : "share");
			detail.choose(/^\d{1,6}$/.test(params.site ?? "") ? Number(params.site) : 0);
			return null;
		},
	});
}
