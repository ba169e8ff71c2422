/* SPDX-License-Identifier: MIT */
/* test_base_values.c - numbers, paths, mistyped words and growable buffers, as users see them. */
#include "base/bytes.h"
#include "base/cell.h"
#include "base/dynlib.h"
#include "base/nearest_word.h"
#include "base/number.h"
#include "base/path.h"
#include "base/progress.h"
#include "base/proto.h"
#include "base/text.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "check.h"

static void counts_have_commas_and_eight_are_valid_at_a_time(void)
{
	const char *texts[8];
	uint64_t i;

	for (i = 0; i < 8; i++)
		texts[i] = number_text(i * 1000);
	CHECK_STR(texts[0], "0");
	CHECK_STR(texts[1], "1,000");
	CHECK_STR(texts[7], "7,000");
	CHECK_STR(number_text(999), "999");
	CHECK_STR(number_text(UINT64_MAX), "18,446,744,073,709,551,615");
}

static void sizes_have_the_unit_that_fits(void)
{
	static const struct {
		uint64_t n;
		const char *text;
	} cases[] = {
		{ 0, "0 B" },
		{ 1023, "1023 B" },
		{ 1024, "1 KiB" },
		{ 1536, "1.5 KiB" },
		{ 10 * 1024 + 512, "10 KiB" },
		{ UINT64_C(1) << 20, "1 MiB" },
		{ UINT64_C(1) << 30, "1 GiB" },
		{ UINT64_C(1) << 40, "1 TiB" },
		{ UINT64_C(1) << 50, "1 PiB" },
		{ UINT64_C(1) << 60, "1024 PiB" },
	};
	const char *texts[4];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_STR(number_bytes(cases[i].n), cases[i].text);
	for (i = 0; i < 4; i++)
		texts[i] = number_bytes(i);
	for (i = 0; i < 4; i++)
		CHECK_EQ(texts[i][0], '0' + (int)i);
}

static void percents_of_nothing_are_zero(void)
{
	CHECK(number_percent(1, 4) == 25.0);
	CHECK(number_percent(5, 0) == 0.0);
	CHECK_STR(number_plural(1), "");
	CHECK_STR(number_plural(0), "s");
	CHECK_STR(number_plural(2), "s");
}

static void durations_and_shares_are_never_rounded_to_nothing(void)
{
	char buf[TEXT_SIZE];

	CHECK_STR(text_duration(buf, 999), "999 ns");
	CHECK_STR(text_duration(buf, 1500), "1.500 us");
	CHECK_STR(text_duration(buf, 1500000), "1.500 ms");
	CHECK_STR(text_duration(buf, UINT64_C(2000000000)), "2.000 s");
	CHECK_STR(text_share(buf, 0, 100), "");
	CHECK_STR(text_share(buf, 104, 1000000), " (0.0104 %)");
	CHECK(strstr(text_share(buf, 1, UINT64_MAX), "%") && !strstr(buf, " (0 %)"));
}

static const char *plain_path(const char *from)
{
	static char to[64];

	path_plain(from, to, sizeof(to));
	return to;
}

static void paths_lose_what_means_nothing(void)
{
	char small[8];

	CHECK_STR(plain_path("/usr/./lib//gcc/../x.c"), "/usr/lib/x.c");
	CHECK_STR(plain_path("./a/b"), "a/b");
	CHECK_STR(plain_path("../a/../b.c"), "../b.c");
	CHECK_STR(plain_path("../../b.c"), "../../b.c");
	CHECK_STR(plain_path("a/../b"), "b");
	CHECK_STR(plain_path("a/.b/c"), "a/.b/c");
	CHECK_STR(plain_path("a/...../c"), "a/...../c");
	CHECK_STR(plain_path("abc/x/../../d"), "d");
	CHECK_STR(plain_path(""), "");
	CHECK_STR(plain_path("/"), "/");
	CHECK_STR(path_base("/usr/lib"), "lib");
	CHECK_STR(path_base("lib"), "lib");
	/* Seven bytes fit with their end; of eight only the last seven are kept, unchanged. */
	path_plain("a//bcde", small, sizeof(small));
	CHECK_STR(small, "a/bcde");
	path_plain("a//bcdef", small, sizeof(small));
	CHECK_STR(small, "//bcdef");
}

static const char *word_meant(const char *typed)
{
	static const char *const known[] = { "run", "report", "export", "info", "if", "attach" };
	struct nearest_word near;
	size_t i;

	nearest_word_begin(&near, typed, strlen(typed));
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		nearest_word_offer(&near, known[i]);
	return near.best ? near.best : "-";
}

static void a_mistyped_word_means_the_nearest_one(void)
{
	char longest[42];

	CHECK_STR(word_meant("reprot"), "report");  /* two letters swapped */
	CHECK_STR(word_meant("exprt"), "export");   /* one missing */
	CHECK_STR(word_meant("atttach"), "attach"); /* one too many */
	CHECK_STR(word_meant("inf"), "info");       /* the beginning */
	CHECK_STR(word_meant("att"), "attach");
	CHECK_STR(word_meant("fi"), "if"); /* two letters are enough */
	CHECK_STR(word_meant("r"), "-");
	CHECK_STR(word_meant("at"), "-"); /* two letters of a beginning are not */
	CHECK_STR(word_meant("xyzzy"), "-");
	CHECK_STR(word_meant("rexxxt"), "-"); /* three of six letters are wrong */
	memset(longest, 'x', sizeof(longest));
	longest[41] = '\0';
	CHECK_STR(word_meant(longest), "-");
}

static void words_of_forty_letters_are_compared_and_longer_ones_are_not(void)
{
	static const char known[] = "abcdefghijabcdefghijabcdefghijabcdefghij";
	struct nearest_word near;
	char typed[48];

	snprintf(typed, sizeof(typed), "%.39sX", known);
	nearest_word_begin(&near, typed, 40);
	nearest_word_offer(&near, known);
	CHECK(near.best == known && near.distance == 1);
	snprintf(typed, sizeof(typed), "%.40sX", known);
	nearest_word_begin(&near, typed, 41);
	nearest_word_offer(&near, known);
	CHECK(!near.best);
	nearest_word_begin(&near, typed, 40);
	nearest_word_offer(&near, typed);
	CHECK(!near.best);
}

static void the_first_of_equally_near_words_is_meant(void)
{
	struct nearest_word near;

	nearest_word_begin(&near, "cat", 3);
	nearest_word_offer(&near, "bat");
	nearest_word_offer(&near, "rat");
	CHECK_STR(near.best, "bat");
	nearest_word_offer(&near, "cat");
	CHECK_STR(near.best, "cat");
	/* Only the first bytes count. */
	nearest_word_begin(&near, "run --json", 3);
	nearest_word_offer(&near, "run");
	CHECK(near.best && near.distance == 0);
}

static void buffers_keep_their_bytes_while_they_grow(void)
{
	static const unsigned char wanted[] = { 0x7f, 0x80, 0x01, 0xac, 0x02 };
	struct bytes b = { 0 };
	unsigned i;

	for (i = 0; i < 100000; i++)
		CHECK(bytes_put(&b, &i, sizeof(i)));
	CHECK_EQ(b.size, 400000);
	for (i = 0; i < 100000; i++)
		CHECK(!memcmp(b.data + 4 * (size_t)i, &i, sizeof(i)));
	bytes_clear(&b);
	CHECK(!b.size && b.room >= 400000);
	bytes_add_varint(&b, 127);
	bytes_add_varint(&b, 128);
	bytes_add_varint(&b, 300);
	CHECK_EQ(b.size, sizeof(wanted));
	CHECK(!memcmp(b.data, wanted, sizeof(wanted)));
	bytes_clear(&b);
	bytes_add_varint(&b, UINT64_MAX);
	CHECK_EQ(b.size, 10);
	bytes_release(&b);
	CHECK(!b.data && !b.room);
}

static void a_buffer_that_cannot_grow_stays_as_it_is(void)
{
	struct bytes b = { 0 };

	bytes_add_text(&b, "abc");
	CHECK(!bytes_more(&b, SIZE_MAX / 2));
	CHECK_EQ(b.error, -ENOMEM);
	CHECK(!bytes_put(&b, "d", 1) && !bytes_room(&b, 1));
	CHECK_EQ(b.size, 3);
	bytes_clear(&b);
	CHECK(bytes_put(&b, "d", 1));
	bytes_release(&b);
}

/* Each row: bytes, their number, the character, and the length that is skipped. */
static void invalid_utf_8_skips_only_what_cannot_start_a_character(void)
{
	static const struct {
		const char *bytes;
		size_t size, len;
		uint32_t cp;
	} cases[] = {
		{ "A", 1, 1, 'A' },
		{ "\x7f", 1, 1, 0x7f },
		{ "\xc2\x80", 2, 2, 0x80 },
		{ "\xdf\xbf", 2, 2, 0x7ff },
		{ "\xe0\xa0\x80", 3, 3, 0x800 },
		{ "\xef\xbf\xbd", 3, 3, 0xfffd },
		{ "\xf0\x90\x80\x80", 4, 4, 0x10000 },
		{ "\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff },
		{ "\xc1\x80", 2, 1, UTF8_BAD },     /* overlong */
		{ "\xe0\x9f\xbf", 3, 1, UTF8_BAD }, /* overlong */
		{ "\xed\xa0\x80", 3, 1, UTF8_BAD }, /* surrogate */
		{ "\xed\x9f\xbf", 3, 3, 0xd7ff },
		{ "\xf4\x90\x80\x80", 4, 1, UTF8_BAD }, /* above the last */
		{ "\xf5\x80\x80\x80", 4, 1, UTF8_BAD },
		{ "\x80", 1, 1, UTF8_BAD },
		{ "\xe2\x82", 2, 2, UTF8_BAD }, /* truncated */
		{ "\xe2\x41", 2, 1, UTF8_BAD },
	};
	size_t i;
	uint32_t cp;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_EQ(utf8_next(cases[i].bytes, cases[i].size, &cp), cases[i].len);
		CHECK_EQ(cp, cases[i].cp);
	}
}

/* ---- protocol buffers ----------------------------------------------------------------------- */

static void proto_same(struct proto *p, const char *bytes, size_t size)
{
	CHECK_EQ(p->error, 0);
	CHECK_EQ(p->used, size);
	CHECK(!memcmp(p->buf, bytes, size));
	proto_release(p);
	CHECK(!p->buf && !p->used);
}

#define PROTO_SAME(p, bytes) proto_same(p, bytes, sizeof(bytes) - 1)

static void values_have_tags_and_the_shortest_length(void)
{
	struct proto p = { 0 };

	proto_u64(&p, 1, 0);
	proto_u64(&p, 15, 127);
	proto_u64(&p, 16, 128);
	proto_i64(&p, 2, -1);
	proto_fixed64(&p, 3, 0x0102030405060708);
	proto_double(&p, 4, 1.0);
	PROTO_SAME(&p, "\x08\x00"
		       "\x78\x7f"
		       "\x80\x01\x80\x01"
		       "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
		       "\x19\x08\x07\x06\x05\x04\x03\x02\x01"
		       "\x21\x00\x00\x00\x00\x00\x00\xf0\x3f");
}

static void strings_become_valid_and_bytes_stay(void)
{
	struct proto p = { 0 };

	proto_string(&p, 1, "a\xc3\xa9", 3);
	proto_string(&p, 1, "", 0);
	proto_string(&p, 1, "x\xff\xffy", 4);
	proto_string(&p, 1, "\xef\xbf\xbd", 3); /* a valid U+FFFD */
	proto_bytes(&p, 2, "\xff\x00", 2);
	PROTO_SAME(&p, "\x0a\x03"
		       "a\xc3\xa9"
		       "\x0a\x00"
		       "\x0a\x08x\xef\xbf\xbd\xef\xbf\xbdy"
		       "\x0a\x03\xef\xbf\xbd"
		       "\x12\x02\xff\x00");
}

static void a_long_message_has_a_longer_length(void)
{
	char text[5000];
	struct proto p = { 0 };

	memset(text, 'x', sizeof(text));
	proto_begin(&p, 1);
	proto_begin(&p, 2);
	proto_end(&p);
	proto_string(&p, 3, text, 127);
	proto_end(&p);
	CHECK_EQ(p.used, 3 + 2 + 2 + 127);
	CHECK(!memcmp(p.buf, "\x0a\x83\x01\x12\x00\x1a\x7fx", 8));
	p.used = 0;
	proto_begin(&p, 1);
	proto_bytes(&p, 3, text, sizeof(text)); /* more than the first buffer */
	proto_end(&p);
	CHECK_EQ(p.error, 0);
	CHECK_EQ(p.used, 3 + 3 + 5000);
	CHECK(!memcmp(p.buf, "\x0a\x8b\x27\x1a\x88\x27x", 7) && p.buf[p.used - 1] == 'x');
	proto_release(&p);
}

static void messages_are_nested_eight_deep_at_most(void)
{
	struct proto p = { 0 };
	unsigned i;

	for (i = 0; i < PROTO_DEPTH_MAX; i++)
		proto_begin(&p, 1);
	CHECK_EQ(p.error, 0);
	proto_begin(&p, 1);
	CHECK_EQ(p.error, -E2BIG);
	i = (unsigned)p.used;
	proto_u64(&p, 1, 1); /* nothing is written after a failure */
	proto_end(&p);
	CHECK_EQ(p.used, i);
	proto_release(&p);
	proto_end(&p); /* none was begun */
	CHECK_EQ(p.error, -EINVAL);
	proto_release(&p);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void cell_same(struct cell c, enum cell_form form, bool guard, const char *wanted)
{
	char text[256];
	char *end = cell_format(text, &c, form, guard);

	CHECK((size_t)(end - text) <= cell_format_max(&c));
	*end = '\0';
	CHECK_STR(text, wanted);
}

static void cells_are_quoted_where_they_must_be(void)
{
	static const char *const cases[][4] = {
		/* text, CSV, CSV quoted, JSON */
		{ "plain", "plain", "\"plain\"", "\"plain\"" },
		{ "", "\"\"", "\"\"", "\"\"" },
		{ " a", "\" a\"", "\" a\"", "\" a\"" },
		{ "a ", "\"a \"", "\"a \"", "\"a \"" },
		{ "a b", "a b", "\"a b\"", "\"a b\"" },
		{ "a,b", "\"a,b\"", "\"a,b\"", "\"a,b\"" },
		{ "a\"b", "\"a\"\"b\"", "\"a\"\"b\"", "\"a\\\"b\"" },
		{ "a\nb", "\"a\nb\"", "\"a\nb\"", "\"a\\u000ab\"" },
		{ "a\rb", "\"a\rb\"", "\"a\rb\"", "\"a\\u000db\"" },
		{ "a\\b", "a\\b", "\"a\\b\"", "\"a\\\\b\"" },
		{ "a\xff", "a\xef\xbf\xbd", "\"a\xef\xbf\xbd\"", "\"a\xef\xbf\xbd\"" },
		{ "\x1f\xc3\xa9", "\x1f\xc3\xa9", "\"\x1f\xc3\xa9\"", "\"\\u001f\xc3\xa9\"" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cell c = cell_text(cases[i][0], strlen(cases[i][0]));

		cell_same(c, CELL_CSV, true, cases[i][1]);
		cell_same(c, CELL_CSV_QUOTED, true, cases[i][2]);
		cell_same(c, CELL_JSON, true, cases[i][3]);
	}
	cell_same(cell_text("=1+1", 4), CELL_CSV, true, "'=1+1");
	cell_same(cell_text("=1+1", 4), CELL_CSV, false, "=1+1");
	cell_same(cell_text("=1+1", 4), CELL_CSV_QUOTED, true, "\"'=1+1\"");
}

static void numbers_in_cells_are_exact(void)
{
	const struct cell nan = { .kind = CELL_DOUBLE, .d = NAN };
	const struct cell inf = { .kind = CELL_FLOAT, .f = INFINITY };
	const struct cell less = { .kind = CELL_DOUBLE, .d = -INFINITY };
	const struct cell real = { .kind = CELL_DOUBLE, .d = 0.1 };
	const struct cell none = { .kind = CELL_NULL };

	cell_same((struct cell){ .kind = CELL_SIGNED, .i = INT64_MIN }, CELL_CSV, false,
		  "-9223372036854775808");
	cell_same((struct cell){ .kind = CELL_SIGNED, .i = 7 }, CELL_JSON, false, "7");
	cell_same(cell_u64(UINT64_MAX), CELL_CSV, false, "18446744073709551615");
	cell_same((struct cell){ .kind = CELL_BOOL, .u = 1 }, CELL_CSV, false, "true");
	cell_same((struct cell){ .kind = CELL_BOOL, .u = 0 }, CELL_JSON, false, "false");
	cell_same((struct cell){ .kind = CELL_FLOAT, .f = 0.1f }, CELL_CSV, false, "0.1");
	cell_same(real, CELL_JSON, false, "0.1");
	cell_same(nan, CELL_CSV, false, "nan");
	cell_same(inf, CELL_CSV, false, "inf");
	cell_same(less, CELL_CSV, false, "-inf");
	cell_same(nan, CELL_JSON, false, "null");
	cell_same(inf, CELL_JSON, false, "null");
	cell_same(none, CELL_JSON, false, "null");
	cell_same(none, CELL_CSV, false, "");
	CHECK(!cell_is_finite(&nan) && !cell_is_finite(&inf) && cell_is_finite(&real));
}

/* ---- libraries ---------------------------------------------------------------------------------
 */

static void a_library_is_loaded_or_its_package_is_named(void)
{
	double (*cosine)(double) = NULL;
	void *none = NULL;
	const struct dynlib_symbol good[] = { { "cos", (void *)&cosine, NULL } };
	const struct dynlib_symbol wrong[] = { { "cos", (void *)&cosine, NULL },
					       { "no_such_function", &none, NULL } };
	struct dynlib lib = { "libm.so.6", "libc6", good, 1, NULL };
	struct dynlib missing = { "libnothing.so.9", "libnothing9", good, 1, NULL };
	struct dynlib partial = { "libm.so.6", "libnew", wrong, 2, NULL };
	struct err err = { 0 };

	CHECK_EQ(dynlib_load(&lib, &err), 0);
	CHECK(lib.handle != NULL && cosine && cosine(0) == 1);
	CHECK_EQ(dynlib_load(&lib, &err), 0); /* again */
	CHECK_EQ(dynlib_load(&missing, &err), -ENOENT);
	CHECK(strstr(err.text, "cannot load libnothing.so.9: "));
	CHECK_STR(err.hint, "install the package libnothing9");
	CHECK_EQ(dynlib_load(&partial, &err), -ENOENT);
	CHECK(partial.handle == NULL && strstr(err.text, "no_such_function"));
}

/* ---- progress ----------------------------------------------------------------------------------
 */

/* What @show prints to a terminal. */
static void on_terminal(void (*show)(void), char *text, size_t size)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY), before = dup(STDERR_FILENO), slave;
	size_t used = 0;
	ssize_t got;

	CHECK(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
	slave = open(ptsname(terminal), O_RDWR | O_NOCTTY);
	CHECK(slave >= 0 && dup2(slave, STDERR_FILENO) >= 0);
	show();
	fputc('.', stderr); /* the end */
	fflush(stderr);
	CHECK(dup2(before, STDERR_FILENO) >= 0);
	/* The terminal passes the bytes on piece by piece. */
	do {
		got = read(terminal, text + used, size - 1 - used);
		CHECK(got > 0);
		used += (size_t)got;
	} while (text[used - 1] != '.');
	text[used] = '\0';
	close(slave);
	close(terminal);
	close(before);
}

/* As if a second had passed, in which half of @total was done. */
static struct progress begun(uint64_t total, const char *unit)
{
	struct progress p;

	progress_start(&p, "reading t", total);
	p.start_ns -= UINT64_C(1000000000);
	p.next_ns = 0;
	p.unit = unit;
	return p;
}

static void show_early(void)
{
	struct progress p;

	progress_start(&p, "reading t", 100);
	CHECK_EQ(p.next_ns - p.start_ns, 1000000000);
	p.next_ns += UINT64_C(1000000000000); /* however slow this test is */
	progress_update(&p, 50);
	progress_full(&p, NULL);
	progress_end(&p);
}

static void show_half(void)
{
	struct progress p = begun(4000000, NULL);

	progress_update(&p, 2000000);
	CHECK(p.shown && p.next_ns > p.start_ns);
	progress_update(&p, 3000000); /* too soon after the last one */
}

/* Three parts in 1.5 s and later: one part in half a second, which is rounded up. */
static void show_rest(void)
{
	struct progress p = begun(4000000, NULL);

	p.start_ns -= UINT64_C(500000000);
	progress_update(&p, 3000000);
	CHECK(p.to_go >= 1);
	p.to_go = 1; /* it does not become more */
	p.start_ns -= UINT64_C(60000000000);
	p.next_ns = 0;
	progress_update(&p, 3000001);
	CHECK(p.to_go == 1);
}

static void show_events(void)
{
	struct progress p = begun(0, "events");

	progress_update(&p, 1234567);
	progress_full(&p, "sorting");
	progress_end(&p);
}

static void show_all(void)
{
	struct progress p = begun(1000000, NULL);

	progress_update(&p, 2000000);
	progress_end(&p);
	progress_end(&p); /* once */
}

static void progress_is_shown_on_terminals_after_a_second(void)
{
	char text[512];
	struct progress p;

	progress_start(&p, "x", 1);
	CHECK(p.on == (isatty(STDERR_FILENO) != 0));
	if (access("/dev/ptmx", R_OK | W_OK) != 0)
		return; /* no terminals here */
	on_terminal(show_early, text, sizeof(text));
	CHECK_STR(text, ".");
	on_terminal(show_half, text, sizeof(text));
	CHECK(strstr(text, "\rreading t: 2 MB, ") && strstr(text, " MB/s, 50 %, "));
	CHECK(strstr(text, " s to go\033[K."));
	on_terminal(show_rest, text, sizeof(text));
	CHECK(strstr(text, " 75 %, ") && !strstr(text, " 0 s to go"));
	CHECK(strstr(text, " 1 s to go\033[K."));
	on_terminal(show_events, text, sizeof(text));
	CHECK(strstr(text, "\rreading t: 1,234,567 events\033[K\rreading t: 0 events, 100 %, "
			   "sorting\033[K\r\033[K."));
	on_terminal(show_all, text, sizeof(text));
	CHECK(strstr(text, " MB/s, 100 %\033[K\r\033[K."));
}

int main(void)
{
	RUN(counts_have_commas_and_eight_are_valid_at_a_time);
	RUN(sizes_have_the_unit_that_fits);
	RUN(percents_of_nothing_are_zero);
	RUN(durations_and_shares_are_never_rounded_to_nothing);
	RUN(paths_lose_what_means_nothing);
	RUN(a_mistyped_word_means_the_nearest_one);
	RUN(words_of_forty_letters_are_compared_and_longer_ones_are_not);
	RUN(the_first_of_equally_near_words_is_meant);
	RUN(buffers_keep_their_bytes_while_they_grow);
	RUN(a_buffer_that_cannot_grow_stays_as_it_is);
	RUN(invalid_utf_8_skips_only_what_cannot_start_a_character);
	RUN(values_have_tags_and_the_shortest_length);
	RUN(strings_become_valid_and_bytes_stay);
	RUN(a_long_message_has_a_longer_length);
	RUN(messages_are_nested_eight_deep_at_most);
	RUN(cells_are_quoted_where_they_must_be);
	RUN(numbers_in_cells_are_exact);
	RUN(a_library_is_loaded_or_its_package_is_named);
	RUN(progress_is_shown_on_terminals_after_a_second);
	return 0;
}
