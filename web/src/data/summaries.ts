// SPDX-License-Identifier: MIT
// summaries.ts - one coroutine in sums: how long it waited at which site, what woke it.

import type { Coros } from "./coros.ts";
import { SLICE } from "./coros.ts";
import { isNext, type Life } from "../worker/life.ts";

export interface SiteWaits {
	site: number;
	count: number;
	total: number;
	longest: number;
}

interface Known {
	coros: Coros;
	now: number;
}

// The present wait counts, too. Time between slices that are not neighbours is not one wait.
export function waitsBySite(life: Life, known: Known, row: number): SiteWaits[] {
	const sums = new Map<number, SiteWaits>();
	const add = (site: number, ns: number) => {
		const s = sums.get(site) ?? { site, count: 0, total: 0, longest: 0 };
		s.count++;
		s.total += ns;
		s.longest = Math.max(s.longest, ns);
		sums.set(site, s);
	};
	for (let i = 0; i + 1 < life.rows; i++) {
		const end = life.start[i] + life.dur[i];
		if (life.start[i + 1] > end && isNext(life, i + 1) && !(life.flags[i] & (SLICE.ended | SLICE.cut))) add(life.site[i], life.start[i + 1] - end);
	}
	const last = life.rows - 1;
	const state = known.coros.c.state[row];
	if ((state === 4 || state === 2) && last >= 0) add(life.site[last], Math.max(0, known.now - (life.start[last] + life.dur[last])));
	return [...sums.values()].sort((a, b) => b.total - a.total);
}

export interface Waker {
	waker: number;             // 1 + number; 0: none
	count: number;
	delay: number;             // from wake to run, in total
	longest: number;
}

export function wakersOf(life: Life): Waker[] {
	const sums = new Map<number, Waker>();
	for (let i = 0; i < life.rows; i++) {
		if (Number.isNaN(life.wake[i])) continue;
		const w = sums.get(life.waker[i]) ?? { waker: life.waker[i], count: 0, delay: 0, longest: 0 };
		w.count++;
		w.delay += life.wake[i];
		w.longest = Math.max(w.longest, life.wake[i]);
		sums.set(life.waker[i], w);
	}
	return [...sums.values()].sort((a, b) => b.count - a.count);
}
