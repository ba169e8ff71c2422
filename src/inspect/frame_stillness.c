/* SPDX-License-Identifier: MIT */
/* frame_stillness.c - frames that do not change while the threads of the process go on. */
#include "inspect/frame_stillness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inspect/frame_links.h"
#include "process/image_backend.h"

#define STILLNESS_POLL_MS 5
#define STILLNESS_POLLS   400
/*
 * The kernel adds to a thread's processor time at every tick, of at most 10 ms: a smaller
 * difference may be of the time before.
 */
#define STILLNESS_CPU_NS 11000000u
/*
 * The host of a virtual machine may take the processor away: the kernel adds that time at once,
 * just before the thread goes on.  After a second time, it has gone on.
 */
#define STILLNESS_ROUNDS 2

static uint64_t stillness_hash(const uint8_t *bytes, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325ull ^ size;

	while (size >= 8) {
		uint64_t word;

		memcpy(&word, bytes, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
		bytes += 8;
		size -= 8;
	}
	while (size--)
		hash = (hash ^ *bytes++) * 0x100000001b3ull;
	return hash;
}

static void stillness_note(void *arg, uint32_t number, const uint8_t *bytes, size_t size)
{
	struct frame_stillness *s = arg;

	s->hashes[number] = stillness_hash(bytes, size);
}

/* ---- threads ---------------------------------------------------------------------------- */

static const struct image_thread *stillness_find(const struct image_thread *threads, ssize_t nr,
						 pid_t tid)
{
	ssize_t i;

	for (i = 0; i < nr; i++) {
		if (threads[i].tid == tid)
			return &threads[i];
	}
	return NULL;
}

/* True if all threads that were ready to run have run, or have ended, or are blocked. */
static bool stillness_all_moved(const struct image_thread *before, ssize_t nr, pid_t pid)
{
	struct image_thread *now = NULL;
	ssize_t nr_now = image_read_tasks(pid, &now), i;
	bool all = true;

	for (i = 0; i < nr && nr_now > 0; i++) {
		const struct image_thread *t = stillness_find(now, nr_now, before[i].tid);

		if (before[i].state == 'R' && t && t->state == 'R' &&
		    t->cpu_ns < before[i].cpu_ns + STILLNESS_CPU_NS)
			all = false;
	}
	free(now);
	return all;
}

/* Wait until every thread that is ready to run has run.  True: that did not happen in time. */
static bool stillness_wait(pid_t pid)
{
	struct image_thread *threads = NULL;
	ssize_t nr = image_read_tasks(pid, &threads);
	bool all = false;
	int poll;

	for (poll = 0; !all && poll < STILLNESS_POLLS; poll++) {
		all = stillness_all_moved(threads, nr, pid);
		if (!all)
			nanosleep(&(struct timespec){ .tv_nsec = STILLNESS_POLL_MS * 1000000L },
				  NULL);
	}
	free(threads);
	return !all;
}

int frame_stillness_begin(struct frame_stillness *s, const struct process_image *image,
			  const struct frame_table *table)
{
	int round;

	*s = (struct frame_stillness){ 0 };
	if (image->kind != IMAGE_RUNNING || !table->nr)
		return 0;
	s->hashes = calloc(table->nr, sizeof(*s->hashes));
	if (!s->hashes || frame_table_visit(image, table, stillness_note, s) < 0)
		return -ENOMEM;
	for (round = 0; !s->is_unsettled && round < STILLNESS_ROUNDS; round++)
		s->is_unsettled = stillness_wait(image->pid);
	return 0;
}

bool frame_stillness_holds(const struct frame_stillness *s, uint32_t number, const uint8_t *bytes,
			   size_t size)
{
	return !s->hashes || s->hashes[number] == stillness_hash(bytes, size);
}

void frame_stillness_release(struct frame_stillness *s)
{
	free(s->hashes);
	*s = (struct frame_stillness){ 0 };
}
