/* SPDX-License-Identifier: MIT */
/* tokio_described.c - what Tokio's tasks wait for and hold, by descriptions of types. */
#include "inspect/tokio_described.h"

#include <errno.h>

static int task_add_wait(struct inspection *in, const struct tokio_task *task)
{
	const struct rust_wait *wait = &task->places->wait;
	struct described_wait found = {
		.coroutine = task->addr,
		.frame = FRAME_NONE,
		.kind = wait->kind,
		.value = wait->described,
		.has_limit = wait->has_limit || wait->has_deadline,
		.is_certain = !wait->is_guess && !task->places->nr_branch_waits,
	};

	if (!wait->kind || !wait->described.type)
		return 0;
	if (described_resource_read(&found.value, &in->described.queues, described_memory_read,
				    in->image, &found.resource) < 0)
		return -ENOMEM;
	return described_waits_add(&in->described, &found);
}

static int task_add_guards(struct inspection *in, const struct tokio_task *task)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < task->places->nr_guards; i++) {
		struct described_guard guard = {
			.coroutine = task->addr,
			.frame = FRAME_NONE,
			.value = task->places->guards[i],
		};

		rc = described_guards_add(&in->described, &guard);
	}
	return rc;
}

int tokio_described_add(struct inspection *in)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < in->tokio.nr; i++) {
		rc = task_add_wait(in, &in->tokio.tasks[i]);
		if (!rc)
			rc = task_add_guards(in, &in->tokio.tasks[i]);
	}
	if (in->tokio.nr)
		described_waits_sort(&in->described);
	return rc;
}
