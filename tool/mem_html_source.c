/* SPDX-License-Identifier: MIT */
/*
 * mem_html_source.c - annotated source of the page of `mem html`: the lines around those that miss.
 *
 * Paths come from debug information.  Only regular files with the name of a source file are read:
 * the page may be given to others.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/memory_shortage.h"
#include "mem_html.h"

#define SOURCE_LINES    300u /* lines with misses that are shown with their surroundings */
#define SOURCE_AROUND   4u
#define SOURCE_SHARE    500u /* a line with less than this part of the cost is not chosen */
#define SOURCE_SIZE_MAX ((size_t)64 << 20)
#define SOURCE_TEXT_MAX 400u /* bytes of a line */

/* The places of one line, of all functions: inlined code belongs to several. */
struct source_line {
	const char *file, *module;
	uint32_t line;
	struct call_counts counts;
	uint64_t cost;
	bool is_chosen;
};

struct source_list {
	const struct call_profile *profile;
	struct source_line *lines; /* by file and line */
	size_t nr;
};

/* ---- lines --------------------------------------------------------------------------- */

static int source_by_place(const void *a, const void *b)
{
	const struct source_line *x = a, *y = b;
	int order = strcmp(x->file, y->file);

	return order ? order : (x->line > y->line) - (x->line < y->line);
}

static int source_by_cost(const void *a, const void *b)
{
	const struct source_line *x = *(struct source_line *const *)a;
	const struct source_line *y = *(struct source_line *const *)b;

	if (x->cost != y->cost)
		return x->cost < y->cost ? 1 : -1;
	return source_by_place(x, y);
}

/* Lines of several places become one. */
static void source_merge(struct source_list *s)
{
	size_t i, kept = 0;

	qsort(s->lines, s->nr, sizeof(*s->lines), source_by_place);
	for (i = 0; i < s->nr; i++) {
		if (kept && !source_by_place(&s->lines[kept - 1], &s->lines[i]))
			call_counts_add(&s->lines[kept - 1].counts, &s->lines[i].counts);
		else
			s->lines[kept++] = s->lines[i];
	}
	s->nr = kept;
	for (i = 0; i < s->nr; i++)
		s->lines[i].cost = call_profile_cost(s->profile, &s->lines[i].counts);
}

static bool source_choose(struct source_list *s)
{
	uint64_t total = call_profile_cost(s->profile, call_profile_total(s->profile));
	struct source_line **sorted = calloc(s->nr + 1, sizeof(struct source_line *));
	size_t i;

	if (!sorted)
		return false;
	for (i = 0; i < s->nr; i++)
		sorted[i] = &s->lines[i];
	qsort(sorted, s->nr, sizeof(struct source_line *), source_by_cost);
	for (i = 0; i < s->nr && i < SOURCE_LINES; i++)
		sorted[i]->is_chosen = sorted[i]->cost > total / SOURCE_SHARE;
	free(sorted);
	return true;
}

static bool source_collect(struct source_list *s)
{
	const struct call_profile *p = s->profile;
	uint32_t i;

	s->lines = calloc((size_t)p->nr_places + 1, sizeof(*s->lines));
	if (!s->lines)
		return false;
	for (i = 0; i < p->nr_places; i++) {
		const struct call_place *at = &p->places[i];

		if (at->file && at->line && at->self.n[CALL_READS] + at->self.n[CALL_WRITES])
			s->lines[s->nr++] = (struct source_line){
				.file = at->file,
				.module = p->functions[at->function].module,
				.line = at->line,
				.counts = at->self,
			};
	}
	source_merge(s);
	return source_choose(s);
}

/* ---- files --------------------------------------------------------------------------- */

static bool source_is_named_so(const char *path)
{
	static const char *const endings[] = { "c",   "h",   "cc",  "cpp", "cxx", "c++", "hh",
					       "hpp", "hxx", "h++", "inc", "inl", "ipp", "tcc",
					       "def", "y",   "l",   "rs",  "m",   "mm",  "go",
					       "f90", "f",   "d",   "zig", "ii",  "i",   "C" };
	const char *dot = strrchr(path, '.');
	size_t i;

	for (i = 0; dot && i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (!strcmp(dot + 1, endings[i]))
			return true;
	}
	/* Headers of the C++ library have no ending. */
	return !strchr(path, '.') && strstr(path, "/c++/");
}

static char *source_read_all(int fd, size_t *size, struct stat *st)
{
	char *text = NULL;
	ssize_t n = 1;

	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode) && (size_t)st->st_size < SOURCE_SIZE_MAX)
		text = malloc((size_t)st->st_size + 1);
	while (text && n > 0 && *size < (size_t)st->st_size) {
		n = io_read(fd, text + *size, (size_t)st->st_size - *size);
		*size += n > 0 ? (size_t)n : 0;
	}
	if (n >= 0)
		return text;
	free(text);
	return NULL;
}

/* The text of the file, to be freed; NULL with the reason in *@problem. */
static char *source_read(const char *path, size_t *size, struct stat *st, const char **problem)
{
	int before = memory_shortage_watch();
	char *text = NULL;
	int fd;

	*size = 0;
	*problem = "the file is not named like source code";
	if (source_is_named_so(path)) {
		*problem = "the file cannot be read here";
		fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0) {
			text = source_read_all(fd, size, st);
			close(fd);
		}
	}
	memory_shortage_check(before);
	if (text)
		*problem = NULL;
	return text;
}

/* A source that is newer than the program need not be what was compiled. */
static bool source_is_newer(const struct stat *source, const char *module)
{
	struct stat st;

	return module && stat(module, &st) == 0 && source->st_mtime > st.st_mtime;
}

/* ---- hunks ----------------------------------------------------------------------------- */

/* A file, cut into lines while it is printed from its start to its end. */
struct source_text {
	const char *at, *end;
	uint32_t line; /* of @at, from 1 */
};

static bool source_skip(struct source_text *t, uint32_t line)
{
	while (t->line < line && t->at < t->end) {
		const char *next = memchr(t->at, '\n', (size_t)(t->end - t->at));

		t->at = next ? next + 1 : t->end;
		t->line++;
	}
	return t->at < t->end;
}

static void source_json_text(struct printer *p, struct source_text *t, uint32_t last)
{
	print_list(p, "text");
	while (t->line <= last && t->at < t->end) {
		size_t length = strcspn(t->at, "\n");

		length = length < (size_t)(t->end - t->at) ? length : (size_t)(t->end - t->at);
		jw_string_n(&p->json, t->at, length < SOURCE_TEXT_MAX ? length : SOURCE_TEXT_MAX);
		source_skip(t, t->line + 1);
	}
	print_list_end(p);
}

static void source_json_line(struct printer *p, const struct call_profile *c,
			     const struct source_line *l)
{
	uint32_t i;

	print_row(p);
	print_count(p, "line", NULL, l->line);
	print_count(p, "reads", NULL, l->counts.n[CALL_READS]);
	print_count(p, "writes", NULL, l->counts.n[CALL_WRITES]);
	print_list(p, "misses");
	for (i = 0; i < c->nr_levels; i++)
		jw_u64(&p->json, call_counts_misses(&l->counts, i));
	print_list_end(p);
	print_count(p, "cost", NULL, l->cost);
	print_row_end(p);
}

/*
 * One hunk: the lines around the chosen ones from @first on that are near to each other.  Returns
 * the line after the last that is part of it; @nr: the end of the file's lines.
 */
static size_t source_hunk(struct printer *p, const struct source_list *s, struct source_text *t,
			  size_t first, size_t nr)
{
	uint32_t from = s->lines[first].line, to = from;
	size_t i = first, begin = first;

	for (; i < nr && s->lines[i].line <= to + 2 * SOURCE_AROUND + 1; i++) {
		if (s->lines[i].is_chosen)
			to = s->lines[i].line;
	}
	from = from > SOURCE_AROUND ? from - SOURCE_AROUND : 1;
	to += SOURCE_AROUND;
	while (begin && !strcmp(s->lines[begin - 1].file, s->lines[first].file) &&
	       s->lines[begin - 1].line >= from && !s->lines[begin - 1].is_chosen)
		begin--;
	print_row(p);
	print_count(p, "line", NULL, from);
	source_skip(t, from);
	source_json_text(p, t, to);
	print_list(p, "counts");
	for (i = begin; i < nr && s->lines[i].line <= to; i++)
		source_json_line(p, s->profile, &s->lines[i]);
	print_list_end(p);
	print_row_end(p);
	return i;
}

static void source_json_hunks(struct printer *p, const struct source_list *s, const char *text,
			      size_t size, size_t first, size_t nr)
{
	struct source_text t = { .at = text, .end = text + size, .line = 1 };
	size_t i = first;

	print_list(p, "hunks");
	while (i < nr) {
		if (s->lines[i].is_chosen)
			i = source_hunk(p, s, &t, i, nr);
		else
			i++;
	}
	print_list_end(p);
}

/* The lines from @first to before @nr are those of one file. */
static void source_json_file(struct printer *p, const struct source_list *s, size_t first,
			     size_t nr)
{
	const struct source_line *line = &s->lines[first];
	const char *problem;
	size_t size = 0, i;
	struct stat st;
	char *text = source_read(line->file, &size, &st, &problem);
	uint64_t cost = 0;

	for (i = first; i < nr; i++)
		cost += s->lines[i].cost;
	print_row(p);
	print_string(p, "file", line->file);
	print_count(p, "cost", NULL, cost);
	if (text)
		text[size] = '\0';
	if (text && source_is_newer(&st, line->module))
		problem = "the file is newer than the program: lines may have moved";
	print_string(p, "problem", problem);
	source_json_hunks(p, s, text, text ? size : 0, first, text ? nr : first);
	print_row_end(p);
	free(text);
}

void mem_html_sources(struct printer *p, const struct call_profile *c)
{
	struct source_list s = { .profile = c };
	size_t i = 0, end;

	print_list(p, "sources");
	if (!source_collect(&s)) {
		memory_shortage_note();
		s.nr = 0;
	}
	for (; i < s.nr; i = end) {
		bool has_chosen = false;

		for (end = i; end < s.nr && !strcmp(s.lines[end].file, s.lines[i].file); end++)
			has_chosen |= s.lines[end].is_chosen;
		if (has_chosen)
			source_json_file(p, &s, i, end);
	}
	print_list_end(p);
	free(s.lines);
}
