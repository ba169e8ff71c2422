/* SPDX-License-Identifier: MIT */
/*
 * test_ship.c - envelopes and labels come back as they were sent or are refused; the blocks of a
 * trace come one by one, and what is damaged is counted.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "ship/ship_envelope.h"
#include "ship/ship_follow.h"
#include "ship/ship_labels.h"
#include "ship/ship_sample.h"
#include "ship/ship_spool.h"
#include "ship/spool_space.h"
#include "trace/trace_reader.h"
#include "trace/trace_writer.h"

/* ---- envelopes ------------------------------------------------------------------- */

static const uint8_t block_bytes[] = "the bytes of a block";
static const char label_text[] = "{\"a\":1}";

static struct ship_envelope some_envelope(void)
{
	return (struct ship_envelope){
		.number = UINT64_C(0x123456789a),
		.part = 2,
		.parts = 3,
		.labels = label_text,
		.labels_size = sizeof(label_text) - 1,
		.block = block_bytes,
		.block_size = sizeof(block_bytes),
	};
}

static void envelopes_come_back(void)
{
	struct ship_envelope sent = some_envelope(), got;
	struct bytes b = { 0 };
	struct err err = { 0 };

	CHECK_EQ(ship_envelope_encode(&b, &sent), 0);
	CHECK_EQ(b.size, sizeof(struct ship_head) + sent.labels_size + sent.block_size);
	CHECK_EQ(ship_envelope_decode(b.data, b.size, &got, &err), 0);
	CHECK_EQ(got.number, sent.number);
	CHECK(got.part == 2 && got.parts == 3);
	CHECK_EQ(got.labels_size, sent.labels_size);
	CHECK(!memcmp(got.labels, label_text, got.labels_size));
	CHECK_EQ(got.block_size, sent.block_size);
	CHECK(!memcmp(got.block, block_bytes, got.block_size));
	bytes_release(&b);
}

static void an_envelope_without_a_block_comes_back(void)
{
	struct ship_envelope sent = { .number = 7, .parts = 1 }, got;
	struct bytes b = { 0 };
	struct err err = { 0 };

	CHECK_EQ(ship_envelope_encode(&b, &sent), 0);
	CHECK_EQ(ship_envelope_decode(b.data, b.size, &got, &err), 0);
	CHECK(got.number == 7 && !got.block_size && !got.labels_size);
	bytes_release(&b);
}

static void every_changed_bit_and_every_cut_is_noticed(void)
{
	struct ship_envelope sent = some_envelope(), got;
	struct bytes b = { 0 };
	size_t i;

	CHECK_EQ(ship_envelope_encode(&b, &sent), 0);
	for (i = 0; i < b.size * 8; i++) {
		struct err err = { 0 };

		b.data[i / 8] ^= (unsigned char)(1u << i % 8);
		CHECK_EQ(ship_envelope_decode(b.data, b.size, &got, &err), -EPROTO);
		CHECK(err.text[0] && !got.block);
		b.data[i / 8] ^= (unsigned char)(1u << i % 8);
	}
	for (i = 0; i < b.size; i++) {
		struct err err = { 0 };

		CHECK_EQ(ship_envelope_decode(b.data, i, &got, &err), -EPROTO);
	}
	bytes_add(&b, "x", 1);
	CHECK_EQ(ship_envelope_decode(b.data, b.size, &got, &(struct err){ 0 }), -EPROTO);
	bytes_release(&b);
}

static void limits_are_kept_by_the_sender(void)
{
	struct ship_envelope e = some_envelope();
	struct bytes b = { 0 };

	e.labels_size = SHIP_LABELS_MAX + 1;
	CHECK_EQ(ship_envelope_encode(&b, &e), -E2BIG);
	e = some_envelope();
	e.part = e.parts;
	CHECK_EQ(ship_envelope_encode(&b, &e), -E2BIG);
	CHECK_EQ(b.size, 0);
}

/* ---- labels ---------------------------------------------------------------------- */

static struct ship_labels some_labels(void)
{
	struct ship_labels labels = {
		.service = "shop \"a\"",
		.build = "00ff",
		.version = "1.2",
		.host = "h\xc3\xa4",
		.sample = 16,
		.start_ts = 5,
		.start_realtime = UINT64_C(1700000000000000000),
		.has_final = true,
		.final = { .written = 10,
			   .collected = 9,
			   .lost = 1,
			   .blocks = 3,
			   .given_up_blocks = 1,
			   .given_up_transitions = 4,
			   .given_up_others = 2,
			   .others_collected = 8,
			   .ended = true },
	};
	struct err err = { 0 };

	CHECK_EQ(ship_run_new(labels.run, &err), 0);
	CHECK(ship_run_is_valid(labels.run));
	return labels;
}

static void labels_come_back(void)
{
	struct ship_labels sent = some_labels(), got;
	struct err err = { 0 };
	struct json_writer w, again;
	const char *text;
	size_t size;

	jw_init_buffer(&w);
	jw_init_buffer(&again);
	ship_labels_write(&w, &sent);
	text = jw_text(&w, &size);
	CHECK(text != NULL);
	CHECK_EQ(ship_labels_parse(text, size, &got, &err), 0);
	CHECK(got.has_final && got.final.ended && got.sample == 16);
	CHECK_STR(got.host, sent.host);
	CHECK_EQ(got.final.given_up_others, 2);
	ship_labels_write(&again, &got);
	CHECK_STR(jw_text(&again, &size), text);
	jw_release(&again);
	jw_release(&w);
}

static void check_refused(const char *text)
{
	struct ship_labels got;
	struct err err = { 0 };

	CHECK_EQ(ship_labels_parse(text, strlen(text), &got, &err), -EPROTO);
	CHECK(err.text[0]);
}

#define RUN_LABEL "\"run\":\"0123456789abcdef0123456789abcdef\""

static void wrong_labels_are_refused(void)
{
	struct ship_labels got;
	struct err err = { 0 };
	const char *least = "{" RUN_LABEL ",\"host\":\"h\",\"later\":[1]}";

	CHECK_EQ(ship_labels_parse(least, strlen(least), &got, &err), 0);
	CHECK(got.sample == 1 && !got.has_final);
	check_refused("");
	check_refused("[]");
	check_refused("{\"host\":\"h\"}");
	check_refused("{" RUN_LABEL "}");
	check_refused("{" RUN_LABEL ",\"host\":\"h\",\"sample\":0}");
	check_refused("{" RUN_LABEL ",\"host\":\"h\",\"sample\":-1}");
	check_refused("{" RUN_LABEL ",\"host\":\"h\",\"sample\":\"1\"}");
	check_refused("{" RUN_LABEL ",\"host\":7}");
	check_refused("{" RUN_LABEL ",\"host\":\"h\",\"final\":1}");
	check_refused("{\"run\":\"0123\",\"host\":\"h\"}");
	check_refused("{\"run\":\"0123456789ABCDEF0123456789abcdef\",\"host\":\"h\"}");
}

/* ---- following a trace ------------------------------------------------------------ */

static char path[64];

static struct trace_writer *open_trace(int *fd)
{
	struct trace_output output = { .path = path, .format = TRACE_FORMAT_CT };
	struct err err = { 0 };
	struct trace_writer *w;

	*fd = output.fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK_EQ(flock(output.fd, LOCK_EX), 0);
	w = trace_writer_open(&output, &err);
	CHECK(w != NULL);
	trace_put_run(w, &(struct sidecar_run){ .tool = "t", .start_ts = 1000 });
	return w;
}

static void put_events(struct trace_writer *w, unsigned nr)
{
	static uint64_t ts = 1000;
	struct trace_event ev;
	unsigned i;

	for (i = 0; i < nr; i++) {
		trace_event_init(&ev);
		ev.kind = (uint8_t)(i % 2 ? TRACE_RESUME : TRACE_SUSPEND);
		ev.is_active = i % 2;
		ev.ts = ts++;
		ev.probe_id = i / 2 % 5;
		ev.tid = 7;
		trace_put_event(w, 0, &ev);
	}
	trace_flush(w);
}

static void end_trace(struct trace_writer *w)
{
	struct trace_counts counts;
	struct err err = { 0 };

	trace_put_totals(w, &(struct sidecar_totals){ .complete = true });
	trace_writer_close(w, &counts, &err, &err);
	CHECK(!err.code);
}

/* The blocks up to the end, or up to -EAGAIN. */
static int count_blocks(struct ship_follow *f, uint64_t *transitions, struct ship_place *place)
{
	struct ship_block block;
	struct err err = { 0 };
	int rc, nr = 0;

	while ((rc = ship_follow_next(f, &block, &err)) > 0) {
		CHECK_EQ(block.size, sizeof(block.head) + block.head.size);
		*transitions += block.head.transitions;
		if (place)
			*place = ship_place_behind(&block);
		nr++;
	}
	CHECK(rc == 0 || rc == -EAGAIN);
	return nr;
}

static void blocks_come_while_the_trace_grows(void)
{
	struct ship_place place = { 0 };
	uint64_t transitions = 0;
	struct ship_follow f;
	struct trace_writer *w;
	struct err err = { 0 };
	int fd, first, second;

	w = open_trace(&fd);
	put_events(w, 10);
	CHECK_EQ(ship_follow_open(&f, path, true, &err), 0);
	first = count_blocks(&f, &transitions, &place);
	CHECK(first == 2 && transitions == 10 && !f.ended);
	put_events(w, 6);
	second = count_blocks(&f, &transitions, NULL);
	CHECK(second == 1 && transitions == 16);
	end_trace(w);
	CHECK_EQ(count_blocks(&f, &transitions, NULL), 1);
	CHECK(f.ended && transitions == 16);
	CHECK(!f.damage.places && !f.damage.blocks && !f.damage.transitions);
	CHECK_EQ(f.next, 4);
	ship_follow_close(&f);

	/* The same from a place. */
	CHECK_EQ(ship_follow_open(&f, path, true, &err), 0);
	ship_follow_seek(&f, &place);
	transitions = 0;
	CHECK_EQ(count_blocks(&f, &transitions, NULL), 2);
	CHECK(transitions == 6 && !f.damage.blocks && !f.damage.transitions);
	ship_follow_close(&f);
}

static void damage_at(uint64_t offset)
{
	int fd = open(path, O_RDWR);

	CHECK(fd >= 0 && pwrite(fd, "damage!!", 8, (off_t)offset) == 8);
	close(fd);
}

static void damaged_blocks_are_counted(void)
{
	uint64_t transitions = 0, offsets[8];
	struct ship_block block;
	struct ship_follow f;
	struct trace_writer *w;
	struct err err = { 0 };
	int fd, i;

	w = open_trace(&fd);
	for (i = 0; i < 4; i++)
		put_events(w, 10);
	end_trace(w);
	CHECK_EQ(ship_follow_open(&f, path, true, &err), 0);
	for (i = 0; ship_follow_next(&f, &block, &err) > 0; i++)
		offsets[i] = block.offset;
	CHECK_EQ(i, 6);
	ship_follow_close(&f);
	damage_at(offsets[2] + sizeof(struct compact_block_head)); /* its bytes */
	damage_at(offsets[3]);                                     /* its head */
	CHECK_EQ(ship_follow_open(&f, path, true, &err), 0);
	CHECK_EQ(count_blocks(&f, &transitions, NULL), 4);
	CHECK_EQ(transitions, 20);
	CHECK_EQ(f.damage.blocks, 2);
	CHECK_EQ(f.damage.transitions, 20);
	CHECK_EQ(f.damage.places, 2);
	ship_follow_close(&f);
}

/* The writer was killed: the last block is not whole. */
static void a_cut_trace_ends_with_its_last_whole_block(void)
{
	uint64_t transitions = 0;
	struct ship_follow f;
	struct trace_writer *w;
	struct err err = { 0 };
	struct stat st;
	int fd;

	w = open_trace(&fd);
	put_events(w, 10);
	put_events(w, 10);
	CHECK_EQ(fstat(fd, &st), 0);
	put_events(w, 10);
	end_trace(w);
	CHECK_EQ(truncate(path, st.st_size + 90), 0);
	CHECK_EQ(ship_follow_open(&f, path, true, &err), 0);
	CHECK_EQ(count_blocks(&f, &transitions, NULL), 3);
	CHECK(transitions == 20 && f.ended && f.damage.places == 1);
	ship_follow_close(&f);
}

static void other_files_are_refused(void)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct err err = { 0 };
	struct ship_follow f;

	CHECK(write(fd, "{\"a\":1}\n", 8) == 8);
	close(fd);
	CHECK_EQ(ship_follow_open(&f, path, true, &err), -EPROTO);
	CHECK(strstr(err.hint, "export ct") != NULL);
	unlink(path);
	CHECK_EQ(ship_follow_open(&f, path, true, &err), -ENOENT);
}

/* ---- the spool ---------------------------------------------------------------------- */

static struct ship_block spool_block(uint64_t number, unsigned type, uint32_t transitions)
{
	return (struct ship_block){
		.offset = 32 + number * 1000,
		.head = { .type = (uint8_t)type,
			  .number = number,
			  .size = 1000 - sizeof(struct compact_block_head),
			  .transitions = transitions,
			  .kinds = type == COMPACT_FACTS ? 1u << TRACE_ITEM_SITE : 1 },
	};
}

static uint64_t freed_from, freed_to;

static void note_freed(void *ctx, uint64_t from, uint64_t to)
{
	(void)ctx;
	freed_from = from;
	freed_to = to;
}

static void fill_spool(struct ship_spool *s)
{
	const struct ship_damage none = { 0 };
	uint64_t i;

	s->freed = note_freed;
	for (i = 0; i < 10; i++) {
		struct ship_block b = spool_block(i, i % 5 ? COMPACT_EVENTS : COMPACT_FACTS, 10);

		CHECK_EQ(ship_spool_add(s, &b, &none), 0);
	}
	CHECK_EQ(s->spooled.bytes, 10000);
}

static void check_sum(const struct ship_spool *s)
{
	CHECK_EQ(s->shipped.blocks + s->spooled.blocks + s->given_up.blocks, 10);
	CHECK_EQ(s->shipped.transitions + s->spooled.transitions + s->given_up.transitions, 100);
}

static void a_full_spool_keeps_facts_and_what_was_sent(void)
{
	struct ship_spool s = { 0 };

	fill_spool(&s);
	ship_spool_sent(&s, ship_spool_next(&s)); /* 0, facts */
	ship_spool_sent(&s, ship_spool_next(&s)); /* 1 */
	ship_spool_resend(&s);
	ship_spool_bound(&s, 6000);
	check_sum(&s);
	/* Not 0 and 5, which are facts, and not 1, which may have arrived. */
	CHECK_EQ(s.given_up.blocks, 4);
	CHECK(s.spooled.bytes == 6000 && freed_from == 6032 && freed_to == 7032);
	CHECK_EQ(s.items[6].state, SHIP_GIVEN_UP);
	CHECK(s.items[5].state == SHIP_WAITING && s.items[1].state == SHIP_WAITING);
	CHECK_EQ(s.place.next, 7);
	CHECK_EQ(ship_spool_oldest(&s)->number, 0);
	ship_spool_release(&s);
}

static void blocks_may_arrive_in_any_order_and_count_once(void)
{
	static const uint64_t order[] = { 3, 0, 1, 3, 2, 9, 8, 8, 7, 99, 6, 5, 4 };
	struct ship_spool s = { 0 };
	struct ship_item *item;
	size_t i;

	fill_spool(&s);
	while ((item = ship_spool_next(&s)) != NULL)
		ship_spool_sent(&s, item);
	CHECK_EQ(s.nr_sent, 10);
	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		ship_spool_arrived(&s, order[i]);
		check_sum(&s);
	}
	CHECK(s.shipped.blocks == 10 && !s.nr_sent && !ship_spool_oldest(&s));
	CHECK_EQ(s.place.offset, 10032);
	ship_spool_release(&s);
}

/* Items that are done in the middle do not stay in memory. */
static void a_long_outage_takes_no_more_memory(void)
{
	const struct ship_damage none = { 0 };
	struct ship_spool s = { 0 };
	uint64_t i;

	for (i = 0; i < 100000; i++) {
		struct ship_block b = spool_block(i, i ? COMPACT_EVENTS : COMPACT_FACTS, 10);

		CHECK_EQ(ship_spool_add(&s, &b, &none), 0);
		ship_spool_bound(&s, 20000);
	}
	CHECK(s.room <= 256 && s.spooled.blocks == 20 && s.given_up.blocks == 99980);
	CHECK_EQ(ship_spool_oldest(&s)->number, 0);
	ship_spool_release(&s);
}

static void a_sample_has_its_share_of_coroutines(void)
{
	unsigned nr = 0;
	uint64_t i;

	for (i = 0; i < 16000; i++)
		nr += ship_sample_has(i, 16);
	CHECK(nr > 900 && nr < 1100);
	CHECK(ship_sample_has(7, 1) && ship_sample_has(7, 0));
}

/* Bytes that the file has on the disk. */
static uint64_t bytes_of_disk(const char *name)
{
	struct stat st;

	CHECK_EQ(stat(name, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

static void space_is_given_back_in_whole_pages(void)
{
	static char page[4096];
	struct spool_space space;
	uint64_t full;
	FILE *f = fopen(path, "w");
	int i;

	CHECK(f != NULL);
	memset(page, 'x', sizeof(page));
	for (i = 0; i < 100; i++)
		CHECK_EQ(fwrite(page, sizeof(page), 1, f), 1);
	CHECK_EQ(fclose(f), 0);
	full = bytes_of_disk(path);
	spool_space_open(&space, path, 4097); /* the first block ends in the second page */
	CHECK_EQ(space.begin, 8192);
	CHECK(space.is_open);
	CHECK_EQ(space.refused.code, 0);
	spool_space_free(&space, 8192 + 16 * 4096 - 1);
	CHECK_EQ(bytes_of_disk(path), full); /* not worth it */
	spool_space_free(&space, 8192 + 16 * 4096 + 4095);
	if (space.refused.code) /* a file system without holes */
		CHECK_EQ(space.refused.code, -EOPNOTSUPP);
	else
		CHECK_EQ(bytes_of_disk(path), full - 16 * 4096);
	CHECK_EQ(space.freed, 8192 + 16 * 4096);
	/* A part; the beginning stays. */
	spool_space_punch(&space, 0, 4096 * 3);
	spool_space_punch(&space, 50 * 4096 - 1, 51 * 4096 + 4095);
	if (!space.refused.code)
		CHECK_EQ(bytes_of_disk(path), full - 17 * 4096);
	spool_space_close(&space);
	CHECK(!space.is_open);
	spool_space_punch(&space, 60 * 4096, 70 * 4096);
	CHECK(bytes_of_disk(path) >= full - 17 * 4096);
	CHECK_EQ(unlink(path), 0);
}

static void space_that_cannot_be_given_back_has_a_reason(void)
{
	struct spool_space space;

	spool_space_open(&space, "/nonexistent/trace", 0);
	CHECK(!space.is_open);
	CHECK_EQ(space.refused.code, -ENOENT);
	CHECK_STR(space.refused.text,
		  "cannot open '/nonexistent/trace' to give back space: No such "
		  "file or directory");
	spool_space_close(&space);
	spool_space_open(&space, "/dev/null", 0);
	CHECK(space.is_open);
	spool_space_free(&space, 1 << 20);
	CHECK(space.refused.code < 0);
	CHECK_EQ(strncmp(space.refused.text, "cannot give back space of the spool: ", 37), 0);
	spool_space_close(&space);
}

int main(void)
{
	char dir[] = "/tmp/test_ship.XXXXXX";

	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/trace.ct", dir);
	RUN(envelopes_come_back);
	RUN(an_envelope_without_a_block_comes_back);
	RUN(every_changed_bit_and_every_cut_is_noticed);
	RUN(limits_are_kept_by_the_sender);
	RUN(labels_come_back);
	RUN(wrong_labels_are_refused);
	RUN(blocks_come_while_the_trace_grows);
	RUN(damaged_blocks_are_counted);
	RUN(a_cut_trace_ends_with_its_last_whole_block);
	RUN(other_files_are_refused);
	RUN(a_full_spool_keeps_facts_and_what_was_sent);
	RUN(blocks_may_arrive_in_any_order_and_count_once);
	RUN(a_long_outage_takes_no_more_memory);
	RUN(space_is_given_back_in_whole_pages);
	RUN(space_that_cannot_be_given_back_has_a_reason);
	RUN(a_sample_has_its_share_of_coroutines);
	rmdir(dir);
	return 0;
}
