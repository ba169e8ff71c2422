/* SPDX-License-Identifier: MIT */
/*
 * fuzz_jsonl.c - readers of traces and sidecars against hostile input.
 *
 * With clang:   -DFUZZ_LIBFUZZER -fsanitize=fuzzer,address,undefined
 * Without:      fuzz_jsonl [ITERATIONS [SEED]] mutates the inputs below, the same way
 *               in every run, so that a sanitizer build has it as a test.
 *
 * Beyond "does not crash": the fast and the slow parsers accept the same lines; an
 * event that was read is the same after it is written and read again; every line that
 * is not blank is either an event or corrupt.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/jsonl_parse.h"
#include "trace/jsonl_reader.h"
#include "trace/jsonl_writer.h"
#include "trace/sidecar.h"
#include "trace/summary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)                                                                           \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                             \
		}                                                                            \
	} while (0)

/* What the inputs reached: a run with corrupt input only proves nothing. */
static uint64_t nr_events, nr_garbage, nr_records, nr_events_told;

static int file_of(const void *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	MUST(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

static bool same(const struct trace_event *a, const struct trace_event *b)
{
	return a->probe_id == b->probe_id && a->tid == b->tid && a->addr == b->addr &&
	       a->seq == b->seq && a->ts == b->ts && a->is_active == b->is_active &&
	       a->kind == b->kind && a->station == b->station && a->site == b->site &&
	       a->reason == b->reason && a->flags == b->flags && a->resource == b->resource;
}

/* ---- one line ------------------------------------------------------------ */

/* The first line of the input, in memory that ends where the reader's does. */
static void fuzz_line(const uint8_t *data, size_t size)
{
	const uint8_t *newline = memchr(data, '\n', size);
	size_t len = newline ? (size_t)(newline - data) : size;
	char *text = calloc(1, len + LINES_SLACK);
	struct trace_event fast, slow;

	MUST(text != NULL);
	memcpy(text, data, len);
	text[len] = '\n';
	if (jsonl_parse_ours(text, len, &fast)) {
		MUST(jsonl_parse_any(text, len, &slow) == NULL);
		MUST(same(&fast, &slow));
	}
	jsonl_parse(text, len, &slow);
	free(text);
}

/* ---- traces -------------------------------------------------------------- */

static uint64_t mix(uint64_t sum, const struct trace_event *ev)
{
	const uint64_t fields[] = { ev->probe_id, ev->tid,       ev->addr,    ev->seq,
				    ev->ts,       ev->is_active, ev->station, ev->kind,
				    ev->site,     ev->reason,    ev->flags,   ev->resource };
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		sum = (sum ^ fields[i]) * UINT64_C(0x9e3779b97f4a7c15);
	return sum;
}

/* Reads the trace; copies its events into @w where there is one, and mixes them into *@check. */
static struct jsonl_stats read_trace(int fd, struct jsonl_writer *w, struct trace_summary *sum,
				     uint64_t *check)
{
	struct jsonl_reader r;
	struct trace_event ev;
	struct err err = { 0 };

	MUST(jsonl_reader_open_fd(&r, fd, "fuzz", &err) == 0);
	while (jsonl_next(&r, &ev, &err) > 0) {
		MUST(!trace_event_problem(&ev));
		MUST(summary_add(sum, &(struct trace_item){ .type = TRACE_ITEM_EVENT,
							    .event = ev }) == 0);
		*check = mix(*check, &ev);
		if (w)
			jsonl_put(w, &ev);
	}
	MUST(r.stats.events + r.stats.garbage <= r.stats.lines);
	MUST(r.stats.nr_first <= JSONL_GARBAGE_FIRST && r.stats.nr_first <= r.stats.garbage);
	jsonl_reader_close(&r);
	return r.stats;
}

static void fuzz_trace(const uint8_t *data, size_t size)
{
	int copy = memfd_create("copy", MFD_CLOEXEC), again = dup(copy);
	struct trace_summary sum = { 0 }, second = { 0 };
	uint64_t check = 0, second_check = 0;
	struct jsonl_stats first, rest;
	struct jsonl_writer w;
	struct err err = { 0 };

	MUST(jsonl_writer_open(&w, copy, "copy", &err) == 0);
	first = read_trace(file_of(data, size), &w, &sum, &check);
	MUST(jsonl_close(&w, &err) == 0);
	nr_events += first.events;
	nr_garbage += first.garbage;
	MUST(w.written == first.events && w.unwritten == 0);

	MUST(lseek(again, 0, SEEK_SET) == 0);
	rest = read_trace(again, NULL, &second, &second_check);
	MUST(rest.events == first.events && rest.garbage == 0);
	MUST(check == second_check);
	MUST(coro_ids_count(&sum.coroutines.ids) == coro_ids_count(&second.coroutines.ids));
	summary_release(&sum);
	summary_release(&second);
}

/* ---- sidecars ------------------------------------------------------------ */

static void touch(const char *text)
{
	if (text)
		MUST(strlen(text) < SIDECAR_LINE_MAX);
}

static void fuzz_sidecar(const uint8_t *data, size_t size)
{
	struct trace_summary sum = { 0 };
	struct trace_item rec;
	struct sidecar_reader r;
	struct err err = { 0 };
	size_t i;

	MUST(sidecar_reader_open_fd(&r, file_of(data, size), "fuzz", &err) == 0);
	while (sidecar_next(&r, &rec, &err) > 0) {
		if (rec.type == TRACE_ITEM_RUN) {
			touch(rec.run.tool);
			for (i = 0; i < rec.run.nr_command; i++)
				touch(rec.run.command[i]);
		}
		if (rec.type == TRACE_ITEM_COROUTINE)
			touch(rec.coroutine.name);
		MUST(summary_add(&sum, &rec) == 0);
	}
	MUST(r.stats.records + r.stats.garbage + r.stats.unknown_types <= r.stats.lines);
	nr_records += r.stats.records;
	sidecar_reader_close(&r);
	summary_release(&sum);
}

/* A line of the sidecar writer is parsed without a tree; with a space in it, it is not. */
static void fuzz_sidecar_line(const uint8_t *data, size_t size)
{
	const uint8_t *newline = memchr(data, '\n', size);
	size_t len = newline ? (size_t)(newline - data) : size;
	struct sidecar_reader ours, any;
	struct trace_item a = { 0 }, b = { 0 };
	struct err err = { 0 };
	char *spaced = malloc(len + 2);

	MUST(spaced != NULL);
	if (len < 2 || data[0] != '{') {
		free(spaced);
		return;
	}
	spaced[0] = '{';
	spaced[1] = ' ';
	memcpy(spaced + 2, data + 1, len - 1);
	MUST(sidecar_reader_open_fd(&ours, file_of(data, len), "ours", &err) == 0);
	MUST(sidecar_reader_open_fd(&any, file_of(spaced, len + 1), "any", &err) == 0);
	MUST(sidecar_next(&ours, &a, &err) == sidecar_next(&any, &b, &err));
	MUST(a.type == b.type);
	if (ours.stats.records && a.type == TRACE_ITEM_EVENT) {
		MUST(same(&a.event, &b.event) && a.event.peer == b.event.peer);
		MUST(a.event.name_size == b.event.name_size && a.event.pid == b.event.pid);
		MUST(!a.event.name_size || !memcmp(a.event.name, b.event.name, a.event.name_size));
		nr_events_told++;
	}
	sidecar_reader_close(&ours);
	sidecar_reader_close(&any);
	free(spaced);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_line(data, size);
	fuzz_sidecar_line(data, size);
	fuzz_trace(data, size);
	fuzz_sidecar(data, size);
	return 0;
}

/* ---- without libFuzzer --------------------------------------------------- */

#ifndef FUZZ_LIBFUZZER

#include "own_input.h"

static const char *const seeds[] = {
	"{\"probe_id\":123,\"tid\":456,\"addr\":\"0x0000000000000000\",\"seq\":2,"
	"\"is_active\":true,\"ts\":123456789}\n"
	"{\"probe_id\":140000000000000,\"tid\":456,\"addr\":\"0x00007f12ab34cd56\",\"seq\":4,"
	"\"is_active\":false,\"ts\":1234567890123456,\"station\":7}\r\n\n",
	"{ \"ts\" : 18446744073709551615, \"probe_id\" : \"0xff\", \"x\" : [ { } , null, 1e5 ], "
	"\"tid\":1,\"addr\":9223372036854775808,\"seq\":12345678901234567890,\"is_active\":1}\n",
	"{\"probe_id\":1,\"tid\":2,\"addr\":0,\"seq\":2,\"is_active\":true,"
	"\"ts\":18446744073709551615}\n"
	"{\"probe_id\":0,\"tid\":2,\"addr\":0,\"seq\":99999999,\"is_active\":true,\"ts\":5}\n",
	"{\"type\":\"run\",\"format\":1,\"tool\":\"t\",\"command\":[\"a\",\"b\"],\"pid\":1,"
	"\"start_ts\":18446744073709551615,\"arch\":\"x86_64\",\"stations\":8}\n"
	"{\"type\":\"process\",\"pid\":2,\"uid\":3,\"connected_ts\":4}\n"
	"{\"type\":\"coroutine\",\"station\":1,\"probe_id\":2,\"name\":\"n\\u00e9\\n\","
	"\"death_ts\":null,\"dead\":true,\"written\":5,\"lost\":3}\n"
	"{\"type\":\"totals\",\"complete\":true,\"exit_status\":null,\"signal\":9}\n",
	"{\"probe_id\":1,\"tid\":2,\"addr\":\"0x0000000000000001\",\"seq\":4,\"is_active\":false,"
	"\"ts\":77777777777,\"station\":3,\"site\":12,\"reason\":\"io-read\",\"resource\":7}\n",
	"{\"type\":\"wake\",\"ts\":5,\"probe_id\":6,\"tid\":7,\"addr\":\"0x00000000000000ff\","
	"\"site\":3,\"reason\":\"timer\",\"resource\":0,\"waker\":9,\"seen\":17}\n"
	"{\"type\":\"gap\",\"from_ts\":1,\"to_ts\":2,\"lane\":3,\"transitions\":4,\"others\":5}\n",
	"{\"type\":\"birth\",\"ts\":5,\"probe_id\":6,\"tid\":7,\"site\":3,\"parent\":2,\"pid\":1,"
	"\"name\":\"reader 1\",\"name_truncated\":true}\n"
	"{\"type\":\"site\",\"id\":3,\"file\":\"a.c\",\"line\":4,\"function\":\"f\",\"pid\":1}\n",
	"{\"type\":\"end\",\"ts\":5,\"probe_id\":6,\"tid\":7,\"written\":100,\"lost\":3,"
	"\"destroyed\":true,\"cancelled\":true}\n"
	"{\"type\":\"destroy\",\"ts\":5,\"probe_id\":6,\"tid\":7,\"was_suspended\":true}\n"
	"{\"type\":\"room\",\"pad\":\"   \"}\n",
	"{\"type\":\"coroutine\",\"name\":{\"a\":\"b\"},\"lost\":-1}\n[[[[[[[[\n\"\\ud800\"\n",
};

/* Words that the parsers react to. */
static const char *const words[] = {
	"\"",
	"\\",
	"{",
	"}",
	"[",
	"]",
	":",
	",",
	"\n",
	"\r\n",
	"\\u0000",
	"null",
	"true",
	"false",
	"-",
	"0",
	"1e999",
	"0x",
	"\"type\":",
	"99999999999999999999",
	"18446744073709551616",
	"00",
	"\xff",
	"\xc3\xa9",
	".5",
	"\"ts\":0",
	"\"station\":4294967295",
	" ",
};

static uint64_t state;

static size_t roll(size_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (size_t)(state % limit);
}

/* One change of @buf, which holds @size of at most @max bytes.  Returns the new size. */
static size_t mutate(char *buf, size_t size, size_t max)
{
	const char *word = words[roll(sizeof(words) / sizeof(words[0]))];
	size_t at = roll(size + 1), len = strlen(word);

	switch (roll(5)) {
	case 0: /* another byte */
		if (at < size)
			buf[at] = (char)roll(256);
		return size;
	case 1: /* a hole */
		len = roll(16) + 1;
		if (at + len > size)
			return at;
		memmove(buf + at, buf + at + len, size - at - len);
		return size - len;
	case 2: /* a piece twice */
		len = roll(64) + 1;
		if (at + len > size || size + len > max)
			return size;
		memmove(buf + at + len, buf + at, size - at);
		return size + len;
	case 3: /* a digit more or less */
		while (at < size && (buf[at] < '0' || buf[at] > '9'))
			at++;
		if (at < size)
			buf[at] = (char)('0' + roll(10));
		return size;
	default: /* a word */
		if (size + len > max)
			return size;
		memmove(buf + at + len, buf + at, size - at);
		memcpy(buf + at, word, len);
		return size + len;
	}
}

int main(int argc, char **argv)
{
	unsigned long iterations = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000, i;
	char buf[4096];

	state = (argc > 2 ? strtoull(argv[2], NULL, 10) : 0) * 2 + UINT64_C(0x9e3779b97f4a7c15);
	for (i = 0; i < iterations; i++) {
		const char *seed = seeds[roll(sizeof(seeds) / sizeof(seeds[0]))];
		size_t size = strlen(seed), changes = roll(8);

		memcpy(buf, seed, size);
		while (changes--)
			size = mutate(buf, size, sizeof(buf));
		own_input((const uint8_t *)buf, size);
	}
	printf("%lu inputs: %llu events, %llu lines of garbage, %llu records of sidecars, %llu "
	       "events among them\n",
	       iterations, (unsigned long long)nr_events, (unsigned long long)nr_garbage,
	       (unsigned long long)nr_records, (unsigned long long)nr_events_told);
	if (iterations >= 1000)
		MUST(nr_events > iterations / 10 && nr_garbage > iterations / 10 &&
		     nr_records > iterations / 10 && nr_events_told > iterations / 10);
	return 0;
}

#endif
