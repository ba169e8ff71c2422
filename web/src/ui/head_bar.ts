// SPDX-License-Identifier: MIT
// head_bar.ts - the head of every page: name, facts, colours, print.

import { button, h } from "../base/dom.ts";
import { setTheme, theme, type Theme } from "../base/theme.ts";

const THEMES: Record<Theme, { next: Theme; label: string; icon: string }> = {
	auto: { next: "light", label: "Colours: as the system", icon: "◐" },
	light: { next: "dark", label: "Colours: light", icon: "○" },
	dark: { next: "auto", label: "Colours: dark", icon: "●" },
};

function themeButton(): HTMLElement {
	const el = button("", () => {
		setTheme(THEMES[theme()].next);
		show();
	}, { class: "button quiet" });
	const show = () => {
		const t = THEMES[theme()];
		el.textContent = t.icon;
		el.title = t.label;
		el.setAttribute("aria-label", `${t.label}. Change`);
	};
	show();
	return el;
}

// @more: before the buttons at the end.
export function headBar(name: HTMLElement, facts: HTMLElement, ...more: HTMLElement[]): HTMLElement {
	return h("header", { class: "head" },
		h("div", { class: "brand" }, h("span", { class: "product" }, "corotracer"), name), facts,
		h("div", { class: "head-end" }, ...more, themeButton(),
			button("Print", () => window.print(), { class: "button quiet print", title: "Print this view" })));
}
