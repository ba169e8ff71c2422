// SPDX-License-Identifier: MIT
// minimap.ts - the whole run in a strip, with the visible part marked.

import { h } from "../../base/dom.ts";
import { fitCanvas, FONT, palette, type Palette } from "../canvas.ts";
import type { Scene } from "./scene.ts";
import { timeWidth } from "./scene.ts";

const HEIGHT = 34;

export class Minimap {
	readonly el: HTMLCanvasElement;
	private readonly scene: Scene;
	private readonly changed: () => void;
	private colours: Palette | null = null;
	private readonly still = document.createElement("canvas"); // the static part
	private stillOf = "";
	private dragging = false;

	constructor(scene: Scene, changed: () => void) {
		this.scene = scene;
		this.changed = changed;
		this.el = h("canvas", { class: "minimap", title: "The whole run: click or drag to go there", aria: { hidden: true } });
		this.el.addEventListener("pointerdown", (ev) => {
			this.dragging = true;
			this.el.setPointerCapture(ev.pointerId);
			this.goTo(ev.offsetX);
		});
		this.el.addEventListener("pointermove", (ev) => this.dragging && this.goTo(ev.offsetX));
		this.el.addEventListener("pointerup", () => (this.dragging = false));
	}

	forgetColours(): void {
		this.colours = null;
		this.stillOf = "";
	}

	private goTo(x: number): void {
		const s = this.scene;
		const t = ((x - s.gutter) / timeWidth(s)) * Math.max(1, s.trace.now);
		s.view.set(t - s.view.span / 2, t + s.view.span / 2);
		this.changed();
	}

	draw(): void {
		const s = this.scene;
		const ctx = this.el.getContext("2d")!;
		if (fitCanvas(this.el, s.width, HEIGHT)) this.colours = null;
		this.colours ??= palette(ctx);
		const p = this.colours;
		const width = timeWidth(s);
		const span = Math.max(1, s.trace.now);
		this.drawStill(p, width, span);
		ctx.drawImage(this.still, 0, 0, s.width, HEIGHT);
		const x0 = s.gutter + Math.max(0, (s.view.from / span) * width);
		const x1 = s.gutter + Math.min(width, (s.view.to / span) * width);
		ctx.fillStyle = p.accent;
		ctx.globalAlpha = 0.13;
		ctx.fillRect(x0, 1, Math.max(2, x1 - x0), HEIGHT - 2);
		ctx.globalAlpha = 1;
		ctx.strokeStyle = p.accent;
		ctx.lineWidth = 1.5;
		ctx.strokeRect(x0, 1, Math.max(2, x1 - x0), HEIGHT - 2);
	}

	// Drawn again when the run or the window has grown.
	private drawStill(p: Palette, width: number, span: number): void {
		const s = this.scene;
		const key = `${s.width} ${s.gutter} ${span} ${s.trace.meta.totals.transitions} ${p.surface}`;
		const resized = fitCanvas(this.still, s.width, HEIGHT);
		if (key === this.stillOf && !resized) return;
		this.stillOf = key;
		const ctx = this.still.getContext("2d")!;
		ctx.fillStyle = p.surface;
		ctx.fillRect(0, 0, s.width, HEIGHT);
		this.drawRate(ctx, p, width, span);
		ctx.fillStyle = p.muted;
		ctx.font = FONT;
		ctx.textBaseline = "middle";
		ctx.fillText(s.gutter < 150 ? "whole run" : "events, whole run", 10, HEIGHT / 2);
	}

	// The highest of the steps that share a pixel.
	private drawRate(ctx: CanvasRenderingContext2D, p: Palette, width: number, span: number): void {
		const s = this.scene.trace.series;
		const rates = s.rates("events");
		const columns = new Float64Array(Math.ceil(width) + 1);
		rates.forEach((r, i) => {
			const x0 = Math.max(0, Math.floor(((s.start + i * s.width) / span) * width));
			const x1 = Math.min(columns.length - 1, Math.ceil(((s.start + (i + 1) * s.width) / span) * width));
			for (let x = x0; x < Math.max(x0 + 1, x1); x++) columns[x] = Math.max(columns[x] ?? 0, r);
		});
		const top = Math.max(1, ...columns);
		ctx.fillStyle = p.ended;
		columns.forEach((v, x) => {
			const t = (HEIGHT - 6) * Math.sqrt(v / top);
			if (t > 0 && x <= width) ctx.fillRect(this.scene.gutter + x, HEIGHT - 2 - t, 1, t);
		});
	}
}
