// SPDX-License-Identifier: MIT
// types.ts - the object in the page of `diff --html`; docs/diff.md describes it.

export const METRICS = ["wait", "ready", "run"] as const;
export type Metric = (typeof METRICS)[number];

export interface RunTotals {
	trace: string;
	verdict: string;
	duration_ns: number;
	coroutines: number;
	alive: number;
	transitions: number;
	threads: number;
	findings: number;
	garbage: number;
	lost: number | null;
}

// One side of a change; durations have percentiles.
export interface ChangeSide {
	count: number;
	p50_ns?: number;
	p90_ns?: number;
	p99_ns?: number;
}

export interface Change {
	class: "worse" | "better" | "new" | "gone";
	what: Metric | "left" | "finding" | "site";
	title: string;
	place: { text: string; file?: string; line?: number };
	detector?: string;
	quantile?: number;
	base?: ChangeSide;
	head?: ChangeSide;
}

export interface SiteSide {
	count: number;
	p50_ns: number;
	p90_ns: number;
	p99_ns: number;
	max_ns: number;
	least_run_ns: number;
	greatest_run_ns: number;
	steps: [number, number][];
}

export interface SiteMetric {
	direction: number;         // 1: longer beyond noise, -1: shorter, 0: neither
	quantile: number;          // that differs; 0: none
	larger: number;            // probability that a value of the head is larger; 0: no values
	z: number;
	base: SiteSide | null;
	head: SiteSide | null;
}

export interface SitePlace {
	text: string;
	file: string | null;
	line: number;
}

export interface SitePair extends Record<Metric, SiteMetric> {
	base_place: SitePlace | null;
	head_place: SitePlace | null;
}

export interface KindSide {
	count: number;
	least_run: number;
	greatest_run: number;
}

export interface KindPair {
	text: string;
	direction: number;
	in_base: boolean;
	in_head: boolean;
	base: KindSide;
	head: KindSide;
}

export interface TimeNode {
	name: string;
	file: string | null;
	line: number;
	parent: number;            // 0: none; else 1 + index
	state: string | null;
	base_ns: number;
	head_ns: number;
}

export interface CompareData {
	base: string[];
	head: string[];
	notes: string[];
	sites_compared: number;
	worse: number;
	better: number;
	new: number;
	gone: number;
	changes: Change[];
	threshold_percent: number;
	min_change_ns: number;
	base_runs: RunTotals[];
	head_runs: RunTotals[];
	sites: SitePair[];
	sites_omitted: number;
	kinds: KindPair[];
	kinds_omitted: number;
	flame: { base_ns: number; head_ns: number; hidden: number; unknown: number; left_out: number; nodes: TimeNode[] };
}
