// SPDX-License-Identifier: MIT
// measure.mjs - speed of the page: time to the first view, long tasks, frames while panning.
import { FULL, painted, ready, watch } from "./browser.mjs";
import { pathToFileURL } from "node:url";

const OBSERVE = () => {
	window.longTasks = [];
	new PerformanceObserver((list) => {
		for (const e of list.getEntries()) window.longTasks.push({ start: e.startTime, ms: e.duration });
	}).observe({ type: "longtask", buffered: true });
};

// From the start of loading to the first chart, and to the last table.
export async function openMeasured(browser, file, hash = "") {
	const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
	const page = await context.newPage();
	const troubles = watch(page);
	await page.addInitScript(OBSERVE);
	await page.addInitScript(() => {
		const look = () => {
			if (window.firstView === undefined && document.querySelector(".overview canvas, .stage canvas, .failure")) window.firstView = performance.now();
			if (window.firstView === undefined) requestAnimationFrame(look);
		};
		requestAnimationFrame(look);
	});
	await page.goto(pathToFileURL(file).href + hash);
	await ready(page);
	const allMs = await page.evaluate(() => performance.now());
	await painted(page);
	const firstMs = await page.evaluate(() => window.firstView);
	const longest = await page.evaluate(() => Math.max(0, ...window.longTasks.map((t) => t.ms)));
	return { page, troubles, firstMs, allMs, longest, close: () => context.close() };
}

export const PAN_ROUNDS = FULL ? 6 : 2;

// Drags and zooms the timeline for @rounds, two thirds of them inwards; returns the longest task and the number of frames.
export async function panAndZoom(page, rounds) {
	const box = await page.locator(".stage canvas").boundingBox();
	const [cx, cy] = [box.x + box.width / 2, box.y + Math.min(120, box.height / 2)];
	await page.evaluate(() => {
		window.longTasks.length = 0;
		window.frameTimes = [];
		const tick = (t) => {
			window.frameTimes.push(t);
			window.frameLoop = requestAnimationFrame(tick);
		};
		window.frameLoop = requestAnimationFrame(tick);
	});
	const cycle = Math.min(rounds, 6);
	for (let i = 0; i < rounds; i++) {
		await page.mouse.move(cx, cy);
		await page.mouse.wheel(0, i % cycle < cycle * 2 / 3 ? -320 : 480);
		await page.mouse.down();
		for (let k = 1; k <= 8; k++) await page.mouse.move(cx + (i % 2 ? 45 : -45) * k, cy);
		await page.mouse.up();
	}
	await page.waitForTimeout(300);
	return page.evaluate(() => {
		cancelAnimationFrame(window.frameLoop);
		const gaps = window.frameTimes.slice(1).map((t, i) => t - window.frameTimes[i]).sort((a, b) => a - b);
		return {
			longest: Math.max(0, ...window.longTasks.map((t) => t.ms)), tasks: window.longTasks.length, frames: gaps.length,
			medianGap: gaps[Math.floor(gaps.length / 2)] ?? 0, p95Gap: gaps[Math.floor(gaps.length * 0.95)] ?? 0,
		};
	});
}
