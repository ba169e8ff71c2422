// SPDX-License-Identifier: MIT
import { test } from "node:test";
import assert from "node:assert/strict";
import { changeText, median, pairVerdict } from "../src/compare/change_text.ts";
import { buildDiffTree, changeLevel } from "../src/compare/diff_flame.ts";
import { overlayBins } from "../src/compare/overlay.ts";
import type { CompareData, SitePair, SiteSide, TimeNode } from "../src/compare/types.ts";

const node = (name: string, parent: number, base_ns: number, head_ns: number): TimeNode => ({ name, file: null, line: 0, parent, state: null, base_ns, head_ns });

function data(nodes: TimeNode[], base = ["a"], head = ["b"]): CompareData {
	const sum = (side: "base_ns" | "head_ns") => nodes.filter((n) => n.parent === 0).reduce((s, n) => s + n[side], 0);
	return { base, head, flame: { base_ns: sum("base_ns"), head_ns: sum("head_ns"), hidden: 0, unknown: 0, left_out: 0, nodes } } as unknown as CompareData;
}

test("changes as words", () => {
	assert.equal(changeText(100, 100), "=");
	assert.equal(changeText(100, 125), "+25 %");
	assert.equal(changeText(100, 97), "−3.0 %");
	assert.equal(changeText(100, 1250), "×12.5");
	assert.equal(changeText(0, 3), "new");
	assert.equal(changeText(3, 0), "gone");
	assert.equal(median([5, 1, 9]), 5);
});

test("shares make runs of different length comparable, times do not", () => {
	// The head ran twice as long, with the same parts.
	const d = data([node("worker", 0, 60, 120), node("[waiting]", 1, 60, 120), node("main", 0, 40, 80)]);
	const share = buildDiffTree(d, "share");
	assert.deepEqual(share.children.map((n) => [n.time.name, changeLevel(n, share)]), [["worker", 0], ["main", 0]]);
	const time = buildDiffTree(d, "time");
	assert.deepEqual(time.children.map((n) => changeLevel(n, time)), [2, 2]);
	assert.equal(time.children[0].children[0].depth, 1);
	// Two runs on one side: the time of one run counts.
	const runs = buildDiffTree(data([node("worker", 0, 60, 120)], ["a"], ["b", "c"]), "time");
	assert.equal(changeLevel(runs.children[0], runs), 0);
});

test("what is new or gone keeps a width, and the strongest colour", () => {
	const top = buildDiffTree(data([node("same", 0, 100, 100), node("gone", 0, 50, 0), node("new", 0, 0, 50)]), "share");
	const byName = new Map(top.children.map((n) => [n.time.name, n]));
	assert.ok(byName.get("gone")!.samples > 0 && byName.get("new")!.samples > 0);
	assert.deepEqual(["gone", "new", "same"].map((n) => changeLevel(byName.get(n)!, top)), [-3, 3, 0]);
});

test("a damaged parent does not lose the node", () => {
	const top = buildDiffTree(data([node("a", 77, 1, 1)]), "share");
	assert.equal(top.children.length, 1);
});

const side = (steps: [number, number][], max_ns: number): SiteSide => ({
	count: steps.reduce((n, [, k]) => n + k, 0), p50_ns: 0, p90_ns: 0, p99_ns: 0, max_ns, least_run_ns: 0, greatest_run_ns: 0, steps,
});

test("both histograms are on one scale, as parts of their side", () => {
	const bins = overlayBins(side([[40, 3], [41, 1]], 1500), side([[60, 10]], 60000))!;
	assert.deepEqual([bins.low, bins.high], [1000, 100000]);
	const sum = (parts: number[]) => Math.round(1000 * parts.reduce((a, b) => a + b, 0));
	assert.deepEqual([sum(bins.base), sum(bins.head)], [1000, 1000]);
	assert.equal(overlayBins(null, side([], 0)), null);
	assert.equal(sum(overlayBins(null, side([[0, 2]], 0))!.head), 1000);
});

test("the verdict of a site", () => {
	const metric = (direction: number, base: SiteSide | null, head: SiteSide | null) => ({ direction, quantile: 50, larger: 0.5, z: 0, base, head });
	const some = side([[40, 3]], 1500);
	const place = { text: "a", file: null, line: 0 };
	const pair = (b: boolean, t: boolean, m: ReturnType<typeof metric>) => ({ base_place: b ? place : null, head_place: t ? place : null, wait: m, ready: m, run: m }) as SitePair;
	assert.equal(pairVerdict(pair(true, true, metric(1, some, some)), "wait"), "worse");
	assert.equal(pairVerdict(pair(true, true, metric(-1, some, some)), "wait"), "better");
	assert.equal(pairVerdict(pair(true, true, metric(0, some, some)), "wait"), "same");
	assert.equal(pairVerdict(pair(true, true, metric(0, some, side([], 0))), "wait"), "few");
	assert.equal(pairVerdict(pair(false, true, metric(0, null, some)), "wait"), "new");
	assert.equal(pairVerdict(pair(true, false, metric(0, some, null)), "wait"), "gone");
});
