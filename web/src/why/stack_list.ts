// SPDX-License-Identifier: MIT
// stack_list.ts - a stack of awaits as a list, with the branches of select! and join! below their level.

import { h } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { localList } from "./locals.ts";
import type { Branch, Level } from "./types.ts";

const LEVELS_SHOWN = 40;
const BRANCHES_SHOWN = 20;
const BRANCH_DEPTH = 20;       // of branches in branches

export function placeText(l: Level): string {
	return l.file === null ? "" : l.line === null ? l.file : `${l.file}:${l.line}`;
}

export const functionText = (l: Level) => l.function ?? "(unknown function)";

// A branch without a function of its own: "descriptor tokio::io::util::read::Read".
export function branchKind(b: Branch): string {
	return [b.kind ?? "future", b.type].filter((t) => t).join(" ");
}

// All of a stack for search and CSV; the branches are in brackets.
export function stackText(stack: readonly Level[], depth = 0): string {
	return stack.map((l, i) => {
		const branches = depth < BRANCH_DEPTH ? (l.branches ?? []).map((b) => `${b.count > 1 ? `${b.count} x ` : ""}${b.stack.length > 0 ? stackText(b.stack, depth + 1) : branchKind(b)}`) : [];
		return [functionText(l), placeText(l), ...(i === 0 && l.awaits ? ["awaits", l.awaits] : []), ...(branches.length > 0 ? [`[${branches.join(" | ")}]`] : [])].filter((t) => t !== "").join(" ");
	}).join(" <- ");
}

function branchItem(b: Branch, depth: number): HTMLElement {
	return h("div", { class: "await-branch" }, b.count > 1 ? h("span", { class: "muted" }, `${fmt.count(b.count)} × `) : null,
		b.stack.length > 0 ? stackOf(b.stack, depth + 1) : h("span", { class: "mono" }, branchKind(b)));
}

function branchList(l: Level, depth: number): HTMLElement | null {
	const branches = l.branches ?? [];
	if (branches.length === 0 || depth >= BRANCH_DEPTH) return null;
	const more = branches.length - BRANCHES_SHOWN;
	return h("div", { class: "await-branches", aria: { label: "awaited together" }, role: "group" }, ...branches.slice(0, BRANCHES_SHOWN).map((b) => branchItem(b, depth)),
		more > 0 || l.has_more_branches ? h("div", { class: "muted" }, more > 0 ? `and ${fmt.count(more)} more` : "and more") : null);
}

function stackLevel(l: Level, depth: number): HTMLElement {
	return h("li", null, h("span", { class: "mono" }, functionText(l)), " ", h("span", { class: "muted mono" }, placeText(l)),
		l.exact || l.file === null ? null : h("span", { class: "muted" }, " (the function)"), localList(l), branchList(l, depth));
}

function stackOf(stack: readonly Level[], depth: number): HTMLElement {
	const more = stack.length - LEVELS_SHOWN;
	return h("ol", { class: "await-stack" }, ...stack.slice(0, LEVELS_SHOWN).map((l) => stackLevel(l, depth)),
		more > 0 ? h("li", { class: "muted" }, `and ${fmt.count(more)} more`) : null);
}

export const stackList = (g: { stack: readonly Level[] }) => stackOf(g.stack, 0);
