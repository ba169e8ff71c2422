// SPDX-License-Identifier: MIT
// piece_facts.ts - what a piece of a lane is, in words: the first pair is its title.

import * as fmt from "../../base/format.ts";
import { SLICE } from "../../data/coros.ts";
import { cpuPairs } from "../../data/slice_cpu.ts";
import type { Trace } from "../../trace.ts";
import { PIECE, type Pieces } from "../../worker/lanes.ts";
import type { Scene } from "./scene.ts";
import { PIECE_WORDS } from "./sight_table.ts";

// Nothing if context switches were not recorded, or the piece has no single slices.
function cpuFacts(trace: Trace, p: Pieces, i: number): [string, string][] {
	if (!trace.meta.cpu || !p.exact || p.count[i] === 0) return [];
	if (Number.isNaN(p.queued[i])) return [["processor time", "not measured"]];
	return cpuPairs({ measured: (p.x1[i] - p.x0[i]) * p.part[i], queued: p.queued[i], blocked: p.blocked[i] }, p.calls[p.call[i]]);
}

function titleOf(trace: Trace, p: Pieces, i: number): string {
	if (p.type[i] === PIECE.busy) return fmt.plural(p.count[i], "slice");
	const name = trace.titleOfNr(p.coro[i] - 1);
	return p.type[i] === PIECE.omitted ? `${name}: its slices here are not in this file` : `${name} ${PIECE_WORDS[p.type[i]]}`;
}

export function pieceFacts(s: Pick<Scene, "trace" | "pieces">, i: number): [string, string][] {
	const { trace } = s;
	const p = s.pieces!;
	const ref = p.coro[i];
	const out: [string, string][] = [["", titleOf(trace, p, i)], ["from", fmt.stamp(p.x0[i])], ["for", fmt.duration(p.x1[i] - p.x0[i])]];
	if (p.type[i] === PIECE.busy) {
		out.push(["busy", fmt.percent(p.part[i], 1)]);
		if (ref > 0) out.push([p.exact ? "of" : "mostly", trace.titleOfNr(ref - 1)]);
		return [...out, ...cpuFacts(trace, p, i)];
	}
	if (p.type[i] === PIECE.run) out.push(["thread", trace.thread(p.thread[i])], ...cpuFacts(trace, p, i));
	const words = p.type[i] === PIECE.run ? (p.flags[i] & SLICE.ended ? "then ends at" : "then waits at") : "at";
	if (p.flags[i] & SLICE.running) out.push(["then", "still running at the end"]);
	else if (p.site[i] > 0) out.push([words, trace.sitePlace(p.site[i])]);
	if (p.reason[i] > 0) out.push(["why", trace.reason(p.reason[i])]);
	return out;
}
