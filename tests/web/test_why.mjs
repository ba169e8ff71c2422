// SPDX-License-Identifier: MIT
// test_why.mjs - the page of `why --html` in a real browser: tree, groups, threads and filter against its data.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { csv, FULL, openFile, painted, SCHEMES, withBrowser } from "./browser.mjs";
import { freshOut, HOSTILE, OUT, pageData, TOOL, whyPage, withData } from "./fixtures.mjs";

let browser;
let finish;
let stacks;
let forgotten;

before(async () => {
	freshOut();
	await new Promise((opened) => {
		void withBrowser((b) => {
			browser = b;
			opened();
			return new Promise((done) => (finish = done));
		});
	});
	stacks = await whyPage("stacks");
	forgotten = await whyPage("forgotten");
});

after(() => finish?.());

// Opens the page and calls fn; the page must not log an error nor load anything meanwhile.
async function on(html, hash, fn, options) {
	const { page, troubles, close } = await openFile(browser, html, hash, options);
	try {
		await fn(page);
		assert.deepEqual(troubles, []);
	} finally {
		await close();
	}
}

const number = (text) => Number(text.replace(/\u202f/g, ""));

// The visible nodes of the tree: depth, count and function.
const nodes = (page) => page.evaluate(() => [...document.querySelectorAll(".await-node")].filter((e) => e.checkVisibility()).map((e) => {
	let depth = -1;
	for (let up = e; !up.classList.contains("await-tree"); up = up.parentElement) depth += up.tagName === "UL" ? 1 : 0;
	return [depth, Number(e.querySelector(".await-count").textContent.replace(/\u202f/g, "")), e.querySelector(".await-name .mono").textContent];
}));

// The same from the data, by another way: a node is a prefix of stacks.
function expectedNodes(groups) {
	const counts = new Map();
	for (const g of groups) {
		const path = g.stack.map((l) => [l.function, l.file, l.line]).reverse();
		for (let i = 1; i <= path.length; i++) {
			const key = JSON.stringify(path.slice(0, i));
			counts.set(key, (counts.get(key) ?? 0) + g.count);
		}
	}
	return [...counts].map(([key, count]) => [JSON.parse(key).length - 1, count, JSON.parse(key).at(-1)[0]]);
}

const sorted = (list) => list.map((x) => JSON.stringify(x)).sort();

test("the page has the object of --json", () => {
	for (const { html, data } of [stacks, forgotten]) assert.deepEqual(pageData(html), data);
	assert.equal(stacks.data.name, "stacks");
});

test("the command prints one line; a page that cannot be written leaves the old file", () => {
	const why = (...args) => spawnSync(TOOL, ["why", stacks.core, ...args], { encoding: "utf8", timeout: 120_000 });
	const file = join(OUT, "saved.html");
	const made = why("--html", file);
	assert.deepEqual([made.status, made.stdout], [0, ""]);
	assert.match(made.stderr, /^corotracer why: 24 suspended coroutines in 8 groups; wrote '.*saved.html'\n$/);
	const printed = why("--html", "-");
	assert.deepEqual([printed.status, printed.stderr], [0, ""]);
	assert.equal(printed.stdout, readFileSync(file, "utf8"), "the same look gives the same page");
	assert.equal(why("--html", "-", "--json").status, 2);
	assert.equal(why("--html", join(OUT, "none", "x.html")).status, 1);
	writeFileSync(file, "old");
	const full = spawnSync("bash", ["-c", "ulimit -f 8; trap '' XFSZ; exec \"$@\"", "_", TOOL, "why", stacks.core, "--html", file], { encoding: "utf8", timeout: 120_000 });
	assert.equal(full.status, 1);
	assert.match(full.stderr, /cannot write .*\nhint: /);
	assert.equal(readFileSync(file, "utf8"), "old");
	assert.deepEqual(readdirSync(OUT).filter((name) => name.includes("saved.html") && name !== "saved.html"), []);
});

test("the tree merges all stacks from the root, and opens and closes", async () => {
	for (const { html, data } of [stacks, forgotten]) {
		await on(html, "", async (page) => {
			assert.deepEqual(sorted(await nodes(page)), sorted(expectedNodes(data.groups)));
			await page.getByRole("button", { name: "Close all" }).click();
			const roots = expectedNodes(data.groups).filter(([depth]) => depth === 0);
			assert.deepEqual(sorted(await nodes(page)), sorted(roots));
			assert.equal(roots.reduce((sum, [, n]) => sum + n, 0), data.groups.reduce((sum, g) => sum + g.count, 0));
			await page.locator("summary.await-node").first().focus();
			await page.keyboard.press("Enter");
			await page.waitForFunction((n) => document.querySelectorAll(".await-node").length > n, roots.length);
			await page.getByRole("button", { name: "Open all" }).click();
			assert.deepEqual(sorted(await nodes(page)), sorted(expectedNodes(data.groups)));
		});
	}
});

test("every group has its row: numbers, verdict, stack, what it waits for, frames", async () => {
	for (const { html, data } of [stacks, forgotten]) {
		await on(html, "", async (page) => {
			const rows = page.locator('table[aria-label="Groups"] tbody tr');
			assert.equal(await rows.count(), data.groups.length);
			for (const [i, g] of data.groups.entries()) {
				const cell = (n) => rows.nth(i).locator("td").nth(n);
				assert.equal(number(await cell(0).innerText()), g.count);
				assert.equal(number(await cell(1).innerText()), g.bytes);
				assert.equal(await cell(2).locator(".badge").innerText(), g.confidence === "none" ? g.verdict : `${g.verdict}, ${g.confidence}`);
				if (g.reason) assert.ok((await cell(2).innerText()).includes(g.reason));
				if (g.doubt) assert.ok((await cell(2).innerText()).includes(`not proven: ${g.doubt}`));
				assert.deepEqual(await cell(3).locator("li").allInnerTexts(), g.stack.map((l) => `${l.function} ${l.file}:${l.line}${l.exact ? "" : " (the function)"}`));
				if (g.waits_for?.kind === "awaiter") assert.equal(await cell(4).innerText(), g.waits_for.type);
				if (g.waits_for?.kind === "start") assert.equal(await cell(4).innerText(), "not started");
				assert.equal(number(/^\S+/.exec(await cell(5).innerText())[0]), g.members.length);
			}
			const saved = await csv(page, "groups");
			assert.deepEqual(saved.map((r) => r.members), data.groups.map((g) => g.members.join(" ")));
			for (const [i, g] of data.groups.entries()) assert.ok(saved[i].verdict.startsWith(g.verdict) && saved[i].verdict.includes(g.reason ?? ""));
			const facts = Object.fromEntries(await page.locator(".fact").evaluateAll((list) => list.map((e) => [e.dataset.fact, e.querySelector("dd").textContent])));
			assert.equal(number(facts.coroutines), data.coroutines);
			assert.equal(number(facts["not just waiting"]), data.groups.filter((g) => g.verdict !== "waiting").reduce((n, g) => n + g.count, 0));
			assert.deepEqual(await page.locator('table[aria-label="Threads"] tbody tr td:nth-child(1)').allInnerTexts(), data.threads.map((t) => String(t.tid)));
		});
	}
});

test("variables are shown at their coroutine and at every frame, as the data has them", async () => {
	const { html, data } = await whyPage("locals", "--show-values");
	const g = data.groups.findIndex((group) => group.stack[0].function === "leaf");
	assert.deepEqual(pageData(html), data);
	await on(html, "", async (page) => {
		const row = page.locator('table[aria-label="Groups"] tbody tr').nth(g);
		const level = row.locator("td").nth(3).locator(".await-stack > li").first();
		const shown = await level.locator(".locals li").allInnerTexts();
		assert.equal(shown.length, data.groups[g].stack[0].locals.length);
		for (const text of ["bool flag = false", "Color color = green", 'string text = length 5 "hello"', "int shadow = 99"]) assert.ok(shown.includes(text), text);
		assert.ok(shown.some((text) => text.startsWith("Inner inner = { inherited = 11, point = { x = 1, y = 2.5 }")));
		await row.locator("td").nth(5).locator("summary").first().click();
		const frames = row.locator("td").nth(5).locator("details details");
		await frames.first().waitFor(); // made when it is opened
		assert.deepEqual(await frames.locator("summary").allInnerTexts(), data.groups[g].members);
		for (const [i, number] of [1, 2, 3].entries()) {
			await frames.nth(i).locator("summary").click();
			await frames.nth(i).locator(".locals li").first().waitFor();
			assert.ok((await frames.nth(i).locator(".locals li").allInnerTexts()).includes(`int number = ${number}`));
		}
	});
});

test("a coroutine that cannot be reached stands out, and its verdict leads to its group", async () => {
	const fault = forgotten.data.groups.findIndex((g) => g.verdict === "unreachable");
	assert.equal(forgotten.data.groups[fault].count, 10);
	await on(forgotten.html, "", async (page) => {
		await page.locator(".await-end", { hasText: "unreachable" }).click();
		await page.waitForFunction((i) => document.activeElement.closest(`#group-${i}`), fault);
		assert.match(page.url(), new RegExp(`view=groups&group=${fault}$`));
		assert.match(await page.locator(".fact.loud").innerText(), /10/);
	});
});

test("the filter finds functions, verdicts and addresses, in all parts", async () => {
	await on(stacks.html, "#view=tree&q=when_all_child", async (page) => {
		const left = stacks.data.groups.filter((g) => g.stack.some((l) => l.function === "when_all_child"));
		assert.equal(left.length, 2);
		assert.deepEqual(sorted(await nodes(page)), sorted(expectedNodes(left)));
		assert.equal(await page.locator('table[aria-label="Groups"] tbody tr').count(), 2);
		const group = stacks.data.groups[0];
		await page.getByLabel("Filter by function").fill(group.members.at(-1));
		await page.waitForFunction(() => document.querySelector("#tree .note").textContent.startsWith("1 of"));
		assert.deepEqual(sorted(await nodes(page)), sorted(expectedNodes([group])));
		await page.getByLabel("Filter by function").fill("no such thing");
		await page.waitForFunction(() => document.querySelector("#tree").innerText.includes("Nothing here matches"));
	});
});

// Many groups with hostile texts everywhere, a stack of 20,000 levels, and a kind of wait that the page does not know.
function hostileData() {
	const level = (text, i) => ({ function: text, file: text, line: i, exact: false, awaits: text });
	const groups = HOSTILE.map((text, i) => ({
		count: 1, bytes: 8, verdict: text, confidence: text, stack: [level(text, i), level(`root ${text}`, 1)], reason: text, doubt: text, members: [text],
		waits_for: i % 2 ? { kind: text, type: text, more: { text } } : { kind: "descriptor", descriptors: [{ descriptor: 1, in_awaiter: true, state: "open", type: text, peer: text }] },
	}));
	groups.push({ ...groups[0], stack: Array.from({ length: 20_000 }, (_, i) => level("deep", i)) });
	for (let i = 0; i < (FULL ? 1000 : 300); i++) groups.push({ ...groups[0], stack: [level(`many ${i}`, i)], waits_for: null });
	return {
		pid: 1, name: HOSTILE[0], coroutines: 1, finished: 1, running: 1, changed: 1, groups, stopped_ns: 5, busy: true, problem: HOSTILE[1],
		threads: [{ tid: 1, name: HOSTILE[1], state: HOSTILE[1], system_call: HOSTILE[2] }],
	};
}

test("texts stay text, and many groups or deep stacks do not break the page", async () => {
	const data = hostileData();
	await on(withData(stacks.html, "hostile", data), "", async (page) => {
		assert.equal(await page.locator("h1").innerText(), `${HOSTILE[0]} (1)`);
		assert.ok((await page.locator("#threads").innerText()).includes(HOSTILE[2]));
		assert.ok((await page.locator("#groups").innerText()).includes(HOSTILE[1]));
		await page.getByRole("button", { name: "Open all" }).click();
		await page.getByRole("button", { name: "Show all" }).click();
		await painted(page);
		assert.ok((await page.locator("#tree").innerText()).includes(HOSTILE[1]));
		assert.equal(await page.locator('table[aria-label="Groups"] tbody tr').count(), data.groups.length);
		assert.equal(await page.evaluate(() => window.pwned), undefined);
		assert.equal(await page.evaluate(() => document.querySelectorAll("#app img, #app script, #app svg, #app b").length), 0);
	});
});

test("everything fits every width; screenshots, light and dark", async () => {
	for (const colorScheme of SCHEMES) {
		for (const [name, { html }] of Object.entries({ stacks, forgotten })) {
			await on(html, "", async (page) => {
				if (FULL) await page.screenshot({ path: join(OUT, "screenshots", `${name}-${colorScheme}.png`) });
				await page.setViewportSize({ width: 390, height: 844 });
				await painted(page);
				const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
				assert.ok(wide <= 0, `${wide} pixels too wide`);
				if (FULL) await page.screenshot({ path: join(OUT, "screenshots", `${name}-${colorScheme}-narrow.png`) });
			}, { colorScheme, viewport: { width: 1440, height: 1000 } });
		}
	}
});
