// SPDX-License-Identifier: MIT
// test_cpu.mjs - processor time on the page: parts of slices, sums per coroutine and site, and no word of it in a trace without.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { csv, FULL, openFile, painted, withBrowser } from "./browser.mjs";
import { freshOut, OUT, pageOf } from "./fixtures.mjs";

const BASE = 36012000000000;
const MS = 1_000_000;
const at = (ms) => BASE + ms * MS;
const plain = (text) => text.replace(/[\u2009\u202f\u00a0]/g, " ");

// Three slices of 10 ms on one thread: [begin, waits]; the records of the last one are lost.
const SLICES = [
	[1, [[2, 4, "preempted"], [5, 9, "blocked"]]],
	[21, [[25, 26, "ready"]]],
	[41, []],
];

function cpuTrace(name, recorded) {
	const trace = join(OUT, `${name}.jsonl`);
	const meta = [
		{ type: "run", format: 1, tool: "corotracer 0.1.0", command: ["./app"], pid: 7, start_ts: BASE, start_realtime: 1794743530972, hostname: "h", arch: "x86_64", stations: 64 },
		{ type: "site", id: 1, file: "app.c", line: 3, function: "work", pid: 7 },
		{ type: "birth", ts: BASE, probe_id: 1, tid: 9, pid: 7, name: "worker" },
	];
	const events = [];
	const switched = (from, to, state, more = {}) => meta.push({ type: "switch", pid: 7, tid: 9, from_ts: at(from), to_ts: at(to), cpu: 0, state, ...more });
	if (recorded) {
		switched(0, 0, "recorded", { tid: 0 });
		switched(0, 0, "wakes", { tid: 0 });
		for (const [, waits] of SLICES) for (const [from, to, state] of waits) switched(from, to, state);
		switched(42, 44, "lost", { tid: 0, lost: 5 });
		meta.push({ type: "cpu", pid: 7, tid: 9, from_ts: at(5), to_ts: at(9), cpu_ns: 0, queued_ns: 0, state: "blocked", call: "nanosleep" });
	}
	for (const [from] of SLICES) {
		events.push({ probe_id: 1, tid: 9, addr: "0x0000000000401000", seq: 2, is_active: true, ts: at(from) });
		events.push({ probe_id: 1, tid: 9, addr: "0x0000000000401000", seq: 2, is_active: false, ts: at(from + 10), site: 1, reason: "io-read", resource: 3 });
	}
	const lines = (list) => list.map((x) => `${JSON.stringify(x)}\n`).join("");
	writeFileSync(trace, lines(events));
	writeFileSync(`${trace}.meta`, lines(meta));
	return pageOf(name, trace);
}

let browser;
let finish;
let measured;
let without;

before(async () => {
	freshOut();
	await new Promise((opened) => {
		void withBrowser((b) => {
			browser = b;
			opened();
			return new Promise((done) => (finish = done));
		});
	});
	measured = cpuTrace("measured", true);
	without = cpuTrace("without", false);
});

after(() => finish?.());

async function on(html, hash, fn) {
	const { page, troubles, close } = await openFile(browser, html, hash);
	try {
		await fn(page);
		assert.deepEqual(troubles, []);
	} finally {
		await close();
	}
}

// The tip at a time of the only lane; the picture is the whole run, after a gutter of 180 pixels.
async function tipAt(page, ms) {
	const box = await page.locator(".stage canvas").boundingBox();
	const x = box.x + 180 + ((box.width - 186) * (ms + 0.5)) / 52;
	await page.mouse.move(x, box.y + 60);
	await page.mouse.move(x + 1, box.y + 61);
	await page.locator(".tip:not([hidden])").waitFor();
	return plain(await page.locator(".tip").innerText());
}

for (const by of ["", "&by=coroutine"]) {
	test(`timeline${by}: a slice has its parts, and its tip their times`, async () => {
		await on(measured.html, `#view=timeline${by}`, async (page) => {
			await painted(page);
			await page.locator(".lane-legend", { hasText: "blocked in the kernel" }).waitFor();
			if (FULL) await page.screenshot({ path: join(OUT, "screenshots", `cpu${by.slice(4)}.png`) });
			const rows = await csv(page, "what is in sight");
			const slices = rows.filter((r) => r.what === "running");
			assert.deepEqual(slices.map((r) => [r.queued_ns, r.blocked_ns]), [["2000000", "4000000"], ["1000000", "0"], ["", ""]]);
		});
	});
}

test("the tip of a slice says where its time went, or that it was not measured", async () => {
	await on(measured.html, "#view=timeline", async (page) => {
		await painted(page);
		const first = await tipAt(page, 6);
		assert.match(first, /on a processor\s+4\.00 ms \(40 %\)/);
		assert.match(first, /waited for a processor\s+2\.00 ms \(20 %\)/);
		assert.match(first, /blocked in the kernel\s+4\.00 ms \(40 %\), mostly in nanosleep/);
		assert.match(await tipAt(page, 45), /processor time\s+not measured/);
	});
});

test("coroutine and site have the sums of what was measured", async () => {
	const sums = /on a processor\s+13\.0 ms \(65 %\)\s+waited for a processor\s+3\.00 ms \(15 %\)\s+blocked in the kernel\s+4\.00 ms \(20 %\)/;
	await on(measured.html, "#coro=1", async (page) => {
		await page.locator(".coro dl").first().waitFor();
		assert.match(plain(await page.locator(".coro").innerText()), sums);
	});
	await on(measured.html, "#view=sites", async (page) => {
		await page.locator(".site-detail dl").first().waitFor();
		assert.match(plain(await page.locator(".site-detail").innerText()), sums);
		const [site] = await csv(page, "places");
		assert.deepEqual([site.on_processor_ns, site.queued_ns, site.blocked_ns], ["13000000", "3000000", "4000000"]);
	});
});

test("a trace without context switches says nothing of processors", async () => {
	for (const hash of ["#view=timeline", "#view=timeline&by=coroutine", "#coro=1", "#view=sites"]) {
		await on(without.html, hash, async (page) => {
			await painted(page);
			assert.doesNotMatch(await page.locator("body").innerText(), /processor/);
		});
	}
});
