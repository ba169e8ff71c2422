// SPDX-License-Identifier: MIT
// timeline.ts - the run on a canvas: lanes by thread or by coroutine, from the whole run down to
// nanoseconds.

import { button, h, replace, setText } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { coroHref, type Params } from "../base/route.ts";
import { isPrinting, onTheme } from "../base/theme.ts";
import { Viewport } from "../base/viewport.ts";
import { fitCanvas, palette, type Palette } from "../ui/canvas.ts";
import { Gestures } from "../ui/gestures.ts";
import { Tip } from "../ui/parts.ts";
import { sheetButtons } from "../ui/save.ts";
import { drawScene } from "../ui/timeline/draw.ts";
import { FrameLayer, type FrameHit } from "../ui/timeline/frame_layer.ts";
import { groupingOf, GROUPINGS } from "../ui/timeline/group_rows.ts";
import { LaneRows, ORDERS, SHOWS } from "../ui/timeline/lane_rows.ts";
import { notesOf } from "../ui/note_book.ts";
import { noteForm } from "../ui/note_form.ts";
import { drawNotes, flagAt, flagFacts, noteSubjects } from "../ui/timeline/note_layer.ts";
import { Minimap } from "../ui/timeline/minimap.ts";
import { wakeFacts } from "../ui/timeline/wake_facts.ts";
import { WakeFollower } from "../ui/timeline/wake_follow.ts";
import { isSameWake, wakeAt } from "../ui/timeline/wake_layer.ts";
import { PieceChoice } from "../ui/timeline/piece_choice.ts";
import { pieceFacts } from "../ui/timeline/piece_facts.ts";
import { PinnedRows, pinsOf, toggledPin } from "../ui/timeline/pinned_rows.ts";
import {
	AXIS, groupOf, laneHeight, laneOfY, laneTitle, maxTop, pieceAt, timeWidth, visibleLanes, type Scene,
} from "../ui/timeline/scene.ts";
import { sightSheet, sightTable } from "../ui/timeline/sight_table.ts";
import { debounce, goCoro, type Context, type View } from "../ui/view.ts";
import type { Part } from "../trace.ts";
import type { LaneRequest, Pieces } from "../worker/lanes.ts";

const MAX_BLOCKS = { thread: 3, coroutine: 24 } as const;

export class TimelineView implements View {
	readonly el: HTMLElement;
	readonly fill = true;
	readonly title = "Timeline";
	private readonly ctx: Context;
	private readonly scene: Scene;
	private readonly canvas: HTMLCanvasElement;
	private readonly stage: HTMLElement;
	private readonly scroller: HTMLElement;
	private readonly spacer: HTMLElement;
	private readonly minimap: Minimap;
	private readonly tip = new Tip();
	private readonly info: HTMLElement;
	private readonly legend: HTMLElement;
	private readonly spoken: HTMLElement;
	private readonly table: HTMLDetailsElement;
	private readonly tableBody: HTMLElement;
	private readonly byThread: HTMLButtonElement;
	private readonly byCoro: HTMLButtonElement;
	private readonly coroFilters: HTMLElement;
	private readonly text: HTMLInputElement;
	private readonly showing: HTMLSelectElement;
	private readonly order: HTMLSelectElement;
	private readonly grouping: HTMLSelectElement;
	private readonly rows: LaneRows;
	private readonly pinned: PinnedRows;
	private readonly arrows: HTMLInputElement;
	private readonly frames = new FrameLayer();
	private readonly wakes: WakeFollower;
	private readonly frameMarks: HTMLInputElement;
	private readonly frameField: HTMLElement;
	private colours: Palette | null = null;
	private params: Params = {};
	private scheduled = false;
	private busy = false;
	private again = false;
	private placed = false;
	private readonly choice: PieceChoice;
	private hasMoment = false; // the coroutine of the address was looked up
	private wanted = -1;       // a lane to scroll to once the window exists
	private readonly keep: () => void;
	private readonly settle: () => void;
	private readonly follow: () => void;

	constructor(ctx: Context) {
		this.ctx = ctx;
		this.scene = {
			trace: ctx.trace, by: "thread", lanes: [], view: new Viewport(), top: 0, width: 0, height: 0, gutter: 180, lane: 24,
			pieces: null, laneAt: new Map(), selectedLane: -1, selectedCoro: 0, hovered: -1, arrows: true, chosen: null, chosenWake: null, at: NaN,
		};
		this.wakes = new WakeFollower(ctx, this.scene, {
			params: () => this.params, tell: (facts, more) => this.tell(facts, "", more), speak: (text) => setText(this.spoken, text),
			reveal: (thread) => this.scene.by === "thread" && this.reveal(Math.max(0, this.scene.lanes.indexOf(thread))),
		});
		this.choice = new PieceChoice(ctx, this.scene, this.frames, this.wakes, {
			keep: (change) => this.keepChosen(change), tell: (facts, id, more) => this.tell(facts, id, more), moved: () => {
				this.schedule();
				this.keep();
			},
		});
		this.canvas = h("canvas", null);
		this.spacer = h("div", null);
		this.scroller = h("div", { class: "lane-scroll", tabindex: -1, aria: { hidden: true } }, this.spacer);
		this.stage = h("div", {
			class: "stage", tabindex: 0, role: "application",
			aria: {
				label: "Timeline. Plus and minus zoom, left and right move, up and down choose a lane, comma and full stop go from slice to slice, b goes to what woke a slice, w to what it woke, Backspace back, f and shift-f from frame to frame, Enter opens the coroutine, 0 shows all. A table of what is in sight follows below.",
			},
		}, this.canvas, this.scroller);
		this.minimap = new Minimap(this.scene, () => this.viewChanged());
		this.info = h("div", { class: "timeline-info", role: "status" });
		this.spoken = h("span", { class: "sr", role: "status", aria: { live: "polite" } });
		this.tableBody = h("div", null);
		this.table = h("details", { class: "timeline-table" }, h("summary", null, "What is in sight, as a table"), this.tableBody);
		this.byThread = button("By thread", () => this.set({ by: "" }));
		this.byCoro = button("By coroutine", () => this.set({ by: "coroutine" }));
		this.text = h("input", { type: "search", aria: { label: "Only coroutines with this text" } });
		this.text.placeholder = "Name, kind, place or id";
		this.showing = this.select("Which coroutines", SHOWS, "show");
		this.order = this.select("Order of the lanes", ORDERS, "order");
		this.grouping = this.select("Groups of coroutines", GROUPINGS, "group");
		this.coroFilters = h("span", { class: "row" }, this.text, this.showing, this.order, this.grouping);
		this.rows = new LaneRows(ctx, this.scene, {
			params: () => this.params, set: (change) => this.set(change), laid: (lane) => this.laneLaid(lane), drawn: () => this.schedule(),
			failed: (what) => setText(this.info, what),
		});
		this.pinned = new PinnedRows(this.scene, {
			changed: () => this.viewChanged(), facts: (s, piece) => pieceFacts(s, piece), unpin: (pin) => this.togglePin(pin),
			open: (s, lane) => s.by === "coroutine" && this.open(s.lanes[lane] + 1),
		});
		this.arrows = h("input", { type: "checkbox" });
		this.arrows.checked = true;
		this.frameMarks = h("input", { type: "checkbox" });
		this.frameField = h("label", { class: "field", hidden: true }, this.frameMarks, "frames");
		this.keep = debounce(250, () => this.keepRange());
		this.settle = debounce(150, () => this.settled());
		this.follow = debounce(200, () => void this.rows.choose());
		this.legend = h("span", { class: "legend lane-legend", hidden: true });
		this.el = h("div", { class: "fill-view timeline" }, this.toolbar(), this.minimap.el, this.pinned.el, this.stage,
			h("div", { class: "timeline-foot" }, this.info, this.legend), this.rows.table.el, this.table, this.spoken);
		this.listen();
		notesOf(ctx.trace).onChange(() => this.schedule());
	}

	private select(label: string, from: Record<string, { label: string }>, key: string): HTMLSelectElement {
		const el = h("select", { aria: { label } });
		for (const [value, { label: words }] of Object.entries(from)) {
			const option = h("option", null, words);
			option.value = value;
			el.append(option);
		}
		el.addEventListener("change", () => this.set({ [key]: el.value === Object.keys(from)[0] ? "" : el.value }));
		return el;
	}

	private toolbar(): HTMLElement {
		const zoom = (factor: number) => {
			const v = this.scene.view;
			v.zoom(factor, (v.from + v.to) / 2);
			this.viewChanged();
		};
		return h("div", { class: "filters" },
			h("span", { class: "segments", role: "group", aria: { label: "Lanes" } }, this.byThread, this.byCoro),
			this.coroFilters, h("label", { class: "field" }, this.arrows, "wake arrows"), this.frameField,
			h("span", { class: "segments", role: "group", aria: { label: "Zoom" } },
				button("−", () => zoom(1 / 0.5), { aria: { label: "Zoom out" } }), button("+", () => zoom(0.5), { aria: { label: "Zoom in" } }),
				button("All", () => {
					this.scene.view.fit();
					this.viewChanged();
				}, { aria: { label: "All: show the whole run" } })),
			button("Note", () => this.writeNote(), { title: "Write a note about what is chosen or visible (n)" }), this.rows.count, sheetButtons("what is in sight", () => sightSheet(this.scene)));
	}

	private listen(): void {
		const s = this.scene;
		new Gestures(this.stage, this.canvas, {
			view: s.view, get left() { return s.gutter; }, width: () => timeWidth(s), changed: () => this.viewChanged(),
			scroll: (dy) => this.scrollLanes(dy), click: (x, y) => this.click(x, y), key: (ev) => this.key(ev),
		});
		this.canvas.addEventListener("pointermove", (ev) => this.hover(ev));
		this.canvas.addEventListener("pointerleave", () => this.unhover());
		this.scroller.addEventListener("scroll", () => {
			s.top = Math.min(maxTop(s), this.scroller.scrollTop);
			this.viewChanged();
		}, { passive: true });
		this.text.addEventListener("input", debounce(150, () => this.set({ q: this.text.value })));
		this.arrows.addEventListener("change", () => this.set({ arrows: this.arrows.checked ? "" : "0" }));
		this.frameMarks.addEventListener("change", () => this.set({ frames: this.frameMarks.checked ? "" : "0" }));
		this.table.addEventListener("toggle", () => this.drawTable());
		new ResizeObserver(() => this.resize()).observe(this.stage);
		onTheme(() => {
			this.colours = null;
			this.minimap.forgetColours();
			if (isPrinting()) this.draw();
			else this.schedule();
		});
	}

	// ---- parameters ----

	show(params: Params): void {
		this.params = params;
		this.rows.noteRevealed("");
		const s = this.scene;
		s.view.setLimits(0, Math.max(1, this.ctx.trace.now));
		const [from, to] = [Number(params.from), Number(params.to)];
		if (params.from && params.to && from < to) s.view.set(from, to);
		else if (!this.placed) s.view.fit();
		this.placed = true;
		this.showMoment();
		this.fillToolbar();
		this.loadFrames();
		this.pinned.show(params);
		void this.rows.choose();
	}

	// The coroutine and the moment that the address names: its piece is chosen when it is here.
	private showMoment(): void {
		const { coros } = this.ctx.trace;
		const s = this.scene;
		this.hasMoment = this.ctx.trace.complete;
		const row = this.params.sel ? coros.rowOfId(this.params.sel) : -1;
		const at = this.params.at ? Number(this.params.at) : NaN;
		s.at = Number.isFinite(at) ? at : NaN;
		s.selectedCoro = row >= 0 ? coros.c.nr[row] + 1 : 0;
		s.chosenWake = null;
		this.choice.name(s.selectedCoro, s.at);
		if (row >= 0 && (s.at < s.view.from || s.at > s.view.to)) s.view.set(s.at - s.view.span / 2, s.at + s.view.span / 2);
	}

	// Frames are a section of their own; of a running program more arrive.
	private loadFrames(): void {
		this.frames.refresh(this.scene, () => {
			this.fillToolbar();
			this.schedule();
		});
	}

	update(parts: ReadonlySet<Part>): void {
		const s = this.scene;
		if (parts.has("meta")) {
			const whole = s.view.isWhole;
			s.view.setLimits(0, Math.max(1, this.ctx.trace.now));
			if (whole) s.view.fit();
			if (!this.el.hidden) this.loadFrames();
		}
		if (parts.has("coros")) this.pinned.show(this.params);
		if (!this.hasMoment && this.ctx.trace.complete && !this.el.hidden) this.showMoment();
		if (parts.has("coros") || parts.has("lod") || parts.has("index") || parts.has("meta")) void this.rows.choose();
	}

	hide(): void {
		this.tip.hide();
		this.pinned.hideTips();
	}

	private set(change: Params): void {
		this.params = { ...this.params, ...change };
		this.ctx.setParams(this, this.params);
		this.fillToolbar();
		void this.rows.choose();
	}

	private fillToolbar(): void {
		const p = this.params;
		const s = this.scene;
		const by = p.by === "coroutine" ? "coroutine" : "thread";
		if (by !== s.by) {
			s.by = by;
			s.top = this.scroller.scrollTop = 0;
			s.pieces = null;
			s.selectedLane = -1;
		}
		this.byThread.setAttribute("aria-pressed", String(by === "thread"));
		this.byCoro.setAttribute("aria-pressed", String(by === "coroutine"));
		this.coroFilters.hidden = by === "thread";
		this.fillLegend(by);
		if (document.activeElement !== this.text) this.text.value = p.q ?? "";
		this.showing.value = p.show ?? "all";
		this.order.value = p.order && p.order in ORDERS ? p.order : "first";
		this.grouping.value = groupingOf(p);
		s.arrows = p.arrows !== "0";
		this.arrows.checked = s.arrows;
		this.frames.on = p.frames !== "0";
		this.frameMarks.checked = this.frames.on;
		this.frameField.hidden = this.frames.isEmpty;
	}

	// Lanes of threads have the colours of kinds: only the parts without a processor need words.
	private fillLegend(by: Scene["by"]): void {
		const item = (swatch: string, words: string, mark = "") => h("span", null, h("i", { class: `lane-swatch ${swatch}` }, mark), words);
		const states = by === "thread" ? [] : [...["running", "ready", "suspended"].map((state) => item(state, state)), item("found", "has a finding", "▲"),
			...(this.ctx.trace.meta.thinned.some((t) => t.what === "slices") ? [item("omitted", "not in this file")] : [])];
		const { cpu: recorded } = this.ctx.trace.meta;
		// Without wake-ups the end of a wait is the next switch to a processor.
		const cpu = recorded ? [item("ready", by === "thread" ? "waits for a processor" : "in a slice: waits for a processor"),
			item("blocked", recorded.wakes ? "blocked in the kernel" : "blocked in the kernel, or woken and not yet on a processor")] : [];
		const frames = this.frames.isEmpty || this.params.frames === "0" ? [] : [item("frame", "frames", "▼")];
		replace(this.legend, ...states, ...cpu, ...frames);
		this.legend.hidden = states.length + cpu.length + frames.length === 0;
	}

	private togglePin(pin: string): void {
		if (pin === "") return;
		this.params = { ...this.params, pin: toggledPin(this.params, pin) };
		this.ctx.setParams(this, this.params);
		this.pinned.show(this.params);
		const isPinned = pinsOf(this.params).includes(pin);
		setText(this.spoken, isPinned ? "pinned above the other rows" : "not pinned any more");
	}

	private resize(): void {
		const s = this.scene;
		s.width = this.stage.clientWidth;
		s.height = this.stage.clientHeight;
		s.gutter = s.width < 700 ? 96 : 180;
		this.layLanes();
		if (this.wanted >= 0) this.reveal(this.wanted);
		if (s.width > 0) this.viewChanged(false);
	}

	private laneLaid(lane: number): void {
		this.layLanes();
		if (lane >= 0) this.reveal(lane);
		this.viewChanged(false);
	}

	private layLanes(): void {
		const s = this.scene;
		s.lane = laneHeight(s);
		this.spacer.style.height = `${Math.min(8e6, s.lanes.length * s.lane)}px`;
	}

	// ---- frames and data ----

	private viewChanged(byHand = true): void {
		const s = this.scene;
		s.top = Math.max(0, Math.min(maxTop(s), s.top));
		this.schedule();
		void this.fetch();
		void this.pinned.fetch();
		if (byHand && this.params.order === "active") this.follow();
		if (byHand) {
			// What was below the pointer is elsewhere now.
			s.hovered = -1;
			this.tip.hide();
			this.keep();
		}
		this.settle();
	}

	private schedule(): void {
		if (this.scheduled) return;
		this.scheduled = true;
		requestAnimationFrame(() => {
			this.scheduled = false;
			this.draw();
		});
	}

	private draw(): void {
		const s = this.scene;
		if (s.width === 0 || s.height === 0) return;
		const ctx = this.canvas.getContext("2d")!;
		if (fitCanvas(this.canvas, s.width, s.height)) this.colours = null;
		this.colours ??= palette(ctx);
		drawScene(ctx, s, this.colours);
		this.frames.draw(ctx, s, this.colours);
		drawNotes(ctx, s, this.colours);
		this.pinned.draw();
		this.minimap.draw();
	}

	private request(): LaneRequest {
		const s = this.scene;
		const { first, last } = visibleLanes(s);
		// Half a screen more on each side: something to draw until the next answer arrives.
		return {
			by: s.by, lanes: s.lanes.slice(Math.max(0, first - 8), last + 8).filter((key) => key >= 0), from: s.view.from - s.view.span / 2,
			to: s.view.to + s.view.span / 2, step: s.view.span / timeWidth(s), maxBlocks: MAX_BLOCKS[s.by],
		};
	}

	// One request at a time; after its answer, the next one is for what is visible then.
	private async fetch(): Promise<void> {
		if (this.scene.lanes.length === 0 || this.scene.width === 0) return;
		if (this.busy) {
			this.again = true;
			return;
		}
		this.busy = true;
		try {
			do {
				this.again = false;
				this.take(await this.ctx.trace.engine.call<Pieces>("lanes", [this.request()]));
			} while (this.again);
		} catch (e) {
			setText(this.info, `The slices cannot be read: ${(e as Error).message}`);
		} finally {
			this.busy = false;
		}
	}

	private take(pieces: Pieces): void {
		const s = this.scene;
		if (pieces.request.by !== s.by) {
			this.again = true;
			return;
		}
		this.choice.take(pieces);
		this.schedule();
		this.settle();
	}

	private keepRange(): void {
		const v = this.scene.view;
		this.params = { ...this.params, from: v.isWhole ? "" : String(Math.round(v.from)), to: v.isWhole ? "" : String(Math.round(v.to)) };
		this.ctx.setParams(this, this.params);
		this.rows.askSums();
	}

	private settled(): void {
		const s = this.scene;
		if (this.el.hidden || s.lanes.length === 0) {
			if (s.lanes.length === 0) setText(this.info, this.ctx.trace.complete ? "No lane to show: nothing has run, or no coroutine matches." : "Reading…");
			return;
		}
		if (this.choice.isEmpty && !this.frames.chosen && !s.chosenWake) setText(this.info, this.describe());
		if (this.table.open) this.drawTable();
	}

	private describe(): string {
		const p = this.scene.pieces;
		if (!p) return "";
		const hint = "Wheel zooms, drag moves, shift-drag picks a part, a click chooses, a second one opens.";
		if (p.exact) return p.thinned ? `Some slices here were thinned out of the file. ${hint}` : hint;
		return p.request.by === "thread"
			? `Height: how busy. Zoom in for single slices, coloured by the kind of coroutine. ${hint}`
			: `Too much for single slices (${fmt.plural(p.blocks, "block")}): lives only, from birth to end. Zoom in for more.`;
	}

	// ---- input ----

	private scrollLanes(dy: number): void {
		this.scroller.scrollTop += dy;
	}

	private reveal(lane: number): void {
		const s = this.scene;
		const y = lane * s.lane;
		const room = s.height - AXIS;
		this.wanted = room > 0 ? -1 : lane;
		if (room <= 0) return;
		// A lane that is far off is scrolled to the middle.
		if (y < s.top - room || y > s.top + 2 * room) this.scroller.scrollTop = y - room / 2;
		else if (y < s.top) this.scroller.scrollTop = y;
		else if (y + s.lane > s.top + room) this.scroller.scrollTop = y + s.lane - room;
	}

	private hover(ev: PointerEvent): void {
		const s = this.scene;
		const flag = ev.buttons === 0 ? flagAt(s, ev.offsetX, ev.offsetY) : null;
		if (flag) {
			const [head, ...notes] = flagFacts(s, flag);
			this.tip.show(ev.clientX, ev.clientY, head[1], notes);
			return;
		}
		const mark = ev.buttons === 0 ? this.frames.at(s, ev.offsetX, ev.offsetY) : null;
		const piece = ev.buttons === 0 && !mark ? pieceAt(s, ev.offsetX, ev.offsetY) : -1;
		if (piece !== s.hovered) {
			s.hovered = piece;
			this.schedule();
		}
		if (piece < 0 && !mark && (ev.buttons !== 0 || !wakeAt(s, ev.offsetX, ev.offsetY))) {
			this.tip.hide();
			return;
		}
		const wake = mark || this.choice.isRun(piece) ? null : wakeAt(s, ev.offsetX, ev.offsetY);
		const [title, ...pairs] = mark ? this.frames.facts(s, mark) : wake ? wakeFacts(this.ctx.trace, wake) : pieceFacts(s, piece);
		this.tip.show(ev.clientX, ev.clientY, title[1], pairs);
	}

	private unhover(): void {
		this.scene.hovered = -1;
		this.tip.hide();
		this.schedule();
	}

	private keepChosen(change: Params): void {
		this.rows.noteRevealed(change.sel);
		this.params = { ...this.params, ...change };
		this.ctx.setParams(this, this.params);
	}

	// Below the lanes, and for screen readers.
	private tell(facts: [string, string][], id: string, more: HTMLElement | null = null): void {
		replace(this.info, h("b", null, facts[0][1]), ...facts.slice(1).map(([k, v]) => h("span", null, h("span", { class: "muted" }, `${k} `), v)),
			more, id !== "" ? h("a", { href: coroHref(id) }, "Open the coroutine") : null, this.pinButton());
		setText(this.spoken, facts.map(([k, v]) => `${k} ${v}`).join(", "));
		this.schedule();
	}

	private pinButton(): HTMLElement | null {
		const pin = PinnedRows.pinOf(this.scene, this.scene.selectedLane);
		const isPinned = pinsOf(this.params).includes(pin);
		return pin === "" ? null : button(isPinned ? "Unpin the row" : "Pin the row", () => this.togglePin(pin), { class: "button quiet" });
	}

	private writeNote(): void {
		noteForm().open("New note", noteSubjects(this.scene, this.choice.piece), "", (note) => notesOf(this.ctx.trace).add(note));
	}

	private chooseFrames(hit: FrameHit): void {
		const s = this.scene;
		this.choice.clear();
		this.frames.chosen = hit;
		s.selectedLane = hit.lane;
		const ids = new Set(hit.rows.map((f) => f.id));
		this.tell(this.frames.facts(s, hit), ids.size === 1 ? hit.rows[0].id : "");
	}

	// A second click: into several frames, or to the coroutine of one.
	private openFrames({ rows }: FrameHit): void {
		const v = this.scene.view;
		const [from, to] = [rows[0].ts, rows[rows.length - 1].ts];
		this.tip.hide();
		if (rows.length > 1 && to - from < v.span) {
			const room = Math.max(1000, (to - from) * 0.1);
			v.set(from - room, to + room);
			this.frames.chosen = null;
			this.viewChanged();
		} else if (rows[0].id !== "") {
			goCoro(this.ctx, rows[0].id);
		}
	}

	private click(x: number, y: number): void {
		const s = this.scene;
		const flag = flagAt(s, x, y);
		if (flag) {
			const [head, ...notes] = flagFacts(s, flag);
			this.tell([head, ...notes], "");
			return;
		}
		const hit = this.frames.at(s, x, y);
		if (hit) {
			const { chosen } = this.frames;
			if (chosen && chosen.rows[0] === hit.rows[0] && chosen.rows.length === hit.rows.length) this.openFrames(hit);
			else this.chooseFrames(hit);
			return;
		}
		this.frames.chosen = null;
		const lane = laneOfY(s, y);
		const group = this.rows.groupOf(lane);
		if (group) {
			s.selectedLane = lane;
			this.rows.toggle(group.key);
			return;
		}
		const piece = pieceAt(s, x, y);
		const wake = this.choice.isRun(piece) ? null : wakeAt(s, x, y);
		if (wake && !isSameWake(wake, s.chosenWake)) {
			this.choice.clear();
			this.wakes.choose(wake);
			return;
		}
		s.chosenWake = null;
		const again = piece >= 0 && piece === this.choice.piece;
		s.selectedLane = lane;
		if (again || (x < s.gutter && s.by === "coroutine" && lane >= 0)) {
			this.open(again ? s.pieces!.coro[piece] : s.lanes[lane] + 1);
		} else if (piece >= 0) {
			this.choice.choose(piece);
		} else {
			this.choice.clear();
			s.selectedCoro = 0;
			this.choice.keep("", NaN);
			this.settled();
		}
		this.schedule();
	}

	private open(ref: number): void {
		const row = ref > 0 ? this.ctx.trace.coros.rowOf(ref - 1) : -1;
		if (row >= 0) goCoro(this.ctx, this.ctx.trace.coros.id(row));
	}

	private key(ev: KeyboardEvent): boolean {
		const s = this.scene;
		if (ev.key === "ArrowDown" || ev.key === "ArrowUp") {
			const next = s.selectedLane + (ev.key === "ArrowDown" ? 1 : -1);
			s.selectedLane = Math.max(0, Math.min(s.lanes.length - 1, next));
			this.reveal(s.selectedLane);
			this.choice.clear();
			this.frames.chosen = null;
			if (s.lanes.length > 0) setText(this.spoken, `${laneTitle(s, s.selectedLane)} ${groupOf(s, s.selectedLane)?.facts ?? ""}`);
			this.schedule();
			return true;
		}
		if (ev.key === "PageDown" || ev.key === "PageUp") {
			this.scrollLanes((ev.key === "PageDown" ? 1 : -1) * (s.height - AXIS - s.lane));
			return true;
		}
		if (ev.key === "b" || ev.key === "w") {
			void this.wakes.followKey(ev.key === "b" ? -1 : 1, !this.choice.isEmpty);
			return true;
		}
		if (ev.key === "Backspace") return this.ctx.trail.back();
		if (ev.key === "n") {
			this.writeNote();
			return true;
		}
		if (ev.key === "p") {
			this.togglePin(PinnedRows.pinOf(s, s.selectedLane));
			return true;
		}
		const group = ev.key === "Enter" ? this.rows.groupOf(s.selectedLane) : undefined;
		if (group) {
			this.rows.toggle(group.key);
			return true;
		}
		if (ev.key === "." || ev.key === ",") return this.choice.step(ev.key === "." ? 1 : -1);
		if (ev.key === "f" || ev.key === "F") {
			const hit = this.frames.next(s, Math.max(0, s.selectedLane), ev.key === "f" ? 1 : -1);
			if (hit) this.chooseFrames(hit);
			return true;
		}
		if (ev.key === "Enter" && this.frames.chosen) {
			this.openFrames(this.frames.chosen);
			return true;
		}
		if (ev.key === "Enter") {
			if (!this.choice.isEmpty) this.open(this.choice.coro);
			else if (s.by === "coroutine" && s.selectedLane >= 0) this.open(s.lanes[s.selectedLane] + 1);
			return true;
		}
		return false;
	}

	private drawTable(): void {
		if (this.table.open) replace(this.tableBody, ...sightTable(this.scene));
	}
}
