// SPDX-License-Identifier: MIT
// lod.ts - how busy each thread was, in levels of detail: a bounded amount of data at any zoom.

import { need, numberOf, DamagedError, type Section } from "./columns.ts";

export interface Level {
	start: number;
	width: number;
	count: number;
	row: number;
}

export class Lod {
	readonly threads: number;
	readonly levels: Level[];
	readonly busy: Uint8Array;
	readonly switches: ArrayLike<number>;
	readonly coro: ArrayLike<number>;

	constructor(s: Section) {
		need("lod", s, ["busy", "switches", "coro"]);
		this.threads = numberOf(s, "threads");
		this.levels = Array.isArray(s.header.levels) ? (s.header.levels as Level[]) : [];
		this.busy = s.columns.busy as Uint8Array;
		this.switches = s.columns.switches;
		this.coro = s.columns.coro;
		for (const l of this.levels) {
			if (!(l.width > 0) || !(l.count >= 0) || !(l.row >= 0) || l.row + this.threads * l.count > s.rows)
				throw new DamagedError("section lod is damaged: a level reaches beyond its end");
		}
	}

	get finest(): Level | null {
		return this.levels[0] ?? null;
	}

	// The finest whose buckets are at least @step wide; null if even the coarsest is finer.
	levelFor(step: number): Level | null {
		for (const l of this.levels) {
			if (l.width >= step) return l;
		}
		return this.levels[this.levels.length - 1] ?? null;
	}

	// The busy share of a bucket, 0 to 1.
	static busyPart(value: number): number {
		return value === 0 ? 0 : Math.max(1 / 254, (value - 1) / 254);
	}
}
