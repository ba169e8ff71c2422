// SPDX-License-Identifier: MIT
// store.ts - sections, decoded on first use; blocks of slices are kept as long as there is room.

import { BlockIndex, readBlock, type Block } from "../data/blocks.ts";
import { readSection } from "../data/columns.ts";
import { Coros } from "../data/coros.ts";
import { Lod } from "../data/lod.ts";
import type { Sites } from "../data/types.ts";
import { parseJson } from "../base/json.ts";

export interface Raw {
	bytes(name: string): Promise<ArrayBuffer>;
}

const KEPT_BLOCKS = 40; // about two megabytes each

export class Store {
	coros = new Coros();
	strings: string[] = [""];
	sites: Sites = { sites: [], kinds: [] };
	end = 0;
	reasons: string[] = [];
	hasHolds = false;          // the section holds exists
	private readonly raw: Raw;
	private readonly blocks = new Map<number, Promise<Block>>();
	private lodOnce: Promise<Lod> | null = null;
	private indexOnce: Promise<BlockIndex> | null = null;

	constructor(raw: Raw) {
		this.raw = raw;
	}

	async json(name: string): Promise<unknown> {
		const text = new TextDecoder().decode(await this.raw.bytes(name));
		try {
			return parseJson(text);
		} catch {
			throw new Error(`section ${name} is damaged: it is no JSON`);
		}
	}

	async columns(name: string): Promise<ReturnType<typeof readSection>> {
		return readSection(name, await this.raw.bytes(name));
	}

	lod(): Promise<Lod> {
		this.lodOnce ??= this.columns("lod").then((s) => new Lod(s));
		return this.lodOnce;
	}

	index(): Promise<BlockIndex> {
		this.indexOnce ??= this.columns("index").then((s) => new BlockIndex(s));
		return this.indexOnce;
	}

	// An LRU cache.
	block(nr: number): Promise<Block> {
		let block = this.blocks.get(nr);
		this.blocks.delete(nr);
		if (!block) {
			const name = `slices/${nr}`;
			block = this.columns(name).then((s) => readBlock(name, s));
			block.catch(() => this.blocks.delete(nr));
		}
		this.blocks.set(nr, block);
		if (this.blocks.size > KEPT_BLOCKS) this.blocks.delete(this.blocks.keys().next().value as number);
		return block;
	}

	forget(name: string): void {
		if (name === "lod") this.lodOnce = null;
		if (name === "index") {
			// Only the last block grows.
			this.indexOnce = null;
			const last = Math.max(-1, ...this.blocks.keys());
			if (last >= 0) this.blocks.delete(last);
		}
	}
}
