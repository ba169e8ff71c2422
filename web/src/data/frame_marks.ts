// SPDX-License-Identifier: MIT
// frame_marks.ts - frames on the lanes of the timeline: those of a coroutine or a thread, joined where they are dense.

import type { FrameRow, Frames } from "./frames.ts";

const CLOSE = 0.8; // of a step

export interface FrameIndex {
	of: number;                          // in the trace
	kept: number;                        // here
	byCoro: Map<string, FrameRow[]>;     // by id, in order of time
	byThread: Map<string, FrameRow[]>;   // by tid
}

// Frames first..last of a list, drawn as one mark at the time @at.
export interface FrameMark {
	at: number;
	first: number;
	last: number;
}

function push(map: Map<string, FrameRow[]>, key: string, row: FrameRow): void {
	const list = map.get(key);
	if (list) list.push(row);
	else map.set(key, [row]);
}

export function indexFrames(all: Frames): FrameIndex {
	const index: FrameIndex = { of: all.of, kept: all.frames.length, byCoro: new Map(), byThread: new Map() };
	for (const row of [...all.frames].sort((a, b) => a.ts - b.ts)) {
		if (row.id !== "") push(index.byCoro, row.id, row);
		if (row.tid !== 0) push(index.byThread, String(row.tid), row);
	}
	return index;
}

function firstFrom(rows: readonly FrameRow[], t: number): number {
	let [lo, hi] = [0, rows.length];
	while (lo < hi) {
		const mid = (lo + hi) >> 1;
		if (rows[mid].ts < t) lo = mid + 1;
		else hi = mid;
	}
	return lo;
}

// Marks between two times.  Frames of one step of @step ns are one mark; steps count from 0, so that marks stay the same while the
// picture moves.
export function frameMarks(rows: readonly FrameRow[], from: number, to: number, step: number): FrameMark[] {
	const out: FrameMark[] = [];
	const begin = Math.floor(from / step) * step;
	let bin = NaN;
	for (let i = firstFrom(rows, begin); i < rows.length && rows[i].ts <= to; i++) {
		const here = Math.floor(rows[i].ts / step);
		const mark = out.at(-1);
		if (mark && here === bin) mark.last = i;
		else out.push({ at: rows[i].ts, first: i, last: i });
		bin = here;
	}
	for (const m of out) m.at = (rows[m.first].ts + rows[m.last].ts) / 2;
	return joinClose(rows, out, CLOSE * step).filter((m) => rows[m.last].ts >= from);
}

// Frames that are close may be on both sides of the end of a step: two marks would cover each other.
function joinClose(rows: readonly FrameRow[], marks: FrameMark[], least: number): FrameMark[] {
	const out: FrameMark[] = [];
	let isJoined = false;
	for (const m of marks) {
		const before = out.at(-1);
		if (before && !isJoined && m.at - before.at < least) {
			before.last = m.last;
			before.at = (rows[before.first].ts + rows[before.last].ts) / 2;
			isJoined = true;
		} else {
			out.push(m);
			isJoined = false;
		}
	}
	return out;
}

// "step 36, note 1": the types of some frames, most frequent first.
export function typesText(rows: readonly FrameRow[]): string {
	const counts = new Map<string, number>();
	for (const { frame } of rows) counts.set(frame, (counts.get(frame) ?? 0) + 1);
	return [...counts].sort((a, b) => b[1] - a[1]).map(([type, nr]) => `${type} ${nr}`).join(", ");
}
