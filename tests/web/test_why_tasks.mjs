// SPDX-License-Identifier: MIT
// test_why_tasks.mjs - the page of `why --html` for tasks of Tokio and for rings of locks, in a real browser.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { csv, FULL, openFile, painted, SCHEMES, withBrowser } from "./browser.mjs";
import { freshOut, OUT, ringsPage, tokioPage, withData } from "./fixtures.mjs";

let browser;
let finish;
let branches;
let faults;
let ring;
let family;

before(async () => {
	freshOut();
	await new Promise((opened) => {
		void withBrowser((b) => {
			browser = b;
			opened();
			return new Promise((done) => (finish = done));
		});
	});
	ring = await ringsPage("cppcoro", "3");
	family = await ringsPage("family");
	branches = await tokioPage("branches");
	faults = await tokioPage("faults");
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

const plain = (text) => text.replace(/\u202f/g, " ");
const byRoot = (data, name) => data.groups.findIndex((g) => g.stack.at(-1).function === name);
const groupRow = (page, i) => page.locator('table[aria-label="Groups"] tbody tr').nth(i);
const cellText = async (page, i, column) => plain(await groupRow(page, i).locator("td").nth(column).innerText());

// The lines of the tree: depth, whether it begins a branch, and its text.
const lines = (page) => page.evaluate(() => [...document.querySelectorAll(".await-node")].filter((e) => e.checkVisibility()).map((e) => {
	let depth = -1;
	for (let up = e; !up.classList.contains("await-tree"); up = up.parentElement) depth += up.tagName === "UL" ? 1 : 0;
	return { depth, branch: e.querySelector(".await-fork") !== null, count: Number(e.querySelector(".await-count").textContent), text: e.querySelector(".await-name").textContent };
}));

test("times and objects of tasks are words", { timeout: 120_000 }, async (t) => {
	if (!branches) return t.skip("no cargo here");
	await on(branches.html, "", async (page) => {
		const text = plain(await page.locator("#app").innerText());
		for (const raw of ["due_in_ms", "objects", "[]", "null", "co_await", "undefined", "certain"]) assert.ok(!text.includes(raw), raw);
		assert.match(await cellText(page, byRoot(branches.data, "boxed"), 4), /^timer, due in (59 min \d+ s|1 h 0 min)$/);
		const limited = branches.data.groups[byRoot(branches.data, "limited")];
		assert.match(await cellText(page, byRoot(branches.data, "limited"), 4), new RegExp(`^notify, due in (59 min \\d+ s|1 h 0 min)\nnotify ${limited.waits_for.objects[0].object}$`));
		assert.match(await cellText(page, byRoot(branches.data, "selecting"), 4), /^several futures at once, the first due in (59 min \d+ s|1 h 0 min)$/);
		const joined = branches.data.groups[byRoot(branches.data, "blocking")];
		assert.equal(await cellText(page, byRoot(branches.data, "blocking"), 4), `the end of task ${joined.waits_for.task}`);
		const timers = branches.data.groups.findIndex((g) => g.count > 1 && g.waits_for.kind === "timer");
		assert.match(await cellText(page, timers, 4), /^timer, the first due in (59 min \d+ s|1 h 0 min)$/);
	});
});

test("a ready task is ready, a deadline that has passed was due, and no co_await is said of Rust", async (t) => {
	if (!faults) return t.skip("no cargo here");
	const woken = byRoot(faults.data, "woken");
	assert.equal(faults.data.groups[woken].state, "ready");
	await on(faults.html, "", async (page) => {
		assert.equal(await groupRow(page, woken).locator(".badge").innerText(), "ready");
		assert.match(await cellText(page, woken, 4), /thread of the runtime: it was woken/);
		assert.match(await page.locator('.fact[data-fact="ready to run"]').innerText(), /1/);
		const tree = (await lines(page)).map((l) => l.text).join("\n");
		assert.match(tree, /woken .*awaits tokio::sync::oneshot::Receiver ready/);
		assert.ok(!tree.includes("co_await"));
		assert.match(await cellText(page, byRoot(faults.data, "overdue"), 4), /^timer, was due .* s ago$/);
		const saved = await csv(page, "groups");
		assert.equal(saved[woken].verdict, "ready");
	});
});

// Branches in the data: [count, functions from the outermost, or the kind].
const listed = (level) => (level.branches ?? []).map((b) => [b.count, b.stack.length > 0 ? [...b.stack].reverse().map((l) => l.function) : [`${b.kind} ${b.type}`]]);

test("the branches of select! and join! are in the tree and in the groups", async (t) => {
	if (!branches) return t.skip("no cargo here");
	await on(branches.html, "", async (page) => {
		await page.getByRole("button", { name: "Open all" }).click();
		const all = await lines(page);
		for (const name of ["selecting", "joining", "trying", "unordered", "all", "either"]) {
			const group = branches.data.groups[byRoot(branches.data, name)];
			const expected = listed(group.stack[0]);
			assert.ok(expected.length > 0, name);
			const start = all.findIndex((l) => l.depth === 0 && l.text.startsWith(`${name} `));
			const end = all.findIndex((l, i) => i > start && l.depth === 0);
			const below = all.slice(start + 1, end < 0 ? undefined : end);
			assert.equal(below.filter((l) => l.branch).length, expected.length, name);
			for (const [count, path] of expected) {
				const at = below.findIndex((l, i) => l.branch && l.count === count * group.count && path.every((f, k) => below[i + k]?.text.replace("∥ ", "").startsWith(`${f} `)));
				assert.ok(at >= 0, `${name}: ${count} x ${path}`);
			}
			const shown = groupRow(page, byRoot(branches.data, name)).locator("td").nth(3).locator(".await-branch");
			assert.equal(await shown.count(), expected.length);
		}
		const saved = await csv(page, "groups");
		assert.match(saved[byRoot(branches.data, "unordered")].stack, /\[5 x leaf .* <- middle .*\]/);
		await page.getByLabel("Filter by function").fill("mpsc bounded");
		await page.waitForFunction(() => document.querySelector("#tree .note").textContent.startsWith("1 of"));
	});
});

test("the future of block_on() is shown with its thread", async (t) => {
	if (!branches) return t.skip("no cargo here");
	const thread = branches.data.threads.findIndex((x) => x.block_on);
	await on(branches.html, "#view=threads", async (page) => {
		const row = page.locator('table[aria-label="Threads"] tbody tr').nth(thread);
		assert.deepEqual(await row.locator(".await-stack > li > .mono:first-child").allInnerTexts(), branches.data.threads[thread].block_on.map((l) => l.function));
	});
});

test("a ring says who waits for whose lock, and leads to the groups", async () => {
	for (const { html, data } of [ring, family]) {
		const [{ members, confidence }] = data.rings;
		await on(html, "", async (page) => {
			assert.equal(await page.locator(".ring").count(), 1);
			assert.equal(await page.locator(".ring .badge").innerText(), `deadlock, ${confidence}`);
			const steps = await page.locator(".ring-step").allInnerTexts();
			for (const [i, m] of members.entries()) {
				const at = steps.findIndex((text) => text.startsWith(`${m.function} (${m.coroutine})`));
				assert.ok(steps[at].endsWith(`waits for lock ${m.object}, held by`), steps[at]);
				const next = steps[at + 1] ?? (await page.locator(".ring-end").innerText()).slice(2);
				assert.ok(next.startsWith(`${m.holder_function} (${m.holder})`), `${i}: ${next}`);
			}
			assert.ok((await page.locator(".ring-end").innerText()).includes(members[0].coroutine));
			assert.match(await page.locator('.fact[data-fact="rings"]').innerText(), /1/);
			await page.locator(".ring-step a").first().click();
			const group = data.groups.findIndex((g) => g.members.includes(members[0].coroutine));
			await page.waitForFunction((i) => document.activeElement.closest(`#group-${i}`), group);
			const row = data.groups[group].waits_for.objects[0];
			assert.ok((await cellText(page, group, 4)).includes(`lock ${row.object}, held by ${row.holder_function} (${row.holder})`));
		});
	}
	// A coroutine that holds the lock its child waits for: the child, the parent, and again the child.
	await on(family.html, "#view=rings&q=parent_locks", async (page) => {
		const steps = await page.locator(".ring-step").allInnerTexts();
		assert.equal(steps.length, 2);
		assert.match(steps[1], /^parent_locks .*\n↓ awaits$/);
		await page.getByLabel("Filter by function").fill("no such thing");
		await page.waitForFunction(() => document.querySelector("#rings").innerText.includes("Nothing here matches"));
	});
});

test("very many groups with branches and very many rings are shown in parts", async () => {
	const nr = FULL ? 1000 : 600; // of both: more than are shown at once
	const level = (name) => ({ function: name, file: "a.rs", line: 1, exact: true });
	const one = (i) => ({
		count: 3, bytes: 8, verdict: "waiting", confidence: "none", state: i % 2 ? "ready" : "waiting", members: [`0x${i}`],
		stack: [{ ...level(`task_${i}`), branches: Array.from({ length: 10 }, (_, k) => ({ count: k + 1, stack: [level(`leaf_${k}`), level(`middle_${k}`)], kind: "timer", type: "Sleep" })) }],
		waits_for: { kind: "timer", type: "Sleep", due_in_ms: 1000 * i, objects: [] },
	});
	const length = FULL ? 300 : 100;
	const members = Array.from({ length }, (_, i) => ({ coroutine: `0x${i}`, function: "f", kind: "lock", type: "Mutex", object: `0x1${i}`, holder: `0x${(i + 1) % length}`, holder_function: "f" }));
	// More long rings than are shown at once; with COROTRACER_FULL=1 all are long.
	const data = { ...ring.data, groups: Array.from({ length: nr }, (_, i) => one(i)), rings: Array.from({ length: nr }, (_, i) => ({ confidence: "suspect", doubt: "threads ran", members: FULL || i < 50 ? members : members.slice(0, 3) })) };
	await on(withData(ring.html, "many", data), "", async (page) => {
		assert.ok(await page.locator(".ring").count() <= 20);
		assert.ok(await page.locator("*").count() < 60_000);
		await page.getByRole("button", { name: "Open all" }).click();
		await page.getByLabel("Filter by function").fill("task_577");
		await page.waitForFunction(() => document.querySelector("#tree .note").textContent.startsWith("1 of"));
		assert.deepEqual((await lines(page)).filter((l) => l.branch).map((l) => l.count), [30, 27, 24, 21, 18, 15, 12, 9, 6, 3]);
	});
});

test("rings and branches fit every width; screenshots, light and dark", async () => {
	for (const colorScheme of SCHEMES) {
		for (const [name, made] of Object.entries({ ring, family, branches, faults })) {
			if (made) await on(made.html, "", async (page) => {
				if (FULL) await page.screenshot({ path: join(OUT, "screenshots", `${name}-${colorScheme}.png`) });
				await page.setViewportSize({ width: 390, height: 844 });
				await painted(page);
				const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
				assert.ok(wide <= 0, `${name}: ${wide} pixels too wide`);
				if (FULL) await page.screenshot({ path: join(OUT, "screenshots", `${name}-${colorScheme}-narrow.png`) });
			}, { colorScheme, viewport: { width: 1440, height: 1400 } });
		}
	}
});
