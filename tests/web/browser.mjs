// SPDX-License-Identifier: MIT
// browser.mjs - headless Chromium, and a page that must not log errors nor make outside requests.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(join(here, "../../web/package.json"));
const { chromium } = require("playwright-core");

// With COROTRACER_FULL=1 tests are longer: larger traces, more views, light and dark.
export const FULL = process.env.COROTRACER_FULL === "1";
export const SCHEMES = FULL ? ["light", "dark"] : ["dark"]; // of pages that are looked at, with screenshots

const FLAGS = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
	"--disable-sync", "--disable-dev-shm-usage"];

// fn gets the browser; the browser and its profile are removed afterwards.
export async function withBrowser(fn) {
	const profile = mkdtempSync(join(tmpdir(), "corotracer-web-"));
	const args = process.getuid() === 0 ? [...FLAGS, "--no-sandbox"] : FLAGS;
	const browser = await chromium.launch({
		executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args, env: { ...process.env, HOME: profile },
	});
	try {
		return await fn(browser);
	} finally {
		await browser.close();
		rmSync(profile, { recursive: true, force: true });
	}
}

// Errors of a page, as they occur; and requests outside of the file or the server's own address.
export function watch(page, origin = null) {
	const troubles = [];
	page.setDefaultTimeout(120_000); // a slow machine must not fail the test
	// Looks every 50 ms unless told otherwise: to look in every frame keeps the page drawing.
	const { waitForFunction } = Object.getPrototypeOf(page);
	page.waitForFunction = (fn, arg, options) => waitForFunction.call(page, fn, arg, { polling: 50, ...options });
	page.on("console", (m) => {
		if (m.type() === "error" || m.type() === "warning") troubles.push(`console: ${m.text()}`);
	});
	page.on("pageerror", (e) => troubles.push(`exception: ${e.message}`));
	page.on("request", (r) => {
		const url = r.url();
		if (url.startsWith("blob:") || url.startsWith("data:")) return;
		if (origin ? !url.startsWith(origin) : !url.startsWith("file:")) troubles.push(`request: ${url}`);
	});
	page.on("dialog", (d) => {
		troubles.push(`dialog: ${d.message()}`);
		void d.dismiss();
	});
	return troubles;
}

// Pages that were closed, by their options: a page that is used again starts no process. With COROTRACER_FULL=1 each is a new one.
const closed = new WeakMap(); // by browser

async function takePage(browser, options) {
	const key = JSON.stringify(options);
	if (!closed.has(browser)) closed.set(browser, new Map());
	const idle = closed.get(browser);
	const page = idle.get(key) ?? await (await browser.newContext(options)).newPage();
	idle.delete(key);
	const giveBack = async () => {
		if (FULL || idle.has(key)) return page.context().close();
		page.removeAllListeners();
		await page.evaluate(() => localStorage.clear());
		// A page with notes that are not saved asks, and stays.
		if (!await page.goto("about:blank").then(() => true, () => false)) return page.context().close();
		await page.emulateMedia({ media: null, colorScheme: options.colorScheme });
		await page.setViewportSize(options.viewport);
		await page.mouse.move(0, 0);
		idle.set(key, page);
	};
	return { page, giveBack };
}

export async function openFile(browser, file, hash = "", options = {}) {
	const { page, giveBack } = await takePage(browser, { viewport: { width: 1440, height: 900 }, colorScheme: "light", ...options });
	const troubles = watch(page);
	await page.goto(pathToFileURL(file).href + hash);
	await ready(page);
	return { page, troubles, close: giveBack };
}

export async function ready(page) {
	await page.waitForFunction(() => document.documentElement.dataset.ready === "true" || document.querySelector(".failure"), null, { timeout: 120_000 });
}

// Two frames later the change is drawn.
export async function painted(page) {
	await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

// RFC 4180, by an independent reader.
function parseCsv(text) {
	const rows = [[]];
	const cell = /("((?:[^"]|"")*)"|[^,\r\n]*)(,|\r\n|$)/gy;
	for (let m; (m = cell.exec(text)) && m.index < text.length;) {
		rows.at(-1).push(m[2] !== undefined ? m[2].replaceAll('""', '"') : m[1]);
		if (m[3] === "\r\n") rows.push([]);
	}
	rows.pop();
	const [head, ...body] = rows;
	return body.map((r) => Object.fromEntries(head.map((h, i) => [h, r[i]])));
}

// The rows of a table, by saving it from the page.
export async function csv(page, what) {
	const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: `Save ${what} as CSV` }).click()]);
	return parseCsv(readFileSync(await download.path(), "utf8"));
}

// What axe-core finds in the page as it is. Contrast takes most of its time: it is checked in the first view of an opened
// page, with COROTRACER_FULL=1 in each; colours.test.ts has the contrast of text and ground in both themes.
export async function violations(page) {
	const isFirst = !await page.evaluate(() => "axe" in window);
	if (isFirst) await page.evaluate(readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
	// A view's link that is scrolled out of sight is no skip link. What is right need not be described.
	return page.evaluate(async (contrast) => (await window.axe.run({ rules: { "skip-link": { enabled: false }, "color-contrast": { enabled: contrast } }, resultTypes: ["violations"] }))
		.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 150)).join(" | ")}`), FULL || isFirst);
}
