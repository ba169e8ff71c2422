/* SPDX-License-Identifier: MIT */
/* test_diff_forms.c - a comparison as text, as Markdown and as JSON for a page. */
#include <errno.h>
#include <jansson.h>

#include "analyze/diff.h"
#include "base/json_writer.h"
#include "busy_trace.h"
#include "check.h"
#include "failing_memory.h"
#include "golden.h"

#define MS UINT64_C(1000000)

static struct diff_change changes[32];
static struct diff compared;

static struct diff_change *add_change(enum diff_class class, enum diff_subject subject,
				      const char *text)
{
	struct diff_change *c = &changes[compared.nr++];

	CHECK(compared.nr <= 32);
	*c = (struct diff_change){
		.class = class, .subject = subject, .text = text, .path = "", .detector = ""
	};
	c->verdict.permille = 500;
	c->verdict.ratio = 1;
	compared.by_class[class]++;
	return c;
}

static void begin_comparison(void)
{
	compared = (struct diff){ .changes = changes, .compared = 14 };
	compared.base.nr_runs = 3;
	compared.head.nr_runs = 1;
}

static const char *const base_names[] = { "a.jsonl", "b\033.jsonl", NULL }, *const head_names[] = {
	"c.jsonl", NULL
};
static const char *const no_notes[] = { NULL }, *const notes[] = { "one *run* only", NULL };

static char *form_as(int (*form)(const struct diff *, const struct diff_form *, FILE *),
		     const char *const *note, bool all, bool color)
{
	const struct diff_form how = { base_names, head_names, note, color, all };
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	CHECK(out);
	CHECK_EQ(form(&compared, &how, out), 0);
	fclose(out);
	return text;
}

static void check_form(int (*form)(const struct diff *, const struct diff_form *, FILE *),
		       const char *const *note, const char *expected)
{
	char *text = form_as(form, note, false, false);

	CHECK_STR(text, expected);
	free(text);
}

static void nothing_differs(void)
{
	begin_comparison();
	check_form(diff_text, no_notes,
		   "base  a.jsonl b\\x1b.jsonl\nhead  c.jsonl\nno difference beyond noise; 14 "
		   "sites compared\n");
	check_form(diff_markdown, no_notes,
		   "### Coroutines: no difference beyond noise; 14 sites compared\n\n3 base runs, "
		   "1 head run.\n");
	check_form(diff_markdown, notes,
		   "### Coroutines: no difference beyond noise; 14 sites compared\n\n3 base runs, "
		   "1 head run.\n\n> one &#42;run&#42; only\n");
}

static void every_kind_of_change_is_described(void)
{
	struct diff_change *c;

	begin_comparison();
	c = add_change(DIFF_WORSE, DIFF_OF_WAIT, "a.c:1 f|g");
	c->base = (struct diff_numbers){ .count = 1000, .p50 = MS, .p90 = 2 * MS, .p99 = 3 * MS };
	c->head = (struct diff_numbers){
		.count = 990, .p50 = 3 * MS, .p90 = 4 * MS, .p99 = 5 * MS
	};
	c->verdict.ratio = 3;
	c = add_change(DIFF_WORSE, DIFF_OF_FINDING, "b.c:2 lock");
	c->detector = "deadlock";
	c->base.count = 0;
	c->head.count = 1;
	c = add_change(DIFF_BETTER, DIFF_OF_RUN, "c.c:3 run");
	c->base = (struct diff_numbers){ .count = 10, .p50 = 8 * MS, .p90 = 9 * MS, .p99 = 9 * MS };
	c->head = (struct diff_numbers){ .count = 10, .p50 = 8 * MS, .p90 = 6 * MS, .p99 = 6 * MS };
	c->verdict.ratio = 2 / 3.0;
	c->verdict.permille = 900;
	c = add_change(DIFF_BETTER, DIFF_OF_ALIVE, "worker");
	c->base.count = 5;
	c = add_change(DIFF_BETTER, DIFF_OF_FINDING, "d.c:4 poll");
	c->detector = "busy-yield";
	c->base.count = 2;
	c = add_change(DIFF_NEW, DIFF_OF_SITE, "e.c:5 new");
	c->head = (struct diff_numbers){ .count = 7, .p50 = MS };
	c = add_change(DIFF_GONE, DIFF_OF_SITE, "f.c:6 old");
	c->base = (struct diff_numbers){ .count = 8, .p50 = 2 * MS };
	check_form(diff_text, notes,
		   "base  a.jsonl b\\x1b.jsonl\nhead  c.jsonl\nnote: one *run* only\n"
		   "2 worse, 3 better, 1 new, 1 gone; 14 sites compared\n"
		   "\nWORSE   waits longer: a.c:1 f|g\n        p50 1.000 ms -> 3.000 ms (3.0 "
		   "times), p99 3.000 ms -> 5.000 ms, 1,000 -> 990 times\n"
		   "\nWORSE   new finding: b.c:2 lock\n        deadlock, in 1 of 1 runs\n"
		   "\nBETTER  runs shorter: c.c:3 run\n        p90 9.000 ms -> 6.000 ms (-33 %), "
		   "p99 9.000 ms -> 6.000 ms, 10 -> 10 times\n"
		   "\nBETTER  fewer coroutines left: worker\n        5 -> 0 per run\n"
		   "\nBETTER  finding gone: d.c:4 poll\n        busy-yield, in 2 of 3 runs\n"
		   "\nNEW     new site: e.c:5 new\n        7 waits, p50 1.000 ms\n"
		   "\nGONE    site gone: f.c:6 old\n        8 waits, p50 2.000 ms\n");
	check_form(diff_markdown, no_notes,
		   "### Coroutines: 2 worse, 3 better, 1 new, 1 gone; 14 sites compared\n\n3 base "
		   "runs, 1 head run.\n"
		   "\n| | what | where | base -> head |\n|---|---|---|---|\n"
		   "| **worse** | waits longer | a.c:1 f&#124;g | p50 1.000 ms -&#62; 3.000 ms "
		   "(3.0 times), p99 3.000 ms -&#62; 5.000 ms, 1,000 -&#62; 990 times |\n"
		   "| **worse** | new finding | b.c:2 lock | deadlock, in 1 of 1 runs |\n"
		   "| better | runs shorter | c.c:3 run | p90 9.000 ms -&#62; 6.000 ms (-33 %), "
		   "p99 9.000 ms -&#62; 6.000 ms, 10 -&#62; 10 times |\n"
		   "| better | fewer coroutines left | worker | 5 -&#62; 0 per run |\n"
		   "| better | finding gone | d.c:4 poll | busy-yield, in 2 of 3 runs |\n"
		   "| new | new site | e.c:5 new | 7 waits, p50 1.000 ms |\n"
		   "| gone | site gone | f.c:6 old | 8 waits, p50 2.000 ms |\n");
}

static size_t count_of(const char *text, const char *part)
{
	size_t nr = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		nr++;
	return nr;
}

/* Ten of each class, and how many more there are. */
static void long_lists_are_cut(void)
{
	char *text;
	unsigned i;

	begin_comparison();
	for (i = 0; i < 10; i++)
		add_change(DIFF_WORSE, DIFF_OF_ALIVE, "kind");
	for (i = 0; i < 12; i++)
		add_change(DIFF_NEW, DIFF_OF_SITE, i < 10 ? "near" : "far");
	add_change(DIFF_GONE, DIFF_OF_SITE, "last");
	text = form_as(diff_text, no_notes, false, false);
	CHECK_EQ(count_of(text, "\nWORSE "), 10);
	CHECK_EQ(count_of(text, "\nNEW "), 10);
	CHECK_EQ(count_of(text, ": far\n"), 0);
	CHECK_EQ(count_of(text, ": last\n"), 1);
	CHECK_EQ(count_of(text, "\nand "), 1);
	CHECK_EQ(count_of(text, "\nand 2 more NEW; --all shows every one\n"), 1);
	free(text);
	text = form_as(diff_markdown, no_notes, false, false);
	CHECK_EQ(count_of(text, "| near |"), 10);
	CHECK_EQ(count_of(text, "| far |"), 0);
	CHECK_EQ(count_of(text, "| last |"), 1);
	CHECK_EQ(count_of(text, "\nand "), 1);
	CHECK_EQ(count_of(text, "\nand 2 more NEW; `--all` shows every one.\n"), 1);
	free(text);
	text = form_as(diff_text, no_notes, true, true);
	CHECK_EQ(count_of(text, ": \033[1mfar\033[0m\n"), 2);
	CHECK_EQ(count_of(text, "\033[1;31mWORSE \033[0m"), 10);
	CHECK_EQ(count_of(text, "\nand "), 0);
	free(text);
}

/* ---- the page --------------------------------------------------------------------------- */

static struct histogram base_runs[3 * NR_DIFF_METRICS], head_runs[1 * NR_DIFF_METRICS],
	quiet_runs[3 * NR_DIFF_METRICS];
static struct diff_site base_site = {
	.text = "a.c:1 f", .path = "/src/a.c", .line = 1, .runs = base_runs
};
static struct diff_site head_site = { .text = "a.c:2 f", .path = "", .line = 2, .runs = head_runs };
static struct diff_site quiet_site = {
	.text = "q.c:9 q", .path = "/q.c", .line = 9, .runs = quiet_runs
};

static json_t *pairs_as_json(size_t most)
{
	struct json_writer j;
	json_t *root;

	jw_init_buffer(&j);
	jw_object_begin(&j);
	CHECK_EQ(diff_put_pairs(&j, &compared, most), 0);
	jw_object_end(&j);
	root = json_loads(jw_text(&j, NULL), 0, NULL);
	CHECK(root);
	CHECK_EQ(jw_release(&j), 0);
	return root;
}

static json_t *member(const json_t *of, const char *path)
{
	char part[64];
	json_t *at = (json_t *)of;

	while (*path) {
		size_t nr = strcspn(path, "/");

		CHECK(nr < sizeof(part));
		memcpy(part, path, nr);
		part[nr] = '\0';
		at = json_is_array(at) ? json_array_get(at, strtoul(part, NULL, 10))
				       : json_object_get(at, part);
		path += nr + (path[nr] == '/');
	}
	CHECK(at);
	return at;
}

static long long number_at(const json_t *of, const char *path)
{
	return json_integer_value(member(of, path));
}

static void fill_histogram(struct histogram *h, uint64_t value, unsigned nr)
{
	while (nr--)
		CHECK_EQ(histogram_add(h, value), 0);
}

static void sites_that_differ_come_first(void)
{
	static struct diff_pair pairs[3];
	json_t *root;

	begin_comparison();
	fill_histogram(&quiet_runs[DIFF_WAIT], MS, 100);
	fill_histogram(&base_runs[0 * NR_DIFF_METRICS + DIFF_WAIT], MS, 4);
	fill_histogram(&base_runs[2 * NR_DIFF_METRICS + DIFF_WAIT], 3 * MS, 2);
	fill_histogram(&base_runs[1 * NR_DIFF_METRICS + DIFF_RUN], MS, 1);
	fill_histogram(&head_runs[DIFF_WAIT], 8 * MS, 5);
	pairs[0] = (struct diff_pair){ .base = &quiet_site };
	pairs[0].head = &quiet_site;
	pairs[1] = (struct diff_pair){ .base = &base_site, .head = &head_site };
	pairs[1].verdicts[DIFF_WAIT] = (struct diff_verdict){ .direction = 1, .permille = 900 };
	pairs[1].verdicts[DIFF_WAIT].rank.larger = 0.75;
	pairs[2] = (struct diff_pair){ .head = &quiet_site };
	compared.pairs = pairs;
	compared.nr_pairs = 3;
	root = pairs_as_json(2);
	CHECK_EQ(json_array_size(member(root, "sites")), 2);
	CHECK_EQ(number_at(root, "sites_omitted"), 1);
	/* On one side only, with 100 values; then the other one that differs. */
	CHECK(json_is_null(member(root, "sites/0/base_place")));
	CHECK(json_is_null(member(root, "sites/0/wait/base")));
	CHECK_EQ(number_at(root, "sites/0/wait/head/count"), 100);
	CHECK_STR(json_string_value(member(root, "sites/1/base_place/text")), "a.c:1 f");
	CHECK_STR(json_string_value(member(root, "sites/1/base_place/file")), "/src/a.c");
	CHECK(json_is_null(member(root, "sites/1/head_place/file")));
	CHECK_EQ(number_at(root, "sites/1/head_place/line"), 2);
	CHECK_EQ(number_at(root, "sites/1/wait/direction"), 1);
	CHECK_EQ(number_at(root, "sites/1/wait/quantile"), 90);
	CHECK(json_real_value(member(root, "sites/1/wait/larger")) == 0.75);
	CHECK_EQ(number_at(root, "sites/1/wait/base/count"), 6);
	CHECK_EQ(number_at(root, "sites/1/wait/base/max_ns"), 3 * MS);
	CHECK_EQ(json_array_size(member(root, "sites/1/wait/base/steps")), 2);
	CHECK_EQ(number_at(root, "sites/1/wait/base/steps/0/1"), 4);
	CHECK_EQ(number_at(root, "sites/1/wait/base/steps/1/1"), 2);
	CHECK_EQ(number_at(root, "sites/1/run/base/count"), 1);
	CHECK_EQ(number_at(root, "sites/1/ready/base/count"), 0);
	CHECK_EQ(number_at(root, "sites/1/wait/head/count"), 5);
	json_decref(root);
	root = pairs_as_json(3);
	CHECK_EQ(number_at(root, "sites_omitted"), 0);
	CHECK_EQ(number_at(root, "sites/2/wait/base/count"), 100);
	json_decref(root);
}

static void kinds_that_differ_come_first(void)
{
	static struct diff_row same = { .text = "same", .detector = "", .runs = { 1, 2, 3 } },
			       more = { .text = "more", .detector = "", .runs = { 9 } };
	static struct diff_kind_pair kinds[2] = { { &same, &same, { 0 } },
						  { NULL, &more, { .direction = 1 } } };
	json_t *root;

	begin_comparison();
	compared.kinds = kinds;
	compared.nr_kinds = 2;
	root = pairs_as_json(10);
	CHECK_EQ(json_array_size(member(root, "kinds")), 2);
	CHECK_EQ(number_at(root, "kinds_omitted"), 0);
	CHECK_STR(json_string_value(member(root, "kinds/0/text")), "more");
	CHECK(json_is_false(member(root, "kinds/0/in_base")) &&
	      json_is_true(member(root, "kinds/0/in_head")));
	CHECK_EQ(number_at(root, "kinds/0/direction"), 1);
	CHECK_EQ(number_at(root, "kinds/0/base/count"), 0);
	CHECK_EQ(number_at(root, "kinds/0/head/count"), 9);
	CHECK_EQ(number_at(root, "kinds/1/base/count"), 2);
	CHECK_EQ(number_at(root, "kinds/1/base/least_run"), 1);
	CHECK_EQ(number_at(root, "kinds/1/base/greatest_run"), 3);
	json_decref(root);
	root = pairs_as_json(1);
	CHECK_EQ(json_array_size(member(root, "kinds")), 1);
	CHECK_EQ(number_at(root, "kinds_omitted"), 1);
	CHECK_STR(json_string_value(member(root, "kinds/0/text")), "more");
	json_decref(root);
}

static void release_histograms(struct histogram *h, size_t nr)
{
	while (nr--)
		histogram_release(h++);
}

/* ---- traces ---------------------------------------------------------------------------- */

static void busy_take(void *to, const struct trace_item *item)
{
	CHECK_EQ(analysis_add(to, item), 0);
}

/* Waits at site 2 take @wait_ms, at site 3 always 2 ms; @left coroutines of site 7 stay. */
static uint64_t awaited = 50; /* by coroutine 50: itself is a deadlock */

static void add_run(struct diff_profile *p, double wait_ms, double ready_ms, unsigned left,
		    bool has_new_site, bool has_deadlock)
{
	static const struct trace_stats stats;
	struct analysis *a = analysis_new(NULL);
	struct report r = { .trace = "t", .analysis = a, .stats = &stats };
	double ms = 10;
	unsigned i;

	CHECK(a != NULL);
	busy_nr = 0;
	busy_born(0, 1, 7, 1, "worker");
	for (i = 0; i < 60; i++) {
		double wait = wait_ms * (1 + i % 7 / 10.0);

		busy_waits(ms, 1, 7, i % 2 ? 3 : 2, TRACE_REASON_USER, 0);
		ms += i % 2 ? 2 : wait;
		BUSY(WAKE, ms, .probe_id = 1, .tid = 9);
		ms += i % 2 ? 0.5 : ready_ms;
		busy_runs(ms, 1, 7);
		ms += 1 + i % 3;
	}
	for (i = 0; i < left; i++) {
		busy_born(ms, 100 + i, 8, 7, NULL);
		busy_waits(ms + 0.5, 100 + i, 8, has_new_site ? 9 : 8, TRACE_REASON_SIGNAL, 0);
		ms += 1;
	}
	if (has_deadlock) {
		busy_born(ms, 50, 8, 7, "self");
		busy_waits(ms + 1, 50, 8, 10, TRACE_REASON_JOIN, awaited);
	}
	busy_ends(ms + 2, 1, 7);
	busy_put_start(busy_take, a);
	busy_put_events(busy_take, a);
	CHECK_EQ(analysis_finish(a, NULL), 0);
	CHECK_EQ(diff_profile_add(p, &r), 0);
	analysis_free(a);
}

static void check_diff(const struct diff *d, const char *name)
{
	static const char *const notes_of[] = { "a note", NULL };
	const struct diff_form form = { base_names, head_names, notes_of, false, true };
	char *text = NULL, *lines;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct json_writer j;
	json_t *root;

	CHECK(out != NULL);
	CHECK_EQ(diff_text(d, &form, out), 0);
	CHECK_EQ(diff_markdown(d, &form, out), 0);
	CHECK_EQ(diff_json(d, &form, out), 0);
	fprintf(out, "\n");
	jw_init_buffer(&j);
	jw_object_begin(&j);
	CHECK_EQ(diff_put_pairs(&j, d, 100), 0);
	jw_object_end(&j);
	root = json_loads(jw_text(&j, NULL), 0, NULL);
	CHECK(root != NULL);
	lines = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	fprintf(out, "%s\n", lines);
	free(lines);
	json_decref(root);
	jw_release(&j);
	fclose(out);
	golden_check(name, text);
	free(text);
}

static void runs_of_two_builds_are_compared(void)
{
	struct diff d = { 0 };
	unsigned i;

	diff_profile_init(&d.base, 3);
	diff_profile_init(&d.head, 3);
	for (i = 0; i < 3; i++) {
		add_run(&d.base, 5 + 0.1 * i, 1, 2, false, false);
		add_run(&d.head, 20 + 0.1 * i, 0.1, 40, true, true);
	}
	diff_profile_sort(&d.base);
	diff_profile_sort(&d.head);
	CHECK_EQ(diff_compare(&d), 0);
	check_diff(&d, "diff.txt");
	diff_release(&d);
}

static void equal_runs_do_not_differ(void)
{
	struct diff d = { 0 };

	diff_profile_init(&d.base, 1);
	diff_profile_init(&d.head, 1);
	add_run(&d.base, 5, 1, 2, false, true);
	add_run(&d.head, 5, 1, 2, false, true);
	diff_profile_sort(&d.base);
	diff_profile_sort(&d.head);
	CHECK_EQ(diff_compare(&d), 0);
	CHECK_EQ(d.nr, 0);
	CHECK_EQ(d.compared, d.nr_pairs);
	check_diff(&d, "diff-equal.txt");
	diff_release(&d);
}

/* ---- without memory ----------------------------------------------------------------------- */

/*
 * Compares one run with another one, which differs in all, or has only another finding; allocation
 * @number of that fails.
 */
static bool compare_without(unsigned number, bool differs, struct diff *d, int *rc)
{
	*d = (struct diff){ 0 };
	diff_profile_init(&d->base, 1);
	diff_profile_init(&d->head, 1);
	add_run(&d->base, 5, 1, 2, false, true);
	awaited = 1; /* which waits for others */
	if (differs)
		add_run(&d->head, 20, 0.1, 12, true, false);
	else
		add_run(&d->head, 5, 1, 2, false, true);
	awaited = 50;
	diff_profile_sort(&d->base);
	diff_profile_sort(&d->head);
	memory_begin(number);
	*rc = diff_compare(d);
	return memory_end();
}

static bool put_without(unsigned number, const struct diff *d, int *rc)
{
	struct json_writer j;
	bool has_failed;
	int end;

	jw_init_buffer(&j);
	memory_begin(number);
	jw_object_begin(&j);
	*rc = diff_put_pairs(&j, d, 100);
	jw_object_end(&j);
	has_failed = memory_end();
	end = jw_release(&j);
	*rc = *rc ? *rc : end;
	return has_failed;
}

/* A part of the result must not pass as all of it. */
static void without_memory_there_is_no_comparison(void)
{
	unsigned compares = 0, puts = 0;
	struct diff d;
	int rc;

	for (; compare_without(compares, false, &d, &rc); compares++) {
		CHECK_EQ(rc, -ENOMEM);
		diff_release(&d);
	}
	CHECK_EQ(rc, 0);
	CHECK(compares > 5 && d.nr > 0);
	diff_release(&d);
	for (compares = 0; compare_without(compares, true, &d, &rc); compares++) {
		CHECK_EQ(rc, -ENOMEM);
		diff_release(&d);
	}
	CHECK_EQ(rc, 0);
	CHECK(compares > 5 && d.nr > 3);
	for (; put_without(puts, &d, &rc); puts++)
		CHECK_EQ(rc, -ENOMEM);
	CHECK_EQ(rc, 0);
	CHECK(puts > 5);
	diff_release(&d);
}

int main(void)
{
	RUN(runs_of_two_builds_are_compared);
	RUN(equal_runs_do_not_differ);
	RUN(nothing_differs);
	RUN(every_kind_of_change_is_described);
	RUN(long_lists_are_cut);
	RUN(sites_that_differ_come_first);
	RUN(kinds_that_differ_come_first);
	RUN(without_memory_there_is_no_comparison);
	release_histograms(base_runs, 3 * NR_DIFF_METRICS);
	release_histograms(head_runs, NR_DIFF_METRICS);
	release_histograms(quiet_runs, 3 * NR_DIFF_METRICS);
	return 0;
}
