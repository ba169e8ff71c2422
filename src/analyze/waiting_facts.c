/* SPDX-License-Identifier: MIT */
/* waiting_facts.c - coroutines that existed before the program was attached. */
#include "analyze/waiting_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define WAITING_FACTS_MAX 100000

static void waiting_fact_release(struct trace_waiting *fact)
{
	free((void *)fact->file);
	free((void *)fact->function);
	free((void *)fact->stack);
	free((void *)fact->verdict);
}

static const char *waiting_copy(const char *text, bool *ok)
{
	char *copy = text ? strdup(text) : NULL;

	*ok = *ok && (copy || !text);
	return copy;
}

int waiting_facts_add(struct waiting_facts *w, const struct trace_waiting *fact)
{
	struct trace_waiting *to;
	bool ok = true;

	if (fact->missing) {
		w->missing = w->missing ? w->missing : strdup(fact->missing);
		return w->missing ? 0 : -ENOMEM;
	}
	if (w->nr == WAITING_FACTS_MAX || (fact->is_checked && !fact->unmoved))
		return 0;
	if (w->nr == w->room) {
		size_t room = w->room ? 2 * w->room : 16;
		struct trace_waiting *more = reallocarray(w->at, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		w->at = more;
		w->room = room;
	}
	to = &w->at[w->nr++];
	*to = *fact;
	to->file = waiting_copy(fact->file, &ok);
	to->function = waiting_copy(fact->function, &ok);
	to->stack = waiting_copy(fact->stack, &ok);
	to->verdict = waiting_copy(fact->verdict, &ok);
	return ok ? 0 : -ENOMEM;
}

static uint64_t waiting_number(const struct trace_waiting *fact)
{
	return fact->is_checked ? fact->unmoved : fact->count;
}

uint64_t waiting_facts_count(const struct waiting_facts *w, bool is_checked)
{
	uint64_t nr = 0;
	size_t i;

	for (i = 0; i < w->nr; i++) {
		if (w->at[i].is_checked == is_checked)
			nr += waiting_number(&w->at[i]);
	}
	return nr;
}

void waiting_facts_print(const struct waiting_facts *w, FILE *out, size_t most)
{
	uint64_t unmoved = waiting_facts_count(w, true), unknown = waiting_facts_count(w, false);
	char a[TEXT_SIZE];
	size_t i;

	if (unmoved)
		fprintf(out,
			"%s coroutine%s existed before the program was attached and did not run:\n",
			text_count(a, unmoved), unmoved == 1 ? "" : "s");
	else if (unknown)
		fprintf(out,
			"%s coroutine%s existed before the program was attached; which of them ran "
			"is unknown:\n",
			text_count(a, unknown), unknown == 1 ? "" : "s");
	for (i = 0; i < w->nr && (!most || i < most); i++) {
		const struct trace_waiting *fact = &w->at[i];

		fprintf(out, "  %s x ", text_count(a, waiting_number(fact)));
		text_put(out, fact->stack ? fact->stack : "?");
		if (fact->verdict && strcmp(fact->verdict, "waiting") != 0) {
			fputs(", ", out);
			text_put(out, fact->verdict);
		}
		fputc('\n', out);
	}
	if (i < w->nr)
		fprintf(out, "  and %zu more stacks\n", w->nr - i);
}

void waiting_facts_put(const struct waiting_facts *w, struct json_writer *j)
{
	size_t i;

	for (i = 0; i < w->nr; i++) {
		const struct trace_waiting *fact = &w->at[i];

		jw_object_begin(j);
		jw_field_u64(j, "count", fact->count);
		if (fact->is_checked)
			jw_field_u64(j, "unmoved", fact->unmoved);
		else
			jw_field_null(j, "unmoved");
		jw_field_string(j, "function", fact->function);
		jw_field_string(j, "file", fact->file);
		jw_field_u64(j, "line", fact->line);
		jw_field_string(j, "stack", fact->stack);
		jw_field_string(j, "verdict", fact->verdict);
		jw_object_end(j);
	}
}

void waiting_facts_release(struct waiting_facts *w)
{
	size_t i;

	for (i = 0; i < w->nr; i++)
		waiting_fact_release(&w->at[i]);
	free(w->at);
	free(w->missing);
	*w = (struct waiting_facts){ 0 };
}
