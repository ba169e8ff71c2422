// SPDX-License-Identifier: MIT
// awaits.ts - who awaits whom at a moment, as a tree, and the asynchronous stack of the chosen coroutine.

import { h, replace, setText } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import type { Params, Route } from "../base/route.ts";
import { rangeOf } from "../base/selection.ts";
import { AwaitGrid } from "../ui/await_grid.ts";
import { chooser, stateWord } from "../ui/line_words.ts";
import { MomentBar } from "../ui/moment_bar.ts";
import { MomentStrip } from "../ui/moment_strip.ts";
import { panel } from "../ui/parts.ts";
import { isAll, selectedCoros } from "../ui/selection_bar.ts";
import { StackPanel } from "../ui/stack_panel.ts";
import { debounce, goCoro, type Context, type View } from "../ui/view.ts";
import type { Part } from "../trace.ts";
import { AT } from "../worker/moment.ts";
import type { StackAnswer, TreeAnswer } from "../worker/moments.ts";
import type { WakeEnd } from "../worker/follow.ts";
import type { TreeRequest } from "../worker/tree_lines.ts";

const LINES = 250;
const RINGS_SHOWN = 5;

export class AwaitsView implements View {
	readonly el: HTMLElement;
	readonly fill = false;
	readonly title = "Await tree";
	private readonly ctx: Context;
	private readonly bar: MomentBar;
	private readonly strip: MomentStrip;
	private readonly grid: AwaitGrid;
	private readonly stack: StackPanel;
	private readonly counts = h("p", { class: "await-counts", role: "status" });
	private readonly rings = h("div", null);
	private readonly note = h("p", { class: "thin-note", hidden: true });
	private params: Params = {};
	private t = NaN;
	private most = LINES;
	private readonly opened = new Set<string>();
	private readonly closed = new Set<string>();
	private hasAnswer = false;
	private busy = false;
	private again = false;
	private readonly keep: () => void;

	constructor(ctx: Context) {
		this.ctx = ctx;
		this.strip = new MomentStrip(ctx, (t) => this.setTime(t));
		this.bar = new MomentBar((t) => this.setTime(t), this.strip.el);
		this.grid = new AwaitGrid(ctx, {
			choose: (nr) => this.choose(nr), turn: (key, open) => this.turn(key, open), jump: (by) => this.bar.jump(by),
			open: (nr) => goCoro(ctx, ctx.trace.coros.id(ctx.trace.coros.rowOf(nr))), more: () => this.showMore(),
		});
		this.stack = new StackPanel(ctx, { choose: (nr) => this.choose(nr), follow: (how, to) => this.follow(how, to), opens: true });
		this.keep = debounce(200, () => this.ctx.select({ at: String(Math.round(this.t)) }));
		const tree = panel("Await tree", { note: "a coroutine is below the one that awaits it, or that waits for its lock, else below its creator" });
		tree.body.append(this.counts, this.rings, this.note, this.grid.el);
		this.el = h("div", { class: "awaits" }, this.bar.el, h("div", { class: "await-columns" }, tree.el, this.stack.el));
		this.el.addEventListener("keydown", (ev) => this.onKey(ev));
		new ResizeObserver(() => this.strip.draw()).observe(this.el);
	}

	show(params: Params): void {
		if (params.sel !== this.params.sel) this.most = LINES;
		this.params = params;
		const at = Number(params.at);
		this.t = params.at && Number.isFinite(at) ? at : this.lastMoment();
		this.refresh();
	}

	update(parts: ReadonlySet<Part>): void {
		if (parts.has("coros") || parts.has("index") || parts.has("sites")) {
			if (!this.params.at) this.t = this.lastMoment();
			else if (this.hasAnswer && this.t < this.ctx.trace.now) {
				// A moment in the past stays as it is.
				this.bar.show(this.t, this.range());
				return;
			}
			this.refresh();
		}
	}

	private range(): { from: number; to: number } {
		return rangeOf(this.params) ?? { from: 0, to: Math.max(1, this.ctx.trace.now) };
	}

	// The end; if all have ended then, the last step of time in which some existed.
	private lastMoment(): number {
		const { series } = this.ctx.trace;
		const { from, to } = this.range();
		let i = series.rows - 1;
		if (series.c.alive[i] > 0) return to;
		while (i > 0 && series.c.alive[i - 1] === 0) i--;
		return Math.max(from, Math.min(to, series.start + i * series.width - 1));
	}

	// 1 + number of the chosen coroutine; 0: none.
	private sel(): number {
		const { coros } = this.ctx.trace;
		const row = this.params.sel ? coros.rowOfId(this.params.sel) : -1;
		return row >= 0 ? coros.c.nr[row] + 1 : 0;
	}

	private setTime(t: number): void {
		const { from, to } = this.range();
		this.t = Math.max(from, Math.min(to, t));
		this.refresh();
		this.keep();
	}

	private choose(nr: number): void {
		const { coros } = this.ctx.trace;
		const row = coros.rowOf(nr);
		if (row >= 0) this.ctx.select({ sel: coros.id(row), at: String(Math.round(this.t)) });
	}

	private turn(key: string, open: boolean): void {
		(open ? this.opened : this.closed).add(key);
		(open ? this.closed : this.opened).delete(key);
		this.refresh();
	}

	private showMore(): void {
		this.most *= 2;
		this.refresh();
	}

	private routeOf(nr: number, t: number): Route {
		const { coros } = this.ctx.trace;
		return { view: "awaits", coro: null, params: { ...this.params, sel: coros.id(coros.rowOf(nr)), at: String(Math.round(t)) } };
	}

	private follow(how: string, to: WakeEnd): void {
		const from = this.sel() - 1;
		if (from < 0 || this.ctx.trace.coros.rowOf(to.nr) < 0) return;
		// A waker is looked at when it wakes, one that was woken when it runs.
		const t = how === "woke" ? to.from : to.at;
		this.ctx.trail.follow({ nr: from, at: this.t, route: this.routeOf(from, this.t) }, how, { nr: to.nr, at: t, route: this.routeOf(to.nr, t) });
	}

	private onKey(ev: KeyboardEvent): void {
		if (ev.ctrlKey || ev.metaKey || ev.altKey || ev.defaultPrevented) return;
		if (ev.key === "b" || ev.key === "w") this.stack.followWake(ev.key === "b" ? -1 : 1);
		else if (ev.key === "Backspace") this.ctx.trail.back();
		else return;
		ev.preventDefault();
	}

	// ---- data ----

	private refresh(): void {
		const { trace } = this.ctx;
		const sel = this.sel();
		this.bar.show(this.t, this.range());
		this.strip.show(this.t, this.range(), sel > 0 ? trace.coros.rowOf(sel - 1) : -1);
		if (!trace.complete) setText(this.counts, "Reading the coroutines…");
		else void this.fetch();
	}

	// One request at a time; after its answer, the next one is for the time that is chosen then.
	private async fetch(): Promise<void> {
		if (this.busy) {
			this.again = true;
			return;
		}
		this.busy = true;
		try {
			do {
				this.again = false;
				await this.ask();
			} while (this.again);
		} catch (e) {
			setText(this.counts, `The slices cannot be read: ${(e as Error).message}`);
		} finally {
			this.busy = false;
		}
	}

	private async ask(): Promise<void> {
		const { engine } = this.ctx.trace;
		const sel = this.sel();
		const filter = selectedCoros(this.ctx, this.params);
		const request: TreeRequest = { t: this.t, open: [...this.opened], closed: [...this.closed], most: this.most, sel };
		const tree = await engine.call<TreeAnswer>("tree", [request, isAll(filter) ? null : filter],
			(done, of) => of > 4 && setText(this.counts, `Reading the slices: ${done} of ${of} blocks`));
		const stack = sel > 0 ? await engine.call<StackAnswer | null>("stack", [sel - 1, request.t]) : null;
		this.take(tree, stack, sel);
	}

	private take(tree: TreeAnswer, stack: StackAnswer | null, sel: number): void {
		const { trace } = this.ctx;
		this.hasAnswer = true;
		this.grid.show(tree, sel);
		this.counts.dataset.at = String(Math.round(tree.t));
		const words = [AT.running, AT.ready, AT.suspended, AT.fresh, AT.unknown, AT.omitted].filter((s) => tree.counts[s] > 0).map((s) => `${fmt.count(tree.counts[s])} ${stateWord(s)}`);
		setText(this.counts, tree.alive === 0 ? "No coroutine exists at this time." : `${fmt.plural(tree.alive, "coroutine")}: ${words.join(", ")}`);
		const omitted = tree.counts[AT.omitted];
		this.note.hidden = omitted === 0;
		setText(this.note, omitted === 0 ? "" : `What ${fmt.plural(omitted, "coroutine")} did at this time is not in this file: its slices were thinned out.`);
		this.drawRings(tree);
		if (stack) this.stack.show(stack);
		else this.stack.clear(this.params.sel ? `Coroutine #${this.params.sel} is not in this file.` : "Choose a coroutine in the tree.");
		this.bar.setChanges(stack ? { before: stack.before, after: stack.after, of: trace.titleOfNr(stack.me.nr) } :
			{ before: tree.before, after: tree.after, of: "any coroutine" });
	}

	private drawRings(tree: TreeAnswer): void {
		const { trace } = this.ctx;
		const lines = tree.rings.slice(0, RINGS_SHOWN).map((ring, i) => h("p", { class: "notice bad ring-line" }, `Ring ${i + 1}: `,
			...ring.slice(0, 8).flatMap((nr) => [chooser(trace, nr, (n) => this.choose(n)), " → "]), ring.length > 8 ? `${fmt.count(ring.length - 8)} more → ` : null,
			trace.titleOfNr(ring[0]), ring.length === 1 ? ": it waits for itself." : ": each waits for the next one, a deadlock unless a wait is given up."));
		replace(this.rings, ...lines, tree.rings.length > RINGS_SHOWN ? h("p", { class: "muted" }, `and ${fmt.plural(tree.rings.length - RINGS_SHOWN, "ring")} more`) : null);
	}
}
