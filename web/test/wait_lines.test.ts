// SPDX-License-Identifier: MIT
import { test } from "node:test";
import assert from "node:assert/strict";
import { dueText, threadWaitText, waitLines } from "../src/why/wait_lines.ts";
import { ringSteps } from "../src/why/rings.ts";
import { stackText } from "../src/why/stack_list.ts";
import type { WaitsFor } from "../src/why/types.ts";

const lines = (w: WaitsFor | null, count = 1) => waitLines(w, count).map((text) => text.replace(/\u202f/g, " "));

test("deadlines are times", () => {
	assert.deepEqual(lines({ kind: "timer", type: "Sleep", due_in_ms: 3_598_126, objects: [] }), ["timer, due in 59 min 58 s"]);
	assert.deepEqual(lines({ kind: "timer", due_in_ms: 3_598_126 }, 2), ["timer, the first due in 59 min 58 s"]);
	assert.equal(dueText(-2231, false).replace(/\u202f/g, " "), "was due 2.23 s ago");
	assert.equal(dueText(-2231, true).replace(/\u202f/g, " "), "the first was due 2.23 s ago");
});

test("objects are named with their holders, and only if there are some", () => {
	const object = { object: "0x10", waiters: 2, holder: "0x20", holder_function: "transfer" };
	assert.deepEqual(lines({ kind: "lock", type: "Mutex", certain: true, objects: [object, { object: "0x11", waiters: 1, holder: null }] }),
		["lock 0x10, 2 of the group, held by transfer (0x20)", "lock 0x11"]);
	assert.deepEqual(lines({ kind: "lock", certain: false, objects: [{ object: "0x11", waiters: 1, holder: "0x5" }] }), ["lock 0x11, held by 0x5, not certain"]);
	assert.deepEqual(lines({ kind: "notify", objects: [] }), ["notify"]);
	assert.deepEqual(lines({ kind: "notify", due_in_ms: 5000, objects: [{ object: "0x1", waiters: 1, holder: null }] }), ["notify, due in 5.00 s", "notify 0x1"]);
});

test("every kind has words", () => {
	assert.deepEqual(lines(null), []);
	assert.deepEqual(lines({ kind: "start" }), ["not started"]);
	assert.deepEqual(lines({ kind: "processor" }), ["a thread of the runtime: it was woken"]);
	assert.deepEqual(lines({ kind: "awaiter", type: "PollFn", objects: [] }), ["PollFn"]);
	assert.deepEqual(lines({ kind: "task", task: "0x5", objects: [] }), ["the end of task 0x5"]);
	assert.deepEqual(lines({ kind: "task", objects: [] }), ["the end of a task"]);
	assert.deepEqual(lines({ kind: "descriptor", objects: [], descriptors: [{ descriptor: 4, in_awaiter: true, state: "closed" }] }), ["descriptor 4: closed"]);
	assert.deepEqual(lines({ kind: "futures", due_in_ms: 1000, descriptors: [{ descriptor: 4, in_awaiter: true, state: "open", type: "socket" }] }),
		["several futures at once, the first due in 1.00 s", "descriptor 4: socket"]);
	assert.deepEqual(lines({ kind: "new", level: 3, none: null, list: [] } as unknown as WaitsFor), ["new, level 3"]);
	assert.equal(threadWaitText({ kind: "lock", object: "0x9", holder: 12 }), "mutex 0x9, held by thread 12");
	assert.equal(threadWaitText({ kind: "future", type: "std::promise", object: "0x9", holder: null }), "the future of a std::promise (0x9)");
	assert.equal(threadWaitText({ kind: "future", type: "std::async", object: "0x9", holder: 5 }), "the future of a std::async (0x9), run by thread 5");
	assert.equal(threadWaitText({ kind: "thread", holder: 5 }), "the end of thread 5");
});

test("branches are part of a stack's text", () => {
	const level = (name: string) => ({ function: name, file: null, line: null, exact: true });
	assert.equal(stackText([{ ...level("a"), awaits: "X", branches: [{ count: 2, stack: [level("leaf"), level("middle")], kind: null, type: null }, { count: 1, stack: [], kind: "task", type: "T" }] }, level("b")]),
		"a awaits X [2 x leaf <- middle | task T] <- b");
});

test("a ring has a step for each coroutine, also for a holder that awaits the next one", () => {
	const member = (coroutine: string, holder: string) => ({ coroutine, function: coroutine, kind: "lock", type: "M", object: "0x1", holder, holder_function: holder });
	const steps = (...members: ReturnType<typeof member>[]) => ringSteps({ confidence: "proven", doubt: null, members }).map((s) => [s.name, s.waits]);
	assert.deepEqual(steps(member("a", "b"), member("b", "a")), [["a", "lock 0x1"], ["b", "lock 0x1"]]);
	assert.deepEqual(steps(member("child", "parent")), [["child", "lock 0x1"], ["parent", ""]]);
	assert.deepEqual(steps(member("a", "a")), [["a", "lock 0x1"]]);
	assert.deepEqual(ringSteps({ confidence: "proven", doubt: null, members: [{ ...member("a", "b"), object: null }, member("b", "a")] }).map((s) => s.waits), ["end", "lock 0x1"]);
});
