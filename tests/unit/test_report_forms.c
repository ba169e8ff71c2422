/* SPDX-License-Identifier: MIT */
/*
 * test_report_forms.c - every form of the report shows the evidence, the hint, the chain of waiters
 * and all coroutines of a finding; SARIF with relative paths and fingerprints without lines.
 */
#include <corotracer/version.h>
#include <jansson.h>

#include "analyze/report.h"
#include "busy_trace.h"
#include "check.h"
#include "golden.h"

#define S UINT64_C(1000000000)

struct bed {
	struct analysis *a;
	struct trace_stats stats;
	struct report report;
};

static void bed_event(struct bed *b, unsigned kind, uint64_t id, uint64_t ts, uint32_t site,
		      unsigned reason, uint64_t resource, uint64_t parent, const char *name)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_EVENT);
	trace_event_init(&item.event);
	item.event.kind = (uint8_t)kind;
	item.event.is_active = kind == TRACE_RESUME;
	item.event.probe_id = id;
	item.event.ts = ts;
	item.event.tid = 7;
	item.event.seq = 2;
	item.event.site = site;
	item.event.reason = (uint8_t)reason;
	item.event.resource = resource;
	item.event.flags = resource ? TRACE_HAS_RESOURCE : 0;
	item.event.peer = parent;
	item.event.station = TRACE_NO_STATION;
	item.event.name = name;
	item.event.name_size = name ? (uint32_t)strlen(name) : 0;
	CHECK_EQ(analysis_add(b->a, &item), 0);
}

static void bed_site(struct bed *b, uint32_t id, const char *file, uint32_t line,
		     const char *function)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_SITE);
	item.site = (struct trace_site){ id, line, 1, file, function };
	CHECK_EQ(analysis_add(b->a, &item), 0);
}

static void bed_find(struct bed *b, uint64_t id, const char *hint)
{
	const struct coro *co = model_find(&b->a->model, id);
	struct finding f = FINDING_OF(&detector_lost_wakeup, co);
	unsigned i;

	f.confidence = CONFIDENCE_STRONG;
	f.size_ns = S;
	finding_say(&f, "it was not woken");
	finding_add_evidence_at(&f, EVIDENCE_HOLDER, 3, 0, "coroutine 9 'writer' took the lock");
	finding_add_evidence(&f, "it waited 25 times, at most 17 ms");
	if (hint)
		finding_set_hint(&f, "%s", hint);
	for (i = 0; i < 2 * FINDING_EVIDENCE; i++)
		finding_add_evidence(&f, "line %u", i);
	finding_report(b->a, &f);
}

/* Coroutine 1 awaits 2 and 3, which wait for a lock; @moved: all lines moved by an edit. */
static void bed_make(struct bed *b, uint32_t moved)
{
	uint64_t id;

	memset(b, 0, sizeof(*b));
	b->a = analysis_new(NULL);
	CHECK(b->a);
	b->a->model.is_ours = true; /* in order: no transition is held back for sorting */
	bed_site(b, 1, "/src/project/main.c", 12 + moved, "main_loop");
	bed_site(b, 2, "../net/read er.c", 40 + moved, "read_request");
	bed_site(b, 3, "/usr/include/lock.h", 7 + moved, "take_lock");
	bed_event(b, TRACE_BIRTH, 1, S, 1, 0, 0, 0, "server");
	bed_event(b, TRACE_RESUME, 1, S + 1, 0, 0, 0, 0, NULL);
	for (id = 2; id <= 3; id++) {
		bed_event(b, TRACE_BIRTH, id, S + 10 * id, 1, 0, 0, 1,
			  id == 2 ? "reader 1" : "reader 2");
		bed_event(b, TRACE_RESUME, id, S + 10 * id + 1, 0, 0, 0, 0, NULL);
		bed_event(b, TRACE_SUSPEND, id, S + 10 * id + 2, 2, TRACE_REASON_MUTEX, 0x77, 0,
			  NULL);
	}
	bed_event(b, TRACE_SUSPEND, 1, S + 100, 1, TRACE_REASON_JOIN, 2, 0, NULL);
	bed_find(b, 2, "Release the lock where coroutine 9 ends");
	bed_find(b, 3, NULL);
	CHECK_EQ(analysis_finish(b->a, NULL), 0);
	b->report = (struct report){
		.trace = "t",
		.analysis = b->a,
		.stats = &b->stats,
		.least = CONFIDENCE_STRONG,
		.gate = CONFIDENCE_STRONG,
		.source_root = "/src/project",
		.all_coroutines = true,
	};
}

static char *form_of(const struct bed *b, int (*form)(const struct report *, FILE *))
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	CHECK(out);
	CHECK_EQ(form(&b->report, out), 0);
	fclose(out);
	return text;
}

static void has_all(const char *text, const char *const *parts)
{
	for (; *parts; parts++) {
		if (!strstr(text, *parts)) {
			fprintf(stderr, "'%s' is not in:\n%s\n", *parts, text);
			exit(1);
		}
	}
}

static void forms_for_people_show_all_of_it(void)
{
	static const char *const parts[] = {
		"took the lock", "lock.h:7 take",    "25 times", "reader 1",
		"reader 2",      "Release the lock", NULL
	};
	static const char *const chain[] = { "awaited by", "main.c:12 main", "server", NULL };
	int (*const forms[])(const struct report *, FILE *) = { report_text, report_markdown,
								report_junit };
	struct bed b;
	size_t i;
	char *text;

	bed_make(&b, 0);
	b.report.columns = 1000;
	for (i = 0; i < 3; i++) {
		text = form_of(&b, forms[i]);
		/* Markdown escapes an underscore. */
		has_all(text, parts);
		if (forms[i] != report_junit)
			has_all(text, chain);
		CHECK(!strstr(text, "line 7")); /* more evidence than there is room for */
		free(text);
	}
	analysis_free(b.a);
}

/* Who created it, and its last steps with their places. */
static void the_example_tells_its_parent_and_its_steps(void)
{
	static const char *const parts[] = { "  for example coroutine 2 'reader 1':\n",
					     "    child of coroutine 1 'server'\n",
					     "resume",
					     "suspend",
					     "read er.c:40 read_request",
					     NULL };
	struct bed b;
	char *text;

	bed_make(&b, 0);
	b.report.columns = 1000;
	b.report.all = true;
	text = form_of(&b, report_text);
	has_all(text, parts);
	free(text);
	analysis_free(b.a);
}

static void names_cannot_break_junit(void)
{
	struct bed b;
	char *text;

	bed_make(&b, 0);
	finding_say(&b.a->findings.groups[0].finding, "%s", "<a> & \"b\"\x1b");
	text = form_of(&b, report_junit);
	CHECK(strstr(text, "&#60;a&#62; &#38; &#34;b&#34;"));
	CHECK(!strstr(text, "<a>") && !strchr(text, '\x1b'));
	free(text);
	analysis_free(b.a);
}

static void names_are_a_sentence_in_markdown(void)
{
	struct bed b;
	const char *names, *end;
	char *text;

	bed_make(&b, 0);
	text = form_of(&b, report_markdown);
	names = strstr(text, "\nCoroutines: ");
	CHECK(names != NULL);
	end = strchr(names + 1, '\n');
	CHECK(end && end[-1] == '.');
	CHECK(memmem(names, (size_t)(end - names), "reader 1", 8));
	CHECK(memmem(names, (size_t)(end - names), "reader 2", 8));
	free(text);
	analysis_free(b.a);
}

static void a_deadline_is_a_time_before_or_after_the_end(void)
{
	struct coro co = { .reason = TRACE_REASON_TIMER, .has_resource = true, .since_ts = S };
	struct bed b;
	char what[128];

	bed_make(&b, 0);
	b.a->model.end_ts = 10 * S;
	co.resource = 8 * S;
	report_example_waits_for(&b.report, &co, what, sizeof(what));
	CHECK_STR(what, "timer, due 2.000 s before the end");
	co.resource = 12 * S;
	report_example_waits_for(&b.report, &co, what, sizeof(what));
	CHECK_STR(what, "timer, due 2.000 s after the end");
	co.resource = 1; /* of another clock */
	report_example_waits_for(&b.report, &co, what, sizeof(what));
	CHECK_STR(what, "timer, 0x1");
	analysis_free(b.a);
}

static void json_has_evidence_hint_and_coroutines(void)
{
	struct bed b;
	json_t *root, *finding, *list;
	char *text;

	bed_make(&b, 0);
	text = form_of(&b, report_json);
	root = json_loads(text, 0, NULL);
	CHECK(root);
	finding = json_array_get(json_object_get(root, "findings"), 0);
	list = json_object_get(finding, "evidence");
	CHECK_EQ(json_array_size(list), FINDING_EVIDENCE);
	CHECK_STR(json_string_value(json_array_get(list, 0)),
		  "coroutine 9 'writer' took the lock at /usr/include/lock.h:7 take_lock");
	CHECK_STR(json_string_value(json_object_get(finding, "hint")),
		  "Release the lock where coroutine 9 ends");
	list = json_object_get(finding, "coroutines");
	CHECK_EQ(json_array_size(list), 2);
	CHECK_STR(json_string_value(json_object_get(json_array_get(list, 1), "name")), "reader 2");
	CHECK_EQ(json_array_size(json_object_get(json_array_get(list, 0), "awaited_by")), 1);
	CHECK_EQ(json_array_size(json_object_get(json_array_get(list, 1), "awaited_by")), 0);
	json_decref(root);
	free(text);
	analysis_free(b.a);
}

static void put_extra(struct json_writer *j, void *arg)
{
	jw_field_u64(j, "extra", *(const unsigned *)arg);
}

/* What the caller adds is in the same object. */
static void json_has_what_the_caller_adds(void)
{
	unsigned extra = 17;
	struct bed b;
	json_t *root;
	char *text;

	bed_make(&b, 0);
	b.report.put_more = put_extra;
	b.report.more = &extra;
	text = form_of(&b, report_json);
	root = json_loads(text, 0, NULL);
	CHECK(root);
	CHECK_EQ(json_integer_value(json_object_get(root, "extra")), 17);
	CHECK_EQ(json_array_size(json_object_get(root, "findings")), 1);
	json_decref(root);
	free(text);
	analysis_free(b.a);
}

/* The number of failures in the form for test frameworks. */
static unsigned nr_failures(const struct bed *b)
{
	char *text = form_of(b, report_junit), *at = text;
	unsigned nr = 0;

	while ((at = strstr(at, "<failure ")) != NULL) {
		at++;
		nr++;
	}
	free(text);
	return nr;
}

/* Faults fail always, other findings only if the user asked for it. */
static void junit_fails_on_faults_and_on_what_is_asked(void)
{
	bool fails[64] = { false };
	struct finding f;
	struct bed b;

	bed_make(&b, 0);
	f = (struct finding)FINDING_OF(&detector_migration, model_find(&b.a->model, 2));
	f.confidence = CONFIDENCE_STRONG;
	finding_report(b.a, &f);
	f.detector = &detector_imbalance;
	finding_report(b.a, &f);
	CHECK_EQ(nr_failures(&b), 1);
	b.report.fails = fails;
	CHECK_EQ(nr_failures(&b), 1);
	fails[detector_number(&detector_imbalance)] = true;
	CHECK_EQ(nr_failures(&b), 2);
	fails[detector_number(&detector_migration)] = true;
	CHECK_EQ(nr_failures(&b), 3);
	b.report.gate = CONFIDENCE_PROVEN;
	CHECK_EQ(nr_failures(&b), 0);
	analysis_free(b.a);
}

static const json_t *path_of(const json_t *at, const char *path)
{
	char word[64];
	int used;

	while (at && sscanf(path, "%63[^/]%n", word, &used) == 1) {
		at = json_is_array(at) ? json_array_get(at, (size_t)atoi(word))
				       : json_object_get(at, word);
		path += used + (path[used] == '/');
	}
	return at;
}

static const char *text_of(const json_t *at, const char *path)
{
	const char *text = json_string_value(path_of(at, path));

	return text ? text : "(none)";
}

#define PLACE "physicalLocation/artifactLocation/"

static void sarif_has_relative_paths_and_flows(void)
{
	static const char *const parts[] = { "took the lock at", "25 times", "'reader 2'",
					     "Next: Release the lock", NULL };
	const json_t *run, *result, *step;
	json_t *root;
	struct bed b;
	char *text;

	bed_make(&b, 0);
	text = form_of(&b, report_sarif);
	root = json_loads(text, 0, NULL);
	run = path_of(root, "runs/0");
	CHECK_STR(text_of(run, "originalUriBaseIds/SRCROOT/uri"), "file:///src/project/");
	result = path_of(run, "results/0");
	CHECK_STR(text_of(result, "locations/0/" PLACE "uri"), "net/read%20er.c");
	CHECK_STR(text_of(result, "locations/0/" PLACE "uriBaseId"), "SRCROOT");
	has_all(text_of(result, "message/text"), parts);
	CHECK_EQ(json_array_size(path_of(result, "codeFlows")), 2);
	step = path_of(result, "codeFlows/0/threadFlows/0/locations/0/location");
	CHECK_STR(text_of(step, PLACE "uri"), "file:///usr/include/lock.h");
	CHECK_STR(text_of(step, PLACE "uriBaseId"), "(none)");
	CHECK_STR(text_of(step, "message/text"), "coroutine 9 'writer' took the lock");
	step = path_of(result, "codeFlows/1/threadFlows/0/locations/0/location");
	CHECK_STR(text_of(step, PLACE "uri"), "main.c");
	CHECK_STR(text_of(step, "message/text"), "coroutine 1 'server' awaits the next");
	step = path_of(result, "codeFlows/1/threadFlows/0/locations/1/location");
	CHECK_STR(text_of(step, PLACE "uri"), "net/read%20er.c");
	CHECK_STR(text_of(step, "message/text"), "coroutine 2 'reader 1'");
	CHECK_EQ(json_array_size(path_of(result, "codeFlows/1/threadFlows/0/locations")), 2);
	json_decref(root);
	free(text);
	analysis_free(b.a);
}

static void a_fingerprint_survives_edits_that_move_lines(void)
{
	char prints[2][64], *text;
	json_t *root;
	struct bed b;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		bed_make(&b, 100 * i);
		text = form_of(&b, report_sarif);
		root = json_loads(text, 0, NULL);
		CHECK_EQ(json_integer_value(path_of(root, "runs/0/results/0/locations/0/"
							  "physicalLocation/region/startLine")),
			 40 + 100 * i);
		snprintf(prints[i], sizeof(prints[i]), "%s",
			 json_string_value(json_object_get(
				 path_of(root, "runs/0/results/0/partialFingerprints"),
				 "corotracerFinding/v1")));
		json_decref(root);
		free(text);
		analysis_free(b.a);
	}
	CHECK_STR(prints[0], prints[1]);
	CHECK_EQ(strlen(prints[0]), 18);
}

/* ---- a program with many faults ----------------------------------------------------------- */

static void busy_take(void *to, const struct trace_item *item)
{
	CHECK_EQ(analysis_add(to, item), 0);
}

static void busy_make(struct bed *b)
{
	memset(b, 0, sizeof(*b));
	b->a = analysis_new(NULL);
	CHECK(b->a);
	busy_items(busy_take, b->a);
	CHECK_EQ(analysis_finish(b->a, NULL), 0);
	b->report = (struct report){
		.trace = "busy.jsonl",
		.analysis = b->a,
		.stats = &b->stats,
		.least = CONFIDENCE_INFO,
		.gate = CONFIDENCE_STRONG,
		.source_root = "/src",
		.columns = 100,
	};
}

static void check_golden(const struct bed *b, int (*form)(const struct report *, FILE *),
			 const char *name)
{
	char *text = form_of(b, form);

	golden_hide(text, COROTRACER_VERSION);
	golden_check(name, text);
	free(text);
}

/* A member in a line each, so that a difference is easy to see. */
static void check_golden_json(const struct bed *b, int (*form)(const struct report *, FILE *),
			      const char *name)
{
	char *text = form_of(b, form), *lines;
	json_t *root = json_loads(text, 0, NULL);

	CHECK(root != NULL);
	lines = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	CHECK(lines != NULL);
	golden_hide(lines, COROTRACER_VERSION);
	golden_check(name, lines);
	json_decref(root);
	free(lines);
	free(text);
}

static void all_findings_are_in_every_form(void)
{
	struct bed b;

	busy_make(&b);
	check_golden(&b, report_text, "busy.txt");
	check_golden(&b, report_markdown, "busy.md");
	check_golden(&b, report_junit, "busy.xml");
	check_golden_json(&b, report_sarif, "busy.sarif");
	check_golden(&b, report_suppressions, "busy.supp");
	b.report.some_coroutines = 3;
	check_golden_json(&b, report_json, "busy.json");
	analysis_free(b.a);
}

/* With colours, as on a small screen, and with the last steps. */
static void the_text_form_fits_a_screen(void)
{
	struct bed b;

	busy_make(&b);
	b.report.least = CONFIDENCE_STRONG;
	b.report.rows = 30;
	b.report.columns = 80;
	b.report.color = true;
	check_golden(&b, report_text, "busy-screen.txt");
	b.report.rows = 0;
	b.report.color = false;
	b.report.all = true;
	b.report.least = CONFIDENCE_PROVEN;
	check_golden(&b, report_text, "busy-all.txt");
	check_golden(&b, report_markdown, "busy-all.md");
	analysis_free(b.a);
}

static void suppressed_groups_are_only_counted(void)
{
	struct report_counts counts;
	struct bed b;
	char *text;

	busy_make(&b);
	b.report.least = CONFIDENCE_STRONG;
	b.a->findings.groups[0].suppressed_by = 1;
	b.a->findings.groups[1].suppressed_by = 2;
	counts = report_count(&b.report);
	CHECK_EQ(counts.suppressed, 2);
	CHECK_EQ(counts.by_confidence[CONFIDENCE_PROVEN], 2);
	CHECK_EQ(counts.by_confidence[CONFIDENCE_STRONG], 10);
	CHECK_EQ(counts.groups, 12);
	CHECK_EQ(counts.findings, 14);
	CHECK_EQ(counts.below, b.a->findings.nr - 14);
	text = form_of(&b, report_text);
	CHECK(!strstr(text, "(deadlock)"));
	free(text);
	b.report.least = NR_CONFIDENCES;
	text = form_of(&b, report_text);
	CHECK(strstr(text, ": nothing found\n"));
	free(text);
	analysis_free(b.a);
}

static void totals_of_parts_are_their_sum(void)
{
	struct bed a, b;
	struct report_totals one, sum;
	char *text;

	busy_make(&a);
	busy_make(&b);
	a.a->model.totals.lost = 3;
	a.a->model.totals.others_lost = 4;
	b.a->model.totals.lost = 20;
	b.a->model.totals.others_lost = 50;
	one = report_totals_of(&a.report);
	CHECK_EQ(one.lost, 3);
	CHECK_EQ(one.others_lost, 4);
	a.report.next = &b.report;
	a.report.whole = "whole.ct";
	a.report.whole_stats = &a.stats;
	sum = report_totals_of_parts(&a.report);
	CHECK_EQ(sum.coroutines, 2 * one.coroutines);
	CHECK_EQ(sum.alive, 2 * one.alive);
	CHECK_EQ(sum.events, 2 * one.events);
	CHECK_EQ(sum.others, 2 * one.others);
	CHECK_EQ(sum.threads, 2 * one.threads);
	CHECK_EQ(sum.written, 2 * one.written);
	CHECK_EQ(sum.lost, 23);
	CHECK_EQ(sum.others_lost, 54);
	b.a->model.totals.lost = b.a->model.totals.others_lost = 0;
	CHECK_EQ(sum.duration_ns, one.duration_ns);
	CHECK(sum.loss_known);
	text = form_of(&a, report_text);
	CHECK(strstr(text, "lost: 3 transitions"));
	free(text);
	a.report.least = b.report.least = CONFIDENCE_PROVEN;
	check_golden_json(&a, report_json, "parts.json");
	check_golden(&a, report_markdown, "parts.md");
	check_golden(&a, report_junit, "parts.xml");
	analysis_free(a.a);
	analysis_free(b.a);
}

static void a_full_disk_fails_every_form(void)
{
	int (*const forms[])(const struct report *, FILE *) = { report_text,  report_markdown,
								report_junit, report_json,
								report_sarif, report_suppressions };
	struct bed b;
	size_t i;

	busy_make(&b);
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		FILE *out = fopen("/dev/full", "w");

		CHECK(out != NULL);
		setvbuf(out, NULL, _IONBF, 0);
		CHECK(forms[i](&b.report, out) < 0);
		fclose(out);
	}
	analysis_free(b.a);
}

/* The names of a group with @nr coroutines, of which the last @nr_others are less sure. */
static const char *names_of(uint32_t nr, uint32_t nr_others, uint64_t omitted, unsigned max,
			    const char *name)
{
	static char text[256];
	const struct finding sure = { .confidence = CONFIDENCE_PROVEN };
	const struct finding other = { .confidence = CONFIDENCE_SUSPECT };
	struct group g = { .confidence = CONFIDENCE_PROVEN };
	struct analysis *a = calloc(1, sizeof(*a));
	struct report r = { .analysis = a };
	uint32_t i;

	CHECK(a != NULL);
	for (i = 0; i < nr; i++) {
		struct coro co = { .probe_id = i + 1 };

		if (name && !i)
			co.name = (uint32_t)strtab_intern(&a->model.names, name) + 1;
		affected_add(&a->findings.affected, &g.affected, &co,
			     i < nr - nr_others ? &sure : &other);
	}
	g.affected.omitted = omitted;
	CHECK(report_names(&r, &g, max, text, sizeof(text)));
	affected_release(&a->findings.affected);
	strtab_release(&a->model.names);
	free(a);
	return text;
}

static void names_that_are_not_shown_are_counted(void)
{
	CHECK_STR(names_of(1, 0, 0, 3, NULL), "1");
	CHECK_STR(names_of(3, 0, 0, 3, NULL), "1, 2, 3");
	CHECK_STR(names_of(4, 0, 0, 3, NULL), "1, 2, 3 and 1 more");
	CHECK_STR(names_of(4, 0, 10, 3, NULL), "1, 2, 3 and 11 more");
	CHECK_STR(names_of(3, 0, 1, 3, NULL), "1, 2, 3 and 1 more");
	CHECK_STR(names_of(3, 1, 0, 3, NULL), "1, 2; less sure: 3");
	CHECK_STR(names_of(9, 4, 0, 3, NULL), "1, 2, 3 and 2 more; less sure: 6, 7, 8 and 1 more");
	CHECK_STR(names_of(9, 4, 5, 3, NULL), "1, 2, 3 and 2 more; less sure: 6, 7, 8 and 6 more");
}

static void long_names_end_with_a_whole_character(void)
{
	char name[128], wanted[160];

	memset(name, 'x', sizeof(name));
	name[60] = '\0';
	snprintf(wanted, sizeof(wanted), "1 '%s'", name);
	CHECK_STR(names_of(1, 0, 0, 3, name), wanted);
	name[60] = 'x';
	name[61] = '\0';
	snprintf(wanted, sizeof(wanted), "1 '%.60s...'", name);
	CHECK_STR(names_of(1, 0, 0, 3, name), wanted);
	memcpy(name + 58, "\xe2\x82\xac", 4); /* three bytes, the last one is too many */
	snprintf(wanted, sizeof(wanted), "1 '%.58s...'", name);
	CHECK_STR(names_of(1, 0, 0, 3, name), wanted);
	memcpy(name + 57, "\xe2\x82\xac", 4);
	snprintf(wanted, sizeof(wanted), "1 '%s'", name);
	CHECK_STR(names_of(1, 0, 0, 3, name), wanted);
}

int main(void)
{
	RUN(all_findings_are_in_every_form);
	RUN(forms_for_people_show_all_of_it);
	RUN(the_example_tells_its_parent_and_its_steps);
	RUN(names_that_are_not_shown_are_counted);
	RUN(long_names_end_with_a_whole_character);
	RUN(names_cannot_break_junit);
	RUN(names_are_a_sentence_in_markdown);
	RUN(a_deadline_is_a_time_before_or_after_the_end);
	RUN(json_has_evidence_hint_and_coroutines);
	RUN(json_has_what_the_caller_adds);
	RUN(junit_fails_on_faults_and_on_what_is_asked);
	RUN(sarif_has_relative_paths_and_flows);
	RUN(a_fingerprint_survives_edits_that_move_lines);
	RUN(the_text_form_fits_a_screen);
	RUN(suppressed_groups_are_only_counted);
	RUN(totals_of_parts_are_their_sum);
	RUN(a_full_disk_fails_every_form);
	return 0;
}
