// SPDX-License-Identifier: MIT
// wait_lines.ts - what a group of coroutines waits for, in words.

import * as fmt from "../base/format.ts";
import type { Descriptor, Group, ThreadWait, WaitObject, WaitsFor } from "./types.ts";

// Only tasks of Rust have a state.
export const isRust = (g: Group) => g.state !== undefined;

// "due in 59 min 58 s".  @several: the earliest of more than one.
export function dueText(ms: number, several: boolean): string {
	const time = fmt.duration(Math.abs(ms) * 1e6);
	if (ms < 0) return `${several ? "the first " : ""}was due ${time} ago`;
	return several ? `the first due in ${time}` : `due in ${time}`;
}

function descriptorText(d: Descriptor): string {
	const words = [d.state === "closed" ? "closed" : d.state === null ? "state unknown" : (d.type ?? "open")];
	if (d.peer) words.push(`peer ${d.peer}`);
	if (d.readable) words.push("readable");
	if (d.unread) words.push(`${fmt.count(d.unread)} unread`);
	if (d.watched === false) words.push("in no epoll set");
	if (d.edge_triggered) words.push("edge-triggered");
	if (d.disarmed) words.push("disarmed");
	return `${d.in_awaiter ? "" : "holds "}descriptor ${d.descriptor}: ${words.join(", ")}`;
}

// "transfer (0x5581a0)", or the address alone.
export function coroutineText(name: string | null | undefined, address: string): string {
	return name ? `${name} (${address})` : address;
}

function objectText(kind: string, o: WaitObject): string {
	const words = [`${kind} ${o.object}`];
	if (o.waiters > 1) words.push(`${fmt.count(o.waiters)} of the group`);
	if (o.holder) words.push(`held by ${coroutineText(o.holder_function, o.holder)}`);
	return words.join(", ");
}

const KINDS: Record<string, string> = { futures: "several futures at once", task: "the end of a task", child: "the end of a child process", awaiter: "" };
const KNOWN = new Set(["kind", "type", "certain", "due_in_ms", "objects", "task", "descriptors"]);

// Values that this page does not know, by their names.
function otherValues(w: WaitsFor): string[] {
	return Object.entries(w).filter(([key, value]) => !KNOWN.has(key) && value !== null && !(Array.isArray(value) && value.length === 0))
		.map(([key, value]) => `${key} ${typeof value === "object" ? JSON.stringify(value) : value}`);
}

// The line of the kind itself; "": the other lines say it.
function kindText(w: WaitsFor, count: number): string {
	const objects = w.objects ?? [];
	const rest = [...(w.due_in_ms === undefined ? [] : [dueText(w.due_in_ms, count > 1 || w.kind === "futures")]), ...otherValues(w)];
	const named = objects.length > 0 || (w.descriptors ?? []).length > 0 && w.kind === "descriptor";
	if (named && rest.length === 0) return "";
	const kind = w.task ? `the end of task ${w.task}` : w.kind === "awaiter" ? (w.type ?? "") : (KINDS[w.kind] ?? w.kind);
	return [kind, ...rest, ...(w.certain === false ? ["not certain"] : [])].filter((t) => t !== "").join(", ");
}

export function waitLines(w: WaitsFor | null, count = 1): string[] {
	if (w === null) return [];
	if (w.kind === "start") return ["not started"];
	if (w.kind === "processor") return ["a thread of the runtime: it was woken"];
	const uncertain = w.certain === false ? ", not certain" : "";
	return [kindText(w, count), ...(w.objects ?? []).map((o) => objectText(w.kind, o) + uncertain), ...(w.descriptors ?? []).map(descriptorText)]
		.filter((line) => line !== "");
}

export function threadWaitText(w: ThreadWait | null | undefined): string {
	if (!w) return "";
	if (w.kind === "thread") return `the end of thread ${w.holder}`;
	if (w.kind === "future") return `the future of a ${w.type} (${w.object})${w.holder === null ? "" : `, run by thread ${w.holder}`}`;
	return `${w.kind === "lock" ? "mutex" : w.kind} ${w.object}, held by thread ${w.holder}`;
}
