// SPDX-License-Identifier: MIT
// path.ts - the critical path to a moment of a coroutine: what had to happen before, backwards from wake to waker.

import { SLICE } from "../data/coros.ts";
import { isNext, lifeOf, type Life } from "./life.ts";
import type { Store } from "./store.ts";

export type PathState = "running" | "ready" | "waiting" | "not known";

export interface PathStep {
	nr: number;                // the coroutine
	state: PathState;
	from: number;
	to: number;
	site: number;              // where it waits, or where its slice ends; 0: not known
	reason: number;
	woken: boolean;            // ready: by the coroutine of the step before it
}

export interface Path {
	steps: PathStep[];         // newest first, without gaps: each ends where the next one begins
	cut: boolean;              // there is more before it
}

const STEPS_MOST = 400;
const LIVES_MOST = 64;

class Lives {
	private readonly store: Store;
	private readonly known = new Map<number, Life>();
	private readonly progress: (done: number, of: number) => void;

	constructor(store: Store, progress: (done: number, of: number) => void) {
		this.store = store;
		this.progress = progress;
	}

	// null: too many coroutines.
	async of(nr: number): Promise<Life | null> {
		const known = this.known.get(nr);
		if (known) return known;
		if (this.known.size >= LIVES_MOST) return null;
		const life = await lifeOf(this.store, nr, () => {});
		this.known.set(nr, life);
		this.progress(this.known.size, LIVES_MOST);
		return life;
	}
}

// The last slice that began before @at; -1: none.
function sliceBefore(life: Life, at: number): number {
	let [low, high] = [0, life.rows];
	while (low < high) {
		const mid = (low + high) >> 1;
		if (life.start[mid] < at) low = mid + 1;
		else high = mid;
	}
	return low - 1;
}

interface Walk {
	steps: PathStep[];
	nr: number;
	at: number;
}

function addStep(w: Walk, state: PathState, from: number, site: number, reason: number, woken = false): void {
	if (w.at > from) w.steps.push({ nr: w.nr, state, from, to: w.at, site, reason, woken });
	w.at = Math.min(w.at, from);
}

// Before slice @i: ready since its wake; then on with the waker, or with its own slice before.
function walkWake(w: Walk, life: Life, i: number): void {
	const start = life.start[i];
	const hasWake = !Number.isNaN(life.wake[i]);
	const isKnown = i > 0 && isNext(life, i);
	const [site, reason] = isKnown ? [life.site[i - 1], life.reason[i - 1]] : [0, 0];
	if (hasWake) {
		const byOther = life.waker[i] > 0 && life.waker[i] !== w.nr + 1;
		addStep(w, "ready", start - life.wake[i], site, reason, byOther);
		if (byOther) {
			w.nr = life.waker[i] - 1;
			return;
		}
	}
	if (i > 0) addStep(w, isKnown ? "waiting" : "not known", life.start[i - 1] + life.dur[i - 1], site, reason);
}

// One step back; false: the beginning.
function walkBack(w: Walk, life: Life): boolean {
	const i = sliceBefore(life, w.at);
	if (i < 0) return false;
	const end = life.start[i] + life.dur[i];
	// A waker that waits at that time was woken meanwhile, or its slices are not in the file.
	if (end < w.at) addStep(w, life.thinned || life.truncated ? "not known" : "waiting", end, life.site[i], life.reason[i]);
	if (!(life.flags[i] & SLICE.headless)) addStep(w, "running", life.start[i], life.site[i], life.reason[i]);
	walkWake(w, life, i);
	return w.at > 0;
}

export async function pathTo(store: Store, nr: number, at: number, progress: (done: number, of: number) => void): Promise<Path> {
	const lives = new Lives(store, progress);
	const w: Walk = { steps: [], nr, at };
	while (w.steps.length < STEPS_MOST) {
		const [before, who] = [w.at, w.nr];
		const life = await lives.of(w.nr);
		if (!life) return { steps: w.steps, cut: true };
		if (!walkBack(w, life)) return { steps: w.steps, cut: false };
		if (w.at >= before && w.nr === who) return { steps: w.steps, cut: false }; // a damaged file must not keep it here
	}
	return { steps: w.steps, cut: true };
}
