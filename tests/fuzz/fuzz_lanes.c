/* SPDX-License-Identifier: MIT */
/*
 * fuzz_lanes.c - the drain survives any content of the lanes.
 *
 * The input is a list of steps: events as a program writes them, chunks that fill up,
 * lanes that are closed and opened, bytes anywhere in the header's pools, the lanes, the
 * chunks and the sites; time that passes; and polls.  Checked: nothing that cannot be an
 * event is handed on; a lane's time does not go back, nor ahead of the poll; what was
 * handed on is what is counted, and never more lost than written; no chunk is read by two
 * lanes; no impossible count.
 *
 * With clang: -DFUZZ_LIBFUZZER -fsanitize=fuzzer -Wl,--wrap=tickclock_mark.  Otherwise
 * main() makes its own inputs: fuzz_lanes [ROUNDS [SEED]].
 */
#define BED_LANES  4u
#define BED_CHUNKS 6u
#include "lane_bed.h"

#include "base/monotonic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No event can be this long before the start, by any counter. */
#define PAST_NS (64 * NS_PER_SEC)

static struct drain drain;
static uint64_t handed_on, gap_lost, last_ts[BED_LANES];
static uint64_t now_ticks;

/* A program's state of its lane. */
static struct {
	uint32_t chunk, at;
	uint64_t head;
} writers[BED_LANES];

static void fail(const char *what)
{
	fprintf(stderr, "fuzz_lanes: %s\n", what);
	abort();
}

/* ---- output ---------------------------------------------------------------------------- */

static void on_lane(void *ctx, const struct trace_lane *lane)
{
	(void)ctx;
	if (lane->number >= BED_LANES || lane->tid > INT32_MAX)
		fail("a lane that cannot be");
	last_ts[lane->number] = 0;
}

static void on_event(void *ctx, uint32_t lane, const struct trace_event *ev)
{
	static volatile char sum;
	uint32_t i;

	(void)ctx;
	if (lane >= BED_LANES || ev->kind >= NR_TRACE_KINDS || !ev->probe_id ||
	    ev->reason >= NR_TRACE_REASONS || ev->name_size > CTP_EXT_NAME_SIZE)
		fail("an event that cannot be was handed on");
	if (trace_is_transition(ev) && !trace_event_is_possible(ev))
		fail("a transition that cannot be was handed on");
	if (ev->ts > drain.limit_ns || ev->ts + PAST_NS < BED_NS0)
		fail("an event of another time");
	if (ev->ts < last_ts[lane])
		fail("a lane's time went back");
	last_ts[lane] = ev->ts;
	for (i = 0; i < ev->name_size; i++)
		sum = (char)(sum + ev->name[i]);
	handed_on++;
}

static void on_gap(void *ctx, uint32_t lane, uint64_t from, uint64_t to, uint64_t transitions,
		   uint64_t others)
{
	(void)ctx;
	(void)others;
	if (lane >= BED_LANES || from > to || to > drain.limit_ns || from < BED_NS0)
		fail("a gap that cannot be");
	gap_lost += transitions;
}

static void on_site(void *ctx, const struct trace_site *site)
{
	(void)ctx;
	if (!site->id || site->id > BED_SITES || strlen(site->file) > CTP_SITE_FILE_SIZE ||
	    strlen(site->function) > CTP_SITE_FUNCTION_SIZE)
		fail("a site that cannot be");
}

static const struct drain_sink sinks[] = {
	{ .ordered = true, .lane = on_lane, .event = on_event, .gap = on_gap, .site = on_site },
	{ .lane = on_lane, .event = on_event, .gap = on_gap, .site = on_site },
};

/* ---- invariants ------------------------------------------------------------------------ */

static void check_chunks(void)
{
	uint32_t i, k;

	for (i = 0; i < drain.nr_cursors; i++) {
		const struct drain_lane *c = &drain.cursors[i];

		if (!c->open || c->broken)
			continue;
		if (c->chunk >= BED_CHUNKS || c->at > CTP_CHUNK_RECORDS || c->read > c->head ||
		    drain.owner[c->chunk] != i + 1)
			fail("a cursor is where it cannot be");
		for (k = 0; k < i; k++)
			if (drain.cursors[k].open && !drain.cursors[k].broken &&
			    drain.cursors[k].chunk == c->chunk)
				fail("two lanes read one chunk");
	}
}

static void check(void)
{
	const struct drain_totals *t = &drain.totals;
	uint64_t most = bed_ns(bed_ticks) - BED_NS0 + NS_PER_SEC;

	if (t->transitions + t->marks != handed_on)
		fail("what was handed on is not what was counted");
	if (t->lost > BED_LANES * most * 64 || t->homeless > most || t->coroutines > most ||
	    t->unborn > most || t->lost_sites > most || t->blocked_ns > BED_LANES * most * 64)
		fail("a count that cannot be");
	if (gap_lost > t->lost)
		fail("more was told as lost than was counted");
	if (t->broken > t->lanes)
		fail("more broken lanes than lanes");
	check_chunks();
}

static void look(void)
{
	uint64_t before = handed_on;
	struct drain_look out;

	drain_look(&drain, &out);
	if (out.events != handed_on - before ||
	    out.events > (uint64_t)BED_LANES * BED_CHUNKS * CTP_CHUNK_RECORDS)
		fail("a look took what there cannot be");
	check();
}

/* ---- actions of programs ----------------------------------------------------------------- */

static void open_lane(uint32_t i, uint32_t chunk)
{
	struct ctp_lane *lane = &bed_lanes[i];

	memset(lane, 0, sizeof(*lane));
	lane->tid = 100 + i;
	lane->pid = 42 + i % 2;
	lane->first = chunk + 1;
	lane->ticks = i == 3 ? CTP_TICKS_NS : CTP_TICKS_COUNTER;
	lane->state = CTP_LANE_OPEN;
	writers[i].chunk = chunk;
	writers[i].at = 0;
	writers[i].head = 0;
}

static void append(uint32_t i, uint8_t kind, uint8_t how)
{
	struct ctp_record *r;

	if (writers[i].at >= CTP_CHUNK_RECORDS)
		return;
	r = &bed_chunks[writers[i].chunk].records[writers[i].at++];
	memset(r, 0, sizeof(*r));
	r->ticks = bed_lanes[i].ticks == CTP_TICKS_NS ? bed_ns(BED_TICKS0 + now_ticks)
						      : BED_TICKS0 + now_ticks;
	r->ticks -= how % 4;
	r->id = how % 16 + 1;
	r->kind = kind;
	r->seq = kind == CTP_REC_BIRTH ? how % 32 : how;
	r->value = how;
	writers[i].head++;
	bed_lanes[i].head = writers[i].head * sizeof(*r);
	now_ticks += how % 8;
}

/* Up to the end of the chunk, and on into chunk @next. */
static void fill(uint32_t i, uint32_t next)
{
	while (writers[i].at < CTP_CHUNK_RECORDS)
		append(i, CTP_REC_RESUME, (uint8_t)writers[i].at);
	bed_chunks[writers[i].chunk].link = next + 1;
	writers[i].chunk = next;
	writers[i].at = 0;
}

static void overwrite(void *what, size_t what_size, const uint8_t *data)
{
	size_t at = (size_t)(data[0] | data[1] << 8) % (what_size - 8), len = data[2] % 8u + 1;

	memcpy((char *)what + at, data + 3, len);
}

/* Near the read position: a chunk's head, or one of the first records. */
static void overwrite_chunk(const uint8_t *data)
{
	struct ctp_chunk *chunk = &bed_chunks[data[15] % BED_CHUNKS];

	overwrite(chunk, data[15] & 0x80 ? 2048 : 32, data);
}

/* ---- the input ------------------------------------------------------------------------------- */

/* Bytes of one step: its kind and its arguments. */
enum { STEP = 16 };

static void step(const uint8_t *data)
{
	uint32_t i = data[1] % BED_LANES;

	switch (data[0] % 12) {
	case 0:
	case 1:
		drain.last |= data[1] == 7;
		bed_now(now_ticks);
		look();
		break;
	case 2:
		now_ticks += (uint64_t)data[2] << (data[3] % 24);
		break;
	case 3:
	case 4:
	case 5:
		append(i, data[2] & 0x80 ? data[2] : data[2] % CTP_REC_KINDS, data[3]);
		break;
	case 6:
		fill(i, data[2] % BED_CHUNKS);
		break;
	case 7:
		overwrite(&bed_ext, sizeof(bed_ext), data + 1);
		break;
	case 8:
		overwrite(&bed_lanes[i], sizeof(bed_lanes[i]), data + 2);
		break;
	case 9:
		overwrite_chunk(data);
		break;
	case 10:
		overwrite(bed_sites, sizeof(bed_sites), data + 1);
		break;
	default:
		if (data[2] & 1)
			bed_lanes[i].state = data[2] & 2 ? CTP_LANE_CLOSED : data[3];
		else if (data[2] & 2)
			open_lane(i, data[3] % BED_CHUNKS);
		else
			drain_orphans(&drain, 42);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = { 0 };
	uint32_t i;

	bed_make();
	bed_ext.lanes.used = BED_LANES;
	bed_ext.chunks.used = BED_CHUNKS;
	bed_ext.sites.used = 2;
	handed_on = gap_lost = 0;
	now_ticks = 1000;
	bed_now(now_ticks);
	if (drain_open(&drain, &bed, &bed_clock, &sinks[size % 2], NULL, &err) < 0)
		return 0;
	look(); /* the first: the clock's rate is known from now on */
	now_ticks += 100000;
	for (i = 0; i < BED_LANES; i++)
		open_lane(i, i);
	for (; size >= STEP; data += STEP, size -= STEP)
		step(data);
	now_ticks += 1000;
	bed_now(now_ticks);
	drain.last = true;
	look();
	drain_finish(&drain);
	check();
	drain_close(&drain);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
#include "own_input.h"

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Small values are likelier than large ones: they pass more checks. */
static size_t make_input(uint8_t *data, size_t size, uint64_t *state)
{
	size_t i;

	for (i = 0; i < size; i++) {
		uint64_t r = next_random(state);

		data[i] = r & 0x300 ? (uint8_t)(r % 12) : (uint8_t)r;
		/* Mostly correct steps: a lane that is corrupt at once shows little. */
		if (i % STEP == 0 && r & 0x7000)
			data[i] = (uint8_t)(r % 7);
		else if (i % STEP < 4)
			data[i] = (uint8_t)(r >> 16);
	}
	return size;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000, i;
	uint64_t state = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) * 0x9E3779B97F4A7C15u;
	static uint8_t data[200 * STEP];
	uint64_t events = 0;

	/*
	 * Each round costs a new region and some thousand events: fewer rounds than for the others.
	 */
	rounds = rounds / 10 + 1;
	for (i = 0; i < rounds; i++) {
		size_t size = make_input(data, next_random(&state) % sizeof(data), &state);

		own_input(data, size);
		events += handed_on;
	}
	printf("%lu inputs, %llu events believed\n", rounds, (unsigned long long)events);
	/* Inputs that are always rejected would test little. */
	return events > rounds ? 0 : 1;
}
#endif
