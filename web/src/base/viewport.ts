// SPDX-License-Identifier: MIT
// viewport.ts - the visible part of time: zoomed, moved, kept within the run.

export const NARROWEST = 20; // ns

export class Viewport {
	from = 0;
	to = 1;
	private low = 0;
	private high = 1;

	// A margin at both ends, so that the very beginning is visible.
	setLimits(low: number, high: number): void {
		const margin = Math.max(10, (high - low) * 0.01);
		this.low = low - margin;
		this.high = Math.max(high + margin, low + NARROWEST);
	}

	get span(): number {
		return this.to - this.from;
	}

	get isWhole(): boolean {
		return this.from <= this.low && this.to >= this.high;
	}

	fit(): void {
		this.from = this.low;
		this.to = this.high;
	}

	set(from: number, to: number): void {
		const whole = this.high - this.low;
		const span = Math.min(whole, Math.max(NARROWEST, to - from));
		const middle = (from + to) / 2;
		let begin = middle - span / 2;
		begin = Math.min(Math.max(begin, this.low), this.high - span);
		this.from = begin;
		this.to = begin + span;
	}

	// @factor below 1 zooms in; @at stays where it is on the screen.
	zoom(factor: number, at: number): void {
		const whole = this.high - this.low;
		const span = Math.min(whole, Math.max(NARROWEST, this.span * factor));
		const part = (at - this.from) / this.span;
		let begin = at - part * span;
		begin = Math.min(Math.max(begin, this.low), this.high - span);
		this.from = begin;
		this.to = begin + span;
	}

	pan(ns: number): void {
		const span = this.span;
		const begin = Math.min(Math.max(this.from + ns, this.low), this.high - span);
		this.from = begin;
		this.to = begin + span;
	}
}

// Round times between @from and @to, at most @most of them.
export function ticks(from: number, to: number, most: number): { step: number; at: number[] } {
	const rough = (to - from) / Math.max(1, most);
	const power = 10 ** Math.floor(Math.log10(Math.max(1e-3, rough)));
	const step = Math.max(1, [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? power * 10);
	const at: number[] = [];
	for (let t = Math.ceil(from / step) * step; t <= to && at.length < 1000; t += step) at.push(Math.round(t));
	return { step, at };
}
