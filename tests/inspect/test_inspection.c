/* SPDX-License-Identifier: MIT */
/*
 * test_inspection.c - look at the coroutines of a small program, running and saved.
 *
 *	test_inspection BED SOURCE
 *
 * BED is inspection_bed.cpp, compiled by gcc or clang.  Lines of its source that end with a comment
 * "// @name" have that name here.
 */
#include "inspect/inspection.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/printer.h"
#include "base/proto.h"
#include "check.h"
#include "inspect/inspect_print.h"
#include "inspect/profile_files.h"
#include "inspect/sampler.h"
#include "symbols/index_cache.h"

static const char *bed_path, *source_path;
static pid_t bed;
static FILE *bed_out;
static struct {
	char name[32];
	int value;
} facts[32];
static size_t nr_facts;

/* ---- the program ----------------------------------------------------------------- */

/* Whether a thread sleeps; adds the time that it ran to @ran_ns. */
static bool thread_sleeps(pid_t pid, const char *tid, uint64_t *ran_ns)
{
	char path[300], line[512] = "", *state;
	unsigned long long ran = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", (int)pid, tid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%llu", &ran) == 1)
		*ran_ns += ran;
	if (f)
		fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", (int)pid, tid);
	f = fopen(path, "re");
	if (!f)
		return true; /* it has ended */
	CHECK(fgets(line, sizeof(line), f) != NULL);
	fclose(f);
	state = strrchr(line, ')');
	return state && state[2] == 'S';
}

/* Whether all threads sleep, and how long they ran until now. */
static bool threads_sleep(pid_t pid, uint64_t *ran_ns)
{
	char path[64];
	struct dirent *entry;
	bool sleep = true;
	DIR *dir;

	*ran_ns = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	CHECK(dir != NULL);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			sleep = thread_sleeps(pid, entry->d_name, ran_ns) && sleep;
	}
	closedir(dir);
	return sleep;
}

/* Until all threads sleep and none has run for a while: the machine may be busy. */
static void wait_asleep(pid_t pid)
{
	uint64_t before = 0, ran;
	int quiet = 0;

	while (quiet < 10) {
		quiet = threads_sleep(pid, &ran) && ran == before ? quiet + 1 : 0;
		before = ran;
		usleep(10000);
	}
}

static void bed_start(void)
{
	char line[128];
	int out[2], value;

	CHECK_EQ(pipe(out), 0);
	bed = fork();
	CHECK(bed >= 0);
	if (bed == 0) {
		dup2(out[1], STDOUT_FILENO);
		close(out[0]);
		close(out[1]);
		unsetenv("LD_PRELOAD"); /* a leak checker of the test is not for its program */
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test ends it */
		execl(bed_path, bed_path, NULL);
		_exit(127);
	}
	close(out[1]);
	bed_out = fdopen(out[0], "r");
	CHECK(bed_out != NULL);
	while (fgets(line, sizeof(line), bed_out) && strcmp(line, "ready\n") != 0) {
		CHECK(nr_facts < 32);
		if (sscanf(line, "%31s %d", facts[nr_facts].name, &value) == 2)
			facts[nr_facts++].value = value;
	}
	CHECK_STR(line, "ready\n");
	wait_asleep(bed);
}

static void bed_end(void)
{
	kill(bed, SIGKILL);
	waitpid(bed, NULL, 0);
	fclose(bed_out);
}

static int fact(const char *name)
{
	size_t i;

	for (i = 0; i < nr_facts; i++) {
		if (!strcmp(facts[i].name, name))
			return facts[i].value;
	}
	CHECK(!"a fact of the program");
	return -1;
}

/* The line that is marked with @name. */
static unsigned line_of(const char *name)
{
	FILE *f = fopen(source_path, "re");
	char line[256], mark[64];
	unsigned number = 0, found = 0;

	CHECK(f != NULL);
	snprintf(mark, sizeof(mark), "// @%s\n", name);
	while (fgets(line, sizeof(line), f)) {
		number++;
		if (strstr(line, mark))
			found = number;
	}
	fclose(f);
	CHECK(found != 0);
	return found;
}

/* ---- looks ------------------------------------------------------------------------ */

static char *text_of(struct inspection *in, bool is_json, const struct inspect_print_options *o)
{
	struct printer p;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	CHECK(f != NULL);
	printer_begin(&p, f, is_json);
	inspection_print(in, &p, o);
	CHECK_EQ(printer_end(&p), 0);
	fclose(f);
	return text;
}

static json_t *json_of(struct inspection *in, const struct inspect_print_options *o)
{
	char *text = text_of(in, true, o);
	json_t *json = json_loads(text, 0, NULL);

	CHECK(json != NULL);
	free(text);
	return json;
}

static const char *str(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static long long num(const json_t *object, const char *key)
{
	CHECK(json_is_integer(json_object_get(object, key)));
	return json_integer_value(json_object_get(object, key));
}

static bool flag(const json_t *object, const char *key)
{
	CHECK(json_is_boolean(json_object_get(object, key)));
	return json_is_true(json_object_get(object, key));
}

static const json_t *level_of(const json_t *group, size_t depth)
{
	return json_array_get(json_object_get(group, "stack"), depth);
}

static bool is_at(const json_t *level, const char *name)
{
	return strstr(str(level, "file"), "inspection_bed.cpp") &&
	       num(level, "line") == line_of(name);
}

/* The group with @name as its innermost line that waits for descriptor @fd (-1: any). */
static const json_t *find_group(const json_t *found, const char *name, int fd)
{
	const json_t *groups = json_object_get(found, "groups");
	size_t i, k;

	for (i = 0; i < json_array_size(groups); i++) {
		const json_t *g = json_array_get(groups, i);
		const json_t *list = json_object_get(json_object_get(g, "waits_for"),
						     "descriptors");

		if (!is_at(level_of(g, 0), name))
			continue;
		if (fd < 0)
			return g;
		for (k = 0; k < json_array_size(list); k++) {
			if (num(json_array_get(list, k), "descriptor") == fd)
				return g;
		}
	}
	fprintf(stderr, "no group at %s, descriptor %d\n", name, fd);
	CHECK(!"the group is found");
	return NULL;
}

static const json_t *find_descriptor(const json_t *group, int fd)
{
	const json_t *list = json_object_get(json_object_get(group, "waits_for"), "descriptors");
	size_t k;

	for (k = 0; k < json_array_size(list); k++) {
		if (num(json_array_get(list, k), "descriptor") == fd)
			return json_array_get(list, k);
	}
	CHECK(!"the descriptor is listed");
	return NULL;
}

static void check_stacks(const json_t *found, bool is_gcc)
{
	const json_t *g = find_group(found, "leaf", -1), *level;

	CHECK_EQ(num(g, "count"), 3);
	CHECK_STR(str(g, "verdict"), "waiting");
	CHECK_STR(str(g, "confidence"), "none");
	CHECK_EQ(json_array_size(json_object_get(g, "stack")), 3);
	CHECK_EQ(json_array_size(json_object_get(g, "members")), 3);
	CHECK(is_at(level_of(g, 1), "middle"));
	CHECK(is_at(level_of(g, 2), "root"));
	level = level_of(g, 0);
	CHECK(flag(level, "exact"));
	CHECK_EQ(strncmp(str(level, "function"), "leaf", 4), 0);
	CHECK_EQ(strncmp(str(level_of(g, 1), "function"), "middle", 6), 0);
	CHECK_STR(str(level, "awaits"), is_gcc ? "Wait" : "");
	CHECK(num(g, "bytes") > 3 * 3 * 40);
	CHECK(num(g, "bytes") < 3 * 3 * 1000);
	CHECK_STR(str(json_object_get(g, "waits_for"), "kind"), is_gcc ? "awaiter" : "");
	CHECK_STR(str(json_object_get(g, "waits_for"), "type"), is_gcc ? "Wait" : "");

	g = find_group(found, "lost", -1);
	CHECK_EQ(num(g, "count"), 2);
	CHECK_STR(str(g, "verdict"), "unreachable");
	CHECK_EQ(json_array_size(json_object_get(g, "stack")), 1);
	CHECK_STR(str(g, "reason"), "no pointer to it exists: it can never be resumed");
}

static void check_not_started(const json_t *found)
{
	const json_t *groups = json_object_get(found, "groups");
	size_t i, nr = 0;

	for (i = 0; i < json_array_size(groups); i++) {
		const json_t *g = json_array_get(groups, i);

		if (strncmp(str(level_of(g, 0), "function"), "not_started", 11) != 0)
			continue;
		nr++;
		CHECK_EQ(num(g, "count"), 1);
		CHECK_STR(str(g, "verdict"), "waiting");
		CHECK_STR(str(json_object_get(g, "waits_for"), "kind"), "start");
	}
	CHECK_EQ(nr, 1);
}

/* A descriptor, and what is said of the coroutine that waits for it. */
static void check_wait(const json_t *found, const char *name, const char *line, const char *verdict,
		       const char *confidence, const char *reason)
{
	const json_t *g = find_group(found, line, fact(name));

	CHECK_STR(str(g, "verdict"), verdict);
	CHECK_STR(str(g, "confidence"), confidence);
	CHECK_STR(str(g, "reason"), reason);
	CHECK_STR(str(json_object_get(g, "waits_for"), "kind"), "descriptor");
}

static void check_waits(const json_t *found, bool is_gcc)
{
	/* Only gcc names the variable of the current awaiter. */
	const char *strong = is_gcc ? "strong" : "suspect";
	const json_t *d;

	check_wait(found, "empty", "reads", "waiting", "none", "");
	check_wait(found, "unread", "reads", "ready-not-taken", strong,
		   "it is ready, and no epoll set contains it");
	check_wait(found, "edge", "reads", "ready-not-taken", strong,
		   "it is ready, and its edge was taken before");
	check_wait(found, "timer", "reads", "deadline-passed", strong,
		   "its timer has expired, and nothing reads it");
	check_wait(found, "count", "reads", "ready-not-taken", strong,
		   "it is ready, and no epoll set contains it");
	check_wait(found, "empty", "writes", "ready-not-taken", strong,
		   "it is writable, and is registered without EPOLLOUT");
	check_wait(found, "closed", "reads", "closed-under-waiter", is_gcc ? "proven" : "suspect",
		   is_gcc ? "the descriptor that it waits for is closed"
			  : "a descriptor that it holds is closed");

	d = find_descriptor(find_group(found, "reads", fact("unread")), fact("unread"));
	CHECK_STR(str(d, "state"), "open");
	CHECK_STR(str(d, "type"), "socket");
	CHECK_EQ(num(d, "unread"), 3);
	CHECK(flag(d, "readable"));
	CHECK(flag(d, "writable"));
	CHECK(!flag(d, "watched"));
	CHECK_EQ(flag(d, "in_awaiter"), is_gcc);
	d = find_descriptor(find_group(found, "reads", fact("edge")), fact("edge"));
	CHECK_EQ(num(d, "unread"), 2);
	CHECK(flag(d, "watched"));
	CHECK(flag(d, "edge_triggered"));
	CHECK(!flag(d, "disarmed"));
	d = find_descriptor(find_group(found, "reads", fact("empty")), fact("empty"));
	CHECK(flag(d, "watched"));
	CHECK(!flag(d, "edge_triggered"));
	CHECK(!flag(d, "readable"));
	CHECK_EQ(num(d, "unread"), 0);
	d = find_descriptor(find_group(found, "reads", fact("closed")), fact("closed"));
	CHECK_STR(str(d, "state"), "closed");
	d = find_descriptor(find_group(found, "reads", fact("count")), fact("count"));
	CHECK_STR(str(d, "type"), "eventfd");
	CHECK_EQ(num(d, "unread"), 5);
	d = find_descriptor(find_group(found, "reads", fact("timer")), fact("timer"));
	CHECK_STR(str(d, "type"), "timerfd");
}

/* Faults come first. */
static void check_order(const json_t *found)
{
	const json_t *groups = json_object_get(found, "groups");
	bool is_waiting = false;
	size_t i;

	CHECK_EQ(json_array_size(groups), 10); /* two descriptors have the same fault */
	for (i = 0; i < json_array_size(groups); i++) {
		bool waits = !strcmp(str(json_array_get(groups, i), "verdict"), "waiting");

		CHECK(!is_waiting || waits);
		is_waiting = waits;
	}
	CHECK_EQ(num(json_array_get(groups, 6), "count"), 5); /* the largest that waits */
}

static void check_threads(const json_t *found, bool is_running)
{
	const json_t *threads = json_object_get(found, "threads");
	size_t i, nr_blocked = 0, nr_locks = 0;

	CHECK_EQ(json_array_size(threads), 3);
	for (i = 0; i < 3; i++) {
		const json_t *t = json_array_get(threads, i),
			     *wait = json_object_get(t, "waits_for");

		CHECK_STR(str(t, "state"), "S");
		CHECK_EQ(strncmp(str(t, "name"), "inspection", 10), 0);
		nr_blocked += !strncmp(str(t, "runs"), "blocks", 6);
		if (!is_running)
			continue;
		CHECK_STR(str(t, "system_call"), wait && json_is_object(wait) ? "futex" : "read");
		if (strcmp(str(wait, "kind"), "lock") != 0)
			continue;
		nr_locks++;
		CHECK_EQ(num(wait, "holder"), bed);
		CHECK_EQ(strncmp(str(wait, "object"), "0x", 2), 0);
	}
	CHECK_EQ(num(json_array_get(threads, 0), "tid"), bed);
	CHECK_EQ(nr_blocked, 1);
	CHECK_EQ(nr_locks, is_running);
}

static void check_found(const json_t *found, bool is_running, bool is_gcc)
{
	CHECK_EQ(num(found, "pid"), bed);
	CHECK_EQ(strncmp(str(found, "name"), "inspection", 10), 0);
	/* 3 stacks of 3, 2 lost, 1 not started, 7 for descriptors, 5 as those of the SDK. */
	CHECK_EQ(num(found, "coroutines"), 24);
	CHECK_EQ(num(found, "finished"), 1);
	CHECK_EQ(num(found, "running"), 1);
	CHECK_EQ(num(found, "changed"), 0);
	CHECK(!flag(found, "busy"));
	CHECK(!flag(found, "incomplete"));
	check_stacks(found, is_gcc);
	check_not_started(found);
	check_waits(found, is_gcc);
	check_order(found);
	check_threads(found, is_running);
}

static bool bed_is_gcc(void)
{
	return !strstr(bed_path, "clang");
}

/* ---- tests -------------------------------------------------------------------------- */

static struct inspection *look(struct process_image *image, bool may_stop)
{
	struct err err = { 0 };
	struct inspection *in = inspection_new(image, &err);

	CHECK(in != NULL);
	in->may_stop = may_stop;
	if (inspection_look(in, &err) < 0)
		fprintf(stderr, "%s\n", err.text);
	CHECK_EQ(err.code, 0);
	return in;
}

static const json_t *local_of(const json_t *level, const char *name)
{
	const json_t *list = json_object_get(level, "locals");
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		if (!strcmp(str(json_array_get(list, i), "name"), name))
			return json_array_get(list, i);
	}
	fprintf(stderr, "no variable %s\n", name);
	CHECK(!"the variable is listed");
	return NULL;
}

/* The number of the variable's member @name, or of itself (NULL). */
static const json_t *member_of(const json_t *local, const char *name)
{
	const json_t *list = json_object_get(local, "members");
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		if (!strcmp(str(json_array_get(list, i), "name"), name))
			return json_object_get(json_array_get(list, i), "value");
	}
	CHECK(!"the member is listed");
	return NULL;
}

static void check_locals(struct inspection *in)
{
	struct inspect_print_options o = { .locals = true, .locals_max = 2 };
	json_t *found = json_of(in, &o);
	const json_t *g = find_group(found, "leaf", -1), *level = level_of(g, 0), *v;
	long long number = json_integer_value(json_object_get(local_of(level, "number"), "value"));
	char *text;

	CHECK(number >= 1 && number <= 3);
	CHECK_EQ(json_integer_value(json_object_get(local_of(level, "wide"), "value")),
		 1000000000000 + number);
	CHECK_EQ(json_integer_value(json_object_get(local_of(level, "small"), "value")), 200);
	CHECK(json_is_true(json_object_get(local_of(level, "flag"), "value")));
	CHECK_STR(str(local_of(level, "color"), "value"), "green");
	v = local_of(level, "point");
	CHECK_EQ(json_integer_value(member_of(v, "x")), number);
	CHECK(json_real_value(member_of(v, "y")) == 2.5);
	CHECK_EQ(json_integer_value(json_object_get(local_of(level, "text"), "length")), 6);
	CHECK_EQ(json_array_size(json_object_get(g, "member_locals")), 2);
	v = local_of(level, "letters");
	CHECK_STR(json_string_value(member_of(v, "a")), "A");
	CHECK_STR(json_string_value(member_of(v, "e")), "\xc3\xa9");
	CHECK_STR(json_string_value(member_of(v, "euro")), "\xe2\x82\xac");
	CHECK_STR(json_string_value(member_of(v, "smile")), "\xf0\x9f\x98\x80");
	json_decref(found);
	/* The contents of strings are shown on request only. */
	text = text_of(in, false, &o);
	CHECK(strstr(text, "secret") == NULL);
	CHECK(strstr(text, "color") != NULL && strstr(text, "green") != NULL);
	free(text);
	o.show_values = true;
	text = text_of(in, false, &o);
	CHECK(strstr(text, "secret") != NULL);
	CHECK(strstr(text, "letters = { a = 'A', e = '\xc3\xa9', euro = '\xe2\x82\xac', "
			   "smile = '\xf0\x9f\x98\x80' }") != NULL);
	free(text);
}

static void check_text(struct inspection *in)
{
	struct inspect_print_options o = { .groups_max = 0 };
	char *text = text_of(in, false, &o), part[128];

	snprintf(part, sizeof(part), "process %d (inspection", (int)bed);
	CHECK_EQ(strncmp(text, part, strlen(part)), 0);
	CHECK(strstr(text, "), 3 threads\n") != NULL);
	CHECK(strstr(text, "24 suspended coroutines, 1 at their end and not destroyed, 1 "
			   "running\n") != NULL);
	CHECK(strstr(text, "\n3 x waiting") != NULL);
	CHECK(strstr(text, "\n2 x unreachable, ") != NULL);
	if (bed_is_gcc())
		CHECK(strstr(text, "  co_await Wait") != NULL);
	CHECK(strstr(text, "(not started)") != NULL);
	CHECK(strstr(text, "<- middle") != NULL);
	CHECK(strstr(text, "socket, 3 bytes unread, in no epoll set") != NULL);
	snprintf(part, sizeof(part), "socket, 2 bytes unread, edge-triggered in epoll set %d",
		 fact("epoll"));
	CHECK(strstr(text, part) != NULL);
	snprintf(part, sizeof(part), "descriptor %d: closed", fact("closed"));
	CHECK(strstr(text, part) != NULL);
	CHECK(strstr(text, "eventfd, 5 in its counter") != NULL);
	CHECK(strstr(text, "timerfd, 1 expirations not read") != NULL);
	CHECK(strstr(text, "blocked in read") != NULL);
	CHECK(strstr(text, ", runs blocks") != NULL);
	snprintf(part, sizeof(part), ", held by thread %d\n", (int)bed);
	CHECK(strstr(text, "blocked in futex, waits for mutex 0x") != NULL);
	CHECK(strstr(text, part) != NULL);
	CHECK(strstr(text, "more groups") == NULL);
	free(text);
	o.groups_max = 4;
	text = text_of(in, false, &o);
	CHECK(strstr(text, "\nand 6 more groups (--all)\n") != NULL);
	free(text);
}

static void a_running_program_is_described(void)
{
	struct inspect_print_options o = { 0 };
	struct process_image image;
	struct err err = { 0 };
	struct inspection *in;
	json_t *found;

	CHECK_EQ(image_open_process(&image, bed, &err), 0);
	in = look(&image, false);
	found = json_of(in, &o);
	check_found(found, true, bed_is_gcc());
	json_decref(found);
	check_text(in);
	check_locals(in);
	inspection_free(in);
	image_close(&image);
}

#include "inspection_traced.h"

static void a_saved_program_is_described_alike(void)
{
	char path[] = "/tmp/corotracer-test-XXXXXX";
	struct inspect_print_options o = { 0 };
	struct process_image image;
	struct err err = { 0 };
	struct inspection *in;
	int fd = mkstemp(path);
	json_t *found;

	CHECK(fd >= 0);
	close(fd);
	unlink(path);
	wait_asleep(bed); /* its threads may have been stopped for their variables */
	CHECK_EQ(image_open_process(&image, bed, &err), 0);
	CHECK_EQ(inspection_save(&image, path, &err), 0);
	image_close(&image);
	CHECK_EQ(image_open_core(&image, path, NULL, &err), 0);
	in = look(&image, false);
	found = json_of(in, &o);
	check_found(found, false, bed_is_gcc());
	json_decref(found);
	inspection_free(in);
	image_close(&image);
	unlink(path);
}

static bool stack_has(const json_t *thread, const char *function)
{
	const json_t *stack = json_object_get(thread, "stack");
	size_t i;

	for (i = 0; i < json_array_size(stack); i++) {
		if (strstr(str(json_array_get(stack, i), "function"), function))
			return true;
	}
	return false;
}

static void a_stopped_program_has_native_stacks(void)
{
	struct inspect_print_options o = { 0 };
	struct process_image image;
	struct err err = { 0 };
	struct inspection *in;
	const json_t *thread;
	json_t *found;
	char *text;

	CHECK_EQ(image_open_process(&image, bed, &err), 0);
	in = look(&image, true);
	found = json_of(in, &o);
	CHECK_EQ(num(found, "coroutines"), 24);
	check_stacks(found, bed_is_gcc());
	check_waits(found, bed_is_gcc());
	check_threads(found, true);
	CHECK(num(found, "stopped_ns") > 0);
	thread = json_array_get(json_object_get(found, "threads"), 0);
	CHECK(stack_has(thread, "read"));
	CHECK(stack_has(thread, "blocks"));
	CHECK(stack_has(thread, "main"));
	CHECK_STR(str(thread, "runs"), "blocks");
	CHECK_EQ(strncmp(str(thread, "frame"), "0x", 2), 0);
	json_decref(found);
	text = text_of(in, false, &o);
	CHECK(strstr(text, "The threads were stopped for ") != NULL);
	CHECK(strstr(text, "\n             blocks") != NULL);
	free(text);
	inspection_free(in);
	image_close(&image);
	CHECK_EQ(kill(bed, 0), 0);
}

/* ---- samples ------------------------------------------------------------------------ */

static uint64_t samples_at(const struct wait_profile *p, const char *name, enum profile_state state)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < p->nr_stacks; i++) {
		const struct profile_place *place = wait_profile_place_at(p, p->stacks[i].level);

		if (p->stacks[i].state == state && place->line == line_of(name) &&
		    strstr(place->file, "inspection_bed"))
			sum += p->stacks[i].samples;
	}
	return sum;
}

static void check_profile_files(const struct profile_run *run)
{
	struct proto proto = { 0 };
	char *text = NULL, part[64];
	size_t size;
	FILE *f = open_memstream(&text, &size);
	json_t *json;

	CHECK_EQ(profile_write_folded(run, f), 0);
	fclose(f);
	/* 9 samples of 0.1 s each, in microseconds. */
	CHECK(strstr(text, "root") != NULL);
	CHECK(strstr(text, "leaf") != NULL);
	CHECK(strstr(text, "[waiting] 900000\n") != NULL);
	free(text);
	f = open_memstream(&text, &size);
	CHECK_EQ(profile_write_speedscope(run, f), 0);
	fclose(f);
	json = json_loads(text, 0, NULL);
	CHECK(json != NULL);
	CHECK(json_array_size(json_object_get(json_object_get(json, "shared"), "frames")) > 5);
	json_decref(json);
	free(text);
	profile_write_pprof(run, &proto);
	CHECK_EQ(proto.error, 0);
	CHECK(proto.used > 100);
	snprintf(part, sizeof(part), "inspection_bed.cpp");
	CHECK(memmem(proto.buf, proto.used, part, strlen(part)) != NULL);
	proto_release(&proto);
}

static void check_profile_text(struct profile_run *run)
{
	char *text = NULL;
	size_t size;
	struct printer p;
	FILE *f = open_memstream(&text, &size);
	const json_t *stack;
	json_t *json;

	run->elapsed_ns = 300000000;
	run->stopped_ns = 1500000;
	printer_begin(&p, f, false);
	profile_print(run, &p, 3);
	CHECK_EQ(printer_end(&p), 0);
	fclose(f);
	CHECK(strstr(text, " (bed), 3 looks in 0.3 s, each stands for 100 ms\n") != NULL);
	CHECK(strstr(text, "19.0 tasks on average: 18.0 waiting, 1.0 running\n") != NULL);
	CHECK(strstr(text, "  31.58 %           1.8       6.0  waiting ") != NULL);
	CHECK(strstr(text, "  15.79 %           0.9       3.0  waiting ") != NULL);
	CHECK(strstr(text, "<- middle") != NULL);
	CHECK(strstr(text, "<- root") != NULL);
	CHECK(strstr(text, " more stacks (--all)\n") != NULL);
	CHECK(strstr(text, "\nA look took ") != NULL);
	CHECK(strstr(text, "The threads were stopped for 1.500 ms in total.\n") != NULL);
	CHECK(strstr(text, "looks failed") == NULL);
	free(text);
	f = open_memstream(&text, &size);
	printer_begin(&p, f, true);
	profile_print(run, &p, 2);
	CHECK_EQ(printer_end(&p), 0);
	fclose(f);
	json = json_loads(text, 0, NULL);
	CHECK(json != NULL);
	CHECK_EQ(num(json, "pid"), bed);
	CHECK_STR(str(json, "name"), "bed");
	CHECK_EQ(num(json, "looks"), 3);
	CHECK_EQ(num(json, "samples"), 57);
	CHECK_EQ(num(json, "period_ns"), 100000000);
	CHECK_EQ(num(json, "elapsed_ns"), 300000000);
	CHECK_STR(str(json, "ended_by"), "duration");
	CHECK(json_array_size(json_object_get(json, "stacks")) > 2);
	stack = json_array_get(json_object_get(json, "stacks"), 0);
	CHECK_EQ(num(stack, "samples"), 18);
	CHECK_EQ(num(stack, "most"), 6);
	CHECK_STR(str(stack, "state"), "waiting");
	CHECK(is_at(level_of(stack, 0), "reads"));
	CHECK(flag(level_of(stack, 0), "exact"));
	stack = json_array_get(json_object_get(json, "stacks"), 2);
	CHECK_EQ(json_array_size(json_object_get(stack, "stack")), 3);
	CHECK(is_at(level_of(stack, 2), "root"));
	json_decref(json);
	free(text);
}

static void looks_are_added_up(void)
{
	struct wait_profile profile = { .period_ns = 100000000 };
	struct sampler s = { .profile = &profile };
	struct profile_run run = {
		.profile = &profile, .pid = bed, .name = "bed", .ended_by = "duration"
	};
	struct err err = { 0 };
	int i;

	CHECK_EQ(sampler_open(&s, bed, &err), 0);
	CHECK_EQ(sampler_prepare(&s, &err), 0);
	CHECK_EQ(profile.looks, 0);
	for (i = 0; i < 3; i++)
		CHECK_EQ(sampler_look(&s, &err), 0);
	CHECK_EQ(profile.looks, 3);
	CHECK_EQ(profile.losses.failed, 0);
	CHECK_EQ(profile.losses.reloads, 0);
	CHECK_EQ(samples_at(&profile, "leaf", PROFILE_WAITING), 9);
	CHECK_EQ(samples_at(&profile, "lost", PROFILE_WAITING), 6);
	CHECK_EQ(samples_at(&profile, "reads", PROFILE_WAITING), 18);
	CHECK_EQ(samples_at(&profile, "writes", PROFILE_WAITING), 3);
	/* 3 stacks, 2 lost, 1 not started, 7 for descriptors, 5 traced: an awaited frame is not
	 * counted. */
	CHECK_EQ(profile.samples[PROFILE_WAITING], 3 * 18);
	CHECK_EQ(profile.samples[PROFILE_RUNNING], 3);
	CHECK_EQ(wait_profile_samples(&profile), 3 * 19);
	wait_profile_sort(&profile);
	CHECK_EQ(profile.stacks[0].samples, 18);
	CHECK_EQ(profile.stacks[0].most, 6);
	run.problem = sampler_problem(&s);
	CHECK(run.problem == NULL);
	check_profile_files(&run);
	check_profile_text(&run);
	sampler_close(&s);
	wait_profile_release(&profile);
}

static void a_process_that_ended_is_noticed(void)
{
	struct wait_profile profile = { .period_ns = 100000000 };
	struct sampler s = { .profile = &profile };
	struct err err = { 0 };

	CHECK_EQ(sampler_open(&s, bed, &err), 0);
	CHECK_EQ(sampler_prepare(&s, &err), 0);
	bed_end();
	CHECK_EQ(sampler_look(&s, &err), -ESRCH);
	sampler_close(&s);
	wait_profile_release(&profile);
}

int main(int argc, char **argv)
{
	CHECK_EQ(argc, 3);
	bed_path = argv[1];
	source_path = argv[2];
	index_cache_set(false);
	bed_start();
	RUN(a_running_program_is_described);
	RUN(coroutines_of_the_sdk_are_joined);
	RUN(a_saved_program_is_described_alike);
	RUN(looks_are_added_up);
	RUN(a_stopped_program_has_native_stacks);
	RUN(a_process_that_ended_is_noticed);
	return 0;
}
