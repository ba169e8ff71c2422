// SPDX-License-Identifier: MIT
// format.ts - numbers and times as engineers read them.

// A narrow no-break space.
const THIN = "\u202f";
const NONE = "\u2013";

export const dash = NONE;

export function count(n: number): string {
	if (!Number.isFinite(n)) return NONE;
	const sign = n < 0 ? "-" : "";
	const digits = Math.round(Math.abs(n)).toString();
	return sign + digits.replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
}

// 12.3k, 4.56M: for axes and cards, where three digits are enough.
export function short(n: number): string {
	const abs = Math.abs(n);
	if (abs < 1000) return trim(n, abs < 10 && !Number.isInteger(n) ? 1 : 0);
	for (const [size, unit] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]] as const) {
		if (abs >= size * 0.9995 || (size === 1e3 && abs >= 1e3)) return figures(n / size) + unit;
	}
	return String(n);
}

function trim(n: number, digits: number): string {
	const text = n.toFixed(digits);
	return digits > 0 ? text.replace(/\.?0+$/, "") : text;
}

function figures(n: number): string {
	const abs = Math.abs(n);
	return n.toFixed(abs >= 99.95 ? 0 : abs >= 9.995 ? 1 : 2);
}

const UNITS: readonly (readonly [number, string])[] = [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]];

// Three digits and a unit: 812 ns, 3.42 ms, 61.0 s, 2 min 5 s.
export function duration(ns: number): string {
	if (!Number.isFinite(ns)) return NONE;
	const abs = Math.abs(ns);
	if (abs === 0) return `0${THIN}s`;
	if (abs >= 119.5e9) return long(ns);
	let unit = UNITS[0];
	for (const candidate of UNITS) {
		if (abs >= candidate[0] * 0.9995) unit = candidate;
	}
	const value = ns / unit[0];
	return (unit[0] === 1 ? Math.round(value).toString() : figures(value)) + THIN + unit[1];
}

function long(ns: number): string {
	const s = Math.round(Math.abs(ns) / 1e9);
	const sign = ns < 0 ? "-" : "";
	if (s < 3600) return `${sign}${Math.floor(s / 60)}${THIN}min ${s % 60}${THIN}s`;
	if (s < 86400) return `${sign}${Math.floor(s / 3600)}${THIN}h ${Math.floor(s / 60) % 60}${THIN}min`;
	return `${sign}${Math.floor(s / 86400)}${THIN}d ${Math.floor(s / 3600) % 24}${THIN}h`;
}

// An offset from the start of the trace, with the digits that @step makes significant.
export function offset(ns: number, step = 1): string {
	const unit = [...UNITS].reverse().find(([size]) => Math.abs(ns) >= size || step >= size) ?? UNITS[0];
	const decimals = Math.max(0, Math.min(9, Math.ceil(Math.log10(unit[0] / Math.max(1, step)))));
	const [whole, rest] = (ns / unit[0]).toFixed(decimals).split(".");
	return (whole === "-0" && !rest ? "0" : group(whole)) + (rest ? `.${rest}` : "") + THIN + unit[1];
}

// Seconds with all nine digits, in groups of three.
export function stamp(ns: number): string {
	const whole = Math.floor(ns / 1e9);
	const rest = Math.round(ns - whole * 1e9).toString().padStart(9, "0");
	return `${group(String(whole))}.${rest.slice(0, 3)}${THIN}${rest.slice(3, 6)}${THIN}${rest.slice(6)}${THIN}s`;
}

function group(digits: string): string {
	return digits.replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
}

export function percent(part: number, whole: number): string {
	if (!(whole > 0)) return NONE;
	const p = (100 * part) / whole;
	if (p === 0) return `0${THIN}%`;
	if (p < 0.1) return `<${THIN}0.1${THIN}%`;
	return `${p.toFixed(p < 9.95 ? 1 : 0)}${THIN}%`;
}

export function rate(n: number, ns: number): string {
	return ns > 0 ? `${short((n * 1e9) / ns)}/s` : NONE;
}

export function plural(n: number, one: string, many = `${one}s`): string {
	return `${count(n)} ${n === 1 ? one : many}`;
}

export function bytes(n: number): string {
	if (n < 1000) return `${n}${THIN}B`;
	return n < 1e6 ? `${figures(n / 1e3)}${THIN}kB` : `${figures(n / 1e6)}${THIN}MB`;
}

export function hex(value: bigint): string {
	return `0x${value.toString(16)}`;
}

// What a coroutine waits for: descriptors and small numbers as they are, addresses as in the report.
export function resource(value: bigint): string {
	return value < 65536n ? value.toString() : hex(value);
}

// "250ms", "1.5 s", "2min", "800" (ns); null: not a time.
export function parseDuration(text: string): number | null {
	const m = /^\s*(\d+(?:[.,]\d*)?)\s*(ns|us|µs|ms|s|min|m|h)?\s*$/i.exec(text);
	if (!m) return null;
	const sizes: Record<string, number> = {
		ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9, m: 60e9, min: 60e9, h: 3600e9,
	};
	return Number(m[1].replace(",", ".")) * sizes[(m[2] ?? "s").toLowerCase()];
}

// The last two parts of a path.
export function shortPath(path: string): string {
	const parts = path.split("/");
	return parts.length > 2 ? parts.slice(-2).join("/") : path;
}
