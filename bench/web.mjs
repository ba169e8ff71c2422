// SPDX-License-Identifier: MIT
// web.mjs - how responsive the page is with a large trace.  See web.sh.
import { withBrowser } from "../tests/web/browser.mjs";
import { openMeasured, panAndZoom } from "../tests/web/measure.mjs";

const [big, small, json] = process.argv.slice(2);
const VIEWS = {
	threads: "#view=timeline", coroutines: "#view=timeline&by=coroutine", groups: "#view=timeline&by=coroutine&group=kind&open=all",
	activity: "#view=timeline&by=coroutine&order=active", "coroutines, with pins": "#view=timeline&by=coroutine&pin=c1.c2.c3.t0.t1",
};

// The best of three, because other processes use the machine.
async function opened(browser, file) {
	let best = null;
	for (let i = 0; i < 3; i++) {
		const o = await openMeasured(browser, file);
		await o.close();
		if (!best || o.firstMs < best.firstMs) best = { firstMs: o.firstMs, allMs: o.allMs, longest: o.longest };
	}
	return best;
}

async function panned(browser, file, hash) {
	const o = await openMeasured(browser, file, hash);
	await o.page.waitForTimeout(1500);
	const pan = await panAndZoom(o.page, 40);
	await o.close();
	return pan;
}

// From the input event in the filter to the updated rows.
async function filtered(browser, file) {
	const o = await openMeasured(browser, file, "#view=coroutines");
	const ms = await o.page.evaluate(async () => {
		const result = document.querySelector(".filters .result");
		while (!/\d/.test(result.textContent)) await new Promise((done) => requestAnimationFrame(done));
		const input = document.querySelector("input[type=search]");
		const before = result.textContent;
		const start = performance.now();
		input.value = "#77";
		input.dispatchEvent(new Event("input"));
		while (result.textContent === before) await new Promise((done) => requestAnimationFrame(done));
		return performance.now() - start;
	});
	await o.close();
	return ms;
}

await withBrowser(async (browser) => {
	const yard = await opened(browser, small);
	const open = await opened(browser, big);
	const pans = {};
	for (const [name, hash] of Object.entries(VIEWS)) pans[name] = { big: await panned(browser, big, hash), small: await panned(browser, small, hash) };
	const filter = { big: await filtered(browser, big), small: await filtered(browser, small) };
	if (json === "1") {
		console.log(JSON.stringify({ open, yard, pans, filter }));
		return;
	}
	const row = (what, a, b) => console.log(`${what.padEnd(46)} ${`${a.toFixed(0)} ms`.padStart(10)} ${`${b.toFixed(0)} ms`.padStart(10)} ${(b > 0 ? a / b : 0).toFixed(2).padStart(7)}`);
	console.log(`${"what".padEnd(46)} ${"measured".padStart(10)} ${"yardstick".padStart(10)} ${"ratio".padStart(7)}`);
	row("first view", open.firstMs, yard.firstMs);
	row("all tables", open.allMs, yard.allMs);
	row("longest task while opening", open.longest, yard.longest);
	for (const [name, p] of Object.entries(pans)) {
		row(`longest task while panning, by ${name}`, p.big.longest, p.small.longest);
		row(`time between frames, median, by ${name}`, p.big.medianGap, p.small.medianGap);
		row(`time between frames, 95 of 100, by ${name}`, p.big.p95Gap, p.small.p95Gap);
	}
	row("a filter over all coroutines (120 ms of it wait)", filter.big, filter.small);
});
