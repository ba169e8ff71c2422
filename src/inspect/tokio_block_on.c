/* SPDX-License-Identifier: MIT */
/* tokio_block_on.c - print the future that a thread runs with block_on(). */
#include "inspect/tokio_block_on.h"

#include "inspect/inspect_print.h"
#include "inspect/tokio_groups.h"
#include "symbols/rust_block_on.h"

static bool block_on_memory(void *arg, uint64_t addr, void *buf, size_t size)
{
	const struct process_image *image = arg;

	return image_read(image, addr, buf, size) == (ssize_t)size;
}

static struct Dwfl_Module *block_on_module(struct inspection *in, uint64_t pc)
{
	size_t i;

	for (i = 0; i < in->image->nr_modules; i++) {
		if (pc >= in->image->modules[i].start && pc < in->image->modules[i].end)
			return coro_types_module(in->types, i);
	}
	return NULL;
}

/* The frames of block_on() call each other: the innermost one that knows the future counts. */
static enum rust_block_on block_on_find(struct inspection *in, const struct native_stack *s,
					struct rust_stack *out)
{
	enum rust_block_on best = RUST_BLOCK_ON_NONE;
	size_t i;

	for (i = 0; i < s->nr_frames && best != RUST_BLOCK_ON_FOUND; i++) {
		struct Dwfl_Module *module = block_on_module(in, s->frames[i].pc);
		enum rust_block_on found;
		struct rust_stack stack;

		if (!module)
			continue;
		found = rust_block_on_read(in->tokio.futures, module, &s->frames[i],
					   block_on_memory, in->image, &stack);
		if (found <= best)
			continue;
		rust_stack_release(out);
		*out = stack;
		best = found;
	}
	return best;
}

void print_tokio_block_on(struct inspection *in, struct printer *p, const struct native_stack *s)
{
	struct rust_stack stack = { .wait.fd = -1 };
	size_t i;

	if (!s || !in->tokio.futures || !rust_futures_count(in->tokio.futures) ||
	    block_on_find(in, s, &stack) == RUST_BLOCK_ON_NONE)
		return;
	print_text(p, "\n             runs with block_on():\n");
	print_list(p, "block_on");
	for (i = stack.nr; i-- > 0;) {
		struct inspect_place place = tokio_place(stack.places[i]);

		print_place(p, &place, "             ", i == stack.nr - 1);
	}
	print_list_end(p);
	rust_stack_release(&stack);
}
