// SPDX-License-Identifier: MIT
// query.ts - which coroutines, in which order: over a hundred thousand in a few milliseconds.

import type { Coros, FloatName, IntName } from "../data/coros.ts";
import type { Sites } from "../data/types.ts";

export interface CoroFilter {
	text: string;              // every word must be in the name, kind, site or id
	states: number;            // bits by state; 0: all
	minInState: number;        // ns
	minSuspends: number;
	findings: number;          // bits; 0: any or none
	site: number;              // -1: any
	kind: number;
	thread: number;
	parent: number;            // row of the parent
	from: number;              // alive at some time in this range
	to: number;
}

export const ALL: CoroFilter = {
	text: "", states: 0, minInState: 0, minSuspends: 0, findings: 0, site: -1, kind: -1, thread: -1, parent: -1,
	from: -Infinity, to: Infinity,
};

export interface CoroOrder {
	key: string;
	down: boolean;
}

export interface Names {
	strings: string[];
	sites: Sites;
}

// Text is matched once per different text, not once per coroutine.
function matching(texts: readonly string[], word: string): Uint8Array {
	return Uint8Array.from(texts, (t) => (t.toLowerCase().includes(word) ? 1 : 0));
}

function textTest(t: Coros, names: Names, text: string): (row: number) => boolean {
	const words = text.toLowerCase().split(/\s+/).filter((w) => w !== "");
	const sites = names.sites.sites.map((s) => s.text);
	const kinds = names.sites.kinds.map((k) => k.text);
	const tests = words.map((word) => {
		const [inName, inSite, inKind] = [matching(names.strings, word), matching(sites, word), matching(kinds, word)];
		const id = /^#?\d+$/.test(word) ? word.replace("#", "") : null;
		return (row: number) => inName[t.c.name[row]] === 1 || inSite[t.c.site[row]] === 1 ||
			inKind[t.c.kind[row]] === 1 || (id !== null && t.id(row).includes(id));
	});
	return (row) => tests.every((test) => test(row));
}

export function select(t: Coros, names: Names, f: CoroFilter, now: number): Uint32Array {
	const out = new Uint32Array(t.rows);
	const hasText = f.text.trim() === "" ? null : textTest(t, names, f.text);
	const c = t.c;
	let nr = 0;
	for (let row = 0; row < t.rows; row++) {
		if (f.states !== 0 && !(f.states & (1 << c.state[row]))) continue;
		if (f.minSuspends > 0 && c.suspends[row] < f.minSuspends) continue;
		if (f.findings !== 0 && !(c.findings[row] & f.findings)) continue;
		if (f.site >= 0 && c.site[row] !== f.site) continue;
		if (f.kind >= 0 && c.kind[row] !== f.kind) continue;
		if (f.parent >= 0 && c.parent[row] !== c.nr[f.parent] + 1) continue;
		if (f.thread >= 0 && c.thread[row] !== f.thread) continue;
		if (f.minInState > 0 && !(t.inState(row, now) >= f.minInState)) continue;
		if (c.first[row] > f.to || c.end[row] < f.from) continue;
		if (hasText && !hasText(row)) continue;
		out[nr++] = row;
	}
	return out.slice(0, nr);
}

// The rank of each text in alphabetical order; equal texts have equal ranks.
function ranks(texts: readonly string[]): Float64Array {
	const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
	const order = texts.map((_, i) => i).sort((a, b) => collator.compare(texts[a], texts[b]));
	const out = new Float64Array(texts.length);
	let place = 0;
	order.forEach((at, i) => {
		if (i > 0 && collator.compare(texts[order[i - 1]], texts[at]) !== 0) place = i;
		// Empty names come last.
		out[at] = texts[at] === "" ? texts.length : place;
	});
	return out;
}

function keyOf(t: Coros, names: Names, key: string, now: number): (row: number) => number {
	const c = t.c;
	switch (key) {
	case "id":
		return (row) => c.id_hi[row] * 2 ** 32 + c.id_lo[row];
	case "name": {
		const rank = ranks(names.strings);
		return (row) => rank[c.name[row]] ?? Infinity;
	}
	case "site": {
		const rank = ranks(names.sites.sites.map((s) => s.text));
		return (row) => rank[c.site[row]] ?? Infinity;
	}
	case "kind": {
		const rank = ranks(names.sites.kinds.map((k) => k.text));
		return (row) => rank[c.kind[row]] ?? Infinity;
	}
	case "instate":
		return (row) => t.inState(row, now);
	case "life":
		return (row) => t.lifetime(row, now);
	case "findings":
		return (row) => bits(c.findings[row]);
	default: {
		const column = c[key as FloatName | IntName];
		return column ? (row) => column[row] : (row) => c.nr[row];
	}
	}
}

function bits(n: number): number {
	let count = 0;
	for (; n !== 0; n &= n - 1) count++;
	return count;
}

// Sorts @rows in place.  Unknown values come last in either order; equal ones stay in order of
// appearance.
export function sort(t: Coros, names: Names, rows: Uint32Array, order: CoroOrder, now: number): void {
	const key = keyOf(t, names, order.key, now);
	const keys = new Float64Array(t.rows);
	const sign = order.down ? -1 : 1;
	for (const row of rows) {
		const k = key(row);
		keys[row] = Number.isNaN(k) ? Infinity : k * sign;
	}
	rows.sort((a, b) => {
		const [x, y] = [keys[a], keys[b]];
		return x < y ? -1 : x > y ? 1 : a - b;
	});
}
