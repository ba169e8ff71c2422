// SPDX-License-Identifier: MIT
// hidden.cpp - a coroutine whose only handle is in an unusual place.  It can be resumed, always.
//
//	hidden WHERE, which is a key of the table at the end
#include "tasks.h"

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <map>
#include <mutex>
#include <string>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <ucontext.h>

static uintptr_t parked;

struct Park {
	bool await_ready()
	{
		return false;
	}
	void await_suspend(std::coroutine_handle<> self)
	{
		parked = reinterpret_cast<uintptr_t>(self.address());
	}
	void await_resume()
	{
	}
};

static Task<> hidden()
{
	co_await Park{}; // @hidden
}

// Start a coroutine and take its only handle out of memory.  malloc has a pointer to the end of the
// last block: it must be another one.
__attribute__((noinline)) static uintptr_t make()
{
	static void *volatile last;

	hidden().detach().resume();
	last = std::malloc(20000);
	std::memset(last, 1, 64);
	return std::exchange(parked, 0);
}

// Overwrite what earlier calls have left on the stack.
__attribute__((noinline)) static void clean_stack()
{
	volatile char dirt[16384];

	for (size_t i = 0; i < sizeof(dirt); i++)
		dirt[i] = 0;
}

static void in_epoll()
{
	int set = epoll_create1(0);
	epoll_event event = { .events = EPOLLIN, .data = { .u64 = make() } };

	epoll_ctl(set, EPOLL_CTL_ADD, eventfd(0, 0), &event);
	event.data.u64 = 0;
	clean_stack();
	ready();
	epoll_wait(set, &event, 1, -1);
}

// The handle is in a register that system calls preserve, and nowhere else.
static void in_register()
{
#ifdef __x86_64__
	uintptr_t key = 0x5a5a5a5a5a5a5a5a;

	parked = make() ^ key;
	clean_stack();
	ready();
	__asm__ volatile("movq %[parked], %%r15\n\t"
			 "xorq %[key], %%r15\n\t"
			 "movq $0, %[parked]\n"
			 "1:\tmovl $34, %%eax\n\t" // pause
			 "syscall\n\t"
			 "jmp 1b"
			 : [parked] "+m"(parked)
			 : [key] "r"(key)
			 : "rax", "rcx", "r11", "r15", "memory");
#else
	ready();
	pause();
#endif
}

static void tagged(uintptr_t mask)
{
	static uintptr_t keep;

	keep = make() | mask;
	clean_stack();
	ready();
	pause();
	std::printf("%zx\n", static_cast<size_t>(keep));
}

static void in_shared_memory()
{
	void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	*static_cast<uintptr_t *>(page) = make();
	clean_stack();
	ready();
	pause();
}

// In a vector register, and nowhere else.
static void in_vector_register()
{
#ifdef __x86_64__
	uintptr_t key = 0x5a5a5a5a5a5a5a5a;

	parked = make() ^ key;
	clean_stack();
	ready();
	__asm__ volatile("movq %[parked], %%r15\n\t"
			 "xorq %[key], %%r15\n\t"
			 "movq %%r15, %%xmm9\n\t"
			 "pslldq $8, %%xmm9\n\t"
			 "movq $0, %[parked]\n\t"
			 "xorq %%r15, %%r15\n"
			 "1:\tmovl $34, %%eax\n\t" // pause
			 "syscall\n\t"
			 "jmp 1b"
			 : [parked] "+m"(parked)
			 : [key] "r"(key)
			 : "rax", "rcx", "r11", "r15", "xmm9", "memory");
#else
	ready();
	pause();
#endif
}

// ---- memory -------------------------------------------------------------------------

static char other_stack[65536] __attribute__((aligned(16)));

__attribute__((noinline)) static void wait_here()
{
	clean_stack();
	ready();
	pause();
}

static void on_signal(int)
{
	volatile uintptr_t keep = make();

	wait_here();
	(void)keep;
}

static void on_signal_stack()
{
	stack_t stack = { .ss_sp = other_stack, .ss_flags = 0, .ss_size = sizeof(other_stack) };
	struct sigaction action = {};

	sigaltstack(&stack, nullptr);
	action.sa_handler = on_signal;
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &action, nullptr);
	raise(SIGUSR1);
}

// A fiber that holds the handle is not running.
static ucontext_t main_context, fiber_context;

static void fiber()
{
	volatile uintptr_t keep = make();

	swapcontext(&fiber_context, &main_context);
	(void)keep;
}

static void on_fiber_stack()
{
	getcontext(&fiber_context);
	fiber_context.uc_stack.ss_sp = other_stack;
	fiber_context.uc_stack.ss_size = sizeof(other_stack);
	makecontext(&fiber_context, fiber, 0);
	swapcontext(&main_context, &fiber_context);
	wait_here();
}

static thread_local volatile uintptr_t own_of_thread;

static void in_thread_local()
{
	std::thread([] {
		own_of_thread = make();
		wait_here();
	}).join();
}

static char *new_pages(size_t size, int flags)
{
	return static_cast<char *>(
		mmap(nullptr, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0));
}

static void in_mapping()
{
	*reinterpret_cast<uintptr_t *>(new_pages(8192, MAP_PRIVATE) + 4096) = make();
	wait_here();
}

// As the data of a packed struct epoll_event; across pages.
static void packed()
{
	uintptr_t handle = make();

	std::memcpy(new_pages(8192, MAP_PRIVATE) + 4092, &handle, sizeof(handle));
	handle = 0;
	wait_here();
}

static void shifted()
{
	static volatile uintptr_t keep;

	keep = make() << 16 | 0x1234;
	wait_here();
}

// In the data of the program, on a page that is read-only since.
alignas(4096) static volatile uintptr_t sealed[512] = { 1 };

static void in_protected_data()
{
	sealed[7] = make();
	mprotect(const_cast<uintptr_t *>(sealed), sizeof(sealed), PROT_READ);
	wait_here();
}

static void without_access()
{
	char *page = new_pages(4096, MAP_PRIVATE);

	*reinterpret_cast<uintptr_t *>(page) = make();
	mprotect(page, 4096, PROT_NONE);
	wait_here();
}

// Shared memory that only another process has touched; it keeps the handle for this one.
static void in_other_process()
{
	auto *page = reinterpret_cast<uintptr_t *>(new_pages(65536, MAP_SHARED));
	uintptr_t handle = make();

	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		page[4096] = handle;
		raise(SIGSTOP);
		_exit(0);
	}
	handle = 0;
	waitpid(-1, nullptr, WUNTRACED);
	wait_here();
}

static void unmapped_shared()
{
	char *page = new_pages(4096, MAP_SHARED);

	*reinterpret_cast<uintptr_t *>(page) = make();
	madvise(page, 4096, MADV_DONTNEED); // the content of shared memory stays
	wait_here();
}

// ---- the kernel ---------------------------------------------------------------------

static void write_handle(int fd)
{
	uintptr_t handle = make();

	if (write(fd, &handle, sizeof(handle)) != sizeof(handle))
		std::abort();
	handle = 0;
	wait_here();
}

static void in_eventfd()
{
	write_handle(eventfd(0, 0));
}

static void in_pipe()
{
	int ends[2];

	if (pipe(ends) == 0)
		write_handle(ends[1]);
}

static void in_socket()
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0)
		write_handle(ends[1]);
}

static void in_timer()
{
	struct sigevent event = {};
	timer_t timer;

	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = SIGUSR1;
	event.sigev_value.sival_ptr = reinterpret_cast<void *>(make());
	timer_create(CLOCK_MONOTONIC, &event, &timer);
	event = {};
	wait_here();
}

static void in_signal()
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, nullptr);
	sigqueue(getpid(), SIGUSR1, { .sival_ptr = reinterpret_cast<void *>(make()) });
	wait_here();
}

// The user_data of a request that is not complete: a poll of an eventfd.
static void in_io_uring()
{
	io_uring_params p = {};
	int ring = static_cast<int>(syscall(SYS_io_uring_setup, 4, &p));

	if (ring < 0) {
		std::printf("skip 1\n");
		*reinterpret_cast<uintptr_t *>(new_pages(4096, MAP_PRIVATE)) = make();
		wait_here();
	}
	char *rings = static_cast<char *>(mmap(nullptr, p.sq_off.array + p.sq_entries * 4,
					       PROT_READ | PROT_WRITE, MAP_SHARED, ring,
					       IORING_OFF_SQ_RING));
	auto *entries = static_cast<io_uring_sqe *>(
		mmap(nullptr, p.sq_entries * sizeof(io_uring_sqe), PROT_READ | PROT_WRITE,
		     MAP_SHARED, ring, IORING_OFF_SQES));

	entries[0] = {};
	entries[0].opcode = IORING_OP_POLL_ADD;
	entries[0].fd = eventfd(0, 0);
	entries[0].poll_events = 1;
	entries[0].user_data = make();
	reinterpret_cast<unsigned *>(rings + p.sq_off.array)[0] = 0;
	*reinterpret_cast<unsigned *>(rings + p.sq_off.tail) = 1;
	syscall(SYS_io_uring_enter, ring, 1, 0, 0, nullptr, 0);
	entries[0] = {};
	wait_here();
}

static void in_aio()
{
	static iocb request, *list = &request;
	aio_context_t context = 0;

	if (syscall(SYS_io_setup, 4, &context) < 0)
		std::printf("skip 1\n");
	request.aio_lio_opcode = IOCB_CMD_POLL;
	request.aio_fildes = static_cast<unsigned>(eventfd(0, 0));
	request.aio_buf = 1;
	request.aio_data = make();
	if (syscall(SYS_io_submit, context, 1, &list) == 1)
		request = {};
	wait_here();
}

// ---- memory of a pool ------------------------------------------------------------------

// Frames behind a header, in blocks that are never freed: only the headers are known.
struct PoolHeader {
	PoolHeader *next;
	size_t size;
};

static PoolHeader *pool_free;

struct PooledTask {
	struct promise_type {
		static void *operator new(size_t size)
		{
			auto *header = static_cast<PoolHeader *>(
				std::malloc(sizeof(PoolHeader) + size));

			header->size = size;
			return header + 1;
		}
		static void operator delete(void *memory, size_t)
		{
			auto *header = static_cast<PoolHeader *>(memory) - 1;

			header->next = pool_free;
			pool_free = header;
		}
		PooledTask get_return_object()
		{
			return {};
		}
		std::suspend_never initial_suspend() noexcept
		{
			return {};
		}
		std::suspend_never final_suspend() noexcept
		{
			return {};
		}
		void return_void()
		{
		}
		void unhandled_exception()
		{
		}
	};
};

static PooledTask pooled()
{
	co_await Park{};
}

// The coroutine was destroyed; what it left in the pool still looks like a frame.
static void in_pool()
{
	pooled();
	std::coroutine_handle<>::from_address(reinterpret_cast<void *>(std::exchange(parked, 0)))
		.destroy();
	make(); // a forgotten one, and no other
	wait_here();
}

// Two threads pass many coroutines to each other all the time.
static void between_queues()
{
	static std::array<std::deque<std::coroutine_handle<>>, 2> queues;
	static std::mutex lock;

	for (int i = 0; i < 200; i++)
		queues[0].push_back(
			std::coroutine_handle<>::from_address(reinterpret_cast<void *>(make())));
	auto move = [](int from) {
		for (;;) {
			std::coroutine_handle<> taken;
			{
				std::lock_guard guard(lock);

				if (!queues[from].empty()) {
					taken = queues[from].front();
					queues[from].pop_front();
				}
			}
			if (!taken)
				continue;
			std::lock_guard guard(lock);

			queues[1 - from].push_back(taken);
		}
	};
	std::thread other(move, 1);

	ready();
	move(0);
}

int main(int argc, char **argv)
{
	static const std::map<std::string, void (*)()> places = {
		{ "nowhere", [] { make(), wait_here(); } },
		{ "epoll", in_epoll },
		{ "register", in_register },
		{ "vector", in_vector_register },
		{ "low-tag", [] { tagged(3); } },
		{ "high-tag", [] { tagged(uintptr_t(0xabcd) << 48); } },
		{ "shared", in_shared_memory },
		{ "queues", between_queues },
		{ "signal-stack", on_signal_stack },
		{ "fiber", on_fiber_stack },
		{ "thread-local", in_thread_local },
		{ "mapping", in_mapping },
		{ "packed", packed },
		{ "shifted", shifted },
		{ "protected", in_protected_data },
		{ "no-access", without_access },
		{ "other-process", in_other_process },
		{ "unmapped-shared", unmapped_shared },
		{ "eventfd", in_eventfd },
		{ "pipe", in_pipe },
		{ "socket", in_socket },
		{ "timer", in_timer },
		{ "signal", in_signal },
		{ "io-uring", in_io_uring },
		{ "aio", in_aio },
		{ "pool", in_pool },
	};
	std::string where = argc > 1 ? argv[1] : "";

	expect(where == "queues" ? 200 : 1, "hidden");
	alarm(120);
	if (auto found = places.find(where); found != places.end())
		found->second();
	return 1;
}
