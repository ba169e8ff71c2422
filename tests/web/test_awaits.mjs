// SPDX-License-Identifier: MIT
// test_awaits.mjs - the await tree, asynchronous stacks and wakes that are followed, compared with the trace itself.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { csv, FULL, openFile, painted, ready, withBrowser } from "./browser.mjs";
import { bigTrace, corpusTrace, freshOut, OUT, pageOf, readTrace, ROOT, TOOL } from "./fixtures.mjs";

const CHANNELS = process.env.CHANNELS ?? join(ROOT, "build/examples/c/channels");
const plain = (text) => text.replace(/[\u2009\u202f\u00a0]/g, "");
let browser;
let finish;
let channels;

before(async () => {
	freshOut();
	await new Promise((opened) => {
		void withBrowser((b) => {
			browser = b;
			opened();
			return new Promise((done) => (finish = done));
		});
	});
	const trace = join(OUT, "channels.jsonl");
	execFileSync(TOOL, ["run", "-q", "-o", trace, "--", CHANNELS, "--seconds", "0.2"], { stdio: "ignore", timeout: 300_000 });
	channels = { ...pageOf("channels", trace), ...readTrace(trace) };
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

// Which coroutines exist, run and wait at a time, by replaying everything before it.
function replay(events, t) {
	const state = new Map();
	for (const e of events) {
		if (e.ts > t) break;
		if (e.what === "birth") state.set(e.id, "new");
		else if (e.what === "resume") state.set(e.id, "running");
		else if (e.what === "suspend") state.set(e.id, "waiting");
		else if (e.what === "end" || e.what === "destroy") state.delete(e.id);
	}
	const nr = (s) => [...state.values()].filter((v) => v === s).length;
	return { alive: state.size, running: nr("running"), waiting: nr("waiting") };
}

const told = async (page, t) => {
	await page.waitForFunction((want) => new URLSearchParams(location.hash.slice(1)).get("at") === want && document.querySelector(".await-counts")?.dataset.at === want, String(t));
	const text = plain(await page.locator(".await-counts").innerText());
	const nr = (word) => Number(new RegExp(`(\\d+) ${word}`).exec(text)?.[1] ?? 0);
	return { alive: nr("coroutine"), running: nr("running"), waiting: nr("suspended") + nr("ready") };
};

test("states at a moment are those of a replay of all events", async () => {
	const { events } = channels;
	const times = [];
	const parts = FULL ? 12 : 6;
	for (let i = 1; i < parts; i++) {
		const k = Math.floor((events.length * i) / parts);
		// Between two events: which of two at the same time is first does not matter.
		const next = events.slice(k).findIndex((e, n) => n > 0 && e.ts > events[k + n - 1].ts + 1) + k;
		times.push(Math.floor((events[next - 1].ts + events[next].ts) / 2));
	}
	await on(channels.html, "#view=awaits", async (page) => {
		await page.waitForSelector(".await-grid tbody tr");
		for (const t of times) {
			await page.evaluate((at) => (location.hash = `#view=awaits&at=${at}`), t);
			assert.deepEqual(await told(page, t), replay(events, t), `at ${t}`);
		}
	});
});

test("the slider, its keys, jumps to changes, and the address", async () => {
	const id = channels.events.find((e) => e.what === "birth").id;
	const mine = channels.events.filter((e) => e.id === id && ["resume", "suspend"].includes(e.what)).map((e) => e.ts);
	const at = () => Number(new URLSearchParams(new URL(page0.url()).hash.slice(1)).get("at"));
	let page0;
	await on(channels.html, `#view=awaits&sel=${id}&at=${mine[4]}`, async (page) => {
		page0 = page;
		await page.waitForSelector(".async-stack li.me");
		const slider = page.locator(".moment-slider");
		await slider.focus();
		const max = Number(await slider.getAttribute("max"));
		await page.keyboard.press("Home");
		await page.waitForFunction(() => location.hash.includes("at=0"));
		await page.keyboard.press("End");
		await page.waitForFunction((m) => location.hash.includes(`at=${m}`), max);
		await page.keyboard.press("ArrowLeft");
		await page.waitForFunction((m) => !location.hash.includes(`at=${m}`), max);
		assert.ok(max - at() > 0 && max - at() < max / 100);
		// From change to change of the chosen coroutine: all its resumes and suspends are among them.
		await page.evaluate(([i, t]) => (location.hash = `#view=awaits&sel=${i}&at=${t}`), [id, mine[0] - 1]);
		const seen = [];
		for (let i = 0; i < (FULL ? 12 : 6); i++) {
			const before = page.url();
			await page.waitForFunction(() => document.querySelector(".await-counts").dataset.at === new URLSearchParams(location.hash.slice(1)).get("at"));
			await slider.focus();
			await page.keyboard.press(".");
			await page.waitForFunction((u) => location.href !== u, before);
			seen.push(at());
		}
		assert.deepEqual(mine.filter((t) => t <= seen.at(-1)).filter((t) => !seen.includes(t)), []);
		assert.deepEqual(seen, [...seen].sort((a, b) => a - b));
		await page.reload();
		await ready(page);
		await page.waitForSelector(".async-stack li.me");
		assert.equal(at(), seen.at(-1));
		assert.match(await page.locator(".selection").innerText(), new RegExp(`#${id} ×`));
	});
});

test("a ring of locks is shown as a ring, as the report has it", async () => {
	for (const scenario of ["deadlock/locks", "deadlock"]) {
		const { html, report } = pageOf(scenario.replace("/", "-"), corpusTrace(scenario));
		const found = report.findings.find((f) => f.detector === "deadlock");
		const ids = found.coroutines.map((c) => String(c.probe_id));
		await on(html, "#view=awaits", async (page) => {
			await page.waitForSelector(".ring-line");
			const rings = await page.locator(".await-grid tr").filter({ hasText: "ring 1" }).allInnerTexts();
			assert.ok(rings.length > 0 && rings.every((t) => ids.some((id) => t.includes(`#${id}`))), `${scenario}: ${rings} and ${ids}`);
			const first = page.locator(".ring-line .as-link").first();
			const title = await first.innerText();
			await first.click();
			await page.waitForSelector(".async-stack li.me");
			assert.ok((await page.locator(".async-stack li.me").innerText()).includes(title));
			assert.match(await page.locator(".stack-panel").innerText(), /A ring/);
			await page.getByRole("link", { name: "Open the coroutine" }).click();
			await page.locator(".coro-head .badge").filter({ hasText: "deadlock" }).click();
			await page.waitForFunction(() => document.querySelector("select[aria-label=Detector]")?.value === "deadlock");
		});
	}
});

// A wake by a coroutine, with the slice that it caused; the longest time between them.
function wakesOf(events) {
	const waits = new Map();
	const out = [];
	for (const e of events) {
		if (e.what === "wake" && e.waker > 0) waits.set(e.id, e);
		if (e.what !== "resume") continue;
		const w = waits.get(e.id);
		waits.delete(e.id);
		if (w && e.id !== w.waker) out.push({ id: e.id, waker: w.waker, at: w.ts, to: e.ts });
	}
	return out.sort((a, b) => b.to - b.at - (a.to - a.at));
}

const longestWake = (events) => wakesOf(events)[0];

// Those with few others around them: only then arrows are drawn.
function lonelyWakes(events) {
	const wakes = wakesOf(events);
	return wakes.filter((w) => wakes.filter((o) => o.to >= 2 * w.at - w.to && o.at <= 2 * w.to - w.at).length < 100).slice(0, 8);
}

// A point of an arrow in the middle of the picture, or null: slices may cover it. Events made in the page find it, the
// pointer itself confirms it: to move the pointer to each point takes seconds.
async function pointOfArrow(page, box) {
	const point = await page.evaluate(({ x, y, width, height }) => {
		const canvas = document.querySelector(".stage canvas");
		for (const part of [0.5, 0.42, 0.58]) for (let down = 28; down < Math.min(height, 380); down += 3) {
			const at = [x + 180 + (width - 186) * part, y + down];
			canvas.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: at[0], clientY: at[1] }));
			if ([...document.querySelectorAll(".tip")].some((t) => !t.hidden && / woke /.test(t.textContent))) return at;
		}
		return null;
	}, box);
	if (!point) return null;
	await page.mouse.move(...point);
	const isSaid = () => [...document.querySelectorAll(".tip")].some((t) => !t.hidden && / woke /.test(t.textContent));
	return await page.waitForFunction(isSaid, null, { timeout: 5_000 }).catch(() => null) ? point : null;
}

// The same in the windows of several wakes, a few times each: the page may still read what is in a window.
async function pointOfSomeArrow(page, box, wakes) {
	for (let tries = 0; tries < 5; tries++) for (const w of wakes) {
		const room = w.to - w.at;
		await page.evaluate((hash) => (location.hash = hash), `#view=timeline&from=${w.at - room}&to=${w.to + room}`);
		await painted(page);
		if (tries > 0) await page.waitForTimeout(300);
		const point = await pointOfArrow(page, box);
		if (point) return point;
	}
	return null;
}

const param = (page, name) => new URLSearchParams(new URL(page.url()).hash.slice(1)).get(name);

// The longest one by a slice that is wide enough to be drawn alone when three times its length is in sight at each side.
function visibleWake(events) {
	const slice = (w) => {
		const own = events.filter((e) => e.id === w.waker);
		const from = own.findLast((e) => e.ts <= w.at && e.what === "resume");
		const to = own.find((e) => e.ts >= w.at && (e.what === "suspend" || e.what === "end"));
		return from && to ? to.ts - from.ts : 0;
	};
	return wakesOf(events).find((w) => slice(w) * 60 > 7 * (w.to - w.at));
}

test("wakes are followed by keys, backwards and forwards, and there is a way back", async () => {
	const w = visibleWake(channels.events);
	assert.ok(w, "a slice that wakes another one soon");
	const room = 3 * (w.to - w.at);
	const hash = `#view=timeline&by=coroutine&sel=${w.id}&at=${w.to}&from=${w.at - room}&to=${w.to + room}`;
	await on(channels.html, hash, async (page) => {
		await page.waitForSelector(".wake-links");
		await page.locator(".stage").focus();
		await page.keyboard.press("b");
		await page.waitForFunction((id) => location.hash.includes(`sel=${id}&`) || location.hash.endsWith(`sel=${id}`), w.waker);
		assert.equal(Number(param(page, "at")), w.at);
		assert.equal(await page.locator(".trail a").count(), 2);
		await page.waitForSelector(".wake-links .as-link");
		const woke = await page.locator(".wake-links").innerText();
		await page.locator(".stage").focus();
		await page.keyboard.press("Backspace");
		await page.waitForFunction((t) => new URLSearchParams(location.hash.slice(1)).get("at") === String(t), w.to);
		assert.equal(param(page, "sel"), String(w.id));
		assert.ok(woke.includes("woke"), woke);
		// The same from the coroutine's own tab.
		await page.evaluate(([id, t]) => (location.hash = `#coro=${id}&at=${t}`), [w.id, w.to]);
		await page.locator(".stack-panel").getByRole("button", { name: /^← / }).first().click();
		await page.waitForFunction((id) => location.hash.startsWith(`#coro=${id}&`), w.waker);
		assert.equal(Number(param(page, "at")), w.at);
		const back = page.locator("main > :not([hidden]) .stack-panel").getByRole("button", { name: /^→ / });
		await back.first().waitFor();
		assert.ok((await back.allInnerTexts()).some((t) => t.endsWith(`#${w.id}`)));
	});
});

// The slice of a coroutine that runs at a time.
function sliceAt(events, id, t) {
	const own = events.filter((e) => e.id === id);
	const from = own.findLast((e) => e.ts <= t && e.what === "resume");
	const to = own.find((e) => e.ts >= t && e.ts > from?.ts && ["suspend", "end", "destroy"].includes(e.what));
	return from && to ? { from: from.ts, to: to.ts } : null;
}

// Both ends narrower than a tenth of a pixel when the whole run is in sight; the waker wakes few: more have no links.
function narrowWake({ events, end }) {
	return wakesOf(events).find((w) => {
		const [by, ran] = [sliceAt(events, w.waker, w.at), sliceAt(events, w.id, w.to)];
		const woken = by ? events.filter((e) => e.what === "wake" && e.waker === w.waker && e.ts >= by.from && e.ts <= by.to).length : 0;
		return by && ran && woken <= 3 && by.to - by.from < end / 14_000 && ran.to - ran.from < end / 14_000 && ran.from === w.to;
	});
}

// The digits of a time, as the details have it.
const digitsOf = (ns) => `${String(ns).padStart(10, "0").slice(0, -9)}.${String(ns).padStart(10, "0").slice(-9)}`;

// A page that still reads replaces the details, and with them a button between press and release.
async function clickTo(page, button, id) {
	const isThere = (want) => new URLSearchParams(location.hash.slice(1)).get("sel") === String(want);
	for (let tries = 0; tries < 3; tries++) {
		await button.click();
		if (await page.waitForFunction(isThere, id, { timeout: 30_000 }).catch(() => null)) return;
	}
	assert.fail(`the link does not lead to coroutine ${id}: ${page.url()}`);
}

// Wait for the details of the running slice that begins at a time: until the page has read it, they are of the one before.
async function detailsAreOf(page, id, from) {
	const isOf = ([who, t]) => {
		const text = document.querySelector(".timeline-info").textContent.replace(/[\u2009\u202f\u00a0]/g, "");
		return text.includes(`#${who} running`) && text.includes(t);
	};
	if (await page.waitForFunction(isOf, [id, digitsOf(from)], { timeout: 30_000 }).catch(() => null)) return;
	assert.fail(`not the slice of ${id} from ${from}: ${await page.locator(".timeline-info").innerText()}`);
}

test("wakes between slices that are narrower than a pixel are followed, forwards and backwards", async () => {
	const w = narrowWake(channels);
	assert.ok(w, "a wake between two short slices");
	const by = sliceAt(channels.events, w.waker, w.at);
	for (const lanes of FULL ? ["", "&by=coroutine"] : [""]) { // a wide wake is followed with lanes of coroutines
		await on(channels.html, `#view=timeline${lanes}&sel=${w.id}&at=${w.to}`, async (page) => {
			const info = page.locator(".timeline-info");
			await info.locator(".wake-links .as-link").first().waitFor();
			// The details are those of the slice that begins with the wake or contains it, not of a pixel.
			await detailsAreOf(page, w.id, w.to);
			await clickTo(page, info.getByRole("button", { name: /^← / }), w.waker);
			assert.equal(Number(param(page, "at")), w.at);
			await detailsAreOf(page, w.waker, by.from);
			const woke = info.getByRole("button", { name: new RegExp(`^→ .*#${w.id}: `) });
			await clickTo(page, woke.first(), w.id);
			await info.getByRole("button", { name: /^← / }).waitFor();
			await page.locator(".stage").focus();
			await page.keyboard.press("b");
			await page.waitForFunction((id) => new URLSearchParams(location.hash.slice(1)).get("sel") === String(id), w.waker);
			if (FULL) await page.screenshot({ path: join(OUT, "screenshots", `narrow-wake${lanes === "" ? "" : "-coroutines"}.png`) });
		});
	}
});

test("the address of a coroutine and a moment opens both", async () => {
	const w = longestWake(channels.events);
	await on(channels.html, `#coro=${w.waker}&at=${w.at}`, async (page) => {
		await page.waitForSelector(".async-stack li.me");
		const digits = String(w.at).padStart(10, "0");
		assert.equal(plain(await page.locator(".moment-stamp").innerText()).replace(/[^0-9.]/g, ""), `${digits.slice(0, -9)}.${digits.slice(-9)}`);
		assert.match(await page.locator(".async-stack li.me").innerText(), /running/);
	});
});

test("an arrow of the timeline can be clicked, and leads to both ends", async () => {
	await on(channels.html, "#view=timeline", async (page) => {
		await page.waitForFunction(() => document.querySelector(".timeline-info")?.textContent !== "");
		const box = await page.locator(".stage canvas").boundingBox();
		const point = await pointOfSomeArrow(page, box, lonelyWakes(channels.events));
		assert.ok(point, "an arrow is somewhere in the middle");
		await page.mouse.click(...point);
		const info = page.locator(".timeline-info");
		await info.getByText("→ to the slice that ran").click();
		await page.waitForFunction(() => new URLSearchParams(location.hash.slice(1)).get("sel"));
		const wake = channels.events.find((e) => e.what === "resume" && String(e.id) === param(page, "sel") && e.ts === Number(param(page, "at")));
		assert.ok(wake, "the begin of a slice of that coroutine");
		// A tip does not stay when the picture below it moves.
		await page.mouse.move(...point);
		await page.mouse.wheel(0, -300);
		await page.waitForFunction(() => [...document.querySelectorAll(".tip")].every((t) => t.hidden));
	});
});

test("a step of the critical path selects its coroutine and its time", async () => {
	const w = longestWake(channels.events);
	await on(channels.html, `#coro=${w.id}`, async (page) => {
		await page.getByRole("button", { name: "Find it" }).click();
		const link = page.locator("table[aria-label='Steps of the critical path'] tbody tr").nth(1).locator("a").first();
		await link.click();
		await page.waitForFunction(() => location.hash.includes("view=awaits"));
		await page.waitForSelector(".awaits .async-stack li.me");
		const title = await page.locator(".awaits .async-stack li.me b").innerText();
		assert.ok(title.endsWith(`#${param(page, "sel")}`));
		assert.ok(Number(param(page, "at")) > 0);
	});
});

test("slices that are not in the file are said to be missing", async () => {
	const trace = bigTrace(200_000, 20_000);
	const html = join(OUT, "thin.html");
	execFileSync(TOOL, ["html", "-q", "--max-size", "1M", "-o", html, trace], { stdio: "ignore", timeout: 300_000 });
	await on(html, "#view=awaits", async (page) => {
		await page.waitForSelector(".await-grid tbody tr");
		// In the middle of the run, away from the blocks that are kept whole.
		const t = await page.evaluate(() => Math.round(Number(document.querySelector(".moment-slider").max) / 2));
		await page.evaluate((at) => (location.hash = `#view=awaits&at=${at}`), t);
		await told(page, t);
		assert.match(plain(await page.locator(".await-counts").innerText()), /\d+ not in this file/);
		assert.match(await page.locator(".thin-note:visible").innerText(), /not in this file/);
	});
});

// Coroutines with a name and a large id each.
function namesTrace(nr) {
	const trace = join(OUT, "names.jsonl");
	const id = (i) => 4_000_000_000_000_000 + i;
	const base = 36012000000000;
	const birth = (_, i) => JSON.stringify({ type: "birth", ts: base + 10 * i, probe_id: id(i), tid: 9, pid: 7, name: `task-${i}-of-${nr}` });
	const step = (_, i) => JSON.stringify({ probe_id: id(i), tid: 9, addr: "0x0000000000401000", seq: 2, is_active: true, ts: base + 10 * i + 5 });
	const run = JSON.stringify({ type: "run", format: 1, tool: "corotracer 0.1.0", command: ["./app"], pid: 7, start_ts: base, start_realtime: 1794743530972, hostname: "h", arch: "x86_64", stations: 64 });
	writeFileSync(trace, `${Array.from({ length: nr }, step).join("\n")}\n`);
	writeFileSync(`${trace}.meta`, `${[run, ...Array.from({ length: nr }, birth)].join("\n")}\n`);
	return trace;
}

test("names beyond 65,536 are names, and numbers are not cut off", async () => {
	const nr = 66_000;
	const { html } = pageOf("names", namesTrace(nr));
	await on(html, "#view=coroutines&sort=-id", async (page) => {
		await page.waitForSelector("[role=row][aria-rowindex='2']:not([hidden])");
		const rows = await csv(page, "coroutines");
		assert.equal(rows.length, nr);
		assert.equal(new Set(rows.map((r) => r.name)).size, nr);
		assert.equal(rows[0].name, `task-${nr - 1}-of-${nr}`);
		// No number is cut off beside empty space.
		const cut = await page.locator(".grid-row:not([hidden]) .grid-cell.end").evaluateAll((cells) => cells.filter((c) => c.scrollWidth > c.clientWidth + 1).map((c) => c.textContent));
		assert.deepEqual(cut, []);
	});
});
