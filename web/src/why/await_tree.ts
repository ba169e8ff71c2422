// SPDX-License-Identifier: MIT
// await_tree.ts - the stacks of all groups as one tree: from the outermost coroutine to those that are suspended.

import type { Group, Level } from "./types.ts";

export interface AwaitNode {
	level: Level;
	count: number;             // stacks through this node
	faults: number;            // of these, with another verdict than waiting
	ends: Group[];             // groups whose innermost coroutine this is
	children: AwaitNode[];     // faults first, then the largest
}

interface Growing extends AwaitNode {
	byKey: Map<string, Growing>;
}

const levelKey = (l: Level) => JSON.stringify([l.function, l.file, l.line]);

function childOf(parent: Growing, level: Level): Growing {
	const key = levelKey(level);
	let node = parent.byKey.get(key);
	if (!node) {
		node = { level, count: 0, faults: 0, ends: [], children: [], byKey: new Map() };
		parent.byKey.set(key, node);
		parent.children.push(node);
	}
	return node;
}

// The roots.
export function buildAwaitTree(groups: readonly Group[]): AwaitNode[] {
	const top: Growing = { level: { function: null, file: null, line: null, exact: true }, count: 0, faults: 0, ends: [], children: [], byKey: new Map() };
	const all: Growing[] = [top];
	for (const g of groups) {
		let node = top;
		for (const level of [...g.stack].reverse()) {
			node = childOf(node, level);
			if (node.count === 0) all.push(node);
			node.count += g.count;
			if (g.verdict !== "waiting") node.faults += g.count;
		}
		if (node !== top) node.ends.push(g);
	}
	for (const node of all) node.children.sort((a, b) => Number(b.faults > 0) - Number(a.faults > 0) || b.count - a.count);
	return top.children;
}

// The nodes to open, breadth first, until about @most nodes are visible; none deeper than @depth.
export function nodesToOpen(roots: readonly AwaitNode[], most: number, depth: number): Set<AwaitNode> {
	const open = new Set<AwaitNode>();
	let visible = roots.length;
	for (let row = roots, d = 0; row.length > 0 && d < depth; d++) {
		const next: AwaitNode[] = [];
		for (const node of row) {
			if (node.children.length === 0 || visible + node.children.length > most) continue;
			open.add(node);
			visible += node.children.length;
			next.push(...node.children);
		}
		row = next;
	}
	return open;
}
