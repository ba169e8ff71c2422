/* SPDX-License-Identifier: MIT */
/* test_sim_config.c - machines from the command line and from JSON: what is read, what is refused.
 */
#include <errno.h>
#include <unistd.h>

#include "check.h"
#include "memory/sim/config.h"

static struct err err;

static struct sim_config machine_of(const char *level)
{
	struct sim_config c = { .page = 4096 };

	memset(&err, 0, sizeof(err));
	if (sim_config_level_text(&c, level, &err) < 0)
		c.nr_levels = 0;
	sim_config_finish(&c);
	return c;
}

static void a_level_has_defaults_and_words(void)
{
	struct sim_config c = machine_of("32K,8");

	CHECK_EQ(c.nr_levels, 1);
	CHECK_STR(c.level[0].name, "L1");
	CHECK(c.level[0].size == 32768 && c.level[0].ways == 8 && c.level[0].line == 64);
	CHECK(c.level[0].policy == SIM_LRU && c.level[0].share == 1);
	CHECK(!c.level[0].write_through && !c.level[0].no_allocate);
	c = machine_of("data=1M,full,128,fifo,write-through,no-allocate,tagged,share=4");
	CHECK_STR(c.level[0].name, "data");
	CHECK(c.level[0].size == 1 << 20 && !c.level[0].ways && c.level[0].line == 128);
	CHECK(c.level[0].policy == SIM_FIFO && c.level[0].share == 4);
	CHECK(c.level[0].write_through && c.level[0].no_allocate);
	CHECK_EQ(c.level[0].prefetch, SIM_PREFETCH_TAGGED);
	c = machine_of("1M,4,64,write-through,write-back,share=all,inclusive");
	CHECK(!c.level[0].write_through && !c.level[0].share);
	CHECK_EQ(c.level[0].inclusion, SIM_INCLUSIVE);
}

static void a_level_that_is_not_understood_is_not_added(void)
{
	static const char *const texts[] = {
		"",        "32K",         "K,8",           "32K,x",
		"32K,8,y", "32K,8,64,no", "32Q,8",         "32K,8,64,share=x",
		"-1,8",    "32KK,8",      "32K,4294967296"
	};
	char longest[300];
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		CHECK_EQ(machine_of(texts[i]).nr_levels, 0);
		CHECK(err.code == -EINVAL && strstr(err.text, "is not understood"));
	}
	memset(longest, 'x', sizeof(longest));
	longest[255] = '\0';
	CHECK_EQ(machine_of(longest).nr_levels, 0);
	CHECK(!strstr(err.text, "is too long"));
	longest[255] = 'x';
	longest[256] = '\0';
	CHECK_EQ(machine_of(longest).nr_levels, 0);
	CHECK(strstr(err.text, "is too long"));
}

static void sizes_have_units_and_do_not_overflow(void)
{
	uint64_t n;

	CHECK(sim_size_of("17", &n) && n == 17);
	CHECK(sim_size_of("2k", &n) && n == 2048);
	CHECK(sim_size_of("3M", &n) && n == 3 << 20);
	CHECK(sim_size_of("4G", &n) && n == UINT64_C(4) << 30);
	CHECK(sim_size_of("17179869183G", &n));
	CHECK(!sim_size_of("17179869184G", &n));
	CHECK(!sim_size_of("18446744073709551616", &n));
	CHECK(!sim_size_of("", &n) && !sim_size_of("K", &n) && !sim_size_of("1T", &n));
}

static void the_last_of_several_levels_is_shared(void)
{
	struct sim_config c = { .page = 4096 };
	unsigned i;

	for (i = 0; i < SIM_LEVELS_MAX; i++)
		CHECK_EQ(sim_config_level_text(&c, "32K,8", &err), 0);
	CHECK_EQ(sim_config_level_text(&c, "32K,8", &err), -EINVAL);
	CHECK_STR(c.level[5].name, "L6");
	sim_config_finish(&c);
	CHECK(c.level[0].share == 1 && c.level[4].share == 1 && c.level[5].share == 0);
	CHECK_EQ(sim_config_check(&c, &err), 0);
}

static void a_tlb_has_entries_and_ways(void)
{
	struct sim_config c;

	sim_config_default(&c);
	memset(&c.tlb, 0xff, sizeof(c.tlb)); /* of a machine before */
	CHECK_EQ(sim_config_tlb_text(&c, "64,4", &err), 0);
	CHECK_EQ(sim_config_tlb_text(&c, "second=512", &err), 0);
	CHECK_EQ(sim_config_tlb_text(&c, "16,full", &err), 0);
	CHECK_EQ(sim_config_tlb_text(&c, "16", &err), -EINVAL); /* the fourth */
	CHECK_EQ(c.nr_tlbs, 3);
	CHECK(c.tlb[0].entries == 64 && c.tlb[0].ways == 4);
	CHECK_STR(c.tlb[0].name, "TLB1");
	CHECK(c.tlb[1].entries == 512 && !c.tlb[1].ways);
	CHECK_STR(c.tlb[1].name, "second");
	CHECK(c.tlb[2].entries == 16 && !c.tlb[2].ways);
	CHECK_EQ(sim_config_check(&c, &err), 0);
	c.nr_tlbs = 0;
	CHECK_EQ(sim_config_tlb_text(&c, "64,4,2", &err), -EINVAL);
	CHECK_EQ(sim_config_tlb_text(&c, "x", &err), -EINVAL);
	CHECK_EQ(c.nr_tlbs, 0);
}

/* A limit itself is possible, the next value is not. */
static void machines_are_possible_up_to_their_limits(void)
{
	static const struct {
		const char *level;
		bool is_possible;
	} cases[] = {
		{ "64,1", true },
		{ "32,1,64", false },
		{ "32,1,32", true },
		{ "16,1,16", false },
		{ "4096,1,4096", true },
		{ "8192,1,8192", false },
		{ "96,1,32", true },
		{ "100,1,32", false },
		{ "16G,16", true },
		{ "17G,16", false },
		{ "4096,64", true },
		{ "2048,64", false },
		{ "8192,128", true },
		{ "16384,128", false },
		{ "192,2", false },
		{ "512,8,64,plru", true },
		{ "384,6,64,plru", false },
		{ "8192,128,64,plru", false },
		{ "32K,8,64,inclusive", false },
		{ "32K,8,48", false },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sim_config c = machine_of(cases[i].level);

		CHECK_EQ(c.nr_levels, 1);
		if ((sim_config_check(&c, &err) == 0) != cases[i].is_possible) {
			fprintf(stderr, "%s: %s\n", cases[i].level, err.text);
			exit(1);
		}
	}
}

static int check_two(const char *first, const char *second, uint32_t cores)
{
	struct sim_config c = { .page = 4096, .cores = cores };

	CHECK_EQ(sim_config_level_text(&c, first, &err), 0);
	CHECK_EQ(sim_config_level_text(&c, second, &err), 0);
	sim_config_finish(&c);
	return sim_config_check(&c, &err);
}

static void levels_have_to_fit_together(void)
{
	CHECK_EQ(check_two("32K,8", "256K,8", 0), 0);
	CHECK_EQ(check_two("32K,8,128", "256K,8,64", 0), -EINVAL);
	CHECK_EQ(check_two("32K,8,64,share=all", "256K,8,64,share=2", 0), -EINVAL);
	CHECK_EQ(check_two("32K,8,64,share=2", "256K,8,64,share=3", 0), -EINVAL);
	CHECK_EQ(check_two("32K,8,64,share=2", "256K,8,64,share=4", 0), 0);
	CHECK_EQ(check_two("32K,8", "256K,8,64,exclusive", 0), 0);
	CHECK_EQ(check_two("32K,8", "256K,8,128,exclusive", 0), -EINVAL);
	CHECK_EQ(check_two("32K,8", "256K,8,64,exclusive,next-line", 0), -EINVAL);
	CHECK_EQ(check_two("32K,8,64,write-through", "256K,8,64,exclusive", 0), -EINVAL);
	CHECK_EQ(check_two("32K,8,64,no-allocate", "256K,8,64,exclusive", 0), -EINVAL);
	/* Coherence works line by line: longer lines have to be shared, or there is one core. */
	CHECK_EQ(check_two("32K,8", "256K,8,128", 0), 0);
	CHECK_EQ(check_two("32K,8", "256K,8,128,share=2", 0), -EINVAL);
	CHECK_EQ(check_two("32K,8", "256K,8,128,share=2", 1), 0);
}

static int parse_json(struct sim_config *c, const char *text)
{
	sim_config_default(c);
	memset(&err, 0, sizeof(err));
	return sim_config_parse(c, text, strlen(text), "m.json", &err);
}

static void a_machine_is_read_from_json(void)
{
	struct sim_config c;

	CHECK_EQ(parse_json(&c,
			    "{\"levels\": [{\"size\": \"16K\", \"ways\": \"full\", \"line\": 32,"
			    "\"name\": \"D\", \"allocate\": false, \"share\": \"all\"}],"
			    "\"tlb\": [{\"entries\": 64, \"ways\": 4}, {\"entries\": 8,"
			    "\"ways\": \"full\", \"name\": \"T\"}],"
			    "\"page\": \"2M\", \"cores\": 3, \"seed\": 9}"),
		 0);
	CHECK_EQ(c.nr_levels, 1);
	CHECK_STR(c.level[0].name, "D");
	CHECK(c.level[0].size == 16384 && !c.level[0].ways && c.level[0].line == 32);
	CHECK(c.level[0].no_allocate && !c.level[0].share);
	CHECK(c.nr_tlbs == 2 && c.tlb[0].entries == 64 && c.tlb[0].ways == 4);
	CHECK_STR(c.tlb[0].name, "TLB1");
	CHECK_STR(c.tlb[1].name, "T");
	CHECK(c.page == 2 << 20 && c.cores == 3 && c.seed == 9);
}

#define LEVELS "\"levels\": [{\"size\": 1024, \"ways\": 2}],"

static void a_wrong_key_is_named(void)
{
	static const char *const cases[][2] = {
		{ "{\"levels\": [{\"size\": 1024}]}", "levels[0].ways" },
		{ "{\"levels\": [{\"ways\": 2}]}", "levels[0].size" },
		{ "{\"levels\": [{\"size\": 1024, \"ways\": 2, \"wys\": 1}]}", "levels[0].wys" },
		{ "{" LEVELS "\"tlb\": [{\"entries\": 4}, {\"ways\": 1}]}", "tlb[1].entries" },
		{ "{" LEVELS "\"tlb\": [{\"entries\": 4, \"size\": 1}]}", "tlb[0].size" },
		{ "{" LEVELS "\"tlb\": 3}", "tlb" },
		{ "{" LEVELS "\"tlb\": [{\"entries\": 1}, {\"entries\": 1}, {\"entries\": 1},"
		  "{\"entries\": 1}]}",
		  "tlb" },
		{ "{" LEVELS "\"cores\": -1}", "cores" },
		{ "{" LEVELS "\"page\": []}", "page" },
		{ "{" LEVELS "\"colour\": 1}", "colour" },
	};
	struct sim_config c;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_EQ(parse_json(&c, cases[i][0]), -EINVAL);
		CHECK(strstr(err.text, "m.json"));
		CHECK(strstr(err.text, cases[i][1]));
	}
}

static void the_keys_of_a_part_are_in_the_hint(void)
{
	struct sim_config c;

	CHECK_EQ(parse_json(&c, "{" LEVELS "\"tlb\": [{\"entries\": 4, \"size\": 1}]}"), -EINVAL);
	CHECK_STR(err.hint, "a TLB has name, entries, ways");
	CHECK_EQ(parse_json(&c, "{\"levels\": [{\"size\": 1024, \"ways\": 2, \"wys\": 1}]}"),
		 -EINVAL);
	CHECK(strstr(err.hint, "a level has "));
	CHECK_EQ(parse_json(&c, "[1]"), -EINVAL);
	CHECK(strstr(err.hint, "mem sim --show"));
}

static int read_file(struct sim_config *c, const char *text, size_t size)
{
	char path[] = "/tmp/test_sim_config.XXXXXX";
	int fd = mkstemp(path), ret;

	CHECK(fd >= 0 && write(fd, text, size) == (ssize_t)size);
	close(fd);
	sim_config_default(c);
	memset(&err, 0, sizeof(err));
	ret = sim_config_read(c, path, &err);
	unlink(path);
	return ret;
}

static void a_file_is_read_or_the_fault_is_returned(void)
{
	static const char text[] = "{" LEVELS "\"cores\": 3}";
	static char large[(1 << 20) + 2];
	struct sim_config c;

	CHECK_EQ(read_file(&c, text, sizeof(text) - 1), 0);
	CHECK(c.nr_levels == 1 && c.level[0].size == 1024 && c.cores == 3);
	CHECK_EQ(read_file(&c, text, sizeof(text) - 2), -EINVAL);
	memset(large, ' ', sizeof(large));
	CHECK_EQ(read_file(&c, large, sizeof(large)), -EFBIG);
	CHECK(strstr(err.text, "too large"));
	CHECK_EQ(sim_config_read(&c, "/nowhere/machine.json", &err), -ENOENT);
	CHECK(strstr(err.text, "cannot open '/nowhere/machine.json'"));
	CHECK_EQ(sim_config_read(&c, "/", &err), -EISDIR);
	CHECK(strstr(err.text, "cannot read '/'"));
}

int main(void)
{
	RUN(a_level_has_defaults_and_words);
	RUN(a_level_that_is_not_understood_is_not_added);
	RUN(sizes_have_units_and_do_not_overflow);
	RUN(the_last_of_several_levels_is_shared);
	RUN(a_tlb_has_entries_and_ways);
	RUN(machines_are_possible_up_to_their_limits);
	RUN(levels_have_to_fit_together);
	RUN(a_machine_is_read_from_json);
	RUN(a_wrong_key_is_named);
	RUN(the_keys_of_a_part_are_in_the_hint);
	RUN(a_file_is_read_or_the_fault_is_returned);
	return 0;
}
