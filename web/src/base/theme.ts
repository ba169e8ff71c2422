// SPDX-License-Identifier: MIT
// theme.ts - light or dark: the setting of the system until the reader selects one.

export type Theme = "auto" | "light" | "dark";

const KEY = "corotracer-theme";
const listeners = new Set<() => void>();

// Storage may be unavailable (file://, private windows): the choice then lasts as long as the page.
function stored(): Theme {
	try {
		const value = localStorage.getItem(KEY);
		return value === "light" || value === "dark" ? value : "auto";
	} catch {
		return "auto";
	}
}

let current: Theme = "auto";

export function theme(): Theme {
	return current;
}

let printing = false;

// Printed pages are always light, and have no later frame to draw in.
export function isPrinting(): boolean {
	return printing;
}

export function isDark(): boolean {
	if (printing) return false;
	return current === "dark" || (current === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
}

export function setTheme(next: Theme): void {
	current = next;
	try {
		if (next === "auto") localStorage.removeItem(KEY);
		else localStorage.setItem(KEY, next);
	} catch {
		// as above
	}
	apply();
}

function apply(): void {
	document.documentElement.dataset.theme = isDark() ? "dark" : "light";
	for (const fn of listeners) fn();
}

export function onTheme(fn: () => void): () => void {
	listeners.add(fn);
	return () => listeners.delete(fn);
}

export function startTheme(): void {
	current = stored();
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
	for (const name of ["beforeprint", "afterprint"]) {
		addEventListener(name, () => {
			printing = name === "beforeprint";
			apply();
		});
	}
	apply();
}

// A colour of the style sheet, for canvases.
export function colour(name: string): string {
	return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
