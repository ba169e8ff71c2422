/* SPDX-License-Identifier: MIT */
/* cmd_mem_convert.c - corotracer mem convert: convert a memory trace to the other format. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/progress.h"
#include "base/text.h"
#include "mem.h"
#include "memory/format/mem_writer.h"

enum { O_OUTPUT, O_FORMAT, O_LEVEL, O_QUIET };

static const struct opt options[] = {
	[O_OUTPUT] = { 'o', "output", "FILE", "the new trace; - is standard output" },
	[O_FORMAT] = { 0, "format", "FORMAT", "raw, raw.zst or container (else: the other one)" },
	[O_LEVEL] = { 0, "level", "N", "of zstd, 1 to 19; 0: an uncompressed container (else 3)" },
	[O_QUIET] = { 'q', "quiet", NULL, "say nothing of what raw has no place for" },
	{ 0, NULL, NULL, NULL },
};

struct request {
	const char *path, *output;
	struct mem_writer_config config;
	bool format_given, quiet;
};

static bool set_format(struct request *q, const char *value)
{
	q->format_given = true;
	if (!strcmp(value, "raw"))
		q->config.format = MEM_FORMAT_RAW;
	else if (!strcmp(value, "raw.zst"))
		q->config.format = MEM_FORMAT_RAW_ZSTD;
	else if (!strcmp(value, "container"))
		q->config.format = MEM_FORMAT_CONTAINER;
	else
		q->format_given = false;
	if (!q->format_given)
		say("mem convert",
		    "invalid value '%s' for --format: expected raw, raw.zst or container", value);
	return q->format_given;
}

/* Opening the output would truncate the input before it is read. */
static bool is_same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino && S_ISREG(sa.st_mode);
}

static void tell(const char *what, uint64_t nr)
{
	char text[TEXT_SIZE];

	if (nr)
		fprintf(stderr, "  %-34s %s\n", what, text_count(text, nr));
}

static void tell_missing(const struct request *q, const struct sidecar_missing *m)
{
	if (q->quiet || !(m->pcs | m->attrs | m->marks | m->gaps))
		return;
	fputs("raw has no place for these:\n", stderr);
	tell("code addresses of accesses", m->pcs);
	tell("attributes of accesses", m->attrs);
	tell("marks", m->marks);
	tell("gaps", m->gaps);
	tell("  lost in them", m->lost);
	tell("  left out on purpose in them", m->left_out);
}

static int copy(struct mem_reader *r, struct mem_writer *w)
{
	const struct mem_record *rec;
	struct progress progress;
	uint64_t n = 0;
	int ret = 0;

	progress_start(&progress, "converting", mem_reader_size(r));
	while (ret == 0 && (rec = mem_reader_next(r))) {
		ret = mem_writer_put(w, rec);
		if ((++n & 0xffff) == 0)
			progress_update(&progress, mem_reader_done(r));
	}
	progress_end(&progress);
	return ret;
}

static int convert(struct request *q)
{
	struct mem_reader *r = mem_open(&command_mem_convert, q->path);
	struct sidecar_missing missing;
	struct err err = { 0 };
	struct mem_writer *w;
	int status;

	if (!r)
		return EXIT_FAILED;
	if (!q->format_given)
		q->config.format = mem_reader_format(r) == MEM_FORMAT_CONTAINER
					   ? MEM_FORMAT_RAW
					   : MEM_FORMAT_CONTAINER;
	w = mem_writer_open(q->output, &q->config, mem_reader_facts(r), &err);
	if (!w) {
		say_error("mem convert", &err);
		mem_reader_close(r);
		return EXIT_FAILED;
	}
	copy(r, w);
	missing = *mem_writer_missing(w);
	status = mem_writer_close(w, &err) < 0 ? EXIT_FAILED : EXIT_OK;
	if (status != EXIT_OK)
		say_error("mem convert", &err);
	else
		tell_missing(q, &missing);
	if (mem_finish(&command_mem_convert, r) != EXIT_OK)
		status = EXIT_FAILED;
	return status;
}

static int set_option(struct request *q, int o, const char *value)
{
	unsigned long long level;

	switch (o) {
	case O_OUTPUT:
		q->output = value;
		return EXIT_OK;
	case O_FORMAT:
		return set_format(q, value) ? EXIT_OK : EXIT_USAGE;
	case O_LEVEL:
		if (!opt_number("mem convert", "--level", value, 0, 19, &level))
			return EXIT_USAGE;
		q->config.level = (int)level;
		return EXIT_OK;
	default:
		q->quiet = true;
		return EXIT_OK;
	}
}

static int run(int argc, char **argv)
{
	struct request q = { .config.level = 3 };
	struct opt_walk walk = { 0 };
	const char *value;
	int o, first;

	while ((o = opt_next(&command_mem_convert, &walk, argc, argv, &value, &first)) >= 0) {
		if (set_option(&q, o, value) != EXIT_OK)
			return EXIT_USAGE;
	}
	if (o != OPT_END)
		return o == OPT_HELP ? EXIT_OK : EXIT_USAGE;
	q.path = mem_operand(&command_mem_convert, argc, argv, first);
	if (!q.path)
		return EXIT_USAGE;
	if (!q.output) {
		say("mem convert", "where to?");
		fputs("hint: corotracer mem convert -o FILE TRACE\n", stderr);
		return EXIT_USAGE;
	}
	if (is_same_file(q.path, q.output)) {
		say("mem convert", "'%s' is the trace itself", q.output);
		fputs("hint: give the new one another name\n", stderr);
		return EXIT_USAGE;
	}
	return convert(&q);
}

const struct command command_mem_convert = {
	.name = "mem convert",
	.instrument = "memory",
	.args = "[OPTIONS] -o FILE TRACE",
	.summary = "turn a memory trace into the seed's raw records, or back",
	.details =
		"Raw records are the seed's to the byte.  Threads, modules and losses go to\n"
		"FILE.meta beside them; code addresses have no place there, which is told.  A raw\n"
		"trace that becomes a container comes back as the same bytes.\n",
	.opts = options,
	.run = run,
};
