// SPDX-License-Identifier: MIT
// main.ts - starts the page, and shows a message if it cannot.

import { startTheme } from "./base/theme.ts";
import { App } from "./app.ts";
import { LiveFeed } from "./live.ts";
import { Trace } from "./trace.ts";
import { OLD_BROWSER, showFailure } from "./ui/static_page.ts";
import { isServed, startEngine } from "./worker/client.ts";

const HINTS: Record<string, string> = {
	OldBrowserError: OLD_BROWSER,
	DamagedError: "The file is cut short or was changed. Create it again with corotracer html.",
};

function fail(error: unknown): void {
	const e = error instanceof Error ? error : new Error(String(error));
	const hint = HINTS[e.name] ?? (isServed()
		? "Is corotracer serve still running? A file of its own is made by corotracer html."
		: "The file may be cut short. Create it again with corotracer html.");
	showFailure("The trace cannot be shown", e, hint);
}

async function start(): Promise<void> {
	startTheme();
	const trace = new Trace(startEngine());
	await trace.loadHead();
	const app = new App(document.getElementById("app")!, trace);
	await trace.loadRest();
	document.documentElement.dataset.ready = "true";
	if (isServed() && trace.meta.live) app.setFeed(new LiveFeed(trace));
}

start().catch(fail);
