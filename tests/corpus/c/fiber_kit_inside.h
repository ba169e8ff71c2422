/* SPDX-License-Identifier: MIT */
/* fiber_kit_inside.h - what the two files of fiber_kit share. */
#ifndef FIBER_KIT_INSIDE_H
#define FIBER_KIT_INSIDE_H

#include <ucontext.h>

#include "fiber_kit.h"

struct fk_fiber {
	struct corotracer_coro trace;
	ucontext_t ctx;
	void *stack;
	fk_function *fn;
	void *arg;
	int priority;
	int worker; /* -1: any */
	int fd;
	bool has_started, is_done, is_detached, was_cut_short;
	bool is_writer;
	struct fk_fiber *next, *timer_next, *joiner;
	uint64_t deadline;
	void *item;
};

void fk_enter(void);
void fk_leave(void);
void fk_switch_out(uint32_t reason, uint64_t resource, struct corotracer_site *site);
void fk_make_ready(struct fk_fiber *f, uint32_t reason, uint64_t resource,
		   struct corotracer_site *site);
bool fk_timer_remove(struct fk_fiber *f);
void fk_list_push(struct fk_list *l, struct fk_fiber *f);
void fk_list_push_front(struct fk_list *l, struct fk_fiber *f);
struct fk_fiber *fk_list_pop(struct fk_list *l);

#endif
