/* SPDX-License-Identifier: MIT */
/*
 * fuzz_recording.c - the reader of recordings, and everything that prints frames, against hostile
 * files; the ring's reader against hostile memory.
 *
 * With clang:   -DFUZZ_LIBFUZZER -fsanitize=fuzzer,address,undefined
 * Without:      fuzz_recording [ITERATIONS [SEED]] mutates the inputs below, the same way in
 *               every run, so that a sanitizer build has it as a test.
 *
 * Beyond "does not crash": every record is a frame, torn, foreign or part of a mark; a row
 * is never longer than its plan says.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "export/export.h"
#include "frames/file/recording_reader.h"
#include "frames/live/frame_ring.h"
#include "frames/file/frame_columns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)                                                                           \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                             \
		}                                                                            \
	} while (0)

/* What the inputs reached: a run with corrupt input only proves nothing. */
static uint64_t nr_opened, nr_frames, nr_marks, nr_bad;

static int file_of(const void *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	MUST(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* ---- files --------------------------------------------------------------- */

static void print_cells(const struct row_plan *p, const struct recfile_item *item)
{
	struct cell v;
	size_t c;

	for (c = 0; c < p->nr_cells; c++) {
		char *text, *end;

		row_get(p, &p->cells[c], 0, item->image, item->ticket, &v);
		text = malloc(cell_format_max(&v));
		MUST(text != NULL);
		end = cell_format(text, &v, CELL_CSV, true);
		MUST((size_t)(end - text) < cell_format_max(&v));
		free(text);
	}
}

static void print_frame(const struct row_plan *p, const struct recfile_item *item)
{
	char *text = malloc(p->json_max + 64), *end;

	MUST(text != NULL);
	end = row_jsonl(p, item->image, item->ticket, text);
	MUST(end > text && (size_t)(end - text) <= p->json_max);
	MUST(end[-1] == '\n' && !memchr(text, '\n', (size_t)(end - text) - 1));
	free(text);
	print_cells(p, item);
}

static void read_records(struct recfile *f)
{
	struct row_plan *plans = calloc(f->desc.nr_frames, sizeof(*plans));
	struct recfile_item item;
	struct err err = { 0 };
	bool good = true;
	size_t i;

	MUST(plans != NULL);
	for (i = 0; i < f->desc.nr_frames; i++)
		good &= row_plan_init(&plans[i], &f->desc, (unsigned)i, &f->info) == 0;
	while (recfile_next(f, &item, &err) > 0) {
		if (item.mark)
			continue;
		MUST(item.type < f->desc.nr_frames);
		if (good && f->stats.frames < 50)
			print_frame(&plans[item.type], &item);
	}
	MUST(f->stats.frames + f->stats.torn + f->stats.foreign <= f->stats.records + 1);
	MUST(f->stats.cut_bytes < f->desc.frame_size);
	for (i = 0; i < f->desc.nr_frames; i++)
		row_plan_release(&plans[i]);
	free(plans);
}

/* The same file as an export for viewers. */
static void draw(const uint8_t *data, size_t size, const struct sink *sink)
{
	struct export_result result;
	struct err err = { 0 };
	char path[64];
	int fd = file_of(data, size);
	struct export_options options = { .trace = path, .output = "/dev/null" };

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (export_recording(sink, &options, &result, &err) < 0)
		MUST(err.code < 0 && err.text[0]);
	else
		MUST(result.frames.counts.slices + result.frames.counts.instants +
			     result.frames.counts.without_time >=
		     result.frames.stats.frames);
	export_result_release(&result);
	close(fd);
}

static void fuzz_file(const uint8_t *data, size_t size)
{
	struct recfile f;
	struct err err = { 0 };

	draw(data, size, &sink_perfetto);
	draw(data, size, &sink_chrome);
	if (recfile_open_fd(&f, file_of(data, size), "fuzz", &err) < 0) {
		MUST(err.code < 0 && err.text[0]);
		return;
	}
	nr_opened++;
	read_records(&f);
	nr_frames += f.stats.frames;
	nr_marks += f.stats.marks;
	nr_bad += f.stats.torn + f.stats.foreign;
	recfile_close(&f);
}

/* ---- rings --------------------------------------------------------------- */

static void count(void *arg, uint64_t ticket, const uint8_t *image)
{
	uint32_t seqno;

	memcpy(&seqno, image, sizeof(seqno));
	MUST(seqno == (uint32_t)ticket);
	(*(uint64_t *)arg)++;
}

/* The input is the ring's memory: eight slots of 24 bytes. */
static void fuzz_ring(const uint8_t *data, size_t size)
{
	uint32_t *memory = calloc(1, 8 * 24);
	uint64_t taken = 0, head = 0;
	struct ring r;
	int i;

	MUST(memory && ring_init(&r, 24, 20, count, &taken) == 0);
	memcpy(memory, data, size < 192 ? size : 192);
	memcpy(&head, data, size < 8 ? size : 8);
	r.now = (struct ring_block){ (const uint8_t *)memory, 8, 1, NULL };
	for (i = 0; i < 4; i++)
		ring_poll(&r, head >> (8 * i), i & 1);
	if (ring_find_start(&r)) {
		ring_poll(&r, ring_probe_head(&r), true);
		ring_poll(&r, ring_probe_head(&r), false);
	}
	ring_finish(&r);
	MUST(r.taken == taken);
	ring_release(&r);
	free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_file(data, size);
	fuzz_ring(data, size);
	return 0;
}

/* ---- without libFuzzer --------------------------------------------------- */

#ifndef FUZZ_LIBFUZZER

#include "../../fuzz/own_input.h"

#define TYPE(tag, what) "{\"tag\":\"" tag "\",\"contents\":" what "}"
#define INT             TYPE("PIntegral", "[\"PPInt\",null]")
#define DOUBLE          TYPE("PRational", "[\"PPDouble\",null]")
#define TIME            TYPE("PTime", "null")
#define FIELD(name, offset, size, type, kind)                                 \
	"{\"_lName\":\"" name "\",\"_lOffset\":" #offset ",\"_lSize\":" #size \
	",\"_lAlignment\":4,\"_lType\":" type ",\"_lKind\":" kind "}"
#define M(name, interval, type) \
	"{\"fmName\":\"" name "\",\"fmDifferential\":" interval ",\"fmType\":" type "}"
#define PLAIN(m) "{\"tag\":\"LKMember\",\"contents\":[" m ",null]}"
#define ENDS(m, tag) \
	"{\"tag\":\"LKMember\",\"contents\":[" m ",{\"tag\":\"" tag "\",\"contents\":[0,1]}]}"
#define ELEM(m) "{\"tag\":\"FMemberElem\",\"contents\":" m "}"
#define FRONT   FIELD("__ppt_seqno", 0, 4, INT, TYPE("LKSeqno", "\"FrontSeq\"")) ","
#define KIND    FIELD("__ppt_type", 4, 4, INT, TYPE("LKTypeDescrim", "2")) ","
#define BACK    "," FIELD("__ppt_seqno_back", 56, 4, INT, TYPE("LKSeqno", "\"BackSeq\""))

static const char header[] =
	"{\"frFormat\":\"1.0.0\",\"frDate\":\"now\",\"frComment\":\"\",\"frDeltaTime\":60,"
	"\"frCounters\":[\"c\"],\"corotracer\":{\"format\":1,\"clock\":{\"ticks\":1,\"ns\":2,"
	"\"ns_per_tick\":0.3}},\"frJson\":{\"abi\":\"1.0.0\",\"emit\":{\"_eBuffer\":{\"ebName\":"
	"\"B\","
	"\"ebMinElements\":9},\"_eLanguage\":\"ELangC\",\"_eTimeRep\":{\"tag\":\"ETimeSpec\","
	"\"contents\":\"ETimeClockMonotonic\"},\"_eRuntime\":{\"erMultithread\":true},"
	"\"_eTags\":[[\"k\",\"v\"]],\"_eOptions\":[]},\"target\":{\"tDouble\":8,\"tFloat\":4,"
	"\"tInt\":4,"
	"\"tTime\":16,\"tCounter\":8,\"tPadTo\":4,\"tCounterCount\":3},\"tags\":[],\"metadata\":[],"
	"\"frames\":[{\"_flName\":\"f\",\"_flFrame\":{\"_frameName\":\"f\",\"_frameElements\":"
	"[" ELEM(M("t", "true", TIME)) "," ELEM(M("d", "false", DOUBLE)) "," ELEM(
		M("a", "false", INT)) "]},\"_flLayout\":[" FRONT KIND
		FIELD("t_start", 8, 16, TIME, ENDS(M("t", "true", TIME), "IntBegin")) "," FIELD(
			"t_end", 24, 16, TIME,
			ENDS(M("t", "true", TIME),
			     "IntEnd")) "," FIELD("d", 40, 8, DOUBLE,
						  PLAIN(M("d", "false",
							  DOUBLE))) "," FIELD("a", 48, 4, INT,
									      PLAIN(M("a", "false",
										      INT))) "," FIELD("__ppt_endpad_4",
												       52,
												       4,
												       TYPE("PIntegral",
													    "[\"PPByte\",null]"),
												       TYPE("LKPadding",
													    "4"))
			BACK
	"]},{\"_flName\":\"g\",\"_flFrame\":{\"_frameName\":\"g\",\"_frameElements\":[" ELEM(
		M("n", "false", INT)) "]},\"_flLayout\":[" FRONT KIND
		FIELD("n", 8, 4, INT, PLAIN(M("n", "false", INT))) "," FIELD(
			"__ppt_endpad_44", 12, 44, TYPE("PIntegral", "[\"PPByte\",null]"),
			TYPE("LKPadding", "44")) BACK "]}]}}";

static uint64_t state;

static size_t roll(size_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (size_t)(state % limit);
}

/* A valid file with @nr records, some of them marks.  Returns its size. */
static size_t make_file(uint8_t *buf, unsigned nr)
{
	size_t size = sizeof(header) - 1;
	uint32_t n, words[15];

	memcpy(buf, "PPT1", 4);
	buf[4] = buf[5] = 0;
	buf[6] = (uint8_t)(size >> 8);
	buf[7] = (uint8_t)size;
	memcpy(buf + 8, header, size);
	size += 8;
	for (n = 1; n <= nr; n++) {
		unsigned i;

		for (i = 0; i < 15; i++)
			words[i] = (uint32_t)roll(1u << 31);
		words[0] = words[14] = n;
		words[1] = 1 + n % 2;
		if (n % 7 == 0) { /* a mark takes one record here */
			words[0] = words[1] = 0;
			words[2] = RECORDING_MARK_MAGIC;
			words[3] = (uint32_t)roll(6);
			words[14] = RECORDING_MARK_BACK;
		}
		memcpy(buf + size, words, sizeof(words));
		size += sizeof(words);
	}
	return size;
}

static const char *const words[] = {
	"0",
	"1",
	"-1",
	"4294967296",
	"99999999999999999999",
	"1e400",
	"null",
	"true",
	"[]",
	"{}",
	"\"\"",
	"\"_lOffset\":",
	"\"_lSize\":",
	"\"tag\":",
	"\"contents\":",
	",",
	":",
	"\"",
	"\\u0000",
	"LKPadding",
	"LKMember",
	"PPByte",
	"PTime",
	"PCounter",
	"IntEnd",
	"[[[[[[[[",
	"\"ext\":{}",
};

static size_t mutate(uint8_t *buf, size_t size, size_t max)
{
	/* Mostly in the header: the rest is easy to reach. */
	size_t at = roll(roll(3) ? (size < sizeof(header) ? size : sizeof(header)) + 1 : size + 1);
	const char *word = words[roll(sizeof(words) / sizeof(words[0]))];
	size_t len = strlen(word);

	switch (roll(6)) {
	case 0:
		if (at < size)
			buf[at] = (uint8_t)roll(256);
		return size;
	case 1:
		len = roll(40) + 1;
		if (at + len > size)
			return at;
		memmove(buf + at, buf + at + len, size - at - len);
		return size - len;
	case 2: /* a digit */
		while (at < size && (buf[at] < '0' || buf[at] > '9'))
			at++;
		if (at < size)
			buf[at] = (uint8_t)('0' + roll(10));
		return size;
	case 3: /* one piece overwritten by another */
		if (at + len <= size)
			memcpy(buf + at, word, len);
		return size;
	case 4: /* a piece twice */
		len = roll(80) + 1;
		if (at + len > size || size + len > max)
			return size;
		memmove(buf + at + len, buf + at, size - at);
		return size + len;
	default:
		if (size + len > max)
			return size;
		memmove(buf + at + len, buf + at, size - at);
		memcpy(buf + at, word, len);
		return size + len;
	}
}

/* Restore the length in front of the header: otherwise little would be read. */
static void mend_length(uint8_t *buf, size_t before, size_t after)
{
	size_t size = sizeof(header) - 1 + after - before;

	buf[6] = (uint8_t)(size >> 8);
	buf[7] = (uint8_t)size;
}

int main(int argc, char **argv)
{
	unsigned long iterations = argc > 1 ? strtoul(argv[1], NULL, 10) : 5000, i;
	static uint8_t buf[16384];

	state = (argc > 2 ? strtoull(argv[2], NULL, 10) : 0) * 2 + UINT64_C(0x9e3779b97f4a7c15);
	for (i = 0; i < iterations; i++) {
		size_t size = make_file(buf, (unsigned)roll(40)), before = size, changes = roll(6);

		while (changes--)
			size = mutate(buf, size, sizeof(buf));
		if (roll(4))
			mend_length(buf, before, size);
		own_input(buf, size);
	}
	printf("%lu inputs: %llu opened, %llu frames, %llu marks, %llu bad records\n", iterations,
	       (unsigned long long)nr_opened, (unsigned long long)nr_frames,
	       (unsigned long long)nr_marks, (unsigned long long)nr_bad);
	if (iterations >= 1000)
		MUST(nr_opened > iterations / 10 && nr_frames > iterations &&
		     nr_marks > iterations / 10 && nr_bad > iterations / 10);
	return 0;
}

#endif
