/* SPDX-License-Identifier: MIT */
/* section_slice_cpu.h - columns of the sections "slices/N" about processor time. */
#ifndef VIEW_SECTION_SLICE_CPU_H
#define VIEW_SECTION_SLICE_CPU_H

#include "base/strtab.h"
#include "view/view_data.h"

/* All zero: no rows. */
struct cpu_columns {
	struct bytes queued, blocked, call, waits; /* by slice */
	struct bytes wait_after, wait_ns;          /* by wait */
	size_t nr_waits;
	struct strtab calls; /* names of system calls */
	int error;
};

/* Add the row of @slice; true if the slice was measured. */
bool cpu_columns_add(struct cpu_columns *to, const struct view *v, const struct slice *slice);

/* Move the columns to @c: 0 or -ENOMEM. */
int cpu_columns_put(struct cpu_columns *from, struct view_columns *c, size_t rows);

#endif
