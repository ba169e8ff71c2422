// SPDX-License-Identifier: MIT
// dom.ts - creates DOM elements. Strings of a trace arrive here as text and stay text.

import { UNSAFE, visible } from "./place.ts";

// Text for people.  Characters that would change the text around them are spelled out; line ends of
// the page itself stay.
export function shown(text: string): string {
	return text.replace(UNSAFE, (c) => (c === "\n" || c === "\t" ? c : visible(c)));
}

type Child = Node | string | number | null | undefined | false;

interface Props {
	class?: string;
	id?: string;
	title?: string;
	role?: string;
	type?: string;
	href?: string;
	tabindex?: number;
	hidden?: boolean;
	disabled?: boolean;
	text?: string;
	aria?: Record<string, string | number | boolean>;
	data?: Record<string, string>;
	on?: { [K in keyof HTMLElementEventMap]?: (ev: HTMLElementEventMap[K]) => void };
}

export function append(parent: Node, children: readonly Child[]): void {
	for (const child of children) {
		if (child === null || child === undefined || child === false)
			continue;
		parent.appendChild(child instanceof Node ? child : document.createTextNode(typeof child === "string" ? shown(child) : String(child)));
	}
}

function setPlain(el: HTMLElement, props: Props): void {
	if (props.class) el.className = props.class;
	if (props.text !== undefined) el.textContent = shown(props.text);
	if (props.hidden) el.hidden = true;
	for (const name of ["id", "title", "role", "type", "tabindex"] as const) {
		const value = props[name];
		if (value !== undefined) el.setAttribute(name, name === "title" ? shown(String(value)) : String(value));
	}
	// Only links within this page: a trace cannot set the target of a link.
	if (props.href !== undefined && props.href.startsWith("#")) el.setAttribute("href", props.href);
	if (props.disabled) el.setAttribute("disabled", "");
}

export function h<K extends keyof HTMLElementTagNameMap>(
	tag: K, props: Props | null, ...children: Child[]
): HTMLElementTagNameMap[K] {
	const el = document.createElement(tag);
	if (props) {
		setPlain(el, props);
		for (const [key, value] of Object.entries(props.aria ?? {}))
			el.setAttribute(`aria-${key}`, String(value));
		for (const [key, value] of Object.entries(props.data ?? {})) el.dataset[key] = value;
		for (const [key, fn] of Object.entries(props.on ?? {}))
			el.addEventListener(key, fn as EventListener);
	}
	append(el, children);
	return el;
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag: string, attrs: Record<string, string | number>, ...children: Node[]): SVGElement {
	const el = document.createElementNS(SVG, tag);
	for (const [key, value] of Object.entries(attrs)) el.setAttribute(key, String(value));
	for (const child of children) el.appendChild(child);
	return el;
}

export function replace(parent: Element, ...children: Child[]): void {
	parent.replaceChildren();
	append(parent, children);
}

// Writes only what differs: no new layout, and the selection stays.
export function setText(el: Element, text: string): void {
	const safe = shown(text);
	if (el.textContent !== safe) el.textContent = safe;
}

export function button(label: string, onClick: () => void, props: Props = {}): HTMLButtonElement {
	return h("button", { type: "button", class: "button", ...props, on: { click: onClick, ...props.on } }, label);
}

let ids = 0;

export function freshId(stem: string): string {
	ids++;
	return `${stem}-${ids}`;
}
