/* SPDX-License-Identifier: MIT */
/*
 * fuzz_ctf.c - the reader of CTF traces against hostile streams.
 *
 * With clang:   -DFUZZ_LIBFUZZER -fsanitize=fuzzer,address,undefined
 * Without:      fuzz_ctf [ITERATIONS [SEED]] mutates a trace of its own, the same way in
 *               every run, so that a sanitizer build has it as a test.
 *
 * An input is the content of three files of a trace, one after the other: a stream of
 * events, one of the other records, and the totals; its first four bytes say where it is divided.
 * The run's uuid, which differs in every run, is filled in after every magic.
 * Beyond "does not crash": the reader returns at most what fits into that many bytes, every
 * string ends inside, and what was read, written again and read again, is the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/ctf_forms.h"
#include "trace/trace_reader.h"
#include "trace/summary.h"
#include "trace/trace_writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)                                                                           \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                             \
		}                                                                            \
	} while (0)

/* What the inputs reached: a run with corrupt input only proves nothing. */
static uint64_t nr_events, nr_facts, nr_damaged, nr_torn;

static char dir[256], again[256];
static const char *const files[] = { "lane_0", CTF_FACTS, CTF_TOTALS };

static void spit(const char *name, const uint8_t *data, size_t size)
{
	char path[320];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	MUST(ftruncate(fd, (off_t)size) == 0);
	close(fd);
}

static struct trace_writer *open_writer(const char *path, int *fd)
{
	struct trace_output output = { .path = path, .format = TRACE_FORMAT_CTF };
	struct trace_writer *w;
	struct err err = { 0 };

	*fd = output.fd = open(path, O_RDONLY | O_DIRECTORY);
	w = trace_writer_open(&output, &err);
	MUST(w != NULL);
	return w;
}

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

static void touch(const char *text, size_t limit)
{
	MUST(!text || strlen(text) < limit);
}

static void touch_fact(const struct trace_item *item, size_t limit)
{
	size_t i;

	switch (item->type) {
	case TRACE_ITEM_RUN:
		touch(item->run.tool, limit);
		touch(item->run.hostname, limit);
		for (i = 0; i < item->run.nr_command; i++)
			touch(item->run.command[i], limit);
		break;
	case TRACE_ITEM_SITE:
		touch(item->site.file, limit);
		touch(item->site.function, limit);
		break;
	case TRACE_ITEM_COROUTINE:
		touch(item->coroutine.name, limit);
		touch(item->coroutine.writer, limit);
		break;
	default:
		break;
	}
}

/* In order of time unless corrupt; copies what it can into @w, and mixes it into *@check. */
static uint64_t read_trace(const char *path, struct trace_writer *w, size_t limit, uint64_t *check)
{
	struct trace_summary sum = { 0 };
	struct err err = { 0 };
	struct trace_reader *r = trace_reader_open(path, &err);
	struct trace_item item;
	uint64_t events = 0, last = 0;
	int rc;

	MUST(r != NULL);
	while ((rc = trace_next(r, &item, &err)) > 0) {
		MUST(summary_add(&sum, &item) == 0);
		if (item.type != TRACE_ITEM_EVENT) {
			touch_fact(&item, limit);
			nr_facts += item.type != TRACE_ITEM_GAP;
			continue;
		}
		if (item.event.ts < last)
			continue; /* packets may have false times, lanes cannot */
		last = item.event.ts;
		*check = mix(*check, &item.event);
		events++;
		if (w)
			trace_put_event(w, 0, &item.event);
	}
	MUST(rc == 0);
	MUST(events <= limit / (CTF_EVENT_HEADER + CTF_SIZE_OF(plain)));
	nr_damaged += trace_reader_stats(r)->ctf.damaged;
	nr_torn += trace_reader_stats(r)->ctf.torn;
	summary_release(&sum);
	trace_reader_close(r);
	return events;
}

static uint8_t uuid[16]; /* of the trace of the metadata */

static void fill_in_uuid(uint8_t *data, size_t size)
{
	const uint32_t magic = CTF_MAGIC;
	size_t at;

	for (at = 0; at + sizeof(magic) + sizeof(uuid) <= size; at++) {
		if (!memcmp(data + at, &magic, sizeof(magic)))
			memcpy(data + at + sizeof(magic), uuid, sizeof(uuid));
	}
}

static void divide(const uint8_t *data, size_t size)
{
	uint16_t first = 0, second = 0;
	size_t at;

	if (size >= 4) {
		memcpy(&first, data, 2);
		memcpy(&second, data + 2, 2);
		data += 4;
		size -= 4;
	}
	at = first < size ? first : size;
	spit(files[0], data, at);
	data += at;
	size -= at;
	at = second < size ? second : size;
	spit(files[1], data, at);
	spit(files[2], data + at, size - at);
}

static void remove_file(const char *name)
{
	char path[320];

	snprintf(path, sizeof(path), "%s/%s", again, name);
	unlink(path);
}

static void make_places(void);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t check = 0, second = 0, events;
	struct trace_counts counts;
	struct err err = { 0 };
	struct trace_writer *w;
	uint8_t *copy = malloc(size + 1);
	int fd;

	make_places();
	MUST(copy != NULL);
	memcpy(copy, data, size);
	fill_in_uuid(copy, size);
	divide(copy, size);
	free(copy);
	remove_file("lane_0");
	w = open_writer(again, &fd);
	trace_put_lane(w, &(struct trace_lane){ 0, 1, 7 });
	events = read_trace(dir, w, size, &check);
	trace_writer_close(w, &counts, &err, &err);
	close(fd);
	MUST(!err.code && counts.written + counts.others_written == events && !counts.clamped);
	nr_events += events;
	MUST(read_trace(again, NULL, 2 * size + 4096, &second) == events);
	MUST(check == second);
	return 0;
}

/* ---- a trace to start from ------------------------------------------------- */

static uint8_t seed_input[16384];
static size_t seed_size;

static void put_seed_events(struct trace_writer *w)
{
	struct trace_event ev;
	unsigned i;

	for (i = 0; i < 60; i++) {
		trace_event_init(&ev);
		ev.kind = (uint8_t)(i % NR_TRACE_KINDS);
		ev.is_active = ev.kind == TRACE_RESUME;
		ev.ts = 1000 + i * 100 + (i > 40 ? UINT64_C(1) << 33 : 0);
		ev.probe_id = i;
		ev.tid = i % 3 ? 7 : 8;
		ev.seq = 2 * i;
		ev.site = i % 4 ? 0 : i;
		ev.station = i % 5 ? TRACE_NO_STATION : i;
		ev.flags = ev.kind == TRACE_WAKE && i % 2 ? TRACE_HAS_RESOURCE : 0;
		if (ev.kind == TRACE_BIRTH) {
			ev.name = "a name";
			ev.name_size = 6;
		}
		trace_put_event(w, 0, &ev);
		if (i % 20 == 19)
			trace_flush(w);
	}
	trace_put_gap(w, 0, 1, UINT64_C(1) << 34, 5, 6);
}

static size_t append_file(const char *name)
{
	char path[320];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY);
	got = read(fd, seed_input + seed_size, sizeof(seed_input) - seed_size);
	close(fd);
	MUST(got > 0);
	seed_size += (size_t)got;
	return (size_t)got;
}

static void remember_seed(void)
{
	uint16_t first, second;

	seed_size = 4;
	first = (uint16_t)append_file(files[0]);
	second = (uint16_t)append_file(files[1]);
	append_file(files[2]);
	memcpy(uuid, seed_input + 4 + offsetof(struct ctf_packet, uuid), sizeof(uuid));
	memcpy(seed_input, &first, 2);
	memcpy(seed_input + 2, &second, 2);
}

/* The metadata of a valid trace stays; the fuzzer replaces the streams. */
static void make_places(void)
{
	static const char *const words[] = { "./app", "x" };
	const char *place;
	struct trace_counts counts;
	struct err err = { 0 };
	struct trace_writer *w;
	int fd;

	if (seed_size)
		return;
	/* In memory if possible: thousands of small files are slow elsewhere. */
	place = getenv("TMPDIR");
	if (!place)
		place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	snprintf(dir, sizeof(dir), "%s/fuzz_ctf.XXXXXX", place);
	snprintf(again, sizeof(again), "%s/fuzz_ctf.XXXXXX", place);
	MUST(mkdtemp(dir) && mkdtemp(again));
	w = open_writer(dir, &fd);
	trace_put_run(w, &(struct sidecar_run){ .tool = "t", .command = words, .nr_command = 2 });
	trace_put_lane(w, &(struct trace_lane){ 0, 1, 7 });
	trace_put_site(w, &(struct trace_site){ 1, 2, 3, "container_file.c", "function" });
	put_seed_events(w);
	trace_put_coroutine(w, &(struct sidecar_coroutine){ .name = "c", .writer = "w" });
	trace_put_totals(w, &(struct sidecar_totals){ .written = 1 });
	trace_writer_close(w, &counts, &err, &err);
	close(fd);
	MUST(!err.code);
	remember_seed();
}

/* ---- without libFuzzer --------------------------------------------------- */

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
	static const uint64_t numbers[] = { 0,    1,      7,          8,          0x7f,
					    0xff, 0xffff, 0xffffffff, UINT64_MAX, UINT64_C(1) << 63,
					    704,  8192,   CTF_MAGIC };
	uint64_t number = numbers[roll(sizeof(numbers) / sizeof(numbers[0]))] + roll(3);
	size_t size = (size_t)1 << roll(4);

	memcpy(at, &number, size < room ? size : room);
}

/* One change of @buf, which holds @size of at most @max bytes.  Returns the new size. */
static size_t mutate(uint8_t *buf, size_t size, size_t max)
{
	size_t at = roll(size + 1), len = roll(120) + 1;

	switch (roll(6)) {
	case 0: /* another byte */
		if (at < size)
			buf[at] = (uint8_t)roll(256);
		return size;
	case 1: /* a number, mostly at the decisive offsets */
		if (roll(2))
			at = 4 + roll(sizeof(struct ctf_packet) + 16);
		if (at < size)
			put_number(buf + at, size - at);
		return size;
	case 2: /* a hole */
		if (at + len > size)
			return at;
		memmove(buf + at, buf + at + len, size - at - len);
		return size - len;
	case 3: /* a piece twice */
		if (at + len > size || size + len > max)
			return size;
		memmove(buf + at + len, buf + at, size - at);
		return size + len;
	case 4: /* another head in the middle */
		if (at + sizeof(struct ctf_packet) <= size)
			memcpy(buf + at, seed_input + 4, sizeof(struct ctf_packet));
		return size;
	default: /* divided elsewhere */
		put_number(buf, 4);
		return size;
	}
}

static void remove_places(void)
{
	static const char *const names[] = { CTF_METADATA, CTF_FACTS, CTF_TOTALS, "lane_0" };
	char path[320];
	size_t i;

	for (i = 0; i < 4; i++) {
		remove_file(names[i]);
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(again);
	rmdir(dir);
}

int main(int argc, char **argv)
{
	unsigned long iterations = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000, i;
	static uint8_t buf[2 * sizeof(seed_input)];

	state = (argc > 2 ? strtoull(argv[2], NULL, 10) : 0) * 2 + UINT64_C(0x9e3779b97f4a7c15);
	make_places();
	for (i = 0; i < iterations; i++) {
		size_t size = seed_size, changes = roll(8), k;

		memcpy(buf, seed_input, size);
		for (k = 0; k < changes; k++)
			size = mutate(buf, size, sizeof(buf));
		own_input(buf, size);
	}
	remove_places();
	printf("%lu inputs: %llu events, %llu facts, %llu damaged packets, %llu torn files\n",
	       iterations, (unsigned long long)nr_events, (unsigned long long)nr_facts,
	       (unsigned long long)nr_damaged, (unsigned long long)nr_torn);
	if (iterations >= 1000)
		MUST(nr_events > iterations * 10 && nr_facts > iterations &&
		     nr_damaged > iterations / 10 && nr_torn > iterations / 10);
	return 0;
}

#endif
