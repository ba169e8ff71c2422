// SPDX-License-Identifier: MIT
// canvas.ts - a canvas that is sharp on every screen, its colours, its time axis.

import { shown } from "../base/dom.ts";
import { colour } from "../base/theme.ts";
import * as fmt from "../base/format.ts";
import { ticks, type Viewport } from "../base/viewport.ts";

export interface Palette {
	text: string; muted: string; faint: string; line: string; lineStrong: string; surface: string; sunk: string; hover: string;
	selected: string; accent: string; running: string; suspended: string; ready: string; ended: string; fresh: string;
	alarm: string; onKind: string; kinds: string[]; readyPattern: CanvasPattern | string; blockedPattern: CanvasPattern | string;
}

export const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

// Ready is striped, to differ from running and suspended without colour.
function stripes(ctx: CanvasRenderingContext2D, ink: string): CanvasPattern | string {
	const tile = document.createElement("canvas");
	tile.width = tile.height = 6;
	const t = tile.getContext("2d")!;
	t.strokeStyle = ink;
	t.lineWidth = 2;
	t.beginPath();
	for (const x of [-6, 0, 6]) {
		t.moveTo(x - 1, 7);
		t.lineTo(x + 7, -1);
	}
	t.stroke();
	return ctx.createPattern(tile, "repeat") ?? ink;
}

// Blocked in the kernel: lines along the time.
function rules(ctx: CanvasRenderingContext2D, ink: string): CanvasPattern | string {
	const tile = document.createElement("canvas");
	tile.width = tile.height = 4;
	const t = tile.getContext("2d")!;
	t.fillStyle = ink;
	t.fillRect(0, 0, 4, 2.2);
	return ctx.createPattern(tile, "repeat") ?? ink;
}

export function palette(ctx: CanvasRenderingContext2D): Palette {
	return {
		text: colour("text"), muted: colour("muted"), faint: colour("faint"), line: colour("line"), lineStrong: colour("line-strong"),
		surface: colour("surface"), sunk: colour("sunk"), hover: colour("hover"), selected: colour("selected"), accent: colour("accent"),
		running: colour("running-fill"), suspended: colour("suspended-fill"), ready: colour("ready-fill"), ended: colour("ended-fill"),
		fresh: colour("new-fill"), alarm: colour("alarm"), onKind: colour("on-k"),
		kinds: Array.from({ length: 8 }, (_, i) => colour(`k${i}`)), readyPattern: stripes(ctx, colour("ready-fill")),
		blockedPattern: rules(ctx, colour("blocked-fill")),
	};
}

// True if the size changed: then the canvas is empty.
export function fitCanvas(canvas: HTMLCanvasElement, width: number, height: number): boolean {
	const ratio = Math.min(3, window.devicePixelRatio || 1);
	const [w, t] = [Math.round(width * ratio), Math.round(height * ratio)];
	if (canvas.width === w && canvas.height === t) return false;
	canvas.width = w;
	canvas.height = t;
	canvas.style.width = `${width}px`;
	canvas.style.height = `${height}px`;
	canvas.getContext("2d")?.setTransform(ratio, 0, 0, ratio, 0, 0);
	return true;
}

export interface Frame {
	x: number;
	y: number;
	width: number;
	height: number;
}

// Vertical lines and times at the @edge of the frame.  Narrow pictures get fewer.
export function drawAxis(ctx: CanvasRenderingContext2D, v: Viewport, f: Frame, p: Palette, edge: "top" | "bottom"): void {
	const { step, at } = ticks(v.from, v.to, Math.max(2, Math.floor(f.width / 92)));
	const scale = f.width / v.span;
	ctx.font = FONT;
	ctx.textBaseline = "middle";
	ctx.textAlign = "center";
	for (const t of at) {
		const x = Math.round(f.x + (t - v.from) * scale) + 0.5;
		ctx.fillStyle = p.line;
		ctx.fillRect(x - 0.5, f.y, 1, f.height);
		const text = fmt.offset(t, step);
		const half = ctx.measureText(text).width / 2;
		if (x - half < f.x || x + half > f.x + f.width) continue;
		ctx.fillStyle = p.muted;
		ctx.fillText(text, x, edge === "top" ? f.y - 10 : f.y + f.height + 11);
	}
	ctx.textAlign = "left";
}

// As much of @text as fits, with an ellipsis; "" if too little fits.
export function fitText(ctx: CanvasRenderingContext2D, name: string, width: number): string {
	if (width < 14) return "";
	const text = shown(name);
	if (ctx.measureText(text).width <= width) return text;
	const per = ctx.measureText("n").width;
	let n = Math.floor(width / per) + 2;
	for (; n > 1; n--) {
		const cut = `${text.slice(0, n)}…`;
		if (ctx.measureText(cut).width <= width) return cut;
	}
	return "";
}
