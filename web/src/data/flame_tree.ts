// SPDX-License-Identifier: MIT
// flame_tree.ts - stacks of coroutines with a weight as one tree.

import type { FlameShape } from "./flame_draw.ts";

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

// Depth 0 is an outermost coroutine; samples are those of all stacks through the node.
export interface FlameNode extends FlameShape<FlameNode> {
	level: FlameLevel;
	own: number;               // of those that end here
	states: number[];          // samples by TASK_STATES
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
