// SPDX-License-Identifier: MIT
// memory_page.ts - the page of `mem html`: its head, introduction and parts.
//
//   #view=layouts&type=3&q=conn      a part, the layout of a type, the filter

import { h } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { headBar } from "../ui/head_bar.ts";
import { PartPage } from "../ui/part_page.ts";
import { functionsPart, missFlamePart, sourcePart } from "./code_parts.ts";
import { awaitsPart, coroutinesPart } from "./coroutines.ts";
import { allocationsPart, cachesPart, layoutsPart, sharedPart, sourceLinesPart, threadsPart, typesPart } from "./parts.ts";
import type { MemoryData } from "./types.ts";

function notes(d: MemoryData): string[] {
	const out: string[] = [];
	if (d.lost > 0 || d.lost_unknown)
		out.push(`${d.lost_unknown ? "More than " : ""}${fmt.count(d.lost)} accesses are missing in the trace: these are the figures of the others.`);
	if (d.left_out > 0) out.push(`${fmt.count(d.left_out)} accesses were left out on purpose.`);
	if (d.sampled) out.push("The trace is a sample: each access counts as those it stands for, and misses are over-estimated.");
	return [...out, ...d.problems];
}

// How much of the heap's cost has a name.
function heapNames(d: MemoryData): string | null {
	const names = [["annotated", "annotated"], ["by_vote", "by type (vote of the instructions)"], ["by_code", "by type (accessing instruction)"],
		["by_site", "by allocation site"], ["unnamed", "unnamed"]] as const;
	const all = names.reduce((sum, [key]) => sum + d.heap_cost[key], 0);
	if (all === 0) return null;
	return `Cost of the heap's misses: ${names.filter(([key]) => d.heap_cost[key] > 0).map(([key, text]) => `${text} ${fmt.percent(d.heap_cost[key], all)}`).join(", ")}.`;
}

function head(d: MemoryData): HTMLElement {
	const facts: [string, string][] = [["accesses", fmt.count(d.simulated)], ["threads", fmt.count(d.threads.length)],
		["lost", `${fmt.count(d.lost)}${d.lost_unknown ? " or more" : ""}`]];
	const loud = d.lost > 0 || d.lost_unknown;
	return headBar(h("h1", { title: d.title }, d.title), h("dl", { class: "facts" }, ...facts.map(([key, value]) =>
		h("div", { class: `fact ${key === "lost" ? (loud ? "loud" : "quiet") : ""}`, data: { fact: key } }, h("dt", null, key), h("dd", null, value)))));
}

function intro(d: MemoryData): HTMLElement {
	const heap = heapNames(d);
	return h("div", { class: "intro" },
		h("h2", null, `Cache misses of ${d.title}`),
		d.command.length > 0 ? h("p", { class: "muted mono" }, d.command.join(" ")) : null,
		h("p", null, `${fmt.count(d.simulated)} accesses, simulated with caches of ${d.machine_from}, lines of ${d.machine.levels[0].line} bytes.`),
		heap === null ? null : h("p", null, heap),
		...notes(d).map((text) => h("p", { class: "remark" }, text)));
}

export function buildMemoryPage(root: HTMLElement, d: MemoryData): void {
	new PartPage(root, {
		title: `${d.title} – cache misses`,
		head: head(d),
		intro: intro(d),
		parts: [cachesPart(d), typesPart(d), allocationsPart(d), layoutsPart(d), sharedPart(d), sourceLinesPart(d), functionsPart(d), missFlamePart(d),
			sourcePart(d), coroutinesPart(d), awaitsPart(d), threadsPart(d)].filter((p) => p !== null),
		foot: "Cost is misses weighted by what the next level takes, about as many cycles. Made by corotracer mem html.",
		filterLabel: "Filter by name, file or address",
		target: ({ type }) => (/^\d+$/.test(type ?? "") ? document.getElementById(`type-${type}`) : null),
	});
}
