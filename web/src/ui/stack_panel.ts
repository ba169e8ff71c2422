// SPDX-License-Identifier: MIT
// stack_panel.ts - the asynchronous stack of a coroutine at a moment, what woke it, and what it woke.

import { button, h, replace } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { coroHref } from "../base/route.ts";
import { AT, NEED } from "../worker/moment.ts";
import type { StackAnswer } from "../worker/moments.ts";
import type { TreeLine } from "../worker/tree_lines.ts";
import type { WakeEnd, Wakes } from "../worker/follow.ts";
import { chooser, forWords, stateWord, whyWords } from "./line_words.ts";
import { stateMark } from "./marks.ts";
import { empty, panel, type Panel } from "./parts.ts";
import type { Context } from "./view.ts";

export interface StackActions {
	choose(nr: number): void;                          // another coroutine at the same time
	follow(how: string, to: WakeEnd): void;            // a wake
	opens: boolean;                                    // a link to the coroutine's own tab
}

export class StackPanel {
	readonly el: HTMLElement;
	private readonly ctx: Context;
	private readonly box: Panel;
	private readonly acts: StackActions;
	private answer: StackAnswer | null = null;

	constructor(ctx: Context, acts: StackActions) {
		this.ctx = ctx;
		this.acts = acts;
		this.box = panel("Asynchronous stack", { class: "stack-panel" });
		this.el = this.box.el;
		this.clear("Choose a coroutine.");
	}

	clear(text: string): void {
		this.answer = null;
		this.box.note.textContent = "";
		replace(this.box.body, empty(text));
	}

	// Follows the wake to this slice (-1), or the first wake by it (1); false: there is none.
	followWake(by: number): boolean {
		const w = this.answer?.wakes;
		const to = by < 0 ? w?.by : w?.woke[0];
		if (!to || to.nr < 0) return false;
		this.acts.follow(by < 0 ? "was woken by" : "woke", to);
		return true;
	}

	show(a: StackAnswer): void {
		const { trace } = this.ctx;
		this.answer = a;
		this.box.note.textContent = `at ${fmt.stamp(a.t)}`;
		const lines = [...[...a.inner].reverse(), a.me, ...a.outer];
		const rows = lines.map((l, i) => this.row(a, l, i, a.inner.length));
		const id = trace.coros.id(trace.coros.rowOf(a.me.nr));
		replace(this.box.body,
			a.ring ? h("p", { class: "alarm" }, `A ring: ${a.inner.length === 0 ? "it waits for itself" : "the first one waits for one that is already here"}. None of them can go on by itself.`) : null,
			h("ol", { class: "async-stack", aria: { label: "Asynchronous stack, the innermost first" } }, ...rows),
			a.awaiters.length > 0 ? h("p", { class: "links" }, `Awaited by ${fmt.count(a.awaiters.length + a.awaitersMore)}: `, ...a.awaiters.map((l) => chooser(trace, l.nr, this.acts.choose))) : null,
			a.cut ? h("p", { class: "muted" }, "The stack is longer than is shown here.") : null,
			h("h3", null, "Wakes"), this.wakes(a.wakes),
			this.acts.opens ? h("p", null, h("a", { href: coroHref(id) }, "Open the coroutine")) : null);
	}

	private row(a: StackAnswer, l: TreeLine, i: number, mine: number): HTMLElement {
		const { trace } = this.ctx;
		const place = trace.sitePlace(l.site);
		const why = whyWords(trace, l, (nr) => trace.titleOfNr(nr));
		const el = h("li", { class: i === mine ? "me" : "" },
			h("span", { class: "async-who" }, i === mine ? h("b", null, trace.titleOfNr(l.nr)) : chooser(trace, l.nr, this.acts.choose), " ",
				i > mine ? h("span", { class: "muted" }, l.needKind === NEED.holder ? "waits for a lock that it holds" : "awaits it") : null),
			h("span", null, stateMark(stateWord(l.state)), l.state === AT.absent ? "" : ` ${forWords(l, a.t)}`),
			place !== "" || why.length > 0 ? h("span", { class: "async-where" }, place !== "" ? h("span", { class: "mono" }, place, " ") : null, ...why) : null);
		if (i === mine) el.setAttribute("aria-current", "true");
		return el;
	}

	private wakes(w: Wakes): HTMLElement {
		if (Number.isNaN(w.from)) return empty("No slice of it is in this file.");
		const { trace } = this.ctx;
		const by = w.by === null ? h("span", { class: "muted" }, "the trace does not tell") :
			w.by.nr < 0 ? h("span", null, `no coroutine${w.by.thread >= 0 ? `, on thread ${trace.thread(w.by.thread)}` : ""}, at ${fmt.stamp(w.by.at)}`) :
				h("span", null, this.wakeButton("was woken by", w.by, "←"), ` at ${fmt.stamp(w.by.at)}, ${fmt.duration(w.from - w.by.at)} before it ran`);
		return h("dl", { class: "wake-facts" }, h("dt", null, "slice"), h("dd", null, `${fmt.stamp(w.from)}, for ${fmt.duration(w.to - w.from)}`),
			h("dt", null, "woken by"), h("dd", null, by), h("dt", null, `woke (${fmt.count(w.woke.length + w.wokeMore)})`),
			h("dd", null, w.woke.length === 0 ? h("span", { class: "muted" }, "none that the file tells") :
				h("span", { class: "links" }, ...w.woke.map((x) => this.wakeButton("woke", x, "→")), w.wokeMore > 0 ? `and ${fmt.count(w.wokeMore)} more` : null)));
	}

	private wakeButton(how: string, to: WakeEnd, mark: string): HTMLElement {
		const title = this.ctx.trace.titleOfNr(to.nr);
		return button(`${mark} ${title}`, () => this.acts.follow(how, to), { class: "as-link", aria: { label: `${mark} ${title}: follow the wake` } });
	}
}
