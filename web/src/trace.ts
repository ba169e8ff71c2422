// SPDX-License-Identifier: MIT
// trace.ts - the trace as the views see it: loaded in two steps, then kept up to date while it is live.

import { shortPlace, visible } from "./base/place.ts";
import { Coros } from "./data/coros.ts";
import type { Section } from "./data/columns.ts";
import { Delay } from "./data/delay.ts";
import { Series } from "./data/series.ts";
import type { Delta, Finding, Kind, Meta, Report, Site, Sites } from "./data/types.ts";
import { addStrings } from "./worker/engine.ts";
import type { Caller } from "./worker/client.ts";

export type Part = "meta" | "report" | "series" | "strings" | "sites" | "coros" | "lod" | "index";
export type LiveState = "none" | "live" | "paused" | "ended" | "lost";

const SITES_EVERY = 1500; // ms
// All coroutines are a large answer if they are many: at most a tenth of the time is for it, and 2 s lie between two.
const COROS_EVERY = 2000; // ms
const COROS_SHARE = 10;

export class Trace {
	readonly engine: Caller;
	meta!: Meta;
	report!: Report;
	series = new Series();
	strings: string[] = [""];
	sites: Sites = { sites: [], kinds: [] };
	coros = new Coros();
	live: LiveState = "none";
	complete = false;          // the second step is done
	private readonly listeners = new Set<(parts: ReadonlySet<Part>) => void>();
	private readonly stale = new Set<Part>();
	private waitsForSites = false;
	private readonly delay = new Delay();
	private corosFrom = 0;     // before this time of the page they are not requested again
	private corosTimer = 0;

	constructor(engine: Caller) {
		this.engine = engine;
	}

	async loadHead(): Promise<void> {
		const head = await this.engine.call<{ meta: Meta; report: Report; series: Section }>("head");
		this.meta = head.meta;
		this.report = head.report;
		this.series = Series.fromSection(head.series);
		this.live = this.meta.live && !this.meta.ended ? "live" : "none";
		this.noteClock(head);
	}

	noteClock(d: { meta?: Meta }): void {
		if (d.meta?.stream) this.delay.note(d.meta.stream.clock, performance.now() * 1e6);
	}

	// ns between the moment that is shown and now.
	behind(): number {
		return this.delay.behind(this.meta.end, performance.now() * 1e6);
	}

	async loadRest(): Promise<void> {
		const rest = await this.engine.call<{ strings: string[]; sites: Sites; coros: Section }>("rest");
		this.strings = rest.strings.map(visible);
		this.sites = rest.sites;
		this.coros = Coros.fromSection(rest.coros);
		this.complete = true;
		this.tell(["strings", "sites", "coros"]);
	}

	onChange(fn: (parts: ReadonlySet<Part>) => void): () => void {
		this.listeners.add(fn);
		return () => this.listeners.delete(fn);
	}

	tell(parts: Iterable<Part>): void {
		const set = new Set(parts);
		for (const fn of this.listeners) fn(set);
	}

	setLive(state: LiveState): void {
		if (this.live === state) return;
		this.live = state;
		this.tell(["meta"]);
	}

	// What changed since the last call; the engine is updated first, so that queries see it.
	async apply(d: Delta): Promise<void> {
		const parts = new Set<Part>();
		if (d.meta) this.meta = d.meta;
		if (d.report) this.report = d.report;
		if (d.series) this.series.apply(d.series);
		if (d.strings) addStrings(this.strings, { from: d.strings.from, add: d.strings.add.map(visible) });
		if (d.coros) this.coros.apply(d.coros);
		for (const part of ["meta", "report", "series", "strings", "coros"] as const) if (d[part]) parts.add(part);
		await this.engine.call("delta", [d]);
		for (const name of (d.reload ?? []) as Part[]) {
			this.stale.add(name);
			parts.add(name);
		}
		if (await this.refreshCoros()) parts.add("coros");
		else if (this.stale.has("coros")) parts.delete("coros");
		parts.delete("sites");
		this.tell(parts);
		this.refreshSites();
	}

	// New names and states without new sites would have dangling indexes. False: later, or they are up to date.
	private async refreshCoros(): Promise<boolean> {
		if (!this.stale.has("coros")) return false;
		const begin = performance.now();
		if (begin < this.corosFrom) {
			this.corosTimer ||= window.setTimeout(() => void this.refreshCorosLate(), this.corosFrom - begin + 1);
			return false;
		}
		this.stale.delete("coros");
		this.strings = (await this.engine.call<string[]>("reload", ["strings"])).map(visible);
		this.coros = Coros.fromSection(await this.engine.call<Section>("reload", ["coros"]));
		const end = performance.now();
		this.corosFrom = end + Math.max(COROS_EVERY, COROS_SHARE * (end - begin));
		return true;
	}

	// If no update comes that would do it.
	private async refreshCorosLate(): Promise<void> {
		this.corosTimer = 0;
		if (this.live !== "paused" && await this.refreshCoros()) this.tell(["coros", "strings"]);
	}

	// Histograms of all sites are large: requested now and then, and never before the last
	// answer arrived.
	private refreshSites(): void {
		if (this.waitsForSites || !this.stale.delete("sites")) return;
		this.waitsForSites = true;
		this.engine.call<Sites>("reload", ["sites"]).then((sites) => {
			this.sites = sites;
			this.tell(["sites"]);
		}, () => this.stale.add("sites"));
		setTimeout(() => {
			this.waitsForSites = false;
			this.refreshSites();
		}, SITES_EVERY);
	}

	// ---- texts ----

	site(index: number): Site | null {
		return index > 0 ? (this.sites.sites[index] ?? null) : null;
	}

	siteText(index: number): string {
		return this.site(index)?.text ?? "";
	}

	// For tables: server.cpp:68 serve
	sitePlace(index: number): string {
		const site = this.site(index);
		return site ? shortPlace(site) : "";
	}

	kind(index: number): Kind | null {
		return index > 0 ? (this.sites.kinds[index] ?? null) : null;
	}

	state(n: number): string {
		return this.meta.states[n] ?? "unknown";
	}

	reason(n: number): string {
		return n > 0 ? (this.meta.reasons[n] ?? "") : "";
	}

	name(row: number): string {
		return this.strings[this.coros.c.name[row]] ?? "";
	}

	// "worker 7 #12", "#12"
	title(row: number): string {
		const name = this.name(row);
		const id = `#${this.coros.id(row)}`;
		return name === "" ? id : `${name} ${id}`;
	}

	titleOfNr(nr: number): string {
		const row = this.coros.rowOf(nr);
		return row >= 0 ? this.title(row) : `coroutine number ${nr} (left out)`;
	}

	thread(index: number): string {
		const t = this.meta.threads[index];
		return t ? String(t.tid) : "others";
	}

	findingsOf(bits: number): string[] {
		return this.meta.detectors.filter((_, i) => bits & (1 << i)).map((d) => d.name);
	}

	detectorBits(names: readonly string[]): number {
		return this.meta.detectors.reduce((bits, d, i) => (names.includes(d.name) ? bits | (1 << i) : bits), 0);
	}

	findingsWith(id: string): Finding[] {
		return this.report.findings.filter((f) => f.example && String(f.example.probe_id) === id);
	}

	// An offset from a time of the report, which counts from the boot of the machine.
	offsetOf(ts: number | string): number {
		return Number(BigInt(ts) - BigInt(this.meta.origin));
	}

	get now(): number {
		return this.meta.end;
	}
}
