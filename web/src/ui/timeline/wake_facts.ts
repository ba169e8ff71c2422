// SPDX-License-Identifier: MIT
// wake_facts.ts - wakes on the timeline in words, with buttons that follow them.

import { button, h } from "../../base/dom.ts";
import * as fmt from "../../base/format.ts";
import type { Trace } from "../../trace.ts";
import type { WakeEnd, Wakes } from "../../worker/follow.ts";
import type { Wake } from "./scene.ts";

export function wakeFacts(trace: Trace, w: Wake): [string, string][] {
	const waker = w.waker > 0 ? trace.titleOfNr(w.waker - 1) : "no coroutine";
	return [["", `${waker} woke ${trace.titleOfNr(w.coro - 1)}`], ["at", fmt.stamp(w.at)], ["ran", `${fmt.duration(w.to - w.at)} later`],
		...(w.fromThread >= 0 ? [["from thread", trace.thread(w.fromThread)] as [string, string]] : []), ["to thread", trace.thread(w.toThread)]];
}

// The two ends of an arrow, as ends to follow.
export function wakeEnds(w: Wake): { by: WakeEnd; woke: WakeEnd } {
	return {
		by: { nr: w.waker - 1, thread: w.fromThread, at: w.at, from: NaN, to: NaN },
		woke: { nr: w.coro - 1, thread: w.toThread, at: w.at, from: w.to, to: NaN },
	};
}

export type FollowTo = (how: string, to: WakeEnd) => void;

// Buttons to what woke a slice, and to the first few that it woke.
export function wakeLinks(trace: Trace, w: Wakes, follow: FollowTo): HTMLElement {
	const link = (how: string, to: WakeEnd, mark: string) => {
		const title = trace.titleOfNr(to.nr);
		return button(`${mark} ${title}`, () => follow(how, to), { class: "as-link", aria: { label: `${mark} ${title}: follow the wake` } });
	};
	const by = w.by === null ? "wake not recorded" : w.by.nr < 0 ? "woken by no coroutine" : null;
	return h("span", { class: "wake-links" }, h("span", { class: "muted" }, by ?? "woken by "), by === null ? link("was woken by", w.by!, "←") : null,
		h("span", { class: "muted" }, w.woke.length === 0 ? " woke none" : " woke "), ...w.woke.slice(0, 3).flatMap((x) => [link("woke", x, "→"), " "]),
		w.woke.length + w.wokeMore > 3 ? h("span", { class: "muted" }, `and ${fmt.count(w.woke.length + w.wokeMore - 3)} more`) : null);
}
