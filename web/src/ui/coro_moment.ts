// SPDX-License-Identifier: MIT
// coro_moment.ts - of a coroutine's tab: a moment of its life, its asynchronous stack then, and the wakes of that slice.

import { button, h, replace } from "../base/dom.ts";
import { viewHref, type Route } from "../base/route.ts";
import type { StackAnswer } from "../worker/moments.ts";
import type { WakeEnd } from "../worker/follow.ts";
import { MomentBar } from "./moment_bar.ts";
import { StackPanel } from "./stack_panel.ts";
import { debounce, type Context } from "./view.ts";

const FEW_BLOCKS = 24; // more blocks than this are read only on request

export class CoroMoment {
	readonly el: HTMLElement;
	private readonly ctx: Context;
	private readonly bar: MomentBar;
	private readonly stack: StackPanel;
	private readonly onMoment: (t: number) => void;
	private readonly ask = h("div", null);
	private readonly keep: () => void;
	private row = -1;
	private t = NaN;
	private asked = 0;
	private wanted = false;    // of a large trace: the stack was requested

	constructor(ctx: Context, onMoment: (t: number) => void) {
		this.ctx = ctx;
		this.onMoment = onMoment;
		this.bar = new MomentBar((t) => this.setTime(t));
		this.stack = new StackPanel(ctx, { choose: (nr) => this.choose(nr), follow: (how, to) => this.follow(how, to), opens: false });
		this.keep = debounce(200, () => this.ctx.select({ at: String(Math.round(this.t)), sel: this.ctx.trace.coros.id(this.row) }));
		this.el = h("div", { class: "coro-moment" }, this.bar.el, this.ask, this.stack.el);
		this.el.addEventListener("keydown", (ev) => this.onKey(ev));
	}

	// Without @at: the moment stays; at first it is the end.
	show(row: number, at?: string): void {
		const isNew = row !== this.row;
		this.row = row;
		const named = at ? Number(at) : NaN;
		if (Number.isFinite(named)) [this.t, this.wanted] = [named, true];
		else if (isNew || Number.isNaN(this.t)) this.t = this.range().to;
		// While a program runs its past stays as it is.
		else if (this.t < this.range().to) {
			this.bar.show(this.t, this.range());
			return;
		}
		void this.refresh();
	}

	private range(): { from: number; to: number } {
		const { coros, now } = this.ctx.trace;
		const c = coros.c;
		const from = Number.isNaN(c.birth[this.row]) ? c.first[this.row] : c.birth[this.row];
		const to = c.state[this.row] >= 5 && !Number.isNaN(c.end[this.row]) ? c.end[this.row] : now;
		return { from, to: Math.max(to, from + 1) };
	}

	setTime(t: number): void {
		if (this.row < 0) return;
		const { from, to } = this.range();
		this.t = Math.max(from, Math.min(to, t));
		this.wanted = true;
		void this.refresh();
		this.keep();
	}

	private async refresh(): Promise<void> {
		const { trace } = this.ctx;
		const nr = trace.coros.c.nr[this.row];
		const mine = ++this.asked;
		const t = this.t;
		this.bar.show(t, this.range());
		this.onMoment(t);
		const waits = !this.wanted && trace.meta.blocks > FEW_BLOCKS;
		replace(this.ask, h("p", { class: "links" }, h("a", { href: viewHref("awaits", { sel: trace.coros.id(this.row), at: String(Math.round(t)) }) }, "In the await tree"),
			waits ? button("Show its asynchronous stack", () => this.setTime(this.t)) : null));
		this.stack.el.hidden = waits;
		if (waits) return;
		try {
			const a = await trace.engine.call<StackAnswer | null>("stack", [nr, t], (done, of) => mine === this.asked && of > 4 && this.stack.clear(`Reading the slices: ${done} of ${of} blocks`));
			if (mine !== this.asked || !a) return;
			this.stack.show(a);
			this.bar.setChanges({ before: a.before, after: a.after, of: "" });
		} catch (e) {
			this.stack.clear(`The slices cannot be read: ${(e as Error).message}`);
		}
	}

	private routeOf(nr: number, t: number): Route {
		const { coros } = this.ctx.trace;
		return { view: "coroutine", coro: coros.id(coros.rowOf(nr)), params: { at: String(Math.round(t)) } };
	}

	private choose(nr: number): void {
		if (this.ctx.trace.coros.rowOf(nr) >= 0) this.ctx.go(this.routeOf(nr, this.t));
	}

	private follow(how: string, to: WakeEnd): void {
		const { coros } = this.ctx.trace;
		if (coros.rowOf(to.nr) < 0) return;
		const nr = coros.c.nr[this.row];
		const t = how === "woke" ? to.from : to.at;
		this.ctx.trail.follow({ nr, at: this.t, route: this.routeOf(nr, this.t) }, how, { nr: to.nr, at: t, route: this.routeOf(to.nr, t) });
	}

	private onKey(ev: KeyboardEvent): void {
		if (ev.ctrlKey || ev.metaKey || ev.altKey || ev.defaultPrevented) return;
		if (ev.key === "b" || ev.key === "w") this.stack.followWake(ev.key === "b" ? -1 : 1);
		else if (ev.key === "Backspace") this.ctx.trail.back();
		else if (ev.key === "," || ev.key === ".") this.bar.jump(ev.key === "," ? -1 : 1);
		else return;
		ev.preventDefault();
	}
}
