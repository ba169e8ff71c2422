// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import test from "node:test";

import { fieldsText, framesOf } from "../src/data/frames.ts";

const row = (id: string) => ({ ts: 1, id, tid: 2, frame: "f", buffer: "B", fields: "{}" });

test("a field that was not measured is not a number", () => {
	assert.equal(fieldsText('{"a":0,"b_delta[cycles]":null,"list":[1,2],"text":"x"}'), "a 0, b_delta[cycles] not measured, list [1,2], text x");
	assert.equal(fieldsText("no JSON"), "no JSON");
	assert.equal(fieldsText("{}"), "");
});

test("frames belong to one coroutine, by its whole id", () => {
	const all = { of: 4, lost: 0, frames: [row("1"), row("11"), row(""), row("1")] };
	assert.equal(framesOf(all, "1").length, 2);
	assert.equal(framesOf(all, "18446744073709551615").length, 0);
});
