/* SPDX-License-Identifier: MIT */
/*
 * cmd_export.c - corotracer export KIND: a finished recording for another program.
 *
 * A kind is a row of the table below.  To add one, write a function that looks at what the
 * input is (a recording of frames, a trace of coroutines) and takes it from there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cmd.h"
#include "frames/perfetto.h"

struct request {
	const char *file, *output;
	bool quiet;
};

struct kind {
	const char *name;
	const char *suffix; /* of the output, if it has no name */
	int (*run)(const struct request *q, const char *output);
};

/* ---- perfetto ------------------------------------------------------------ */

static void tell(const char *what, uint64_t nr)
{
	char text[TEXT_SIZE];

	if (nr)
		fprintf(stderr, "  %-12s %s\n", what, text_count(text, nr));
}

static int export_perfetto(const struct request *q, const char *output)
{
	struct perfetto_result r;
	struct err err = { 0 };

	if (strcmp(q->file, "-") != 0 && !recfile_sniff(q->file)) {
		say("export", "'%s' is no recording of frames", q->file);
		fputs("hint: a file of 'corotracer attach -o' goes here\n", stderr);
		return EXIT_FAILED;
	}
	if (perfetto_export(q->file, output, &r, &err) < 0) {
		say_error("export", &err);
		return EXIT_FAILED;
	}
	if (q->quiet && !r.without_time && !r.stats.torn && !r.stats.foreign)
		return EXIT_OK;
	fprintf(stderr, "%s: for https://ui.perfetto.dev, or chrome://tracing\n", output);
	tell("slices", r.slices);
	tell("instants", r.instants);
	tell("counters", r.counters);
	tell("without time", r.without_time);
	tell("torn", r.stats.torn);
	tell("foreign", r.stats.foreign);
	tell("lost", r.stats.ended ? r.stats.end.c : r.stats.gaps);
	return EXIT_OK;
}

static const struct kind kinds[] = {
	{ "perfetto", ".perfetto.json", export_perfetto },
};

#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* ---- the command line ---------------------------------------------------- */

enum { O_FILE, O_OUTPUT, O_QUIET };

static const struct opt options[] = {
	[O_FILE] = { 'f', "file", "FILE", "the recording; - is standard input" },
	[O_OUTPUT] = { 'o', "output", "FILE", "what is made of it; - is standard output" },
	[O_QUIET] = { 'q', "quiet", NULL, "no summary unless something is missing" },
	{ 0, NULL, NULL, NULL },
};

static const struct kind *find_kind(const char *name)
{
	size_t i;

	for (i = 0; i < NR_KINDS; i++) {
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	}
	say("export", "there is no export to '%s'", name);
	fputs("hint: there is", stderr);
	for (i = 0; i < NR_KINDS; i++)
		fprintf(stderr, "%s %s", i ? "," : "", kinds[i].name);
	fputc('\n', stderr);
	return NULL;
}

static int run_kind(const struct kind *kind, const struct request *q)
{
	char *output = NULL;
	int status;

	if (!q->output) {
		if (!strcmp(q->file, "-"))
			output = strdup("-");
		else if (asprintf(&output, "%s%s", q->file, kind->suffix) < 0)
			output = NULL;
		if (!output) {
			say("export", "no memory for a file name");
			return EXIT_FAILED;
		}
	}
	status = kind->run(q, q->output ? q->output : output);
	free(output);
	return status;
}

/* Options may stand before and behind the kind. */
static int parse(struct request *q, int *argc, char ***argv)
{
	struct opt_walk walk = { 0 };
	const char *value;
	int which, first = *argc;

	while ((which = opt_next(&command_export, &walk, *argc, *argv, &value, &first)) >= 0) {
		if (which == O_FILE)
			q->file = value;
		if (which == O_OUTPUT)
			q->output = value;
		q->quiet |= which == O_QUIET;
	}
	*argv += first;
	*argc -= first;
	return which;
}

static int run(int argc, char **argv)
{
	const struct kind *kind = NULL;
	struct request q = { 0 };
	int which = parse(&q, &argc, &argv);

	while (which == OPT_END && argc > 0) {
		if (!kind) {
			kind = find_kind(argv[0]);
			if (!kind)
				return EXIT_USAGE;
		} else if (!q.file) {
			q.file = argv[0];
		} else {
			say("export", "'%s' is one word too many", argv[0]);
			return EXIT_USAGE;
		}
		which = parse(&q, &argc, &argv);
	}
	if (which == OPT_HELP)
		return EXIT_OK;
	if (which == OPT_BAD)
		return EXIT_USAGE;
	if (!kind || !q.file) {
		say("export", kind ? "which recording?" : "export to what?");
		fputs("hint: corotracer export perfetto -f FILE\n", stderr);
		return EXIT_USAGE;
	}
	return run_kind(kind, &q);
}

const struct command command_export = {
	.name = "export",
	.instrument = "frames",
	.args = "KIND -f FILE [-o FILE]",
	.summary = "write a recording in the format of another program",
	.details = "KIND is perfetto: the timeline viewer at https://ui.perfetto.dev; intervals "
		   "become\n"
		   "slices, other frames instants and counters.\n",
	.opts = options,
	.run = run,
};
