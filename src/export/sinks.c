/* SPDX-License-Identifier: MIT */
/* sinks.c - the table of sinks. */
#include <string.h>

#include "export/sink.h"

const struct sink *const sinks[] = {
	&sink_csv,        &sink_sqlite, &sink_postgresql, &sink_mysql,    &sink_perfetto,
	&sink_chrome,     &sink_ctf,    &sink_jsonl,      &sink_compact,  &sink_parquet,
	&sink_speedscope, &sink_folded, &sink_pprof,      &sink_graphviz, NULL,
};

const struct sink *sink_find(const char *name)
{
	size_t i;

	for (i = 0; sinks[i]; i++) {
		if (!strcmp(sinks[i]->name, name) ||
		    (sinks[i]->alias && !strcmp(sinks[i]->alias, name)))
			return sinks[i];
	}
	return NULL;
}
