// SPDX-License-Identifier: MIT
// raw.ts - sections as bytes: out of the file that the page is in, or from its server.

export class OldBrowserError extends Error {
	override name = "OldBrowserError";
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
	const native = (Uint8Array as unknown as { fromBase64?: (s: string) => Uint8Array<ArrayBuffer> }).fromBase64;
	if (native) return native(text);
	const binary = atob(text);
	const out = new Uint8Array(binary.length);
	for (let i = 0; i < binary.length; i++) out[i] = binary.charCodeAt(i);
	return out;
}

export async function gunzip(bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
	if (typeof DecompressionStream === "undefined")
		throw new OldBrowserError("this browser cannot unpack gzip (DecompressionStream is missing)");
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
	return new Response(stream).arrayBuffer();
}

// The text of a section in the page's file; null: there is none.
export function sectionText(name: string): string | null {
	return document.getElementById(`ct-${name.replaceAll("/", "-")}`)?.textContent ?? null;
}

// @text: the content of the section's element.
export async function unpack(name: string, text: string | null): Promise<ArrayBuffer> {
	if (text === null) throw new Error(`section ${name} is missing from the file`);
	try {
		return await gunzip(fromBase64(text.trim()));
	} catch (e) {
		if (e instanceof OldBrowserError) throw e;
		throw new Error(`section ${name} is damaged: it cannot be unpacked`);
	}
}

// @base: the page's address, up to and including the last slash.
export async function download(base: string, name: string): Promise<ArrayBuffer> {
	const answer = await fetch(`${base}api/${name}`, { cache: "no-store" });
	if (!answer.ok) throw new Error(`the server answered ${answer.status} to a request for ${name}`);
	return answer.arrayBuffer();
}
