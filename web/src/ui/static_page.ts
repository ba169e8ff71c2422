// SPDX-License-Identifier: MIT
// static_page.ts - a page whose data is one JSON object in its file: start it, or say why it cannot.

import { h } from "../base/dom.ts";
import { parseJson } from "../base/json.ts";
import { startTheme } from "../base/theme.ts";
import { sectionText, unpack } from "../data/raw.ts";

export const OLD_BROWSER = "Open it with a browser of 2023 or later: Chromium 80, Firefox 113, Safari 16.4.";

export function showFailure(title: string, error: Error, hint: string): void {
	document.getElementById("app")?.replaceChildren(h("div", { class: "failure", role: "alert" },
		h("h2", null, title), h("p", null, error.message), h("p", { class: "muted" }, hint)));
}

// @command: the command that makes such a page.
export async function startStaticPage<T>(command: string, build: (root: HTMLElement, data: T) => void): Promise<void> {
	try {
		startTheme();
		const text = new TextDecoder().decode(await unpack("data", sectionText("data")));
		build(document.getElementById("app")!, parseJson(text) as T);
		document.documentElement.dataset.ready = "true";
	} catch (e) {
		const error = e instanceof Error ? e : new Error(String(e));
		showFailure("The page cannot be shown", error, error.name === "OldBrowserError" ? OLD_BROWSER :
			`The file is cut short or was changed. Create it again with ${command}.`);
	}
}
