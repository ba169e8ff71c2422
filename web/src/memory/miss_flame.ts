// SPDX-License-Identifier: MIT
// miss_flame.ts - the frames of the data as a tree.

import type { FlameShape } from "../data/flame_draw.ts";
import type { FlameFrame } from "./types.ts";

export interface MissNode extends FlameShape<MissNode> {
	frame: FlameFrame;
}

// The node above all outermost functions; null: the data has no stacks.
export function buildMissTree(frames: readonly FlameFrame[]): MissNode | null {
	const nodes: MissNode[] = [];
	for (const frame of frames) {
		const parent = nodes.length > 0 ? (nodes[frame.parent] ?? null) : null;
		const node: MissNode = { frame, depth: parent ? parent.depth + 1 : -1, samples: frame.cost, parent, children: [] };
		parent?.children.push(node);
		nodes.push(node);
	}
	for (const node of nodes) node.children.sort((a, b) => b.samples - a.samples);
	return nodes[0] ?? null;
}
