// SPDX-License-Identifier: MIT
// selection.ts - what is looked at: a range of time and a set of coroutines, the same in every view and in the address.

import type { Params } from "./route.ts";

// from, to: ns since the start; q: text; kind, site: numbers; findings: a detector, or "any"; at: a moment, in ns; sel: the
// id of the chosen coroutine.
export const SHARED = ["from", "to", "q", "kind", "site", "findings", "at", "sel"] as const;

export interface Range {
	from: number;
	to: number;
}

export function sharedOf(params: Params): Params {
	return Object.fromEntries(SHARED.map((key) => [key, params[key] ?? ""] as const).filter(([, value]) => value !== ""));
}

// null: the whole run.
export function rangeOf(params: Params): Range | null {
	const [from, to] = [Number(params.from), Number(params.to)];
	return params.from && params.to && from < to ? { from, to } : null;
}

// The number, or -1: any.
export function numberIn(params: Params, key: string): number {
	const n = Number(params[key]);
	return params[key] !== undefined && params[key] !== "" && Number.isInteger(n) && n >= 0 ? n : -1;
}
