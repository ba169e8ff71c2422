// SPDX-License-Identifier: MIT
// fixtures.mjs - real traces for the page: made by running real programs under the tool.
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
export const TOOL = process.env.COROTRACER ?? join(ROOT, "build/corotracer");
const REDIS = process.env.MINI_REDIS ?? join(ROOT, "build/examples/cpp/mini-redis");
const CORPUS = process.env.CORPUS_BUGGY ?? join(ROOT, "build/tests/corpus/corpus_buggy");
const MAKE_TRACE = process.env.MAKE_TRACE ?? join(ROOT, "build/tests/view/make_trace");
export const OUT = process.env.WEB_OUT ?? join(ROOT, "build/tests/web/out");

export function freshOut() {
	rmSync(OUT, { recursive: true, force: true });
	mkdirSync(join(OUT, "screenshots"), { recursive: true });
}

const run = (file, ...args) => execFileSync(file, args, { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"], timeout: 300_000 });

// The same for a trace that may be incomplete, which is status 1 and still an answer.
const runShort = (file, ...args) => {
	try {
		return run(file, ...args);
	} catch (e) {
		if (e.status !== 1 || !e.stderr.includes("incomplete")) throw e;
		return e.stdout;
	}
};

export async function until(what, test, seconds = 240) {
	for (const end = Date.now() + seconds * 1000; Date.now() < end;) {
		if (await test()) return;
		await new Promise((done) => setTimeout(done, 25));
	}
	throw new Error(`never happened: ${what}`);
}

// The tool's report on a trace, and the page that it makes.
export function pageOf(name, trace) {
	const html = join(OUT, `${name}.html`);
	runShort(TOOL, "html", "-q", "-o", html, trace);
	return { trace, html, report: JSON.parse(runShort(TOOL, "report", "--json", trace)) };
}

// The events of a trace, by an independent reader; times from the first one on, and when the run ended.
export function readTrace(trace) {
	const lines = (file) => readFileSync(file, "utf8").trim().split("\n").map((l) => JSON.parse(l));
	const meta = lines(`${trace}.meta`);
	const facts = meta.filter((e) => ["birth", "wake", "end", "destroy"].includes(e.type)).map((e) => ({ what: e.type, ts: e.ts, id: e.probe_id, waker: e.waker ?? 0 }));
	const steps = lines(trace).map((e) => ({ what: e.is_active ? "resume" : "suspend", ts: e.ts, id: e.probe_id }));
	const all = [...facts, ...steps].sort((a, b) => a.ts - b.ts);
	const origin = all[0].ts;
	const end = meta.find((e) => e.type === "totals")?.end_ts ?? all.at(-1).ts;
	return { events: all.map((e) => ({ ...e, ts: e.ts - origin })), end: end - origin };
}

// The page of `mem html` for a program of tests/memory/layout/corpus, or for a source text; data: what is in it.
export function memoryPage(name, { source = join(ROOT, `tests/memory/layout/corpus/${name}.c`), args = [], options = [], flags = [], recording = [] } = {}) {
	const file = (end) => join(OUT, `${name}${end}`);
	run(TOOL, "mem", "cc", "-O2", "-g", source, "-o", file(""), ...flags, "-pthread");
	run(TOOL, "mem", "run", "-q", ...recording, "-o", file(".trace"), "--", file(""), ...args);
	run(TOOL, "mem", "html", "--cache", "L1=32K,8", "--cache", "LL=256K,16", ...options, file(".trace"));
	return { html: file(".trace.html"), data: pageData(file(".trace.html")) };
}

// Ask the tool to end, so that it leaves nothing in /dev/shm; kill it if it does not.
export async function endTool(child) {
	child.kill("SIGINT");
	await Promise.race([ended(child), new Promise((done) => setTimeout(done, 5000))]);
	child.kill("SIGKILL");
	await ended(child);
}

export const ended = (child) => new Promise((done) => (child.exitCode !== null || child.signalCode ? done() : child.once("exit", done)));

// The mini redis, which loses coroutines whose client has left; real clients connect and leave.
export async function redisTrace() {
	const trace = join(OUT, "redis.jsonl");
	const port = join(OUT, "redis.port");
	const server = spawn(TOOL, ["run", "-q", "-o", trace, "--", REDIS, "--port", "0", "--port-file", port, "--lose-wakeups"], { stdio: "ignore" });
	try {
		await until("mini-redis is ready", () => existsSync(port) && readFileSync(port, "utf8").trim() !== "");
		const number = readFileSync(port, "utf8").trim();
		run("redis-benchmark", "-p", number, "-n", "3000", "-c", "20", "-t", "set,get", "-q");
		run("redis-benchmark", "-p", number, "-n", "500", "-c", "7", "-t", "ping", "-q");
	} finally {
		server.kill("SIGTERM");
		await ended(server);
	}
	return trace;
}

export function corpusTrace(scenario) {
	const trace = join(OUT, `${scenario.replaceAll("/", "-")}.jsonl`);
	execFileSync(TOOL, ["run", "-q", "-o", trace, "--", CORPUS, scenario], {
		stdio: "ignore", timeout: 120_000, env: { ...process.env, ASAN_OPTIONS: `detect_leaks=0:${process.env.ASAN_OPTIONS ?? ""}` },
	});
	return trace;
}

export function bigTrace(events, coroutines) {
	const trace = join(OUT, `big-${events}.ctf`);
	run(MAKE_TRACE, trace, String(events), String(coroutines), "8");
	return trace;
}

// Names that would be code, markup or formulas if they were not escaped.
export const HOSTILE = [
	"<script>window.pwned=1</script>", '"><img src=x onerror="window.pwned=1">', "</script><script>window.pwned=1</script>",
	"=HYPERLINK(\"http://example.invalid\")", "a,b\"c\r\nd", "\u202egnp.exe", "x".repeat(500), "{{script}}", "<!--", "javascript:window.pwned=1", "🐙 ünï",
];

export function hostileTrace() {
	const trace = join(OUT, "hostile <b>name.jsonl");
	const base = 36012000000000n;
	const events = [];
	const meta = [{ type: "run", format: 1, tool: "corotracer 0.1.0", command: ["./<img src=x onerror=alert(1)>"], pid: 7, start_ts: Number(base), start_realtime: 1794743530972, hostname: "<b>h</b>", arch: "x86_64", stations: 64 }];
	meta.push({ type: "site", id: 1, file: "src/<svg onload=alert(1)>.c", line: 3, function: "f<script>(int)", pid: 7 });
	HOSTILE.forEach((name, i) => {
		const ts = (n) => Number(base) + 1000 * (i + 1) + n * 100_000;
		const id = i + 1;
		meta.push({ type: "birth", ts: ts(0), probe_id: id, tid: 9, pid: 7, name });
		events.push({ probe_id: id, tid: 9, addr: "0x0000000000401000", seq: 2, is_active: true, ts: ts(1) });
		events.push({ probe_id: id, tid: 9, addr: "0x0000000000401000", seq: 2, is_active: false, ts: ts(2), site: 1, reason: "io-read", resource: i });
	});
	const lines = (list) => list.map((x) => `${JSON.stringify(x)}\n`).join("");
	writeFileSync(trace, lines(events.sort((a, b) => a.ts - b.ts)));
	writeFileSync(`${trace}.meta`, lines(meta));
	return trace;
}

// The page of `why --html` for a program of tests/inspect; data: what `why --json` printed of the same look;
// core: the process, saved.
export async function whyPage(name, ...options) {
	return watchedProgram(name, (file, pid) => lookAt(file, pid, options));
}

function lookAt(file, pid, options) {
	const data = JSON.parse(run(TOOL, "why", "--json", "--html", file(".html"), ...options, "-p", pid));
	run(TOOL, "why", "--save", file(".core"), "-p", pid);
	return { html: file(".html"), data, core: file(".core") };
}

// The same for a mode of rings.cpp.
export async function ringsPage(...args) {
	const file = (end) => join(OUT, `rings${end}`);
	if (!existsSync(file(""))) buildInspected("rings", file(""), "-O0");
	return watched(file(""), args, (pid) => lookAt((end) => file(`-${args.join("-")}${end}`), pid, ["--types", join(ROOT, "tests/inspect/rings.types")]));
}

// The same for a mode of the program with tasks of Tokio; null: there is no cargo, or it cannot build it.
export async function tokioPage(mode) {
	const file = (end) => join(OUT, `tokio${end}`);
	if (!existsSync(file("")) && !buildTokio(file(""))) return null;
	return watched(file(""), [mode], (pid) => lookAt((end) => file(`-${mode}${end}`), pid, []));
}

// Programs of tests/inspect are built as its tests do, and once for all tests; copied, since another test may build them again.
const BUILD = `
import os, shutil, sys
import programs
def tasks(crate):
    where = shutil.which("cargo") and programs.build_crate("tasks-own", crate, RUSTFLAGS="", CARGO_PROFILE_DEV_DEBUG="2", CARGO_PROFILE_DEV_OPT_LEVEL="0")
    return where and os.path.join(where, "corotracer-inspected-tasks")
def compiled(source, *flags):
    name = os.path.splitext(os.path.basename(source))[0]
    return programs.compile_program(name, ["g++", "-std=c++20", "-fcoroutines", *flags, source, "-pthread"])
made = globals()[sys.argv[1]](*sys.argv[2:])
print("built:" + made if made else "")`;

// The program that tasks() or compiled() of BUILD makes is copied to out; false: it cannot be built here.
function buildWith(out, ...args) {
	const inspect = join(ROOT, "tests/inspect");
	const said = execFileSync("python3", ["-c", BUILD, ...args],
		{ env: { TEST_PROGRAMS: OUT, ...process.env, PYTHONPATH: inspect }, encoding: "utf8", timeout: 900_000 });
	const made = /^built:(.*)$/m.exec(said)?.[1];
	if (made) copyFileSync(made, out);
	return made !== undefined;
}

const buildTokio = (out) => buildWith(out, "tasks", join(ROOT, "tests/inspect/tokio_tasks"));

// The page of `why --sample --html`, and what --json printed of the same looks.
export async function profilePage(name) {
	return watchedProgram(name, (file, pid) => ({
		data: JSON.parse(run(TOOL, "why", "--json", "--sample", "20/s", "--duration", "1.5", "--html", file(".html"), "-p", pid)), html: file(".html"),
	}));
}

// With the flags that tests of tests/inspect have, too; with COROTRACER_FULL=1 with others.
function buildInspected(name, out, optimized = "-O2") {
	const flags = process.env.COROTRACER_FULL === "1" ? "-O1" : optimized;
	if (!buildWith(out, "compiled", join(ROOT, `tests/inspect/${name}.cpp`), flags, "-g")) throw new Error(`${name}.cpp is not built`);
}

// Builds a program of tests/inspect and calls look(names of files, pid) while it runs.
async function watchedProgram(name, look) {
	const file = (end) => join(OUT, `${name}${end}`);
	buildInspected(name, file(""));
	return watched(file(""), [], (pid) => look(file, pid));
}

// Calls look(pid) while the program runs, after it has said that it is ready.
async function watched(path, args, look) {
	const program = spawn(path, args, { stdio: ["ignore", "pipe", "ignore"] });
	try {
		let text = "";
		program.stdout.on("data", (part) => (text += part));
		await until(`${path} is ready`, () => /^ready$/m.test(text));
		return look(String(program.pid));
	} finally {
		program.kill("SIGKILL");
		await ended(program);
	}
}

// The object in a page with one section, and a copy of the page with another object.
export function pageData(html) {
	return JSON.parse(gunzipSync(Buffer.from(/id="ct-data">([^<]*)</.exec(readFileSync(html, "utf8"))[1], "base64")));
}

export function withData(html, name, data) {
	const copy = join(OUT, `${name}.html`);
	const section = gzipSync(JSON.stringify(data)).toString("base64");
	writeFileSync(copy, readFileSync(html, "utf8").replace(/(id="ct-data">)[^<]*/, `$1${section}`));
	return copy;
}
