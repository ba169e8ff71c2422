// SPDX-License-Identifier: MIT
// place.ts - places in few letters: the file without its folders, the function without its types.

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
