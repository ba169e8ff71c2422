/* SPDX-License-Identifier: MIT */
/* tokio_branches.c - print the futures that a task awaits together. */
#include "inspect/tokio_branches.h"

#include <stdio.h>

#include "inspect/inspect_print.h"
#include "inspect/tokio_groups.h"

#define INDENT_MAX 64

static void print_tokio_branch(struct printer *p, const struct rust_branch *branch,
			       const char *indent)
{
	char inner[INDENT_MAX];
	size_t i;

	print_object(p, NULL);
	if (branch->count > 1 || !branch->nr)
		print_text(p, "%s   | %llu x%s%s\n", indent, (unsigned long long)branch->count,
			   branch->kind ? " " : "", branch->kind ? branch->kind : "");
	print_count(p, "count", NULL, branch->count);
	print_list(p, "stack");
	snprintf(inner, sizeof(inner), "%s   | ", indent);
	for (i = branch->nr; i-- > 0;) {
		struct inspect_place place = tokio_place(branch->places[i]);

		print_place(p, &place, inner, i == branch->nr - 1);
	}
	print_list_end(p);
	print_string(p, "kind", branch->kind);
	print_string(p, "type", branch->type);
	print_object_end(p);
}

void print_tokio_branches(struct printer *p, const struct rust_place *place, const char *indent)
{
	size_t i;

	if (!place->nr_branches)
		return;
	print_list(p, "branches");
	for (i = 0; i < place->nr_branches; i++)
		print_tokio_branch(p, &place->branches[i], indent);
	print_list_end(p);
	if (place->has_more)
		print_text(p, "%s   | and more\n", indent);
	print_flag(p, "has_more_branches", NULL, place->has_more);
}
