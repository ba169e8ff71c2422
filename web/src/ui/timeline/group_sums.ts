// SPDX-License-Identifier: MIT
// group_sums.ts - sums of groups in the selected window: requested one at a time, and put into the groups.

import type { Range } from "../../base/selection.ts";
import type { Trace } from "../../trace.ts";
import type { RowGroup, RowRequest } from "../../worker/rows.ts";
import type { WindowSums } from "../../worker/window_sums.ts";

const NONE = { ran: 0, ready: 0, waited: 0, unknown: 0 };
const choiceOf = (q: RowRequest): string => JSON.stringify([q.filter, q.group]);

export class GroupSums {
	private readonly trace: Trace;
	private readonly changed: (error?: Error) => void;
	private wanted: RowRequest | null = null;
	private known: { choice: string; sums: WindowSums } | null = null;
	private busy = false;

	// @changed: other sums are known.
	constructor(trace: Trace, changed: (error?: Error) => void) {
		[this.trace, this.changed] = [trace, changed];
	}

	// @range: the selected window; null: the whole run.
	ask(q: RowRequest, range: Range | null): void {
		this.wanted = range && q.group !== "" ? { ...q, ...range } : null;
		if (this.known && (!this.wanted || this.known.choice !== choiceOf(q))) {
			this.known = null;
			this.changed();
		}
		if (this.wanted && !this.busy) void this.run();
	}

	// The groups with the sums that are known, and the window of these; null: the whole run.
	into(groups: readonly RowGroup[]): { groups: readonly RowGroup[]; of: Range | null } {
		if (!this.known) return { groups, of: null };
		const { byKey, from, to } = this.known.sums;
		return { groups: groups.map((g) => ({ ...g, ...(byKey.get(g.key) ?? NONE) })), of: { from, to } };
	}

	private async run(): Promise<void> {
		this.busy = true;
		while (this.wanted) {
			const q: RowRequest = this.wanted;
			try {
				const sums = await this.trace.engine.call<WindowSums>("windowsums", [q]);
				if (this.wanted) this.known = { choice: choiceOf(q), sums };
				if (this.wanted === q) this.wanted = null;
				this.changed();
			} catch (e) {
				[this.wanted, this.known] = [null, null];
				this.changed(e as Error);
			}
		}
		this.busy = false;
	}
}
