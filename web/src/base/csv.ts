// SPDX-License-Identifier: MIT
// csv.ts - tables as text for other programs: RFC 4180, and no formula that a spreadsheet would
// run.

export type Cell = string | number | bigint | boolean | null | undefined;

// Names come from programs: a text that begins like a formula gets a leading apostrophe, also after
// apostrophes, so that removing one apostrophe from such a text restores it.
function inert(text: string): string {
	return /^'*[=+\-@\t\r\n]/.test(text) ? `'${text}` : text;
}

function cell(value: Cell): string {
	if (value === null || value === undefined) return "";
	const text = typeof value === "string" ? inert(value) : String(value);
	return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

export function toCsv(head: readonly string[], rows: Iterable<readonly Cell[]>): string {
	const lines = [head.map(cell).join(",")];
	for (const row of rows) lines.push(row.map(cell).join(","));
	return `${lines.join("\r\n")}\r\n`;
}
