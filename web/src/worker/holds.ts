// SPDX-License-Identifier: MIT
// holds.ts - which coroutine held a lock at which time.

import type { Section } from "../data/columns.ts";

interface Hold {
	nr: number;
	from: number;
	to: number;                // NaN: until the end
}

const keyOf = (pid: number, hi: number, lo: number) => `${pid}:${hi}:${lo}`;

export class Holds {
	readonly since: number;    // before this time holders are not in the file
	private readonly byLock = new Map<string, Hold[]>();
	private asked = NaN;       // the time of the answers below
	private readonly answers = new Map<string, number[]>();

	// null: the file has no such section.
	constructor(s: Section | null) {
		this.since = s ? (typeof s.header.since === "number" ? s.header.since : -Infinity) : Infinity;
		const c = s?.columns;
		if (!c || !c.coro || !c.from || !c.to || !c.pid || !c.res_lo || !c.res_hi) return;
		for (let i = 0; i < s.rows; i++) {
			const key = keyOf(c.pid[i], c.res_hi[i], c.res_lo[i]);
			const list = this.byLock.get(key);
			const hold = { nr: c.coro[i], from: c.from[i], to: c.to[i] };
			if (list) list.push(hold);
			else this.byLock.set(key, [hold]);
		}
		for (const list of this.byLock.values()) list.sort((a, b) => a.from - b.from);
	}

	// Numbers of the coroutines that hold it at @t, the longest first.
	holdersOf(pid: number, hi: number, lo: number, t: number): number[] {
		const key = keyOf(pid, hi, lo);
		if (this.asked !== t) this.answers.clear();
		this.asked = t;
		const known = this.answers.get(key);
		if (known) return known;
		const out: number[] = [];
		for (const h of this.byLock.get(key) ?? []) {
			if (h.from > t) break;
			if (!(h.to <= t)) out.push(h.nr);
		}
		this.answers.set(key, out);
		return out;
	}
}
