// SPDX-License-Identifier: MIT
// path_panel.ts - the critical path to the last slice of a coroutine: a sum by coroutine and state, and every step.

import { button, h, replace } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { coroHref, viewHref, type Params } from "../base/route.ts";
import type { Path, PathState, PathStep } from "../worker/path.ts";
import { bar, empty, panel, plainTable, type Panel } from "./parts.ts";
import { SortTable } from "./sort_table.ts";
import type { Context } from "./view.ts";

const SHOWN = 60;
const SUMS = 8;

interface PathSum {
	nr: number;
	state: PathState;
	site: number;
	reason: number;
	ns: number;
}

export class PathPanel {
	readonly el: HTMLElement;
	private readonly ctx: Context;
	private readonly box: Panel;
	private table: SortTable<PathStep> | null = null;
	private asked = 0;

	constructor(ctx: Context) {
		this.ctx = ctx;
		this.box = panel("Critical path", { sheet: () => this.table?.sheet("path") ?? { name: "path", head: [], rows: [] } });
		this.box.body.append(empty("No slice of it is in this file."));
		this.el = this.box.el;
	}

	// To the moment @at of coroutine @nr; found on request, because it reads the slices of others.
	offer(nr: number, at: number): void {
		this.asked++;
		replace(this.box.body, h("p", { class: "muted" }, "What had to happen before its last slice: backwards from each wake to the coroutine that did it."),
			button("Find it", () => void this.find(nr, at)));
	}

	private async find(nr: number, at: number): Promise<void> {
		const mine = ++this.asked;
		const status = h("p", { class: "muted", role: "status" }, "Reading…");
		replace(this.box.body, status);
		try {
			const path = await this.ctx.trace.engine.call<Path>("path", [nr, at], (done) => (status.textContent = `Reading: ${done} coroutines`));
			if (mine === this.asked) this.draw(path);
		} catch (e) {
			status.textContent = `Its slices cannot be read: ${(e as Error).message}`;
		}
	}

	private who(nr: number, at = NaN): HTMLElement | string {
		const { coros } = this.ctx.trace;
		const row = coros.rowOf(nr);
		return row >= 0 ? h("a", { href: coroHref(coros.id(row), at) }, this.ctx.trace.title(row)) : "left out of the file";
	}

	// A step selects its coroutine and its middle, in the await tree; its duration leads to the timeline.
	private stepLink(s: PathStep, view: "awaits" | "timeline", text: string): HTMLElement | string {
		const { coros } = this.ctx.trace;
		const row = coros.rowOf(s.nr);
		if (row < 0) return text;
		const room = (s.to - s.from) * 0.5 + 10;
		const range: Params = view === "timeline" ? { by: "coroutine", from: String(Math.floor(s.from - room)), to: String(Math.ceil(s.to + room)) } : {};
		return h("a", { href: viewHref(view, { ...range, sel: coros.id(row), at: String(Math.round((s.from + s.to) / 2)) }), title: view === "awaits" ? "in the await tree" : "in the timeline" }, text);
	}

	private what(s: { state: PathState; site: number; reason: number }): string {
		const { trace } = this.ctx;
		const place = trace.sitePlace(s.site);
		const why = trace.reason(s.reason);
		if (s.state === "running") return `runs${place ? `, then waits at ${place}` : ""}`;
		if (s.state === "ready") return "is ready and waits for its turn";
		if (s.state === "waiting") return `waits${place ? ` at ${place}` : ""}${why ? `, ${why}` : ""}`;
		return "its slices are not in this file";
	}

	private sums(path: Path): PathSum[] {
		const sums = new Map<string, PathSum>();
		for (const s of path.steps) {
			const key = `${s.nr} ${s.state} ${s.site} ${s.reason}`;
			const sum = sums.get(key) ?? { nr: s.nr, state: s.state, site: s.site, reason: s.reason, ns: 0 };
			sum.ns += s.to - s.from;
			sums.set(key, sum);
		}
		return [...sums.values()].sort((a, b) => b.ns - a.ns);
	}

	private draw(path: Path): void {
		const { trace } = this.ctx;
		if (path.steps.length === 0) {
			replace(this.box.body, empty("Nothing is known before it."));
			return;
		}
		const [last, first] = [path.steps[0], path.steps[path.steps.length - 1]];
		const whole = last.to - first.from;
		const sums = this.sums(path);
		this.table = new SortTable<PathStep>({
			label: "Steps of the critical path", rows: path.steps, limit: SHOWN, empty: "", columns: [
				{ key: "from_ns", label: "From", end: true, value: (s) => s.from, show: (s) => this.stepLink(s, "awaits", fmt.stamp(s.from)) },
				{ key: "duration_ns", label: "For", end: true, value: (s) => s.to - s.from, show: (s) => this.stepLink(s, "timeline", fmt.duration(s.to - s.from)) },
				{ key: "coroutine", label: "Coroutine", value: (s) => trace.titleOfNr(s.nr), show: (s) => this.who(s.nr, (s.from + s.to) / 2) },
				{ key: "what", label: "What", value: (s) => this.what(s) },
			],
		});
		replace(this.box.body,
			h("p", null, `${fmt.plural(path.steps.length, "step")} in ${fmt.duration(whole)}, newest first${path.cut ? "; there is more before it" : ""}. The most of it:`),
			plainTable<PathSum>("Sums of the critical path", [
				{ label: "Coroutine", show: (s) => this.who(s.nr) },
				{ label: "What", show: (s) => this.what(s) },
				{ label: "Time", end: true, show: (s) => fmt.duration(s.ns) },
				{ label: "Of the path", end: true, show: (s) => fmt.percent(s.ns, whole) },
				{ label: "Of the path, as a bar", isBar: true, class: "bar-cell", show: (s) => bar(s.ns / Math.max(1, whole)) },
			], sums.slice(0, SUMS)), h("h3", null, "Steps"), this.table.el);
	}
}
