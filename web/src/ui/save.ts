// SPDX-License-Identifier: MIT
// save.ts - copy to the clipboard, save to a file, and confirm it.

import { button, h } from "../base/dom.ts";
import { toCsv, type Cell } from "../base/csv.ts";
import { plural } from "../base/format.ts";

export interface Sheet {
	name: string;
	head: readonly string[];
	rows: readonly (readonly Cell[])[];
}

export type SheetMaker = () => Sheet | Promise<Sheet>;

let toastTimer = 0;

export function toast(text: string): void {
	document.querySelector(".toast")?.remove();
	document.body.append(h("div", { class: "toast", role: "status" }, text));
	clearTimeout(toastTimer);
	toastTimer = window.setTimeout(() => document.querySelector(".toast")?.remove(), 3500);
}

export function saveBlob(name: string, blob: Blob): void {
	const url = URL.createObjectURL(blob);
	const a = document.createElement("a");
	a.href = url;
	a.download = name;
	document.body.append(a);
	a.click();
	a.remove();
	setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// Pages from a file have no clipboard API in some browsers: use execCommand there.
export async function copyText(text: string): Promise<boolean> {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		const area = document.createElement("textarea");
		area.value = text;
		area.className = "sr";
		document.body.append(area);
		area.select();
		const done = document.execCommand("copy");
		area.remove();
		return done;
	}
}

async function copySheet(make: SheetMaker): Promise<void> {
	const sheet = await make();
	const done = await copyText(toCsv(sheet.head, sheet.rows));
	toast(done ? `Copied ${plural(sheet.rows.length, "row")} as CSV` : "The browser did not let the page copy; use CSV");
}

async function saveSheet(make: SheetMaker): Promise<void> {
	const sheet = await make();
	const text = toCsv(sheet.head, sheet.rows);
	saveBlob(`${sheet.name}.csv`, new Blob([text], { type: "text/csv;charset=utf-8" }));
	toast(`Saved ${plural(sheet.rows.length, "row")} to ${sheet.name}.csv`);
}

export function sheetButtons(what: string, make: SheetMaker): HTMLElement {
	return h("span", { class: "panel-tools" },
		button("Copy", () => void copySheet(make), { class: "button quiet", aria: { label: `Copy ${what} as CSV` } }),
		button("CSV", () => void saveSheet(make), { class: "button quiet", aria: { label: `Save ${what} as CSV` } }));
}
