// SPDX-License-Identifier: MIT
// notes.ts - the notes of the reader: a list, and files that keep them.

import { button, h, replace, setText } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { coroHref, viewHref, type Params } from "../base/route.ts";
import { rangeOf } from "../base/selection.ts";
import type { Note } from "../data/notes.ts";
import { notesOf, type NoteBook } from "../ui/note_book.ts";
import { coroTitle, noteForm, subjectText, type NoteSubject } from "../ui/note_form.ts";
import { panel, type Panel } from "../ui/parts.ts";
import { saveBlob, toast } from "../ui/save.ts";
import { pageWithNotes } from "../ui/save_page.ts";
import { SortTable } from "../ui/sort_table.ts";
import type { Context, View } from "../ui/view.ts";
import type { Part } from "../trace.ts";
import { isServed } from "../worker/client.ts";

const FILE_MOST = 32 << 20;    // bytes

// A name for a file next to the trace's.
const stem = (trace: string): string => (trace.split("/").filter((p) => p !== "").pop() ?? "trace").replace(/[^\w.-]+/g, "_").slice(0, 100) || "trace";

// The part of the timeline that a note is about, with room around it.
function timelineHref(n: Note): string {
	if (n.from === null) return coroHref(n.id);
	const room = n.to === null ? 50_000 : Math.max(1000, (n.to - n.from) * 0.3);
	const range = { from: String(Math.round(n.from - room)), to: String(Math.round((n.to ?? n.from) + room)) };
	return viewHref("timeline", n.id === "" ? range : { ...range, by: "coroutine", sel: n.id });
}

export class NotesView implements View {
	readonly el: HTMLElement;
	readonly fill = false;
	readonly title = "Notes";
	private readonly ctx: Context;
	private readonly book: NoteBook;
	private readonly list: Panel;
	private readonly status = h("p", { class: "muted", role: "status" });
	private readonly file = h("input", { type: "file", aria: { label: "File with notes" } });
	private table: SortTable<Note> | null = null;
	private params: Params = {};

	constructor(ctx: Context) {
		this.ctx = ctx;
		this.book = notesOf(ctx.trace);
		this.list = panel("Notes", { sheet: () => this.table!.sheet("notes") });
		this.file.accept = ".json,application/json";
		this.file.className = "sr";
		this.file.tabIndex = -1;
		this.file.addEventListener("change", () => void this.load());
		this.el = h("div", { class: "stack notes" }, h("div", { class: "filters" },
			button("New note", () => this.write(), { class: "button primary" }),
			isServed() ? null : button("Save the page with its notes", () => void this.savePage()),
			button("Save notes", () => this.saveNotes(), { title: "As a file for corotracer html --notes" }), button("Add notes of a file", () => this.file.click()), this.file),
		this.status, this.list.el, this.help());
		this.book.onChange(() => this.draw());
		this.draw();
	}

	private help(): HTMLElement {
		return h("p", { class: "muted" }, "In the timeline, n writes a note about what is chosen or visible. Notes are in the page only until they are saved: ",
			h("span", { class: "mono" }, "corotracer html --notes FILE TRACE"), " makes a new page with the notes of a saved page or file.");
	}

	show(params: Params): void {
		this.params = params;
	}

	update(parts: ReadonlySet<Part>): void {
		if (parts.has("coros")) this.draw();
	}

	// ---- list ----

	private draw(): void {
		const { notes, unsaved, problem } = this.book;
		const { trace } = this.ctx;
		setText(this.status, [problem, notes.length === 0 ? "" : unsaved ? "Not saved yet." : "Saved."].filter((t) => t !== "").join(" "));
		setText(this.list.note, notes.length === 0 ? "" : fmt.plural(notes.length, "note"));
		this.table = new SortTable<Note>({
			label: "Notes", rows: notes, empty: "No notes yet.", columns: [
				{ key: "note", label: "Note", class: "note-text", value: (n) => n.text },
				{ key: "from_ns", label: "At", end: true, value: (n) => n.from, show: (n) => (n.from === null ? fmt.dash : fmt.stamp(n.from)) },
				{ key: "duration_ns", label: "For", end: true, value: (n) => (n.from === null || n.to === null ? null : n.to - n.from), show: (n) => (n.to === null ? fmt.dash : fmt.duration(n.to - n.from!)) },
				{ key: "coroutine_id", label: "Coroutine", value: (n) => n.id, show: (n) => (n.id === "" ? "" : h("a", { href: coroHref(n.id) }, coroTitle(trace, n.id))) },
				{ key: "made", label: "Written", value: (n) => n.made, show: (n) => n.made.slice(0, 16).replace("T", " ") },
				{ key: "actions", label: "Actions", value: () => "", show: (n) => this.actions(n) },
			],
		});
		replace(this.list.body, this.table.el);
	}

	private actions(n: Note): HTMLElement {
		const short = n.text.slice(0, 40);
		return h("span", { class: "row note-actions" }, h("a", { href: timelineHref(n), aria: { label: `Show: ${short}` } }, "Show"),
			button("Change", () => this.change(n), { class: "button quiet", aria: { label: `Change: ${short}` } }),
			button("Remove", () => this.book.remove(n), { class: "button quiet", aria: { label: `Remove: ${short}` } }));
	}

	private change(n: Note): void {
		noteForm().open("Change the note", [{ label: subjectText(this.ctx.trace, n), ...n }], n.text, (note) => this.book.replace(n, note));
	}

	// About the selected part of the run, or all of it.
	private write(): void {
		const { trace } = this.ctx;
		const range = rangeOf(this.params);
		const subjects: NoteSubject[] = range ? [{ label: `the selected part, ${subjectText(trace, { ...range, id: "" })}`, ...range, id: "" }] : [];
		subjects.push({ label: "the whole run", from: 0, to: trace.now, id: "" });
		noteForm().open("New note", subjects, "", (note) => this.book.add(note) || toast("There are too many notes."));
	}

	// ---- files ----

	private async savePage(): Promise<void> {
		const name = `${stem(this.ctx.trace.meta.trace)}.html`;
		try {
			saveBlob(name, await pageWithNotes(this.book.file()));
			this.book.saved();
			toast(`Saved the page with ${fmt.plural(this.book.notes.length, "note")} to ${name}`);
		} catch (e) {
			toast(`The page cannot be saved: ${(e as Error).message}`);
		}
	}

	private saveNotes(): void {
		const name = `${stem(this.ctx.trace.meta.trace)}.notes.json`;
		saveBlob(name, new Blob([`${JSON.stringify(this.book.file(), null, "\t")}\n`], { type: "application/json" }));
		this.book.saved();
		toast(`Saved ${fmt.plural(this.book.notes.length, "note")} to ${name}`);
	}

	private async load(): Promise<void> {
		const [file] = this.file.files ?? [];
		this.file.value = "";
		if (!file) return;
		try {
			if (file.size > FILE_MOST) throw new Error("The file is too large.");
			toast(this.book.join(JSON.parse(await file.text())));
		} catch (e) {
			toast(`No notes were added: ${(e as Error).message}`);
		}
	}
}
