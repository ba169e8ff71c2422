// SPDX-License-Identifier: MIT
// test_profile.mjs - the page of `why --sample --html` in a real browser: flame graph and stacks against its data.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { csv, FULL, openFile, painted, SCHEMES, withBrowser } from "./browser.mjs";
import { freshOut, HOSTILE, OUT, pageData, profilePage, withData } from "./fixtures.mjs";

let browser;
let finish;
let sampled;

before(async () => {
	freshOut();
	await new Promise((opened) => {
		void withBrowser((b) => {
			browser = b;
			opened();
			return new Promise((done) => (finish = done));
		});
	});
	sampled = await profilePage("sampled");
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

// The blocks of the graph: row, function, share of the width in tenths of a percent.
const blocks = (page) => page.evaluate(() => [...document.querySelectorAll(".flame-block")].map((e) =>
	[Math.round(parseFloat(e.style.top) / 1.75), e.getAttribute("aria-label").split(":")[0], Math.round(parseFloat(e.style.width) * 10)]));

// The same from the data, by another way: a node is a prefix of stacks.
function expectedBlocks({ stacks, samples }) {
	const sums = new Map();
	for (const s of stacks) {
		const path = s.stack.map((l) => [l.function, l.file, l.line]).reverse();
		for (let i = 1; i <= path.length; i++) {
			const key = JSON.stringify(path.slice(0, i));
			sums.set(key, (sums.get(key) ?? 0) + s.samples);
		}
	}
	return [...sums].filter(([, n]) => n / samples >= 0.0008).map(([key, n]) => [JSON.parse(key).length - 1, JSON.parse(key).at(-1)[0], Math.round(1000 * n / samples)]);
}

const sorted = (list) => list.map((x) => JSON.stringify(x)).sort();

test("the page has the object of --json", () => {
	assert.deepEqual(pageData(sampled.html), sampled.data);
	assert.equal(sampled.data.name, "sampled");
	assert.ok(sampled.data.looks > 0);
});

test("the flame graph has each node with its share of the time", async () => {
	await on(sampled.html, "", async (page) => {
		assert.deepEqual(sorted(await blocks(page)), sorted(expectedBlocks(sampled.data)));
	});
});

test("a click zooms in, Escape and the button zoom out", async () => {
	await on(sampled.html, "", async (page) => {
		const before = await blocks(page);
		await page.locator(".flame-block", { hasText: "client" }).first().click();
		const inside = await blocks(page);
		assert.deepEqual(inside[0], [0, "client", 1000]);
		assert.ok(inside.length < before.length && inside.every(([row, name]) => row > 0 ? name === "sleep_in_turns" : name === "client"));
		await page.keyboard.press("Escape");
		assert.deepEqual(await blocks(page), before);
		await page.locator(".flame-block", { hasText: "client" }).first().click();
		await page.getByRole("button", { name: "Show all" }).click();
		assert.deepEqual(await blocks(page), before);
		await page.locator(".flame-block").first().focus();
		await page.keyboard.press("Enter");
		assert.equal((await blocks(page))[0][2], 1000);
	});
});

test("the search marks what it finds, says its share, and filters the table", async () => {
	await on(sampled.html, "#view=flame&q=sleep_in_turns", async (page) => {
		const hits = sampled.data.stacks.filter((s) => s.stack.some((l) => l.function === "sleep_in_turns"));
		const share = hits.reduce((n, s) => n + s.samples, 0) / sampled.data.samples;
		const said = await page.locator("#flame .note").innerText();
		assert.ok(Math.abs(parseFloat(said) - 100 * share) <= 0.51, said);
		// By the label: a narrow block has no text.
		const labels = await page.locator(".flame-block.hit").evaluateAll((list) => list.map((e) => e.getAttribute("aria-label").split(":")[0]));
		assert.deepEqual([...new Set(labels)], ["sleep_in_turns"]);
		assert.equal(await page.locator(".flame-block.hit").count(), (await blocks(page)).filter(([, name]) => name === "sleep_in_turns").length);
		assert.equal(await page.locator('table[aria-label="Stacks"] tbody tr').count(), hits.length);
	});
});

test("every stack has its row", async () => {
	await on(sampled.html, "", async (page) => {
		const saved = await csv(page, "stacks");
		assert.deepEqual(saved.map((r) => [r.state, Number(r.most), Number(r.task_seconds).toFixed(6)]),
			sampled.data.stacks.map((s) => [s.state, s.most, s.task_seconds.toFixed(6)]));
		assert.deepEqual(await page.locator('table[aria-label="Stacks"] tbody tr').first().locator("li").allInnerTexts(),
			sampled.data.stacks[0].stack.map((l) => `${l.function} ${l.file}:${l.line}${l.exact ? "" : " (the function)"}`));
	});
});

function hostileProfile() {
	const level = (text, i) => ({ function: text, file: text, line: i, exact: false, awaits: text });
	const stack = (samples, ...levels) => ({ percent: 1, task_seconds: 1, tasks: 1, state: "ready", samples, most: 1, stack: levels });
	const stacks = HOSTILE.map((text, i) => stack(100 - i, level(text, i), level(`root ${text}`, 1)));
	stacks.push({ ...stack(50, level("strange", 1)), state: HOSTILE[0] });
	stacks.push(stack(5000, ...Array.from({ length: 20_000 }, (_, i) => level("deep", i))));
	for (let i = 0; i < 6000; i++) stacks.push(stack(1, level(`many ${i}`, i)));
	return { ...sampled.data, name: HOSTILE[0], samples: stacks.reduce((n, s) => n + s.samples, 0), stacks, problem: HOSTILE[1], late: 3, failed: 2, changed: 1, threads_unknown: 4, frames_unknown: 5, bytes_failed: 6, reloads: 7 };
}

test("texts stay text, losses are said, and many or deep stacks do not break the page", async () => {
	await on(withData(sampled.html, "hostile", hostileProfile()), "", async (page) => {
		assert.equal(await page.locator("h1").innerText(), `${HOSTILE[0]} (${sampled.data.pid})`);
		const intro = await page.locator(".intro").innerText();
		for (const text of ["3 looks left out", "2 looks failed", "1 times a task ran", "4 times the native stack of a thread", HOSTILE[1]]) assert.ok(intro.includes(text), text);
		assert.match(await page.locator("#flame").innerText(), /too narrow or too deep to show/);
		await page.locator(".flame-block", { hasText: "deep" }).last().click();
		await painted(page);
		assert.equal(await page.evaluate(() => window.pwned), undefined);
		assert.equal(await page.evaluate(() => document.querySelectorAll("#app img, #app script, #app svg, #app b").length), 0);
	});
});

test("everything fits every width; screenshots, light and dark", async () => {
	for (const colorScheme of SCHEMES) {
		await on(sampled.html, "", async (page) => {
			if (FULL) await page.screenshot({ path: join(OUT, "screenshots", `profile-${colorScheme}.png`) });
			await page.setViewportSize({ width: 390, height: 844 });
			await painted(page);
			const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
			assert.ok(wide <= 0, `${wide} pixels too wide`);
		}, { colorScheme });
	}
});
