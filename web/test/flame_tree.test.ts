// SPDX-License-Identifier: MIT
import { test } from "node:test";
import assert from "node:assert/strict";
import { drawFlame, hitShare } from "../src/data/flame_draw.ts";
import { buildFlameTree, type FlameNode, type TaskState } from "../src/data/flame_tree.ts";
import type { ProfileStack } from "../src/why/types.ts";

// @stack: functions, innermost first.
function stack(samples: number, state: TaskState, ...names: string[]): ProfileStack {
	return {
		percent: 0, task_seconds: 0, tasks: 0, most: 0, samples, state,
		stack: names.map((name) => ({ function: name, file: "a.cpp", line: 1, exact: true })),
	};
}

const outline = (nodes: readonly FlameNode[]): unknown[] => nodes.map((n) => [n.level.function, n.samples, n.own, n.states, ...outline(n.children)]);

test("stacks are merged from the outermost coroutine, with their states", () => {
	const top = buildFlameTree([stack(5, "waiting", "read", "serve"), stack(2, "running", "read", "serve"), stack(3, "ready", "serve"), stack(20, "waiting", "tick")]);
	assert.equal(top.samples, 30);
	assert.deepEqual(outline(top.children), [["tick", 20, 20, [20, 0, 0]], ["serve", 10, 3, [5, 3, 2], ["read", 7, 7, [5, 0, 2]]]]);
});

test("widths are shares, rows are depths", () => {
	const top = buildFlameTree([stack(60, "waiting", "a"), stack(30, "waiting", "b", "c"), stack(10, "waiting", "d", "c")]);
	const { blocks, rows, hidden } = drawFlame(top, 0, 100);
	assert.deepEqual(blocks.map((b) => [b.node.level.function, b.row, b.from.toFixed(2), b.width.toFixed(2)]),
		[["a", 0, "0.00", "0.60"], ["c", 0, "0.60", "0.40"], ["b", 1, "0.60", "0.30"], ["d", 1, "0.90", "0.10"]]);
	assert.deepEqual([rows, hidden], [2, 0]);
});

test("a node that is zoomed in has the full width, as its ancestors", () => {
	const top = buildFlameTree([stack(60, "waiting", "a"), stack(30, "waiting", "b", "c"), stack(10, "waiting", "d", "c")]);
	const { blocks, rows } = drawFlame(top.children[1].children[0], 0, 100);
	assert.deepEqual(blocks.map((b) => [b.node.level.function, b.row, b.from, b.width]), [["c", 0, 0, 1], ["b", 1, 0, 1]]);
	assert.equal(rows, 2);
});

test("narrow nodes and those above the limit are counted", () => {
	const top = buildFlameTree([stack(999, "waiting", "a"), stack(1, "waiting", "b")]);
	assert.equal(drawFlame(top, 0.01, 100).hidden, 1);
	const many = buildFlameTree(Array.from({ length: 50 }, (_, i) => stack(1, "waiting", `f${i}`)));
	const { blocks, hidden } = drawFlame(many, 0, 20);
	assert.deepEqual([blocks.length, hidden], [20, 30]);
});

test("a deep stack is drawn in parts", () => {
	const top = buildFlameTree([stack(1, "waiting", ...Array.from({ length: 5000 }, (_, i) => `f${i}`))]);
	const first = drawFlame(top, 0, 4000);
	assert.deepEqual([first.blocks.length, first.rows, first.hidden], [200, 200, 1]);
	const second = drawFlame(first.blocks[199].node, 0, 4000);
	assert.deepEqual([second.blocks.length, second.blocks[0].node.depth, second.hidden], [231, 169, 1]);
});

test("a stack with two hits counts once", () => {
	const top = buildFlameTree([stack(25, "waiting", "f", "f"), stack(75, "waiting", "g")]);
	assert.equal(hitShare(top, (n) => n.level.function === "f"), 0.25);
	assert.equal(hitShare(buildFlameTree([]), () => true), 0);
});
