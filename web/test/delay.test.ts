// SPDX-License-Identifier: MIT
import { test } from "node:test";
import assert from "node:assert/strict";
import { badgeOf, BEHIND_NS, Delay, type Stream } from "../src/data/delay.ts";

const stream = (change: Partial<Stream> = {}): Stream =>
	({ clock: 0, left_out: 0, left_out_wakes: 0, left_out_ns: 0, rereads: false, collector_known: true, silent_ns: 0, lost: 0, ...change });

test("the delay goes on between two updates, and a late update does not make it smaller", () => {
	const d = new Delay();
	assert.equal(d.behind(100, 5000), 0, "without a text of the server");
	d.note(1000, 51_000);                   // the page's clock is 50,000 ahead
	assert.equal(d.behind(900, 51_000), 100);
	assert.equal(d.behind(900, 51_700), 800);
	d.note(2000, 59_000);                   // 7,000 on its way
	assert.equal(d.behind(1900, 59_000), 7100);
	d.note(3000, 52_999);                   // a shorter way than the first
	assert.equal(d.behind(3000, 52_999), 0);
	assert.equal(d.behind(9000, 52_999), 0, "never negative");
});

test("live is only said of a page that is", () => {
	assert.equal(badgeOf("live", stream(), false, 0), "live");
	assert.equal(badgeOf("live", stream(), false, BEHIND_NS), "behind");
	assert.equal(badgeOf("live", stream({ silent_ns: 1 }), false, 0), "silent");
	assert.equal(badgeOf("live", stream({ rereads: true, silent_ns: 1 }), false, 9e9), "rereads");
	assert.equal(badgeOf("live", null, false, 0), "live");
	assert.equal(badgeOf("ended", null, false, 9e9), "ended");
	assert.equal(badgeOf("ended", null, true, 0), "killed");
	for (const state of ["none", "paused", "lost"]) assert.equal(badgeOf(state, stream({ silent_ns: 1 }), true, 9e9), state);
});
