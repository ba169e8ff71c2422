/* SPDX-License-Identifier: MIT */
/* test_rt_options.c - CACHERAY_OPTIONS: what is accepted, what is refused and with which message.
 */
#include "check.h"
#include "options.h"
#include "sys.h"

#include <fcntl.h>
#include <unistd.h>

static struct crt_options o;
static char said[4096];

/* Read @text; what it prints is in said. */
static bool reads(const char *text)
{
	int up[2], before = dup(2);
	ssize_t got;
	bool ok;

	CHECK_EQ(pipe2(up, O_NONBLOCK), 0);
	dup2(up[1], 2);
	ok = crt_options_read(&o, text);
	dup2(before, 2);
	got = read(up[0], said, sizeof(said) - 1);
	said[got > 0 ? got : 0] = '\0';
	close(before);
	close(up[0]);
	close(up[1]);
	return ok;
}

static void check_refused(const char *text, const char *words)
{
	char expected[1400];

	CHECK(!reads(text));
	snprintf(expected, sizeof(expected), "cacheray[%d]: CACHERAY_OPTIONS: %s; not tracing\n",
		 (int)getpid(), words);
	CHECK_STR(said, expected);
}

static void accepts(const char *text)
{
	if (!reads(text))
		fprintf(stderr, "%s: %s", text, said);
	CHECK(reads(text));
	CHECK_STR(said, "");
}

static void check_defaults(void)
{
	CHECK_STR(o.tracefile, "cacheray.trace");
	CHECK(o.enabled && o.start && o.heap);
	CHECK(!o.control && !o.drop && !o.stacks);
	CHECK_EQ(o.level, 1);
	CHECK_EQ(o.max_size + o.ring_size + o.burst + o.period + o.on_ms + o.every_ms + o.lines, 0);
	CHECK_EQ(o.buffer, 4 << 20);
	CHECK_EQ(o.nr_regions, 0);
}

static void without_options_there_are_defaults(void)
{
	CHECK(reads(NULL));
	check_defaults();
	CHECK(reads(""));
	check_defaults();
	accepts(":::");
	check_defaults();
}

static void options_are_separated_by_colons(void)
{
	accepts("tracefile=/tmp/x:enabled=0::start=no:heap=off:stacks=1:control=yes:onfull=drop:");
	CHECK_STR(o.tracefile, "/tmp/x");
	CHECK(!o.enabled && !o.start && !o.heap && o.stacks && o.control && o.drop);
	accepts("onfull=drop:onfull=block"); /* the last one counts */
	CHECK(!o.drop);
	check_refused("tracefile", "'tracefile' has no '='");
	check_refused("heap=1:wobble", "'wobble' has no '='");
	check_refused(
		"wobble=1",
		"'wobble=1' should be one of tracefile, enabled, start, heap, stacks, control, "
		"onfull, maxsize, ring, sample, burst, region, buffer, level");
	check_refused("onfull=wait", "'onfull=wait' should be block or drop");
	check_refused("heap=", "'heap=' should be 0 or 1");
	check_refused("start=", "'start=' should be 0 or 1");
	check_refused("enabled=", "'enabled=' should be 0 or 1");
	check_refused("stacks=", "'stacks=' should be 0 or 1");
	check_refused("control=", "'control=' should be 0 or 1");
}

static void sizes_have_a_unit(void)
{
	static const struct {
		const char *text;
		uint64_t size; /* UINT64_MAX: refused */
	} sizes[] = {
		{ "0", 0 },
		{ "4096", 4096 },
		{ "64K", 64 << 10 },
		{ "64k", 64 << 10 },
		{ "500M", UINT64_C(500) << 20 },
		{ "2g", UINT64_C(2) << 30 },
		{ "1T", UINT64_C(1) << 40 },
		{ "16777215T", UINT64_C(16777215) << 40 },
		{ "16777216T", UINT64_MAX },
		{ "1844674407370955160", UINT64_C(1844674407370955160) },
		{ "99999999999999999999", UINT64_MAX },
		{ "", UINT64_MAX },
		{ "K", UINT64_MAX },
		{ "1P", UINT64_MAX },
		{ "1KK", UINT64_MAX },
		{ "-1", UINT64_MAX },
		{ "1 ", UINT64_MAX },
		{ "/", UINT64_MAX },
		{ "1:", 1 },
		{ "00000000000000000000001", 1 },
		{ "000000000000000000000001", UINT64_MAX },
	};
	char text[100], words[200];
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		snprintf(text, sizeof(text), "maxsize=%s", sizes[i].text);
		snprintf(words, sizeof(words), "'%s' should be a size such as 500M", text);
		if (sizes[i].size == UINT64_MAX) {
			check_refused(text, words);
			continue;
		}
		accepts(text);
		CHECK_EQ(o.max_size, sizes[i].size);
	}
	accepts("ring=64M");
	CHECK_EQ(o.ring_size, 64 << 20);
	check_refused("ring=x", "'ring=x' should be a size such as 64M");
}

/* Each pair is at a bound: the first is accepted, the second is not. */
static void values_have_bounds(void)
{
	static const struct {
		const char *good, *bad, *wanted;
	} pairs[] = {
		{ "buffer=256K", "buffer=262143", "256K to 4G" },
		{ "buffer=4G", "buffer=4294967297", "256K to 4G" },
		{ "level=0", "level=-1", "0 (not compressed) to 19" },
		{ "level=19", "level=20", "0 (not compressed) to 19" },
		{ "sample=1/1", "sample=0/1",
		  "BURST/PERIOD, accesses, such as 10000/1000000, or lines/8" },
		{ "sample=5/5", "sample=6/5",
		  "BURST/PERIOD, accesses, such as 10000/1000000, or lines/8" },
		{ "sample=1/8388607", "sample=1/8388608",
		  "BURST/PERIOD, accesses, such as 10000/1000000, or lines/8" },
		{ "sample=1k/1M", "sample=1k",
		  "BURST/PERIOD, accesses, such as 10000/1000000, or lines/8" },
		{ "sample=lines/2", "sample=lines/1",
		  "BURST/PERIOD, accesses, such as 10000/1000000, or lines/8" },
		{ "sample=lines/64", "sample=lines/128",
		  "BURST/PERIOD, accesses, such as 10000/1000000, or lines/8" },
		{ "sample=lines/8", "sample=lines/6",
		  "BURST/PERIOD, accesses, such as 10000/1000000, or lines/8" },
		{ "burst=1ms/1ms", "burst=2ms/1ms", "ON/PERIOD, times such as 10ms/1s" },
		{ "burst=1s/3600s", "burst=1s/3601s", "ON/PERIOD, times such as 10ms/1s" },
		{ "burst=1ms/1s", "burst=0ms/1s", "ON/PERIOD, times such as 10ms/1s" },
		{ "burst=10ms/2s", "burst=10ms/2s ", "ON/PERIOD, times such as 10ms/1s" },
		{ "burst=10ms/2s", "burst=10ms-2s", "ON/PERIOD, times such as 10ms/1s" },
		{ "burst=10ms/2s", "burst=10m/2s", "ON/PERIOD, times such as 10ms/1s" },
		{ "burst=99ms/3600000ms", "burst=99ms/123456789ms",
		  "ON/PERIOD, times such as 10ms/1s" },
		{ "region=0-1", "region=1-1", "LO-HI in hexadecimal, up to 16, comma-separated" },
		{ "region=0xA-0xb,c-d", "region=a-b,",
		  "LO-HI in hexadecimal, up to 16, comma-separated" },
		{ "region=0-ffffffffffffffff", "region=0-10000000000000000",
		  "LO-HI in hexadecimal, up to 16, comma-separated" },
		{ "region=1-2", "region=1-2;3-4",
		  "LO-HI in hexadecimal, up to 16, comma-separated" },
		{ "region=1-2", "region=-2", "LO-HI in hexadecimal, up to 16, comma-separated" },
		{ "region=1-2", "region=1-g", "LO-HI in hexadecimal, up to 16, comma-separated" },
		{ "tracefile=x", "tracefile=", "a path of 1 to 1023 bytes" },
	};
	char words[300];
	size_t i;

	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		accepts(pairs[i].good);
		snprintf(words, sizeof(words), "'%s' should be %s", pairs[i].bad, pairs[i].wanted);
		check_refused(pairs[i].bad, words);
	}
}

static void values_are_taken(void)
{
	accepts("sample=1k/1M");
	CHECK(o.burst == 1024 && o.period == 1 << 20 && o.lines == 0);
	accepts("sample=1k/1M:sample=lines/8"); /* the last one counts */
	CHECK(o.burst == 0 && o.period == 0 && o.lines == 8);
	accepts("sample=lines/8:sample=2/4");
	CHECK(o.burst == 2 && o.period == 4 && o.lines == 0);
	accepts("burst=10ms/2s");
	CHECK(o.on_ms == 10 && o.every_ms == 2000);
	accepts("buffer=1M:level=7");
	CHECK(o.buffer == 1 << 20 && o.level == 7);
	accepts("region=0xA0-0xb0,C-D");
	CHECK_EQ(o.nr_regions, 2);
	CHECK(o.regions[0].from == 0xa0 && o.regions[0].to == 0xb0);
	CHECK(o.regions[1].from == 0xc && o.regions[1].to == 0xd);
	check_refused("burst=1ms/1s:sample=1/2", "burst and sample exclude each other");
	check_refused("sample=lines/2:burst=1ms/1s", "burst and sample exclude each other");
}

static void there_are_at_most_sixteen_regions(void)
{
	char text[400] = "region=";
	unsigned i;

	for (i = 0; i < CRT_REGIONS_MAX; i++)
		snprintf(text + strlen(text), 20, "%s%x-%x", i ? "," : "", 2 * i, 2 * i + 1);
	accepts(text);
	CHECK_EQ(o.nr_regions, 16);
	CHECK_EQ(o.regions[15].to, 31);
	strcat(text, ",40-41");
	CHECK(!reads(text));
}

static void a_path_has_a_limit(void)
{
	char text[1200] = "tracefile=", out[64];

	memset(text + 10, 'x', 1023);
	accepts(text);
	CHECK_EQ(strlen(o.tracefile), 1023);
	text[10 + 1023] = 'x';
	CHECK(!reads(text));
	/* A message is one line of at most 1024 bytes. */
	CHECK_EQ(strlen(said), 1023);
	CHECK(said[1021] == 'x' && said[1022] == '\n');
	memset(text, 'x', 1088);
	text[1087] = '\0';
	CHECK(!reads(text));
	CHECK(strstr(said, "an item is too long") == NULL);
	text[1087] = 'x';
	text[1088] = '\0';
	check_refused(text, "an item is too long");
	/* The name of the file is cut nowhere. */
	accepts("tracefile=123456");
	CHECK(crt_options_path(&o, 1, false, out, 8));
	CHECK_STR(out, "123456");
	CHECK(!crt_options_path(&o, 1, false, out, 6));
}

static void the_path_may_have_the_pid(void)
{
	static const struct {
		const char *tracefile;
		bool child;
		const char *path;
	} paths[] = {
		{ "a", false, "a" },        { "a", true, "a.123" },
		{ "a.%p", false, "a.123" }, { "a.%p", true, "a.123" },
		{ "%p%p", true, "123123" }, { "100%%", true, "100%.123" },
		{ "%%p", false, "%p" },     { "%%p", true, "%p.123" },
		{ "%q%", false, "%q%" },
	};
	char text[64], out[64];
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		snprintf(text, sizeof(text), "tracefile=%s", paths[i].tracefile);
		accepts(text);
		CHECK(crt_options_path(&o, 123, paths[i].child, out, sizeof(out)));
		CHECK_STR(out, paths[i].path);
	}
}

int main(void)
{
	RUN(without_options_there_are_defaults);
	RUN(options_are_separated_by_colons);
	RUN(sizes_have_a_unit);
	RUN(values_have_bounds);
	RUN(values_are_taken);
	RUN(there_are_at_most_sixteen_regions);
	RUN(a_path_has_a_limit);
	RUN(the_path_may_have_the_pid);
	return 0;
}
