// SPDX-License-Identifier: MIT
// group_rows.ts - groups of coroutines on the timeline: a row with their sums, opened and closed by a click; the same as a table.

import { button, h, replace } from "../../base/dom.ts";
import * as fmt from "../../base/format.ts";
import type { Params } from "../../base/route.ts";
import type { Range } from "../../base/selection.ts";
import type { Trace } from "../../trace.ts";
import { fitText, FONT, type Palette } from "../canvas.ts";
import { plainTable } from "../parts.ts";
import { sheetButtons, type Sheet } from "../save.ts";
import { rangeText } from "../selection_bar.ts";
import { groupOfLane, type RowGroup, type RowGrouping } from "../../worker/rows.ts";
import { groupOf, laneY, timeWidth, type LaneGroup, type Scene } from "./scene.ts";

export const GROUPINGS: Record<RowGrouping, { label: string }> = {
	"": { label: "no groups" },
	kind: { label: "groups: kind" },
	site: { label: "groups: place" },
	thread: { label: "groups: thread" },
};

const TABLE_ROWS = 200;

export function groupingOf(params: Params): RowGrouping {
	return params.group && params.group in GROUPINGS ? params.group as RowGrouping : "";
}

// "all", or keys: "3.17".
export function openGroups(params: Params): number[] | "all" {
	if (params.open === "all") return "all";
	return (params.open ?? "").split(".").filter((k) => /^\d{1,10}$/.test(k)).map(Number);
}

// The parameter after a click on a group.
export function toggledOpen(groups: readonly RowGroup[], key: number): string {
	const open = new Set(groups.filter((g) => g.isOpen).map((g) => g.key));
	if (!open.delete(key)) open.add(key);
	return [...open].sort((a, b) => a - b).join(".");
}

export function groupName(trace: Trace, by: RowGrouping, key: number): string {
	if (by === "kind") return trace.kind(key)?.text ?? "kind not known";
	if (by === "site") return trace.sitePlace(key) || "no known place";
	return `thread ${trace.thread(key)}`;
}

// What the sums are of.
const sumsWord = (of: Range | null): string => (of ? "in the window" : "whole run");

function factsText(g: RowGroup, of: Range | null): string {
	return [fmt.plural(g.count, "coroutine"), g.active >= 0 ? `${fmt.count(g.active)} active here` : "", `${sumsWord(of)}: running ${fmt.duration(g.ran)}`,
		`ready ${fmt.duration(g.ready)}`, `waiting ${fmt.duration(g.waited)}`, g.unknown > 0 ? `not in this file ${fmt.duration(g.unknown)}` : "",
		g.found > 0 ? `${fmt.count(g.found)} with findings` : ""].filter((t) => t !== "").join(" · ");
}

export function laneGroups(trace: Trace, by: RowGrouping, groups: readonly RowGroup[], of: Range | null): LaneGroup[] {
	return groups.map((g) => ({ title: `${g.isOpen ? "▾" : "▸"} ${groupName(trace, by, g.key)}`, facts: factsText(g, of), isOpen: g.isOpen }));
}

// The sums, in the part of the row that has time in other rows.
export function drawGroupRow(ctx: CanvasRenderingContext2D, s: Scene, p: Palette, lane: number): void {
	const group = groupOf(s, lane);
	if (!group) return;
	const y = laneY(s, lane);
	ctx.fillStyle = lane === s.selectedLane ? p.selected : p.sunk;
	ctx.fillRect(s.gutter, y, timeWidth(s) + 6, s.lane - 1);
	ctx.font = FONT;
	ctx.textBaseline = "middle";
	ctx.fillStyle = p.muted;
	ctx.fillText(fitText(ctx, group.facts, timeWidth(s) - 20), s.gutter + 8, y + s.lane / 2);
}

// The groups as a table with buttons, for keyboards and screen readers, and as CSV.
export class GroupTable {
	readonly el: HTMLDetailsElement;
	private readonly body = h("div", null);
	private readonly trace: Trace;
	private readonly toggle: (key: number) => void;
	private groups: readonly RowGroup[] = [];
	private by: RowGrouping = "";
	private of: Range | null = null;

	constructor(trace: Trace, toggle: (key: number) => void, all: (open: boolean) => void) {
		this.trace = trace;
		this.toggle = toggle;
		this.el = h("details", { class: "timeline-table group-table", hidden: true }, h("summary", null, "Groups, as a table"),
			h("p", { class: "row" }, button("Open all", () => all(true)), button("Close all", () => all(false)), sheetButtons("groups", () => this.sheet())), this.body);
		this.el.addEventListener("toggle", () => this.draw());
	}

	// @of: the window of the sums; null: the whole run.
	show(by: RowGrouping, groups: readonly RowGroup[], of: Range | null): void {
		[this.by, this.groups, this.of] = [by, groups, of];
		this.el.hidden = by === "";
		this.draw();
	}

	private draw(): void {
		if (!this.el.open || this.el.hidden) return;
		const rest = this.groups.length - TABLE_ROWS;
		const focused = this.body.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset.group : undefined;
		const omitted = this.groups.some((g) => g.unknown > 0);
		replace(this.body, h("p", { class: "muted sums-of", data: { to: String(this.of?.to ?? "") } }, this.of ? `Times in the selected window: ${rangeText(this.of)}.` : "Times of the whole run."), plainTable("Groups", [
			{ label: "Group", class: "mono", show: (g: RowGroup) => groupName(this.trace, this.by, g.key) },
			{ label: "Coroutines", end: true, show: (g: RowGroup) => fmt.count(g.count) },
			{ label: "Active here", end: true, show: (g: RowGroup) => (g.active >= 0 ? fmt.count(g.active) : fmt.dash) },
			{ label: "Running", end: true, show: (g: RowGroup) => fmt.duration(g.ran) },
			{ label: "Ready", end: true, show: (g: RowGroup) => fmt.duration(g.ready) },
			{ label: "Waiting", end: true, show: (g: RowGroup) => fmt.duration(g.waited) },
			...(omitted ? [{ label: "Not in this file", end: true, show: (g: RowGroup) => fmt.duration(g.unknown) }] : []),
			{ label: "With findings", end: true, show: (g: RowGroup) => fmt.count(g.found) },
			{ label: "Rows", show: (g: RowGroup) => this.toggleButton(g) },
		], this.groups.slice(0, TABLE_ROWS)), rest > 0 ? h("p", { class: "muted" }, `${fmt.count(rest)} more; save them all as CSV.`) : null);
		if (focused !== undefined) this.body.querySelector<HTMLElement>(`[data-group="${focused}"]`)?.focus();
	}

	private toggleButton(g: RowGroup): HTMLElement {
		return button(g.isOpen ? "Close" : "Open", () => this.toggle(g.key), {
			class: "button quiet", data: { group: String(g.key) }, aria: { label: `${g.isOpen ? "Close" : "Open"} ${groupName(this.trace, this.by, g.key)}`, expanded: g.isOpen },
		});
	}

	private sheet(): Sheet {
		return {
			name: "groups", head: ["group", "coroutines", "active", "running_ns", "ready_ns", "waiting_ns", "unknown_ns", "with_findings", "from_ns", "to_ns"],
			rows: this.groups.map((g) => [groupName(this.trace, this.by, g.key), g.count, g.active < 0 ? null : g.active, g.ran, g.ready, g.waited, g.unknown, g.found, this.of?.from ?? 0, this.of?.to ?? this.trace.now]),
		};
	}
}

// The group of a lane, or undefined.
export const rowGroupOf = (s: Scene, groups: readonly RowGroup[], lane: number): RowGroup | undefined => (s.lanes[lane] < 0 ? groups[groupOfLane(s.lanes[lane])] : undefined);
