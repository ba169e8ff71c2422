/* SPDX-License-Identifier: MIT */
/* cmd_recover.c - corotracer recover: read the region of a run whose collector or program died. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <corotracer/version.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "cmd.h"
#include "collect/region_list.h"
#include "json_file.h"
#include "memory/collect/left_region.h"
#include "recover_print.h"

struct recover_request {
	const char *path; /* NULL: list the regions */
	struct recover_options options;
	bool json, remove;
};

static int recover_failed(const struct err *err)
{
	message_error("recover", err);
	return EXIT_FAILED;
}

/* ---- list of regions -------------------------------------------------------------- */

static void list_json(const struct found *found)
{
	struct json_writer j;
	size_t i;

	jw_init_file(&j, json_file_stream(stdout));
	jw_array_begin(&j);
	for (i = 0; i < found->nr; i++) {
		jw_object_begin(&j);
		jw_field_string(&j, "region", found->at[i].path);
		jw_field_bool(&j, "live", found->at[i].live);
		jw_field_u64(&j, "collector_pid", found->at[i].collector_pid);
		jw_field_i64(&j, "made", (int64_t)found->at[i].made);
		jw_field_u64(&j, "bytes", found->at[i].bytes);
		jw_object_end(&j);
	}
	jw_array_end(&j);
	jw_newline(&j);
	jw_release(&j);
}

static void list_one(const struct found_region *f)
{
	char made[32];
	struct tm tm;

	if (!localtime_r(&f->made, &tm) || !strftime(made, sizeof(made), "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(made, sizeof(made), "?");
	printf("%-19s  %8u  %6" PRIu64 " MiB  ", made, f->collector_pid, f->bytes >> 20);
	text_put(stdout, f->path);
	putchar('\n');
}

static size_t list_text(const struct found *found)
{
	size_t i, left = 0;

	for (i = 0; i < found->nr; i++) {
		if (found->at[i].live)
			continue;
		if (!left++)
			printf("%-19s  %8s  %10s  %s\n", "MADE", "WAS PID", "MEMORY",
			       "LEFT BEHIND");
		list_one(&found->at[i]);
	}
	return left;
}

static void list_memory(const char *dir, const char *trace)
{
	message_print("recover", "a killed 'mem run' left memory accesses in '%s'", dir);
	fputs("hint: corotracer mem recover ", stderr);
	text_put(stderr, trace);
	putc('\n', stderr);
}

static int recover_list(bool json)
{
	struct found found;
	struct err err = { 0 };
	size_t left = 0;

	if (find_regions(&found, &err) < 0)
		return recover_failed(&err);
	if (json)
		list_json(&found);
	else
		left = list_text(&found);
	if (!json && left_region_list(list_memory) && !left) {
		found_release(&found);
		return EXIT_OK;
	}
	if (!json && !left)
		message_print("recover", "no region of yours was left behind%s",
			      found.nr ? "; 'corotracer snapshot -l' lists those in use" : "");
	else if (!json)
		fputs("hint: corotracer recover REGION reads one; --remove deletes it\n", stderr);
	found_release(&found);
	return EXIT_OK; /* main() reports output that cannot be written */
}

/* ---- one region --------------------------------------------------------------------- */

/* Called only after the output was written completely. */
static int remove_region(const char *path)
{
	struct err err = { 0 };

	if (region_remove(path, &err) < 0)
		return recover_failed(&err);
	message_print("recover", "removed '%s'", path);
	return EXIT_OK;
}

static int recover_show(const struct recover_request *req, const struct recover *r,
			const char *path)
{
	int rc = recover_print(r, path, req->options.all, req->json);

	if (rc) {
		message_print("recover", "cannot write to standard output: %s", strerror(-rc));
		return EXIT_FAILED;
	}
	/* With --remove, the region must stay for another attempt. */
	if (r->short_of_memory) {
		message_print("recover", "memory ran out: the result is not complete");
		return EXIT_FAILED;
	}
	if (r->output.code)
		return recover_failed(&r->output);
	return r->sidecar.code ? recover_failed(&r->sidecar) : EXIT_OK;
}

static int recover_region(const struct recover_request *req)
{
	char *path = region_copy_path(req->path);
	struct recover *r = calloc(1, sizeof(*r));
	struct err err = { 0 };
	int status;

	if (!path || !r) {
		err_set(&err, -ENOMEM, "no memory");
		status = recover_failed(&err);
	} else if (recover_open(r, req->path, &req->options, &err) < 0) {
		status = recover_failed(&err);
	} else {
		status = recover_show(req, r, path);
		recover_close(r);
		if (status == EXIT_OK && req->remove)
			status = remove_region(path);
	}
	free(path);
	free(r);
	return status;
}

/* ---- the command ----------------------------------------------------------------------- */

static const struct opt opts[] = {
	{ 'o', "output", "FILE", "write a trace of the events that are not in any trace",
	  OPT_TEXT(struct recover_request, options.output) },
	{ 0, "join", NULL, "with -o: put the collector's own trace in front",
	  OPT_FLAG(struct recover_request, options.join) },
	{ 0, "trace", "FILE", "path of that trace, if it was moved",
	  OPT_TEXT(struct recover_request, options.joined) },
	{ 0, "all", NULL, "all coroutines and threads; with -o all events",
	  OPT_FLAG(struct recover_request, options.all) },
	{ 0, "remove", NULL, "then remove the region, unless a process maps it",
	  OPT_FLAG(struct recover_request, remove) },
	{ 0, "json", "[=FILE]", "print one JSON object", OPT_FLAG(struct recover_request, json) },
	{ .name = NULL },
};

static int run_recover(int argc, char **argv)
{
	struct recover_request req = { .options = { .tool = "corotracer " COROTRACER_VERSION } };
	int first, status = opts_parse(&command_recover, &req, argc, argv, &first);

	if (status != OPTS_PARSED)
		return status;
	if (argc - first > 1)
		return opts_unexpected(&command_recover, argv[first + 1]);
	if (req.options.join && !req.options.output) {
		message_print("recover", "--join needs -o FILE");
		return EXIT_USAGE;
	}
	req.options.last = req.options.all || req.json ? RECOVER_ALL_EVENTS : RECOVER_EVENTS;
	if (first < argc)
		req.path = argv[first];
	else if (req.options.output || req.remove) {
		message_print("recover", "missing argument REGION");
		fputs("hint: 'corotracer recover' lists those that were left behind\n", stderr);
		return EXIT_USAGE;
	}
	return req.path ? recover_region(&req) : recover_list(req.json);
}

const struct command command_recover = {
	.name = "recover",
	.instrument = "coroutines",
	.args = "[OPTIONS] [REGION]",
	.summary = "read the events and states that a killed collector or program left in memory",
	.details =
		"REGION is the file, or its directory.  Prints the state of every coroutine "
		"(since\n"
		"when, where and why) and the last events of every thread.  Without REGION: lists\n"
		"the regions that killed collectors left behind.  A region in use is not "
		"changed.\n",
	.opts = opts,
	.run = run_recover,
};
