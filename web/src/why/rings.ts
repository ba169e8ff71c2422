// SPDX-License-Identifier: MIT
// rings.ts - coroutines that wait for each other in a ring: which waits for whose lock.

import { button, h, replace, setText } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { viewHref } from "../base/route.ts";
import { shownOf, type PagePart } from "../ui/part_page.ts";
import { empty, panel } from "../ui/parts.ts";
import { matches } from "../ui/sort_table.ts";
import type { Ring, RingMember, WhyData } from "./types.ts";
import { sureBadge } from "./verdict_text.ts";
import { coroutineText } from "./wait_lines.ts";

const RINGS_SHOWN = 20;
const MEMBERS_SHOWN = 50;      // of one ring

export interface RingStep {
	address: string;
	name: string | null;
	waits: string;             // "lock 0x404080", which the next one holds; "end" of the next one; "": it awaits the next one
}

const WAIT_WORDS: Record<string, string> = { "": "awaits", end: "waits for the end of" };

// The coroutines in the order in which they wait.
export function ringSteps(ring: Ring): RingStep[] {
	return ring.members.flatMap((m, i) => {
		const next = ring.members[(i + 1) % ring.members.length];
		const step = { address: m.coroutine, name: m.function, waits: m.object ? `${m.kind} ${m.object}` : "end" };
		// The holder is further out in the stack of the next one.
		return m.holder === next.coroutine ? [step] : [step, { address: m.holder, name: m.holder_function, waits: "" }];
	});
}

const stepText = (s: RingStep) => coroutineText(s.name, s.address);

function memberText(m: RingMember): string {
	return `${coroutineText(m.function, m.coroutine)} ${m.kind} ${m.type} ${m.object ?? ""} ${coroutineText(m.holder_function, m.holder)}`;
}

const ringText = (r: Ring) => ["deadlock", r.confidence, r.doubt ?? "", ...r.members.map(memberText)].join(" ");

// The group of each coroutine of a ring, for a link.
function groupsOf(d: WhyData, rings: readonly Ring[]): Map<string, number> {
	const wanted = new Set(rings.flatMap((r) => r.members.flatMap((m) => [m.coroutine, m.holder])));
	const found = new Map<string, number>();
	for (const [i, g] of d.groups.entries()) {
		for (const address of g.members) {
			if (wanted.has(address)) found.set(address, i);
		}
	}
	return found;
}

class RingList {
	readonly el = h("div", { class: "rings" });
	private readonly groups: Map<string, number>;

	constructor(d: WhyData, rings: readonly Ring[]) {
		this.groups = groupsOf(d, rings);
	}

	show(rings: readonly Ring[], most = RINGS_SHOWN): void {
		if (rings.length === 0) {
			replace(this.el, empty("Nothing here matches the filter."));
			return;
		}
		replace(this.el, ...rings.slice(0, most).map((r) => this.ring(r)), rings.length > most
			? button(`Show ${fmt.count(rings.length - most)} more`, () => this.show(rings, rings.length), { class: "button quiet" }) : null);
	}

	private ring(r: Ring): HTMLElement {
		const steps = ringSteps(r);
		const first = stepText(steps[0]);
		const more = steps.length - MEMBERS_SHOWN;
		return h("section", { class: "ring" },
			h("h3", null, `Ring of ${fmt.count(r.members.length)} `, sureBadge(r.confidence, `deadlock, ${r.confidence}`)),
			r.doubt ? h("p", { class: "muted" }, `not proven: ${r.doubt}`) : null,
			h("ol", { class: "ring-steps" }, ...steps.slice(0, MEMBERS_SHOWN).map((s) => this.step(s)),
				more > 0 ? h("li", { class: "muted" }, `and ${fmt.count(more)} more`) : null,
				h("li", { class: "ring-end" }, h("span", { aria: { hidden: true } }, "↑ "), h("span", { class: "mono" }, first), ", the first one")));
	}

	private step(s: RingStep): HTMLElement {
		const group = this.groups.get(s.address);
		const name = h("span", { class: "mono" }, stepText(s));
		return h("li", { class: "ring-step" }, group === undefined ? name : h("a", { href: viewHref("groups", { group: String(group) }) }, name),
			h("div", { class: "ring-wait" }, h("span", { aria: { hidden: true } }, "↓ "), WAIT_WORDS[s.waits] ?? `waits for ${s.waits}, held by`));
	}
}

export function ringsPart(d: WhyData, rings: readonly Ring[]): PagePart {
	const list = new RingList(d, rings);
	const box = panel("Rings");
	box.el.id = "rings";
	box.body.append(h("p", { class: "muted" }, "Each coroutine waits for what the next one holds, the last one for the first: none of them can continue."), list.el);
	const filter = (words: readonly string[]) => {
		const left = words.length === 0 ? rings : rings.filter((r) => matches(words, ringText(r)));
		setText(box.note, shownOf(left.length, rings.length));
		list.show(left);
	};
	return { view: "rings", label: "Rings", el: box.el, filter };
}
