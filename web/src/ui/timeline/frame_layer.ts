// SPDX-License-Identifier: MIT
// frame_layer.ts - marks for frames on the lanes of the timeline, with their facts.

import * as fmt from "../../base/format.ts";
import { visible } from "../../base/place.ts";
import { frameMarks, indexFrames, typesText, type FrameIndex, type FrameMark } from "../../data/frame_marks.ts";
import { fieldPairs, noFrames, type FrameRow, type Frames } from "../../data/frames.ts";
import { FONT, type Palette } from "../canvas.ts";
import { AXIS, laneOfY, laneY, timeWidth, visibleLanes, xOf, type Scene } from "./scene.ts";

const STEP = 22;        // pixels of a mark; frames within are one mark
const SINGLE = 5;       // half of the width of the mark of one frame
const HEIGHT = 11;
const MOST_FIELDS = 12; // in a tip
const EVERY = 1000;     // ms

type Ctx = CanvasRenderingContext2D;

// A mark under the pointer: these frames of the lane.
export interface FrameHit {
	lane: number;
	rows: FrameRow[];
}

export class FrameLayer {
	on = true;
	chosen: FrameHit | null = null;
	private index: FrameIndex = indexFrames(noFrames);
	private waits = false;

	get isEmpty(): boolean {
		return this.index.kept === 0;
	}

	// Read the frames if the trace has others than those here; of a running program at most once per EVERY.
	refresh(s: Scene, done: () => void): void {
		const { frames } = s.trace.meta;
		if (this.waits || !frames || frames.of === this.index.of) return;
		this.waits = true;
		s.trace.engine.call<Frames>("reload", ["frames"]).then((all) => {
			this.index = indexFrames(all);
			done();
		}, () => {}); // the server has ended: the marks that are here stay
		setTimeout(() => {
			this.waits = false;
			this.refresh(s, done);
		}, EVERY);
	}

	private rowsOf(s: Scene, lane: number): readonly FrameRow[] {
		const key = s.lanes[lane];
		if (s.by === "thread") return this.index.byThread.get(String(s.trace.meta.threads[key]?.tid)) ?? [];
		const row = s.trace.coros.rowOf(key);
		return row >= 0 ? (this.index.byCoro.get(s.trace.coros.id(row)) ?? []) : [];
	}

	private marksOf(s: Scene, lane: number): { rows: readonly FrameRow[]; marks: FrameMark[] } {
		const rows = this.rowsOf(s, lane);
		const step = (STEP * s.view.span) / timeWidth(s);
		return { rows, marks: this.on && rows.length > 0 ? frameMarks(rows, s.view.from, s.view.to, step) : [] };
	}

	draw(ctx: Ctx, s: Scene, p: Palette): void {
		if (!this.on || this.isEmpty) return;
		ctx.save();
		ctx.beginPath();
		ctx.rect(s.gutter, AXIS, timeWidth(s), s.height - AXIS);
		ctx.clip();
		ctx.font = FONT;
		ctx.textAlign = "center";
		ctx.textBaseline = "middle";
		const { first, last } = visibleLanes(s);
		for (let lane = first; lane < last; lane++) {
			const { rows, marks } = this.marksOf(s, lane);
			for (const m of marks) {
				const isChosen = this.chosen?.rows[0] === rows[m.first] && this.chosen.rows.length === m.last - m.first + 1;
				drawFrameMark(ctx, p, xOf(s, m.at), laneY(s, lane) + 1, m.last - m.first + 1, isChosen);
			}
		}
		ctx.textAlign = "left";
		ctx.restore();
	}

	// The mark under the pointer, or null.
	at(s: Scene, x: number, y: number): FrameHit | null {
		const lane = laneOfY(s, y);
		if (lane < 0 || x < s.gutter || y > laneY(s, lane) + HEIGHT + 2) return null;
		const { rows, marks } = this.marksOf(s, lane);
		const mark = marks.find((m) => Math.abs(xOf(s, m.at) - x) <= markWidth(m.last - m.first + 1) / 2 + 1);
		return mark ? { lane, rows: rows.slice(mark.first, mark.last + 1) } : null;
	}

	// The next or previous mark of a lane, from the chosen one or from the edge of the picture.
	next(s: Scene, lane: number, by: number): FrameHit | null {
		const { rows, marks } = this.marksOf(s, lane);
		const now = this.chosen?.lane === lane ? marks.findIndex((m) => rows[m.first] === this.chosen!.rows[0]) : -1;
		const mark = marks[now < 0 ? (by > 0 ? 0 : marks.length - 1) : now + by];
		return mark ? { lane, rows: rows.slice(mark.first, mark.last + 1) } : null;
	}

	facts(s: Scene, { rows }: FrameHit): [string, string][] {
		const [first, last] = [rows[0], rows[rows.length - 1]];
		const ids = new Set(rows.map((f) => f.id));
		const buffers = [...new Set(rows.map((f) => f.buffer))].map(visible).join(", ");
		const out: [string, string][] = rows.length === 1
			? [["", `frame ${visible(first.frame)}`], ["at", fmt.stamp(first.ts)]]
			: [["", fmt.plural(rows.length, "frame")], ["from", fmt.stamp(first.ts)], ["for", fmt.duration(last.ts - first.ts)],
				["types", visible(typesText(rows))]];
		out.push(["buffer", buffers], ["saved by", ids.size > 1 ? fmt.plural(ids.size, "coroutine") : this.owner(s, first)]);
		if (new Set(rows.map((f) => f.tid)).size === 1) out.push(["thread", String(first.tid)]);
		if (rows.length === 1) out.push(...frameFields(first));
		if (this.index.kept < this.index.of) out.push(["of the run", `${fmt.count(this.index.kept)} of ${fmt.count(this.index.of)} frames are here, evenly spread`]);
		return out;
	}

	private owner(s: Scene, f: FrameRow): string {
		const row = f.id === "" ? -1 : s.trace.coros.rowOfId(f.id);
		return f.id === "" ? "no coroutine" : row >= 0 ? s.trace.title(row) : `#${f.id}`;
	}
}

function frameFields(f: FrameRow): [string, string][] {
	const pairs = fieldPairs(f.fields);
	if (!pairs) return [["fields", visible(f.fields)]];
	const shown = pairs.slice(0, MOST_FIELDS).map(([k, v]): [string, string] => [visible(k), visible(v)]);
	return pairs.length > MOST_FIELDS ? [...shown, ["and", fmt.plural(pairs.length - MOST_FIELDS, "more field")]] : shown;
}

function markWidth(nr: number): number {
	return nr === 1 ? 2 * SINGLE : nr < 10 ? 12 : nr < 100 ? 17 : nr < 1000 ? STEP : STEP + 8;
}

// One frame is a flag that points at its time; several are a box with their number.
function drawFrameMark(ctx: Ctx, p: Palette, x: number, y: number, nr: number, isChosen: boolean): void {
	ctx.fillStyle = p.text; // differs from all colours of kinds
	ctx.strokeStyle = isChosen ? p.alarm : p.surface;
	ctx.lineWidth = isChosen ? 2 : 1;
	ctx.beginPath();
	if (nr === 1) {
		ctx.moveTo(x - SINGLE, y);
		ctx.lineTo(x + SINGLE, y);
		ctx.lineTo(x, y + HEIGHT - 2);
		ctx.closePath();
	} else {
		const width = markWidth(nr) - 1;
		ctx.roundRect(x - width / 2, y, width, HEIGHT, 3);
	}
	ctx.fill();
	ctx.stroke();
	if (nr === 1) return;
	ctx.fillStyle = p.surface;
	ctx.fillText(nr < 1000 ? String(nr) : fmt.short(nr), x, y + HEIGHT / 2 + 0.5);
}
