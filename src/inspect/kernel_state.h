/* SPDX-License-Identifier: MIT */
/*
 * kernel_state.h - the descriptors of a process as the kernel sees them, at one moment.
 *
 * Only descriptors that a coroutine holds are asked; the epoll sets are read completely, because
 * the word that a program stored with a descriptor may be the only pointer to a coroutine.
 */
#ifndef INSPECT_KERNEL_STATE_H
#define INSPECT_KERNEL_STATE_H

#include "base/u64map.h"
#include "process/descriptors.h"

struct kernel_descriptor {
	struct descriptor_state state;
	int error;       /* -EBADF: not open; other: unknown */
	bool is_watched; /* in an epoll set */
	struct descriptor_watch watch;
};

struct kernel_state {
	struct descriptors process;
	bool is_open;  /* the process can be asked */
	bool is_saved; /* the state is from a file: descriptors that it lacks were closed */
	struct descriptor_watch *watches;
	size_t nr_watches, room_watches;
	struct kernel_descriptor *known;
	size_t nr_known, room_known;
	struct u64map by_fd;    /* descriptor to 1 + position in known */
	struct u64map by_watch; /* descriptor to 1 + position in watches, the first of several */
	bool is_quiet;          /* all threads slept */
	bool has_failed;        /* some of it could not be read */
	/* Of a file: */
	uint64_t *words; /* that the kernel kept, see kernel_roots.h */
	size_t nr_words;
	char doubt[128]; /* why pointers may be in the kernel; "": no reason */
};

/* Reads the epoll sets.  A process that cannot be asked: is_open is false. */
void kernel_state_open(struct kernel_state *k, pid_t pid);

/* The descriptor, asked at the first call.  NULL: it cannot be asked. */
const struct kernel_descriptor *kernel_state_ask(struct kernel_state *k, int fd);

/* Ask for everything again.  True if the answers are the same, and the threads slept. */
bool kernel_state_confirm(struct kernel_state *k);

/* Ask for all descriptors of the process. */
void kernel_state_ask_all(struct kernel_state *k);

/*
 * The state as text, from malloc(); @is_settled: two looks were equal, and no thread has run in
 * between.  NULL: no memory.
 */
char *kernel_state_save(const struct kernel_state *k, bool is_settled);

/* The state from such a text.  0 or a negative errno; is_quiet: it was settled. */
int kernel_state_load(struct kernel_state *k, const char *text);

void kernel_state_close(struct kernel_state *k);

#endif
