// SPDX-License-Identifier: MIT
// why_page.ts - the page of `why --html`: its head, introduction and parts.
//
//   #view=groups&group=3&q=serve      a part, a group, the filter

import { h } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { headBar } from "../ui/head_bar.ts";
import { PartPage } from "../ui/part_page.ts";
import { groupsPart, treePart } from "./parts.ts";
import { ringsPart } from "./rings.ts";
import { whyThreadsPart } from "./thread_part.ts";
import type { Group, WhyData } from "./types.ts";

const whyTitle = (d: WhyData) => `${d.name ?? "process"} (${d.pid})`;

function whyHead(d: WhyData): HTMLElement {
	const total = (which: (g: Group) => boolean) => d.groups.reduce((sum, g) => sum + (which(g) ? g.count : 0), 0);
	const faults = total((g) => g.verdict !== "waiting");
	const ready = total((g) => g.state === "ready");
	const rings = d.rings?.length ?? 0;
	const facts: [string, number, string][] = [["coroutines", d.coroutines, ""], ["groups", d.groups.length, ""], ["threads", d.threads.length, ""]];
	if (ready > 0) facts.push(["ready to run", ready, ""]);
	if (rings > 0) facts.push(["rings", rings, "loud"]);
	facts.push(["not just waiting", faults, faults > 0 ? "loud" : "quiet"]);
	return headBar(h("h1", { title: whyTitle(d) }, whyTitle(d)), h("dl", { class: "facts" }, ...facts.map(([key, value, tone]) =>
		h("div", { class: `fact ${tone}`, data: { fact: key } }, h("dt", null, key), h("dd", null, fmt.count(value))))));
}

function whyIntro(d: WhyData): HTMLElement {
	const more: [number, string][] = [[d.finished, "at their end and not destroyed"], [d.running, "running"], [d.changed, "that ran while they were read"]];
	const remarks = [d.busy ? "Threads ran all the time: the state of descriptors was not used." : null, d.problem];
	return h("div", { class: "intro" },
		h("h2", null, `What the coroutines of ${whyTitle(d)} wait for`),
		h("p", null, [`${fmt.count(d.coroutines)} suspended coroutines`, ...more.filter(([n]) => n > 0).map(([n, text]) => `${fmt.count(n)} ${text}`)].join(", "), "."),
		d.stopped_ns > 0 ? h("p", null, `The threads were stopped for ${fmt.duration(d.stopped_ns)} in total.`) : null,
		...remarks.map((text) => (text === null ? null : h("p", { class: "remark" }, text))));
}

export function buildWhyPage(root: HTMLElement, d: WhyData): void {
	new PartPage(root, {
		title: `${whyTitle(d)} – waiting coroutines`,
		head: whyHead(d),
		intro: whyIntro(d),
		parts: [...(d.rings?.length ? [ringsPart(d, d.rings)] : []), treePart(d), groupsPart(d), whyThreadsPart(d)],
		foot: "Coroutines with the same stack of awaits and the same verdict are one group. Made by corotracer why --html.",
		filterLabel: "Filter by function, file, verdict or address",
		target: ({ group }) => (/^\d+$/.test(group ?? "") ? document.getElementById(`group-${group}`) : null),
	});
}
