// SPDX-License-Identifier: MIT
// selection_sums.ts - asks for the sums of a selection, once for each selection and never two at a time.

import type { Params } from "../base/route.ts";
import { numberIn, rangeOf, sharedOf } from "../base/selection.ts";
import type { Sums, SumRequest } from "../worker/sums.ts";
import { isAll, selectedCoros } from "./selection_bar.ts";
import type { Context } from "./view.ts";

export class SelectionSums {
	private readonly ctx: Context;
	private readonly columns: number;
	private readonly take: (sums: Sums | null, error?: Error) => void;
	private readonly whole: boolean;
	private readonly progress: (done: number, of: number) => void;
	private asked = "";
	private wanted: Params | null = null;
	private busy = false;
	private sums: Sums | null = null;

	// @whole: also if nothing is selected; otherwise @take gets null then.
	constructor(ctx: Context, columns: number, take: (sums: Sums | null, error?: Error) => void, whole = false,
		progress: (done: number, of: number) => void = () => {}) {
		this.ctx = ctx;
		this.columns = columns;
		this.take = take;
		this.whole = whole;
		this.progress = progress;
	}

	hasSite(site: number): boolean {
		return this.sums?.sites.some((s) => s.site === site && s.waiting + s.ready > 0) ?? false;
	}

	// @again: the trace has grown.
	ask(params: Params, again = false): void {
		const shared = sharedOf(params);
		const key = JSON.stringify(shared);
		if ((key === this.asked && !again) || !this.ctx.trace.complete) return;
		this.asked = key;
		if (!this.whole && Object.keys(shared).length === 0) {
			this.wanted = null;
			this.sums = null;
			this.take(null);
			return;
		}
		this.wanted = shared;
		if (!this.busy) void this.run();
	}

	private async run(): Promise<void> {
		this.busy = true;
		while (this.wanted) {
			const shared: Params = this.wanted;
			this.wanted = null;
			const range = rangeOf(shared) ?? { from: 0, to: this.ctx.trace.now };
			const request: SumRequest = { rows: null, ...range, site: numberIn(shared, "site"), columns: this.columns };
			// The site chooses waits, not coroutines.
			const filter = { ...selectedCoros(this.ctx, shared), site: -1 };
			try {
				const sums = await this.ctx.trace.engine.call<Sums>("sums", [request, isAll(filter) ? null : filter], this.progress);
				if (this.wanted) continue;
				this.sums = sums;
				this.take(sums);
			} catch (e) {
				this.take(null, e as Error);
			}
		}
		this.busy = false;
	}
}
