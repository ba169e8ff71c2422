/* SPDX-License-Identifier: MIT */
/*
 * test_collected.c - `mem run` in one program: the collector starts this program again in one of
 * the roles below, and what it reports and writes is compared.
 *
 * Addresses of accesses are small numbers, which are the same in each process.
 */
#include <corotracer/cacheray.h>

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "base/monotonic.h"
#include "count_open.h"
#include "memory/collect/left_region.h"
#include "memory/collect/mem_collector.h"
#include "memory/collect/shared_region.h"
#include "memory/collect/traced_processes.h"
#include "recorded_bed.h"

void __tsan_read1(void *p);
void __tsan_read4(void *p);
void __tsan_write8(void *p);

static char self[300], notes[128];

static void *address(uintptr_t number)
{
	return (void *)number; // NOLINT(performance-no-int-to-ptr)
}

/* ---- what the program does ------------------------------------------------------------- */

/* What a program has to say, for the test that started it. */
static void role_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void role_note(const char *fmt, ...)
{
	FILE *f = fopen(getenv("TEST_NOTES"), "a");
	va_list args;

	CHECK(f != NULL);
	va_start(args, fmt);
	vfprintf(f, fmt, args);
	va_end(args);
	CHECK_EQ(fclose(f), 0);
}

static void *role_thread(void *unused)
{
	__tsan_write8(address(0x20));
	return unused;
}

static void role_plain(void)
{
	pthread_t thread;

	__tsan_read1(address(0x10));
	CHECK_EQ(pthread_create(&thread, NULL, role_thread, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	cacheray_rtta_add(address(0x200), 8, 1, "joined"); /* gives the order */
	cacheray_mark(5, "last");
	role_note("%s", getenv(CRW_ENV));
	exit(3);
}

/* A child of fork, then another program in its place. */
static void role_family(void)
{
	char *argv[] = { self, (char *)"after", NULL };
	int status;
	pid_t pid;

	__tsan_read1(address(0x11));
	pid = fork();
	if (pid == 0) {
		__tsan_read1(address(0x12));
		exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	__tsan_read1(address(0x13));
	role_note("%d %d", (int)getpid(), (int)pid);
	execv(self, argv);
}

static void role_after(void)
{
	__tsan_read1(address(0x14));
}

static void role_killed(void)
{
	__tsan_read1(address(0x10));
	kill(getpid(), SIGKILL);
}

static volatile sig_atomic_t got_signal;

static void role_catch(int number)
{
	got_signal = number;
}

/* The collector passes on what it is sent. */
static void role_asks(void)
{
	int i;

	signal(SIGTERM, role_catch);
	kill(getppid(), SIGTERM);
	for (i = 0; i < 10000 && !got_signal; i++)
		usleep(1000);
	exit(got_signal == SIGTERM ? 9 : 1);
}

/* What the collector made for its programs. */
static void role_describes(void)
{
	const char *fd = getenv(CRW_ENV_FD), *options = getenv("CACHERAY_OPTIONS");
	struct crw_header h;
	struct stat a, b;
	int region = open(getenv(CRW_ENV), O_RDONLY);
	unsigned number = 0;
	bool is_same;

	CHECK(region >= 0 && read(region, &h, sizeof(h)) == sizeof(h));
	CHECK(h.consumer_pid == (uint32_t)getppid() && h.start_ns < clock_now_ns());
	CHECK(h.heartbeat || clock_now_ns() - h.start_ns < NS_PER_SEC);
	/* Fewer, where memory is short. */
	CHECK(h.nr_slots >= 64 && h.nr_slots <= crw_slots_for(h.nr_chunks, h.chunk_size));
	CHECK(!fd || sscanf(fd, "%x:", &number) == 1);
	is_same = fd && fstat((int)number, &a) == 0 && fstat(region, &b) == 0 &&
		  a.st_ino == b.st_ino && a.st_dev == b.st_dev && strstr(fd, getenv(CRW_ENV));
	CHECK(!fd || number >= CRW_HIGH_FD);
	role_note("%u processes, %u chunks of %u, %s, wants %u, %s, options '%s'", h.nr_processes,
		  h.nr_chunks, h.chunk_size, h.on_full == CRW_DROP ? "drop" : "wait", h.wants,
		  !fd       ? "no descriptor"
		  : is_same ? "descriptor"
			    : "wrong descriptor",
		  options ? options : "");
}

/* Until nothing is recorded any more. */
static void role_fills(void)
{
	uint32_t i, x = 1;

	for (i = 0; i < 100000000 && (i % 4096 || cacheray_recording()); i++) {
		x = x * 1664525u + 1013904223u;
		__tsan_read4(address(x >> 8));
	}
	CHECK(!cacheray_recording());
	exit(4);
}

static bool is_complete(const char *name)
{
	struct err err = { 0 };
	struct mem_reader *r = mem_reader_open(name, &err);
	bool is = r && mem_reader_blocks(r)->complete;

	mem_reader_close(r);
	return is;
}

/* The trace of a child that has ended is completed while its parent runs. */
static void role_waits(void)
{
	char name[200];
	pid_t pid = fork();
	int i;

	if (pid == 0) {
		__tsan_read1(address(0x15));
		kill(getpid(), SIGKILL); /* does not say that it ends */
	}
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	snprintf(name, sizeof(name), "%s.%d", getenv("TEST_TRACE"), (int)pid);
	for (i = 0; i < 1000 && !is_complete(name); i++)
		usleep(10000);
	CHECK(is_complete(name));
	__tsan_read1(address(0x16));
}

static const struct {
	const char *name;
	void (*run)(void);
} roles[] = {
	{ "plain", role_plain },   { "family", role_family }, { "after", role_after },
	{ "killed", role_killed }, { "asks", role_asks },     { "describes", role_describes },
	{ "fills", role_fills },   { "waits", role_waits },
};

static int run_role(const char *name)
{
	size_t i;

	alarm(60);
	__tsan_init();
	for (i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		if (!strcmp(roles[i].name, name))
			roles[i].run();
	}
	return 0;
}

/* ---- a run ------------------------------------------------------------------------------ */

static struct collect_result result;
static struct err err;

static int run_collector(struct collect_config config, const char *role)
{
	char *argv[] = { self, (char *)role, NULL };
	unsigned before;
	int rc;

	snprintf(path, sizeof(path), "%s/trace", scratch);
	snprintf(notes, sizeof(notes), "%s/notes", scratch);
	unlink(path);
	unlink(notes);
	setenv("TEST_NOTES", notes, 1);
	setenv("TEST_TRACE", path, 1);
	err = (struct err){ 0 };
	if (!config.output)
		config.output = path;
	if (!config.argv)
		config.argv = argv;
	config.tool = "test 1";
	before = count_open();
	rc = collect_run(&config, &result, &err);
	CHECK_EQ(count_open(), before);
	CHECK_EQ(count_mapped("/dev/shm/"), 0);
	return rc;
}

static const char *read_notes(void)
{
	static char all[500];
	FILE *f = fopen(notes, "r");

	CHECK(f != NULL);
	all[fread(all, 1, sizeof(all) - 1, f)] = '\0';
	fclose(f);
	return all;
}

static void check_result(int status, int number, uint64_t threads, uint64_t recovered, size_t files)
{
	CHECK_STR(err.text, "");
	CHECK_EQ(result.exit_status, status);
	CHECK_EQ(result.signal, number);
	CHECK_EQ(result.threads, threads);
	CHECK_EQ(result.recovered, recovered);
	CHECK_EQ(result.outputs.nr, files);
	CHECK_EQ(result.refused + result.broken + result.no_memory, 0);
}

/* The file of the run with @expected in it. */
static const struct output *check_file(const char *name, const char *expected, int status)
{
	const struct output *out = result.outputs.first;
	struct mem_reader *r;

	while (out && strcmp(out->path, name) != 0)
		out = out->next;
	CHECK(out != NULL);
	CHECK_STR(out->err.text, "");
	read_back(name);
	CHECK_STR(text, expected);
	r = mem_reader_open(name, &err);
	while (mem_reader_next(r))
		;
	CHECK_EQ(mem_reader_facts(r)->pid, out->pid);
	CHECK_STR(mem_reader_facts(r)->writer, "test 1");
	CHECK_EQ(mem_reader_facts(r)->end.status_known, status >= 0);
	if (status >= 0)
		CHECK_EQ(mem_reader_facts(r)->end.status, status);
	CHECK_EQ(mem_reader_facts(r)->nr_threads, out->nr_threads);
	mem_reader_close(r);
	CHECK_EQ(out->lost + out->left_out + out->lost_unknown, 0);
	return out;
}

static void a_program_is_run_and_recorded(void)
{
	uint64_t start = clock_now_ns();
	const struct output *out;
	struct stat st;

	CHECK_EQ(run_collector((struct collect_config){ .level = 1 }, "plain"), 0);
	check_result(3, 0, 2, 0, 1);
	CHECK(result.duration_ns > 0 && result.duration_ns <= clock_now_ns() - start);
	out = check_file(path, "r1 10\nw8 20\nadd 200 1x8 'joined'\nmark 5 'last'\n", 3 << 8);
	CHECK_EQ(out->accesses, 2);
	CHECK_EQ(out->annotations, 1);
	CHECK_EQ(stat(path, &st), 0);
	CHECK_EQ(out->size, st.st_size);
	/* Nothing of the region is left. */
	CHECK(strstr(read_notes(), "/" LEFT_REGION_PREFIX) && access(read_notes(), F_OK) < 0);
	*strrchr(strcpy(said, read_notes()), '/') = '\0';
	CHECK(access(said, F_OK) < 0 && !result.capped);
	collect_result_release(&result);
}

static void each_process_has_a_trace(void)
{
	char name[200];
	int pid, child;

	CHECK_EQ(run_collector((struct collect_config){ .packers = 2 }, "family"), 0);
	check_result(0, 0, 3, 1, 3); /* exec is not seen here: the thread just ends */
	CHECK_EQ(sscanf(read_notes(), "%d %d", &pid, &child), 2);
	check_file(path, "r1 11\nr1 13\n", 0); /* the same process */
	CHECK_EQ(unlink(path), 0);
	snprintf(name, sizeof(name), "%s.%d", path, child);
	check_file(name, "r1 12\n", -1);
	CHECK_EQ(unlink(name), 0);
	snprintf(name, sizeof(name), "%s.%d", path, pid);
	check_file(name, "r1 14\n", 0);
	CHECK_EQ(unlink(name), 0);
	collect_result_release(&result);
}

static void a_killed_program_loses_nothing(void)
{
	CHECK_EQ(run_collector((struct collect_config){ .level = 1 }, "killed"), 0);
	check_result(128 + SIGKILL, SIGKILL, 1, 1, 1);
	check_file(path, "r1 10\n", SIGKILL);
	collect_result_release(&result);
}

static void a_signal_is_passed_on(void)
{
	CHECK_EQ(run_collector((struct collect_config){ .level = 1 }, "asks"), 0);
	check_result(9, 0, 1, 0, 1);
	collect_result_release(&result);
}

/* ---- what is asked for -------------------------------------------------------------------- */

static void describes(struct collect_config config, const char *expected)
{
	CHECK_EQ(run_collector(config, "describes"), 0);
	/* The thread that starts bursts may have recorded something or not. */
	CHECK(result.threads >= 1 && result.threads <= (config.burst ? 2 : 1));
	check_result(0, 0, result.threads, result.threads - 1, 1);
	CHECK_STR(read_notes(), expected);
	collect_result_release(&result);
}

static void the_region_is_as_large_as_requested(void)
{
	describes((struct collect_config){ .level = 1 },
		  "128 processes, 64 chunks of 131072, wait, wants 0, descriptor, "
		  "options ''");
	describes((struct collect_config){ .buffer = 1, .drop = true, .no_inherit = true },
		  "128 processes, 4 chunks of 131072, drop, wants 0, no descriptor, "
		  "options ''");
	/* Half of a chunk is used: 16 chunks of 64 KiB. */
	describes((struct collect_config){ .buffer = 1 << 20, .stacks = true, .burst = "1s/2s" },
		  "128 processes, 16 chunks of 131072, wait, wants 1, descriptor, "
		  "options ':burst=1s/2s'");
	setenv("CACHERAY_OPTIONS", "level=2", 1);
	describes((struct collect_config){ .buffer = (1 << 20) + 1,
					   .no_heap = true,
					   .burst = "1s/9s" },
		  "128 processes, 32 chunks of 131072, wait, wants 2, descriptor, "
		  "options 'level=2:burst=1s/9s'");
	unsetenv("CACHERAY_OPTIONS");
}

static void a_raw_trace_is_made_on_request(void)
{
	const struct output *out;
	struct mem_reader *r;
	char name[200];
	struct stat st;

	CHECK_EQ(run_collector((struct collect_config){ .raw = true }, "plain"), 0);
	check_result(3, 0, 2, 0, 1);
	out = result.outputs.first;
	CHECK_STR(out->err.text, "");
	CHECK_EQ(stat(path, &st), 0);
	CHECK_EQ(out->size, st.st_size);
	r = mem_reader_open(path, &err);
	CHECK_EQ(mem_reader_format(r), MEM_FORMAT_RAW);
	text_size = 0;
	while (mem_reader_next(r))
		text_size++;
	CHECK_EQ(text_size, 3);                       /* the format has no marks */
	CHECK_EQ(mem_reader_facts(r)->pid, out->pid); /* from the file beside it */
	mem_reader_close(r);
	collect_result_release(&result);
	snprintf(name, sizeof(name), "%s.meta", path);
	CHECK_EQ(unlink(name), 0);
	/* Where that is not possible, the container stays. */
	snprintf(name, sizeof(name), "%s.raw", path);
	CHECK(access(name, F_OK) < 0);
	CHECK_EQ(mkdir(name, 0700), 0);
	CHECK_EQ(run_collector((struct collect_config){ .raw = true }, "plain"), 0);
	out = result.outputs.first;
	CHECK(strstr(out->err.text, "no raw trace was made of '") == out->err.text);
	CHECK(strstr(out->err.text, path) != NULL);
	CHECK_STR(out->err.hint, "the container is there: 'corotracer mem convert' makes it raw");
	read_back(path);
	CHECK_STR(text, "r1 10\nw8 20\nadd 200 1x8 'joined'\nmark 5 'last'\n");
	CHECK_EQ(rmdir(name), 0);
	collect_result_release(&result);
}

/* ---- limits and failures ------------------------------------------------------------------- */

static void a_trace_has_at_most_its_size(void)
{
	struct mem_reader *r;
	struct stat st;

	CHECK_EQ(run_collector((struct collect_config){ .max_size = 300000 }, "fills"), 0);
	CHECK_STR(err.text, "");
	CHECK_EQ(result.exit_status, 4);
	CHECK(result.capped);
	CHECK_EQ(stat(path, &st), 0);
	CHECK(st.st_size > 250000 && st.st_size < 2000000);
	/* The program does not count what it does not record. */
	CHECK(result.outputs.first->lost_unknown);
	CHECK_STR(result.outputs.first->err.text, "");
	r = mem_reader_open(path, &err);
	while (mem_reader_next(r))
		;
	CHECK(mem_reader_blocks(r)->complete);
	CHECK(mem_reader_facts(r)->lost_unknown);
	CHECK_EQ(mem_reader_facts(r)->end.lost, result.outputs.first->lost);
	mem_reader_close(r);
	collect_result_release(&result);
}

static void a_full_disk_does_not_stop_the_program(void)
{
	struct collect_config config = { .output = "/dev/full" };

	CHECK_EQ(run_collector(config, "fills"), 0);
	CHECK_EQ(result.exit_status, 4);
	CHECK(!result.capped);
	CHECK(strstr(result.outputs.first->err.text, "No space left on device") != NULL);
	collect_result_release(&result);
}

static void check_not_started(struct collect_config config, int code, const char *words)
{
	CHECK_EQ(run_collector(config, "plain"), code);
	CHECK(strstr(err.text, words) != NULL);
	CHECK(access(notes, F_OK) < 0);
	CHECK_EQ(result.outputs.nr, 0);
	collect_result_release(&result);
}

static void what_cannot_be_run_is_reported(void)
{
	char *none[] = { (char *)"/nonexistent/program", NULL };

	check_not_started((struct collect_config){ .argv = none }, -ENOENT, "/nonexistent/program");
	CHECK(access(path, F_OK) < 0);
	check_not_started((struct collect_config){ .output = "/nonexistent/trace" }, -ENOENT,
			  "cannot write '/nonexistent/trace'");
}

static unsigned nr_progress;
static uint64_t progress_size, progress_ns;

static void note_progress(uint64_t size, uint64_t elapsed_ns)
{
	CHECK(size >= progress_size && elapsed_ns > progress_ns);
	progress_size = size;
	progress_ns = elapsed_ns;
	nr_progress++;
}

static void files_are_completed_while_the_program_runs(void)
{
	const struct output *out;

	CHECK_EQ(run_collector((struct collect_config){ .progress = note_progress }, "waits"), 0);
	check_result(0, 0, 2, 1, 2);
	CHECK(nr_progress >= 1 && nr_progress <= 1 + result.duration_ns / (500 * NS_PER_MS));
	CHECK(progress_size > 0 && progress_ns < result.duration_ns);
	check_file(path, "r1 16\n", 0);
	out = result.outputs.first->next;
	snprintf(said, sizeof(said), "%s.%u", path, out->pid);
	CHECK_STR(out->path, said);
	check_file(said, "r1 15\n", -1);
	CHECK_EQ(unlink(said), 0);
	collect_result_release(&result);
}

/* ---- processes in a region ------------------------------------------------------------------ */

static struct shm shm;
static struct traced traced;
static struct outputs outputs;

static void one_access(void)
{
	__tsan_read1(address(0x10));
}

/* A program has left its records in the region; they are not read yet. */
static void leave_records(void)
{
	struct crw_geometry g = {
		.nr_processes = 4, .nr_slots = 64, .nr_chunks = 4, .chunk_size = CRW_CHUNK_SIZE
	};

	err = (struct err){ 0 };
	CHECK_EQ(shm_create(&shm, &g, &err), 0);
	CHECK_EQ(setenv(CRW_ENV, shm.path, 1), 0);
	CHECK_EQ(run(one_access, ""), 0);
	CHECK_STR(said, "");
	unsetenv(CRW_ENV);
	outputs_init(&outputs);
	outputs.name = path;
	CHECK_EQ(traced_open(&traced, &shm.region, &outputs, &err), 0);
	traced.dir = shm.dir;
}

static void end_records(void)
{
	outputs_release(&outputs);
	traced_close(&traced);
	shm_close(&shm);
	unlink(path);
}

static void check_gap(uint64_t lost)
{
	struct mem_reader *r = mem_reader_open(path, &err);

	CHECK(r != NULL);
	while (mem_reader_next(r))
		;
	CHECK_EQ(mem_reader_facts(r)->lost[CRAY_GAP_FULL], lost);
	mem_reader_close(r);
}

static void the_records_of_an_ended_process_are_taken(void)
{
	struct crw_process *p;
	struct left_region left;
	struct stat st;

	leave_records();
	p = &shm.region.processes[0];
	p->lost = 5;
	CHECK(crw_consumer_poll(&traced.consumer, CRW_TAKE_READY));
	CHECK(stat(path, &st) == 0 && left_region_find(&left, st.st_dev, st.st_ino));
	CHECK_EQ(left.serial, 1);
	CHECK_STR(left.dir, shm.dir);
	CHECK_EQ(p->state, CRW_LIVE);
	CHECK_EQ(shm.region.slots[0].state, CRW_FREE);
	traced_end_files(&traced, p->pid, 7 << 8, false);
	CHECK_EQ(p->state, CRW_FREE);
	CHECK(outputs.nr == 1 && !outputs.first->open);
	CHECK_EQ(outputs.first->lost, 5);
	read_back(path);
	CHECK_STR(text, "r1 10\n");
	check_gap(5);
	CHECK_EQ(traced.broken + traced.consumer.broken, 0);
	end_records();
}

/* The entry of a running process, which ends when another program runs in it. */
static void the_next_program_of_a_process_ends_the_first(void)
{
	struct crw_process *p, *next;

	leave_records();
	p = &shm.region.processes[0];
	next = &shm.region.processes[2];
	CHECK(crw_consumer_poll(&traced.consumer, CRW_TAKE_READY));
	p->pid = (uint32_t)getpid();
	traced_end_files(&traced, 0, 0, false);
	CHECK_EQ(p->state, CRW_LIVE);
	*next = *p;
	traced_end_files(&traced, 0, 0, false); /* the same serial: the same program */
	CHECK_EQ(p->state, CRW_LIVE);
	next->serial = 2;
	next->pid = 1;
	traced_end_files(&traced, 0, 0, false);
	CHECK_EQ(p->state, CRW_LIVE);
	next->pid = p->pid;
	next->state = CRW_MAKING;
	traced_end_files(&traced, 0, 0, false);
	CHECK_EQ(p->state, CRW_LIVE);
	next->state = CRW_LIVE;
	traced_end_files(&traced, 0, 0, false);
	CHECK_EQ(p->state, CRW_FREE);
	CHECK_EQ(next->state, CRW_LIVE);
	traced_end_files(&traced, 0, 0, true);
	CHECK_EQ(next->state, CRW_FREE);
	end_records();
}

static void an_entry_of_another_process_is_corrupt(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		leave_records();
		if (i)
			shm.region.processes[0].serial++;
		else
			shm.region.processes[0].pid++;
		CHECK(!crw_consumer_poll(&traced.consumer, CRW_TAKE_REST));
		CHECK_EQ(traced.broken, 1);
		CHECK_EQ(outputs.nr, 0);
		CHECK(access(path, F_OK) < 0);
		end_records();
	}
}

/* The file cannot be written: the records are taken, so that no thread waits. */
static void a_process_without_a_file_does_not_wait(void)
{
	leave_records();
	outputs.name = "/nonexistent/trace";
	CHECK(crw_consumer_poll(&traced.consumer, CRW_TAKE_READY));
	CHECK_EQ(shm.region.slots[0].state, CRW_FREE);
	CHECK_EQ(outputs_error(&outputs)->code, -ENOENT);
	traced_end_files(&traced, 0, 0, false);
	CHECK_EQ(shm.region.processes[0].state, CRW_FREE);
	CHECK(traced.broken == 0 && !traced.no_memory);
	end_records();
}

int main(int argc, char **argv)
{
	unsigned before = count_open();

	CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	if (argc == 2)
		return run_role(argv[1]);
	unsetenv("LD_PRELOAD"); /* a leak checker is for this program, not for the others */
	bed_begin();
	RUN(a_program_is_run_and_recorded);
	RUN(each_process_has_a_trace);
	RUN(a_killed_program_loses_nothing);
	RUN(a_signal_is_passed_on);
	RUN(the_region_is_as_large_as_requested);
	RUN(a_raw_trace_is_made_on_request);
	RUN(a_trace_has_at_most_its_size);
	RUN(a_full_disk_does_not_stop_the_program);
	RUN(what_cannot_be_run_is_reported);
	RUN(files_are_completed_while_the_program_runs);
	RUN(the_records_of_an_ended_process_are_taken);
	RUN(the_next_program_of_a_process_ends_the_first);
	RUN(an_entry_of_another_process_is_corrupt);
	RUN(a_process_without_a_file_does_not_wait);
	unlink(notes);
	CHECK_EQ(count_open(), before);
	bed_end();
	return 0;
}
