// SPDX-License-Identifier: MIT
// wake_follow.ts - from a slice or an arrow of the timeline to the other end of a wake.

import { button, h, replace, setText } from "../../base/dom.ts";
import type { Params, Route } from "../../base/route.ts";
import type { WakeEnd, Wakes } from "../../worker/follow.ts";
import type { Context } from "../view.ts";
import type { Scene, Wake } from "./scene.ts";
import { wakeEnds, wakeFacts, wakeLinks } from "./wake_facts.ts";

export interface WakeHost {
	params(): Params;
	tell(facts: [string, string][], more: HTMLElement): void;
	speak(text: string): void;
	reveal(thread: number): void;
}

const FEW_BLOCKS = 24; // more blocks than this are read only on request

export class WakeFollower {
	private readonly ctx: Context;
	private readonly s: Scene;
	private readonly host: WakeHost;

	constructor(ctx: Context, scene: Scene, host: WakeHost) {
		[this.ctx, this.s, this.host] = [ctx, scene, host];
	}

	// A place for the wakes of a slice, filled when they are known; of a large trace on request.
	links(nr: number, at: number): HTMLElement {
		const { trace } = this.ctx;
		const box = h("span", null);
		const fill = async () => {
			const wakes = await trace.engine.call<Wakes>("wakes", [nr, at], (done, of) => of > 4 && setText(box, `Reading the slices: ${done} of ${of} blocks`));
			replace(box, wakeLinks(trace, wakes, (how, to) => this.follow(how, to)));
		};
		if (trace.meta.blocks > FEW_BLOCKS) box.append(button("Wakes", () => void fill(), { class: "button quiet", aria: { label: "Wakes: what woke this slice, and what did it wake" } }));
		else void fill();
		return box;
	}

	choose(w: Wake): void {
		const { trace } = this.ctx;
		const ends = wakeEnds(w);
		const to = (label: string, how: string, end: WakeEnd) =>
			(end.nr < 0 || trace.coros.rowOf(end.nr) < 0 ? null : button(label, () => this.follow(how, end), { class: "as-link" }));
		this.s.chosenWake = w;
		this.s.selectedCoro = w.coro;
		this.host.tell(wakeFacts(trace, w), h("span", { class: "wake-links" }, to("← to the waker", "was woken by", ends.by), " ", to("→ to the slice that ran", "woke", ends.woke)));
	}

	// Where the step begins: the chosen slice, or the end of the arrow that is left.
	private begin(how: string): { nr: number; at: number } {
		const w = this.s.chosenWake;
		if (!w) return { nr: this.s.selectedCoro - 1, at: this.s.at };
		return how === "woke" ? { nr: w.waker - 1, at: w.at } : { nr: w.coro - 1, at: w.to };
	}

	// The lanes and the zoom stay; a time that is not in sight comes to the middle.
	private follow(how: string, to: WakeEnd): void {
		const { coros } = this.ctx.trace;
		const v = this.s.view;
		const target = to.nr >= 0 ? coros.rowOf(to.nr) : -1;
		if (target < 0) return;
		if (to.thread >= 0) this.host.reveal(to.thread);
		const at = Math.round(how === "woke" ? to.from : to.at);
		const isIn = at >= v.from && at <= v.to;
		const [from, end] = isIn ? [v.from, v.to] : [at - v.span / 2, at + v.span / 2];
		const range: Params = v.isWhole && isIn ? {} : { from: String(Math.round(from)), to: String(Math.round(end)) };
		const route = (row: number, t: number, more: Params): Route => ({ view: "timeline", coro: null, params: { ...this.host.params(), ...more, sel: coros.id(row), at: String(Math.round(t)) } });
		const begin = this.begin(how);
		const row = begin.nr >= 0 ? coros.rowOf(begin.nr) : -1;
		if (row < 0) this.ctx.go(route(target, at, range));
		else this.ctx.trail.follow({ ...begin, route: route(row, begin.at, {}) }, how, { nr: to.nr, at, route: route(target, at, range) });
	}

	// b and w: to what woke the chosen slice, to the first that it woke.
	async followKey(by: number, hasPiece: boolean): Promise<void> {
		const s = this.s;
		if (s.chosenWake) {
			const ends = wakeEnds(s.chosenWake);
			this.follow(by < 0 ? "was woken by" : "woke", by < 0 ? ends.by : ends.woke);
			return;
		}
		if (!hasPiece || s.selectedCoro === 0 || Number.isNaN(s.at)) return;
		const wakes = await this.ctx.trace.engine.call<Wakes>("wakes", [s.selectedCoro - 1, s.at]);
		const to = by < 0 ? wakes.by : wakes.woke[0];
		if (to && to.nr >= 0) this.follow(by < 0 ? "was woken by" : "woke", to);
		else this.host.speak(by < 0 ? "No coroutine woke it, or the trace does not tell" : "It woke none that the file tells");
	}
}
