// SPDX-License-Identifier: MIT
// lane_rows.ts - which lanes the timeline has: threads, or the coroutines of the selection in order and in groups.

import { h, setText } from "../../base/dom.ts";
import * as fmt from "../../base/format.ts";
import type { Params } from "../../base/route.ts";
import { rangeOf } from "../../base/selection.ts";
import type { CoroFilter, CoroOrder } from "../../worker/query.ts";
import type { RowGroup, RowRequest, Rows } from "../../worker/rows.ts";
import { isAll, selectedCoros } from "../selection_bar.ts";
import type { Context } from "../view.ts";
import { groupingOf, GroupTable, laneGroups, openGroups, rowGroupOf, toggledOpen } from "./group_rows.ts";
import { GroupSums } from "./group_sums.ts";
import type { Scene } from "./scene.ts";

export const ORDERS: Record<string, { label: string; order: CoroOrder }> = {
	first: { label: "in order of appearance", order: { key: "first", down: false } },
	longest: { label: "longest wait first", order: { key: "longest", down: true } },
	suspends: { label: "most suspends first", order: { key: "suspends", down: true } },
	active: { label: "active in this window first", order: { key: "active", down: true } },
};

export const SHOWS: Record<string, { label: string; filter: Partial<CoroFilter> }> = {
	all: { label: "all coroutines", filter: {} },
	alive: { label: "not ended", filter: { states: 0b11111 } },
	found: { label: "with findings", filter: { findings: -1 } },
};

export interface LaneRowsHost {
	params(): Params;
	set(change: Params): void;
	laid(lane: number): void;  // other lanes; this one is to be seen, if it is not -1
	drawn(): void;             // the same lanes, other sums
	failed(what: string): void;
}

export class LaneRows {
	readonly count = h("span", { class: "result", role: "status" });
	readonly table: GroupTable;
	private readonly ctx: Context;
	private readonly s: Scene;
	private readonly host: LaneRowsHost;
	private readonly sums: GroupSums;
	private groups: readonly RowGroup[] = []; // with the sums of the whole run
	private revealed = "";     // the coroutine that the view scrolled to

	constructor(ctx: Context, scene: Scene, host: LaneRowsHost) {
		[this.ctx, this.s, this.host] = [ctx, scene, host];
		this.table = new GroupTable(ctx.trace, (key) => this.toggle(key), (open) => host.set({ open: open ? "all" : "" }));
		this.sums = new GroupSums(ctx.trace, (error) => {
			this.showGroups();
			if (error) host.failed(`The sums of the window cannot be read: ${error.message}`);
			host.drawn();
		});
	}

	// The address names a coroutine: @id was seen already; "": the next one is scrolled to.
	noteRevealed(id: string): void {
		this.revealed = id;
	}

	async choose(): Promise<void> {
		const { trace } = this.ctx;
		const s = this.s;
		if (s.by === "thread") {
			this.take(null);
			const others = trace.meta.threads_of > trace.meta.threads.length ? 1 : 0;
			s.lanes = Array.from({ length: trace.meta.threads.length + others }, (_, i) => i);
			await this.chooseCoros();
			this.host.laid(-1);
		} else if (trace.complete) {
			const [asked, request] = [this.host.params(), this.request()];
			const rows = await trace.engine.call<Rows>("rows", [request]);
			const now = this.host.params();
			if (s.by !== "coroutine" || asked.group !== now.group || asked.open !== now.open || asked.order !== now.order) return;
			const key = s.lanes[s.selectedLane];
			s.lanes = Array.from(rows.lanes);
			s.selectedLane = key === undefined ? -1 : s.lanes.indexOf(key);
			this.take(rows);
			this.host.laid(this.laneFromParams());
			this.askSums();
		} else {
			this.host.laid(-1);
		}
	}

	private request(): RowRequest {
		const params = this.host.params();
		const filter = { ...selectedCoros(this.ctx, params), ...(SHOWS[params.show ?? "all"] ?? SHOWS.all).filter };
		const { order } = ORDERS[params.order ?? "first"] ?? ORDERS.first;
		return { filter, order, group: groupingOf(params), open: openGroups(params), from: this.s.view.from, to: this.s.view.to };
	}

	// After a change of the window.
	askSums(): void {
		if (this.s.by === "coroutine" && this.ctx.trace.complete) this.sums.ask(this.request(), rangeOf(this.host.params()));
	}

	private take(rows: Rows | null): void {
		const by = rows ? groupingOf(this.host.params()) : "";
		this.groups = rows?.groups ?? [];
		this.showGroups();
		const active = rows && rows.active >= 0 ? `, ${rows.exact ? "" : "up to "}${fmt.count(rows.active)} active here` : "";
		setText(this.count, rows ? `${fmt.plural(rows.count, "coroutine")}${by === "" ? "" : ` in ${fmt.plural(rows.groups.length, "group")}`}${active}` : "");
	}

	private showGroups(): void {
		const by = this.s.by === "coroutine" ? groupingOf(this.host.params()) : "";
		const { groups, of } = this.sums.into(this.groups);
		this.s.groups = laneGroups(this.ctx.trace, by, groups, of);
		this.table.show(by, groups, of);
	}

	groupOf(lane: number): RowGroup | undefined {
		return rowGroupOf(this.s, this.groups, lane);
	}

	toggle(key: number): void {
		this.host.set({ open: toggledOpen(this.groups, key) });
	}

	// In lanes of threads, slices of coroutines that are not selected are faint.
	private async chooseCoros(): Promise<void> {
		const { trace } = this.ctx;
		const filter = selectedCoros(this.ctx, this.host.params());
		this.s.chosen = null;
		if (isAll(filter) || !trace.complete) return;
		const rows = await trace.engine.call<Uint32Array>("query", [filter, ORDERS.first.order]);
		this.s.chosen = new Set(Array.from(rows, (r) => trace.coros.c.nr[r] + 1));
	}

	// The lane of the coroutine that the address names, if it was named just now; else -1.
	private laneFromParams(): number {
		const s = this.s;
		const { coros } = this.ctx.trace;
		const { sel } = this.host.params();
		const row = sel ? coros.rowOfId(sel) : -1;
		if (row < 0) return -1;
		const nr = coros.c.nr[row];
		const isNew = this.revealed !== sel;
		if (s.lanes.indexOf(nr) < 0) s.lanes.unshift(nr);
		s.selectedLane = s.lanes.indexOf(nr);
		s.selectedCoro = nr + 1;
		this.revealed = sel;
		return isNew ? s.selectedLane : -1;
	}
}
