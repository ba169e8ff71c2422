/* SPDX-License-Identifier: MIT */
/* analyze/module_table.h - add the modules listed in a trace to the symbol lookup. */
#ifndef ANALYZE_MODULE_TABLE_H
#define ANALYZE_MODULE_TABLE_H

#include "symbols/symbols.h"
#include "trace/sidecar.h"

/* 0 or -ENOMEM. */
static inline int symbols_add_told(struct symbols *s, const struct sidecar_module *m)
{
	const struct symbol_module module = {
		.pid = m->pid,
		.start = m->start,
		.end = m->end,
		.offset = m->offset,
		.path = m->path,
		.build_id = m->build_id,
	};

	return symbols_add(s, &module);
}

#endif
