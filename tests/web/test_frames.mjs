// SPDX-License-Identifier: MIT
// test_frames.mjs - frames on the lanes of the timeline: marks, their number where they are dense, tips, clicks; in a file and live.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { FULL, openFile, painted, ready, watch, withBrowser } from "./browser.mjs";
import { endTool, freshOut, OUT, pageOf, ROOT, TOOL, until } from "./fixtures.mjs";

const TRACED = process.env.FRAMES_TRACED ?? join(ROOT, "build/tests/frames/run/frames_traced_pie");
const BASE = 36012000000000;
const MS = 1_000_000;
const RUN_MS = 100;
const at = (ms) => BASE + Math.round(ms * MS);
const plain = (text) => text.replace(/[\u2009\u202f\u00a0]/g, " ");

// [ms, coroutine or 0, thread, type, fields]
function someFrames() {
	const frames = [[20, 1, 9, "step", { number: 7, cycles: null, text: "<b>\"x\"</b>" }], [70, 0, 9, "note", { number: 8 }]];
	for (let i = 0; i < 37; i++) frames.push([40 + i / 1000, 1, 9, i % 4 ? "step" : "note", { number: 100 + i }]);
	return frames;
}

function framesTrace(name, frames) {
	const trace = join(OUT, `${name}.jsonl`);
	const meta = [
		{ type: "run", format: 1, tool: "corotracer 0.1.0", command: ["./app"], pid: 7, start_ts: BASE, start_realtime: 1794743530972, hostname: "h", arch: "x86_64", stations: 64 },
		{ type: "site", id: 1, file: "app.c", line: 3, function: "work", pid: 7 },
		{ type: "birth", ts: BASE, probe_id: 1, tid: 9, pid: 7, name: "worker" },
		...frames.map(([ms, id, tid, frame, fields], i) => ({
			type: "frame", pid: 7, tid, ts: at(ms), ...(id ? { probe_id: id } : {}), ticket: i, buffer: "App", frame, fields: JSON.stringify(fields),
		})),
	];
	const events = [];
	for (const [from, to] of [[10, 60], [80, RUN_MS]]) {
		events.push({ probe_id: 1, tid: 9, addr: "0x0000000000401000", seq: 1, is_active: true, ts: at(from) });
		events.push({ probe_id: 1, tid: 9, addr: "0x0000000000401000", seq: 2, is_active: false, ts: at(to), site: 1, reason: "io-read", resource: 3 });
	}
	const lines = (list) => list.map((x) => `${JSON.stringify(x)}\n`).join("");
	writeFileSync(trace, lines(events));
	writeFileSync(`${trace}.meta`, lines(meta));
	return pageOf(name, trace);
}

let browser;
let finish;
let some;

before(async () => {
	freshOut();
	await new Promise((opened) => {
		void withBrowser((b) => {
			browser = b;
			opened();
			return new Promise((done) => (finish = done));
		});
	});
	some = framesTrace("some", someFrames());
});

after(() => finish?.());

async function on(html, hash, fn) {
	const { page, troubles, close } = await openFile(browser, html, hash);
	try {
		await page.locator(".lane-legend", { hasText: "frames" }).waitFor();
		await painted(page);
		await fn(page);
		assert.deepEqual(troubles, []);
	} finally {
		await close();
	}
}

// A time of the whole run, which has a margin of a hundredth, at the top of the first lane, where marks are.
async function pointOf(page, ms) {
	const box = await page.locator(".stage canvas").boundingBox();
	return [box.x + 180 + ((box.width - 186) * (ms + RUN_MS / 100)) / (RUN_MS * 1.02), box.y + 24 + 6];
}

async function tipAt(page, ms) {
	const [x, y] = await pointOf(page, ms);
	await page.mouse.move(x - 1, y);
	await page.mouse.move(x, y);
	await page.locator(".tip:not([hidden])").waitFor();
	return plain(await page.locator(".tip").innerText());
}

for (const by of ["", "&by=coroutine"]) {
	test(`timeline${by}: the tip of a frame has type, buffer and fields, that of many their number`, async () => {
		await on(some.html, `#view=timeline${by}`, async (page) => {
			if (FULL) await page.screenshot({ path: join(OUT, "screenshots", `frames${by.slice(4)}.png`) });
			const one = await tipAt(page, 20);
			assert.match(one, /^frame step\n/);
			assert.match(one, /buffer\s+App\s+saved by\s+worker #1\s+thread\s+9\s+number\s+7\s+cycles\s+not measured\s+text\s+<b>"x"<\/b>/);
			const many = await tipAt(page, 40);
			assert.match(many, /^37 frames\n/);
			assert.match(many, /for\s+36\.0 µs\s+types\s+step 27, note 10/);
			const slice = await tipAt(page, 30);
			assert.match(slice, /worker #1 running/);
		});
	});
}

test("a thread's lane has frames of no coroutine, a coroutine's has not", async () => {
	await on(some.html, "#view=timeline", async (page) => {
		assert.match(await tipAt(page, 70), /frame note[^]*saved by\s+no coroutine/);
	});
	await on(some.html, "#view=timeline&by=coroutine", async (page) => {
		assert.doesNotMatch(await tipAt(page, 70.2), /frame/);
	});
});

test("a click chooses a mark, a second one opens the coroutine, or shows the single frames", async () => {
	await on(some.html, "#view=timeline&by=coroutine", async (page) => {
		await page.mouse.click(...await pointOf(page, 40));
		await page.locator(".timeline-info", { hasText: "37 frames" }).waitFor();
		await page.mouse.click(...await pointOf(page, 40));
		await page.waitForFunction(() => /from=39\d{6}&to=40\d{6}/.test(location.hash), null, { timeout: 20_000 });
		await painted(page);
		if (FULL) await page.screenshot({ path: join(OUT, "screenshots", "frames-single.png") });
	});
	await on(some.html, "#view=timeline&by=coroutine", async (page) => {
		await page.mouse.click(...await pointOf(page, 20));
		await page.locator(".timeline-info", { hasText: "frame step" }).waitFor();
		await page.mouse.click(...await pointOf(page, 20));
		await page.locator(".frames-panel", { hasText: "38 frames" }).waitFor();
	});
});

test("keys go from mark to mark, and Enter opens", async () => {
	await on(some.html, "#view=timeline&by=coroutine", async (page) => {
		await page.locator(".stage").focus();
		await page.keyboard.press("f");
		await page.locator(".timeline-info", { hasText: "frame step" }).waitFor();
		await page.keyboard.press("f");
		await page.locator(".timeline-info", { hasText: "37 frames" }).waitFor();
		await page.keyboard.press("Shift+F");
		await page.locator(".timeline-info", { hasText: "frame step" }).waitFor();
		await page.keyboard.press("Enter");
		await page.locator(".frames-panel").waitFor();
	});
});

test("frames can be hidden, and the link keeps that", async () => {
	await on(some.html, "#view=timeline", async (page) => {
		await page.getByLabel("frames", { exact: true }).uncheck();
		await page.waitForFunction(() => /frames=0/.test(location.hash));
		await painted(page);
		assert.doesNotMatch(await tipAt(page, 40), /frames/);
	});
});

test("of very many frames it is said how many the file has", async () => {
	const many = framesTrace("many", Array.from({ length: 10_000 }, (_, i) => [10 + i * 0.004, 1, 9, "step", { i }]));
	await on(many.html, "#view=timeline", async (page) => {
		assert.match(await tipAt(page, 30), /^\d+ frames[^]*of the run\s+5 000 of 10 000 frames are here, evenly spread/);
	});
	const { page, close } = await openFile(browser, many.html);
	assert.match(plain(await page.locator("body").innerText()), /frames\s+10 000 \(this page has 5 000, evenly spread\), none lost/);
	await close();
});

test("a page without frames says nothing of them", async () => {
	const none = framesTrace("none", []);
	const { page, troubles, close } = await openFile(browser, none.html, "#view=timeline");
	await painted(page);
	assert.doesNotMatch(await page.locator("body").innerText(), /frames/);
	assert.deepEqual(troubles, []);
	await close();
});

test("live: frames appear on the lanes while the program runs", async (t) => {
	const child = spawn(TOOL, ["run", "--frames", "--serve", "-o", join(OUT, "live.jsonl"), "--", TRACED, "3000", "2000"], { stdio: ["ignore", "ignore", "pipe"] });
	let said = "";
	child.stderr.on("data", (d) => (said += d));
	t.after(() => endTool(child));
	await until("the URL is told", () => /http:\/\/\S+\/\s/.test(said));
	const url = /http:\/\/\S+\//.exec(said)[0];
	const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
	t.after(() => context.close());
	const page = await context.newPage();
	const troubles = watch(page, new URL(url).origin);
	await page.goto(`${url}#view=timeline&by=coroutine`);
	await ready(page);
	await page.locator(".lane-legend", { hasText: "frames" }).waitFor();
	const box = await page.locator(".stage canvas").boundingBox();
	const count = async () => {
		for (let x = box.x + 190; x < box.x + box.width; x += 8) {
			await page.mouse.move(x, box.y + 30);
			const tip = page.locator(".tip:not([hidden])");
			const text = (await tip.count()) > 0 ? plain(await tip.innerText()) : "";
			if (/^\d+ frames\n/.test(text)) return text;
		}
		return "";
	};
	await until("a mark has frames", async () => /types\s+step \d+/.test(await count()));
	if (FULL) await page.screenshot({ path: join(OUT, "screenshots", "frames-live.png") });
	assert.deepEqual(troubles, []);
});
