// SPDX-License-Identifier: MIT
// delay.ts - how long ago the moment was that a live page shows.
//
// A text of the server has its clock of the moment when it was made. The text that took the shortest way gives the
// difference of both clocks, at most as much too small as that way was long; from then on the page's own clock goes on.

export class Delay {
	private difference = Infinity; // page minus server, ns

	// @clock: of the server, @now: of the page, both ns.
	note(clock: number, now: number): void {
		this.difference = Math.min(this.difference, now - clock);
	}

	// ns between @end, a time of the server, and now; 0: not known.
	behind(end: number, now: number): number {
		return Number.isFinite(this.difference) ? Math.max(0, now - this.difference - end) : 0;
	}
}

export type Badge = "none" | "live" | "behind" | "silent" | "paused" | "rereads" | "ended" | "killed" | "lost";

export interface Stream {
	clock: number;
	left_out: number;
	left_out_wakes: number;
	left_out_ns: number;
	rereads: boolean;
	collector_known: boolean;
	silent_ns: number;
	lost: number;
}

// From here on the page is not "live" any more: the events of the moment are not on it.
export const BEHIND_NS = 3e9;

// What is true of the page now.
export function badgeOf(live: string, stream: Stream | null | undefined, isShort: boolean, behind: number): Badge {
	if (live === "ended") return isShort ? "killed" : "ended";
	if (live !== "live") return live as Badge;
	if (stream?.rereads) return "rereads";
	if (stream && stream.silent_ns > 0) return "silent";
	return behind >= BEHIND_NS ? "behind" : "live";
}
