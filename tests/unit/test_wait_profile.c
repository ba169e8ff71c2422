/* SPDX-License-Identifier: MIT */
/*
 * test_wait_profile.c - stacks of tasks are added up over looks, and written as a table, as folded
 * stacks, for speedscope and for pprof.
 */
#include "inspect/wait_profile.h"

#include <inttypes.h>

#include "base/printer.h"
#include "base/proto.h"
#include "check.h"
#include "golden.h"
#include "inspect/profile_files.h"

static const struct inspect_place root = { .function = "root",
					   .file = "a.c",
					   .line = 1,
					   .is_exact = true },
				  leaf = { .function = "le;af\n",
					   .file = "b.c",
					   .line = 22,
					   .is_exact = true,
					   .awaits = "Timer" },
				  other = { .function = "other", .file = "c.c", .line = 3 },
				  unknown = { .is_initial = true };

/* ---- sums ------------------------------------------------------------------------------ */

/* One look: three wait in leaf <- root, one runs in other, two have not started. */
static void profile_look(struct wait_profile *p, uint64_t waiting)
{
	uint32_t outer = wait_profile_level(p, 0, wait_profile_place(p, &root));
	uint32_t inner = wait_profile_level(p, outer, wait_profile_place(p, &leaf));
	uint32_t single = wait_profile_level(p, 0, wait_profile_place(p, &other));
	uint32_t start = wait_profile_level(p, 0, wait_profile_place(p, &unknown));

	CHECK(outer && inner && single && start);
	CHECK_EQ(wait_profile_add(p, single, PROFILE_RUNNING, 1), 0);
	CHECK_EQ(wait_profile_add(p, inner, PROFILE_WAITING, 1), 0);
	CHECK_EQ(wait_profile_add(p, inner, PROFILE_WAITING, waiting - 1), 0);
	CHECK_EQ(wait_profile_add(p, start, PROFILE_READY, 2), 0);
	CHECK_EQ(wait_profile_add(p, outer, PROFILE_WAITING, 0), 0);
}

static void bed_fill(struct wait_profile *p)
{
	*p = (struct wait_profile){ .period_ns = 10000000,
				    .look_ns = 9000000,
				    .look_max_ns = 5000000,
				    .look_cpu_ns = 3000000 };
	profile_look(p, 3);
	wait_profile_end_look(p);
	profile_look(p, 5);
	wait_profile_end_look(p);
	profile_look(p, 100);
	wait_profile_drop_look(p);
}

static void looks_are_added_up(void)
{
	struct wait_profile p;

	bed_fill(&p);
	CHECK_EQ(p.looks, 2);
	CHECK_EQ(p.nr_places, 4);
	CHECK_EQ(p.nr_levels, 4);
	CHECK_EQ(p.nr_stacks, 4);
	CHECK_EQ(p.samples[PROFILE_WAITING], 8);
	CHECK_EQ(p.samples[PROFILE_READY], 4);
	CHECK_EQ(p.samples[PROFILE_RUNNING], 2);
	CHECK_EQ(wait_profile_samples(&p), 14);
	CHECK(wait_profile_seconds(&p, 150) == 1.5);
	wait_profile_sort(&p);
	CHECK_EQ(p.nr_stacks, 3); /* one had no tasks */
	CHECK_EQ(p.stacks[0].samples, 8);
	CHECK_EQ(p.stacks[0].most, 5);
	CHECK_EQ(p.stacks[1].samples, 4);
	CHECK_EQ(p.stacks[2].samples, 2);
	CHECK_EQ(wait_profile_level_at(&p, p.stacks[0].level)->depth, 2);
	CHECK_STR(wait_profile_place_at(&p, p.stacks[0].level)->function, "le;af\n");
	CHECK_STR(wait_profile_place_at(&p, p.stacks[1].level)->function, "?");
	wait_profile_release(&p);
	CHECK_EQ(p.nr_places, 0);
}

static void places_that_differ_in_one_fact_are_two(void)
{
	struct inspect_place variants[7];
	struct wait_profile p = { 0 };
	uint32_t i;

	for (i = 0; i < 7; i++)
		variants[i] = leaf;
	variants[1].function = "x";
	variants[2].file = "x";
	variants[3].awaits = NULL;
	variants[4].line++;
	variants[5].is_exact = false;
	variants[6].is_initial = true;
	for (i = 0; i < 7; i++)
		CHECK_EQ(wait_profile_place(&p, &variants[i]), i + 1);
	for (i = 0; i < 7; i++)
		CHECK_EQ(wait_profile_place(&p, &variants[i]), i + 1);
	CHECK_EQ(wait_profile_level(&p, 0, 0), 0); /* no place */
	CHECK(wait_profile_add(&p, 0, PROFILE_READY, 1) < 0);
	wait_profile_release(&p);
}

static void equal_stacks_are_in_the_order_of_their_first_look(void)
{
	struct wait_profile p = { 0 };
	uint32_t place, level, i;
	char name[16];

	for (i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		place = wait_profile_place(&p, &(struct inspect_place){ .function = name });
		level = wait_profile_level(&p, 0, place);
		CHECK_EQ(level, i + 1);
		CHECK_EQ(wait_profile_add(&p, level, PROFILE_RUNNING, 1), 0);
		CHECK_EQ(wait_profile_add(&p, level, PROFILE_WAITING, 1), 0);
	}
	wait_profile_end_look(&p);
	wait_profile_sort(&p);
	CHECK_EQ(p.nr_stacks, 400);
	for (i = 0; i < 400; i++) {
		CHECK_EQ(p.stacks[i].level, i / 2 + 1);
		CHECK_EQ(p.stacks[i].state, i % 2 ? PROFILE_RUNNING : PROFILE_WAITING);
	}
	wait_profile_release(&p);
}

/* ---- files -------------------------------------------------------------------------------- */

static char *text_of(const struct profile_run *run, int form, size_t most)
{
	struct printer p;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	CHECK(f != NULL);
	if (form < 2) {
		printer_begin(&p, f, form == 1);
		profile_print(run, &p, most);
		CHECK_EQ(printer_end(&p), 0);
	} else if (form == 2) {
		CHECK_EQ(profile_write_folded(run, f), 0);
	} else {
		CHECK_EQ(profile_write_speedscope(run, f), 0);
	}
	fclose(f);
	return text;
}

/* Fields of a message, a line each; those of a message are indented. Field 6 has texts. */
static void dump_message(FILE *out, const unsigned char *at, size_t size, unsigned depth)
{
	const unsigned char *end = at + size;

	while (at < end) {
		uint64_t value[2] = { 0, 0 };
		int i;

		for (i = 0; i < 2; i++) {
			unsigned shift = 0;

			do
				value[i] |= (uint64_t)(*at & 0x7f) << shift;
			while (shift += 7, *at++ & 0x80);
		}
		fprintf(out, "%*s%" PRIu64 ": ", (int)depth, "", value[0] >> 3);
		if ((value[0] & 7) == 0) {
			fprintf(out, "%" PRIu64 "\n", value[1]);
		} else if (!depth && value[0] >> 3 == 6) {
			fprintf(out, "'%.*s'\n", (int)value[1], (const char *)at);
			at += value[1];
		} else {
			fputc('\n', out);
			dump_message(out, at, (size_t)value[1], depth + 1);
			at += value[1];
		}
	}
}

static char *pprof_of(const struct profile_run *run)
{
	struct proto out = { 0 };
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	profile_write_pprof(run, &out);
	CHECK_EQ(out.error, 0);
	dump_message(f, out.buf, out.used, 0);
	fclose(f);
	proto_release(&out);
	return text;
}

static void files_are_as_before(void)
{
	static const char *const names[] = { "text", "json", "folded", "speedscope" };
	struct wait_profile p;
	struct profile_run run = { .profile = &p,
				   .pid = 12,
				   .name = "program",
				   .ended_by = "signal",
				   .problem = "Something is missing.",
				   .elapsed_ns = 20000000,
				   .stopped_ns = 1234000,
				   .start_ns = 1600000000000000000 };
	char path[64], *text;
	int form;

	bed_fill(&p);
	wait_profile_sort(&p);
	p.losses = (struct profile_losses){ 1, 2, 3, 4, 5, 6, 7 };
	for (form = 0; form < 4; form++) {
		snprintf(path, sizeof(path), "profile/%s", names[form]);
		text = text_of(&run, form, 2);
		golden_check(path, text);
		free(text);
	}
	text = pprof_of(&run);
	golden_check("profile/pprof", text);
	free(text);
	wait_profile_release(&p);
}

static void only_states_that_there_were_are_told(void)
{
	static const struct {
		uint64_t samples[PROFILE_STATES];
		const char *words;
	} cases[] = {
		{ { 2, 0, 0 }, "2.0 tasks on average: 2.0 waiting\n" },
		{ { 0, 2, 0 }, "2.0 tasks on average: 2.0 ready\n" },
		{ { 0, 1, 2 }, "3.0 tasks on average: 1.0 ready, 2.0 running\n" },
		{ { 1, 0, 2 }, "3.0 tasks on average: 1.0 waiting, 2.0 running\n" },
		{ { 0, 0, 0 }, "0.0 tasks on average\n" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wait_profile p = { .period_ns = 1, .looks = 1 };
		struct profile_run run = { .profile = &p, .name = "p", .has_stacks = true };
		char *text;

		memcpy(p.samples, cases[i].samples, sizeof(p.samples));
		p.losses.threads = 2;
		text = text_of(&run, 0, 0);
		CHECK(strstr(text, cases[i].words) != NULL);
		CHECK(strstr(text, "2 times the stack of a thread was not known\n") != NULL);
		free(text);
	}
}

static void a_deep_stack_is_cut_in_the_text(void)
{
	struct wait_profile p = { .period_ns = 1000000 };
	struct profile_run run = { .profile = &p, .name = "p" };
	uint32_t level = 0, i;
	char *text;

	for (i = 0; i < 50; i++)
		level = wait_profile_level(&p, level, wait_profile_place(&p, &other));
	CHECK_EQ(wait_profile_add(&p, level, PROFILE_WAITING, 1), 0);
	wait_profile_end_look(&p);
	text = text_of(&run, 0, 0);
	CHECK(!strstr(text, "more levels"));
	free(text);
	level = wait_profile_level(&p, level, wait_profile_place(&p, &root));
	level = wait_profile_level(&p, level, wait_profile_place(&p, &root));
	CHECK_EQ(wait_profile_add(&p, level, PROFILE_WAITING, 1), 0);
	wait_profile_end_look(&p);
	text = text_of(&run, 0, 0);
	CHECK(strstr(text, "and 2 more levels") != NULL);
	free(text);
	wait_profile_release(&p);
}

int main(void)
{
	RUN(looks_are_added_up);
	RUN(places_that_differ_in_one_fact_are_two);
	RUN(equal_stacks_are_in_the_order_of_their_first_look);
	RUN(files_are_as_before);
	RUN(only_states_that_there_were_are_told);
	RUN(a_deep_stack_is_cut_in_the_text);
	return 0;
}
