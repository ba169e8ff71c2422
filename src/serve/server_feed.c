/* SPDX-License-Identifier: MIT */
/* server_feed.c - build a view from a finished or growing trace, shared by several readers. */
#include "serve/server_feed.h"

#include <errno.h>
#include <string.h>

#include "base/monotonic.h"
#include "base/progress.h"

/* Items added per lock: a request waits for at most this many. */
#define BATCH 2048

/*
 * Three ticks per second keep the page lively.  Ticks may take at most a fifth of the processor
 * time of a thread; but there is one every two seconds, so that the page is not further behind.
 */
#define TICK_NS      (300 * NS_PER_MS)
#define TICK_LAST_NS (2 * NS_PER_SEC)
#define TICK_SHARE   5

/* Without events ages still grow, and with them findings about long waits. */
#define IDLE_TICK_NS (1 * NS_PER_SEC)

/* Longest time of one feed_step() while data is available. */
#define STEP_NS (200 * NS_PER_MS)

int feed_open(struct feed *f, const char *path, struct err *err)
{
	memset(f, 0, sizeof(*f));
	f->path = path;
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
	view_free(f->again);
	pthread_mutex_destroy(&f->lock);
	memset(f, 0, sizeof(*f));
}

bool feed_grows(const struct feed *f)
{
	return f->reader && trace_reader_stats(f->reader)->growing;
}

/* ---- reading the trace ------------------------------------------------------------ */

/* One item for the view that is shown, or for the one that reads the trace once more. */
static int feed_add(struct feed *f, const struct trace_item *item, struct err *err)
{
	if (f->again)
		return view_add(f->again, item, err);
	return pace_takes(&f->pace, item) ? view_add(f->view, item, err) : 0;
}

/* What was left out so far, for the analysis and for the page.  Called with the lock held. */
static void feed_tell_left_out(struct feed *f)
{
	struct trace_gap gap;

	if (pace_take_gap(&f->pace, &gap))
		view_leave_out(f->view, &gap);
	f->stream.left_out = f->pace.transitions;
	f->stream.left_out_wakes = f->pace.wakes;
	f->stream.left_out_ns = f->pace.left_ns;
	f->stream.rereads = f->again != NULL;
	view_set_stream(f->view, &f->stream);
}

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
		rc = feed_add(f, &item, err);
		if (rc < 0)
			break;
		rc = 1;
		nr++;
	}
	f->added += nr;
	if (!f->again && trace_reader_stats(f->reader)->growing)
		pace_set(&f->pace, clock_now_ns(), rc > 0);
	if (!f->pace.hurries)
		feed_tell_left_out(f);
	pthread_mutex_unlock(&f->lock);
	return rc;
}

/*
 * The time that a tick shows.  The current time only if no events arrived and the collector
 * answers: otherwise the collector or this process may lag behind, and every coroutine would
 * appear to have waited since its last known event.
 */
static uint64_t feed_shown_ts(const struct feed *f, uint64_t now)
{
	return f->added || f->again || f->stream.silent_ns ? f->pace.last_ts : now;
}

static int feed_tick(struct feed *f, struct err *err)
{
	uint64_t now = clock_now_ns(), cpu_ns = monotonic_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int rc;

	pthread_mutex_lock(&f->lock);
	feed_tell_left_out(f);
	rc = view_tick(f->view, trace_reader_stats(f->reader), feed_shown_ts(f, now), err);
	f->ticks = view_ticks(f->view);
	f->added = 0;
	f->tick_ns = clock_now_ns();
	f->tick_cost_ns = monotonic_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	pthread_mutex_unlock(&f->lock);
	return rc < 0 ? rc : 1;
}

/* The trace is complete: findings are final. */
static int feed_finish(struct feed *f, struct err *err)
{
	struct view *before = NULL;
	int rc;

	pthread_mutex_lock(&f->lock);
	if (f->again) {
		before = f->view;
		f->view = f->again;
		f->again = NULL;
		view_continue(f->view, f->ticks);
	}
	rc = view_finish(f->view, trace_reader_stats(f->reader), err);
	f->ticks = view_ticks(f->view);
	f->ended = true;
	pthread_mutex_unlock(&f->lock);
	view_free(before);
	trace_reader_close(f->reader);
	f->reader = NULL;
	return rc < 0 ? rc : 1;
}

/*
 * The run is over, and events were left out to keep up with it: read its trace once more, all of
 * it, into a second view.  False: that is not possible, and the first view stays.
 */
static bool feed_read_again(struct feed *f)
{
	struct err ignored = { 0 };
	struct trace_reader *reader = trace_reader_open(f->path, &ignored);
	struct view *view = reader ? view_new(&(struct view_options){ .trace = f->path }) : NULL;

	if (!view) {
		trace_reader_close(reader);
		return false;
	}
	pthread_mutex_lock(&f->lock);
	trace_reader_close(f->reader);
	f->reader = reader;
	f->again = view;
	pthread_mutex_unlock(&f->lock);
	return true;
}

static int feed_end(struct feed *f, struct err *err)
{
	bool is_short;

	pthread_mutex_lock(&f->lock);
	feed_tell_left_out(f);
	is_short = f->stream.left_out + f->stream.left_out_wakes;
	pthread_mutex_unlock(&f->lock);
	if (!f->again && is_short && feed_read_again(f))
		return feed_tick(f, err);
	return feed_finish(f, err);
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

	if (past < TICK_NS || (past < least && past < TICK_LAST_NS))
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
	f->has_more = rc > 0;
	if (rc == 0)
		return feed_end(f, err);
	if (rc < 0 && rc != -EAGAIN)
		return feed_give_up(f, rc);
	if (!tick_is_due(f))
		return 0;
	rc = feed_tick(f, err);
	return rc < 0 ? feed_give_up(f, rc) : rc;
}

void feed_set_collector(struct feed *f, uint64_t silent_ns, uint64_t lost)
{
	pthread_mutex_lock(&f->lock);
	f->stream.collector_known = true;
	f->stream.silent_ns = silent_ns;
	f->stream.lost = lost;
	pthread_mutex_unlock(&f->lock);
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
