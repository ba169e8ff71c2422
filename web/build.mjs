// SPDX-License-Identifier: MIT
// build.mjs - each page as one file, dist/NAME.html; with --tests the unit tests for node instead.
import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { dirname, join } from "node:path";
import { build } from "esbuild";

// Served: a server may send the page, and then has its data.
const PAGES = [
	{ name: "index", script: "src/main.ts", style: "src/style/page.css", served: true },
	{ name: "memory", script: "src/memory/main.ts", style: "src/style/memory.css", served: false },
	{ name: "why", script: "src/why/main.ts", style: "src/style/why.css", served: false },
	{ name: "compare", script: "src/compare/main.ts", style: "src/style/compare.css", served: false },
];

const here = dirname(fileURLToPath(import.meta.url));
const common = {
	absWorkingDir: here,
	bundle: true,
	write: false,
	minify: true,
	legalComments: "none",
	target: ["chrome110", "firefox113", "safari16.4"],
	logLevel: "warning",
};

const text = (result) => result.outputFiles[0].text;

async function script(entry) {
	const worker = text(await build({ ...common, entryPoints: ["src/worker/worker.ts"], format: "iife" }));
	const withWorker = {
		name: "worker-source",
		setup(b) {
			b.onResolve({ filter: /^worker-source$/ }, () => ({ path: "worker-source", namespace: "worker" }));
			b.onLoad({ filter: /.*/, namespace: "worker" }, () => ({ contents: worker, loader: "text" }));
		},
	};
	return text(await build({ ...common, entryPoints: [entry], format: "iife", plugins: [withWorker] }));
}

async function style(entry) {
	return text(await build({ ...common, entryPoints: [entry], loader: { ".css": "css" } }));
}

const hash = (s) => `'sha256-${createHash("sha256").update(s).digest("base64")}'`;

// The page's policy, from a file or a server: run this one script, connect to its own server only.
function policy(js, css, served) {
	return [
		"default-src 'none'",
		`script-src ${hash(js)}`,
		`style-src ${hash(css)}`,
		...(served ? ["worker-src blob:", "connect-src 'self'"] : []),
		"img-src data: blob:",
		"base-uri 'none'",
		"form-action 'none'",
	].join("; ");
}

function fill(template, parts) {
	return template.replace(/\{\{(\w+)\}\}/g, (_, name) => {
		if (!(name in parts)) throw new Error(`index.html asks for ${name}`);
		return parts[name];
	});
}

async function page({ name, script: entry, style: sheet, served }) {
	const [js, css] = [(await script(entry)).trim(), (await style(sheet)).trim()];
	if (/<\/script|<!--/i.test(js)) throw new Error("the script would end itself");
	if (/<\/style/i.test(css)) throw new Error("the style would end itself");
	const template = await readFile(join(here, "src/index.html"), "utf8");
	const html = fill(template, { script: js, style: css, policy: policy(js, css, served) });
	await mkdir(join(here, "dist"), { recursive: true });
	await writeFile(join(here, `dist/${name}.html`), html);
	console.error(`dist/${name}.html: ${html.length} bytes`);
}

async function tests() {
	const out = join(here, "dist/test");
	await rm(out, { recursive: true, force: true });
	const names = (await readdir(join(here, "test"))).filter((n) => n.endsWith(".test.ts"));
	// One file, since each file that node is given is a process of its own.
	await build({
		...common, write: true, minify: false, sourcemap: "inline", platform: "node", format: "esm",
		target: ["node18"], stdin: { contents: names.map((n) => `import "./test/${n}";`).join("\n"), resolveDir: here }, outfile: join(out, "all.mjs"),
	});
}

await (process.argv.includes("--tests") ? tests() : Promise.all(PAGES.map(page)));
