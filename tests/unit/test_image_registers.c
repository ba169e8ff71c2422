/* SPDX-License-Identifier: MIT */
/* test_image_registers.c - registers of running threads; interrupted system calls go on. */
#include <errno.h>
#include <linux/btf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "check.h"
#include "count_open.h"
#include "process/image_backend.h"
#include "process/kernel_btf.h"
#include "process/process_image.h"

#define VALUE UINT64_C(0x1122334455667700)

static struct err err;

/* ---- children ------------------------------------------------------------ */

/* Block in pause() with known values in registers that a call keeps. */
static void block_with_values(void)
{
#if defined(__x86_64__)
	__asm__ volatile("mov %0, %%rbx\n lea 1(%%rbx), %%r12\n lea 2(%%rbx), %%r13\n"
			 "lea 3(%%rbx), %%r14\n lea 4(%%rbx), %%r15\n movq %%rbx, %%xmm7\n"
			 "1: mov $34, %%eax\n syscall\n jmp 1b\n"
			 :
			 : "r"(VALUE)
			 : "rbx", "r12", "r13", "r14", "r15", "rax", "rcx", "r11", "xmm7",
			   "memory");
#elif defined(__aarch64__)
	__asm__ volatile("mov x19, %0\n add x20, x19, #1\n add x21, x19, #2\n"
			 "add x22, x19, #3\n add x23, x19, #4\n fmov d8, x19\n"
			 "1: mov x0, #0\n mov x1, #0\n mov x2, #0\n mov x3, #0\n mov x8, #73\n"
			 "svc #0\n b 1b\n"
			 :
			 : "r"(VALUE)
			 : "x0", "x1", "x2", "x3", "x8", "x19", "x20", "x21", "x22", "x23", "v8",
			   "memory");
#endif
}

/* DWARF numbers of the five registers above. */
static const unsigned value_registers[] = {
#if defined(__aarch64__)
	19, 20, 21, 22, 23
#else
	3, 12, 13, 14, 15
#endif
};

static void *wait_in_epoll(void *arg)
{
	struct epoll_event event;
	int set = epoll_create1(EPOLL_CLOEXEC);

	(void)arg;
	epoll_wait(set, &event, 1, -1);
	abort();
}

static void *wait_in_epoll_pwait(void *arg)
{
	struct epoll_event event;
	int set = epoll_create1(EPOLL_CLOEXEC);
	sigset_t signals;

	(void)arg;
	sigemptyset(&signals);
	epoll_pwait(set, &event, 1, 3600 * 1000, &signals);
	abort();
}

static void *wait_in_nanosleep(void *arg)
{
	(void)arg;
	nanosleep(&(struct timespec){ .tv_sec = 3600 }, NULL);
	abort();
}

static void *wait_in_read(void *arg)
{
	int ends[2];
	char byte;

	(void)arg;
	if (pipe(ends) == 0 && read(ends[0], &byte, 1) < 2)
		abort();
	abort();
}

static void *wait_in_receive(void *arg)
{
	struct timeval limit = { .tv_sec = 3600 };
	int ends[2];
	char byte;

	(void)arg;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 &&
	    setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
	    recv(ends[0], &byte, 1, 0) < 2)
		abort();
	abort();
}

static void *wait_in_poll(void *arg)
{
	(void)arg;
	poll(NULL, 0, 3600 * 1000);
	abort();
}

static void *wait_in_signals(void *arg)
{
	sigset_t signals;

	(void)arg;
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR2);
	sigtimedwait(&signals, NULL, &(struct timespec){ .tv_sec = 3600 });
	abort();
}

static void child_wait_everywhere(void)
{
	static void *(*const waits[])(
		void *) = { wait_in_epoll,   wait_in_epoll_pwait, wait_in_nanosleep, wait_in_read,
			    wait_in_receive, wait_in_poll,        wait_in_signals };
	pthread_t thread;
	size_t i;

	for (i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		CHECK_EQ(pthread_create(&thread, NULL, waits[i], NULL), 0);
	pthread_join(thread, NULL);
}

static pid_t child_start(void (*run)(void))
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run();
	_exit(1);
}

static void child_settle(pid_t pid, ssize_t nr)
{
	struct image_thread *threads;
	ssize_t got, i, asleep = 0;

	while (asleep < nr) {
		got = image_read_tasks(pid, &threads);
		CHECK(got > 0);
		for (i = asleep = 0; i < got; i++)
			asleep += threads[i].state == 'S' && threads[i].has_syscall;
		free(threads);
		usleep(1000);
	}
}

static void child_end(pid_t pid)
{
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

/* ---- both modes ------------------------------------------------------------ */

static void check_values(const struct image_thread *t)
{
	size_t i;

	CHECK(t->has_registers);
	for (i = 0; i < 5; i++)
		CHECK_EQ(t->registers[value_registers[i]], VALUE + i);
}

/* A vector register may hold the only pointer to something. */
static void check_vectors(const struct process_image *image)
{
	size_t i, nr = 0;

	CHECK(image->threads[0].has_vectors);
	for (i = 0; i < image->nr_vectors; i++)
		nr += image->vectors[i] == VALUE;
	CHECK(nr >= 1);
}

static void values_in_registers_are_read_by_stopping(void)
{
	pid_t pid = child_start(block_with_values);
	struct process_image image;
	uint64_t sp, pc;

	child_settle(pid, 1);
	CHECK_EQ(image_open_process(&image, pid, &err), 0);
	sp = image.threads[0].sp;
	pc = image.threads[0].pc;
	CHECK_EQ(image_read_registers(&image, IMAGE_REGISTERS_STOP, &err), 0);
	check_values(image.threads);
	check_vectors(&image);
	CHECK_EQ(image.threads[0].sp, sp);
	CHECK_EQ(image.threads[0].pc, pc);
	CHECK(image.threads[0].stopped_ns > 0);
	CHECK_EQ(image.stopped_ns, image.threads[0].stopped_ns);
	image_close(&image);
	child_end(pid);
}

static void values_in_registers_are_read_by_bpf(void)
{
	pid_t pid = child_start(block_with_values);
	struct process_image image;
	uint64_t sp, pc, switches;
	unsigned before;
	int rc;

	child_settle(pid, 1);
	CHECK_EQ(image_open_process(&image, pid, &err), 0);
	sp = image.threads[0].sp;
	pc = image.threads[0].pc;
	switches = image.threads[0].switches;
	rc = image_read_registers(&image, IMAGE_REGISTERS_BPF, &err);
	if (rc < 0) {
		CHECK(rc == -EPERM || rc == -ENOTSUP);
		CHECK(*err.text && *err.hint);
		printf("no BPF here: %s\n", err.text);
	} else {
		check_values(image.threads);
		CHECK_EQ(image.threads[0].sp, sp);
		CHECK_EQ(image.threads[0].pc, pc);
		before = count_open();
		CHECK_EQ(image_read_registers(&image, IMAGE_REGISTERS_BPF, &err), 0);
		CHECK_EQ(count_open(), before);
		check_values(image.threads);
		CHECK_EQ(image.threads[0].switches, switches); /* it was not stopped */
	}
	image_close(&image);
	child_end(pid);
}

/* From now on bpf(2) fails with @error. */
static void refuse_bpf(int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(0); /* no such filters here */
}

/* A kernel without it, and a user who may not: what to do instead is in the hint. */
static void bpf_that_is_refused_is_an_error_with_a_hint(void)
{
	static const struct {
		int error, code;
		const char *text;
	} cases[] = {
		{ EPERM, -EPERM, "CAP_BPF and CAP_PERFMON are required" },
		{ ENOSYS, -ENOTSUP, "cannot read registers with BPF" },
		{ EINVAL, -ENOTSUP, "cannot read registers with BPF" },
	};
	pid_t asked = child_start(block_with_values), pid;
	struct process_image image;
	int status;
	size_t i;

	child_settle(asked, 1);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pid = fork();
		CHECK(pid >= 0);
		if (!pid) {
			int rc;

			CHECK_EQ(image_open_process(&image, asked, &err), 0);
			refuse_bpf(cases[i].error);
			rc = image_read_registers(&image, IMAGE_REGISTERS_BPF, &err);
			CHECK(rc == cases[i].code || rc == -ENOTSUP); /* in a pid namespace */
			CHECK(rc != cases[i].code || strstr(err.text, cases[i].text));
			CHECK(strstr(err.hint, "--stacks"));
			_exit(0);
		}
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
	child_end(asked);
}

static void child_spin(void)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, wait_in_poll, NULL), 0);
	for (;;)
		__asm__ volatile("");
}

static void a_thread_that_runs_has_no_registers_from_bpf(void)
{
	pid_t pid = child_start(child_spin);
	struct process_image image;
	size_t i;

	child_settle(pid, 1);
	CHECK_EQ(image_open_process(&image, pid, &err), 0);
	if (image_read_registers(&image, IMAGE_REGISTERS_BPF, &err) == 0) {
		CHECK_EQ(image.nr_threads, 2);
		for (i = 0; i < 2; i++)
			CHECK_EQ(image.threads[i].has_registers, image.threads[i].tid != pid);
	}
	CHECK_EQ(image_read_registers(&image, IMAGE_REGISTERS_STOP, &err), 0);
	for (i = 0; i < 2; i++)
		CHECK(image.threads[i].has_registers);
	image_close(&image);
	child_end(pid);
}

/* ---- stops --------------------------------------------------------------- */

static void interrupted_system_calls_go_on_after_a_stop(void)
{
	pid_t pid = child_start(child_wait_everywhere);
	struct process_image image;
	uint64_t stopped = 0, longest = 0;
	int look, status;
	size_t i;

	child_settle(pid, 8);
	CHECK_EQ(image_open_process(&image, pid, &err), 0);
	for (look = 0; look < 100; look++) {
		CHECK_EQ(image_read_registers(&image, IMAGE_REGISTERS_STOP, &err), 0);
		CHECK_EQ(image.nr_threads, 8);
		for (i = 0; i < 8; i++) {
			CHECK(image.threads[i].has_registers);
			if (image.threads[i].stopped_ns > longest)
				longest = image.threads[i].stopped_ns;
		}
		stopped += image.stopped_ns;
	}
	child_settle(pid, 8);
	CHECK_EQ(waitpid(pid, &status, WNOHANG), 0); /* no call has returned */
	printf("800 stops: %llu us on average, %llu us at most\n",
	       (unsigned long long)(stopped / 800 / 1000), (unsigned long long)(longest / 1000));
	image_close(&image);
	child_end(pid);
}

static int report[2];

static void signal_ignore(int sig)
{
	(void)sig;
}

/* Reports every EINTR. */
static void child_count_interrupts(void)
{
	struct epoll_event event;
	int set = epoll_create1(EPOLL_CLOEXEC);
	struct sigaction act = { .sa_handler = signal_ignore };
	sigset_t blocked, none;

	sigemptyset(&none);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	sigaction(SIGUSR1, &act, NULL);
	for (;;) {
		if (epoll_pwait(set, &event, 1, -1, &none) >= 0 || errno != EINTR)
			abort();
		if (write(report[1], "", 1) != 1)
			abort();
	}
}

static void *signal_sender(void *arg)
{
	const pid_t *pid = arg;
	int i;

	for (i = 0; i < 300; i++) {
		struct pollfd p = { .fd = report[0], .events = POLLIN };
		char byte;

		usleep((useconds_t)(i % 8 * 30));
		kill(*pid, SIGUSR1);
		if (poll(&p, 1, 20000) != 1 || read(report[0], &byte, 1) != 1)
			return NULL;
	}
	return arg;
}

static void a_signal_during_a_stop_interrupts_as_without_it(void)
{
	struct process_image image;
	pthread_t sender;
	unsigned looks = 0;
	void *done = NULL;
	pid_t pid;

	CHECK_EQ(pipe(report), 0);
	pid = child_start(child_count_interrupts);
	child_settle(pid, 1);
	CHECK_EQ(image_open_process(&image, pid, &err), 0);
	CHECK_EQ(pthread_create(&sender, NULL, signal_sender, &pid), 0);
	while (pthread_tryjoin_np(sender, &done) == EBUSY) {
		CHECK_EQ(image_read_registers(&image, IMAGE_REGISTERS_STOP, &err), 0);
		looks++;
	}
	CHECK(done == &pid); /* every signal was reported, and nothing else */
	CHECK_EQ(poll(&(struct pollfd){ .fd = report[0], .events = POLLIN }, 1, 50), 0);
	printf("300 signals during %u looks\n", looks);
	image_close(&image);
	child_end(pid);
}

/* A thread that is detached enters the stop of its process again, a moment later. */
static void child_settle_stopped(pid_t pid, ssize_t nr)
{
	struct image_thread *threads;
	ssize_t got, i, stopped = 0;

	while (stopped < nr) {
		got = image_read_tasks(pid, &threads);
		CHECK_EQ(got, nr);
		for (i = stopped = 0; i < got; i++)
			stopped += threads[i].state == 'T';
		free(threads);
		usleep(1000);
	}
}

static void a_stopped_process_stays_stopped(void)
{
	pid_t pid = child_start(child_wait_everywhere);
	struct process_image image;
	size_t i;

	child_settle(pid, 8);
	kill(pid, SIGSTOP);
	CHECK_EQ(waitpid(pid, NULL, WUNTRACED), pid);
	CHECK_EQ(image_open_process(&image, pid, &err), 0);
	CHECK_EQ(image_read_registers(&image, IMAGE_REGISTERS_STOP, &err), 0);
	for (i = 0; i < 8; i++)
		CHECK(image.threads[i].has_registers);
	child_settle_stopped(pid, 8);
	image_close(&image);
	child_end(pid);
}

/* The caller of launch_ended() needs the status of its child. */
static void the_status_of_a_child_is_left_to_its_parent(void)
{
	int i, status;

	for (i = 0; i < 20; i++) {
		struct process_image image;
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			usleep((useconds_t)(100 * i));
			_exit(42);
		}
		if (image_open_process(&image, pid, &err) == 0) {
			while (image_read_registers(&image, IMAGE_REGISTERS_STOP, &err) == 0)
				;
			image_close(&image);
		}
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
	}
}

/* ---- types of the kernel --------------------------------------------------- */

static void types_that_are_damaged_are_refused(void)
{
	struct kernel_btf btf;
	unsigned char *copy, *data;
	size_t size, i;

	if (kernel_btf_open(&btf, "/sys/kernel/btf/vmlinux") < 0)
		return;
	CHECK(kernel_btf_member(&btf, "task_struct", "tgid") > 0);
	CHECK_EQ(kernel_btf_member(&btf, "task_struct", "no such member"), -ENOENT);
	CHECK_EQ(kernel_btf_function(&btf, "no such function"), -ENOENT);
	size = btf.size < 4096 ? btf.size : 4096;
	data = malloc(size);
	CHECK(data);
	memcpy(data, btf.data, size);
	kernel_btf_close(&btf);
	for (i = 0; i < size; i++) {
		copy = malloc(i + 1);
		CHECK(copy);
		memcpy(copy, data, i);
		if (kernel_btf_parse(&btf, copy, i) == 0) {
			kernel_btf_member(&btf, "task_struct", "tgid");
			kernel_btf_close(&btf);
		}
	}
	free(data);
}

/* ---- types of the kernel, made by hand ------------------------------------------------ */

static struct {
	struct btf_header header;
	uint32_t types[64];
	char names[64];
} made;
static uint32_t nr_words, names_size;

static uint32_t add_name(const char *name)
{
	uint32_t at = names_size;

	CHECK(names_size + strlen(name) < sizeof(made.names));
	memcpy(made.names + at, name, strlen(name) + 1);
	names_size += (uint32_t)strlen(name) + 1;
	return at;
}

static void add_words(uint32_t a, uint32_t b, uint32_t c)
{
	CHECK(nr_words + 3 <= 64);
	made.types[nr_words++] = a;
	made.types[nr_words++] = b;
	made.types[nr_words++] = c;
}

#define KIND(kind, nr) ((uint32_t)BTF_KIND_##kind << 24 | (nr))

/*
 * 1: int; 2: union { int u0; int u1 }; 3: struct inner { int x; (unnamed 2) };
 * 4: struct outer { int a; int b; (unnamed 3); struct inner named };
 * 5: with bit fields, struct bits { int low : 3; int high }; 6: FUNC_PROTO; 7: FUNC run
 */
static unsigned char *make_types(size_t *size)
{
	unsigned char *data = malloc(sizeof(made));

	memset(&made, 0, sizeof(made));
	nr_words = names_size = 0;
	add_name("");
	add_words(add_name("int"), KIND(INT, 0), 4);
	made.types[nr_words++] = 32;
	add_words(0, KIND(UNION, 2), 4);
	add_words(add_name("u0"), 1, 0);
	add_words(add_name("u1"), 1, 0);
	add_words(add_name("inner"), KIND(STRUCT, 2), 8);
	add_words(add_name("x"), 1, 0);
	add_words(0, 2, 32);
	add_words(add_name("outer"), KIND(STRUCT, 4), 24);
	add_words(add_name("a"), 1, 0);
	add_words(add_name("b"), 1, 32);
	add_words(0, 3, 64);
	add_words(add_name("named"), 3, 128);
	add_words(add_name("bits"), KIND(STRUCT, 2) | 1u << 31, 8);
	add_words(add_name("low"), 1, 3u << 24);
	add_words(add_name("high"), 1, 32);
	add_words(0, KIND(FUNC_PROTO, 1), 0);
	made.types[nr_words++] = 0;
	made.types[nr_words++] = 1;
	add_words(add_name("run"), KIND(FUNC, 0), 6);
	made.header = (struct btf_header){ .magic = BTF_MAGIC,
					   .version = 1,
					   .hdr_len = sizeof(made.header),
					   .type_len = nr_words * 4,
					   .str_off = sizeof(made.types),
					   .str_len = names_size };
	*size = sizeof(made);
	CHECK(data != NULL);
	memcpy(data, &made, sizeof(made));
	return data;
}

static void members_and_functions_are_found_by_name(void)
{
	struct kernel_btf btf;
	size_t size;
	unsigned char *data = make_types(&size);

	CHECK_EQ(kernel_btf_parse(&btf, data, size), 0);
	CHECK_EQ(btf.nr, 8);
	CHECK_EQ(kernel_btf_member(&btf, "outer", "a"), 0);
	CHECK_EQ(kernel_btf_member(&btf, "outer", "b"), 4);
	CHECK_EQ(kernel_btf_member(&btf, "outer", "x"), 8); /* of an unnamed member */
	CHECK_EQ(kernel_btf_member(&btf, "outer", "u0"), 12);
	CHECK_EQ(kernel_btf_member(&btf, "outer", "u1"), 12);
	CHECK_EQ(kernel_btf_member(&btf, "outer", "named"), 16);
	CHECK_EQ(kernel_btf_member(&btf, "inner", "u1"), 4);
	CHECK_EQ(kernel_btf_member(&btf, "bits", "low"), 0);
	CHECK_EQ(kernel_btf_member(&btf, "bits", "high"), 4);
	CHECK_EQ(kernel_btf_member(&btf, "outer", "none"), -ENOENT);
	CHECK_EQ(kernel_btf_member(&btf, "int", "a"), -ENOENT); /* of another kind */
	CHECK_EQ(kernel_btf_member(&btf, "out", "a"), -ENOENT);
	CHECK_EQ(kernel_btf_function(&btf, "run"), 7);
	CHECK_EQ(kernel_btf_function(&btf, "outer"), -ENOENT);
	kernel_btf_close(&btf);
	CHECK(!btf.data && !btf.at && btf.nr == 0);
}

/* Each change of the header alone makes it invalid. */
static void a_header_that_does_not_fit_is_refused(void)
{
	static const struct {
		size_t offset;
		uint32_t value;
	} changes[] = {
		{ offsetof(struct btf_header, magic), 0x0000eb9e },
		{ offsetof(struct btf_header, hdr_len), sizeof(struct btf_header) - 1 },
		{ offsetof(struct btf_header, hdr_len), sizeof(made) + 1 },
		{ offsetof(struct btf_header, type_off), sizeof(made) },
		{ offsetof(struct btf_header, type_len), sizeof(made) },
		{ offsetof(struct btf_header, str_off), sizeof(made) },
		{ offsetof(struct btf_header, str_len), 0 },
		{ offsetof(struct btf_header, str_len), sizeof(made) },
	};
	struct kernel_btf btf;
	unsigned char *data;
	size_t i, size;

	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		data = make_types(&size);
		memcpy(data + changes[i].offset, &changes[i].value, sizeof(changes[i].value));
		CHECK_EQ(kernel_btf_parse(&btf, data, size), -EINVAL);
		CHECK(!btf.data && btf.nr == 0);
	}
	/* Names without an end, and a type that is longer than the types. */
	data = make_types(&size);
	data[offsetof(__typeof__(made), names) + names_size - 1] = 'x';
	CHECK_EQ(kernel_btf_parse(&btf, data, size), -EINVAL);
	data = make_types(&size);
	((struct btf_header *)data)->type_len -= 4;
	CHECK_EQ(kernel_btf_parse(&btf, data, size), 0); /* the function is cut off */
	CHECK_EQ(kernel_btf_function(&btf, "run"), -ENOENT);
	kernel_btf_close(&btf);
	data = make_types(&size);
	((struct btf_header *)data)->type_len -= 16;
	CHECK_EQ(kernel_btf_parse(&btf, data, size), -EINVAL);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	RUN(types_that_are_damaged_are_refused);
	RUN(values_in_registers_are_read_by_stopping);
	RUN(values_in_registers_are_read_by_bpf);
	RUN(bpf_that_is_refused_is_an_error_with_a_hint);
	RUN(a_thread_that_runs_has_no_registers_from_bpf);
	RUN(interrupted_system_calls_go_on_after_a_stop);
	RUN(a_signal_during_a_stop_interrupts_as_without_it);
	RUN(a_stopped_process_stays_stopped);
	RUN(the_status_of_a_child_is_left_to_its_parent);
	RUN(members_and_functions_are_found_by_name);
	RUN(a_header_that_does_not_fit_is_refused);
	return 0;
}
