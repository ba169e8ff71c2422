// SPDX-License-Identifier: MIT
// test_firefox.mjs - the dashboard in Firefox: it opens, every view is drawn without errors, and a selection holds.
import { before, test } from "node:test";
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";
import { bigTrace, freshOut, pageOf, until } from "./fixtures.mjs";
import { withFirefox } from "./firefox.mjs";

const VIEWS = ["overview", "findings", "coroutines", "timeline", "timeline&by=coroutine", "sites", "time"];
let made;

before(() => {
	freshOut();
	made = pageOf("firefox", bigTrace(40_000, 300));
});

test("every view is drawn, rows are selected with the keyboard, and a range holds in all views", async () => {
	await withFirefox(async (page) => {
		await page.goto(pathToFileURL(made.html).href);
		await until("the page is ready", () => page.evaluate(() => document.documentElement.dataset.ready === "true" || document.querySelector(".failure") !== null));
		assert.equal(await page.evaluate(() => document.querySelector(".failure")?.textContent ?? null), null);
		const shown = await page.evaluate(() => document.querySelector("[data-fact=transitions] dd").textContent);
		assert.equal(Number(shown.replace(/\D/g, "")), made.report.totals.transitions);

		for (const view of VIEWS) {
			await page.evaluate((hash) => (location.hash = hash), `#view=${view}`);
			await until(`${view} has content`, () => page.evaluate(() => [...document.querySelectorAll("main > *")].some((el) => !el.hidden && el.offsetHeight > 0 && el.textContent.trim() !== "")));
		}
		// The time line is drawn: its canvas has more than one colour.
		await page.evaluate(() => (location.hash = "#view=timeline"));
		await until("the time line is drawn", () => page.evaluate(() => [...document.querySelectorAll("main canvas")].some((c) => {
			if (!c.width || !c.height || c.offsetParent === null) return false;
			const { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height);
			return new Set(new Uint32Array(data.buffer)).size > 2;
		})));

		await page.evaluate(() => (location.hash = "#view=coroutines&sort=id"));
		await until("rows", () => page.evaluate(() => document.querySelector("[role=grid][aria-label=Coroutines] [role=row][aria-rowindex='4']") !== null));
		await page.evaluate(() => document.querySelector("[role=grid][aria-label=Coroutines]").focus());
		for (let i = 0; i < 3; i++) await page.press("ArrowDown");
		await until("a row is selected", () => page.evaluate(() => document.querySelector("[role=grid][aria-label=Coroutines] [aria-selected=true]") !== null));

		await page.evaluate(() => (location.hash = "#view=overview&from=1000&to=2000000"));
		await until("the selection is shown", () => page.evaluate(() => !document.querySelector(".selection").hidden));
		await page.evaluate(() => [...document.querySelectorAll("a")].find((a) => /view=sites/.test(a.getAttribute("href") ?? "")).click());
		await until("the range holds in the next view", () => page.evaluate(() => /view=sites.*from=1000.*to=2000000/.test(location.hash)));
		assert.deepEqual(page.troubles, []);
		// An error would have been noticed.
		await page.evaluate(() => console.error("control"));
		await until("the control is noticed", () => page.troubles.some((text) => text.includes("control")));
	});
});
