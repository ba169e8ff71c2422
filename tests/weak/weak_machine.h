/* SPDX-License-Identifier: MIT */
/*
 * weak_machine.h - run C functions on a weak memory, and search all their executions.
 *
 * The code under test is compiled with -fsanitize=thread and linked with weak_hooks.c in place of
 * ThreadSanitizer: every access to the arena comes here.  The memory is the view machine of RC11,
 * as in docs/proof.md, section 2, with read-modify-writes, release sequences, sequentially
 * consistent fences and stores that go before others in a location's order:
 *
 *   - a location has a history of messages; a load returns any that is not older than the
 *     thread's view, so that an execution also contains what a cache or a store buffer delays;
 *   - a release store passes the thread's view, a relaxed store the view at the last release
 *     fence; an acquire load takes the message's view over, a relaxed load does so at the next
 *     acquire fence;
 *   - plain accesses must not race.  In an area of weak_seqlock() they are relaxed instead.
 *
 * Threads are fibers that change only at accesses to locations which two of them use.  All choices
 * (the thread that continues, the message that is read, the place of a store, the death of a
 * thread) are searched depth first.  A state that was seen before is not continued: the state
 * of a thread is what it has read so far, because nothing else influences it.
 */
#ifndef WEAK_MACHINE_H
#define WEAK_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEAK_THREADS 4u
#define WEAK_ARENA   32768u

struct weak_test {
	const char *name, *what;
	unsigned nr_threads;
	void (*set_up)(void); /* before the first execution: fills the arena */
	void (*threads[WEAK_THREADS])(void);
	void (*check)(void);    /* after each execution, with all stores visible */
	unsigned mortal;        /* bit per thread: may end before any access */
	unsigned most_switches; /* preemptions per execution; 0: any number */
	unsigned most_stale;    /* loads of old values per execution; 0: any number */
	bool is_multi_copy;     /* a hand-over also passes the release view */
	bool has_membarrier;    /* the code calls membarrier(2) */
	bool has_own_sequences; /* release sequences of C11: a thread's own later stores, too */
	unsigned outside;       /* bit per thread: of a process that it does not reach */
	bool full_only;         /* too long for a short run */
	void (*finish)(const char *name); /* after the last execution; may be NULL */
};

/* ---- for tests --------------------------------------------------------------- */

/* Memory of the arena: shared, and restored before every execution.  In set_up() only. */
void *weak_alloc(size_t size);

/* A variable of the code under test becomes shared memory, too, with its value.  In set_up() only.
 */
void weak_share(void *at, size_t size);

/*
 * Memory of the arena is mapped in a process, whose threads are the bits of @users.  They must not
 * use it after weak_unmap(), and each use must happen before that.  weak_all_have_left() checks the
 * latter for a thread of another process.  weak_mapping() in set_up() only.
 */
void weak_mapping(const void *at, size_t size, unsigned users);
void weak_unmap(const void *at);
void weak_all_have_left(const void *at);

/* Private memory of one thread: restored before every execution.  In set_up() only. */
void weak_restore(void *at, size_t size);

/* Plain accesses to this area may race: the code checks a sequence number or an id. */
void weak_seqlock(const void *at, size_t size);

/*
 * The values in this area decide nothing, neither in the code nor in the check: a load there reads
 * the oldest possible one.  What else it could read passes a larger view, which allows less.
 */
void weak_ignore(const void *at, size_t size);

/* The property is violated: the execution is printed, the search ends. */
void weak_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The calling thread, from 0; WEAK_THREADS outside of the threads. */
unsigned weak_self(void);

/* True if the thread has ended before its end. */
bool weak_was_killed(unsigned thread);

/*
 * The program's own hand-over, from one thread to another: a release and an acquire.  The taker
 * waits, for ever if the giver is killed.  @nr: 0 to 7.
 */
void weak_hand_over(unsigned nr);
void weak_take_over(unsigned nr);

/* Sleep until another thread calls weak_wake(): the wait of a futex, after its check. */
void weak_sleep(void);
void weak_wake(void);
bool weak_has_ended(unsigned thread);

/* As ctp_ticks(): grows with the calling thread's calls only, so that executions can be repeated.
 */
uint64_t weak_ticks(void);

/* ---- for hooks ---------------------------------------------------------------- */

enum weak_order {
	WEAK_RELAXED = 0,
	WEAK_ACQUIRE = 1,
	WEAK_RELEASE = 2,
	WEAK_BOTH = 3,
	WEAK_SC = 7
};

bool weak_covers(const void *at);
uint64_t weak_load(const void *at, unsigned size, unsigned order);
void weak_store(void *at, unsigned size, uint64_t value, unsigned order);

/* A read-modify-write.  @change: the new value; false: none is stored (then @failed is the order).
 */
typedef bool weak_change(uint64_t old, uint64_t operand, uint64_t other, uint64_t *new_value);
uint64_t weak_modify(void *at, unsigned size, weak_change *change, uint64_t operand, uint64_t other,
		     unsigned order, unsigned failed);
void weak_fence(unsigned order);
void weak_membarrier(void);
bool weak_is_multi_copy(void);

/* Before a plain access: the memory holds the value that the thread reads there. */
void weak_plain_read(const void *at, unsigned size);
void weak_plain_write(void *at, unsigned size);

/* ---- search ------------------------------------------------------------------- */

struct weak_result {
	uint64_t executions, states, steps;
	bool failed;
};

void weak_search(const struct weak_test *test, struct weak_result *out);

/* Choose one of @nr; the search tries all. */
unsigned weak_choose(unsigned nr);

/* True before the search, in executions by chance. */
bool weak_is_learning(void);

/* True on the way to the choice that this execution changes. */
bool weak_is_repeating(void);

/* True if the search has been in this state, and this execution need not go on. */
bool weak_is_known(uint64_t hash);

/* The execution ends here: a property is violated, or where a thread may change has changed. */
void weak_abort(bool failed) __attribute__((noreturn));

/* ---- threads (weak_threads.c) ---------------------------------------------------- */

void weak_threads_begin(const struct weak_test *test);

/* Run the threads until all have ended.  False: the state at a switch is known. */
bool weak_threads_run(void);

/* Before an access that other threads can see: another thread may continue first. */
void weak_yield(void);

/* Before another access: the thread may end here, if it is mortal. */
void weak_may_die(void);
uint64_t weak_threads_hash(void);

/* ---- memory (weak_memory.c) ------------------------------------------------------ */

void weak_memory_open(const struct weak_test *test);
void weak_memory_begin(const struct weak_test *test);

/* All threads have ended: the arena holds the last value of every location. */
void weak_memory_settle(void);
void weak_memory_flush(void);
uint64_t weak_memory_hash(void);
void weak_memory_give_view(unsigned nr);
void weak_memory_take_view(unsigned nr);

/* The last accesses, for a report. */
void weak_memory_print(void);

#endif
