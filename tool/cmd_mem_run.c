/* SPDX-License-Identifier: MIT */
/* cmd_mem_run.c - corotracer mem run: launch a program and write its memory accesses. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <corotracer/version.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "end_signal.h"
#include "mem.h"
#include "memory/collect/mem_collector.h"

#define DEFAULT_OUTPUT "memory.trace"

struct mem_run_options {
	struct collect_config config;
	bool json, quiet;
};

static bool mem_run_parse_output(void *field, const struct opt_use *use)
{
	*(const char **)field = use->value;
	return (*use->value && strcmp(use->value, "-") != 0) || opt_invalid(use, "a file's name");
}

static const struct opt options[] = {
	{ 'o', "output", "FILE", "the trace (" DEFAULT_OUTPUT "); %p is the pid",
	  OPT_CALL(struct mem_run_options, config.output, mem_run_parse_output) },
	{ 0, "format", "FORMAT", "container, or raw: the seed's records",
	  OPT_CHOICE(struct mem_run_options, config.raw, "container or raw", 0) },
	{ 0, "on-full", "WHAT", "full buffer: block the thread, or drop and count",
	  OPT_CHOICE(struct mem_run_options, config.drop, "block or drop", 0) },
	{ 0, "max-size", "SIZE", "stop tracing when the trace is that large",
	  OPT_SIZE(struct mem_run_options, config.max_size, 1 << 16, 1ull << 50) },
	{ 0, "buffer", "SIZE", "shared memory per thread (4M)",
	  OPT_SIZE(struct mem_run_options, config.buffer, 1 << 18, 1ull << 30) },
	{ 0, "level", "N", "of zstd, 0 (none) to 19 (1)",
	  OPT_NUMBER(struct mem_run_options, config.level, 0, 19) },
	{ 0, "json", NULL, "the summary as one JSON object",
	  OPT_FLAG(struct mem_run_options, json) },
	{ 'q', "quiet", NULL, "no summary unless something is missing",
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

static void mem_run_tell_file(const struct output *out)
{
	char a[TEXT_SIZE], b[TEXT_SIZE], share[TEXT_SIZE];

	fputs("corotracer: ", stderr);
	text_put(stderr, out->path);
	fprintf(stderr, ": %s accesses, %s annotations of %u thread%s",
		text_count(a, out->accesses), text_count(b, out->annotations), out->nr_threads,
		out->nr_threads == 1 ? "" : "s");
	if (out->accesses)
		fprintf(stderr, ", %.3f bytes per access",
			(double)out->size / (double)out->accesses);
	fputc('\n', stderr);
	if (out->lost || out->lost_unknown)
		fprintf(stderr, "corotracer: lost: %s of %s%s%s\n", text_count(a, out->lost),
			text_count(b, out->accesses + out->lost),
			text_share(share, out->lost, out->accesses + out->lost),
			out->lost_unknown ? ", and an unknown number" : "");
	if (out->left_out)
		fprintf(stderr, "corotracer: left out on purpose: %s\n",
			text_count(a, out->left_out));
	if (out->err.code)
		message_error("mem run", &out->err);
}

static void mem_run_tell_nothing(void)
{
	message_print("mem run", "the program traced nothing: there is no trace");
	fputs("hint: build it with 'corotracer mem cc' or 'mem c++', or link it with libcacheray\n",
	      stderr);
}

static void mem_run_tell_text(const struct mem_run_options *q, const struct collect_result *r,
			      bool complete)
{
	const struct output *out;
	char text[TEXT_SIZE];

	if (shown)
		fputs("\r\033[K", stderr);
	if (!r->outputs.first)
		mem_run_tell_nothing();
	if (q->quiet && complete)
		return;
	for (out = r->outputs.first; out; out = out->next)
		mem_run_tell_file(out);
	if (r->capped)
		fputs("corotracer: --max-size was reached; later accesses were not traced\n",
		      stderr);
	if (r->recovered && r->signal)
		fprintf(stderr,
			"corotracer: %s thread%s ended without a word; their last accesses "
			"were recovered\n",
			text_count(text, r->recovered), r->recovered == 1 ? "" : "s");
	if (r->refused)
		fprintf(stderr, "corotracer: %s threads or processes were not traced: no room\n",
			text_count(text, r->refused));
	if (r->broken)
		fprintf(stderr, "corotracer: %s things in shared memory made no sense\n",
			text_count(text, r->broken));
	if (r->no_memory)
		fputs("corotracer: some threads were not traced: no memory\n", stderr);
}

static void mem_run_tell_json(const struct collect_result *r, int status)
{
	const struct output *out;
	struct json_writer w;

	jw_init_file(&w, stderr);
	jw_object_begin(&w);
	jw_field_i64(&w, "exit_status", status);
	jw_field_i64(&w, "program_status", r->exit_status);
	jw_field_i64(&w, "signal", r->signal);
	jw_field_u64(&w, "duration_ns", r->duration_ns);
	jw_field_u64(&w, "threads", r->threads);
	jw_field_u64(&w, "recovered", r->recovered);
	jw_field_u64(&w, "refused", r->refused);
	jw_field_u64(&w, "broken", r->broken);
	jw_field_bool(&w, "capped", r->capped);
	jw_key(&w, "files");
	jw_array_begin(&w);
	for (out = r->outputs.first; out; out = out->next) {
		jw_object_begin(&w);
		jw_field_string(&w, "file", out->path);
		jw_field_u64(&w, "pid", out->pid);
		jw_field_u64(&w, "size", out->size);
		jw_field_u64(&w, "threads", out->nr_threads);
		jw_field_u64(&w, "accesses", out->accesses);
		jw_field_u64(&w, "annotations", out->annotations);
		jw_field_u64(&w, "lost", out->lost);
		jw_field_bool(&w, "lost_unknown", out->lost_unknown);
		jw_field_u64(&w, "left_out", out->left_out);
		jw_field_string(&w, "error", out->err.code ? out->err.text : NULL);
		jw_object_end(&w);
	}
	jw_array_end(&w);
	jw_object_end(&w);
	jw_newline(&w);
	jw_release(&w);
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

static int mem_run_collect(struct mem_run_options *q)
{
	struct collect_result result;
	struct err err = { 0 };
	bool complete;
	int status;

	q->config.tool = "corotracer " COROTRACER_VERSION;
	if (isatty(STDERR_FILENO) && !q->json && !q->quiet)
		q->config.progress = mem_run_progress;
	if (collect_run(&q->config, &result, &err) < 0) {
		message_error("mem run", &err);
		collect_result_release(&result);
		return EXIT_FAILED;
	}
	complete = is_complete(&result);
	/*
	 * A failure of the tool turns success into failure, and never hides the program's status.
	 */
	status = result.exit_status ? result.exit_status : complete ? EXIT_OK : EXIT_FAILED;
	signal(SIGPIPE, SIG_IGN);
	if (q->json)
		mem_run_tell_json(&result, status);
	else
		mem_run_tell_text(q, &result, complete);
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
	.details = "The program must have been built with 'corotracer mem cc'.  Each further "
		   "process of\n"
		   "it writes FILE.PID.  The exit status is the program's; if that is 0 and "
		   "anything is\n"
		   "missing, 1.  A trace that is there already is kept as FILE.old.\n",
	.opts = options,
	.run = run_mem_run,
};
