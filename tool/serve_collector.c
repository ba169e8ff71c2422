/* SPDX-License-Identifier: MIT */
/* serve_collector.c - ask the collector of a trace how it is, once a second. */
#include "serve_collector.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/monotonic.h"
#include "collect/collector_client.h"

#define ASK_EVERY_NS  (1 * NS_PER_SEC)
#define ANSWER_MS     1000
#define SILENCE_NS    (3 * NS_PER_SEC) /* without an answer: it is silent */
#define FIND_EVERY_NS (5 * NS_PER_SEC)

/* ---- which collector ---------------------------------------------------------------- */

/* Memory, descriptors or threads ran out: whether there is a collector is not known. */
static void watch_note(struct collector_watch *w, int code)
{
	pthread_mutex_lock(&w->lock);
	w->failed = code;
	pthread_mutex_unlock(&w->lock);
}

static bool watch_is_shortage(int code)
{
	return code == -ENOMEM || code == -EMFILE || code == -ENFILE || code == -EAGAIN;
}

/* True if the collector @r writes @trace, a canonical path. */
static bool watch_is_writer(struct collector_watch *w, const struct running *r, const char *trace)
{
	char *output;
	bool is_writer;

	if (!r->status) {
		if (watch_is_shortage(r->err.code))
			watch_note(w, r->err.code);
		return false;
	}
	errno = 0;
	output = realpath(running_text(r->status, "output"), NULL);
	if (!output && watch_is_shortage(-errno))
		watch_note(w, -errno);
	is_writer = output && !strcmp(output, trace);
	free(output);
	return is_writer;
}

/* The region of the collector that writes @trace (a canonical path); freed by the caller. */
static char *watch_find_region(struct collector_watch *w, const char *trace)
{
	struct all_running all = { 0 };
	struct err err = { 0 };
	char *region = NULL;
	size_t left, i;

	if (running_look(&all, NULL, &left, &err) < 0)
		watch_note(w, err.code);
	for (i = 0; i < all.nr && !region; i++) {
		if (!watch_is_writer(w, &all.at[i], trace))
			continue;
		region = strdup(all.at[i].region);
		if (!region)
			watch_note(w, -ENOMEM);
	}
	running_release(&all);
	return region;
}

/* ---- the thread ---------------------------------------------------------------------- */

static void watch_ask(struct collector_watch *w, const char *region)
{
	struct err err = { 0 };
	json_t *status = running_ask(region, "status", ANSWER_MS, &err);

	if (!status) {
		if (watch_is_shortage(err.code))
			watch_note(w, err.code);
		return;
	}
	pthread_mutex_lock(&w->lock);
	w->is_known = true;
	w->answered_ns = clock_now_ns();
	w->lost = running_number(status, "lost") + running_number(status, "others_lost");
	pthread_mutex_unlock(&w->lock);
	json_decref(status);
}

/* True: the watch goes on. */
static bool watch_pause(struct collector_watch *w, uint64_t ns)
{
	struct timespec until;
	uint64_t at = clock_now_ns() + ns;
	bool goes_on;

	until = (struct timespec){ .tv_sec = (time_t)(at / NS_PER_SEC),
				   .tv_nsec = (long)(at % NS_PER_SEC) };
	pthread_mutex_lock(&w->lock);
	while (!w->stops && pthread_cond_timedwait(&w->stop_soon, &w->lock, &until) == 0)
		;
	goes_on = !w->stops;
	pthread_mutex_unlock(&w->lock);
	return goes_on;
}

static void *watch_run(void *arg)
{
	struct collector_watch *w = arg;
	char *trace = NULL, *region = NULL;

	do {
		if (!trace) {
			trace = realpath(w->trace, NULL);
			if (!trace)
				watch_note(w, -errno);
		}
		if (trace && !region)
			region = watch_find_region(w, trace);
		if (region)
			watch_ask(w, region);
	} while (watch_pause(w, region ? ASK_EVERY_NS : FIND_EVERY_NS));
	free(region);
	free(trace);
	return NULL;
}

/* ---- for the server ------------------------------------------------------------------- */

void collector_watch_start(struct collector_watch *w, const char *trace)
{
	pthread_condattr_t monotonic;
	int rc;

	memset(w, 0, sizeof(*w));
	w->trace = trace;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&w->stop_soon, &monotonic);
	pthread_condattr_destroy(&monotonic);
	rc = pthread_create(&w->thread, NULL, watch_run, w);
	w->runs = !rc;
	if (rc)
		watch_note(w, -rc); /* a thread that runs may have noted a failure already */
}

int collector_watch_failed(struct collector_watch *w)
{
	int failed;

	pthread_mutex_lock(&w->lock);
	failed = w->was_told ? 0 : w->failed;
	w->was_told = w->was_told || failed;
	pthread_mutex_unlock(&w->lock);
	return failed;
}

bool collector_watch_get(struct collector_watch *w, uint64_t *silent_ns, uint64_t *lost)
{
	uint64_t silent;
	bool known;

	pthread_mutex_lock(&w->lock);
	known = w->is_known;
	silent = clock_now_ns() - w->answered_ns;
	*lost = w->lost;
	pthread_mutex_unlock(&w->lock);
	*silent_ns = silent >= SILENCE_NS ? silent : 0;
	return known;
}

void collector_watch_stop(struct collector_watch *w)
{
	pthread_mutex_lock(&w->lock);
	w->stops = true;
	pthread_cond_signal(&w->stop_soon);
	pthread_mutex_unlock(&w->lock);
	if (w->runs)
		pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->stop_soon);
	pthread_mutex_destroy(&w->lock);
}
