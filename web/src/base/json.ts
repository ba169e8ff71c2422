// SPDX-License-Identifier: MIT
// json.ts - JSON whose integers may have 64 bits: those that a double cannot hold become strings.

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

export function parseJson(text: string): unknown {
	if (!/\d{16}/.test(text)) return JSON.parse(text);
	return JSON.parse(text.replace(TOKEN, (token) => {
		if (token.length < 16 || token.startsWith('"') || !/^-?\d+$/.test(token)) return token;
		return Number.isSafeInteger(Number(token)) ? token : `"${token}"`;
	}));
}
