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

export async function openFile(browser, file, hash = "", options = {}) {
	const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: "light", ...options });
	const page = await context.newPage();
	const troubles = watch(page);
	await page.goto(pathToFileURL(file).href + hash);
	await ready(page);
	return { page, troubles, close: () => context.close() };
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

// What axe-core finds in the page as it is.
export async function violations(page) {
	if (!await page.evaluate(() => "axe" in window)) await page.evaluate(readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
	// A view's link that is scrolled out of sight is no skip link. What is right need not be described.
	return page.evaluate(async () => (await window.axe.run({ rules: { "skip-link": { enabled: false } }, resultTypes: ["violations"] }))
		.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 150)).join(" | ")}`));
}
