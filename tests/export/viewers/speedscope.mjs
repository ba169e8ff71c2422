// SPDX-License-Identifier: MIT
// speedscope.mjs - read a file with the importer of speedscope, as its page does.
//
//	node speedscope.mjs PACKAGE FILE > PROFILES
//
// PACKAGE is a folder with speedscope's release.  The answer is {"as": format, "name": text,
// "profiles": [{"name", "unit", "total", "calls"}]}; a call is [name, file, line, depth, from, to], in
// the order of their begins.  A call without time is left out by speedscope.
import { readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import vm from "node:vm";

const [folder, file] = process.argv.slice(2);
const release = join(folder, "dist/release");
const bundle = readdirSync(release).find((name) => /^speedscope-.*\.js$/.test(name));
let code = readFileSync(join(release, bundle), "utf8");

// The bundle keeps its importer private, behind a function that initializes it: expose both.
const space = /(\w+)=\{\};\w+\(\1,\{[^}]*importProfilesFromArrayBuffer/.exec(code)[1];
const init = new RegExp(`\\((\\w+)\\(\\),${space}\\)`).exec(code)[1];
code = code.replace("(()=>{", `(()=>{globalThis.importer=()=>(${init}(),${space});`);

const said = [];
const scope = { console: { log: (text) => said.push(String(text)), warn() {}, error() {} }, TextDecoder, TextEncoder, Blob, setTimeout,
	performance, atob, btoa };
scope.self = scope.window = scope.globalThis = scope;
const sandbox = vm.createContext(scope);
try {
	vm.runInContext(code, sandbox); // ends where it wants to draw: there is no page
} catch (why) {
	if (!scope.importer)
		throw why;
}

function calls(profile) {
	const out = [], open = [];
	profile.forEachCall((node, value) => {
		const call = [node.frame.name, node.frame.file ?? null, node.frame.line ?? null, open.length, value, null];
		open.push(call);
		out.push(call);
	}, (node, value) => {
		open.pop()[5] = value;
	});
	return out;
}

const data = readFileSync(file);
const copy = vm.runInContext(`new ArrayBuffer(${data.length})`, sandbox);
new Uint8Array(copy).set(data);
const group = await scope.importer().importProfilesFromArrayBuffer(basename(file), copy);
const as = said.filter((text) => text.startsWith("Importing as ")).map((text) => text.slice(13));
process.stdout.write(JSON.stringify({
	as: as[0] ?? null,
	name: group?.name ?? null,
	profiles: (group?.profiles ?? []).map((p) => ({
		name: p.getName(), unit: p.getWeightUnit(), total: p.getTotalWeight(), calls: calls(p),
	})),
}) + "\n");
