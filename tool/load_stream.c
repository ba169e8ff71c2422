/* SPDX-License-Identifier: MIT */
/*
 * load_stream.c - load the messages of a NATS stream.
 *
 * A message is acknowledged after its rows are in the store and the state is saved.  A large block
 * comes in several messages, between which there may be those of other hosts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/monotonic.h"
#include "fleet/block_stream.h"
#include "load_source.h"
#include "message.h"
#include "ship/ship_envelope.h"

#define LOAD_POLL_MS     500
#define LOAD_PARTIAL_MAX 4096u

/* A block of which not all parts have come. */
struct load_partial {
	char run[SHIP_RUN_SIZE];
	uint64_t number;
	uint32_t next;
	uint64_t first; /* id of its first message */
	struct bytes block;
};

struct load_feed {
	struct load_job *job;
	struct block_stream *stream;
	struct load_partial *partial;
	size_t nr;
	uint64_t last; /* id behind the last message */
	bool has_unacked;
};

static void load_partial_remove(struct load_feed *f, size_t i)
{
	bytes_release(&f->partial[i].block);
	f->partial[i] = f->partial[--f->nr];
}

static void load_partial_clear(struct load_feed *f)
{
	while (f->nr)
		load_partial_remove(f, 0);
}

/* A later block of the run has come: the parts that are missing do not come any more. */
static void load_partial_forget(struct load_feed *f, const char *run)
{
	size_t i;

	for (i = 0; i < f->nr; i++)
		if (!strcmp(f->partial[i].run, run))
			load_partial_remove(f, i--);
}

/* The entry of the run; a new one for the first part.  NULL: parts are missing, or *@rc < 0. */
static struct load_partial *load_partial_find(struct load_feed *f, const char *run,
					      const struct ship_envelope *e, uint64_t id, int *rc)
{
	struct load_partial *more;
	size_t i;

	for (i = 0; i < f->nr; i++) {
		if (strcmp(f->partial[i].run, run) != 0)
			continue;
		if (f->partial[i].number == e->number && f->partial[i].next == e->part)
			return &f->partial[i];
		load_partial_remove(f, i); /* its other parts were lost */
		break;
	}
	if (e->part || f->nr == LOAD_PARTIAL_MAX)
		return NULL;
	more = reallocarray(f->partial, f->nr + 1, sizeof(*more));
	if (!more) {
		*rc = -ENOMEM;
		return NULL;
	}
	f->partial = more;
	more += f->nr++;
	*more = (struct load_partial){ .number = e->number, .first = id };
	memcpy(more->run, run, sizeof(more->run));
	return more;
}

/* 1: *@block is whole; 0: more parts have to come; or a negative errno. */
static int load_assemble(struct load_feed *f, const struct ship_labels *labels,
			 const struct ship_envelope *e, uint64_t id, struct bytes *block)
{
	int rc = 0;
	struct load_partial *p = load_partial_find(f, labels->run, e, id, &rc);

	if (!p) {
		f->job->unreadable += rc == 0;
		return rc;
	}
	if (e->block_size > SHIP_BLOCK_MAX - p->block.size) {
		/* No sender makes such a block: another try would end the same. */
		load_partial_remove(f, (size_t)(p - f->partial));
		f->job->unreadable++;
		return 0;
	}
	bytes_add(&p->block, e->block, e->block_size);
	if (p->block.error)
		return -ENOMEM;
	if (++p->next < e->parts)
		return 0;
	*block = p->block;
	p->block = (struct bytes){ 0 };
	load_partial_remove(f, (size_t)(p - f->partial));
	return 1;
}

static int load_message(struct load_feed *f, const struct stream_message *m, struct err *err)
{
	struct ship_labels labels;
	struct ship_envelope e;
	struct bytes whole = { 0 };
	struct err why = { 0 };
	int rc = 1;

	if (ship_envelope_decode(m->data, m->size, &e, &why) < 0 ||
	    ship_labels_parse(e.labels, e.labels_size, &labels, &why) < 0) {
		/* Without memory it is not acknowledged: the next loader reads it. */
		if (why.code == -ENOMEM) {
			*err = why;
			return why.code;
		}
		message_print("load", "a message is left out: %s", why.text);
		f->job->unreadable++;
		return 0;
	}
	if (e.parts > 1)
		rc = load_assemble(f, &labels, &e, m->id, &whole);
	else
		load_partial_forget(f, labels.run);
	if (rc < 0)
		return err_set(err, -ENOMEM, "no memory for a block");
	if (rc > 0)
		rc = loader_block(f->job->loader, &labels, e.number,
				  e.parts > 1 ? whole.data : e.block,
				  e.parts > 1 ? whole.size : e.block_size, m->arrived, err);
	bytes_release(&whole);
	return rc;
}

/* What is in the store is acknowledged, but not the parts of a block that is not whole. */
static int load_settle(struct load_feed *f, struct err *err)
{
	uint64_t id = f->last;
	size_t i;
	int rc = loader_flush(f->job->loader, err);

	if (rc < 0)
		return rc;
	for (i = 0; i < f->nr; i++)
		id = f->partial[i].first < id ? f->partial[i].first : id;
	if (f->has_unacked && block_stream_ack(f->stream, id, err) < 0)
		return -EAGAIN; /* of the stream: they come again, and are dropped */
	f->has_unacked = false;
	return 0;
}

/* Until the connection is lost (-EAGAIN), the end of the job (0), or a failure of the store. */
static int load_read(struct load_feed *f, uint64_t *idle_since, struct err *err)
{
	while (!load_is_ending) {
		struct stream_message m;
		int rc = block_stream_next(f->stream, LOAD_POLL_MS, &m, err);

		if (rc < 0)
			return -EAGAIN;
		if (rc > 0) {
			*idle_since = clock_now_ns();
			rc = load_message(f, &m, err);
			f->last = m.id + 1;
			f->has_unacked = true;
			if (rc == 0 && loader_is_due(f->job->loader))
				rc = load_settle(f, err);
		} else if (f->has_unacked) {
			rc = load_settle(f, err);
		} else if (f->job->idle_s &&
			   clock_now_ns() - *idle_since >= f->job->idle_s * NS_PER_SEC) {
			return 0;
		}
		if (rc < 0)
			return rc;
	}
	return f->has_unacked ? load_settle(f, err) : 0;
}

/* Says once what is wrong; the server may come back. */
static void load_lost(const struct load_job *job, const struct err *err)
{
	struct timespec pause = { .tv_sec = 1 };

	if (job->loader_options.waiting)
		job->loader_options.waiting(job->loader_options.waiting_ctx, err);
	nanosleep(&pause, NULL);
}

int load_stream(struct load_job *job, const char *rest, struct err *err)
{
	struct load_feed f = { .job = job };
	uint64_t idle_since = clock_now_ns(), lost_since = idle_since;
	int rc = 0;

	while (!load_is_ending) {
		*err = (struct err){ 0 };
		f.stream = block_stream_open(rest, err);
		if (f.stream) {
			rc = load_read(&f, &idle_since, err);
			block_stream_close(f.stream);
			load_partial_clear(&f);
			f.has_unacked = false;
			lost_since = clock_now_ns();
			if (rc != -EAGAIN)
				break;
		} else if (err->code == -EINVAL || err->code == -ENOSYS || err->code == -ENOENT ||
			   clock_now_ns() - lost_since >=
				   job->loader_options.retry_s * NS_PER_SEC) {
			rc = err->code;
			break;
		}
		load_lost(job, err);
		rc = 0;
	}
	free(f.partial);
	return rc;
}
