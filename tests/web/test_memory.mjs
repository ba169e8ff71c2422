// SPDX-License-Identifier: MIT
// test_memory.mjs - the page of `mem html` in a real browser: every table against its data.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { csv, FULL, openFile, painted, ready, SCHEMES, withBrowser } from "./browser.mjs";
import { freshOut, memoryPage, OUT, ROOT } from "./fixtures.mjs";

const EVIL = "<script>window.pwned=1</script><img src=x onerror=\"window.pwned=1\">\u202e";
const EVIL_SOURCE = `
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <cacheray.h>
int main(void)
{
	volatile int *p = malloc(4000);

	pthread_setname_np(pthread_self(), "<b>x</b>");
	cacheray_rtta_add((void *)p, 4, 1000, ${JSON.stringify(EVIL).replace("\u202e", "\\xe2\\x80\\xae")});
	for (int i = 0; i < 1000; i++)
		p[i] = i;
	return 0;
}
`;

let browser;
let finish;
let particles;
let counters;

before(async () => {
	freshOut();
	await new Promise((opened) => {
		void withBrowser((b) => {
			browser = b;
			opened();
			return new Promise((done) => (finish = done));
		});
	});
	particles = memoryPage("hot_cold");
	counters = memoryPage("thread_counters");
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

// The texts of a table's cells, row by row; numbers without their separators.
async function cells(page, label) {
	const rows = await page.locator(`table[aria-label="${label}"] tbody tr`).evaluateAll((trs) => trs.map((tr) => [...tr.cells].map((td) => td.innerText)));
	return rows.map((row) => row.map((text) => text.replaceAll(/(\d)\u202f(?=\d)/g, "$1").replaceAll("\u202f", " ").trim()));
}

const head = (page, label) => page.locator(`table[aria-label="${label}"] th`).allInnerTexts();
const percent = (part, whole) => `${((100 * part) / whole).toFixed(1)} %`;
const counts = (c) => [c.reads, c.writes, ...c.misses].map(String);

test("head and caches: what was simulated, and how often each level missed", async () => {
	const { data } = particles;
	await on(particles.html, "", async (page) => {
		assert.equal(await page.locator("h1").innerText(), "hot_cold.trace");
		assert.equal(await page.title(), "hot_cold.trace – cache misses");
		const intro = (await page.locator(".intro").innerText()).replaceAll("\u202f", "");
		for (const part of ["Cache misses of hot_cold.trace", data.command.join(" "), `${data.simulated} accesses`, data.machine_from, "lines of 64 bytes"])
			assert.ok(intro.includes(part), `${part} in ${intro}`);
		assert.equal(await page.locator(".remark").count(), data.problems.length);
		assert.deepEqual(await cells(page, "Caches"), data.levels.map((l, i) => [
			`${l.name} ${data.machine.levels[i].size / 1024} KiB, ${data.machine.levels[i].ways} ways`, `${l.hits + l.misses}`, `${l.misses}`,
			percent(l.misses, l.hits + l.misses), `${l.cold}`, `${l.capacity}`, `${l.conflict}`, `${l.coherence}`]));
	});
});

test("types, source lines and threads: every row of the data", async () => {
	for (const { html, data } of [particles, counters]) {
		await on(html, "", async (page) => {
			assert.deepEqual((await cells(page, "Types")).sort(), data.types.map((t) =>
				[t.name, ...counts(t), `${t.false_sharing}`, percent(t.cost, data.cost)]).sort());
			assert.deepEqual((await cells(page, "Source lines")).sort(), data.source_lines.map((s) =>
				[`${s.function ?? s.pc} ${s.file ? `${s.file}:${s.line}` : (s.module ?? "")}`.trim(), s.data ?? "", ...counts(s), percent(s.cost, data.cost)]).sort());
			assert.deepEqual(await cells(page, "Threads"), data.threads.map((t) =>
				[`${t.name} (${t.id})`, ...[t.reads, t.writes, t.levels[0].misses, t.invalidated, t.lost].map(String)]));
		});
	}
});

test("coroutines: every kind and every await, and a row for accesses outside", async () => {
	const { html, data } = memoryPage("coroutines", {
		source: join(ROOT, "tests/truth/memory_coroutines.c"), flags: [`-I${join(ROOT, "include")}`, process.env.COROTRACER_LIBRARY],
	});
	const part = (c) => [c.slices, ...counts(c), c.slices > 0 ? (c.misses.at(-1) / c.slices).toFixed(1) : "–", c.false_sharing, c.allocated_bytes].map(String);
	assert.ok(data.coroutines.some((c) => c.kind === null) && data.coroutines.some((c) => c.awaits.length === 3));
	await on(html, "", async (page) => {
		assert.deepEqual((await cells(page, "Coroutines")).sort(), data.coroutines.map((c) =>
			[c.kind ?? "(outside of all coroutines)", ...part(c), percent(c.cost, data.cost)]).sort());
		assert.deepEqual((await cells(page, "Awaits")).sort(), data.coroutines.flatMap((c) => c.awaits.map((a) =>
			[a.file === null ? "(no await before)" : `${a.function} ${a.file}:${a.line}`, c.kind, ...part(a), percent(a.cost, data.cost)])).sort());
		if (FULL) await page.screenshot({ path: join(OUT, "coroutines.png"), fullPage: true });
	});
	await on(particles.html, "", async (page) => assert.equal(await page.locator('table[aria-label="Coroutines"]').count(), 0));
});

test("layouts: each field in its line, with its heat and its figures", async () => {
	const { data } = particles;
	const type = data.types.find((t) => t.name === "struct particle");
	await on(particles.html, "", async (page) => {
		const blocks = await page.locator(".layout .heat-block").evaluateAll((els) => els.map((el) => {
			const [box, track] = [el.getBoundingClientRect(), el.parentElement.getBoundingClientRect()];
			const row = Number(el.closest(".heat-row").firstChild.textContent);
			return { name: el.textContent, at: row + Math.round((64 * (box.x - track.x - 1)) / (track.width - 2)), label: el.getAttribute("aria-label"), heat: Number(/h(\d)/.exec(el.className)[1]) };
		}));
		assert.ok(blocks.length >= 10);
		const most = Math.max(...type.fields.map((f) => f.cost));
		for (const b of blocks) {
			const field = type.fields.find((f) => f.name === b.name);
			assert.equal(b.at, field.offset, b.name);
			assert.equal(b.heat > 0, field.cost > 0, `${b.name}: hot if it costs`);
			assert.equal(b.heat === 6, field.cost * 2 > most, `${b.name}: hottest above half`);
			for (const part of [field.type, `offset ${field.offset}`, `L1 misses`]) assert.ok(b.label.includes(part), `${part} in ${b.label}`);
		}
		await page.locator(".layout summary").click();
		assert.deepEqual(await cells(page, "Fields of struct particle"), type.fields.map((f) =>
			[f.name, f.type ?? "", f.offset === undefined ? "" : `${f.offset}`, f.size === undefined ? "" : `${f.size}`, ...counts(f), `${f.false_sharing}`]));
		// By the pointer and by the keyboard.
		const x = page.locator(".heat-block").filter({ hasText: /^x$/ });
		const shows = async () => (await page.locator(".tip").innerText()).replaceAll("\u202f", "");
		await x.hover();
		assert.ok((await shows()).includes(`${type.fields.find((f) => f.name === "x").reads}`));
		await page.mouse.move(2, 2);
		assert.equal(await page.locator(".tip").isVisible(), false);
		await page.locator(".heat-block").filter({ hasText: /^x$/ }).focus();
		await page.keyboard.press("Tab");
		assert.match(await shows(), /^y\s/);
	});
});

test("shared lines: fields, and which thread took them from which", async () => {
	const { data } = counters;
	const [line] = data.shared_lines;
	const thread = (id) => `${data.threads.find((t) => t.id === id).name} (${id})`;
	await on(counters.html, "", async (page) => {
		assert.equal(await page.locator(".shared-line").count(), data.shared_lines.length);
		const text = (await page.locator("#shared").innerText()).replaceAll("\u202f", "");
		for (const part of [`${data.coherence.false_sharing} by false sharing`, `${line.false_misses} misses of false sharing, ${line.true_misses} of true sharing, ${line.invalidations} copies destroyed`])
			assert.ok(text.includes(part), part);
		assert.deepEqual(await cells(page, `Fields in line ${line.address}`), line.fields.map((f) =>
			[f.name, thread(f.thread), ...[f.offset, f.reads_that_missed, f.writes_that_missed].map(String)]));
		const taken = `Who took line ${line.address}`;
		if (line.taken.length > 8) await page.locator(`.shared-line[data-line="${line.address}"]`).getByRole("button", { name: "Show all" }).click();
		assert.deepEqual((await cells(page, taken)).sort(), line.taken.map((t) => [thread(t.by), thread(t.from), `${t.invalidations}`]).sort());
	});
	await on(particles.html, "", async (page) => {
		assert.ok((await page.locator("#shared").innerText()).includes("No thread took a line from another."));
	});
});

test("tables: sorted by every column, filtered by words, saved as CSV", async () => {
	const { data } = counters;
	await on(counters.html, "", async (page) => {
		for (const [i, label] of (await head(page, "Threads")).entries()) {
			const by = page.locator('table[aria-label="Threads"] th').nth(i);
			const seen = [];
			for (const order of i === 0 ? ["ascending", "descending"] : ["descending", "ascending"]) {
				await by.locator("button").click();
				assert.equal(await by.getAttribute("aria-sort"), order, label);
				seen.push((await cells(page, "Threads")).map((r) => r[i]));
			}
			const numeric = [...seen[0]].sort((a, b) => (i === 0 ? a.localeCompare(b, "en", { numeric: true }) : Number(b) - Number(a)));
			assert.deepEqual(seen[0], numeric, label);
		}
		assert.equal(await page.evaluate(() => document.activeElement.className), "sort", "the focus stays");
		assert.deepEqual((await csv(page, "threads")).map((r) => Number(r.reads)).sort(), data.threads.map((t) => t.reads).sort());
		assert.deepEqual((await csv(page, "source lines")).map((r) => Number(r.cost)), data.source_lines.map((s) => s.cost));
		await page.getByLabel("Filter by name").fill("Counter hits");
		await page.waitForFunction(() => /q=Counter\+hits/.test(location.hash));
		assert.ok((await page.locator("#types").innerText()).includes("Nothing here matches the filter."));
		assert.equal(await page.locator(".layout:visible").count(), 1);
		assert.equal(await page.locator(".shared-line:visible").count(), data.shared_lines.length);
		await page.getByLabel("Filter by name").fill("(stack)");
		await page.waitForFunction(() => document.querySelector("#types .note").textContent.startsWith("1 of"));
		assert.deepEqual((await cells(page, "Types")).map((r) => r[0]), ["(stack)"]);
		assert.equal(await page.locator(".layout:visible").count(), 0);
		// The address keeps the filter.
		await page.reload();
		await ready(page);
		assert.deepEqual((await cells(page, "Types")).map((r) => r[0]), ["(stack)"]);
	});
});

test("links lead to parts and to layouts, and back", async () => {
	await on(particles.html, "", async (page) => {
		await page.setViewportSize({ width: 1000, height: 420 });
		await page.locator('nav a[data-view="threads"]').click();
		await page.waitForFunction(() => document.querySelector("#main").scrollTop > 100);
		assert.equal(await page.locator('table[aria-label="Threads"]').isVisible(), true);
		await page.locator('table[aria-label="Types"] a').click();
		await page.waitForFunction(() => document.activeElement.closest(".layout"));
		assert.match(page.url(), /view=layouts&type=0/);
		await page.goBack();
		await page.waitForFunction(() => /view=threads/.test(location.hash));
	});
});

test("names are text, whatever they look like", async () => {
	const source = join(OUT, "evil.c");
	writeFileSync(source, EVIL_SOURCE);
	const evil = memoryPage("evil", { source, args: [EVIL], options: ["--title", EVIL] });
	const spelled = EVIL.replace("\u202e", "\\u202e");
	await on(evil.html, "", async (page) => {
		assert.equal(await page.locator("h1").innerText(), spelled);
		assert.ok((await cells(page, "Types")).some((r) => r[0] === spelled));
		assert.ok((await cells(page, "Threads")).some((r) => r[0].startsWith("<b>x</b> (")));
		assert.ok((await page.locator(".intro").innerText()).includes(spelled));
		assert.equal(await page.evaluate(() => window.pwned), undefined);
		assert.equal(await page.evaluate(() => document.querySelectorAll("main img, main script, main b").length), 0);
	});
});

test("everything has a name for those who listen, and fits every width and paper", async () => {
	for (const { html } of [particles, counters]) {
		await on(html, "", async (page) => {
			for (const [width, height] of [[1280, 800], [390, 844]]) {
				await page.setViewportSize({ width, height });
				await painted(page);
				const nameless = await page.evaluate(() => [...document.querySelectorAll("button, a, input, table, [role=img], section")]
					.filter((e) => !(e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.textContent.trim()))
					.map((e) => e.outerHTML.slice(0, 200)));
				assert.deepEqual(nameless, []);
				const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
				assert.ok(wide <= 0, `at ${width}: ${wide} pixels too wide`);
			}
			await page.emulateMedia({ media: "print" });
			assert.equal(await page.locator(".tabs").isVisible(), false);
			assert.equal(await page.locator('table[aria-label="Threads"]').isVisible(), true);
		}, { colorScheme: "dark" }); // other tests open the light ones
	}
});

test("damage is told in words", async () => {
	const text = readFileSync(particles.html, "utf8");
	for (const [name, change, told] of [
		["cut", (s) => s.replace(/(id="ct-data">)[^<]{40}/, "$1AAAA"), /section data is damaged[^]*mem html/],
		["missing", (s) => s.replace('id="ct-data"', 'id="ct-other"'), /section data is missing/],
	]) {
		const file = join(OUT, `${name}.html`);
		writeFileSync(file, change(text));
		await on(file, "", async (page) => assert.match(await page.locator(".failure").innerText(), told));
	}
});

test("screenshots, light and dark", { skip: !FULL && "with COROTRACER_FULL=1" }, async () => {
	for (const colorScheme of SCHEMES) {
		for (const [name, { html }] of Object.entries({ particles, counters })) {
			await on(html, "", async (page) => {
				await page.locator(".heat-block").first().focus();
				if (FULL) await page.screenshot({ path: join(OUT, "screenshots", `${name}-${colorScheme}.png`) });
			}, { colorScheme, viewport: { width: 1440, height: 1600 } });
		}
	}
});
