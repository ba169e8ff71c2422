// SPDX-License-Identifier: MIT
// parts.ts - the parts of the page of `why --html`: tree, groups, threads.

import { button, h, replace, setText } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { viewHref } from "../base/route.ts";
import { shownOf, tablePart, type PagePart } from "../ui/part_page.ts";
import { bar, empty, panel } from "../ui/parts.ts";
import { matches, SortTable, type SortColumn } from "../ui/sort_table.ts";
import { buildAwaitTree, nodesToOpen, type AwaitNode } from "./await_tree.ts";
import { localList, memberVariables } from "./locals.ts";
import type { Descriptor, Group, Level, WaitsFor, WhyData, WhyThread } from "./types.ts";

const OPEN_AT_FIRST = 80;      // nodes
const OPEN_MOST = 3000;
const OPEN_DEPTH = 100;        // browsers fail on very deep pages
const CHILDREN_SHOWN = 200;    // of one node
const MEMBERS_SHOWN = 100;
const LEVELS_SHOWN = 40;       // of a stack in the table
const WAITS_SHOWN = 5;
const GROUPS_SHOWN = 300;

// ---- texts ----

export function placeText(l: Level): string {
	return l.file === null ? "" : l.line === null ? l.file : `${l.file}:${l.line}`;
}

export const functionText = (l: Level) => l.function ?? "(unknown function)";

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

// Kinds that this page does not know are shown with all their values.
function waitLines(w: WaitsFor | null): string[] {
	if (w === null) return [];
	if (w.descriptors) return w.descriptors.map(descriptorText);
	if (w.kind === "start") return ["not started"];
	if (w.kind === "awaiter") return [w.type ?? ""];
	const { kind, ...rest } = w;
	return [[kind, ...Object.entries(rest).map(([key, value]) => `${key} ${typeof value === "object" ? JSON.stringify(value) : value}`)].join(", ")];
}

const verdictText = (g: Group) => (g.confidence === "none" ? g.verdict : `${g.verdict}, ${g.confidence}`);

function verdictBadge(g: Group, text = verdictText(g)): HTMLElement {
	return h("span", { class: "badge", data: { sure: g.confidence === "none" ? "info" : g.confidence } }, text);
}

const reasonText = (g: Group) => [g.reason, g.doubt ? `not proven: ${g.doubt}` : undefined].filter((t) => t !== undefined).join("; ");

// ---- groups ----

function stackLevel(l: Level): HTMLElement {
	return h("li", null, h("span", { class: "mono" }, functionText(l)), " ", h("span", { class: "muted mono" }, placeText(l)),
		l.exact || l.file === null ? null : h("span", { class: "muted" }, " (the function)"), localList(l));
}

export function stackList(g: { stack: readonly Level[] }): HTMLElement {
	const more = g.stack.length - LEVELS_SHOWN;
	return h("ol", { class: "await-stack" }, ...g.stack.slice(0, LEVELS_SHOWN).map(stackLevel),
		more > 0 ? h("li", { class: "muted" }, `and ${fmt.count(more)} more`) : null);
}

function memberList(g: Group): HTMLElement {
	const list = h("div", { class: "mono" });
	const details = h("details", null, h("summary", null, fmt.plural(g.members.length, "frame")), list);
	const members = () => (g.member_locals ? memberVariables(g) : [g.members.slice(0, MEMBERS_SHOWN).join(" ")]);
	details.addEventListener("toggle", () => replace(list, ...members(),
		g.members.length > MEMBERS_SHOWN ? ` and ${fmt.count(g.members.length - MEMBERS_SHOWN)} more` : null), { once: true });
	return details;
}

function waitList(g: Group): HTMLElement {
	const lines = waitLines(g.waits_for).map((text) => h("div", null, text));
	const more = lines.length - WAITS_SHOWN;
	return h("div", { class: "waits" }, ...lines.slice(0, WAITS_SHOWN),
		more > 0 ? h("details", null, h("summary", null, `and ${fmt.count(more)} more`), ...lines.slice(WAITS_SHOWN)) : null);
}

function groupColumns(d: WhyData): SortColumn<Group>[] {
	const numbers = new Map(d.groups.map((g, i) => [g, i]));
	return [
		{ key: "count", label: "Coroutines", end: true, value: (g) => g.count },
		{ key: "bytes", label: "Bytes", title: "Size of the frames of the stacks", end: true, value: (g) => g.bytes },
		{
			key: "verdict", label: "Verdict", value: (g) => [verdictText(g), reasonText(g)].filter((t) => t !== "").join(": "),
			show: (g) => h("div", { id: `group-${numbers.get(g)}` }, h("span", { tabindex: -1 }, verdictBadge(g)),
				reasonText(g) === "" ? null : h("div", { class: "reason" }, reasonText(g))),
		},
		{ key: "stack", label: "Stack, innermost first", class: "name", value: (g) => g.stack.map((l) => `${functionText(l)} ${placeText(l)}`.trim()).join(" <- "), show: stackList },
		{ key: "waits_for", label: "Waits for", value: (g) => waitLines(g.waits_for).join("; "), show: waitList },
		{ key: "members", label: "Frames", value: (g) => g.members.join(" "), show: memberList },
	];
}

// What the filter searches, the same as the table of groups does.
function groupText(columns: readonly SortColumn<Group>[], g: Group): string {
	return columns.map((c) => c.value(g) ?? "").join(" ");
}

export function groupsPart(d: WhyData): PagePart {
	const table = new SortTable<Group>({
		label: "Groups", rows: d.groups, limit: GROUPS_SHOWN, empty: "No suspended coroutine was found.", columns: groupColumns(d),
	});
	return tablePart("groups", "Groups", "Groups", table, d.groups.length, "groups");
}

// ---- tree ----

class TreeBox {
	readonly el = h("div", { class: "await-tree" });
	private readonly d: WhyData;
	private readonly numbers: Map<Group, number>;
	private roots: AwaitNode[] = [];
	private total = 0;

	constructor(d: WhyData) {
		this.d = d;
		this.numbers = new Map(d.groups.map((g, i) => [g, i]));
	}

	show(groups: readonly Group[]): void {
		this.roots = buildAwaitTree(groups);
		this.total = groups.reduce((sum, g) => sum + g.count, 0);
		this.draw(OPEN_AT_FIRST);
	}

	// Opens about @most nodes; 0: none.
	draw(most: number): void {
		if (this.roots.length === 0) {
			replace(this.el, empty(this.d.groups.length > 0 ? "Nothing here matches the filter." : "No suspended coroutine was found."));
			return;
		}
		replace(this.el, this.list(this.roots, nodesToOpen(this.roots, most, OPEN_DEPTH)));
	}

	private list(nodes: readonly AwaitNode[], open: ReadonlySet<AwaitNode>): HTMLElement {
		const items = (part: readonly AwaitNode[]) => part.map((node) => h("li", null, this.item(node, open)));
		const list = h("ul", null, ...items(nodes.slice(0, CHILDREN_SHOWN)));
		const rest = nodes.slice(CHILDREN_SHOWN);
		if (rest.length > 0) {
			const more = h("li", null, button(`Show ${fmt.count(rest.length)} more`, () => more.replaceWith(...items(rest)), { class: "button quiet" }));
			list.append(more);
		}
		return list;
	}

	// A node with children is built when it is opened for the first time.
	private item(node: AwaitNode, open: ReadonlySet<AwaitNode>): HTMLElement {
		if (node.children.length === 0) return h("div", { class: "await-node" }, ...this.row(node));
		const details = h("details", null, h("summary", { class: "await-node" }, ...this.row(node)));
		const fill = (inner: ReadonlySet<AwaitNode>) => details.childElementCount < 2 && details.append(this.list(node.children, inner));
		details.addEventListener("toggle", () => details.open && fill(new Set()));
		if (open.has(node)) {
			fill(open);
			details.open = true;
		}
		return details;
	}

	private row(node: AwaitNode): HTMLElement[] {
		const { level, ends } = node;
		const awaits = ends.find((g) => g.stack[0].awaits)?.stack[0].awaits;
		return [
			h("span", { class: "await-count" }, fmt.count(node.count)), bar(node.count / this.total),
			h("span", { class: "await-name" }, h("span", { class: "mono" }, functionText(level)), " ", h("span", { class: "muted mono", title: placeText(level) }, fmt.shortPath(placeText(level))),
				awaits ? h("span", { class: "muted" }, " co_await ", h("span", { class: "mono" }, awaits)) : null, " ",
				...ends.map((g) => h("a", { class: "await-end", href: viewHref("groups", { group: String(this.numbers.get(g)) }) }, verdictBadge(g, ends.length > 1 ? `${fmt.count(g.count)} ${verdictText(g)}` : verdictText(g)))),
				node.faults > 0 && ends.length === 0 ? h("span", { class: "await-faults" }, `${fmt.count(node.faults)} not just waiting`) : null),
		];
	}
}

export function treePart(d: WhyData): PagePart {
	const tree = new TreeBox(d);
	const columns = groupColumns(d);
	const box = panel("Await tree", { tools: [
		button("Open all", () => tree.draw(OPEN_MOST), { class: "button quiet" }), button("Close all", () => tree.draw(0), { class: "button quiet" }),
	] });
	box.el.id = "tree";
	box.body.append(h("p", { class: "muted" }, "Each coroutine awaits those below it. The number counts the suspended coroutines at the end of these stacks."), tree.el);
	const filter = (words: readonly string[]) => {
		const left = words.length === 0 ? d.groups : d.groups.filter((g) => matches(words, groupText(columns, g)));
		setText(box.note, left.length < d.groups.length ? `${shownOf(left.length, d.groups.length)} groups` : "");
		tree.show(left);
	};
	return { view: "tree", label: "Await tree", el: box.el, filter };
}

// ---- threads ----

const STATES: Record<string, string> = { R: "running", S: "sleeping", D: "in the kernel, not interruptible", T: "stopped", t: "stopped by a tracer", Z: "ended", "?": "unknown" };

export function whyThreadsPart(d: WhyData): PagePart {
	const table = new SortTable<WhyThread>({
		label: "Threads", rows: d.threads, empty: "No thread is known.", columns: [
			{ key: "tid", label: "Thread", value: (t) => String(t.tid) },
			{ key: "name", label: "Name", class: "name", value: (t) => t.name ?? "" },
			{ key: "state", label: "State", value: (t) => STATES[t.state] ?? t.state },
			{ key: "system_call", label: "System call", class: "mono", value: (t) => t.system_call ?? "" },
		],
	});
	return tablePart("threads", "Threads", "Threads", table, d.threads.length, "threads");
}
