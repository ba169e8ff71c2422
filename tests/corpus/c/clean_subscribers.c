/* SPDX-License-Identifier: MIT */
/*
 * clean_subscribers.c - each price is broadcast to twenty-five subscribers; all of them look at it,
 * and wait for the next one.
 *
 * corpus: clean
 */
#include "loop_sync.h"

static struct fiber_cond new_price;
static int price, nr_seen;

static void follow_price(void *arg)
{
	int last = 0;

	(void)arg;
	for (;;) {
		fiber_cond_wait(&new_price);
		if (price != last)
			nr_seen++;
		last = price;
	}
}

static void publish_prices(void *arg)
{
	(void)arg;
	for (price = 1; price <= 200; price++) {
		fiber_cond_broadcast(&new_price);
		fiber_sleep(7);
	}
}

int main(void)
{
	int i;

	for (i = 0; i < 25; i++)
		loop_spawn(follow_price, NULL, "subscriber-%d", i);
	loop_spawn(publish_prices, NULL, "exchange");
	loop_run(1300);
	return 0;
}
