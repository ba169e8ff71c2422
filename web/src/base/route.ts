// SPDX-License-Identifier: MIT
// route.ts - the view, as the part of the address after #, so that a link can be saved and sent.
//
//   #view=coroutines&q=conn&state=suspended     a view and its filters
//   #coro=42                                    one coroutine

export type Params = Readonly<Record<string, string>>;

export interface Route {
	view: string;
	coro: string | null;
	params: Params;
}

const ID = /^\d{1,20}$/;

export function parseRoute(hash: string): Route {
	const params: Record<string, string> = {};
	let search: URLSearchParams;

	search = new URLSearchParams(hash.replace(/^#/, ""));
	for (const [key, value] of search) params[key] = value;
	const coro = params.coro !== undefined && ID.test(params.coro) ? params.coro : null;
	const view = coro !== null ? "coroutine" : (params.view ?? "overview");
	delete params.coro;
	delete params.view;
	return { view, coro, params };
}

export function formatRoute(route: Route): string {
	const search = new URLSearchParams();
	if (route.coro !== null) search.set("coro", route.coro);
	else search.set("view", route.view);
	for (const [key, value] of Object.entries(route.params)) {
		if (value !== "") search.set(key, value);
	}
	return `#${search.toString()}`;
}

export function viewHref(view: string, params: Params = {}): string {
	return formatRoute({ view, coro: null, params });
}

// @at: a moment, in ns.
export function coroHref(id: string, at = NaN): string {
	return formatRoute({ view: "coroutine", coro: id, params: Number.isNaN(at) ? {} : { at: String(Math.round(at)) } });
}

// The address below which the server has what belongs to the page.
export function pageBase(): string {
	return new URL(".", location.href).href;
}
