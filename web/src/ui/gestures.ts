// SPDX-License-Identifier: MIT
// gestures.ts - hands on a picture of time: wheel and keys zoom, dragging moves, shift-dragging picks a part.

import { h } from "../base/dom.ts";
import type { Viewport } from "../base/viewport.ts";

export interface Hands {
	view: Viewport;
	left: number;                              // where time begins in the canvas
	width(): number;                           // and how wide it is
	changed(): void;
	click?(x: number, y: number): void;
	scroll?(dy: number): void;                 // lanes up and down
	key?(ev: KeyboardEvent): boolean;          // before the keys below
}

const CLICK = 4; // pixels a click may move

export class Gestures {
	private readonly o: Hands;
	private readonly host: HTMLElement;
	private readonly canvas: HTMLElement;
	private readonly band: HTMLElement;
	private drag: { x: number; y: number; from: number; startX: number; moved: boolean; selects: boolean } | null = null;
	private readonly touches = new Map<number, number>();

	constructor(host: HTMLElement, canvas: HTMLElement, o: Hands) {
		this.o = o;
		this.host = host;
		this.canvas = canvas;
		this.band = h("div", { class: "band", hidden: true });
		host.append(this.band);
		canvas.addEventListener("wheel", (ev) => this.wheel(ev), { passive: false });
		canvas.addEventListener("pointerdown", (ev) => this.down(ev));
		canvas.addEventListener("pointermove", (ev) => this.move(ev));
		canvas.addEventListener("pointerup", (ev) => this.up(ev));
		canvas.addEventListener("pointercancel", (ev) => this.up(ev));
		if (!o.click) canvas.addEventListener("dblclick", (ev) => this.zoomAt(0.4, ev.offsetX));
		host.addEventListener("keydown", (ev) => this.key(ev));
	}

	private time(x: number): number {
		return this.o.view.from + ((x - this.o.left) / this.o.width()) * this.o.view.span;
	}

	private zoomAt(factor: number, x: number): void {
		this.o.view.zoom(factor, this.time(Math.max(this.o.left, x)));
		this.o.changed();
	}

	private wheel(ev: WheelEvent): void {
		const unit = ev.deltaMode === 1 ? 16 : ev.deltaMode === 2 ? 200 : 1;
		const [dx, dy] = [ev.deltaX * unit, ev.deltaY * unit];
		ev.preventDefault();
		if (this.o.scroll && (ev.offsetX < this.o.left || ev.altKey)) {
			this.o.scroll(dy);
		} else if (ev.shiftKey || Math.abs(dx) > Math.abs(dy)) {
			this.o.view.pan(((dx || dy) / this.o.width()) * this.o.view.span);
			this.o.changed();
		} else {
			this.zoomAt(Math.exp(Math.max(-1, Math.min(1, dy * 0.0022))), ev.offsetX);
		}
	}

	private down(ev: PointerEvent): void {
		if (ev.button !== 0) return;
		this.canvas.setPointerCapture(ev.pointerId);
		this.touches.set(ev.pointerId, ev.offsetX);
		this.drag = { x: ev.offsetX, y: ev.offsetY, from: this.o.view.from, startX: ev.offsetX, moved: false, selects: ev.shiftKey };
		this.host.focus({ preventScroll: true });
	}

	private move(ev: PointerEvent): void {
		const d = this.drag;
		if (!d || !this.touches.has(ev.pointerId)) return;
		if (this.touches.size === 2) {
			this.pinch(ev);
			return;
		}
		if (Math.hypot(ev.offsetX - d.startX, ev.offsetY - d.y) > CLICK) d.moved = true;
		if (!d.moved) return;
		if (d.selects) {
			this.showBand(d.startX, ev.offsetX);
			return;
		}
		this.o.view.pan(((d.x - ev.offsetX) / this.o.width()) * this.o.view.span);
		this.o.scroll?.(d.y - ev.offsetY);
		d.x = ev.offsetX;
		d.y = ev.offsetY;
		this.o.changed();
	}

	private pinch(ev: PointerEvent): void {
		const [a, b] = [...this.touches.values()];
		const before = Math.abs(a - b);
		this.touches.set(ev.pointerId, ev.offsetX);
		const [c, d] = [...this.touches.values()];
		if (before > 10 && Math.abs(c - d) > 10) this.zoomAt(before / Math.abs(c - d), (c + d) / 2);
		if (this.drag) this.drag.moved = true;
	}

	private up(ev: PointerEvent): void {
		const d = this.drag;
		this.touches.delete(ev.pointerId);
		if (this.touches.size > 0) return;
		this.drag = null;
		this.band.hidden = true;
		if (!d || ev.type === "pointercancel") return;
		if (!d.moved) {
			this.o.click?.(ev.offsetX, ev.offsetY);
		} else if (d.selects && Math.abs(ev.offsetX - d.startX) > CLICK) {
			const [a, b] = [this.time(d.startX), this.time(ev.offsetX)];
			this.o.view.set(Math.min(a, b), Math.max(a, b));
			this.o.changed();
		}
	}

	private showBand(a: number, b: number): void {
		this.band.hidden = false;
		this.band.style.left = `${Math.max(this.o.left, Math.min(a, b))}px`;
		this.band.style.width = `${Math.abs(a - b)}px`;
	}

	private key(ev: KeyboardEvent): void {
		if (ev.target !== this.host || ev.ctrlKey || ev.metaKey || ev.altKey) return;
		if (this.o.key?.(ev)) {
			ev.preventDefault();
			return;
		}
		const v = this.o.view;
		const middle = (v.from + v.to) / 2;
		const far = ev.shiftKey ? 0.5 : 0.1;
		const acts: Record<string, () => void> = {
			"+": () => v.zoom(0.6, middle), "=": () => v.zoom(0.6, middle), "-": () => v.zoom(1 / 0.6, middle), "_": () => v.zoom(1 / 0.6, middle),
			ArrowLeft: () => v.pan(-far * v.span), ArrowRight: () => v.pan(far * v.span),
			"0": () => v.fit(), Home: () => v.pan(-Infinity), End: () => v.pan(Infinity),
		};
		const act = acts[ev.key];
		if (!act) return;
		act();
		ev.preventDefault();
		this.o.changed();
	}
}
