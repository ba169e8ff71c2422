/* SPDX-License-Identifier: MIT */
/* kernel_state.c - ask the kernel for the descriptors of a process. */
#include "inspect/kernel_state.h"

#include <errno.h>
#include <stdlib.h>

#define WATCHES_MAX (1u << 22)

/* ---- epoll sets ------------------------------------------------------------------ */

static bool kernel_add_watch(void *ctx, const struct descriptor_watch *watch)
{
	struct kernel_state *k = ctx;

	if (k->nr_watches == k->room_watches) {
		size_t room = k->room_watches ? k->room_watches * 2 : 64;
		struct descriptor_watch *more = NULL;

		if (room <= WATCHES_MAX)
			more = reallocarray(k->watches, room, sizeof(*more));
		if (!more) {
			k->has_failed = true;
			return false;
		}
		k->watches = more;
		k->room_watches = room;
	}
	k->watches[k->nr_watches++] = *watch;
	return true;
}

static bool kernel_visit_descriptor(void *ctx, int fd)
{
	struct kernel_state *k = ctx;
	struct descriptor_state state;

	if (descriptors_kind(&k->process, fd, &state) == 0 && state.kind == DESCRIPTOR_EPOLL &&
	    descriptors_each_watch(&k->process, fd, kernel_add_watch, k) < 0)
		k->has_failed = true;
	return true;
}

static void kernel_read_watches(struct kernel_state *k)
{
	size_t i;

	k->nr_watches = 0;
	u64map_release(&k->by_watch);
	k->by_watch = (struct u64map){ 0 };
	if (descriptors_each(&k->process, kernel_visit_descriptor, k) < 0)
		k->has_failed = true;
	for (i = k->nr_watches; i-- > 0;) {
		if (u64map_put(&k->by_watch, (uint64_t)k->watches[i].fd, i + 1) < 0)
			k->has_failed = true;
	}
}

/* ---- descriptors ------------------------------------------------------------------ */

static void kernel_look(const struct kernel_state *k, int fd, struct kernel_descriptor *out)
{
	uint64_t at;

	*out = (struct kernel_descriptor){ .state.fd = fd };
	out->error = descriptors_look(&k->process, fd, &out->state);
	if (out->error || !u64map_get(&k->by_watch, (uint64_t)fd, &at))
		return;
	out->watch = k->watches[at - 1];
	out->is_watched = out->watch.inode == out->state.inode;
}

const struct kernel_descriptor *kernel_state_ask(struct kernel_state *k, int fd)
{
	struct kernel_descriptor *more;
	uint64_t *slot;

	if (!(k->is_open || k->is_saved) || fd < 0 || !(slot = u64map_at(&k->by_fd, (uint64_t)fd)))
		return NULL;
	if (*slot)
		return &k->known[*slot - 1];
	if (k->nr_known == k->room_known) {
		size_t room = k->room_known ? k->room_known * 2 : 64;

		more = reallocarray(k->known, room, sizeof(*more));
		if (!more)
			return NULL;
		k->known = more;
		k->room_known = room;
	}
	if (k->is_open)
		kernel_look(k, fd, &k->known[k->nr_known]);
	else
		k->known[k->nr_known] = (struct kernel_descriptor){
			.state.fd = fd, .error = k->has_failed ? -EPERM : -EBADF
		};
	*slot = ++k->nr_known;
	return &k->known[k->nr_known - 1];
}

static bool kernel_is_same(const struct kernel_descriptor *a, const struct kernel_descriptor *b)
{
	const struct descriptor_state *x = &a->state, *y = &b->state;

	return a->error == b->error && a->is_watched == b->is_watched && x->kind == y->kind &&
	       x->inode == y->inode && x->can_read == y->can_read && x->can_write == y->can_write &&
	       x->unread == y->unread && x->has_hung_up == y->has_hung_up &&
	       x->has_error == y->has_error &&
	       (!a->is_watched || (a->watch.events == b->watch.events &&
				   a->watch.is_disarmed == b->watch.is_disarmed));
}

bool kernel_state_confirm(struct kernel_state *k)
{
	bool is_same = true;
	size_t i;

	if (!k->is_open)
		return false;
	kernel_read_watches(k);
	for (i = 0; i < k->nr_known; i++) {
		struct kernel_descriptor now;

		kernel_look(k, k->known[i].state.fd, &now);
		is_same = is_same && kernel_is_same(&k->known[i], &now);
		k->known[i] = now;
	}
	k->is_quiet = descriptors_are_quiet(&k->process);
	return is_same && k->is_quiet;
}

void kernel_state_open(struct kernel_state *k, pid_t pid)
{
	struct err err;

	*k = (struct kernel_state){ 0 };
	k->is_open = descriptors_open(&k->process, pid, &err) == 0;
	if (!k->is_open)
		return;
	kernel_read_watches(k);
	k->is_quiet = descriptors_are_quiet(&k->process);
}

void kernel_state_close(struct kernel_state *k)
{
	if (k->is_open)
		descriptors_close(&k->process);
	free(k->watches);
	free(k->known);
	free(k->words);
	u64map_release(&k->by_fd);
	u64map_release(&k->by_watch);
	*k = (struct kernel_state){ 0 };
}
