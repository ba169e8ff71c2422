// SPDX-License-Identifier: MIT
// slice_cpu.ts - processor time of slices: on a processor, waiting for one, or blocked in the kernel.

import { DamagedError, type Section } from "./columns.ts";
import * as fmt from "../base/format.ts";

// Waits of slice i are those from first[i] to below first[i + 1], in order of time.
export interface BlockCpu {
	queued: ArrayLike<number>;
	blocked: ArrayLike<number>;
	call: ArrayLike<number>;   // 1 + index in calls; 0: not known
	calls: string[];
	first: Uint32Array;
	after: Float64Array;       // ns from the start of the slice
	ns: Float64Array;
	isBlocked: Uint8Array;
}

// Null: context switches were not recorded.
export function readBlockCpu(name: string, s: Section): BlockCpu | null {
	const { queued, blocked, call, waits, wait_after: after, wait_ns: ns } = s.columns;
	if (!queued || !blocked || !call || !waits || !after || !ns) return null;
	const out: BlockCpu = {
		queued, blocked, call, calls: Array.isArray(s.header.calls) ? s.header.calls.map(String) : [],
		first: new Uint32Array(s.rows + 1), after: new Float64Array(ns.length), ns: new Float64Array(ns.length), isBlocked: new Uint8Array(ns.length),
	};
	let i = 0;
	for (let r = 0; r < s.rows; r++) {
		out.first[r] = i;
		if (i + waits[r] > Math.min(ns.length, after.length)) throw new DamagedError(`section ${name} is damaged: it has too few waits`);
		let at = 0;
		for (const end = i + waits[r]; i < end; i++) {
			out.after[i] = at + after[i];
			out.ns[i] = Math.floor(ns[i] / 2);
			out.isBlocked[i] = ns[i] % 2;
			at = out.after[i] + out.ns[i];
		}
	}
	out.first[s.rows] = i;
	return out;
}

// Sums of measured slices; the rest of measured was spent on a processor.
export interface CpuSums {
	measured: number;
	queued: number;
	blocked: number;
}

export const CPU_WORDS = { on: "on a processor", queued: "waited for a processor", blocked: "blocked in the kernel" } as const;

const part = (ns: number, of: number) => `${fmt.duration(ns)}${of > 0 ? ` (${fmt.percent(ns, of)})` : ""}`;

// Lines for tips and tables; @call: the system call of most of the blocked time, or "".
export function cpuPairs(s: CpuSums, call = ""): [string, string][] {
	const on = Math.max(0, s.measured - s.queued - s.blocked);
	return [
		[CPU_WORDS.on, part(on, s.measured)], [CPU_WORDS.queued, part(s.queued, s.measured)],
		[CPU_WORDS.blocked, part(s.blocked, s.measured) + (s.blocked > 0 && call ? `, mostly in ${call}` : "")],
	];
}
