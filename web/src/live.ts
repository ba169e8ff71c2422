// SPDX-License-Identifier: MIT
// live.ts - updates from the server, one after another, and messages when they stop; pause and resume.

import { parseJson } from "./base/json.ts";
import { pageBase } from "./base/route.ts";
import type { Delta } from "./data/types.ts";
import type { Trace } from "./trace.ts";

// Updates that wait: with more, the page is too slow, and asks for all of them in one.
const WAITING_MAX = 3;

export class LiveFeed {
	private readonly trace: Trace;
	private source: EventSource | null = null;
	private queue: Promise<void> = Promise.resolve();
	private waiting = 0;
	private tries = 0;
	private retry = 0;
	private isPaused = false; // as the user wants it; the page says so when the last update is shown

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

	// The page stays as it is; what happens meanwhile comes with the first update afterwards.
	setPaused(isPaused: boolean): void {
		if (isPaused === this.isPaused) return;
		this.isPaused = isPaused;
		clearTimeout(this.retry);
		if (isPaused) this.stop("paused");
		else this.startAgain();
	}

	// In their order; a delta that cannot be parsed is skipped.
	private take(text: string): void {
		if (!text || text === "{}") return;
		const delta = parseJson(text) as Delta;
		this.trace.noteClock(delta);
		this.waiting++;
		this.queue = this.queue.then(() => this.trace.apply(delta)).catch(() => {}).then(() => {
			this.waiting--;
		});
		if (this.waiting > WAITING_MAX) this.catchUp();
	}

	// Each update describes the changes since the last one: a new stream has them in one.
	private catchUp(): void {
		const source = this.source;
		if (!source) return;
		source.close();
		this.source = null;
		this.startAgain();
	}

	// After the updates that wait, unless the page was paused or started meanwhile.
	private startAgain(): void {
		void this.queue.then(() => {
			if (!this.isPaused && !this.source) this.start();
		});
	}

	private stop(state: "ended" | "lost" | "paused"): void {
		this.source?.close();
		this.source = null;
		void this.queue.then(() => this.trace.setLive(state));
	}

	// Reconnects by itself: the tick from which updates are needed has changed.
	private lost(): void {
		this.stop("lost");
		this.tries++;
		const delay = Math.min(10_000, 500 * 2 ** Math.min(5, this.tries));
		this.retry = window.setTimeout(() => this.start(), delay);
	}
}
