/* SPDX-License-Identifier: MIT */
/*
 * test_saved_programs.c - what is said about programs that were saved while they slept.
 *
 *	test_saved_programs FOLDER [text|cached] NAME...
 *
 * FOLDER/NAME was written by save_programs.py.  The report must be tests/fixtures/golden/why/NAME;
 * with the variables of coroutines, NAME.locals, whose first line is the compiler of the program.
 * "text": the variables are not compared as JSON, which is large.  "cached": each program is looked
 * at twice, the second time with what the first look has kept in the cache.  A program that could
 *not be built here, or was built by another compiler, is left out.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "golden.h"
#include "inspect/inspect_print.h"
#include "inspect/inspection.h"
#include "symbols/index_cache.h"
#include "symbols/type_rules.h"

static struct err err;
static bool is_text_only, is_cached;

/* ---- what differs from run to run ------------------------------------------------- */

struct plain_text {
	FILE *out;
	const struct process_image *image;
	uint64_t seen[1024]; /* addresses, in the order of their first use */
	size_t nr_seen;
};

static size_t plain_number(struct plain_text *t, uint64_t addr)
{
	size_t i;

	for (i = 0; i < t->nr_seen && t->seen[i] != addr; i++)
		;
	CHECK(i < 1024);
	t->seen[i] = addr;
	t->nr_seen += i == t->nr_seen;
	return i + 1;
}

static bool is_thread(const struct process_image *image, unsigned long number)
{
	size_t i;

	for (i = 0; i < image->nr_threads; i++) {
		if ((unsigned long)image->threads[i].tid == number)
			return true;
	}
	return false;
}

/* Bytes of frames, in text and in JSON: the compiler's choice. */
static bool is_size(const char *number, const char *after)
{
	return !strncmp(after, " bytes of frames", 16) || !strncmp(number - 9, "\"bytes\": ", 9) ||
	       !strncmp(number - 10, "127.0.0.1:", 10);
}

/* A deadline: an hour or more after the machine was started, in nanoseconds. */
static bool is_deadline(uint64_t number)
{
	return number >= UINT64_C(3600000000000) && number < UINT64_C(100000000000000000);
}

/* A number in @text, which has at least ten bytes before it.  Returns what is after it. */
static const char *plain_put_number(struct plain_text *t, const char *text)
{
	char *end;
	uint64_t number = strtoull(text, &end, 0);

	if (text[0] == '0' && text[1] == 'x' && number >= 0x10000) {
		fprintf(t->out, "@%zu", plain_number(t, number));
		return end;
	}
	while (*end == ',' && isdigit((unsigned char)end[1]))
		end += 1 + strspn(end + 1, "0123456789");
	if (is_thread(t->image, number))
		fputs("TID", t->out);
	else if (is_deadline(number) || is_size(text, end))
		fputs("N", t->out);
	else
		fwrite(text, 1, (size_t)(end - text), t->out);
	return end;
}

/* The folders of sources, and of programs, which are named by the command that made them. */
static const char *plain_skip_folder(const char *text)
{
	static const char tree[] = SOURCES "/", crates[] = "/registry/src/", built[] = "/programs/";
	size_t len = strcspn(text, " \"\n");
	const char *crate = memmem(text, len, crates, sizeof(crates) - 1), *slash;
	const char *program = memmem(text, len, built, sizeof(built) - 1);

	slash = program ? strchr(program + sizeof(built) - 1, '/') : NULL;
	if (slash)
		return slash + 1;
	if (!strncmp(text, tree, sizeof(tree) - 1))
		return text + sizeof(tree) - 1;
	slash = crate ? strchr(crate + sizeof(crates) - 1, '/') : NULL;
	return slash ? slash + 1 : text;
}

/* @text begins with PLAIN_BEFORE. */
#define PLAIN_BEFORE "          "

static char *plain(const struct process_image *image, const char *text)
{
	struct plain_text t = { .image = image };
	char *out = NULL;
	size_t size;

	t.out = open_memstream(&out, &size);
	CHECK(t.out != NULL);
	for (text += strlen(PLAIN_BEFORE); *text;) {
		bool is_word = isalnum((unsigned char)text[-1]) || text[-1] == '_';

		if (*text == '/')
			text = plain_skip_folder(text);
		/* The column of threads is aligned to the right. */
		if (text[-1] == '\n' && is_thread(image, strtoul(text, NULL, 10)))
			text += strspn(text, " ");
		if (!is_word && isdigit((unsigned char)*text))
			text = plain_put_number(&t, text);
		else
			fputc(*text++, t.out);
	}
	fclose(t.out);
	return out;
}

/* ---- reports ---------------------------------------------------------------------- */

/* JSON with a line for every member and item. */
static char *json_in_lines(const char *json)
{
	bool is_string = false;
	char *out = NULL;
	size_t size;
	FILE *f = open_memstream(&out, &size);
	int depth = 0;

	CHECK(f != NULL);
	for (; *json; json++) {
		if (*json == '"')
			is_string = !is_string;
		if (is_string && *json == '\\')
			fputc(*json++, f);
		if (!is_string && strchr("]}", *json))
			fprintf(f, "\n%*s", --depth, "");
		fputc(*json, f);
		if (!is_string && strchr("[{,", *json))
			fprintf(f, "\n%*s", *json == ',' ? depth : ++depth, "");
		if (!is_string && *json == ':')
			fputc(' ', f);
	}
	CHECK_EQ(depth, 0);
	fclose(f);
	return out;
}

static char *report(struct inspection *in, bool is_json, const struct inspect_print_options *o)
{
	char *text = NULL, *lines, *result;
	struct printer p;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	CHECK(f != NULL);
	fputs(PLAIN_BEFORE, f);
	printer_begin(&p, f, is_json);
	inspection_print(in, &p, o);
	CHECK_EQ(printer_end(&p), 0);
	fclose(f);
	lines = is_json ? json_in_lines(text) : strdup(text);
	CHECK(lines != NULL);
	result = plain(in->image, lines);
	free(lines);
	free(text);
	return result;
}

/* Text and JSON, below each other, after @before. */
static void check_report(struct inspection *in, const char *name, const char *before,
			 const struct inspect_print_options *o)
{
	char *text = report(in, false, o), *all, path[128];
	char *json = o->locals && is_text_only ? strdup("") : report(in, true, o);

	CHECK(asprintf(&all, "%s%s\n%s", before, text, json) > 0);
	snprintf(path, sizeof(path), "why/%s", name);
	golden_check(path, all);
	free(all);
	free(text);
	free(json);
}

/* Names, lines and places of variables are the compiler's: it has to be the one of the file. */
static char *compiler_of(const char *core, const char *name)
{
	char path[600], *here, *wanted;

	snprintf(path, sizeof(path), "%s.compiler", core);
	here = golden_read(path);
	snprintf(path, sizeof(path), FIXTURES "/golden/why/%s.locals", name);
	wanted = getenv("GOLDEN_WRITE") ? strdup(here) : golden_read(path);
	if (strncmp(wanted, here, strlen(here)) != 0) {
		printf("%s not compared: built by %s", name, here);
		free(here);
		here = NULL;
	}
	free(wanted);
	return here;
}

static struct type_rules *rules_load(void)
{
	struct type_rules *rules = type_rules_new();

	CHECK(rules != NULL);
	CHECK_EQ(type_rules_add(rules, SOURCES "/tests/inspect/rings.types", &err), 0);
	CHECK_EQ(type_rules_add(rules, SOURCES "/src/symbols/types", &err), 0);
	return rules;
}

/* Futures at the first and the last byte of a task, and one that is in no task. */
static void check_traced_tasks(struct inspection *in)
{
	const struct tokio_task *task = in->tokio.tasks;
	uint64_t size = rust_futures_type(in->tokio.futures, task->type)->size, number;
	struct traced_list list = { .nr = 4 };

	list.at = calloc(4, sizeof(*list.at));
	CHECK(list.at != NULL && size > 0);
	list.at[0].addr = task->addr + size - 1;
	list.at[1].addr = 4096;
	list.at[2].addr = task->addr;
	list.at[3].addr = in->tokio.tasks[in->tokio.nr - 1].addr;
	CHECK_EQ(traced_join(&list, in), 0);
	CHECK_EQ(list.nr_joined, 3);
	CHECK(list.at[0].is_joined && !list.at[1].is_joined && list.at[2].is_joined);
	CHECK(u64map_get(&list.by_task, 0, &number) && number == 1);
	CHECK_EQ(list.next_of_task[0], 3);
	CHECK_EQ(list.next_of_task[1], 0);
	if (in->tokio.nr > 1) {
		CHECK_EQ(list.next_of_task[2], 0);
		CHECK(u64map_get(&list.by_task, in->tokio.nr - 1, &number) && number == 4);
	}
	traced_list_release(&list);
	/* One byte before the task: its header. */
	list.nr = 1;
	list.at = calloc(1, sizeof(*list.at));
	CHECK(list.at != NULL);
	list.at[0].addr = task->addr - 1;
	CHECK_EQ(traced_join(&list, in), 0);
	CHECK_EQ(list.nr_joined, 0);
	traced_list_release(&list);
}

static bool check_program(const char *folder, const char *name, const struct type_rules *rules)
{
	static const struct inspect_print_options plain_report = { 0 };
	static const struct inspect_print_options variables = { .locals = true,
								.show_values = true,
								.locals_max = 1 };
	char core[512], with_locals[128], *compiler;
	struct process_image image;
	struct inspection *in;

	snprintf(core, sizeof(core), "%s/%s", folder, name);
	compiler = access(core, R_OK) < 0 ? NULL : compiler_of(core, name);
	if (!compiler)
		return false;
	CHECK_EQ(image_open_core(&image, core, NULL, &err), 0);
	in = inspection_new(&image, &err);
	CHECK(in != NULL);
	in->rules = rules;
	CHECK_EQ(inspection_look(in, &err), 0);
	check_report(in, name, "", &plain_report);
	snprintf(with_locals, sizeof(with_locals), "%s.locals", name);
	check_report(in, with_locals, compiler, &variables);
	if (in->tokio.nr)
		check_traced_tasks(in);
	inspection_free(in);
	image_close(&image);
	free(compiler);
	printf("ok - %s\n", name);
	return true;
}

/* An empty cache, which ends with the test. */
static void cache_make(char path[64])
{
	snprintf(path, 64, "/tmp/corotracer-saved-XXXXXX");
	CHECK(mkdtemp(path) != NULL);
	setenv("XDG_CACHE_HOME", path, 1);
	index_cache_set(true);
}

/* Libraries have entries too, without coroutines. */
#define ENTRY_WITH_COROUTINES 500

static void cache_remove(const char *path, size_t wanted)
{
	char folder[128], entry[512];
	struct dirent *e;
	struct stat st;
	size_t nr = 0;
	DIR *list;

	snprintf(folder, sizeof(folder), "%s/corotracer", path);
	list = opendir(folder);
	CHECK(list != NULL);
	while ((e = readdir(list)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(entry, sizeof(entry), "%s/%s", folder, e->d_name);
		CHECK_EQ(stat(entry, &st), 0);
		nr += st.st_size > ENTRY_WITH_COROUTINES;
		unlink(entry);
	}
	closedir(list);
	CHECK_EQ(nr, wanted);
	CHECK_EQ(rmdir(folder), 0);
	CHECK_EQ(rmdir(path), 0);
}

int main(int argc, char **argv)
{
	struct type_rules *rules = rules_load();
	char cache[64];
	int i, nr = 0;

	CHECK(argc > 2);
	index_cache_set(false);
	is_text_only = !strcmp(argv[2], "text");
	is_cached = !strcmp(argv[2], "cached");
	if (is_cached)
		cache_make(cache);
	for (i = 2 + (is_text_only || is_cached); i < argc; i++) {
		nr += check_program(argv[1], argv[i], rules);
		if (is_cached)
			nr += check_program(argv[1], argv[i], rules);
	}
	if (is_cached && nr)
		cache_remove(cache, (size_t)nr / 2);
	else if (is_cached)
		rmdir(cache);
	type_rules_free(rules);
	if (!nr)
		SKIP("none of the programs was built here by the same compiler");
	return 0;
}
