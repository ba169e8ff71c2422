// SPDX-License-Identifier: MIT
// trail.ts - the wakes that were followed: each step with its address, and a way back.

import { button, h, replace } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { formatRoute, type Route } from "../base/route.ts";
import type { Trace } from "../trace.ts";

interface Crumb {
	nr: number;
	at: number;
	how: string;               // from the one before
	route: Route;
}

const CRUMBS_MOST = 40;
const CRUMBS_SHOWN = 6;

export class Trail {
	readonly el = h("nav", { class: "trail", aria: { label: "Wakes that were followed" }, hidden: true });
	private readonly trace: Trace;
	private readonly go: (route: Route) => void;
	private crumbs: Crumb[] = [];

	constructor(trace: Trace, go: (route: Route) => void) {
		this.trace = trace;
		this.go = go;
	}

	// From one coroutine and time to another one. Another begin than the last step begins a new trail.
	follow(from: { nr: number; at: number; route: Route }, how: string, to: { nr: number; at: number; route: Route }): void {
		if (this.crumbs[this.crumbs.length - 1]?.nr !== from.nr) this.crumbs = [{ ...from, how: "" }];
		this.crumbs.push({ ...to, how });
		this.crumbs = this.crumbs.slice(-CRUMBS_MOST);
		this.draw();
		this.go(to.route);
	}

	// False: there is no step to take back.
	back(): boolean {
		if (this.crumbs.length < 2) return false;
		this.crumbs.pop();
		const last = this.crumbs[this.crumbs.length - 1];
		this.draw();
		this.go(last.route);
		return true;
	}

	private backTo(crumb: Crumb): void {
		this.crumbs = this.crumbs.slice(0, this.crumbs.indexOf(crumb) + 1);
		this.draw();
		this.go(crumb.route);
	}

	private draw(): void {
		this.el.hidden = this.crumbs.length < 2;
		const shown = this.crumbs.slice(-CRUMBS_SHOWN);
		const items = shown.map((c, i) => {
			const link = h("a", { href: formatRoute(c.route), on: { click: (ev) => {
				ev.preventDefault();
				this.backTo(c);
			} } }, `${this.trace.titleOfNr(c.nr)} at ${fmt.offset(c.at, 1000)}`);
			if (c === this.crumbs[this.crumbs.length - 1]) link.setAttribute("aria-current", "step");
			return h("li", null, i > 0 ? h("span", { class: "muted" }, `${c.how} `) : null, link);
		});
		const hidden = this.crumbs.length - shown.length;
		replace(this.el, button("Back", () => this.back(), { aria: { label: "Back: to the step before" } }),
			hidden > 0 ? h("span", { class: "muted" }, `${fmt.plural(hidden, "step")} before, then`) : null, h("ol", null, ...items),
			button("Close", () => {
				this.crumbs = [];
				this.draw();
			}, { class: "button quiet", aria: { label: "Close: forget the steps" } }));
	}
}
