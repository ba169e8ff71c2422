// SPDX-License-Identifier: MIT
// types.ts - the JSON sections, as specified in docs/view-format.md.

import type { Stream } from "./delay.ts";

// 64-bit numbers that a double cannot hold arrive as strings (base/json.ts).
export type Big = number | string;

export interface Totals {
	coroutines: number;
	not_ended: number;
	transitions: number;
	others: number;
	threads: number;
	duration_ns: number;
	lost: number | null;
	others_lost: number | null;
	garbage: number;
}

export interface Thread {
	tid: Big;
	resumes: number;
	slices: number;
	busy: number;
}

export interface Thinned {
	what: string;
	kept: number;
	of: number;
	text: string;
}

export interface Run {
	command?: string[] | null;
	pid?: number | null;
	hostname?: string | null;
	arch?: string | null;
	start?: number | null;
	start_realtime_ms?: number | null;
	exit_status?: number | null;
	signal?: number | null;
}

export interface Garbage {
	[what: string]: unknown;
	first?: { line: number; reason: string }[];
}

// Is everything that was recorded in the trace? missing: the missing parts, as text.
export interface Completeness {
	verdict: "complete" | "unknown" | "growing" | "unfinished" | "incomplete";
	expected: number | null;
	expected_others: number | null;
	read: number;
	read_others: number;
	unreadable_files: number;
	missing: string | null;
}

export interface Meta {
	format: number;
	tool: string;
	trace: string;
	live: boolean;
	ended: boolean;
	origin: string;
	end: number;
	tick: number;
	run: Run | null;
	totals: Totals;
	completeness?: Completeness;   // not in pages of older tools
	notes: string[];
	garbage: Garbage;
	states: string[];
	reasons: string[];
	detectors: { name: string; title: string; fault: boolean }[];
	threads: Thread[];
	threads_of: number;
	cpu?: { since: number; lost: number; wakes: boolean } | null;  // context switches were recorded
	frames?: { kept: number; of: number; lost: number };           // not in pages of older tools
	holds?: { kept: number; of: number };                          // locks; not in pages of older tools
	stream?: Stream | null;        // how a growing trace is read
	coros: { kept: number; of: number; alive: number };
	blocks: number;
	slices: { kept: number; of: number };
	thinned: Thinned[];
}

export interface Place {
	text: string;
	file?: string;
	line?: number;
}

export interface Step {
	ts: Big;
	kind: string;
	tid: Big;
	waker?: Big;
	place?: Place;
}

// A coroutine of a finding, as it was at at_ts.
export interface Affected {
	probe_id: Big;
	name: string | null;
	pid: number;
	tid: Big;
	state: string;
	since_ts: Big;
	age_ns: number;
	at_ts: Big;
	reason?: string;
	resource?: Big;
	parent?: Big;
	lost: number;
	confidence?: string;       // in the list of a finding
}

export interface Example extends Affected {
	last: Step[];
	awaited_by: { probe_id: Big; place: Place }[];
}

export interface Finding {
	detector: string;
	title: string;
	confidence: string;
	fault: boolean;
	count: number;
	oldest_ns: number;
	place: Place | null;
	kind: string | null;
	seen: string;
	evidence: string[];
	doubt: string | null;
	meaning: string;
	advice: string;
	hint: string;              // what to do in this case; may be the advice
	example?: Example;
	coroutines: Affected[];    // the most certain first
	coroutines_omitted: number;
}

export interface Report {
	trace: string;
	totals: Totals;
	notes: string[];
	suppressed: number;
	below: number;
	findings: Finding[];
}

export interface Histogram {
	nr: number;
	max: number;
	p50: number;
	p90: number;
	p99: number;
	steps: [number, number][];
}

export interface Site {
	text: string;
	file?: string | null;
	line?: number | null;
	function?: string | null;
	addr?: string | null;
	waits: Histogram;
	ready: Histogram;
	slices: Histogram;
	cpu?: { slices: number; measured: number; queued: number; blocked: number };
	waiting: number;
	oldest: { nr: number; id: string; since: number | null }[];
	findings: number;
}

export interface Kind {
	text: string;
	site: number | null;
	born: number;
	ended: number;
	destroyed: number;
	alive: number;
}

export interface Sites {
	sites: Site[];
	kinds: Kind[];
}

export interface SeriesDelta {
	start: number;
	width: number;
	end: number;
	from: number;
	rows: number[][];
}

export interface CoroDelta {
	columns: string[];
	rows: (number | null)[][];
}

export interface Delta {
	tick: number;
	meta?: Meta;
	report?: Report;
	series?: SeriesDelta;
	strings?: { from: number; add: string[] };
	coros?: CoroDelta;
	reload?: string[];
}
