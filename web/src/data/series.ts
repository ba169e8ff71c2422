// SPDX-License-Identifier: MIT
// series.ts - the run in steps of time.

import { need, numberOf, type Section } from "./columns.ts";
import type { SeriesDelta } from "./types.ts";

// In the order of a delta's rows.
export const SERIES = [
	"alive", "running", "suspended", "ready", "alive_mean", "running_mean", "suspended_mean", "ready_mean",
	"events", "births", "ends", "wakes", "lost",
] as const;

export type SeriesName = (typeof SERIES)[number];

export class Series {
	start = 0;
	width = 1;
	end = 0;
	rows = 0;
	c: Record<SeriesName, number[]> = Object.fromEntries(SERIES.map((n) => [n, []])) as unknown as Record<SeriesName, number[]>;

	static fromSection(s: Section): Series {
		const t = new Series();
		need("series", s, ["alive", "events"]);
		t.start = numberOf(s, "start");
		t.width = Math.max(1, numberOf(s, "width", 1));
		t.end = numberOf(s, "end");
		t.rows = s.rows;
		for (const name of SERIES) t.c[name] = Array.from(s.columns[name] ?? new Uint32Array(s.rows)).slice(0, s.rows);
		return t;
	}

	apply(d: SeriesDelta): void {
		this.start = d.start;
		this.width = d.width;
		this.end = d.end;
		this.rows = d.from + d.rows.length;
		SERIES.forEach((name, i) => {
			const column = this.c[name];
			column.length = d.from;
			for (const row of d.rows) column.push(row[i] ?? 0);
		});
	}

	times(): Float64Array {
		return Float64Array.from({ length: this.rows }, (_, i) => this.start + i * this.width);
	}

	// Events per second; the last step ends with the run.
	rates(name: SeriesName): Float64Array {
		return Float64Array.from(this.c[name], (n, i) => {
			const from = this.start + i * this.width;
			const width = i === this.rows - 1 ? Math.max(this.width / 8, Math.min(this.width, this.end - from)) : this.width;
			return (n * 1e9) / width;
		});
	}
}
