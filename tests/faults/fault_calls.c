/* SPDX-License-Identifier: MIT */
/*
 * fault_calls.c - preloaded into a command: calls of the C library fail, are short or interrupted.
 *
 *	FAULT_STATE	file of struct fault_state, shared by all processes of one run
 *	FAULT_CALL	name of the call (fault_names), or unset: only count
 *	FAULT_NTH	which of its calls, from 1, over all processes
 *	FAULT_STACK	count only the calls with the call stack of this number
 *	FAULT_KIND	once: this one; from: this one and all after it; every: each n-th one
 *	FAULT_HOW	error: fails (default); short: one byte at most; interrupt: EINTR
 *	FAULT_EXE	only in programs with this file name; "!NAME": only in others
 *	FAULT_SHOW	set: print the call stack of the fault to stderr
 *	FAULT_NOTE	set: note every call stack in the state (fault_stacks.h)
 *	FAULT_OWNER	set: note which library made the failing call, and which one crashed or,
 *			at SIGABRT, hung
 *
 * The calls that the library itself needs are system calls: its own faults must not hide others.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fault_stacks.h"

enum fault_call {
	CALL_WRITE,
	CALL_PWRITE,
	CALL_READ,
	CALL_MMAP,
	CALL_FSYNC,
	CALL_RENAME,
	CALL_OPEN,
	CALL_ACCEPT,
	CALL_MALLOC,
	CALL_FORK,
	CALL_THREAD,
	CALL_FLUSH,
	CALL_ROOM,
	CALL_SOCKET,
	CALL_CONNECT,
	CALL_SEND,
	CALL_RECV,
	NR_CALLS
};

static const struct {
	const char *name;
	int error;
} fault_names[NR_CALLS] = {
	[CALL_WRITE] = { "write", ENOSPC },
	[CALL_PWRITE] = { "pwrite", EIO },
	[CALL_READ] = { "read", EIO },
	[CALL_MMAP] = { "mmap", ENOMEM },
	[CALL_FSYNC] = { "fsync", EIO },
	[CALL_RENAME] = { "rename", EACCES },
	[CALL_OPEN] = { "open", EMFILE },
	[CALL_ACCEPT] = { "accept", EMFILE },
	[CALL_MALLOC] = { "malloc", ENOMEM },
	[CALL_FORK] = { "fork", EAGAIN },
	[CALL_THREAD] = { "thread", EAGAIN },
	[CALL_FLUSH] = { "flush", ENOSPC },
	[CALL_ROOM] = { "room", ENOSPC },
	[CALL_SOCKET] = { "socket", EMFILE },
	[CALL_CONNECT] = { "connect", ECONNREFUSED },
	[CALL_SEND] = { "send", ECONNRESET },
	[CALL_RECV] = { "recv", ECONNRESET },
};

struct fault_state {
	uint64_t calls[NR_CALLS];
	uint64_t injected;
	uint64_t nr_of_stack;               /* calls with the stack of FAULT_STACK */
	char failed_in[32], crashed_in[32]; /* with FAULT_OWNER */
	struct fault_stack stacks[FAULT_STACKS];
};

enum fault_how { FAULT_NONE, FAULT_ERROR, FAULT_SHORT, FAULT_INTERRUPT };

static struct fault_state *fault_state;
static int fault_call = -1;
static uint64_t fault_nth, fault_stack;
static int is_noting, is_noting_owner;
static char fault_kind;
static enum fault_how fault_how = FAULT_ERROR;

/* ---- settings ------------------------------------------------------------------ */

static int is_meant_here(const char *wanted)
{
	char path[512];
	long n = syscall(SYS_readlink, "/proc/self/exe", path, sizeof(path) - 1);
	const char *name;
	int is_other = wanted && wanted[0] == '!';

	if (!wanted || n <= 0)
		return 1;
	path[n] = 0;
	name = strrchr(path, '/');
	return (strcmp(name ? name + 1 : path, wanted + is_other) != 0) == is_other;
}

static struct fault_state *map_state(const char *path)
{
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
	long p;

	if (fd < 0)
		return NULL;
	p = syscall(SYS_mmap, NULL, sizeof(struct fault_state), PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
	syscall(SYS_close, fd);
	return p == -1 ? NULL : (struct fault_state *)p;
}

static void read_settings(const char *call)
{
	const char *nth = getenv("FAULT_NTH"), *kind = getenv("FAULT_KIND"),
		   *how = getenv("FAULT_HOW"), *stack = getenv("FAULT_STACK");
	int i;

	is_noting = getenv("FAULT_NOTE") != NULL;
	fault_stack = stack ? strtoull(stack, NULL, 10) : 0;
	fault_nth = nth ? strtoull(nth, NULL, 10) : 1;
	fault_kind = kind ? kind[0] : 'o';
	if (how && how[0] == 's')
		fault_how = FAULT_SHORT;
	if (how && how[0] == 'i')
		fault_how = FAULT_INTERRUPT;
	for (i = 0; call && i < NR_CALLS; i++) {
		if (!strcmp(call, fault_names[i].name))
			fault_call = i;
	}
}

static void show_stack(void)
{
	void *stack[32];
	int saved = fault_call;

	fault_call = -1; /* backtrace() allocates */
	backtrace_symbols_fd(stack, backtrace(stack, 32), 2);
	fault_call = saved;
}

static void note_crash(int signal)
{
	fault_call = -1;
	if (!fault_state->crashed_in[0])
		fault_stack_owner(fault_state->crashed_in, sizeof(fault_state->crashed_in));
	show_stack();
	raise(signal); /* SA_RESETHAND: ends the process */
}

static void catch_crashes(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	struct sigaction action = { .sa_handler = note_crash,
				    .sa_flags = (int)(SA_RESETHAND | SA_NODEFER) };
	size_t i;

	is_noting_owner = 1;
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
}

__attribute__((constructor)) static void faults_begin(void)
{
	const char *path = getenv("FAULT_STATE");

	if (!path || !is_meant_here(getenv("FAULT_EXE")))
		return;
	read_settings(getenv("FAULT_CALL"));
	fault_stacks_prepare();
	fault_state = map_state(path);
	if (fault_state && getenv("FAULT_OWNER"))
		catch_crashes();
}

/* Is the @nth call of the kind that shall fail to be hit?  With FAULT_STACK, others count. */
static int fault_is_due(uint64_t nth)
{
	if (fault_stack) {
		/* One that has been, or all after it: without a walk through the stack. */
		if (fault_kind != 'e' && __atomic_load_n(&fault_state->injected, __ATOMIC_RELAXED))
			return fault_kind == 'f';
		if (fault_stack_id((uint32_t)fault_call) != fault_stack)
			return 0;
		nth = __atomic_add_fetch(&fault_state->nr_of_stack, 1, __ATOMIC_RELAXED);
	}
	return fault_kind == 'o'   ? nth == fault_nth
	       : fault_kind == 'f' ? nth >= fault_nth
				   : nth % fault_nth == 0;
}

/* Count a call; what shall happen to it? */
static enum fault_how fault_decide(enum fault_call call)
{
	uint64_t nth;

	if (!fault_state)
		return FAULT_NONE;
	nth = __atomic_add_fetch(&fault_state->calls[call], 1, __ATOMIC_RELAXED);
	if (is_noting)
		fault_stack_note(fault_state->stacks, call);
	if ((int)call != fault_call || !fault_nth || !fault_is_due(nth))
		return FAULT_NONE;
	if (__atomic_fetch_add(&fault_state->injected, 1, __ATOMIC_RELAXED) == 0 && is_noting_owner)
		fault_stack_owner(fault_state->failed_in, sizeof(fault_state->failed_in));
	if (getenv("FAULT_SHOW"))
		show_stack();
	return fault_how;
}

/* True if the call fails; sets errno. */
static int fault_strikes(enum fault_call call)
{
	enum fault_how how = fault_decide(call);

	if (how != FAULT_ERROR && how != FAULT_INTERRUPT)
		return 0;
	errno = how == FAULT_INTERRUPT ? EINTR : fault_names[call].error;
	return 1;
}

/* As fault_strikes(), for calls that may transfer less than *@n bytes. */
static int fault_cuts(enum fault_call call, size_t *n)
{
	enum fault_how how = fault_decide(call);

	if (how == FAULT_SHORT && *n > 1)
		*n = 1;
	if (how != FAULT_ERROR && how != FAULT_INTERRUPT)
		return 0;
	errno = how == FAULT_INTERRUPT ? EINTR : fault_names[call].error;
	return 1;
}

/* ---- reading and writing --------------------------------------------------------- */

ssize_t write(int fd, const void *data, size_t n)
{
	size_t all = n;
	ssize_t put = fault_cuts(CALL_WRITE, &n) ? -1 : syscall(SYS_write, fd, data, n);

	/* As in read(): to descriptors of events a part is invalid. */
	return put < 0 && errno == EINVAL && n < all ? syscall(SYS_write, fd, data, all) : put;
}

ssize_t writev(int fd, const struct iovec *parts, int nr)
{
	size_t n = 0;

	if (fault_cuts(CALL_WRITE, &n))
		return -1;
	return syscall(SYS_writev, fd, parts, nr);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
	return fault_cuts(CALL_PWRITE, &n) ? -1 : syscall(SYS_pwrite64, fd, data, n, at);
}

ssize_t pwrite64(int fd, const void *data, size_t n, off_t at)
{
	return pwrite(fd, data, n, at);
}

ssize_t read(int fd, void *data, size_t n)
{
	size_t all = n;
	ssize_t got = fault_cuts(CALL_READ, &n) ? -1 : syscall(SYS_read, fd, data, n);

	/* Descriptors of signals, timers and events are read as a whole: never short. */
	return got < 0 && errno == EINVAL && n < all ? syscall(SYS_read, fd, data, all) : got;
}

ssize_t pread(int fd, void *data, size_t n, off_t at)
{
	return fault_cuts(CALL_READ, &n) ? -1 : syscall(SYS_pread64, fd, data, n, at);
}

ssize_t pread64(int fd, void *data, size_t n, off_t at)
{
	return pread(fd, data, n, at);
}

int fsync(int fd)
{
	return fault_strikes(CALL_FSYNC) ? -1 : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	return fault_strikes(CALL_FSYNC) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

/* A stream whose buffer cannot be written: what is in it is lost, and ferror() tells. */
static int lose_stream(FILE *f)
{
	int error = errno;

	__fpurge(f);
	f->_flags |= 0x20; /* _IO_ERR_SEEN of the GNU C library */
	errno = error;
	return EOF;
}

int fflush(FILE *f)
{
	int (*next)(FILE *) = (int (*)(FILE *))dlsym(RTLD_NEXT, "fflush");

	if (f && __fwriting(f) && __fpending(f) && fault_strikes(CALL_FLUSH))
		return lose_stream(f);
	return next(f);
}

int fclose(FILE *f)
{
	int (*next)(FILE *) = (int (*)(FILE *))dlsym(RTLD_NEXT, "fclose");
	int error;

	if (!f || !__fwriting(f) || !__fpending(f) || !fault_strikes(CALL_FLUSH))
		return next(f);
	error = errno;
	lose_stream(f);
	next(f);
	errno = error;
	return EOF;
}

/* ---- files ------------------------------------------------------------------------- */

static int open_call(int dir, const char *path, int flags, mode_t mode)
{
	if (fault_strikes(CALL_OPEN))
		return -1;
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

#define OPEN_MODE(flags)                                           \
	mode_t mode = 0;                                           \
	va_list ap;                                                \
                                                                   \
	va_start(ap, flags);                                       \
	if (((flags)&O_CREAT) || ((flags)&O_TMPFILE) == O_TMPFILE) \
		mode = (mode_t)va_arg(ap, unsigned);               \
	va_end(ap)

int open(const char *path, int flags, ...)
{
	OPEN_MODE(flags);
	return open_call(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	OPEN_MODE(flags);
	return open_call(AT_FDCWD, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
	OPEN_MODE(flags);
	return open_call(dir, path, flags, mode);
}

int openat64(int dir, const char *path, int flags, ...)
{
	OPEN_MODE(flags);
	return open_call(dir, path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	FILE *(*next)(const char *, const char *) = (FILE * (*)(const char *, const char *))
		dlsym(RTLD_NEXT, "fopen");

	return fault_strikes(CALL_OPEN) ? NULL : next(path, mode);
}

int rename(const char *from, const char *to)
{
	return fault_strikes(CALL_RENAME)
		       ? -1
		       : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return fault_strikes(CALL_RENAME)
		       ? -1
		       : (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	return fault_strikes(CALL_RENAME)
		       ? -1
		       : (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

int ftruncate(int fd, off_t size)
{
	return fault_strikes(CALL_ROOM) ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}

int fallocate(int fd, int mode, off_t from, off_t size)
{
	return fault_strikes(CALL_ROOM) ? -1 : (int)syscall(SYS_fallocate, fd, mode, from, size);
}

int posix_fallocate(int fd, off_t from, off_t size)
{
	if (fault_strikes(CALL_ROOM))
		return errno;
	return syscall(SYS_fallocate, fd, 0, from, size) < 0 ? errno : 0;
}

int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
	return fault_strikes(CALL_ACCEPT) ? -1
					  : (int)syscall(SYS_accept4, fd, address, size, flags);
}

int accept(int fd, struct sockaddr *address, socklen_t *size)
{
	return accept4(fd, address, size, 0);
}

/* ---- network ----------------------------------------------------------------------- */

int socket(int domain, int type, int protocol)
{
	return fault_strikes(CALL_SOCKET) ? -1 : (int)syscall(SYS_socket, domain, type, protocol);
}

int connect(int fd, const struct sockaddr *address, socklen_t size)
{
	return fault_strikes(CALL_CONNECT) ? -1 : (int)syscall(SYS_connect, fd, address, size);
}

/* A connection that was reset stays so: the next call finds its end, too. */
static ssize_t lose_connection(int fd)
{
	int error = errno;

	if (error != EINTR)
		syscall(SYS_shutdown, fd, SHUT_RDWR);
	errno = error;
	return -1;
}

ssize_t sendto(int fd, const void *data, size_t n, int flags, const struct sockaddr *address,
	       socklen_t size)
{
	if (fault_cuts(CALL_SEND, &n))
		return lose_connection(fd);
	return syscall(SYS_sendto, fd, data, n, flags, address, size);
}

ssize_t send(int fd, const void *data, size_t n, int flags)
{
	return sendto(fd, data, n, flags, NULL, 0);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	if (fault_strikes(CALL_SEND))
		return lose_connection(fd);
	return syscall(SYS_sendmsg, fd, message, flags);
}

ssize_t recvfrom(int fd, void *data, size_t n, int flags, struct sockaddr *address, socklen_t *size)
{
	if (fault_cuts(CALL_RECV, &n))
		return lose_connection(fd);
	return syscall(SYS_recvfrom, fd, data, n, flags, address, size);
}

ssize_t recv(int fd, void *data, size_t n, int flags)
{
	return recvfrom(fd, data, n, flags, NULL, NULL);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	if (fault_strikes(CALL_RECV))
		return lose_connection(fd);
	return syscall(SYS_recvmsg, fd, message, flags);
}

/* ---- memory ------------------------------------------------------------------------ */

void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (fault_strikes(CALL_MMAP))
		return MAP_FAILED;
	return (void *)syscall(SYS_mmap, at, size, prot, flags, fd, offset);
}

void *mmap64(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	return mmap(at, size, prot, flags, fd, offset);
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t nr, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t align, size_t size);

void *malloc(size_t size)
{
	return fault_strikes(CALL_MALLOC) ? NULL : __libc_malloc(size);
}

void *calloc(size_t nr, size_t size)
{
	return fault_strikes(CALL_MALLOC) ? NULL : __libc_calloc(nr, size);
}

void *realloc(void *old, size_t size)
{
	return fault_strikes(CALL_MALLOC) ? NULL : __libc_realloc(old, size);
}

void *reallocarray(void *old, size_t nr, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(nr, size, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, all);
}

void *aligned_alloc(size_t align, size_t size)
{
	return fault_strikes(CALL_MALLOC) ? NULL : __libc_memalign(align, size);
}

int posix_memalign(void **p, size_t align, size_t size)
{
	void *got = aligned_alloc(align, size);

	if (!got)
		return ENOMEM;
	*p = got;
	return 0;
}

/* ---- processes and threads ----------------------------------------------------------- */

pid_t fork(void)
{
	pid_t (*next)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");

	return fault_strikes(CALL_FORK) ? -1 : next();
}

typedef int spawn_call(pid_t *, const char *, const posix_spawn_file_actions_t *,
		       const posix_spawnattr_t *, char *const *, char *const *);

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		const posix_spawnattr_t *attr, char *const *argv, char *const *env)
{
	spawn_call *next = (spawn_call *)dlsym(RTLD_NEXT, "posix_spawn");

	return fault_strikes(CALL_FORK) ? errno : next(pid, path, actions, attr, argv, env);
}

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
		 const posix_spawnattr_t *attr, char *const *argv, char *const *env)
{
	spawn_call *next = (spawn_call *)dlsym(RTLD_NEXT, "posix_spawnp");

	return fault_strikes(CALL_FORK) ? errno : next(pid, file, actions, attr, argv, env);
}

typedef int thread_call(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	thread_call *next = (thread_call *)dlsym(RTLD_NEXT, "pthread_create");

	return fault_strikes(CALL_THREAD) ? errno : next(thread, attr, run, arg);
}
