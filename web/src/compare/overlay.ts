// SPDX-License-Identifier: MIT
// overlay.ts - the histograms of both sides on one time scale: the base as bars, the head as a line.

import { h, svg } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { lower, rebin } from "../data/histogram.ts";
import type { SiteSide } from "./types.ts";

const [WIDTH, HEIGHT, FOOT] = [480, 110, 18];

export interface OverlayBins {
	low: number;
	high: number;
	base: number[];            // parts of all values of the side
	head: number[];
}

const edges = (side: SiteSide | null): number[] => (side && side.count > 0 ? [lower(side.steps[0]?.[0] ?? 0), side.max_ns + 1] : []);

function partsOf(side: SiteSide | null, low: number, high: number, bins: number): number[] {
	if (!side || side.count === 0) return new Array<number>(bins).fill(0);
	const out = rebin({ nr: side.count, max: side.max_ns, p50: side.p50_ns, p90: side.p90_ns, p99: side.p99_ns, steps: side.steps }, low, high, bins);
	return out.map((n) => n / side.count);
}

// Whole powers of ten around all values; null: no values.
export function overlayBins(base: SiteSide | null, head: SiteSide | null): OverlayBins | null {
	const all = [...edges(base), ...edges(head)];
	if (all.length === 0) return null;
	const low = 10 ** Math.floor(Math.log10(Math.max(1, Math.min(...all))));
	const high = 10 ** Math.ceil(Math.log10(Math.max(low * 10, ...all)));
	const decades = Math.round(Math.log10(high / low));
	const bins = decades * Math.max(2, Math.min(10, Math.floor(60 / decades)));
	return { low, high, base: partsOf(base, low, high, bins), head: partsOf(head, low, high, bins) };
}

function axis(out: SVGElement, b: OverlayBins): void {
	const decades = Math.round(Math.log10(b.high / b.low));
	for (let i = 0; i <= decades; i++) {
		const x = (i / decades) * WIDTH;
		out.appendChild(svg("line", { x1: x, x2: x, y1: 0, y2: HEIGHT, class: "hist-line" }));
		if (decades >= 8 && i % 2 === 1) continue;
		const label = svg("text", { x: Math.min(WIDTH - 1, Math.max(1, x)), y: HEIGHT + 13, "text-anchor": i === 0 ? "start" : i === decades ? "end" : "middle" });
		label.textContent = fmt.offset(b.low * 10 ** i, b.low * 10 ** i);
		out.appendChild(label);
	}
}

// The line goes up and down at the edges of the bins, so that it can be compared with the bars.
function outline(parts: readonly number[], heightOf: (part: number) => number): string {
	const w = WIDTH / parts.length;
	const steps = parts.map((part, i) => `L${(i * w).toFixed(1)} ${(HEIGHT - heightOf(part)).toFixed(1)}H${((i + 1) * w).toFixed(1)}`);
	return `M0 ${HEIGHT}${steps.join("")}V${HEIGHT}`;
}

export function overlayChart(label: string, base: SiteSide | null, head: SiteSide | null): HTMLElement {
	const b = overlayBins(base, head);
	if (!b) return h("p", { class: "muted" }, "No values on either side.");
	const most = Math.max(...b.base, ...b.head, 1e-9);
	const heightOf = (part: number) => (part === 0 ? 0 : Math.max(2, (HEIGHT - 4) * Math.sqrt(part / most)));
	const out = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT + FOOT}`, class: "histogram overlay", role: "img" });
	const side = (s: SiteSide | null) => (s && s.count > 0 ? `${fmt.count(s.count)}, median ${fmt.duration(s.p50_ns)}, p99 ${fmt.duration(s.p99_ns)}` : "none");
	out.setAttribute("aria-label", `${label}: base ${side(base)}; head ${side(head)}`);
	axis(out, b);
	const w = WIDTH / b.base.length;
	b.base.forEach((part, i) => {
		const t = heightOf(part);
		if (t > 0) out.appendChild(svg("rect", { x: i * w + 0.5, y: HEIGHT - t, width: Math.max(1, w - 1), height: t, class: "overlay-base" }));
	});
	out.appendChild(svg("path", { d: outline(b.head, heightOf), class: "overlay-head" }));
	const box = h("div", { class: "histogram-box" });
	box.appendChild(out);
	return box;
}
