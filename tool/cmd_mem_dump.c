/* SPDX-License-Identifier: MIT */
/*
 * cmd_mem_dump.c - corotracer mem dump: print the records of a memory trace as text, JSON or CSV.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/path.h"
#include "base/text.h"
#include "json_file.h"
#include "mem.h"
#include "memory/format/coroutine_text.h"
#include "memory/format/record_filter.h"

struct dump {
	const char *path;
	enum mem_form form;
	bool exact_text; /* CSV: do not guard texts that look like formulas */
	struct mem_select select;
	uint64_t skip, count;
	const struct mem_facts *facts;
	struct json_writer json;
};

/* One record and its context. */
struct dump_row {
	const struct mem_record *r;
	uint64_t number; /* in the trace */
	uint64_t thread; /* thread id */
	const char *type;
	uint64_t offset;
	const struct mem_module *module; /* module of the pc */
	const struct mem_facts *facts;
	const uint64_t *frames; /* call stack of an allocation */
	size_t nr_frames;
};

static const struct mem_module *module_of(const struct mem_facts *f, uint64_t pc)
{
	size_t i;

	/* Newest first: another module may have been loaded after one was unloaded. */
	for (i = f->nr_modules; pc && i-- > 0;) {
		const struct cray_module *m = &f->modules[i].m;

		if (!m->gone && pc >= m->start && pc < m->end)
			return &f->modules[i];
	}
	return NULL;
}

/* ---- text ---------------------------------------------------------------- */

static void dump_name(const struct mem_record *r)
{
	char *text = strndup(r->name, r->name_size);

	if (text)
		text_put(stdout, text);
	free(text);
}

static void text_access(const struct dump_row *row)
{
	const struct mem_record *r = row->r;

	printf(" %3u 0x%012llx", r->size, (unsigned long long)r->address);
	if (row->module)
		printf(" %s+0x%llx", path_base(row->module->path),
		       (unsigned long long)(r->pc - row->module->m.bias));
	else if (r->pc)
		printf(" 0x%llx", (unsigned long long)r->pc);
	if (r->tag & CRAY_ATOMIC)
		fputs(" atomic", stdout);
	if (r->tag & CRAY_UNALIGNED)
		fputs(" unaligned", stdout);
	if (r->attr & CRAY_ATTR_VOLATILE)
		fputs(" volatile", stdout);
	if (r->attr & CRAY_ATTR_VPTR)
		fputs(" vptr", stdout);
	if (r->attr & CRAY_ATTR_LIBRARY)
		fputs(" library", stdout);
	if (r->attr & CRAY_ATTR_RANGE)
		fputs(" range", stdout);
	if (r->attr & CRAY_ATTR_COMPOUND)
		fputs(" compound", stdout);
	if (row->type) {
		fputs("  ", stdout);
		text_put(stdout, row->type);
		printf("+%llu", (unsigned long long)row->offset);
	}
}

static void dump_part(const char *before, const char *text, uint32_t size)
{
	char *copy = size ? strndup(text, size) : NULL;

	if (copy) {
		fputs(before, stdout);
		text_put(stdout, copy);
	}
	free(copy);
}

static void text_coroutine(const struct mem_record *r)
{
	struct coroutine_text t;

	if (!r->value) {
		printf("     %s to no coroutine", coroutine_cause_name(r->cause));
		return;
	}
	coroutine_text_split(r, &t);
	printf("     %s %llu", coroutine_cause_name(r->cause), (unsigned long long)r->value);
	dump_part(" ", t.kind, t.kind_size);
	if (t.file_size) {
		dump_part(", suspended at ", t.file, t.file_size);
		printf(":%u", t.line);
		dump_part(" ", t.function, t.function_size);
	}
}

/* A code address, in its module if that is known. */
static void dump_code(const struct mem_facts *facts, uint64_t pc)
{
	const struct mem_module *module = module_of(facts, pc);

	if (module)
		printf(" %s+0x%llx", path_base(module->path),
		       (unsigned long long)(pc - module->m.bias));
	else
		printf(" 0x%llx", (unsigned long long)pc);
}

static void text_heap(const struct dump_row *row)
{
	const struct mem_record *r = row->r;
	size_t i;

	printf("     0x%012llx", (unsigned long long)r->address);
	if (r->kind == MEM_ALLOC)
		printf(" %llu bytes", (unsigned long long)r->value);
	dump_code(row->facts, r->pc);
	if (row->nr_frames)
		fputs(" <", stdout);
	for (i = 0; i < row->nr_frames; i++)
		dump_code(row->facts, row->frames[i]);
}

static void dump_text_row(const struct dump_row *row)
{
	const struct mem_record *r = row->r;

	printf("%10llu %7llu %-6s", (unsigned long long)row->number,
	       (unsigned long long)row->thread, mem_kind_name(r->kind));
	switch (r->kind) {
	case MEM_READ:
	case MEM_WRITE:
		text_access(row);
		break;
	case MEM_ADD:
		printf("     0x%012llx %u x %u bytes  ", (unsigned long long)r->address,
		       r->elem_count, r->elem_size);
		dump_name(r);
		break;
	case MEM_REMOVE:
		printf("     0x%012llx", (unsigned long long)r->address);
		if (row->type) {
			fputs("  ", stdout);
			text_put(stdout, row->type);
		}
		break;
	case MEM_MARK:
		printf("     %llu  ", (unsigned long long)r->value);
		dump_name(r);
		break;
	case MEM_CORO:
		text_coroutine(r);
		break;
	case MEM_ALLOC:
	case MEM_FREE:
		text_heap(row);
		break;
	case MEM_ENTER:
		fputs(r->cause ? "     repeated" : "    ", stdout);
		dump_code(row->facts, r->pc);
		fputs(" from", stdout);
		dump_code(row->facts, r->value);
		break;
	case MEM_EXIT:
		if (r->value)
			printf("     %llu", (unsigned long long)r->value);
		else
			fputs("     repeated all", stdout);
		break;
	default:
		if (r->value)
			printf("     %llu accesses are missing: %s", (unsigned long long)r->value,
			       mem_cause_name(r->cause));
		else
			printf("     accesses are missing: %s", mem_cause_name(r->cause));
	}
	putchar('\n');
}

/* ---- CSV ----------------------------------------------------------------- */

static void csv_coroutine(const struct mem_record *r, bool guard)
{
	struct coroutine_text t;
	char *text = NULL;

	coroutine_text_split(r, &t);
	if (asprintf(&text, t.file_size ? "%.*s at %.*s:%u %.*s" : "%.*s", (int)t.kind_size, t.kind,
		     (int)t.file_size, t.file, t.line, (int)t.function_size, t.function) >= 0)
		text_put_csv(stdout, text, strlen(text), guard);
	free(text);
}

static void dump_csv_row(const struct dump_row *row, bool guard)
{
	const struct mem_record *r = row->r;

	printf("%llu,%llu,%llu,%llu,%s,%u,0x%llx,%u,%u,%u,0x%llx,", (unsigned long long)row->number,
	       (unsigned long long)r->time_ns, (unsigned long long)r->order,
	       (unsigned long long)row->thread, mem_kind_name(r->kind),
	       mem_is_access(r) ? r->size : 0,
	       (unsigned long long)(mem_has_address(r) ? r->address : 0), !!(r->tag & CRAY_ATOMIC),
	       !!(r->tag & CRAY_UNALIGNED), mem_is_access(r) ? r->attr : 0,
	       (unsigned long long)(mem_has_address(r) || r->kind == MEM_ENTER ? r->pc : 0));
	if (r->kind == MEM_ADD)
		printf("%u,%u,,", r->elem_size, r->elem_count);
	else if (!mem_is_raw(r))
		printf(",,%llu,", (unsigned long long)r->value);
	else
		fputs(",,,", stdout);
	if (r->kind == MEM_ADD || r->kind == MEM_MARK)
		text_put_csv(stdout, r->name, r->name_size, guard);
	else if (r->kind == MEM_GAP)
		fputs(mem_cause_name(r->cause), stdout);
	else if (r->kind == MEM_CORO)
		csv_coroutine(r, guard);
	else if (row->type)
		text_put_csv(stdout, row->type, strlen(row->type), guard);
	putchar('\n');
}

/* ---- JSON ---------------------------------------------------------------- */

static void json_hex(struct json_writer *w, const char *key, uint64_t value)
{
	char hex[24];

	snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)value);
	jw_field_string(w, key, hex);
}

static void json_access(struct json_writer *w, const struct dump_row *row)
{
	const struct mem_record *r = row->r;

	jw_field_u64(w, "size", r->size);
	if (r->tag & CRAY_ATOMIC)
		jw_field_bool(w, "atomic", true);
	if (r->tag & CRAY_UNALIGNED)
		jw_field_bool(w, "unaligned", true);
	if (r->attr)
		jw_field_u64(w, "attributes", r->attr);
}

static void json_coroutine(struct json_writer *w, const struct mem_record *r)
{
	struct coroutine_text t;

	coroutine_text_split(r, &t);
	jw_field_string(w, "cause", coroutine_cause_name(r->cause));
	jw_field_u64(w, "coroutine", r->value);
	if (!r->value)
		return;
	jw_field_bool(w, "traced", !(r->cause & CRAY_CORO_OWN_ID));
	jw_key(w, "name");
	jw_string_n(w, t.kind, t.kind_size);
	if (!t.file_size)
		return;
	jw_key(w, "file");
	jw_string_n(w, t.file, t.file_size);
	jw_field_u64(w, "line", t.line);
	jw_key(w, "function");
	jw_string_n(w, t.function, t.function_size);
}

static void json_alloc(struct json_writer *w, const struct dump_row *row)
{
	char hex[24];
	size_t i;

	jw_field_u64(w, "bytes", row->r->value);
	jw_key(w, "stack");
	jw_array_begin(w);
	for (i = 0; i < row->nr_frames; i++) {
		snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)row->frames[i]);
		jw_string(w, hex);
	}
	jw_array_end(w);
}

static void json_call(struct json_writer *w, const struct mem_record *r)
{
	if (r->kind == MEM_ENTER) {
		json_hex(w, "function", r->pc);
		json_hex(w, "call_site", r->value);
	} else {
		jw_field_u64(w, "functions", r->value);
	}
	if (mem_is_repeated(r))
		jw_field_bool(w, "repeated", true);
}

static void dump_json_row(struct dump *d, const struct dump_row *row)
{
	const struct mem_record *r = row->r;
	struct json_writer *w = &d->json;

	jw_object_begin(w);
	jw_field_u64(w, "n", row->number);
	jw_field_u64(w, "thread", row->thread);
	jw_field_string(w, "kind", mem_kind_name(r->kind));
	if (r->time_ns)
		jw_field_u64(w, "time_ns", r->time_ns);
	if (mem_has_address(r))
		json_hex(w, "address", r->address);
	if (mem_has_address(r) && r->pc)
		json_hex(w, "pc", r->pc);
	if (mem_is_access(r))
		json_access(w, row);
	if (r->kind == MEM_ADD) {
		jw_field_u64(w, "elem_size", r->elem_size);
		jw_field_u64(w, "elem_count", r->elem_count);
	}
	if (r->kind == MEM_ADD || r->kind == MEM_MARK) {
		jw_key(w, r->kind == MEM_ADD ? "type" : "text");
		jw_string_n(w, r->name, r->name_size);
	} else if (row->type) {
		jw_field_string(w, "type", row->type);
		jw_field_u64(w, "offset", row->offset);
	}
	if (r->kind == MEM_MARK || r->kind == MEM_GAP)
		jw_field_u64(w, r->kind == MEM_GAP ? "missing" : "value", r->value);
	if (r->kind == MEM_GAP)
		jw_field_string(w, "cause", mem_cause_name(r->cause));
	if (r->kind == MEM_CORO)
		json_coroutine(w, r);
	if (r->kind == MEM_ALLOC)
		json_alloc(w, row);
	if (r->kind == MEM_ENTER || r->kind == MEM_EXIT)
		json_call(w, r);
	jw_object_end(w);
	jw_newline(w);
}

/* ---- the command --------------------------------------------------------- */

static void dump_row(struct dump *d, const struct dump_row *row)
{
	if (d->form == MEM_TEXT)
		dump_text_row(row);
	else if (d->form == MEM_CSV)
		dump_csv_row(row, !d->exact_text);
	else
		dump_json_row(d, row);
}

static void dump_all(struct dump *d, struct mem_reader *r)
{
	const struct mem_record *rec;
	struct dump_row row;
	uint64_t n = 0, wanted = 0;

	for (; (rec = mem_reader_next(r)); n++) {
		if (!mem_select_wants(&d->select, rec, d->facts, &row.type, &row.offset))
			continue;
		if (wanted++ < d->skip)
			continue;
		if (wanted > d->skip && wanted - d->skip > d->count)
			break;
		row.r = rec;
		row.number = n;
		row.thread = mem_facts_id(d->facts, rec->thread);
		row.facts = d->facts;
		row.nr_frames = rec->kind == MEM_ALLOC
					? mem_reader_stack(r, rec->stack, &row.frames)
					: 0;
		row.module = mem_is_access(rec) ? module_of(d->facts, rec->pc) : NULL;
		dump_row(d, &row);
		if (ferror(stdout))
			break;
	}
}

static int dump_trace(struct dump *d)
{
	struct mem_reader *r = mem_open(&command_mem_dump, d->path);
	int status;

	if (!r)
		return EXIT_FAILED;
	d->facts = mem_reader_facts(r);
	d->select.want_types = true;
	if (d->form == MEM_JSON)
		jw_init_file(&d->json, json_file_stream(stdout));
	if (d->form == MEM_CSV)
		puts("n,time_ns,order,thread,kind,size,address,atomic,unaligned,attributes,pc,"
		     "elem_size,elem_count,value,type");
	dump_all(d, r);
	status = mem_finish(&command_mem_dump, r);
	if (d->form == MEM_JSON)
		jw_release(&d->json);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		message_print("mem dump", "cannot write the result");
		status = EXIT_FAILED;
	}
	if (d->select.no_memory) {
		message_print("mem dump", "no memory for all types; some are missing");
		status = EXIT_FAILED;
	}
	mem_select_release(&d->select);
	return status;
}

static bool parse_kinds(void *select, const struct opt_use *use)
{
	return mem_select_kinds(select, use->value) ||
	       opt_invalid(use, "a list of read, write, add, remove, mark, gap, coro, alloc, free, "
				"enter, exit");
}

static const struct opt options[] = {
	{ 't', "thread", "ID", "only this thread",
	  OPT_NUMBER(struct dump, select.thread_id, 0, ~0ull),
	  OPT_GIVEN(struct dump, select.by_thread) },
	{ 'k', "kind", "LIST", "only read,write,add,remove,mark,gap,coro,alloc,free,enter,exit",
	  OPT_CALL(struct dump, select, parse_kinds) },
	{ 'r', "range", "RANGE", "only this address range: 0x1000-0x1fff, 0x1000+64, 0x1000",
	  OPT_CALL(struct dump, select, mem_parse_range) },
	{ 0, "type", "NAME", "only accesses to, and annotations of, this type",
	  OPT_TEXT(struct dump, select.type) },
	{ 0, "atomic", NULL, "only atomic accesses", OPT_FLAG(struct dump, select.atomic) },
	{ 0, "skip", "N", "skip the first N records", OPT_NUMBER(struct dump, skip, 0, ~0ull) },
	{ 'n', "count", "N", "print at most N records", OPT_NUMBER(struct dump, count, 0, ~0ull) },
	{ 0, "csv", NULL, "print comma-separated values with a header line",
	  OPT_VALUE(struct dump, form, MEM_CSV) },
	{ 0, "no-formula-guard", NULL, "CSV: do not put ' before text that begins with = + - @",
	  OPT_FLAG(struct dump, exact_text) },
	{ 0, "json", "[=FILE]", "print one JSON object per line",
	  OPT_VALUE(struct dump, form, MEM_JSON) },
	{ .name = NULL },
};

static int run_mem_dump(int argc, char **argv)
{
	struct dump d = { .count = UINT64_MAX };
	int first, status = opts_parse(&command_mem_dump, &d, argc, argv, &first);

	if (status != OPTS_PARSED)
		return status;
	d.path = opts_operand(&command_mem_dump, argc, argv, first);
	return d.path ? dump_trace(&d) : EXIT_USAGE;
}

const struct command command_mem_dump = {
	.name = "mem dump",
	.instrument = "memory",
	.args = "[OPTIONS] TRACE",
	.summary = "print the records of a memory trace",
	.details = "A line has number, thread, kind, size, address, code location, flags, and the "
		   "type\n"
		   "that is annotated there with the offset in it.\n",
	.opts = options,
	.run = run_mem_dump,
};
