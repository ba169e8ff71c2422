// SPDX-License-Identifier: MIT
import { test } from "node:test";
import assert from "node:assert/strict";
import { buildMissTree, type MissNode } from "../src/memory/miss_flame.ts";
import { drawFlame, hitShare } from "../src/data/flame_draw.ts";
import type { FlameFrame } from "../src/memory/types.ts";

const frame = (name: string, parent: number, cost: number, own = cost): FlameFrame =>
	({ name, file: null, parent, calls: 1, cost, own, accesses: cost, misses: 0 });

const outline = (n: MissNode): unknown[] => [n.frame.name, n.depth, ...n.children.map(outline)];

test("frames become a tree, the most expensive first", () => {
	const top = buildMissTree([frame("(program)", 0, 100, 0), frame("main", 0, 100, 10), frame("few", 1, 20), frame("many", 1, 70, 30), frame("few", 3, 40)])!;
	assert.deepEqual(outline(top), ["(program)", -1, ["main", 0, ["many", 1, ["few", 2]], ["few", 1]]]);
	const { blocks, rows } = drawFlame(top, 0, 100);
	assert.deepEqual(blocks.map((b) => [b.node.frame.name, b.row, b.from.toFixed(2), b.width.toFixed(2)]),
		[["main", 0, "0.00", "1.00"], ["many", 1, "0.00", "0.70"], ["few", 1, "0.70", "0.20"], ["few", 2, "0.00", "0.40"]]);
	assert.equal(rows, 3);
	assert.equal(hitShare(top, (n) => n.frame.name === "few"), 0.6);
});

test("without stacks there is no tree", () => {
	assert.equal(buildMissTree([]), null);
});
