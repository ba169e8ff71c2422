// SPDX-License-Identifier: MIT
// parts.ts - the parts of the page of `why --html`: tree and groups.

import { button, h, replace, setText } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { viewHref } from "../base/route.ts";
import { shownOf, tablePart, type PagePart } from "../ui/part_page.ts";
import { bar, empty, panel } from "../ui/parts.ts";
import { matches, SortTable, type SortColumn } from "../ui/sort_table.ts";
import { buildAwaitTree, nodesToOpen, type AwaitNode } from "./await_tree.ts";
import { memberVariables } from "./locals.ts";
import { functionText, placeText, stackList, stackText } from "./stack_list.ts";
import type { Group, WhyData } from "./types.ts";
import { reasonText, verdictBadge, verdictText } from "./verdict_text.ts";
import { isRust, waitLines } from "./wait_lines.ts";

const OPEN_AT_FIRST = 80;      // nodes
const OPEN_MOST = 3000;
const OPEN_DEPTH = 100;        // browsers fail on very deep pages
const CHILDREN_SHOWN = 200;    // of one node
const MEMBERS_SHOWN = 100;
const WAITS_SHOWN = 5;
const GROUPS_SHOWN = 300;

// ---- groups ----

function memberList(g: Group): HTMLElement {
	const list = h("div", { class: "mono" });
	const details = h("details", null, h("summary", null, fmt.plural(g.members.length, "frame")), list);
	const members = () => (g.member_locals ? memberVariables(g) : [g.members.slice(0, MEMBERS_SHOWN).join(" ")]);
	details.addEventListener("toggle", () => replace(list, ...members(),
		g.members.length > MEMBERS_SHOWN ? ` and ${fmt.count(g.members.length - MEMBERS_SHOWN)} more` : null), { once: true });
	return details;
}

function waitList(g: Group): HTMLElement {
	const lines = waitLines(g.waits_for, g.count).map((text) => h("div", null, text));
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
		{ key: "stack", label: "Stack, innermost first", class: "name", value: (g) => stackText(g.stack), show: stackList },
		{ key: "waits_for", label: "Waits for", value: (g) => waitLines(g.waits_for, g.count).join("; "), show: waitList },
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
		const end = ends.find((g) => g.stack[0].awaits);
		const awaits = end?.stack[0].awaits ?? node.awaits;
		return [
			h("span", { class: "await-count" }, fmt.count(node.count)), bar(node.count / this.total),
			h("span", { class: "await-name" }, node.isBranch ? h("span", { class: "await-fork", title: "awaited together with the other branches" }, "∥ ") : null,
				h("span", { class: "mono" }, functionText(level)), " ", h("span", { class: "muted mono", title: placeText(level) }, fmt.shortPath(placeText(level))),
				awaits ? h("span", { class: "muted" }, end && !isRust(end) ? " co_await " : " awaits ", h("span", { class: "mono" }, awaits)) : null, " ",
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
	const hasBranches = d.groups.some((g) => g.stack.some((l) => (l.branches?.length ?? 0) > 0));
	box.body.append(h("p", { class: "muted" }, "Each coroutine awaits those below it. The number counts the suspended coroutines at the end of these stacks.",
		hasBranches ? " Lines with ∥ are futures that one coroutine awaits together (select!, join!); their number counts futures." : null), tree.el);
	const filter = (words: readonly string[]) => {
		const left = words.length === 0 ? d.groups : d.groups.filter((g) => matches(words, groupText(columns, g)));
		setText(box.note, left.length < d.groups.length ? `${shownOf(left.length, d.groups.length)} groups` : "");
		tree.show(left);
	};
	return { view: "tree", label: "Await tree", el: box.el, filter };
}
