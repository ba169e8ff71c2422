// SPDX-License-Identifier: MIT
// columns.ts - binary sections: a JSON header and typed columns (docs/view-format.md).

export class DamagedError extends Error {
	override name = "DamagedError";
}

export type Column = Uint8Array | Uint16Array | Uint32Array | Float64Array;

export interface Section {
	rows: number;
	header: Record<string, unknown>;
	columns: Record<string, Column>;
}

interface Spec {
	name: string;
	type: string;
	offset: number;
	count: number;
	bytes?: number;
}

const SIZES: Record<string, number> = { u8: 1, u16: 2, u32: 4, f64: 8 };

// The text appears in messages: keep it short.
function bad(section: string, what: string): DamagedError {
	return new DamagedError(`section ${section} is damaged: ${what.slice(0, 200)}`);
}

function readHeader(name: string, data: ArrayBuffer): { header: Record<string, unknown>; base: number } {
	if (data.byteLength < 4) throw bad(name, "it is too short");
	const size = new DataView(data).getUint32(0, true);
	if (size > data.byteLength - 4) throw bad(name, "its header is longer than itself");
	let header: unknown;
	try {
		header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, size)));
	} catch {
		throw bad(name, "its header is no JSON");
	}
	if (typeof header !== "object" || header === null) throw bad(name, "its header is no object");
	// Columns begin at a multiple of 8, counted from the start of the section.
	return { header: header as Record<string, unknown>, base: 4 + size };
}

function isSpec(x: unknown): x is Spec {
	const s = x as Spec;
	const natural = (n: unknown) => typeof n === "number" && Number.isInteger(n) && n >= 0;
	return typeof s === "object" && s !== null && typeof s.name === "string" && typeof s.type === "string" &&
		natural(s.offset) && natural(s.count) && (s.bytes === undefined || natural(s.bytes));
}

// LEB128 below 2^53: shifts for the low 28 bits, products above.
function readVarints(section: string, bytes: Uint8Array, count: number, delta: boolean): Float64Array {
	if (count > bytes.length) throw bad(section, "a column has more values than bytes");
	const out = new Float64Array(count);
	let at = 0;
	let before = 0;
	for (let i = 0; i < count; i++) {
		let byte = bytes[at++];
		let value = byte & 127;
		let scale = 128;
		while (byte > 127) {
			byte = bytes[at++];
			value += (byte & 127) * scale;
			scale *= 128;
			if (scale > 2 ** 63) throw bad(section, "a number is too long");
		}
		before = delta ? before + value : value;
		out[i] = before;
	}
	if (at > bytes.length) throw bad(section, "a column is cut short");
	return out;
}

function readColumn(section: string, data: ArrayBuffer, base: number, c: Spec): Column {
	const at = base + c.offset;
	const packed = c.type === "v" || c.type === "dv";
	const bytes = packed ? (c.bytes ?? 0) : c.count * SIZES[c.type];
	if (at + bytes > data.byteLength) throw bad(section, `column ${c.name} reaches beyond its end`);
	switch (c.type) {
	case "v":
	case "dv":
		return readVarints(section, new Uint8Array(data, at, bytes), c.count, c.type === "dv");
	case "u8":
		return new Uint8Array(data, at, c.count);
	default:
		if (at % SIZES[c.type] !== 0) throw bad(section, `column ${c.name} is not aligned`);
		if (c.type === "u16") return new Uint16Array(data, at, c.count);
		return c.type === "u32" ? new Uint32Array(data, at, c.count) : new Float64Array(data, at, c.count);
	}
}

export function readSection(name: string, data: ArrayBuffer): Section {
	const { header, base } = readHeader(name, data);
	const rows = header.rows;
	const specs = header.columns;
	if (typeof rows !== "number" || !Number.isInteger(rows) || rows < 0 || !Array.isArray(specs))
		throw bad(name, "its header lacks rows or columns");
	const columns: Record<string, Column> = {};
	for (const spec of specs) {
		if (!isSpec(spec)) throw bad(name, "its header names a column wrongly");
		if (spec.type in SIZES || spec.type === "v" || spec.type === "dv")
			columns[spec.name] = readColumn(name, data, base, spec);
	}
	return { rows, header, columns };
}

// Columns that must exist, each with at least a value per row.
export function need(name: string, s: Section, wanted: readonly string[]): void {
	for (const column of wanted) {
		if (!s.columns[column] || s.columns[column].length < s.rows) throw bad(name, `column ${column} is missing or short`);
	}
}

export function numberOf(s: Section, key: string, otherwise = 0): number {
	const value = s.header[key];
	return typeof value === "number" && Number.isFinite(value) ? value : otherwise;
}
