/* SPDX-License-Identifier: MIT */
/* thread_futures.c - recognize futures and joins by their futex. */
#include "inspect/thread_futures.h"

#include <elf.h>
#include <elfutils/libdwfl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>

#define FUTURE_NOT_READY 0x80000000u /* value of the futex while threads wait */
#define PTHREAD_TID      0x2d0       /* glibc on x86_64: struct pthread, tid */

/* The begin of std::__future_base::_State_baseV2, and of what std::async derives from it. */
struct libstdcxx_state {
	uint64_t vtable;
	uint64_t result; /* 0: not set */
	uint32_t status; /* the futex */
	uint8_t retrieved;
	uint32_t once;
	uint64_t thread; /* std::async: the pthread_t */
};

/* Which class has its table of virtual functions at @addr; NULL: none of a future. */
static const char *future_source(struct inspection *in, uint64_t addr)
{
	static const char prefix[] = "_ZTVNSt13__future_base";
	const char *name = NULL;
	size_t i;

	for (i = 0; i < in->image->nr_modules && !name; i++) {
		struct Dwfl_Module *module = NULL;

		if (addr >= in->image->modules[i].start && addr < in->image->modules[i].end)
			module = coro_types_module(in->types, i);
		if (module)
			name = dwfl_module_addrname(module, addr);
	}
	if (!name || strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return NULL;
	name += sizeof(prefix) - 1;
	if (strstr(name, "_Async_state"))
		return "std::async";
	return strstr(name, "_Task_state") ? "std::packaged_task" : "std::promise";
}

/* The thread with that pthread_t, whose struct must refer to itself. */
static pid_t future_runner(const struct inspection *in, uint64_t thread)
{
	uint64_t head[3];
	int32_t tid;
	size_t i;

	if (in->image->machine != EM_X86_64 ||
	    image_read(in->image, thread, head, sizeof(head)) != (ssize_t)sizeof(head) ||
	    head[0] != thread || head[2] != thread ||
	    image_read(in->image, thread + PTHREAD_TID, &tid, sizeof(tid)) != (ssize_t)sizeof(tid))
		return 0;
	for (i = 0; i < in->image->nr_threads; i++) {
		if (in->image->threads[i].tid == tid)
			return tid;
	}
	return 0;
}

/* An operation with a time is the second one. */
static bool future_is_wait(const struct image_thread *thread)
{
	int operation = (int)thread->args[1] & FUTEX_CMD_MASK;

	return thread->has_syscall && thread->syscall_nr == SYS_futex &&
	       (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET);
}

bool thread_future_read(struct inspection *in, const struct image_thread *thread,
			struct thread_future *out)
{
	struct libstdcxx_state state = { 0 };
	uint64_t addr = thread->args[0] - offsetof(struct libstdcxx_state, status);
	const size_t common = offsetof(struct libstdcxx_state, thread);

	if (!future_is_wait(thread) || (uint32_t)thread->args[2] != FUTURE_NOT_READY ||
	    image_read(in->image, addr, &state, common) != (ssize_t)common ||
	    state.status != FUTURE_NOT_READY)
		return false;
	*out = (struct thread_future){ .state = addr, .source = future_source(in, state.vtable) };
	if (!out->source)
		return false;
	if (!strcmp(out->source, "std::async") &&
	    image_read(in->image, addr, &state, sizeof(state)) == (ssize_t)sizeof(state))
		out->runner = future_runner(in, state.thread);
	return true;
}

pid_t thread_join_read(const struct inspection *in, const struct image_thread *thread)
{
	pid_t tid;

	/* glibc waits until the kernel clears the number of the thread. */
	if (!future_is_wait(thread))
		return 0;
	tid = future_runner(in, thread->args[0] - PTHREAD_TID);
	return tid == (int32_t)thread->args[2] ? tid : 0;
}
