// SPDX-License-Identifier: MIT
// live_scale.mjs - the live page of a program under load, in Chromium: delay, memory, longest task.
//
// usage: node bench/live_scale.mjs [BUILD] [COROUTINES] [TRANSITIONS_PER_SECOND] [SECONDS]
//
// One row per five seconds.  "shown" is the delay on the page, "real" the time between the moment that the page shows and
// the machine's clock, read at the same time.  Nothing is asserted.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ready, watch, withBrowser } from "../tests/web/browser.mjs";

const [build = "build", coroutines = "100000", rate = "1000000", seconds = "60"] = process.argv.slice(2);
const dir = mkdtempSync(join(tmpdir(), "corotracer-live-"));
const run = spawn(join(build, "corotracer"), ["run", "--serve", "-o", join(dir, "load.ct"), "--", join(build, "tests/live/live_load"), coroutines, rate, seconds],
	{ stdio: ["ignore", "inherit", "pipe"] });
let said = "";
run.stderr.on("data", (d) => (said += d));

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const megabytes = (pid) => Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024);
const serverPid = () => Number(readFileSync(`/proc/${run.pid}/task/${run.pid}/children`, "utf8").trim().split(" ")
	.find((pid) => readFileSync(`/proc/${pid}/comm`, "utf8").trim() === "corotracer" && megabytes(pid) > 20));

async function sample(page) {
	const before = process.hrtime.bigint();
	const p = await page.evaluate(() => ({ ...globalThis.liveScale(), longest: globalThis.longestTask }));
	const now = (before + process.hrtime.bigint()) / 2n;
	return { ...p, real: Number(now - BigInt(p.origin)) - p.end };
}

await withBrowser(async (browser) => {
	while (!/http:\/\/\S+\/\s/.test(said)) await pause(50);
	const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
	await page.addInitScript(() => {
		globalThis.longestTask = 0;
		new PerformanceObserver((list) => {
			for (const e of list.getEntries()) globalThis.longestTask = Math.max(globalThis.longestTask, e.duration);
		}).observe({ type: "longtask", buffered: true });
		globalThis.liveScale = () => ({ origin: document.querySelector(".delay").dataset.origin,
			end: Number(document.querySelector(".delay").dataset.end), shown: Number(document.querySelector(".delay").dataset.ns), state: document.querySelector(".live").dataset.state,
			left: document.querySelector(".shortage").textContent.slice(0, 70), lost: document.querySelector("[data-fact=lost] dd").textContent,
			heap: Math.round(performance.memory.usedJSHeapSize / 1048576) });
	});
	const troubles = watch(page, new URL(/http:\/\/\S+\//.exec(said)[0]).origin);
	await page.goto(/http:\/\/\S+\//.exec(said)[0]);
	await ready(page);
	console.log("    s   shown    real   state    heap MB  server MB  longest task  lost");
	for (let t = 0; t < Number(seconds); t += 5) {
		await pause(5000);
		const s = await sample(page);
		console.log(`${String(t + 5).padStart(5)} ${(s.shown / 1e9).toFixed(2).padStart(7)} ${(s.real / 1e9).toFixed(2).padStart(7)}   ${s.state.padEnd(8)} ${String(s.heap).padStart(7)} ` +
			`${String(megabytes(serverPid())).padStart(10)} ${`${s.longest.toFixed(0)} ms`.padStart(13)}  ${s.lost}  ${s.left}`);
	}
	console.log("errors of the page:", troubles.length, troubles.slice(0, 3));
});
run.kill("SIGINT");
await new Promise((done) => run.once("exit", done));
console.log(said.split("\n").filter((line) => /events|lost/.test(line)).join("\n"));
rmSync(dir, { recursive: true, force: true });
