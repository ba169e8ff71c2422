// SPDX-License-Identifier: MIT
// engine.ts - all slow operations, behind calls: runs in a worker, or in the page without one.

import { Coros } from "../data/coros.ts";
import type { Delta, Meta, Report, Sites } from "../data/types.ts";
import { lanePieces, transferables, type LaneRequest } from "./lanes.ts";
import { lifeOf, wakeesOf } from "./life.ts";
import { Moments } from "./moments.ts";
import { pathTo } from "./path.ts";
import { select, sort, type CoroFilter, type CoroOrder } from "./query.ts";
import { timelineRows, type RowRequest } from "./rows.ts";
import { Store, type Raw } from "./store.ts";
import { sumsOf, type SumRequest } from "./sums.ts";
import type { TreeRequest } from "./tree_lines.ts";

// Answers may transfer buffers instead of copying them.
export interface Answer {
	value: unknown;
	transfer?: ArrayBuffer[];
}

export function addStrings(to: string[], more: { from: number; add: string[] }): void {
	to.length = more.from;
	for (const s of more.add) to.push(s);
}

export type Progress = (done: number, of: number) => void;

export class Engine {
	private readonly store: Store;
	private readonly moments: Moments;

	constructor(raw: Raw) {
		this.store = new Store(raw);
		this.moments = new Moments(this.store);
	}

	// The sections of the first view.
	private async head(): Promise<Answer> {
		const meta = (await this.store.json("meta")) as Meta;
		if (typeof meta !== "object" || meta === null || meta.format !== 1)
			throw new Error(`the data is of format ${String(meta?.format)}, and this page reads format 1`);
		this.store.end = meta.end;
		this.store.reasons = meta.reasons;
		this.store.hasHolds = meta.holds !== undefined;
		const report = (await this.store.json("report")) as Report;
		const series = await this.store.columns("series");
		return { value: { meta, report, series } };
	}

	// The sections of the other views.
	private async rest(): Promise<Answer> {
		this.store.strings = (await this.store.json("strings")) as string[];
		this.store.sites = (await this.store.json("sites")) as Sites;
		const coros = await this.store.columns("coros");
		this.store.coros = Coros.fromSection(coros);
		return { value: { strings: this.store.strings, sites: this.store.sites, coros } };
	}

	private query(filter: CoroFilter, order: CoroOrder): Answer {
		const s = this.store;
		const rows = select(s.coros, s, filter, s.end);
		sort(s.coros, s, rows, order, s.end);
		return { value: rows, transfer: [rows.buffer as ArrayBuffer] };
	}

	// A delta of the server: the page applies it to its own columns as well.
	private delta(d: Delta): Answer {
		if (d.meta) this.store.end = d.meta.end;
		if (d.strings) addStrings(this.store.strings, d.strings);
		if (d.coros) this.store.coros.apply(d.coros);
		for (const name of d.reload ?? []) this.store.forget(name);
		this.moments.forget();
		return { value: null };
	}

	private async reload(name: string): Promise<Answer> {
		if (name === "sites") {
			this.store.sites = (await this.store.json("sites")) as Sites;
			return { value: this.store.sites };
		}
		if (name === "strings") {
			this.store.strings = (await this.store.json("strings")) as string[];
			return { value: this.store.strings };
		}
		if (name === "report" || name === "meta" || name === "frames") return { value: await this.store.json(name) };
		const section = await this.store.columns(name);
		if (name === "coros") this.store.coros = Coros.fromSection(section);
		this.moments.forget();
		return { value: section };
	}

	async call(op: string, args: unknown[], progress: Progress): Promise<Answer> {
		switch (op) {
		case "head": return this.head();
		case "rest": return this.rest();
		case "query": return this.query(args[0] as CoroFilter, args[1] as CoroOrder);
		case "delta": return this.delta(args[0] as Delta);
		case "reload": return this.reload(args[0] as string);
		case "life": return { value: await lifeOf(this.store, args[0] as number, progress) };
		case "path": return { value: await pathTo(this.store, args[0] as number, args[1] as number, progress) };
		case "wakees": return { value: await wakeesOf(this.store, args[0] as number, progress) };
		case "sums": {
			const s = this.store;
			const filter = args[1] as CoroFilter | null;
			return { value: await sumsOf(s, { ...(args[0] as SumRequest), rows: filter ? select(s.coros, s, filter, s.end) : null }, progress) };
		}
		case "tree": {
			const s = this.store;
			const filter = args[1] as CoroFilter | null;
			return { value: await this.moments.tree(args[0] as TreeRequest, filter ? select(s.coros, s, filter, s.end) : null, progress) };
		}
		case "stack": return { value: await this.moments.stack(args[0] as number, args[1] as number, progress) };
		case "wakes": return { value: await this.moments.wakes(args[0] as number, args[1] as number, progress) };
		case "blocks": return { value: (await this.store.index()).rows };
		case "rows": {
			const rows = await timelineRows(this.store, args[0] as RowRequest);
			return { value: rows, transfer: [rows.lanes.buffer as ArrayBuffer] };
		}
		case "windowsums": return { value: await this.moments.windowSums(args[0] as RowRequest, progress) };
		case "lanes": {
			const pieces = await lanePieces(this.store, args[0] as LaneRequest);
			return { value: pieces, transfer: transferables(pieces) };
		}
		default: throw new Error(`no such call: ${op}`);
		}
	}
}
