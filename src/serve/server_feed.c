/* SPDX-License-Identifier: MIT */
/* server_feed.c - build a view from a finished or growing trace, shared by several readers. */
#include "serve/server_feed.h"

#include <errno.h>
#include <string.h>

#include "base/monotonic.h"
#include "base/progress.h"

/* Items added per lock: a request waits for at most this many. */
#define BATCH 2048

/* Three ticks per second keep the page lively; ticks may take at most a fifth of the time. */
#define TICK_NS    (300 * NS_PER_MS)
#define TICK_SHARE 5

/* Without events ages still grow, and with them findings about long waits. */
#define IDLE_TICK_NS (1 * NS_PER_SEC)

/* Longest time of one feed_step() while data is available. */
#define STEP_NS (200 * NS_PER_MS)

int feed_open(struct feed *f, const char *path, struct err *err)
{
	memset(f, 0, sizeof(*f));
	pthread_mutex_init(&f->lock, NULL);
	f->reader = trace_reader_follow(path, err);
	if (!f->reader)
		return err->code;
	f->view = view_new(&(struct view_options){ .trace = path });
	if (!f->view)
		err_set(err, -ENOMEM, "no memory for a view of '%s'", path);
	return err->code;
}

void feed_close(struct feed *f)
{
	trace_reader_close(f->reader);
	view_free(f->view);
	pthread_mutex_destroy(&f->lock);
	memset(f, 0, sizeof(*f));
}

bool feed_grows(const struct feed *f)
{
	return f->reader && trace_reader_stats(f->reader)->growing;
}

/* ---- reading the trace ------------------------------------------------------------ */

/*
 * Add up to BATCH items.  1: more to read; 0: the end; -EAGAIN: no more for now; a negative errno
 * with a message in @err.
 */
static int add_some(struct feed *f, struct err *err)
{
	struct trace_item item;
	unsigned nr = 0;
	int rc = 1;

	pthread_mutex_lock(&f->lock);
	while (nr < BATCH && (rc = trace_next(f->reader, &item, err)) > 0) {
		rc = view_add(f->view, &item, err);
		if (rc < 0)
			break;
		rc = 1;
		nr++;
	}
	f->added += nr;
	pthread_mutex_unlock(&f->lock);
	return rc;
}

/*
 * Use the current time only if no events arrived: otherwise the collector or this process may lag
 * behind, and every coroutine would appear to have waited since its last known event.
 */
static int feed_tick(struct feed *f, struct err *err)
{
	uint64_t now = clock_now_ns();
	int rc;

	pthread_mutex_lock(&f->lock);
	rc = view_tick(f->view, trace_reader_stats(f->reader), f->added ? 0 : now, err);
	f->ticks = view_ticks(f->view);
	f->added = 0;
	f->tick_ns = clock_now_ns();
	f->tick_cost_ns = f->tick_ns - now;
	pthread_mutex_unlock(&f->lock);
	return rc < 0 ? rc : 1;
}

/* The trace is complete: findings are final. */
static int feed_finish(struct feed *f, struct err *err)
{
	int rc;

	pthread_mutex_lock(&f->lock);
	rc = view_finish(f->view, trace_reader_stats(f->reader), err);
	f->ticks = view_ticks(f->view);
	f->ended = true;
	pthread_mutex_unlock(&f->lock);
	trace_reader_close(f->reader);
	f->reader = NULL;
	return rc < 0 ? rc : 1;
}

/* Reading failed: keep the view as it is; the first error is the one returned. */
static int feed_give_up(struct feed *f, int rc)
{
	struct err ignored = { 0 };

	feed_finish(f, &ignored);
	return rc;
}

int feed_read_all(struct feed *f, const char *name, struct err *err)
{
	const struct trace_stats *stats = trace_reader_stats(f->reader);
	struct progress progress;
	int rc;

	progress_start(&progress, name, stats->total);
	while ((rc = add_some(f, err)) > 0)
		progress_update(&progress, stats->bytes);
	progress_full(&progress, NULL);
	progress_end(&progress);
	if (rc < 0)
		return rc;
	return feed_finish(f, err) < 0 ? err->code : 0;
}

static bool tick_is_due(const struct feed *f)
{
	uint64_t past = clock_now_ns() - f->tick_ns, least = f->tick_cost_ns * TICK_SHARE;

	if (past < TICK_NS || past < least)
		return false;
	return f->added || past >= IDLE_TICK_NS;
}

int feed_step(struct feed *f, struct err *err)
{
	uint64_t start = clock_now_ns();
	int rc;

	if (!f->reader)
		return 0;
	do
		rc = add_some(f, err);
	while (rc > 0 && clock_now_ns() - start < STEP_NS && !tick_is_due(f));
	if (rc == 0)
		return feed_finish(f, err);
	if (rc < 0 && rc != -EAGAIN)
		return feed_give_up(f, rc);
	if (!tick_is_due(f))
		return 0;
	rc = feed_tick(f, err);
	return rc < 0 ? feed_give_up(f, rc) : rc;
}

/* ---- requests --------------------------------------------------------------------- */

void feed_state(struct feed *f, uint64_t *ticks, bool *ended)
{
	pthread_mutex_lock(&f->lock);
	*ticks = f->ticks;
	*ended = f->ended;
	pthread_mutex_unlock(&f->lock);
}

int feed_section(struct feed *f, const char *name, struct bytes *out, uint64_t *tick_nr,
		 struct err *err)
{
	int rc;

	pthread_mutex_lock(&f->lock);
	*tick_nr = f->ticks;
	rc = view_section(f->view, name, out, err);
	pthread_mutex_unlock(&f->lock);
	return rc < 0 ? rc : out->error;
}

int feed_delta(struct feed *f, uint64_t since, struct bytes *out, uint64_t *tick_nr,
	       struct err *err)
{
	int rc;

	pthread_mutex_lock(&f->lock);
	*tick_nr = f->ticks;
	rc = view_delta(f->view, since, out, err);
	pthread_mutex_unlock(&f->lock);
	return rc < 0 ? rc : out->error;
}
