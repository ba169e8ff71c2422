// SPDX-License-Identifier: MIT
// locals.ts - the variables of a coroutine, as text and as a list.

import { h } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import type { Group, Level, Local } from "./types.ts";

const DEPTH_MOST = 20;
const VARIABLES_SHOWN = 100;
const MEMBERS_SHOWN = 100;     // with variables

// ---- texts ----

function scalarText(value: Local["value"]): string {
	if (typeof value === "string") return JSON.stringify(value);
	// A browser rounds large numbers.
	if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)) return `about ${value}`;
	return String(value ?? "null");
}

function innerText(parts: readonly Local[], depth: number, cut: boolean | undefined): string {
	if (depth >= DEPTH_MOST) return "...";
	const words = parts.map((p) => (p.name === undefined ? "" : `${p.name} = `) + valueText(p, depth + 1));
	return [...words, ...(cut ? ["..."] : [])].join(", ");
}

// A pointer, an enumerator and a character are strings in the data: only texts have a length.
export function valueText(l: Local, depth = 0): string {
	return l.unread ? `${knownText(l, depth)} (not in memory)` : knownText(l, depth);
}

function knownText(l: Local, depth: number): string {
	if (l.state !== undefined) return depth === 0 ? l.state : `<${l.state}>`;
	if (l.variant !== undefined) return l.members?.length ? `${l.variant}(${innerText(l.members, depth, l.cut)})` : l.variant;
	if (l.members !== undefined) return `{ ${innerText(l.members, depth, l.cut)} }`;
	if (l.length !== undefined) {
		const length = `length ${fmt.count(l.length)}`;
		if (l.elements !== undefined) return `${length} [${innerText(l.elements, depth, l.cut)}]`;
		return l.value === undefined ? length : `${length} ${scalarText(l.value)}${l.cut ? "..." : ""}`;
	}
	return typeof l.value === "string" ? l.value : scalarText(l.value);
}

export function localText(l: Local): string {
	const unset = l.may_be_unset && l.state === undefined ? " (declared here: may not be set)" : "";
	return `${l.type} ${l.name ?? "?"}${l.state === undefined ? " = " : ": "}${valueText(l)}${unset}`;
}

// ---- lists ----

export interface Variables {
	locals?: Local[];
	locals_problem?: string;
}

// null: the data has no variables.
export function localList(v: Variables): HTMLElement | null {
	if (v.locals === undefined) return null;
	const more = v.locals.length - VARIABLES_SHOWN;
	if (v.locals_problem !== undefined) return h("div", { class: "locals muted" }, `variables unknown: ${v.locals_problem}`);
	if (v.locals.length === 0) return null;
	return h("ul", { class: "locals mono" }, ...v.locals.slice(0, VARIABLES_SHOWN).map((l) => h("li", null, localText(l))),
		more > 0 ? h("li", { class: "muted" }, `and ${fmt.count(more)} more`) : null);
}

// The frames of a group, each with the variables of its stack.
export function memberVariables(g: Group): HTMLElement[] {
	return (g.member_locals ?? []).slice(0, MEMBERS_SHOWN).map((m, i) => h("details", null, h("summary", { class: "mono" }, g.members[i] ?? "?"),
		...m.stack.map((v, level) => h("div", null, h("span", { class: "mono" }, (g.stack[level] as Level | undefined)?.function ?? ""), localList(v)))));
}
