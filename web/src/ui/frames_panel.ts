// SPDX-License-Identifier: MIT
// frames_panel.ts - the frames that a coroutine saved; hidden if the trace has none.

import { replace } from "../base/dom.ts";
import * as fmt from "../base/format.ts";
import { visible } from "../base/place.ts";
import { fieldsText, framesOf, noFrames, type FrameRow, type Frames } from "../data/frames.ts";
import { empty, panel, plainTable } from "./parts.ts";
import type { Context } from "./view.ts";

const SHOWN = 200;

export class FramesPanel {
	readonly el: HTMLElement;
	private readonly ctx: Context;
	private readonly id: string;
	private readonly panel;
	private rows: FrameRow[] = [];

	constructor(ctx: Context, id: string) {
		this.ctx = ctx;
		this.id = id;
		this.panel = panel("Frames", { class: "frames-panel", sheet: () => this.sheet() });
		this.el = this.panel.el;
		this.el.hidden = true;
	}

	async load(): Promise<void> {
		let all: Frames = noFrames;
		try {
			all = await this.ctx.trace.engine.call<Frames>("reload", ["frames"]);
		} catch {
			// A file of an earlier version has no such section.
		}
		this.rows = framesOf(all, this.id);
		this.el.hidden = all.of === 0;
		const kept = all.frames.length < all.of ? `; this file has ${fmt.count(all.frames.length)} of all ${fmt.count(all.of)} frames, evenly spread` : "";
		const first = this.rows.length > SHOWN ? `the first ${fmt.count(SHOWN)} of ` : "";
		this.panel.note.textContent = `${first}${fmt.plural(this.rows.length, "frame")}${kept}${all.lost > 0 ? `; ${fmt.count(all.lost)} lost` : ""}`;
		replace(this.panel.body, this.rows.length === 0 ? empty("It saved no frame.") : this.table());
	}

	private table(): HTMLElement {
		return plainTable<FrameRow>("Frames", [
			{ label: "At", end: true, class: "mono", show: (f) => fmt.stamp(f.ts) },
			{ label: "Frame", show: (f) => visible(f.frame) },
			{ label: "Thread", class: "mono", show: (f) => String(f.tid) },
			{ label: "Fields", class: "mono", show: (f) => visible(fieldsText(f.fields)) },
		], this.rows.slice(0, SHOWN));
	}

	private sheet() {
		return {
			name: `coroutine-${this.id}-frames`, head: ["ts_ns", "buffer", "frame", "thread", "fields"],
			rows: this.rows.map((f) => [f.ts, f.buffer, f.frame, f.tid, f.fields]),
		};
	}
}
