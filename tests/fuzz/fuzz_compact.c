/* SPDX-License-Identifier: MIT */
/*
 * fuzz_compact.c - the reader of compact traces against hostile files.
 *
 * With clang:   -DFUZZ_LIBFUZZER -fsanitize=fuzzer,address,undefined
 * Without:      fuzz_compact [ITERATIONS [SEED]] mutates a trace of its own, the same way in every
 *               run, so that a sanitizer build has it as a test.
 *
 * An input is the file behind its head.  Its checksums are made right before it is read: without
 * that no change would get past them.  Beyond "does not crash": the reader returns at most as many
 * events as the blocks say; what was read, written again and read again, is the same; and a filter
 * returns what a full scan finds.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/compact_block.h"
#include "trace/summary.h"
#include "trace/trace_reader.h"
#include "trace/trace_writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)                                                                           \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                             \
		}                                                                            \
	} while (0)

#define HEAD sizeof(struct compact_file_head)

/* What the inputs reached: a run with corrupt input only proves nothing. */
static uint64_t nr_events, nr_facts, nr_damaged, nr_indexes;

static char dir[256], first[300], again[300];

static uint64_t mix(uint64_t sum, const struct trace_event *ev)
{
	const uint64_t fields[] = { ev->probe_id, ev->tid,       ev->addr,     ev->seq,  ev->ts,
				    ev->kind,     ev->is_active, ev->station,  ev->site, ev->reason,
				    ev->flags,    ev->resource,  ev->peer,     ev->seen, ev->pid,
				    ev->written,  ev->lost,      ev->name_size };
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		sum = (sum ^ fields[i]) * UINT64_C(0x9e3779b97f4a7c15);
	for (i = 0; i < ev->name_size; i++)
		sum = (sum ^ (uint8_t)ev->name[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return sum;
}

/* ---- read ------------------------------------------------------------------------- */

struct reading {
	uint64_t events, check;
	uint64_t passed, passed_check; /* those that pass the filter */
};

static void take_item(struct reading *to, struct trace_item *item, struct trace_filter *filter,
		      struct trace_writer *w)
{
	trace_filter_note(filter, item);
	if (item->type != TRACE_ITEM_EVENT)
		return;
	to->events++;
	to->check = mix(to->check, &item->event);
	if (w)
		trace_put_event(w, 0, &item->event);
	if (!trace_filter_passes(filter, item))
		return;
	to->passed++;
	to->passed_check = mix(to->passed_check, &item->event);
}

static void read_file(const char *name, const struct trace_filter *wanted, bool by_reader,
		      struct trace_writer *w, struct reading *to)
{
	struct trace_filter filter = *wanted;
	struct trace_summary sum = { 0 };
	struct err err = { 0 };
	struct trace_reader *r = trace_reader_open(name, &err);
	struct trace_item item;
	int rc;

	memset(to, 0, sizeof(*to));
	MUST(r != NULL);
	if (by_reader)
		trace_reader_set_filter(r, wanted);
	while ((rc = trace_next(r, &item, &err)) > 0) {
		MUST(summary_add(&sum, &item) == 0);
		nr_facts += item.type != TRACE_ITEM_EVENT;
		take_item(to, &item, &filter, w);
	}
	MUST(rc == 0);
	nr_damaged += trace_reader_stats(r)->ct.damaged;
	nr_indexes += trace_reader_stats(r)->ct.has_index;
	trace_filter_release(&filter);
	summary_release(&sum);
	trace_reader_close(r);
}

/* ---- the file --------------------------------------------------------------------- */

static void fix_block(uint8_t *at, size_t left)
{
	struct compact_block_head head;

	memcpy(&head, at, sizeof(head));
	if (head.size <= left - sizeof(head))
		head.payload_crc = compact_crc(at + sizeof(head), head.size);
	head.crc = compact_crc(&head, offsetof(struct compact_block_head, crc));
	memcpy(at, &head, sizeof(head));
}

static void fix_checksums(uint8_t *data, size_t size)
{
	const uint32_t magic = COMPACT_BLOCK_MAGIC;
	struct compact_end end;
	size_t at;

	for (at = 0; at + sizeof(struct compact_block_head) <= size; at++) {
		if (!memcmp(data + at, &magic, sizeof(magic)))
			fix_block(data + at, size - at);
	}
	if (size < sizeof(end))
		return;
	memcpy(&end, data + size - sizeof(end), sizeof(end));
	end.crc = compact_crc(&end, offsetof(struct compact_end, crc));
	memcpy(data + size - sizeof(end), &end, sizeof(end));
}

static void spit(const uint8_t *data, size_t size)
{
	struct compact_file_head head = { .version = COMPACT_VERSION, .size = sizeof(head) };
	int fd = open(first, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	memcpy(head.magic, COMPACT_MAGIC, COMPACT_MAGIC_SIZE);
	head.crc = compact_crc(&head, offsetof(struct compact_file_head, crc));
	MUST(fd >= 0 && write(fd, &head, sizeof(head)) == (ssize_t)sizeof(head));
	MUST(write(fd, data, size) == (ssize_t)size);
	close(fd);
}

static struct trace_writer *open_writer(const char *name)
{
	struct trace_output output = { .path = name, .format = TRACE_FORMAT_CT };
	struct trace_writer *w;
	struct err err = { 0 };

	output.fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	w = trace_writer_open(&output, &err);
	MUST(w != NULL);
	return w;
}

static void make_places(void);

/* What the last bytes of the input ask for. */
static struct trace_filter filter_of(const uint8_t *data, size_t size)
{
	struct trace_filter f = { .has_from = true };
	uint8_t last = size ? data[size / 2] : 0;

	f.has_to = last & 1;
	f.has_coroutine = last & 2;
	f.kinds = last & 4 ? 1u << last % NR_TRACE_KINDS : 0;
	f.from_ns = last & 8 ? last * 100u : 0;
	f.to_ns = 4000;
	f.coroutine = last % 60;
	return f;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_filter filter = filter_of(data, size);
	struct reading whole, part, second;
	struct trace_counts counts;
	struct err err = { 0 };
	struct trace_writer *w;
	uint8_t *copy = malloc(size + 1);

	make_places();
	MUST(copy != NULL);
	memcpy(copy, data, size);
	fix_checksums(copy, size);
	spit(copy, size);
	free(copy);
	w = open_writer(again);
	read_file(first, &filter, false, w, &whole);
	trace_writer_close(w, &counts, &err, &err);
	MUST(!err.code && counts.written + counts.others_written == whole.events);
	nr_events += whole.events;
	/* A block takes its head, and has COMPACT_ITEMS_MAX events. */
	MUST(whole.events / COMPACT_ITEMS_MAX <= size / sizeof(struct compact_block_head));
	read_file(first, &filter, true, NULL, &part);
	/* Heads and the index may lie about what a block has: then it is left out. */
	MUST(part.events <= whole.passed);
	read_file(again, &filter, false, NULL, &second);
	MUST(second.events == whole.events && second.check == whole.check);
	if (!whole.events)
		return 0;
	read_file(again, &filter, true, NULL, &part);
	MUST(part.events == second.passed && part.check == second.passed_check);
	return 0;
}

/* ---- a trace to start from --------------------------------------------------------- */

static uint8_t seed_input[32768];
static size_t seed_size;

static void put_seed_events(struct trace_writer *w)
{
	struct trace_event ev;
	unsigned i;

	for (i = 0; i < 80; i++) {
		trace_event_init(&ev);
		ev.kind = (uint8_t)(i % 7 ? i % 2 : i / 7 % NR_TRACE_KINDS);
		ev.is_active = ev.kind == TRACE_RESUME;
		ev.ts = 1000 + i * 100 + (i > 60 ? UINT64_C(1) << 33 : 0);
		ev.probe_id = i / 2 % 20;
		ev.tid = i % 3 ? 7 : 8;
		ev.seq = ev.kind <= TRACE_RESUME ? 2 + i / 8 * 2 : 0;
		ev.site = i % 4 ? 0 : i;
		ev.station = i % 11 ? TRACE_NO_STATION : i;
		ev.flags = ev.kind == TRACE_WAKE && i % 2 ? TRACE_HAS_RESOURCE : 0;
		ev.seen = ev.kind == TRACE_WAKE ? i : 0;
		if (ev.kind == TRACE_BIRTH) {
			ev.name = "a name";
			ev.name_size = 6;
		}
		trace_put_event(w, 0, &ev);
		if (i == 50)
			trace_put_gap(w, 0, 1, 6000, 5, 6);
		if (i % 30 == 29)
			trace_flush(w);
	}
}

static void remember_seed(void)
{
	int fd = open(first, O_RDONLY);
	ssize_t got = pread(fd, seed_input, sizeof(seed_input), HEAD);

	close(fd);
	MUST(got > 0 && (size_t)got < sizeof(seed_input));
	seed_size = (size_t)got;
}

static void make_places(void)
{
	static const char *const words[] = { "./app", "x" };
	const char *place;
	struct trace_counts counts;
	struct err err = { 0 };
	struct trace_writer *w;

	if (seed_size)
		return;
	/* In memory if possible: thousands of small files are slow elsewhere. */
	place = getenv("TMPDIR");
	if (!place)
		place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	snprintf(dir, sizeof(dir), "%s/fuzz_compact.XXXXXX", place);
	MUST(mkdtemp(dir));
	snprintf(first, sizeof(first), "%s/trace.ct", dir);
	snprintf(again, sizeof(again), "%s/again.ct", dir);
	w = open_writer(first);
	trace_put_run(w, &(struct sidecar_run){ .tool = "t", .command = words, .nr_command = 2 });
	trace_put_lane(w, &(struct trace_lane){ 0, 1, 7 });
	trace_put_site(w, &(struct trace_site){ 1, 2, 3, "container_file.c", "function" });
	put_seed_events(w);
	trace_put_coroutine(w, &(struct sidecar_coroutine){ .name = "c", .writer = "w" });
	trace_put_totals(w, &(struct sidecar_totals){ .written = 1 });
	trace_writer_close(w, &counts, &err, &err);
	MUST(!err.code);
	remember_seed();
}

/* ---- without libFuzzer ---------------------------------------------------------------- */

#ifndef FUZZ_LIBFUZZER

#include "own_input.h"

static uint64_t state;

static size_t roll(size_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (size_t)(state % limit);
}

/* A boundary value of 1, 2, 4 or 8 bytes. */
static void put_number(uint8_t *at, size_t room)
{
	static const uint64_t numbers[] = { 0,
					    1,
					    2,
					    16,
					    0x7f,
					    0xff,
					    0xffff,
					    0xffffffff,
					    UINT64_MAX,
					    UINT64_C(1) << 63,
					    80,
					    65536,
					    COMPACT_BLOCK_MAGIC };
	uint64_t number = numbers[roll(sizeof(numbers) / sizeof(numbers[0]))] + roll(3);
	size_t size = (size_t)1 << roll(4);

	memcpy(at, &number, size < room ? size : room);
}

/* A place in the head, or in the table, of some block. */
static size_t some_block(const uint8_t *buf, size_t size)
{
	const uint32_t magic = COMPACT_BLOCK_MAGIC;
	size_t from = roll(size);
	const uint8_t *found = memmem(buf + from, size - from, &magic, sizeof(magic));

	if (!found)
		return roll(size + 1);
	return (size_t)(found - buf) + roll(sizeof(struct compact_block_head) + 120);
}

/* One change of @buf, which holds @size of at most @max bytes.  Returns the new size. */
static size_t mutate(uint8_t *buf, size_t size, size_t max)
{
	size_t at = size > 8 ? roll(size + 1) : 0, len = roll(120) + 1;

	if (size < 8)
		return size;
	switch (roll(6)) {
	case 0: /* another byte */
		if (at < size)
			buf[at] = (uint8_t)roll(256);
		return size;
	case 1: /* a number, mostly at the decisive offsets */
	case 2:
		at = roll(3) ? some_block(buf, size) : at;
		if (at < size)
			put_number(buf + at, size - at);
		return size;
	case 3: /* a hole */
		if (at + len > size)
			return at;
		memmove(buf + at, buf + at + len, size - at - len);
		return size - len;
	case 4: /* a piece twice */
		if (at + len > size || size + len > max)
			return size;
		memmove(buf + at + len, buf + at, size - at);
		return size + len;
	default: /* without the index */
		return roll(3) ? size : size - size / 8;
	}
}

int main(int argc, char **argv)
{
	unsigned long iterations = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000, i;
	static uint8_t buf[2 * sizeof(seed_input)];

	state = (argc > 2 ? strtoull(argv[2], NULL, 10) : 0) * 2 + UINT64_C(0x9e3779b97f4a7c15);
	make_places();
	for (i = 0; i < iterations; i++) {
		size_t size = seed_size, changes = roll(6), k;

		memcpy(buf, seed_input, size);
		for (k = 0; k < changes; k++)
			size = mutate(buf, size, sizeof(buf));
		own_input(buf, size);
	}
	unlink(first);
	unlink(again);
	rmdir(dir);
	printf("%lu inputs: %llu events, %llu facts, %llu damaged blocks, %llu indexes\n",
	       iterations, (unsigned long long)nr_events, (unsigned long long)nr_facts,
	       (unsigned long long)nr_damaged, (unsigned long long)nr_indexes);
	if (iterations >= 1000)
		MUST(nr_events > iterations * 10 && nr_facts > iterations &&
		     nr_damaged > iterations / 10 && nr_indexes > iterations);
	return 0;
}

#endif
