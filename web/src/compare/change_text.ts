// SPDX-License-Identifier: MIT
// change_text.ts - changes as words, and where a change belongs.

import { h } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import type { Metric, SitePair } from "./types.ts";

export const METRIC_WORDS: Record<Metric, string> = { wait: "waits", ready: "ready, not yet run", run: "runs before it" };

// "+25 %", "−3 %", "×12"; the sign is a word of its own besides the colour.
export function changeText(base: number, head: number): string {
	if (base === head) return "=";
	if (base === 0) return "new";
	if (head === 0) return "gone";
	const ratio = head / base;
	if (ratio >= 10) return `×${ratio < 100 ? ratio.toFixed(1).replace(/\.0$/, "") : fmt.short(Math.round(ratio))}`;
	const percent = Math.round(Math.abs(ratio - 1) * 1000) / 10;
	const digits = percent < 10 ? percent.toFixed(1) : percent.toFixed(0);
	return `${ratio > 1 ? "+" : "−"}${digits} %`;
}

export type PairVerdict = "worse" | "better" | "new" | "gone" | "same" | "few";

// What the comparison says about one metric of a site.
export function pairVerdict(pair: SitePair, metric: Metric): PairVerdict {
	if (!pair.base_place) return "new";
	if (!pair.head_place) return "gone";
	const m = pair[metric];
	if (m.direction !== 0) return m.direction > 0 ? "worse" : "better";
	return !m.base?.count || !m.head?.count ? "few" : "same";
}

const VERDICTS: Record<PairVerdict, { text: string; mark: string; tone: string }> = {
	worse: { text: "longer", mark: "▲", tone: "up" },
	better: { text: "shorter", mark: "▼", tone: "down" },
	new: { text: "new", mark: "+", tone: "" },
	gone: { text: "gone", mark: "−", tone: "" },
	same: { text: "within noise", mark: "", tone: "quiet" },
	few: { text: "no values", mark: "", tone: "quiet" },
};

export const verdictText = (v: PairVerdict): string => VERDICTS[v].text;

export function verdictBadge(v: PairVerdict): HTMLElement {
	const { text, mark, tone } = VERDICTS[v];
	return h("span", { class: `verdict ${tone}` }, mark === "" ? text : `${mark} ${text}`);
}

export const placeOf = (pair: SitePair): string => (pair.head_place ?? pair.base_place)?.text ?? "";

// "73 %": how often a value of the head is larger than one of the base.
export const largerText = (larger: number): string => (larger === 0 ? fmt.dash : fmt.percent(larger, 1));

export const median = (values: readonly number[]): number => {
	const sorted = [...values].sort((a, b) => a - b);
	return sorted[sorted.length >> 1] ?? 0;
};
