// SPDX-License-Identifier: MIT
import { test } from "node:test";
import assert from "node:assert/strict";
import { LiveFeed } from "../src/live.ts";
import type { Trace } from "../src/trace.ts";

// The streams that were opened; the test sends their messages.
class Stream extends EventTarget {
	static all: Stream[] = [];
	isOpen = true;

	constructor() {
		super();
		Stream.all.push(this);
	}

	close(): void {
		this.isOpen = false;
	}

	send(nr: number): void {
		for (let i = 0; i < nr; i++) this.dispatchEvent(new MessageEvent("message", { data: '{"tick":1}' }));
	}

	static open(): number {
		return Stream.all.filter((s) => s.isOpen).length;
	}
}

// A page that is busy with its updates until done() is called.
function slowPage(): { trace: Trace; done: () => Promise<void> } {
	let finish = (): void => {};
	const busy = new Promise<void>((resolve) => (finish = resolve));
	const trace = {
		meta: { tick: 0 }, live: "none", noteClock: () => {}, apply: () => busy,
		setLive(state: string) {
			this.live = state;
		},
	};
	const done = async (): Promise<void> => {
		finish();
		await new Promise((later) => setTimeout(later, 5));
	};
	return { trace: trace as unknown as Trace, done };
}

function started(): { feed: LiveFeed; trace: Trace; done: () => Promise<void> } {
	Object.assign(globalThis, { EventSource: Stream, location: { href: "http://h/" } });
	Stream.all = [];
	const page = slowPage();
	const feed = new LiveFeed(page.trace);
	feed.start();
	Stream.all[0].dispatchEvent(new Event("open"));
	return { feed, ...page };
}

test("a page that is too slow asks for all updates in one stream", async () => {
	const { done } = started();
	Stream.all[0].send(5);
	assert.equal(Stream.open(), 0);
	await done();
	assert.deepEqual([Stream.all.length, Stream.open()], [2, 1]);
});

test("paused while it is behind, a page stays as it is until it is resumed", async () => {
	const { feed, trace, done } = started();
	Stream.all[0].send(5);
	feed.setPaused(true);
	await done();
	assert.deepEqual([trace.live, Stream.open()], ["paused", 0]);
	feed.setPaused(false);
	feed.setPaused(false);
	await done();
	assert.equal(Stream.open(), 1);
});
