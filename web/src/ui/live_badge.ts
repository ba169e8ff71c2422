// SPDX-License-Identifier: MIT
// live_badge.ts - is the page live, and how far behind; pause, and the last 30 seconds.

import { button, h, setText } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { badgeOf, type Badge } from "../data/delay.ts";
import type { Trace } from "../trace.ts";

const WORDS: Record<Badge, string> = {
	none: "", live: "live", behind: "behind", silent: "the collector does not answer", paused: "paused", rereads: "target ended, reading the whole trace",
	ended: "target ended", killed: "the collector was killed", lost: "connection lost, retrying",
};
const TITLES: Partial<Record<Badge, string>> = {
	silent: "It was stopped, or its disk is slow: what the program does meanwhile is not known here",
	killed: "The trace has no totals: its end may be missing, and the program may still run",
	rereads: "Events were left out to keep up; now all of them are read",
};
const EVERY = 500; // ms
export const WINDOW_NS = 30e9;

export interface LiveControls {
	setPaused(isPaused: boolean): void;
	setWindow(isOn: boolean): void;
}

export class LiveBadge {
	readonly el: HTMLElement;
	controls: LiveControls | null = null;
	private readonly trace: Trace;
	private readonly badge = h("span", { class: "live", role: "status", hidden: true });
	private readonly delay = h("span", { class: "delay", aria: { hidden: "true" } });
	private readonly pause: HTMLButtonElement;
	private readonly last: HTMLButtonElement;
	private timer = 0;

	constructor(trace: Trace) {
		this.trace = trace;
		this.pause = button("Pause", () => this.controls?.setPaused(this.trace.live !== "paused"), { class: "button quiet" }) as HTMLButtonElement;
		this.last = button("Last 30 s", () => this.toggleWindow(), { class: "button quiet", aria: { pressed: "false" } }) as HTMLButtonElement;
		this.el = h("span", { class: "live-box" }, this.badge, this.delay, this.pause, this.last);
		this.update();
	}

	showWindow(isOn: boolean): void {
		this.last.setAttribute("aria-pressed", String(isOn));
	}

	private toggleWindow(): void {
		this.controls?.setWindow(this.last.getAttribute("aria-pressed") !== "true");
	}

	update(): void {
		const { meta, live } = this.trace;
		const behind = this.trace.behind();
		const state = badgeOf(live, meta.stream, meta.completeness?.verdict === "unfinished", behind);
		this.badge.hidden = state === "none";
		this.badge.dataset.state = state;
		setText(this.badge, WORDS[state]);
		this.badge.title = TITLES[state] ?? "";
		const moves = live === "live" || live === "paused" || live === "lost";
		setText(this.delay, moves ? `${fmt.duration(Math.round(behind / 1e8) * 1e8)} behind` : "");
		Object.assign(this.delay.dataset, { ns: String(Math.round(behind)), end: String(meta.end), origin: meta.origin });
		this.pause.hidden = this.last.hidden = live !== "live" && live !== "paused";
		setText(this.pause, live === "paused" ? "Resume" : "Pause");
		if (moves && !this.timer) this.timer = window.setInterval(() => this.update(), EVERY);
		if (!moves && this.timer) {
			clearInterval(this.timer);
			this.timer = 0;
		}
	}
}
