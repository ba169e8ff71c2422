// SPDX-License-Identifier: MIT
// worker.ts - the engine in its own thread: calls and answers are messages.

import { download, unpack } from "../data/raw.ts";
import { Engine } from "./engine.ts";
import type { FromPage, ToPage } from "./messages.ts";

const scope = self as unknown as DedicatedWorkerGlobalScope;
const waiting = new Map<string, ((text: string | null) => void)[]>();
let base = "";
let isServed = false;

function send(message: ToPage, transfer: Transferable[] = []): void {
	scope.postMessage(message, transfer);
}

// The sections of a file are elements, which only the page can access.
function elementText(name: string): Promise<string | null> {
	return new Promise((resolve) => {
		const others = waiting.get(name);
		if (others) {
			others.push(resolve);
		} else {
			waiting.set(name, [resolve]);
			send({ type: "need", name });
		}
	});
}

const engine = new Engine({
	bytes: async (name) => (isServed ? download(base, name) : unpack(name, await elementText(name))),
});

async function answer(id: number, op: string, args: unknown[]): Promise<void> {
	try {
		const progress = (done: number, of: number) => send({ type: "progress", id, done, of });
		const { value, transfer } = await engine.call(op, args, progress);
		send({ type: "answer", id, value }, transfer ?? []);
	} catch (e) {
		const error = e instanceof Error ? e : new Error(String(e));
		send({ type: "failed", id, name: error.name, message: error.message });
	}
}

scope.addEventListener("message", (ev: MessageEvent<FromPage>) => {
	const m = ev.data;
	if (m.type === "begin") {
		base = m.base;
		isServed = m.served;
	} else if (m.type === "section") {
		const resolves = waiting.get(m.name) ?? [];
		waiting.delete(m.name);
		for (const resolve of resolves) resolve(m.text);
	} else {
		void answer(m.id, m.op, m.args);
	}
});
