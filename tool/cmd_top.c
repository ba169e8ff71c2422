/* SPDX-License-Identifier: MIT */
/* cmd_top.c - corotracer top: show a running program's coroutines in a terminal. */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/collector_client.h"
#include "end_signal.h"
#include "running_list.h"
#include "run_collector.h"
#include "top_print.h"
#include "top_target.h"
#include "top/top.h"

#define PRINTED_LINES 20u

struct top_request {
	const char *region; /* NULL: the only one that exists */
	uint64_t pid;       /* 0: any */
	char **program;     /* to start; NULL: none */
	const char *log;    /* file for the program's output */
	const char *trace;
	struct top_options top;
	uint64_t limit;
	bool once, json, limited;
};

static int top_failed(const struct err *err)
{
	message_error("top", err);
	return EXIT_FAILED;
}

/* ---- choosing a collector --------------------------------------------------------- */

static int say_which(const struct all_running *all, struct err *err)
{
	err_set(err, -EBUSY, "%zu collectors are running", all->nr);
	err_hint(err, "choose one with -p PID, its own or that of a program it traces");
	running_print(stderr, all);
	return err->code;
}

/* The region of the selected collector, freed by the caller; NULL with a message in @err. */
static char *top_choose_region(const struct top_request *req, struct err *err)
{
	struct all_running all = { 0 };
	const struct running *chosen = NULL;
	char *region = NULL;
	size_t i, nr = 0, left;

	if (running_look(&all, NULL, &left, err) < 0)
		return NULL;
	for (i = 0; i < all.nr; i++) {
		if (req->pid && !running_traces(&all.at[i], req->pid))
			continue;
		chosen = &all.at[i];
		nr++;
	}
	if (nr > 1) {
		say_which(&all, err);
	} else if (!nr) {
		running_nobody(&all, req->pid, left, err);
		if (!err->hint[0])
			err_hint(err, "start one: corotracer top -- ./your_program, or corotracer "
				      "run; one with a region of its own place is named by that");
	} else {
		region = strdup(chosen->region);
		if (!region)
			err_set(err, -ENOMEM, "no memory");
	}
	running_release(&all);
	return region;
}

/* ---- output ------------------------------------------------------------------------ */

static int top_print_once(const struct top_request *req, struct top_source *source, struct err *err)
{
	size_t limit = req->limited ? req->limit : req->json ? SIZE_MAX : PRINTED_LINES;
	struct top_places places = { 0 };
	struct top_rows rows = { 0 };
	struct top_picture p;
	int rc;

	if (top_picture_take(source, &p, 0, err) < 0)
		return err->code;
	if (top_rows_make(&rows, &p, &places, &req->top.choice) < 0)
		rc = err_set(err, -ENOMEM, "no memory for the list");
	else if (req->json)
		rc = top_print_json(source, &p, &rows, limit);
	else
		rc = top_print_text(&p, &rows, &places, limit);
	if (rc < 0 && !err->code)
		err_set(err, rc, "cannot write to standard output: %s", strerror(-rc));
	top_rows_release(&rows);
	top_places_release(&places);
	top_picture_release(&p);
	return err->code;
}

static bool has_terminal(void)
{
	if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		return true;
	message_print("top", "standard input and output are not a terminal");
	fputs("hint: --once prints one picture, --json the same for scripts\n", stderr);
	return false;
}

static int top_show(const struct top_request *req, const char *region, int *sig, struct err *err)
{
	struct top_source source;

	if (top_source_open(&source, region, err) < 0)
		return err->code;
	if (req->once || req->json)
		top_print_once(req, &source, err);
	else
		top_run(&source, &req->top, sig, err);
	top_source_close(&source);
	return err->code;
}

/* End by the same signal, as a shell expects. */
static int end_as(int sig)
{
	return !sig || sig == SIGINT ? EXIT_OK : end_by_signal(sig);
}

static int top_of_running(const struct top_request *req)
{
	struct err err = { 0 };
	char *region = req->region ? strdup(req->region) : top_choose_region(req, &err);
	int sig = 0;

	if (region)
		top_show(req, region, &sig, &err);
	free(region);
	return err.code ? top_failed(&err) : end_as(sig);
}

/* Start a program, show it, and end it on exit. */
static int top_of_program(const struct top_request *req)
{
	struct top_target target;
	struct err err = { 0 };
	int sig = 0, status;

	if (top_target_start(&target, req->program, req->trace, req->log, &err) < 0)
		return top_failed(&err);
	top_show(req, target.region, &sig, &err);
	if (err.code == -ENOENT) /* its collector has removed the region already */
		err.code = -ESRCH;
	status = top_target_end(&target, &err);
	if (err.code == -ESRCH) {
		message_print("top", "the program ended before it could be read");
		return status;
	}
	if (err.code)
		return top_failed(&err);
	return sig ? end_as(sig) : status;
}

/* ---- the command --------------------------------------------------------------------- */

static bool top_parse_filter(void *filter, const struct opt_use *use)
{
	if (strlen(use->value) < TOP_FILTER_SIZE) {
		snprintf(filter, TOP_FILTER_SIZE, "%s", use->value);
		return true;
	}
	message_print("top", "that is too long for %s", use->option);
	return false;
}

static const struct opt opts[] = {
	{ 'p', "pid", "PID", "process id of a collector or of a program it traces",
	  OPT_NUMBER(struct top_request, pid, 1, INT32_MAX) },
	{ 'd', "interval", "SECONDS", "refresh interval in seconds (default 1)",
	  OPT_REAL(struct top_request, top.interval_ms, TOP_INTERVAL_LEAST_MS / 1e3,
		   TOP_INTERVAL_MOST_MS / 1e3, 1000) },
	{ 's', "sort", "WHAT", "age (default), rate, id, name, site, thread or events",
	  OPT_CHOICE(struct top_request, top.choice.sort,
		     "age, rate, id, name, site, thread or events", TOP_BY_AGE) },
	{ 'g', "group", "BY", "kind, site, resource, tree or none (default: kind if many)",
	  OPT_CHOICE(struct top_request, top.view, "kind, site, resource, tree or none",
		     TOP_VIEW_KINDS) },
	{ 'f', "filter", "TEXT", "only coroutines with TEXT in their name or site",
	  OPT_CALL(struct top_request, top.choice.filter, top_parse_filter) },
	{ 0, "once", NULL, "print one screen and exit; needs no terminal",
	  OPT_FLAG(struct top_request, once) },
	{ 'n', "limit", "N", "with --once: at most N coroutines (default 20)",
	  OPT_NUMBER(struct top_request, limit, 0, UINT32_MAX),
	  OPT_GIVEN(struct top_request, limited) },
	{ 0, "json", "[=FILE]", "print one screen as one JSON object",
	  OPT_FLAG(struct top_request, json) },
	{ 'o', "output", "FILE", "with PROGRAM: its trace (default: none)",
	  OPT_TEXT(struct top_request, trace) },
	{ 0, "log", "FILE", "with PROGRAM: its output and errors (default: discarded)",
	  OPT_TEXT(struct top_request, log) },
	{ .name = NULL },
};

/* Operands: a region, or after "--" a program. */
static bool top_take_operands(struct top_request *req, int argc, char **argv, int first)
{
	bool is_program = first < argc && !strcmp(argv[first - 1], "--");

	if (is_program)
		req->program = argv + first;
	else if (first + 1 == argc)
		req->region = argv[first];
	else if (first < argc) {
		message_print("top", "one region at a time");
		fputs("hint: to start a program: corotracer top -- ./your_program\n", stderr);
		return false;
	}
	if ((req->program || req->region) && req->pid) {
		message_print("top", "-p selects a running program: no other argument is allowed");
		return false;
	}
	if (!req->program && (req->trace || req->log)) {
		message_print("top", "-o and --log are for a program that is started: -- PROGRAM");
		return false;
	}
	return true;
}

static int run_top(int argc, char **argv)
{
	struct top_request req = { .top = { .interval_ms = 1000 } };
	int first, status = opts_parse(&command_top, &req, argc, argv, &first);

	if (status != OPTS_PARSED)
		return status;
	if (!top_take_operands(&req, argc, argv, first))
		return EXIT_USAGE;
	req.top.ends_program = req.program != NULL;
	setlocale(LC_CTYPE, "");
	if (!req.once && !req.json && !has_terminal())
		return EXIT_USAGE;
	return req.program ? top_of_program(&req) : top_of_running(&req);
}

const struct command command_top = {
	.name = "top",
	.instrument = "coroutines",
	.args = "[OPTIONS] [REGION | -- PROGRAM [ARGUMENTS]]",
	.starts_program = true,
	.summary = "watch a running program's coroutines in the terminal",
	.details = "The coroutine that waits longest comes first; press ? for the keys.  The "
		   "program is\n"
		   "read from outside and not stopped.  With -- PROGRAM it is started, and ended "
		   "when\n"
		   "you quit.\n",
	.opts = opts,
	.run = run_top,
};
