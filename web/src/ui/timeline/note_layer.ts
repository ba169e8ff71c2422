// SPDX-License-Identifier: MIT
// note_layer.ts - notes on the timeline: a flag in the axis, and a line, a band or a frame around what it is about.

import * as fmt from "../../base/format.ts";
import type { Note } from "../../data/notes.ts";
import { rowWithId } from "../../data/row_with_id.ts";
import { FONT, type Palette } from "../canvas.ts";
import { notesOf } from "../note_book.ts";
import { subjectText, type NoteSubject } from "../note_form.ts";
import { AXIS, laneY, timeWidth, visibleLanes, xOf, type Scene } from "./scene.ts";

type Ctx = CanvasRenderingContext2D;

const FLAG = 9;                // pixels
const MOST = 400;              // that are drawn

export interface NoteFlag {
	x: number;
	notes: Note[];             // several if their flags would overlap
}

// The flags of the visible part, from left to right.
export function noteFlags(notes: readonly Note[], left: number, right: number, xOfTime: (t: number) => number): NoteFlag[] {
	const out: NoteFlag[] = [];
	for (const note of notes) {
		if (note.from === null) continue;
		const x = Math.max(left, xOfTime(note.from));
		if (xOfTime(note.to ?? note.from) < left || x > right || out.length === MOST) continue;
		const last = out[out.length - 1];
		if (last && x - last.x < FLAG + 2) last.notes.push(note);
		else out.push({ x, notes: [note] });
	}
	return out;
}

function flagsOf(s: Scene): NoteFlag[] {
	return noteFlags(notesOf(s.trace).notes, s.gutter, s.gutter + timeWidth(s), (t) => xOf(s, t));
}

// Numbers of the coroutines of notes, as far as they are known.
const numbers = new WeakMap<Note, number>();

function numberOfNote(s: Scene, n: Note): number {
	const known = numbers.get(n);
	if (known !== undefined) return known;
	const row = rowWithId(s.trace.coros, n.id);
	if (row >= 0) numbers.set(n, s.trace.coros.c.nr[row]);
	return row >= 0 ? s.trace.coros.c.nr[row] : -1;
}

// From the number of a coroutine to its lane, of those that are visible.
function lanesInSight(s: Scene): Map<number, number> {
	const { first, last } = visibleLanes(s);
	return new Map(s.by === "coroutine" ? s.lanes.slice(first, last).map((key, i) => [key, first + i]) : []);
}

function drawSubject(ctx: Ctx, s: Scene, p: Palette, n: Note, lanes: ReadonlyMap<number, number>): void {
	const [x0, x1] = [xOf(s, n.from!), xOf(s, n.to ?? n.from!)];
	const lane = n.id === "" ? -1 : (lanes.get(numberOfNote(s, n)) ?? -1);
	const [y, height] = lane >= 0 ? [laneY(s, lane), s.lane - 1] : [AXIS, s.height - AXIS];
	ctx.strokeStyle = p.alarm;
	ctx.lineWidth = 1.5;
	if (lane < 0 && n.id !== "") return; // its row is not here: the flag is enough
	if (n.to !== null) {
		ctx.fillStyle = p.alarm;
		ctx.globalAlpha = lane >= 0 ? 0.14 : 0.05;
		ctx.fillRect(x0, y, Math.max(1, x1 - x0), height);
		ctx.globalAlpha = 1;
		if (lane < 0) ctx.fillRect(x0, AXIS - 3, Math.max(2, x1 - x0), 3);
		else ctx.strokeRect(x0, y + 0.5, Math.max(2, x1 - x0), height - 1);
	}
	if (lane >= 0 && n.to !== null) return;
	ctx.setLineDash([4, 3]);
	ctx.beginPath();
	for (const x of n.to === null ? [x0] : [x0, x1]) {
		ctx.moveTo(x, y);
		ctx.lineTo(x, y + height);
	}
	ctx.stroke();
	ctx.setLineDash([]);
}

function drawFlag(ctx: Ctx, p: Palette, f: NoteFlag): void {
	ctx.fillStyle = p.alarm;
	ctx.beginPath();
	ctx.moveTo(f.x, AXIS - 1);
	ctx.lineTo(f.x, AXIS - 13);
	ctx.lineTo(f.x + FLAG, AXIS - 9.5);
	ctx.lineTo(f.x + 1.5, AXIS - 6);
	ctx.lineTo(f.x + 1.5, AXIS - 1);
	ctx.fill();
	if (f.notes.length < 2) return;
	ctx.font = FONT;
	ctx.textBaseline = "middle";
	ctx.fillText(fmt.short(f.notes.length), f.x + FLAG + 2, AXIS - 9);
}

export function drawNotes(ctx: Ctx, s: Scene, p: Palette): void {
	const flags = flagsOf(s);
	if (flags.length === 0) return;
	ctx.save();
	ctx.beginPath();
	ctx.rect(s.gutter, 0, timeWidth(s), s.height);
	ctx.clip();
	const lanes = lanesInSight(s);
	for (const f of flags) for (const n of f.notes.slice(0, 20)) drawSubject(ctx, s, p, n, lanes);
	for (const f of flags) drawFlag(ctx, p, f);
	ctx.restore();
}

// The flag under the pointer, or null.
export function flagAt(s: Scene, x: number, y: number): NoteFlag | null {
	if (y > AXIS || x < s.gutter) return null;
	return flagsOf(s).find((f) => x >= f.x - 3 && x <= f.x + FLAG + 8) ?? null;
}

export function flagFacts(s: Scene, f: NoteFlag): [string, string][] {
	const short = (text: string) => (text.length > 300 ? `${text.slice(0, 300)}…` : text);
	return [["", fmt.plural(f.notes.length, "note")], ...f.notes.slice(0, 6).map((n): [string, string] => [subjectText(s.trace, n), short(n.text)]),
		...(f.notes.length > 6 ? [["and", fmt.plural(f.notes.length - 6, "more note")] as [string, string]] : [])];
}

// What a new note may be about: the piece or the row that is chosen, then what is visible.
export function noteSubjects(s: Scene, piece: number): NoteSubject[] {
	const ref = piece >= 0 ? s.pieces!.coro[piece] : s.by === "coroutine" && s.selectedLane >= 0 ? s.lanes[s.selectedLane] + 1 : 0;
	const row = ref > 0 ? s.trace.coros.rowOf(ref - 1) : -1;
	const id = row >= 0 ? s.trace.coros.id(row) : "";
	const [low, high] = [Math.max(0, s.view.from), Math.min(s.trace.now, s.view.to)];
	const out: Omit<NoteSubject, "label">[] = piece >= 0 ? [{ from: s.pieces!.x0[piece], to: s.pieces!.x1[piece], id }] : [];
	if (id !== "") out.push({ from: null, to: null, id });
	out.push({ from: low, to: high, id: "" }, { from: (low + high) / 2, to: null, id: "" });
	return out.map((n, i) => ({ ...n, label: (i < out.length - 2 ? "" : n.to === null ? "the middle of the picture, " : "the visible part, ") + subjectText(s.trace, n) }));
}
