// SPDX-License-Identifier: MIT
// row_with_id.ts - the row of a coroutine, by its id.

import type { Coros } from "./coros.ts";

// As coros.rowOfId(), without a table of all ids: building one for 100,000 coroutines takes long.
export function rowWithId(coros: Coros, id: string): number {
	const value = BigInt(id);
	const [lo, hi] = [Number(value & 0xffffffffn), Number(value >> 32n)];
	const { id_lo, id_hi } = coros.c;
	for (let row = 0; row < coros.rows; row++) if (id_lo[row] === lo && id_hi[row] === hi) return row;
	return -1;
}
