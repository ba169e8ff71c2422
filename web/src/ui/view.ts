// SPDX-License-Identifier: MIT
// view.ts - the interface between a tab and the frame around it.

import type { Params, Route } from "../base/route.ts";
import type { Part, Trace } from "../trace.ts";
import type { Trail } from "./trail.ts";

export interface Context {
	trace: Trace;
	trail: Trail;              // wakes that were followed
	// Go to another view; the back button returns.
	go(route: Route): void;
	// The same view with other filters: they are kept in the address, not in the history.
	// Ignored for a view that is not shown any more (its timers may be late).
	setParams(view: View, params: Params): void;
	// The selection that all views share; "" removes a part of it.
	select(change: Params): void;
}

export interface View {
	readonly el: HTMLElement;
	readonly fill: boolean;    // fills the window's height, and scrolls inside
	readonly title: string;
	show(params: Params): void;
	update(parts: ReadonlySet<Part>): void;
	hide?(): void;
	remove?(): void;
}

export function goCoro(ctx: Context, id: string): void {
	ctx.go({ view: "coroutine", coro: id, params: {} });
}

export function goView(ctx: Context, view: string, params: Params = {}): void {
	ctx.go({ view, coro: null, params });
}

export function debounce(ms: number, fn: () => void): () => void {
	let timer = 0;
	return () => {
		clearTimeout(timer);
		timer = window.setTimeout(fn, ms);
	};
}
