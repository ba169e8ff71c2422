/* SPDX-License-Identifier: MIT */
/*
 * old_kernel.c - "old_kernel VERSION PROGRAM [ARGUMENTS]": run a program as on an older kernel, or
 * in a sandbox.
 *
 * A seccomp filter answers system calls and advices that the older kernel does not have as it
 * would: with ENOSYS or EINVAL.  VERSION is 5.4 or 4.18, or "least": 4.18 built without
 * membarrier(2).  "no-gettid" is a sandbox that refuses gettid(2), "no-thread-id" one that also
 * refuses the futexes from which a thread learns its id.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MISSING       64
#define COMMAND_LIMIT 28        /* bpf(2) before 5.7 has no links */
#define LOCK_PI       (6 | 128) /* FUTEX_LOCK_PI_PRIVATE */
#define ADVICE_LIMIT  20        /* madvise(2) before 5.4 ends with MADV_KEEPONFORK */

struct filter {
	struct sock_filter code[MISSING * 4];
	unsigned short nr;
};

static void emit(struct filter *f, uint16_t op, uint32_t value, uint8_t yes, uint8_t no)
{
	f->code[f->nr++] = (struct sock_filter){ op, yes, no, value };
}

/* A system call that does not exist. */
static void forget_call(struct filter *f, long call)
{
	emit(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1);
	emit(f, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS, 0, 0);
}

/* A system call whose argument @arg has unknown values from @limit on. */
static void forget_values(struct filter *f, long call, unsigned arg, uint32_t limit)
{
	emit(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 4);
	emit(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offsetof(struct seccomp_data, args) + 8 * arg),
	     0, 0);
	emit(f, BPF_JMP | BPF_JGE | BPF_K, limit, 0, 1);
	emit(f, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL, 0, 0);
	emit(f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

/* The answers of a sandbox. */
static void fill_sandbox(struct filter *f, int has_futex)
{
	emit(f, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	emit(f, BPF_JMP | BPF_JEQ | BPF_K, SYS_gettid, 0, 1);
	emit(f, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
	if (!has_futex) {
		emit(f, BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 3);
		emit(f, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1]), 0, 0);
		emit(f, BPF_JMP | BPF_JEQ | BPF_K, LOCK_PI, 0, 1);
		emit(f, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
	}
	emit(f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

static int fill(struct filter *f, const char *version)
{
	int is_least = !strcmp(version, "least"), is_4 = is_least || !strcmp(version, "4.18");

	if (!strcmp(version, "no-gettid") || !strcmp(version, "no-thread-id")) {
		fill_sandbox(f, !strcmp(version, "no-gettid"));
		return 1;
	}
	if (!is_4 && strcmp(version, "5.4") != 0)
		return 0;
	emit(f, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	forget_call(f, SYS_close_range); /* 5.9 */
	forget_call(f, SYS_openat2);     /* 5.6 */
	forget_call(f, SYS_pidfd_getfd); /* 5.6 */
	forget_call(f, 439);             /* faccessat2: 5.8 */
	forget_call(f, 441);             /* epoll_pwait2: 5.11 */
	forget_call(f, 449);             /* futex_waitv: 5.16 */
	if (is_4) {
		forget_call(f, SYS_pidfd_open);        /* 5.3 */
		forget_call(f, SYS_clone3);            /* 5.3 */
		forget_call(f, SYS_pidfd_send_signal); /* 5.1 */
		forget_call(f, SYS_io_uring_setup);    /* 5.1 */
	}
	if (is_least)
		forget_call(f, SYS_membarrier);
	forget_values(f, SYS_madvise, 2, ADVICE_LIMIT);
	forget_values(f, SYS_bpf, 0, COMMAND_LIMIT);
	emit(f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	return 1;
}

int main(int argc, char **argv)
{
	struct filter f = { .nr = 0 };
	struct sock_fprog program;

	if (argc < 3 || !fill(&f, argv[1]))
		return 2;
	program.len = f.nr;
	program.filter = f.code;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
		perror("seccomp");
		return 77;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
