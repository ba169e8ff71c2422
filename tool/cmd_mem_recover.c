/* SPDX-License-Identifier: MIT */
/* cmd_mem_recover.c - corotracer mem recover: the tail of a trace whose program was killed. */
#include <stdio.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "mem.h"
#include "memory/salvage.h"

enum { O_JSON };

static const struct opt options[] = {
	[O_JSON] = { 0, "json", NULL, "as one JSON object" },
	{ 0, NULL, NULL, NULL },
};

static void print_text(const char *path, const struct salvage *s)
{
	char a[TEXT_SIZE], b[TEXT_SIZE];

	text_put(stdout, path);
	printf(": %s accesses of %u threads recovered, %s in all\n", text_count(a, s->recovered),
	       s->threads, text_count(b, s->accesses));
}

static void print_json(const char *path, const struct salvage *s)
{
	struct json_writer w;

	jw_init_file(&w, stdout);
	jw_object_begin(&w);
	jw_field_string(&w, "file", path);
	jw_field_u64(&w, "accesses", s->accesses);
	jw_field_u64(&w, "recovered", s->recovered);
	jw_field_u64(&w, "threads", s->threads);
	jw_object_end(&w);
	jw_newline(&w);
	jw_release(&w);
}

static int run(int argc, char **argv)
{
	struct opt_walk walk = { 0 };
	struct salvage found;
	struct err err = { 0 };
	const char *value, *path;
	bool json = false;
	int o, first;

	while ((o = opt_next(&command_mem_recover, &walk, argc, argv, &value, &first)) >= 0)
		json = json || o == O_JSON;
	if (o == OPT_HELP || o == OPT_BAD)
		return o == OPT_HELP ? EXIT_OK : EXIT_USAGE;
	path = mem_operand(&command_mem_recover, argc, argv, first);
	if (!path)
		return EXIT_USAGE;
	if (salvage_trace(path, &found, &err) < 0) {
		say_error(command_mem_recover.name, &err);
		return EXIT_FAILED;
	}
	if (json)
		print_json(path, &found);
	else
		print_text(path, &found);
	return EXIT_OK;
}

const struct command command_mem_recover = {
	.name = "mem recover",
	.instrument = "memory",
	.args = "[OPTIONS] TRACE",
	.summary = "complete the trace of a program that ran alone and was killed",
	.details = "What the program had recorded and not yet written lies on /dev/shm; it is "
		   "added to\n"
		   "TRACE, which then has an end.  Programs under 'mem run' need no recovering.\n",
	.opts = options,
	.run = run,
};
