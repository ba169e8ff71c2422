/* SPDX-License-Identifier: MIT */
/*
 * test_trace_files.c - the files of `mem run`: their names, what is kept of earlier ones, the facts
 * of the process in them, their sizes and errors; the shared memory, requests through it, and what
 * a collector that was killed leaves behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "check.h"
#include "count_open.h"
#include "memory/collect/left_region.h"
#include "memory/collect/region_control.h"
#include "memory/collect/shared_region.h"
#include "memory/collect/trace_files.h"
#include "memory/format/mem_reader.h"

static char dir[] = "/tmp/test_trace_files.XXXXXX";

#define NO_PID 4194303u /* no process has it */

static const struct crw_geometry small = {
	.nr_processes = 4, .nr_slots = 64, .nr_chunks = 4, .chunk_size = 4096
};

static void in_dir(char *buf, const char *name)
{
	snprintf(buf, 200, "%s/%s", dir, name);
}

static void check_name(struct outputs *o, uint64_t serial, uint32_t pid, const char *expected)
{
	struct output *out = outputs_of(o, serial, pid, 0);

	CHECK(out != NULL);
	CHECK_STR(out->path + strlen(dir) + 1, expected);
	CHECK(out->open);
	CHECK(outputs_of(o, serial, 1, 0) == out); /* the same again */
}

static void remove_all(struct outputs *o)
{
	struct output *out;

	for (out = o->first; out; out = out->next)
		CHECK_EQ(unlink(out->path), 0);
	outputs_release(o);
	CHECK(!o->first && !o->nr);
}

static void each_process_has_a_name(void)
{
	struct outputs o;
	char name[200];

	outputs_init(&o);
	o.name = name;
	in_dir(name, "t.cray");
	check_name(&o, 5, NO_PID, "t.cray");
	check_name(&o, 3, NO_PID, "t.cray.4194303"); /* after exec(): the same number */
	check_name(&o, 9, NO_PID, "t.cray.4194303.2");
	check_name(&o, 8, NO_PID, "t.cray.4194303.3");
	CHECK_EQ(o.nr, 4);
	CHECK_EQ(o.highest, 9);
	remove_all(&o);
	o.name = name;
	in_dir(name, "t.%p.cray");
	check_name(&o, 1, NO_PID, "t.4194303.cray");
	check_name(&o, 2, NO_PID - 1, "t.4194302.cray");
	check_name(&o, 3, NO_PID, "t.4194303.cray.2");
	check_name(&o, 4, NO_PID, "t.4194303.cray.3");
	remove_all(&o);
}

static void facts_of_the_process_are_in_the_file(void)
{
	static char words[2][8] = { "./prog", "-x" };
	char *const command[] = { words[0], words[1], NULL };
	const struct mem_facts *f;
	struct mem_reader *r;
	struct err err = { 0 };
	struct outputs o;
	char name[200], cwd[4096];
	uint64_t wall;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		outputs_init(&o);
		o.name = name;
		o.command = command;
		o.writer = "a writer";
		in_dir(name, "facts.cray");
		CHECK(outputs_of(&o, 1, i ? (uint32_t)getpid() : NO_PID, 1000));
		CHECK(outputs_size(&o) > 0);
		CHECK(!outputs_error(&o));
		output_end(&o, o.first, 0);
		CHECK(!o.first->open);
		CHECK_EQ(o.first->err.code, 0);
		CHECK_EQ(outputs_size(&o), o.first->size);
		output_end(&o, o.first, 0); /* again: counted once */
		CHECK_EQ(outputs_size(&o), o.first->size);
		o.max_size = o.first->size;
		CHECK(outputs_full(&o));
		o.max_size++;
		CHECK(!outputs_full(&o));
		o.max_size = 0;
		CHECK(!outputs_full(&o));
		r = mem_reader_open(name, &err);
		CHECK(r != NULL);
		while (mem_reader_next(r))
			;
		f = mem_reader_facts(r);
		CHECK_EQ(f->pid, i ? (uint64_t)getpid() : NO_PID);
		CHECK_STR(f->writer, "a writer");
		CHECK(f->machine && f->machine[0]);
		CHECK_EQ(f->start_ns, 1000);
		/* The same moment on the other clock. */
		wall = monotonic_clock_ns(CLOCK_REALTIME) - clock_now_ns() + f->start_ns;
		CHECK(wall - f->start_wall_ns + 10 * NS_PER_SEC < 20 * NS_PER_SEC);
		if (i) {
			CHECK(getcwd(cwd, sizeof(cwd)) != NULL);
			CHECK_STR(f->cwd, cwd);
			CHECK(strstr(f->exe, "test_memory_trace_files") != NULL);
			CHECK(strstr(f->command, "test_memory_trace_files") != NULL);
		} else {
			CHECK(!f->cwd && !f->exe);
			CHECK_EQ(f->command_size, 10);
			CHECK(!memcmp(f->command, "./prog\0-x", 10));
		}
		mem_reader_close(r);
		remove_all(&o);
	}
}

static void earlier_traces_are_kept(void)
{
	struct outputs o;
	struct err err = { 0 };
	char name[200], old[208];
	FILE *f;

	outputs_init(&o);
	o.name = name;
	in_dir(name, "t.cray");
	snprintf(old, sizeof(old), "%s.old", name);
	CHECK_EQ(outputs_check(&o, &err), 0);
	CHECK(outputs_of(&o, 1, NO_PID, 0));
	outputs_release(&o);
	o.name = name;
	CHECK_EQ(outputs_check(&o, &err), 0); /* it is moved */
	CHECK(access(name, F_OK) < 0 && access(old, F_OK) == 0);
	CHECK_EQ(unlink(old), 0);
	f = fopen(name, "w"); /* another file is not */
	CHECK(f && fputs("some text that is no trace\n", f) >= 0 && fclose(f) == 0);
	CHECK_EQ(outputs_check(&o, &err), -EEXIST);
	CHECK(strstr(err.text, "t.cray' is there already, and is no memory trace") != NULL);
	CHECK_STR(err.hint, "remove it, or give the trace another name with -o");
	CHECK(outputs_of(&o, 1, NO_PID, 0));
	CHECK(!o.first->open);
	CHECK_EQ(o.first->err.code, -EEXIST);
	CHECK(outputs_error(&o) == &o.first->err);
	CHECK_EQ(outputs_size(&o), 0);
	output_end(&o, o.first, 0);
	outputs_release(&o);
	CHECK_EQ(truncate(name, 0), 0); /* an empty one is used */
	o.name = name;
	CHECK_EQ(outputs_check(&o, &err), 0);
	CHECK(access(name, F_OK) == 0);
	CHECK_EQ(unlink(name), 0);
}

static void folders_must_be_there(void)
{
	static const char *const wrong[] = { "/nonexistent/t.cray", "/nonexistent/%p.cray",
					     "/proc/none/x/t" };
	struct outputs o;
	struct err err;
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		outputs_init(&o);
		o.name = wrong[i];
		err = (struct err){ 0 };
		CHECK_EQ(outputs_check(&o, &err), -ENOENT);
		CHECK(strstr(err.text, "cannot write '") == err.text);
		CHECK(outputs_of(&o, 1, NO_PID, 0));
		CHECK_EQ(o.first->err.code, -ENOENT);
		outputs_release(&o);
	}
	o.name = "here"; /* in the working directory */
	CHECK_EQ(chdir(dir), 0);
	CHECK_EQ(outputs_check(&o, &err), 0);
	o.name = "/dev/null"; /* is not moved */
	CHECK_EQ(outputs_check(&o, &err), 0);
	CHECK_EQ(chdir("/"), 0);
}

static void the_region_goes_with_its_folder(void)
{
	struct crw_geometry g = {
		.nr_processes = 4, .nr_slots = 64, .nr_chunks = 4, .chunk_size = 4096
	};
	struct err err = { 0 };
	char path[300], folder[300];
	struct stat st;
	struct shm m;

	CHECK_EQ(shm_create(&m, &g, &err), 0);
	CHECK(m.map && m.size >= crw_region_size(&g));
	CHECK_EQ(fstat(m.fd, &st), 0);
	CHECK_EQ(st.st_size, (long long)m.size);
	CHECK_EQ(st.st_mode & 0777, 0600);
	snprintf(path, sizeof(path), "%s", m.path);
	snprintf(folder, sizeof(folder), "%s", m.dir);
	CHECK(strstr(path, folder) == path && !strcmp(path + strlen(folder), "/region"));
	CHECK_EQ(stat(folder, &st), 0);
	CHECK_EQ(st.st_mode & 0777, 0700);
	shm_close(&m);
	CHECK(access(path, F_OK) < 0 && access(folder, F_OK) < 0);
	CHECK(!m.map && m.fd == -1 && !m.path && !m.dir);
	shm_close(&m); /* again: nothing */
}

/* Serves one request of the first process of the region. */
static void *serve_one(void *arg)
{
	struct crw_process *p = arg;
	uint32_t before = __atomic_load_n(&p->served, __ATOMIC_RELAXED), request;

	/* (mem-N) pairs with the release in region_control_request(). */
	while ((request = __atomic_load_n(&p->request, __ATOMIC_ACQUIRE)) == before)
		usleep(100);
	/* (mem-N) pairs with the acquire in region_control_request(). */
	__atomic_store_n(&p->served, request, __ATOMIC_RELEASE);
	return NULL;
}

static void check_served(struct crw_process *p, uint32_t pid, uint32_t what, const char *text)
{
	struct err err = { 0 };
	pthread_t thread;
	uint32_t before = p->request;

	CHECK_EQ(pthread_create(&thread, NULL, serve_one, p), 0);
	CHECK_EQ(region_control_send(pid, what, text, &err), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(p->request, (before / CRW_REQUESTS + 1) * CRW_REQUESTS + what);
	CHECK(!strncmp(p->text, text ? text : "", CRW_MARK_MAX));
}

/* Shared files that are no regions are passed over, and not kept. */
static void other_shared_files_are_no_regions(void)
{
	static const size_t sizes[] = { 1, sizeof(struct crw_header), 65536 };
	uint32_t me = (uint32_t)getpid();
	struct err err = { 0 };
	unsigned before;
	char path[200];
	void *map;
	size_t i;
	int fd;

	for (i = 0; i < 3; i++) {
		in_dir(path, "shared");
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		CHECK(fd >= 0 && ftruncate(fd, (off_t)sizes[i]) == 0);
		map = mmap(NULL, sizes[i], PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		CHECK(map != MAP_FAILED && close(fd) == 0);
		before = count_open() + count_mapped("/shared");
		CHECK_EQ(region_control_send(me, CRW_REQUEST_STOP, NULL, &err), -ESRCH);
		CHECK_EQ(count_open() + count_mapped("/shared"), before);
		CHECK_EQ(munmap(map, sizes[i]) + unlink(path), 0);
	}
}

static void requests_reach_the_process(void)
{
	uint32_t me = (uint32_t)getpid();
	char text[CRW_MARK_MAX + 10];
	struct err err = { 0 };
	struct shm m;

	CHECK_EQ(region_control_send(NO_PID, CRW_REQUEST_STOP, NULL, &err), -ESRCH);
	CHECK_STR(err.text, "there is no process 4194303");
	CHECK_EQ(region_control_send(me, CRW_REQUEST_STOP, NULL, &err), -ESRCH);
	CHECK(strstr(err.text, "has no region for memory traces") != NULL);
	CHECK_EQ(shm_create(&m, &small, &err), 0);
	CHECK_EQ(region_control_send(me, CRW_REQUEST_STOP, NULL, &err), -ENOTSUP);
	CHECK(strstr(err.text, "takes no requests") != NULL);
	m.region.processes[1].state = CRW_LIVE;
	m.region.processes[1].pid = me;
	CHECK_EQ(region_control_send(me, CRW_REQUEST_STOP, NULL, &err), -ENOTSUP);
	m.region.processes[1].control = 1;
	m.region.processes[0].state = CRW_LIVE; /* another process of the region */
	m.region.processes[0].pid = 1;
	check_served(&m.region.processes[1], me, CRW_REQUEST_STOP, NULL);
	check_served(&m.region.processes[1], me, CRW_REQUEST_MARK, "a mark");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	check_served(&m.region.processes[1], me, CRW_REQUEST_MARK, text);
	/* In another pid namespace its number differs: the only one is meant. */
	m.region.processes[1].pid = 5;
	CHECK_EQ(region_control_send(me, CRW_REQUEST_STOP, NULL, &err), -ENOTSUP);
	m.region.processes[0].state = CRW_FREE;
	check_served(&m.region.processes[1], me, CRW_REQUEST_START, NULL);
	shm_close(&m);
}

static char listed[400];

static void note_listed(const char *folder, const char *trace)
{
	if (!strncmp(trace, dir, strlen(dir)))
		snprintf(listed, sizeof(listed), "%s %s", folder, trace);
}

static void a_left_region_is_found_by_its_trace(void)
{
	struct left_region left;
	struct err err = { 0 };
	char traces[2][200], expected[600], folder[300];
	struct stat st[2];
	struct shm m;
	int i;

	CHECK_EQ(shm_create(&m, &small, &err), 0);
	snprintf(folder, sizeof(folder), "%s", m.dir);
	for (i = 0; i < 2; i++) {
		in_dir(traces[i], i ? "two" : "one");
		CHECK_EQ(close(open(traces[i], O_CREAT | O_WRONLY, 0600)), 0);
		CHECK_EQ(stat(traces[i], &st[i]), 0);
		left_region_note(m.dir, 10 + (uint64_t)i, traces[i]);
	}
	left_region_note(m.dir, 12, "/nonexistent/trace"); /* no note */
	CHECK(!left_region_find(&left, st[0].st_dev, 1));
	CHECK(left_region_find(&left, st[1].st_dev, st[1].st_ino));
	CHECK_STR(left.dir, folder);
	CHECK_EQ(left.serial, 11);
	listed[0] = '\0';
	left_region_remove(&left);
	CHECK(!left_region_find(&left, st[1].st_dev, st[1].st_ino));
	CHECK_EQ(access(m.path, F_OK), 0); /* the other trace still needs it */
	/* The collector is gone: its number is that of no process. */
	((struct crw_header *)m.map)->consumer_pid = NO_PID;
	CHECK(left_region_list(note_listed) >= 1);
	snprintf(expected, sizeof(expected), "%s %s", folder, traces[0]);
	CHECK_STR(listed, expected);
	listed[0] = '\0';
	((struct crw_header *)m.map)->consumer_pid = (uint32_t)getpid(); /* it is not */
	left_region_list(note_listed);
	CHECK_STR(listed, "");
	CHECK(left_region_find(&left, st[0].st_dev, st[0].st_ino));
	CHECK_EQ(left.serial, 10);
	left_region_remove(&left); /* the last one */
	CHECK(access(folder, F_OK) < 0);
	shm_close(&m);
	CHECK_EQ(unlink(traces[0]) + unlink(traces[1]), 0);
}

static bool has_region_mapped(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4600];
	bool has = false;

	CHECK(f != NULL);
	while (fgets(line, sizeof(line), f))
		has |= strstr(line, LEFT_REGION_PREFIX) != NULL;
	fclose(f);
	return has;
}

int main(void)
{
	unsigned before = count_open();

	CHECK(mkdtemp(dir) != NULL);
	RUN(each_process_has_a_name);
	RUN(facts_of_the_process_are_in_the_file);
	RUN(earlier_traces_are_kept);
	RUN(folders_must_be_there);
	RUN(the_region_goes_with_its_folder);
	RUN(other_shared_files_are_no_regions);
	RUN(requests_reach_the_process);
	RUN(a_left_region_is_found_by_its_trace);
	CHECK_EQ(rmdir(dir), 0);
	CHECK_EQ(count_open(), before);
	CHECK(!has_region_mapped());
	return 0;
}
