/* SPDX-License-Identifier: MIT */
/*
 * test_run_leftovers.c - spools that earlier runs left: in which order they are shipped, which ones
 * are removed, and what happens if there are too many.
 *
 * The shipper is the test's; the files, their locks and the process are real.
 */
#include "run_leftovers.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "captured.h"
#include "cmd.h"

/* Shared with the process. */
static struct {
	char log[1024];
	unsigned nr_pauses, stop_at; /* the pause that asks it to stop; 0: none before a long one */
	int last_pause_ms;
	bool is_open; /* the transport */
	bool is_away; /* the receiver */
} * world;

static char folder[64];
static struct shipping s;

static void transport_close(struct ship_transport *t)
{
	(void)t;
	world->is_open = false;
}

static const struct ship_transport_ops transport_ops = { .close = transport_close };
static struct ship_transport transport = { .ops = &transport_ops };

int shipper_run(const struct shipper_config *config, struct shipper_result *result, struct err *err)
{
	size_t used = strlen(world->log);
	int fd = open(config->trace, O_RDONLY | O_CLOEXEC);

	(void)err;
	memset(result, 0, sizeof(*result));
	CHECK(config->transport == &transport);
	CHECK(config->has_ended && config->waits_while_blocks_arrive);
	CHECK(flock(fd, LOCK_EX | LOCK_NB) < 0); /* no other process ships it */
	close(fd);
	snprintf(world->log + used, sizeof(world->log) - used, "%s size %llu wait %llu; ",
		 strrchr(config->trace, '/') + 1, (unsigned long long)config->spool_size,
		 (unsigned long long)(config->wait_ns / NS_PER_SEC));
	result->is_finished = !world->is_away;
	return strstr(config->trace, "bad") ? -EINVAL : 0;
}

char *ship_state_path(const char *trace)
{
	char *path;

	CHECK(asprintf(&path, "%s.shipped", trace) > 0);
	return path;
}

static bool take_pause(int ms)
{
	world->nr_pauses++;
	world->last_pause_ms = ms;
	return ms > 0 || world->nr_pauses == world->stop_at;
}

/* ---- spools ------------------------------------------------------------------------------- */

/* @age: seconds since its last change. */
static void make_spool(const char *name, unsigned pages, time_t age)
{
	static const char page[4096] = "x";
	struct timespec times[2] = { { 1000000 - age, 0 }, { 1000000 - age, 5 } };
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	CHECK(f != NULL);
	while (pages-- > 0)
		CHECK_EQ(fwrite(page, sizeof(page), 1, f), 1);
	CHECK_EQ(fclose(f), 0);
	CHECK_EQ(utimensat(AT_FDCWD, path, times, 0), 0);
}

static bool is_there(const char *name)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return lstat(path, &st) == 0;
}

static void remove_file(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	CHECK_EQ(unlink(path), 0);
}

/* What the process said. */
static const char *ship(uint64_t size)
{
	int status;

	world->is_open = true;
	s.is_spool = true;
	s.transport = &transport;
	s.options.spool_size = size;
	snprintf(s.spool, sizeof(s.spool), "%s/own.ct", folder);
	captured_begin(stderr);
	leftovers_start(&s, take_pause);
	CHECK(waitpid(-1, &status, 0) > 0);
	CHECK_EQ(status, 0);
	CHECK(!world->is_open);
	return captured_end();
}

static void world_new(void)
{
	memset(world, 0, sizeof(*world));
}

static void the_oldest_is_shipped_first_and_removed(void)
{
	char wanted[512];

	world_new();
	make_spool("new.ct", 1, 10);
	make_spool("old.ct", 1, 30);
	make_spool("old.ct.shipped", 1, 30);
	make_spool("own.ct", 1, 50); /* of this run */
	make_spool("other.txt", 1, 50);
	make_spool(".ct", 1, 50);
	make_spool("bad.ct", 1, 20);
	snprintf(wanted, sizeof(wanted),
		 "corotracer ship: shipped the spool '%s/old.ct' of an earlier run\n"
		 "corotracer ship: shipped the spool '%s/new.ct' of an earlier run\n",
		 folder, folder);
	CHECK_STR(ship(1 << 20), wanted);
	CHECK_STR(world->log, "old.ct size 1048576 wait 10; bad.ct size 1048576 wait 10; "
			      "new.ct size 1048576 wait 10; ");
	CHECK_EQ(world->last_pause_ms, 60000); /* between two passes */
	CHECK_EQ(world->nr_pauses, 4);
	CHECK(!is_there("old.ct") && !is_there("old.ct.shipped") && !is_there("new.ct"));
	CHECK(is_there("own.ct") && is_there("other.txt") && is_there(".ct") && is_there("bad.ct"));
	remove_file("bad.ct");
	remove_file("other.txt");
	remove_file(".ct");
	remove_file("own.ct");
}

static void spools_of_a_receiver_that_is_away_stay(void)
{
	world_new();
	world->is_away = true;
	make_spool("a.ct", 1, 10);
	CHECK_STR(ship(1 << 20), "");
	CHECK(is_there("a.ct"));
	/* A signal ends it between two spools. */
	world_new();
	world->is_away = true;
	world->stop_at = 1;
	make_spool("b.ct", 1, 5);
	CHECK_STR(ship(1 << 20), "");
	CHECK_STR(world->log, "a.ct size 1048576 wait 10; ");
	CHECK_EQ(world->nr_pauses, 1);
	remove_file("a.ct");
	remove_file("b.ct");
}

static void events_of_the_oldest_are_given_up_if_there_are_too_many(void)
{
	world_new();
	world->is_away = true;
	make_spool("a.ct", 8, 30);
	make_spool("b.ct", 8, 20);
	make_spool("c.ct", 8, 10);
	ship(8 * 4096);
	/* Two of three, and then all that is left of them. */
	CHECK_STR(world->log, "a.ct size 1 wait 0; b.ct size 1 wait 0; a.ct size 32768 wait 10; "
			      "b.ct size 32768 wait 10; c.ct size 32768 wait 10; ");
	world_new();
	world->is_away = true;
	ship(3 * 8 * 4096);
	CHECK(!strstr(world->log, "size 1 "));
	remove_file("a.ct");
	remove_file("b.ct");
	remove_file("c.ct");
}

static void a_spool_that_is_written_is_left_alone(void)
{
	char path[128];
	int fd;

	world_new();
	make_spool("a.ct", 1, 10);
	snprintf(path, sizeof(path), "%s/a.ct", folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_EQ(flock(fd, LOCK_EX), 0);
	CHECK_STR(ship(1 << 20), "");
	CHECK_STR(world->log, "");
	close(fd);
	remove_file("a.ct");
	/* Nor are links and folders spools. */
	snprintf(path, sizeof(path), "%s/l.ct", folder);
	CHECK_EQ(symlink("/etc/passwd", path), 0);
	snprintf(path, sizeof(path), "%s/d.ct", folder);
	CHECK_EQ(mkdir(path, 0700), 0);
	CHECK_STR(ship(1 << 20), "");
	CHECK_STR(world->log, "");
	CHECK_EQ(rmdir(path), 0);
	remove_file("l.ct");
}

static void without_a_spool_there_is_no_process(void)
{
	world_new();
	s.is_spool = false;
	leftovers_start(&s, take_pause);
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_EQ(errno, ECHILD);
	CHECK_EQ(world->nr_pauses, 0);
}

int main(void)
{
	alarm(60);
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	CHECK(world != MAP_FAILED);
	snprintf(folder, sizeof(folder), "/tmp/corotracer-test-XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
	RUN(the_oldest_is_shipped_first_and_removed);
	RUN(spools_of_a_receiver_that_is_away_stay);
	RUN(events_of_the_oldest_are_given_up_if_there_are_too_many);
	RUN(a_spool_that_is_written_is_left_alone);
	RUN(without_a_spool_there_is_no_process);
	CHECK_EQ(rmdir(folder), 0);
	return 0;
}
