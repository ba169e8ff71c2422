/* SPDX-License-Identifier: MIT */
/*
 * test_csv_files.c - files of `export csv`: which ones are there after an export, and after one
 * that failed.
 */
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "count_open.h"
#include "export/sink.h"

static char dir[] = "/tmp/ct-csv-XXXXXX";
static unsigned sync_fails, rename_fails; /* the first, the second ... */
static const struct column columns[] = { { .name = "id" }, { .name = "a,b" } };
static char names[2][8] = { "one", "two" };
static const struct table tables[] = {
	{ .suffix = "", .columns = columns, .nr_columns = 2, .name = names[0] },
	{ .suffix = "_details", .columns = columns, .nr_columns = 2, .name = names[1] },
};
static struct export_options options;
static struct sink_job job;

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && sync_fails && --sync_fails == 0) {
		errno = ENOSPC;
		return -1;
	}
	return __real_fsync(fd);
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
	if (rename_fails && --rename_fails == 0) {
		errno = EACCES;
		return -1;
	}
	return __real_rename(from, to);
}

/* ---- files ---------------------------------------------------------------------------------- */

static char found[512];

static int add_name(const char *path, const struct stat *st, int type, struct FTW *at)
{
	size_t used = strlen(found);

	(void)type;
	if (at->level)
		snprintf(found + used, sizeof(found) - used, "%s%s ", path + strlen(dir) + 1,
			 S_ISDIR(st->st_mode) ? "/" : "");
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	return at->level ? remove(path) : 0;
}

static void empty(void)
{
	CHECK_EQ(nftw(dir, remove_one, 4, FTW_DEPTH | FTW_PHYS), 0);
}

static unsigned count_words(const char *text)
{
	unsigned nr = 0;

	for (; *text; text++)
		nr += *text == ' ';
	return nr;
}

/* @nr files and folders, among them @names, with a space behind each. */
static void check_files(unsigned nr, const char *const *expected)
{
	found[0] = '\0';
	CHECK_EQ(nftw(dir, add_name, 4, FTW_PHYS), 0);
	CHECK_EQ(count_words(found), nr);
	for (; *expected; expected++)
		CHECK(strstr(found, *expected) != NULL);
}

static void check_text(const char *path, const char *expected)
{
	char text[256];
	FILE *f = fopen(path, "r");
	size_t size;

	CHECK(f != NULL);
	size = fread(text, 1, sizeof(text) - 1, f);
	text[size] = '\0';
	fclose(f);
	CHECK_STR(text, expected);
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

#define FILES(nr, ...) check_files(nr, (const char *const[]){ __VA_ARGS__, NULL })
#define NO_FILES()     check_files(0, (const char *const[]){ NULL })

/* ---- exports -------------------------------------------------------------------------------- */

static void job_new(const char *output, size_t nr, bool is_recording)
{
	empty();
	sync_fails = rename_fails = 0;
	options = (struct export_options){ .full = nr > 1 && !is_recording };
	job = (struct sink_job){ .options = &options,
				 .output = output,
				 .tables = tables,
				 .nr_tables = nr,
				 .recording = is_recording ? (const struct recfile *)&job : NULL };
}

static int open_job(struct err *err)
{
	*err = (struct err){ 0 };
	return sink_csv.open(&job, err);
}

static void put_row(size_t table, uint64_t id, const char *text)
{
	const struct cell cells[] = { cell_u64(id), cell_text(text, strlen(text)) };
	struct err err = { 0 };

	CHECK_EQ(sink_csv.row(&job, table, cells, &err), 0);
}

static void put_event(void)
{
	struct trace_item item = { .type = TRACE_ITEM_EVENT };
	struct err err = { 0 };

	item.event = (struct trace_event){ .probe_id = 1, .tid = 2, .addr = 3, .seq = 4, .ts = 5 };
	CHECK_EQ(sink_csv.item(&job, &item, &err), 0);
	item.event.is_active = true;
	CHECK_EQ(sink_csv.item(&job, &item, &err), 0);
	item.type = TRACE_ITEM_SITE; /* not a row */
	CHECK_EQ(sink_csv.item(&job, &item, &err), 0);
	CHECK_EQ(job.rows, 2);
}

static void a_trace_becomes_a_file_per_table(void)
{
	struct err err;

	job_new("o.csv", 2, false);
	CHECK_EQ(open_job(&err), 0);
	put_event();
	put_row(1, 7, "x\"y");
	CHECK_EQ(sink_csv.commit(&job, &err), 0);
	sink_csv.close(&job);
	FILES(2, "o.csv ", "o.details.csv ");
	check_text("o.csv", "id,\"a,b\"\n1,2,0x0000000000000003,4,false,5\n"
			    "1,2,0x0000000000000003,4,true,5\n");
	check_text("o.details.csv", "id,\"a,b\"\n7,\"x\"\"y\"\n");
	CHECK_EQ(job.bytes, 9 + 33 + 32 + 9 + 9);
	/* Without a suffix, and lines of Windows. */
	job_new("x.d/o", 2, false);
	CHECK_EQ(mkdir("x.d", 0700), 0);
	options.crlf = true;
	CHECK_EQ(open_job(&err), 0);
	CHECK_EQ(sink_csv.commit(&job, &err), 0);
	sink_csv.close(&job);
	FILES(3, "x.d/ ", "x.d/o ", "x.d/o.details ");
	check_text("x.d/o", "id,\"a,b\"\r\n");
}

static void texts_are_guarded_unless_exact(void)
{
	struct err err;

	job_new("o.csv", 1, false);
	CHECK_EQ(open_job(&err), 0);
	put_row(0, 1, "=1+1");
	CHECK_EQ(sink_csv.commit(&job, &err), 0);
	sink_csv.close(&job);
	check_text("o.csv", "id,\"a,b\"\n1,\"'=1+1\"\n");
	job_new("o.csv", 1, false);
	options.exact_text = true;
	CHECK_EQ(open_job(&err), 0);
	put_row(0, 1, "=1+1");
	CHECK_EQ(sink_csv.commit(&job, &err), 0);
	sink_csv.close(&job);
	check_text("o.csv", "id,\"a,b\"\n1,\"=1+1\"\n");
}

static void a_recording_becomes_a_folder(void)
{
	struct err err;

	job_new("rec", 2, true);
	CHECK_EQ(open_job(&err), 0);
	put_row(1, 3, "x"); /* the other type has no frames */
	CHECK_EQ(sink_csv.commit(&job, &err), 0);
	sink_csv.close(&job);
	FILES(2, "rec/ ", "rec/two.csv ");
	check_text("rec/two.csv", "id,\"a,b\"\n3,x\n");
	job_new("rec", 2, true);
	CHECK_EQ(mkdir("rec", 0700), 0);
	CHECK_EQ(open_job(&err), 0);
	CHECK_EQ(sink_csv.commit(&job, &err), 0);
	sink_csv.close(&job);
	FILES(1, "rec/ ");
}

/* ---- failures ------------------------------------------------------------------------------- */

static void nothing_is_replaced_if_the_disk_is_full(void)
{
	unsigned before, i;
	struct err err;

	for (i = 1; i <= 2; i++) {
		job_new("o.csv", 2, false);
		write_text("o.csv", "old");
		before = count_open();
		CHECK_EQ(open_job(&err), 0);
		put_event();
		sync_fails = i;
		CHECK_EQ(sink_csv.commit(&job, &err), -ENOSPC);
		sink_csv.close(&job);
		FILES(1, "o.csv ");
		check_text("o.csv", "old");
		CHECK_EQ(count_open(), before);
	}
}

/* The events last: a file of events without the others is not there. */
static void the_file_of_events_is_the_last(void)
{
	struct err err;

	job_new("o.csv", 2, false);
	CHECK_EQ(open_job(&err), 0);
	rename_fails = 2;
	CHECK_EQ(sink_csv.commit(&job, &err), -EACCES);
	sink_csv.close(&job);
	FILES(1, "o.details.csv ");
	job_new("o.csv", 2, false);
	CHECK_EQ(open_job(&err), 0);
	rename_fails = 1;
	CHECK_EQ(sink_csv.commit(&job, &err), -EACCES);
	sink_csv.close(&job);
	NO_FILES();
}

static void a_folder_of_a_failed_export_is_removed(void)
{
	struct err err;

	job_new("rec", 2, true);
	CHECK_EQ(open_job(&err), 0);
	put_row(0, 3, "x");
	sync_fails = 1;
	CHECK_EQ(sink_csv.commit(&job, &err), -ENOSPC);
	sink_csv.close(&job);
	NO_FILES();
	/* One that was there stays. */
	job_new("rec", 2, true);
	CHECK_EQ(mkdir("rec", 0700), 0);
	CHECK_EQ(open_job(&err), 0);
	put_row(0, 3, "x");
	sink_csv.close(&job);
	FILES(1, "rec/ ");
}

/* A signal ends the process while another thread exports. */
static void a_dropped_export_leaves_nothing(void)
{
	struct err err;

	job_new("o.csv", 2, false);
	CHECK_EQ(open_job(&err), 0);
	sink_csv.drop(&job);
	NO_FILES();
	sink_csv.close(&job);
	job_new("rec", 2, true);
	CHECK_EQ(open_job(&err), 0);
	put_row(0, 3, "x");
	sink_csv.drop(&job);
	NO_FILES();
	sink_csv.close(&job);
	NO_FILES();
}

static void what_cannot_be_opened_is_told(void)
{
	struct err err;

	job_new("none/o.csv", 2, false);
	CHECK_EQ(open_job(&err), -ENOENT);
	NO_FILES();
	job_new("none/rec", 2, true);
	CHECK_EQ(open_job(&err), -ENOENT);
	CHECK_STR(err.text, "cannot make the folder 'none/rec': No such file or directory");
	job_new("-", 2, false);
	CHECK_EQ(open_job(&err), -EINVAL);
	CHECK_STR(err.hint, "name the first: -o trace.csv");
	/* The second of two. */
	job_new("o.csv", 2, false);
	CHECK_EQ(mkdir("o.details.csv", 0700), 0);
	CHECK(open_job(&err) < 0);
	FILES(1, "o.details.csv/ ");
}

int main(void)
{
	CHECK(mkdtemp(dir) && chdir(dir) == 0);
	RUN(a_trace_becomes_a_file_per_table);
	RUN(texts_are_guarded_unless_exact);
	RUN(a_recording_becomes_a_folder);
	RUN(nothing_is_replaced_if_the_disk_is_full);
	RUN(the_file_of_events_is_the_last);
	RUN(a_folder_of_a_failed_export_is_removed);
	RUN(a_dropped_export_leaves_nothing);
	RUN(what_cannot_be_opened_is_told);
	empty();
	CHECK_EQ(rmdir(dir), 0);
	return 0;
}
