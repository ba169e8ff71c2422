// SPDX-License-Identifier: MIT
// test_compare.mjs - the page of `diff --html`, from real traces of a server whose handler gets slower: its numbers
// against `diff --json` and `export folded`, selection and links, names that look like markup.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { csv, FULL, openFile, painted, SCHEMES, violations, withBrowser } from "./browser.mjs";
import { freshOut, hostileTrace, OUT, pageData, ROOT, TOOL, withData } from "./fixtures.mjs";

const BASE = process.env.DIFF_TARGET ?? join(ROOT, "build/tests/diff_target");
const HEAD = process.env.DIFF_TARGET_MOVED ?? join(ROOT, "build/tests/diff_target_moved");
const digits = (text) => Number(text.replace(/[^\d.-]/g, ""));

let browser;
let finish;
let single;
let repeated;

function record(name, program, ...args) {
	const trace = join(OUT, `${name}.jsonl`);
	execFileSync(TOOL, ["run", "-q", "-o", trace, "--", program, ...args], { stdio: "ignore", timeout: 300_000 });
	return trace;
}

// The page, and what diff printed of the same traces.
function compare(name, base, head, ...options) {
	const html = join(OUT, `${name}.html`);
	const out = execFileSync(TOOL, ["diff", "--json", "--html", html, ...options, ...base, "--", ...head], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], timeout: 300_000 });
	return { html, diff: JSON.parse(out), data: pageData(html) };
}

before(async () => {
	freshOut();
	await new Promise((opened) => {
		void withBrowser((b) => {
			browser = b;
			opened();
			return new Promise((done) => (finish = done));
		});
	});
	const [base, head] = [[], []];
	for (let i = 0; i < 3; i++) {
		base.push(record(`base${i}`, BASE));
		head.push(record(`head${i}`, HEAD, "3000", "20", "60", "1"));
	}
	repeated = compare("repeated", base, head);
	single = { ...compare("single", base.slice(0, 1), head.slice(0, 1)), traces: [base[0], head[0]] };
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

const fact = (page, name) => page.locator(`.fact[data-fact="${name}"] dd`).innerText();

test("the page has the changes of diff, with the same numbers", async () => {
	for (const { html, diff, data } of [single, repeated]) {
		for (const [key, value] of Object.entries(diff)) assert.deepEqual(data[key], value, key);
		assert.ok(diff.worse > 0 && diff.new > 0, "the handler is slower, and sites are new");
		await on(html, "", async (page) => {
			for (const name of ["worse", "better", "new", "gone"]) assert.equal(digits(await fact(page, name)), diff[name]);
			assert.equal(digits(await fact(page, "sites compared")), diff.sites_compared);
			const rows = await csv(page, "changes beyond noise");
			assert.deepEqual(rows.map((r) => [r.class, r.what]), diff.changes.map((c) => [c.class, c.title]));
			diff.changes.filter((c) => c.base && c.head && c.what === "wait").forEach((c) => {
				const row = rows[diff.changes.indexOf(c)];
				assert.deepEqual([Number(row.base), Number(row.head)], [c.base[`p${c.quantile}_ns`], c.head[`p${c.quantile}_ns`]]);
			});
		});
	}
});

test("every site is there, and a site that changed has the verdict of its change", async () => {
	const { data, diff, html } = repeated;
	assert.equal(data.sites.filter((s) => s.base_place && s.head_place).length, diff.sites_compared);
	for (const c of diff.changes.filter((x) => ["wait", "ready", "run"].includes(x.what))) {
		const site = data.sites.find((s) => s.head_place?.text === c.place.text);
		assert.equal(site[c.what].direction, c.class === "worse" ? 1 : -1, c.place.text);
		for (const side of ["base", "head"]) for (const key of ["count", "p50_ns", "p90_ns", "p99_ns", "least_run_ns", "greatest_run_ns"])
			assert.equal(site[c.what][side][key], c[side][key], `${c.place.text} ${side} ${key}`);
	}
	const changed = data.sites.flatMap((s) => ["wait", "ready", "run"].filter((m) => s[m].direction !== 0));
	assert.equal(changed.length, diff.changes.filter((c) => ["wait", "ready", "run"].includes(c.what)).length);
	for (const s of data.sites) for (const m of ["wait", "ready", "run"]) for (const side of ["base", "head"])
		if (s[m][side]) assert.equal(s[m][side].steps.reduce((n, [, k]) => n + k, 0), s[m][side].count, "the steps hold every value");
	await on(html, "", async (page) => {
		for (const [metric, label] of [["wait", "waits"], ["run", "runs before it"]]) {
			await page.getByRole("button", { name: label, exact: true }).click();
			await page.waitForFunction((m) => document.querySelector(`[data-metric=${m}]`).getAttribute("aria-pressed") === "true", metric);
			const rows = await csv(page, "sites");
			assert.deepEqual(rows.map((r) => [r.place, Number(r.base_count), Number(r.head_count)]),
				data.sites.map((s) => [(s.head_place ?? s.base_place).text, s[metric].base?.count ?? 0, s[metric].head?.count ?? 0]));
			assert.deepEqual(rows.map((r) => Number(r.head_p99_ns)), data.sites.map((s) => s[metric].head?.count ? s[metric].head.p99_ns : 0));
		}
		assert.match(page.url(), /metric=run/);
	});
});

// Sums of the folded stacks, in µs, by the name of the lowest place.
function folded(trace) {
	const out = join(OUT, "folded.txt");
	execFileSync(TOOL, ["export", "folded", "-i", trace, "-o", out, "-q"], { stdio: "ignore", timeout: 300_000 });
	const sums = new Map();
	let all = 0;
	for (const line of readFileSync(out, "utf8").trim().split("\n")) {
		const at = line.lastIndexOf(" ");
		const us = Number(line.slice(at + 1));
		const name = line.slice(0, at).split(";")[0];
		sums.set(name, (sums.get(name) ?? 0) + us);
		all += us;
	}
	return { sums, all };
}

test("the flame graph has the times of export folded, on both sides", async () => {
	const [base, head] = single.traces.map(folded);
	const { flame } = single.data;
	const near = (ns, us, what) => assert.ok(Math.abs(ns / 1000 - us) <= Math.max(20, us * 0.001), `${what}: ${ns} ns, ${us} us`);
	near(flame.base_ns, base.all, "base");
	near(flame.head_ns, head.all, "head");
	const lowest = flame.nodes.filter((n) => n.parent === 0);
	assert.ok(lowest.length > 0);
	const sum = (side) => lowest.reduce((n, x) => n + x[side], 0);
	assert.ok(sum("head_ns") > 0.99 * flame.head_ns && sum("base_ns") > 0.99 * flame.base_ns);
	flame.nodes.forEach((n, i) => {
		assert.ok(n.parent <= i, "a parent comes first");
		const children = flame.nodes.filter((c) => c.parent === i + 1);
		assert.ok(children.reduce((s, c) => s + c.head_ns, 0) <= n.head_ns && children.reduce((s, c) => s + c.base_ns, 0) <= n.base_ns);
	});
});

test("colour is never alone: what is longer has ▲, what is shorter ▼; the scale is in the address", async () => {
	await on(single.html, "#view=flame", async (page) => {
		const blocks = await page.locator(".flame-block").evaluateAll((els) => els.map((el) => ({ tone: el.className, text: el.innerText, label: el.getAttribute("aria-label") })));
		assert.ok(blocks.some((b) => b.tone.includes("flame-up")) && blocks.some((b) => b.tone.includes("flame-down")));
		for (const b of blocks.filter((x) => x.text.trim() !== "")) {
			assert.equal(b.text.includes("▲"), b.tone.includes("flame-up"), b.text);
			assert.equal(b.text.includes("▼"), b.tone.includes("flame-down"), b.text);
		}
		assert.ok(blocks.every((b) => /base, share .* head, share/.test(b.label)));
		await page.getByRole("button", { name: "Time in a run" }).click();
		await page.waitForFunction(() => location.hash.includes("flame=time"));
		const before = await page.locator(".flame-block").count();
		await page.locator(".flame-block").first().click();
		await page.keyboard.press("Escape");
		assert.equal(await page.locator(".flame-block").count(), before);
		await page.getByLabel("Filter by place, kind or state").fill("handle_request");
		await page.waitForFunction(() => document.querySelectorAll(".flame-block.hit").length > 0);
	});
});

test("a link opens its site, with the histograms of both sides", async () => {
	const { data } = repeated;
	const index = data.sites.findIndex((s) => s.wait.base?.count > 0 && s.wait.head?.count > 0);
	const name = data.sites[index].head_place.text;
	await on(repeated.html, `#view=site&site=${index}`, async (page) => {
		assert.equal(await page.locator(".site-name").innerText(), name);
		const label = await page.locator(".site-metric .overlay").first().getAttribute("aria-label");
		const values = (side) => Number(label.match(new RegExp(`${side} ([\\d\\u202f]+), median`))[1].replace(/\D/g, ""));
		assert.deepEqual([values("base"), values("head")], [data.sites[index].wait.base.count, data.sites[index].wait.head.count]);
		const rows = await csv(page, "a site");
		const sum = (what, side) => rows.filter((r) => r.what === what && r.side === side).reduce((n, r) => n + Number(r.values), 0);
		for (const side of ["base", "head"]) assert.equal(sum("wait", side), data.sites[index].wait[side].count);
		// From the table of changes, and back.
		await page.locator('table[aria-label="Changes"] a').last().click();
		await page.waitForFunction((old) => document.querySelector(".site-name").textContent !== old, name);
		await page.goBack();
		await page.waitForFunction((old) => document.querySelector(".site-name").textContent === old, name);
	});
	await on(repeated.html, "#view=site&site=99999&metric=nonsense&flame=1e9", async (page) => {
		assert.equal(await page.locator(".site-name").getAttribute("data-site"), "0");
	});
});

test("the summary has both sides next to each other", async () => {
	await on(single.html, "", async (page) => {
		const rows = await csv(page, "summary");
		const totals = single.traces.map((t) => JSON.parse(execFileSync(TOOL, ["report", "--json", t], { encoding: "utf8", timeout: 300_000 })).totals);
		assert.deepEqual(rows.map((r) => [r.side, Number(r.Coroutines), Number(r.Transitions), Number(r.Threads)]),
			["base", "head"].map((side, i) => [side, totals[i].coroutines, totals[i].transitions, totals[i].threads]));
		const cells = await page.locator('#summary tbody tr').nth(1).locator("td").allInnerTexts();
		assert.deepEqual(cells.slice(1, 3).map(digits), totals.map((t) => t.coroutines));
	});
});

test("a part of the traces, with the stacks of that part", async () => {
	const cut = compare("cut", single.traces.slice(0, 1), single.traces.slice(1), "--site", "*handle_request*");
	assert.ok(cut.data.flame.head_ns > 0 && cut.data.flame.head_ns < single.data.flame.head_ns);
	assert.equal(cut.data.notes.length, 2);
	await on(cut.html, "", async (page) => assert.equal(await page.locator(".remark").count(), 2));
});

test("names that look like markup are text; strangers are said to be strangers", async () => {
	const trace = hostileTrace();
	const odd = compare("odd", [trace], [single.traces[0]]);
	assert.ok(odd.data.notes.some((n) => n.includes("no site in common")), String(odd.data.notes));
	await on(odd.html, "", async (page) => {
		assert.equal(await page.evaluate(() => window.pwned), undefined);
		assert.ok((await page.locator("main").innerText()).includes("<svg onload=alert(1)>"));
		assert.equal(await page.locator("main img, main script").count(), 0);
	});
});

test("what cannot be compared is an error with a hint, and leaves no page", () => {
	const run = (...args) => spawnSync(TOOL, ["diff", ...args], { encoding: "utf8", timeout: 300_000 });
	const out = join(OUT, "none.html");
	for (const [args, words] of [
		[["--html", out, single.traces[0], join(OUT, "no.jsonl")], "cannot open"],
		[["--html", out, single.traces[0], single.html], "single.html"],
		[["--html", join(OUT, "no/dir/x.html"), ...single.traces], "no/dir"],
		[["--html", out, "--from", "1ms", "-", single.traces[1]], "standard input"],
	]) {
		const r = run(...args);
		assert.equal(r.status, 1, args.join(" "));
		assert.ok(r.stderr.startsWith("corotracer diff: ") && r.stderr.includes(words), r.stderr);
		assert.throws(() => readFileSync(out), args.join(" "));
	}
	const piped = spawnSync(TOOL, ["diff", "--html", "-", ...single.traces], { maxBuffer: 1 << 26, timeout: 300_000 });
	assert.ok(piped.stdout.toString("latin1").startsWith("<!doctype html>") && piped.stdout.toString("latin1").trimEnd().endsWith("</html>"));
});

test("very many sites and nodes stay responsive", async () => {
	const [nrSites, nrNodes] = FULL ? [2000, 4000] : [500, 1000];
	const [site] = repeated.data.sites;
	const sites = Array.from({ length: nrSites }, (_, i) => ({ ...site, head_place: { ...site.head_place, text: `site_${i}` } }));
	const nodes = Array.from({ length: nrNodes }, (_, i) => ({ name: `n${i}`, file: "a.c", line: i, parent: i % 3 ? i : 0, state: null, base_ns: 1e6 * (nrNodes - i), head_ns: 1e6 * ((i * 7) % nrNodes) }));
	const data = { ...repeated.data, sites, flame: { ...repeated.data.flame, nodes } };
	await on(withData(repeated.html, "many", data), "", async (page) => {
		await page.getByLabel("Filter by place, kind or state").fill("site_377");
		await page.waitForFunction(() => document.querySelector("#sites .note").textContent.startsWith("1 of"));
		assert.ok(await page.locator("*").count() < 10 * nrNodes);
	});
});

test("axe finds nothing, and the page fits every width; screenshots, light and dark", async () => {
	for (const colorScheme of SCHEMES) {
		await on(repeated.html, "", async (page) => {
			assert.deepEqual(await violations(page), []);
			if (FULL) await page.screenshot({ path: join(OUT, "screenshots", `compare-${colorScheme}.png`) });
			await page.setViewportSize({ width: 390, height: 844 });
			await painted(page);
			const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
			assert.ok(wide <= 0, `${wide} pixels too wide`);
			if (FULL) await page.screenshot({ path: join(OUT, "screenshots", `compare-${colorScheme}-narrow.png`) });
		}, { colorScheme, viewport: { width: 1440, height: 2600 } });
	}
});
