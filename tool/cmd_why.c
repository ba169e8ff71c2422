/* SPDX-License-Identifier: MIT */
/* cmd_why.c - `corotracer why`: what the coroutines of a program wait for, without an SDK. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "inspect/inspect_print.h"
#include "inspect/inspection.h"
#include "json_file.h"
#include "symbols/index_cache.h"
#include "symbols/module.h"
#include "why_launch.h"
#include "why_page.h"
#include "why_sample.h"
#include "why_traced.h"
#include "why_types.h"

#define GROUPS_SHOWN   10
#define SAMPLE_WAIT_NS 100000000u /* CMD loads its libraries */
#define MEMBERS_LOCALS 1000       /* members of a group with variables, in JSON */

struct why_options {
	uint32_t pid;
	bool json, all, stacks, no_cache, locals, show_values;
	const char *exe, *save, *debug_dir, *html, *types;
	uint32_t fails; /* bit v: verdict v is a failure */
	uint64_t hang_ns, after_ns;
	struct why_sample_options sample;
};

/* ---- --fail-on -------------------------------------------------------------------- */

static bool why_fail_on_one(uint32_t *fails, const char *name)
{
	int v;

	if (!strcmp(name, "all")) {
		*fails = ~0u;
		return true;
	}
	for (v = VERDICT_WAITING + 1; v < VERDICT_COUNT; v++) {
		if (!strcmp(name, inspect_verdict_name((enum inspect_verdict)v))) {
			*fails |= 1u << v;
			return true;
		}
	}
	return false;
}

static bool why_parse_fail_on(void *field, const struct opt_use *use)
{
	char *list = strdup(use->value), *rest = list, *name;
	bool ok = list != NULL;

	while (ok && (name = strsep(&rest, ",")))
		ok = why_fail_on_one(field, name);
	free(list);
	return ok || opt_invalid(use, "unreachable, ready-not-taken, closed-under-waiter, "
				      "deadline-passed, deadlock or all");
}

static bool why_gate_hit(const struct inspection *in, uint32_t fails)
{
	size_t i;

	for (i = 0; i < in->nr_groups; i++) {
		const struct inspect_group *g = &in->groups[i];

		if (g->verdict != VERDICT_WAITING && g->confidence >= INSPECT_STRONG &&
		    (fails & 1u << g->verdict))
			return true;
	}
	return false;
}

/* ---- the look ---------------------------------------------------------------------- */

static int why_print(struct inspection *in, const struct why_options *o)
{
	struct inspect_print_options print = {
		.groups_max = o->all ? 0 : GROUPS_SHOWN,
		.locals = o->locals || o->show_values,
		.show_values = o->show_values,
		.locals_max = o->all ? 0 : MEMBERS_LOCALS,
	};
	struct printer p;
	int rc;

	if (o->html && !o->json)
		return why_gate_hit(in, o->fails) ? EXIT_FAILED : EXIT_OK;
	printer_begin(&p, json_file_stream(stdout), o->json);
	inspection_print(in, &p, &print);
	rc = printer_end(&p);
	if (rc) {
		message_print("why", "cannot write to standard output: %s", strerror(-rc));
		return EXIT_FAILED;
	}
	return why_gate_hit(in, o->fails) ? EXIT_FAILED : EXIT_OK;
}

/* @rc: what opening the image returned. */
static int why_look(struct process_image *image, int rc, struct err *err,
		    const struct why_options *o)
{
	struct type_rules *rules = rc < 0 ? NULL : why_types_load(o->types, err);
	struct inspection *in = rules ? inspection_new(image, err) : NULL;
	struct why_traced traced = { 0 };
	int status = EXIT_FAILED;
	bool is_done;

	if (in) {
		in->may_stop = o->stacks;
		in->rules = rules;
	}
	is_done = in && inspection_look(in, err) == 0;
	if (is_done)
		why_traced_join(&traced, in);
	if (is_done &&
	    (!o->html || why_page_save(in, o->html, o->locals, o->show_values, err) == 0))
		status = why_print(in, o);
	else
		message_error("why", err);
	if (in && coro_types_cache_note(in->types))
		message_print("why", "%s", coro_types_cache_note(in->types));
	inspection_free(in);
	type_rules_free(rules);
	why_traced_release(&traced);
	if (rc == 0)
		image_close(image);
	return status;
}

static int why_save(struct process_image *image, const char *path)
{
	struct err err = { 0 };

	if (inspection_save(image, path, &err) < 0) {
		message_error("why", &err);
		return EXIT_FAILED;
	}
	message_print("why", "saved process %d as '%s'; look at it with: corotracer why %s",
		      (int)image->pid, path, path);
	return EXIT_OK;
}

static int why_process(pid_t pid, const struct why_options *o)
{
	struct process_image image;
	struct err err = { 0 };
	bool has_exited;
	int rc, status;

	if (o->sample.period_ns)
		return why_sample(pid, &o->sample, &has_exited);
	rc = image_open_process(&image, pid, &err);
	if (rc < 0 || !o->save)
		return why_look(&image, rc, &err, o);
	status = why_save(&image, o->save);
	image_close(&image);
	return status;
}

static int why_core(const char *path, const struct why_options *o)
{
	struct process_image image;
	struct err err = { 0 };
	int rc = image_open_core(&image, path, o->exe, &err);

	return why_look(&image, rc, &err, o);
}

/* Sample a program that was started.  One that ends by itself gives the exit status. */
static int why_sample_program(pid_t pid, const struct why_options *o)
{
	bool has_exited;
	int status = why_sample(pid, &o->sample, &has_exited);

	if (has_exited) {
		int ended = why_launch_wait(pid);

		return ended ? ended : status;
	}
	why_launch_end(pid);
	return status;
}

static int why_program(char **argv, const struct why_options *o)
{
	struct why_launch_options launch = {
		.hang_ns = o->hang_ns,
		.after_ns = o->after_ns || !o->sample.period_ns ? o->after_ns : SAMPLE_WAIT_NS,
		.stdout_to_stderr = o->json || (o->html && !strcmp(o->html, "-")) ||
				    (o->sample.format && !o->sample.output),
	};
	pid_t pid;
	int status = EXIT_FAILED;

	switch (why_launch(argv, &launch, &pid, &status)) {
	case WHY_LAUNCH_HANGS:
		if (o->sample.period_ns)
			return why_sample_program(pid, o);
		status = why_process(pid, o);
		why_launch_end(pid);
		break;
	case WHY_LAUNCH_ENDED:
		message_print("why", "'%s' ended with status %d before it was looked at", argv[0],
			      status);
		break;
	case WHY_LAUNCH_FAILED:
		break;
	}
	return status;
}

/* ---- the command --------------------------------------------------------------------- */

static const struct opt options[] = {
	{ 'p', "pid", "PID", "look at this process",
	  OPT_NUMBER(struct why_options, pid, 1, 4194304) },
	{ 0, "hang", "S", "CMD: look when no thread has run for S seconds (5)",
	  OPT_REAL(struct why_options, hang_ns, 0.1, 86400, 1e9) },
	{ 0, "after", "S", "CMD: look S seconds after the start",
	  OPT_REAL(struct why_options, after_ns, 0.1, 86400, 1e9) },
	{ 0, "sample", "N/s", "look N times per second, print where tasks spend their time",
	  OPT_CALL(struct why_options, sample.period_ns, why_sample_parse_rate) },
	{ 0, "duration", "S", "--sample: for S seconds (default: until Ctrl-C or its end)",
	  OPT_REAL(struct why_options, sample.duration_ns, 0.001, 1e6, 1e9) },
	{ 'f', "format", "FORMAT", "--sample: folded, pprof or speedscope",
	  OPT_CHOICE(struct why_options, sample.format, "folded, pprof or speedscope",
		     WHY_FORMAT_FOLDED) },
	{ 'o', "output", "FILE", "--format: write to FILE, not to standard output",
	  OPT_NAME(struct why_options, sample.output) },
	{ 0, "exe", "FILE", "CORE: its program, if the file was moved",
	  OPT_NAME(struct why_options, exe), .is_rare = true },
	{ 0, "save", "FILE", "write the process to FILE, to be looked at elsewhere",
	  OPT_NAME(struct why_options, save) },
	{ 0, "debug-dir", "DIR", "also search debug files there",
	  OPT_NAME(struct why_options, debug_dir), .is_rare = true },
	{ 0, "types", "FILE", "descriptions of awaited types, also a directory",
	  OPT_NAME(struct why_options, types), .is_rare = true },
	{ 0, "fail-on", "LIST", "exit 1 on these verdicts, if strong or proven; or all",
	  OPT_CALL(struct why_options, fails, why_parse_fail_on) },
	{ 0, "stacks", NULL, "stop the threads briefly and print their native stacks",
	  OPT_FLAG(struct why_options, stacks) },
	{ 0, "no-cache", NULL, "read all debug information again, and keep nothing",
	  OPT_FLAG(struct why_options, no_cache), .is_rare = true },
	{ 0, "locals", NULL, "print variables; of strings and buffers only the length",
	  OPT_FLAG(struct why_options, locals) },
	{ 0, "show-values", NULL, "--locals, with the contents of strings and buffers",
	  OPT_FLAG(struct why_options, show_values) },
	{ 0, "all", NULL, "print all groups", OPT_FLAG(struct why_options, all) },
	{ 0, "html", "FILE", "write a page for a browser; - is standard output",
	  OPT_NAME(struct why_options, html) },
	{ 0, "json", "[=FILE]", "print one JSON object", OPT_FLAG(struct why_options, json) },
	{ .name = NULL },
};

/* Fail before the look. */
static int why_check_html(const struct why_options *o)
{
	struct err err = { 0 };

	if (o->html && !strcmp(o->html, "-") && o->json) {
		message_print("why", "cannot write --html and --json both to standard output");
		fputs("hint: give --html a file\n", stderr);
		return EXIT_USAGE;
	}
	if (o->html && why_page_check(&err) < 0) {
		message_error("why", &err);
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

/* Options of --sample, and those that it has no use for. */
static int why_check_sample(struct why_options *o)
{
	const char *lonely = o->sample.duration_ns ? "--duration"
			     : o->sample.format    ? "--format"
			     : o->sample.output    ? "-o"
						   : NULL;
	const char *other = o->save ? "--save" : o->fails ? "--fail-on" : NULL;

	if (!o->sample.period_ns && lonely) {
		message_print("why", "%s needs --sample", lonely);
		return EXIT_USAGE;
	}
	if (o->sample.period_ns && other) {
		message_print("why", "cannot use %s with --sample", other);
		return EXIT_USAGE;
	}
	o->sample.html = o->html;
	o->sample.json = o->json;
	o->sample.all = o->all;
	o->sample.stacks = o->stacks;
	o->sample.types = o->types;
	return o->sample.period_ns ? why_sample_check(&o->sample) : EXIT_OK;
}

static int run_why(int argc, char **argv)
{
	struct why_options o = { .hang_ns = 5000000000u };
	int first, status = opts_parse(&command_why, &o, argc, argv, &first);

	if (status != OPTS_PARSED)
		return status;
	status = why_check_html(&o);
	if (status == EXIT_OK)
		status = why_check_sample(&o);
	if (status != EXIT_OK)
		return status;
	if (o.debug_dir)
		module_set_debug_dir(o.debug_dir);
	index_cache_set(!o.no_cache);
	if (o.pid && first < argc)
		return opts_unexpected(&command_why, argv[first]);
	if (o.pid)
		return why_process((pid_t)o.pid, &o);
	if (first >= argc)
		return opts_missing(&command_why, "-p PID, CORE or -- CMD");
	if (!strcmp(argv[first - 1], "--"))
		return why_program(argv + first, &o);
	if (first + 1 < argc)
		return opts_unexpected(&command_why, argv[first + 1]);
	if (o.sample.period_ns) {
		message_print("why", "cannot sample '%s': --sample needs -p PID or -- CMD",
			      argv[first]);
		return EXIT_USAGE;
	}
	return why_core(argv[first], &o);
}

const struct command command_why = {
	.name = "why",
	.instrument = "coroutines",
	.args = "-p PID | CORE | -- CMD [ARG]...",
	.summary = "say what the coroutines of a running program wait for",
	.details = "For C++20 and Tokio.  The program needs no preparation and is not stopped.\n"
		   "Exit status: 0 done; 1 --fail-on was hit, or it could not be done; 2 usage;\n"
		   "that of CMD if it ends before the look.  CMD is ended after the look.\n",
	.opts = options,
	.reads_debug_info = true,
	.run = run_why,
};
