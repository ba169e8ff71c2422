/* SPDX-License-Identifier: MIT */
/*
 * frames_collector.h - a minimal collector, for tests of generated code.
 *
 * It runs in the process that it collects from, with its own mapping, and follows
 * docs/frames.md: it does not depend on generated code.
 */
#ifndef TESTS_FRAMES_FRAMES_COLLECTOR_H
#define TESTS_FRAMES_FRAMES_COLLECTOR_H

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <time.h>

#include "frames/spec/frames_abi.h"

struct collector {
	struct ppt_hmem *hmem;
	uint32_t frame_size, stride;
	int id;
	struct ppt_control *control;
	int data_id; /* 0: the slots follow the control block */
	unsigned char *data;
	size_t data_size; /* of the slots */
	/* Set when the client has attached. */
	unsigned char *slots;
	uint32_t nr_slots;
	uint32_t *last; /* the last number taken from each slot */
	uint64_t received, torn;
};

static inline void collector_die(const char *what)
{
	fprintf(stderr, "collector: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* A segment that is removed with its last detach. Never id 0. */
static inline void *collector_segment(size_t size, int *id)
{
	void *map;

	*id = shmget(IPC_PRIVATE, size, IPC_CREAT | IPC_EXCL | 0600);
	if (*id == 0) {
		*id = shmget(IPC_PRIVATE, size, IPC_CREAT | IPC_EXCL | 0600);
		shmctl(0, IPC_RMID, NULL);
	}
	if (*id < 0)
		collector_die("shmget");
	map = shmat(*id, NULL, 0);
	if (map == (void *)-1) /* NOLINT */
		collector_die("shmat");
	shmctl(*id, IPC_RMID, NULL);
	return map;
}

/* Atomic for ThreadSanitizer's sake: it does not notice when another segment reuses an address. */
#define COLLECTOR_SET(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)
#define COLLECTOR_GET(field)        __atomic_load_n(&(field), __ATOMIC_RELAXED)

/* Create the segments. @slots is a power of two. */
static inline void collector_create(struct collector *c, uint32_t slots, int resizable)
{
	size_t offset = resizable ? PPT_CONTROL_SIZE
				  : ppt_slot0_offset(PPT_CONTROL_SIZE, c->stride);

	c->data_size = (size_t)slots * c->stride;
	c->control = collector_segment(offset + (resizable ? 0 : c->data_size), &c->id);
	COLLECTOR_SET(c->control->control_blk_sz, PPT_CONTROL_SIZE);
	COLLECTOR_SET(c->control->magic, PPT_EXT_MAGIC);
	COLLECTOR_SET(c->control->ext_version, PPT_EXT_VERSION);
	COLLECTOR_SET(c->control->next_ticket, 1);
	c->data_id = 0;
	c->data = NULL;
	if (resizable) {
		c->data = collector_segment(c->data_size, &c->data_id);
		COLLECTOR_SET(c->control->data_block_hmem, (uint64_t)c->data_id);
	}
	c->received = c->torn = 0;
	c->slots = NULL;
	c->last = NULL;
}

static inline void collector_offer(struct collector *c)
{
	__atomic_store_n(&c->hmem->id, c->id, __ATOMIC_RELEASE);
}

static inline void collector_found(struct collector *c)
{
	c->nr_slots = (uint32_t)COLLECTOR_GET(c->control->data_block_sz);
	c->slots = (c->data ? c->data : (unsigned char *)c->control) +
		   COLLECTOR_GET(c->control->data_offset);
	if (COLLECTOR_GET(c->control->stride) != c->stride || !c->nr_slots ||
	    (c->nr_slots & (c->nr_slots - 1)) || (size_t)c->nr_slots * c->stride > c->data_size) {
		fprintf(stderr, "collector: a ring of %u slots of %u bytes\n", c->nr_slots,
			COLLECTOR_GET(c->control->stride));
		exit(1);
	}
	free(c->last);
	c->last = calloc(c->nr_slots, sizeof(*c->last));
}

/* Has the client attached? */
static inline int collector_attached(struct collector *c)
{
	/* This acquire pairs with the client's last store. */
	if (!(__atomic_load_n(&c->control->client_flags, __ATOMIC_ACQUIRE) &
	      PPT_CLIENT_FLAG_ATTACHED))
		return 0;
	if (!c->slots)
		collector_found(c);
	return 1;
}

/* Copies one slot into @frame if it holds a new frame. */
static inline int collector_slot(struct collector *c, uint32_t i, unsigned char *frame)
{
	unsigned char *slot = c->slots + (size_t)i * c->stride;
	uint32_t *front = (uint32_t *)(void *)slot;
	uint32_t *back = (uint32_t *)(void *)(slot + c->frame_size - 4);
	/* (ppt-B) pairs with the client's release of front. */
	uint32_t f = __atomic_load_n(front, __ATOMIC_ACQUIRE), copied;
	size_t k;

	if (!f || f == c->last[i])
		return 0;
	if (__atomic_load_n(back, __ATOMIC_ACQUIRE) != f)
		return 0;
	for (k = 0; k < c->frame_size; k += 4) {
		uint32_t word = __atomic_load_n((uint32_t *)(void *)(slot + k), __ATOMIC_RELAXED);

		memcpy(frame + k, &word, 4);
	}
	/* (ppt-A) pairs with the client's fence behind back. */
#if !defined(__SANITIZE_THREAD__)
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
#else
	__asm__ volatile("" ::: "memory");
#endif
	memcpy(&copied, frame + c->frame_size - 4, 4);
	if (copied != f || __atomic_load_n(front, __ATOMIC_RELAXED) != f ||
	    __atomic_load_n(back, __ATOMIC_RELAXED) != f) {
		c->torn++;
		return 0;
	}
	if (c->last[i] && (int32_t)(f - c->last[i]) <= 0) {
		fprintf(stderr, "collector: slot %u went from %u back to %u\n", i, c->last[i], f);
		exit(1);
	}
	if (ppt_slot_of(f, c->nr_slots) != i) {
		fprintf(stderr, "collector: frame %u in slot %u\n", f, i);
		exit(1);
	}
	c->last[i] = f;
	c->received++;
	return 1;
}

/* Passes every new frame to @take. */
static inline void collector_drain(struct collector *c,
				   void (*take)(const unsigned char *frame, void *arg), void *arg)
{
	unsigned char *frame = malloc(c->frame_size);
	uint32_t i;

	for (i = 0; frame && i < c->nr_slots; i++) {
		if (collector_slot(c, i, frame) && take)
			take(frame, arg);
	}
	free(frame);
}

static inline uint64_t collector_lost(const struct collector *c)
{
	return ppt_frames_issued(__atomic_load_n(&c->control->next_ticket, __ATOMIC_ACQUIRE)) -
	       c->received;
}

/* Unmaps the collector's mappings. 1: the segments are removed. */
static inline int collector_close(struct collector *c)
{
	struct shmid_ds info;
	int gone;

	shmdt(c->control);
	gone = shmctl(c->id, IPC_STAT, &info) < 0;
	if (c->data) {
		shmdt(c->data);
		gone = gone && shmctl(c->data_id, IPC_STAT, &info) < 0;
	}
	free(c->last);
	c->last = NULL;
	c->control = NULL;
	c->data = NULL;
	return gone;
}

#endif
