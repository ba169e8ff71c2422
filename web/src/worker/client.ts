// SPDX-License-Identifier: MIT
// client.ts - the page's side: calls to the engine, in a worker or, if workers are forbidden, in
// the page.

import workerSource from "worker-source";
import { pageBase } from "../base/route.ts";
import { download, sectionText, unpack } from "../data/raw.ts";
import { Engine, type Progress } from "./engine.ts";
import type { FromPage, ToPage } from "./messages.ts";

export interface Caller {
	call<T>(op: string, args?: unknown[], progress?: Progress): Promise<T>;
}

export function isServed(): boolean {
	return document.getElementById("ct-meta") === null;
}

interface Pending {
	resolve(value: unknown): void;
	reject(error: Error): void;
	progress?: Progress;
}

class WorkerCaller implements Caller {
	private readonly worker: Worker;
	private readonly pending = new Map<number, Pending>();
	private ids = 0;

	constructor(worker: Worker) {
		this.worker = worker;
		worker.addEventListener("message", (ev: MessageEvent<ToPage>) => this.receive(ev.data));
		worker.addEventListener("error", (ev) => this.broken(ev.message || "the worker stopped"));
		this.send({ type: "begin", base: pageBase(), served: isServed() });
	}

	call<T>(op: string, args: unknown[] = [], progress?: Progress): Promise<T> {
		const id = ++this.ids;
		return new Promise<T>((resolve, reject) => {
			this.pending.set(id, { resolve: resolve as (v: unknown) => void, reject, progress });
			this.send({ type: "call", id, op, args });
		});
	}

	private send(message: FromPage): void {
		this.worker.postMessage(message);
	}

	private receive(m: ToPage): void {
		if (m.type === "need") {
			this.send({ type: "section", name: m.name, text: sectionText(m.name) });
			return;
		}
		const p = this.pending.get(m.id);
		if (!p) return;
		if (m.type === "progress") {
			p.progress?.(m.done, m.of);
			return;
		}
		this.pending.delete(m.id);
		if (m.type === "answer") p.resolve(m.value);
		else p.reject(Object.assign(new Error(m.message), { name: m.name }));
	}

	private broken(text: string): void {
		for (const p of this.pending.values()) p.reject(new Error(text));
		this.pending.clear();
	}
}

// Less responsive; the only way where workers are forbidden.
class LocalCaller implements Caller {
	private readonly engine: Engine;

	constructor() {
		const base = pageBase();
		const served = isServed();
		this.engine = new Engine({
			bytes: (name) => (served ? download(base, name) : unpack(name, sectionText(name))),
		});
	}

	async call<T>(op: string, args: unknown[] = [], progress: Progress = () => {}): Promise<T> {
		await new Promise((done) => setTimeout(done, 0));
		return (await this.engine.call(op, args, progress)).value as T;
	}
}

export function startEngine(): Caller {
	try {
		const url = URL.createObjectURL(new Blob([workerSource], { type: "text/javascript" }));
		return new WorkerCaller(new Worker(url));
	} catch {
		return new LocalCaller();
	}
}
