/* SPDX-License-Identifier: MIT */
/*
 * registers_stop.c - read registers with ptrace(2): stop, look, continue.
 *
 * A stop interrupts the system call in which a thread is blocked.  The kernel restarts most calls;
 * some return EINTR, which programs do not expect without a signal: these are executed again.
 *
 * All of it is done by a thread of its own: when a thread ends, the kernel detaches it from the
 * threads that it traces, also from those that have not stopped yet or were killed.
 */
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "process/image_backend.h"
#include "process/image_registers.h"
#include "process/target_memory.h"

#define STOP_YIELD    (200 * NS_PER_US)
#define STOP_POLL     200000 /* ns */
#define STOP_DEADLINE NS_PER_SEC
#define STOP_SETTLE   (50 * NS_PER_MS) /* for a call that is made again to block */
#define STOP_STUCK    3                /* threads that may exceed it */
#define STOP_VECTORS  4096             /* words; more than the vector registers of any machine */

/* For the thread that stops others; the caller waits for its end. */
struct stop_work {
	struct process_image *image;
	image_stopped stopped;
	void *arg;
	size_t next;           /* index of the next thread */
	unsigned stuck;        /* threads that did not stop */
	int error;             /* of the first PTRACE_SEIZE that was refused */
	uint64_t continued_ns; /* when the last thread continued; 0: with PTRACE_DETACH */
};

/* PTRACE_GETREGSET and PTRACE_SETREGSET; the set is larger than what is used here. */
struct stop_registers {
	uint64_t words[64];
	size_t size;
};

static bool stop_get(pid_t tid, struct stop_registers *r)
{
	struct iovec io = { .iov_base = r->words, .iov_len = sizeof(r->words) };

	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &io) < 0)
		return false;
	r->size = io.iov_len;
	return r->size >= REGISTERS_RAW * sizeof(uint64_t);
}

/* Vector registers: NT_X86_XSTATE, NT_ARM_SVE, or what every kernel has. */
static bool stop_get_vectors(struct process_image *image, pid_t tid)
{
#if defined(__aarch64__)
	static const uintptr_t sets[] = { 0x405, NT_PRFPREG };
#else
	static const uintptr_t sets[] = { 0x202, NT_PRFPREG };
#endif
	uint64_t words[STOP_VECTORS];
	size_t i;

	for (i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		struct iovec io = { .iov_base = words, .iov_len = sizeof(words) };

		// NOLINTNEXTLINE(performance-no-int-to-ptr)
		if (ptrace(PTRACE_GETREGSET, tid, (void *)sets[i], &io) == 0 &&
		    io.iov_len < sizeof(words))
			return image_add_vectors(image, words, io.iov_len);
	}
	return false;
}

static bool stop_set(pid_t tid, struct stop_registers *r)
{
	struct iovec io = { .iov_base = r->words, .iov_len = r->size };

	return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &io) == 0;
}

/*
 * Wait until the thread stops.  An exit is not consumed: the program may be a child of this one,
 * and its status is for another part of it.  Usually the stop takes a few microseconds; a thread in
 * a call that cannot be interrupted does not stop.
 */
static bool stop_await(struct stop_work *w, pid_t tid, int *status)
{
	uint64_t since = clock_now_ns(), waited;
	siginfo_t info = { 0 };

	for (;;) {
		if (waitid(P_PID, (id_t)tid, &info,
			   WSTOPPED | WEXITED | WNOWAIT | WNOHANG | __WALL) < 0)
			return false;
		if (info.si_pid)
			break;
		waited = clock_now_ns() - since;
		if (waited > STOP_DEADLINE) {
			w->stuck++;
			return false;
		}
		if (waited < STOP_YIELD)
			sched_yield();
		else
			nanosleep(&(struct timespec){ .tv_nsec = STOP_POLL }, NULL);
	}
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
		return false;
	return waitpid(tid, status, __WALL | WNOHANG) == tid && WIFSTOPPED(*status);
}

/* ---- system calls -------------------------------------------------------- */

/*
 * Calls that return EINTR to a thread that was stopped, and that have done nothing then.  A
 * close(2), for example, has closed its descriptor.
 */
static bool stop_call_repeats(int64_t nr)
{
	static const short calls[] = {
#ifdef SYS_epoll_wait
		SYS_epoll_wait,
#endif
#ifdef SYS_epoll_pwait2
		SYS_epoll_pwait2,
#endif
#ifdef SYS_io_uring_enter
		SYS_io_uring_enter,
#endif
		SYS_epoll_pwait,    SYS_io_getevents, SYS_io_pgetevents, SYS_rt_sigtimedwait,
		SYS_semop,          SYS_semtimedop,   SYS_read,          SYS_readv,
		SYS_write,          SYS_writev,       SYS_recvfrom,      SYS_recvmsg,
		SYS_recvmmsg,       SYS_sendto,       SYS_sendmsg,       SYS_accept,
		SYS_accept4,        SYS_connect,
	};
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i] == nr)
			return true;
	}
	return false;
}

/* The instruction before the program counter makes a system call. */
static bool stop_at_syscall(const struct process_image *image, uint64_t pc)
{
#if defined(__aarch64__)
	static const unsigned char code[] = { 0x01, 0x00, 0x00, 0xd4 }; /* svc #0 */
#else
	static const unsigned char code[] = { 0x0f, 0x05 }; /* syscall */
#endif
	unsigned char there[sizeof(code)];

	return image_read(image, pc - sizeof(code), there, sizeof(there)) == sizeof(code) &&
	       !memcmp(code, there, sizeof(code));
}

/*
 * Change the registers so that the interrupted call is made again.  False: it did not return EINTR.
 * On aarch64 the kernel keeps the first argument out of reach once the call has returned; it is
 * the one that the thread had when it was last seen blocked in this call.
 */
static bool stop_rewind(const struct process_image *image, const struct image_thread *t,
			struct stop_registers *r)
{
	uint64_t *w = r->words;
#if defined(__aarch64__)
	if ((int64_t)w[0] != -EINTR || !t->has_syscall || (int64_t)w[8] != t->syscall_nr ||
	    !stop_call_repeats(t->syscall_nr) || !stop_at_syscall(image, w[32]))
		return false;
	w[0] = t->args[0];
	w[32] -= 4;
#else
	(void)t;
	if ((int64_t)w[10] != -EINTR || !stop_call_repeats((int64_t)w[15]) ||
	    !stop_at_syscall(image, w[16]))
		return false;
	w[10] = w[15];
	w[16] -= 2;
#endif
	return true;
}

/* The kernel makes the interrupted call again when the thread continues. */
static bool stop_restarts_itself(const struct process_image *image, const struct stop_registers *r)
{
	const uint64_t *w = r->words;
#if defined(__aarch64__)
	return stop_at_syscall(image, w[32] + 4);
#else
	return (int64_t)w[15] >= 0 && (int64_t)w[10] <= -512 && (int64_t)w[10] >= -516 &&
	       stop_at_syscall(image, w[16]);
#endif
}

/* True if the program has a handler for the signal: it sees EINTR then. */
static bool stop_signal_caught(pid_t pid, int sig)
{
	unsigned long long caught = ~0ULL, value;
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "SigCgt: %llx", &value) == 1)
			caught = value;
	}
	if (file)
		fclose(file);
	return caught >> (sig - 1) & 1;
}

/* @sig: a signal to deliver, or 0.  Returns true if the thread is still traced: it was killed. */
static bool stop_detach(pid_t tid, int sig)
{
	// NOLINTNEXTLINE(performance-no-int-to-ptr)
	return ptrace(PTRACE_DETACH, tid, NULL, (void *)(uintptr_t)sig) < 0;
}

/*
 * The thread makes its call again and stops when the call returns.  Wait until it blocks: no code
 * of the program has run since the registers were read, and none runs before the counter of the
 * thread changes.  Returns true if the thread is still traced.
 */
static bool stop_settle(struct stop_work *w, struct image_thread *t)
{
	uint64_t since = clock_now_ns();
	struct image_thread now;
	siginfo_t info = { 0 };
	int status;

	w->continued_ns = since;
	while (clock_now_ns() - since < STOP_SETTLE) {
		bool known = image_read_task(w->image->pid, t->tid, &now);

		if (waitid(P_PID, (id_t)t->tid, &info,
			   WSTOPPED | WEXITED | WNOWAIT | WNOHANG | __WALL) < 0 ||
		    !known)
			return true;
		if (info.si_pid)
			return info.si_code != CLD_TRAPPED ||
			       waitpid(t->tid, &status, __WALL | WNOHANG) != t->tid ||
			       stop_detach(t->tid, 0);
		if (now.state == 'S' || now.state == 'D') {
			t->state = now.state;
			t->switches = now.switches;
			t->is_settled = true;
			return true;
		}
		nanosleep(&(struct timespec){ .tv_nsec = STOP_POLL }, NULL);
	}
	return true;
}

/*
 * Continue to the entry of the call that is made again.  If a signal with a handler comes first,
 * the program must see EINTR: @before has the registers for that.  Returns true if the thread runs
 * and is still traced: PTRACE_DETACH at the entry would interrupt the call once more, but the end
 * of the thread that traces it does not.
 */
static bool stop_restart(struct stop_work *w, struct image_thread *t, struct stop_registers *before)
{
	uintptr_t options = PTRACE_O_TRACESYSGOOD;
	pid_t tid = t->tid;
	int status, sig = 0;

	// NOLINTNEXTLINE(performance-no-int-to-ptr)
	if (ptrace(PTRACE_SETOPTIONS, tid, NULL, (void *)options) < 0 ||
	    ptrace(PTRACE_SYSCALL, tid, NULL, NULL) < 0)
		return stop_detach(tid, 0);
	if (!stop_await(w, tid, &status))
		return true;
	if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
		ptrace(PTRACE_SYSCALL, tid, NULL, NULL);
		return stop_settle(w, t);
	}
	if (status >> 16 == 0) {
		sig = WSTOPSIG(status);
		if (before && stop_signal_caught(w->image->pid, sig))
			stop_set(tid, before);
	}
	return stop_detach(tid, sig);
}

/* ---- threads ------------------------------------------------------------- */

/* Continue the thread.  Returns true if it is still traced. */
static bool stop_leave(struct stop_work *w, struct image_thread *t, int status,
		       struct stop_registers *r, bool known)
{
	struct stop_registers before = *r;
	int sig = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);

	/* Not if the program was stopped already, by SIGSTOP: it must stay stopped. */
	if (!sig && WSTOPSIG(status) == SIGTRAP && known) {
		if (stop_rewind(w->image, t, r) && stop_set(t->tid, r))
			return stop_restart(w, t, &before);
		if (stop_restarts_itself(w->image, r))
			return stop_restart(w, t, NULL);
	}
	return stop_detach(t->tid, sig); /* a signal of the program is delivered */
}

/* Returns true if the thread is still traced. */
static bool stop_thread(struct stop_work *w, struct image_thread *t)
{
	struct stop_registers r = { .size = 0 };
	bool known, traced;
	uint64_t since;
	int status;

	if (ptrace(PTRACE_SEIZE, t->tid, NULL, NULL) < 0) {
		if (errno == EPERM && !w->error && t->state != 'Z' && t->state != 'X')
			w->error = -EPERM;
		return false;
	}
	since = clock_now_ns();
	if (ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL) < 0 || !stop_await(w, t->tid, &status))
		return true;
	known = stop_get(t->tid, &r);
	if (known) {
		registers_set(t, r.words);
		t->has_vectors = stop_get_vectors(w->image, t->tid);
		if (w->stopped)
			w->stopped(w->arg, t);
	}
	w->continued_ns = 0;
	traced = stop_leave(w, t, status, &r, known);
	t->stopped_ns = (w->continued_ns ? w->continued_ns : clock_now_ns()) - since;
	w->image->stopped_ns += t->stopped_ns;
	return traced;
}

/*
 * Stop threads until one is still traced.  This thread must end then, before it traces another one:
 * execve(2) waits until the threads of the old program are no longer traced, and PTRACE_SEIZE waits
 * for execve(2).
 */
static void *stop_run(void *arg)
{
	struct stop_work *w = arg;
	bool traced = false;

	while (w->next < w->image->nr_threads && !traced)
		traced = stop_thread(w, &w->image->threads[w->next++]);
	return NULL;
}

int image_stop_threads(struct process_image *image, image_stopped stopped, void *arg,
		       struct err *err)
{
	struct stop_work w = { .image = image, .stopped = stopped, .arg = arg };
	pthread_t thread;
	int rc;

	image->stopped_ns = 0;
	image->nr_vectors = 0;
	while (image->kind == IMAGE_RUNNING && w.next < image->nr_threads && w.stuck < STOP_STUCK) {
		rc = pthread_create(&thread, NULL, stop_run, &w);
		if (rc)
			return err_set(err, -rc, "cannot start a thread: %s", strerror(rc));
		pthread_join(thread, NULL);
	}
	return w.error ? target_ptrace_refused(image->pid, err) : 0;
}
