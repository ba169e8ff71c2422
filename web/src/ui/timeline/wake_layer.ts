// SPDX-License-Identifier: MIT
// wake_layer.ts - wakes on the timeline: arrows from the time of the wake to the slice that it caused, to be clicked.

import type { Palette } from "../canvas.ts";
import { laneY, timeWidth, visibleLanes, xOf, type Scene, type Wake } from "./scene.ts";

const MOST_ARROWS = 350;
const NEAR = 5;                // pixels from the pointer to an arrow

interface Curve {
	wake: Wake;
	x0: number;
	y0: number;
	x1: number;
	y1: number;
	isBent: boolean;           // from a lane to itself
}

// Lanes whose arrows may reach into the visible part.
function nearLanes(s: Scene): Map<number, number> {
	const { first, last } = visibleLanes(s);
	const begin = Math.max(0, first - 20);
	return new Map(s.lanes.slice(begin, last + 20).map((key, i) => [key, begin + i]));
}

// Only if there are few enough; those that are too short for an arrow are left out: the tip names the waker.
function curvesOf(s: Scene): Curve[] {
	const wakes = s.arrows && s.pieces?.request.by === s.by ? s.pieces.wakes : [];
	const inSight = wakes.filter((w) => w.to >= s.view.from && w.at <= s.view.to);
	if (inSight.length === 0 || inSight.length > MOST_ARROWS) return [];
	const near = nearLanes(s);
	const out: Curve[] = [];
	for (const wake of inSight) {
		const toLane = near.get(s.by === "thread" ? wake.toThread : wake.coro - 1);
		if (toLane === undefined) continue;
		const fromLane = near.get(s.by === "thread" ? wake.fromThread : wake.waker - 1);
		const y1 = laneY(s, toLane) + s.lane / 2;
		const y0 = fromLane === undefined || (s.by === "coroutine" && wake.waker === 0) ? y1 - s.lane * 0.8 : laneY(s, fromLane) + s.lane / 2;
		const [x0, x1] = [xOf(s, wake.at), xOf(s, wake.to)];
		if (x1 - x0 < (fromLane === toLane ? 14 : fromLane === undefined ? 5 : 0)) continue;
		out.push({ wake, x0, y0, x1, y1, isBent: fromLane === toLane });
	}
	return out;
}

const bendOf = (c: Curve, lane: number): number => (c.isBent ? Math.min(lane * 0.5, 4 + (c.x1 - c.x0) * 0.25) : 0);

export function isSameWake(a: Wake | null, b: Wake | null): boolean {
	return a !== null && b !== null && a.at === b.at && a.to === b.to && a.coro === b.coro && a.waker === b.waker;
}

export function drawWakes(ctx: CanvasRenderingContext2D, s: Scene, p: Palette): void {
	for (const c of curvesOf(s)) {
		const chosen = isSameWake(c.wake, s.chosenWake);
		ctx.strokeStyle = ctx.fillStyle = chosen ? p.accent : p.text;
		ctx.lineWidth = chosen ? 2.5 : 1;
		ctx.globalAlpha = chosen ? 1 : 0.62;
		drawArrow(ctx, s.lane, c);
	}
	ctx.globalAlpha = 1;
}

function drawArrow(ctx: CanvasRenderingContext2D, lane: number, c: Curve): void {
	const bend = bendOf(c, lane);
	const mx = (c.x0 + c.x1) / 2;
	ctx.beginPath();
	ctx.moveTo(c.x0, c.y0);
	ctx.bezierCurveTo(mx, c.y0 - bend, mx, c.y1 - bend, c.x1 - 4, c.y1);
	ctx.stroke();
	ctx.beginPath();
	ctx.arc(c.x0, c.y0, 2, 0, 7);
	ctx.fill();
	ctx.beginPath();
	ctx.moveTo(c.x1, c.y1);
	ctx.lineTo(c.x1 - 6, c.y1 - 3.2);
	ctx.lineTo(c.x1 - 6, c.y1 + 3.2);
	ctx.fill();
}

// The nearest distance from a point to the curve, along 24 of its points.
function distance(c: Curve, lane: number, x: number, y: number): number {
	const bend = bendOf(c, lane);
	const mx = (c.x0 + c.x1) / 2;
	let best = Infinity;
	let [px, py] = [c.x0, c.y0];
	for (let i = 1; i <= 24; i++) {
		const [t, u] = [i / 24, 1 - i / 24];
		const qx = u * u * u * c.x0 + 3 * u * u * t * mx + 3 * u * t * t * mx + t * t * t * (c.x1 - 4);
		const qy = u * u * u * c.y0 + 3 * u * u * t * (c.y0 - bend) + 3 * u * t * t * (c.y1 - bend) + t * t * t * c.y1;
		best = Math.min(best, toSegment(x, y, px, py, qx, qy));
		[px, py] = [qx, qy];
	}
	return best;
}

function toSegment(x: number, y: number, ax: number, ay: number, bx: number, by: number): number {
	const [dx, dy] = [bx - ax, by - ay];
	const t = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / Math.max(1e-9, dx * dx + dy * dy)));
	return Math.hypot(x - ax - t * dx, y - ay - t * dy);
}

// The wake under the pointer; null: none.
export function wakeAt(s: Scene, x: number, y: number): Wake | null {
	if (x < s.gutter || x > s.gutter + timeWidth(s)) return null;
	let [best, found] = [NEAR, null as Wake | null];
	for (const c of curvesOf(s)) {
		const d = distance(c, s.lane, x, y);
		if (d < best) [best, found] = [d, c.wake];
	}
	return found;
}

// The chosen moment.
export function drawMoment(ctx: CanvasRenderingContext2D, s: Scene, p: Palette): void {
	const x = Math.round(xOf(s, s.at));
	if (Number.isNaN(x) || x < s.gutter) return;
	ctx.fillStyle = p.accent;
	ctx.globalAlpha = 0.7;
	ctx.fillRect(x, 0, 1, s.height);
	ctx.globalAlpha = 1;
}
