// SPDX-License-Identifier: MIT
// flame_tree.ts - stacks with a weight as one tree, and where its nodes are drawn.

export type TaskState = "waiting" | "ready" | "running";
export const TASK_STATES: readonly TaskState[] = ["waiting", "ready", "running"];

export interface FlameLevel {
	function: string | null;
	file: string | null;
	line: number | null;
	exact: boolean;            // false: the line is that of the function
	awaits?: string;
}

export interface FlameStack {
	stack: readonly FlameLevel[]; // innermost first
	state: TaskState;
	samples: number;           // its weight
}

export interface FlameNode {
	level: FlameLevel;
	depth: number;             // 0: an outermost coroutine
	samples: number;           // of all stacks through this node
	own: number;               // of those that end here
	states: number[];          // samples by TASK_STATES
	parent: FlameNode | null;
	children: FlameNode[];     // largest first
}

interface Growing extends FlameNode {
	byKey: Map<string, Growing>;
}

const NO_LEVEL: FlameLevel = { function: null, file: null, line: null, exact: true };

const growing = (level: FlameLevel, parent: Growing | null): Growing =>
	({ level, depth: parent ? parent.depth + 1 : -1, samples: 0, own: 0, states: TASK_STATES.map(() => 0), parent, children: [], byKey: new Map() });

function childOf(parent: Growing, level: FlameLevel): Growing {
	const key = JSON.stringify([level.function, level.file, level.line]);
	let node = parent.byKey.get(key);
	if (!node) {
		node = growing(level, parent);
		parent.byKey.set(key, node);
		parent.children.push(node);
	}
	return node;
}

// The node above all outermost coroutines.
export function buildFlameTree(stacks: readonly FlameStack[]): FlameNode {
	const top = growing(NO_LEVEL, null);
	const all = [top];
	for (const s of stacks) {
		const state = TASK_STATES.indexOf(s.state);
		let node = top;
		for (const level of [null, ...s.stack.slice().reverse()]) {
			if (level) node = childOf(node, level);
			if (node.samples === 0 && node !== top) all.push(node);
			node.samples += s.samples;
			if (state >= 0) node.states[state] += s.samples;
		}
		node.own += s.samples;
	}
	for (const node of all) node.children.sort((a, b) => b.samples - a.samples);
	return top;
}

export interface FlameBlock {
	node: FlameNode;
	row: number;
	from: number;              // 0 to 1
	width: number;
}

export interface FlameDrawing {
	blocks: FlameBlock[];
	rows: number;
	hidden: number;            // nodes that are too narrow, too deep, or too many
}

const ANCESTORS = 30;          // nearest ones that are drawn
const ROWS = 200;              // below the node that is zoomed in

// The ancestors of @focus over the full width, then its subtree; at most @most blocks, none narrower than @least.
export function drawFlame(focus: FlameNode, least: number, most: number): FlameDrawing {
	const drawing: FlameDrawing = { blocks: [], rows: 0, hidden: 0 };
	const above: FlameNode[] = [];
	for (let n: FlameNode | null = focus; n && n.depth >= 0 && above.length <= ANCESTORS; n = n.parent) above.unshift(n);
	let row: FlameBlock[] = [];
	for (const node of above) {
		row = [{ node, row: drawing.rows++, from: 0, width: 1 }];
		drawing.blocks.push(...row);
	}
	if (above.length === 0) row = [{ node: focus, row: -1, from: 0, width: 1 }];
	for (let below = 0; row.length > 0; below++) {
		const next: FlameBlock[] = [];
		for (const block of row) {
			let from = block.from;
			for (const node of block.node.children) {
				const width = block.width * node.samples / Math.max(1, block.node.samples);
				if (width < least || below >= ROWS || drawing.blocks.length + next.length >= most) drawing.hidden++;
				else next.push({ node, row: drawing.rows, from, width });
				from += width;
			}
		}
		drawing.blocks.push(...next);
		if (next.length > 0) drawing.rows++;
		row = next;
	}
	return drawing;
}

// The share of the samples of @top whose stacks contain a node that @isHit accepts.
export function hitShare(top: FlameNode, isHit: (node: FlameNode) => boolean): number {
	let hits = 0;
	const open = [...top.children];
	for (let node = open.pop(); node; node = open.pop()) {
		if (isHit(node)) hits += node.samples;
		else open.push(...node.children);
	}
	return top.samples > 0 ? hits / top.samples : 0;
}
