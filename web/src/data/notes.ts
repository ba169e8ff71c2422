// SPDX-License-Identifier: MIT
// notes.ts - notes of a reader about the trace, as the page keeps and saves them; docs/view-format.md has the format.
//
// Notes come from files: they are text of others, and checked before use.

export const NOTES_MOST = 5000;
export const TEXT_MOST = 4000;

// Without from: about the coroutine; without to: a moment.
export interface Note {
	from: number | null;       // ns since the origin
	to: number | null;
	id: string;                // of the coroutine; "": none
	text: string;
	made: string;              // when, as in ISO 8601; "": not known
}

export interface NotesFile {
	format: 1;
	trace: string;
	origin: string;
	notes: Note[];
}

const isTime = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value) && Math.abs(value) < 2 ** 53;

// null: cannot be a note.
export function checkNote(value: unknown): Note | null {
	if (typeof value !== "object" || value === null) return null;
	const { from = null, to = null, id = "", text, made = "" } = value as Record<string, unknown>;
	if (typeof text !== "string" || text.trim() === "" || text.length > TEXT_MOST) return null;
	if (typeof id !== "string" || !/^\d{0,20}$/.test(id)) return null;
	if ((from !== null && !isTime(from)) || (to !== null && (!isTime(to) || from === null || to < (from as number)))) return null;
	if (from === null && id === "") return null;
	return { from: from as number | null, to: to as number | null, id, text, made: typeof made === "string" && made.length <= 40 ? made : "" };
}

export interface ReadNotes {
	notes: Note[];
	dropped: number;           // entries that cannot be notes
}

// Notes of a file, with times since @origin.  Throws with a sentence if it is no file of notes.
export function readNotes(value: unknown, origin: string): ReadNotes {
	const file = value as Partial<NotesFile> | null;
	if (typeof file !== "object" || file === null || file.format !== 1 || !Array.isArray(file.notes)) throw new Error("The file has no notes of format 1.");
	if (typeof file.origin !== "string" || !/^\d{1,20}$/.test(file.origin)) throw new Error("The times of the notes have no origin.");
	const shift = Number(BigInt(file.origin) - BigInt(origin));
	const checked = file.notes.slice(0, NOTES_MOST).map(checkNote).filter((n): n is Note => n !== null);
	return {
		notes: checked.map((n) => ({ ...n, from: n.from === null ? null : n.from + shift, to: n.to === null ? null : n.to + shift })),
		dropped: file.notes.length - checked.length,
	};
}

export function notesFile(trace: string, origin: string, notes: readonly Note[]): NotesFile {
	return { format: 1, trace, origin, notes: notes.map((n) => ({ ...n, from: n.from === null ? null : Math.round(n.from), to: n.to === null ? null : Math.round(n.to) })) };
}

const keyOf = (n: Note): string => JSON.stringify([n.from, n.to, n.id, n.text]);

// Notes of a file are added once.
export function joinNotes(own: readonly Note[], more: readonly Note[]): Note[] {
	const known = new Set(own.map(keyOf));
	return [...own, ...more.filter((n) => !known.has(keyOf(n)))].slice(0, NOTES_MOST);
}

// By time; those about a coroutine as a whole last.
export function sortNotes(notes: readonly Note[]): Note[] {
	return [...notes].sort((a, b) => (a.from ?? Infinity) - (b.from ?? Infinity) || a.text.localeCompare(b.text, "en"));
}
