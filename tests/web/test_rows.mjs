// SPDX-License-Identifier: MIT
// test_rows.mjs - rows of the timeline: groups with sums, rows that are active in the window, pinned rows; with many coroutines.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { csv, FULL, openFile, painted, SCHEMES, withBrowser } from "./browser.mjs";
import { bigTrace, freshOut, OUT, pageOf, readTrace, redisTrace } from "./fixtures.mjs";
import { openMeasured, PAN_ROUNDS, panAndZoom } from "./measure.mjs";

const COROUTINES = Number(process.env.ROWS_COROUTINES ?? (FULL ? 20_000 : 2_000));
let browser;
let finish;
let redis;
let big;

before(async () => {
	freshOut();
	await new Promise((opened) => {
		void withBrowser((b) => {
			browser = b;
			opened();
			return new Promise((done) => (finish = done));
		});
	});
	redis = pageOf("redis", await redisTrace());
	big = pageOf("big", bigTrace(COROUTINES * 5, COROUTINES));
});

after(() => finish?.());

async function on(html, hash, fn, options) {
	const { page, troubles, close } = await openFile(browser, html, hash, options);
	try {
		await fn(page);
		assert.deepEqual(troubles, []);
	} finally {
		await close();
	}
}

const result = (page) => page.locator(".timeline .filters .result");
const settled = (page, text) => page.waitForFunction((t) => document.querySelector(".timeline .filters .result").textContent.replaceAll("\u202f", "").includes(t), text);
const CORO = "#view=timeline&by=coroutine";

// All rows of the coroutines' table.
async function coroutines(html) {
	let rows;
	await on(html, "#view=coroutines", async (page) => (rows = await csv(page, "coroutines")));
	return rows;
}

test("groups have the sums of their coroutines", async () => {
	const all = await coroutines(redis.html);
	await on(redis.html, `${CORO}&group=site`, async (page) => {
		await settled(page, "groups");
		await page.locator(".group-table summary").click();
		const groups = await csv(page, "groups");
		assert.equal(groups.reduce((n, g) => n + Number(g.coroutines), 0), all.length);
		const sum = (rows, key) => rows.reduce((n, r) => n + Number(r[key]), 0);
		assert.ok(Math.abs(sum(groups, "running_ns") - sum(all, "ran_ns")) < 1000);
		assert.ok(Math.abs(sum(groups, "waiting_ns") + sum(groups, "ready_ns") - sum(all, "waited_ns")) < 1000);
		assert.equal(sum(groups, "with_findings"), all.filter((r) => r.findings !== "").length);
	});
});

// The time of all coroutines in a window, by replaying the trace: a wait begins with a suspend.
function replayWindow({ events, end }, from, to) {
	const sums = { running: 0, ready: 0, waiting: 0 };
	const now = new Map(); // by coroutine: its state, and since when
	const enter = (id, state, ts) => {
		const last = now.get(id);
		if (last?.state) sums[last.state] += Math.max(0, Math.min(to, ts) - Math.max(from, last.ts));
		now.set(id, { state, ts });
	};
	for (const e of events) {
		if (e.what === "resume") enter(e.id, "running", e.ts);
		else if (e.what === "suspend") enter(e.id, "waiting", e.ts);
		else if (e.what === "wake" && now.get(e.id)?.state === "waiting") enter(e.id, "ready", e.ts);
		else if (e.what === "end" || e.what === "destroy") enter(e.id, null, e.ts);
	}
	for (const id of now.keys()) enter(id, null, end);
	return sums;
}

test("with a window selected, groups have the sums of that window", async () => {
	const trace = readTrace(redis.trace);
	const { end } = trace;
	const windows = [[0.2, 0.3], [0.3, 0.9]].map((w) => w.map((part) => Math.round(end * part)));
	const sums = (groups) => Object.fromEntries(["running", "ready", "waiting"].map((key) => [key, groups.reduce((n, g) => n + Number(g[`${key}_ns`]), 0)]));
	await on(redis.html, `${CORO}&group=kind&from=${windows[0][0]}&to=${windows[0][1]}`, async (page) => {
		await settled(page, "groups");
		await page.locator(".group-table summary").click();
		for (const [from, to] of windows) {
			await page.evaluate((hash) => (location.hash = hash), `${CORO}&group=kind&from=${from}&to=${to}`);
			await page.waitForFunction((t) => document.querySelector(".sums-of")?.textContent.includes("selected window") && document.querySelector(".sums-of").dataset.to === t, String(to));
			const groups = await csv(page, "groups");
			assert.deepEqual([...new Set(groups.map((g) => `${g.from_ns} ${g.to_ns} ${g.unknown_ns}`))], [`${from} ${to} 0`]);
			const [got, want] = [sums(groups), replayWindow(trace, from, to)];
			for (const key of Object.keys(want)) assert.ok(Math.abs(got[key] - want[key]) <= 1000, `${key} from ${from} to ${to}: ${got[key]}, and ${want[key]} by replay`);
		}
		// Without a window they are those of the whole run again.
		await page.getByRole("button", { name: "All: show the whole run" }).click();
		await page.waitForFunction(() => document.querySelector(".sums-of").textContent.includes("whole run"));
		const [got, want] = [sums(await csv(page, "groups")), replayWindow(trace, 0, end)];
		for (const key of Object.keys(want)) assert.ok(Math.abs(got[key] - want[key]) <= 1000, `${key} of the whole run: ${got[key]}, and ${want[key]} by replay`);
	});
});

test("a group is opened and closed by click, key, button, and the address", async () => {
	await on(redis.html, `${CORO}&group=kind`, async (page) => {
		await settled(page, "groups");
		await page.locator(".group-table summary").click();
		const buttons = page.locator(".group-table tbody button");
		await buttons.first().waitFor();
		const groups = await buttons.count();
		assert.ok(groups > 1);
		assert.equal(await page.locator(".group-table [aria-expanded=true]").count(), 0);
		const box = await page.locator(".stage canvas").boundingBox();
		await page.mouse.click(box.x + 40, box.y + 24 + 5);
		await page.waitForFunction(() => /open=\d/.test(location.hash));
		await page.waitForFunction(() => document.querySelectorAll(".group-table [aria-expanded=true]").length === 1);
		await page.locator(".stage").focus();
		await page.keyboard.press("Enter");
		await page.waitForFunction(() => document.querySelectorAll(".group-table [aria-expanded=true]").length === 0);
		await buttons.nth(1).click();
		await page.waitForFunction(() => document.querySelectorAll(".group-table [aria-expanded=true]").length === 1);
		assert.match(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), /^Close /);
		await page.getByRole("button", { name: "Open all" }).click();
		await page.waitForFunction((n) => document.querySelectorAll(".group-table [aria-expanded=true]").length === n, groups);
		assert.match(page.url(), /open=all/);
	});
	await on(redis.html, `${CORO}&group=<script>&open=<b>.1e9&order=nonsense&pin=c9..t99999.<i>`, async (page) => {
		await settled(page, "coroutines");
		assert.equal(await page.getByLabel("Groups of coroutines").inputValue(), "");
		assert.equal(await page.getByLabel("Order of the lanes").inputValue(), "first");
	});
});

test("active in this window: those that run there come first, and the order follows the window", async () => {
	const hash = (from, to) => `${CORO}&order=active&from=${from}&to=${to}`;
	let slices;
	await on(big.html, "#view=timeline", async (page) => (slices = await csv(page, "what is in sight")));
	const end = Math.max(...slices.map((r) => Number(r.from_ns) + Number(r.duration_ns)));
	for (const [from, to] of [[end * 0.2, end * 0.203], [end * 0.7, end * 0.703]].map((w) => w.map(Math.round))) {
		await on(big.html, hash(from, to), async (page) => {
			await settled(page, "active here");
			await page.waitForTimeout(400); // the slices of the rows
			const rows = (await csv(page, "what is in sight")).filter((r) => r.what === "running" || r.what === "busy");
			const active = Number(/, (\d+) active/.exec((await result(page).innerText()).replaceAll("\u202f", ""))[1]);
			assert.ok(active > 0);
			const inWindow = new Set(rows.filter((r) => Number(r.from_ns) <= to && Number(r.from_ns) + Number(r.duration_ns) >= from).map((r) => r.lane));
			const seen = new Set((await csv(page, "what is in sight")).map((r) => r.lane));
			assert.ok(inWindow.size >= Math.min(active, seen.size) * 0.9, `${inWindow.size} of ${seen.size} rows run, ${active} are active`);
			await page.getByRole("button", { name: "All: show the whole run" }).click();
			await page.waitForFunction((t) => !document.querySelector(".timeline .filters .result").textContent.endsWith(t), `, ${active} active here`);
		});
	}
});

test("pinned rows stay above, in the address, and are unpinned", async () => {
	await on(redis.html, `${CORO}`, async (page) => {
		await settled(page, "coroutines");
		await page.locator(".stage").focus();
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("p");
		await page.waitForFunction(() => /pin=c\d+/.test(location.hash));
		assert.equal(await page.locator(".unpin").count(), 1);
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("p");
		await page.waitForFunction(() => document.querySelectorAll(".unpin").length === 2);
		await page.getByRole("button", { name: "By thread" }).click();
		await page.waitForFunction(() => document.querySelector("[aria-pressed=true]")?.textContent === "By thread");
		assert.equal(await page.locator(".pin-strip:visible").count(), 1, "pinned coroutines stay with the lanes of threads");
		await page.locator(".stage").focus();
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("p");
		await page.waitForFunction(() => /pin=c\d+\.c\d+\.t0/.test(location.hash));
		const url = page.url();
		await page.reload();
		await page.waitForFunction(() => document.querySelectorAll(".unpin").length === 3);
		assert.equal(page.url(), url);
		// Something is drawn in the pinned rows.
		await page.waitForFunction(() => [...document.querySelectorAll(".pin-canvas canvas")].every((c) => {
			// From a copy: Chromium warns when the page's own canvas is read again and again.
			const copy = new OffscreenCanvas(c.width, c.height).getContext("2d", { willReadFrequently: true });
			copy.drawImage(c, 0, 0);
			const d = copy.getImageData(0, 0, c.width, c.height).data;
			const seen = new Set();
			for (let i = 0; i < d.length; i += 4) seen.add((d[i] << 16) | (d[i + 1] << 8) | d[i + 2]);
			return seen.size > 4;
		}), null, { polling: 100 });
		for (let left = 3; left > 0; left--) {
			await page.locator(".unpin:visible").first().click();
			await page.waitForFunction((n) => document.querySelectorAll(".unpin").length === n, left - 1);
		}
		assert.equal(await page.locator(".pinned").isVisible(), false);
		assert.ok(!page.url().includes("pin="));
	});
});

// Times are reported; bench/web.sh has them for 100,000 coroutines.
test("many coroutines: groups, activity and pins while the window moves", async (t) => {
	const ways = [["groups", "&group=kind&open=all"], ["active", "&order=active"], ["pinned", "&pin=c1.c2.c3.t0"]];
	for (const [what, more] of FULL ? ways : [["all", ways.map(([, more]) => more).join("")]]) {
		const o = await openMeasured(browser, big.html, CORO + more);
		await settled(o.page, "coroutines");
		const pan = await panAndZoom(o.page, PAN_ROUNDS);
		assert.ok(pan.frames > 5);
		assert.deepEqual(o.troubles, []);
		t.diagnostic(`${what}: longest task ${pan.longest.toFixed(0)} ms, opening ${o.longest.toFixed(0)} ms`);
		await o.close();
	}
});

test("screenshots: groups and pins, light and dark, wide and narrow", async () => {
	for (const colorScheme of SCHEMES) {
		const sizes = [["-narrow", { width: 390, height: 844 }], ["", { width: 1440, height: 900 }]];
		for (const [size, viewport] of sizes.slice(0, FULL ? 2 : 1)) {
			await on(redis.html, `${CORO}&group=kind&open=1&pin=t0.c1.c2`, async (page) => {
				await settled(page, "groups");
				await page.waitForTimeout(300); // the slices
				await painted(page);
				const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
				assert.ok(wide <= 0, `${wide} pixels too wide`);
				if (FULL) await page.screenshot({ path: join(OUT, "screenshots", `rows-${colorScheme}${size}.png`) });
			}, { colorScheme, viewport });
		}
	}
});
