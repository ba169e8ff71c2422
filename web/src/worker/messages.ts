// SPDX-License-Identifier: MIT
// messages.ts - messages between page and worker.

export type FromPage =
	| { type: "begin"; base: string; served: boolean }
	| { type: "section"; name: string; text: string | null }
	| { type: "call"; id: number; op: string; args: unknown[] };

export type ToPage =
	| { type: "need"; name: string }
	| { type: "answer"; id: number; value: unknown }
	| { type: "progress"; id: number; done: number; of: number }
	| { type: "failed"; id: number; name: string; message: string };
