/* SPDX-License-Identifier: MIT */
/*
 * compact_writer.c - write a trace in the compact format.
 *
 * Events are encoded as they come; a full block is compressed and written at once, in the caller's
 * thread, so that a save (struct trace_saver) covers exactly the events that were put before it.
 * Facts wait for the next block of events and are written in front of it.
 *
 * Failures
 *   A block that could not be written is cut off again.  Space behind the end of the file is
 *   reserved in advance, where the file system can do so: the totals find room there when the
 *   disk is full.
 */
#include "trace/compact_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json_writer.h"
#include "base/monotonic.h"
#include "trace/compact_encode.h"
#include "trace/compact_index.h"
#include "trace/compact_pack.h"
#include "trace/compact_switches.h"
#include "trace/schema.h"
#include "trace/sidecar.h"
#include "trace/trace_filter.h"

/* Facts are written when they have this size, even without events. */
#define FACTS_SIZE ((size_t)1 << 20)
/* Reserved behind the end, for the totals. */
#define RESERVE_SIZE UINT64_C(16384)
/* How often a caller should flush: smaller blocks compress worse. */
#define FLUSH_NS NS_PER_SEC

struct compact_writer {
	struct trace_writer writer; /* first member: cast to and from */
	struct compact_encoder *encoder;
	struct compact_packer packer;
	struct compact_index index;
	struct compact_switches switches;
	struct bytes facts;
	uint32_t nr_facts;
	uint32_t fact_types;
	bool fact_times;                   /* the facts are about times, */
	uint64_t fact_min_ts, fact_max_ts; /* between these */
	struct trace_lane *lanes;          /* by number: pid and tid for gaps */
	uint32_t nr_lanes;
	int fd;
	bool is_file;
	bool (*stop)(unsigned waited_ms);
	char *path;
	uint64_t end;      /* of the file */
	uint64_t reserved; /* space is reserved up to here; UINT64_MAX: not possible */
	uint64_t number;   /* of the next block */
	struct trace_counts counts;
	int error;       /* of the first write that failed */
	int facts_error; /* of the totals */
};

static struct compact_writer *compact_writer_of(struct trace_writer *w)
{
	return (struct compact_writer *)w;
}

/* ---- the file ---------------------------------------------------------------- */

/* What was reserved before is still there if this fails. */
static int compact_reserve(struct compact_writer *w)
{
	uint64_t want = w->end + 2 * RESERVE_SIZE;

	if (!w->is_file || w->reserved >= w->end + RESERVE_SIZE)
		return 0;
	if (fallocate(w->fd, FALLOC_FL_KEEP_SIZE, (off_t)w->end, (off_t)(want - w->end)) == 0) {
		w->reserved = want;
		return 0;
	}
	if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
		return -errno;
	w->reserved = UINT64_MAX;
	return 0;
}

/* The totals must find room below the limit on file sizes. */
static bool compact_exceeds_limit(const struct compact_writer *w, size_t size)
{
	struct rlimit limit;

	return w->is_file && getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
	       limit.rlim_cur != RLIM_INFINITY && w->end + size + RESERVE_SIZE > limit.rlim_cur;
}

static ssize_t compact_write_some(const struct compact_writer *w, const uint8_t *data, size_t size)
{
	return w->stop ? io_write_unless(w->fd, data, size, w->stop) : io_write(w->fd, data, size);
}

/* A write failed: cut off what it left, and reserve again what the cut gave back. */
static void compact_cut(struct compact_writer *w)
{
	if (!w->is_file || ftruncate(w->fd, (off_t)w->end) < 0)
		return;
	lseek(w->fd, (off_t)w->end, SEEK_SET);
	if (w->reserved != UINT64_MAX)
		w->reserved = 0;
	compact_reserve(w);
}

/* Writes all of it, or leaves the file as it was. */
static int compact_append(struct compact_writer *w, const void *data, size_t size)
{
	const uint8_t *at = data;
	size_t left = size;

	while (left) {
		ssize_t put = compact_write_some(w, at, left);

		if (put <= 0) {
			compact_cut(w);
			return put ? (int)put : -EIO;
		}
		at += put;
		left -= (size_t)put;
	}
	w->end += size;
	return 0;
}

/* ---- blocks -------------------------------------------------------------------- */

/* Writes the block that the packer made. */
static int compact_write_block(struct compact_writer *w, const struct compact_block_head *head)
{
	uint64_t offset = w->end;
	int rc = compact_append(w, w->packer.out.data, w->packer.out.size);

	if (rc < 0)
		return rc;
	w->number++;
	return compact_index_add(&w->index, head, offset) ? 0 : -ENOMEM;
}

static void compact_head_init(const struct compact_writer *w, struct compact_block_head *head,
			      enum compact_type type)
{
	*head = (struct compact_block_head){
		.type = (uint8_t)type,
		.number = w->number,
		.transitions_before = w->counts.written,
		.others_before = w->counts.others_written,
	};
}

static int compact_write_facts(struct compact_writer *w)
{
	struct compact_source lines = { .id = COMPACT_LINES,
					.data = w->facts.data,
					.size = w->facts.size };
	struct compact_block_head head;
	int rc;

	if (!w->nr_facts)
		return w->facts.error;
	compact_head_init(w, &head, COMPACT_FACTS);
	head.items = w->nr_facts;
	head.kinds = (uint16_t)w->fact_types;
	head.min_ts = w->fact_times ? w->fact_min_ts : 0;
	head.max_ts = w->fact_times ? w->fact_max_ts : 0;
	rc = w->facts.error ? w->facts.error : compact_block_make(&w->packer, &head, &lines, 1);
	if (rc == 0)
		rc = compact_write_block(w, &head);
	bytes_clear(&w->facts);
	w->nr_facts = w->fact_types = 0;
	return rc;
}

static int compact_write_switches(struct compact_writer *w)
{
	struct compact_source columns[NR_COMPACT_SWITCH_COLUMNS];
	struct compact_block_head head;
	int rc;

	if (!w->switches.items)
		return 0;
	compact_head_init(w, &head, COMPACT_SWITCHES);
	head.items = w->switches.items;
	head.kinds = 1u << TRACE_ITEM_SWITCH;
	head.min_ts = w->switches.min_ts;
	head.max_ts = w->switches.max_ts;
	rc = compact_switches_columns(&w->switches, columns);
	if (rc > 0)
		rc = compact_block_make(&w->packer, &head, columns, (unsigned)rc);
	if (rc == 0)
		rc = compact_write_block(w, &head);
	compact_switches_clear(&w->switches);
	return rc;
}

/* The write itself, announced to the saver. */
static int compact_save_events(struct compact_writer *w, const struct compact_block_head *head)
{
	const struct trace_saver *saver = w->writer.saver;
	struct trace_save save = {
		.lane = TRACE_SAVE_ALL,
		.trace_size = w->end + w->packer.out.size,
		.sidecar_size = 0,
		.transitions = w->counts.written + head->transitions,
		.others = w->counts.others_written + head->others,
	};
	int rc;

	if (compact_exceeds_limit(w, w->packer.out.size))
		return -EFBIG;
	if (saver)
		saver->begin(saver->ctx, &save);
	rc = compact_write_block(w, head);
	if (saver)
		saver->end(saver->ctx, rc == 0);
	return rc;
}

static int compact_write_events(struct compact_writer *w)
{
	struct compact_block_head head;
	int rc;

	compact_head_init(w, &head, COMPACT_EVENTS);
	rc = compact_pack_events(&w->packer, w->encoder, &head);
	if (rc == 0)
		rc = compact_save_events(w, &head);
	if (rc == 0) {
		compact_index_add_sets(&w->index, w->encoder);
		w->counts.written += head.transitions;
		w->counts.others_written += head.others;
	} else {
		w->counts.unwritten += w->encoder->transitions;
		w->counts.others_unwritten += w->encoder->others;
	}
	compact_encoder_reset(w->encoder);
	return rc;
}

/* Facts first: events refer to them. */
static void compact_write_all(struct compact_writer *w)
{
	if (!w->error)
		w->error = compact_write_facts(w);
	if (!w->error)
		w->error = compact_write_switches(w);
	if (!w->error && w->encoder->items)
		w->error = compact_write_events(w);
	if (!w->error)
		w->error = compact_reserve(w);
	if (w->error && w->encoder->items) {
		w->counts.unwritten += w->encoder->transitions;
		w->counts.others_unwritten += w->encoder->others;
		compact_encoder_reset(w->encoder);
	}
}

/* ---- events ---------------------------------------------------------------------- */

static void compact_put_event(struct trace_writer *tw, uint32_t lane, const struct trace_event *ev)
{
	struct compact_writer *w = compact_writer_of(tw);

	(void)lane;
	if (compact_encoder_is_full(w->encoder))
		compact_write_all(w);
	if (w->error || ev->kind >= NR_TRACE_KINDS) {
		if (trace_is_transition(ev))
			w->counts.unwritten++;
		else
			w->counts.others_unwritten++;
		return;
	}
	compact_encode_event(w->encoder, ev);
}

static bool compact_make_room_for(struct compact_writer *w, uint32_t number)
{
	uint32_t nr = w->nr_lanes ? w->nr_lanes : 16;
	struct trace_lane *more;

	if (number < w->nr_lanes)
		return true;
	if (number >= TRACE_LANES_MAX)
		return false;
	while (nr <= number)
		nr *= 2;
	more = reallocarray(w->lanes, nr, sizeof(*more));
	if (!more)
		return false;
	memset(more + w->nr_lanes, 0, (nr - w->nr_lanes) * sizeof(*more));
	w->lanes = more;
	w->nr_lanes = nr;
	return true;
}

static void compact_put_lane(struct trace_writer *tw, const struct trace_lane *lane)
{
	struct compact_writer *w = compact_writer_of(tw);

	if (compact_make_room_for(w, lane->number))
		w->lanes[lane->number] = *lane;
}

/* Events are written in the order of the calls. */
static void compact_put_horizon(struct trace_writer *tw, uint64_t ts)
{
	(void)tw;
	(void)ts;
}

/* ---- facts ----------------------------------------------------------------------- */

/* The line of an item, as the sidecar has it. */
static int compact_add_line(struct bytes *to, const struct trace_item *item)
{
	struct json_writer j;
	const char *text;
	size_t size;

	jw_init_buffer(&j);
	jw_object_begin(&j);
	jw_field_string(&j, "type", schema[item->type].name);
	schema_put_json(&j, item->type, schema_const_record_of(item));
	jw_object_end(&j);
	jw_newline(&j);
	text = jw_text(&j, &size);
	if (text)
		bytes_add(to, text, size);
	return jw_release(&j);
}

static void compact_put_gap(struct compact_writer *w, const struct trace_gap *gap)
{
	struct trace_item whole = { .type = TRACE_ITEM_GAP, .gap = *gap };
	struct bytes line = { 0 };

	if (gap->lane < w->nr_lanes) {
		whole.gap.pid = w->lanes[gap->lane].pid;
		whole.gap.tid = w->lanes[gap->lane].tid;
	}
	if (compact_encoder_is_full(w->encoder))
		compact_write_all(w);
	if (!w->error && compact_add_line(&line, &whole) == 0 && !line.error)
		compact_encode_gap(w->encoder, gap->to_ts, (const char *)line.data, line.size);
	bytes_release(&line);
}

/*
 * Facts that are about a time have blocks of their own, so that a reader can skip those of other
 * times.
 */
static void compact_note_times(struct compact_writer *w, const struct trace_item *fact)
{
	uint64_t from_ts, to_ts;
	bool has_times = trace_fact_times(fact, &from_ts, &to_ts);
	int rc = w->nr_facts && has_times != w->fact_times ? compact_write_facts(w) : 0;

	if (rc < 0 && !w->facts.error)
		w->facts.error = rc;
	if (has_times && (!w->nr_facts || from_ts < w->fact_min_ts))
		w->fact_min_ts = from_ts;
	if (has_times && (!w->nr_facts || to_ts > w->fact_max_ts))
		w->fact_max_ts = to_ts;
	w->fact_times = has_times;
}

static void compact_add_fact(struct compact_writer *w, const struct trace_item *fact)
{
	int rc;

	compact_note_times(w, fact);
	rc = compact_add_line(&w->facts, fact);
	if (rc < 0 && !w->facts.error)
		w->facts.error = rc;
	w->nr_facts++;
	w->fact_types |= 1u << fact->type;
	if (w->facts.size >= FACTS_SIZE)
		compact_write_all(w);
}

/* Most switches are in columns, the others are lines; both stay in their order. */
static void compact_put_switch(struct compact_writer *w, const struct trace_item *fact)
{
	if (w->fact_types & 1u << TRACE_ITEM_SWITCH || w->switches.items == COMPACT_ITEMS_MAX)
		compact_write_all(w);
	if (w->error || compact_switches_add(&w->switches, &fact->switched))
		return;
	w->error = compact_write_switches(w);
	if (!w->error)
		compact_add_fact(w, fact);
}

/* Also after a failure: the reserved space is for them. */
static void compact_put_totals(struct compact_writer *w, const struct trace_item *totals)
{
	compact_write_all(w);
	bytes_clear(&w->facts);
	w->nr_facts = w->fact_types = 0;
	compact_add_fact(w, totals);
	w->facts_error = compact_write_facts(w);
}

static void compact_put_run(struct compact_writer *w, const struct trace_item *fact)
{
	struct trace_item run = *fact;

	run.run.format = SIDECAR_FORMAT;
	compact_add_fact(w, &run);
	compact_write_all(w); /* on disk if the collector is killed */
}

static void compact_put_fact(struct trace_writer *tw, const struct trace_item *fact)
{
	struct compact_writer *w = compact_writer_of(tw);

	switch (fact->type) {
	case TRACE_ITEM_GAP:
		compact_put_gap(w, &fact->gap);
		break;
	case TRACE_ITEM_RUN:
		compact_put_run(w, fact);
		break;
	case TRACE_ITEM_TOTALS:
		compact_put_totals(w, fact);
		break;
	case TRACE_ITEM_SWITCH:
		compact_put_switch(w, fact);
		break;
	case TRACE_ITEM_EVENT:
	case NR_TRACE_ITEM_TYPES:
		break;
	default:
		if (!w->error)
			compact_add_fact(w, fact);
	}
}

static void compact_flush(struct trace_writer *tw)
{
	compact_write_all(compact_writer_of(tw));
}

static void compact_tell_counts(const struct trace_writer *tw, struct trace_counts *counts)
{
	*counts = ((const struct compact_writer *)tw)->counts;
}

/* ---- open and close ---------------------------------------------------------------- */

/* A reader does without it, so a failure is not reported. */
static void compact_write_index(struct compact_writer *w)
{
	struct compact_end end = { .index = w->end, .blocks = w->number };
	struct compact_source columns[2];
	struct compact_block_head head;

	compact_index_columns(&w->index, columns);
	compact_head_init(w, &head, COMPACT_INDEX);
	head.items = w->index.nr;
	if (compact_block_make(&w->packer, &head, columns, 2) < 0)
		return;
	memcpy(end.magic, COMPACT_END_MAGIC, COMPACT_MAGIC_SIZE);
	end.crc = compact_crc(&end, offsetof(struct compact_end, crc));
	/* In one write: an index without its end record is of no use. */
	bytes_add(&w->packer.out, &end, sizeof(end));
	if (!w->packer.out.error)
		compact_append(w, w->packer.out.data, w->packer.out.size);
}

static void compact_writer_free(struct compact_writer *w)
{
	if (w->fd >= 0)
		close(w->fd);
	compact_encoder_free(w->encoder);
	compact_packer_release(&w->packer);
	compact_index_release(&w->index);
	compact_switches_release(&w->switches);
	bytes_release(&w->facts);
	free(w->lanes);
	free(w->path);
	free(w);
}

static void compact_say_failure(const struct compact_writer *w, struct err *err)
{
	err_set(err, w->error,
		"cannot write '%s': %s; %" PRIu64 " events are in it, %" PRIu64 " are not", w->path,
		strerror(-w->error), w->counts.written + w->counts.others_written,
		w->counts.unwritten + w->counts.others_unwritten);
	if (w->error == -ENOSPC || w->error == -EDQUOT)
		err_hint(err, "make room there, or write the trace to another disk");
	else if (w->error == -EFBIG)
		err_hint(err, "the limit on file sizes is in the way: see 'ulimit -f'");
}

static void compact_close(struct trace_writer *tw, struct trace_counts *counts, struct err *trace,
			  struct err *facts)
{
	struct compact_writer *w = compact_writer_of(tw);

	compact_write_all(w);
	compact_write_index(w);
	/* Gives the reserved space back. */
	if (w->is_file && w->reserved && w->reserved != UINT64_MAX &&
	    ftruncate(w->fd, (off_t)w->end) < 0 && !w->error)
		w->error = -errno;
	if (close(w->fd) < 0 && errno != EINTR && !w->error)
		w->error = -errno;
	w->fd = -1;
	*counts = w->counts;
	if (w->error)
		compact_say_failure(w, trace);
	if (w->facts_error)
		err_set(facts, w->facts_error, "cannot write the totals to '%s': %s", w->path,
			strerror(-w->facts_error));
	compact_writer_free(w);
}

static const struct trace_writer_ops compact_writer_ops = {
	.lane = compact_put_lane,
	.event = compact_put_event,
	.horizon = compact_put_horizon,
	.fact = compact_put_fact,
	.flush = compact_flush,
	.counts = compact_tell_counts,
	.close = compact_close,
};

static int compact_write_head(struct compact_writer *w)
{
	struct compact_file_head head = { .version = COMPACT_VERSION, .size = sizeof(head) };

	memcpy(head.magic, COMPACT_MAGIC, COMPACT_MAGIC_SIZE);
	head.crc = compact_crc(&head, offsetof(struct compact_file_head, crc));
	return compact_append(w, &head, sizeof(head));
}

static int compact_writer_begin(struct compact_writer *w, const struct trace_output *output)
{
	struct stat st;
	int rc;

	if (fstat(w->fd, &st) < 0)
		return -errno;
	w->is_file = S_ISREG(st.st_mode);
	w->stop = w->is_file ? NULL : output->stop;
	w->path = strdup(output->path);
	w->encoder = compact_encoder_new();
	if (!w->path || !w->encoder)
		return -ENOMEM;
	rc = compact_write_head(w);
	return rc < 0 ? rc : compact_reserve(w);
}

struct trace_writer *compact_writer_open(const struct trace_output *output, struct err *err)
{
	struct compact_writer *w = calloc(1, sizeof(*w));
	int rc = -ENOMEM;

	if (w) {
		w->writer.ops = &compact_writer_ops;
		w->writer.wants_order = true;
		w->writer.flush_ns = FLUSH_NS;
		w->fd = output->fd;
		rc = compact_writer_begin(w, output);
		if (rc == 0)
			return &w->writer;
		compact_writer_free(w);
	} else {
		close(output->fd);
	}
	err_set(err, rc, "cannot write the trace to '%s': %s", output->path, strerror(-rc));
	err_hint(err, "choose another file with -o");
	return NULL;
}
