// SPDX-License-Identifier: MIT
// test_access.mjs - axe-core finds nothing in any view, wide and as on a phone; keys reach the search and the list of keys.
import { test } from "node:test";
import assert from "node:assert/strict";
import { FULL, openFile, violations, withBrowser } from "./browser.mjs";
import { bigTrace, corpusTrace, freshOut, memoryPage, pageOf } from "./fixtures.mjs";

const PHONE = { viewport: { width: 390, height: 844 } };
// Those that are shown in more than one way have their fullest one here by default, the others with COROTRACER_FULL=1.
const VIEWS = ["#view=overview", "#view=findings", "#view=coroutines", "#view=timeline", "#view=timeline&by=coroutine", "#view=timeline&by=coroutine&group=kind&open=all&order=active&pin=c1.t0", "#view=awaits", "#view=awaits&sel=1&at=1000000", "#view=sites", "#view=time&from=0&to=200000000", "#view=notes", "#coro=1&at=1000000"];

test("axe-core finds nothing, and the keys work", async () => {
	freshOut();
	const found = pageOf("found", corpusTrace("blocking/often")).html;
	const big = pageOf("big", bigTrace(30_000, 300)).html;
	const memory = memoryPage("hot_cold").html;
	await withBrowser(async (browser) => {
		const look = async (file, hash, options, what) => {
			const { page, troubles, close } = await openFile(browser, file, hash, options);
			await page.waitForTimeout(300); // drawn
			assert.deepEqual(await violations(page), [], `${what} ${hash}`);
			assert.deepEqual(troubles, []);
			await close();
		};
		// The same in one page, from view to view.
		const lookAround = async (file, views) => {
			const { page, troubles, close } = await openFile(browser, file, views[0]);
			for (const hash of views) {
				await page.evaluate((to) => (location.hash = to), hash);
				await page.waitForTimeout(300); // drawn
				assert.deepEqual(await violations(page), [], hash);
			}
			assert.deepEqual(troubles, []);
			await close();
		};
		if (FULL) for (const hash of VIEWS) await look(found, hash, {}, "found");
		else await lookAround(found, VIEWS.filter((_, i) => i !== 3 && i !== 4 && i !== 6));
		for (const hash of FULL ? [...VIEWS.slice(0, 3), VIEWS[6]] : [VIEWS[0]]) await look(found, hash, PHONE, "on a phone");
		await look(found, VIEWS[6], { colorScheme: "dark" }, "in the dark");
		for (const hash of VIEWS.slice(FULL ? 2 : 3, 4)) await look(big, hash, {}, "big");
		await look(memory, "", {}, "memory");
		const { page, close } = await openFile(browser, found, "#view=overview");
		await page.keyboard.press("?");
		assert.equal(await page.locator("dialog.keys").isVisible(), true);
		assert.deepEqual(await violations(page), [], "the list of keys");
		await page.keyboard.press("Escape");
		await page.keyboard.press("/");
		await page.waitForFunction(() => document.activeElement?.getAttribute("type") === "search");
		await page.keyboard.type("4 blocker");
		assert.equal(await page.evaluate(() => document.activeElement.value), "4 blocker");
		await page.keyboard.press("Escape");
		await page.keyboard.press("4");
		await page.waitForFunction(() => location.hash.includes("view=timeline"));
		await close();
	});
});
