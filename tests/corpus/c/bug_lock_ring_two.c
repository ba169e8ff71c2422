/* SPDX-License-Identifier: MIT */
/*
 * bug_lock_ring_two.c - transfers lock the two accounts in the order of their arguments.
 *
 * corpus: bug
 * class: deadlock
 * at: @stuck
 * victims: transfer-40, transfer-41
 */
#include "loop_sync.h"

#define NR_ACCOUNTS 6

struct account {
	struct fiber_mutex lock;
	int balance;
};

struct transfer {
	int from, to;
};

static struct account accounts[NR_ACCOUNTS];

static void move_money(void *arg)
{
	struct transfer *t = arg;

	fiber_lock(&accounts[t->from].lock);
	fiber_sleep(1);                    /* the audit log */
	fiber_lock(&accounts[t->to].lock); /* @stuck */
	accounts[t->from].balance--;
	accounts[t->to].balance++;
	fiber_unlock(&accounts[t->to].lock);
	fiber_unlock(&accounts[t->from].lock);
}

/* Transfers go upwards, except number 41, which meets 40 on the accounts 1 and 2. */
static void start_transfers(void *arg)
{
	static struct transfer transfers[160];
	int i;

	(void)arg;
	for (i = 0; i < 160; i++) {
		transfers[i] = (struct transfer){ i % 3, i % 3 + 3 };
		if (i == 40)
			transfers[i] = (struct transfer){ 1, 2 };
		if (i == 41)
			transfers[i] = (struct transfer){ 2, 1 };
		/* What touches the accounts 1 and 2 later would only queue behind these two. */
		if (i > 41)
			transfers[i] = (struct transfer){ 0, 3 + i % 3 };
		loop_spawn(move_money, &transfers[i], "transfer-%d", i);
		if (i != 40)
			fiber_sleep(10);
	}
}

int main(void)
{
	loop_spawn(start_transfers, NULL, "source");
	loop_run(2000);
	return 0;
}
