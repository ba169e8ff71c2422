// SPDX-License-Identifier: MIT
// types.ts - the data of the page: the object of `mem sim --blame --json`, with more keys (docs/memory-layout.md).

import type { Big } from "../data/types.ts";

export interface LevelConfig {
	name: string;
	size: number;
	line: number;
	ways: number | "full";
}

export interface LevelCounts {
	name: string;
	hits: number;
	misses: number;
	cold?: number;
	capacity?: number;
	conflict?: number;
	coherence: number;
}

export interface Counts {
	reads: number;
	writes: number;
	misses: number[];          // by level
	false_sharing: number;
	cost: number;
}

export interface Field extends Counts {
	name: string;
	type?: string;             // without: padding, or the bytes after the type
	offset?: number;
	size?: number;
}

export interface Layout {
	bytes: number;
	file: string | null;
	line: number;
}

export interface Owner extends Counts {
	name: string;
	certainty?: number;        // share of the votes for this type of heap blocks, 0 to 1
	fields: Field[];
	layout: Layout | null;
}

export interface SourceLine extends Counts {
	file: string | null;
	line: number;
	function: string | null;
	module: string | null;
	pc: string;
	data: string | null;
}

// Slices of coroutines of one kind, after one await or all of them.
export interface Await extends Counts {
	file?: string | null;      // null: no await before
	line?: number;
	function?: string | null;
	slices: number;
	allocations: number;
	allocated_bytes: number;
}

export interface Coroutine extends Await {
	kind: string | null;       // null: outside of all coroutines
	awaits: (Await & { file: string | null; line: number; function: string | null })[];
	awaits_of: number;
}

export interface SharedField {
	name: string;
	thread: Big | null;
	offset: number;
	reads_that_missed: number;
	writes_that_missed: number;
}

export interface SharedLine {
	address: string;
	invalidations: number;
	false_misses: number;
	true_misses: number;
	taken: { by: Big | null; from: Big | null; invalidations: number }[];
	fields?: SharedField[];
}

export interface Thread {
	id: Big | null;
	name: string | null;
	reads: number;
	writes: number;
	invalidated: number;
	lost: number;
	levels: { misses: number }[];
}

// Blocks of the heap that one place of the program allocated.
export interface AllocationSite extends Counts {
	file: string | null;
	line: number;
	function: string | null;
	module: string | null;
	pc: string;
	callers: string;           // "build < main"
	blocks: number;
	bytes: number;
}

export interface CodeCounts {
	reads: number;
	writes: number;
	misses: number[];          // by level
	cost: number;
}

// What the function does itself; inclusive: with the functions that it calls.
export interface CalledFunction extends CodeCounts {
	name: string;
	file: string | null;
	line: number;              // 0: unknown
	module: string | null;
	calls: number | null;      // null: unknown
	inclusive: CodeCounts | null;
}

// A function with those that called it; the first is the program, and its own parent.
export interface FlameFrame {
	name: string;
	file: string | null;
	parent: number;
	calls: number | null;
	cost: number;
	own: number;               // cost of the function itself
	accesses: number;
	misses: number;            // of the last level
}

export interface SourceCounts extends CodeCounts {
	line: number;
}

export interface SourceFile {
	file: string;
	cost: number;
	problem: string | null;
	hunks: { line: number; text: string[]; counts: SourceCounts[] }[];
}

export interface MemoryData {
	title: string;
	command: string[];
	cost: number;              // of all misses
	machine_from: string;
	machine: { levels: LevelConfig[] };
	simulated: number;
	lost: number;
	lost_unknown: boolean;
	left_out: number;
	sampled: boolean;
	levels: LevelCounts[];
	coherence: { false_sharing: number; true_sharing: number; unknown_sharing: number };
	threads: Thread[];
	shared_lines: SharedLine[];
	types: Owner[];
	types_of: number;
	source_lines: SourceLine[];
	source_lines_of: number;
	heap_cost: Record<"annotated" | "by_vote" | "by_code" | "by_site" | "unnamed", number>;
	allocation_sites: AllocationSite[];
	allocation_sites_of: number;
	coroutines: Coroutine[];
	coroutines_of: number;
	problems: string[];
	has_stacks: boolean;
	functions: CalledFunction[];
	functions_of: number;
	flame: FlameFrame[];
	flame_hidden: number;      // frames with too little of the cost
	sources?: SourceFile[];    // without: the page has no source code
}
