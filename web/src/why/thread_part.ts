// SPDX-License-Identifier: MIT
// thread_part.ts - the threads of the program: their state, and what each runs or waits for.

import { h } from "../base/dom.ts";
import { tablePart, type PagePart } from "../ui/part_page.ts";
import { SortTable, type SortColumn } from "../ui/sort_table.ts";
import { stackList, stackText } from "./stack_list.ts";
import type { NativeFrame, WhyData, WhyThread } from "./types.ts";
import { coroutineText, threadWaitText } from "./wait_lines.ts";

const STATES: Record<string, string> = { R: "running", S: "sleeping", D: "in the kernel, not interruptible", T: "stopped", t: "stopped by a tracer", Z: "ended", "?": "unknown" };

const runsText = (t: WhyThread) => [
	t.runs ? (t.frame ? coroutineText(t.runs, t.frame) : t.runs) : "",
	t.block_on?.length ? `block_on: ${stackText(t.block_on)}` : "",
].filter((text) => text !== "").join("; ");

function runsCell(t: WhyThread): HTMLElement {
	return h("div", null, t.runs ? h("div", { class: "mono" }, t.frame ? coroutineText(t.runs, t.frame) : t.runs) : null,
		t.block_on?.length ? h("div", null, h("span", { class: "muted" }, "with block_on():"), stackList({ stack: t.block_on })) : null);
}

const nativeText = (f: NativeFrame) => `${f.function ?? "?"} ${f.file === null ? "" : `${f.file}:${f.line ?? "?"}`}`.trim();

function nativeCell(t: WhyThread): HTMLElement | string {
	if (!t.stack?.length) return "";
	return h("details", null, h("summary", null, nativeText(t.stack[0])), h("ol", { class: "await-stack mono" }, ...t.stack.map((f) => h("li", null, nativeText(f)))));
}

// Columns that no thread has a value for are left out.
export function whyThreadsPart(d: WhyData): PagePart {
	const some = (which: (t: WhyThread) => unknown, column: SortColumn<WhyThread>) => (d.threads.some((t) => which(t)) ? [column] : []);
	const table = new SortTable<WhyThread>({
		label: "Threads", rows: d.threads, empty: "No thread is known.", columns: [
			{ key: "tid", label: "Thread", value: (t) => String(t.tid) },
			{ key: "name", label: "Name", class: "name", value: (t) => t.name ?? "" },
			{ key: "state", label: "State", value: (t) => STATES[t.state] ?? t.state },
			{ key: "system_call", label: "System call", class: "mono", value: (t) => t.system_call ?? "" },
			...some((t) => t.waits_for, { key: "waits_for", label: "Waits for", value: (t) => threadWaitText(t.waits_for) }),
			...some(runsText, { key: "runs", label: "Runs", class: "name", value: runsText, show: runsCell }),
			...some((t) => t.stack?.length, { key: "stack", label: "Native stack", class: "name", value: (t) => (t.stack ?? []).map(nativeText).join(" <- "), show: nativeCell }),
		],
	});
	return tablePart("threads", "Threads", "Threads", table, d.threads.length, "threads");
}
