// SPDX-License-Identifier: MIT
// note_book.ts - the notes of the trace that the page shows: those of its file, and what the reader adds.

import { parseJson } from "../base/json.ts";
import { joinNotes, NOTES_MOST, notesFile, readNotes, sortNotes, type Note, type NotesFile } from "../data/notes.ts";
import { sectionText, unpack } from "../data/raw.ts";
import type { Trace } from "../trace.ts";

export class NoteBook {
	notes: readonly Note[] = [];
	unsaved = false;
	problem = "";              // of the notes in the file
	private readonly trace: Trace;
	private readonly listeners = new Set<() => void>();

	constructor(trace: Trace) {
		this.trace = trace;
		void this.load();
		// Notes exist only in the page until they are saved.
		addEventListener("beforeunload", (ev) => this.unsaved && ev.preventDefault());
	}

	private async load(): Promise<void> {
		const text = sectionText("notes");
		if (text === null) return;
		try {
			const { notes, dropped } = readNotes(parseJson(new TextDecoder().decode(await unpack("notes", text))), this.trace.meta.origin);
			this.notes = sortNotes(joinNotes(this.notes, notes));
			this.problem = dropped > 0 ? `${dropped} entries in the file are no notes, and are left out.` : "";
		} catch (e) {
			this.problem = `The notes of the file cannot be read: ${(e as Error).message}`;
		}
		this.tell();
	}

	onChange(fn: () => void): void {
		this.listeners.add(fn);
	}

	private tell(): void {
		for (const fn of this.listeners) fn();
	}

	private change(notes: Note[]): void {
		this.notes = sortNotes(notes);
		this.unsaved = true;
		this.tell();
	}

	// False: there are too many.
	add(note: Note): boolean {
		if (this.notes.length >= NOTES_MOST) return false;
		this.change([...this.notes, note]);
		return true;
	}

	replace(old: Note, note: Note): void {
		this.change(this.notes.map((n) => (n === old ? note : n)));
	}

	remove(note: Note): void {
		this.change(this.notes.filter((n) => n !== note));
	}

	// Adds the notes of a file; a sentence about it.
	join(value: unknown): string {
		const { notes, dropped } = readNotes(value, this.trace.meta.origin);
		const before = this.notes.length;
		this.change(joinNotes(this.notes, notes));
		const outside = notes.filter((n) => n.from !== null && (n.from < 0 || n.from > this.trace.now)).length;
		return `${this.notes.length - before} notes added.${dropped > 0 ? ` ${dropped} entries are no notes.` : ""}${outside > 0 ? ` ${outside} are about times outside of this trace.` : ""}`;
	}

	file(): NotesFile {
		return notesFile(this.trace.meta.trace, this.trace.meta.origin, this.notes);
	}

	saved(): void {
		this.unsaved = false;
		this.tell();
	}
}

const books = new WeakMap<Trace, NoteBook>();

export function notesOf(trace: Trace): NoteBook {
	let book = books.get(trace);
	if (!book) {
		book = new NoteBook(trace);
		books.set(trace, book);
	}
	return book;
}
