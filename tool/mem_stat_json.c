/* SPDX-License-Identifier: MIT */
/* mem_stat_json.c - statistics of a memory trace, as one JSON object. */
#include <stdio.h>

#include "base/json_writer.h"
#include "mem_stat.h"

static void json_reuse(struct json_writer *w, const struct reuse_lines *l)
{
	unsigned b, last = 0;

	for (b = 0; b < LINES_BUCKETS; b++)
		last = l->reuse[b] ? b + 1 : last;
	jw_field_u64(w, "lines", l->distinct);
	jw_field_u64(w, "sampled_one_in", l->one_in);
	jw_field_u64(w, "first_uses", l->cold);
	jw_key(w, "reuse");
	jw_array_begin(w);
	for (b = 0; b < last; b++) {
		jw_object_begin(w);
		jw_field_u64(w, "from", lines_bucket_start(b));
		jw_field_u64(w, "below", lines_bucket_start(b + 1));
		jw_field_u64(w, "count", l->reuse[b]);
		jw_object_end(w);
	}
	jw_array_end(w);
}

static void json_threads(struct json_writer *w, const struct mem_stat *s,
			 const struct mem_facts *facts)
{
	size_t i;

	jw_key(w, "threads");
	jw_array_begin(w);
	for (i = 0; i < s->nr_threads; i++) {
		const struct mem_stat_thread *t = &s->threads[i];
		const struct mem_thread *known = mem_facts_thread(facts, t->number);

		jw_object_begin(w);
		jw_field_u64(w, "id", mem_facts_id(facts, t->number));
		jw_field_string(w, "name", known ? known->name : NULL);
		jw_field_u64(w, "reads", t->reads);
		jw_field_u64(w, "writes", t->writes);
		jw_field_u64(w, "bytes", t->bytes);
		jw_field_u64(w, "missing", t->missing);
		if (t->lines)
			json_reuse(w, t->lines);
		jw_object_end(w);
	}
	jw_array_end(w);
}

static void json_types(struct json_writer *w, const struct mem_stat *s, unsigned top)
{
	uint32_t order[MEM_STAT_TOP_MAX];
	size_t nr = mem_stat_types(s, order, top), i;

	jw_key(w, "types");
	jw_array_begin(w);
	for (i = 0; i < nr; i++) {
		const struct mem_stat_type *t = &s->types[order[i]];

		jw_object_begin(w);
		jw_field_string(w, "type", strtab_text(&s->names, order[i]));
		jw_field_u64(w, "reads", t->reads);
		jw_field_u64(w, "writes", t->writes);
		jw_field_u64(w, "bytes", t->bytes);
		jw_field_u64(w, "added", t->added);
		jw_field_u64(w, "removed", t->removed);
		jw_object_end(w);
	}
	jw_array_end(w);
}

static void json_hot(struct json_writer *w, struct mem_stat *s, unsigned top)
{
	const struct reuse_line *hot[MEM_STAT_TOP_MAX];
	size_t nr = lines_hottest(&s->lines, hot, top), i;
	char hex[24];

	jw_key(w, "hot_lines");
	jw_array_begin(w);
	for (i = 0; i < nr; i++) {
		const struct reuse_line *l = hot[i];

		snprintf(hex, sizeof(hex), "0x%llx",
			 (unsigned long long)l->line * s->config.line_size);
		jw_object_begin(w);
		jw_field_string(w, "address", hex);
		jw_field_u64(w, "reads", l->reads);
		jw_field_u64(w, "writes", l->writes);
		jw_field_i64(w, "threads", __builtin_popcountll(l->readers | l->writers));
		jw_field_i64(w, "writers", __builtin_popcountll(l->writers));
		jw_field_string(w, "type", l->type == ~0u ? NULL : strtab_text(&s->names, l->type));
		jw_object_end(w);
	}
	jw_array_end(w);
}

static void json_windows(struct json_writer *w, const struct mem_stat *s)
{
	size_t i;

	jw_field_u64(w, "window", s->window);
	jw_key(w, "working_set");
	jw_array_begin(w);
	for (i = 0; i < s->nr_windows; i++) {
		jw_object_begin(w);
		jw_field_u64(w, "accesses", s->windows[i].accesses);
		jw_field_u64(w, "lines", s->windows[i].lines);
		if (s->windows[i].time_ns)
			jw_field_u64(w, "time_ns", s->windows[i].time_ns);
		jw_object_end(w);
	}
	jw_array_end(w);
}

static void json_strides(struct json_writer *w, const struct strides *s, unsigned top)
{
	size_t i;

	jw_key(w, "strides");
	jw_object_begin(w);
	jw_field_u64(w, "all", s->all);
	jw_field_u64(w, "same_as_before", s->same);
	jw_field_u64(w, "zero", s->zero);
	jw_field_u64(w, "sequential", s->next);
	jw_field_u64(w, "not_followed", s->unknown);
	jw_field_u64(w, "counts_low_by_at_most", s->under);
	jw_key(w, "top");
	jw_array_begin(w);
	for (i = 0; i < s->nr_kept && i < top; i++) {
		jw_object_begin(w);
		jw_field_i64(w, "stride", s->kept[i].stride);
		jw_field_u64(w, "count", s->kept[i].count);
		jw_object_end(w);
	}
	jw_array_end(w);
	jw_object_end(w);
}

void mem_stat_json(struct mem_stat *s, const struct mem_facts *facts, const char *path,
		   unsigned top)
{
	struct json_writer w;

	jw_init_file(&w, stdout);
	jw_object_begin(&w);
	jw_field_string(&w, "file", path);
	jw_field_u64(&w, "accesses", s->reads + s->writes);
	jw_field_u64(&w, "reads", s->reads);
	jw_field_u64(&w, "writes", s->writes);
	jw_field_u64(&w, "bytes", s->bytes);
	jw_field_double(&w, "weighted_accesses", (double)s->weighted_256 / 256);
	jw_field_u64(&w, "annotations", s->annotations);
	jw_field_u64(&w, "lost", s->lost);
	jw_field_u64(&w, "left_out", s->left_out);
	jw_field_u64(&w, "line_size", s->config.line_size);
	jw_field_u64(&w, "straddles", s->straddles);
	json_reuse(&w, &s->lines);
	json_threads(&w, s, facts);
	json_types(&w, s, top);
	json_hot(&w, s, top);
	json_windows(&w, s);
	json_strides(&w, &s->strides, top);
	jw_object_end(&w);
	jw_newline(&w);
	jw_release(&w);
}
