// SPDX-License-Identifier: MIT
// piece_choice.ts - what is chosen on the timeline: a piece that is drawn, or a coroutine at a time whose slice is
// narrower than a pixel. The details are those of the slice in both cases.

import type { Params } from "../../base/route.ts";
import { PIECE, type LaneRequest, type Pieces } from "../../worker/lanes.ts";
import type { Context } from "../view.ts";
import type { FrameLayer } from "./frame_layer.ts";
import { pieceFacts } from "./piece_facts.ts";
import { firstBehind, laneRange, visibleLanes, type Scene } from "./scene.ts";
import type { WakeFollower } from "./wake_follow.ts";

export interface ChoiceHost {
	keep(change: Params): void; // in the address, without a new search for lanes
	tell(facts: [string, string][], id: string, more: HTMLElement | null): void;
	moved(): void;             // another part of the run is visible
}

interface CoroTime {
	ref: number;               // 1 + number
	at: number;
}

const MAX_BLOCKS = 24;
const FURTHER_LANES = 8;       // above and below those in sight, which have pieces as well

// The piece of one coroutine at a time: a run before a wait, since an end of a wake is a slice. -1: none.
function pieceOf(p: Pieces, range: { begin: number; end: number }, { ref, at }: CoroTime): number {
	let best = -1;
	for (let i = firstBehind(p, range, at - 1); i < range.end && p.x0[i] <= at; i++) {
		if (p.coro[i] === ref && p.type[i] !== PIECE.busy && p.x1[i] >= at && (best < 0 || p.type[i] === PIECE.run)) best = i;
	}
	return best;
}

export class PieceChoice {
	piece = -1;                // in the pieces of the scene; -1: none
	private exact: CoroTime | null = null;   // chosen and told, without a piece of its own
	private pending: CoroTime | null = null; // to be chosen when pieces arrive
	private readonly ctx: Context;
	private readonly s: Scene;
	private readonly frames: FrameLayer;
	private readonly wakes: WakeFollower;
	private readonly host: ChoiceHost;

	constructor(ctx: Context, scene: Scene, frames: FrameLayer, wakes: WakeFollower, host: ChoiceHost) {
		[this.ctx, this.s, this.frames, this.wakes, this.host] = [ctx, scene, frames, wakes, host];
	}

	get isEmpty(): boolean {
		return this.piece < 0 && !this.exact;
	}

	clear(): void {
		[this.piece, this.exact] = [-1, null];
	}

	// 1 + number of the chosen coroutine; 0: none, or several.
	get coro(): number {
		return this.piece >= 0 ? this.s.pieces!.coro[this.piece] : (this.exact?.ref ?? 0);
	}

	isRun(piece: number): boolean {
		const type = piece >= 0 ? this.s.pieces!.type[piece] : -1;
		return type === PIECE.run || type === PIECE.busy;
	}

	// The coroutine and the moment of the address; NaN: none.
	name(ref: number, at: number): void {
		this.clear();
		this.pending = ref > 0 && !Number.isNaN(at) ? { ref, at } : null;
	}

	// @isNew: the address gets it.
	choose(piece: number, isNew = true): void {
		const s = this.s;
		const p = s.pieces!;
		this.clear();
		this.piece = piece;
		const id = this.idOf(p.coro[piece]);
		// A wait is meant by its middle: it begins where a slice ends.
		const at = this.isRun(piece) ? p.x0[piece] : Math.floor((p.x0[piece] + p.x1[piece]) / 2);
		if (isNew) this.keep(id, id !== "" && p.exact ? at : NaN);
		this.show(s, piece);
	}

	private idOf(ref: number): string {
		const { coros } = this.ctx.trace;
		const row = ref > 0 ? coros.rowOf(ref - 1) : -1;
		return row >= 0 ? coros.id(row) : "";
	}

	// In the address and in the selection of all views.
	keep(id: string, at: number): void {
		this.s.at = at;
		this.pending = null;
		this.host.keep({ sel: id, at: Number.isNaN(at) ? "" : String(Math.round(at)) });
	}

	private show(from: Pick<Scene, "trace" | "pieces">, piece: number): void {
		const s = this.s;
		const p = from.pieces!;
		this.frames.chosen = null;
		s.chosenWake = null;
		s.selectedCoro = p.coro[piece];
		const id = this.idOf(p.coro[piece]);
		this.host.tell(pieceFacts(from, piece), id, id !== "" && p.exact && p.type[piece] !== PIECE.busy ? this.wakes.links(p.coro[piece] - 1, s.at) : null);
	}

	// ---- other pieces ----

	// @pieces become those of the scene: the choice holds for them as well.
	take(pieces: Pieces): void {
		const s = this.s;
		const before = this.laneAndStart();
		const was = this.piece >= 0 && this.coro > 0 && !Number.isNaN(s.at) ? { ref: this.coro, at: s.at } : null;
		s.pieces = pieces;
		s.hovered = -1;
		s.laneAt = new Map(pieces.request.lanes.map((key, i) => [key, i]));
		this.piece = before ? this.findAgain(before) : -1;
		if (was && this.piece < 0) this.exact = was; // too narrow now, or not in sight: its details stay
		const wanted = this.pending ?? this.exact;
		if (!wanted || this.chooseDrawn(wanted) || !this.pending || wanted.at < pieces.request.from || wanted.at > pieces.request.to) return;
		[this.pending, this.exact] = [null, wanted];
		this.showExact(wanted).catch((e: Error) => this.host.tell([["", `The slice cannot be read: ${e.message}`]], "", null));
	}

	// False: no piece in or near sight is of this coroutine alone.
	private chooseDrawn(wanted: CoroTime): boolean {
		const s = this.s;
		const { first, last } = visibleLanes(s);
		for (let lane = Math.max(0, first - FURTHER_LANES); lane < Math.min(s.lanes.length, last + FURTHER_LANES); lane++) {
			const piece = s.pieces!.exact ? pieceOf(s.pieces!, laneRange(s, lane), wanted) : -1;
			if (piece < 0) continue;
			this.pending = null;
			s.selectedLane = lane;
			this.choose(piece, false);
			return true;
		}
		return false;
	}

	// The lane of the coroutine alone, at that time and without pixels.
	private async showExact(wanted: CoroTime): Promise<void> {
		const { trace } = this.ctx;
		const request: LaneRequest = { by: "coroutine", lanes: [wanted.ref - 1], from: wanted.at - 1, to: wanted.at + 1, step: 0, maxBlocks: MAX_BLOCKS };
		const pieces = await trace.engine.call<Pieces>("lanes", [request]);
		const piece = pieceOf(pieces, { begin: 0, end: pieces.first[1] }, wanted);
		if (piece < 0 || this.exact !== wanted) return;
		const lane = this.s.by === "thread" && pieces.type[piece] === PIECE.run ? this.s.lanes.indexOf(pieces.thread[piece]) : -1;
		if (lane >= 0) this.s.selectedLane = lane;
		this.show({ trace, pieces }, piece);
	}

	// The choice, in a form that also holds for the next pieces.
	private laneAndStart(): { lane: number; x0: number; type: number } | null {
		const { pieces, lanes, laneAt } = this.s;
		const i = this.piece;
		if (!pieces || i < 0) return null;
		const lane = lanes.find((key) => {
			const at = laneAt.get(key);
			return at !== undefined && i >= pieces.first[at] && i < pieces.first[at + 1];
		});
		return lane === undefined ? null : { lane, x0: pieces.x0[i], type: pieces.type[i] };
	}

	private findAgain(before: { lane: number; x0: number; type: number }): number {
		const p = this.s.pieces!;
		const at = this.s.laneAt.get(before.lane);
		if (at === undefined) return -1;
		const i = firstBehind(p, { begin: p.first[at], end: p.first[at + 1] }, before.x0);
		return i < p.first[at + 1] && p.x0[i] === before.x0 && p.type[i] === before.type ? i : -1;
	}

	// To the next piece of the lane, which is scrolled into view.
	step(by: number): boolean {
		const s = this.s;
		if (!s.pieces || s.lanes.length === 0) return true;
		if (s.selectedLane < 0) s.selectedLane = visibleLanes(s).first;
		const range = laneRange(s, s.selectedLane);
		const next = this.piece >= range.begin && this.piece < range.end
			? this.piece + by : firstBehind(s.pieces, range, by > 0 ? s.view.from : s.view.to) - (by > 0 ? 0 : 1);
		if (next < range.begin || next >= range.end) return true;
		this.choose(next);
		const [x0, x1] = [s.pieces.x0[next], s.pieces.x1[next]];
		if (x1 < s.view.from || x0 > s.view.to || (x0 < s.view.from && x1 - x0 < s.view.span)) {
			s.view.set(x0 - s.view.span / 2, x0 + s.view.span / 2);
			this.host.moved();
		}
		return true;
	}
}
