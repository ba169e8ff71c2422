/* SPDX-License-Identifier: MIT */
/* shipper.c - send the blocks of a trace to a receiver until all have arrived. */
#include "ship/shipper.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "ship/ship_facts.h"
#include "ship/ship_sample.h"
#include "ship/ship_whole.h"
#include "ship/spool_space.h"

#define SHIPPER_LOOK_MS  100              /* how often to look for new blocks */
#define SHIPPER_BUILD_NS (2 * NS_PER_SEC) /* how long to wait for the program's build-id */
#define SHIPPER_WATCH_NS (5 * NS_PER_SEC) /* how often to look for findings */
#define SHIPPER_SAVE_NS  (250 * NS_PER_MS)
/* How long to wait before the next attempt: from, doubled up to. */
#define SHIPPER_RETRY_NS     (250 * NS_PER_MS)
#define SHIPPER_RETRY_MAX_NS (4 * NS_PER_SEC)

struct shipper {
	const struct shipper_config *config;
	struct ship_follow follow;
	struct ship_facts facts;
	struct ship_spool spool;
	struct spool_space space;
	struct ship_state *state;
	char *state_path;
	struct ship_labels labels;
	struct json_writer labels_text;
	struct json_writer whole_text; /* the labels of coroutines that are sent whole */
	struct ship_sampler sampler;
	struct ship_whole *whole; /* NULL: all coroutines are sent */
	uint64_t watched_ns;
	bool has_watched;       /* to the end of the trace */
	struct ship_damage gap; /* that the spool knows of */
	uint64_t events_ns;     /* when the first events were found; 0: not yet */
	bool is_ready;          /* the labels are known: blocks may be sent */
	bool final_sent, final_arrived;
	bool has_ended;          /* the trace */
	uint64_t waits_since_ns; /* for the receiver, after the end */
	uint64_t retry_at_ns;    /* the receiver is away: try again then; 0: it is not */
	uint64_t retry_ns;
	uint64_t saved_ns;
	bool save_failed;
};

/* ---- labels ----------------------------------------------------------------------- */

static void shipper_choose(char *to, const char *given, const char *known)
{
	snprintf(to, SHIP_LABEL_SIZE, "%s", given[0] ? given : known);
}

static int shipper_write_labels(struct shipper *s)
{
	struct ship_labels whole = s->labels;

	whole.sample = 1;
	jw_release(&s->labels_text);
	jw_init_buffer(&s->labels_text);
	ship_labels_write(&s->labels_text, &s->labels);
	jw_release(&s->whole_text);
	jw_init_buffer(&s->whole_text);
	ship_labels_write(&s->whole_text, &whole);
	if (s->whole)
		s->whole->rate = s->labels.sample;
	return jw_text(&s->labels_text, &(size_t){ 0 }) && jw_text(&s->whole_text, &(size_t){ 0 })
		       ? 0
		       : -ENOMEM;
}

/* The labels of the run: given, or from its facts. */
static int shipper_set_labels(struct shipper *s)
{
	const struct ship_labels *given = &s->config->labels, *known = &s->facts.labels;
	struct ship_labels *l = &s->labels;

	shipper_choose(l->service, given->service, known->service);
	shipper_choose(l->build, given->build, known->build);
	shipper_choose(l->version, given->version, "");
	shipper_choose(l->host, given->host, known->host);
	shipper_choose(l->region, given->region, "");
	if (!l->host[0] && gethostname(l->host, sizeof(l->host) - 1) < 0)
		snprintf(l->host, sizeof(l->host), "unknown");
	if (!l->service[0])
		snprintf(l->service, sizeof(l->service), "unknown");
	l->sample = given->sample ? given->sample : 1;
	l->start_ts = known->start_ts;
	l->start_realtime = known->start_realtime;
	/* Nothing is sent before its labels are complete. */
	s->is_ready = shipper_write_labels(s) == 0;
	return s->is_ready ? 0 : -ENOMEM;
}

/* ---- trouble ---------------------------------------------------------------------- */

static void shipper_trouble(struct shipper *s, const struct err *trouble)
{
	bool is_new = strcmp(s->state->trouble, trouble->text) != 0;

	s->retry_ns = s->retry_ns ? s->retry_ns * 2 : SHIPPER_RETRY_NS;
	if (s->retry_ns > SHIPPER_RETRY_MAX_NS)
		s->retry_ns = SHIPPER_RETRY_MAX_NS;
	s->retry_at_ns = clock_now_ns() + s->retry_ns;
	snprintf(s->state->trouble, sizeof(s->state->trouble), "%s", trouble->text);
	s->spool.has_changed = true;
	if (is_new && s->config->report)
		s->config->report(s->config->transport, trouble);
}

/* Nothing that was sent and has not arrived will arrive. */
static void shipper_lost(struct shipper *s, const struct err *trouble)
{
	if (trouble->code == -EAGAIN)
		return;
	ship_spool_resend(&s->spool);
	if (s->whole)
		ship_whole_resend(s->whole);
	s->final_sent = s->final_arrived;
	shipper_trouble(s, trouble);
}

static void shipper_works(struct shipper *s)
{
	s->retry_ns = s->retry_at_ns = 0;
	if (!s->state->trouble[0])
		return;
	s->state->trouble[0] = 0;
	s->spool.has_changed = true;
	if (s->config->report)
		s->config->report(s->config->transport, NULL);
}

/* ---- the spool -------------------------------------------------------------------- */

static int shipper_add(struct shipper *s, const struct ship_block *block)
{
	struct ship_damage gap = {
		.blocks = s->follow.damage.blocks - s->gap.blocks,
		.transitions = s->follow.damage.transitions - s->gap.transitions,
		.others = s->follow.damage.others - s->gap.others,
	};

	s->gap = s->follow.damage;
	return ship_spool_add(&s->spool, block, &gap);
}

/* The build may become known a moment after the first events. */
static bool shipper_knows_program(const struct shipper *s)
{
	return s->facts.has_build ||
	       (s->events_ns && clock_now_ns() - s->events_ns >= SHIPPER_BUILD_NS);
}

/* Take the heads of the blocks that were written since the last look. */
static int shipper_look(struct shipper *s, struct err *err)
{
	struct ship_block block;
	int rc;

	while ((rc = ship_follow_head(&s->follow, &block, err)) > 0) {
		rc = ship_facts_take(&s->facts, &s->follow, &block);
		if (rc == 0)
			rc = shipper_add(s, &block);
		if (rc < 0)
			return err_set(err, rc, "cannot read '%s': %s", s->config->trace,
				       strerror(-rc));
		if (block.head.type == COMPACT_EVENTS && !s->events_ns)
			s->events_ns = clock_now_ns();
		if (s->config->spool_size)
			ship_spool_bound(&s->spool, s->config->spool_size / (s->whole ? 2 : 1));
	}
	if (rc == 0 && !s->has_ended) {
		s->has_ended = true;
		s->waits_since_ns = clock_now_ns();
	}
	if (!s->is_ready && (rc == 0 || shipper_knows_program(s)) && shipper_set_labels(s) < 0)
		return err_set(err, -ENOMEM, "no memory to ship '%s'", s->config->trace);
	return rc == -EAGAIN ? 0 : rc;
}

static void shipper_account(struct shipper *s, struct ship_final *f)
{
	const struct sidecar_totals *t = &s->facts.totals;
	const struct ship_spool *sp = &s->spool;

	*f = (struct ship_final){
		.blocks = s->follow.next,
		.given_up_blocks = sp->given_up.blocks,
		.given_up_transitions = sp->given_up.transitions,
		.given_up_others = sp->given_up.others,
		.ended = s->facts.has_totals,
		.collected = sp->shipped.transitions + sp->given_up.transitions +
			     sp->spooled.transitions + sp->left_out.transitions,
		.others_collected = sp->shipped.others + sp->given_up.others + sp->spooled.others +
				    sp->left_out.others,
		.left_out_transitions = sp->left_out.transitions,
		.left_out_others = sp->left_out.others,
		.whole_blocks = s->whole ? s->whole->made : 0,
	};
	f->written = f->collected;
	f->others_written = f->others_collected;
	if (!s->facts.has_totals)
		return;
	f->written = t->written;
	f->lost = t->lost;
	f->others_lost = t->others_lost;
	f->others_written = f->others_collected + t->others_lost;
}

static void shipper_note_pending(struct shipper *s)
{
	uint32_t i;

	s->state->nr_pending = 0;
	for (i = s->spool.first; i < s->spool.nr; i++) {
		const struct ship_item *item = &s->spool.items[i];

		if (item->offset >= s->spool.place.offset ||
		    s->state->nr_pending == SHIP_PENDING_MAX)
			return;
		if (item->state < SHIP_ARRIVED)
			s->state->pending[s->state->nr_pending++] = item->offset;
	}
}

/*
 * The space before this offset is given back.  Coroutines that are sent whole need blocks that have
 * arrived: half of the spool is kept for them.
 */
static uint64_t shipper_freed(const struct shipper *s, const struct ship_item *oldest)
{
	uint64_t to = oldest ? oldest->offset : s->spool.place.offset;
	uint64_t kept = s->whole ? s->config->spool_size / 2 : 0;

	return to > kept ? to - kept : 0;
}

/* Save the progress first: what is given back to the file system cannot be sent again. */
static int shipper_save(struct shipper *s, struct err *err)
{
	const struct ship_item *oldest = ship_spool_oldest(&s->spool);
	struct ship_state *st = s->state;

	st->labels = s->labels;
	st->labels.has_final = s->facts.has_totals;
	if (s->facts.has_totals)
		shipper_account(s, &st->labels.final);
	st->place = s->spool.place;
	st->shipped = s->spool.shipped;
	st->spooled = s->spool.spooled;
	st->given_up = s->spool.given_up;
	st->left_out = s->spool.left_out;
	st->whole_blocks = s->whole ? s->whole->made : 0;
	st->is_finished = s->final_arrived;
	shipper_note_pending(s);
	s->saved_ns = clock_now_ns();
	if (ship_state_write(st, s->state_path, err) < 0)
		return err->code;
	s->spool.has_changed = false;
	if (s->config->spool_size)
		spool_space_free(&s->space, shipper_freed(s, oldest));
	return 0;
}

static void shipper_save_if_due(struct shipper *s)
{
	struct err err = { 0 };

	if (!s->spool.has_changed || !s->is_ready || clock_now_ns() - s->saved_ns < SHIPPER_SAVE_NS)
		return;
	if (shipper_save(s, &err) == 0)
		s->save_failed = false;
	else if (!s->save_failed) {
		s->save_failed = true;
		if (s->config->report)
			s->config->report(s->config->transport, &err);
	}
}

/* ---- send ------------------------------------------------------------------------- */

static bool shipper_wants(const void *ctx, uint64_t probe_id)
{
	const struct shipper *s = ctx;

	return ship_sample_has(probe_id, s->labels.sample);
}

/* Leave out what is not sampled.  A block that cannot be decoded is sent as it is. */
static int shipper_sample(struct shipper *s, struct ship_item *item, struct ship_block *block)
{
	int rc;

	if (s->labels.sample <= 1 || block->head.type != COMPACT_EVENTS)
		return 0;
	rc = ship_sampler_filter(&s->sampler, s->follow.fd, block, item->number, true,
				 shipper_wants, s);
	if (rc <= 0)
		return rc;
	item->left_out_transitions = item->transitions - block->head.transitions;
	item->left_out_others = item->others - block->head.others;
	return 0;
}

static int shipper_send_item(struct shipper *s, struct ship_item *item, struct err *err)
{
	struct ship_parcel parcel = { .labels = &s->labels, .number = item->number };
	struct ship_block block = { .offset = item->offset };
	int rc = compact_read_at(s->follow.fd, &block.head, sizeof(block.head), item->offset);

	if (rc > 0)
		rc = compact_block_head_is_valid(&block.head) &&
		     block.head.number == item->number &&
		     block.head.size + sizeof(block.head) == item->size;
	if (rc > 0)
		rc = ship_follow_load(&s->follow, &block, err);
	if (rc < 0)
		return err_set(err, rc, "cannot read '%s': %s", s->config->trace, strerror(-rc));
	if (rc == 0) {
		ship_spool_give_up(&s->spool, item);
		return 0;
	}
	rc = shipper_sample(s, item, &block);
	if (rc < 0)
		return err_set(err, rc, "cannot sample block %" PRIu64 " of '%s': %s", item->number,
			       s->config->trace, strerror(-rc));
	parcel.block = block.data;
	parcel.size = block.size;
	parcel.labels_text = jw_text(&s->labels_text, &parcel.labels_size);
	rc = s->config->transport->ops->send(s->config->transport, &parcel, err);
	if (rc == 0)
		ship_spool_sent(&s->spool, item);
	return rc;
}

static void shipper_send_some(struct shipper *s)
{
	struct ship_item *item;
	struct err err = { 0 };

	if (!s->is_ready || (s->retry_at_ns && clock_now_ns() < s->retry_at_ns))
		return;
	while (s->spool.nr_sent < s->config->transport->window &&
	       (item = ship_spool_next(&s->spool)) != NULL) {
		if (shipper_send_item(s, item, &err) == 0)
			continue;
		shipper_lost(s, &err);
		return;
	}
}

/* ---- coroutines with findings ------------------------------------------------------ */

static void shipper_found(void *arg, uint64_t probe_id)
{
	struct shipper *s = arg;

	(void)ship_whole_add(s->whole, probe_id);
}

/* Look for findings, and make blocks of their coroutines. */
static void shipper_watch(struct shipper *s)
{
	struct ship_place begin = { 0 };
	uint64_t end;

	if (!s->whole || !s->is_ready || s->has_watched ||
	    (!s->has_ended && clock_now_ns() - s->watched_ns < SHIPPER_WATCH_NS))
		return;
	if (s->config->watch)
		s->config->watch(s->has_ended, shipper_found, s);
	s->watched_ns = clock_now_ns();
	end = s->follow.next;
	if (s->space.freed > s->space.begin)
		begin.offset = s->space.freed;
	/* From a place in the middle of a block, the next one is found. */
	if (ship_whole_collect(s->whole, &s->sampler, s->config->trace, &begin, end) < 0 ||
	    s->whole->first >= end || !s->whole->nr_coroutines)
		s->has_watched = s->has_ended;
}

static void shipper_send_whole(struct shipper *s)
{
	struct ship_transport *t = s->config->transport;
	struct ship_whole_block *b;
	struct ship_labels labels = s->labels;
	struct err err = { 0 };

	labels.sample = 1;
	while (s->whole && (!s->retry_at_ns || clock_now_ns() >= s->retry_at_ns) &&
	       (b = ship_whole_next(s->whole)) != NULL) {
		struct ship_parcel parcel = {
			.labels = &labels,
			.number = b->number,
			.block = b->data.data,
			.size = b->data.size,
		};

		parcel.labels_text = jw_text(&s->whole_text, &parcel.labels_size);
		if (t->ops->send(t, &parcel, &err) < 0) {
			shipper_lost(s, &err);
			return;
		}
		b->is_sent = true;
	}
}

/* ---- the end ---------------------------------------------------------------------- */

/* All blocks have arrived or were given up: send the account. */
static void shipper_send_final(struct shipper *s)
{
	struct ship_labels labels = s->labels;
	struct ship_parcel parcel = { .labels = &labels, .number = s->follow.next };
	struct json_writer w;
	struct err err = { 0 };

	if (s->final_sent || (s->retry_at_ns && clock_now_ns() < s->retry_at_ns))
		return;
	labels.has_final = true;
	shipper_account(s, &labels.final);
	jw_init_buffer(&w);
	ship_labels_write(&w, &labels);
	parcel.labels_text = jw_text(&w, &parcel.labels_size);
	if (parcel.labels_text &&
	    s->config->transport->ops->send(s->config->transport, &parcel, &err) == 0)
		s->final_sent = true;
	else
		shipper_lost(s, &err);
	jw_release(&w);
}

static void shipper_acked(void *ctx, uint64_t number)
{
	struct shipper *s = ctx;

	if (number >= SHIP_WHOLE_FIRST && s->whole)
		ship_whole_arrived(s->whole, number);
	else if (s->final_sent && number == s->follow.next)
		s->final_arrived = true;
	else
		ship_spool_arrived(&s->spool, number);
	if (s->config->waits_while_blocks_arrive)
		s->waits_since_ns = clock_now_ns();
	shipper_works(s);
}

/* ---- the loop --------------------------------------------------------------------- */

/* Wait for acknowledgements, or for new blocks.  True: stop. */
static bool shipper_wait(struct shipper *s)
{
	struct ship_transport *t = s->config->transport;
	bool has_sent = s->spool.nr_sent || (s->whole && s->whole->nr_blocks) ||
			(s->final_sent && !s->final_arrived);
	struct err err = { 0 };

	/* Also without: some may have arrived before another could not be sent. */
	if (t->ops->poll(t, has_sent ? SHIPPER_LOOK_MS : 0, shipper_acked, s, &err) < 0)
		shipper_lost(s, &err);
	return s->config->pause && s->config->pause(has_sent ? 0 : SHIPPER_LOOK_MS);
}

static bool shipper_is_done(const struct shipper *s)
{
	if (!s->has_ended)
		return false;
	return s->final_arrived || clock_now_ns() - s->waits_since_ns >= s->config->wait_ns;
}

static bool shipper_has_sent_all(const struct shipper *s)
{
	return s->has_ended && s->is_ready && !s->spool.spooled.blocks &&
	       (!s->whole || (s->has_watched && !s->whole->nr_blocks));
}

static int shipper_loop(struct shipper *s, struct err *err)
{
	int rc = 0;

	while (rc == 0 && !shipper_is_done(s)) {
		rc = shipper_look(s, err);
		/* The run has its number before anything of it is sent. */
		shipper_save_if_due(s);
		shipper_send_some(s);
		shipper_watch(s);
		shipper_send_whole(s);
		if (shipper_has_sent_all(s))
			shipper_send_final(s);
		if (shipper_wait(s))
			break;
	}
	return rc;
}

/* ---- begin ------------------------------------------------------------------------ */

/* The first block has the facts of the run.  1; 0: there is none; or a negative errno. */
static int shipper_first_block(struct shipper *s, struct ship_block *block, struct err *err)
{
	int rc;

	while ((rc = ship_follow_head(&s->follow, block, err)) == -EAGAIN) {
		if (s->config->pause && s->config->pause(SHIPPER_LOOK_MS))
			return 0;
	}
	if (rc <= 0)
		return rc;
	rc = ship_facts_take(&s->facts, &s->follow, block);
	if (rc < 0)
		return err_set(err, rc, "cannot read '%s': %s", s->config->trace, strerror(-rc));
	return 1;
}

static bool shipper_is_same_run(const struct shipper *s)
{
	const struct ship_labels *a = &s->state->labels, *b = &s->facts.labels;

	return s->facts.has_run && a->start_ts == b->start_ts &&
	       a->start_realtime == b->start_realtime;
}

/* Blocks that had not arrived, in front of the place to go on. */
static int shipper_add_pending(struct shipper *s, struct err *err)
{
	const struct ship_damage none = { 0 };
	uint32_t i;

	for (i = 0; i < s->state->nr_pending; i++) {
		struct ship_block block = { .offset = s->state->pending[i] };
		int rc = compact_read_at(s->follow.fd, &block.head, sizeof(block.head),
					 block.offset);

		if (rc > 0 && !compact_block_head_is_valid(&block.head))
			rc = 0;
		if (rc > 0)
			rc = ship_spool_add(&s->spool, &block, &none);
		else if (rc == 0)
			s->spool.given_up.blocks++;
		if (rc < 0)
			return err_set(err, rc, "cannot read '%s': %s", s->config->trace,
				       strerror(-rc));
	}
	for (i = 0; i < s->spool.nr; i++)
		s->spool.items[i].is_necessary = true; /* they may have arrived */
	return 0;
}

/* The totals may be in a block that has arrived. */
static void shipper_resume_account(struct shipper *s)
{
	const struct ship_final *f = &s->state->labels.final;

	s->labels.has_final = false;
	if (!s->state->labels.has_final)
		return;
	s->facts.has_totals = true;
	s->facts.totals.written = f->written;
	s->facts.totals.lost = f->lost;
	s->facts.totals.others_lost = f->others_lost;
}

/* Go on where an earlier shipper stopped. */
static int shipper_resume(struct shipper *s, struct err *err)
{
	s->labels = s->state->labels;
	s->is_ready = true;
	shipper_resume_account(s);
	s->spool.shipped = s->state->shipped;
	s->spool.given_up = s->state->given_up;
	s->spool.left_out = s->state->left_out;
	if (s->whole)
		s->whole->made = s->state->whole_blocks;
	s->spool.place = s->state->place;
	s->final_arrived = s->state->is_finished;
	s->state->trouble[0] = 0;
	if (shipper_write_labels(s) < 0)
		return err_set(err, -ENOMEM, "no memory to ship '%s'", s->config->trace);
	ship_follow_close(&s->follow);
	if (ship_follow_open(&s->follow, s->config->trace, !s->config->has_ended, err) < 0)
		return err->code;
	ship_follow_seek(&s->follow, &s->state->place);
	return shipper_add_pending(s, err);
}

static int shipper_start_run(struct shipper *s, const struct ship_block *first, struct err *err)
{
	memset(s->state, 0, sizeof(*s->state));
	memset(&s->labels, 0, sizeof(s->labels));
	if (ship_run_new(s->labels.run, err) < 0)
		return err->code;
	return shipper_add(s, first) < 0
		       ? err_set(err, -ENOMEM, "no memory to ship '%s'", s->config->trace)
		       : 0;
}

static int shipper_begin(struct shipper *s, struct err *err)
{
	const struct shipper_config *c = s->config;
	struct ship_block first;
	int rc;

	jw_init_buffer(&s->labels_text);
	jw_init_buffer(&s->whole_text);
	s->whole = c->labels.sample > 1 ? calloc(1, sizeof(*s->whole)) : NULL;
	s->state_path = ship_state_path(c->trace);
	s->state = calloc(1, sizeof(*s->state));
	if (!s->state_path || !s->state)
		return err_set(err, -ENOMEM, "no memory to ship '%s'", c->trace);
	if (ship_follow_open(&s->follow, c->trace, !c->has_ended, err) < 0)
		return err->code;
	rc = shipper_first_block(s, &first, err);
	if (rc <= 0)
		return rc < 0 ? rc
			      : err_set(err, -ENODATA, "cannot ship '%s': it has no blocks",
					c->trace);
	if (c->spool_size)
		spool_space_open(&s->space, c->trace, ship_place_behind(&first).offset);
	s->spool.freed = c->spool_size ? spool_space_punch : NULL;
	s->spool.freed_ctx = &s->space;
	rc = c->is_new ? 0 : ship_state_read(s->state, s->state_path, err);
	if (rc < 0)
		return rc;
	rc = rc > 0 && shipper_is_same_run(s) ? shipper_resume(s, err)
					      : shipper_start_run(s, &first, err);
	snprintf(s->state->receiver, sizeof(s->state->receiver), "%s", c->transport->name);
	return rc;
}

static void shipper_end(struct shipper *s)
{
	ship_follow_close(&s->follow);
	ship_facts_release(&s->facts);
	ship_spool_release(&s->spool);
	spool_space_close(&s->space);
	jw_release(&s->labels_text);
	jw_release(&s->whole_text);
	ship_sampler_release(&s->sampler);
	if (s->whole)
		ship_whole_release(s->whole);
	free(s->whole);
	free(s->state_path);
	free(s->state);
}

static void shipper_tell(const struct shipper *s, struct shipper_result *r)
{
	memcpy(r->run, s->labels.run, sizeof(r->run));
	r->shipped = s->spool.shipped;
	r->spooled = s->spool.spooled;
	r->given_up = s->spool.given_up;
	r->left_out = s->spool.left_out;
	r->sample = s->labels.sample;
	if (s->whole) {
		r->whole.blocks = s->whole->arrived;
		r->whole.transitions = s->whole->transitions;
		r->whole.others = s->whole->others;
		r->whole_coroutines = s->whole->nr_coroutines;
	}
	r->is_finished = s->final_arrived;
	r->no_punch = s->space.refused;
}

int shipper_run(const struct shipper_config *config, struct shipper_result *result, struct err *err)
{
	struct shipper s = { .config = config };
	int rc;

	memset(result, 0, sizeof(*result));
	rc = shipper_begin(&s, err);
	result->was_finished = rc == 0 && s.final_arrived;
	if (rc == 0 && !s.final_arrived) {
		rc = shipper_loop(&s, err);
		if (s.is_ready && shipper_save(&s, rc < 0 ? &(struct err){ 0 } : err) < 0 && !rc)
			rc = err->code;
	}
	shipper_tell(&s, result);
	shipper_end(&s);
	return rc;
}
