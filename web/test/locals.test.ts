// SPDX-License-Identifier: MIT
import { test } from "node:test";
import assert from "node:assert/strict";
import { localText } from "../src/why/locals.ts";
import type { Local } from "../src/why/types.ts";

test("scalars, with names of enumerators and addresses as they are", () => {
	assert.equal(localText({ name: "n", type: "int", value: -3 }), "int n = -3");
	assert.equal(localText({ name: "on", type: "bool", value: true }), "bool on = true");
	assert.equal(localText({ name: "c", type: "Color", value: "green" }), "Color c = green");
	assert.equal(localText({ name: "p", type: "void *", value: null }), "void * p = null");
});

test("a number that the browser rounds is said to be rounded", () => {
	assert.match(localText({ name: "n", type: "u64", value: 2 ** 63 }), /= about 9223372036854776000$/);
});

test("a string is a length, and its contents only if they are in the data", () => {
	const text: Local = { name: "s", type: "string", length: 1200 };
	assert.equal(localText(text), "string s = length 1\u202f200");
	assert.equal(localText({ ...text, value: "a\u001b\"", cut: true }), 'string s = length 1\u202f200 "a\\u001b\\""...');
});

test("structs, lists and variants", () => {
	const x: Local = { name: "x", type: "int", value: 1 };
	assert.equal(localText({ name: "p", type: "Point", members: [x, { name: "y", type: "int", state: "optimized out" }] }),
		"Point p = { x = 1, y = <optimized out> }");
	assert.equal(localText({ name: "l", type: "int[20]", length: 20, cut: true, elements: [{ type: "int", value: 7 }] }), "int[20] l = length 20 [7, ...]");
	assert.equal(localText({ name: "o", type: "Option<u8>", variant: "None" }), "Option<u8> o = None");
	assert.equal(localText({ name: "o", type: "Option<u8>", variant: "Some", members: [x] }), "Option<u8> o = Some(x = 1)");
});

test("what has no value says why", () => {
	assert.equal(localText({ name: "n", type: "int", state: "optimized out" }), "int n: optimized out");
	assert.equal(localText({ name: "p", type: "char *", value: "0x8", unread: true }), "char * p = 0x8 (not in memory)");
	assert.equal(localText({ name: "n", type: "int", value: 1, may_be_unset: true }), "int n = 1 (declared here: may not be set)");
});
