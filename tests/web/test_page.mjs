// SPDX-License-Identifier: MIT
// test_page.mjs - the page in a real browser, from real traces: every view, compared with the
// report.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { csv, FULL, openFile, painted, ready, SCHEMES, watch, withBrowser } from "./browser.mjs";
import { bigTrace, corpusTrace, freshOut, HOSTILE, hostileTrace, OUT, pageOf, redisTrace, ROOT } from "./fixtures.mjs";
import { openMeasured, PAN_ROUNDS, panAndZoom } from "./measure.mjs";
import { pathToFileURL } from "node:url";

let browser;
let finish;
let redis;
const digits = (text) => Number(text.replace(/[^\d.-]/g, ""));

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

// Opens the page and calls fn; the page must not log an error meanwhile.
async function on(html, hash, fn, options) {
	const { page, troubles, close } = await openFile(browser, html, hash, options);
	try {
		await fn(page);
		assert.deepEqual(troubles, []);
	} finally {
		await close();
	}
}

const fact = (page, name) => page.locator(`[data-fact=${name}] dd`).innerText();

async function gridRows(page, label) {
	return Number(await page.locator(`[role=grid][aria-label^="${label}"]`).getAttribute("aria-rowcount")) - 1;
}

async function waitRows(page, label, nr) {
	await page.waitForFunction(([l, n]) => document.querySelector(`[role=grid][aria-label^="${l}"]`)?.getAttribute("aria-rowcount") === String(n + 1), [label, nr]);
}

test("the head tells what the report tells", async () => {
	const t = redis.report.totals;
	await on(redis.html, "", async (page) => {
		assert.equal(digits(await fact(page, "transitions")), t.transitions);
		assert.equal(digits(await fact(page, "coroutines")), t.coroutines);
		assert.equal(digits(await fact(page, "threads")), t.threads);
		assert.equal(digits(await fact(page, "lost")), t.lost + t.others_lost);
		assert.equal(digits(await fact(page, "garbage")), 0);
		assert.equal(await page.locator(".fact.loud").count(), 0);
		assert.equal(await page.locator("h1").innerText(), "redis.jsonl");
		assert.equal(await page.locator(".overview canvas").count(), 2);
	});
});

test("overview: cards lead to the evidence, charts and threads can be saved", async () => {
	await on(redis.html, "", async (page) => {
		const cards = page.locator(".card");
		assert.equal(await cards.count(), Math.min(6, redis.report.findings.length));
		const series = await csv(page, "coroutines over time");
		assert.equal(series.reduce((n, r) => n + Number(r.events), 0), redis.report.totals.transitions);
		const threads = await csv(page, "threads");
		assert.equal(threads.length, redis.report.totals.threads);
		await cards.first().click();
		await page.waitForSelector(".finding");
		assert.match(page.url(), /view=findings/);
		assert.equal(await page.evaluate(() => document.activeElement.textContent), redis.report.findings[0].title);
	});
});

test("findings: each as in the report, with its evidence", async () => {
	const { findings } = redis.report;
	assert.ok(findings.some((f) => f.detector === "closed-under-waiter" && f.confidence === "proven"), "the server's bug is in the trace");
	await on(redis.html, "#view=findings", async (page) => {
		assert.equal(await page.locator(".finding").count(), findings.length);
		for (const [i, f] of findings.entries()) {
			const card = page.locator(".finding").nth(i);
			const text = await card.innerText();
			assert.ok(text.includes(f.title) && text.includes(f.confidence), f.detector);
			assert.equal(digits(await card.locator(".finding-count").innerText()), f.count);
			for (const part of [f.seen, f.meaning, f.advice, f.hint]) assert.ok(text.toLowerCase().includes(part.toLowerCase()), part);
			if (f.place) assert.ok(text.includes(f.place.text), f.place.text);
			const sentences = await card.locator(".evidence li").allInnerTexts();
			assert.deepEqual(sentences.map((s) => s.toLowerCase().replace(/\.$/, "")), f.evidence.map((s) => s.toLowerCase()));
			assert.equal(await card.locator(".finding-hint").count(), f.hint === f.advice ? 0 : 1);
			await checkCoroutines(card, f);
			if (f.example) {
				assert.ok(text.includes(`#${f.example.probe_id}`));
				assert.equal(await card.locator(".finding-example tbody tr").count(), f.example.last.length);
				assert.equal(await card.locator(".life canvas").count(), 1);
			}
		}
		const rows = await csv(page, "findings");
		assert.deepEqual(rows.map((r) => [r.detector, Number(r.count)]), findings.map((f) => [f.detector, f.count]));
		await page.getByRole("button", { name: "proven" }).click();
		assert.equal(await page.locator(".finding").count(), findings.filter((f) => f.confidence === "proven").length);
		assert.match(page.url(), /sure=proven/);
		await page.getByRole("button", { name: "proven" }).click();
		await page.getByLabel("Filter findings by text").fill("no such words");
		await page.getByText("No finding matches the filter.").waitFor();
	});
});

// A finding about several coroutines lists the first 100, the most certain first.
async function checkCoroutines(card, f) {
	const listed = f.coroutines.length > 1 ? f.coroutines.slice(0, 100) : [];
	if (listed.length > 10) await card.locator(".affected").getByRole("button", { name: "Show all" }).click();
	const rows = await card.locator(".affected tbody tr").evaluateAll((trs) => trs.map((tr) => [...tr.cells].slice(0, 3).map((td) => td.innerText.trim())));
	assert.deepEqual(rows, listed.map((c) => [`${c.name ?? ""} #${c.probe_id}`.trim(), c.confidence, c.state]));
	const more = f.coroutines.length - listed.length + f.coroutines_omitted;
	if (listed.length > 0) assert.equal(await card.locator(".affected > p").count(), more > 0 ? 1 : 0);
}

test("a finding leads to its coroutine, its place, and all that have it", async () => {
	const f = redis.report.findings.find((x) => x.detector === "closed-under-waiter");
	await on(redis.html, "#view=findings&findings=closed-under-waiter", async (page) => {
		await page.locator(".finding .end-link").click();
		await waitRows(page, "Coroutines", f.count);
		await page.goBack();
		await page.locator(".finding-place a").click();
		await page.waitForSelector(".site-detail h2");
		assert.equal(await page.locator(".site-detail h2").first().innerText(), f.place.text);
		await page.goBack();
		await page.locator(".example-head a").click();
		await page.waitForSelector(".coro-head");
		assert.match(page.url(), new RegExp(`coro=${f.example.probe_id}$`));
		assert.ok((await page.locator(".coro-head").innerText()).includes("closed-under-waiter"));
	});
});

test("coroutines: filters, order and CSV", async () => {
	const t = redis.report.totals;
	await on(redis.html, "#view=coroutines", async (page) => {
		await waitRows(page, "Coroutines", t.coroutines);
		const all = await csv(page, "coroutines");
		assert.equal(all.length, t.coroutines);
		const longest = all.map((r) => Number(r.longest_wait_ns));
		assert.deepEqual(longest, [...longest].sort((a, b) => b - a), "longest wait first");
		const suspended = all.filter((r) => r.state === "suspended");
		assert.equal(all.filter((r) => r.state !== "ended").length, t.not_ended);
		await page.locator(".segments [data-state=suspended]").first().click();
		await waitRows(page, "Coroutines", suspended.length);
		// One of each kind of column: a number, a text, a place, a time, a set; with COROTRACER_FULL=1 all.
		const some = ["id", "name", "site", "longest", "findings"];
		for (const key of FULL ? [...some, "state", "instate", "reason", "waited", "ran", "suspends", "threads", "life"] : some) {
			await page.locator(`[data-sort=${key}]`).click();
			await page.waitForFunction((k) => document.querySelector(`[data-sort=${k}]`).closest("[role=columnheader]").getAttribute("aria-sort") !== "none", key);
			assert.equal(await gridRows(page, "Coroutines"), suspended.length);
		}
		const { name } = suspended.at(-1);
		const words = name.split(" ");
		await page.getByLabel("Filter by name").fill(name);
		const found = suspended.filter((r) => words.every((w) => [r.name, r.kind, r.place, r.id].join(" ").includes(w)));
		await waitRows(page, "Coroutines", found.length);
		assert.ok(found.length > 0 && found.length < suspended.length);
		await page.getByLabel("Suspended at least").fill("1000000");
		await page.getByText("No coroutine matches the filter.").waitFor();
		// The address determines the view, also after a reload.
		await page.reload();
		await ready(page);
		await page.getByText("No coroutine matches the filter.").waitFor();
		assert.equal(await page.getByLabel("Filter by name").inputValue(), name);
	});
});

test("a coroutine's own tab: numbers, events, links, closing, going back", async () => {
	const f = redis.report.findings.find((x) => x.detector === "closed-under-waiter");
	const id = String(f.example.probe_id);
	await on(redis.html, `#coro=${id}`, async (page) => {
		await page.waitForSelector(".events-panel [role=row][aria-rowindex='2']:not([hidden])");
		assert.equal(await page.locator(".coro-head h2").innerText(), `${f.example.name} #${id}`);
		assert.equal(await page.locator(".tab[data-coro]").count(), 1);
		const events = await csv(page, "events");
		const kinds = (k) => events.filter((e) => e.what === k).length;
		const text = await page.locator("dl.kv").first().innerText();
		assert.equal(kinds("suspend"), digits(/suspended\s+(\d+) time/.exec(text)[1]));
		assert.equal(kinds("birth"), 1);
		const last = f.example.last.filter((s) => ["suspend", "resume", "wake"].includes(s.kind)).map((s) => s.kind);
		assert.deepEqual(events.slice(0, last.length).map((e) => e.what).reverse(), last);
		const waits = await csv(page, "waits by place");
		assert.ok(waits.reduce((n, w) => n + Number(w.waits), 0) > 0);
		await page.getByText("acceptor #1").click();
		await page.waitForFunction(() => location.hash === "#coro=1");
		assert.equal(await page.locator(".tab[data-coro]").count(), 2);
		await page.goBack();
		assert.equal(await page.locator(".tab[aria-current=page]").getAttribute("data-coro"), id);
		await page.getByRole("button", { name: `Close ${f.example.name} #${id}` }).click();
		await page.waitForSelector("[role=grid][aria-label=Coroutines]");
		assert.equal(await page.locator(".tab[data-coro]").count(), 1);
	});
	await on(redis.html, "#coro=987654321", async (page) => {
		await page.getByText("There is no coroutine #987654321 here").waitFor();
	});
});

test("timeline: lanes, zoom, keys, table and CSV", async () => {
	await on(redis.html, "#view=timeline", async (page) => {
		const stage = page.locator(".stage");
		await stage.focus();
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press(".");
		await page.waitForFunction(() => document.querySelector(".timeline-info b"));
		// The selection stays when the window changes and the pieces are loaded again.
		const chosen = await page.locator(".timeline-info").innerText();
		await page.setViewportSize({ width: 1440, height: 820 });
		await painted(page);
		assert.equal(await page.locator(".timeline-info").innerText(), chosen);
		for (let i = 0; i < 14; i++) await page.keyboard.press("+");
		await page.waitForFunction(() => /from=\d+/.test(location.hash));
		await page.keyboard.press("ArrowRight");
		await page.keyboard.press("Home");
		await page.keyboard.press("0");
		await page.waitForFunction(() => !/from=/.test(location.hash));
		const all = await csv(page, "what is in sight");
		assert.equal(new Set(all.map((r) => r.lane)).size, redis.report.totals.threads);
		await page.getByRole("button", { name: "By coroutine" }).click();
		await page.waitForFunction(() => /by=coroutine/.test(location.hash));
		await stage.focus();
		await page.keyboard.press("ArrowDown");
		await page.getByText("What is in sight, as a table").click();
		await page.waitForFunction(() => document.querySelectorAll(".timeline-table tbody tr").length > 5);
		await stage.focus();
		await page.keyboard.press("Enter");
		await page.waitForFunction(() => /coro=\d+/.test(location.hash));
	});
});

// At the finest zoom every slice of the trace is shown.
test("timeline: slices in sight are those of the trace", async () => {
	const events = readFileSync(redis.trace, "utf8").trim().split("\n").map((l) => JSON.parse(l));
	const meta = readFileSync(`${redis.trace}.meta`, "utf8").trim().split("\n").map((l) => JSON.parse(l));
	const origin = Math.min(events[0].ts, ...meta.filter((m) => m.type === "birth").map((m) => m.ts));
	const open = new Map();
	const all = [];
	for (const e of events) {
		if (e.is_active) open.set(e.probe_id, e.ts - origin);
		else if (open.has(e.probe_id)) {
			const start = open.get(e.probe_id);
			open.delete(e.probe_id);
			all.push({ id: e.probe_id, start, end: e.ts - origin });
		}
	}
	// On a busy machine the server may do nothing for a while: where the most is to see.
	const around = (at) => all.filter((s) => s.start <= at + 100_000 && s.end >= at - 100_000);
	const candidates = Array.from({ length: 101 }, (_, i) => all[Math.floor(((all.length - 1) * i) / 100)].start).filter((at) => at >= 100_000);
	const middle = candidates.reduce((best, at) => (around(at).length > around(best).length ? at : best));
	const [from, to] = [middle - 100_000, middle + 100_000];
	const slices = around(middle).map((s) => `${s.id} ${s.start} ${s.end - s.start}`);
	assert.ok(slices.length > 5, "there is something to see");
	await on(redis.html, `#view=timeline&from=${from}&to=${to}`, async (page) => {
		let rows = [];
		for (let i = 0; i < 40 && rows.length < slices.length; i++) {
			await painted(page);
			rows = (await csv(page, "what is in sight")).filter((r) => r.what === "running");
		}
		assert.deepEqual(rows.map((r) => `${r.coroutine_id} ${r.from_ns} ${r.duration_ns}`).sort(), slices.sort());
	});
});

test("timeline: the pointer zooms, pans, chooses and opens", async () => {
	await on(redis.html, "#view=timeline&by=coroutine", async (page) => {
		const box = await page.locator(".stage canvas").boundingBox();
		await page.mouse.move(box.x + 600, box.y + 40);
		await page.mouse.wheel(0, -600);
		await page.waitForFunction(() => /from=\d+/.test(location.hash));
		const before = await page.evaluate(() => location.hash);
		await page.mouse.down();
		await page.mouse.move(box.x + 500, box.y + 40, { steps: 4 });
		await page.mouse.up();
		await page.waitForFunction((h) => location.hash !== h, before);
		await page.keyboard.down("Shift");
		await page.mouse.down();
		await page.mouse.move(box.x + 700, box.y + 40, { steps: 4 });
		assert.equal(await page.locator(".stage .band").isVisible(), true);
		await page.mouse.up();
		await page.keyboard.up("Shift");
		// A name at the left opens its coroutine.
		await page.mouse.click(box.x + 30, box.y + 36);
		await page.waitForFunction(() => /coro=\d+/.test(location.hash));
	});
});

test("from a coroutine to its lane in the timeline", async () => {
	const id = redis.report.totals.coroutines - 3;
	await on(redis.html, `#coro=${id}`, async (page) => {
		await page.waitForSelector(".events-panel [role=row][aria-rowindex='2']:not([hidden])");
		await page.getByRole("button", { name: "In the timeline" }).click();
		await page.waitForFunction(() => document.querySelector(".lane-scroll")?.scrollTop > 0);
		await page.locator(".stage").focus();
		await page.keyboard.press("Enter");
		await page.waitForFunction((n) => location.hash === `#coro=${n}`, id);
	});
});

test("one selection in every view", async () => {
	await on(redis.html, "#view=overview", async (page) => {
		const whole = redis.report.totals.coroutines;
		const go = (view) => page.locator(`.tab[data-view=${view}]`).click();
		await go("coroutines");
		await waitRows(page, "Coroutines", whole);
		const all = await csv(page, "coroutines");
		const half = Math.round(Math.max(...all.map((c) => Number(c.end_ns) || 0)) / 2);
		await page.evaluate((to) => (location.hash = `#view=time&from=0&to=${to}`), half);
		const alive = all.filter((c) => Number(c.first_ns) <= half);
		assert.ok(alive.length > 0 && alive.length < whole);
		await page.waitForFunction((text) => document.querySelector(".time-sums .kv")?.textContent.includes(text), `coroutines${digitsGrouped(alive.length)}`);
		assert.equal(await page.locator(".selection").isVisible(), true);
		await go("coroutines");
		await waitRows(page, "Coroutines", alive.length);
		await go("timeline");
		await page.waitForFunction((to) => new URLSearchParams(location.hash.slice(1)).get("to") === String(to), half);
		await go("sites");
		await page.waitForFunction(() => document.querySelector(".fill-view:not([hidden]) .result")?.textContent.includes("of the selection"));
		await page.getByRole("button", { name: "Select all" }).click();
		await go("coroutines");
		await waitRows(page, "Coroutines", whole);
		assert.equal(await page.locator(".selection").isVisible(), false);
	});
});

// As the page groups digits.
const digitsGrouped = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");

test("a link is followed although the filter of the old view is written to the address at that moment", async () => {
	await on(redis.html, "#view=coroutines", async (page) => {
		await page.waitForSelector("[role=search] input[type=search]");
		// Two timers are due at once: the address changes, then the filter's timer; the event of that change comes last.
		await page.evaluate(() => {
			const field = [...document.querySelectorAll("input[type=search]")].find((el) => el.offsetParent !== null);
			field.value = "a";
			setTimeout(() => (location.hash = "#view=sites"), 60);
			field.dispatchEvent(new Event("input"));
			const from = performance.now();
			while (performance.now() - from < 300);
		});
		await page.waitForSelector(".tab[data-view=sites][aria-current=page]");
		assert.match(page.url(), /#view=sites/);
	});
});

test("sites: who waits where, against the coroutines", async () => {
	await on(redis.html, "#view=sites", async (page) => {
		const sites = await csv(page, "places");
		await page.goto(`${page.url().split("#")[0]}#view=coroutines`);
		await waitRows(page, "Coroutines", redis.report.totals.coroutines);
		const coros = await csv(page, "coroutines");
		for (const s of sites) {
			assert.equal(Number(s.waiting), coros.filter((c) => c.state === "suspended" && c.place === s.place).length, s.place);
		}
		assert.equal(sites.reduce((n, s) => n + Number(s.waiting), 0), coros.filter((c) => c.state === "suspended").length);
	});
});

test("with the keyboard alone: from the tabs to a coroutine and back", async () => {
	await on(redis.html, "", async (page) => {
		await page.keyboard.press("Tab"); // the link past the head
		assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
		await page.locator("#tab-overview").focus();
		await page.keyboard.press("ArrowRight");
		await page.keyboard.press("ArrowRight");
		await page.keyboard.press("Enter");
		await waitRows(page, "Coroutines", redis.report.totals.coroutines);
		for (let i = 0; i < 40; i++) {
			if (await page.evaluate(() => document.activeElement.getAttribute("role") === "grid")) break;
			await page.keyboard.press("Tab");
		}
		assert.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "grid");
		await page.keyboard.press("End");
		await page.keyboard.press("Home");
		await page.keyboard.press("ArrowDown");
		const active = await page.evaluate(() => document.activeElement.getAttribute("aria-activedescendant"));
		assert.equal(await page.evaluate((id) => document.getElementById(id).getAttribute("aria-selected"), active), "true");
		await page.keyboard.press("Enter");
		await page.waitForFunction(() => /^#coro=\d+$/.test(location.hash));
		await page.goBack();
		await page.waitForFunction(() => /view=coroutines/.test(location.hash));
		assert.equal(await page.evaluate(() => document.activeElement.getAttribute("role")), "grid");
		assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-activedescendant")), active);
	});
});

const VIEWS = {
	overview: "", findings: "#view=findings", coroutines: "#view=coroutines", timeline: "#view=timeline",
	"timeline-coroutines": "#view=timeline&by=coroutine", sites: "#view=sites", time: "#view=time", coroutine: "#coro=1",
};

test("everything has a name for those who listen, and fits every width", async () => {
	await on(redis.html, "", async (page) => {
		for (const [width, height] of [[1280, 800], [390, 844]]) {
			await page.setViewportSize({ width, height });
			for (const hash of Object.values(VIEWS)) {
				await page.evaluate((h) => (location.hash = h), hash || "#view=overview");
				await painted(page);
				const nameless = await page.evaluate(() => [...document.querySelectorAll("button, a, input, select, [role=grid], [role=img], section, [role=application]")]
					.filter((e) => !e.closest("[hidden]") && !(e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.textContent.trim() || e.closest("label")?.textContent.trim()))
					.map((e) => e.outerHTML.slice(0, 200)));
				assert.deepEqual(nameless, [], hash);
				const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
				assert.ok(wide <= 0, `${hash} at ${width}: ${wide} pixels too wide`);
			}
		}
	}, { colorScheme: "dark" }); // other tests open the light ones
});

test("on paper: no controls, all of the findings", async () => {
	await on(redis.html, "#view=findings", async (page) => {
		await page.emulateMedia({ media: "print" });
		assert.equal(await page.locator(".tabs").isVisible(), false);
		assert.equal(await page.locator(".finding").first().isVisible(), true);
		writeFileSync(join(OUT, "findings.pdf"), await page.pdf({ format: "A4" }));
	});
	// In print, tables have all their rows, not only those in sight; dark pages are light.
	await on(redis.html, "#view=coroutines", async (page) => {
		await waitRows(page, "Coroutines", redis.report.totals.coroutines);
		const shown = () => page.locator("[aria-label=Coroutines] .grid-row:not([hidden])").count();
		assert.ok((await shown()) < redis.report.totals.coroutines);
		await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
		assert.equal(await shown(), redis.report.totals.coroutines);
		assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "light");
		await page.evaluate(() => dispatchEvent(new Event("afterprint")));
		assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
	}, { colorScheme: "dark", viewport: { width: 1440, height: 600 } });
});

test("names are text, whatever they look like", async () => {
	const hostile = pageOf("hostile", hostileTrace());
	await on(hostile.html, "#view=coroutines", async (page) => {
		await waitRows(page, "Coroutines", HOSTILE.length);
		const shown = (await csv(page, "coroutines")).map((r) => r.name.replace(/^'/, ""));
		const spelled = (n) => n.replace("\r", "\\r").replace("\n", "\\n").replace("\u202e", "\\u202e");
		for (const name of HOSTILE.filter((n) => n.length < 100)) assert.ok(shown.includes(spelled(name)), name);
		const own = FULL ? HOSTILE : HOSTILE.slice(0, 3); // those with markup have a tab of their own in any case
		for (const hash of [...Object.values(VIEWS), ...own.map((_, i) => `#coro=${i + 1}`)]) {
			await page.evaluate((h) => (location.hash = h), hash || "#view=overview");
			await painted(page);
		}
		await page.evaluate(() => (location.hash = "#coro=1"));
		await painted(page);
		assert.ok((await page.locator(".coro-head:visible").innerText()).includes(HOSTILE[0]));
		assert.equal(await page.evaluate(() => window.pwned), undefined);
		assert.equal(await page.evaluate(() => document.querySelectorAll("main img, main script, main svg[onload]").length), 0);
	});
});

test("garbage is loud, counted, and no part of the scale", async () => {
	for (const name of ["garbage", "older-tool", "cut"]) {
		const page1 = pageOf(name, join(ROOT, `tests/fixtures/${name}.jsonl`));
		const t = page1.report.totals;
		assert.ok(t.garbage > 0);
		await on(page1.html, "", async (page) => {
			assert.equal(digits(await fact(page, "garbage")), t.garbage);
			assert.equal(await page.locator("[data-fact=garbage].loud").count(), 1);
			assert.equal(await fact(page, "lost"), "not known");
			const { verdict, missing } = page1.report.completeness;
			assert.equal(await page.locator(".shortage:visible").count(), verdict === "incomplete" ? 1 : 0);
			if (missing) assert.ok((await page.locator(".shortage").innerText()).includes(missing));
			assert.equal(digits(await fact(page, "transitions")), t.transitions);
			const title = await page.locator("[data-fact=duration]").getAttribute("title");
			assert.equal(digits(title), t.duration_ns);
			if (name !== "garbage" && !FULL) return; // the views of one of them
			for (const hash of Object.values(VIEWS)) {
				await page.evaluate((h) => (location.hash = h), hash || "#view=overview");
				await painted(page);
			}
		});
	}
});

test("a trace of nothing has words in every view", async () => {
	const trace = join(OUT, "empty.jsonl");
	writeFileSync(trace, "");
	const empty = pageOf("empty", trace);
	const words = {
		"": "Nothing found", "#view=findings": "Nothing found", "#view=coroutines": "The trace has no coroutine.", "#view=timeline": "No lane to show",
		"#view=sites": "No coroutine has waited anywhere yet.",
	};
	await on(empty.html, "", async (page) => {
		for (const [hash, text] of Object.entries(words)) {
			await page.evaluate((h) => (location.hash = h), hash || "#view=overview");
			await page.locator("main").getByText(text).locator("visible=true").first().waitFor();
		}
	});
});

test("findings of the corpus: a ring, a lock that is never released", async () => {
	for (const scenario of ["deadlock", "lost-wakeup/mutex"]) {
		const made = pageOf(scenario.replace("/", "-"), corpusTrace(scenario));
		await on(made.html, "#view=findings", async (page) => {
			const shown = await page.locator(".finding").evaluateAll((els) => els.map((e) => e.dataset.detector));
			assert.deepEqual(shown, made.report.findings.map((f) => f.detector));
			assert.ok(shown.includes(scenario.split("/")[0]));
		});
	}
});

// The slice is over: the page must not say that the coroutine has been running since.
test("a blocking slice ran as long as it ran, and what its coroutine does now is told", async () => {
	const made = pageOf("blocking", corpusTrace("blocking/often"));
	const f = made.report.findings.find((x) => x.detector === "blocking");
	const slice = Number(/for ([\d.]+) ms/.exec(f.seen)[1]);
	assert.equal(f.example.state, "running");
	assert.ok(Math.abs(f.example.age_ns / 1e6 - slice) < 0.001, `${f.example.age_ns} ns of ${slice} ms`);
	await on(made.html, "#view=findings&findings=blocking", async (page) => {
		const head = await page.locator(".finding .example-head").first().innerText();
		assert.ok(head.includes(`#${f.example.probe_id}`));
		const [, ran, now] = /for ([\d.]+)\u202fms.*; now (\w+)\)/.exec(head.replaceAll("\n", " "));
		assert.ok(Math.abs(Number(ran) - slice) < 0.1, `${ran} of ${slice} ms`);
		assert.equal(now, "ended");
	});
});

// A corrupt copy of the page.
function spoiled(name, change) {
	const file = join(OUT, `${name}.html`);
	writeFileSync(file, change(readFileSync(redis.html, "utf8")));
	return file;
}

async function failure(file, init) {
	const context = await browser.newContext();
	const page = await context.newPage();
	if (init) await page.addInitScript(init);
	const troubles = watch(page);
	await page.goto(pathToFileURL(file).href);
	await ready(page);
	const text = await page.locator("#app").innerText();
	await context.close();
	assert.deepEqual(troubles, []);
	return text;
}

test("damage and old browsers are told in words", async () => {
	const cut = spoiled("spoiled-meta", (html) => html.replace(/(id="ct-meta">)[^<]{40}/, "$1AAAA"));
	assert.match(await failure(cut), /section meta is damaged/);
	const missing = spoiled("spoiled-coros", (html) => html.replace('id="ct-coros"', 'id="ct-nothing"'));
	assert.match(await failure(missing), /section coros is missing/);
	const old = () => {
		window.Worker = undefined;
		window.DecompressionStream = undefined;
	};
	assert.match(await failure(redis.html, old), /cannot unpack gzip[^]*Chromium/);
});

test("without workers all is there just the same", async () => {
	const context = await browser.newContext();
	const page = await context.newPage();
	await page.addInitScript(() => (window.Worker = undefined));
	await page.goto(`${pathToFileURL(redis.html).href}#view=coroutines`);
	await ready(page);
	await waitRows(page, "Coroutines", redis.report.totals.coroutines);
	await context.close();
});

// The times are figures, not judged here; bench/web.sh measures them.
test("very many events and coroutines: the first view, panning, selection and search", async () => {
	const coroutines = FULL ? 20_000 : 2_000;
	const big = pageOf("big", bigTrace(FULL ? 1_000_000 : 12_000, coroutines));
	const o = await openMeasured(browser, big.html);
	console.log(`first view ${o.firstMs.toFixed(0)} ms, all ${o.allMs.toFixed(0)} ms, longest task ${o.longest.toFixed(0)} ms`);
	assert.equal(digits(await fact(o.page, "transitions")), big.report.totals.transitions);
	// test_rows.mjs does the same with a lane for each coroutine.
	for (const hash of FULL ? ["#view=timeline", "#view=timeline&by=coroutine"] : ["#view=timeline"]) {
		await o.page.evaluate((h) => (location.hash = h), hash);
		await painted(o.page);
		const pan = await panAndZoom(o.page, PAN_ROUNDS);
		console.log(`${hash}: ${JSON.stringify(pan)}`);
		assert.ok(pan.frames > 0);
	}
	// What is seen of the timeline is selected in every view.
	await o.page.getByRole("button", { name: "Select all" }).click();
	await o.page.evaluate(() => (location.hash = "#view=coroutines"));
	await waitRows(o.page, "Coroutines", big.report.totals.coroutines);
	const elements = await o.page.locator(".grid-row").count();
	assert.ok(elements < 120, `${elements} rows are elements`);
	await o.page.getByLabel("Filter by name").fill("#777");
	await o.page.waitForFunction((first) => !document.querySelector(".result:not(:empty)").textContent.startsWith(first), String(coroutines)[0]);
	assert.deepEqual(o.troubles, []);
	await o.close();
});

test("screenshots of every view, light and dark", { skip: !FULL && "with COROTRACER_FULL=1" }, async () => {
	for (const colorScheme of SCHEMES) {
		await on(redis.html, "", async (page) => {
			for (const [name, hash] of Object.entries(VIEWS)) {
				await page.evaluate((h) => (location.hash = h), hash || "#view=overview");
				await painted(page);
				await page.waitForTimeout(300); // slices are loading; not checked
				await page.screenshot({ path: join(OUT, "screenshots", `${name}-${colorScheme}.png`) });
			}
		}, { colorScheme });
	}
});
