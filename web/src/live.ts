// SPDX-License-Identifier: MIT
// live.ts - updates from the server, one after another, and messages when they stop.

import { parseJson } from "./base/json.ts";
import type { Delta } from "./data/types.ts";
import type { Trace } from "./trace.ts";
import { pageBase } from "./worker/client.ts";

export class LiveFeed {
	private readonly trace: Trace;
	private source: EventSource | null = null;
	private queue: Promise<void> = Promise.resolve();
	private tries = 0;

	constructor(trace: Trace) {
		this.trace = trace;
	}

	start(): void {
		const url = `${pageBase()}api/live?since=${this.trace.meta.tick ?? 0}`;
		const source = new EventSource(url);
		this.source = source;
		source.addEventListener("open", () => {
			this.tries = 0;
			this.trace.setLive("live");
		});
		source.addEventListener("message", (ev) => this.take(ev.data as string));
		source.addEventListener("ended", (ev) => {
			this.take((ev as MessageEvent<string>).data);
			this.stop("ended");
		});
		source.addEventListener("error", () => this.lost());
	}

	// In their order; a delta that cannot be parsed is skipped.
	private take(text: string): void {
		if (!text || text === "{}") return;
		this.queue = this.queue.then(() => this.trace.apply(parseJson(text) as Delta)).catch(() => {});
	}

	private stop(state: "ended" | "lost"): void {
		this.source?.close();
		this.source = null;
		void this.queue.then(() => this.trace.setLive(state));
	}

	// Reconnects by itself: the tick from which updates are needed has changed.
	private lost(): void {
		this.stop("lost");
		this.tries++;
		const delay = Math.min(10_000, 500 * 2 ** Math.min(5, this.tries));
		setTimeout(() => this.start(), delay);
	}
}
