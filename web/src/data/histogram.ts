// SPDX-License-Identifier: MIT
// histogram.ts - steps of the bundle's histograms: four to each power of two.

import type { Histogram } from "./types.ts";

// The smallest value of step @s.
export function lower(s: number): number {
	return s < 4 ? s : (4 + (s % 4)) * 2 ** (Math.floor(s / 4) - 2);
}

// In @count bins of equal width on a logarithmic scale; values outside go to the first and last
// bin.
export function rebin(hist: Histogram, low: number, high: number, count: number): number[] {
	const bins = new Array<number>(count).fill(0);
	const scale = count / Math.log(high / low);
	for (const [step, n] of hist.steps) {
		const [from, to] = [Math.max(1, lower(step)), Math.max(1, lower(step + 1))];
		const at = Math.floor(Math.log(Math.sqrt(from * to) / low) * scale);
		bins[Math.max(0, Math.min(count - 1, at))] += n;
	}
	return bins;
}
