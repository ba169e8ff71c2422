// SPDX-License-Identifier: MIT
// coroutine.ts - one coroutine, in a tab of its own: its slices, its waits, its wakers, its last
// events.

import { button, h, replace } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { coroHref, viewHref, type Params } from "../base/route.ts";
import { FLAG, id64, SLICE } from "../data/coros.ts";
import { cpuPairs } from "../data/slice_cpu.ts";
import { waitsBySite, wakersOf, type SiteWaits } from "../data/summaries.ts";
import { Grid, putText } from "../ui/grid.ts";
import { FramesPanel } from "../ui/frames_panel.ts";
import { LifeChart } from "../ui/life_chart.ts";
import { CoroMoment } from "../ui/coro_moment.ts";
import { PathPanel } from "../ui/path_panel.ts";
import { findingBadge, stateMark } from "../ui/marks.ts";
import { bar, empty, keyValues, panel, plainTable, type Panel } from "../ui/parts.ts";
import { sheetButtons } from "../ui/save.ts";
import type { Context, View } from "../ui/view.ts";
import { eventsOf, type LifeEvent } from "../data/events.ts";
import type { Part } from "../trace.ts";
import type { Life, Wakee } from "../worker/life.ts";

const ASK_BLOCKS = 24; // more blocks than this are searched only on request
const CHILDREN = 24;

export class CoroutineView implements View {
	readonly el: HTMLElement;
	readonly fill = false;
	private readonly ctx: Context;
	private readonly id: string;
	private readonly chart: LifeChart;
	private readonly summary: Panel;
	private readonly waits: Panel;
	private readonly wakers: Panel;
	private readonly path: PathPanel;
	private readonly moment: CoroMoment;
	private readonly wakees: Panel;
	private readonly family: Panel;
	private readonly frames: FramesPanel;
	private readonly head: HTMLElement;
	private readonly note: HTMLElement;
	private readonly grid: Grid;
	private readonly eventCount: HTMLElement;
	private row = -1;
	private pathEnd = NaN;
	private named: string | undefined;         // the moment that the address names, until it is shown
	private life: Life | null = null;
	private events: LifeEvent[] = [];
	private askedWakees = false;

	constructor(ctx: Context, id: string) {
		this.ctx = ctx;
		this.id = id;
		this.chart = new LifeChart(ctx, { height: 170, interactive: true, onLife: (life) => this.takeLife(life), onTime: (t) => this.moment.setTime(t) });
		const lifePanel = panel("Its life", {
			note: "▼ another thread; a click chooses a moment; wheel or + − zooms, drag moves, 0 shows all", sheet: () => this.sliceSheet(),
			tools: [button("In the timeline", () => this.toTimeline(), { class: "button quiet" })],
		});
		lifePanel.body.append(this.chart.el);
		this.note = h("p", { class: "thin-note", hidden: true });
		lifePanel.body.append(this.note);
		this.head = h("div", { class: "coro-head" });
		this.summary = panel("Summary");
		this.waits = panel("Waits by place", { sheet: () => this.waitSheet() });
		this.wakers = panel("Woken by", { note: "" });
		this.wakees = panel("Has woken", { note: "" });
		this.path = new PathPanel(ctx);
		this.moment = new CoroMoment(ctx, (t) => this.chart.setMoment(t));
		this.family = panel("Parent and children");
		this.frames = new FramesPanel(ctx, id);
		for (const p of [this.waits, this.wakers, this.wakees]) p.body.append(empty("Reading its slices…"));
		this.eventCount = h("span", { class: "note" });
		this.grid = this.makeGrid();
		const eventPanel = h("section", { class: "panel events-panel", aria: { label: "Events" } },
			h("div", { class: "panel-head" }, h("h2", null, "Events"), this.eventCount, sheetButtons("events", () => this.eventSheet())),
			this.grid.el);
		this.el = h("div", { class: "coro" }, this.head, lifePanel.el, this.moment.el,
			h("div", { class: "coro-columns" },
				h("div", { class: "stack" }, this.summary.el, this.family.el),
				h("div", { class: "stack" }, this.waits.el, this.wakers.el, this.wakees.el)),
			this.path.el, this.frames.el, eventPanel);
	}

	get title(): string {
		return this.row >= 0 ? this.ctx.trace.title(this.row) : `#${this.id}`;
	}

	show(params: Params): void {
		this.named = params.at;
		this.find();
		this.showMoment();
	}

	update(parts: ReadonlySet<Part>): void {
		if (!parts.has("coros") && !parts.has("sites")) return;
		this.find();
		this.showMoment();
	}

	// The moment of the address, once; later it is where it was left.
	private showMoment(): void {
		if (this.row < 0) return;
		this.moment.show(this.row, this.named);
		this.named = undefined;
	}

	remove(): void {
		this.chart.remove();
	}

	private find(): void {
		const { trace } = this.ctx;
		if (!trace.complete) {
			replace(this.head, h("p", { class: "muted" }, "Reading the coroutines…"));
			return;
		}
		this.row = trace.coros.rowOfId(this.id);
		if (this.row < 0) {
			const { kept, of } = trace.meta.coros;
			replace(this.el, h("div", { class: "failure" }, h("h2", null, `There is no coroutine #${this.id} here`),
				h("p", null, kept < of ? `${fmt.count(of - kept)} coroutines were left out of this file; it may be one of them.`
					: "The trace tells of no coroutine with this id."),
				h("p", null, h("a", { href: viewHref("coroutines") }, "All coroutines"))));
			return;
		}
		this.drawHead();
		this.drawSummary();
		this.drawFamily();
		this.chart.load(this.row);
		void this.frames.load();
	}

	private drawHead(): void {
		const { trace } = this.ctx;
		const c = trace.coros.c;
		const r = this.row;
		const name = trace.name(r);
		const inState = trace.coros.inState(r, trace.now);
		const site = c.site[r];
		const where = site > 0 && c.state[r] === 4
			? h("a", { class: "mono", href: viewHref("sites", { place: String(site) }) }, trace.siteText(site)) : null;
		const found = trace.findingsOf(c.findings[r]);
		replace(this.head,
			h("h2", null, name || trace.kind(c.kind[r])?.text || "Coroutine", " ", h("span", { class: "muted mono" }, `#${this.id}`)),
			stateMark(trace.state(c.state[r])),
			Number.isNaN(inState) ? null : h("span", null, `for ${fmt.duration(inState)}`),
			where ? h("span", { class: "muted" }, "at ", where) : null,
			...found.map((d) => findingBadge(trace, d)));
	}

	private drawSummary(): void {
		const { trace } = this.ctx;
		const c = trace.coros.c;
		const r = this.row;
		const time = (v: number) => (Number.isNaN(v) ? "not told" : fmt.stamp(v));
		const resource = trace.coros.resource(r);
		const site = (index: number) => (index > 0
			? h("a", { class: "mono", href: viewHref("sites", { place: String(index) }) }, trace.siteText(index)) : "not known");
		const flags = c.flags[r];
		const end = Number.isNaN(c.end[r]) ? null : `${fmt.stamp(c.end[r])}${flags & FLAG.cancelled ? ", cancelled" : ""}` +
			`${flags & FLAG.endedSuspended ? ", while it was suspended" : ""}${flags & FLAG.destroyed ? ", frame freed" : ""}`;
		const kind = trace.kind(c.kind[r]);
		replace(this.summary.body, keyValues([
			["kind", kind ? h("a", { href: viewHref("coroutines", { kind: String(c.kind[r]) }) }, kind.text) : null],
			["born", flags & FLAG.born ? time(c.birth[r]) : `not told; first seen ${fmt.stamp(c.first[r])}`],
			["ended", end],
			["lifetime", fmt.duration(trace.coros.lifetime(r, trace.now))],
			["waits at", c.state[r] === 4 || c.state[r] === 2 ? site(c.site[r]) : null],
			["last waited at", c.state[r] === 4 || c.state[r] === 2 ? null : site(c.site[r])],
			["why", c.reason[r] ? `${trace.reason(c.reason[r])}${resource ? ` ${fmt.resource(BigInt(resource))}` : ""}` : null],
			["suspended", `${fmt.plural(c.suspends[r], "time")}, ${fmt.duration(c.waited[r])} in all (${fmt.duration(c.ready[r])} of it ready)`],
			["longest wait", c.longest[r] > 0 ? h("span", null, `${fmt.duration(c.longest[r])} at `, site(c.longest_site[r])) : null],
			["ran", `${fmt.plural(c.resumes[r], "slice")}, ${fmt.duration(c.ran[r])} in all`],
			...this.cpuPairsOf(r),
			["threads", `${fmt.count(c.threads[r])}, changed ${fmt.plural(c.migrations[r], "time")}`],
			["last thread", h("span", { class: "mono" }, trace.thread(c.thread[r]))],
			["lost", c.lost[r] > 0 ? h("span", { class: "alarm" }, `${fmt.plural(c.lost[r], "transition")}`) : "none known"],
			["process", c.pid[r] ? String(c.pid[r]) : null],
		]));
	}

	private cpuPairsOf(r: number): [string, string][] {
		const { trace } = this.ctx;
		const c = trace.coros.c;
		if (!trace.meta.cpu) return [];
		if (c.cpu_measured[r] === 0) return [["processor time", "not measured"]];
		return cpuPairs({ measured: c.cpu_measured[r], queued: c.cpu_queued[r], blocked: c.cpu_blocked[r] });
	}

	private link(nr: number): HTMLElement {
		const { trace } = this.ctx;
		const row = trace.coros.rowOf(nr);
		return row < 0 ? h("span", { class: "muted" }, "one that was left out")
			: h("a", { href: coroHref(trace.coros.id(row)) }, trace.title(row));
	}

	private drawFamily(): void {
		const { coros, meta } = this.ctx.trace;
		const c = coros.c;
		const me = c.nr[this.row] + 1;
		const children: number[] = [];
		let more = 0;
		for (let r = 0; r < coros.rows; r++) {
			if (c.parent[r] !== me) continue;
			if (children.length < CHILDREN) children.push(c.nr[r]);
			else more++;
		}
		const parent = c.parent[this.row];
		if (parent === 0 && children.length === 0) {
			replace(this.family.body, empty("No parent and no children were told."));
			return;
		}
		const list = h("span", { class: "links" }, ...children.map((nr) => this.link(nr)), more > 0 ? h("a", { href: viewHref("coroutines", { parent: this.id, sort: "first" }) }, `and ${fmt.count(more)} more, in the table`) : null);
		replace(this.family.body, keyValues([
			["parent", parent > 0 ? this.link(parent - 1) : "none told"],
			[`children (${fmt.count(children.length + more)})`, children.length > 0 ? list :
				meta.coros.kept < meta.coros.of ? "none in this file" : "none"],
		]));
	}

	// ---- from its slices ----

	private takeLife(life: Life): void {
		this.life = life;
		const { coros } = this.ctx.trace;
		const told = coros.c.resumes[this.row];
		this.note.hidden = !(life.truncated || (life.thinned && life.rows < told));
		this.note.textContent = life.truncated
			? `Only its first ${fmt.count(life.rows)} slices are drawn.`
			: `${fmt.count(life.rows)} of its ${fmt.count(told)} slices are in this file; the others were thinned out: the chart is empty there, and waits by place are of what is here. Sums and counts are of all.`;
		this.offerPath(life);
		this.drawWaits(life);
		this.drawWakers(life);
		this.events = eventsOf(life, this.ctx.trace, this.row);
		this.eventCount.textContent = `${fmt.count(this.events.length)}, newest first`;
		this.grid.setEmpty("No event of it is in this file.");
		this.grid.setRows(this.events.length, (key) => this.events.findIndex((e) => keyOf(e) === key));
		void this.drawWakees();
	}

	// A path that was found stays while its end is the same.
	private offerPath(life: Life): void {
		const at = life.rows > 0 ? life.start[life.rows - 1] + life.dur[life.rows - 1] : NaN;
		if (Number.isNaN(at) || at === this.pathEnd) return;
		this.pathEnd = at;
		this.path.offer(life.nr, at);
	}

	private drawWaits(life: Life): void {
		const { trace } = this.ctx;
		const rows = waitsBySite(life, trace, this.row);
		const longest = Math.max(1, ...rows.map((w) => w.total));
		if (rows.length === 0) {
			replace(this.waits.body, empty("It has not waited."));
			return;
		}
		replace(this.waits.body, plainTable<SiteWaits>("Waits by place", [
			{
				label: "Place", class: "clip mono", show: (w) => (w.site > 0
					? h("a", { href: viewHref("sites", { place: String(w.site) }), title: trace.siteText(w.site) }, trace.sitePlace(w.site)) : "not known"),
			},
			{ label: "Waits", end: true, show: (w) => fmt.count(w.count) },
			{ label: "Mean", end: true, show: (w) => fmt.duration(w.total / w.count) },
			{ label: "Longest", end: true, show: (w) => fmt.duration(w.longest) },
			{ label: "In all", end: true, show: (w) => fmt.duration(w.total) },
			{ label: "Share of the longest", isBar: true, class: "bar-cell", show: (w) => bar(w.total / longest) },
		], rows));
	}

	private drawWakers(life: Life): void {
		const { trace } = this.ctx;
		const rows = wakersOf(life);
		const lastOnly = trace.coros.c.waker[this.row];
		if (rows.length === 0) {
			replace(this.wakers.body, lastOnly > 0 ? h("p", null, "Last woken by ", this.link(lastOnly - 1)) : empty("The trace tells of no wake-up."));
			return;
		}
		replace(this.wakers.body, plainTable("Woken by", [
			{ label: "By", show: (w) => (w.waker > 0 ? this.link(w.waker - 1) : h("span", { class: "muted" }, "no coroutine (a thread, a poller)")) },
			{ label: "Times", end: true, show: (w) => fmt.count(w.count) },
			{ label: "Wake to run, mean", end: true, show: (w) => fmt.duration(w.delay / w.count) },
			{ label: "Longest", end: true, show: (w) => fmt.duration(w.longest) },
		], rows.slice(0, 30)));
	}

	// Any block may hold such a wake: many blocks are not searched without a request.
	private async drawWakees(): Promise<void> {
		const { trace } = this.ctx;
		const row = this.row;
		const last = this.lastWoken();
		if (!this.askedWakees && trace.meta.blocks > ASK_BLOCKS) {
			replace(this.wakees.body, last.length > 0 ? h("p", { class: "links" }, "Last woken by it: ", ...last.map((nr) => this.link(nr))) : null,
				button(`Search all ${fmt.count(trace.meta.blocks)} blocks`, () => {
					this.askedWakees = true;
					void this.drawWakees();
				}));
			return;
		}
		try {
			const found = await trace.engine.call<Wakee[]>("wakees", [trace.coros.c.nr[row]], (done, of) => {
				if (of > ASK_BLOCKS) this.wakees.note.textContent = `searched ${done} of ${of} blocks`;
			});
			this.wakees.note.textContent = "";
			this.showWakees(found, last);
		} catch (e) {
			replace(this.wakees.body, empty(`The blocks cannot be read: ${(e as Error).message}`));
		}
	}

	private lastWoken(): number[] {
		const { coros } = this.ctx.trace;
		const me = coros.c.nr[this.row] + 1;
		const out: number[] = [];
		for (let r = 0; r < coros.rows && out.length < 20; r++) if (coros.c.waker[r] === me) out.push(coros.c.nr[r]);
		return out;
	}

	private showWakees(found: Wakee[], last: number[]): void {
		if (found.length === 0) {
			replace(this.wakees.body, last.length > 0 ? h("p", { class: "links" }, ...last.map((nr) => this.link(nr)))
				: empty("The trace has no coroutine that it woke."));
			return;
		}
		this.wakees.note.textContent = found.length > 30 ? `the 30 it woke most, of ${fmt.count(found.length)}` : "";
		replace(this.wakees.body, plainTable<Wakee>("Has woken", [
			{ label: "Whom", show: (w) => this.link(w.nr) },
			{ label: "Times", end: true, show: (w) => fmt.count(w.count) },
			{ label: "Last", end: true, show: (w) => fmt.stamp(w.last) },
		], found.slice(0, 30)));
	}

	private makeGrid(): Grid {
		const at = (i: number) => this.events[i];
		const text = (f: (e: LifeEvent) => string) => (cell: HTMLElement, i: number) => putText(cell, f(at(i)));
		const { trace } = this.ctx;
		return new Grid({
			label: "Events, newest first", empty: "Reading its slices…", rowKey: (i) => keyOf(at(i)),
			columns: [
				{ key: "ts", label: "At", width: 13.5, align: "end", mono: true, render: text((e) => fmt.stamp(e.ts)) },
				{ key: "delta", label: "After the last", width: 8.5, align: "end", render: text((e) => (Number.isNaN(e.delta) ? fmt.dash : fmt.duration(e.delta))) },
				{ key: "what", label: "What", width: 7, render: text((e) => e.what) },
				{ key: "thread", label: "Thread", width: 8, mono: true, render: text((e) => (e.thread >= 0 ? trace.thread(e.thread) : fmt.dash)) },
				{ key: "place", label: "Where, by whom", width: 16, grow: 2, mono: true, render: text((e) => this.eventPlace(e)) },
				{ key: "why", label: "Why", width: 9, grow: 1, render: text((e) => e.why || fmt.dash) },
			],
		});
	}

	private eventPlace(e: LifeEvent): string {
		if (e.waker > 0) return `by ${this.ctx.trace.titleOfNr(e.waker - 1)}`;
		const site = this.ctx.trace.site(e.site);
		return site ? (site.addr && !site.text.includes(site.addr) ? `${site.text}  ${site.addr}` : site.text) : fmt.dash;
	}

	private toTimeline(): void {
		const v = this.chart.viewport;
		this.ctx.go({ view: "timeline", coro: null, params: {
			by: "coroutine", sel: this.id, from: String(Math.round(v.from)), to: String(Math.round(v.to)),
		} });
	}

	// ---- sheets ----

	private sliceSheet() {
		const { trace } = this.ctx;
		const l = this.life;
		return {
			name: `coroutine-${this.id}-slices`,
			head: ["start_ns", "duration_ns", "thread", "ended_at", "reason", "resource", "wake_ns", "waker_id", "queued_ns", "blocked_ns"],
			rows: Array.from({ length: l?.rows ?? 0 }, (_, i) => [
				l!.start[i], l!.dur[i], trace.thread(l!.thread[i]), trace.siteText(l!.site[i]), trace.reason(l!.reason[i]),
				l!.flags[i] & SLICE.resource ? id64(l!.resHi[i], l!.resLo[i]).toString() : null,
				Number.isNaN(l!.wake[i]) ? null : l!.start[i] - l!.wake[i], this.idOf(l!.waker[i]),
				Number.isNaN(l!.queued[i]) ? null : l!.queued[i], Number.isNaN(l!.blocked[i]) ? null : l!.blocked[i],
			]),
		};
	}

	private idOf(ref: number): string | null {
		const row = ref > 0 ? this.ctx.trace.coros.rowOf(ref - 1) : -1;
		return row >= 0 ? this.ctx.trace.coros.id(row) : null;
	}

	private waitSheet() {
		const rows = this.life ? waitsBySite(this.life, this.ctx.trace, this.row) : [];
		return {
			name: `coroutine-${this.id}-waits`, head: ["place", "waits", "total_ns", "longest_ns"],
			rows: rows.map((w) => [this.ctx.trace.siteText(w.site), w.count, w.total, w.longest]),
		};
	}

	private eventSheet() {
		const { trace } = this.ctx;
		return {
			name: `coroutine-${this.id}-events`, head: ["ts_ns", "what", "thread", "place", "waker_id", "why"],
			rows: this.events.map((e) => [e.ts, e.what, e.thread >= 0 ? trace.thread(e.thread) : null, trace.siteText(e.site), this.idOf(e.waker), e.why]),
		};
	}
}

function keyOf(e: LifeEvent): string {
	return `${e.ts}:${e.what}`;
}
