// SPDX-License-Identifier: MIT
// events.ts - the events of one coroutine, newest first.

import { FLAG, id64, SLICE, type Coros } from "./coros.ts";
import type { Life } from "../worker/life.ts";

export interface LifeEvent {
	ts: number;
	delta: number;             // since the previous event; NaN for the first
	what: "birth" | "wake" | "resume" | "suspend" | "end";
	thread: number;            // -1: not recorded
	site: number;
	waker: number;             // 1 + number; 0: none
	why: string;
}

interface Words {
	coros: Coros;
	reason(n: number): string;
}

const ORDER = { birth: 0, suspend: 1, wake: 2, resume: 3, end: 4 } as const;

export function eventsOf(life: Life, words: Words, row: number): LifeEvent[] {
	const out: LifeEvent[] = [];
	const add = (e: Partial<LifeEvent> & Pick<LifeEvent, "ts" | "what">) =>
		out.push({ delta: NaN, thread: -1, site: 0, waker: 0, why: "", ...e });
	const c = words.coros.c;
	if (c.flags[row] & FLAG.born && !Number.isNaN(c.birth[row])) add({ ts: c.birth[row], what: "birth" });
	for (let i = 0; i < life.rows; i++) {
		const flags = life.flags[i];
		const end = life.start[i] + life.dur[i];
		if (!Number.isNaN(life.wake[i]))
			add({ ts: life.start[i] - life.wake[i], what: "wake", thread: life.wakeThread[i] - 1, waker: life.waker[i] });
		if (!(flags & SLICE.headless)) add({ ts: life.start[i], what: "resume", thread: life.thread[i] });
		if (flags & (SLICE.running | SLICE.cut)) continue;
		const resource = flags & SLICE.resource ? ` ${id64(life.resHi[i], life.resLo[i])}` : "";
		add({
			ts: end, what: flags & SLICE.ended ? "end" : "suspend", thread: life.thread[i], site: life.site[i],
			why: words.reason(life.reason[i]) + resource,
		});
	}
	const ended = out.some((e) => e.what === "end");
	if (!Number.isNaN(c.end[row]) && !ended) add({ ts: c.end[row], what: "end" });
	if (c.flags[row] & FLAG.woken && c.state[row] !== 3 && !Number.isNaN(c.woken[row]))
		add({ ts: c.woken[row], what: "wake", waker: c.waker[row] });
	out.sort((a, b) => a.ts - b.ts || ORDER[a.what] - ORDER[b.what]);
	for (let i = 1; i < out.length; i++) out[i].delta = out[i].ts - out[i - 1].ts;
	return out.reverse();
}
