// SPDX-License-Identifier: MIT
// moment_strip.ts - above the slider: the states of the chosen coroutine over time, or how much happened.

import { h } from "../base/dom.ts";
import type { Range } from "../base/selection.ts";
import { onTheme } from "../base/theme.ts";
import { DOES, firstAfter, segmentsOf, type Segments } from "../data/segments.ts";
import type { Life } from "../worker/life.ts";
import { fitCanvas, palette, type Palette } from "./canvas.ts";
import type { Context } from "./view.ts";

const STRIP = 22;
const INSET = 8;               // half of the slider's thumb

export class MomentStrip {
	readonly el = h("canvas", { class: "moment-strip", aria: { hidden: true } });
	private readonly ctx: Context;
	private range: Range = { from: 0, to: 1 };
	private t = 0;
	private row = -1;
	private segments: Segments | null = null;
	private colours: Palette | null = null;

	constructor(ctx: Context, onTime: (t: number) => void) {
		this.ctx = ctx;
		this.el.addEventListener("click", (ev) => {
			const part = (ev.offsetX - INSET) / Math.max(1, this.el.clientWidth - 2 * INSET);
			onTime(Math.round(this.range.from + Math.min(1, Math.max(0, part)) * (this.range.to - this.range.from)));
		});
		onTheme(() => {
			this.colours = null;
			this.draw();
		});
	}

	show(t: number, range: Range, row: number): void {
		[this.t, this.range] = [t, range];
		if (row !== this.row) void this.load(row);
		this.draw();
	}

	private async load(row: number): Promise<void> {
		const { trace } = this.ctx;
		this.row = row;
		this.segments = null;
		if (row < 0) return;
		const life = await trace.engine.call<Life>("life", [trace.coros.c.nr[row]]);
		if (row !== this.row) return;
		const c = trace.coros.c;
		const birth = Number.isNaN(c.birth[row]) ? c.first[row] : c.birth[row];
		const end = c.state[row] >= 5 && !Number.isNaN(c.end[row]) ? c.end[row] : trace.now;
		this.segments = segmentsOf(life, { birth, end, state: c.state[row], since: c.since[row] });
		this.draw();
	}

	draw(): void {
		const box = this.el.parentElement;
		const width = box?.clientWidth ?? 0;
		if (width === 0) return;
		const ctx = this.el.getContext("2d")!;
		if (fitCanvas(this.el, width, STRIP)) this.colours = null;
		const p = (this.colours ??= palette(ctx));
		ctx.fillStyle = p.surface;
		ctx.fillRect(0, 0, width, STRIP);
		if (this.segments) this.drawStates(ctx, p, this.segments, width);
		else this.drawRate(ctx, p, width);
		ctx.fillStyle = p.accent;
		ctx.fillRect(Math.round(this.xOf(this.t, width)) - 1, 0, 2, STRIP);
	}

	private xOf(t: number, width: number): number {
		return INSET + ((t - this.range.from) / Math.max(1, this.range.to - this.range.from)) * (width - 2 * INSET);
	}

	private drawStates(ctx: CanvasRenderingContext2D, p: Palette, s: Segments, width: number): void {
		const inks = { [DOES.fresh]: p.fresh, [DOES.wait]: p.suspended, [DOES.ready]: p.readyPattern, [DOES.run]: p.running };
		const tall = { [DOES.fresh]: 3, [DOES.wait]: 5, [DOES.ready]: 11, [DOES.run]: 17 };
		const last = [-1, -1, -1, -1];
		for (let i = firstAfter(s, this.range.from); i < s.rows && s.t0[i] <= this.range.to; i++) {
			const does = s.does[i] as keyof typeof tall;
			const [x0, x1] = [this.xOf(s.t0[i], width), this.xOf(s.t1[i], width)];
			if (x1 - last[does] < 0.4) continue;
			ctx.fillStyle = inks[does];
			ctx.fillRect(x0, (STRIP - tall[does]) / 2, Math.max(1, x1 - x0), tall[does]);
			last[does] = x1;
		}
	}

	private drawRate(ctx: CanvasRenderingContext2D, p: Palette, width: number): void {
		const { series } = this.ctx.trace;
		const most = Math.max(1, ...Array.from({ length: series.rows }, (_, i) => series.c.events[i]));
		ctx.fillStyle = p.ended;
		for (let i = 0; i < series.rows; i++) {
			const x0 = this.xOf(series.start + i * series.width, width);
			const x1 = this.xOf(series.start + (i + 1) * series.width, width);
			const tall = series.c.events[i] > 0 ? Math.max(1, (STRIP - 4) * Math.sqrt(series.c.events[i] / most)) : 0;
			if (tall > 0 && x1 > 0 && x0 < width) ctx.fillRect(x0, STRIP - 2 - tall, Math.max(1, x1 - x0), tall);
		}
	}
}
