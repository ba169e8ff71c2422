/* SPDX-License-Identifier: MIT */
/* run_awaits.c - where futures wait that do not say it (`run --awaits`). */
#include "run_awaits.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/monotonic.h"
#include "base/strtab.h"
#include "base/u64map.h"
#include "process/process_check.h"
#include "process_look.h"

#define AWAIT_PROCESSES 16                /* further processes are not looked at */
#define AWAITS_MAX      1000000           /* coroutines */
#define REST_LEAST_NS   (300 * NS_PER_MS) /* between two looks */
#define REST_PER_LOOK   19                /* a look is at most a twentieth of the time */

/* Where a coroutine waited during a look. */
struct found_await {
	uint64_t looked_ts;      /* begin of the look */
	uint32_t file, function; /* index in texts */
	uint32_t line;
};

/* The lock is for everything but the thread itself. */
static struct {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_begun, is_over;
	pid_t pids[AWAIT_PROCESSES];
	size_t nr_pids, next, nr_looks;
	struct u64map by_id; /* coroutine to 1 + index in found */
	struct found_await *found;
	size_t nr, room;
	struct strtab texts;
	char missing[LOOK_WHY_SIZE]; /* why a look failed */
} awaits = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- what a look found ----------------------------------------------------------------- */

/* Code of libraries, by the directories in which Cargo and rustc have it. */
static bool await_is_of_library(const char *file)
{
	return strstr(file, "/.cargo/registry/") || strstr(file, "/.cargo/git/") ||
	       strstr(file, "/rustc/") || strstr(file, "/rustlib/") ||
	       strstr(file, "/cargo/registry/");
}

/* The innermost .await whose line is known, if possible outside of libraries; NULL: none. */
static const json_t *await_level(const json_t *group)
{
	const json_t *level, *innermost = NULL;
	size_t i;

	json_array_foreach (json_object_get(group, "stack"), i, level) {
		const char *file = json_string_value(json_object_get(level, "file"));

		if (!file || !json_is_true(json_object_get(level, "exact")))
			continue;
		if (!await_is_of_library(file))
			return level;
		innermost = innermost ? innermost : level;
	}
	return innermost;
}

/* The entry of a coroutine, which may be new; NULL: no memory, or too many. */
static struct found_await *await_entry(uint64_t id)
{
	uint64_t *number = awaits.nr < AWAITS_MAX ? u64map_at(&awaits.by_id, id) : NULL;

	if (!number)
		return NULL;
	if (*number)
		return &awaits.found[*number - 1];
	if (awaits.nr == awaits.room) {
		size_t room = awaits.room ? 2 * awaits.room : 64;
		struct found_await *more = reallocarray(awaits.found, room, sizeof(*more));

		if (!more)
			return NULL;
		awaits.found = more;
		awaits.room = room;
	}
	*number = ++awaits.nr;
	return &awaits.found[awaits.nr - 1];
}

static void await_note(uint64_t id, uint64_t looked_ts, const json_t *level)
{
	const char *function = json_string_value(json_object_get(level, "function"));
	int64_t file = strtab_intern(&awaits.texts,
				     json_string_value(json_object_get(level, "file")));
	int64_t name = strtab_intern(&awaits.texts, function ? function : "");
	struct found_await *entry = file >= 0 && name >= 0 ? await_entry(id) : NULL;

	if (entry)
		*entry = (struct found_await){ looked_ts, (uint32_t)file, (uint32_t)name,
					       (uint32_t)json_integer_value(
						       json_object_get(level, "line")) };
}

static void awaits_note_all(const json_t *groups, uint64_t looked_ts)
{
	const json_t *group, *traced;
	size_t i, k;

	json_array_foreach (groups, i, group) {
		const json_t *level = await_level(group);

		json_array_foreach (json_object_get(group, "traced"), k, traced) {
			json_int_t id = json_integer_value(json_object_get(traced, "id"));

			/* Those that say where they wait need no look. */
			if (level && id > 0 &&
			    json_is_null(json_object_get(traced, "suspended_at")))
				await_note((uint64_t)id, looked_ts, level);
		}
	}
}

/* ---- the thread ------------------------------------------------------------------------- */

/* Wait until @until_ns, or for the first process.  False: the looks are over. */
static bool awaits_rest(uint64_t until_ns)
{
	const struct timespec until = { (time_t)(until_ns / NS_PER_SEC),
					(long)(until_ns % NS_PER_SEC) };

	while (!awaits.is_over && (!awaits.nr_pids || clock_now_ns() < until_ns)) {
		if (awaits.nr_pids)
			pthread_cond_timedwait(&awaits.changed, &awaits.lock, &until);
		else
			pthread_cond_wait(&awaits.changed, &awaits.lock);
	}
	return !awaits.is_over;
}

/* Look at the next process; the lock is released meanwhile. */
static void awaits_look(void)
{
	struct process_look look = { .is_unwanted = &awaits.is_over };
	pid_t pid = awaits.pids[awaits.next++ % awaits.nr_pids];
	char why[LOOK_WHY_SIZE] = "";
	json_t *found;

	pthread_mutex_unlock(&awaits.lock);
	process_look_begin(&look, pid);
	found = process_look_take(&look, why);
	pthread_mutex_lock(&awaits.lock);
	if (found)
		awaits_note_all(json_object_get(found, "groups"), look.ts);
	awaits.nr_looks += found != NULL;
	if (!found && !awaits.is_over && !process_thread_ended((uint32_t)pid, (uint32_t)pid))
		snprintf(awaits.missing, sizeof(awaits.missing), "%s", why);
	json_decref(found);
}

static void *awaits_thread(void *unused)
{
	uint64_t start, next = clock_now_ns() + REST_LEAST_NS;

	pthread_mutex_lock(&awaits.lock);
	while (awaits_rest(next)) {
		start = clock_now_ns();
		awaits_look();
		next = clock_now_ns();
		next += (next - start) * REST_PER_LOOK;
		next = next > start + REST_LEAST_NS ? next : start + REST_LEAST_NS;
	}
	pthread_mutex_unlock(&awaits.lock);
	return unused;
}

/* ---- the run ------------------------------------------------------------------------------ */

bool run_awaits_begin(void)
{
	pthread_condattr_t attr;
	sigset_t all, before;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&awaits.changed, &attr);
	pthread_condattr_destroy(&attr);
	/* Signals are for the collector. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	awaits.is_begun = pthread_create(&awaits.thread, NULL, awaits_thread, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return awaits.is_begun;
}

void run_awaits_connected(pid_t pid)
{
	pthread_mutex_lock(&awaits.lock);
	if (pid > 0 && awaits.nr_pids < AWAIT_PROCESSES) {
		awaits.pids[awaits.nr_pids++] = pid;
		pthread_cond_signal(&awaits.changed);
	}
	pthread_mutex_unlock(&awaits.lock);
}

bool run_awaits_find(const struct sidecar_coroutine *coroutine, struct trace_site *site)
{
	const struct found_await *at;
	uint64_t number;
	bool is_found;

	pthread_mutex_lock(&awaits.lock);
	is_found = u64map_get(&awaits.by_id, coroutine->probe_id, &number) && number &&
		   awaits.found[number - 1].looked_ts >= coroutine->since_ts;
	if (is_found) {
		at = &awaits.found[number - 1];
		/* Texts are kept until the end. */
		site->file = strtab_text(&awaits.texts, at->file);
		site->function = strtab_text(&awaits.texts, at->function);
		site->line = at->line;
	}
	pthread_mutex_unlock(&awaits.lock);
	return is_found;
}

const char *run_awaits_missing(void)
{
	return awaits.missing[0] && !awaits.nr_looks ? awaits.missing : NULL;
}

void run_awaits_end(void)
{
	if (!awaits.is_begun)
		return;
	pthread_mutex_lock(&awaits.lock);
	__atomic_store_n(&awaits.is_over, true, __ATOMIC_RELAXED);
	pthread_cond_signal(&awaits.changed);
	pthread_mutex_unlock(&awaits.lock);
	pthread_join(awaits.thread, NULL);
	awaits.is_begun = false;
	u64map_release(&awaits.by_id);
	strtab_release(&awaits.texts);
	free(awaits.found);
	awaits.found = NULL;
	awaits.nr = awaits.room = 0;
}
