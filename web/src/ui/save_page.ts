// SPDX-License-Identifier: MIT
// save_page.ts - the page as a new file: as the tool wrote it, with the notes of the reader in it.
//
// Only elements that the tool wrote are copied, with their text as it is; what the script has drawn is not.

import type { NotesFile } from "../data/notes.ts";

const SECTION = 'script[type="application/octet-stream"][id^="ct-"]';

async function gzip(text: string): Promise<Uint8Array> {
	const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

function toBase64(bytes: Uint8Array): string {
	let binary = "";
	for (let i = 0; i < bytes.length; i += 8192) binary += String.fromCharCode(...bytes.subarray(i, i + 8192));
	return btoa(binary);
}

// Written this way, the script does not contain the begin of a section itself.
const section = (name: string, text: string): string[] => [`<script type="application/octet-stream" id="${name}">`, text, "</script>\n"];

export async function noteSection(file: NotesFile): Promise<string> {
	return section("ct-notes", toBase64(await gzip(JSON.stringify(file)))).join("");
}

// The head as it was: the title is set by the script.
function headText(doc: Document): string {
	const head = doc.head.cloneNode(true) as HTMLHeadElement;
	const title = head.querySelector("title");
	if (title) title.textContent = "corotracer";
	return head.outerHTML;
}

// In parts: a page may have 40 MB.
export async function pageParts(doc: Document, file: NotesFile): Promise<string[]> {
	const script = doc.querySelector("body > script:not([type])");
	if (!script) throw new Error("the page has no script of its own");
	const sections = [...doc.querySelectorAll(SECTION)].filter((el) => el.id !== "ct-notes");
	return [
		'<!doctype html>\n<html lang="en" data-theme="light">\n', headText(doc), "\n<body>\n",
		doc.querySelector(".skip")?.outerHTML ?? "", '\n<div id="app"><p class="boot" role="status">Reading the trace…</p></div>\n',
		doc.querySelector("body > noscript")?.outerHTML ?? "", "\n", file.notes.length > 0 ? await noteSection(file) : "",
		...sections.flatMap((el) => section(el.id, el.textContent ?? "")),
		"\n<script>", script.textContent ?? "", "</script>\n</body>\n</html>\n",
	];
}

export async function pageWithNotes(file: NotesFile): Promise<Blob> {
	return new Blob(await pageParts(document, file), { type: "text/html;charset=utf-8" });
}
