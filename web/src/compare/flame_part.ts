// SPDX-License-Identifier: MIT
// flame_part.ts - the flame graph of the difference: red with ▲ for more time, blue with ▼ and hatching for less.

import { button, h, setText } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { FlameBox } from "../ui/flame_box.ts";
import type { PagePart } from "../ui/part_page.ts";
import { panel } from "../ui/parts.ts";
import { changeText } from "./change_text.ts";
import { buildDiffTree, changeLevel, type DiffNode, type FlameScale } from "./diff_flame.ts";
import type { CompareData } from "./types.ts";

export interface DiffFlamePart extends PagePart {
	setScale(scale: FlameScale): void;
}

const placeText = (n: DiffNode) => (n.time.file ? `${n.time.file}${n.time.line > 0 ? `:${n.time.line}` : ""}` : "");

function nodeFacts(d: CompareData, n: DiffNode): [string, string][] {
	const perRun = (ns: number, runs: number) => fmt.duration(ns / Math.max(1, runs));
	const [b, t] = [n.time.base_ns, n.time.head_ns];
	return [
		...(placeText(n) === "" ? [] : [["place", placeText(n)] as [string, string]]),
		["base, share", fmt.percent(b, d.flame.base_ns)], ["head, share", fmt.percent(t, d.flame.head_ns)],
		["change of the share", changeText(b / Math.max(1, d.flame.base_ns), t / Math.max(1, d.flame.head_ns))],
		["base, a run", perRun(b, d.base.length)], ["head, a run", perRun(t, d.head.length)],
		["change of the time", changeText(b / Math.max(1, d.base.length), t / Math.max(1, d.head.length))],
	];
}

const MARKS = ["", "▲", "▲▲", "▲▲▲"] as const;

function nodeLabel(n: DiffNode, top: DiffNode): (Node | string)[] {
	const level = changeLevel(n, top);
	const mark = level >= 0 ? MARKS[level] : MARKS[-level].replaceAll("▲", "▼");
	return [mark === "" ? "" : h("b", null, `${mark} `), n.time.name];
}

// How the width is divided between base and head.
function sidesStrip(n: DiffNode): HTMLElement {
	const strip = h("span", { class: "flame-states", aria: { hidden: true } });
	for (const [side, value] of [["base", n.base], ["head", n.head]] as const) {
		const part = h("i", { class: `side-${side}` });
		part.style.width = `${(100 * value / Math.max(1e-9, n.samples)).toFixed(2)}%`;
		strip.append(part);
	}
	return strip;
}

function scaleButtons(go: (scale: FlameScale) => void): { el: HTMLElement; show(scale: FlameScale): void } {
	const share = button("Share of the time", () => go("share"));
	const time = button("Time in a run", () => go("time"));
	return {
		el: h("span", { class: "segments", role: "group", aria: { label: "Scale of the flame graph" } }, share, time),
		show: (scale) => {
			share.setAttribute("aria-pressed", String(scale === "share"));
			time.setAttribute("aria-pressed", String(scale === "time"));
		},
	};
}

const legend = () => h("p", { class: "flame-key muted" },
	h("span", null, h("i", { class: "flame-up" }), "▲ more in the head"), h("span", null, h("i", { class: "flame-down" }), "▼ less in the head, hatched"),
	h("span", null, h("i", { class: "side-base" }), "strip: base"), h("span", null, h("i", { class: "side-head" }), "head"));

function missingText(d: CompareData): string {
	const { hidden, unknown, left_out } = d.flame;
	const say = [hidden > 0 ? `${fmt.plural(hidden, "small node")} left out of the file` : "",
		unknown > 0 ? `${fmt.plural(unknown, "state")} without a known end` : "", left_out > 0 ? `${fmt.plural(left_out, "event")} that could not be placed` : ""];
	return say.filter((s) => s !== "").join("; ");
}

// @choose: the reader chose another scale.
export function diffFlamePart(d: CompareData, choose: (scale: FlameScale) => void): DiffFlamePart {
	let top = buildDiffTree(d, "share");
	const back = button("Show all", () => flame.reset(), { class: "button quiet" });
	const flame = new FlameBox<DiffNode>(top, back, {
		empty: "No coroutine ran or waited in either trace.",
		text: (n) => `${n.time.name} ${placeText(n)}`,
		title: (n) => n.time.name,
		facts: (n) => nodeFacts(d, n),
		tone: (n) => {
			const level = changeLevel(n, top);
			return level === 0 ? "" : `flame-${level > 0 ? "up" : "down"} level-${Math.abs(level)}`;
		},
		label: (n) => nodeLabel(n, top),
		strip: sidesStrip,
	});
	const scales = scaleButtons(choose);
	const box = panel("Flame graph of the difference", { tools: [scales.el, back] });
	box.el.id = "flame";
	box.body.append(h("p", { class: "muted" }, "Above are the coroutines that created those below; then the place where they wait, and their state. ",
		"The width is the time of both sides together. A click zooms in, Escape zooms out."), legend(), flame.el, h("p", { class: "muted" }, missingText(d)));
	const filter = (words: readonly string[]) => {
		const part = flame.search(words);
		setText(box.note, part === null ? "" : `${fmt.percent(part, 1)} of the time matches`);
	};
	let shown: FlameScale = "share";
	scales.show(shown);
	const setScale = (scale: FlameScale) => {
		if (scale === shown) return;
		shown = scale;
		top = buildDiffTree(d, scale);
		flame.setTop(top);
		scales.show(scale);
	};
	return { view: "flame", label: "Flame graph", el: box.el, filter, setScale };
}
