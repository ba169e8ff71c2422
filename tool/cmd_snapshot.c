/* SPDX-License-Identifier: MIT */
/* cmd_snapshot.c - corotracer snapshot: make a running flight recorder write its trace. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "cmd.h"
#include "collect/control_socket.h"
#include "collect/collector_client.h"
#include "json_file.h"
#include "running_list.h"

struct snapshot_options {
	const char *region; /* --shm */
	const char *output;
	uint64_t pid; /* 0: any */
	bool list, json;
};

/* ---- the list ------------------------------------------------------------------ */

/* The collectors' answers, with their regions. */
static int print_list_json(const struct all_running *all)
{
	json_t *list = json_array();
	size_t i;
	int rc;

	for (i = 0; list && i < all->nr; i++) {
		json_t *one = all->at[i].status ? json_deep_copy(all->at[i].status) : json_object();

		json_object_set_new(one, "region", json_string(all->at[i].region));
		if (!all->at[i].status)
			json_object_set_new(one, "error", json_string(all->at[i].err.text));
		json_array_append_new(list, one);
	}
	rc = list ? json_dumpf(list, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER) : -1;
	json_decref(list);
	putchar('\n');
	return rc < 0 ? EXIT_FAILED : EXIT_OK;
}

/* ---- choosing a collector ------------------------------------------------------- */

static int snapshot_failed(bool json, const struct err *err)
{
	struct json_writer w;

	if (!json) {
		message_error("snapshot", err);
		return EXIT_FAILED;
	}
	jw_init_file(&w, json_file_stream(stdout));
	jw_object_begin(&w);
	jw_field_string(&w, "error", err->text);
	jw_field_string(&w, "hint", err->hint[0] ? err->hint : NULL);
	jw_object_end(&w);
	jw_newline(&w);
	jw_release(&w);
	return EXIT_FAILED;
}

/* The selected collector; NULL with a message in @err. */
static const struct running *snapshot_choose(const struct snapshot_options *req,
					     const struct all_running *all, size_t left,
					     struct err *err)
{
	const struct running *chosen = NULL, *able = NULL;
	size_t i, nr = 0, nr_able = 0;

	for (i = 0; i < all->nr; i++) {
		if (req->pid && !running_traces(&all->at[i], req->pid))
			continue;
		chosen = &all->at[i];
		nr++;
		if (running_number(all->at[i].status, "recorder_size")) {
			able = &all->at[i];
			nr_able++;
		}
	}
	if (nr > 1 && nr_able == 1)
		return able;
	if (nr == 1)
		return chosen;
	if (!nr) {
		running_nobody(all, req->pid, left, err);
		if (!all->nr && !left)
			err_hint(err, "start one: corotracer run --flight-recorder 64M -- "
				      "./your_program; one "
				      "with a region of its own place is named with --shm");
		return NULL;
	}
	err_set(err, -EBUSY, "%zu collectors are running", nr);
	err_hint(err, "choose one with -p PID, its own or that of a program it traces");
	if (!req->json)
		running_print(stderr, all);
	return NULL;
}

/* ---- the snapshot ------------------------------------------------------------------ */

/* "snapshot /path/of/output"; the caller frees it.  NULL with a message in @err. */
static char *request_line(const char *output, struct err *err)
{
	char *cwd = NULL, *line = NULL;
	int rc;

	if (!output)
		return strdup("snapshot");
	if (strchr(output, '\n') || strlen(output) > CONTROL_LINE_MAX / 2) {
		err_set(err, -EINVAL, "no such name can be sent to a collector");
		return NULL;
	}
	if (output[0] != '/')
		cwd = getcwd(NULL, 0);
	rc = asprintf(&line, "snapshot %s%s%s", cwd ? cwd : "", cwd ? "/" : "", output);
	free(cwd);
	return rc < 0 ? NULL : line;
}

static void print_snapshot(const struct running *r, const json_t *s)
{
	char a[TEXT_SIZE], b[TEXT_SIZE];

	fputs("snapshot of ", stdout);
	running_print_command(stdout, r->status);
	printf(", pid %llu -> ", (unsigned long long)running_number(s, "pid"));
	text_put(stdout, running_text(s, "trace"));
	printf("\n  %s event%s, %s older ones forgotten\n",
	       text_count(a, running_number(s, "collected")),
	       running_number(s, "collected") == 1 ? "" : "s",
	       text_count(b, running_number(s, "forgotten")));
	if (running_number(s, "facts_forgotten"))
		printf("  %s older fact%s about threads, descriptors and frames forgotten\n",
		       text_count(a, running_number(s, "facts_forgotten")),
		       running_number(s, "facts_forgotten") == 1 ? "" : "s");
	if (running_number(s, "facts_refused"))
		printf("  %s fact%s not kept: larger than a segment of the flight recorder\n",
		       text_count(a, running_number(s, "facts_refused")),
		       running_number(s, "facts_refused") == 1 ? "" : "s");
	printf("  %s coroutine%s there\n", text_count(a, running_number(s, "coroutines")),
	       running_number(s, "coroutines") == 1 ? " is" : "s are");
	if (running_number(s, "lost"))
		printf("  lost: %s of %s written\n", text_count(a, running_number(s, "lost")),
		       text_count(b, running_number(s, "written")));
	else
		printf("  lost: none of %s written\n", text_count(b, running_number(s, "written")));
}

static int snapshot_take(const struct snapshot_options *req, const struct running *r)
{
	struct err err = { 0 };
	char *line = request_line(req->output, &err);
	json_t *answer;
	bool failed;

	if (!line && !err.code)
		err_set(&err, -ENOMEM, "no memory");
	answer = line && r->status ? running_ask(r->region, line, -1, &err) : NULL;
	free(line);
	if (!answer)
		return snapshot_failed(req->json, err.code ? &err : &r->err);
	failed = json_object_get(answer, "error") != NULL;
	if (req->json) {
		json_dumpf(answer, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER);
		putchar('\n');
	} else if (failed) {
		err_set(&err, -EIO, "%s", running_text(answer, "error"));
		if (*running_text(answer, "hint"))
			err_hint(&err, "%s", running_text(answer, "hint"));
		message_error("snapshot", &err);
	} else {
		print_snapshot(r, answer);
	}
	json_decref(answer);
	return failed ? EXIT_FAILED : EXIT_OK; /* main() reports output that cannot be written */
}

/* ---- the command ------------------------------------------------------------------- */

static int snapshot_start(const struct snapshot_options *req)
{
	struct all_running all = { 0 };
	const struct running *chosen;
	struct err err = { 0 };
	size_t left;
	int status;

	if (running_look(&all, req->region, &left, &err) < 0) {
		status = snapshot_failed(req->json, &err);
	} else if (req->list && req->json) {
		status = print_list_json(&all);
	} else if (req->list && all.nr) {
		running_print(stdout, &all);
		status = EXIT_OK;
	} else {
		chosen = snapshot_choose(req, &all, left, &err);
		status = chosen ? snapshot_take(req, chosen) : snapshot_failed(req->json, &err);
	}
	running_release(&all);
	return status;
}

static const struct opt opts[] = {
	{ 'p', "pid", "PID", "process id of the collector or of a program it traces",
	  OPT_NUMBER(struct snapshot_options, pid, 1, INT32_MAX) },
	{ 'o', "output", "FILE", "output file (default: the trace of the collector)",
	  OPT_NAME(struct snapshot_options, output) },
	{ 'l', "list", NULL, "list the running collectors and exit",
	  OPT_FLAG(struct snapshot_options, list) },
	{ 0, "shm", "PATH", "select the collector by the path of its region",
	  OPT_NAME(struct snapshot_options, region) },
	{ 0, "json", "[=FILE]", "print one JSON object; with -l an array of them",
	  OPT_FLAG(struct snapshot_options, json) },
	{ .name = NULL },
};

static int run_snapshot(int argc, char **argv)
{
	struct snapshot_options req = { 0 };
	int first, status = opts_parse(&command_snapshot, &req, argc, argv, &first);

	if (status != OPTS_PARSED)
		return status;
	if (first < argc)
		return opts_unexpected(&command_snapshot, argv[first]);
	return snapshot_start(&req);
}

const struct command command_snapshot = {
	.name = "snapshot",
	.instrument = "coroutines",
	.args = "[-p PID] [-o FILE] [--json]",
	.summary = "write the contents of a running flight recorder to a file",
	.details =
		"For collectors that were started with --flight-recorder.  The program is not\n"
		"stopped.  Each snapshot is a complete trace; an earlier one is kept as FILE.old.\n"
		"SIGUSR2 to the collector does the same.\n",
	.opts = opts,
	.run = run_snapshot,
};
