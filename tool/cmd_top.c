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
#include "running_list.h"
#include "run_collector.h"
#include "top_print.h"
#include "top_target.h"
#include "top/top.h"

#define PRINTED_LINES 20u

struct request {
	const char *region;     /* NULL: the only one that exists */
	unsigned long long pid; /* 0: any */
	char **program;         /* to start; NULL: none */
	const char *log;        /* file for the program's output */
	const char *trace;
	struct top_options top;
	unsigned long long limit;
	bool once, json, limited;
};

static int failed(const struct err *err)
{
	say_error("top", err);
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
static char *choose(const struct request *req, struct err *err)
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

static int print(const struct request *req, struct top_source *source, struct err *err)
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
	say("top", "standard input and output are no terminal");
	fputs("hint: --once prints one picture, --json the same for scripts\n", stderr);
	return false;
}

static int show(const struct request *req, const char *region, int *sig, struct err *err)
{
	struct top_source source;

	if (top_source_open(&source, region, err) < 0)
		return err->code;
	if (req->once || req->json)
		print(req, &source, err);
	else
		top_run(&source, &req->top, sig, err);
	top_source_close(&source);
	return err->code;
}

/* End by the same signal, as a shell expects. */
static int end_as(int sig)
{
	if (!sig || sig == SIGINT)
		return EXIT_OK;
	signal(sig, SIG_DFL);
	raise(sig);
	return 128 + sig;
}

static int top_of_running(const struct request *req)
{
	struct err err = { 0 };
	char *region = req->region ? strdup(req->region) : choose(req, &err);
	int sig = 0;

	if (region)
		show(req, region, &sig, &err);
	free(region);
	return err.code ? failed(&err) : end_as(sig);
}

/* Start a program, show it, and end it on exit. */
static int top_of_program(const struct request *req)
{
	struct top_target target;
	struct err err = { 0 };
	int sig = 0, status;

	if (top_target_start(&target, req->program, req->trace, req->log, &err) < 0)
		return failed(&err);
	show(req, target.region, &sig, &err);
	status = top_target_end(&target, &err);
	if (err.code == -ESRCH) {
		say("top", "the program ended before it could be looked at");
		return status;
	}
	if (err.code)
		return failed(&err);
	return sig ? end_as(sig) : status;
}

/* ---- the command --------------------------------------------------------------------- */

static const struct opt opts[] = {
	{ 'p', "pid", "PID", "of a collector, or of a program that it traces" },
	{ 'd', "interval", "SECONDS", "look so often (1)" },
	{ 's', "sort", "WHAT", "age (default), rate, id, name, site, thread or events" },
	{ 'f', "filter", "TEXT", "only those with this in their name or place" },
	{ 0, "once", NULL, "print one picture; needs no terminal" },
	{ 'n', "limit", "N", "of one picture: N coroutines at most (20; all with --json)" },
	{ 0, "json", NULL, "one picture as one JSON object" },
	{ 'o', "output", "FILE", "of a program that is started: its trace (none)" },
	{ 0, "log", "FILE", "likewise: its standard output and error (nowhere)" },
	{ 0, NULL, NULL, NULL },
};

static bool set_interval(struct request *req, const char *value)
{
	char *end;
	double seconds = strtod(value, &end);

	if (end == value || *end || !(seconds * 1000 >= TOP_INTERVAL_LEAST_MS) ||
	    !(seconds * 1000 <= TOP_INTERVAL_MOST_MS)) {
		say("top", "invalid value '%s' for -d: expected a number from 0.1 to 60", value);
		return false;
	}
	req->top.interval_ms = (uint32_t)(seconds * 1000 + 0.5);
	return true;
}

static bool set_sort(struct request *req, const char *value)
{
	req->top.choice.sort = top_sort_from_name(value);
	if (req->top.choice.sort != NR_TOP_SORTS)
		return true;
	say("top",
	    "invalid value '%s' for -s: expected age, rate, id, name, site, thread or events",
	    value);
	return false;
}

static bool set_filter(struct request *req, const char *value)
{
	if (strlen(value) < sizeof(req->top.choice.filter)) {
		snprintf(req->top.choice.filter, sizeof(req->top.choice.filter), "%s", value);
		return true;
	}
	say("top", "that is too long for -f");
	return false;
}

/* False after an error message. */
static bool set(struct request *req, const char *name, const char *value)
{
	if (!strcmp(name, "pid"))
		return opt_number("top", "-p", value, 1, INT32_MAX, &req->pid);
	if (!strcmp(name, "interval"))
		return set_interval(req, value);
	if (!strcmp(name, "sort"))
		return set_sort(req, value);
	if (!strcmp(name, "filter"))
		return set_filter(req, value);
	if (!strcmp(name, "limit")) {
		req->limited = true;
		return opt_number("top", "-n", value, 0, UINT32_MAX, &req->limit);
	}
	if (!strcmp(name, "output"))
		req->trace = value;
	else if (!strcmp(name, "log"))
		req->log = value;
	else if (!strcmp(name, "once"))
		req->once = true;
	else
		req->json = true;
	return true;
}

/* Operands: a region, or after "--" a program. */
static bool take_words(struct request *req, int argc, char **argv, int first)
{
	bool is_program = first < argc && !strcmp(argv[first - 1], "--");

	if (is_program)
		req->program = argv + first;
	else if (first + 1 == argc)
		req->region = argv[first];
	else if (first < argc) {
		say("top", "one region at a time");
		fputs("hint: to start a program: corotracer top -- ./your_program\n", stderr);
		return false;
	}
	if ((req->program || req->region) && req->pid) {
		say("top", "-p names what is running: nothing goes with it");
		return false;
	}
	if (!req->program && (req->trace || req->log)) {
		say("top", "-o and --log are for a program that is started: -- PROGRAM");
		return false;
	}
	return true;
}

static int run_top(int argc, char **argv)
{
	struct request req = { .top = { .interval_ms = 1000 } };
	struct opt_walk walk = { 0 };
	const char *value;
	int o, first;

	while ((o = opt_next(&command_top, &walk, argc, argv, &value, &first)) >= 0) {
		if (!set(&req, opts[o].name, value))
			return EXIT_USAGE;
	}
	if (o != OPT_END)
		return o == OPT_HELP ? EXIT_OK : EXIT_USAGE;
	if (!take_words(&req, argc, argv, first))
		return EXIT_USAGE;
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
	.details = "Who waits the longest comes first; ? lists the keys.  The program is only "
		   "looked at,\n"
		   "from outside.  With -- PROGRAM it is started, and ended when you quit.\n",
	.opts = opts,
	.run = run_top,
};
