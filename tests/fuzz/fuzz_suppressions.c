/* SPDX-License-Identifier: MIT */
/*
 * fuzz_suppressions.c - files of known findings, against hostile input.
 *
 * What is accepted has rules with a detector and a glob, and comparing with them ends.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/suppress.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#include "text_mutations.h"

static uint64_t nr_suppression_rules, nr_suppression_errors, nr_suppressed;

static void check_rules(struct suppressions *s)
{
	const struct suppression_subject subject = { "lost-wakeup", "src/server.c:12 reader()",
						     "reader", "worker 7" };
	size_t i;

	for (i = 0; i < s->nr; i++) {
		MUST_HOLD(s->rules[i].detector[0] && s->rules[i].glob);
		MUST_HOLD(s->rules[i].of <= SUPPRESS_KIND);
	}
	nr_suppression_rules += s->nr;
	MUST_HOLD(suppressions_match(s, &subject) <= s->nr);
	for (i = 0; i < s->nr; i++)
		nr_suppressed += s->rules[i].used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct suppressions s = { .nr = 0 };
	struct err err = { 0 };
	char path[64];
	int fd, rc;

	if (size > 4096) /* globs are compared in quadratic time */
		return 0;
	fd = memfd_create("suppressions", MFD_CLOEXEC);
	MUST_HOLD(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = suppressions_read(&s, path, &err);
	MUST_HOLD(rc == 0 || (rc < 0 && err.text[0]));
	if (rc == 0)
		check_rules(&s);
	nr_suppression_errors += rc < 0;
	suppressions_release(&s);
	close(fd);
	return 0;
}

#ifndef FUZZ_LIBFUZZER

int main(int argc, char **argv)
{
	static const char *const seeds[] = {
		"# known\nlost-wakeup:server.c:12 *\n*:kind:worker*\nlost-wakeup:function:rea?er\n",
		"leak:function:main\r\n\n*:*\n", NULL
	};
	static const char *const words[] = { "lost-wakeup:", "*",  ":",  "kind:", "function:",
					     "[a-z",         "\n", "\\", "#",     "?",
					     "\r\n",         "!",  NULL };
	struct text_source source = { seeds, words, 0 };
	unsigned long rounds = text_rounds(argc, argv);

	text_inputs(&source, rounds);
	printf("%lu inputs: %llu rules, %llu errors, %llu suppressed\n", rounds,
	       (unsigned long long)nr_suppression_rules, (unsigned long long)nr_suppression_errors,
	       (unsigned long long)nr_suppressed);
	if (rounds >= 1000)
		MUST_HOLD(nr_suppression_rules && nr_suppression_errors && nr_suppressed);
	return 0;
}

#endif
