// SPDX-License-Identifier: MIT
// parts.ts - the parts of the page of `mem html`: each a panel that a filter applies to.

import { h, replace, setText } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { viewHref } from "../base/route.ts";
import { shownOf, tablePart, type PagePart } from "../ui/part_page.ts";
import { bar, empty, panel, type Panel } from "../ui/parts.ts";
import { matches, SortTable, type SortColumn } from "../ui/sort_table.ts";
import { heatKey, heatMap } from "./heat_map.ts";
import type { AllocationSite, CodeCounts, Counts, Field, MemoryData, Owner, SharedField, SharedLine, SourceLine, Thread } from "./types.ts";

const percent = (part: number, whole: number) => (whole > 0 ? (100 * part) / whole : 0);

// A share of a whole, as a number and as a bar.
export function share(part: number, whole: number): HTMLElement {
	return h("span", { class: "share" }, h("span", null, `${percent(part, whole).toFixed(1)}\u202f%`), bar(whole > 0 ? part / whole : 0, "heat"));
}

export function place(file: string | null, line: number): string {
	return file === null ? "" : `${file}:${line}`;
}

export const mostOf = (nr: number, of: number) => (of > nr ? `the ${fmt.count(nr)} most expensive of ${fmt.count(of)}` : "");

// ---- caches, threads ----

export function cachesPart(d: MemoryData): PagePart {
	const rows = d.levels.map((counts, i) => ({ ...counts, ...d.machine.levels[i], looked: counts.hits + counts.misses }));
	type Row = (typeof rows)[number];
	const number = (key: "looked" | "misses" | "cold" | "capacity" | "conflict" | "coherence", label: string): SortColumn<Row> =>
		({ key, label, end: true, value: (r) => r[key] ?? null });
	const kind = (r: Row) => `${fmt.count(r.size / 1024)}\u202fKiB, ${r.ways === "full" ? "fully associative" : fmt.plural(r.ways, "way")}`;
	const table = new SortTable<Row>({
		label: "Caches", rows, empty: "No level was simulated.", columns: [
			{ key: "level", label: "Level", value: (r) => r.name, show: (r) => h("span", null, `${r.name} `, h("span", { class: "muted" }, kind(r))) },
			number("looked", "Lines looked up"), number("misses", "Misses"),
			{ key: "rate", label: "Rate", end: true, value: (r) => percent(r.misses, r.looked), show: (r) => share(r.misses, r.looked) },
			number("cold", "Cold"), number("capacity", "Capacity"), number("conflict", "Conflict"), number("coherence", "Coherence"),
		],
	});
	const part = tablePart("caches", "Caches", "Caches", table, rows.length, "caches");
	return { ...part, filter: () => {} };
}

// Names by id; an id that two threads had one after the other has both names.
export class ThreadNames {
	private readonly names = new Map<string, Set<string>>();

	constructor(threads: readonly Thread[]) {
		for (const t of threads) {
			const known = this.names.get(String(t.id)) ?? new Set<string>();
			if (t.name !== null) known.add(t.name);
			this.names.set(String(t.id), known);
		}
	}

	text(id: Thread["id"]): string {
		if (id === null) return "others";
		return [[...(this.names.get(String(id)) ?? [])].join(" or "), `(${id})`].join(" ").trim();
	}
}

export function threadsPart(d: MemoryData): PagePart {
	const number = (key: string, label: string, value: (t: Thread) => number): SortColumn<Thread> => ({ key, label, end: true, value });
	const table = new SortTable<Thread>({
		label: "Threads", rows: d.threads, empty: "No thread accessed memory.", columns: [
			{ key: "thread", label: "Thread", value: (t) => (t.id === null ? "others" : [t.name ?? "", `(${t.id})`].join(" ").trim()) },
			number("reads", "Reads", (t) => t.reads), number("writes", "Writes", (t) => t.writes),
			number("misses", "Misses of the first level", (t) => t.levels[0]?.misses ?? 0),
			number("copies_destroyed", "Copies destroyed", (t) => t.invalidated), number("copies_lost", "Copies lost", (t) => t.lost),
		],
	});
	return tablePart("threads", "Threads", "Threads", table, d.threads.length, "threads");
}

// ---- types, source lines ----

export function countColumns<T extends CodeCounts>(d: MemoryData): SortColumn<T>[] {
	return [
		{ key: "reads", label: "Reads", end: true, value: (r) => r.reads },
		{ key: "writes", label: "Writes", end: true, value: (r) => r.writes },
		...d.levels.map((level, i): SortColumn<T> => ({ key: `${level.name}_misses`, label: `${level.name} misses`, end: true, value: (r) => r.misses[i] })),
	];
}

export function sharedColumn<T extends Counts>(): SortColumn<T> {
	return { key: "false_sharing", label: "Falsely shared", end: true, value: (r) => r.false_sharing };
}

export function costColumn<T extends CodeCounts>(total: number): SortColumn<T> {
	return {
		key: "cost", label: "Cost", title: "Misses weighted by what the next level takes, in cycles", end: true,
		value: (r) => r.cost, show: (r) => share(r.cost, total),
	};
}

export const BY_COST = { key: "cost", down: true } as const;

export function typesPart(d: MemoryData): PagePart {
	const table = new SortTable<Owner>({
		label: "Types", rows: d.types, sort: BY_COST, empty: "No access was simulated.", columns: [
			{
				key: "name", label: "Type, variable or memory", class: "mono name", value: (o) => o.name,
				show: (o) => (o.layout ? h("a", { href: viewHref("layouts", { type: String(d.types.indexOf(o)) }) }, o.name) : o.name),
			},
			...(d.types.some((o) => o.certainty !== undefined) ? [{
				key: "certainty", label: "Certainty", title: "Share of the instructions' votes for this type of heap blocks", end: true,
				value: (o: Owner) => o.certainty ?? null, show: (o: Owner) => (o.certainty === undefined ? "" : `${Math.floor(100 * o.certainty)}\u202f%`),
			}] : []),
			...countColumns<Owner>(d), sharedColumn<Owner>(), costColumn<Owner>(d.cost),
		],
	});
	return tablePart("types", "Types", "Whose misses they are", table, d.types.length, "types", mostOf(d.types.length, d.types_of));
}

export function sourceLinesPart(d: MemoryData): PagePart {
	const where = (s: SourceLine) => (s.file !== null ? place(s.file, s.line) : (s.module ?? ""));
	const table = new SortTable<SourceLine>({
		label: "Source lines", rows: d.source_lines, sort: BY_COST, empty: "No code address is known.", columns: [
			{
				key: "function", label: "Function, line", class: "name", value: (s) => `${s.function ?? s.pc} ${where(s)}`,
				show: (s) => h("span", null, s.function ?? h("span", { class: "mono" }, s.pc), " ", h("span", { class: "muted mono" }, where(s))),
			},
			{ key: "data", label: "Data", class: "mono", value: (s) => s.data ?? "" },
			...countColumns<SourceLine>(d), costColumn<SourceLine>(d.cost),
		],
	});
	return tablePart("lines", "Source lines", "Source lines", table, d.source_lines.length, "source-lines",
		mostOf(d.source_lines.length, d.source_lines_of));
}

export function allocationsPart(d: MemoryData): PagePart | null {
	if (d.allocation_sites.length === 0) return null;
	const where = (s: AllocationSite) => (s.file !== null ? place(s.file, s.line) : (s.module ?? ""));
	const table = new SortTable<AllocationSite>({
		label: "Allocation sites", rows: d.allocation_sites, sort: BY_COST, empty: "No block was allocated.", columns: [
			{
				key: "function", label: "Allocated by", class: "name", value: (s) => `${s.function ?? s.pc} ${where(s)} ${s.callers}`.trim(),
				show: (s) => h("span", null, s.function ?? h("span", { class: "mono" }, s.pc), " ", h("span", { class: "muted mono" }, where(s)),
					s.callers === "" ? null : h("span", { class: "muted" }, ` called by ${s.callers}`)),
			},
			{ key: "blocks", label: "Blocks", end: true, value: (s) => s.blocks },
			{ key: "bytes", label: "Bytes", end: true, value: (s) => s.bytes },
			...countColumns<AllocationSite>(d), sharedColumn<AllocationSite>(), costColumn<AllocationSite>(d.cost),
		],
	});
	return tablePart("allocations", "Allocation sites", "Who allocated the memory that misses", table, d.allocation_sites.length, "allocation-sites",
		mostOf(d.allocation_sites.length, d.allocation_sites_of));
}

// ---- layouts ----

function fieldTable(d: MemoryData, owner: Owner): SortTable<Field> {
	return new SortTable<Field>({
		label: `Fields of ${owner.name}`, rows: owner.fields, limit: 500, empty: "The type has no field.", columns: [
			{ key: "field", label: "Field", class: "mono name", value: (f) => f.name },
			{ key: "type", label: "Type", class: "mono", value: (f) => f.type ?? "" },
			{ key: "offset", label: "Offset", end: true, value: (f) => f.offset ?? null },
			{ key: "bytes", label: "Bytes", end: true, value: (f) => f.size ?? null },
			...countColumns<Field>(d), sharedColumn<Field>(),
		],
	});
}

function layoutArticle(d: MemoryData, owner: Owner, index: number): HTMLElement {
	const layout = owner.layout!;
	const table = fieldTable(d, owner);
	const details = h("details", null, h("summary", null, "the same as a table"), table.el);
	return h("article", { class: "layout", id: `type-${index}`, data: { type: owner.name } },
		h("h3", { class: "mono", tabindex: -1 }, owner.name),
		h("p", { class: "muted" }, `${fmt.plural(layout.bytes, "byte")}${layout.file ? ", " : ""}`, h("span", { class: "mono" }, place(layout.file, layout.line))),
		heatMap(owner, d.machine.levels[0].line, d.levels.map((l) => l.name)), details);
}

// Hides the articles whose text does not match; what is left.
export function filterArticles(box: Panel, none: HTMLElement, articles: readonly (readonly [HTMLElement, string])[], words: readonly string[]): void {
	let shown = 0;
	for (const [el, text] of articles) {
		el.hidden = !matches(words, text);
		if (!el.hidden) shown++;
	}
	none.hidden = shown > 0;
	setText(box.note, shownOf(shown, articles.length));
}

export function layoutsPart(d: MemoryData): PagePart | null {
	const articles = d.types.flatMap((owner, i) => (owner.layout
		? [[layoutArticle(d, owner, i), [owner.name, ...owner.fields.map((f) => f.name)].join(" ")] as const] : []));
	if (articles.length === 0) return null;
	const box = panel("Layouts");
	const none = empty("Nothing here matches the filter.");
	none.hidden = true;
	box.el.id = "layouts";
	replace(box.body, h("p", null, "Each row is a cache line of an element that begins one. Point at a field, or go to it by Tab, for its figures."),
		heatKey(), none, ...articles.map(([el]) => el));
	return { view: "layouts", label: "Layouts", el: box.el, filter: (words) => filterArticles(box, none, articles, words) };
}

// ---- shared lines ----

function sharedFields(names: ThreadNames, line: SharedLine): HTMLElement | null {
	if (!line.fields) return null;
	return new SortTable<SharedField>({
		label: `Fields in line ${line.address}`, rows: line.fields, empty: "No field is known.", columns: [
			{ key: "field", label: "Field", class: "mono name", value: (f) => f.name },
			{ key: "thread", label: "Thread", value: (f) => names.text(f.thread) },
			{ key: "offset", label: "Offset in the line", end: true, value: (f) => f.offset },
			{ key: "reads", label: "Reads that missed", end: true, value: (f) => f.reads_that_missed },
			{ key: "writes", label: "Writes that missed or took it", end: true, value: (f) => f.writes_that_missed },
		],
	}).el;
}

function takenTable(names: ThreadNames, line: SharedLine): HTMLElement {
	const table = new SortTable<SharedLine["taken"][number]>({
		label: `Who took line ${line.address}`, rows: line.taken, limit: 8, sort: { key: "times", down: true }, empty: "No thread took it.", columns: [
			{ key: "by", label: "Taken by", value: (t) => names.text(t.by) },
			{ key: "from", label: "From", value: (t) => names.text(t.from) },
			{ key: "times", label: "Times", end: true, value: (t) => t.invalidations },
		],
	});
	table.el.classList.add("narrow");
	return table.el;
}

export function sharedPart(d: MemoryData): PagePart {
	const names = new ThreadNames(d.threads);
	const box = panel("Shared lines");
	const none = empty(d.shared_lines.length > 0 ? "Nothing here matches the filter." : "No thread took a line from another.");
	const articles = d.shared_lines.map((line) => [h("article", { class: "shared-line", data: { line: line.address } },
		h("h3", null, "line ", h("span", { class: "mono" }, line.address)),
		h("p", null, `${fmt.count(line.false_misses)} misses of false sharing, ${fmt.count(line.true_misses)} of true sharing, ${fmt.count(line.invalidations)} copies destroyed`),
		sharedFields(names, line), takenTable(names, line)),
	[line.address, ...(line.fields ?? []).flatMap((f) => [f.name, names.text(f.thread)])].join(" ")] as const);
	const c = d.coherence;
	box.el.id = "shared";
	none.hidden = articles.length > 0;
	replace(box.body, articles.length === 0 ? null : h("p", null,
		`${fmt.count(c.false_sharing + c.true_sharing + c.unknown_sharing)} misses since another core took the line away: ` +
		`${fmt.count(c.false_sharing)} by false sharing (what was written is not what was wanted), ${fmt.count(c.true_sharing)} by true sharing.`),
	none, ...articles.map(([el]) => el));
	return { view: "shared", label: "Shared lines", el: box.el, filter: (words) => articles.length > 0 && filterArticles(box, none, articles, words) };
}
