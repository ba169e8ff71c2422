/* SPDX-License-Identifier: MIT */
/*
 * test_sdk_watch.c - which processes with the SDK did not connect, and when they are looked at.
 *
 * The processes are children of the test; what their memory says is the test's.
 */
#include "collect/sdk_watch.h"

#include <corotracer/request.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "check.h"
#include "collect/program_request.h"
#include "count_open.h"
#include "process/elf_file.h"

#define START (100 * NS_PER_SEC)

static struct {
	uint32_t pids[600]; /* that were looked at */
	uint32_t nr_looks, nr_reads;
	uint32_t of;  /* only this one has the SDK; 0: all */
	uint32_t why; /* what its block says */
	bool is_gone; /* the block */
	bool has_note, needs_library;
	ino_t opened; /* the file whose notes were read */
} world;

bool __wrap_request_peek(pid_t pid, uint32_t *why, uint64_t *address);
bool __wrap_request_peek(pid_t pid, uint32_t *why, uint64_t *address)
{
	CHECK(world.nr_looks < 600);
	world.pids[world.nr_looks++] = (uint32_t)pid;
	if (world.of && world.of != (uint32_t)pid)
		return false;
	*why = world.why;
	*address = 0x1000;
	return true;
}

bool __wrap_request_peek_again(pid_t pid, uint64_t address, uint32_t *why);
bool __wrap_request_peek_again(pid_t pid, uint64_t address, uint32_t *why)
{
	(void)pid;
	CHECK_EQ(address, 0x1000);
	world.nr_reads++;
	if (world.is_gone)
		return false;
	*why = world.why;
	return true;
}

const char *__wrap_target_name(pid_t pid, char buf[32]);
const char *__wrap_target_name(pid_t pid, char buf[32])
{
	snprintf(buf, 32, "program %d", (int)pid);
	return buf;
}

bool __wrap_elf_file_has_note(int fd, const char *name, uint32_t type);
bool __wrap_elf_file_has_note(int fd, const char *name, uint32_t type)
{
	struct stat st;

	CHECK_STR(name, CTP_NOTE_NAME);
	CHECK_EQ(type, CTP_NOTE_REQUEST);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(fstat(fd, &st), 0);
	world.opened = st.st_ino;
	return world.has_note;
}

bool __wrap_elf_file_needs(int fd, const char *prefix);
bool __wrap_elf_file_needs(int fd, const char *prefix)
{
	(void)fd;
	CHECK_STR(prefix, "libcorotracer.so");
	return world.needs_library;
}

static struct sdk_watch w;
static struct endpoint e;
static struct peer peers[2];

static void begin(pid_t program, const char *name)
{
	unsigned before = count_open();

	memset(&e, 0, sizeof(e));
	e.peers = peers;
	sdk_watch_begin(&w, program, name, START);
	CHECK_EQ(count_open(), before);
}

static void connect_peer(uint32_t pid)
{
	peers[e.nr_peers++] = (struct peer){ .pid = pid };
}

static bool was_looked_at(pid_t pid)
{
	uint32_t i;

	for (i = 0; i < world.nr_looks; i++) {
		if (world.pids[i] == (uint32_t)pid)
			return true;
	}
	return false;
}

static void world_new(void)
{
	memset(&world, 0, sizeof(world));
	world.why = CTP_WHY_NO_ENVIRONMENT;
}

/* ---- the program's file --------------------------------------------------------------- */

static char first[128], second[128];

static ino_t make_program(const char *folder, const char *name, mode_t mode)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	CHECK(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) == 0);
	CHECK_EQ(chmod(path, mode), 0);
	CHECK_EQ(stat(path, &st), 0);
	return st.st_ino;
}

static void remove_program(const char *folder, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	CHECK_EQ(unlink(path), 0);
}

static ino_t found(const char *path, const char *name)
{
	if (path)
		setenv("PATH", path, 1);
	else
		unsetenv("PATH");
	world_new();
	begin(0, name);
	return world.opened;
}

static void the_file_is_the_one_that_is_executed(void)
{
	char before[4096], path[512], name[256];
	ino_t in_first, in_second, plain, both;
	struct stat st;

	snprintf(before, sizeof(before), "%s", getenv("PATH"));
	in_first = make_program(first, "one", 0755);
	in_second = make_program(second, "two", 0755);
	plain = make_program(first, "plain", 0644); /* cannot be executed */
	both = make_program(second, "plain", 0755);
	snprintf(path, sizeof(path), "%s:%s", first, second);
	CHECK_EQ(found(path, "one"), in_first);
	CHECK_EQ(found(path, "two"), in_second);
	CHECK_EQ(found(path, "plain"), both);
	CHECK_EQ(found(path, "three"), 0);
	snprintf(name, sizeof(name), "%s/plain", first);
	CHECK_EQ(found(path, name), plain); /* a path is not searched for */
	CHECK_STR(w.name, "plain");
	/* Empty folders are the current one, wherever they are. */
	CHECK_EQ(chdir(first), 0);
	snprintf(path, sizeof(path), ":%s", second);
	CHECK_EQ(found(path, "one"), in_first);
	snprintf(path, sizeof(path), "%s::/nonexistent", second);
	CHECK_EQ(found(path, "one"), in_first);
	snprintf(path, sizeof(path), "%s:", second);
	CHECK_EQ(found(path, "one"), in_first);
	CHECK_EQ(found("", "one"), in_first);
	CHECK_EQ(found("/nonexistent", "one"), 0);
	/* Without PATH, the system's folders. */
	CHECK_EQ(stat("/bin/sh", &st), 0);
	CHECK_EQ(found(NULL, "sh"), st.st_ino);
	CHECK_EQ(found(NULL, "one"), 0);
	/* A folder of that name is not executed. */
	CHECK_EQ(mkdir("two", 0755), 0);
	snprintf(path, sizeof(path), "%s:%s", first, second);
	CHECK_EQ(found(path, "two"), in_second);
	CHECK_EQ(rmdir("two"), 0);
	CHECK_EQ(chdir("/"), 0);
	setenv("PATH", before, 1);
	remove_program(first, "one");
	remove_program(first, "plain");
	remove_program(second, "two");
	remove_program(second, "plain");
}

static void a_program_that_ended_early_is_known_by_its_file(void)
{
	world_new();
	begin(77, "/bin/sh");
	CHECK(!w.has_sdk);
	sdk_watch_finish(&w, &e);
	CHECK_EQ(w.nr, 0);
	world.has_note = true;
	begin(77, "/bin/sh");
	CHECK(w.has_sdk);
	sdk_watch_finish(&w, &e);
	CHECK_EQ(w.nr, 1);
	CHECK_EQ(w.found[0].pid, 77);
	CHECK_STR(w.found[0].name, "sh");
	CHECK_STR(sdk_process_reason(&w.found[0]), "not-seen");
	CHECK(!sdk_process_failed(&w.found[0]));
	world.has_note = false;
	world.needs_library = true;
	begin(77, "/bin/sh");
	CHECK(w.has_sdk);
	connect_peer(77);
	sdk_watch_finish(&w, &e);
	CHECK_EQ(w.nr, 0); /* it connected */
	/* Another process connected: this one may only have started it. */
	begin(77, "/bin/sh");
	connect_peer(78);
	sdk_watch_finish(&w, &e);
	CHECK_EQ(w.nr, 0);
}

/* ---- looks --------------------------------------------------------------------------------- */

static void looks_become_rarer(void)
{
	const uint64_t ms = NS_PER_MS;

	world_new();
	world.is_gone = true;
	begin(getpid(), "x");
	CHECK_EQ(sdk_watch_wait(&w, START, 100 * ms), 3 * ms);
	CHECK_EQ(sdk_watch_wait(&w, START, 2 * ms), 2 * ms);
	CHECK_EQ(sdk_watch_wait(&w, START + 4 * ms, 2 * ms), 0);
	sdk_watch_look(&w, &e, START + 3 * ms - 1);
	CHECK_EQ(world.nr_looks, 0);
	sdk_watch_look(&w, &e, START + 3 * ms);
	CHECK_EQ(world.nr_looks, 1);
	CHECK_EQ(world.nr_reads, 1); /* at once */
	CHECK_EQ(sdk_watch_wait(&w, START + 3 * ms, 100 * ms), 3 * ms);
	sdk_watch_look(&w, &e, START + 6 * ms - 1);
	CHECK_EQ(world.nr_looks, 1);
	sdk_watch_look(&w, &e, START + 6 * ms);
	CHECK_EQ(world.nr_looks, 2);
	CHECK_EQ(sdk_watch_wait(&w, START + 6 * ms, 100 * ms), 6 * ms);
	/* A block that exists is read more often: after 3 ms and a fiftieth of the run's time. */
	world.is_gone = false;
	sdk_watch_look(&w, &e, START + 1000 * ms);
	CHECK_EQ(world.nr_looks, 3);
	CHECK_EQ(world.nr_reads, 3);
	CHECK_EQ(sdk_watch_wait(&w, START + 1000 * ms, 5000 * ms), 23 * ms);
	sdk_watch_look(&w, &e, START + 1023 * ms - 1);
	CHECK_EQ(world.nr_reads, 3);
	world.why = CTP_WHY_SECURE;
	sdk_watch_look(&w, &e, START + 1023 * ms);
	CHECK_EQ(world.nr_reads, 4);
	CHECK_EQ(world.nr_looks, 3);
	CHECK_EQ(w.nr, 1);
	CHECK_EQ(w.found[0].why, CTP_WHY_SECURE);
	/* It is gone: it is not read again before the next look. */
	world.is_gone = true;
	sdk_watch_look(&w, &e, START + 1500 * ms);
	CHECK_EQ(world.nr_reads, 5);
	CHECK_EQ(sdk_watch_wait(&w, START + 1500 * ms, 5000 * ms), 500 * ms);
	CHECK_EQ(w.found[0].block, 0);
	sdk_watch_look(&w, &e, START + 1999 * ms);
	CHECK_EQ(world.nr_reads, 5);
	/* What connects is not looked at any more. */
	world.is_gone = false;
	connect_peer((uint32_t)getpid());
	sdk_watch_look(&w, &e, START + 3000 * ms);
	CHECK_EQ(world.nr_looks, 3);
	CHECK_EQ(world.nr_reads, 5);
}

static void a_watch_that_was_not_begun_does_nothing(void)
{
	world_new();
	memset(&w, 0, sizeof(w));
	sdk_watch_look(&w, &e, START);
	CHECK_EQ(world.nr_looks, 0);
	CHECK_EQ(sdk_watch_wait(&w, START, 77), 77);
}

/* A child with a child, which is told on the pipe. */
static void descendants_are_looked_at(void)
{
	unsigned before = count_open();
	int fds[2];
	pid_t child, grandchild = 0;

	CHECK_EQ(pipe(fds), 0);
	child = fork();
	if (child == 0) {
		pid_t pid = fork();

		alarm(100);
		if (pid > 0) {
			CHECK_EQ(write(fds[1], &pid, sizeof(pid)), sizeof(pid));
			close(fds[1]);
		}
		pause();
		_exit(0);
	}
	CHECK_EQ(read(fds[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	close(fds[0]);
	close(fds[1]);
	world_new();
	world.of = (uint32_t)grandchild;
	begin(child, "x");
	sdk_watch_look(&w, &e, START + NS_PER_SEC);
	CHECK_EQ(world.nr_looks, 2);
	CHECK(was_looked_at(child) && was_looked_at(grandchild));
	CHECK_EQ(w.nr, 1);
	CHECK_EQ(w.found[0].pid, grandchild);
	CHECK(w.found[0].is_seen);
	CHECK_EQ(strncmp(w.found[0].name, "program ", 8), 0);
	/* Again: it is known. */
	sdk_watch_look(&w, &e, START + 10 * NS_PER_SEC);
	CHECK_EQ(world.nr_looks, 4);
	CHECK_EQ(w.nr, 1);
	/* Children of one that connected are looked at. */
	connect_peer((uint32_t)child);
	sdk_watch_look(&w, &e, START + 100 * NS_PER_SEC);
	CHECK_EQ(world.nr_looks, 5);
	kill(grandchild, SIGKILL);
	kill(child, SIGKILL);
	CHECK_EQ(waitpid(child, NULL, 0), child);
	CHECK_EQ(count_open(), before);
}

/* Blocks of several processes: each is read, but not of those that have connected meanwhile. */
static void every_block_is_read_again(void)
{
	uint32_t i;

	world_new();
	begin(1, "x");
	w.nr = 4;
	for (i = 0; i < 4; i++)
		w.found[i] = (struct sdk_process){ .pid = 10 + i,
						   .is_seen = true,
						   .block = 0x1000 };
	w.found[1].block = 0;
	world.why = CTP_WHY_SECURE;
	sdk_watch_look(&w, &e, START + NS_PER_SEC);
	CHECK(world.nr_reads >= 3);
	CHECK_EQ(w.found[0].why, CTP_WHY_SECURE);
	CHECK_EQ(w.found[2].why, CTP_WHY_SECURE);
	CHECK_EQ(w.found[3].why, CTP_WHY_SECURE);
	connect_peer(12);
	connect_peer(13);
	world.why = CTP_WHY_VERSION;
	sdk_watch_look(&w, &e, START + 100 * NS_PER_SEC);
	CHECK_EQ(w.found[0].why, CTP_WHY_VERSION);
	CHECK_EQ(w.found[2].why, CTP_WHY_SECURE);
	CHECK_EQ(w.found[3].why, CTP_WHY_SECURE);
}

/* ---- the result ---------------------------------------------------------------------------- */

static void reasons_have_words(void)
{
	static const char *const words[] = { "unknown",        "no-coroutine", "unknown",
					     "no-environment", "secure",       "not-opened",
					     "not-a-region",   "version",      "not-mapped",
					     "no-memory",      "unknown" };
	struct sdk_process p = { .is_seen = true };

	for (p.why = 0; p.why < 11; p.why++) {
		CHECK_STR(sdk_process_reason(&p), words[p.why]);
		CHECK_EQ(sdk_process_failed(&p), p.why >= 3 && p.why <= 9);
	}
	p.why = CTP_WHY_NOT_OPENED | 13u << 8; /* with an errno */
	CHECK_STR(sdk_process_reason(&p), "not-opened");
	CHECK(sdk_process_failed(&p));
	p.is_seen = false;
	CHECK(!sdk_process_failed(&p));
	CHECK_STR(sdk_process_reason(&p), "not-seen");
}

static void only_those_that_could_not_are_kept_if_others_could(void)
{
	uint32_t i;

	world_new();
	begin(77, "/nonexistent");
	w.nr = 4;
	for (i = 0; i < 4; i++)
		w.found[i] = (struct sdk_process){ .pid = 10 + i, .is_seen = true };
	w.found[0].why = CTP_WHY_NO_COROUTINE;
	w.found[1].why = CTP_WHY_ATTACHED;
	w.found[2].why = CTP_WHY_NO_ENVIRONMENT;
	w.found[3].why = CTP_WHY_VERSION;
	sdk_watch_finish(&w, &e);
	CHECK_EQ(w.nr, 3);
	CHECK_EQ(w.found[0].pid, 10);
	CHECK_EQ(w.found[1].pid, 12);
	CHECK_EQ(w.found[2].pid, 13);
	connect_peer(13);
	sdk_watch_finish(&w, &e);
	CHECK_EQ(w.nr, 1);
	CHECK_EQ(w.found[0].pid, 12);
}

static void reports_of_processes_are_added(void)
{
	uint32_t i;

	world_new();
	begin(77, "/nonexistent");
	e.nr_failed = 2;
	e.failed[0] = (struct door_guest){ .pid = 5, .why = CTP_WHY_NO_MEMORY, .name = "five" };
	e.failed[1] = (struct door_guest){ .pid = 6, .why = CTP_WHY_SECURE, .name = "six" };
	w.nr = 1;
	w.found[0] = (struct sdk_process){ .pid = 6 };
	sdk_watch_finish(&w, &e);
	CHECK_EQ(w.nr, 2);
	CHECK_EQ(w.found[0].pid, 6);
	CHECK_STR(w.found[0].name, "six");
	CHECK_STR(sdk_process_reason(&w.found[0]), "secure");
	CHECK_STR(w.found[1].name, "five");
	CHECK_STR(sdk_process_reason(&w.found[1]), "no-memory");
	/* Sixteen at most. */
	begin(77, "/nonexistent");
	for (i = 0; i < SDK_PROCESSES; i++)
		w.found[w.nr++] = (struct sdk_process){ .pid = 100 + i, .is_seen = true, .why = 3 };
	e.nr_failed = 1;
	e.failed[0].pid = 5;
	sdk_watch_finish(&w, &e);
	CHECK_EQ(w.nr, SDK_PROCESSES);
	CHECK_EQ(w.found[15].pid, 115);
}

int main(void)
{
	char scratch[64];

	alarm(60);
	snprintf(scratch, sizeof(scratch), "/tmp/corotracer-test-XXXXXX");
	CHECK(mkdtemp(scratch) != NULL);
	snprintf(first, sizeof(first), "%s/first", scratch);
	snprintf(second, sizeof(second), "%s/second", scratch);
	CHECK(!mkdir(first, 0755) && !mkdir(second, 0755));
	RUN(the_file_is_the_one_that_is_executed);
	RUN(a_program_that_ended_early_is_known_by_its_file);
	RUN(looks_become_rarer);
	RUN(a_watch_that_was_not_begun_does_nothing);
	RUN(descendants_are_looked_at);
	RUN(every_block_is_read_again);
	RUN(reasons_have_words);
	RUN(only_those_that_could_not_are_kept_if_others_could);
	RUN(reports_of_processes_are_added);
	CHECK(!rmdir(first) && !rmdir(second) && !rmdir(scratch));
	return 0;
}
