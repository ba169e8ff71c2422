// SPDX-License-Identifier: MIT
// types.ts - the data of the page: the object of `why --json` (docs/why.md).

import type { TaskState } from "../data/flame_tree.ts";

// A variable, a member or an element; with --locals.
export interface Local {
	name?: string;             // not of elements
	type: string;
	value?: string | number | boolean | null;
	length?: number;           // of strings, buffers and lists
	state?: string;            // why there is no value
	variant?: string;
	members?: Local[];
	elements?: Local[];
	parameter?: boolean;
	may_be_unset?: boolean;
	cut?: boolean;             // there is more
	unread?: boolean;          // what it refers to is not in memory
}

export interface Level {
	function: string | null;
	file: string | null;
	line: number | null;
	exact: boolean;            // false: the line is that of the function
	awaits?: string;
	branches?: Branch[];       // futures that it awaits together
	has_more_branches?: boolean;
	locals?: Local[];          // of the first member of the group
	locals_problem?: string;
}

// One of several futures of select!, join! and the like.
export interface Branch {
	count: number;             // equal ones
	stack: Level[];            // innermost first; empty: only its kind is known
	kind: string | null;
	type: string | null;
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

// A lock, a channel or the like, that coroutines of a group wait for.
export interface WaitObject {
	object: string;            // its address
	waiters: number;
	holder: string | null;
	holder_function?: string | null;
}

// By kind: "descriptor" has descriptors, "awaiter" a type, "start" and "processor" nothing; others have values of their own.
export interface WaitsFor {
	kind: string;
	type?: string | null;
	certain?: boolean;
	due_in_ms?: number;        // the earliest deadline; negative: it has passed
	objects?: WaitObject[];
	task?: string;             // the address of the awaited task
	descriptors?: Descriptor[];
}

export interface Group {
	count: number;
	bytes: number;
	verdict: string;
	confidence: string;
	state?: "waiting" | "ready"; // of tasks of Rust
	stack: Level[];            // innermost first
	reason?: string;
	doubt?: string;
	waits_for: WaitsFor | null;
	members: string[];         // addresses of frames
	member_locals?: { stack: { locals: Local[]; locals_problem?: string }[] }[];
}

export interface RingMember {
	coroutine: string;
	function: string | null;
	kind: string;
	type: string;
	object: string | null;     // null: it waits for the end of the next one
	holder: string;
	holder_function: string | null;
}

// Coroutines that wait for each other: each for what the next one holds, the last one for the first.
export interface Ring {
	confidence: string;
	doubt: string | null;
	members: RingMember[];
}

// "lock" and "future" have an object, "thread" is the end of another one.
export interface ThreadWait {
	kind: string;
	type?: string;             // of a future: "std::promise"
	object?: string;
	holder: number | null;     // a thread that holds it, or computes the value
}

export interface NativeFrame {
	function: string | null;
	file: string | null;
	line: number | null;
}

export interface WhyThread {
	tid: number;
	name: string | null;
	state: string;
	system_call: string | null;
	waits_for?: ThreadWait | null;
	runs?: string | null;      // the function of its coroutine
	frame?: string | null;
	block_on?: Level[];        // the future that it runs, innermost first
	stack?: NativeFrame[];     // with --stacks
}

export interface WhyData {
	pid: number;
	name?: string | null;
	coroutines: number;
	finished: number;
	running: number;
	changed: number;
	groups: Group[];
	rings?: Ring[];
	threads: WhyThread[];
	stopped_ns: number;
	busy: boolean;
	problem: string | null;
}

// ---- the object of `why --sample --json` ----

export interface ProfileStack {
	percent: number;
	task_seconds: number;
	tasks: number;             // on average
	state: TaskState;
	samples: number;
	most: number;              // tasks in one look
	stack: Level[];            // innermost first
}

export interface ProfileData {
	pid: number;
	name?: string | null;
	looks: number;
	elapsed_ns: number;
	period_ns: number;
	ended_by: string;
	samples: number;
	tasks: number;
	task_seconds: number;
	states: Record<TaskState, { samples: number; task_seconds: number; percent: number }>;
	stacks: ProfileStack[];
	late: number;
	failed: number;
	changed: number;
	threads_unknown: number;
	frames_unknown: number;
	bytes_failed: number;
	reloads: number;
	look_ns: number;
	look_max_ns: number;
	look_cpu_ns: number;
	stopped_ns: number;
	problem: string | null;
}
