// SPDX-License-Identifier: MIT
// scene.ts - the data that the timeline draws: lanes, their pieces, their positions on the canvas.

import { Viewport } from "../../base/viewport.ts";
import type { Pieces } from "../../worker/lanes.ts";
import type { Trace } from "../../trace.ts";

export const AXIS = 24;
const LOW = 24;
const HIGH = { thread: 84, coroutine: 34 } as const;

export type Wake = Pieces["wakes"][number];

// The row of a group of coroutines; the lane -2 is that of the first one.
export interface LaneGroup {
	title: string;
	facts: string;             // its sums
	isOpen: boolean;
}

export interface Scene {
	trace: Trace;
	by: "thread" | "coroutine";
	lanes: number[];           // threads by index, or numbers of coroutines; below 0: a group
	groups?: readonly LaneGroup[];
	view: Viewport;
	top: number;               // scroll position of the lanes in pixels
	width: number;
	height: number;
	gutter: number;            // width for names, at the left
	lane: number;              // height of one
	pieces: Pieces | null;
	laneAt: Map<number, number>;       // from a thread or coroutine to its index in pieces
	selectedLane: number;
	selectedCoro: number;      // 1 + number; 0: none
	hovered: number;           // piece; -1: none
	arrows: boolean;
	chosenWake: Wake | null;
	at: number;                // the chosen moment; NaN: none
	chosen: ReadonlySet<number> | null; // 1 + numbers of the selected coroutines; null: all
}

// Few lanes share the height, many scroll.
export function laneHeight(s: Scene): number {
	return Math.max(LOW, Math.min(HIGH[s.by], Math.floor((s.height - AXIS) / Math.max(1, s.lanes.length))));
}

export function timeWidth(s: Scene): number {
	return Math.max(40, s.width - s.gutter - 6);
}

export function xOf(s: Scene, t: number): number {
	return s.gutter + ((t - s.view.from) / s.view.span) * timeWidth(s);
}

export function timeOf(s: Scene, x: number): number {
	return s.view.from + ((x - s.gutter) / timeWidth(s)) * s.view.span;
}

export function laneY(s: Scene, lane: number): number {
	return AXIS + lane * s.lane - s.top;
}

export function laneOfY(s: Scene, y: number): number {
	const lane = Math.floor((y - AXIS + s.top) / s.lane);
	return y >= AXIS && lane >= 0 && lane < s.lanes.length ? lane : -1;
}

export function visibleLanes(s: Scene): { first: number; last: number } {
	const first = Math.max(0, Math.floor(s.top / s.lane));
	return { first, last: Math.min(s.lanes.length, Math.ceil((s.top + s.height - AXIS) / s.lane)) };
}

export function maxTop(s: Scene): number {
	return Math.max(0, s.lanes.length * s.lane - (s.height - AXIS));
}

// The range of pieces of a lane of the scene; empty if they have not arrived.
export function laneRange(s: Scene, lane: number): { begin: number; end: number } {
	const at = s.laneAt.get(s.lanes[lane]);
	if (!s.pieces || at === undefined) return { begin: 0, end: 0 };
	return { begin: s.pieces.first[at], end: s.pieces.first[at + 1] };
}

// The first piece of the range that ends after @t.
export function firstBehind(p: Pieces, range: { begin: number; end: number }, t: number): number {
	let [lo, hi] = [range.begin, range.end];
	while (lo < hi) {
		const mid = (lo + hi) >> 1;
		if (p.x1[mid] <= t) lo = mid + 1;
		else hi = mid;
	}
	return lo;
}

// The piece under the pointer, within two pixels; of several the shortest.
export function pieceAt(s: Scene, x: number, y: number): number {
	const lane = laneOfY(s, y);
	if (lane < 0 || !s.pieces || x < s.gutter) return -1;
	const range = laneRange(s, lane);
	const slack = (2 * s.view.span) / timeWidth(s);
	const t = timeOf(s, x);
	let best = -1;
	for (let i = firstBehind(s.pieces, range, t - slack); i < range.end && s.pieces.x0[i] <= t + slack; i++) {
		if (best < 0 || s.pieces.x1[i] - s.pieces.x0[i] < s.pieces.x1[best] - s.pieces.x0[best]) best = i;
	}
	return best;
}

export function groupOf(s: Scene, lane: number): LaneGroup | null {
	return s.lanes[lane] < 0 ? (s.groups?.[-2 - s.lanes[lane]] ?? null) : null;
}

export function laneTitle(s: Scene, lane: number): string {
	const group = groupOf(s, lane);
	if (group) return group.title;
	return s.by === "thread" ? `thread ${s.trace.thread(s.lanes[lane])}` : s.trace.titleOfNr(s.lanes[lane]);
}

// Coroutines of a kind share a colour; without kinds, each has its own.
export function colourIndex(trace: Trace, ref: number): number {
	const row = ref > 0 ? trace.coros.rowOf(ref - 1) : -1;
	if (row < 0) return 7;
	const kind = trace.coros.c.kind[row];
	return (kind > 0 ? kind - 1 : trace.coros.c.nr[row]) % 7;
}
