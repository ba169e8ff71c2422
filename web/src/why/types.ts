// SPDX-License-Identifier: MIT
// types.ts - the data of the page: the object of `why --json` (docs/why.md).

export interface Level {
	function: string | null;
	file: string | null;
	line: number | null;
	exact: boolean;            // false: the line is that of the function
	awaits?: string;
}

export interface Descriptor {
	descriptor: number;
	in_awaiter: boolean;
	state: "open" | "closed" | null;
	type?: string;
	peer?: string | null;
	readable?: boolean;
	writable?: boolean;
	unread?: number;
	watched?: boolean;
	disarmed?: boolean;
	edge_triggered?: boolean;
}

// By kind: "descriptor" has descriptors, "awaiter" a type, "start" nothing; others have values of their own.
export interface WaitsFor {
	kind: string;
	type?: string;
	descriptors?: Descriptor[];
}

export interface Group {
	count: number;
	bytes: number;
	verdict: string;
	confidence: string;
	stack: Level[];            // innermost first
	reason?: string;
	doubt?: string;
	waits_for: WaitsFor | null;
	members: string[];         // addresses of frames
}

export interface WhyThread {
	tid: number;
	name: string | null;
	state: string;
	system_call: string | null;
}

export interface WhyData {
	pid: number;
	name?: string | null;
	coroutines: number;
	finished: number;
	running: number;
	changed: number;
	groups: Group[];
	threads: WhyThread[];
	stopped_ns: number;
	busy: boolean;
	problem: string | null;
}
