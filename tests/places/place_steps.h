/* SPDX-License-Identifier: MIT */
/*
 * place_steps.h - what a program does before its first coroutine, one word each:
 *
 *	user        give up the privileges of root
 *	shm         an own mount namespace with an empty /dev/shm, /tmp and /run
 *	read-only   an own mount namespace whose /dev/shm is read-only
 *	chroot=DIR  change the root directory
 *	close       close all descriptors from 3 on
 *	reuse       replace the inherited descriptors by a file of the program, which must stay as
 *it is clear       clear the environment memory=MIB  limit the address space fork        go on in a
 *child wait        print "ready" and wait for the end of standard input linger      after the
 *coroutines, wait for the end of standard input stop        end here, without a coroutine
 */
#ifndef PLACES_PLACE_STEPS_H
#define PLACES_PLACE_STEPS_H

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLACE_USER 65534u
#define PLACE_TEXT "a file of the program"

static inline void place_check(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(3);
}

static inline void place_own_mounts(void)
{
	place_check(unshare(CLONE_NEWNS) == 0, "unshare");
	place_check(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "mount /");
}

static inline void place_read_only(void)
{
	place_own_mounts();
	place_check(mount("/dev/shm", "/dev/shm", NULL, MS_BIND, NULL) == 0, "mount --bind");
	place_check(mount(NULL, "/dev/shm", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0,
		    "mount -o remount,ro");
}

/* The numbers of CTP_FDS: the first and the fourth. */
static inline int place_inherited(unsigned which)
{
	const char *at = getenv("CTP_FDS");

	for (; at && which; which--)
		at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL;
	return at ? (int)strtoul(at, NULL, 16) : -1;
}

static int place_reused[2], place_lingers;

static inline void place_reuse(void)
{
	unsigned i;

	for (i = 0; i < 2; i++) {
		char name[] = "/tmp/place.XXXXXX";
		int fd = mkstemp(name), other = place_inherited(3 * i);

		place_check(fd >= 0 && other > 2, "CTP_FDS");
		unlink(name);
		place_check(write(fd, PLACE_TEXT, sizeof(PLACE_TEXT)) == sizeof(PLACE_TEXT),
			    "write");
		place_check(lockf(fd, F_LOCK, 0) == 0 && dup2(fd, other) == other, "dup2");
		place_reused[i] = other;
	}
}

/* The file is as it was, and still locked: a child cannot have the lock. */
static inline void place_reused_check(int fd)
{
	char text[sizeof(PLACE_TEXT) + 1] = "";
	int status = 0;
	pid_t pid;

	place_check(pread(fd, text, sizeof(text), 0) == sizeof(PLACE_TEXT) &&
			    !strcmp(text, PLACE_TEXT),
		    "the file of the program");
	place_check(lseek(fd, 0, SEEK_SET) == 0, "lseek");
	pid = fork();
	if (pid == 0)
		_exit(lockf(fd, F_TEST, 0) == 0);
	waitpid(pid, &status, 0);
	place_check(status == 0, "the lock of the program");
}

static inline void place_limit(const char *mib)
{
	struct rlimit limit;

	limit.rlim_cur = limit.rlim_max = strtoul(mib, NULL, 10) << 20;
	place_check(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
}

static inline void place_fork(void)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		return;
	waitpid(pid, &status, 0);
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 4);
}

static inline void place_close(void)
{
	int fd;

	for (fd = 3; fd < 4096; fd++)
		close(fd);
}

static inline void place_wait(void)
{
	char byte;

	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
}

static inline void place_step(const char *step)
{
	if (!strcmp(step, "user")) {
		place_check(setgroups(0, NULL) == 0 && setgid(PLACE_USER) == 0 &&
				    setuid(PLACE_USER) == 0,
			    "setuid");
	} else if (!strcmp(step, "shm")) {
		place_own_mounts();
		place_check(mount("t", "/dev/shm", "tmpfs", 0, NULL) == 0 &&
				    mount("t", "/tmp", "tmpfs", 0, NULL) == 0 &&
				    mount("t", "/run", "tmpfs", 0, NULL) == 0,
			    "mount tmpfs");
	} else if (!strcmp(step, "read-only")) {
		place_read_only();
	} else if (!strncmp(step, "chroot=", 7)) {
		place_check(chroot(step + 7) == 0 && chdir("/") == 0, "chroot");
	} else if (!strcmp(step, "close")) {
		place_close();
	} else if (!strcmp(step, "reuse")) {
		place_reuse();
	} else if (!strcmp(step, "clear")) {
		clearenv();
	} else if (!strncmp(step, "memory=", 7)) {
		place_limit(step + 7);
	} else if (!strcmp(step, "fork")) {
		place_fork();
	} else if (!strcmp(step, "wait")) {
		place_wait();
	} else if (!strcmp(step, "linger")) {
		place_lingers = 1;
	} else if (!strcmp(step, "stop")) {
		exit(0);
	} else {
		fprintf(stderr, "unknown step '%s'\n", step);
		exit(3);
	}
}

static inline void place_enter(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		place_step(argv[i]);
}

/* After the coroutines. */
static inline void place_leave(void)
{
	unsigned i;

	for (i = 0; i < 2; i++) {
		if (place_reused[i])
			place_reused_check(place_reused[i]);
	}
	if (place_lingers)
		place_wait();
}

#endif
