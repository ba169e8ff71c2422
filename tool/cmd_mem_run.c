/* SPDX-License-Identifier: MIT */
/* cmd_mem_run.c - corotracer mem run: launch a program and write its memory accesses. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <corotracer/version.h>

#include "base/printer.h"
#include "base/text.h"
#include "end_signal.h"
#include "json_file.h"
#include "mem.h"
#include "mem_unseen.h"
#include "memory/collect/mem_collector.h"

#define DEFAULT_OUTPUT "memory.trace"
#define BURST_MAX_MS   3600000u

struct mem_run_options {
	struct collect_config config;
	bool json, quiet;
};

static bool mem_run_parse_output(void *field, const struct opt_use *use)
{
	*(const char **)field = use->value;
	return (*use->value && strcmp(use->value, "-") != 0) || opt_invalid(use, "a file's name");
}

/* The milliseconds of a time such as 10ms or 2s, and what follows it; 0: it is none. */
static unsigned long mem_run_time(const char *text, const char **end)
{
	unsigned long n = 0;
	char *unit;

	if (*text >= '0' && *text <= '9' && strlen(text) < 32)
		n = strtoul(text, &unit, 10);
	if (!n || n > BURST_MAX_MS)
		return 0;
	*end = unit + (*unit == 'm' ? 2 : 1);
	return !strncmp(unit, "ms", 2) ? n : *unit == 's' ? n * 1000 : 0;
}

static bool mem_run_parse_burst(void *field, const struct opt_use *use)
{
	const char *end = "";
	unsigned long on = mem_run_time(use->value, &end);
	unsigned long period = on && *end == '/' ? mem_run_time(end + 1, &end) : 0;

	*(const char **)field = use->value;
	return (period && !*end && on <= period && period <= BURST_MAX_MS) ||
	       opt_invalid(use, "ON/PERIOD, times such as 10ms/1s, at most 3600s");
}

static const struct opt options[] = {
	{ 'o', "output", "FILE", "trace (default " DEFAULT_OUTPUT "); %p is the pid",
	  OPT_CALL(struct mem_run_options, config.output, mem_run_parse_output) },
	{ 0, "format", "FORMAT", "container (default), or raw Cacheray records",
	  OPT_CHOICE(struct mem_run_options, config.raw, "container or raw", 0) },
	{ 0, "on-full", "WHAT", "if the buffer is full: block (default), or drop and count",
	  OPT_CHOICE(struct mem_run_options, config.drop, "block or drop", 0) },
	{ 0, "stacks", NULL, "record function entries and exits, for inclusive costs",
	  OPT_FLAG(struct mem_run_options, config.stacks) },
	{ 0, "no-heap", NULL, "do not record where blocks of the heap are allocated",
	  OPT_FLAG(struct mem_run_options, config.no_heap) },
	{ 0, "burst", "ON/PERIOD", "record only for ON of each PERIOD, such as 10ms/1s",
	  OPT_CALL(struct mem_run_options, config.burst, mem_run_parse_burst) },
	{ 0, "max-size", "SIZE", "stop tracing at this size of the trace",
	  OPT_SIZE(struct mem_run_options, config.max_size, 1 << 16, 1ull << 50) },
	{ 0, "buffer", "SIZE", "shared memory per thread (default 4M)",
	  OPT_SIZE(struct mem_run_options, config.buffer, 1 << 18, 1ull << 30) },
	{ 0, "level", "N", "level of zstd, 0 (none) to 19 (default 1)",
	  OPT_NUMBER(struct mem_run_options, config.level, 0, 19) },
	{ 0, "packers", "N", "threads that pack, 1 to 9 (default: by processors)",
	  OPT_NUMBER(struct mem_run_options, config.packers, 1, COLLECT_PACKERS_MAX),
	  .is_rare = true },
	{ 0, "no-inherit", NULL, "leave no descriptor open in the program, only a path",
	  OPT_FLAG(struct mem_run_options, config.no_inherit), .is_rare = true },
	{ 0, "json", "[=FILE]", "print the summary as one JSON object",
	  OPT_FLAG(struct mem_run_options, json) },
	{ 'q', "quiet", NULL, "print a summary only if something is missing",
	  OPT_FLAG(struct mem_run_options, quiet) },
	{ .name = NULL },
};

/* ---- summary -------------------------------------------------------------- */

static bool shown; /* a progress line is on the terminal */

static void mem_run_progress(uint64_t size, uint64_t elapsed_ns)
{
	if (elapsed_ns < 1000000000u)
		return;
	fprintf(stderr, "\rtracing: %.0f s, %.1f MB written\033[K", (double)elapsed_ns / 1e9,
		(double)size / 1e6);
	fflush(stderr);
	shown = true;
}

static void mem_run_print_file(struct printer *p, const struct output *out)
{
	bool is_short = out->lost || out->lost_unknown;
	uint64_t all = out->accesses + out->lost;
	char share[TEXT_SIZE];

	print_object(p, NULL);
	print_text(p, "corotracer: ");
	print_string(p, "file", out->path);
	print_safe(p, out->path, 0);
	print_count(p, "pid", NULL, out->pid);
	print_count(p, "size", NULL, out->size);
	print_count(p, "threads", NULL, out->nr_threads);
	print_count(p, "accesses", ": %s accesses", out->accesses);
	print_count(p, "annotations", ", %s annotations", out->annotations);
	print_text(p, " of %u thread%s", out->nr_threads, number_plural(out->nr_threads));
	if (out->accesses)
		print_text(p, ", %.3f bytes per access", (double)out->size / (double)out->accesses);
	print_text(p, "\n");
	print_count(p, "lost", is_short ? "corotracer: lost: %s" : NULL, out->lost);
	if (is_short)
		print_text(p, " of %s%s%s\n", number_text(all), text_share(share, out->lost, all),
			   out->lost_unknown ? ", and an unknown number" : "");
	print_flag(p, "lost_unknown", NULL, out->lost_unknown);
	print_count(p, "left_out", out->left_out ? "corotracer: left out on purpose: %s\n" : NULL,
		    out->left_out);
	mem_unseen_print_of(p, "corotracer: ", out->path);
	print_string(p, "error", out->err.code ? out->err.text : NULL);
	if (!p->is_json && out->err.code)
		message_error("mem run", &out->err);
	print_object_end(p);
}

static void mem_run_tell_nothing(const char *command)
{
	message_print(command, "the program recorded no memory accesses: no %s was written",
		      strcmp(command, "mem run") != 0 ? "memory trace" : "trace");
	fputs("hint: build it with 'corotracer mem cc' or 'mem c++', or link it with libcacheray\n",
	      stderr);
}

/* Text only. */
static void mem_run_print_trouble(struct printer *p, const struct collect_result *r)
{
	if (r->capped)
		print_text(p, "corotracer: --max-size was reached; later accesses were not "
			      "traced\n");
	if (r->recovered && r->signal)
		print_text(p,
			   "corotracer: %s thread%s exited without closing their buffer; their "
			   "last accesses "
			   "were recovered\n",
			   number_text(r->recovered), number_plural(r->recovered));
	if (r->refused)
		print_text(p, "corotracer: %s threads or processes were not traced: no room\n",
			   number_text(r->refused));
	if (r->broken)
		print_text(p, "corotracer: %s corrupt entries in shared memory were skipped\n",
			   number_text(r->broken));
	if (r->no_memory)
		print_text(p, "corotracer: some threads were not traced: no memory\n");
}

static void mem_run_print(const struct collect_result *r, int status, bool json)
{
	const struct output *out;
	struct printer p;

	printer_begin(&p, json_file_stream(stderr), json);
	print_integer(&p, "exit_status", NULL, status);
	print_integer(&p, "program_status", NULL, r->exit_status);
	print_integer(&p, "signal", NULL, r->signal);
	print_count(&p, "duration_ns", NULL, r->duration_ns);
	print_count(&p, "threads", NULL, r->threads);
	print_count(&p, "recovered", NULL, r->recovered);
	print_count(&p, "refused", NULL, r->refused);
	print_count(&p, "broken", NULL, r->broken);
	print_flag(&p, "capped", NULL, r->capped);
	print_list(&p, "files");
	for (out = r->outputs.first; out; out = out->next)
		mem_run_print_file(&p, out);
	print_list_end(&p);
	mem_run_print_trouble(&p, r);
	printer_end(&p);
}

static bool is_complete(const struct collect_result *r)
{
	const struct output *out;

	if (!r->outputs.first || r->refused || r->broken || r->no_memory)
		return false;
	for (out = r->outputs.first; out; out = out->next) {
		if (out->lost || out->lost_unknown || out->err.code)
			return false;
	}
	return true;
}

int mem_run_conclude(const char *command, const struct collect_result *r, bool json, bool quiet)
{
	bool complete = is_complete(r);
	/*
	 * A failure of the tool turns success into failure, and never hides the program's status.
	 */
	int status = r->exit_status ? r->exit_status : complete ? EXIT_OK : EXIT_FAILED;

	if (shown)
		fputs("\r\033[K", stderr);
	if (!json && !r->outputs.first)
		mem_run_tell_nothing(command);
	if (json || !quiet || !complete)
		mem_run_print(r, status, json);
	return status;
}

static int mem_run_collect(struct mem_run_options *q)
{
	struct collect_result result;
	struct err err = { 0 };
	int status;

	q->config.tool = "corotracer " COROTRACER_VERSION;
	if (isatty(STDERR_FILENO) && !q->json && !q->quiet)
		q->config.progress = mem_run_progress;
	if (collect_run(&q->config, &result, &err) < 0) {
		message_error("mem run", &err);
		collect_result_release(&result);
		return err.exit_status ? err.exit_status : EXIT_FAILED;
	}
	signal(SIGPIPE, SIG_IGN);
	status = mem_run_conclude("mem run", &result, q->json, q->quiet);
	collect_result_release(&result);
	if (result.signal)
		end_by_signal(result.signal);
	return status;
}

static int run_mem_run(int argc, char **argv)
{
	struct mem_run_options q = { .config = { .output = DEFAULT_OUTPUT, .level = 1 } };
	int first, status = opts_parse(&command_mem_run, &q, argc, argv, &first);

	if (status != OPTS_PARSED)
		return status;
	if (first >= argc) {
		message_print("mem run", "no program to run");
		fputs("hint: corotracer mem run -o app.trace -- ./app\n", stderr);
		return EXIT_USAGE;
	}
	q.config.argv = argv + first;
	return mem_run_collect(&q);
}

const struct command command_mem_run = {
	.name = "mem run",
	.instrument = "memory",
	.args = "[OPTIONS] [--] PROGRAM [ARGUMENTS]",
	.starts_program = true,
	.summary = "launch a program and write its memory accesses to a trace",
	.details =
		"The program must be built with 'corotracer mem cc'.  Each child process writes\n"
		"FILE.PID.  The exit status is the program's; if that is 0 and anything is "
		"missing,\n"
		"1.  An existing trace is kept as FILE.old.\n",
	.opts = options,
	.run = run_mem_run,
};
