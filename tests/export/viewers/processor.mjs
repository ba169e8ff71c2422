// SPDX-License-Identifier: MIT
// processor.mjs - query a trace with Perfetto's trace processor, in its web version.
//
//	node processor.mjs PACKAGE TRACE < QUERIES > ANSWERS
//
// PACKAGE is a folder with the engine_bundle.js and trace_processor.wasm of the viewer.  A line
// of SQL makes a line of JSON: an array of rows, each an array of its cells; or {"error": text}.
// Numbers are texts: they may be longer than JavaScript's.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setFlagsFromString } from "node:v8";
import vm from "node:vm";

// Optimising the engine takes longer than its few queries.
setFlagsFromString("--liftoff-only");

const [folder, trace] = process.argv.slice(2);

// ---- protocol buffers ------------------------------------------------------

function varint(value) {
	const out = [];
	let v = BigInt(value);
	for (; v >= 0x80n; v >>= 7n)
		out.push(Number(v & 0x7fn) | 0x80);
	out.push(Number(v));
	return Buffer.from(out);
}

const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, data) => Buffer.concat([varint((field << 3) | 2), varint(data.length), data]);

function* fields(data) {
	let at = 0;
	const next = () => {
		let v = 0n;
		for (let shift = 0n; ; shift += 7n) {
			const b = data[at++];
			v |= BigInt(b & 0x7f) << shift;
			if (b < 0x80)
				return v;
		}
	};
	while (at < data.length) {
		const tag = Number(next()), wire = tag & 7;
		if (wire === 0) {
			yield [tag >> 3, next()];
		} else if (wire === 1) {
			yield [tag >> 3, data.readDoubleLE(at)];
			at += 8;
		} else if (wire === 2) {
			const size = Number(next());
			yield [tag >> 3, data.subarray(at, at + size)];
			at += size;
		} else {
			throw new Error(`wire type ${wire}`);
		}
	}
}

function* varints(data) {
	let v = 0n, shift = 0n;
	for (const b of data) {
		v |= BigInt(b & 0x7f) << shift;
		shift += 7n;
		if (b < 0x80) {
			yield v;
			v = shift = 0n;
		}
	}
}

// ---- the engine, in an emulated web worker ------------------------------------

const replies = [];
const port = { onmessage: null, postMessage: (data) => replies.push(Buffer.from(data)) };

// Serves files of the package for any address.
class FileRequest {
	open(method, url) {
		this.file = join(folder, String(url).split("/").pop());
	}
	send() {
		this.response = new Uint8Array(readFileSync(this.file)).buffer;
	}
}

const scope = {
	console: { log() {}, warn() {}, error() {} },
	location: { href: "http://localhost/", toString: () => "http://localhost/" },
	performance, TextDecoder, TextEncoder, URL, setTimeout, clearTimeout,
	importScripts() {},
	XMLHttpRequest: FileRequest,
};
scope.self = scope.globalThis = scope;
const sandbox = vm.createContext(scope);
scope.Uint8Array = vm.runInContext("Uint8Array", sandbox);
// The bundle keeps its bridge private: expose it, to see when the engine is ready.
vm.runInContext(readFileSync(join(folder, "engine_bundle.js"), "utf8")
	.replace("const wasmBridge = new", "const wasmBridge = self.bridge = new"), sandbox);
scope.onmessage({ data: { enginePort: port } });

let sequence = 0;

function call(...parts) {
	const message = Buffer.concat([number(1, ++sequence), ...parts]);
	const framed = bytes(1, message);
	replies.length = 0;
	const data = vm.runInContext(`new Uint8Array(${framed.length})`, sandbox);
	data.set(framed);
	port.onmessage({ data });
	const out = [];
	for (const [field, rpc] of fields(Buffer.concat(replies))) {
		if (field === 1)
			out.push(rpc);
	}
	return out;
}

// ---- queries ---------------------------------------------------------------

const REQUEST = 2, APPEND = 101, QUERY = 103, RESULT = 203;
const CELL_NULL = 1n, CELL_VARINT = 2n, CELL_FLOAT = 3n, CELL_STRING = 4n;

function* cells(batch) {
	let types = [], numbers = [], floats = [], strings = [];
	for (const [field, value] of fields(batch)) {
		if (field === 1)
			types = [...varints(value)];
		else if (field === 2)
			numbers = [...varints(value)];
		else if (field === 3)
			floats = Array.from({ length: value.length / 8 }, (_, i) => value.readDoubleLE(i * 8));
		else if (field === 5)
			strings = value.toString("utf8").split("\0");
	}
	for (const type of types) {
		if (type === CELL_VARINT)
			yield String(BigInt.asIntN(64, numbers.shift()));
		else if (type === CELL_FLOAT)
			yield floats.shift();
		else if (type === CELL_STRING)
			yield strings.shift();
		else if (type === CELL_NULL)
			yield null;
		else
			yield undefined;
	}
}

function query(sql) {
	const all = [];
	let columns = 0, error = null;
	for (const rpc of call(number(REQUEST, 3), bytes(QUERY, bytes(1, Buffer.from(sql))))) {
		for (const [field, result] of fields(rpc)) {
			if (field !== RESULT)
				continue;
			for (const [part, value] of fields(result)) {
				if (part === 1)
					columns++;
				else if (part === 2)
					error = value.toString("utf8");
				else if (part === 3)
					all.push(...cells(value));
			}
		}
	}
	if (error)
		return { error };
	const rows = [];
	for (let at = 0; columns && at < all.length; at += columns)
		rows.push(all.slice(at, at + columns));
	return rows;
}

async function main() {
	const data = readFileSync(trace);
	await scope.bridge.whenInitialized;
	for (let at = 0; at < data.length; at += 8 << 20)
		call(number(REQUEST, 1), bytes(APPEND, data.subarray(at, at + (8 << 20))));
	call(number(REQUEST, 2));
	const answers = [];
	for await (const line of createInterface({ input: process.stdin }))
		answers.push(JSON.stringify(query(line)) + "\n");
	// The engine keeps the process alive: exit explicitly, once the pipe has all of the output.
	process.stdout.write(answers.join(""), () => process.exit(0));
}

await main();
