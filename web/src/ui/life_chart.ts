// SPDX-License-Identifier: MIT
// life_chart.ts - one coroutine's states as steps: suspended, ready, running, over time; thread
// changes are marked.

import { h } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { isPrinting, onTheme } from "../base/theme.ts";
import { Viewport } from "../base/viewport.ts";
import { cpuPairs } from "../data/slice_cpu.ts";
import { DOES, DOES_WORDS, firstAfter, segmentAt, segmentsOf, type Segments } from "../data/segments.ts";
import { drawAxis, fitCanvas, FONT, palette, type Frame, type Palette } from "./canvas.ts";
import { Gestures } from "./gestures.ts";
import { Tip } from "./parts.ts";
import type { Context } from "./view.ts";
import type { Life } from "../worker/life.ts";

export interface LifeOptions {
	height: number;
	interactive: boolean;
	onLife?(life: Life, segments: Segments): void;
	onTime?(t: number): void;  // a moment was clicked
}

const LABELS = 74;
const RIGHT = 8;

export class LifeChart {
	readonly el: HTMLElement;
	private readonly canvas: HTMLCanvasElement;
	private readonly status: HTMLElement;
	private readonly ctx: Context;
	private readonly o: LifeOptions;
	private readonly view = new Viewport();
	private readonly tip = new Tip();
	private readonly stop: () => void;
	private readonly observer: ResizeObserver;
	private life: Life | null = null;
	private segments: Segments | null = null;
	private row = -1;
	private colours: Palette | null = null;
	private scheduled = false;
	private asked = 0;
	private moment = NaN;
	private made = "";         // the request for which the life was made

	constructor(ctx: Context, o: LifeOptions) {
		this.ctx = ctx;
		this.o = o;
		this.canvas = h("canvas", null);
		this.status = h("p", { class: "life-status muted" });
		this.el = h("div", { class: "life", role: "img", aria: { label: "States of a coroutine over time" } }, this.canvas, this.status);
		this.el.style.minHeight = `${o.height}px`;
		this.stop = onTheme(() => {
			this.colours = null;
			if (isPrinting()) this.draw();
			else this.schedule();
		});
		this.observer = new ResizeObserver(() => this.schedule());
		this.observer.observe(this.el);
		this.canvas.addEventListener("pointermove", (ev) => this.hover(ev));
		this.canvas.addEventListener("pointerleave", () => this.tip.hide());
		if (o.interactive) this.makeInteractive();
	}

	remove(): void {
		this.stop();
		this.observer.disconnect();
		this.tip.remove();
	}

	private makeInteractive(): void {
		this.el.tabIndex = 0;
		new Gestures(this.el, this.canvas, {
			view: this.view, left: LABELS, width: () => this.frame().width, changed: () => this.zoomed(), ...(this.o.onTime ? { click: (x: number) => this.click(x) } : {}),
		});
	}

	// What was below the pointer is elsewhere now.
	private zoomed(): void {
		this.tip.hide();
		this.schedule();
	}

	private click(x: number): void {
		const f = this.frame();
		if (x >= f.x) this.o.onTime!(Math.round(this.view.from + ((x - f.x) / f.width) * this.view.span));
	}

	// Marks a moment; NaN: none.
	setMoment(t: number): void {
		this.moment = t;
		this.schedule();
	}

	get viewport(): Viewport {
		return this.view;
	}

	// Shows coroutine @row; called again (live) it keeps the visible part.
	load(row: number): void {
		const { trace } = this.ctx;
		const isNew = row !== this.row;
		this.row = row;
		const c = trace.coros.c;
		const made = `${c.resumes[row]} ${c.suspends[row]} ${c.state[row]}`;
		if (!isNew && made === this.made && this.life) {
			this.take(this.life, false);
			return;
		}
		this.made = made;
		const mine = ++this.asked;
		if (isNew) this.status.textContent = "Reading its slices…";
		const progress = (done: number, of: number) => {
			if (mine === this.asked && isNew && of > 4) this.status.textContent = `Reading its slices: ${done} of ${of} blocks`;
		};
		trace.engine.call<Life>("life", [trace.coros.c.nr[row]], progress).then((life) => {
			if (mine === this.asked) this.take(life, isNew);
		}, (e: Error) => {
			this.status.textContent = `Its slices cannot be read: ${e.message}`;
		});
	}

	private take(life: Life, isNew: boolean): void {
		const { coros, now } = this.ctx.trace;
		const c = coros.c;
		const row = this.row;
		const birth = Number.isNaN(c.birth[row]) ? c.first[row] : c.birth[row];
		const end = c.state[row] >= 5 && !Number.isNaN(c.end[row]) ? c.end[row] : now;
		const whole = this.view.isWhole;
		this.life = life;
		this.segments = segmentsOf(life, { birth, end, state: c.state[row], since: c.since[row] });
		this.view.setLimits(birth, end);
		if (isNew || whole) this.view.fit();
		this.status.textContent = "";
		this.el.setAttribute("aria-label", this.describe());
		this.o.onLife?.(life, this.segments);
		this.schedule();
	}

	private describe(): string {
		const s = this.segments!;
		const sums = [0, 0, 0, 0];
		for (let i = 0; i < s.rows; i++) sums[s.does[i]] += s.t1[i] - s.t0[i];
		return `Life of ${this.ctx.trace.title(this.row)}: ` +
			[DOES.run, DOES.ready, DOES.wait].map((d) => `${DOES_WORDS[d]} for ${fmt.duration(sums[d])}`).join(", ");
	}

	private frame(): Frame {
		return { x: LABELS, y: 16, width: Math.max(40, this.el.clientWidth - LABELS - RIGHT), height: this.o.height - 38 };
	}

	schedule(): void {
		if (this.scheduled) return;
		this.scheduled = true;
		requestAnimationFrame(() => {
			this.scheduled = false;
			this.draw();
		});
	}

	private draw(): void {
		if (!this.segments || this.el.clientWidth === 0) return;
		const ctx = this.canvas.getContext("2d")!;
		if (fitCanvas(this.canvas, this.el.clientWidth, this.o.height)) this.colours = null;
		this.colours ??= palette(ctx);
		const p = this.colours;
		const f = this.frame();
		ctx.fillStyle = p.surface;
		ctx.fillRect(0, 0, this.el.clientWidth, this.o.height);
		drawAxis(ctx, this.view, f, p, "bottom");
		this.drawLevels(ctx, f, p);
		ctx.save();
		ctx.beginPath();
		ctx.rect(f.x, 0, f.width, f.y + f.height);
		ctx.clip();
		this.drawSteps(ctx, f, p);
		this.drawThreads(ctx, f, p);
		ctx.fillStyle = p.accent;
		if (!Number.isNaN(this.moment)) ctx.fillRect(Math.round(f.x + ((this.moment - this.view.from) / this.view.span) * f.width) - 1, 0, 2, f.y + f.height);
		ctx.restore();
	}

	// Running on top, suspended at the bottom.
	private level(does: number, f: Frame): number {
		const rank = does === DOES.run ? 0 : does === DOES.ready ? 1 : 2;
		return f.y + f.height * ((rank + 0.5) / 3);
	}

	private drawLevels(ctx: CanvasRenderingContext2D, f: Frame, p: Palette): void {
		ctx.font = FONT;
		ctx.textAlign = "right";
		ctx.textBaseline = "middle";
		for (const does of [DOES.run, DOES.ready, DOES.wait]) {
			const y = this.level(does, f);
			ctx.fillStyle = p.muted;
			ctx.fillText(DOES_WORDS[does], f.x - 10, y);
			ctx.fillStyle = p.line;
			ctx.fillRect(f.x, Math.round(y), f.width, 1);
		}
		ctx.textAlign = "left";
	}

	private drawSteps(ctx: CanvasRenderingContext2D, f: Frame, p: Palette): void {
		const s = this.segments!;
		const scale = f.width / this.view.span;
		const thick = [3, 5, Math.min(12, f.height / 5), Math.min(16, f.height / 4)];
		const inks = [p.fresh, p.suspended, p.readyPattern, p.running];
		const lastX = [-1, -1, -1, -1];
		this.drawRisers(ctx, f, p);
		for (let i = firstAfter(s, this.view.from); i < s.rows && s.t0[i] <= this.view.to; i++) {
			const does = s.does[i];
			const x0 = f.x + Math.max(-4, (s.t0[i] - this.view.from) * scale);
			const x1 = f.x + Math.min(f.width + 4, (s.t1[i] - this.view.from) * scale);
			// Several in one pixel are drawn as one stroke.
			if (x1 - lastX[does] < 0.35) continue;
			ctx.fillStyle = inks[does];
			ctx.fillRect(x0, this.level(does, f) - thick[does] / 2, Math.max(1, x1 - x0), thick[does]);
			lastX[does] = x1;
		}
	}

	// From one level to the next, where there is room for it.
	private drawRisers(ctx: CanvasRenderingContext2D, f: Frame, p: Palette): void {
		const s = this.segments!;
		const scale = f.width / this.view.span;
		let [x0, top, bottom] = [-1, 0, 0];
		ctx.fillStyle = p.lineStrong;
		const flush = () => x0 >= f.x && ctx.fillRect(x0 - 0.5, top, 1, bottom - top);
		for (let i = Math.max(1, firstAfter(s, this.view.from)); i < s.rows && s.t0[i] <= this.view.to; i++) {
			const x = f.x + (s.t0[i] - this.view.from) * scale;
			const [y0, y1] = [this.level(s.does[i - 1], f), this.level(s.does[i], f)].sort((a, b) => a - b);
			// Risers that are too close together are drawn as one.
			if (x0 >= 0 && x - x0 < 2.5) {
				[top, bottom] = [Math.min(top, y0), Math.max(bottom, y1)];
				continue;
			}
			flush();
			[x0, top, bottom] = [x, y0, y1];
		}
		flush();
	}

	// A notch over the first slice on another thread, with its number if there is room.
	private drawThreads(ctx: CanvasRenderingContext2D, f: Frame, p: Palette): void {
		const life = this.life!;
		const scale = f.width / this.view.span;
		let free = f.x - 1;
		ctx.font = FONT;
		for (let i = 0; i < life.rows; i++) {
			if (i > 0 && life.thread[i] === life.thread[i - 1]) continue;
			const x = f.x + (life.start[i] - this.view.from) * scale;
			if (x < f.x - 1 || x > f.x + f.width || x < free) continue;
			ctx.fillStyle = p.text;
			ctx.beginPath();
			ctx.moveTo(x - 3.5, 4);
			ctx.lineTo(x + 3.5, 4);
			ctx.lineTo(x, 10);
			ctx.fill();
			const label = this.ctx.trace.thread(life.thread[i]);
			const width = ctx.measureText(label).width;
			free = x + 8;
			if (this.roomAfter(i, x, scale) > width + 14) {
				ctx.fillStyle = p.muted;
				ctx.fillText(label, x + 6, 8);
				free = x + width + 16;
			}
		}
	}

	private roomAfter(i: number, x: number, scale: number): number {
		const life = this.life!;
		for (let k = i + 1; k < Math.min(life.rows, i + 400); k++) {
			if (life.thread[k] !== life.thread[k - 1]) return LABELS + (life.start[k] - this.view.from) * scale - x;
		}
		return this.el.clientWidth - x;
	}

	private cpuFacts(slice: number): [string, string][] {
		const life = this.life!;
		if (!this.ctx.trace.meta.cpu) return [];
		if (Number.isNaN(life.queued[slice])) return [["processor time", "not measured"]];
		return cpuPairs({ measured: life.dur[slice], queued: life.queued[slice], blocked: life.blocked[slice] });
	}

	private hover(ev: PointerEvent): void {
		const s = this.segments;
		const f = this.frame();
		if (!s || !this.life) return;
		const t = this.view.from + ((ev.offsetX - f.x) / f.width) * this.view.span;
		const i = ev.offsetX < f.x ? -1 : segmentAt(s, t);
		if (i < 0) {
			this.tip.hide();
			return;
		}
		const { trace } = this.ctx;
		const slice = s.slice[i];
		const pairs: [string, string][] = [["from", fmt.stamp(s.t0[i])], ["for", fmt.duration(s.t1[i] - s.t0[i])]];
		if (slice >= 0 && s.does[i] === DOES.run) pairs.push(["thread", trace.thread(this.life.thread[slice])], ...this.cpuFacts(slice));
		if (slice >= 0 && s.does[i] !== DOES.run) {
			pairs.push(["at", trace.sitePlace(this.life.site[slice]) || "no known place"]);
			if (this.life.reason[slice]) pairs.push(["why", trace.reason(this.life.reason[slice])]);
		}
		this.tip.show(ev.clientX, ev.clientY, DOES_WORDS[s.does[i]], pairs);
	}
}
