// SPDX-License-Identifier: MIT
// make.ts - sections for tests, written as docs/view-format.md says: independent of what reads them.

interface Col {
	name: string;
	type: "u8" | "u16" | "u32" | "f64" | "v" | "dv";
	values: number[];
}

function leb(values: number[], delta: boolean): Uint8Array {
	const out: number[] = [];
	let before = 0;
	for (const v of values) {
		let n = BigInt(delta ? v - before : v);
		before = v;
		do {
			const more = n > 127n;
			out.push(Number(n & 127n) | (more ? 128 : 0));
			n >>= 7n;
		} while (n > 0n);
	}
	return Uint8Array.from(out);
}

function bytesOf(c: Col): Uint8Array {
	if (c.type === "v" || c.type === "dv") return leb(c.values, c.type === "dv");
	const arrays = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array };
	return new Uint8Array(arrays[c.type].from(c.values).buffer);
}

export function section(cols: Col[], more: Record<string, unknown> = {}, rows = cols[0]?.values.length ?? 0): ArrayBuffer {
	const parts = cols.map(bytesOf);
	let offset = 0;
	const columns = cols.map((c, i) => {
		const at = offset;
		offset += Math.ceil(parts[i].length / 8) * 8;
		return { name: c.name, type: c.type, offset: at, count: c.values.length, ...(c.type.endsWith("v") ? { bytes: parts[i].length } : {}) };
	});
	let head = JSON.stringify({ rows, columns, ...more });
	while ((4 + head.length) % 8 !== 0) head += " ";
	const out = new Uint8Array(4 + head.length + offset);
	new DataView(out.buffer).setUint32(0, head.length, true);
	out.set(new TextEncoder().encode(head), 4);
	parts.forEach((p, i) => out.set(p, 4 + head.length + columns[i].offset));
	return out.buffer;
}

export const col = (name: string, type: Col["type"], values: number[]): Col => ({ name, type, values });
