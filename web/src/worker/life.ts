// SPDX-License-Identifier: MIT
// life.ts - one coroutine: all its slices, from the blocks that may hold some.

import type { Block, BlockIndex } from "../data/blocks.ts";
import { SLICE } from "../data/coros.ts";
import type { Store } from "./store.ts";

export interface Life {
	nr: number;
	rows: number;
	start: Float64Array;
	dur: Float64Array;
	thread: Uint32Array;
	flags: Uint8Array;
	site: Uint32Array;
	reason: Uint8Array;
	resLo: Uint32Array;
	resHi: Uint32Array;
	wake: Float64Array;        // ns from the wake to the start; NaN: not recorded
	waker: Uint32Array;        // 1 + number
	wakeThread: Uint32Array;   // 1 + index
	n: Uint32Array;            // index among its slices; a jump: some are omitted
	queued: Float64Array;      // ns without a processor, ready; NaN: not measured
	blocked: Float64Array;     // ns in the kernel
	thinned: boolean;          // a block that may hold its slices is incomplete
	truncated: boolean;        // it has more slices than fit
}

const MOST = 400_000;

interface Hit {
	block: Block;
	rows: number[];
}

function collect(hits: Hit[], nr: number, total: number): Life {
	const life: Life = {
		nr, rows: total, start: new Float64Array(total), dur: new Float64Array(total), thread: new Uint32Array(total),
		flags: new Uint8Array(total), site: new Uint32Array(total), reason: new Uint8Array(total),
		resLo: new Uint32Array(total), resHi: new Uint32Array(total), wake: new Float64Array(total),
		waker: new Uint32Array(total), wakeThread: new Uint32Array(total), n: new Uint32Array(total),
		queued: new Float64Array(total), blocked: new Float64Array(total), thinned: false, truncated: false,
	};
	let i = 0;
	for (const { block: b, rows } of hits) {
		for (const r of rows) {
			life.start[i] = b.start[r];
			life.dur[i] = b.dur[r];
			life.thread[i] = b.thread[r];
			life.flags[i] = b.flags[r];
			life.site[i] = b.site[r];
			life.reason[i] = b.reason[r];
			life.resLo[i] = b.resLo[r];
			life.resHi[i] = b.resHi[r];
			life.wake[i] = b.wake[r] > 0 ? b.wake[r] - 1 : NaN;
			life.waker[i] = b.waker[r];
			life.wakeThread[i] = b.wakeThread[r];
			life.n[i] = b.n ? b.n[r] : i;
			life.queued[i] = b.cpu && b.flags[r] & SLICE.measured ? b.cpu.queued[r] : NaN;
			life.blocked[i] = b.cpu && b.flags[r] & SLICE.measured ? b.cpu.blocked[r] : NaN;
			i++;
		}
	}
	return life;
}

function isThinned(index: BlockIndex): boolean {
	for (let b = 0; b < index.rows; b++) if (index.nr[b] < index.of[b]) return true;
	return false;
}

// Nothing is omitted between slice @i and the one before it (or the beginning).
export function isNext(life: Life, i: number): boolean {
	return i === 0 ? life.n[0] === 0 : life.n[i] === life.n[i - 1] + 1;
}

export async function lifeOf(store: Store, nr: number, progress: (done: number, of: number) => void): Promise<Life> {
	const index = await store.index();
	const blocks = index.withCoro(nr);
	const hits: Hit[] = [];
	let total = 0;
	for (let i = 0; i < blocks.length && total < MOST; i++) {
		const block = await store.block(blocks[i]);
		const rows: number[] = [];
		for (let r = 0; r < block.rows; r++) if (block.coro[r] === nr) rows.push(r);
		if (rows.length > 0) hits.push({ block, rows });
		total += rows.length;
		progress(i + 1, blocks.length);
	}
	const life = collect(hits, nr, total);
	life.thinned = isThinned(index);
	life.truncated = total >= MOST;
	return life;
}

export interface Wakee {
	nr: number;
	count: number;
	last: number;
}

// The coroutines that it woke: any block may hold such a wake.
export async function wakeesOf(store: Store, nr: number, progress: (done: number, of: number) => void): Promise<Wakee[]> {
	const index = await store.index();
	const found = new Map<number, Wakee>();
	for (let b = 0; b < index.rows; b++) {
		if (index.nr[b] === 0) continue;
		const block = await store.block(b);
		for (let r = 0; r < block.rows; r++) {
			if (block.waker[r] !== nr + 1) continue;
			const at = block.start[r] - (block.wake[r] > 0 ? block.wake[r] - 1 : 0);
			const w = found.get(block.coro[r]) ?? { nr: block.coro[r], count: 0, last: at };
			w.count++;
			w.last = Math.max(w.last, at);
			found.set(block.coro[r], w);
		}
		progress(b + 1, index.rows);
	}
	return [...found.values()].sort((a, b) => b.count - a.count || a.nr - b.nr);
}
