// SPDX-License-Identifier: MIT
// test_memory_code.mjs - which code misses, on the page of `mem html`: functions, flame graph, source.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FULL, openFile, painted, SCHEMES, withBrowser } from "./browser.mjs";
import { freshOut, memoryPage, OUT, ROOT, until } from "./fixtures.mjs";

const SOURCE = join(ROOT, "tests/memory/calls/called.c");

let browser;
let finish;
let called;

before(async () => {
	freshOut();
	await new Promise((opened) => {
		void withBrowser((b) => {
			browser = b;
			opened();
			return new Promise((done) => (finish = done));
		});
	});
	called = memoryPage("called", { source: SOURCE, recording: ["--stacks"] });
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

const plain = (text) => text.replaceAll("\u202f", "").trim();

// The texts of a table's cells, row by row.
async function cells(page, label) {
	return page.locator(`table[aria-label="${label}"] tbody tr`).evaluateAll((rows) =>
		rows.map((r) => [...r.children].map((c) => c.innerText.replaceAll("\u202f", "").trim())));
}

test("functions: every row of the data, with exclusive and inclusive cost", async () => {
	const { data } = called;
	const percent = (part) => `${((100 * part) / data.cost).toFixed(1)}%`;
	const place = (f) => (f.file === null ? (f.module ?? "") : f.line > 0 ? `${f.file}:${f.line}` : f.file);
	assert.ok(data.has_stacks && data.functions.length === data.functions_of);
	await on(called.html, "", async (page) => {
		assert.deepEqual((await cells(page, "Functions")).sort(), data.functions.map((f) =>
			[`${f.name} ${place(f)}`.trim(), f.calls === null ? "" : String(f.calls), ...[f.reads, f.writes, ...f.misses].map(String), percent(f.cost), percent(f.inclusive.cost)]).sort());
		// By inclusive cost main comes first.
		await page.locator('table[aria-label="Functions"] [data-sort="inclusive_cost"]').click();
		assert.match((await cells(page, "Functions"))[0][0], /^main /);
	});
});

test("flame graph: widths are costs, a click zooms in, Escape zooms out", async () => {
	const { data } = called;
	const main = data.flame.findIndex((f) => f.name === "main");
	assert.equal(data.flame[0].name, "(program)");
	assert.ok(data.flame.every((f, i) => i === 0 || f.parent < i), "a parent is in front of its children");
	await on(called.html, "", async (page) => {
		const box = async (name) => page.locator("#flame .flame-block", { hasText: new RegExp(`^${name}$`) }).first().boundingBox();
		const chart = await page.locator("#flame .flame-chart").boundingBox();
		const width = async (name) => (await box(name)).width / chart.width;
		assert.ok(Math.abs((await width("main")) - data.flame[main].cost / data.cost) < 0.02);
		const twice = data.flame.find((f) => f.name === "work_twice" && f.parent === main);
		assert.ok(Math.abs((await width("work_twice")) - twice.cost / data.cost) < 0.02);
		assert.ok((await box("work_twice")).y > (await box("main")).y, "callees are below");
		const block = page.locator("#flame .flame-block", { hasText: /^work_twice$/ });
		assert.ok((await block.getAttribute("aria-label")).includes("of the function itself"));
		// The scrolling of a hover hides the tip: move the mouse until the page rests.
		await until("a tip", async () => {
			await page.mouse.move(0, 0);
			await block.hover();
			return page.locator(".tip").isVisible();
		});
		assert.ok(plain(await page.locator(".tip:visible").innerText()).includes(String(twice.cost)));
		await block.click();
		assert.ok((await width("work_twice")) > 0.98);
		await page.keyboard.press("Escape");
		assert.ok((await width("work_twice")) < 0.95);
		// Heat: read_far has most of the cost itself, main nearly none.
		const heat = async (name) => Number(/ h(\d)/.exec(await page.locator("#flame .flame-block", { hasText: new RegExp(`^${name}$`) }).first().getAttribute("class"))[1]);
		assert.equal(await heat("read_far"), 6);
		assert.ok((await heat("main")) < 2);
		await page.getByLabel("Filter by name").fill("read_far");
		await page.waitForFunction(() => /of the cost matches/.test(document.querySelector("#flame .note").textContent));
	});
});

test("source: counts beside each line, and the text of the file", async () => {
	const { data } = called;
	const lines = readFileSync(SOURCE, "utf8").split("\n");
	const [file] = data.sources.filter((s) => s.file.endsWith("called.c"));
	assert.equal(file.problem, null);
	const cost = data.functions.filter((f) => f.file === file.file).reduce((sum, f) => sum + f.cost, 0);
	assert.equal(file.cost, cost, "the lines of a file have what its functions have");
	await on(called.html, "", async (page) => {
		for (const hunk of file.hunks) {
			const rows = await cells(page, `${file.file}, lines ${hunk.line} to ${hunk.line + hunk.text.length - 1}`);
			assert.deepEqual(rows.map((r) => r.at(-1)), hunk.text.map((t) => t.trim()));
			hunk.text.forEach((text, i) => assert.equal(text, lines[hunk.line - 1 + i]));
			for (const c of hunk.counts) {
				const shown = [c.reads, c.writes, ...c.misses].map((n) => (n > 0 ? String(n) : ""));
				assert.deepEqual(rows[c.line - hunk.line].slice(0, shown.length + 1), [String(c.line), ...shown]);
			}
		}
		const hot = file.hunks.flatMap((hunk) => hunk.counts).sort((a, b) => b.cost - a.cost)[0];
		assert.match(lines[hot.line - 1], /sum \+= cells/);
	});
});

test("allocation sites: every row of the data", async () => {
	const { html, data } = memoryPage("nodes", { source: join(ROOT, "tests/memory/calls/nodes.c") });
	assert.ok(data.allocation_sites.some((s) => s.function === "make_list" && s.blocks === 2000));
	await on(html, "", async (page) => {
		// How much of the heap has a name, and how sure its types are.
		assert.match(await page.locator(".intro").innerText(), /Cost of the heap's misses: /);
		const sure = data.types.filter((t) => t.certainty !== undefined);
		const rows = (await cells(page, "Types")).filter((r) => sure.some((t) => t.name === r[0]));
		assert.deepEqual(rows.map((r) => r[1]).sort(), sure.map((t) => `${Math.floor(100 * t.certainty)}%`).sort());
		assert.deepEqual((await cells(page, "Allocation sites")).sort(), data.allocation_sites.map((s) =>
			[`${s.function ?? s.pc} ${s.file === null ? (s.module ?? "") : `${s.file}:${s.line}`}${s.callers === "" ? "" : ` called by ${s.callers}`}`,
				...[s.blocks, s.bytes, s.reads, s.writes, ...s.misses, s.false_sharing].map(String), `${((100 * s.cost) / data.cost).toFixed(1)}%`]).sort());
	});
});

test("without stacks: exclusive costs only; without source: no source", async () => {
	const { html, data } = memoryPage("flat", { source: SOURCE, options: ["--no-source"] });
	assert.ok(!data.has_stacks && data.functions.every((f) => f.inclusive === null && f.calls === null) && !("sources" in data));
	await on(html, "", async (page) => {
		assert.deepEqual(await page.locator('table[aria-label="Functions"] th').allInnerTexts().then((all) => all.map((t) => t.replace("▼", "").trim())),
			["Function", "Reads", "Writes", "L1 misses", "LL misses", "Exclusive cost"]);
		assert.equal(await page.locator("#flame, #source").count(), 0);
	});
});

test("a source that changed, and files that are no source, are said", async () => {
	const source = join(OUT, "moved.c");
	writeFileSync(source, readFileSync(SOURCE, "utf8") + "\n#line 1 \"/etc/passwd\"\nint unused_cells[1 << 16];\n" +
		"__attribute__((constructor)) static void read_secret(void)\n{\n\tfor (int i = 0; i < 1 << 16; i++) unused_cells[i]++;\n}\n");
	const { data } = memoryPage("moved", { source });
	const secret = data.sources.find((s) => s.file === "/etc/passwd");
	assert.deepEqual([secret.problem, secret.hunks], ["the file is not named like source code", []]);
	assert.equal(data.sources.find((s) => s.file === source).problem, null);
	const later = Date.now() / 1000 + 100;
	utimesSync(source, later, later);
	const again = memoryPage("moved2", { source });
	assert.match(again.data.sources.find((s) => s.file === source).problem, /newer than the program/);
	await on(again.html, "", async (page) => assert.match(await page.locator("#source").innerText(), /newer than the program/));
});

test("names for those who listen, every width, screenshots", async () => {
	for (const colorScheme of SCHEMES) {
		await on(called.html, "", async (page) => {
			for (const [width, height] of [[1280, 800], [390, 844]]) {
				await page.setViewportSize({ width, height });
				await painted(page);
				assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, `at ${width}`);
			}
			const nameless = await page.evaluate(() => [...document.querySelectorAll("button, a, table, section")]
				.filter((e) => !(e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.textContent.trim())).length);
			assert.equal(nameless, 0);
			await page.setViewportSize({ width: 1440, height: 1600 });
			if (FULL) for (const part of ["functions", "flame", "source"]) await page.locator(`#${part}`).screenshot({ path: join(OUT, `${part}-${colorScheme}.png`) });
		}, { colorScheme });
	}
});
