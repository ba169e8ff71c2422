// SPDX-License-Identifier: MIT
// test_live_state.mjs - what a live page says of itself is true: delay, pause, loss, a collector that is stopped or killed.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT, until } from "./fixtures.mjs";
import { digits, DIR, killTool, live, open, start, urlOf } from "./live_page.mjs";

const LOAD = process.env.LIVE_LOAD ?? join(ROOT, "build/tests/live/live_load");
const transitions = async (page) => digits(await page.locator("[data-fact=transitions] dd").innerText());
const rate = (n) => ["100", String(n), "200", "1"]; // coroutines, transitions a second, seconds, threads

// The time of the page's end on the clock of this machine, and what the page shows as delay, at one moment.
async function delays(page, url) {
	const before = process.hrtime.bigint();
	const shown = await page.evaluate(() => Number(document.querySelector(".delay").dataset.ns));
	const after = process.hrtime.bigint();
	const meta = await (await fetch(new URL("api/meta", url))).json();
	return { shown, before, after, end: BigInt(meta.origin) + BigInt(Math.round(meta.end)) };
}

test("the delay is shown, pause keeps the page as it is, and the last 30 s move", async (t) => {
	const run = start(t, ["run", "--serve", "-o", join(DIR, "state.ct"), "--", LOAD, ...rate(20_000)]);
	const url = await urlOf(run);
	const { page, troubles } = await open(t, url);
	await live(page, "live");
	await until("events are in the page", async () => (await transitions(page)) > 0);
	// The page cannot be ahead of the server: the shown moment is not after the server's.
	const d = await delays(page, url);
	assert.ok(d.shown > 0, "a delay is shown");
	assert.match(await page.locator(".delay").innerText(), /behind$/);
	assert.ok(d.before - BigInt(d.shown) <= d.end + 2_000_000_000n, `shown ${d.shown} ns, the server's end is ${d.after - d.end} ns ago`);

	await page.getByRole("button", { name: "Pause" }).click();
	await live(page, "paused");
	const then = await transitions(page);
	const first = Number(await page.locator(".delay").getAttribute("data-ns"));
	await until("the program goes on", async () => (await (await fetch(new URL("api/meta", url))).json()).totals.transitions > then + 1000);
	assert.equal(await transitions(page), then, "a paused page does not change");
	await page.waitForFunction((ns) => Number(document.querySelector(".delay").dataset.ns) > ns + 5e8, first);
	await page.getByRole("button", { name: "Resume" }).click();
	await live(page, "live");
	await until("the page goes on", async () => (await transitions(page)) > then);

	await page.getByRole("button", { name: "Last 30 s" }).click();
	const to = () => page.evaluate(() => Number(new URLSearchParams(location.hash.slice(1)).get("to")));
	await until("a range is selected", async () => (await to()) > 0);
	const end = await to();
	await until("the range moves", async () => (await to()) > end);
	await page.getByRole("button", { name: "Select all" }).click();
	await until("no range is selected", async () =>
		(await page.getByRole("button", { name: "Last 30 s" }).getAttribute("aria-pressed")) === "false" && (await to()) === 0);
	assert.deepEqual(troubles, []);
});

test("run --serve, its collector killed: not live", async (t) => {
	const run = start(t, ["run", "--serve", "-o", join(DIR, "killed.ct"), "--", LOAD, ...rate(2000)]);
	const { page } = await open(t, await urlOf(run));
	await live(page, "live");
	killTool(t, run);
	await page.waitForSelector(".live:not([data-state=live]):not([data-state=behind])", { timeout: 120_000 });
	const state = await page.locator(".live").getAttribute("data-state");
	assert.ok(state === "killed" || state === "lost", state);
});

test("serve, the collector stopped and killed: said, and why", async (t) => {
	const trace = join(DIR, "apart.ct");
	const run = start(t, ["run", "-q", "-o", trace, "--", LOAD, ...rate(2000)]);
	await until("the trace is there", () => existsSync(trace));
	const server = start(t, ["serve", trace]);
	const { page } = await open(t, await urlOf(server));
	await live(page, "live");
	// The server has found the collector: it looks for it every 5 s.
	await page.waitForFunction(() => document.querySelector("[data-fact=lost]").outerHTML.includes("as it says now"));
	run.child.kill("SIGSTOP");
	await live(page, "silent");
	run.child.kill("SIGCONT");
	await live(page, "live");
	killTool(t, run);
	await live(page, "killed");
	assert.match(await page.locator(".shortage").innerText(), /unfinished/);
	assert.equal(await page.locator(".delay").innerText(), "");
});

test("loss is shown while the program runs", async (t) => {
	const run = start(t, ["run", "--serve", "--buffer", "1M", "-o", join(DIR, "loss.ct"), "--", LOAD, "100", "0", "200", "2"]);
	const { page } = await open(t, await urlOf(run));
	await until("lost events are shown", async () => digits(await page.locator("[data-fact=lost] dd").innerText()) > 0);
	assert.match(await page.locator("[data-fact=lost] dd").innerText(), /so far$/);
	assert.ok(await page.locator("[data-fact=lost]").evaluate((el) => el.classList.contains("loud")));
	assert.notEqual(await page.locator(".live").getAttribute("data-state"), "ended");
});
