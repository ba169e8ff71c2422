// SPDX-License-Identifier: MIT
// slice_cpu.test.ts - waits inside of slices, as a block of slices has them.
import { test } from "node:test";
import assert from "node:assert/strict";
import { readSection } from "../src/data/columns.ts";
import { cpuPairs, readBlockCpu } from "../src/data/slice_cpu.ts";
import { col, section } from "./make.ts";

const block = (waits: number[]) => readSection("slices/0", section([
	col("queued", "v", [30, 0, 0]), col("blocked", "v", [20, 0, 7]), col("call", "v", [1, 0, 0]), col("waits", "v", waits),
	col("wait_after", "v", [5, 10, 2]), col("wait_ns", "v", [60, 41, 15]),
], { calls: ["nanosleep"] }, 3));

test("waits are counted from the begin of their slice", () => {
	const cpu = readBlockCpu("slices/0", block([2, 0, 1]))!;
	assert.deepEqual([...cpu.first], [0, 2, 2, 3]);
	assert.deepEqual([...cpu.after], [5, 45, 2]);
	assert.deepEqual([...cpu.ns], [30, 20, 7]);
	assert.deepEqual([...cpu.isBlocked], [0, 1, 1]);
	assert.equal(cpu.calls[cpu.call[0] - 1], "nanosleep");
});

test("a block with fewer waits than it says is damaged", () => {
	assert.throws(() => readBlockCpu("slices/0", block([2, 1, 1])), /too few waits/);
});

test("without context switches there are no times", () => {
	assert.equal(readBlockCpu("slices/0", readSection("slices/0", section([col("dur", "v", [1])]))), null);
});

test("the parts add up, and name the system call", () => {
	const pairs = cpuPairs({ measured: 1e7, queued: 2e6, blocked: 4e6 }, "nanosleep").map(([k, v]) => `${k} ${v}`.replace(/[\u2009\u202f\u00a0]/g, " "));
	assert.deepEqual(pairs, ["on a processor 4.00 ms (40 %)", "waited for a processor 2.00 ms (20 %)", "blocked in the kernel 4.00 ms (40 %), mostly in nanosleep"]);
});
