/* SPDX-License-Identifier: MIT */
/*
 * loader_transport.c - ship straight into ClickHouse: a receiver of blocks with the loader inside.
 *
 * Blocks are collected for a second and inserted together; they have arrived when the rows are in
 * the store and the state is saved.  After a failure the loader is closed, and the next one begins
 * with the saved state: the caller sends again what has not arrived.
 */
#include "fleet/loader_transport.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "fleet/loader.h"

#define TRANSPORT_WINDOW  64
#define TRANSPORT_HOLD_NS NS_PER_SEC
#define TRANSPORT_STEP_MS 50

struct loader_transport {
	struct ship_transport transport; /* first member: cast to and from */
	char *url, *state_dir;
	char run_dir[4096]; /* state of the run; empty: none */
	char run[SHIP_RUN_SIZE];
	struct loader *loader;
	uint64_t pending[TRANSPORT_WINDOW]; /* numbers that were given to the loader */
	unsigned nr_pending;
	uint64_t since_ns; /* of the first of them */
	bool is_last;      /* the account of the run is among them */
};

static struct loader_transport *loader_transport_of(struct ship_transport *t)
{
	return (struct loader_transport *)t;
}

/* What was not saved is forgotten, and comes again. */
static void loader_transport_reset(struct loader_transport *t)
{
	loader_close(t->loader);
	t->loader = NULL;
	t->nr_pending = 0;
	t->is_last = false;
}

static int loader_transport_connect(struct loader_transport *t, const struct ship_labels *labels,
				    struct err *err)
{
	struct loader_options o = {
		.url = t->url, .keep = FLEET_KEEP_DEFAULT, .name = t->run, .is_host = true
	};

	if (t->loader && !strcmp(t->run, labels->run))
		return 0;
	loader_transport_reset(t);
	memcpy(t->run, labels->run, sizeof(t->run));
	t->run_dir[0] = '\0';
	if (t->state_dir) {
		if (mkdir(t->state_dir, 0700) < 0 && errno != EEXIST)
			return err_errno(err, "cannot create '%s'", t->state_dir);
		snprintf(t->run_dir, sizeof(t->run_dir), "%s/%s", t->state_dir, t->run);
		o.state_dir = t->run_dir;
	}
	t->loader = loader_open(&o, err);
	return t->loader ? 0 : err->code;
}

static int loader_transport_send(struct ship_transport *st, const struct ship_parcel *p,
				 struct err *err)
{
	struct loader_transport *t = loader_transport_of(st);
	int rc;

	if (t->nr_pending == TRANSPORT_WINDOW)
		return err_set(err, -EAGAIN, "too many blocks at once");
	rc = loader_transport_connect(t, p->labels, err);
	if (rc == 0)
		rc = loader_block(t->loader, p->labels, p->number, p->block, p->size, 0, err);
	if (rc < 0) {
		loader_transport_reset(t);
		return rc;
	}
	if (!t->nr_pending)
		t->since_ns = clock_now_ns();
	t->pending[t->nr_pending++] = p->number;
	t->is_last |= p->labels->has_final;
	return 0;
}

/* The run is complete in the store: its state is not needed any more. */
static void loader_transport_remove_state(struct loader_transport *t)
{
	char path[4200];

	if (!t->run_dir[0])
		return;
	snprintf(path, sizeof(path), "%s/%s.state", t->run_dir, t->run);
	unlink(path);
	snprintf(path, sizeof(path), "%s/lock", t->run_dir);
	unlink(path);
	rmdir(t->run_dir);
}

static int loader_transport_flush(struct loader_transport *t, ship_acked_fn acked, void *ctx,
				  struct err *err)
{
	unsigned i;
	int rc = loader_flush(t->loader, err);

	if (rc < 0) {
		loader_transport_reset(t);
		return rc;
	}
	for (i = 0; i < t->nr_pending; i++)
		acked(ctx, t->pending[i]);
	t->nr_pending = 0;
	if (t->is_last) {
		loader_transport_reset(t);
		loader_transport_remove_state(t);
		t->run[0] = '\0';
	}
	return 0;
}

static int loader_transport_poll(struct ship_transport *st, int ms, ship_acked_fn acked, void *ctx,
				 struct err *err)
{
	struct loader_transport *t = loader_transport_of(st);
	struct timespec pause = { .tv_nsec = TRANSPORT_STEP_MS * (long)NS_PER_MS };

	if (!t->nr_pending)
		return 0;
	for (;;) {
		if (t->is_last || t->nr_pending == TRANSPORT_WINDOW || loader_is_due(t->loader) ||
		    clock_now_ns() - t->since_ns >= TRANSPORT_HOLD_NS)
			return loader_transport_flush(t, acked, ctx, err);
		if (ms <= 0)
			return 0;
		nanosleep(&pause, NULL);
		ms -= TRANSPORT_STEP_MS;
	}
}

static void loader_transport_close(struct ship_transport *st)
{
	struct loader_transport *t = loader_transport_of(st);

	loader_transport_reset(t);
	free(t->url);
	free(t->state_dir);
	free(t);
}

static const struct ship_transport_ops loader_transport_ops = {
	.send = loader_transport_send,
	.poll = loader_transport_poll,
	.close = loader_transport_close,
};

/* "clickhouse://host:8123/database", without user and password. */
static int loader_transport_name(struct loader_transport *t, struct err *err)
{
	struct clickhouse_url url;
	int rc = clickhouse_url_parse(&url, t->url, NULL, err);

	if (rc == 0)
		snprintf(t->transport.name, sizeof(t->transport.name),
			 CLICKHOUSE_SCHEME "%.200s:%u/%.200s", url.hosts[0].name,
			 (unsigned)url.hosts[0].port, url.database);
	clickhouse_url_release(&url);
	return rc;
}

struct ship_transport *loader_transport_open(const char *url, const char *state_dir,
					     struct err *err)
{
	struct loader_transport *t = calloc(1, sizeof(*t));

	if (t) {
		t->transport.ops = &loader_transport_ops;
		t->transport.window = TRANSPORT_WINDOW;
		t->url = strdup(url);
		t->state_dir = state_dir ? strdup(state_dir) : NULL;
	}
	if (!t || !t->url || (state_dir && !t->state_dir)) {
		err_set(err, -ENOMEM, "no memory for a receiver");
	} else if (loader_transport_name(t, err) == 0) {
		return &t->transport;
	}
	if (t)
		loader_transport_close(&t->transport);
	return NULL;
}
