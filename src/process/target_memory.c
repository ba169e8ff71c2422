/* SPDX-License-Identifier: MIT */
/* target_memory.c - read and write another process's memory, and explain refusals. */
#include "process/target_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/io.h"

/* ---- /proc --------------------------------------------------------------- */

/* Read the start of a small file.  Returns false if there is none. */
static bool target_read_all(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return false;
	got = io_pread(fd, buf, size - 1, 0);
	close(fd);
	if (got < 0)
		return false;
	buf[got] = '\0';
	return true;
}

/* The number after "Key:" in /proc/PID/status; -1 if it is missing. */
static long long status_number(const char *status, const char *key, int base)
{
	const char *at = strstr(status, key);

	return at ? (long long)strtoull(at + strlen(key), NULL, base) : -1;
}

const char *target_name(pid_t pid, char buf[32])
{
	char path[64];
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	if (!target_read_all(path, buf, 32) || !*buf)
		memcpy(buf, "?", 2);
	len = strcspn(buf, "\n");
	buf[len] = '\0';
	return buf;
}

bool target_shares_namespace(pid_t pid, const char *kind)
{
	char path[64];
	struct stat ours, theirs;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	if (stat(path, &ours) < 0)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, kind);
	if (stat(path, &theirs) < 0)
		return true; /* unknown: the next operation reports its own error */
	return ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
}

/* ---- explain refusals ---------------------------------------------------- */

static bool explain_tracer(pid_t pid, const char *status, struct err *err)
{
	long long tracer = status_number(status, "\nTracerPid:", 10);
	char name[32];

	if (tracer <= 0)
		return false;
	err_set(err, -EPERM, "process %d is already traced by process %lld (%s)", (int)pid, tracer,
		target_name((pid_t)tracer, name));
	err_hint(err, "a process has room for one debugger: end that one first");
	return true;
}

static bool explain_owner(pid_t pid, const char *status, struct err *err)
{
	long long owner = status_number(status, "\nUid:", 10);

	if (owner < 0 || owner == (long long)geteuid() || geteuid() == 0)
		return false;
	err_set(err, -EPERM, "process %d belongs to user %lld, and we are user %u", (int)pid, owner,
		(unsigned)geteuid());
	err_hint(err, "run corotracer as that user, or with sudo");
	return true;
}

static bool explain_namespace(pid_t pid, struct err *err)
{
	if (target_shares_namespace(pid, "user"))
		return false;
	err_set(err, -EPERM, "process %d lives in another user namespace (a container?)", (int)pid);
	err_hint(err, "run corotracer inside that container, or as root of the host");
	return true;
}

static bool explain_yama(pid_t pid, struct err *err)
{
	char scope[16];
	long level;

	if (!target_read_all("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope)))
		return false;
	level = strtol(scope, NULL, 10);
	if (level <= 0 || (level <= 2 && geteuid() == 0))
		return false;
	err_set(err, -EPERM, "Yama does not permit access to process %d (ptrace_scope is %ld)",
		(int)pid, level);
	if (level >= 3)
		err_hint(err, "this lasts until the next boot, for root as well: see "
			      "/etc/sysctl.d");
	else
		err_hint(err, "use sudo, or 'setcap cap_sys_ptrace+ep' on the tool%s",
			 level == 1 ? ", or write 0 to /proc/sys/kernel/yama/ptrace_scope" : "");
	return true;
}

/* prctl(PR_SET_DUMPABLE, 0), set-uid and file capabilities make root the owner of /proc/PID. */
static bool explain_undumpable(pid_t pid, const char *status, struct err *err)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	if (stat(path, &st) < 0 || (long long)st.st_uid == status_number(status, "\nUid:", 10))
		return false;
	err_set(err, -EPERM, "process %d does not permit access by its own user", (int)pid);
	err_hint(err,
		 "it is set-uid, has capabilities, or asked for it (PR_SET_DUMPABLE); use sudo");
	return true;
}

static void explain_the_rest(pid_t pid, struct err *err)
{
	char self[4096];

	err_set(err, -EPERM, "the kernel does not permit access to process %d", (int)pid);
	if (target_read_all("/proc/self/status", self, sizeof(self)) &&
	    status_number(self, "\nSeccomp:", 10) > 0)
		err_hint(err, "we are in a sandbox (seccomp); a container needs --cap-add "
			      "SYS_PTRACE");
	else
		err_hint(err, "root in a container needs the capability CAP_SYS_PTRACE");
}

/* @by_ptrace: ptrace was refused, so another debugger may be the reason. */
static int target_explain(pid_t pid, bool by_ptrace, struct err *err)
{
	char path[64], status[4096];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (!target_read_all(path, status, sizeof(status))) {
		err_set(err, -ESRCH, "there is no process %d", (int)pid);
		err_hint(err, "'ps -e' or 'pgrep NAME' lists processes");
		return -ESRCH;
	}
	if ((by_ptrace && explain_tracer(pid, status, err)) || explain_owner(pid, status, err) ||
	    explain_namespace(pid, err) || explain_yama(pid, err) ||
	    explain_undumpable(pid, status, err))
		return -EPERM;
	explain_the_rest(pid, err);
	return -EPERM;
}

int target_ptrace_refused(pid_t pid, struct err *err)
{
	return target_explain(pid, true, err);
}

/* ---- open ---------------------------------------------------------------- */

static int no_process(pid_t pid, struct err *err)
{
	char path[64], status[4096];
	long long leader;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (target_read_all(path, status, sizeof(status))) {
		leader = status_number(status, "\nTgid:", 10);
		if (leader > 0 && leader != pid) {
			err_set(err, -EINVAL, "%d is a thread, of process %lld", (int)pid, leader);
			err_hint(err, "give the process: -p %lld", leader);
			return -EINVAL;
		}
	}
	err_set(err, -ESRCH, "there is no process %d", (int)pid);
	err_hint(err, "'ps -e' or 'pgrep NAME' lists processes");
	return -ESRCH;
}

static bool is_kernel_thread_or_zombie(pid_t pid)
{
	char path[64], byte;
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	got = readlink(path, &byte, 1);
	return got < 0 && errno == ENOENT;
}

/* How many threads run in a process whose main thread has ended. */
static unsigned nr_threads_left(const char *status)
{
	const char *at = strstr(status, "\nThreads:\t");
	unsigned long nr = at ? strtoul(at + 10, NULL, 10) : 0;

	return nr > 1 && nr < UINT_MAX ? (unsigned)nr - 1 : 0;
}

static void explain_no_program(pid_t pid, struct err *err)
{
	char path[64], status[4096] = "";
	unsigned nr;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (target_read_all(path, status, sizeof(status)) && !strstr(status, "\nState:\tZ")) {
		err_set(err, -ESRCH, "process %d has no program: it is a thread of the kernel",
			(int)pid);
		err_hint(err, "'ps -e' or 'pgrep NAME' lists processes");
		return;
	}
	nr = nr_threads_left(status);
	if (nr) {
		err_set(err, -ESRCH,
			"the main thread of process %d has ended: its memory cannot be read, "
			"though %u thread%s of it run%s",
			(int)pid, nr, nr > 1 ? "s" : "", nr > 1 ? "" : "s");
		err_hint(err, "let main() wait for the threads instead of calling pthread_exit()");
		return;
	}
	err_set(err, -ESRCH, "process %d has no program: it has ended", (int)pid);
	err_hint(err, "its parent has not read its exit status yet; look while it runs");
}

/* Returns 0 if it cannot be read. */
static size_t read_auxv(pid_t pid, uint8_t *buf)
{
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	got = io_pread(fd, buf, TARGET_AUXV_MAX, 0);
	close(fd);
	return got > 0 ? (size_t)got : 0;
}

bool target_is_leaving(const struct target *t)
{
	return is_kernel_thread_or_zombie(t->pid);
}

bool target_replaced(const struct target *t)
{
	uint8_t now[TARGET_AUXV_MAX];
	size_t size = t->auxv_size ? read_auxv(t->pid, now) : 0;

	return size && (size != t->auxv_size || memcmp(now, t->auxv, size) != 0);
}

int target_open(struct target *t, pid_t pid, struct err *err)
{
	memset(t, 0, sizeof(*t));
	t->pid = pid;
	t->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (t->pidfd < 0 && errno != ENOSYS && errno != EPERM)
		return no_process(pid, err);
	if (t->pidfd < 0 && kill(pid, 0) < 0 && errno == ESRCH)
		return no_process(pid, err);
	if (is_kernel_thread_or_zombie(pid)) {
		explain_no_program(pid, err);
		target_close(t);
		return -ESRCH;
	}
	t->auxv_size = read_auxv(pid, t->auxv);
	return 0;
}

void target_close(struct target *t)
{
	if (t->pidfd >= 0 && t->pid)
		close(t->pidfd);
	t->pidfd = -1;
}

bool target_alive(const struct target *t)
{
	struct pollfd p = { .fd = t->pidfd, .events = POLLIN };

	if (t->pidfd < 0)
		return kill(t->pid, 0) == 0 || errno != ESRCH;
	return poll(&p, 1, 0) <= 0;
}

/* An address of the other process, for system calls that take a pointer. */
static void *there_at(uint64_t addr)
{
	return (void *)(uintptr_t)addr; // NOLINT(performance-no-int-to-ptr)
}

/* ---- ptrace, if nothing else works --------------------------------------- */

static int trace_begin(struct target *t, uint64_t *since_ns, struct err *err)
{
	int status;

	if (ptrace(PTRACE_SEIZE, t->pid, NULL, NULL) < 0)
		return errno == EPERM ? target_explain(t->pid, true, err)
				      : err_errno(err, "cannot trace process %d", (int)t->pid);
	*since_ns = clock_now_ns();
	if (ptrace(PTRACE_INTERRUPT, t->pid, NULL, NULL) < 0 ||
	    waitpid(t->pid, &status, __WALL) < 0) {
		int rc = err_errno(err, "cannot stop process %d", (int)t->pid);

		ptrace(PTRACE_DETACH, t->pid, NULL, NULL);
		return rc;
	}
	if (!WIFSTOPPED(status))
		return err_set(err, -ESRCH, "process %d ended", (int)t->pid);
	return 0;
}

static void trace_end(struct target *t, uint64_t since_ns)
{
	ptrace(PTRACE_DETACH, t->pid, NULL, NULL);
	t->stopped_ns += clock_now_ns() - since_ns;
	t->stops++;
}

/* Replace the bytes of one aligned word that @buf covers. */
static int target_write_word(pid_t pid, uint64_t word_addr, uint64_t addr, const char *buf,
			     size_t size)
{
	unsigned long word;
	size_t i;

	errno = 0;
	word = (unsigned long)ptrace(PTRACE_PEEKDATA, pid, there_at(word_addr), NULL);
	if (errno)
		return -errno;
	for (i = 0; i < sizeof(word); i++) {
		uint64_t at = word_addr + i;

		if (at >= addr && at - addr < size)
			memcpy((char *)&word + i, buf + (at - addr), 1);
	}
	if (ptrace(PTRACE_POKEDATA, pid, there_at(word_addr), there_at(word)) < 0)
		return -errno;
	return 0;
}

static int write_by_ptrace(struct target *t, uint64_t addr, const void *buf, size_t size,
			   struct err *err)
{
	uint64_t since = 0, word = addr & ~(uint64_t)(sizeof(long) - 1);
	int rc = trace_begin(t, &since, err);

	if (rc < 0)
		return rc;
	for (; !rc && word < addr + size; word += sizeof(long))
		rc = target_write_word(t->pid, word, addr, buf, size);
	trace_end(t, since);
	if (rc < 0)
		return err_set(err, rc, "cannot write the memory of process %d: %s", (int)t->pid,
			       strerror(-rc));
	return 0;
}

/* ---- memory -------------------------------------------------------------- */

/* /proc/PID/mem is often allowed where process_vm_readv() is forbidden; reading stops no thread. */
static ssize_t read_proc_mem(pid_t pid, uint64_t addr, void *buf, size_t size)
{
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	got = pread(fd, buf, size, (off_t)addr);
	if (got < 0)
		got = -errno;
	close(fd);
	return got;
}

ssize_t target_read_some(struct target *t, uint64_t addr, void *buf, size_t size)
{
	struct iovec here = { .iov_base = buf, .iov_len = size };
	struct iovec there = { .iov_base = there_at(addr), .iov_len = size };
	ssize_t got;

	if (!t->by_ptrace) {
		got = process_vm_readv(t->pid, &here, 1, &there, 1, 0);
		if (got >= 0)
			return got;
		if (errno != ENOSYS && errno != EPERM)
			return -errno;
	}
	got = read_proc_mem(t->pid, addr, buf, size);
	if (got >= 0)
		t->by_ptrace = true;
	return got == -EACCES ? -EPERM : got;
}

int target_read(struct target *t, uint64_t addr, void *buf, size_t size, struct err *err)
{
	ssize_t got = target_read_some(t, addr, buf, size);

	if (got == (ssize_t)size)
		return 0;
	if (got == -EPERM)
		return target_explain(t->pid, false, err);
	if (got == -ESRCH)
		return err_set(err, -ESRCH, "process %d has ended", (int)t->pid);
	return err_set(err, got < 0 ? (int)got : -EFAULT,
		       "cannot read %zu bytes at %#llx of process %d", size,
		       (unsigned long long)addr, (int)t->pid);
}

int target_write(struct target *t, uint64_t addr, const void *buf, size_t size, struct err *err)
{
	struct iovec here = { .iov_base = (void *)(uintptr_t)buf, .iov_len = size }; // NOLINT
	struct iovec there = { .iov_base = there_at(addr), .iov_len = size };
	ssize_t put;

	if (!t->by_ptrace) {
		put = process_vm_writev(t->pid, &here, 1, &there, 1, 0);
		if (put == (ssize_t)size)
			return 0;
		if (put < 0 && errno == ESRCH)
			return err_set(err, -ESRCH, "process %d has ended", (int)t->pid);
		if (put >= 0 || (errno != ENOSYS && errno != EPERM))
			return err_set(err, put < 0 ? -errno : -EFAULT,
				       "cannot write %zu bytes at %#llx of process %d", size,
				       (unsigned long long)addr, (int)t->pid);
	}
	return write_by_ptrace(t, addr, buf, size, err);
}
