// SPDX-License-Identifier: MIT
// notes.test.ts - notes of files are checked, shifted to the origin of the trace, and joined once.
import { test } from "node:test";
import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { checkNote, joinNotes, NOTES_MOST, notesFile, readNotes, sortNotes, TEXT_MOST, type Note } from "../src/data/notes.ts";
import { noteSection } from "../src/ui/save_page.ts";
import { noteFlags } from "../src/ui/timeline/note_layer.ts";

const note = (change: Partial<Note> = {}): Note => ({ from: 10, to: null, id: "", text: "a", made: "", ...change });

test("a note has a text and something that it is about", () => {
	assert.deepEqual(checkNote({ from: 5, to: 9, id: "42", text: "x", made: "2026-01-01T00:00:00.000Z", more: 1 }), note({ from: 5, to: 9, id: "42", text: "x", made: "2026-01-01T00:00:00.000Z" }));
	assert.deepEqual(checkNote({ id: "18446744073709551615", text: "x" }), note({ from: null, id: "18446744073709551615", text: "x" }));
	const hostile: unknown[] = [null, 1, "x", [], {}, { text: "x" }, { text: "", from: 1 }, { text: " \n", from: 1 }, { text: 7, from: 1 }, { text: "x", from: "1" }, { text: "x", from: NaN },
		{ text: "x", from: 2 ** 60 }, { text: "x", from: 5, to: 4 }, { text: "x", to: 4 }, { text: "x", from: 1, id: "<b>" }, { text: "x", from: 1, id: "1".repeat(21) }, { text: "x", from: 1, id: 7 },
		{ text: "x".repeat(TEXT_MOST + 1), from: 1 }];
	for (const value of hostile) assert.equal(checkNote(value), null, JSON.stringify(value)?.slice(0, 60));
	assert.equal(checkNote({ text: "x", from: 1, made: "y".repeat(99) })!.made, "");
});

test("times move with the origin, and what is no note is counted", () => {
	const file = { format: 1, trace: "t", origin: "81234567890123", notes: [note({ from: 100, to: 200 }), { text: "" }, note({ from: null, id: "3" })] };
	const { notes, dropped } = readNotes(JSON.parse(JSON.stringify(file)), "81234567890000");
	assert.deepEqual(notes.map((n) => [n.from, n.to, n.id]), [[223, 323, ""], [null, null, "3"]]);
	assert.equal(dropped, 1);
	assert.deepEqual(readNotes(notesFile("t", "7", notes), "7").notes, notes);
	for (const value of [null, 5, {}, { format: 2, notes: [], origin: "1" }, { format: 1, notes: {}, origin: "1" }, { format: 1, notes: [], origin: "-1" }, { format: 1, notes: [] }])
		assert.throws(() => readNotes(value, "0"));
	const many = readNotes({ format: 1, trace: "", origin: "0", notes: Array.from({ length: NOTES_MOST + 7 }, () => note()) }, "0");
	assert.deepEqual([many.notes.length, many.dropped], [NOTES_MOST, 7]);
});

test("a file that is added twice adds its notes once", () => {
	const own = [note(), note({ text: "b" })];
	assert.equal(joinNotes(own, [note(), note({ text: "c" })]).length, 3);
	assert.deepEqual(sortNotes([note({ from: null, id: "1" }), note({ from: 9 }), note({ from: 3 })]).map((n) => n.from), [3, 9, null]);
});

test("the section is base64 of gzip, without markup from the notes", async () => {
	const file = notesFile("t", "7", [note({ text: "</script><script>alert(1)</script><!--" })]);
	const section = await noteSection(file);
	const [, body] = /^<script type="application\/octet-stream" id="ct-notes">([\w+/=]*)<\/script>\n$/.exec(section)!;
	assert.deepEqual(JSON.parse(gunzipSync(Buffer.from(body, "base64")).toString()), file);
});

test("flags that would overlap are one, ranges are visible as long as a part of them is", () => {
	const flags = noteFlags([note({ from: 100 }), note({ from: 103 }), note({ from: 150 }), note({ from: 20, to: 120 }), note({ from: 20, to: 30 }), note({ from: null, id: "1" }), note({ from: 900 })]
		.sort((a, b) => (a.from ?? Infinity) - (b.from ?? Infinity)), 50, 500, (t) => t);
	assert.deepEqual(flags.map((f) => [f.x, f.notes.length]), [[50, 1], [100, 2], [150, 1]]);
});
