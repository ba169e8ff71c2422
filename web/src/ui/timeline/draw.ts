// SPDX-License-Identifier: MIT
// draw.ts - the timeline's canvas, one frame at a time.

import * as fmt from "../../base/format.ts";
import { drawAxis, fitText, FONT, type Palette } from "../canvas.ts";
import { PIECE } from "../../worker/lanes.ts";
import { drawGroupRow } from "./group_rows.ts";
import { AXIS, colourIndex, firstBehind, laneRange, laneTitle, laneY, timeWidth, visibleLanes, xOf, type Scene } from "./scene.ts";
import { drawMoment, drawWakes } from "./wake_layer.ts";

const FEW = 8; // most slices of a piece that is still drawn in a coroutine's colour

type Ctx = CanvasRenderingContext2D;

export function drawScene(ctx: Ctx, s: Scene, p: Palette): void {
	ctx.fillStyle = p.surface;
	ctx.fillRect(0, 0, s.width, s.height);
	drawStripes(ctx, s, p);
	drawAxis(ctx, s.view, { x: s.gutter, y: AXIS, width: timeWidth(s), height: s.height - AXIS }, p, "top");
	ctx.save();
	ctx.beginPath();
	ctx.rect(s.gutter, AXIS, timeWidth(s), s.height - AXIS);
	ctx.clip();
	const { first, last } = visibleLanes(s);
	for (let lane = first; lane < last; lane++) {
		if (s.lanes[lane] < 0) {
			drawGroupRow(ctx, s, p, lane);
			continue;
		}
		if (s.by === "coroutine") drawLifeLine(ctx, s, p, lane);
		drawLane(ctx, s, p, lane);
	}
	drawWakes(ctx, s, p);
	drawMoment(ctx, s, p);
	drawEnd(ctx, s, p);
	ctx.restore();
	drawGutter(ctx, s, p);
}

function drawStripes(ctx: Ctx, s: Scene, p: Palette): void {
	const { first, last } = visibleLanes(s);
	for (let lane = first; lane < last; lane++) {
		const y = laneY(s, lane);
		if (lane === s.selectedLane) {
			ctx.fillStyle = p.selected;
			ctx.fillRect(0, y, s.width, s.lane);
		}
		ctx.fillStyle = p.line;
		ctx.fillRect(0, y + s.lane - 1, s.width, 1);
	}
}

// Names, drawn over the rest.
function drawGutter(ctx: Ctx, s: Scene, p: Palette): void {
	const { first, last } = visibleLanes(s);
	ctx.fillStyle = p.surface;
	ctx.fillRect(0, 0, s.gutter, AXIS);
	ctx.font = FONT;
	ctx.textBaseline = "middle";
	ctx.fillStyle = p.muted;
	ctx.fillText(fitText(ctx, rangeText(s), s.gutter - 16), 10, AXIS / 2);
	for (let lane = first; lane < last; lane++) {
		const y = laneY(s, lane);
		ctx.fillStyle = lane === s.selectedLane ? p.selected : p.surface;
		ctx.fillRect(0, Math.max(AXIS, y), s.gutter, s.lane - 1);
	}
	ctx.save();
	ctx.beginPath();
	ctx.rect(0, AXIS, s.gutter, s.height - AXIS);
	ctx.clip();
	for (let lane = first; lane < last; lane++) {
		const y = laneY(s, lane) + s.lane / 2;
		const marked = s.by === "coroutine" && hasFinding(s, s.lanes[lane]);
		ctx.fillStyle = p.text;
		ctx.fillText(fitText(ctx, laneTitle(s, lane), s.gutter - (marked ? 32 : 18)), 10, y);
		if (marked) drawMark(ctx, s.gutter - 14, y, p);
	}
	ctx.restore();
	ctx.fillStyle = p.lineStrong;
	ctx.fillRect(s.gutter - 1, 0, 1, s.height);
	ctx.fillRect(0, AXIS - 1, s.width, 1);
}

// The begin of the picture, and its length; in a narrow window only the latter.
function rangeText(s: Scene): string {
	if (s.view.isWhole) return fmt.duration(s.trace.now);
	const step = 10 ** Math.floor(Math.log10(s.view.span / 100));
	return (s.gutter < 150 ? "" : `${fmt.offset(s.view.from, step)} + `) + fmt.duration(s.view.span);
}

function hasFinding(s: Scene, nr: number): boolean {
	const row = s.trace.coros.rowOf(nr);
	return row >= 0 && s.trace.coros.c.findings[row] !== 0;
}

function drawMark(ctx: Ctx, x: number, y: number, p: Palette): void {
	ctx.fillStyle = p.alarm;
	ctx.beginPath();
	ctx.moveTo(x, y - 4);
	ctx.lineTo(x + 4.5, y + 4);
	ctx.lineTo(x - 4.5, y + 4);
	ctx.fill();
}

// From creation to end, under the details.
function drawLifeLine(ctx: Ctx, s: Scene, p: Palette, lane: number): void {
	const { coros, now } = s.trace;
	const row = coros.rowOf(s.lanes[lane]);
	if (row < 0) return;
	const c = coros.c;
	const born = Number.isNaN(c.birth[row]) ? c.first[row] : c.birth[row];
	const over = c.state[row] >= 5;
	const end = over && !Number.isNaN(c.end[row]) ? c.end[row] : now;
	const x0 = Math.max(s.gutter - 5, xOf(s, born));
	const x1 = Math.min(s.width + 5, xOf(s, end));
	const y = laneY(s, lane) + s.lane / 2;
	if (x1 < x0) return;
	ctx.fillStyle = p.ended;
	ctx.fillRect(x0, y - 0.5, Math.max(1, x1 - x0), 1);
	if (xOf(s, born) >= s.gutter) ctx.fillRect(x0 - 0.5, y - 5, 1.5, 10);
	if (over) ctx.fillRect(x1 - 2, y - 3, 5, 6);
}

function drawLane(ctx: Ctx, s: Scene, p: Palette, lane: number): void {
	const pieces = s.pieces;
	if (!pieces || pieces.request.by !== s.by) return;
	const range = laneRange(s, lane);
	const y = laneY(s, lane);
	const scale = timeWidth(s) / s.view.span;
	const right = s.gutter + timeWidth(s);
	for (let i = firstBehind(pieces, range, s.view.from); i < range.end; i++) {
		const x0 = Math.max(s.gutter - 4, s.gutter + (pieces.x0[i] - s.view.from) * scale);
		if (x0 > right) break;
		const x1 = Math.min(right + 4, s.gutter + (pieces.x1[i] - s.view.from) * scale);
		drawPiece(ctx, s, p, i, x0, Math.max(1, x1 - x0), y);
	}
}

function drawPiece(ctx: Ctx, s: Scene, p: Palette, i: number, x: number, width: number, y: number): void {
	const pieces = s.pieces!;
	const type = pieces.type[i];
	const ref = pieces.coro[i];
	if (type === PIECE.wait) {
		ctx.fillStyle = p.suspended;
		ctx.fillRect(x, y + s.lane / 2 - 2, width, 4);
	} else if (type === PIECE.ready) {
		ctx.fillStyle = p.readyPattern;
		ctx.fillRect(x, y + s.lane / 2 - 5, width, 10);
	} else if (type === PIECE.omitted) {
		drawOmitted(ctx, p, x, width, y + s.lane / 2);
	} else if (type === PIECE.busy) {
		drawBusy(ctx, s, p, i, x, width, y);
	} else {
		ctx.fillStyle = s.by === "coroutine" ? p.running : isFaint(s, ref) ? p.line : p.kinds[ref === 0 ? 7 : colourIndex(s.trace, ref)];
		ctx.fillRect(x, y + 3, width > 3 ? width - 0.6 : width, s.lane - 7);
		drawWithoutProcessor(ctx, s, p, i, y);
		if (width > 30 && pieces.awayFirst[i] === pieces.awayFirst[i + 1]) drawLabel(ctx, s, p, i, x, width, y);
	}
	if ((s.selectedCoro !== 0 && ref === s.selectedCoro && s.by === "thread" && type === PIECE.run) || i === s.hovered) outline(ctx, s, p, x, width, y);
}

// A piece of several coroutines may have selected ones.
function isFaint(s: Scene, ref: number): boolean {
	return s.chosen !== null && ref !== 0 && !s.chosen.has(ref);
}

// Dots that stay in place: no state is shown where none is known.
function drawOmitted(ctx: Ctx, p: Palette, x: number, width: number, y: number): void {
	ctx.strokeStyle = p.muted;
	ctx.lineWidth = 2;
	ctx.setLineDash([2, 6]);
	ctx.beginPath();
	ctx.moveTo(x, y);
	ctx.lineTo(x + Math.max(2, width), y);
	ctx.stroke();
	ctx.setLineDash([]);
}

// The parts of a slice in which its thread had no processor.
function drawWithoutProcessor(ctx: Ctx, s: Scene, p: Palette, i: number, y: number): void {
	const pieces = s.pieces!;
	const scale = timeWidth(s) / s.view.span;
	const right = s.gutter + timeWidth(s);
	for (let k = pieces.awayFirst[i]; k < pieces.awayFirst[i + 1]; k++) {
		const x0 = Math.max(s.gutter - 4, s.gutter + (pieces.awayX0[k] - s.view.from) * scale);
		const x1 = Math.min(right + 4, s.gutter + (pieces.awayX1[k] - s.view.from) * scale);
		if (x1 < s.gutter || x0 > right) continue;
		ctx.fillStyle = p.surface;
		ctx.fillRect(x0, y + 3, Math.max(0.5, x1 - x0), s.lane - 7);
		ctx.fillStyle = pieces.awayBlocked[k] ? p.blockedPattern : p.readyPattern;
		ctx.fillRect(x0, y + 3, Math.max(0.5, x1 - x0), s.lane - 7);
	}
}

// The height is the busy share: from the bottom of a thread's lane, from the middle of a
// coroutine's.
function drawBusy(ctx: Ctx, s: Scene, p: Palette, i: number, x: number, width: number, y: number): void {
	const pieces = s.pieces!;
	if (s.by === "thread") {
		const t = 2 + (s.lane - 7) * pieces.part[i];
		// Whole pixels: neighbours touch.  A piece of many coroutines has no coroutine's
		// colour.
		const [x0, x1] = [Math.round(x), Math.round(x + width)];
		ctx.fillStyle = isFaint(s, pieces.coro[i]) ? p.line : pieces.count[i] > FEW ? p.running : p.kinds[colourIndex(s.trace, pieces.coro[i])];
		ctx.fillRect(x0, y + s.lane - 3 - t, Math.max(1, x1 - x0), t);
		return;
	}
	ctx.fillStyle = p.suspended;
	ctx.fillRect(x, y + s.lane / 2 - 2, width, 4);
	const t = Math.min(s.lane - 7, 7 + (s.lane - 14) * pieces.part[i]);
	ctx.fillStyle = p.running;
	ctx.fillRect(x, y + s.lane / 2 - t / 2, width, t);
}

function outline(ctx: Ctx, s: Scene, p: Palette, x: number, width: number, y: number): void {
	ctx.strokeStyle = p.text;
	ctx.lineWidth = 1.5;
	ctx.strokeRect(x - 0.5, y + 2.5, Math.max(2, width), s.lane - 6);
}

function drawLabel(ctx: Ctx, s: Scene, p: Palette, i: number, x: number, width: number, y: number): void {
	const pieces = s.pieces!;
	if (pieces.coro[i] === 0) return;
	const text = s.by === "thread" ? s.trace.titleOfNr(pieces.coro[i] - 1) : s.trace.thread(pieces.thread[i]);
	const begin = Math.max(s.gutter, x);
	const room = x + width - begin - 8;
	ctx.font = FONT;
	// The id alone is more useful than half a name; the number of a thread has no shorter form.
	const id = text.lastIndexOf("#");
	const shown = fitText(ctx, id >= 0 && room < ctx.measureText(text).width ? text.slice(id) : text, room);
	if (shown === "" || (shown.endsWith("…") && room < 40)) return;
	ctx.textBaseline = "middle";
	ctx.fillStyle = p.onKind;
	ctx.fillText(shown, begin + 4, y + s.lane / 2);
}

// The part after the end of the trace is shaded.
function drawEnd(ctx: Ctx, s: Scene, p: Palette): void {
	const x = xOf(s, s.trace.now);
	const right = s.gutter + timeWidth(s);
	if (x >= right) return;
	ctx.fillStyle = p.sunk;
	ctx.fillRect(Math.max(s.gutter, x), AXIS, right - x, s.height - AXIS);
	ctx.fillStyle = p.lineStrong;
	if (x >= s.gutter) ctx.fillRect(x, AXIS, 1, s.height - AXIS);
}
