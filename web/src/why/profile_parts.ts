// SPDX-License-Identifier: MIT
// profile_parts.ts - the parts of the page of `why --sample --html`: flame graph and table of stacks.

import { button, h, setText } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { tablePart, type PagePart } from "../ui/part_page.ts";
import { buildFlameTree, TASK_STATES, type FlameNode } from "../data/flame_tree.ts";
import { FlameBox } from "../ui/flame_box.ts";
import { stateKey, stateStrip, stateTone } from "../ui/flame_states.ts";
import { panel } from "../ui/parts.ts";
import { SortTable } from "../ui/sort_table.ts";
import { functionText, placeText, stackList } from "./stack_list.ts";
import type { ProfileData, ProfileStack } from "./types.ts";

const STACKS_SHOWN = 300;

// ---- texts ----

export const taskTime = (d: ProfileData, samples: number) => fmt.duration(samples * d.period_ns);

const nodeText = (n: FlameNode) => `${functionText(n.level)} ${placeText(n.level)} ${n.level.awaits ?? ""}`;

function nodeFacts(d: ProfileData, n: FlameNode): [string, string][] {
	return [
		["place", placeText(n.level)],
		["share", fmt.percent(n.samples, d.samples)],
		["task time", taskTime(d, n.samples)],
		["tasks on average", (n.samples / Math.max(1, d.looks)).toFixed(1)],
		...TASK_STATES.map((s, i): [string, string] => [s, fmt.percent(n.states[i], n.samples)]).filter((_, i) => n.states[i] > 0),
		...(n.own > 0 && n.own < n.samples ? [["innermost here", taskTime(d, n.own)] as [string, string]] : []),
	];
}

// ---- flame graph ----

function flameBox(d: ProfileData, back: HTMLButtonElement): FlameBox<FlameNode> {
	return new FlameBox<FlameNode>(buildFlameTree(d.stacks), back, {
		empty: "No task was seen.",
		text: nodeText,
		title: (n) => functionText(n.level),
		facts: (n) => nodeFacts(d, n),
		tone: stateTone,
		label: (n) => [functionText(n.level), n.level.line === null ? null : h("span", { class: "muted" }, `:${n.level.line}`)],
		strip: stateStrip,
	});
}

export function flamePart(d: ProfileData): PagePart {
	const back = button("Show all", () => flame.reset(), { class: "button quiet" });
	const flame = flameBox(d, back);
	const box = panel("Flame graph", { tools: [back] });
	box.el.id = "flame";
	box.body.append(h("p", { class: "muted" }, "Each coroutine awaits those below it. The width is the time that tasks spent in these stacks; a click zooms in, Escape zooms out."),
		stateKey(), flame.el);
	const filter = (words: readonly string[]) => {
		const share = flame.search(words);
		setText(box.note, share === null ? "" : `${fmt.percent(share, 1)} of the task time matches`);
	};
	return { view: "flame", label: "Flame graph", el: box.el, filter };
}

// ---- stacks ----

export function stacksPart(d: ProfileData): PagePart {
	const table = new SortTable<ProfileStack>({
		label: "Stacks", rows: d.stacks, limit: STACKS_SHOWN, empty: "No task was seen.", columns: [
			{ key: "percent", label: "Share", end: true, value: (s) => s.percent, show: (s) => fmt.percent(s.samples, d.samples) },
			{ key: "task_seconds", label: "Task time", end: true, title: "Tasks times time", value: (s) => s.task_seconds, show: (s) => taskTime(d, s.samples) },
			{ key: "tasks", label: "Tasks", end: true, title: "Tasks on average", value: (s) => s.tasks, show: (s) => s.tasks.toFixed(1) },
			{ key: "most", label: "At most", end: true, title: "Tasks in one look, at most", value: (s) => s.most },
			{ key: "state", label: "State", value: (s) => s.state, show: (s) => h("span", { class: "nowrap flame-key" }, h("i", { class: `flame-${s.state}` }), s.state) },
			{ key: "stack", label: "Stack, innermost first", class: "name", value: (s) => s.stack.map((l) => `${functionText(l)} ${placeText(l)}`.trim()).join(" <- "), show: (s) => stackList(s) },
		],
	});
	return tablePart("stacks", "Stacks", "Stacks", table, d.stacks.length, "stacks");
}
