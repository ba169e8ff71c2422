/* SPDX-License-Identifier: MIT */
/* cmd_mem_recover.c - corotracer mem recover: complete the trace of a killed program. */
#include <stdio.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "json_file.h"
#include "mem.h"
#include "memory/collect/mem_recover.h"

struct mem_recover_options {
	bool json;
};

static const struct opt options[] = {
	{ 0, "json", "[=FILE]", "print the result as one JSON object",
	  OPT_FLAG(struct mem_recover_options, json) },
	{ .name = NULL },
};

static void recovered_json(const struct mem_recovered *r)
{
	struct json_writer w;

	jw_init_file(&w, json_file_stream(stdout));
	jw_object_begin(&w);
	jw_field_u64(&w, "before", r->before);
	jw_field_u64(&w, "recovered", r->records);
	jw_field_u64(&w, "threads", r->threads);
	jw_field_u64(&w, "broken", r->broken);
	jw_object_end(&w);
	jw_newline(&w);
	jw_release(&w);
}

static int run_mem_recover(int argc, char **argv)
{
	struct mem_recover_options o = { 0 };
	int first, status = opts_parse(&command_mem_recover, &o, argc, argv, &first);
	struct mem_recovered result;
	struct err err = { 0 };
	const char *path;
	char a[TEXT_SIZE], b[TEXT_SIZE];

	if (status != OPTS_PARSED)
		return status;
	path = opts_operand(&command_mem_recover, argc, argv, first);
	if (!path)
		return EXIT_USAGE;
	if (mem_recover(path, &result, &err) < 0) {
		message_error("mem recover", &err);
		return EXIT_FAILED;
	}
	if (o.json)
		recovered_json(&result);
	else
		fprintf(stderr, "corotracer: %s: %s records, and %s recovered\n", path,
			text_count(a, result.before), text_count(b, result.records));
	if (result.broken)
		message_print("mem recover", "%s corrupt entries in the region were skipped",
			      text_count(a, result.broken));
	return EXIT_OK;
}

const struct command command_mem_recover = {
	.name = "mem recover",
	.instrument = "memory",
	.args = "[--json] TRACE",
	.summary = "complete the trace of a program or collector that was killed",
	.details =
		"Accesses that were recorded and not written remain in shared memory until this\n"
		"command runs.  Not needed if 'mem run' was not killed itself: it reads them.\n",
	.opts = options,
	.run = run_mem_recover,
};
