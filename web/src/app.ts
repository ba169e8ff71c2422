// SPDX-License-Identifier: MIT
// app.ts - the frame: head, tabs, the view that the address names.

import { button, h, setText } from "./base/dom.ts";
import * as fmt from "./base/format.ts";
import { formatRoute, parseRoute, type Params, type Route } from "./base/route.ts";
import { sharedOf, SHARED } from "./base/selection.ts";
import { Head } from "./ui/head.ts";
import { listenToKeys } from "./ui/keys.ts";
import { SelectionBar } from "./ui/selection_bar.ts";
import { Trail } from "./ui/trail.ts";
import { BASE_TABS, Tabs } from "./ui/tabs.ts";
import { WINDOW_NS } from "./ui/live_badge.ts";
import type { LiveFeed } from "./live.ts";
import type { Context, View } from "./ui/view.ts";
import type { Stream } from "./data/delay.ts";
import type { Completeness } from "./data/types.ts";
import type { Part, Trace } from "./trace.ts";
import { Overview } from "./views/overview.ts";
import { Findings } from "./views/findings.ts";
import { Coroutines } from "./views/coroutines.ts";
import { CoroutineView } from "./views/coroutine.ts";
import { AwaitsView } from "./views/awaits.ts";
import { TimelineView } from "./views/timeline.ts";
import { SitesView } from "./views/sites.ts";
import { TimeView } from "./views/time.ts";
import { NotesView } from "./views/notes.ts";
import { notesOf } from "./ui/note_book.ts";

const MAKERS: Record<string, (ctx: Context) => View> = {
	overview: (ctx) => new Overview(ctx),
	findings: (ctx) => new Findings(ctx),
	coroutines: (ctx) => new Coroutines(ctx),
	timeline: (ctx) => new TimelineView(ctx),
	awaits: (ctx) => new AwaitsView(ctx),
	sites: (ctx) => new SitesView(ctx),
	time: (ctx) => new TimeView(ctx),
	notes: (ctx) => new NotesView(ctx),
};

export class App implements Context {
	readonly trace: Trace;
	readonly trail: Trail;
	private readonly head: Head;
	private readonly tabs: Tabs;
	private readonly main: HTMLElement;
	private readonly news: HTMLElement;
	private readonly shortage: HTMLElement;
	private readonly notice: HTMLElement;
	private readonly noticeText: HTMLElement;
	private noticed = false;   // read and dismissed
	private readonly views = new Map<string, View>();
	private current: View | null = null;
	private readonly focused = new WeakMap<View, HTMLElement>();
	private readonly bar: SelectionBar;
	private shared: Params = {};
	private readonly own = new Map<string, Params>(); // of each view, without the selection
	private route: Route;
	private address = ""; // of the route
	private known: Set<string>;
	private hasWindow = false; // the last 30 s of a live page are selected

	constructor(root: HTMLElement, trace: Trace) {
		this.trace = trace;
		this.route = parseRoute(location.hash);
		this.head = new Head(trace);
		this.tabs = new Tabs((id) => this.closeCoro(id));
		this.main = h("main", { id: "main", tabindex: -1 });
		this.news = h("div", { class: "sr", role: "status", aria: { live: "polite" } });
		this.shortage = h("div", { class: "notice bad shortage", role: "alert", hidden: true });
		this.noticeText = h("span", null);
		this.notice = h("div", { class: "notice", role: "status", hidden: true }, this.noticeText, button("Hide", () => {
			this.noticed = true;
			this.notice.hidden = true;
		}, { class: "button quiet" }));
		this.bar = new SelectionBar(this);
		this.trail = new Trail(trace, (route) => this.go(route));
		root.replaceChildren(this.head.el, h("div", { class: "tab-row" }, this.tabs.el, this.bar.el), this.trail.el, this.shortage, this.notice, this.main, this.news);
		this.known = new Set(trace.report.findings.map(keyOfFinding));
		this.updateCounts();
		notesOf(trace).onChange(() => this.updateCounts());
		trace.onChange((parts) => this.update(parts));
		addEventListener("hashchange", () => this.follow());
		document.querySelector(".skip")?.addEventListener("click", (ev) => {
			ev.preventDefault();
			this.main.focus();
		});
		listenToKeys({ search: () => this.search(), view: (nr) => this.goView(nr) });
		this.follow();
	}

	setFeed(feed: LiveFeed): void {
		this.head.live.controls = { setPaused: (is) => feed.setPaused(is), setWindow: (is) => this.setWindow(is) };
		feed.start();
	}

	private setWindow(isOn: boolean): void {
		this.hasWindow = isOn;
		this.head.live.showWindow(isOn);
		if (isOn) this.moveWindow();
		else this.change({ from: "", to: "" });
	}

	// The selected range ends where the page ends.
	private moveWindow(): void {
		const end = Math.max(1, Math.floor(this.trace.now));
		this.change({ from: String(Math.max(0, end - WINDOW_NS)), to: String(end) });
	}

	private goView(nr: number): void {
		if (nr < BASE_TABS.length) this.tabs.go(BASE_TABS[nr].view);
	}

	// The search field of this view, or that of the coroutines.
	private search(): void {
		const field = () => [...(this.current?.el.querySelectorAll<HTMLInputElement>("input[type=search]") ?? [])].find((el) => el.offsetParent !== null);
		if (!field()) this.go({ view: "coroutines", coro: null, params: {} });
		// The address changes the view in a later turn.
		setTimeout(() => field()?.focus());
	}

	go(route: Route): void {
		const hash = formatRoute(route);
		if (hash === location.hash) this.follow();
		else location.hash = hash;
	}

	// The event of a new address comes later than the address: what is written before it would undo the change.
	private catchUp(): void {
		if (location.hash !== this.address) this.follow();
	}

	private write(): void {
		history.replaceState(history.state, "", formatRoute(this.route));
		this.address = location.hash;
	}

	setParams(view: View, params: Params): void {
		this.catchUp();
		if (view !== this.current) return;
		this.route = { ...this.route, params };
		this.write();
		this.keep();
	}

	// Another range ends the one that moves.
	select(change: Params): void {
		if (this.hasWindow && (change.from !== undefined || change.to !== undefined)) {
			this.hasWindow = false;
			this.head.live.showWindow(false);
		}
		this.change(change);
	}

	private change(change: Params): void {
		this.catchUp();
		if (this.route.coro !== null) {
			this.shared = sharedOf({ ...this.shared, ...change });
			if (change.at === undefined) {
				this.keep();
				return;
			}
			change = { at: change.at };
		}
		this.route = { ...this.route, params: { ...this.route.params, ...change } };
		this.write();
		this.keep();
		this.current?.show(this.route.params);
	}

	// The selection of this address is that of every view from now on.
	private keep(): void {
		const { view, coro, params } = this.route;
		if (coro === null) {
			this.shared = sharedOf(params);
			this.own.set(view, Object.fromEntries(Object.entries(params).filter(([key]) => !(SHARED as readonly string[]).includes(key))));
		}
		for (const { view: other } of BASE_TABS) this.tabs.setHref(other, formatRoute({ view: other, coro: null, params: { ...this.own.get(other), ...this.shared } }));
		this.bar.show(this.shared);
	}

	// An address that names no selection keeps the present one.
	private withSelection(): void {
		const { params, coro } = this.route;
		if (coro !== null || Object.keys(sharedOf(params)).length > 0 || Object.keys(this.shared).length === 0) return;
		this.route = { ...this.route, params: { ...params, ...this.shared } };
		this.write();
	}

	private follow(): void {
		this.address = location.hash;
		this.route = parseRoute(this.address);
		if (this.route.coro === null && !(this.route.view in MAKERS)) this.route = { view: "overview", coro: null, params: {} };
		this.withSelection();
		const { coro, params } = this.route;
		if (coro !== null && params.at) this.shared = sharedOf({ ...this.shared, at: params.at, sel: coro });
		this.keep();
		const key = this.route.coro !== null ? `coro:${this.route.coro}` : this.route.view;
		const view = this.viewFor(key);
		if (this.current !== view) this.switchTo(view);
		view.show(this.route.params);
		if (this.route.coro !== null) this.tabs.open(this.route.coro, view.title);
		this.tabs.select(this.route.view, this.route.coro);
	}

	private viewFor(key: string): View {
		let view = this.views.get(key);
		if (!view) {
			view = key.startsWith("coro:") ? new CoroutineView(this, key.slice(5)) : MAKERS[key](this);
			this.views.set(key, view);
			this.main.append(view.el);
		}
		return view;
	}

	private switchTo(view: View): void {
		const focus = document.activeElement;
		const before = this.current;
		const inside = before !== null && before.el.contains(focus);
		if (before) {
			if (inside) this.focused.set(before, focus as HTMLElement);
			before.el.hidden = true;
			before.hide?.();
		}
		this.current = view;
		view.el.hidden = false;
		// With keyboard use the focus returns to where it was in this view, else to its
		// beginning.
		const nowhere = focus === document.body || focus === this.main;
		if (inside || (before !== null && nowhere)) (this.focused.get(view) ?? this.main).focus({ preventScroll: true });
		this.main.classList.toggle("fill", view.fill);
		this.main.setAttribute("aria-label", view.title);
		if (!view.fill) this.main.scrollTop = 0;
	}

	private closeCoro(id: string): void {
		const key = `coro:${id}`;
		const view = this.views.get(key);
		this.views.delete(key);
		this.tabs.close(id);
		view?.remove?.();
		view?.el.remove();
		if (this.current === view) {
			this.current = null;
			this.go({ view: "coroutines", coro: null, params: {} });
		}
	}

	private update(parts: ReadonlySet<Part>): void {
		if (parts.has("meta")) this.head.update();
		if (parts.has("report")) this.announce();
		this.updateCounts();
		if (parts.has("sites")) this.bar.show(this.shared);
		if (this.hasWindow && parts.has("series")) this.moveWindow();
		this.current?.update(parts);
		if (this.route.coro !== null && this.current) this.tabs.open(this.route.coro, this.current.title);
	}

	private updateCounts(): void {
		const { report, meta } = this.trace;
		this.tabs.setCount("findings", report.findings.length > 0 ? fmt.count(report.findings.length) : "");
		this.tabs.setCount("coroutines", fmt.short(meta.coros.kept));
		const { length: notes } = notesOf(this.trace).notes;
		this.tabs.setCount("notes", notes > 0 ? fmt.count(notes) : "");
		const text = meta.thinned.map((t) => t.text).join(" ");
		const whole = meta.completeness;
		const short = [shortageText(whole), leftOutText(meta.stream)].filter((t) => t !== "").join(" ");
		this.shortage.hidden = short === "";
		setText(this.shortage, short);
		this.notice.hidden = text === "" || this.trace.live !== "none" || this.noticed;
		setText(this.noticeText, text === "" ? "" : `This file holds less than the trace: ${text}`);
	}

	// For screen readers, once each.
	private announce(): void {
		const fresh = this.trace.report.findings.filter((f) => !this.known.has(keyOfFinding(f)));
		for (const f of fresh) this.known.add(keyOfFinding(f));
		if (fresh.length > 0)
			setText(this.news, fresh.map((f) => `New finding: ${f.title}, ${f.place?.text ?? ""}`).join(". "));
	}
}

function shortageText(whole: Completeness | undefined): string {
	if (!whole?.missing) return "";
	return `This trace is ${whole.verdict}: ${whole.missing}. Numbers cover what is there, and findings are suspicions.`;
}

function leftOutText(s: Stream | null | undefined): string {
	if (!s || s.left_out + s.left_out_wakes === 0) return "";
	return `To keep up, this page left out ${fmt.count(s.left_out)} transitions and ${fmt.count(s.left_out_wakes)} wakes, of ${fmt.duration(s.left_out_ns)} in all; ` +
		"the trace has them. Until the run is over, its counts and waits are too small and findings are suspicions.";
}

function keyOfFinding(f: { detector: string; place: { text: string } | null; kind: string | null }): string {
	return `${f.detector}|${f.place?.text ?? ""}|${f.kind ?? ""}`;
}

