// SPDX-License-Identifier: MIT
// diff_flame.ts - the time of both sides by stack as one tree, on a common scale.

import type { FlameShape } from "../data/flame_draw.ts";
import type { CompareData, TimeNode } from "./types.ts";

// share: parts of the time of all coroutines, so that runs of different length are comparable; time: ns in one run.
export type FlameScale = "share" | "time";

export interface DiffNode extends FlameShape<DiffNode> {
	time: TimeNode;
	base: number;              // on the scale
	head: number;
}

const WHOLE = 1e9;             // the share of everything
const NO_TIME: TimeNode = { name: "", file: null, line: 0, parent: 0, state: null, base_ns: 0, head_ns: 0 };

// What a ns of each side is on the scale.
function unitsOf(d: CompareData, scale: FlameScale): { base: number; head: number } {
	if (scale === "time") return { base: 1 / Math.max(1, d.base.length), head: 1 / Math.max(1, d.head.length) };
	return { base: WHOLE / Math.max(1, d.flame.base_ns), head: WHOLE / Math.max(1, d.flame.head_ns) };
}

// The node above all outermost coroutines.  The width is the sum of both sides: what is gone stays visible.
export function buildDiffTree(d: CompareData, scale: FlameScale): DiffNode {
	const unit = unitsOf(d, scale);
	const made = (time: TimeNode, parent: DiffNode | null): DiffNode => {
		const [base, head] = [time.base_ns * unit.base, time.head_ns * unit.head];
		return { time, base, head, samples: base + head, depth: parent ? parent.depth + 1 : -1, parent, children: [] };
	};
	const top = made({ ...NO_TIME, base_ns: d.flame.base_ns, head_ns: d.flame.head_ns }, null);
	const nodes = [top];
	for (const time of d.flame.nodes) {
		// Parents come first; a parent that is not there yet can only be damage.
		const parent = nodes[time.parent] ?? top;
		const node = made(time, parent);
		parent.children.push(node);
		nodes.push(node);
	}
	for (const node of nodes) node.children.sort((a, b) => b.samples - a.samples);
	return top;
}

// -3 (much less) to 3 (much more); 0: about the same, or too little of the whole to matter.
export function changeLevel(n: DiffNode, top: DiffNode): number {
	const change = n.head - n.base;
	if (Math.abs(change) < 0.001 * Math.max(top.base, top.head)) return 0;
	const ratio = Math.max(n.base, n.head) / Math.max(1e-9, Math.min(n.base, n.head));
	const level = ratio >= 3 ? 3 : ratio >= 1.5 ? 2 : ratio >= 1.1 ? 1 : 0;
	return change > 0 ? level : -level;
}
