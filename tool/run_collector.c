/* SPDX-License-Identifier: MIT */
/* run_collector.c - run a collector and turn its result into an exit status. */
#include "report_job.h"
#include "run_collector.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <corotracer/version.h>

#include "collect/flight_recorder.h"
#include "run_summary.h"

/* Default limit for a thread that waits for space; then it continues without its event. */
#define BLOCK_MS 1000

static const char *name_of(const struct session *s)
{
	return s->cmd ? s->cmd->name : NULL;
}

void session_init(struct session *s, const struct command *cmd)
{
	memset(s, 0, sizeof(*s));
	s->cmd = cmd;
	s->config.nr_stations = DEFAULT_STATIONS;
	s->config.output = DEFAULT_OUTPUT;
	s->config.lanes.lives = DEFAULT_STATIONS;
}

static bool set_stations(struct session *s, const char *value)
{
	unsigned long long n;

	if (!opt_number(name_of(s), "-n", value, 1, CTP_MAX_STATIONS, &n))
		return false;
	s->config.nr_stations = (uint32_t)n;
	s->config.lanes.lives = (uint32_t)n;
	return true;
}

static bool set_format(struct session *s, const char *value)
{
	if (!strcmp(value, "jsonl"))
		s->config.format = TRACE_FORMAT_JSONL;
	else if (!strcmp(value, "ctf"))
		s->config.format = TRACE_FORMAT_CTF;
	else
		say(name_of(s), "invalid value '%s' for --format: expected jsonl or ctf", value);
	return s->config.format != TRACE_FORMAT_AUTO;
}

static bool set_buffer(struct session *s, const char *value)
{
	unsigned long long size;

	if (!opt_size(name_of(s), "--buffer", value, BUFFER_LEAST, BUFFER_HIGHEST, &size))
		return false;
	s->config.lanes.buffer = size;
	return true;
}

/* Whether a thread with a full lane waits, and for how long at most. */
static bool set_on_full(struct session *s, const char *value)
{
	unsigned long long ms = BLOCK_MS;

	if (!strcmp(value, "drop")) {
		s->config.lanes.on_full = CTP_ON_FULL_DROP;
		return true;
	}
	if (strncmp(value, "block", 5) != 0 || (value[5] && value[5] != '=')) {
		say(name_of(s),
		    "invalid value '%s' for --on-full: expected drop, block or block=MS", value);
		return false;
	}
	if (value[5] && !opt_number(name_of(s), "--on-full block", value + 6, 1, 600000, &ms))
		return false;
	s->config.lanes.on_full = CTP_ON_FULL_BLOCK;
	s->config.lanes.block_ms = (uint32_t)ms;
	return true;
}

/* Keep only the newest events, and write them only on request: see 'corotracer snapshot'. */
static bool set_flight(struct session *s, const char *value)
{
	unsigned long long size;

	if (!opt_size(name_of(s), "--flight-recorder", value, FLIGHT_LEAST, FLIGHT_HIGHEST, &size))
		return false;
	s->config.flight_size = size;
	s->config.snapshot_taken = run_summary_snapshot;
	return true;
}

static bool set_serve(struct session *s, const char *value)
{
	unsigned long long port = 0;

	if (value && !opt_number(name_of(s), "--serve", value, 1, 65535, &port))
		return false;
	s->serve = true;
	s->serve_port = (uint16_t)port;
	return true;
}

static bool set_check(struct session *s, const char *value)
{
	s->check = true;
	s->check_list = value;
	return true;
}

static bool set_path(struct session *s, const char **path, const char *name, const char *value)
{
	if (*value) {
		*path = value;
		return true;
	}
	say(name_of(s), "invalid value '' for --%s: expected a name", name);
	return false;
}

bool session_set(struct session *s, const char *name, const char *value)
{
	if (!strcmp(name, "stations"))
		return set_stations(s, value);
	if (!strcmp(name, "format"))
		return set_format(s, value);
	if (!strcmp(name, "buffer"))
		return set_buffer(s, value);
	if (!strcmp(name, "on-full"))
		return set_on_full(s, value);
	if (!strcmp(name, "flight-recorder"))
		return set_flight(s, value);
	if (!strcmp(name, "serve"))
		return set_serve(s, value);
	if (!strcmp(name, "check"))
		return set_check(s, value);
	if (!strcmp(name, "output"))
		return set_path(s, &s->config.output, name, value);
	if (!strcmp(name, "shm"))
		return set_path(s, &s->config.shm, name, value);
	if (!strcmp(name, "sock"))
		return set_path(s, &s->config.sock, name, value);
	if (!strcmp(name, "fail-on-loss"))
		s->fail_on_loss = true;
	else if (!strcmp(name, "wait-all"))
		s->config.wait_all = true;
	else if (!strcmp(name, "json"))
		s->json = true;
	else if (!strcmp(name, "quiet"))
		s->quiet = true;
	else if (!strcmp(name, "suppressions"))
		s->suppressions = value;
	return true;
}

int session_options(struct session *s, int argc, char **argv, int *first)
{
	struct opt_walk walk = { 0 };
	const char *value;
	int o;

	while ((o = opt_next(s->cmd, &walk, argc, argv, &value, first)) >= 0) {
		if (!session_set(s, s->cmd->opts[o].name, value))
			return EXIT_USAGE;
	}
	if (o == OPT_END)
		return -1;
	return o == OPT_HELP ? EXIT_OK : EXIT_USAGE;
}

/* End by the same signal as the program, as a shell expects, without a second core file. */
static void die_as_the_program_did(int sig)
{
	struct rlimit none = { 0, 0 };
	sigset_t set;

	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* A failure of the tool turns success into failure, and never hides the program's status. */
static int exit_status(const struct session *s, const struct collector_result *r)
{
	if (r->exit_status)
		return r->exit_status;
	if (r->output.code || r->sidecar.code)
		return EXIT_FAILED;
	if (s->fail_on_loss && (r->lost || r->others_lost || r->totals.without_station))
		return EXIT_FAILED;
	return EXIT_OK;
}

/* The gate of --check: every fault that is at least strong, or what --check=LIST names. */
static struct report_job check_job(const struct session *s)
{
	return (struct report_job){
		.command = name_of(s),
		.trace = s->config.output,
		.form = s->json ? REPORT_JSON : REPORT_TEXT,
		.suppressions = s->suppressions,
		.quiet = true,
		.to_stderr = true,
		.least = CONFIDENCE_STRONG,
	};
}

static const char *check_list(const struct session *s)
{
	return s->check_list ? s->check_list : "all";
}

static int check(const struct session *s)
{
	struct report_job job = check_job(s);

	if (!report_job_fail_on(&job, check_list(s)))
		return EXIT_FAILED;
	return report_job_run(&job);
}

static bool can_check(const struct session *s)
{
	struct report_job job = check_job(s);

	if (s->check && (!report_job_fail_on(&job, check_list(s)) || !report_job_check_gate(&job)))
		return false;
	if (!s->check || strcmp(s->config.output, "-") != 0)
		return true;
	say(name_of(s), "--check needs the trace in a file, not on standard output");
	return false;
}

/* ---- the page --------------------------------------------------------------- */

/* The collector's `ready` callback has no context argument. */
static struct serving *waiting;

static void trace_is_there(const char *shm, const char *sock, uint32_t nr_stations)
{
	(void)shm;
	(void)sock;
	(void)nr_stations;
	serving_go(waiting);
}

static bool is_ctf(const struct session *s)
{
	enum trace_format format = s->config.format;

	return (format == TRACE_FORMAT_AUTO ? trace_format_of(s->config.output) : format) ==
	       TRACE_FORMAT_CTF;
}

/*
 * Runs before the program: if the page cannot be served, the program is not started.  Returns -1 to
 * continue, or the exit status.
 */
static int start_page(struct session *s)
{
	struct serving *page = &s->serving;

	if (!s->serve)
		return -1;
	if (!serving_can_follow(name_of(s), s->config.output, is_ctf(s),
				s->config.flight_size != 0))
		return EXIT_USAGE;
	page->command = name_of(s);
	page->trace = s->config.output;
	if (!serving_listen(page, NULL, s->serve_port) || !serving_fork(page))
		return EXIT_FAILED;
	waiting = page;
	s->config.ready = trace_is_there;
	say(name_of(s), "the page is at %s", page->listener.url);
	return -1;
}

/* Stop serving if a signal other than SIGINT (Ctrl-C) ended the run. */
static void end_page(struct session *s, const struct collector_result *r)
{
	if (s->serve)
		serving_end(&s->serving, r && (!r->stop_signal || r->stop_signal == SIGINT));
}

/* ---- standard output --------------------------------------------------------- */

static void say_stdout_moved(void)
{
	fputs("corotracer: the trace is on standard output; the program's standard output goes to "
	      "standard error\n",
	      stderr);
}

/* ---- the run ---------------------------------------------------------------- */

int session_run(struct session *s)
{
	struct collector_result result;
	struct err err = { 0 };
	int status;

	if (!can_check(s))
		return EXIT_USAGE;
	status = start_page(s);
	if (status >= 0)
		return status;
	s->config.tool = "corotracer " COROTRACER_VERSION;
	s->config.stdout_moved = s->quiet ? NULL : say_stdout_moved;
	if (collector_run(&s->config, &result, &err) < 0) {
		end_page(s, NULL);
		if (s->json)
			run_summary_json_error(&err);
		else
			say_error(name_of(s), &err);
		return EXIT_FAILED;
	}
	status = exit_status(s, &result);
	/* The reader of stderr may have closed it; the exit status still counts. */
	signal(SIGPIPE, SIG_IGN);
	if (s->json)
		run_summary_json(s, &result, status);
	else
		run_summary_text(s, &result);
	if (s->check && check(s) != EXIT_OK && !status)
		status = EXIT_FAILED;
	end_page(s, &result);
	if (result.signal)
		die_as_the_program_did(result.signal);
	return status;
}
