// SPDX-License-Identifier: MIT
// sight_table.ts - what the timeline shows, as a table and as CSV: for screen readers, and for other programs.

import { h } from "../../base/dom.ts";
import * as fmt from "../../base/format.ts";
import { coroHref } from "../../base/route.ts";
import type { Trace } from "../../trace.ts";
import { plainTable } from "../parts.ts";
import type { Sheet } from "../save.ts";
import { firstBehind, laneRange, laneTitle, visibleLanes, type Scene } from "./scene.ts";

// By PIECE.
export const PIECE_WORDS = ["running", "suspended", "ready", "busy", "not in this file"] as const;
const TABLE_ROWS = 200;

function inSight(s: Scene): { lane: number; piece: number }[] {
	const out: { lane: number; piece: number }[] = [];
	if (!s.pieces || s.pieces.request.by !== s.by) return out;
	const { first, last } = visibleLanes(s);
	for (let lane = first; lane < last; lane++) {
		const range = laneRange(s, lane);
		for (let i = firstBehind(s.pieces, range, s.view.from); i < range.end && s.pieces.x0[i] <= s.view.to; i++) out.push({ lane, piece: i });
	}
	return out;
}

function coroCell(trace: Trace, ref: number): Node | string {
	const row = ref > 0 ? trace.coros.rowOf(ref - 1) : -1;
	return row >= 0 ? h("a", { href: coroHref(trace.coros.id(row)) }, trace.title(row)) : "several";
}

export function sightTable(s: Scene): Node[] {
	const { trace } = s;
	const p = s.pieces;
	const all = inSight(s);
	if (!p || all.length === 0) return [h("p", { class: "muted" }, "Nothing is in sight.")];
	const table = plainTable("What is in sight", [
		{ label: "Lane", show: (r) => laneTitle(s, r.lane) },
		{ label: "What", show: (r) => PIECE_WORDS[p.type[r.piece]] },
		{ label: "Coroutine", show: (r) => coroCell(trace, p.coro[r.piece]) },
		{ label: "From", end: true, show: (r) => fmt.stamp(p.x0[r.piece]) },
		{ label: "For", end: true, show: (r) => fmt.duration(p.x1[r.piece] - p.x0[r.piece]) },
		{ label: "Slices", end: true, show: (r) => fmt.count(p.count[r.piece]) },
		{ label: "Place", class: "clip mono", show: (r) => trace.siteText(p.site[r.piece]) },
	], all.slice(0, TABLE_ROWS));
	return all.length > TABLE_ROWS ? [h("p", { class: "muted" }, `The first ${TABLE_ROWS} of ${fmt.count(all.length)}; zoom in, or save them all as CSV.`), table] : [table];
}

export function sightSheet(s: Scene): Sheet {
	const { trace } = s;
	const p = s.pieces;
	return {
		name: "timeline",
		head: ["lane", "what", "coroutine_id", "coroutine", "from_ns", "duration_ns", "slices", "busy", "place", "reason", "queued_ns", "blocked_ns"],
		rows: inSight(s).map(({ lane, piece: i }) => {
			const row = p!.coro[i] > 0 ? trace.coros.rowOf(p!.coro[i] - 1) : -1;
			return [laneTitle(s, lane), PIECE_WORDS[p!.type[i]], row >= 0 ? trace.coros.id(row) : null, row >= 0 ? trace.name(row) : null,
				p!.x0[i], p!.x1[i] - p!.x0[i], p!.count[i], Number(p!.part[i].toFixed(3)), trace.siteText(p!.site[i]), trace.reason(p!.reason[i]),
				Number.isNaN(p!.queued[i]) ? null : p!.queued[i], Number.isNaN(p!.blocked[i]) ? null : p!.blocked[i]];
		}),
	};
}
