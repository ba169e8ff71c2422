/* SPDX-License-Identifier: MIT */
/*
 * test_plain.c - the fast path for plain accesses writes the same bytes as the slow path; how
 * finished blocks are compressed, and when libzstd is used.
 *
 * Streams of units that look like programs (loops in loops, jumps, several periods, strides
 * that change) go through crw_plain(), and its code for any processor, in runs of random length,
 * and through cray_pack_access() one by one; the payloads must be equal.  The test counts uses of
 * the fast path: streams that never take it would prove nothing.
 */
#include <dlfcn.h>

#include "check.h"
#include "block_maker.h"
#include "compress_worker.h"
#include "decode_accesses.h"

void *open_library(const char *path, int flags);
void *find_symbol(void *library, const char *name);

#define dlopen open_library
#define dlsym  find_symbol
#include "../../runtime/memory/zstd_loader.c"
#undef dlopen
#undef dlsym

typedef uint32_t packer(struct cray_pack *p, const struct crw_unit *units, uint32_t nr);
static packer *const packers[] = { crw_plain_any, crw_plain };

static uint64_t state = 1;

static uint32_t random_below(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 33) % n;
}

#define UNITS 50000u
static struct crw_unit units[UNITS];
static struct cray_pack fast, slow;
static uint8_t fast_bytes[CRAY_PACK_PLAIN_MAX], slow_bytes[CRAY_PACK_PLAIN_MAX];

/* Loops of 1 to 9 accesses, some with a site twice, some rows cut by a stray access. */
static void make_units(void)
{
	uint32_t i = 0, j, k;

	while (i < UNITS) {
		uint32_t period = 1 + random_below(9), rounds = random_below(200);
		uint64_t at[9], stride[9], w1[9];

		for (j = 0; j < period; j++) {
			at[j] = (uint64_t)random_below(1000000) << random_below(30);
			stride[j] = (uint64_t)random_below(128) - 64;
			w1[j] = CRW_W1(random_below(5) | (random_below(2) ? CRW_IS_WRITE : 0),
				       0x400000 + random_below(random_below(4) ? 4000 : 8));
		}
		for (k = 0; k < rounds; k++) {
			for (j = 0; j < period && i < UNITS; j++, i++) {
				units[i] = (struct crw_unit){ at[j] + k * stride[j], w1[j] };
				if (random_below(300) == 0)
					units[i].w0 += random_below(3);
			}
		}
		if (rounds == 0)
			units[i++] = (struct crw_unit){ random_below(1u << 30), w1[0] };
	}
}

static size_t finish(struct cray_pack *p, uint8_t *bytes)
{
	struct cray_block head;

	return cray_pack_finish(p, bytes, &head);
}

static void the_fast_way_makes_the_same_bytes(void)
{
	uint32_t round, at, i;
	size_t a, b;

	for (round = 0; round < 60; round++) {
		make_units();
		cray_pack_init(&fast);
		cray_pack_init(&slow);
		cray_pack_begin(&fast, 0, 0, 0);
		cray_pack_begin(&slow, 0, 0, 0);
		for (at = 0; at < UNITS;) {
			uint32_t n = 1 + random_below(4092);
			uint32_t used = packers[round % 2](&fast, units + at,
							   n < UNITS - at ? n : UNITS - at);

			if (used == 0) /* out of sites */
				break;
			for (i = 0; i < used; i++)
				cray_pack_access(&slow, units[at + i].w1 & CRW_LOW,
						 units[at + i].w0, crw_how[units[at + i].w1 >> 56]);
			at += used;
		}
		CHECK_EQ(fast.nr_accesses, slow.nr_accesses);
		a = finish(&fast, fast_bytes);
		b = finish(&slow, slow_bytes);
		CHECK_EQ(a, b);
		CHECK(memcmp(fast_bytes, slow_bytes, a) == 0);
	}
}

/* A loop as in a matrix product; and patterns that must not be taken for one. */
static void a_row_ends_where_it_ends(void)
{
	uint32_t i, used;
	size_t a, b;

	for (i = 0; i < 4000; i++)
		units[i] = (struct crw_unit){ i % 2 ? 1000 + i * 4 : 900000 + i * 400,
					      CRW_W1(3, 100 + i % 2) };
	units[3000].w0++;
	units[3500].w1 = CRW_W1(CRW_PAD, 1);
	cray_pack_init(&fast);
	cray_pack_init(&slow);
	cray_pack_begin(&fast, 0, 0, 0);
	cray_pack_begin(&slow, 0, 0, 0);
	used = crw_plain(&fast, units, 4000);
	CHECK_EQ(used, 3500);
	for (i = 0; i < used; i++)
		cray_pack_access(&slow, units[i].w1 & CRW_LOW, units[i].w0,
				 crw_how[units[i].w1 >> 56]);
	a = finish(&fast, fast_bytes);
	b = finish(&slow, slow_bytes);
	CHECK_EQ(a, b);
	CHECK(memcmp(fast_bytes, slow_bytes, a) == 0);
}

static void no_block_has_too_many_records(void)
{
	uint32_t all = 0, used;

	for (uint32_t i = 0; i < UNITS; i++)
		units[i] = (struct crw_unit){ i * 8, CRW_W1(3, 100) };
	cray_pack_init(&fast);
	cray_pack_begin(&fast, 0, 0, 0);
	while ((used = crw_plain(&fast, units, UNITS)) > 0)
		all += used;
	CHECK_EQ(all, CRAY_PACK_RECORDS);
	CHECK_EQ(fast.nr_accesses, CRAY_PACK_RECORDS);
}

/* ---- blocks ------------------------------------------------------------------------- */

static char calls[1024];
static size_t search_percent, code_percent;
static bool set_fails;

static void note_call(const char *what, size_t size, int level)
{
	size_t used = strlen(calls);

	if (level)
		snprintf(calls + used, sizeof(calls) - used, "%s %zu at %d, ", what, size, level);
	else
		snprintf(calls + used, sizeof(calls) - used, "%s %zu, ", what, size);
}

static size_t noted_compress(void *context, void *to, size_t room, const void *from, size_t size,
			     int level)
{
	(void)context;
	(void)from;
	note_call("search", size, level);
	CHECK(room >= size);
	memset(to, 's', size * search_percent / 100);
	return search_percent ? size * search_percent / 100 : SIZE_MAX;
}

static size_t noted_compress2(void *context, void *to, size_t room, const void *from, size_t size)
{
	(void)context;
	(void)from;
	note_call("code", size, 0);
	CHECK(room >= size);
	memset(to, 'c', size * code_percent / 100);
	return code_percent ? size * code_percent / 100 : SIZE_MAX;
}

static unsigned noted_is_error(size_t code)
{
	return code == SIZE_MAX;
}

static size_t noted_set(void *context, int parameter, int value)
{
	(void)context;
	CHECK((parameter == CRAY_ZSTD_LEVEL && value < 0) ||
	      (parameter == CRAY_ZSTD_LITERALS && value == 1));
	return set_fails ? SIZE_MAX : 0;
}

static const struct cray_zstd noted = { calls, noted_compress, noted_is_error, noted_set,
					noted_compress2 };

/* A finished block with parts of 1000, @own and 3000 bytes; it is pressed.  Returns the calls. */
static const char *press(struct cray_maker *m, uint32_t own, bool hurry)
{
	struct cray_streams streams = { .symbols = 960, .sites = 8, .own = own };

	CHECK_EQ(sizeof(streams), 32);
	memset(m->plain, 0, sizeof(streams));
	memcpy(m->plain, &streams, sizeof(streams));
	m->plain_size = m->stored_size = (size_t)4000 + own;
	m->stored = m->plain;
	m->codec = CRAY_CODEC_NONE;
	m->hurry = hurry;
	calls[0] = '\0';
	cray_maker_press(m);
	return calls;
}

static void check_stored(const struct cray_maker *m, size_t size)
{
	CHECK_EQ(m->stored_size, size);
	CHECK(size == m->plain_size ? m->stored == m->plain && m->codec == CRAY_CODEC_NONE
				    : m->stored == m->out && m->codec == CRAY_CODEC_ZSTD);
}

/* One block of 16 is compressed both ways, and shows what the others need. */
static void parts_of_a_block_are_compressed_as_the_last_try_says(void)
{
	static const char both[] = "code 1000, search 1000 at 5, code 2000, search 2000 at 5, "
				   "code 3000, search 3000 at 5, ";
	struct cray_maker *m = cray_maker_new(5, &noted);
	int i;

	search_percent = code_percent = 50;
	CHECK_STR(press(m, 2000, false), both);
	check_stored(m, 3000);
	CHECK(m->out[0] == 's' && m->out[2999] == 's');
	for (i = 1; i < 16; i++) {
		/* Searching saves nothing: not the symbols, unless the program waits. */
		CHECK_STR(press(m, 2000, i % 2),
			  i % 2 ? "code 1000, code 2000, code 3000, "
				: "search 1000 at 5, code 2000, code 3000, ");
		check_stored(m, 3000);
	}
	search_percent = 10; /* repetitions */
	CHECK_STR(press(m, 2000, true), "code 1000, search 1000 at 1, code 2000, search 2000 at 1, "
					"code 3000, search 3000 at 1, ");
	CHECK_STR(press(m, 2000, true), "search 1000 at 1, search 2000 at 1, search 3000 at 1, ");
	check_stored(m, 600);
	CHECK_STR(press(m, 2000, false), "search 1000 at 5, search 2000 at 5, search 3000 at 5, ");
	cray_maker_free(m);
	/* A search that saves a 32nd or less is not worth it. */
	m = cray_maker_new(1, &noted);
	search_percent = 32;
	code_percent = 33;
	press(m, 2000, false);
	CHECK(m->parts[1].is_coding && m->parts[2].is_coding && !m->parts[0].is_coding);
	CHECK(m->parts[0].random && m->parts[1].random && m->parts[2].random);
	m->turn = 16;
	code_percent = 34;
	press(m, 2000, false);
	CHECK(!m->parts[1].is_coding && !m->parts[2].is_coding);
	cray_maker_free(m);
}

static void small_parts_have_no_frame_of_their_own(void)
{
	struct cray_maker *m = cray_maker_new(1, &noted);

	search_percent = code_percent = 50;
	CHECK_STR(press(m, 256, false), "code 1000, search 1000 at 1, code 256, search 256 at 1, "
					"code 3000, search 3000 at 1, ");
	CHECK_STR(press(m, 255, false), "search 1255 at 1, code 3000, ");
	CHECK_STR(press(m, 0, false), "search 1000 at 1, code 3000, ");
	cray_maker_free(m);
}

static void what_cannot_be_compressed_is_stored_as_it_is(void)
{
	static const struct cray_zstd none;
	struct cray_maker *m = cray_maker_new(1, &noted);
	char bytes[400] = { 0 };

	search_percent = 100; /* not smaller */
	code_percent = 100;
	press(m, 2000, false);
	check_stored(m, 6000);
	m->turn = 0;
	code_percent = 50;
	search_percent = 0; /* fails */
	CHECK_STR(press(m, 2000, false), "code 1000, search 1000 at 1, ");
	check_stored(m, 6000);
	set_fails = true; /* an old version: no codes */
	search_percent = 50;
	CHECK_STR(press(m, 2000, true), "search 1000 at 1, search 2000 at 1, search 3000 at 1, ");
	check_stored(m, 3000);
	set_fails = false;
	/* Other bytes. */
	calls[0] = '\0';
	cray_maker_press_bytes(m, bytes, sizeof(bytes));
	CHECK_STR(calls, "search 400 at 1, ");
	CHECK(m->codec == CRAY_CODEC_ZSTD && m->stored == m->out && m->stored_size == 200);
	search_percent = 100;
	cray_maker_press_bytes(m, bytes, sizeof(bytes));
	CHECK(m->codec == CRAY_CODEC_NONE && m->stored == (uint8_t *)bytes);
	CHECK(m->stored_size == 400 && m->plain_size == 400);
	cray_maker_free(m);
	/* Without compression, and without a level. */
	m = cray_maker_new(1, &none);
	CHECK_STR(press(m, 2000, false), "");
	check_stored(m, 6000);
	cray_maker_press_bytes(m, bytes, sizeof(bytes));
	CHECK(m->codec == CRAY_CODEC_NONE && m->stored_size == 400);
	cray_maker_free(m);
	m = cray_maker_new(0, &noted);
	CHECK_STR(press(m, 2000, false), "");
	cray_maker_press_bytes(m, bytes, sizeof(bytes));
	CHECK_STR(calls, "");
	cray_maker_free(m);
}

/* ---- libzstd ------------------------------------------------------------------------------ */

static struct {
	bool is_there, has_error, refuses;
	const char *lacks; /* a symbol */
} library;

void *open_library(const char *path, int flags)
{
	CHECK_STR(path, "libzstd.so.1");
	(void)flags;
	return library.is_there ? &library : NULL;
}

static size_t library_estimate(int level)
{
	return library.has_error ? SIZE_MAX : 1000 * (size_t)level;
}

static void *library_init(void *memory, size_t size)
{
	CHECK_EQ(size, 3000);
	return library.refuses ? NULL : memory;
}

static unsigned library_is_error(size_t code)
{
	return code == SIZE_MAX;
}

void *find_symbol(void *handle, const char *name)
{
	CHECK(handle == &library);
	if (library.lacks && !strcmp(name, library.lacks))
		return NULL;
	if (!strcmp(name, "ZSTD_estimateCCtxSize"))
		return (void *)library_estimate;
	if (!strcmp(name, "ZSTD_initStaticCCtx"))
		return (void *)library_init;
	if (!strcmp(name, "ZSTD_isError"))
		return (void *)library_is_error;
	return (void *)noted.compress;
}

/* Does a new maker compress? */
static bool makes_with(int level)
{
	struct cray_maker *m = crt_maker_new(level);
	bool is_used = m->zstd.context != NULL;

	CHECK_EQ(m->level, level);
	if (is_used)
		crt_memory_free(m->zstd.context, 3000);
	cray_maker_free(m);
	return is_used;
}

static void the_library_is_used_if_it_is_complete(void)
{
	static const char *const needed[] = { "ZSTD_estimateCCtxSize", "ZSTD_initStaticCCtx",
					      "ZSTD_compressCCtx", "ZSTD_isError" };
	size_t i;

	CHECK(!makes_with(3)); /* it is not there */
	library.is_there = true;
	CHECK(makes_with(3));
	CHECK(!makes_with(0)); /* not asked for */
	for (i = 0; i < 4; i++) {
		library.lacks = needed[i];
		CHECK(!makes_with(3));
	}
	library.lacks = "ZSTD_compress2"; /* an old version */
	CHECK(makes_with(3));
	library.has_error = true;
	CHECK(!makes_with(3));
	library.has_error = false;
	library.refuses = true;
	CHECK(!makes_with(3));
}

/* ---- the thread that compresses ----------------------------------------------------------- */

static void make_block(struct cray_maker *m)
{
	struct cray_streams streams = { .symbols = 968 };

	memcpy(m->plain, &streams, sizeof(streams));
	m->plain_size = m->stored_size = 1000;
	m->stored = m->plain;
	m->codec = CRAY_CODEC_NONE;
}

static void blocks_are_compressed_in_a_thread(void)
{
	struct cray_maker *m[CRT_PRESS_MAX];
	uint32_t i, round, ticket[CRT_PRESS_MAX];

	search_percent = code_percent = 50;
	calls[0] = '\0';
	for (i = 0; i < CRT_PRESS_MAX; i++) {
		m[i] = cray_maker_new(1, &noted);
		make_block(m[i]);
		calls[0] = '\0';
		ticket[i] = crt_press_give(m[i], false); /* here, at once */
		CHECK_EQ(ticket[i], i + 1);
		CHECK(crt_press_done(ticket[i], false));
		check_stored(m[i], 500);
	}
	for (round = 0; round < 20; round++) {
		calls[0] = '\0';
		for (i = 0; i < CRT_PRESS_MAX; i++) {
			make_block(m[i]);
			ticket[i] = crt_press_give(m[i], true);
		}
		CHECK(crt_press_done(ticket[CRT_PRESS_MAX - 1], true));
		for (i = 0; i < CRT_PRESS_MAX; i++) {
			CHECK(crt_press_done(ticket[i], false));
			CHECK_EQ(ticket[i], CRT_PRESS_MAX * (round + 1) + i + 1);
			check_stored(m[i], 500);
		}
	}
	CHECK(!crt_press_done(ticket[CRT_PRESS_MAX - 1] + 1, false));
	for (i = 0; i < CRT_PRESS_MAX; i++)
		cray_maker_free(m[i]);
}

int main(void)
{
	RUN(the_fast_way_makes_the_same_bytes);
	RUN(a_row_ends_where_it_ends);
	RUN(no_block_has_too_many_records);
	RUN(parts_of_a_block_are_compressed_as_the_last_try_says);
	RUN(small_parts_have_no_frame_of_their_own);
	RUN(what_cannot_be_compressed_is_stored_as_it_is);
	RUN(the_library_is_used_if_it_is_complete);
	RUN(blocks_are_compressed_in_a_thread);
	return 0;
}
