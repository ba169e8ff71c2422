// SPDX-License-Identifier: MIT
// keys.ts - keys that hold in every view, and the list of all keys.

import { button, h } from "../base/dom.ts";

export interface Keys {
	search(): void;            // to the search field
	view(nr: number): void;    // to a view, by its place in the list
}

const LIST: readonly (readonly [string, string])[] = [
	["/", "search"],
	["1 to 9", "the views, in their order"],
	["?", "this list"],
	["Esc", "close this list; leave the search field"],
	["+ and -", "timeline: zoom in and out; 0 shows all"],
	["← and →", "timeline: move; in the list of views: the next one"],
	["↑ and ↓", "timeline: choose a lane; tables: choose a row"],
	[", and .", "timeline: to the slice before and after; await tree: to the change before and after"],
	["b and w", "timeline, await tree, coroutine: to what woke the slice, to the first that it woke"],
	["Backspace", "back, from a wake that was followed"],
	["f and shift-f", "timeline: to the next frame and the one before"],
	["n", "timeline: write a note about what is chosen or visible"],
	["p", "timeline: pin the chosen row above the others, or unpin it"],
	["Enter", "open what is chosen; a group: its rows"],
	["Del", "in the list of views: close a coroutine"],
];

function isTyping(target: EventTarget | null): boolean {
	return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

class KeyList {
	private readonly el: HTMLDialogElement;

	constructor() {
		const rows = LIST.flatMap(([key, what]) => [h("dt", null, h("kbd", null, key)), h("dd", null, what)]);
		this.el = h("dialog", { class: "keys", aria: { label: "Keys" } }, h("h2", null, "Keys"), h("dl", null, ...rows),
			button("Close", () => this.el.close()));
		document.body.append(this.el);
	}

	show(): void {
		if (!this.el.open) this.el.showModal();
	}
}

export function listenToKeys(keys: Keys): void {
	let list: KeyList | null = null;
	document.addEventListener("keydown", (ev) => {
		if (ev.ctrlKey || ev.metaKey || ev.altKey || ev.defaultPrevented) return;
		if (isTyping(ev.target)) {
			if (ev.key === "Escape") (ev.target as HTMLElement).blur();
			return;
		}
		if (ev.key === "?") (list ??= new KeyList()).show();
		else if (ev.key === "/") keys.search();
		else if (ev.key >= "1" && ev.key <= "9") keys.view(Number(ev.key) - 1);
		else return;
		ev.preventDefault();
	});
}
