// SPDX-License-Identifier: MIT
// pinned_rows.ts - rows that stay above the others: threads and coroutines that the address names.
//
//   pin=t0.c42        thread 0, coroutine 42

import { button, h, replace } from "../../base/dom.ts";
import type { Params } from "../../base/route.ts";
import { onTheme } from "../../base/theme.ts";
import { rowWithId } from "../../data/row_with_id.ts";
import { fitCanvas, palette, type Palette } from "../canvas.ts";
import { Gestures } from "../gestures.ts";
import { Tip } from "../parts.ts";
import type { Pieces } from "../../worker/lanes.ts";
import { drawScene } from "./draw.ts";
import { AXIS, laneTitle, pieceAt, timeWidth, type Scene } from "./scene.ts";

const ROW = 24;
const MOST = 8;                // of each sort
const MAX_BLOCKS = { thread: 3, coroutine: 24 } as const;

type By = Scene["by"];

export interface PinOptions {
	changed(): void;           // the shared part of time moved
	facts(s: Scene, piece: number): [string, string][];
	open(s: Scene, lane: number): void;
	unpin(pin: string): void;
}

// "t0", "c42"; others are ignored.
export function pinsOf(params: Params): string[] {
	return [...new Set((params.pin ?? "").split(".").filter((p) => /^(t\d{1,6}|c\d{1,20})$/.test(p)))];
}

export const pinsParam = (pins: readonly string[]): string => pins.join(".");

export function toggledPin(params: Params, pin: string): string {
	const pins = pinsOf(params);
	return pinsParam(pins.includes(pin) ? pins.filter((p) => p !== pin) : [...pins, pin]);
}

// The rows of one sort: a scene of its own, whose axis is above the visible part.
class PinStrip {
	readonly el = h("div", { class: "pin-strip", role: "group", hidden: true });
	private readonly canvas = h("canvas", null);
	private readonly names = h("div", { class: "pin-names" });
	private readonly scene: Scene;
	private readonly main: Scene;
	private readonly o: PinOptions;
	private readonly tip = new Tip();
	private colours: Palette | null = null;
	private busy = false;
	private again = false;

	constructor(main: Scene, by: By, o: PinOptions) {
		this.main = main;
		this.o = o;
		// The part of time is that of the main scene.
		this.scene = { ...main, by, lanes: [], top: 0, lane: ROW, pieces: null, laneAt: new Map(), groups: undefined };
		this.el.setAttribute("aria-label", by === "thread" ? "Pinned threads" : "Pinned coroutines");
		const box = h("div", { class: "pin-canvas" }, this.canvas);
		this.el.append(box, this.names);
		new Gestures(box, this.canvas, {
			view: main.view, get left() { return main.gutter; }, width: () => timeWidth(main), changed: () => o.changed(), click: (x, y) => this.click(x, y),
		});
		this.canvas.addEventListener("pointermove", (ev) => this.hover(ev));
		this.canvas.addEventListener("pointerleave", () => this.tip.hide());
		onTheme(() => (this.colours = null));
	}

	show(lanes: number[], pins: readonly string[]): void {
		const s = this.scene;
		const isSame = lanes.length === s.lanes.length && lanes.every((l, i) => l === s.lanes[i]);
		s.lanes = lanes;
		this.el.hidden = lanes.length === 0;
		this.el.style.height = `${lanes.length * ROW}px`;
		if (isSame) return;
		s.pieces = null;
		replace(this.names, ...lanes.map((_, i) => this.unpinButton(pins[i], laneTitle(s, i), i)));
	}

	private unpinButton(pin: string, name: string, row: number): HTMLElement {
		const el = button("×", () => this.o.unpin(pin), { class: "button quiet unpin", title: `Unpin ${name}`, aria: { label: `Unpin ${name}` }, data: { pin } });
		el.style.top = `${row * ROW}px`;
		return el;
	}

	private get isShown(): boolean {
		return this.scene.lanes.length > 0 && this.main.width > 0;
	}

	draw(): void {
		if (!this.isShown) return;
		const s = this.scene;
		Object.assign(s, { width: this.main.width, gutter: this.main.gutter, height: AXIS + s.lanes.length * ROW, arrows: this.main.arrows, chosen: this.main.chosen, selectedCoro: this.main.selectedCoro });
		this.names.style.left = `${s.gutter - 24}px`;
		const ctx = this.canvas.getContext("2d")!;
		if (fitCanvas(this.canvas, s.width, s.height)) this.colours = null;
		this.colours ??= palette(ctx);
		drawScene(ctx, s, this.colours);
	}

	async fetch(): Promise<void> {
		if (!this.isShown) return;
		if (this.busy) {
			this.again = true;
			return;
		}
		this.busy = true;
		try {
			do {
				this.again = false;
				this.take(await this.ask());
			} while (this.again);
		} catch {
			// The other rows say what cannot be read.
		} finally {
			this.busy = false;
		}
	}

	private ask(): Promise<Pieces> {
		const { by, lanes, view, trace } = this.scene;
		const half = view.span / 2;
		return trace.engine.call<Pieces>("lanes", [{ by, lanes, from: view.from - half, to: view.to + half, step: view.span / timeWidth(this.main), maxBlocks: MAX_BLOCKS[by] }]);
	}

	private take(pieces: Pieces): void {
		this.scene.pieces = pieces;
		this.scene.laneAt = new Map(pieces.request.lanes.map((key, i) => [key, i]));
		requestAnimationFrame(() => this.draw());
	}

	private hover(ev: PointerEvent): void {
		const piece = ev.buttons === 0 ? pieceAt(this.scene, ev.offsetX, ev.offsetY) : -1;
		if (piece < 0) {
			this.tip.hide();
			return;
		}
		const [title, ...pairs] = this.o.facts(this.scene, piece);
		this.tip.show(ev.clientX, ev.clientY, title[1], pairs);
	}

	private click(x: number, y: number): void {
		const lane = Math.floor((y - AXIS) / ROW);
		if (x < this.scene.gutter && lane >= 0 && lane < this.scene.lanes.length) this.o.open(this.scene, lane);
	}

	hideTip(): void {
		this.tip.hide();
	}
}

export class PinnedRows {
	readonly el = h("div", { class: "pinned", hidden: true });
	private readonly strips: Record<By, PinStrip>;
	private readonly main: Scene;

	constructor(main: Scene, o: PinOptions) {
		this.main = main;
		this.strips = { thread: new PinStrip(main, "thread", o), coroutine: new PinStrip(main, "coroutine", o) };
		this.el.append(this.strips.thread.el, this.strips.coroutine.el);
	}

	// The pins of the address; those that the trace does not have are not shown.
	show(params: Params): void {
		const { trace } = this.main;
		const threads = pinsOf(params).filter((p) => p[0] === "t" && Number(p.slice(1)) < trace.meta.threads.length).slice(0, MOST);
		const found = (trace.complete ? pinsOf(params) : []).filter((p) => p[0] === "c").map((pin) => ({ pin, row: rowWithId(trace.coros, pin.slice(1)) }));
		const coros = found.filter(({ row }) => row >= 0).slice(0, MOST);
		this.strips.thread.show(threads.map((p) => Number(p.slice(1))), threads);
		this.strips.coroutine.show(coros.map(({ row }) => trace.coros.c.nr[row]), coros.map(({ pin }) => pin));
		this.el.hidden = threads.length + coros.length === 0;
		void this.fetch();
		this.draw();
	}

	// "t0", "c42": what a lane is called as a pin; "": a group.
	static pinOf(s: Scene, lane: number): string {
		const key = s.lanes[lane];
		if (key === undefined || key < 0) return "";
		if (s.by === "thread") return key < s.trace.meta.threads.length ? `t${key}` : "";
		const row = s.trace.coros.rowOf(key);
		return row >= 0 ? `c${s.trace.coros.id(row)}` : "";
	}

	draw(): void {
		for (const strip of Object.values(this.strips)) strip.draw();
	}

	async fetch(): Promise<void> {
		await Promise.all(Object.values(this.strips).map((strip) => strip.fetch()));
	}

	hideTips(): void {
		for (const strip of Object.values(this.strips)) strip.hideTip();
	}
}
