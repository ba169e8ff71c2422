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
	struct json_writer w;
	const char *text;
	size_t size;

	jw_init_buffer(&w);
	ship_labels_write(&w, &sent);
	text = jw_text(&w, &size);
	CHECK(text != NULL);
	CHECK_EQ(ship_labels_parse(text, size, &got, &err), 0);
	CHECK(!memcmp(&sent, &got, sizeof(sent)));
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
	rmdir(dir);
	return 0;
}
