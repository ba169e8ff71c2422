/* SPDX-License-Identifier: MIT */
/* temp_names.c - remove temporary files when a signal ends the process. */
#include "base/temp_names.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * A signal handler on any thread may read the list at any time: entries are published complete, and
 * never changed (except @exists), freed or reused.
 */
struct temp_name {
	struct temp_name *next;
	atomic_bool exists;
	char name[];
};

static _Atomic(struct temp_name *) names;

/* Files whose names are not in the list yet, and whether a signal ends the process. */
static atomic_uint nr_creating;
static atomic_bool is_ending;

static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
#define NR_ENDING (sizeof(ending) / sizeof(ending[0]))

/* Another thread may be creating a file.  Signals are blocked there, and it never waits for us. */
static void await_created(void)
{
	struct timespec wait = { .tv_nsec = 100000 };

	/* (tool-C) pairs with begin_creating(): it counts itself first, or sees is_ending. */
	atomic_store(&is_ending, true);
	while (atomic_load(&nr_creating))
		nanosleep(&wait, NULL);
}

/* Calls only async-signal-safe functions. */
static void remove_all(int sig)
{
	struct temp_name *t;

	await_created();
	/* (tool-A) pairs with temp_name_publish(): the entry's name is complete. */
	for (t = atomic_load(&names); t; t = t->next) {
		/* (tool-A) pairs with temp_name_forget(): another file may have the name now. */
		if (atomic_load(&t->exists))
			unlink(t->name);
	}
	signal(sig, SIG_DFL);
	raise(sig); /* blocked until this handler returns */
}

static void install_handlers(void)
{
	struct sigaction now, act = { .sa_handler = remove_all, .sa_flags = SA_RESTART };
	size_t i;

	sigemptyset(&act.sa_mask);
	for (i = 0; i < NR_ENDING; i++) {
		if (sigaction(ending[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
			sigaction(ending[i], &act, NULL);
	}
	if (sigaction(SIGXFSZ, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
		signal(SIGXFSZ, SIG_IGN);
}

static void temp_name_publish(struct temp_name *t)
{
	/* (tool-A) pairs with remove_all(). */
	t->next = atomic_load(&names);
	while (!atomic_compare_exchange_weak(&names, &t->next, t))
		;
}

static void end_creating(void)
{
	/* (tool-C) pairs with await_created(): the file is in the list. */
	atomic_fetch_sub(&nr_creating, 1);
}

/* With signals blocked.  Does not return if a signal is about to end the process. */
static void begin_creating(void)
{
	/* (tool-C) pairs with await_created(). */
	atomic_fetch_add(&nr_creating, 1);
	if (!atomic_load(&is_ending))
		return;
	end_creating();
	for (;;)
		pause();
}

int temp_name_create(char *name, struct temp_name **entry)
{
	size_t size = strlen(name) + 1;
	struct temp_name *t = malloc(sizeof(*t) + size);
	sigset_t all, old;
	int fd;

	if (!t)
		return -1;
	install_handlers();
	/* Block signals so that none arrives between creating the file and its entry. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	begin_creating();
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0) {
		memcpy(t->name, name, size);
		atomic_init(&t->exists, true);
		temp_name_publish(t);
		*entry = t;
	}
	end_creating();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (fd < 0) {
		int saved = errno;

		free(t);
		errno = saved;
	}
	return fd;
}

void temp_name_forget(struct temp_name *entry)
{
	/* (tool-A) pairs with remove_all(). */
	if (entry)
		atomic_store(&entry->exists, false);
}
