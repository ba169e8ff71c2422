/* SPDX-License-Identifier: MIT */
/* diff_json.c - a comparison for programs, as one JSON object. */
#include "analyze/diff.h"
#include "base/json_writer.h"

static void json_side(struct json_writer *j, const char *key, const char *const *names)
{
	jw_key(j, key);
	jw_array_begin(j);
	for (; *names; names++)
		jw_string(j, *names);
	jw_array_end(j);
}

static void json_numbers(struct json_writer *j, const char *key, const struct diff_change *c,
			 const struct diff_numbers *n)
{
	jw_key(j, key);
	jw_object_begin(j);
	jw_field_u64(j, "count", n->count);
	if (c->subject <= DIFF_OF_RUN || c->subject == DIFF_OF_SITE) {
		jw_field_u64(j, "p50_ns", n->p50);
		jw_field_u64(j, "p90_ns", n->p90);
		jw_field_u64(j, "p99_ns", n->p99);
	}
	if (c->subject <= DIFF_OF_RUN) {
		jw_field_u64(j, "least_run_ns", n->low);
		jw_field_u64(j, "greatest_run_ns", n->high);
	} else if (c->subject == DIFF_OF_ALIVE) {
		jw_field_u64(j, "least_run", n->low);
		jw_field_u64(j, "greatest_run", n->high);
	}
	jw_object_end(j);
}

static void json_place(struct json_writer *j, const struct diff_change *c)
{
	jw_key(j, "place");
	jw_object_begin(j);
	jw_field_string(j, "text", c->text);
	if (c->path[0]) {
		jw_field_string(j, "file", c->path);
		jw_field_u64(j, "line", c->line);
	}
	jw_object_end(j);
}

static void json_change(struct json_writer *j, const struct diff_change *c)
{
	static const char *const classes[] = { "worse", "better", "new", "gone" };
	static const char *const subjects[] = { "wait", "ready", "run", "left", "finding", "site" };

	jw_object_begin(j);
	jw_field_string(j, "class", classes[c->class]);
	jw_field_string(j, "what", subjects[c->subject]);
	jw_field_string(j, "title", diff_title(c));
	json_place(j, c);
	if (c->subject == DIFF_OF_FINDING)
		jw_field_string(j, "detector", c->detector);
	if (c->subject <= DIFF_OF_RUN)
		jw_field_u64(j, "quantile", c->verdict.permille / 10);
	if (c->class != DIFF_NEW)
		json_numbers(j, "base", c, &c->base);
	if (c->class != DIFF_GONE)
		json_numbers(j, "head", c, &c->head);
	jw_object_end(j);
}

void diff_put_members(struct json_writer *j, const struct diff *d, const struct diff_form *form)
{
	size_t i;

	json_side(j, "base", form->base);
	json_side(j, "head", form->head);
	json_side(j, "notes", form->notes);
	jw_field_u64(j, "sites_compared", d->compared);
	jw_field_u64(j, "worse", d->by_class[DIFF_WORSE]);
	jw_field_u64(j, "better", d->by_class[DIFF_BETTER]);
	jw_field_u64(j, "new", d->by_class[DIFF_NEW]);
	jw_field_u64(j, "gone", d->by_class[DIFF_GONE]);
	jw_key(j, "changes");
	jw_array_begin(j);
	for (i = 0; i < d->nr; i++)
		json_change(j, &d->changes[i]);
	jw_array_end(j);
}

int diff_json(const struct diff *d, const struct diff_form *form, FILE *out)
{
	struct json_writer j;

	jw_init_file(&j, out);
	jw_object_begin(&j);
	diff_put_members(&j, d, form);
	jw_object_end(&j);
	jw_newline(&j);
	return jw_release(&j);
}
