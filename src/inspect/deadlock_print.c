/* SPDX-License-Identifier: MIT */
/* deadlock_print.c - print rings of coroutines that wait for each other. */
#include <stdio.h>

#include "inspect/deadlocks.h"
#include "inspect/described_text.h"
#include "inspect/inspection.h"

static void print_ring_address(struct printer *p, const char *key, uint64_t addr)
{
	char text[32];

	snprintf(text, sizeof(text), "%#llx", (unsigned long long)addr);
	print_string(p, key, addr ? text : NULL);
}

/* "user (0x5581a0) waits for lock 0x404080, held by user (0x5582b0)". */
static void print_ring_member(struct inspection *in, struct printer *p,
			      const struct deadlock_member *m)
{
	const struct described_wait *wait = &in->described.waits[m->wait];

	print_object(p, NULL);
	print_text(p, "      ");
	print_coroutine(in, p, wait->coroutine);
	print_ring_address(p, "coroutine", wait->coroutine);
	print_string(p, "function", coroutine_function(in, wait->coroutine));
	print_string(p, "kind", wait->kind);
	print_string(p, "type", wait->value.type->name);
	print_ring_address(p, "object", wait->value.object);
	print_ring_address(p, "holder", m->holder);
	print_string(p, "holder_function", coroutine_function(in, m->holder));
	if (wait->value.task)
		print_text(p, " waits for the end of ");
	else
		print_text(p, " waits for %s %#llx, held by ", wait->kind,
			   (unsigned long long)wait->value.object);
	print_coroutine(in, p, m->holder);
	print_text(p, "\n");
	print_object_end(p);
}

/* "rings_doubt" in JSON. */
static void print_rings_cut(const struct deadlocks *d, struct printer *p)
{
	char text[160];

	if (!d->nr_cut)
		return;
	snprintf(text, sizeof(text),
		 "%zu waits have more than %u possible holders: suspected rings through the "
		 "others are not found",
		 d->nr_cut, DEADLOCK_EDGES);
	print_text(p, "\n%s\n", text);
	print_string(p, "rings_doubt", text);
}

void deadlocks_print(struct inspection *in, struct printer *p)
{
	const struct deadlocks *d = &in->deadlocks;
	size_t i, k;

	print_list(p, "rings");
	for (i = 0; i < d->nr; i++) {
		const struct deadlock *ring = &d->rings[i];
		const char *confidence = inspect_confidence_name(
			(enum inspect_confidence)ring->confidence);

		print_object(p, NULL);
		print_text(p, "\nring of %zu, %s\n", ring->count, confidence);
		print_string(p, "confidence", confidence);
		print_string(p, "doubt", ring->doubt);
		print_list(p, "members");
		for (k = 0; k < ring->count; k++)
			print_ring_member(in, p, &d->members[ring->first + k]);
		print_list_end(p);
		if (ring->doubt)
			print_text(p, "   not proven: %s\n", ring->doubt);
		print_object_end(p);
	}
	print_list_end(p);
	print_rings_cut(d, p);
}
