/* SPDX-License-Identifier: MIT */
/* sampler.c - repeated looks at a running process, without verdicts. */
#include "inspect/sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "inspect/frame_links.h"
#include "inspect/frame_scan.h"
#include "inspect/tokio_groups.h"

#define SAMPLER_DEPTH_MAX 100000
#define LEVEL_CHANGED     UINT32_MAX /* a frame of the stack changed while it was read */

/* ---- begin and end ------------------------------------------------------------------ */

static uint64_t sampler_hash(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* Of what the modules are and where they are loaded. */
static uint64_t sampler_modules_hash(const struct process_image *image)
{
	uint64_t hash = image->nr_modules;
	size_t i;

	for (i = 0; i < image->nr_modules; i++) {
		const struct image_module *m = &image->modules[i];
		const char *id = m->build_id ? m->build_id : m->path;

		hash = sampler_hash(sampler_hash(hash, m->start), m->bias);
		for (; id && *id; id++)
			hash = sampler_hash(hash, (unsigned char)*id);
	}
	return hash;
}

static void sampler_forget_program(struct sampler *s)
{
	inspection_free(s->in);
	s->in = NULL;
	u64map_release(&s->points);
	u64map_release(&s->futures);
}

static int sampler_learn_program(struct sampler *s, struct err *err)
{
	sampler_forget_program(s);
	s->in = inspection_new(&s->image, err);
	s->modules = sampler_modules_hash(&s->image);
	if (s->in)
		s->in->rules = s->in->tokio.rules = s->rules;
	return s->in ? 0 : err->code;
}

static void sampler_close_image(struct sampler *s)
{
	sampler_forget_program(s);
	if (s->is_open)
		image_close(&s->image);
	s->is_open = false;
}

int sampler_open(struct sampler *s, pid_t pid, struct err *err)
{
	int rc = image_open_process(&s->image, pid, err);

	s->pid = pid;
	s->is_open = !rc;
	if (!rc && !s->path)
		s->path = calloc(SAMPLER_DEPTH_MAX, sizeof(*s->path));
	if (!rc && !s->path)
		rc = err_set(err, -ENOMEM, "no memory to inspect process %d", (int)pid);
	if (!rc)
		rc = sampler_learn_program(s, err);
	if (rc < 0)
		sampler_close_image(s);
	return rc;
}

void sampler_close(struct sampler *s)
{
	sampler_close_image(s);
	free(s->path);
	s->path = NULL;
}

const char *sampler_problem(const struct sampler *s)
{
	const char *problem = s->in ? coro_types_problem(s->in->types) : NULL;

	return problem || !s->in || !s->in->tokio.futures
		       ? problem
		       : rust_futures_problem(s->in->tokio.futures);
}

/* ---- places ------------------------------------------------------------------------- */

static uint32_t sampler_place_of_frame(struct sampler *s, const struct coro_frame *f)
{
	bool is_read = f->is_read && f->state == FRAME_SUSPENDED;
	uint64_t *slot = u64map_at(&s->points, (uint64_t)f->type << 33 |
						       (is_read ? (uint64_t)f->index << 1 | 1 : 0));
	struct inspect_place place;

	if (!slot)
		return 0;
	if (!*slot) {
		place = inspection_coroutine_place(s->in, f->type, is_read, f->index);
		*slot = wait_profile_place(s->profile, &place);
	}
	return (uint32_t)*slot;
}

static uint32_t sampler_place_of_future(struct sampler *s, const struct rust_place *rust)
{
	uint64_t *slot = u64map_at(&s->futures, (uint64_t)(uintptr_t)rust);
	struct inspect_place place;

	if (!slot || !rust)
		return 0;
	if (!*slot) {
		place = tokio_place(rust);
		*slot = wait_profile_place(s->profile, &place);
	}
	return (uint32_t)*slot;
}

/* ---- C++ coroutines ------------------------------------------------------------------ */

static bool sampler_is_on_stack(const struct coro_frame *f)
{
	return f->state == FRAME_SUSPENDED || f->state == FRAME_RUNNING;
}

/* A coroutine that runs does not await the suspended ones that would resume it. */
static bool sampler_awaits(const struct coro_frame *parent, const struct coro_frame *child)
{
	return parent->state == FRAME_SUSPENDED ||
	       (parent->state == FRAME_RUNNING && child->state == FRAME_RUNNING);
}

/*
 * The level of a frame, or LEVEL_CHANGED; its parents first, without recursion.  A ring of parents
 * is cut.
 */
static uint32_t sampler_level_of(struct sampler *s, uint32_t number)
{
	struct coro_frame *frames = s->in->table.frames;
	uint32_t at = number, level = 0;
	size_t depth = 0;

	while (at != FRAME_NONE && depth < SAMPLER_DEPTH_MAX && !frames[at].is_on_path) {
		/* Parents were valid when the frames were read first. */
		if (frames[at].state == FRAME_INVALID)
			level = LEVEL_CHANGED;
		if (!sampler_is_on_stack(&frames[at]))
			break;
		if (depth && !sampler_awaits(&frames[at], &frames[s->path[depth - 1]]))
			break;
		if (frames[at].stack) {
			level = frames[at].stack;
			break;
		}
		frames[at].is_on_path = true;
		s->path[depth++] = at;
		at = frames[at].parent;
	}
	while (depth) {
		struct coro_frame *f = &frames[s->path[--depth]];

		if (level != LEVEL_CHANGED)
			level = wait_profile_level(s->profile, level, sampler_place_of_frame(s, f));
		if (!level)
			return 0;
		f->stack = level;
		f->is_on_path = false;
	}
	return level;
}

/* Before the frames are checked: a coroutine whose child has changed is not the innermost one. */
static void sampler_find_leaves(struct frame_table *t)
{
	size_t i;

	for (i = 0; i < t->nr; i++)
		t->frames[i].has_child = false;
	for (i = 0; i < t->nr; i++) {
		const struct coro_frame *f = &t->frames[i];

		if (f->parent != FRAME_NONE && sampler_is_on_stack(f) &&
		    sampler_awaits(&t->frames[f->parent], f))
			t->frames[f->parent].has_child = true;
	}
}

static int sampler_add_frames(struct sampler *s)
{
	const struct frame_table *t = &s->in->table;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < t->nr; i++) {
		const struct coro_frame *f = &t->frames[i];
		uint32_t level;

		if (!sampler_is_on_stack(f) || f->has_child)
			continue;
		level = sampler_level_of(s, (uint32_t)i);
		if (level == LEVEL_CHANGED)
			s->profile->losses.changed++;
		else
			rc = wait_profile_add(
				s->profile, level,
				f->state == FRAME_RUNNING ? PROFILE_RUNNING : PROFILE_WAITING, 1);
	}
	return rc;
}

/* ---- Tokio's tasks -------------------------------------------------------------------- */

static int sampler_add_task(struct sampler *s, const struct tokio_task *task)
{
	uint32_t level = 0;
	size_t i;

	for (i = 0; i < task->places->nr; i++) {
		level = wait_profile_level(s->profile, level,
					   sampler_place_of_future(s, task->places->places[i]));
		if (!level)
			return -ENOMEM;
	}
	return !level ? 0
		      : wait_profile_add(s->profile, level,
					 task->state & TOKIO_TASK_NOTIFIED ? PROFILE_READY
									   : PROFILE_WAITING,
					 1);
}

static int sampler_add_tasks(struct sampler *s)
{
	const struct tokio_tasks *t = &s->in->tokio;
	uint64_t type, running;
	size_t i, pos = 0;
	int rc = 0;

	for (i = 0; !rc && i < t->nr; i++)
		rc = sampler_add_task(s, &t->tasks[i]);
	while (!rc && u64map_next(&t->running, &pos, &type, &running)) {
		const struct rust_place *root = rust_futures_root(t->futures, (size_t)type);

		rc = wait_profile_add(s->profile,
				      wait_profile_level(s->profile, 0,
							 sampler_place_of_future(s, root)),
				      PROFILE_RUNNING, running);
	}
	return rc;
}

/* ---- threads --------------------------------------------------------------------------- */

/* The threads now, with registers if that is possible without stopping them. */
static int sampler_read_threads(struct sampler *s, struct err *err)
{
	struct err ignored = { 0 };

	if (!s->has_no_bpf && image_read_registers(&s->image, IMAGE_REGISTERS_BPF, &ignored) == 0)
		return 0;
	s->has_no_bpf = true;
	return image_read_threads(&s->image, err);
}

/* Which coroutines do threads run?  Without an answer they stay where they were suspended last. */
static int sampler_find_running(struct sampler *s, struct err *err)
{
	struct inspection *in = s->in;
	struct err ignored = { 0 };
	int rc;

	if (!in->table.nr)
		return 0;
	native_stacks_forget(&in->native);
	if (s->may_stop && native_stacks_stop(&in->native, &s->image, &ignored) == 0) {
		s->stopped_ns += s->image.stopped_ns;
	} else {
		native_stacks_forget(&in->native);
		rc = sampler_read_threads(s, err);
		if (!rc)
			rc = native_stacks_copy(&in->native, &s->image);
		if (rc < 0)
			return rc;
	}
	return native_stacks_unwind(&in->native, &s->image, in->types, &in->table);
}

static void sampler_count_unknown(struct sampler *s)
{
	const struct native_stacks *n = &s->in->native;
	size_t i;

	for (i = 0; s->in->table.nr && i < n->nr; i++) {
		const struct native_stack *stack = &n->stacks[i];

		if (stack->type >= 0 && stack->frame == FRAME_NONE)
			s->profile->losses.unnamed++;
		else if (!stack->nr_frames)
			s->profile->losses.threads++;
	}
}

/* ---- the look --------------------------------------------------------------------------- */

static int sampler_read_frames(struct sampler *s, int64_t *changed, struct err *err)
{
	struct inspection *in = s->in;
	int rc;

	*changed = 0;
	frame_table_clear(&in->table);
	if (!coro_types_count(in->types))
		return 0;
	rc = frame_scan(&s->image, in->types, &in->table, err);
	s->profile->losses.bytes_failed += s->image.bytes_failed;
	if (!rc)
		rc = frame_links_read(&s->image, in->types, &in->table);
	if (!rc)
		rc = sampler_find_running(s, err);
	if (!rc) {
		sampler_find_leaves(&in->table);
		*changed = frame_links_check(&s->image, in->types, &in->table);
	}
	return *changed < 0 ? (int)*changed : rc;
}

/* Other modules or another program: read them again. */
static int sampler_follow(struct sampler *s, struct err *err)
{
	int rc = s->is_open ? image_read_ranges(&s->image, err) : -ESTALE;

	if (rc == -ESTALE) {
		sampler_close_image(s);
		*err = (struct err){ 0 };
		rc = sampler_open(s, s->pid, err);
		s->profile->losses.reloads += !rc;
		return rc;
	}
	if (!rc && (!s->in || sampler_modules_hash(&s->image) != s->modules)) {
		rc = sampler_learn_program(s, err);
		s->profile->losses.reloads++;
	}
	return rc;
}

static int sampler_try_look(struct sampler *s, struct err *err)
{
	int64_t changed = 0;
	int rc = sampler_follow(s, err);

	if (!rc)
		rc = image_read_threads(&s->image, err);
	if (!rc)
		rc = sampler_read_frames(s, &changed, err);
	if (!rc) {
		tokio_tasks_forget(&s->in->tokio);
		rc = tokio_tasks_read(&s->in->tokio, &s->image, s->in->types);
	}
	if (!rc)
		rc = sampler_add_frames(s);
	if (!rc)
		rc = sampler_add_tasks(s);
	if (rc < 0)
		return rc;
	sampler_count_unknown(s);
	s->profile->losses.changed += (uint64_t)changed + s->in->tokio.nr_changed;
	return 0;
}

static int sampler_failed(struct sampler *s, int rc, struct err *err)
{
	/* What was kept may be incomplete. */
	if (rc == -ENOMEM)
		sampler_forget_program(s);
	else if (rc == -ESTALE)
		sampler_close_image(s);
	return err->code
		       ? err->code
		       : err_set(err, rc, "cannot look at process %d: %s", (int)s->pid,
				 rc == -ESTALE ? "it has executed another program" : strerror(-rc));
}

int sampler_prepare(struct sampler *s, struct err *err)
{
	struct profile_losses losses = s->profile->losses;
	int rc = sampler_try_look(s, err);

	wait_profile_drop_look(s->profile);
	s->profile->losses = losses;
	s->stopped_ns = 0;
	return rc ? sampler_failed(s, rc, err) : 0;
}

int sampler_look(struct sampler *s, struct err *err)
{
	uint64_t start = clock_now_ns(), cpu = monotonic_clock_ns(CLOCK_THREAD_CPUTIME_ID), took;
	int rc = sampler_try_look(s, err);

	if (rc < 0) {
		wait_profile_drop_look(s->profile);
		s->profile->losses.failed++;
		return sampler_failed(s, rc, err);
	}
	wait_profile_end_look(s->profile);
	took = clock_now_ns() - start;
	s->profile->look_ns += took;
	s->profile->look_cpu_ns += monotonic_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	if (took > s->profile->look_max_ns)
		s->profile->look_max_ns = took;
	return 0;
}
