/* SPDX-License-Identifier: MIT */
/*
 * test_sidecar.c - the sidecar comes back as it was written, is whole or absent, and
 * is never trusted.
 */
#include "trace/sidecar.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static char dir[] = "/tmp/test_sidecar.XXXXXX";
static char path[64];

/* ---- helpers ------------------------------------------------------------- */

static const char *const words[] = { "./server", "--name", "a \"b\"\n", "" };

static const struct sidecar_run run = {
	.tool = "corotracer 0.1.0",
	.command = words,
	.nr_command = 4,
	.pid = 4711,
	.start_ts = UINT64_MAX,
	.start_realtime = UINT64_C(1700000000123456789),
	.hostname = "box",
	.arch = "x86_64",
	.stations = 256,
};

static const struct sidecar_process process = { 4712, 1000, 17 };

static const struct sidecar_coroutine coroutine = {
	.station = 3,
	.probe_id = UINT64_C(0xffff800012345678),
	.pid = 4712,
	.name = "reader \xc3\xa9",
	.name_truncated = true,
	.birth_ts = 5,
	.death_ts = 9,
	.dead = true,
	.writer = "seed-002",
	.written = 100,
	.collected = 90,
	.lost = 10,
	.garbage = 1,
};

static const struct sidecar_totals totals = { true, 100, 90, 10, 8, 2, 1, 4, 5, 6, 3, 0, 99 };

static void write_all(void)
{
	struct sidecar_writer w;
	struct err err = { 0 };

	CHECK_EQ(sidecar_writer_open(&w, path, &err), 0);
	sidecar_put_run(&w, &run);
	sidecar_put_process(&w, &process);
	sidecar_put_coroutine(&w, &coroutine);
	sidecar_put_totals(&w, &totals);
	CHECK_EQ(sidecar_writer_commit(&w, &err), 0);
	sidecar_writer_abort(&w);
}

static unsigned files_in_dir(void)
{
	DIR *d = opendir(dir);
	unsigned nr = 0;
	struct dirent *e;

	CHECK(d != NULL);
	while ((e = readdir(d)))
		nr += e->d_name[0] != '.';
	closedir(d);
	return nr;
}

static void open_text(struct sidecar_reader *r, const char *text)
{
	struct err err = { 0 };
	int fd = memfd_create("sidecar", MFD_CLOEXEC);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	CHECK_EQ(sidecar_reader_open_fd(r, fd, "a sidecar", &err), 0);
}

/* ---- tests --------------------------------------------------------------- */

static void lies_beside_its_trace(void)
{
	char *name = sidecar_path("some/trace.jsonl");

	CHECK_STR(name, "some/trace.jsonl.meta");
	free(name);
}

static void check_run(struct sidecar_reader *r)
{
	struct sidecar_record rec;
	struct err err = { 0 };
	size_t i;

	CHECK_EQ(sidecar_next(r, &rec, &err), 1);
	CHECK_EQ(rec.type, SIDECAR_RUN);
	CHECK_EQ(rec.run.format, SIDECAR_FORMAT);
	CHECK_STR(rec.run.tool, run.tool);
	CHECK_EQ(rec.run.nr_command, run.nr_command);
	for (i = 0; i < run.nr_command; i++)
		CHECK_STR(rec.run.command[i], run.command[i]);
	CHECK_EQ(rec.run.pid, run.pid);
	CHECK(rec.run.start_ts == UINT64_MAX);
	CHECK_EQ(rec.run.start_realtime, run.start_realtime);
	CHECK_STR(rec.run.hostname, "box");
	CHECK_STR(rec.run.arch, "x86_64");
	CHECK_EQ(rec.run.stations, 256);
}

static void check_coroutine(struct sidecar_reader *r)
{
	struct sidecar_record rec;
	struct err err = { 0 };

	CHECK_EQ(sidecar_next(r, &rec, &err), 1);
	CHECK_EQ(rec.type, SIDECAR_COROUTINE);
	CHECK_EQ(rec.coroutine.station, 3);
	CHECK(rec.coroutine.probe_id == coroutine.probe_id);
	CHECK_EQ(rec.coroutine.pid, 4712);
	CHECK_STR(rec.coroutine.name, coroutine.name);
	CHECK(rec.coroutine.name_truncated && rec.coroutine.dead);
	CHECK(rec.coroutine.birth_ts == 5 && rec.coroutine.death_ts == 9);
	CHECK_STR(rec.coroutine.writer, "seed-002");
	CHECK(rec.coroutine.written == 100 && rec.coroutine.collected == 90);
	CHECK(rec.coroutine.lost == 10 && rec.coroutine.garbage == 1);
}

static void check_totals(const struct sidecar_totals *t)
{
	CHECK(t->complete);
	CHECK_EQ(t->written, totals.written);
	CHECK_EQ(t->collected, totals.collected);
	CHECK_EQ(t->lost, totals.lost);
	CHECK_EQ(t->lost_overwritten, totals.lost_overwritten);
	CHECK_EQ(t->lost_output, totals.lost_output);
	CHECK_EQ(t->garbage, totals.garbage);
	CHECK_EQ(t->unfinished, totals.unfinished);
	CHECK_EQ(t->coroutines, totals.coroutines);
	CHECK_EQ(t->without_station, totals.without_station);
	CHECK_EQ(t->exit_status, totals.exit_status);
	CHECK_EQ(t->signal, totals.signal);
	CHECK_EQ(t->end_ts, totals.end_ts);
}

static void comes_back_as_it_was_written(void)
{
	struct sidecar_reader r;
	struct sidecar_record rec;
	struct err err = { 0 };

	write_all();
	CHECK_EQ(sidecar_reader_open(&r, path, &err), 0);
	check_run(&r);
	CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
	CHECK_EQ(rec.type, SIDECAR_PROCESS);
	CHECK(rec.process.pid == 4712 && rec.process.uid == 1000 && rec.process.connected_ts == 17);
	check_coroutine(&r);
	CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
	CHECK_EQ(rec.type, SIDECAR_TOTALS);
	check_totals(&rec.totals);
	CHECK_EQ(sidecar_next(&r, &rec, &err), 0);
	CHECK_EQ(r.stats.records, 4);
	CHECK_EQ(r.stats.unknown_keys + r.stats.unknown_types + r.stats.bad_fields, 0);
	CHECK_EQ(r.stats.garbage, 0);
	sidecar_reader_close(&r);
	sidecar_reader_close(&r);
}

static void spells_the_keys_as_agreed(void)
{
	char text[4096] = "";
	FILE *file;

	write_all();
	file = fopen(path, "r");
	CHECK(file && fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	CHECK_STR(text, "{\"type\":\"run\",\"format\":1,\"tool\":\"corotracer 0.1.0\",\"command\":["
			"\"./server\",\"--name\",\"a \\\"b\\\"\\n\",\"\"],\"pid\":4711,"
			"\"start_ts\":18446744073709551615,\"start_realtime\":1700000000123456789,"
			"\"hostname\":\"box\",\"arch\":\"x86_64\",\"stations\":256}\n"
			"{\"type\":\"process\",\"pid\":4712,\"uid\":1000,\"connected_ts\":17}\n"
			"{\"type\":\"coroutine\",\"station\":3,\"probe_id\":18446603336526616184,"
			"\"pid\":4712,\"name\":\"reader \xc3\xa9\",\"name_truncated\":true,"
			"\"birth_ts\":5,\"death_ts\":9,\"dead\":true,\"writer\":\"seed-002\","
			"\"written\":100,\"collected\":90,\"lost\":10,\"garbage\":1}\n"
			"{\"type\":\"totals\",\"complete\":true,\"written\":100,\"collected\":90,"
			"\"lost\":10,\"lost_overwritten\":8,\"lost_output\":2,\"garbage\":1,"
			"\"unfinished\":4,\"coroutines\":5,\"without_station\":6,\"exit_status\":3,"
			"\"signal\":null,\"end_ts\":99}\n");
}

static void writes_null_for_what_is_not_known(void)
{
	struct sidecar_coroutine nobody = { 0 };
	struct sidecar_totals killed = { .exit_status = -1, .signal = 9 };
	struct sidecar_writer w;
	struct sidecar_reader r;
	struct sidecar_record rec;
	struct err err = { 0 };

	CHECK_EQ(sidecar_writer_open(&w, path, &err), 0);
	sidecar_put_coroutine(&w, &nobody);
	sidecar_put_totals(&w, &killed);
	CHECK_EQ(sidecar_writer_commit(&w, &err), 0);
	CHECK_EQ(sidecar_reader_open(&r, path, &err), 0);
	CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
	CHECK(!rec.coroutine.name && !rec.coroutine.death_ts && !rec.coroutine.name_truncated);
	CHECK_STR(rec.coroutine.writer, "unknown");
	CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
	CHECK_EQ(rec.totals.exit_status, -1);
	CHECK_EQ(rec.totals.signal, 9);
	sidecar_reader_close(&r);
}

static void is_absent_until_the_commit(void)
{
	struct sidecar_writer w;
	struct err err = { 0 };

	unlink(path);
	CHECK_EQ(sidecar_writer_open(&w, path, &err), 0);
	sidecar_put_run(&w, &run);
	CHECK(access(path, F_OK) != 0);
	sidecar_writer_abort(&w);
	CHECK_EQ(files_in_dir(), 0);
	sidecar_writer_abort(&w);
}

static void leaves_the_older_one_when_it_fails(void)
{
	struct rlimit small = { 10000, RLIM_INFINITY };
	struct rlimit large = { RLIM_INFINITY, RLIM_INFINITY };
	struct sidecar_writer w;
	struct stat before, after;
	struct err err = { 0 };
	int i;

	write_all();
	CHECK_EQ(stat(path, &before), 0);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
	CHECK_EQ(sidecar_writer_open(&w, path, &err), 0);
	for (i = 0; i < 1000; i++)
		sidecar_put_coroutine(&w, &coroutine);
	CHECK_EQ(sidecar_writer_commit(&w, &err), -EFBIG);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &large), 0);
	CHECK(strstr(err.text, path) != NULL);
	CHECK_EQ(stat(path, &after), 0);
	CHECK(before.st_ino == after.st_ino && before.st_size == after.st_size);
	CHECK_EQ(files_in_dir(), 1);
}

static void is_readable_by_whom_the_umask_says(void)
{
	mode_t old = umask(027);
	struct stat st;

	unlink(path);
	write_all();
	CHECK_EQ(stat(path, &st), 0);
	CHECK_EQ(st.st_mode & 0777, 0640);
	umask(old);
}

static void tells_in_words_where_it_cannot_write(void)
{
	struct sidecar_writer w;
	struct err err = { 0 };

	CHECK_EQ(sidecar_writer_open(&w, "/nonexistent/trace.jsonl.meta", &err), -ENOENT);
	CHECK(strstr(err.text, "/nonexistent/trace.jsonl.meta") != NULL);
	sidecar_writer_abort(&w);
}

static void may_be_missing(void)
{
	struct sidecar_reader r;
	struct err err = { 0 };

	CHECK_EQ(sidecar_reader_open(&r, "/nonexistent.meta", &err), -ENOENT);
	sidecar_reader_close(&r);
}

static void skips_and_counts_what_it_does_not_know(void)
{
	struct sidecar_reader r;
	struct sidecar_record rec;
	struct err err = { 0 };

	open_text(&r, "\n"
		      "{\"type\":\"weather\",\"sun\":true}\n"
		      "{\"type\":\"process\",\"pid\":5,\"shoe\":43,\"hat\":[1]}\n"
		      "nonsense\n"
		      "{\"type\":7}\n"
		      "{\"no\":\"type\"}\n"
		      "[\"type\"]\n"
		      "\"type\"\n"
		      "{\"type\":\"process\",\"pid\":6}");
	CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
	CHECK_EQ(rec.process.pid, 5);
	CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
	CHECK_EQ(rec.process.pid, 6);
	CHECK_EQ(sidecar_next(&r, &rec, &err), 0);
	CHECK_EQ(r.stats.unknown_types, 1);
	CHECK_EQ(r.stats.unknown_keys, 2);
	CHECK_EQ(r.stats.garbage, 5);
	CHECK_EQ(r.stats.lines, 9);
	sidecar_reader_close(&r);
}

/* The folder of the fixtures is the neighbour of this file's. */
static const char *fixture(const char *name)
{
	static char buf[4096];
#ifdef FIXTURES
	snprintf(buf, sizeof(buf), "%s/%s", FIXTURES, name);
#else
	const char *slash = strrchr(__FILE__, '/');

	snprintf(buf, sizeof(buf), "%.*s/../fixtures/%s", slash ? (int)(slash - __FILE__) : 1,
		 slash ? __FILE__ : ".", name);
#endif
	return buf;
}

static void reads_a_sidecar_of_a_later_version_with_damage(void)
{
	struct sidecar_reader r;
	struct sidecar_record rec;
	struct err err = { 0 };

	CHECK_EQ(sidecar_reader_open(&r, fixture("sidecar.meta"), &err), 0);
	while (sidecar_next(&r, &rec, &err) > 0)
		;
	CHECK_EQ(rec.type, SIDECAR_TOTALS);
	CHECK_EQ(rec.totals.signal, 11);
	CHECK_EQ(r.stats.records, 5);
	CHECK_EQ(r.stats.unknown_types, 1);
	CHECK_EQ(r.stats.unknown_keys, 1);
	CHECK_EQ(r.stats.bad_fields, 1);
	CHECK_EQ(r.stats.garbage, 1);
	sidecar_reader_close(&r);
}

static void takes_a_field_of_the_wrong_type_as_missing(void)
{
	struct sidecar_reader r;
	struct sidecar_record rec;
	struct err err = { 0 };

	open_text(&r, "{\"type\":\"run\",\"command\":\"a b\",\"tool\":5,\"pid\":-1,"
		      "\"arch\":\"arm\",\"start_ts\":1e3}\n"
		      "{\"type\":\"run\",\"command\":[\"a\",7,null,\"b\"]}\n"
		      "{\"type\":\"totals\",\"exit_status\":4294967296,\"signal\":\"x\","
		      "\"complete\":1,\"lost\":18446744073709551616,\"written\":3}\n");
	CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
	CHECK(!rec.run.tool && !rec.run.command && !rec.run.nr_command && !rec.run.pid);
	CHECK_STR(rec.run.arch, "arm");
	CHECK_EQ(r.stats.bad_fields, 4);
	CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
	CHECK_EQ(rec.run.nr_command, 4);
	CHECK_STR(rec.run.command[1], "");
	CHECK_STR(rec.run.command[3], "b");
	CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
	CHECK(rec.totals.exit_status == -1 && !rec.totals.signal && !rec.totals.complete);
	CHECK(!rec.totals.lost && rec.totals.written == 3);
	CHECK_EQ(r.stats.bad_fields, 8);
	sidecar_reader_close(&r);
}

static void carries_any_bytes_as_a_name(void)
{
	struct sidecar_coroutine c = coroutine;
	struct sidecar_writer w;
	struct sidecar_reader r;
	struct sidecar_record rec;
	struct err err = { 0 };

	c.name = "\x1b[2J\xff\"\\\n\x01";
	CHECK_EQ(sidecar_writer_open(&w, path, &err), 0);
	sidecar_put_coroutine(&w, &c);
	CHECK_EQ(sidecar_writer_commit(&w, &err), 0);
	CHECK_EQ(sidecar_reader_open(&r, path, &err), 0);
	CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
	CHECK_STR(rec.coroutine.name, "\x1b[2J\xef\xbf\xbd\"\\\n\x01");
	sidecar_reader_close(&r);
}

int main(void)
{
	signal(SIGXFSZ, SIG_IGN);
	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/trace.jsonl.meta", dir);
	RUN(lies_beside_its_trace);
	RUN(comes_back_as_it_was_written);
	RUN(spells_the_keys_as_agreed);
	RUN(writes_null_for_what_is_not_known);
	RUN(is_absent_until_the_commit);
	RUN(leaves_the_older_one_when_it_fails);
	RUN(is_readable_by_whom_the_umask_says);
	RUN(tells_in_words_where_it_cannot_write);
	RUN(may_be_missing);
	RUN(skips_and_counts_what_it_does_not_know);
	RUN(reads_a_sidecar_of_a_later_version_with_damage);
	RUN(takes_a_field_of_the_wrong_type_as_missing);
	RUN(carries_any_bytes_as_a_name);
	unlink(path);
	rmdir(dir);
	return 0;
}
