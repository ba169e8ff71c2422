// SPDX-License-Identifier: MIT
// test_live.mjs - the page of a running program: it starts, stalls, is killed; and the server is
// killed.
import { test } from "node:test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, existsSync } from "node:fs";
import { join } from "node:path";
import { FULL, painted } from "./browser.mjs";
import { OUT, ROOT, TOOL, until } from "./fixtures.mjs";
import { digits, DIR, live, open, start, urlOf } from "./live_page.mjs";

const REDIS = process.env.MINI_REDIS ?? join(ROOT, "build/examples/cpp/mini-redis");
const events = async (page) => digits(await page.locator("[data-fact=transitions] dd").innerText());

// The process of the program itself, below the tool.
function programOf(pid) {
	for (const entry of readdirSync("/proc")) {
		if (!/^\d+$/.test(entry)) continue;
		try {
			const stat = readFileSync(`/proc/${entry}/stat`, "utf8");
			const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
			const command = readFileSync(`/proc/${entry}/cmdline`, "utf8").split("\0");
			if (Number(parent) === pid && command[0] === REDIS) return Number(entry);
		} catch {
			// it has ended meanwhile
		}
	}
	return 0;
}

async function portOf(file) {
	await until("mini-redis is ready", () => existsSync(file) && readFileSync(file, "utf8").trim() !== "");
	return readFileSync(file, "utf8").trim();
}

function clients(port, requests, nr) {
	execFileSync("redis-benchmark", ["-p", port, "-n", String(requests), "-c", String(nr), "-t", "set", "-q"], { stdio: "ignore", timeout: 120_000 });
}

test("starts, works, stalls and is killed: the page follows", async (t) => {
	const trace = join(DIR, "run.jsonl");
	const portFile = join(DIR, "run.port");
	const run = start(t, ["run", "--serve", "-o", trace, "--", REDIS, "--port", "0", "--port-file", portFile, "--lose-wakeups"]);
	const { page, troubles } = await open(t, await urlOf(run));
	await live(page, "live");
	const port = await portOf(portFile);
	assert.equal(await page.locator(".card[data-sure=proven]").count(), 0);
	const before = await events(page);
	clients(port, 2000, 9);
	// Coroutines of clients that left wait for ever: reported without a request.
	await page.waitForSelector(".card[data-sure=proven]", { timeout: 120_000 });
	assert.ok((await events(page)) > before);
	assert.match(await page.locator("[aria-live=polite]").first().textContent(), /New finding/);

	// In the table the selection stays while rows are added.
	await page.evaluate(() => (location.hash = "#view=coroutines&sort=id"));
	await page.waitForSelector("[role=grid][aria-label=Coroutines] [role=row][aria-rowindex='4']");
	await page.locator("[role=grid][aria-label=Coroutines]").focus();
	for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowDown");
	const chosen = () => page.locator("[role=grid][aria-label=Coroutines] [aria-selected=true]").innerText();
	const id = /#\d+/.exec(await chosen())[0];
	const rows = Number(await page.locator("[role=grid][aria-label=Coroutines]").getAttribute("aria-rowcount"));
	clients(port, 500, 30);
	await page.waitForFunction((n) => Number(document.querySelector("[role=grid][aria-label=Coroutines]").getAttribute("aria-rowcount")) >= n + 30, rows, { timeout: 120_000 });
	assert.ok((await chosen()).includes(id), "the same coroutine");
	for (const hash of ["#view=timeline", "#view=timeline&by=coroutine", "#view=sites", "#view=findings", `#coro=${id.slice(1)}`]) {
		await page.evaluate((h) => (location.hash = h), hash);
		await painted(page);
	}
	await page.waitForSelector(".events-panel [role=row][aria-rowindex='2']:not([hidden])");
	if (FULL) await page.screenshot({ path: join(OUT, "screenshots", "live-coroutine.png") });

	process.kill(programOf(run.child.pid), "SIGKILL");
	await live(page, "ended");
	assert.equal(await page.locator(".live").innerText(), "target ended");
	await page.evaluate(() => (location.hash = "#view=overview"));
	await page.getByText("killed by signal 9").waitFor();
	assert.deepEqual(troubles, []);
	// The finished trace has the same report.
	const report = JSON.parse(execFileSync(TOOL, ["report", "--json", trace], { encoding: "utf8" }));
	assert.equal(await events(page), report.totals.transitions);
	assert.equal(digits(await page.locator("[data-fact=lost] dd").innerText()), report.totals.lost + report.totals.others_lost);
	// What was a finding while it ran may be none of the whole run: the last analysis follows the end.
	const wanted = report.findings.slice(0, 6).map((f) => f.count).join();
	const shown = async () => (await page.locator(".card .card-count").allInnerTexts()).map(digits).join();
	await until(`the findings of the report: ${wanted}`, async () => (await shown()) === wanted, 120);
});

test("the server goes away: said, and tried again", async (t) => {
	const trace = join(DIR, "lost.jsonl");
	const portFile = join(DIR, "lost.port");
	const run = start(t, ["run", "-q", "-o", trace, "--", REDIS, "--port", "0", "--port-file", portFile]);
	await portOf(portFile);
	await until("the trace is there", () => existsSync(trace));
	const server = start(t, ["serve", trace]);
	const { page } = await open(t, await urlOf(server));
	await live(page, "live");
	server.child.kill("SIGKILL");
	await live(page, "lost");
	assert.equal(await page.locator(".live").innerText(), "connection lost, retrying");
	// Earlier content is still there.
	await page.evaluate(() => (location.hash = "#view=coroutines"));
	await page.waitForFunction(() => Number(document.querySelector("[role=grid][aria-label=Coroutines]")?.getAttribute("aria-rowcount")) > 1);
	run.child.kill("SIGTERM");
});

test("a finished trace, served: the page is the file's", async (t) => {
	const server = start(t, ["serve", join(DIR, "run.jsonl")]);
	const { page, troubles } = await open(t, await urlOf(server), "#view=findings");
	await page.waitForSelector(".finding");
	assert.equal(await page.locator(".live").isVisible(), false);
	await page.evaluate(() => (location.hash = "#coro=3"));
	await page.waitForSelector(".events-panel [role=row][aria-rowindex='2']:not([hidden])");
	assert.deepEqual(troubles, []);
});
