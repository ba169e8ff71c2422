// SPDX-License-Identifier: MIT
// note_form.ts - write or change a note: what it is about, and its text.

import { button, freshId, h, replace } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { TEXT_MOST, type Note } from "../data/notes.ts";
import type { Trace } from "../trace.ts";

// What a note may be about: a label, and the note without its text.
export interface NoteSubject {
	label: string;
	from: number | null;
	to: number | null;
	id: string;
}

export function coroTitle(trace: Trace, id: string): string {
	const row = id === "" ? -1 : trace.coros.rowOfId(id);
	return row >= 0 ? trace.title(row) : `#${id}`;
}

// "coroutine reader #4, at 1.2 s", "from 1 ms for 20 µs"
export function subjectText(trace: Trace, n: { from: number | null; to: number | null; id: string }): string {
	const who = n.id === "" ? "" : `coroutine ${coroTitle(trace, n.id)}`;
	const when = n.from === null ? "" : n.to === null ? `at ${fmt.stamp(n.from)}` : `from ${fmt.stamp(n.from)} for ${fmt.duration(n.to - n.from)}`;
	return [who, when].filter((t) => t !== "").join(", ");
}

export class NoteForm {
	private readonly el: HTMLDialogElement;
	private readonly title = h("h2", { id: freshId("note") }, "Note");
	private readonly choices = h("fieldset", { class: "note-about" });
	private readonly text = h("textarea", { aria: { label: "Text of the note" } });
	private done: (note: Note) => void = () => {};
	private subjects: readonly NoteSubject[] = [];

	constructor() {
		this.text.rows = 5;
		this.text.maxLength = TEXT_MOST;
		this.text.addEventListener("keydown", (ev) => {
			if (ev.key === "Enter" && (ev.ctrlKey || ev.metaKey)) this.finish();
		});
		this.el = h("dialog", { class: "keys note-form", aria: { labelledby: this.title.id } }, this.title, this.choices, this.text,
			h("p", { class: "row" }, button("Keep", () => this.finish(), { class: "button primary" }), button("Cancel", () => this.el.close()),
				h("span", { class: "muted" }, "Saved with the page, or as a file, in the view Notes.")));
		document.body.append(this.el);
	}

	// @subjects: the first one is chosen.
	open(title: string, subjects: readonly NoteSubject[], text: string, done: (note: Note) => void): void {
		this.title.textContent = title;
		this.subjects = subjects;
		this.done = done;
		this.text.value = text;
		const name = freshId("about");
		replace(this.choices, h("legend", null, "About"), ...subjects.map((s, i) => {
			const radio = h("input", { type: "radio" });
			radio.name = name;
			radio.value = String(i);
			radio.checked = i === 0;
			return h("label", { class: "field" }, radio, s.label);
		}));
		this.el.showModal();
		this.text.focus();
	}

	private finish(): void {
		const text = this.text.value.trim();
		if (text === "") {
			this.text.focus();
			return;
		}
		const chosen = this.choices.querySelector<HTMLInputElement>("input:checked");
		const { from, to, id } = this.subjects[Number(chosen?.value ?? 0)];
		this.el.close();
		this.done({ from: from === null ? null : Math.round(from), to: to === null ? null : Math.round(to), id, text, made: new Date().toISOString() });
	}
}

let form: NoteForm | null = null;

export const noteForm = (): NoteForm => (form ??= new NoteForm());
