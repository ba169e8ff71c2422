/* SPDX-License-Identifier: MIT */
/*
 * test_trace_files.c - the files of `mem run`: their names, what is kept of earlier ones, the facts
 * of the process in them, their sizes and errors; and the shared memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "check.h"
#include "memory/collect/shared_region.h"
#include "memory/collect/trace_files.h"
#include "memory/format/mem_reader.h"

static char dir[] = "/tmp/test_trace_files.XXXXXX";

#define NO_PID 4194303u /* no process has it */

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

int main(void)
{
	CHECK(mkdtemp(dir) != NULL);
	RUN(each_process_has_a_name);
	RUN(facts_of_the_process_are_in_the_file);
	RUN(earlier_traces_are_kept);
	RUN(folders_must_be_there);
	RUN(the_region_goes_with_its_folder);
	CHECK_EQ(rmdir(dir), 0);
	return 0;
}
