// SPDX-License-Identifier: MIT
// head.ts - always visible: which trace, how much of it, and what is missing from it.

import { h, setText, shown } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import type { Trace } from "../trace.ts";
import { headBar } from "./head_bar.ts";
import { LiveBadge } from "./live_badge.ts";

interface Fact {
	el: HTMLElement;
	value: HTMLElement;
}

export class Head {
	readonly el: HTMLElement;
	private readonly trace: Trace;
	private readonly facts = new Map<string, Fact>();
	readonly live: LiveBadge;
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
		this.live = new LiveBadge(trace);
		this.name = h("h1", null);
		this.el = headBar(this.name, list, this.live.el);
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
		const { stream } = this.trace.meta;
		if (t.lost === null && stream) {
			this.set("lost", `${fmt.count(stream.lost)} so far`, stream.collector_known
				? "Events that the program wrote and the collector could not read in time, as it says now"
				: "Gaps in the trace; its collector is not known here, and tells more at the end");
			this.alarm("lost", stream.lost > 0);
		} else if (t.lost === null) {
			this.set("lost", "not known", "The trace has no totals of its collector");
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
		const { meta } = this.trace;
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
		this.live.update();
	}
}
