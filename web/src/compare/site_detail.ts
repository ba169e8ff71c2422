// SPDX-License-Identifier: MIT
// site_detail.ts - one site of both sides: percentiles and histograms, metric by metric.

import { h, replace, setText } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { lower } from "../data/histogram.ts";
import { keyValues, panel, plainTable } from "../ui/parts.ts";
import type { PagePart } from "../ui/part_page.ts";
import type { Sheet } from "../ui/save.ts";
import { changeText, largerText, METRIC_WORDS, pairVerdict, placeOf, verdictBadge } from "./change_text.ts";
import { overlayChart } from "./overlay.ts";
import { METRICS, type CompareData, type Metric, type SitePair, type SiteSide } from "./types.ts";

export interface SiteDetailPart extends PagePart {
	choose(index: number): void;
}

type Row = { label: string; of(side: SiteSide): number; isCount?: boolean };

const ROWS: readonly Row[] = [
	{ label: "Number", of: (s) => s.count, isCount: true },
	{ label: "Median", of: (s) => s.p50_ns },
	{ label: "p90", of: (s) => s.p90_ns },
	{ label: "p99", of: (s) => s.p99_ns },
	{ label: "Longest", of: (s) => s.max_ns },
];

const shownValue = (row: Row, side: SiteSide | null): string =>
	(!side || side.count === 0 ? fmt.dash : row.isCount ? fmt.count(row.of(side)) : fmt.duration(row.of(side)));

function percentiles(metric: Metric, pair: SitePair): HTMLElement {
	const { base, head } = pair[metric];
	return plainTable(`Percentiles, ${METRIC_WORDS[metric]}`, [
		{ label: "Of", show: (r: Row) => r.label },
		{ label: "Base", end: true, show: (r: Row) => shownValue(r, base) },
		{ label: "Head", end: true, show: (r: Row) => shownValue(r, head) },
		{ label: "Change", end: true, show: (r: Row) => (base?.count && head?.count ? changeText(r.of(base), r.of(head)) : fmt.dash) },
	], ROWS);
}

function significance(metric: Metric, pair: SitePair): HTMLElement {
	const m = pair[metric];
	const spread = (s: SiteSide) => (s.least_run_ns === s.greatest_run_ns ? "" : `${fmt.duration(s.least_run_ns)} to ${fmt.duration(s.greatest_run_ns)}`);
	return keyValues([
		["verdict", verdictBadge(pairVerdict(pair, metric))],
		["head larger", m.larger === 0 ? null : `${largerText(m.larger)} of pairs, ${m.z.toFixed(1)} standard errors from even`],
		["base runs", m.base && m.base.count > 0 && spread(m.base) !== "" ? spread(m.base) : null],
		["head runs", m.head && m.head.count > 0 && spread(m.head) !== "" ? spread(m.head) : null],
	]);
}

function metricBox(metric: Metric, pair: SitePair): HTMLElement {
	const { base, head } = pair[metric];
	return h("div", { class: "site-metric" }, h("h3", null, METRIC_WORDS[metric]), significance(metric, pair),
		overlayChart(METRIC_WORDS[metric], base, head), percentiles(metric, pair));
}

function stepsSheet(pair: SitePair): Sheet {
	const rows = METRICS.flatMap((metric) => (["base", "head"] as const).flatMap((side) =>
		(pair[metric][side]?.steps ?? []).map(([s, n]) => [metric, side, lower(s), lower(s + 1), n])));
	return { name: "site-histograms", head: ["what", "side", "from_ns", "to_ns", "values"], rows };
}

export function siteDetailPart(d: CompareData): SiteDetailPart {
	let chosen = 0;
	const box = panel("A site", { sheet: () => stepsSheet(d.sites[chosen]), note: "height: root of the share of all values" });
	box.el.id = "site";
	const draw = () => {
		const pair = d.sites[chosen];
		if (!pair) {
			replace(box.body, h("p", { class: "muted" }, "Neither side has a site."));
			return;
		}
		const moved = pair.base_place && pair.head_place && pair.base_place.text !== pair.head_place.text;
		replace(box.body, h("h3", { class: "mono site-name", data: { site: String(chosen) } }, placeOf(pair)),
			moved ? h("p", { class: "muted" }, "In the base: ", h("span", { class: "mono" }, pair.base_place!.text)) : null,
			h("p", { class: "flame-key muted" }, h("span", null, h("i", { class: "side-base" }), "bars: base"), h("span", null, h("i", { class: "side-head line" }), "line: head")),
			h("div", { class: "site-metrics" }, ...METRICS.map((metric) => metricBox(metric, pair))));
	};
	draw();
	return {
		view: "site", label: "A site", el: box.el, filter: () => setText(box.note, "height: root of the share of all values"),
		choose: (index) => {
			if (index === chosen || !d.sites[index]) return;
			chosen = index;
			draw();
		},
	};
}
