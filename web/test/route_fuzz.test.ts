// SPDX-License-Identifier: MIT
// route_fuzz.test.ts - addresses with hostile text after #: no exception, and a view that is saved comes back.
import assert from "node:assert/strict";
import test from "node:test";
import { formatRoute, parseRoute, type Route } from "../src/base/route.ts";

const ROUNDS = process.env.COROTRACER_FULL === "1" ? 2_000_000 : 20_000;
const SEEDS = ["#view=coroutines&q=conn&state=suspended", "#coro=42&at=12", "", "#", "#view=flame&site=a%2Fb.c%3A12"];
const WORDS = ["&", "=", "%", "%ff", "%00", "+", "#", "__proto__=x", "constructor=", "toString", "coro=", "coro=99999999999999999999",
	"coro=-1", "view=", "\u0000", "\ud800", "\u{1f600}", "at=NaN", "at=1e999", "hasOwnProperty=1", "&&", "a[]=1"];

// xorshift, the same numbers in every run.
function makeRoll(): (below: number) => number {
	let state = 0x9e3779b9;
	return (below) => {
		state ^= state << 13;
		state ^= state >>> 17;
		state ^= state << 5;
		return (state >>> 0) % below;
	};
}

function makeHash(roll: (below: number) => number): string {
	let hash = SEEDS[roll(SEEDS.length)] ?? "";
	for (let changes = roll(5); changes > 0; changes--) {
		const at = roll(hash.length + 1);
		const word = roll(3) === 0 ? String.fromCharCode(roll(65536)) : (WORDS[roll(WORDS.length)] ?? "");
		hash = hash.slice(0, at) + word + hash.slice(at + roll(3));
	}
	return hash;
}

// Empty values are not part of an address.
function withoutEmpty(route: Route): Route {
	return { ...route, params: Object.fromEntries(Object.entries(route.params).filter(([, value]) => value !== "")) };
}

test("every address is a route, and a route comes back from its address", () => {
	const roll = makeRoll();
	let coroutines = 0;
	for (let i = 0; i < ROUNDS; i++) {
		const hash = makeHash(roll);
		const route = parseRoute(hash);
		assert.equal(typeof route.view, "string");
		assert.ok(route.coro === null || /^\d{1,20}$/.test(route.coro), hash);
		for (const value of Object.values(route.params)) assert.equal(typeof value, "string");
		assert.deepEqual(withoutEmpty(parseRoute(formatRoute(route))), withoutEmpty(route), hash);
		coroutines += route.coro === null ? 0 : 1;
	}
	assert.ok(coroutines > 0);
});
