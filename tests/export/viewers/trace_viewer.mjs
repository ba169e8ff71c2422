// SPDX-License-Identifier: MIT
// trace_viewer.mjs - what the viewer of chrome://tracing reads from a trace, in a real browser.
//
//	node trace_viewer.mjs VIEWER POLYFILL TRACE... > MODELS
//
// VIEWER is the viewer in one file; it needs a version of web components that browsers do not have any more: POLYFILL has it.
// MODELS is JSON, for each trace: warnings, and slices of threads and of tracks with times in milliseconds from the first event on.
import { readFileSync } from "node:fs";
import { withBrowser } from "../../web/browser.mjs";

const [viewer, polyfill, ...traces] = process.argv.slice(2).map((path) => readFileSync(path, "utf8"));
const ORIGIN = "http://viewer.invalid/";
const FILES = {
	"": ["text/html", '<!DOCTYPE html><script src="polyfill.js"></script><link rel="import" href="viewer.html">'],
	"polyfill.js": ["text/javascript", polyfill],
	"viewer.html": ["text/html", viewer],
};

// Runs in the page.
function modelOf(text) {
	const { tr } = globalThis;
	const model = new tr.Model();
	new tr.importer.Import(model).importTraces([text]);
	const depth = (s) => (s.parentSlice ? 1 + depth(s.parentSlice) : 0);
	const inner = (s, level) => [{ title: s.title, start: s.start, duration: s.duration, depth: level }, ...s.subSlices.flatMap((x) => inner(x, level + 1))];
	const threads = Object.values(model.processes).flatMap((p) => Object.values(p.threads).map((t) => ({ process: p.name, t })));
	return {
		warnings: model.importWarnings.map((w) => w.type),
		threads: threads.map(({ process, t }) => ({
			process, tid: t.tid ?? null, name: t.name ?? null,
			slices: t.sliceGroup.slices.map((s) => ({ title: s.title, start: s.start, duration: s.duration, depth: depth(s), coroutine: s.args.coroutine ?? null })),
			tracks: t.asyncSliceGroup.slices.map((s) => inner(s, 0)),
		})),
	};
}

await withBrowser(async (browser) => {
	const page = await (await browser.newContext()).newPage();
	await page.route("**/*", (route) => {
		const url = route.request().url();
		const file = url.startsWith(ORIGIN) ? FILES[url.slice(ORIGIN.length)] : undefined;
		return file ? route.fulfill({ contentType: file[0], body: file[1] }) : route.abort();
	});
	await page.goto(ORIGIN);
	await page.waitForFunction(() => globalThis.tr?.importer?.Import, null, { timeout: 120_000 });
	const models = [];
	for (const trace of traces)
		models.push(await page.evaluate(modelOf, trace));
	process.stdout.write(JSON.stringify(models));
});
