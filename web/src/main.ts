// SPDX-License-Identifier: MIT
// main.ts - starts the page, and shows a message if it cannot.

import { h } from "./base/dom.ts";
import { startTheme } from "./base/theme.ts";
import { App } from "./app.ts";
import { LiveFeed } from "./live.ts";
import { Trace } from "./trace.ts";
import { isServed, startEngine } from "./worker/client.ts";

const HINTS: Record<string, string> = {
	OldBrowserError: "Open it with a browser of 2023 or later: Chromium 80, Firefox 113, Safari 16.4.",
	DamagedError: "The file is cut short or was changed. Create it again with corotracer html.",
};

function fail(error: unknown): void {
	const e = error instanceof Error ? error : new Error(String(error));
	const hint = HINTS[e.name] ?? (isServed()
		? "Is corotracer serve still running? A file of its own is made by corotracer html."
		: "The file may be cut short. Create it again with corotracer html.");
	document.getElementById("app")?.replaceChildren(h("div", { class: "failure", role: "alert" },
		h("h2", null, "The trace cannot be shown"), h("p", null, e.message), h("p", { class: "muted" }, hint)));
}

async function start(): Promise<void> {
	startTheme();
	const trace = new Trace(startEngine());
	await trace.loadHead();
	new App(document.getElementById("app")!, trace);
	await trace.loadRest();
	document.documentElement.dataset.ready = "true";
	if (isServed() && trace.meta.live) new LiveFeed(trace).start();
}

start().catch(fail);
