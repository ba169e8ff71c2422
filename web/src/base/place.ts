// SPDX-License-Identifier: MIT
// place.ts - names of a program, for display: short, and without hidden characters.

const SHORT: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

// Characters that are not displayed: controls, and those that reorder or hide the text around them.
// The same as in src/base/text.c.
export const UNSAFE =
	/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

// Spells out unsafe characters.
export function visible(text: string): string {
	return text.replace(UNSAFE, (c) => SHORT[c] ?? `\\u${c.codePointAt(0)!.toString(16).padStart(4, "0")}`);
}

// "Task<> ns::serve(Server*, Fd)" becomes "ns::serve"; the content of <> and () is omitted.
export function shortFunction(text: string): string {
	let depth = 0;
	let out = "";
	for (const ch of text.replace(/operator\(\)/g, "operator")) {
		if (ch === "(" && depth === 0 && /\w/.test(out.trim().slice(-1))) break;
		if (ch === "<" || ch === "(" || ch === "{" || ch === "[") depth++;
		else if ((ch === ">" || ch === ")" || ch === "}" || ch === "]") && depth > 0) depth--;
		else if (depth === 0) out += ch;
	}
	const words = out.trim().split(/\s+/);
	return words[words.length - 1] || text;
}

export interface PlaceParts {
	text: string;
	file?: string | null;
	line?: number | null;
	function?: string | null;
}

export function shortPlace(p: PlaceParts): string {
	if (!p.file) return p.text;
	const file = p.file.split("/").pop() || p.file;
	return `${file}${p.line ? `:${p.line}` : ""}${p.function ? ` ${shortFunction(p.function)}` : ""}`;
}
