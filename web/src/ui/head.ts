// SPDX-License-Identifier: MIT
// head.ts - always visible: which trace, how much of it, and what is missing from it.

import { h, setText, shown } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import type { Trace } from "../trace.ts";
import { headBar } from "./head_bar.ts";

const LIVE_WORDS = {
	none: "", live: "live", ended: "target ended", lost: "connection lost, retrying",
} as const;

interface Fact {
	el: HTMLElement;
	value: HTMLElement;
}

export class Head {
	readonly el: HTMLElement;
	private readonly trace: Trace;
	private readonly facts = new Map<string, Fact>();
	private readonly live: HTMLElement;
	private readonly name: HTMLElement;

	constructor(trace: Trace) {
		this.trace = trace;
		const list = h("dl", { class: "facts" });
		for (const key of ["duration", "transitions", "coroutines", "threads", "lost", "garbage"]) {
			const value = h("dd", null);
			const el = h("div", { class: "fact", data: { fact: key } }, h("dt", null, key), value);
			this.facts.set(key, { el, value });
			list.append(el);
		}
		this.live = h("span", { class: "live", role: "status", hidden: true });
		this.name = h("h1", null);
		this.el = headBar(this.name, list, this.live);
		this.update();
	}

	private set(key: string, text: string, title = ""): void {
		const fact = this.facts.get(key)!;
		setText(fact.value, text);
		fact.el.title = title;
	}

	private alarm(key: string, isLoud: boolean): void {
		const fact = this.facts.get(key)!;
		fact.el.classList.toggle("loud", isLoud);
		fact.el.classList.toggle("quiet", !isLoud);
	}

	private updateLoss(): void {
		const t = this.trace.meta.totals;
		if (t.lost === null) {
			this.set("lost", this.trace.live === "live" ? "not known yet" : "not known",
				this.trace.live === "live" ? "The collector writes its totals at the end" : "The trace has no totals of its collector");
			this.alarm("lost", false);
		} else {
			const all = t.lost + (t.others_lost ?? 0);
			this.set("lost", fmt.count(all),
				`${fmt.count(t.lost)} transitions and ${fmt.count(t.others_lost ?? 0)} other events were overwritten before the collector read them`);
			this.alarm("lost", all > 0);
		}
		this.set("garbage", fmt.count(t.garbage), "Records that cannot be events: set aside, and part of no other number");
		this.alarm("garbage", t.garbage > 0);
	}

	update(): void {
		const { meta, live } = this.trace;
		const t = meta.totals;
		const name = meta.trace.split("/").pop() || meta.trace;
		setText(this.name, name);
		this.name.title = shown(meta.trace);
		document.title = `${shown(name)} – corotracer`;
		this.set("duration", fmt.duration(t.duration_ns), `${fmt.count(t.duration_ns)} ns`);
		this.set("transitions", fmt.count(t.transitions),
			`Suspended and resumed, the events that run and info count; ${fmt.count(t.others)} others: births, wakes, ends`);
		this.set("coroutines", fmt.count(t.coroutines), `${fmt.count(t.not_ended)} have not ended`);
		this.set("threads", fmt.count(t.threads));
		this.updateLoss();
		this.live.hidden = live === "none";
		this.live.dataset.state = live;
		setText(this.live, LIVE_WORDS[live]);
	}
}
