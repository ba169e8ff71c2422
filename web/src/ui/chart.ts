// SPDX-License-Identifier: MIT
// chart.ts - lines over time, on uPlot: shared cursor, the page's colours, numbers for screen
// readers.

import uPlot from "uplot";
import { h } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { colour, onTheme } from "../base/theme.ts";

export interface Line {
	label: string;
	colour: string;            // a name of the palette
	dash?: number[];
	fill?: boolean;
	width?: number;
	points?: boolean;
	stepped?: boolean;
}

export interface ChartOptions {
	label: string;
	lines: Line[];
	height: number;
	sync?: string;
	unit?: (v: number) => string;
	idle?: "last" | "peak";    // what the legend shows without a cursor
	onRange?(from: number, to: number): void;
}

export type Columns = [Float64Array | number[], ...(Float64Array | number[] | (number | null)[])[]];

function axisStep(ticks: number[]): number {
	return ticks.length > 1 ? ticks[1] - ticks[0] : 1;
}

function alpha(hex: string, a: number): string {
	const n = Math.round(a * 255).toString(16).padStart(2, "0");
	return hex.startsWith("#") && hex.length === 7 ? hex + n : hex;
}

function highest(column: ArrayLike<number | null> | undefined): number {
	let top = 0;
	for (let i = 0; i < (column?.length ?? 0); i++) top = Math.max(top, column![i] ?? 0);
	return top;
}

export class Chart {
	readonly el: HTMLElement;
	private readonly o: ChartOptions;
	private readonly legend: HTMLElement;
	private readonly host: HTMLElement;
	private readonly values: HTMLElement[] = [];
	private when: HTMLElement;
	private plot: uPlot | null = null;
	private data: Columns = [[]];
	private readonly stop: () => void;
	private readonly observer: ResizeObserver;

	constructor(o: ChartOptions) {
		this.o = o;
		this.host = h("div", { class: "chart", role: "img", tabindex: 0, aria: { label: o.label } });
		this.when = h("b", null);
		this.legend = h("div", { class: "legend", aria: { hidden: true } });
		for (const line of o.lines) {
			const value = h("b", null);
			this.values.push(value);
			this.legend.append(h("span", null, this.swatch(line), line.label, value));
		}
		this.legend.append(h("span", null, this.when));
		this.el = h("div", null, this.legend, this.host);
		this.observer = new ResizeObserver(() => this.resize());
		this.observer.observe(this.host);
		this.stop = onTheme(() => this.make());
	}

	remove(): void {
		this.stop();
		this.observer.disconnect();
		this.plot?.destroy();
		this.plot = null;
	}

	setData(data: Columns): void {
		this.data = data;
		if (this.plot) this.plot.setData(data as uPlot.AlignedData);
		else this.make();
		this.showValues(null);
	}

	private swatch(line: Line): HTMLElement {
		const el = h("i", { class: "swatch" });
		el.style.borderTop = `2.5px ${line.dash ? (line.dash[0] < 4 ? "dotted" : "dashed") : "solid"} var(--${line.colour})`;
		el.style.width = "1.5rem";
		el.style.display = "inline-block";
		return el;
	}

	private get width(): number {
		return Math.max(200, Math.floor(this.host.clientWidth));
	}

	private resize(): void {
		if (!this.plot) this.make();
		else if (this.plot.width !== this.width) this.plot.setSize({ width: this.width, height: this.o.height });
	}

	private make(): void {
		if (!this.host.isConnected || this.host.clientWidth === 0) return;
		this.plot?.destroy();
		this.plot = new uPlot(this.options(), this.data as uPlot.AlignedData, this.host);
	}

	private options(): uPlot.Options {
		const unit = this.o.unit ?? fmt.short;
		const axis = {
			stroke: colour("muted"), font: "11px system-ui, sans-serif",
			grid: { stroke: colour("line"), width: 1 }, ticks: { show: false },
		};
		return {
			width: this.width, height: this.o.height, legend: { show: false }, padding: [8, 10, 0, 0],
			scales: { x: { time: false }, y: { range: (_u, _min, max) => [0, Math.max(1, max * 1.06)] } },
			cursor: { y: false, sync: this.o.sync ? { key: this.o.sync } : undefined, drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
			hooks: {
				setCursor: [(u) => this.showValues(u.cursor.idx ?? null)],
				setSelect: [(u) => this.selected(u)],
			},
			axes: [
				{ ...axis, values: (_u, ticks) => ticks.map((t) => fmt.offset(t, axisStep(ticks))), space: 90, size: 26 },
				{ ...axis, values: (_u, ticks) => ticks.map(unit), size: 52, space: 34 },
			],
			series: [{}, ...this.o.lines.map((l): uPlot.Series => ({
				label: l.label, stroke: colour(l.colour), width: l.width ?? 1.5, dash: l.dash,
				fill: l.fill ? alpha(colour(l.colour), 0.16) : undefined, points: { show: l.points ?? false },
				paths: l.stepped === false ? undefined : uPlot.paths.stepped!({ align: 1 }),
			}))],
		};
	}

	private selected(u: uPlot): void {
		if (u.select.width < 4) return;
		const from = u.posToVal(u.select.left, "x");
		const to = u.posToVal(u.select.left + u.select.width, "x");
		u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
		this.o.onRange?.(from, to);
	}

	private showValues(idx: number | null): void {
		const i = idx ?? this.data[0].length - 1;
		const peak = idx === null && this.o.idle === "peak";
		const unit = this.o.unit ?? fmt.short;
		this.values.forEach((el, s) => {
			const v = peak ? highest(this.data[s + 1]) : this.data[s + 1]?.[i];
			el.textContent = v === undefined || v === null ? "" : (peak && v > 0 ? "≤ " : "") + unit(v);
		});
		this.when.textContent = i >= 0 && idx !== null ? `at ${fmt.duration(this.data[0][i])}` : "";
	}
}
