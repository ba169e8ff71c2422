/* SPDX-License-Identifier: MIT */
/*
 * test_ring_segment.c - shared memory that removes itself: when it is there, to whom it belongs,
 * what is said if there is none.
 *
 * The segments are real; calls of the kernel fail at the test's wish.
 */
#include "frames/live/ring_segment.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "check.h"
#include "count_open.h"

/* Shared with the helper process. */
static struct {
	int get_fails, attach_fails;
	bool gives_zero, kills_helper;
	unsigned nr_zero_removed, nr_made;
	int id; /* the last one */
	uid_t uid;
	gid_t gid;
} * world;

static bool has_no_sockets, has_no_process, shares_namespace = true;
static pid_t own_pid;

int __real_shmget(key_t key, size_t size, int flags);
int __wrap_shmget(key_t key, size_t size, int flags);
int __wrap_shmget(key_t key, size_t size, int flags)
{
	if (world->kills_helper)
		kill(getpid(), SIGKILL);
	if (world->gives_zero && !world->nr_made++)
		return 0;
	errno = world->get_fails;
	if (world->get_fails)
		return -1;
	world->id = __real_shmget(key, size, flags);
	return world->id;
}

int __real_shmctl(int id, int command, struct shmid_ds *ds);
int __wrap_shmctl(int id, int command, struct shmid_ds *ds);
int __wrap_shmctl(int id, int command, struct shmid_ds *ds)
{
	if (world->gives_zero && id == 0) {
		world->nr_zero_removed += command == IPC_RMID;
		return 0;
	}
	if (command == IPC_SET) {
		world->uid = ds->shm_perm.uid;
		world->gid = ds->shm_perm.gid;
	}
	return __real_shmctl(id, command, ds);
}

void *__real_shmat(int id, const void *at, int flags);
void *__wrap_shmat(int id, const void *at, int flags);
void *__wrap_shmat(int id, const void *at, int flags)
{
	bool is_helper = getpid() != own_pid;

	errno = world->attach_fails;
	if (world->attach_fails && is_helper == (world->attach_fails == ENOMEM))
		return (void *)-1; // NOLINT(performance-no-int-to-ptr)
	return __real_shmat(id, at, flags);
}

/* The smallest pieces. */
ssize_t __real_io_write(int fd, const void *data, size_t size);
ssize_t __wrap_io_write(int fd, const void *data, size_t size);
ssize_t __wrap_io_write(int fd, const void *data, size_t size)
{
	return __real_io_write(fd, data, size ? 1 : 0);
}

ssize_t __real_io_read(int fd, void *data, size_t size);
ssize_t __wrap_io_read(int fd, void *data, size_t size);
ssize_t __wrap_io_read(int fd, void *data, size_t size)
{
	return __real_io_read(fd, data, size > 2 ? 2 : size);
}

int __real_socketpair(int domain, int type, int protocol, int fds[2]);
int __wrap_socketpair(int domain, int type, int protocol, int fds[2]);
int __wrap_socketpair(int domain, int type, int protocol, int fds[2])
{
	errno = EMFILE;
	return has_no_sockets ? -1 : __real_socketpair(domain, type, protocol, fds);
}

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __wrap_fork(void)
{
	errno = EAGAIN;
	return has_no_process ? -1 : __real_fork();
}

bool target_shares_namespace(pid_t pid, const char *kind);
bool target_shares_namespace(pid_t pid, const char *kind)
{
	CHECK(pid > 0);
	CHECK_STR(kind, "ipc");
	return shares_namespace;
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void world_new(void)
{
	memset(world, 0, sizeof(*world));
	world->id = -1;
}

static void check_no_child(void)
{
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_EQ(errno, ECHILD);
}

static bool is_there(int id)
{
	struct shmid_ds ds;

	return __real_shmctl(id, IPC_STAT, &ds) == 0;
}

static void it_is_there_as_long_as_it_is_attached(void)
{
	unsigned before = count_open();
	struct err err = { 0 };
	struct shmid_ds ds;
	struct segment s;
	int id, i;

	world_new();
	CHECK_EQ(segment_create(&s, 8192, getpid(), &err), 0);
	check_no_child();
	CHECK_EQ(count_open(), before);
	CHECK_EQ(s.size, 8192);
	CHECK_EQ(s.id, world->id);
	for (i = 0; i < 8192; i++)
		CHECK_EQ(((char *)s.map)[i], 0);
	CHECK_EQ(__real_shmctl(s.id, IPC_STAT, &ds), 0);
	CHECK_EQ(ds.shm_nattch, 1);
	CHECK(ds.shm_perm.mode & SHM_DEST); /* it goes with the last process */
	CHECK_EQ(ds.shm_perm.mode & 0777, 0600);
	CHECK_EQ(world->uid, 0); /* its owner was not changed */
	id = s.id;
	segment_release(&s);
	CHECK(!is_there(id));
	CHECK(!s.map && !s.id && !s.size);
	segment_release(&s);
}

/* 0 means "not attached" to the program. */
static void its_number_is_not_zero(void)
{
	struct err err = { 0 };
	struct segment s;

	world_new();
	world->gives_zero = true;
	CHECK_EQ(segment_create(&s, 4096, getpid(), &err), 0);
	CHECK(s.id > 0);
	CHECK_EQ(world->nr_zero_removed, 1);
	segment_release(&s);
	CHECK(!is_there(world->id));
}

static void fail(int code, const char *text, const char *hint)
{
	unsigned before = count_open();
	struct err err = { 0 };
	struct segment s;

	CHECK_EQ(segment_create(&s, 4096, getpid(), &err), code);
	CHECK_STR(err.text, text);
	CHECK(strstr(err.hint, hint) == err.hint);
	CHECK_EQ(count_open(), before);
	check_no_child();
	CHECK(world->id < 0 || !is_there(world->id));
}

static void failures_are_told(void)
{
	world_new();
	world->get_fails = ENOSPC;
	fail(-ENOSPC, "cannot make 4096 bytes of shared memory: No space left on device",
	     "the system's limit is reached: ");
	world->get_fails = EINVAL;
	fail(-EINVAL, "cannot make 4096 bytes of shared memory: Invalid argument",
	     "one segment may have ");
	world->get_fails = ENOMEM;
	fail(-ENOMEM, "cannot make 4096 bytes of shared memory: Cannot allocate memory",
	     "there is not that much memory");
	world_new();
	world->attach_fails = ENOMEM; /* in the helper */
	fail(-ENOMEM, "cannot make 4096 bytes of shared memory: Cannot allocate memory",
	     "there is not that much memory");
	world_new();
	world->attach_fails = EMFILE; /* in this process */
	{
		struct err err = { 0 };
		struct segment s;

		CHECK_EQ(segment_create(&s, 4096, getpid(), &err), -EMFILE);
		CHECK(strstr(err.text, "cannot attach shared memory ") == err.text);
		CHECK(!is_there(world->id));
	}
	world_new();
	world->kills_helper = true;
	fail(-EPIPE, "the helper that creates shared memory was killed", "");
	world_new();
	has_no_sockets = true;
	fail(-EMFILE, "cannot make a pair of sockets: Too many open files", "");
	has_no_sockets = false;
	has_no_process = true;
	fail(-EAGAIN, "cannot start a helper process: Resource temporarily unavailable", "");
	has_no_process = false;
}

/* A process of another user; needs root. */
static void it_belongs_to_the_user_of_the_program(void)
{
	struct err err = { 0 };
	struct segment s;
	int ready[2];
	char byte;
	pid_t pid;

	world_new();
	CHECK_EQ(pipe(ready), 0);
	pid = __real_fork();
	if (!pid) {
		if (setgid(12345) == 0 && setuid(23456) == 0)
			(void)!write(ready[1], "", 1);
		close(ready[1]);
		pause();
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) == 1) {
		CHECK_EQ(segment_create(&s, 4096, pid, &err), 0);
		CHECK_EQ(world->uid, 23456);
		CHECK_EQ(world->gid, 12345);
		segment_release(&s);
	}
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	close(ready[0]);
}

static void a_namespace_is_joined_if_it_differs(void)
{
	unsigned before = count_open();
	struct err err = { 0 };

	CHECK_EQ(segment_join_namespace(getpid(), &err), 0);
	shares_namespace = false;
	CHECK_EQ(segment_join_namespace(INT32_MAX, &err), -ENOENT);
	CHECK_STR(err.text, "cannot open '/proc/2147483647/ns/ipc': No such file or directory");
	segment_join_namespace(getpid(), &err); /* only root may */
	shares_namespace = true;
	CHECK_EQ(count_open(), before);
}

int main(void)
{
	alarm(20);
	own_pid = getpid();
	world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	CHECK(world != MAP_FAILED);
	RUN(it_is_there_as_long_as_it_is_attached);
	RUN(its_number_is_not_zero);
	RUN(failures_are_told);
	RUN(it_belongs_to_the_user_of_the_program);
	RUN(a_namespace_is_joined_if_it_differs);
	return 0;
}
