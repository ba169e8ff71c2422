/* SPDX-License-Identifier: MIT */
/*
 * fuzz_options.c - command lines against a table with every type of option.
 *
 * The lines of the input are the words.  What is accepted is within the bounds of the table.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "cmd.h"
#include "opts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#include "text_mutations.h"

#define WORDS_MAX 64

struct fuzzed_options {
	bool flag;
	unsigned verbose;
	const char *text, *name;
	uint32_t number;
	uint64_t size, real;
	int choice;
};

static const struct opt fuzzed_table[] = {
	{ 'f', "flag", NULL, "flag", OPT_FLAG(struct fuzzed_options, flag) },
	{ 'v', "verbose", NULL, "more", OPT_COUNT(struct fuzzed_options, verbose) },
	{ 't', "text", "TEXT", "text", OPT_TEXT(struct fuzzed_options, text) },
	{ 'o', "output", "FILE", "name", OPT_NAME(struct fuzzed_options, name) },
	{ 'n', "top", "N", "rows", OPT_NUMBER(struct fuzzed_options, number, 1, 100) },
	{ 0, "size", "SIZE", "size", OPT_SIZE(struct fuzzed_options, size, 10, 1 << 20) },
	{ 0, "real", "SECONDS", "real", OPT_REAL(struct fuzzed_options, real, 0.5, 10, 1000) },
	{ 0, "format", "FORMAT", "format",
	  OPT_CHOICE(struct fuzzed_options, choice, "csv, jsonl or sqlite", 5) },
	{ .name = NULL },
};

static const struct command fuzzed_command = { .name = "fuzzed",
					       .args = "[OPTIONS] FILE",
					       .summary = "fuzzed",
					       .opts = fuzzed_table,
					       .details = "" };

static uint64_t nr_accepted, nr_rejected;

/* Messages and help texts go nowhere. */
static void silence(void)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	MUST_HOLD(fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
#ifndef FUZZ_LIBFUZZER
	MUST_HOLD(dup2(fd, STDERR_FILENO) >= 0);
#endif
	close(fd);
}

static void check_options(const struct fuzzed_options *o, int first, int nr)
{
	MUST_HOLD(first >= 1 && first <= nr);
	MUST_HOLD(o->number <= 100 && (!o->size || (o->size >= 10 && o->size <= 1 << 20)));
	MUST_HOLD(!o->real || (o->real >= 500 && o->real <= 10000));
	MUST_HOLD(!o->choice || (o->choice >= 5 && o->choice <= 7));
	MUST_HOLD(!o->name || o->name[0]);
	nr_accepted++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzzed_options o = { .flag = false };
	char line[TEXT_INPUT_MAX + 1], *words[WORDS_MAX + 2] = { "fuzzed" }, *rest = line;
	int nr = 1, first = 0, rc;

	if (size > TEXT_INPUT_MAX)
		return 0;
	if (!nr_accepted && !nr_rejected)
		silence();
	memcpy(line, data, size);
	line[size] = '\0';
	while (nr <= WORDS_MAX && rest)
		words[nr++] = strsep(&rest, "\n");
	words[nr] = NULL;
	rc = opts_parse(&fuzzed_command, &o, nr, words, &first);
	if (rc == OPTS_PARSED)
		check_options(&o, first, nr);
	else
		nr_rejected++;
	return 0;
}

#ifndef FUZZ_LIBFUZZER

int main(int argc, char **argv)
{
	static const char *const seeds[] = {
		"-f\n-v\n-t\nx\n--output=a\n-n\n7\n--size\n64K\n--real=1.5\n--format\njsonl\nFILE",
		"--top=100\n--\n-f\n", "-fvn3\n--help", NULL
	};
	static const char *const words[] = { "--",     "-",     "=",
					     "\n",     "--top", "1e9",
					     "64K",    "--siz", "99999999999999999999",
					     "nan",    "-1",    "csv",
					     "--real", "",      "-fvtn",
					     "0x10",   NULL };
	struct text_source source = { seeds, words, 0 };
	unsigned long rounds = text_rounds(argc, argv);

	text_inputs(&source, rounds);
	return rounds >= 1000 && (!nr_accepted || !nr_rejected);
}

#endif
