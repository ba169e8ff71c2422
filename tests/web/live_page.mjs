// SPDX-License-Identifier: MIT
// live_page.mjs - for tests of live pages: programs under the tool, and their page in a browser.
import { after, before } from "node:test";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ready, watch, withBrowser } from "./browser.mjs";
import { endTool, OUT, TOOL, until } from "./fixtures.mjs";

export const DIR = join(OUT, "live");
let browser;
let finish;

before(async () => {
	rmSync(DIR, { recursive: true, force: true });
	mkdirSync(DIR, { recursive: true });
	mkdirSync(join(OUT, "screenshots"), { recursive: true });
	await new Promise((opened) => {
		void withBrowser((b) => {
			browser = b;
			opened();
			return new Promise((done) => (finish = done));
		});
	});
});

after(() => finish?.());

// A program whose output is collected; ended with the test in any case.
export function start(t, args) {
	const child = spawn(TOOL, args, { stdio: ["ignore", "pipe", "pipe"] });
	const run = { child, said: "" };
	child.stdout.on("data", (d) => (run.said += d));
	child.stderr.on("data", (d) => (run.said += d));
	t.after(async () => {
		await endTool(child);
		child.stdout.destroy();
		child.stderr.destroy();
	});
	return run;
}

// End the tool without a warning; its programs go on, until the test is over.
export function killTool(t, run) {
	const { pid } = run.child;
	const programs = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter((text) => text !== "").map(Number);
	// What a killed collector leaves for `recover`.
	const regions = new Set(readFileSync(`/proc/${pid}/maps`, "utf8").match(/\/dev\/shm\/corotracer-\w+(?=\/)/g) ?? []);
	t.after(() => {
		for (const region of regions) rmSync(region, { recursive: true, force: true });
		for (const program of programs) {
			try {
				process.kill(program, "SIGKILL");
			} catch {
				// it has ended
			}
		}
	});
	run.child.kill("SIGKILL");
}

export async function urlOf(run) {
	await until("the URL is told", () => /http:\/\/\S+\/\s/.test(run.said));
	return /http:\/\/\S+\//.exec(run.said)[0];
}

export async function open(t, url, hash = "") {
	const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
	t.after(() => context.close());
	const page = await context.newPage();
	const troubles = watch(page, new URL(url).origin);
	await page.goto(url + hash);
	await ready(page);
	return { page, troubles };
}

export const digits = (text) => Number(text.replace(/[^\d]/g, ""));
export const live = (page, state) => page.waitForSelector(`.live[data-state=${state}]`, { timeout: 120_000 });
