// SPDX-License-Identifier: MIT
// format.test.ts - numbers, times and places in words.
import { test } from "node:test";
import assert from "node:assert/strict";
import * as fmt from "../src/base/format.ts";
import { toCsv } from "../src/base/csv.ts";
import { parseJson } from "../src/base/json.ts";
import { shortFunction, shortPlace, visible } from "../src/base/place.ts";
import { formatRoute, parseRoute } from "../src/base/route.ts";

const plain = (s: string) => s.replace(/\u202f/g, " ");

test("durations have three figures and the right unit", () => {
	const cases: [number, string][] = [
		[0, "0 s"], [1, "1 ns"], [999, "999 ns"], [1000, "1.00 µs"], [12345, "12.3 µs"], [999_499, "999 µs"], [999_999, "1.00 ms"],
		[1e6, "1.00 ms"], [3.421e6, "3.42 ms"], [999.96e6, "1.00 s"], [61e9, "61.0 s"], [119e9, "119 s"], [125e9, "2 min 5 s"],
		[3600e9, "1 h 0 min"], [90000e9, "1 d 1 h"],
	];
	for (const [ns, text] of cases) assert.equal(plain(fmt.duration(ns)), text, String(ns));
	assert.equal(fmt.duration(NaN), fmt.dash);
});

test("counts are grouped, short ones are rounded", () => {
	assert.equal(plain(fmt.count(1234567)), "1 234 567");
	assert.equal(fmt.count(7), "7");
	assert.equal(fmt.short(999), "999");
	assert.equal(fmt.short(1000), "1.00k");
	assert.equal(fmt.short(123456), "123k");
	assert.equal(fmt.short(999_999), "1.00M");
	assert.equal(fmt.short(0.25), "0.3");
	assert.equal(plain(fmt.percent(1, 3)), "33 %");
	assert.equal(plain(fmt.percent(1, 100000)), "< 0.1 %");
	assert.equal(fmt.percent(1, 0), fmt.dash);
});

test("stamps keep every nanosecond", () => {
	assert.equal(plain(fmt.stamp(2_918_124_986)), "2.918 124 986 s");
	assert.equal(plain(fmt.stamp(1)), "0.000 000 001 s");
	// Beyond a day, still exact in a double.
	assert.equal(plain(fmt.stamp(100_000_123_456_789)), "100 000.123 456 789 s");
});

test("offsets show what a step makes worth showing", () => {
	assert.equal(plain(fmt.offset(240_050_000, 50_000)), "240.05 ms");
	assert.equal(plain(fmt.offset(1.5e9, 0.5e9)), "1.5 s");
	assert.equal(plain(fmt.offset(0, 1e6)), "0 ms");
	assert.equal(plain(fmt.offset(123, 1)), "123 ns");
});

test("durations are read as people write them", () => {
	assert.equal(fmt.parseDuration("250ms"), 250e6);
	assert.equal(fmt.parseDuration("1.5 s"), 1.5e9);
	assert.equal(fmt.parseDuration("2"), 2e9);
	assert.equal(fmt.parseDuration("3 µs"), 3000);
	assert.equal(fmt.parseDuration("2 min"), 120e9);
	assert.equal(fmt.parseDuration(""), null);
	assert.equal(fmt.parseDuration("soon"), null);
	assert.equal(fmt.parseDuration("-1s"), null);
});

test("CSV quotes what must be, and leaves no formula", () => {
	const text = toCsv(["a", "b"], [["x,y", 'say "hi"'], ["=1+1", null], ["@x", -3], ["two\nlines", 12n]]);
	assert.equal(text, 'a,b\r\n"x,y","say ""hi"""\r\n\'=1+1,\r\n\'@x,-3\r\n"two\nlines",12\r\n');
});

test("JSON keeps 64-bit integers, and strings that look like them", () => {
	const value = parseJson('{"id":18446744073709551615,"n":5,"s":"18446744073709551615, \\"9999999999999999999\\"","d":1.5e3,"safe":9007199254740991,"neg":-9223372036854775808}');
	assert.deepEqual(value, {
		id: "18446744073709551615", n: 5, s: '18446744073709551615, "9999999999999999999"', d: 1500, safe: 9007199254740991,
		neg: "-9223372036854775808",
	});
});

test("functions and places without what is too long", () => {
	assert.equal(shortFunction("Task<> serve(Server*, Fd, uint64_t)"), "serve");
	assert.equal(shortFunction("void Scheduler::dispatch(int, uint32_t)"), "Scheduler::dispatch");
	assert.equal(shortFunction("std::map<int, std::pair<a, b>> ns::make<int>(x)"), "ns::make");
	assert.equal(shortFunction("reader"), "reader");
	assert.equal(shortFunction("(anonymous namespace)::f(int)"), "::f");
	assert.equal(shortPlace({ text: "a/b/server.cpp:68 Task<> serve(int)", file: "a/b/server.cpp", line: 68, function: "Task<> serve(int)" }), "server.cpp:68 serve");
	assert.equal(shortPlace({ text: "0x1234" }), "0x1234");
});

test("what would act is spelled out", () => {
	assert.equal(visible("a\u202eb\r\n\u0007ü🐙"), "a\\u202eb\\r\\n\\u0007ü🐙");
});

test("routes go there and back", () => {
	const route = { view: "coroutines", coro: null, params: { q: 'a&b="c" ü', state: "ready,suspended" } };
	assert.deepEqual(parseRoute(formatRoute(route)), route);
	assert.deepEqual(parseRoute("#coro=18446744073709551615"), { view: "coroutine", coro: "18446744073709551615", params: {} });
	assert.equal(parseRoute("#coro=<script>").coro, null);
	assert.equal(parseRoute("").view, "overview");
});
