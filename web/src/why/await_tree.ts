// SPDX-License-Identifier: MIT
// await_tree.ts - the stacks of all groups as one tree: from the outermost coroutine to those that are suspended.

import { branchKind } from "./stack_list.ts";
import type { Branch, Group, Level } from "./types.ts";

const BRANCH_DEPTH = 20;       // of branches in branches

export interface AwaitNode {
	level: Level;
	count: number;             // stacks through this node; of branches: futures
	faults: number;            // of these, with another verdict than waiting
	ends: Group[];             // groups whose innermost coroutine this is
	children: AwaitNode[];     // faults first, then the largest; branches after them
	isBranch: boolean;         // the begin of a future that its parent awaits together with others
	awaits?: string;           // of the innermost future of a branch
}

interface Growing extends AwaitNode {
	byKey: Map<string, Growing>;
}

const levelKey = (l: Level) => JSON.stringify([l.function, l.file, l.line]);

function newNode(level: Level, isBranch: boolean): Growing {
	return { level, count: 0, faults: 0, ends: [], children: [], isBranch, byKey: new Map() };
}

function childOf(parent: Growing, level: Level, isBranch: boolean): Growing {
	const key = `${isBranch ? "|" : ""}${levelKey(level)}`;
	let node = parent.byKey.get(key);
	if (!node) {
		node = newNode(level, isBranch);
		parent.byKey.set(key, node);
		parent.children.push(node);
	}
	return node;
}

// Adds the branches of @level below its node; @count: futures like this one.
function addBranches(parent: Growing, level: Level, count: number, depth: number, all: Set<Growing>): void {
	for (const b of depth < BRANCH_DEPTH ? (level.branches ?? []) : []) addBranch(parent, b, count * b.count, depth, all);
}

function addBranch(parent: Growing, b: Branch, count: number, depth: number, all: Set<Growing>): void {
	const path = b.stack.length > 0 ? [...b.stack].reverse() : [{ function: branchKind(b), file: null, line: null, exact: true }];
	let node = parent;
	for (const [i, level] of path.entries()) {
		node = childOf(node, level, i === 0);
		node.count += count;
		all.add(node);
		addBranches(node, level, count, depth + 1, all);
	}
	node.awaits ??= b.stack[0]?.awaits;
}

function byWeight(a: AwaitNode, b: AwaitNode): number {
	return Number(a.isBranch) - Number(b.isBranch) || Number(b.faults > 0) - Number(a.faults > 0) || b.count - a.count;
}

// The roots.
export function buildAwaitTree(groups: readonly Group[]): AwaitNode[] {
	const top = newNode({ function: null, file: null, line: null, exact: true }, false);
	const all = new Set<Growing>([top]);
	for (const g of groups) {
		let node = top;
		for (const level of [...g.stack].reverse()) {
			node = childOf(node, level, false);
			all.add(node);
			node.count += g.count;
			if (g.verdict !== "waiting") node.faults += g.count;
			addBranches(node, level, g.count, 0, all);
		}
		if (node !== top) node.ends.push(g);
	}
	for (const node of all) node.children.sort(byWeight);
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
