/* SPDX-License-Identifier: MIT */
/*
 * bug_sender_leaked.c - a channel closes when its last sender is dropped.  A registry keeps a copy
 * of the sender: the collector of the results waits for the end of a channel that no fiber uses.
 *
 * corpus: bug
 * class: lost-wakeup|stalled
 * at: @stuck
 * victims: collector
 * also: report
 */
#include "loop_sync.h"

struct sender {
	struct fiber_chan *chan;
	int *nr_senders;
};

static struct fiber_chan results = { .capacity = 4 };
static int nr_senders;
static struct sender registry; /* for the statistics page */

static struct sender sender_copy(void)
{
	nr_senders++;
	return (struct sender){ &results, &nr_senders };
}

static void sender_drop(struct sender *s)
{
	if (--*s->nr_senders == 0)
		fiber_chan_close(s->chan);
}

static void crawl_pages(void *arg)
{
	struct sender to = sender_copy();
	int i;

	for (i = 0; i < 20; i++) {
		fiber_sleep(7);
		fiber_send(to.chan, arg);
	}
	sender_drop(&to);
}

static void collect_results(void *arg)
{
	(void)arg;
	while (fiber_recv(&results)) /* @stuck */
		;
}

static void write_report(void *arg)
{
	fiber_join(arg);
}

int main(void)
{
	int i;

	registry = sender_copy();
	for (i = 0; i < 5; i++)
		loop_spawn(crawl_pages, &registry, "crawler-%d", i);
	loop_spawn(write_report, loop_spawn(collect_results, NULL, "collector"), "report");
	loop_run(1800);
	return 0;
}
