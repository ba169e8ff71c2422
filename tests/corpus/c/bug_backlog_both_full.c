// SPDX-License-Identifier: MIT
/*
 * bug_backlog_both_full.c - a parser sends tokens to a checker, the checker sends errors back over
 * a second channel of the same size.  A file with many errors fills both, and each waits to send to
 * the other.
 *
 * corpus: bug
 * class: deadlock|stalled
 * at: @token|@error
 * victims: parser, checker
 * never: lost-wakeup, leak
 */
#include "fiber_kit.h"

static struct fk_chan tokens = { .size = 16 };
static struct fk_chan errors = { .size = 16 };

static void parser(void *arg)
{
	(void)arg;
	for (long file = 1; file <= 40; file++) {
		long nr = file == 30 ? 400 : 12;

		for (long i = 1; i <= nr; i++)
			fk_send(&tokens, (void *)i); /* @token */
		for (long i = 0; i < nr / 4; i++)
			fk_recv(&errors);
		fk_sleep(5);
	}
	fk_chan_close(&tokens);
}

static void checker(void *arg)
{
	long token;

	(void)arg;
	while ((token = (long)fk_recv(&tokens)))
		if (token % 4 == 0)
			fk_send(&errors, (void *)token); /* @error */
}

static void progress(void *arg)
{
	(void)arg;
	for (;;)
		fk_sleep(50);
}

int main(void)
{
	fk_setup(1, FK_FIFO);
	fk_spawn("parser", parser, NULL);
	fk_spawn("checker", checker, NULL);
	fk_spawn("progress", progress, NULL);
	fk_run(2000);
	return 0;
}
