// SPDX-License-Identifier: MIT
/*
 * bug_mailbox_signal_early.c - the mail fetcher checks a flag, does a slow step and then waits; a
 * signal that comes during the slow step finds no waiter and is lost.  The fetcher is the only one
 * of its kind.
 *
 * corpus: bug
 * class: lost-wakeup|stalled
 * at: @wait
 * victims: fetcher
 * also: user
 * never: deadlock, blocking
 */
#include "fiber_kit.h"

static struct fk_cond has_mail;
static int nr_mails, nr_fetched;

static void fetcher(void *arg)
{
	(void)arg;
	for (;;) {
		if (nr_mails == nr_fetched) {
			fk_sleep(2);                   /* saves its position */
			fk_cond_wait(&has_mail, NULL); /* @wait */
		}
		nr_fetched = nr_mails;
		fk_sleep(4);
	}
}

/* Sends a mail when the last one was fetched. */
static void user(void *arg)
{
	int sent = 0;

	(void)arg;
	for (;;) {
		if (nr_fetched == nr_mails) {
			/* The 40th comes soon: the fetcher saves its position. */
			fk_sleep(sent == 40 ? 4 : 25);
			nr_mails++;
			sent++;
			fk_cond_signal(&has_mail);
		}
		fk_sleep(1);
	}
}

int main(void)
{
	fk_setup(1, FK_FIFO);
	fk_spawn("fetcher", fetcher, NULL);
	fk_spawn("user", user, NULL);
	fk_run(3000);
	return 0;
}
