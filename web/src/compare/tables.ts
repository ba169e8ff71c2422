// SPDX-License-Identifier: MIT
// tables.ts - the tables of a comparison: changes, sites, kinds.

import { button, h, replace, setText } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { viewHref } from "../base/route.ts";
import { shownOf, tablePart, type PagePart } from "../ui/part_page.ts";
import { panel } from "../ui/parts.ts";
import { SortTable, type SortColumn } from "../ui/sort_table.ts";
import { changeText, largerText, METRIC_WORDS, pairVerdict, placeOf, verdictBadge, verdictText } from "./change_text.ts";
import { METRICS, type Change, type CompareData, type KindPair, type Metric, type SitePair, type SiteSide } from "./types.ts";

export const siteHref = (index: number): string => viewHref("site", { site: String(index) });

const time = (ns: number | null | undefined): string => (ns === null || ns === undefined ? fmt.dash : fmt.duration(ns));

// ---- changes ----

const CLASS_MARKS: Record<Change["class"], string> = { worse: "▲ worse", better: "▼ better", new: "+ new", gone: "− gone" };
const CLASS_TONES: Record<Change["class"], string> = { worse: "up", better: "down", new: "", gone: "" };

// The value that differs, of one side.
function changeValue(c: Change, side: "base" | "head"): number | null {
	const s = c[side];
	if (!s) return null;
	if (c.what === "left" || c.what === "finding") return s.count;
	return (c.quantile === 90 ? s.p90_ns : s.p50_ns) ?? null;
}

const isCount = (c: Change) => c.what === "left" || c.what === "finding";

function changePlace(c: Change, sites: ReadonlyMap<string, number>): Node | string {
	const at = isCount(c) ? undefined : sites.get(c.place.text);
	const text = `${c.detector ? `${c.detector}: ` : ""}${c.place.text}`;
	return at === undefined ? text : h("a", { href: siteHref(at) }, text);
}

export function changesPart(d: CompareData): PagePart {
	const sites = new Map(d.sites.map((pair, i) => [placeOf(pair), i] as const));
	const value = (side: "base" | "head"): SortColumn<Change> => ({
		key: side, label: side === "base" ? "Base" : "Head", end: true, value: (c) => changeValue(c, side),
		show: (c) => {
			const v = changeValue(c, side);
			return v === null ? fmt.dash : isCount(c) ? fmt.count(v) : fmt.duration(v);
		},
	});
	const table = new SortTable<Change>({
		label: "Changes", rows: d.changes, empty: "No difference beyond noise.", columns: [
			{ key: "class", label: "Class", value: (c) => c.class, show: (c) => h("span", { class: `verdict ${CLASS_TONES[c.class]}` }, CLASS_MARKS[c.class]) },
			{ key: "what", label: "What", value: (c) => c.title },
			{ key: "place", label: "Place", class: "name mono", value: (c) => `${c.detector ?? ""} ${c.place.text}`.trim(), show: (c) => changePlace(c, sites) },
			{ key: "quantile", label: "At", title: "The percentile that differs", end: true, value: (c) => c.quantile ?? null, show: (c) => (c.quantile ? `p${c.quantile}` : "") },
			value("base"), value("head"),
			{ key: "change", label: "Change", end: true, value: (c) => (changeValue(c, "head") ?? 0) - (changeValue(c, "base") ?? 0), show: (c) => (c.base && c.head ? changeText(changeValue(c, "base") ?? 0, changeValue(c, "head") ?? 0) : fmt.dash) },
		],
	});
	return tablePart("changes", "Changes", "Changes beyond noise", table, d.changes.length, "changes");
}

// ---- sites ----

export interface SitesPart extends PagePart {
	setMetric(metric: Metric): void;
}

interface SiteRow {
	pair: SitePair;
	index: number;
}

function siteColumns(metric: Metric): SortColumn<SiteRow>[] {
	const side = (r: SiteRow, name: "base" | "head"): SiteSide | null => (r.pair[metric][name]?.count ? r.pair[metric][name] : null);
	const both = (key: "p50_ns" | "p90_ns" | "p99_ns", label: string): SortColumn<SiteRow>[] => [
		{ key: `base_${key}`, label: `${label}, base`, end: true, value: (r) => side(r, "base")?.[key] ?? null, show: (r) => time(side(r, "base")?.[key]) },
		{ key: `head_${key}`, label: `${label}, head`, end: true, value: (r) => side(r, "head")?.[key] ?? null, show: (r) => time(side(r, "head")?.[key]) },
	];
	const ratio = (r: SiteRow) => {
		const [b, t] = [side(r, "base"), side(r, "head")];
		return b && t ? t.p50_ns / Math.max(1, b.p50_ns) : null;
	};
	return [
		{ key: "verdict", label: "Verdict", value: (r) => verdictText(pairVerdict(r.pair, metric)), show: (r) => verdictBadge(pairVerdict(r.pair, metric)) },
		{ key: "place", label: "Place", class: "name mono", value: (r) => placeOf(r.pair), show: (r) => h("a", { href: siteHref(r.index) }, placeOf(r.pair)) },
		{ key: "base_count", label: "Base", end: true, value: (r) => side(r, "base")?.count ?? 0 },
		{ key: "head_count", label: "Head", end: true, value: (r) => side(r, "head")?.count ?? 0 },
		...both("p50_ns", "Median"),
		{ key: "median_ratio", label: "Change", title: "Of the median", end: true, value: ratio, show: (r) => (ratio(r) === null ? fmt.dash : changeText(side(r, "base")!.p50_ns, side(r, "head")!.p50_ns)) },
		...both("p99_ns", "p99"),
		{ key: "larger", label: "Head larger", title: "Probability that a value of the head is larger than one of the base", end: true, value: (r) => r.pair[metric].larger, show: (r) => largerText(r.pair[metric].larger) },
		{ key: "z", label: "z", title: "Distance from even, in standard errors (Mann-Whitney)", end: true, value: (r) => r.pair[metric].z, show: (r) => (r.pair[metric].larger === 0 ? fmt.dash : r.pair[metric].z.toFixed(1)) },
	];
}

// @choose: the reader chose another metric.
export function sitesPart(d: CompareData, choose: (metric: Metric) => void): SitesPart {
	const rows = d.sites.map((pair, index) => ({ pair, index }));
	const buttons = METRICS.map((m) => button(METRIC_WORDS[m], () => choose(m), { data: { metric: m } }));
	let metric: Metric = "wait";
	let words: readonly string[] = [];
	const made = () => new SortTable<SiteRow>({ label: "Sites", rows, empty: "Neither side has a site.", columns: siteColumns(metric) });
	let table = made();
	const box = panel("Sites", {
		tools: [h("span", { class: "segments", role: "group", aria: { label: "What is compared" } }, ...buttons)],
		sheet: () => table.sheet(`sites-${metric}`),
	});
	box.el.id = "sites";
	const holder = h("div", null, table.el);
	box.body.append(holder, h("p", { class: "muted" }, d.sites_omitted > 0 ? `${fmt.plural(d.sites_omitted, "more site")} without a difference left out of the file.` : ""));
	const draw = () => {
		for (const b of buttons) b.setAttribute("aria-pressed", String(b.dataset.metric === metric));
		setText(box.note, shownOf(table.filter(words), rows.length, ""));
	};
	draw();
	return {
		view: "sites", label: "Sites", el: box.el,
		filter: (w) => {
			words = w;
			draw();
		},
		setMetric: (m) => {
			if (m === metric) return;
			metric = m;
			table = made();
			replace(holder, table.el);
			draw();
		},
	};
}

// ---- kinds ----

function kindVerdict(k: KindPair): HTMLElement | string {
	if (k.direction !== 0) return h("span", { class: `verdict ${k.direction > 0 ? "up" : "down"}` }, k.direction > 0 ? "▲ more left" : "▼ fewer left");
	return h("span", { class: "verdict quiet" }, k.in_base && k.in_head ? "within noise" : k.in_head ? "only in the head" : "only in the base");
}

export function kindsPart(d: CompareData): PagePart {
	const range = (least: number, greatest: number) => (least === greatest ? "" : ` (${fmt.count(least)} to ${fmt.count(greatest)})`);
	const side = (name: "base" | "head"): SortColumn<KindPair> => ({
		key: name, label: `Left, ${name}`, title: "Coroutines that have not ended, in a run on average", end: true, value: (k) => k[name].count,
		show: (k) => fmt.count(k[name].count) + range(k[name].least_run, k[name].greatest_run),
	});
	const table = new SortTable<KindPair>({
		label: "Kinds", rows: d.kinds, empty: "The traces do not say where coroutines were created.", columns: [
			{ key: "verdict", label: "Verdict", value: (k) => k.direction, show: kindVerdict },
			{ key: "kind", label: "Kind of coroutine", class: "name mono", value: (k) => k.text },
			side("base"), side("head"),
			{ key: "change", label: "Change", end: true, value: (k) => k.head.count - k.base.count, show: (k) => changeText(k.base.count, k.head.count) },
		],
	});
	return tablePart("kinds", "Kinds", "Kinds of coroutines", table, d.kinds.length, "kinds", d.kinds_omitted > 0 ? `${fmt.count(d.kinds_omitted)} more left out of the file` : "");
}
