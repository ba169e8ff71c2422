// SPDX-License-Identifier: MIT
// wait_map.ts - a map of how long waits took over time: the darker, the more; dragging selects a part of the time.

import { button, h } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { colour, onTheme } from "../base/theme.ts";
import { fitCanvas, FONT } from "./canvas.ts";
import { panel, Tip, type Panel } from "./parts.ts";
import { MAP_ROWS, type Sums } from "../worker/sums.ts";

const HEIGHT = 264;
const LEFT = 64;
const FOOT = 20;
const HEATS = 6;

export class WaitMap {
	readonly el: HTMLElement;
	private readonly box: Panel;
	private readonly canvas = h("canvas", null);
	private readonly stage: HTMLElement;
	private readonly tip = new Tip();
	private readonly buttons: HTMLButtonElement[];
	private readonly onRange: (from: number, to: number) => void;
	private sums: Sums | null = null;
	private columns = 1;
	private isReady = false;   // shows ready times instead of waits
	private drag: number | null = null;
	private dragged = NaN;

	constructor(onRange: (from: number, to: number) => void) {
		this.onRange = onRange;
		this.stage = h("div", { class: "wait-map", role: "img", aria: { label: "How long waits took over time" } }, this.canvas);
		this.buttons = ["Waits", "Ready times"].map((label, i) => button(label, () => this.choose(i === 1), { aria: { pressed: i === 0 } }));
		this.box = panel("How long, over time", {
			note: "when they ended; drag to select a part", sheet: () => this.sheet(),
			tools: [h("span", { class: "segments", role: "group", aria: { label: "What" } }, ...this.buttons)],
		});
		this.box.body.append(this.stage);
		this.el = this.box.el;
		new ResizeObserver(() => this.draw()).observe(this.stage);
		onTheme(() => this.draw());
		this.listen();
	}

	setSums(sums: Sums, columns: number): void {
		this.sums = sums;
		this.columns = columns;
		this.draw();
	}

	hideTip(): void {
		this.tip.hide();
	}

	private choose(isReady: boolean): void {
		this.isReady = isReady;
		this.buttons.forEach((b, i) => b.setAttribute("aria-pressed", String((i === 1) === isReady)));
		this.draw();
	}

	private get cells(): Uint32Array {
		return this.isReady ? this.sums!.readyMap : this.sums!.waitMap;
	}

	private listen(): void {
		this.canvas.addEventListener("pointerdown", (ev) => {
			this.drag = this.timeAt(ev.offsetX);
			this.canvas.setPointerCapture(ev.pointerId);
		});
		this.canvas.addEventListener("pointermove", (ev) => {
			if (this.drag !== null) {
				this.dragged = this.timeAt(ev.offsetX);
				this.draw();
			}
			this.hover(ev);
		});
		this.canvas.addEventListener("pointerup", () => this.endDrag());
		this.canvas.addEventListener("pointerleave", () => this.tip.hide());
	}

	private endDrag(): void {
		const [a, b] = [this.drag ?? NaN, this.dragged];
		this.drag = null;
		this.dragged = NaN;
		this.draw();
		if (this.sums && Math.abs(a - b) > (this.sums.to - this.sums.from) / 200) this.onRange(Math.min(a, b), Math.max(a, b));
	}

	private get width(): number {
		return Math.max(1, this.stage.clientWidth - LEFT - 8);
	}

	private timeAt(x: number): number {
		const s = this.sums;
		if (!s) return 0;
		return s.from + Math.max(0, Math.min(1, (x - LEFT) / this.width)) * (s.to - s.from);
	}

	private hover(ev: PointerEvent): void {
		const s = this.sums;
		const column = Math.floor((ev.offsetX - LEFT) / this.width * this.columns);
		const row = Math.floor((HEIGHT - ev.offsetY) / HEIGHT * MAP_ROWS);
		const nr = s && column >= 0 && column < this.columns && row >= 0 ? this.cells[column * MAP_ROWS + row] : 0;
		if (!s || !nr) {
			this.tip.hide();
			return;
		}
		const step = (s.to - s.from) / this.columns;
		this.tip.show(ev.clientX, ev.clientY, fmt.plural(nr, this.isReady ? "ready time" : "wait"), [
			["took", `${fmt.duration(row === 0 ? 0 : 10 ** (row / 4))} to ${fmt.duration(10 ** ((row + 1) / 4))}`],
			["ended from", fmt.offset(s.from + column * step, step / 10)], ["to", fmt.offset(s.from + (column + 1) * step, step / 10)],
		]);
	}

	private draw(): void {
		const width = this.stage.clientWidth;
		if (!this.sums || width === 0) return;
		const ctx = this.canvas.getContext("2d")!;
		fitCanvas(this.canvas, width, HEIGHT + FOOT);
		ctx.fillStyle = colour("surface");
		ctx.fillRect(0, 0, width, HEIGHT + FOOT);
		this.drawCells(ctx);
		this.drawScales(ctx);
		if (!Number.isNaN(this.dragged) && this.drag !== null) {
			const x = (t: number) => LEFT + (t - this.sums!.from) / (this.sums!.to - this.sums!.from) * this.width;
			ctx.globalAlpha = 0.25;
			ctx.fillStyle = colour("accent");
			ctx.fillRect(Math.min(x(this.drag), x(this.dragged)), 0, Math.abs(x(this.drag) - x(this.dragged)), HEIGHT);
			ctx.globalAlpha = 1;
		}
		this.stage.setAttribute("aria-label", `How long ${this.isReady ? "ready times" : "waits"} took over time: ${fmt.count(this.cells.reduce((n, v) => n + v, 0))} of them`);
	}

	// Each step of colour is the same factor, the darkest the most.
	private drawCells(ctx: CanvasRenderingContext2D): void {
		const most = this.cells.reduce((n, v) => Math.max(n, v), 1);
		const inks = Array.from({ length: HEATS }, (_, i) => colour(`h${i + 1}`));
		const [w, t] = [this.width / this.columns, HEIGHT / MAP_ROWS];
		for (let column = 0; column < this.columns; column++) {
			for (let row = 0; row < MAP_ROWS; row++) {
				const nr = this.cells[column * MAP_ROWS + row];
				if (nr === 0) continue;
				const heat = most === 1 ? HEATS - 1 : Math.min(HEATS - 1, Math.floor(Math.log(nr) / Math.log(most) * HEATS));
				ctx.fillStyle = inks[heat];
				ctx.fillRect(LEFT + column * w, HEIGHT - (row + 1) * t, Math.max(1, w - 0.5), t - 0.5);
			}
		}
	}

	private drawScales(ctx: CanvasRenderingContext2D): void {
		const s = this.sums!;
		ctx.font = FONT;
		ctx.textBaseline = "middle";
		for (let power = 0; power <= MAP_ROWS / 4; power += 1) {
			const y = HEIGHT - power * 4 * HEIGHT / MAP_ROWS;
			ctx.fillStyle = colour("line");
			ctx.fillRect(LEFT, Math.round(y), this.width, 1);
			ctx.fillStyle = colour("muted");
			ctx.textAlign = "right";
			ctx.fillText(fmt.offset(10 ** power, 10 ** power), LEFT - 6, Math.max(6, y));
		}
		ctx.textAlign = "center";
		const step = (s.to - s.from) / 100;
		for (const part of [0.1, 0.3, 0.5, 0.7, 0.9]) ctx.fillText(fmt.offset(s.from + part * (s.to - s.from), step), LEFT + part * this.width, HEIGHT + FOOT / 2);
		ctx.textAlign = "left";
	}

	private sheet() {
		const s = this.sums;
		const step = s ? (s.to - s.from) / this.columns : 0;
		const rows: number[][] = [];
		for (let i = 0; s && i < this.cells.length; i++) {
			const [column, row] = [Math.floor(i / MAP_ROWS), i % MAP_ROWS];
			if (this.cells[i] > 0) rows.push([s.from + column * step, s.from + (column + 1) * step, row === 0 ? 0 : 10 ** (row / 4), 10 ** ((row + 1) / 4), this.cells[i]]);
		}
		return { name: this.isReady ? "ready-times" : "waits", head: ["from_ns", "to_ns", "at_least_ns", "below_ns", "number"], rows };
	}
}
