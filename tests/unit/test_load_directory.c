/* SPDX-License-Identifier: MIT */
/*
 * test_load_directory.c - load a directory of envelopes: their order, missing blocks, files that
 * are no envelopes, what is removed, and when it ends.
 *
 * The files are real, and their content is made up; the loader and the clock are the test's.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "captured.h"
#include "count_open.h"
#include "load_source.h"
#include "ship/ship_envelope.h"
#include "ship/ship_whole.h"

#define RUN_NAME "0123456789abcdef0123456789abcdef"

volatile sig_atomic_t load_is_ending;

static char dir[] = "/tmp/ct-load-XXXXXX";
static char calls[2048];
static struct load_job job;
static struct loader_next next; /* of the loader */
static int nexts, flushes, fails_at;
static bool is_due;
static unsigned nr_passes, ends_at; /* passes that found nothing; the last of them */
static uint64_t now;
static void (*between)(void); /* after the first pass */

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	size_t used = strlen(calls);
	va_list args;

	va_start(args, format);
	vsnprintf(calls + used, sizeof(calls) - used, format, args);
	va_end(args);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	(void)clock;
	t->tv_sec = (time_t)(now / NS_PER_SEC);
	t->tv_nsec = (long)(now % NS_PER_SEC);
	return 0;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *time, struct timespec *rest)
{
	(void)rest;
	CHECK_EQ(time->tv_sec, 0);
	CHECK_EQ(time->tv_nsec, 200000000);
	now += NS_PER_SEC / 5;
	if (++nr_passes == ends_at)
		load_is_ending = 1;
	if (between)
		between();
	between = NULL;
	return 0;
}

bool ship_run_is_valid(const char *run)
{
	return strlen(run) == 32;
}

/* "7 x" is block 7; "P7 x" a part of it; "bad" and "mem" are faults. */
int ship_envelope_decode(const void *data, size_t size, struct ship_envelope *e, struct err *err)
{
	unsigned long long number;
	char text[64]; /* with an end */
	int used = 0;

	snprintf(text, sizeof(text), "%.*s", (int)size, size ? (const char *)data : "");
	if (!size || !strncmp(text, "bad", 3))
		return err_set(err, -EPROTO, "not an envelope");
	if (!strncmp(text, "mem", 3))
		return err_set(err, -ENOMEM, "no memory");
	CHECK_EQ(sscanf(text + (*text == 'P'), "%llu %n", &number, &used), 1);
	used += *text == 'P';
	*e = (struct ship_envelope){ .number = number, .parts = *text == 'P' ? 2 : 1 };
	e->block = (const uint8_t *)data + used;
	e->block_size = size - (size_t)used;
	e->labels = (const char *)e->block;
	e->labels_size = e->block_size;
	return 0;
}

/* "F2": the account of the run, with two blocks given up. */
int ship_labels_parse(const char *text, size_t size, struct ship_labels *labels, struct err *err)
{
	memset(labels, 0, sizeof(*labels));
	if (size && *text == '?')
		return err_set(err, -EPROTO, "not labels");
	labels->has_final = size && *text == 'F';
	labels->final.given_up_blocks = labels->has_final ? (uint64_t)(text[1] - '0') : 0;
	return 0;
}

struct loader_next loader_next(struct loader *l, const struct ship_labels *labels, struct err *err)
{
	CHECK((void *)l == (void *)&calls && labels);
	if (nexts)
		err_set(err, nexts, "no state");
	return next;
}

int loader_block(struct loader *l, const struct ship_labels *labels, uint64_t number,
		 const void *block, size_t size, int64_t arrived, struct err *err)
{
	bool is_whole = number >= SHIP_WHOLE_FIRST;

	CHECK((void *)l == (void *)&calls && labels);
	CHECK_EQ(arrived, 0);
	note("%s%d%.*s ", is_whole ? "w" : "", (int)(is_whole ? number - SHIP_WHOLE_FIRST : number),
	     (int)size, (const char *)block);
	*(is_whole ? &next.whole : &next.block) = number + 1;
	return fails_at && (int)number == fails_at ? err_set(err, -EIO, "no store") : 0;
}

int loader_flush(struct loader *l, struct err *err)
{
	CHECK((void *)l == (void *)&calls);
	note("- ");
	return flushes ? err_set(err, flushes, "no store") : 0;
}

bool loader_is_due(const struct loader *l)
{
	CHECK((const void *)l == (const void *)&calls);
	return is_due;
}

/* ---- files --------------------------------------------------------------------------------- */

static const char *path_of(uint64_t number)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/host/" RUN_NAME "/%020" PRIu64 ".ctblock", dir, number);
	return path;
}

static void put_text(uint64_t number, const char *text)
{
	int fd = open(path_of(number), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void put(uint64_t number, const char *block)
{
	char text[64];

	snprintf(text, sizeof(text), "%" PRIu64 " %s", number, block);
	put_text(number, text);
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

/* Numbers below 100 of the files that are there. */
static const char *left(void)
{
	static char text[512];
	size_t used = 0;
	uint64_t i;

	text[0] = '\0';
	for (i = 0; i < 100; i++)
		if (access(path_of(i), F_OK) == 0)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%d ", (int)i);
	return text;
}

static void folder_new(void)
{
	char path[128];

	empty();
	snprintf(path, sizeof(path), "%s/host", dir);
	CHECK_EQ(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/host/" RUN_NAME, dir);
	CHECK_EQ(mkdir(path, 0700), 0);
	calls[0] = '\0';
	next = (struct loader_next){ 1, SHIP_WHOLE_FIRST };
	nexts = flushes = fails_at = 0;
	is_due = false;
	nr_passes = ends_at = 0;
	now = 1000 * NS_PER_SEC;
	load_is_ending = 0;
	job = (struct load_job){ .loader = (struct loader *)&calls, .gap_s = 60 };
}

static const char *left_out(uint64_t number, const char *why)
{
	static char text[512];

	snprintf(text, sizeof(text), "corotracer load: '%s' is left out: %s\n", path_of(number),
		 why);
	return text;
}

/* @said on stderr. */
static void load(int status, const char *expected, const char *said)
{
	unsigned before = count_open();
	struct err err = { 0 };

	captured_begin(stderr);
	CHECK_EQ(load_directory(&job, dir, &err), status);
	CHECK_STR(captured_end(), said);
	CHECK_STR(calls, expected);
	CHECK_EQ(count_open(), before);
	CHECK_EQ(err.code, status);
	CHECK(!job.bad_files && !job.nr_bad);
}

/* ---- order --------------------------------------------------------------------------------- */

static void blocks_are_loaded_in_the_order_of_their_numbers(void)
{
	uint64_t i;

	folder_new();
	put(10, "j");
	for (i = 9; i; i--)
		put(i, "");
	load(0, "1 2 3 4 5 6 7 8 9 10j - ", "");
	CHECK_EQ(job.waiting, 0);
	CHECK_STR(left(), "1 2 3 4 5 6 7 8 9 10 ");
	/* More than the room of a list. */
	folder_new();
	for (i = 1; i <= 300; i++)
		put(i, "");
	load(0, calls, "");
	CHECK(strstr(calls, "1 2 3 ") == calls && strstr(calls, " 299 300 - "));
}

static void what_was_loaded_before_is_left_out(void)
{
	folder_new();
	next.block = 3;
	put(1, "a");
	put(2, "b");
	put(3, "c");
	load(0, "3c - ", "");
	folder_new();
	next = (struct loader_next){ 0 }; /* a run that is not known */
	put(0, "a");
	put(1, "b");
	load(0, "0a 1b - ", "");
}

/* The account comes behind them. */
static void whole_coroutines_come_before_the_last_block(void)
{
	folder_new();
	put(1, "a");
	put(2, "F0");
	put(SHIP_WHOLE_FIRST, "x");
	put(SHIP_WHOLE_FIRST + 1, "y");
	load(0, "1a w0x w1y 2F0 - ", "");
	folder_new();
	put(SHIP_WHOLE_FIRST, "x");
	load(0, "w0x - ", "");
}

/* Also without --remove, where they stay. */
static void whole_coroutines_are_loaded_once(void)
{
	folder_new();
	put(1, "a");
	put(2, "F0");
	put(SHIP_WHOLE_FIRST, "x");
	job.follow = true;
	ends_at = 3;
	load(0, "1a w0x 2F0 - - - - ", "");
	folder_new();
	put(1, "a");
	put(SHIP_WHOLE_FIRST, "x");
	job.idle_s = 1;
	load(0, "w0x 1a - - - - - - - ", "");
	CHECK_EQ(nr_passes, 5);
}

/* ---- missing blocks ------------------------------------------------------------------------ */

static void a_missing_block_is_waited_for(void)
{
	folder_new();
	put(1, "a");
	put(3, "c");
	put(4, "d");
	load(0, "1a - ", "");
	CHECK_EQ(job.waiting, 2);
	/* It is given up after a time. */
	folder_new();
	put(1, "a");
	put(3, "c");
	job.gap_s = 0;
	load(0, "1a 3c - ", "");
	CHECK_EQ(job.waiting, 0);
}

static void put_the_second(void)
{
	put(2, "b");
}

static void a_block_that_comes_later_is_loaded_in_its_place(void)
{
	folder_new();
	put(1, "a");
	put(3, "c");
	job.follow = true;
	ends_at = 3;
	between = put_the_second;
	load(0, "1a - - 2b 3c - - - ", "");
	CHECK_EQ(job.waiting, 0);
}

static void an_old_block_is_not_held_back(void)
{
	struct timespec times[2] = { { .tv_sec = time(NULL) - 59 }, { .tv_sec = time(NULL) - 59 } };

	folder_new();
	put(2, "b");
	CHECK_EQ(utimensat(AT_FDCWD, path_of(2), times, 0), 0);
	job.gap_s = 70;
	load(0, "- ", "");
	CHECK_EQ(job.waiting, 1);
	calls[0] = '\0';
	job.gap_s = 59;
	load(0, "2b - ", "");
}

static void give_up(const char *account, const char *expected)
{
	folder_new();
	put(1, "a");
	put(4, "d"); /* two are missing */
	put(6, "f"); /* and one */
	put(7, account);
	load(0, expected, "");
}

static void blocks_that_were_given_up_are_not_waited_for(void)
{
	give_up("F3", "1a 4d 6f 7F3 - ");
	give_up("F9", "1a 4d 6f 7F9 - ");
	give_up("F2", "1a - ");
	CHECK_EQ(job.waiting, 3);
	give_up("g", "1a - ");
	/* The account is behind whole coroutines. */
	folder_new();
	put(1, "a");
	put(3, "c");
	put(4, "F1");
	put(SHIP_WHOLE_FIRST, "x");
	load(0, "1a 3c w0x 4F1 - ", "");
	/* It cannot be read: told once, though it is looked at twice. */
	folder_new();
	put(1, "a");
	put(3, "c");
	put_text(4, "bad");
	load(0, "1a - ", left_out(4, "not an envelope"));
	CHECK_EQ(job.unreadable, 1);
}

/* ---- files that are no envelopes ------------------------------------------------------------ */

static void what_is_no_envelope_is_left_out_and_stays(void)
{
	folder_new();
	job.remove = true;
	put(1, "a");
	put_text(2, "bad");
	load(0, "1a - - ", left_out(2, "not an envelope"));
	CHECK_EQ(job.unreadable, 1);
	CHECK_STR(left(), "2 ");
	folder_new();
	job.remove = true;
	put_text(1, "P1 a");
	load(0, "- - ", left_out(1, "it is a part of a block"));
	CHECK_STR(left(), "1 ");
	folder_new();
	put_text(1, "1 ?");
	load(0, "- ", left_out(1, "not labels"));
	folder_new();
	put_text(1, "");
	load(0, "- ", left_out(1, "not an envelope"));
}

/* Other things with the name of a block do not stop the loader. */
static void what_is_no_file_is_left_out(void)
{
	folder_new();
	CHECK_EQ(symlink("/dev/null", path_of(1)), 0);
	load(0, "- ", left_out(1, "it is a symbolic link"));
	folder_new();
	CHECK_EQ(mkdir(path_of(1), 0700), 0);
	load(0, "- ", left_out(1, "it is not a file"));
	folder_new();
	CHECK_EQ(mkfifo(path_of(1), 0700), 0);
	load(0, "- ", left_out(1, "it is not a file"));
	folder_new();
	put(1, "a");
	CHECK_EQ(truncate(path_of(1), SHIP_BLOCK_MAX + SHIP_LABELS_MAX + 4097), 0);
	load(0, "- ", left_out(1, "it is too large"));
}

static void complete_the_first(void)
{
	put(1, "a");
}

/* Another tool was copying it. */
static void a_file_that_becomes_complete_is_loaded(void)
{
	folder_new();
	put_text(1, "bad");
	put(2, "b");
	job.follow = job.remove = true;
	ends_at = 4;
	between = complete_the_first;
	load(0, "- - 1a 2b - - - - - ", left_out(1, "not an envelope"));
	CHECK_EQ(job.unreadable, 0);
	CHECK_EQ(job.waiting, 0);
	CHECK_STR(left(), "");
}

static void a_file_is_told_once(void)
{
	folder_new();
	put_text(1, "bad");
	job.follow = true;
	ends_at = 5;
	load(0, "- - - - - ", left_out(1, "not an envelope"));
	CHECK_EQ(job.unreadable, 1);
}

static void other_names_are_ignored(void)
{
	char path[300];

	folder_new();
	put(1, "a");
	snprintf(path, sizeof(path), "%s/host/" RUN_NAME "/2.ctblock", dir); /* without zeros */
	CHECK_EQ(symlink("x", path), 0);
	snprintf(path, sizeof(path), "%s.tmp", path_of(2));
	CHECK_EQ(symlink("x", path), 0);
	snprintf(path, sizeof(path), "%s/host/" RUN_NAME "/x.ctblock", dir);
	CHECK_EQ(symlink("x", path), 0);
	snprintf(path, sizeof(path), "%s/host/other", dir);
	CHECK_EQ(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/host/ffffffffffffffffffffffffffffffff", dir); /* a file */
	CHECK_EQ(mkfifo(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/file", dir);
	CHECK_EQ(mkfifo(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/.hidden", dir);
	CHECK_EQ(rename((snprintf(calls, sizeof(calls), "%s/host", dir), calls), path), 0);
	calls[0] = '\0';
	load(0, "- ", "");
	CHECK_EQ(rename(path, (snprintf(calls, sizeof(calls), "%s/host", dir), calls)), 0);
	calls[0] = '\0';
	load(0, "1a - ", "");
}

/* ---- removal and failures ------------------------------------------------------------------- */

static void what_is_stored_is_removed_if_asked(void)
{
	folder_new();
	job.remove = true;
	next.block = 2;
	put(1, "a");
	put(2, "b");
	put(4, "d");
	load(0, "2b - - ", "");
	CHECK_STR(left(), "4 ");
	/* Each time that enough was collected. */
	folder_new();
	job.remove = is_due = true;
	put(1, "a");
	put(2, "b");
	load(0, "1a - 2b - - - ", "");
	CHECK_STR(left(), "");
	/* Nothing that the store does not have. */
	folder_new();
	job.remove = true;
	flushes = -ENOSPC;
	put(1, "a");
	load(-ENOSPC, "1a - ", "");
	CHECK_STR(left(), "1 ");
	folder_new();
	job.remove = true;
	fails_at = 2;
	put(1, "a");
	put(2, "b");
	put(3, "c");
	load(-EIO, "1a 2b ", "");
	CHECK_STR(left(), "1 2 3 ");
}

static void failures_end_it(void)
{
	struct err err = { 0 };

	folder_new();
	nexts = -EBADMSG;
	put(1, "a");
	load(-EBADMSG, "", "");
	folder_new();
	put_text(1, "mem");
	load(-ENOMEM, "", "");
	folder_new();
	CHECK_EQ(load_directory(&job, "/nonexistent", &err), -ENOENT);
	CHECK_STR(err.text, "cannot open '/nonexistent': No such file or directory");
	/* A signal before the start. */
	folder_new();
	load_is_ending = 1;
	put(1, "a");
	load(0, "", "");
}

int main(void)
{
	CHECK(mkdtemp(dir));
	alarm(20);
	RUN(blocks_are_loaded_in_the_order_of_their_numbers);
	RUN(what_was_loaded_before_is_left_out);
	RUN(whole_coroutines_come_before_the_last_block);
	RUN(whole_coroutines_are_loaded_once);
	RUN(a_missing_block_is_waited_for);
	RUN(a_block_that_comes_later_is_loaded_in_its_place);
	RUN(an_old_block_is_not_held_back);
	RUN(blocks_that_were_given_up_are_not_waited_for);
	RUN(what_is_no_envelope_is_left_out_and_stays);
	RUN(what_is_no_file_is_left_out);
	RUN(a_file_that_becomes_complete_is_loaded);
	RUN(a_file_is_told_once);
	RUN(other_names_are_ignored);
	RUN(what_is_stored_is_removed_if_asked);
	RUN(failures_end_it);
	empty();
	CHECK_EQ(rmdir(dir), 0);
	return 0;
}
