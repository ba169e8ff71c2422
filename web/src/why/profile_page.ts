// SPDX-License-Identifier: MIT
// profile_page.ts - the page of `why --sample --html`: its head, introduction and parts.

import { h } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { headBar } from "../ui/head_bar.ts";
import { PartPage } from "../ui/part_page.ts";
import { TASK_STATES } from "../data/flame_tree.ts";
import { flamePart, stacksPart, taskTime } from "./profile_parts.ts";
import type { ProfileData } from "./types.ts";

const profileTitle = (d: ProfileData) => `${d.name ?? "process"} (${d.pid})`;

function profileHead(d: ProfileData): HTMLElement {
	const facts: [string, string][] = [["looks", fmt.count(d.looks)], ["tasks on average", d.tasks.toFixed(1)],
		...TASK_STATES.filter((s) => d.states[s].samples > 0).map((s): [string, string] => [s, fmt.percent(d.states[s].samples, d.samples)])];
	return headBar(h("h1", { title: profileTitle(d) }, profileTitle(d)), h("dl", { class: "facts" }, ...facts.map(([key, value]) =>
		h("div", { class: "fact", data: { fact: key } }, h("dt", null, key), h("dd", null, value)))));
}

// What the looks did not see; first what makes the profile incomplete.
function profileRemarks(d: ProfileData): HTMLElement[] {
	const say = (all: readonly [number, string][], tone: string) => all.filter(([n]) => n > 0).map(([n, text]) => h("p", { class: tone }, `${fmt.count(n)} ${text}.`));
	return [
		...say([[d.late, "looks left out: the one before took too long"], [d.failed, "looks failed"], [d.bytes_failed, "bytes could not be read"]], "remark"),
		...(d.problem === null ? [] : [h("p", { class: "remark" }, d.problem)]),
		...say([
			[d.changed, "times a task ran while it was read, and was left out"],
			[d.threads_unknown, "times the native stack of a thread was not known; a coroutine on it counts as waiting where it was suspended last"],
			[d.frames_unknown, "times a thread ran one of several coroutines of a function: they count as waiting"],
			[d.reloads, "times the modules of the program changed"],
		], "muted"),
	];
}

function profileIntro(d: ProfileData): HTMLElement {
	return h("div", { class: "intro" },
		h("h2", null, `Where the tasks of ${profileTitle(d)} spend their time`),
		h("p", null, `${fmt.count(d.looks)} looks in ${fmt.duration(d.elapsed_ns)}, each stands for ${fmt.duration(d.period_ns)}: ${taskTime(d, d.samples)} of task time. `,
			`A look took ${fmt.duration(d.look_ns)}, at most ${fmt.duration(d.look_max_ns)}, and ${fmt.duration(d.look_cpu_ns)} of CPU.`),
		d.stopped_ns > 0 ? h("p", null, `The threads were stopped for ${fmt.duration(d.stopped_ns)} in total.`) : null,
		...profileRemarks(d));
}

export function buildProfilePage(root: HTMLElement, d: ProfileData): void {
	new PartPage(root, {
		title: `${profileTitle(d)} – profile of waiting`,
		head: profileHead(d),
		intro: profileIntro(d),
		parts: [flamePart(d), stacksPart(d)],
		foot: "Task time is the number of tasks times the time that each look stands for. Made by corotracer why --sample --html.",
		filterLabel: "Search functions and files",
	});
}
