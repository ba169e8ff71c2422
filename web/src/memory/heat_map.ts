// SPDX-License-Identifier: MIT
// heat_map.ts - draws the cache lines of a type; each field shows its figures to the pointer and to the keyboard.

import { h } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { Tip } from "../ui/parts.ts";
import { HEATS, heat, layoutMap, type Block } from "./layout_map.ts";
import type { Field, Owner } from "./types.ts";

const tip = new Tip();

function figures(f: Field, levels: readonly string[]): [string, string][] {
	return [
		["type", f.type ?? ""], ["offset", fmt.count(f.offset ?? 0)], ["bytes", fmt.count(f.size ?? 0)],
		["reads", fmt.count(f.reads)], ["writes", fmt.count(f.writes)],
		...levels.map((name, i): [string, string] => [`${name} misses`, fmt.count(f.misses[i])]),
		...(f.false_sharing > 0 ? [["falsely shared", fmt.count(f.false_sharing)] as [string, string]] : []),
	];
}

function block(b: Block, most: number, levels: readonly string[]): HTMLElement {
	const { field } = b;
	const pairs = figures(field, levels);
	const show = (x: number, y: number) => tip.show(x, y, field.name, pairs);
	const el = h("div", {
		class: `heat-block h${heat(field.cost, most)}`, tabindex: 0, role: "img",
		aria: { label: `${field.name}: ${pairs.map(([k, v]) => `${k} ${v}`).join(", ")}` },
		on: {
			pointermove: (ev) => show(ev.clientX, ev.clientY), pointerleave: () => tip.hide(), blur: () => tip.hide(),
			focus: () => {
				const box = el.getBoundingClientRect();
				show(box.left, box.bottom - 12);
			},
		},
	}, field.name);
	el.style.left = `${100 * b.from}%`;
	el.style.width = `${100 * b.width}%`;
	return el;
}

export function heatMap(owner: Owner, line: number, levels: readonly string[]): HTMLElement {
	const map = layoutMap(owner.layout!.bytes, line, owner.fields);
	const most = Math.max(0, ...owner.fields.filter((f) => f.offset !== undefined).map((f) => f.cost));
	return h("div", { class: "heat-map" },
		...map.rows.map((row) => h("div", { class: "heat-row" }, h("span", { class: "muted" }, fmt.count(row.offset)),
			h("div", { class: "heat-track" }, ...row.blocks.map((b) => block(b, most, levels))))),
		map.hidden > 0 ? h("p", { class: "muted" }, `${fmt.plural(map.hidden, "more line")} of long fields`) : null);
}

export function heatKey(): HTMLElement {
	const steps = Array.from({ length: HEATS + 1 }, (_, i) => h("i", { class: `h${i}` }));
	return h("p", { class: "heat-key muted", aria: { hidden: true } }, h("span", null, "no misses"), ...steps,
		h("span", null, "most of the type (each step twice the one before); hatched: padding"));
}
