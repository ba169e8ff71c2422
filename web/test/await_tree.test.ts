// SPDX-License-Identifier: MIT
import { test } from "node:test";
import assert from "node:assert/strict";
import { buildAwaitTree, nodesToOpen, type AwaitNode } from "../src/why/await_tree.ts";
import type { Group } from "../src/why/types.ts";

// @stack: functions, innermost first.
function group(count: number, verdict: string, ...stack: string[]): Group {
	return {
		count, verdict, bytes: 0, confidence: "none", waits_for: null, members: [],
		stack: stack.map((name) => ({ function: name, file: "a.cpp", line: 1, exact: true })),
	};
}

const outline = (nodes: AwaitNode[]): unknown[] => nodes.map((n) => [n.level.function, n.count, n.faults, n.ends.length, ...outline(n.children)]);

test("stacks are merged from the root, faults first", () => {
	const roots = buildAwaitTree([group(5, "waiting", "read", "serve"), group(2, "unreachable", "write", "serve"), group(3, "waiting", "serve"), group(20, "waiting", "tick")]);
	assert.deepEqual(outline(roots), [["serve", 10, 2, 1, ["write", 2, 2, 1], ["read", 5, 0, 1]], ["tick", 20, 0, 1]]);
});

test("the same function on another line is another node; a recursion is a chain", () => {
	const other = group(1, "waiting", "f");
	other.stack[0].line = 2;
	assert.equal(buildAwaitTree([group(1, "waiting", "f"), other]).length, 2);
	assert.deepEqual(outline(buildAwaitTree([group(4, "waiting", "f", "f", "f")])), [["f", 4, 0, 0, ["f", 4, 0, 0, ["f", 4, 0, 1]]]]);
});

test("an empty stack has no node", () => {
	assert.deepEqual(buildAwaitTree([group(1, "waiting")]), []);
});

test("futures that are awaited together are branches of their node, after its other children", () => {
	const level = (name: string) => ({ function: name, file: "a.rs", line: 1, exact: true });
	const tasks = group(3, "waiting", "select");
	tasks.stack[0].branches = [
		{ count: 2, stack: [{ ...level("leaf"), awaits: "Sleep" }, level("middle")], kind: "timer", type: "Sleep" },
		{ count: 1, stack: [], kind: "task", type: "JoinHandle" },
	];
	const roots = buildAwaitTree([tasks, group(1, "waiting", "leaf", "select")]);
	assert.deepEqual(outline(roots), [["select", 4, 0, 1, ["leaf", 1, 0, 1], ["middle", 6, 0, 0, ["leaf", 6, 0, 0]], ["task JoinHandle", 3, 0, 0]]]);
	assert.deepEqual(roots[0].children.map((n) => n.isBranch), [false, true, true]);
	assert.equal(roots[0].children[1].children[0].awaits, "Sleep");
});

test("nodes are opened until enough are visible, and not too deep", () => {
	const deep = buildAwaitTree([group(1, "waiting", ...Array.from({ length: 50_000 }, () => "f"))]);
	assert.equal(nodesToOpen(deep, 1e6, 100).size, 100);
	const wide = buildAwaitTree(Array.from({ length: 50 }, (_, i) => group(1, "waiting", `leaf ${i}`, `root ${i % 5}`)));
	assert.equal(nodesToOpen(wide, 30, 100).size, 2);
	assert.equal(nodesToOpen(wide, 0, 100).size, 0);
	assert.equal(nodesToOpen(wide, 1000, 100).size, 5);
});
