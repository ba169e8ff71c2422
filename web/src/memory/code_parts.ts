// SPDX-License-Identifier: MIT
// code_parts.ts - which code misses: functions, the flame graph of misses, the source.

import { button, h, replace, setText } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { FlameBox } from "../ui/flame_box.ts";
import { tablePart, type PagePart } from "../ui/part_page.ts";
import { empty, panel, tableBox } from "../ui/parts.ts";
import { SortTable } from "../ui/sort_table.ts";
import { heat } from "./layout_map.ts";
import { buildMissTree, type MissNode } from "./miss_flame.ts";
import { BY_COST, costColumn, countColumns, filterArticles, mostOf, place, share } from "./parts.ts";
import type { CalledFunction, MemoryData, SourceCounts, SourceFile } from "./types.ts";

// ---- functions ----

export function functionsPart(d: MemoryData): PagePart {
	const where = (f: CalledFunction) => (f.file === null ? (f.module ?? "") : f.line > 0 ? place(f.file, f.line) : f.file);
	const table = new SortTable<CalledFunction>({
		label: "Functions", rows: d.functions, sort: BY_COST, empty: "No code address is known.", columns: [
			{
				key: "function", label: "Function", class: "name", value: (f) => `${f.name} ${where(f)}`.trim(),
				show: (f) => h("span", null, f.name, " ", h("span", { class: "muted mono" }, where(f))),
			},
			...(d.has_stacks ? [{ key: "calls", label: "Calls", end: true, value: (f: CalledFunction) => f.calls }] : []),
			...countColumns<CalledFunction>(d),
			{ ...costColumn<CalledFunction>(d.cost), label: "Exclusive cost", title: "Of the function itself, in cycles" },
			...(d.has_stacks ? [{
				key: "inclusive_cost", label: "Inclusive cost", title: "With the functions that it calls, in cycles", end: true,
				value: (f: CalledFunction) => f.inclusive?.cost ?? null, show: (f: CalledFunction) => share(f.inclusive?.cost ?? 0, d.cost),
			}] : []),
		],
	});
	return tablePart("functions", "Functions", "Which functions miss", table, d.functions.length, "functions", mostOf(d.functions.length, d.functions_of));
}

// ---- flame graph ----

function missFacts(d: MemoryData, n: MissNode): [string, string][] {
	const { file, cost, own, accesses, misses, calls } = n.frame;
	return [
		...(file === null ? [] : [["file", file] as [string, string]]),
		["share of the cost", fmt.percent(cost, d.cost)],
		["cost", fmt.count(cost)],
		["of the function itself", fmt.count(own)],
		["accesses", fmt.count(accesses)],
		[`${d.levels[d.levels.length - 1].name} misses`, fmt.count(misses)],
		...(calls === null ? [] : [["calls", fmt.count(calls)] as [string, string]]),
	];
}

export function missFlamePart(d: MemoryData): PagePart | null {
	const top = buildMissTree(d.flame);
	if (top === null) return null;
	const back = button("Show all", () => flame.reset(), { class: "button quiet" });
	const hottest = Math.max(1, ...d.flame.map((f) => f.own));
	const flame = new FlameBox<MissNode>(top, back, {
		empty: "No access missed.",
		text: (n) => `${n.frame.name} ${n.frame.file ?? ""}`,
		title: (n) => n.frame.name,
		facts: (n) => missFacts(d, n),
		tone: (n) => `h${heat(n.frame.own, hottest)}`,
		label: (n) => [n.frame.name],
	});
	const box = panel("Flame graph of misses", { tools: [back] });
	box.el.id = "flame";
	box.body.append(h("p", { class: "muted" }, "Each function calls those below it. The width is the cost of its misses with those of the functions that it calls; " +
		"the stronger its colour, the more are its own. A click zooms in, Escape zooms out."), flame.el);
	if (d.flame_hidden > 0) box.body.append(h("p", { class: "muted" }, `${fmt.plural(d.flame_hidden, "more stack")} with less than 0.05\u202f% of the cost each are left out.`));
	const filter = (words: readonly string[]) => {
		const hits = flame.search(words);
		setText(box.note, hits === null ? "" : `${fmt.percent(hits, 1)} of the cost matches`);
	};
	return { view: "flame", label: "Flame graph", el: box.el, filter };
}

// ---- source ----

function sourceRow(d: MemoryData, line: number, text: string, counts: SourceCounts | undefined, most: number): HTMLElement {
	const cell = (value: number) => h("td", { class: "end" }, value > 0 ? fmt.count(value) : "");
	return h("tr", counts ? { class: `hot h${heat(counts.cost, most)}-edge` } : null, h("td", { class: "end muted" }, String(line)),
		...(counts ? [cell(counts.reads), cell(counts.writes), ...d.levels.map((_, i) => cell(counts.misses[i])),
			h("td", { class: "end" }, counts.cost > 0 ? fmt.percent(counts.cost, d.cost) : "")]
			: Array.from({ length: d.levels.length + 3 }, () => h("td", null))),
		h("td", { class: "code" }, text));
}

function sourceTable(d: MemoryData, source: SourceFile, hunk: SourceFile["hunks"][number], most: number): HTMLElement {
	const byLine = new Map(hunk.counts.map((c) => [c.line, c]));
	const last = hunk.line + hunk.text.length - 1;
	const heads = ["Line", "Reads", "Writes", ...d.levels.map((l) => `${l.name} misses`), "Cost", "Source"];
	const label = `${source.file}, lines ${hunk.line} to ${last}`;
	return tableBox(label, h("table", { class: "plain source", aria: { label } },
		h("thead", null, h("tr", null, ...heads.map((text, i) => {
			const th = h("th", { class: i < heads.length - 1 ? "end" : "" }, text);
			th.setAttribute("scope", "col");
			return th;
		}))),
		h("tbody", null, ...hunk.text.map((text, i) => sourceRow(d, hunk.line + i, text, byLine.get(hunk.line + i), most)))));
}

function sourceArticle(d: MemoryData, source: SourceFile): HTMLElement {
	const most = Math.max(0, ...source.hunks.flatMap((hunk) => hunk.counts.map((c) => c.cost)));
	const costOf = (hunk: SourceFile["hunks"][number]) => hunk.counts.reduce((sum, c) => sum + c.cost, 0);
	const hunks = [...source.hunks].sort((a, b) => costOf(b) - costOf(a));
	return h("article", { class: "source-file", data: { file: source.file } },
		h("h3", { class: "mono" }, source.file, " ", h("span", { class: "muted" }, `${fmt.percent(source.cost, d.cost)} of the cost`)),
		source.problem === null ? null : h("p", { class: "remark" }, `${source.problem}.`),
		...hunks.map((hunk) => sourceTable(d, source, hunk, most)));
}

export function sourcePart(d: MemoryData): PagePart | null {
	if (!d.sources || d.sources.length === 0) return null;
	const files = [...d.sources].sort((a, b) => b.cost - a.cost);
	const articles = files.map((s) => [sourceArticle(d, s), [s.file, ...s.hunks.flatMap((hunk) => hunk.text)].join("\n")] as const);
	const box = panel("Source");
	const none = empty("Nothing here matches the filter.");
	none.hidden = true;
	box.el.id = "source";
	replace(box.body, h("p", null, "The lines around those that miss, the most expensive first. Counts are of all code of the line, inlined copies included."), none, ...articles.map(([el]) => el));
	return { view: "source", label: "Source", el: box.el, filter: (words) => filterArticles(box, none, articles, words) };
}
