// SPDX-License-Identifier: MIT
// flame_draw.ts - where the nodes of a flame graph are drawn.

export interface FlameShape<N> {
	depth: number;             // 0: outermost; -1: the node above all of them
	samples: number;           // the width
	parent: N | null;
	children: N[];             // largest first
}

export interface FlameBlock<N> {
	node: N;
	row: number;
	from: number;              // 0 to 1
	width: number;
}

export interface FlameDrawing<N> {
	blocks: FlameBlock<N>[];
	rows: number;
	hidden: number;            // nodes that are too narrow, too deep, or too many
}

const ANCESTORS = 30;          // nearest ones that are drawn
const ROWS = 200;              // below the node that is zoomed in

// The ancestors of @focus over the full width, then its subtree; at most @most blocks, none narrower than @least.
export function drawFlame<N extends FlameShape<N>>(focus: N, least: number, most: number): FlameDrawing<N> {
	const drawing: FlameDrawing<N> = { blocks: [], rows: 0, hidden: 0 };
	const above: N[] = [];
	for (let n: N | null = focus; n && n.depth >= 0 && above.length <= ANCESTORS; n = n.parent) above.unshift(n);
	let row: FlameBlock<N>[] = [];
	for (const node of above) {
		row = [{ node, row: drawing.rows++, from: 0, width: 1 }];
		drawing.blocks.push(...row);
	}
	if (above.length === 0) row = [{ node: focus, row: -1, from: 0, width: 1 }];
	for (let below = 0; row.length > 0; below++) {
		const next: FlameBlock<N>[] = [];
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
export function hitShare<N extends FlameShape<N>>(top: N, isHit: (node: N) => boolean): number {
	let hits = 0;
	const open = [...top.children];
	for (let node = open.pop(); node; node = open.pop()) {
		if (isHit(node)) hits += node.samples;
		else open.push(...node.children);
	}
	return top.samples > 0 ? hits / top.samples : 0;
}
