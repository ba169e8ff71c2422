/* SPDX-License-Identifier: MIT */
/*
 * test_ship_summary.c - what a run says about the trace that it shipped;
 * fixtures/golden/ship_summary.txt has the lines.
 */
#include <unistd.h>

#include "check.h"
#include "golden.h"
#include "run_shipper.h"

void ship_options_hint(const char *receiver, const char *trace)
{
	fprintf(stderr, "(hint for %s and %s)\n", receiver, trace);
}

static struct shipping s;

static void all_is_shipped(void)
{
	s.result.shipped = (struct ship_count){ .blocks = 1, .transitions = 1 };
}

static void several_blocks(void)
{
	s.result.shipped = (struct ship_count){ 12, 3000, 400, 50 };
}

static void a_part_is_spooled(void)
{
	several_blocks();
	s.result.spooled = (struct ship_count){ .blocks = 2, .transitions = 5, .others = 6 };
	s.result.is_finished = false;
}

static void one_event_is_spooled(void)
{
	s.result.spooled = (struct ship_count){ .others = 1 };
}

static void a_block_without_events_is_spooled(void)
{
	s.result.spooled = (struct ship_count){ .blocks = 1 };
}

static void blocks_are_given_up(void)
{
	s.result.given_up = (struct ship_count){ .blocks = 1, .others = 1 };
	s.nr_skipped = 1;
}

static void many_blocks_are_given_up(void)
{
	s.result.given_up = (struct ship_count){ .blocks = 20, .transitions = 10, .others = 10 };
	s.nr_skipped = 2;
}

static void a_sample_is_shipped(void)
{
	s.result.sample = 2;
	s.result.left_out = (struct ship_count){ .transitions = 1 };
	s.result.whole_coroutines = 1;
}

static void a_small_sample_is_shipped(void)
{
	s.result.sample = 100;
	s.result.left_out = (struct ship_count){ .transitions = 1, .others = 7 };
	s.result.whole_coroutines = 3;
	s.result.whole = (struct ship_count){ 1, 2, 3, 4 };
}

static void the_process_was_killed(void)
{
	s.has_result = false;
	s.result.is_finished = false;
}

static void a_flight_recorder_has_no_run(void)
{
	s.is_flight = true;
}

static void nothing_is_shipped(void)
{
	s.options.url = NULL;
}

#define STORY(name)         \
	{                   \
#name, name \
	}
static const struct {
	const char *name;
	void (*set)(void);
} stories[] = {
	STORY(all_is_shipped),
	STORY(several_blocks),
	STORY(a_part_is_spooled),
	STORY(one_event_is_spooled),
	STORY(a_block_without_events_is_spooled),
	STORY(blocks_are_given_up),
	STORY(many_blocks_are_given_up),
	STORY(a_sample_is_shipped),
	STORY(a_small_sample_is_shipped),
	STORY(the_process_was_killed),
	STORY(a_flight_recorder_has_no_run),
	STORY(nothing_is_shipped),
};

static void start_over(void)
{
	memset(&s, 0, sizeof(s));
	s.options.url = "nats://host";
	s.trace = "t.ct";
	s.has_result = true;
	s.result.is_finished = true;
	s.result.sample = 1;
	snprintf(s.receiver, sizeof(s.receiver), "nats://host:4222");
	snprintf(s.result.run, sizeof(s.result.run), "0123456789abcdef");
}

static void print_story(size_t i)
{
	struct printer p;

	start_over();
	stories[i].set();
	fprintf(stderr, "== %s\n", stories[i].name);
	shipping_text(&s, false);
	fputs("-- quiet\n", stderr);
	shipping_text(&s, true);
	printer_begin(&p, stderr, true);
	shipping_json(&p, &s);
	printer_end(&p);
}

static void each_story_has_its_lines(void)
{
	static char text[1 << 16];
	FILE *all = tmpfile();
	int before = dup(2);
	size_t i, size;

	CHECK(all != NULL);
	dup2(fileno(all), 2);
	for (i = 0; i < sizeof(stories) / sizeof(stories[0]); i++)
		print_story(i);
	fflush(stderr);
	dup2(before, 2);
	close(before);
	rewind(all);
	size = fread(text, 1, sizeof(text) - 1, all);
	CHECK(size < sizeof(text) - 1);
	fclose(all);
	golden_check("ship_summary.txt", text);
}

int main(void)
{
	RUN(each_story_has_its_lines);
	return 0;
}
