/* SPDX-License-Identifier: MIT */
/* test_findings.c - findings are grouped, counted, merged, doubted and sorted; what a wait is for.
 */
#include "analyze/detector.h"
#include "analyze/suppress.h"
#include "analyze/waiting_facts.h"

#include <errno.h>
#include <unistd.h>

#include "analysis_bed.h"
#include "check.h"

#define MS MODEL_MS

static struct finding finding_at(uint32_t place, enum confidence confidence, uint64_t size_ns)
{
	return (struct finding){ .detector = detectors[0],
				 .confidence = confidence,
				 .place = place,
				 .size_ns = size_ns,
				 .shown_ns = size_ns };
}

static struct group *found(struct findings *f, const struct finding *one)
{
	bool is_example;

	return findings_add(f, one, &is_example);
}

static void a_group_counts_and_keeps_the_extremes(void)
{
	struct finding one = finding_at(1, CONFIDENCE_SUSPECT, 49 * MS);
	struct findings f = { 0 };
	struct group *g;

	found(&f, &one);
	one = finding_at(1, CONFIDENCE_STRONG, 50 * MS); /* large: from 50 ms on */
	found(&f, &one);
	one = finding_at(1, CONFIDENCE_INFO, 70 * MS);
	one.needs = NEED_WAKES;
	g = found(&f, &one);
	one = finding_at(1, CONFIDENCE_INFO, 1 * MS);
	one.needs = NEED_LIVES;
	CHECK(found(&f, &one) == g);
	CHECK_EQ(f.nr, 1);
	CHECK_EQ(g->count, 4);
	CHECK_EQ(g->large, 2);
	CHECK_EQ(g->oldest_ns, 70 * MS);
	CHECK_EQ(g->confidence, CONFIDENCE_STRONG);
	CHECK_EQ(g->by_confidence[CONFIDENCE_INFO], 2);
	CHECK_EQ(g->by_confidence[CONFIDENCE_SUSPECT], 1);
	CHECK_EQ(g->by_confidence[CONFIDENCE_STRONG], 1);
	CHECK_EQ(g->needs, NEED_WAKES | NEED_LIVES);
	CHECK_EQ(g->finding.size_ns, 50 * MS); /* the most certain one is the example */
	findings_release(&f);
}

static void the_example_is_certain_then_undoubted_then_old(void)
{
	struct finding one = finding_at(1, CONFIDENCE_STRONG, 9 * MS);
	struct findings f = { 0 };
	bool is_example;

	one.doubt = "events are missing";
	findings_add(&f, &one, &is_example);
	CHECK(is_example);
	one = finding_at(1, CONFIDENCE_SUSPECT, 99 * MS);
	findings_add(&f, &one, &is_example);
	CHECK(!is_example);
	one = finding_at(1, CONFIDENCE_STRONG, 5 * MS);
	findings_add(&f, &one, &is_example);
	CHECK(is_example); /* smaller, and without a doubt */
	findings_add(&f, &one, &is_example);
	CHECK(!is_example); /* the first of equals stays */
	one.size_ns++;
	findings_add(&f, &one, &is_example);
	CHECK(is_example);
	one.doubt = "again";
	one.size_ns = 90 * MS;
	findings_add(&f, &one, &is_example);
	CHECK(!is_example);
	findings_release(&f);
}

static void note_finding(void *arg, const struct finding *f)
{
	*(uint64_t *)arg += f->size_ns;
}

/* Every finding, also one that is not the first of its group. */
static void an_observer_is_called_for_each_finding(void)
{
	struct analysis *a = bed_begin(NULL);
	struct finding one = finding_at(0, CONFIDENCE_STRONG, 3 * MS);
	uint64_t sum = 0;

	a->observer.found = note_finding;
	a->observer.arg = &sum;
	finding_report(a, &one);
	CHECK_EQ(sum, 3 * MS);
	one.size_ns = 2 * MS;
	finding_report(a, &one);
	CHECK_EQ(sum, 5 * MS);
	a->observer.found = NULL;
	finding_report(a, &one);
	CHECK_EQ(sum, 5 * MS);
	analysis_free(a);
}

static void groups_beyond_the_limit_are_counted(void)
{
	struct findings f = { 0 };
	struct finding one;
	uint32_t i;

	for (i = 0; i < FINDING_GROUPS; i++) {
		one = finding_at(i, CONFIDENCE_INFO, MS);
		CHECK(found(&f, &one) != NULL);
	}
	one = finding_at(FINDING_GROUPS, CONFIDENCE_PROVEN, MS);
	CHECK(!found(&f, &one) && !found(&f, &one));
	CHECK_EQ(f.beyond, 2);
	one = finding_at(7, CONFIDENCE_INFO, MS);
	CHECK_EQ(found(&f, &one)->count, 2);
	CHECK_EQ(f.nr, FINDING_GROUPS);
	findings_release(&f);
}

/* Places 1 and 2 become one: two names of the same line. */
static void groups_of_one_place_are_merged_with_all_their_needs(void)
{
	static const uint32_t into[] = { 0, 1, 1, 2 };
	struct finding one = finding_at(1, CONFIDENCE_STRONG, 60 * MS);
	struct findings f = { 0 }, copy;

	found(&f, &one);
	one = finding_at(2, CONFIDENCE_SUSPECT, 80 * MS);
	one.needs = NEED_TRANSITIONS;
	found(&f, &one);
	one = finding_at(3, CONFIDENCE_STRONG, MS);
	found(&f, &one);
	CHECK_EQ(findings_copy(&copy, &f), 0);
	CHECK_EQ(findings_move(&f, into), 0);
	CHECK_EQ(f.nr, 2);
	CHECK_EQ(f.groups[0].count, 2);
	CHECK_EQ(f.groups[0].large, 2);
	CHECK_EQ(f.groups[0].oldest_ns, 80 * MS);
	CHECK_EQ(f.groups[0].confidence, CONFIDENCE_STRONG);
	CHECK_EQ(f.groups[0].by_confidence[CONFIDENCE_SUSPECT], 1);
	CHECK_EQ(f.groups[0].by_confidence[CONFIDENCE_STRONG], 1);
	CHECK_EQ(f.groups[0].needs, NEED_TRANSITIONS);
	CHECK_EQ(f.groups[0].finding.size_ns, 60 * MS);
	CHECK_EQ(f.groups[1].place, 2);
	CHECK_EQ(f.groups[1].finding.place, 2);
	/* The copy is independent, and knows its groups. */
	CHECK_EQ(copy.nr, 3);
	one = finding_at(2, CONFIDENCE_INFO, MS);
	CHECK(found(&copy, &one) == &copy.groups[1] && copy.groups[1].count == 2);
	findings_release(&copy);
	findings_release(&f);
}

static void only_findings_that_need_missing_events_are_doubted(void)
{
	struct finding one = finding_at(1, CONFIDENCE_PROVEN, MS);
	struct findings f = { 0 };

	found(&f, &one);
	one = finding_at(2, CONFIDENCE_PROVEN, MS);
	one.needs = NEED_WAKES;
	found(&f, &one);
	one = finding_at(2, CONFIDENCE_INFO, MS);
	found(&f, &one);
	findings_doubt(&f, "wakes were lost");
	CHECK_EQ(f.groups[0].confidence, CONFIDENCE_PROVEN);
	CHECK(!f.groups[0].finding.doubt);
	CHECK_EQ(f.groups[1].confidence, CONFIDENCE_SUSPECT);
	CHECK_EQ(f.groups[1].finding.confidence, CONFIDENCE_SUSPECT);
	CHECK_STR(f.groups[1].finding.doubt, "wakes were lost");
	CHECK_EQ(f.groups[1].by_confidence[CONFIDENCE_SUSPECT], 1);
	CHECK_EQ(f.groups[1].by_confidence[CONFIDENCE_PROVEN], 0);
	CHECK_EQ(f.groups[1].by_confidence[CONFIDENCE_INFO], 1);
	/* A second reason does not replace the first. */
	findings_doubt(&f, "more was lost");
	CHECK_STR(f.groups[1].finding.doubt, "wakes were lost");
	findings_release(&f);
}

static void certain_findings_come_first_then_frequent_ones(void)
{
	struct finding one = finding_at(1, CONFIDENCE_SUSPECT, MS);
	struct findings f = { 0 };

	found(&f, &one);
	one = finding_at(2, CONFIDENCE_STRONG, MS);
	found(&f, &one);
	one = finding_at(3, CONFIDENCE_STRONG, MS);
	found(&f, &one);
	found(&f, &one);
	one = finding_at(4, CONFIDENCE_STRONG, 2 * MS);
	found(&f, &one);
	one = finding_at(5, CONFIDENCE_STRONG, MS);
	one.detector = detectors[1];
	found(&f, &one);
	findings_sort(&f);
	CHECK_EQ(f.groups[0].place, 3);
	CHECK_EQ(f.groups[1].place, 4);
	CHECK_EQ(f.groups[2].place, 2);
	CHECK_EQ(f.groups[3].place, 5);
	CHECK_EQ(f.groups[4].place, 1);
	findings_release(&f);
}

static void a_finding_keeps_its_first_lines_of_evidence(void)
{
	struct finding one = finding_at(1, CONFIDENCE_INFO, MS);
	unsigned i;

	for (i = 0; i < FINDING_EVIDENCE + 3; i++)
		finding_add_evidence(&one, "line %u", i);
	CHECK_EQ(one.nr_evidence, FINDING_EVIDENCE);
	CHECK_STR(one.evidence[0].text, "line 0");
	CHECK_STR(one.evidence[FINDING_EVIDENCE - 1].text, "line 7");
}

static void a_wait_is_named_by_its_reason_and_resource(void)
{
	static const struct {
		uint8_t reason;
		bool has_resource;
		uint64_t resource;
		const char *text;
	} cases[] = {
		{ TRACE_REASON_UNKNOWN, false, 0, "resource" },
		{ TRACE_REASON_IO_READ, true, 7, "descriptor 7" },
		{ TRACE_REASON_CONNECT, true, 65535, "descriptor 65535" },
		{ TRACE_REASON_TIMER, false, 0, "timer" },
		{ TRACE_REASON_MUTEX, true, 65536, "mutex 0x10000" },
		{ TRACE_REASON_MUTEX, false, 1, "mutex" },
	};
	char text[EVIDENCE_WHAT];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct coro co = { .reason = cases[i].reason,
				   .has_resource = cases[i].has_resource,
				   .resource = cases[i].resource };

		CHECK_STR(evidence_what(&co, text), cases[i].text);
	}
}

static void confidences_have_names(void)
{
	int i;

	for (i = 0; i < NR_CONFIDENCES; i++)
		CHECK_EQ(confidence_from_name(confidence_name((enum confidence)i)), i);
	CHECK_EQ(confidence_from_name("certain"), -1);
}

/* ---- suppressions --------------------------------------------------------------------------- */

static char rules_path[] = "/tmp/test-rules-XXXXXX";

static int read_rules(struct suppressions *s, const char *text, struct err *err)
{
	FILE *f = fopen(rules_path, "w");

	CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
	return suppressions_read(s, rules_path, err);
}

static uint32_t matched_by(struct suppressions *s, const char *detector, const char *place,
			   const char *function, const char *kind)
{
	return suppressions_match(s,
				  &(struct suppression_subject){ detector, place, function, kind });
}

static void rules_match_places_functions_and_kinds(void)
{
	static const char text[] = "# a comment\n"
				   "\n"
				   "  leak:server.c:12 *  \r\n"
				   "lost-wakeup:function:read_*\n"
				   "*:kind:worker*\n"
				   "deadlock:function:\n"
				   "herd:*";
	struct suppressions s = { 0 };
	struct err err = { 0 };

	CHECK_EQ(read_rules(&s, text, &err), 0);
	CHECK_EQ(s.nr, 5);
	CHECK_EQ(s.rules[0].line, 3);
	CHECK_STR(s.rules[0].glob, "server.c:12 *");
	CHECK_EQ(s.rules[1].of, SUPPRESS_FUNCTION);
	CHECK_EQ(s.rules[2].of, SUPPRESS_KIND);
	CHECK_EQ(matched_by(&s, "leak", "server.c:12 main", "main", NULL), 1);
	CHECK_EQ(matched_by(&s, "leak", "server.c:13 main", "main", NULL), 0);
	CHECK_EQ(matched_by(&s, "herd", "server.c:12 main", NULL, NULL), 5);
	CHECK_EQ(matched_by(&s, "lost-wakeup", "x", "read_all", NULL), 2);
	CHECK_EQ(matched_by(&s, "lost-wakeup", "read_all", "write_all", NULL), 0);
	CHECK_EQ(matched_by(&s, "migration", "x", "y", "worker 7"), 3); /* any detector */
	CHECK_EQ(matched_by(&s, "migration", "x", "y", "reader"), 0);
	CHECK_EQ(matched_by(&s, "deadlock", "x", NULL, NULL), 4); /* without a function */
	CHECK_EQ(matched_by(&s, "deadlock", "x", "f", NULL), 0);
	CHECK_EQ(s.rules[0].used, 1);
	CHECK_EQ(s.rules[4].used, 1);
	suppressions_release(&s);
	CHECK(!s.rules && !s.nr);
}

static void rules_that_cannot_be_meant_are_errors(void)
{
	struct suppressions s = { 0 };
	struct err err = { 0 };
	unsigned i;
	char many[1024] = "";

	CHECK_EQ(read_rules(&s, "leak:a\nleak\n", &err), -EINVAL);
	CHECK(strstr(err.text, ":2: 'leak' is not a suppression"));
	CHECK(strstr(err.hint, "a line is DETECTOR:function:GLOB"));
	CHECK_EQ(read_rules(&s, "leak:\n", &err), -EINVAL);
	CHECK_EQ(read_rules(&s, "\nleek:x\n", &err), -EINVAL);
	CHECK(strstr(err.text, ":2: unknown detector 'leek'"));
	CHECK_STR(err.hint, "'corotracer report --list' names them");
	suppressions_release(&s);
	for (i = 0; i < 40; i++)          /* more than there is room for at first */
		strcat(many, "leak:x\n"); /* NOLINT: 280 bytes */
	CHECK_EQ(read_rules(&s, many, &err), 0);
	CHECK_EQ(s.nr, 40);
	suppressions_release(&s);
	unlink(rules_path);
	CHECK_EQ(suppressions_read(&s, rules_path, &err), -ENOENT);
	CHECK(strstr(err.text, "cannot open '/tmp/test-rules-"));
}

/* ---- coroutines from before the attach ----------------------------------------------------------
 */

static void waiting_text(const struct waiting_facts *w, size_t most, const char *wanted)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	waiting_facts_print(w, out, most);
	fclose(out);
	CHECK_STR(text, wanted);
	free(text);
}

static void coroutines_from_before_are_listed_by_their_stacks(void)
{
	struct trace_waiting fact = { .count = 9, .unmoved = 1, .is_checked = true, .stack = "a" };
	struct waiting_facts w = { 0 };
	unsigned i;

	waiting_text(&w, 0, "");
	CHECK_EQ(waiting_facts_add(&w, &fact), 0);
	waiting_text(&w, 0,
		     "1 coroutine existed before the program was attached and did not run:\n"
		     "  1 x a\n");
	fact.unmoved = 0; /* all of them ran */
	CHECK_EQ(waiting_facts_add(&w, &fact), 0);
	CHECK_EQ(w.nr, 1);
	fact = (struct trace_waiting){ .count = 2, .verdict = "lost" };
	CHECK_EQ(waiting_facts_add(&w, &fact), 0);
	CHECK_EQ(waiting_facts_count(&w, true), 1);
	CHECK_EQ(waiting_facts_count(&w, false), 2);
	waiting_text(&w, 1,
		     "1 coroutine existed before the program was attached and did not run:\n"
		     "  1 x a\n  and 1 more stacks\n");
	for (i = 0; i < 20; i++)
		CHECK_EQ(waiting_facts_add(&w, &fact), 0);
	CHECK_EQ(w.nr, 22);
	waiting_facts_release(&w);
	CHECK_EQ(waiting_facts_add(&w, &fact), 0);
	waiting_text(&w, 0,
		     "2 coroutines existed before the program was attached; which of them "
		     "ran is unknown:\n  2 x ?, lost\n");
	fact.missing = "why";
	CHECK_EQ(waiting_facts_add(&w, &fact), 0);
	fact.missing = "other";
	CHECK_EQ(waiting_facts_add(&w, &fact), 0);
	CHECK_STR(w.missing, "why");
	CHECK_EQ(w.nr, 1);
	waiting_facts_release(&w);
}

/* ---- the model ----------------------------------------------------------------------------------
 */

#define AT(co, id) const struct coro *co = model_find(&a->model, id)

static void the_model_knows_when_nothing_ran(void)
{
	struct analysis *a = bed_begin(NULL);
	const struct model *m = &a->model;

	BED_ADD(a, BIRTH, 0, .probe_id = 1, .site = 1);
	BED_ADD(a, RESUME, 1, .probe_id = 1);
	BED_ADD(a, SUSPEND, 2, .probe_id = 1, .site = 2);
	BED_ADD(a, RESUME, 12, .probe_id = 1); /* 10 ms of nothing */
	BED_ADD(a, SUSPEND, 13, .probe_id = 1, .site = 2);
	BED_ADD(a, RESUME, 43, .probe_id = 1); /* 30 ms */
	BED_ADD(a, SUSPEND, 44, .probe_id = 1, .site = 2);
	BED_ADD(a, RESUME, 44.5, .probe_id = 1); /* too short to count */
	BED_ADD(a, SUSPEND, 45, .probe_id = 1, .site = 2);
	bed_end(a, 60, 0);
	CHECK_EQ(m->longest_idle, 30 * MS);
	CHECK_EQ(m->second_idle, 10 * MS);
	CHECK_EQ(m->idle_ns, 40 * MS);
	CHECK_EQ(model_idle(m), 55 * MS);
	CHECK_EQ(m->running, 0);
	CHECK_EQ(m->nr_ticks, 3); /* at least 10 ms apart: 1, 12, 43 */
	CHECK_EQ(model_activity(m, BED_MS(0)), 3);
	CHECK_EQ(model_activity(m, BED_MS(12)), 1);
	CHECK_EQ(model_activity(m, BED_MS(43)), 0);
	analysis_free(a);
}

static void the_model_keeps_the_waits_of_a_coroutine(void)
{
	struct analysis *a = bed_begin(NULL);
	const struct rhythm *r;

	BED_ADD(a, BIRTH, 0, .probe_id = 1, .site = 1);
	BED_ADD(a, RESUME, 1, .probe_id = 1, .tid = 7);
	BED_ADD(a, SUSPEND, 2, .probe_id = 1, .site = 2);
	BED_ADD(a, RESUME, 5, .probe_id = 1, .tid = 8);
	BED_ADD(a, SUSPEND, 6, .probe_id = 1, .tid = 8, .site = 2);
	BED_ADD(a, RESUME, 13, .probe_id = 1, .tid = 8);
	BED_ADD(a, SUSPEND, 13.0005, .probe_id = 1, .tid = 8, .site = 3,
		.reason = TRACE_REASON_YIELD);
	BED_ADD(a, RESUME, 14, .probe_id = 1, .tid = 7);
	BED_ADD(a, SUSPEND, 15, .probe_id = 1, .site = 2);
	bed_end(a, 20, 0);
	{
		AT(co, 1);

		CHECK_EQ(co->longest_wait_ns, 7 * MS);
		CHECK_EQ(co->second_wait_ns, 3 * MS);
		CHECK_EQ(co->resumes, 4);
		CHECK_EQ(co->suspends, 4);
		CHECK_EQ(co->migrations, 2);
		CHECK_EQ(co->quick_yields, 1);
		r = model_rhythm(co);
		CHECK(r && r->nr == 2 && r->longest_ns == 7 * MS && r->second_ns == 3 * MS);
		CHECK_EQ(model_waited(&a->model, co), 5 * MS);
		CHECK_EQ(model_age(&a->model, co), 5 * MS);
		CHECK_EQ(a->model.places[co->place].waits.nr, 2);
		CHECK_EQ(a->model.places[co->place].slices.nr, 3);
		CHECK_EQ(a->model.places[co->place].last_resumed_ts, BED_MS(13));
	}
	analysis_free(a);
}

static void the_model_knows_who_wakes(void)
{
	struct analysis *a = bed_begin(NULL);
	const struct wake_source *w;
	unsigned i;

	BED_ADD(a, BIRTH, 0, .probe_id = 1, .site = 1);
	BED_ADD(a, RESUME, 0.1, .probe_id = 1);
	BED_ADD(a, BIRTH, 0.2, .probe_id = 2, .site = 5, .tid = 8);
	BED_ADD(a, RESUME, 0.3, .probe_id = 2, .tid = 8);
	for (i = 0; i < 5; i++) {
		BED_ADD(a, SUSPEND, 1 + i, .probe_id = 1, .site = 2);
		BED_ADD(a, WAKE, 1.2 + i, .probe_id = 1, .tid = 8, .peer = i < 4 ? 2 : 0);
		BED_ADD(a, RESUME, 1.4 + i, .probe_id = 1);
	}
	BED_ADD(a, WAKE, 6, .probe_id = 1, .tid = 8, .peer = 2); /* while it runs */
	BED_ADD(a, SUSPEND, 6.1, .probe_id = 1, .site = 2);
	BED_ADD(a, RESUME, 6.2, .probe_id = 1); /* the early wake was enough */
	BED_ADD(a, WAKE, 6.3, .probe_id = 1, .tid = 8, .peer = 2);
	BED_ADD(a, SUSPEND, 6.4, .probe_id = 1, .site = 2);
	BED_ADD(a, WAKE, 6.5, .probe_id = 1, .tid = 8, .peer = 2);
	BED_ADD(a, RESUME, 6.6, .probe_id = 1); /* this time it needed another one */
	BED_ADD(a, SUSPEND, 6.7, .probe_id = 1, .site = 2);
	bed_end(a, 20, 0);
	{
		AT(co, 1);

		w = model_waker(co);
		CHECK(w && w->last_id == 2 && !w->is_outside && !w->is_mixed);
		CHECK_EQ(w->nr, 7);
		CHECK_EQ(co->wakes, 8);
		CHECK_EQ(w->last_ts, BED_MS(6.5));
		CHECK_EQ(a->model.early_used, 1);
		CHECK_EQ(a->model.early_unused, 1);
		CHECK(!co->woken_since);
		CHECK_EQ(a->model.places[co->place].ready.nr, 6);
	}
	analysis_free(a);
}

static void the_model_counts_kinds_and_their_lives(void)
{
	struct analysis *a = bed_begin(NULL);
	const struct spawn *s;

	BED_ADD(a, BIRTH, 0, .probe_id = 1, .site = 1);
	BED_ADD(a, RESUME, 0.1, .probe_id = 1);
	BED_ADD(a, BIRTH, 1, .probe_id = 2, .site = 5, .peer = 1, .name = "kid");
	BED_ADD(a, RESUME, 2, .probe_id = 2);
	BED_ADD(a, BIRTH, 3, .probe_id = 3, .site = 5, .peer = 1);
	BED_ADD(a, END, 4, .probe_id = 2, .flags = TRACE_DESTROYED);
	BED_ADD(a, SUSPEND, 5, .probe_id = 1, .site = 2, .reason = TRACE_REASON_JOIN,
		.resource = 3);
	bed_end(a, 20, 0);
	{
		AT(co, 1);
		AT(child, 3);

		s = &a->model.spawns[child->spawn];
		CHECK_EQ(co->children, 1);
		CHECK(model_child(&a->model, co) == child);
		CHECK(model_find(&a->model, 2) == NULL);
		CHECK(model_has_ended(&a->model, 2) && !model_has_ended(&a->model, 3));
		CHECK_EQ(model_departed(&a->model, 2)->ts, BED_MS(4));
		CHECK(model_departed(&a->model, 3) == NULL);
		CHECK_EQ(s->site, 5);
		CHECK_EQ(s->alive, 1);
		CHECK_EQ(a->model.max_id, 3);
		CHECK_EQ(a->model.last_birth_ts, BED_MS(3));
		CHECK_EQ(a->model.kinds[TRACE_BIRTH], 3);
		CHECK_EQ(child->parent, 1);
		CHECK(child->state == TRACE_STATE_NEW && child->tells_life && !child->is_adopted);
	}
	analysis_free(a);
}

/* What the collector says of a coroutine at the end completes what the events say. */
static void the_model_learns_from_facts_about_coroutines(void)
{
	struct analysis *a = bed_begin(NULL);
	struct trace_item item;

	BED_ADD(a, RESUME, 1, .probe_id = 1);
	BED_ADD(a, SUSPEND, 2, .probe_id = 1, .addr = 0x401000);
	BED_ADD(a, RESUME, 3, .probe_id = 2);
	trace_item_init(&item, TRACE_ITEM_COROUTINE);
	item.coroutine = (struct sidecar_coroutine){ .station = TRACE_NO_STATION,
						     .probe_id = 1,
						     .pid = 77,
						     .name = "late name",
						     .birth_ts = BED_MS(0.5),
						     .written = 9,
						     .lost = 4,
						     .state = TRACE_STATE_SUSPENDED,
						     .site = 6 };
	CHECK_EQ(analysis_add(a, &item), 0);
	item.coroutine = (struct sidecar_coroutine){
		.station = TRACE_NO_STATION, .probe_id = 2, .dead = true, .death_ts = BED_MS(4)
	};
	CHECK_EQ(analysis_add(a, &item), 0);
	item.coroutine.probe_id = 99; /* of no event */
	CHECK_EQ(analysis_add(a, &item), 0);
	bed_end(a, 20, 0);
	{
		AT(co, 1);
		AT(dead, 2);

		CHECK_EQ(co->pid, 77);
		CHECK_EQ(co->birth_ts, BED_MS(0.5));
		CHECK(co->loss_known && co->lost == 4);
		CHECK_STR(model_name(&a->model, co), "late name");
		CHECK_EQ(a->model.places[co->await_place].site, 6);
		CHECK_EQ(coro_shown_place(co), co->await_place);
		CHECK(dead->state == TRACE_STATE_ENDED && dead->since_ts == BED_MS(4));
		CHECK(!dead->loss_known && model_find(&a->model, 99) == NULL);
	}
	analysis_free(a);
}

static void the_model_keeps_long_waits_that_were_cancelled(void)
{
	struct analysis *a = bed_begin(NULL);
	uint64_t id;

	for (id = 1; id <= 2; id++) {
		BED_ADD(a, BIRTH, (double)id, .probe_id = id, .site = 1);
		BED_ADD(a, RESUME, (double)id + 0.1, .probe_id = id);
		BED_ADD(a, SUSPEND, (double)id + 0.2, .probe_id = id, .site = 2);
	}
	BED_ADD(a, DESTROY, 100.9, .probe_id = 1, .flags = TRACE_WAS_SUSPENDED);
	BED_ADD(a, DESTROY, 102.2, .probe_id = 2, .flags = TRACE_WAS_SUSPENDED);
	bed_end(a, 110, 0);
	CHECK_EQ(model_nr_cancelled(&a->model), 1); /* of 100 ms and more */
	CHECK_EQ(a->model.cancelled[0].probe_id, 2);
	CHECK_EQ(a->model.cancelled[0].since_ts, BED_MS(2.2));
	CHECK_EQ(a->model.cancelled[0].left_ts, BED_MS(102.2));
	CHECK_EQ(a->model.cancelled[0].state, TRACE_STATE_SUSPENDED);
	analysis_free(a);
}

static struct analysis *with_ring(const struct u64map *chosen)
{
	const struct analysis_options options = { .chosen = chosen };
	struct analysis *a = bed_begin(&options);
	uint64_t id;

	for (id = 1; id <= 2; id++) {
		BED_ADD(a, BIRTH, 0.1 * (double)id, .probe_id = id, .site = 1);
		BED_ADD(a, RESUME, 1 + (double)id, .probe_id = id, .tid = 10 + id);
		BED_ADD(a, ACQUIRE, 4 + (double)id, .probe_id = id, .tid = 10 + id,
			.resource = 0x10000 * id);
	}
	BED_ADD(a, CONTEXT, 7, .probe_id = 1, .tid = 11, .written = UINT64_C(0x0af7651916cd43dd),
		.lost = UINT64_C(0x8448eb211c80319c), .resource = UINT64_C(0x00f067aa0ba902b7),
		.seen = 1);
	for (id = 1; id <= 2; id++)
		BED_ADD(a, SUSPEND, 8 + (double)id, .probe_id = id, .tid = 10 + id, .site = 3,
			.reason = TRACE_REASON_MUTEX, .resource = 0x10000 * (3 - id));
	bed_end(a, 20, 0);
	return a;
}

static void a_ring_is_reported_if_one_of_it_is_chosen(void)
{
	struct u64map chosen = { 0 };
	struct analysis *a;
	unsigned i, nr = 0;

	a = with_ring(NULL);
	for (i = 0; i < bed_group(a, "deadlock")->finding.nr_evidence; i++)
		nr += !strcmp(bed_group(a, "deadlock")->finding.evidence[i].text,
			      "it works for traceparent "
			      "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01");
	CHECK_EQ(nr, 1);
	analysis_free(a);
	CHECK_EQ(u64map_put(&chosen, 2, 1), 0);
	bed_found(with_ring(&chosen), "deadlock", CONFIDENCE_PROVEN, "2 wait for each other");
	u64map_release(&chosen);
	CHECK_EQ(u64map_put(&chosen, 9, 1), 0);
	bed_found_none(with_ring(&chosen), "deadlock");
	u64map_release(&chosen);
}

/*
 * @others coroutines, each of its own kind, wait at site 2 and run on thread 7, the last one on
 * thread @last; coroutine 1 waits there and runs on threads 7 and 8 in turn.
 */
static struct analysis *with_bound_place(unsigned others, uint64_t last)
{
	struct analysis *a = bed_begin(NULL);
	double ms = 1;
	unsigned i, k;

	for (k = 0; k <= others; k++) {
		uint64_t tid = k && k == others ? last : 7;

		BED_ADD(a, BIRTH, ms, .probe_id = 1 + k, .site = 10 + k, .tid = tid);
		for (i = 0; i < 22; i++, ms++) {
			uint64_t now = !k && i > 3 && i % 2 ? 8 : tid;

			BED_ADD(a, RESUME, ms + 0.5, .probe_id = 1 + k, .tid = now);
			BED_ADD(a, SUSPEND, ms + 0.6, .probe_id = 1 + k, .site = 2, .tid = now);
		}
	}
	bed_end(a, ms, 0);
	return a;
}

static void one_that_leaves_the_thread_of_its_place_is_wrong(void)
{
	struct analysis *a = with_bound_place(5, 7);

	CHECK_STR(bed_group(a, "wrong-thread")->finding.evidence[0].text,
		  "5 others that wait at its place always ran on thread 7");
	bed_found(a, "wrong-thread", CONFIDENCE_SUSPECT,
		  "9 of 22 resumes were on another thread than its own, first on thread 8");
	bed_found_none(with_bound_place(4, 7), "wrong-thread");
	bed_found_none(with_bound_place(6, 9), "wrong-thread"); /* not the same thread for all */
}

int main(void)
{
	CHECK(close(mkstemp(rules_path)) == 0);
	RUN(a_group_counts_and_keeps_the_extremes);
	RUN(the_example_is_certain_then_undoubted_then_old);
	RUN(an_observer_is_called_for_each_finding);
	RUN(groups_beyond_the_limit_are_counted);
	RUN(groups_of_one_place_are_merged_with_all_their_needs);
	RUN(only_findings_that_need_missing_events_are_doubted);
	RUN(certain_findings_come_first_then_frequent_ones);
	RUN(a_finding_keeps_its_first_lines_of_evidence);
	RUN(a_wait_is_named_by_its_reason_and_resource);
	RUN(confidences_have_names);
	RUN(rules_match_places_functions_and_kinds);
	RUN(rules_that_cannot_be_meant_are_errors);
	RUN(coroutines_from_before_are_listed_by_their_stacks);
	RUN(the_model_knows_when_nothing_ran);
	RUN(the_model_keeps_the_waits_of_a_coroutine);
	RUN(the_model_knows_who_wakes);
	RUN(the_model_counts_kinds_and_their_lives);
	RUN(the_model_learns_from_facts_about_coroutines);
	RUN(the_model_keeps_long_waits_that_were_cancelled);
	RUN(a_ring_is_reported_if_one_of_it_is_chosen);
	RUN(one_that_leaves_the_thread_of_its_place_is_wrong);
	return 0;
}
