// SPDX-License-Identifier: MIT
// test_notes.mjs - notes: written in the page, saved with it, read by the tool and by the next page; hostile ones are text.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { csv, FULL, openFile, painted, SCHEMES, withBrowser } from "./browser.mjs";
import { corpusTrace, freshOut, HOSTILE, OUT, pageOf, redisTrace, TOOL } from "./fixtures.mjs";

let browser;
let finish;
let redis;

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

async function write(page, text, about = 0) {
	const form = page.locator("dialog.note-form");
	await form.waitFor();
	await form.locator("input[type=radio]").nth(about).check();
	await page.getByLabel("Text of the note").fill(text);
	await page.getByRole("button", { name: "Keep" }).click();
}

// Saves by a button; the path of what was saved.
async function save(page, name, to) {
	const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name, exact: true }).click()]);
	const path = join(OUT, to ?? download.suggestedFilename());
	await download.saveAs(path);
	return path;
}

const listed = async (page) => (await csv(page, "notes")).map(({ from_ns, duration_ns, coroutine_id, note }) => ({ from_ns, duration_ns, coroutine_id, note }));
const tool = (...args) => spawnSync(TOOL, args, { encoding: "utf8", timeout: 300_000 });
const section = (html, name) => JSON.parse(gunzipSync(Buffer.from(new RegExp(`id="ct-${name}">([^<]*)<`).exec(readFileSync(html, "utf8"))[1], "base64")));

let saved;
let file;
let written;

test("notes about a slice, a coroutine, the visible part and a moment", async () => {
	await on(redis.html, "#view=timeline&by=coroutine", async (page) => {
		await page.waitForFunction(() => /coroutine/.test(document.querySelector(".timeline .result").textContent));
		await page.waitForTimeout(300); // the slices
		await page.locator(".stage").focus();
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("n");
		assert.match(await page.locator(".note-about label").first().innerText(), /^coroutine .*#\d+$/);
		await write(page, "about the coroutine");
		await page.locator(".stage").focus();
		await page.keyboard.press(".");
		await page.keyboard.press("n");
		assert.equal(await page.locator(".note-about label").count(), 4);
		await write(page, HOSTILE[0]);
		await page.getByRole("button", { name: "Note", exact: true }).click();
		await write(page, "the visible part\nsecond line", 2);
		await page.getByRole("button", { name: "Note", exact: true }).click();
		await write(page, "a moment", 3);
		await page.locator("a.tab[data-view=notes]").click();
		await page.waitForFunction(() => document.querySelectorAll('table[aria-label="Notes"] tbody tr').length === 4);
		assert.match(await page.locator(".notes > p[role=status]").innerText(), /Not saved yet/);
		assert.match(await page.locator("a.tab[data-view=notes]").innerText(), /4/);
		written = await listed(page);
		assert.deepEqual(written.map((n) => n.note).sort(), [HOSTILE[0], "a moment", "about the coroutine", "the visible part\nsecond line"].sort());
		const about = (text) => written.find((n) => n.note === text);
		assert.ok(about("about the coroutine").coroutine_id !== "" && about("about the coroutine").from_ns === "");
		assert.ok(about(HOSTILE[0]).coroutine_id !== "" && about(HOSTILE[0]).duration_ns !== "");
		assert.ok(about("a moment").from_ns !== "" && about("a moment").duration_ns === "");
		saved = await save(page, "Save the page with its notes", "noted.html");
		file = await save(page, "Save notes");
		assert.equal(await page.locator(".notes > p[role=status]").innerText(), "Saved.");
		assert.equal(await page.evaluate(() => window.pwned), undefined);
	});
});

test("the saved page is the page with its notes, and saves itself again", async () => {
	const [before, now] = [redis.html, saved].map((p) => readFileSync(p, "utf8"));
	for (const part of [/<style>[^]*?<\/style>/, /<script>[^]*<\/script>/, /<meta http-equiv[^>]*>/, /<noscript>.*<\/noscript>/])
		assert.equal(part.exec(now)[0].length, part.exec(before)[0].length, String(part));
	const sections = (text) => text.match(/ id="ct-[\w-]+">[\w+/=]*/g).filter((s) => !s.startsWith(' id="ct-notes"'));
	assert.ok(sections(now).length > 7 && sections(now).join() === sections(before).join(), "the data is as it was");
	assert.deepEqual(section(saved, "notes"), JSON.parse(readFileSync(file, "utf8")));
	await on(saved, "#view=notes", async (page) => {
		await page.waitForFunction(() => document.querySelectorAll('table[aria-label="Notes"] tbody tr').length === 4);
		assert.deepEqual(await listed(page), written);
		assert.equal(await page.evaluate(() => window.pwned), undefined);
		await page.getByRole("button", { name: "Remove: a moment" }).click();
		await page.getByRole("button", { name: /^Change: about/ }).click();
		await write(page, "changed");
		await page.waitForFunction(() => document.querySelector('table[aria-label="Notes"]').innerText.includes("changed"));
		const again = await save(page, "Save the page with its notes", "again.html");
		assert.deepEqual(section(again, "notes").notes.map((n) => n.text).sort(), [HOSTILE[0], "changed", "the visible part\nsecond line"].sort());
		assert.equal(readFileSync(again, "utf8").match(/id="ct-notes"/g).length, 1);
	});
});

test("html --notes takes a saved page or a file; a page that is replaced keeps its notes", async () => {
	for (const from of [saved, file]) {
		const html = join(OUT, "rebuilt.html");
		const r = tool("html", "--notes", from, "-o", html, redis.trace);
		assert.match(r.stderr, /notes of '.*' in the page: 4/);
		assert.deepEqual(section(html, "notes").notes, section(saved, "notes").notes);
		await on(html, "#view=notes", async (page) => {
			await page.waitForFunction(() => document.querySelectorAll('table[aria-label="Notes"] tbody tr').length === 4);
			assert.deepEqual(await listed(page), written);
			assert.doesNotMatch(await page.locator(".notes > p[role=status]").innerText(), /Not saved/);
		});
	}
	const kept = join(OUT, "rebuilt.html");
	assert.match(tool("html", "-o", kept, redis.trace).stderr, /notes of '.*rebuilt.html' in the page: 4/);
	assert.deepEqual(section(kept, "notes").notes, section(saved, "notes").notes);
	// Another run: its page must not replace the notes, and has them only if told to.
	const other = corpusTrace("deadlock");
	const refused = tool("html", "-o", kept, other);
	assert.equal(refused.status, 1);
	assert.match(refused.stderr, /has notes about another run: 4\nhint: -o FILE/);
	assert.deepEqual(section(kept, "notes").notes, section(saved, "notes").notes);
	assert.match(tool("html", "-o", join(OUT, "other.html"), "--notes", file, other).stderr, /notes about times outside of this trace: 3/);
	// A part of the trace begins later: the times move with it.
	const cut = join(OUT, "cut.html");
	tool("html", "-q", "-o", cut, "--notes", file, "--from", "10ms", redis.trace);
	const [a, b] = [saved, cut].map((p) => ({ origin: BigInt(section(p, "meta").origin), note: section(p, "notes").notes.find((n) => n.text === "a moment") }));
	assert.equal(a.origin + BigInt(a.note.from), b.origin + BigInt(b.note.from));
});

test("a file that is no file of notes is an error with a hint; entries that are no notes are counted", () => {
	const bad = join(OUT, "bad.json");
	const out = join(OUT, "none.html");
	for (const [text, words] of [["", "neither JSON nor a page"], ["{", "neither JSON"], ["{}", "not of format 1"], ['{"format":1,"notes":[],"origin":"x"}', "no origin"],
		["<!doctype html>", "a page without notes"], ['<script id="ct-notes">!!!</script>', "is damaged"], ['<script id="ct-notes">AAAA</script>', "is damaged"]]) {
		writeFileSync(bad, text);
		const r = tool("html", "-o", out, "--notes", bad, redis.trace);
		assert.equal(r.status, 1, text);
		assert.ok(r.stderr.startsWith("corotracer html: ") && r.stderr.includes(words), `${text}: ${r.stderr}`);
		assert.throws(() => readFileSync(out));
	}
	assert.match(tool("html", "-o", out, "--notes", join(OUT, "no.json"), redis.trace).stderr, /cannot open/);
	writeFileSync(bad, JSON.stringify({ format: 1, origin: "5", notes: [{ text: "x", from: 1 }, { text: "y" }, 7, { text: "z", from: 3, to: 1 }] }));
	assert.match(tool("html", "-o", out, "--notes", bad, redis.trace).stderr, /entries of '.*bad.json' that are no notes, and left out: 3/);
});

test("hostile notes are text: in the list, on the timeline, in files", async () => {
	const notes = HOSTILE.map((text, i) => ({ from: 1000 * (i + 1), to: i % 2 ? 2000 * (i + 2) : null, id: i % 3 ? "" : "1", text, made: "<b>" }));
	const bad = join(OUT, "hostile.json");
	const html = join(OUT, "hostile.html");
	writeFileSync(bad, JSON.stringify({ format: 1, trace: "<img src=x>", origin: section(redis.html, "meta").origin, notes }));
	tool("html", "-q", "-o", html, "--notes", bad, redis.trace);
	await on(html, "#view=notes", async (page) => {
		await page.waitForFunction((n) => document.querySelectorAll('table[aria-label="Notes"] tbody tr').length === n, HOSTILE.length);
		assert.equal(await page.locator("main img, main script, main b:has-text('h')").count(), 0);
		const rows = await csv(page, "notes");
		assert.ok(rows.some((r) => r.note.startsWith("'=HYPERLINK")), "no formula in CSV");
		await page.getByRole("link", { name: `Show: ${HOSTILE[1].slice(0, 40)}` }).click();
		await page.waitForFunction(() => location.hash.includes("view=timeline"));
		await painted(page);
		const box = await page.locator(".stage canvas").boundingBox();
		for (let x = 190; x < box.width && !(await page.locator(".tip:visible").count()); x += 6) await page.mouse.move(box.x + x, box.y + 12);
		assert.match(await page.locator(".tip").innerText(), /note/);
		assert.equal(await page.locator(".tip img, .tip script").count(), 0);
		await page.locator("a.tab[data-view=notes]").click();
		const again = await save(page, "Save the page with its notes", "hostile-again.html");
		assert.equal(section(again, "notes").notes.length, HOSTILE.length);
		assert.equal(await page.evaluate(() => window.pwned), undefined);
	});
	await on(join(OUT, "hostile-again.html"), "#view=notes", async (page) => {
		await page.waitForFunction((n) => document.querySelectorAll('table[aria-label="Notes"] tbody tr').length === n, HOSTILE.length);
		assert.equal(await page.evaluate(() => window.pwned), undefined);
	});
});

test("notes of a file are added once; a file that is none says so", async () => {
	await on(redis.html, "#view=notes", async (page) => {
		for (let i = 0; i < 2; i++) {
			await page.getByLabel("File with notes").setInputFiles(file);
			await page.waitForFunction((words) => document.querySelector(".toast")?.textContent.startsWith(words), i === 0 ? "4 notes added" : "0 notes added");
		}
		await page.getByLabel("File with notes").setInputFiles({ name: "x.json", mimeType: "application/json", buffer: Buffer.from("{]") });
		await page.waitForFunction(() => document.querySelector(".toast")?.textContent.startsWith("No notes were added"));
		assert.equal(await page.locator('table[aria-label="Notes"] tbody tr').count(), 4);
	});
});

test("screenshots: list, form and timeline, light and dark, wide and narrow", async () => {
	for (const colorScheme of SCHEMES) {
		const sizes = [["-narrow", { width: 390, height: 844 }], ["", { width: 1440, height: 900 }]];
		for (const [size, viewport] of sizes.slice(0, FULL ? 2 : 1)) {
			await on(saved, "#view=timeline&by=coroutine", async (page) => {
				const shot = async (name) => FULL && page.screenshot({ path: join(OUT, "screenshots", `${name}-${colorScheme}${size}.png`) });
				const fits = async () => assert.ok(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth) <= 0);
				await page.waitForTimeout(300); // the slices
				await painted(page);
				await shot("notes-timeline");
				await page.locator(".stage").focus();
				await page.keyboard.press("n");
				await shot("notes-form");
				await page.keyboard.press("Escape");
				await fits();
				await page.locator("a.tab[data-view=notes]").click();
				await painted(page);
				await fits();
				await shot("notes-list");
			}, { colorScheme, viewport });
		}
	}
});
