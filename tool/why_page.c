/* SPDX-License-Identifier: MIT */
/* why_page.c - `corotracer why --html`: the result as one page for a browser. */
#include "why_page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "inspect/inspect_print.h"
#include "page/page.h"
#include "base/io.h"

#define WHY_PAGE_LOCALS 100 /* members of a group with variables */

int why_page_check(struct err *err)
{
	struct html_page page;

	return page_embedded(WHY_PAGE, &page, err);
}

/* The caller frees @json. */
static int why_page_format(struct inspection *in, const struct inspect_print_options *options,
			   char **json, size_t *size)
{
	FILE *memory = open_memstream(json, size);
	struct printer p;
	int rc;

	if (!memory)
		return -ENOMEM;
	printer_begin(&p, memory, true);
	inspection_print(in, &p, options);
	rc = printer_end(&p);
	return io_end_memory(memory, json) < 0 && !rc ? -ENOMEM : rc;
}

int why_page_save(struct inspection *in, const char *path, bool locals, bool show_values,
		  struct err *err)
{
	struct inspect_print_options options = {
		.locals = locals || show_values,
		.show_values = show_values,
		.locals_max = WHY_PAGE_LOCALS,
	};
	char *json = NULL;
	size_t size = 0;
	int rc = why_page_format(in, &options, &json, &size);

	if (rc < 0)
		err_set(err, rc, "no memory for the page");
	else
		rc = page_save_json(path, WHY_PAGE, json, size, err);
	free(json);
	if (!rc && strcmp(path, "-") != 0)
		message_print("why", "%zu suspended coroutines in %zu groups; wrote '%s'",
			      (size_t)in->nr_suspended, in->nr_groups, path);
	return rc;
}
