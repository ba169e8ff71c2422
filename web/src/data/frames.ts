// SPDX-License-Identifier: MIT
// frames.ts - frames that the program saved (section "frames"), and those of one coroutine.

export interface FrameRow {
	ts: number;     // offset
	id: string;     // of the coroutine; "": none
	tid: number;
	frame: string;  // its type
	buffer: string;
	fields: string; // JSON object
}

export interface Frames {
	of: number; // in the trace
	lost: number;
	frames: FrameRow[];
}

export const noFrames: Frames = { of: 0, lost: 0, frames: [] };

// The values of a frame, in the order of its fields; null if they are not an object.
export function fieldPairs(fields: string): [string, string][] | null {
	try {
		const values: unknown = JSON.parse(fields);
		if (typeof values !== "object" || values === null || Array.isArray(values)) return null;
		return Object.entries(values).map(([key, value]) =>
			[key, value === null ? "not measured" : typeof value === "object" ? JSON.stringify(value) : String(value)]);
	} catch {
		return null;
	}
}

// "status 200, took_duration 43926"; what was not measured is said.
export function fieldsText(fields: string): string {
	return fieldPairs(fields)?.map(([key, value]) => `${key} ${value}`).join(", ") ?? fields;
}

export function framesOf(all: Frames, id: string): FrameRow[] {
	return all.frames.filter((f) => f.id === id);
}
