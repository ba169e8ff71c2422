// SPDX-License-Identifier: MIT
// place.ts - what a program calls its things, fit to be shown: in few letters, and nothing hidden in it.

const SHORT: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

// Characters that act instead of showing (controls, and those that turn the direction of text) are spelled out.
export function visible(text: string): string {
	return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g,
		(c) => SHORT[c] ?? `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

// "Task<> ns::serve(Server*, Fd)" is "ns::serve"; what is in <> or () is left out.
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
