/* SPDX-License-Identifier: MIT */
/*
 * blocks.c - threads that take tickets in blocks, and lap a small ring all the time.
 *
 * The collector is in the same process.  Some threads pause with unused tickets, so that others
 * have passed them when they go on.  Whatever happens: no frame is a mixture of two, none comes
 * twice, and the threads' counts are those of their saves.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "frames/live/frame_ring.h"
#include "frames/spec/frames_abi.h"
#include "ppt-Traced.h"

#define THREADS 6
#define SAVES   60000u
#define TOTAL   ((uint64_t)THREADS * SAVES)
#define SLOTS   256u
#define BLOCK   16u

extern struct ppt_hmem __ppt_Traced_hmem;

static struct ppt_control *control;
static uint64_t nr_saves, received, wrong;
static uint8_t seen[THREADS][SAVES];
static int tids[THREADS];

static uint64_t mixed(uint64_t number, uint64_t thread)
{
	return (number * 0x9e3779b97f4a7c15u) ^ (thread << 56);
}

static void *save_frames(void *arg)
{
	unsigned thread = *(const unsigned *)arg, i;

	tids[thread] = (int)syscall(SYS_gettid);
	for (i = 0; i < SAVES; i++) {
		struct ppt_Traced_step f = { .number = i, .tid = tids[thread] };

		f.coro = mixed(i, thread);
		f.where = (enum ppt_Traced_place)(i % 5);
		memset(f.text, (int)('a' + i % 26), sizeof(f.text));
		ppt_Traced_step_save(&f);
		__atomic_fetch_add(&nr_saves, 1, __ATOMIC_RELAXED);
		/* In the middle of a block, for many laps of the others. */
		if (thread < 2 && i % 997 == 5)
			usleep(500);
	}
	return NULL;
}

static unsigned thread_with(int tid)
{
	unsigned i;

	for (i = 0; i < THREADS && tids[i] != tid; i++)
		;
	return i;
}

static void frame_check(void *arg, uint64_t ticket, const uint8_t *image)
{
	const struct ring *r = arg;
	struct ppt_Traced_step f = { 0 };
	unsigned thread, i;
	bool good;

	(void)ticket;
	memcpy(&f, image, r->frame_size);
	received++;
	thread = thread_with(f.tid);
	good = thread < THREADS && f.number < SAVES && f.coro == mixed(f.number, thread) &&
	       (uint64_t)f.tid == r->stamp_tid && r->stamp_time != 0 &&
	       (unsigned)f.where == f.number % 5 && !seen[thread][f.number];
	for (i = 0; good && i < sizeof(f.text); i++)
		good = f.text[i] == (char)('a' + f.number % 26);
	if (good)
		seen[thread][f.number] = 1;
	wrong += !good;
}

static int offer_ring(struct ring *r)
{
	uint32_t frame = (uint32_t)offsetof(struct ppt_Traced_step, __ppt_seqno_back) + 4;
	uint32_t stride = (frame + 7) & ~7u;
	size_t offset = ppt_slot0_offset(PPT_CONTROL_SIZE_COUNTS, stride);
	int id = shmget(IPC_PRIVATE, offset + SLOTS * (stride + sizeof(struct ppt_stamp)),
			IPC_CREAT | 0600);

	control = shmat(id, NULL, 0);
	shmctl(id, IPC_RMID, NULL);
	control->control_blk_sz = PPT_CONTROL_SIZE_COUNTS;
	control->magic = PPT_EXT_MAGIC;
	control->ext_version = PPT_EXT_VERSION;
	control->next_ticket = 1;
	control->stamp_kind = PPT_STAMP_NS;
	control->block_size = BLOCK;
	CHECK(ring_init(r, stride, frame, frame_check, r) == 0);
	r->now.slots = (const uint8_t *)control + offset;
	r->now.nr = SLOTS;
	r->now.anchor = 1;
	r->now.stamps = r->now.slots + (size_t)SLOTS * stride;
	__atomic_store_n(&__ppt_Traced_hmem.id, id, __ATOMIC_RELEASE);
	return id;
}

static uint64_t counts_sum(void)
{
	const struct ppt_count *counts = (const void *)((const char *)control + PPT_CONTROL_SIZE);
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < PPT_COUNTS; i++)
		sum += __atomic_load_n(&counts[i].saved, __ATOMIC_RELAXED);
	return sum;
}

int main(void)
{
	pthread_t threads[THREADS];
	struct ppt_Traced_step first = { .number = SAVES };
	struct ring r;
	unsigned numbers[THREADS], i;

	offer_ring(&r);
	/* One thread attaches: others would save nothing meanwhile. */
	ppt_Traced_step_save(&first);
	if (!__atomic_load_n(&control->counts_used, __ATOMIC_RELAXED)) {
		puts("no membarrier here: no blocks");
		return 0;
	}
	ring_poll(&r, control->next_ticket, false);
	CHECK(received == 1 && wrong == 1);
	received = wrong = 0;
	for (i = 0; i < THREADS; i++) {
		numbers[i] = i;
		pthread_create(&threads[i], NULL, save_frames, &numbers[i]);
	}
	while (__atomic_load_n(&nr_saves, __ATOMIC_RELAXED) < TOTAL) {
		ring_poll(&r, __atomic_load_n(&control->next_ticket, __ATOMIC_ACQUIRE), false);
		usleep(50);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ring_poll(&r, control->next_ticket, false);
	printf("%llu saved, %llu read, %llu dropped, %llu wrong, tickets up to %llu\n",
	       (unsigned long long)counts_sum() - 1, (unsigned long long)received,
	       (unsigned long long)control->dropped, (unsigned long long)wrong,
	       (unsigned long long)control->next_ticket);
	CHECK(wrong == 0);
	CHECK(counts_sum() == TOTAL + 1);
	CHECK(received > SLOTS && received + control->dropped <= TOTAL);
	ring_release(&r);
	return 0;
}
