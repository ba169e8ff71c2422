/* SPDX-License-Identifier: MIT */
/*
 * test_run_waiting.c - the facts of coroutines that waited before `run -p` attached, from two looks
 * at the program.
 */
#include "run_waiting.h"

#include <inttypes.h>
#include <stdarg.h>

#include "check.h"
#include "process_look.h"

#define LOOK_TS 4242

static struct {
	const char *results[2]; /* of the looks, as JSON; NULL: it fails */
	unsigned nr_begun, nr_taken, nr_ended;
	char facts[1 << 16];
} world;

bool process_look_begin(struct process_look *look, pid_t pid)
{
	CHECK_EQ(pid, 99);
	look->child = 1;
	look->ts = LOOK_TS + world.nr_begun++;
	return true;
}

json_t *process_look_take(struct process_look *look, char why[LOOK_WHY_SIZE])
{
	const char *result = world.results[world.nr_taken++];
	json_t *found = result ? json_loads(result, 0, NULL) : NULL;

	CHECK(!result || found);
	CHECK(look->child);
	look->child = 0;
	snprintf(why, LOOK_WHY_SIZE, "reason %u", world.nr_taken);
	return found;
}

void process_look_end(struct process_look *look)
{
	(void)look;
	world.nr_ended++;
}

void trace_put_waiting(struct trace_writer *w, const struct trace_waiting *t)
{
	size_t used = strlen(world.facts);

	CHECK((void *)w == (void *)&world);
	snprintf(world.facts + used, sizeof(world.facts) - used,
		 "%" PRIu64 " %" PRIu64 " n=%" PRIu64 " %s=%" PRIu64 " %s %s:%" PRIu64
		 " [%s] %s%s%s\n",
		 t->pid, t->ts, t->count, t->is_checked ? "checked" : "unknown", t->unmoved,
		 t->function ? t->function : "-", t->file ? t->file : "-", t->line,
		 t->stack ? t->stack : "-", t->verdict ? t->verdict : "-", t->missing ? " " : "",
		 t->missing ? t->missing : "");
}

static const char *facts(const char *first, const char *second, bool is_running, bool has_attached)
{
	memset(&world, 0, sizeof(world));
	world.results[0] = first;
	world.results[1] = second;
	run_waiting_begin(99);
	run_waiting_add_facts((struct trace_writer *)&world, 99, is_running, has_attached);
	CHECK_EQ(world.nr_begun, world.nr_taken);
	return world.facts;
}

#define STACK_A                                                                             \
	"\"stack\": [{\"function\": \"read\", \"file\": \"/src/server.cpp\", \"line\": 7}," \
	"{\"function\": \"serve\", \"file\": \"server.cpp\", \"line\": 20}, {}]"
#define STACK_B "\"stack\": [{\"function\": \"wait\"}]"
#define SHOWN_A "read /src/server.cpp:7 [read server.cpp:7 <- serve server.cpp:20 <- ?]"

static const char two_groups[] =
	"{\"collector\": {}, \"groups\": ["
	"{" STACK_A ", \"verdict\": \"waiting\", \"untraced\": [\"0x10\", \"0x20\", \"0x30\"]},"
	"{" STACK_B ", \"untraced\": [\"0x30\", \"0x40\"]}, {" STACK_B "}]}";

static void nothing_is_written_of_a_program_without_such_coroutines(void)
{
	CHECK_STR(facts("{\"groups\": [{" STACK_A ", \"untraced\": []}, {" STACK_B "}]}", NULL,
			true, true),
		  "");
	CHECK_EQ(world.nr_taken, 1); /* no second look */
	CHECK_STR(facts("{}", NULL, true, true), "");
	CHECK(!run_waiting_missing());
}

static void groups_are_counted_and_compared(void)
{
	/* At the end: 0x10 is as it was, 0x20 elsewhere, 0x30 unknown, 0x40 as it was. */
	CHECK_STR(facts(two_groups,
			"{\"collector\": {\"pid\": 1}, \"groups\": ["
			"{" STACK_A ", \"untraced\": [\"0x10\"]},"
			"{" STACK_B ", \"untraced\": [\"0x20\", \"0x40\"]}]}",
			true, true),
		  "99 4242 n=3 checked=1 " SHOWN_A " waiting\n"
		  "99 4242 n=1 checked=1 wait -:0 [wait] -\n");
	CHECK_EQ(world.nr_taken, 2);
	CHECK(!run_waiting_missing());
}

static void a_program_that_ended_is_not_looked_at_again(void)
{
	CHECK_STR(facts(two_groups, NULL, false, true),
		  "99 4242 n=3 unknown=0 " SHOWN_A " waiting\n"
		  "99 4242 n=1 unknown=0 wait -:0 [wait] -\n");
	CHECK_EQ(world.nr_taken, 1);
	CHECK(!run_waiting_missing());
}

static void a_program_that_did_not_attach_has_no_collector(void)
{
	static const char later[] = "{\"collector\": null, \"groups\": [{" STACK_A
				    ", \"untraced\": [\"0x20\"]}]}";

	CHECK_STR(facts(two_groups, later, true, false),
		  "99 4242 n=3 checked=1 " SHOWN_A " waiting\n"
		  "99 4242 n=1 checked=0 wait -:0 [wait] -\n");
	/* One that did must have it. */
	CHECK_STR(facts(two_groups, later, true, true),
		  "99 4242 n=0 unknown=0 - -:0 [-] - cannot tell which coroutines ran that existed "
		  "before the attach: the look at the program did not find the collector\n"
		  "99 4242 n=3 unknown=0 " SHOWN_A " waiting\n"
		  "99 4242 n=1 unknown=0 wait -:0 [wait] -\n");
	CHECK_STR(run_waiting_missing(),
		  "cannot tell which coroutines ran that existed before the attach: the look at "
		  "the program did not find the collector");
}

static void a_look_that_fails_is_noted(void)
{
	CHECK_STR(facts(NULL, NULL, true, true),
		  "99 4242 n=0 unknown=0 - -:0 [-] - cannot tell where coroutines wait that "
		  "existed before the attach: reason 1\n");
	CHECK_STR(run_waiting_missing(), "cannot tell where coroutines wait that existed before "
					 "the attach: reason 1");
	CHECK_EQ(world.nr_taken, 1);
	CHECK_STR(facts(two_groups, NULL, true, true),
		  "99 4242 n=0 unknown=0 - -:0 [-] - cannot tell which coroutines ran that existed "
		  "before the attach: reason 2\n"
		  "99 4242 n=3 unknown=0 " SHOWN_A " waiting\n"
		  "99 4242 n=1 unknown=0 wait -:0 [wait] -\n");
	run_waiting_end();
	CHECK_EQ(world.nr_ended, 1);
}

int main(void)
{
	RUN(nothing_is_written_of_a_program_without_such_coroutines);
	RUN(groups_are_counted_and_compared);
	RUN(a_program_that_ended_is_not_looked_at_again);
	RUN(a_program_that_did_not_attach_has_no_collector);
	RUN(a_look_that_fails_is_noted);
	return 0;
}
