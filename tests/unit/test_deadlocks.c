/* SPDX-License-Identifier: MIT */
/*
 * test_deadlocks.c - which coroutines of a saved process wait for each other, and how certain that
 * is.
 *
 * Coroutine n has its frame at FRAME_AT(n), lock n is at LOCK_AT(n).  A process image that is not
 * running is not looked at again, so that the waits are all that counts.
 */
#include "inspect/deadlocks.h"

#include "check.h"
#include "inspect/inspection.h"

#define NR_FRAMES   8
#define FRAME_SIZE  0x100
#define FRAME_AT(n) (0x10000 + (uint64_t)(n)*0x1000)
#define LOCK_AT(n)  (0x900000 + (uint64_t)(n)*64)

static struct process_image saved_image;

struct bed {
	struct inspection in;
};

/* Coroutines that are suspended; the group of each has one member. */
static void bed_open(struct bed *bed)
{
	struct inspection *in = &bed->in;
	uint32_t i;

	saved_image = (struct process_image){ .kind = IMAGE_CORE };
	*bed = (struct bed){ .in.image = &saved_image };
	for (i = 0; i < NR_FRAMES; i++) {
		struct coro_frame frame = { .addr = FRAME_AT(i),
					    .size = FRAME_SIZE,
					    .parent = FRAME_NONE };

		CHECK_EQ(frame_table_add(&in->table, &frame), 0);
	}
	frame_table_sort(&in->table);
	CHECK_EQ(frame_table_seal(&in->table), 0);
	in->groups = calloc(NR_FRAMES, sizeof(*in->groups));
	in->members = calloc(NR_FRAMES, sizeof(*in->members));
	CHECK(in->groups && in->members);
	in->nr_groups = NR_FRAMES;
	for (i = 0; i < NR_FRAMES; i++) {
		in->groups[i] = (struct inspect_group){ .first = i,
							.count = 1,
							.bytes = FRAME_SIZE };
		in->members[i] = i;
	}
}

static void bed_close(struct bed *bed)
{
	deadlocks_release(&bed->in.deadlocks);
	described_waits_release(&bed->in.described);
	frame_table_release(&bed->in.table);
	free(bed->in.groups);
	free(bed->in.members);
}

/* The last wait or guard, to change it. */
static struct described_wait *bed_wait(struct bed *bed, unsigned frame, uint64_t lock)
{
	struct described_wait wait = {
		.coroutine = FRAME_AT(frame), .frame = frame, .kind = "lock", .is_certain = true
	};
	struct described_waits *d = &bed->in.described;

	wait.value.object = lock;
	CHECK_EQ(described_waits_add(d, &wait), 0);
	return &d->waits[d->nr_waits - 1];
}

static struct described_guard *bed_guard(struct bed *bed, unsigned frame, uint64_t lock)
{
	struct described_guard guard = { .coroutine = FRAME_AT(frame),
					 .frame = frame,
					 .is_certain = true };
	struct described_waits *d = &bed->in.described;

	guard.value.object = lock;
	CHECK_EQ(described_guards_add(d, &guard), 0);
	return &d->guards[d->nr_guards - 1];
}

/* Coroutines 0 to nr - 1 hold the lock of their number, and wait for that of the next one. */
static void bed_ring(struct bed *bed, unsigned nr)
{
	unsigned i;

	bed_open(bed);
	for (i = 0; i < nr; i++) {
		bed_guard(bed, i, LOCK_AT(i));
		bed_wait(bed, i, LOCK_AT((i + 1) % nr));
	}
}

static const struct deadlocks *bed_judge(struct bed *bed)
{
	struct err err = { 0 };

	described_waits_sort(&bed->in.described);
	CHECK_EQ(deadlocks_judge(&bed->in, &err), 0);
	return &bed->in.deadlocks;
}

static void check_ring(struct bed *bed, size_t count, enum inspect_confidence confidence,
		       const char *doubt)
{
	const struct deadlocks *d = bed_judge(bed);

	CHECK_EQ(d->nr, 1);
	CHECK_EQ(d->rings[0].count, count);
	CHECK_EQ(d->rings[0].confidence, confidence);
	CHECK_STR(d->rings[0].doubt ? d->rings[0].doubt : "", doubt);
	bed_close(bed);
}

static void check_none(struct bed *bed)
{
	unsigned i;

	CHECK_EQ(bed_judge(bed)->nr, 0);
	for (i = 0; i < NR_FRAMES; i++)
		CHECK_EQ(bed->in.groups[i].verdict, VERDICT_WAITING);
	bed_close(bed);
}

/* ---- rings ------------------------------------------------------------------------------ */

static void each_of_a_ring_waits_for_the_next_one(void)
{
	struct bed bed;
	const struct deadlocks *d;
	unsigned i;

	bed_ring(&bed, 3);
	d = bed_judge(&bed);
	CHECK_EQ(d->nr, 1);
	CHECK_EQ(d->rings[0].count, 3);
	CHECK_EQ(d->nr_members, 3);
	for (i = 0; i < 3; i++) {
		const struct deadlock_member *m = &d->members[d->rings[0].first + i];
		const struct deadlock_member *next = &d->members[d->rings[0].first + (i + 1) % 3];
		const struct described_wait *wait = &bed.in.described.waits[m->wait];

		CHECK_EQ(m->holder, bed.in.described.waits[next->wait].coroutine);
		CHECK_EQ(bed.in.described.guards[m->guard].value.object, wait->value.object);
		CHECK_EQ(bed.in.described.guards[m->guard].coroutine, m->holder);
		CHECK_EQ(m->confidence, INSPECT_PROVEN);
		CHECK(!m->doubt);
	}
	for (i = 0; i < NR_FRAMES; i++)
		CHECK_EQ(bed.in.groups[i].verdict, i < 3 ? VERDICT_DEADLOCK : VERDICT_WAITING);
	CHECK_EQ(bed.in.groups[0].confidence, INSPECT_PROVEN);
	CHECK(strstr(bed.in.groups[0].reason, "in a ring"));
	bed_close(&bed);
}

static void a_coroutine_may_wait_for_its_own_lock(void)
{
	struct bed bed;

	bed_ring(&bed, 1);
	CHECK_EQ(bed_judge(&bed)->nr, 1);
	CHECK_EQ(bed.in.deadlocks.rings[0].count, 1);
	CHECK_EQ(bed.in.groups[0].verdict, VERDICT_DEADLOCK);
	CHECK(strstr(bed.in.groups[0].reason, "a lock that it"));
	bed_close(&bed);
}

static void a_chain_that_ends_is_no_ring(void)
{
	struct bed bed;

	bed_open(&bed);
	bed_guard(&bed, 0, LOCK_AT(0));
	bed_guard(&bed, 1, LOCK_AT(1));
	bed_guard(&bed, 2, LOCK_AT(2));
	bed_wait(&bed, 0, LOCK_AT(1));
	bed_wait(&bed, 1, LOCK_AT(2));
	bed_wait(&bed, 3, LOCK_AT(0));
	check_none(&bed);
}

/* What waits for a member of a ring is stuck as well, but not part of it. */
static void a_coroutine_that_waits_for_a_ring_is_not_in_it(void)
{
	struct bed bed;

	bed_open(&bed);
	bed_wait(&bed, 0, LOCK_AT(1)); /* comes first, and leads into the ring */
	bed_guard(&bed, 1, LOCK_AT(1));
	bed_wait(&bed, 1, LOCK_AT(2));
	bed_guard(&bed, 2, LOCK_AT(2));
	bed_wait(&bed, 2, LOCK_AT(1));
	CHECK_EQ(bed_judge(&bed)->nr, 1);
	CHECK_EQ(bed.in.deadlocks.rings[0].count, 2);
	CHECK_EQ(bed.in.groups[0].verdict, VERDICT_WAITING);
	CHECK_EQ(bed.in.groups[1].verdict, VERDICT_DEADLOCK);
	CHECK_EQ(bed.in.groups[2].verdict, VERDICT_DEADLOCK);
	bed_close(&bed);
}

static void two_rings_are_two(void)
{
	struct bed bed;
	unsigned i;

	bed_ring(&bed, 2);
	for (i = 4; i < 7; i++) {
		bed_guard(&bed, i, LOCK_AT(i));
		bed_wait(&bed, i, LOCK_AT(i == 6 ? 4 : i + 1));
	}
	CHECK_EQ(bed_judge(&bed)->nr, 2);
	CHECK_EQ(bed.in.deadlocks.rings[0].count, 2);
	CHECK_EQ(bed.in.deadlocks.rings[1].count, 3);
	CHECK_EQ(bed.in.deadlocks.rings[1].first, 2);
	bed_close(&bed);
}

/* ---- waits that end by themselves --------------------------------------------------------- */

static void a_wait_with_a_limit_is_no_deadlock(void)
{
	struct bed bed;

	bed_ring(&bed, 2);
	bed.in.described.waits[1].has_limit = true;
	check_none(&bed);
	bed_ring(&bed, 2);
	bed.in.described.waits[1].value.has_deadline = true;
	check_none(&bed);
}

static void a_wait_that_is_over_is_no_deadlock(void)
{
	struct bed bed;

	bed_ring(&bed, 2);
	bed.in.described.waits[0].value.is_over = true;
	check_none(&bed);
}

static void a_free_lock_is_no_deadlock(void)
{
	struct bed bed;

	bed_ring(&bed, 2);
	bed.in.described.waits[0].resource.has_state = true;
	check_none(&bed);
	bed_ring(&bed, 2);
	bed.in.described.waits[0].resource = (struct described_resource){ .has_state = true,
									  .is_held = true };
	check_ring(&bed, 2, INSPECT_PROVEN, "");
}

static void a_coroutine_that_left_the_queue_is_no_deadlock(void)
{
	struct bed bed;

	bed_ring(&bed, 2);
	bed.in.described.waits[0].resource.has_queue = true;
	check_none(&bed);
	bed_ring(&bed, 2);
	bed.in.described.waits[0].resource = (struct described_resource){ .has_queue = true,
									  .is_queued = true };
	check_ring(&bed, 2, INSPECT_PROVEN, "");
}

static void only_locks_have_holders(void)
{
	struct bed bed;

	bed_ring(&bed, 2);
	bed.in.described.waits[0].kind = "channel";
	check_none(&bed);
	bed_ring(&bed, 2);
	bed.in.described.waits[0].kind = NULL;
	check_none(&bed);
}

/* ---- how certain --------------------------------------------------------------------------- */

static void permits_may_come_from_elsewhere(void)
{
	struct bed bed;

	bed_ring(&bed, 2);
	bed.in.described.waits[0].kind = "semaphore";
	check_ring(&bed, 2, INSPECT_STRONG, "a semaphore may get permits from elsewhere");
}

static void a_guard_that_may_be_gone_is_a_suspicion(void)
{
	struct bed bed;

	bed_ring(&bed, 2);
	bed.in.described.guards[0].is_certain = false;
	check_ring(&bed, 2, INSPECT_SUSPECT, "the lock may have been released");
}

static void a_lock_that_is_held_makes_such_a_guard_likely(void)
{
	struct bed bed;

	bed_ring(&bed, 2);
	bed.in.described.guards[1].is_certain = false;
	bed.in.described.waits[0].resource = (struct described_resource){ .has_state = true,
									  .is_held = true };
	check_ring(&bed, 2, INSPECT_STRONG,
		   "the guard may have been released early, and the lock be held elsewhere");
}

static void an_object_of_another_await_is_a_suspicion(void)
{
	struct bed bed;

	bed_ring(&bed, 2);
	bed.in.described.waits[1].is_certain = false;
	check_ring(&bed, 2, INSPECT_SUSPECT,
		   "the compiler does not say which co_await an object belongs to");
}

/* The weakest wait decides, wherever it is in the ring. */
static void a_ring_is_as_certain_as_its_weakest_wait(void)
{
	struct bed bed;

	bed_ring(&bed, 3);
	bed.in.described.waits[0].kind = "semaphore";
	bed.in.described.waits[1].is_certain = false;
	bed.in.described.waits[2].kind = "semaphore";
	check_ring(&bed, 3, INSPECT_SUSPECT,
		   "the compiler does not say which co_await an object belongs to");
}

static void a_lock_with_several_holders_is_a_suspicion(void)
{
	struct bed bed;

	bed_ring(&bed, 2);
	bed_guard(&bed, 5, LOCK_AT(1));
	check_ring(&bed, 2, INSPECT_SUSPECT, "several coroutines hold the lock");
}

/* @nr_holders coroutines hold lock 1 and wait for the free lock 9; the last one for lock 0. */
static const struct deadlocks *judge_crowd(struct bed *bed, unsigned nr_holders)
{
	struct described_wait *wait;
	unsigned i;

	bed_open(bed);
	bed_guard(bed, 0, LOCK_AT(0));
	bed_wait(bed, 0, LOCK_AT(1));
	for (i = 1; i <= nr_holders; i++) {
		uint64_t task = 0x5000000 + i * 64;

		bed_guard(bed, 1, LOCK_AT(1))->coroutine = task;
		wait = bed_wait(bed, 1, LOCK_AT(i == nr_holders ? 0 : 9));
		wait->coroutine = task;
		wait->frame = FRAME_NONE;
	}
	return bed_judge(bed);
}

static void a_wait_is_followed_to_a_limited_number_of_holders(void)
{
	struct bed bed;
	const struct deadlocks *d = judge_crowd(&bed, DEADLOCK_EDGES);

	CHECK_EQ(d->nr, 1);
	CHECK_EQ(d->rings[0].confidence, INSPECT_SUSPECT);
	CHECK_EQ(d->nr_cut, 0);
	bed_close(&bed);
	d = judge_crowd(&bed, 4 * DEADLOCK_EDGES);
	CHECK_EQ(d->nr, 0);
	CHECK_EQ(d->nr_cut, 1);
	bed_close(&bed);
}

static void two_guards_of_one_coroutine_are_one_holder(void)
{
	struct bed bed;

	bed_ring(&bed, 2);
	bed_guard(&bed, 1, LOCK_AT(1));
	check_ring(&bed, 2, INSPECT_PROVEN, "");
}

static void threads_that_ran_while_it_was_saved_are_a_doubt(void)
{
	struct bed bed;

	bed_ring(&bed, 2);
	bed.in.kernel.is_saved = true;
	check_ring(&bed, 2, INSPECT_SUSPECT, "threads ran while the process was saved");
	bed_ring(&bed, 2);
	bed.in.kernel.is_saved = bed.in.kernel.is_quiet = true;
	check_ring(&bed, 2, INSPECT_PROVEN, "");
}

/* ---- coroutines that await others ------------------------------------------------------------ */

/* 0 holds lock 0 and awaits 1, which waits for lock 2; 2 waits for lock 0. */
static void bed_await(struct bed *bed)
{
	bed_open(bed);
	bed->in.table.frames[1].parent = 0;
	bed_guard(bed, 0, LOCK_AT(0));
	bed_wait(bed, 1, LOCK_AT(2));
	bed_guard(bed, 2, LOCK_AT(2));
	bed_wait(bed, 2, LOCK_AT(0));
}

static void a_holder_waits_for_what_its_innermost_coroutine_waits_for(void)
{
	struct bed bed;

	bed_await(&bed);
	CHECK_EQ(bed_judge(&bed)->nr, 1);
	CHECK_EQ(bed.in.groups[1].verdict, VERDICT_DEADLOCK);
	CHECK_EQ(bed.in.groups[2].verdict, VERDICT_DEADLOCK);
	CHECK_EQ(bed.in.groups[0].verdict, VERDICT_WAITING);
	bed_close(&bed);
	bed_await(&bed);
	check_ring(&bed, 2, INSPECT_PROVEN, "");
}

static void a_holder_that_awaits_several_may_need_only_one(void)
{
	struct bed bed;

	bed_await(&bed);
	bed.in.table.frames[5].parent = 0;
	check_ring(&bed, 2, INSPECT_SUSPECT,
		   "a coroutine awaits several others, and may need one of them");
}

static void a_child_that_has_finished_is_not_awaited(void)
{
	struct bed bed;

	bed_await(&bed);
	bed.in.table.frames[5].parent = 0;
	bed.in.table.frames[5].state = FRAME_FINISHED;
	check_ring(&bed, 2, INSPECT_PROVEN, "");
}

static void what_awaits_several_may_give_the_holder_up(void)
{
	struct bed bed;

	bed_await(&bed);
	bed.in.table.frames[0].parent = 3;
	bed.in.table.frames[5].parent = 3;
	check_ring(&bed, 2, INSPECT_STRONG, "a coroutine that awaits several may give this one up");
}

static void coroutines_that_join_each_other_are_a_ring(void)
{
	struct bed bed;

	bed_open(&bed);
	bed_wait(&bed, 0, 0)->value.task = FRAME_AT(1);
	bed_wait(&bed, 1, 0)->value.task = FRAME_AT(0);
	CHECK_EQ(bed_judge(&bed)->nr, 1);
	CHECK_EQ(bed.in.deadlocks.members[0].guard, -1);
	CHECK_EQ(bed.in.deadlocks.members[0].holder, FRAME_AT(1));
	CHECK_EQ(bed.in.groups[1].verdict, VERDICT_DEADLOCK);
	bed_close(&bed);
}

/* ---- locks that name their holder --------------------------------------------------------------
 */

static void a_lock_may_name_its_holder(void)
{
	struct bed bed;

	bed_open(&bed);
	bed_wait(&bed, 0, LOCK_AT(1))->resource = (struct described_resource){
		.has_holder = true, .holder = FRAME_AT(1) + 16
	};
	bed_wait(&bed, 1, LOCK_AT(0))->resource = (struct described_resource){
		.has_holder = true, .holder = FRAME_AT(0)
	};
	CHECK_EQ(bed_judge(&bed)->nr, 1);
	CHECK_EQ(bed.in.deadlocks.members[0].holder, FRAME_AT(1));
	CHECK_EQ(bed.in.deadlocks.members[0].guard, -1);
	CHECK_EQ(bed.in.deadlocks.rings[0].confidence, INSPECT_PROVEN);
	bed_close(&bed);
}

/* It names the new holder before that one is resumed. */
static void a_lock_that_was_handed_over_is_no_deadlock(void)
{
	struct described_resource own = { .has_holder = true, .holder = FRAME_AT(0) };
	struct bed bed;

	bed_open(&bed);
	bed_wait(&bed, 0, LOCK_AT(0))->resource = own;
	check_none(&bed);

	own.has_queue = own.is_queued = true;
	bed_open(&bed);
	bed_wait(&bed, 0, LOCK_AT(0))->resource = own;
	check_ring(&bed, 1, INSPECT_PROVEN, "");
}

static void the_holder_of_a_lock_is_found(void)
{
	struct described_wait wait = { .kind = "lock" };
	struct bed bed;

	bed_open(&bed);
	bed_guard(&bed, 3, LOCK_AT(3));
	wait.value.object = LOCK_AT(3);
	CHECK_EQ(deadlock_holder(&bed.in, &wait), FRAME_AT(3));
	wait.value.object = LOCK_AT(4);
	CHECK_EQ(deadlock_holder(&bed.in, &wait), 0);
	wait.value.object = 0;
	CHECK_EQ(deadlock_holder(&bed.in, &wait), 0);

	/* What the lock says counts more than guards; a pointer into a frame is that frame. */
	wait.value.object = LOCK_AT(3);
	wait.resource = (struct described_resource){ .has_holder = true,
						     .holder = FRAME_AT(2) + FRAME_SIZE - 1 };
	CHECK_EQ(deadlock_holder(&bed.in, &wait), FRAME_AT(2));
	wait.resource.holder = 4711; /* the number of a thread */
	CHECK_EQ(deadlock_holder(&bed.in, &wait), 4711);
	bed.in.table.frames[2].state = FRAME_FINISHED;
	wait.resource.holder = FRAME_AT(2) + 8;
	CHECK_EQ(deadlock_holder(&bed.in, &wait), FRAME_AT(2) + 8);

	wait.resource = (struct described_resource){ .has_state = true };
	CHECK_EQ(deadlock_holder(&bed.in, &wait), 0);
	wait.resource.is_held = true;
	CHECK_EQ(deadlock_holder(&bed.in, &wait), FRAME_AT(3));
	bed_close(&bed);
}

/* ---- groups
 * -------------------------------------------------------------------------------------- */

/* One group of all frames, as if they had the same stack. */
static void bed_one_group(struct bed *bed)
{
	bed->in.nr_groups = 1;
	bed->in.groups[0] = (struct inspect_group){ .count = NR_FRAMES,
						    .bytes = NR_FRAMES * FRAME_SIZE };
}

static void members_of_a_ring_leave_their_group(void)
{
	const struct inspect_group *groups;
	struct bed bed;
	size_t i;

	bed_open(&bed);
	bed_guard(&bed, 4, LOCK_AT(4));
	bed_wait(&bed, 4, LOCK_AT(6));
	bed_guard(&bed, 6, LOCK_AT(6));
	bed_wait(&bed, 6, LOCK_AT(4));
	bed_one_group(&bed);
	CHECK_EQ(bed_judge(&bed)->nr, 1);
	groups = bed.in.groups;
	CHECK_EQ(bed.in.nr_groups, 2);
	CHECK_EQ(groups[0].verdict, VERDICT_WAITING);
	CHECK_EQ(groups[0].count, NR_FRAMES - 2);
	CHECK_EQ(groups[0].bytes, (NR_FRAMES - 2) * FRAME_SIZE);
	CHECK_EQ(groups[1].verdict, VERDICT_DEADLOCK);
	CHECK_EQ(groups[1].count, 2);
	CHECK_EQ(groups[1].bytes, 2 * FRAME_SIZE);
	CHECK_EQ(bed.in.members[groups[1].first], 4);
	CHECK_EQ(bed.in.members[groups[1].first + 1], 6);
	for (i = 0; i < groups[0].count; i++) {
		CHECK(bed.in.members[groups[0].first + i] != 4);
		CHECK(bed.in.members[groups[0].first + i] != 6);
	}
	bed_close(&bed);
}

static void rings_of_two_grades_are_two_groups(void)
{
	struct bed bed;

	bed_ring(&bed, 2);
	bed_guard(&bed, 2, LOCK_AT(2));
	bed_wait(&bed, 2, LOCK_AT(2))->kind = "semaphore";
	bed_one_group(&bed);
	CHECK_EQ(bed_judge(&bed)->nr, 2);
	CHECK_EQ(bed.in.nr_groups, 3);
	CHECK_EQ(bed.in.groups[0].count, NR_FRAMES - 3);
	CHECK_EQ(bed.in.groups[1].confidence, INSPECT_PROVEN);
	CHECK_EQ(bed.in.groups[1].count, 2);
	CHECK_EQ(bed.in.groups[2].confidence, INSPECT_STRONG);
	CHECK_EQ(bed.in.groups[2].count, 1);
	CHECK_STR(bed.in.groups[2].doubt, "a semaphore may get permits from elsewhere");
	bed_close(&bed);
}

static void a_more_certain_verdict_stays(void)
{
	struct bed bed;

	bed_ring(&bed, 2);
	bed.in.described.waits[0].kind = "semaphore";
	bed.in.groups[0].verdict = VERDICT_UNREACHABLE;
	bed.in.groups[0].confidence = INSPECT_PROVEN;
	bed.in.groups[1].verdict = VERDICT_UNREACHABLE;
	bed.in.groups[1].confidence = INSPECT_SUSPECT;
	CHECK_EQ(bed_judge(&bed)->nr, 1);
	CHECK_EQ(bed.in.groups[0].verdict, VERDICT_UNREACHABLE);
	CHECK_EQ(bed.in.groups[1].verdict, VERDICT_DEADLOCK);
	CHECK_EQ(bed.in.groups[1].confidence, INSPECT_STRONG);
	bed_close(&bed);
}

int main(void)
{
	RUN(each_of_a_ring_waits_for_the_next_one);
	RUN(a_coroutine_may_wait_for_its_own_lock);
	RUN(a_chain_that_ends_is_no_ring);
	RUN(a_coroutine_that_waits_for_a_ring_is_not_in_it);
	RUN(two_rings_are_two);
	RUN(a_wait_with_a_limit_is_no_deadlock);
	RUN(a_wait_that_is_over_is_no_deadlock);
	RUN(a_free_lock_is_no_deadlock);
	RUN(a_coroutine_that_left_the_queue_is_no_deadlock);
	RUN(only_locks_have_holders);
	RUN(permits_may_come_from_elsewhere);
	RUN(a_guard_that_may_be_gone_is_a_suspicion);
	RUN(a_lock_that_is_held_makes_such_a_guard_likely);
	RUN(an_object_of_another_await_is_a_suspicion);
	RUN(a_ring_is_as_certain_as_its_weakest_wait);
	RUN(a_lock_with_several_holders_is_a_suspicion);
	RUN(a_wait_is_followed_to_a_limited_number_of_holders);
	RUN(two_guards_of_one_coroutine_are_one_holder);
	RUN(threads_that_ran_while_it_was_saved_are_a_doubt);
	RUN(a_holder_waits_for_what_its_innermost_coroutine_waits_for);
	RUN(a_holder_that_awaits_several_may_need_only_one);
	RUN(a_child_that_has_finished_is_not_awaited);
	RUN(what_awaits_several_may_give_the_holder_up);
	RUN(coroutines_that_join_each_other_are_a_ring);
	RUN(a_lock_may_name_its_holder);
	RUN(a_lock_that_was_handed_over_is_no_deadlock);
	RUN(the_holder_of_a_lock_is_found);
	RUN(members_of_a_ring_leave_their_group);
	RUN(rings_of_two_grades_are_two_groups);
	RUN(a_more_certain_verdict_stays);
	return 0;
}
