/* SPDX-License-Identifier: MIT */
/* mem_unseen.c - name the libraries whose accesses are missing in a memory trace. */
#include "mem_unseen.h"

#include <string.h>

#include "memory/format/mem_reader.h"
#include "memory/format/unseen_modules.h"

void mem_unseen_print(struct printer *p, const char *prefix, const struct mem_facts *facts)
{
	const char *paths[UNSEEN_MODULES_MAX];
	size_t nr = unseen_modules_find(facts, paths), i;

	print_list(p, "not_instrumented");
	for (i = 0; i < nr; i++) {
		const char *slash = strrchr(paths[i], '/');

		if (p->is_json)
			jw_string(&p->json, paths[i]);
		print_text(p, "%s", prefix);
		print_safe(p, slash ? slash + 1 : paths[i], 0);
		print_text(p, " is not instrumented: its accesses are missing\n");
	}
	print_list_end(p);
}

void mem_unseen_print_of(struct printer *p, const char *prefix, const char *path)
{
	struct err ignored = { 0 };
	struct mem_reader *r = mem_reader_open(path, &ignored);

	if (r)
		mem_unseen_print(p, prefix, mem_reader_facts(r));
	mem_reader_close(r);
}
