/* SPDX-License-Identifier: MIT */
/* mem_faults.c - faults of a trace: kind, offset and text. */
#include "memory/format/mem_faults.h"

#include <stdarg.h>
#include <stdio.h>

void mem_fault_add(struct mem_faults *f, enum mem_fault_kind kind, uint64_t offset, const char *fmt,
		   ...)
{
	struct mem_fault *fault;
	va_list ap;

	f->by_kind[kind]++;
	if (f->nr++ >= MEM_FAULTS_KEPT)
		return;
	fault = &f->first[f->nr - 1];
	fault->kind = kind;
	fault->offset = offset;
	va_start(ap, fmt);
	vsnprintf(fault->text, sizeof(fault->text), fmt, ap);
	va_end(ap);
}

const char *mem_fault_name(enum mem_fault_kind kind)
{
	static const char *const names[MEM_FAULT_KINDS] = {
		"damage", "truncated", "missing", "order", "count", "pairing",
	};

	return names[kind];
}
