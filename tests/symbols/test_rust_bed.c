/* SPDX-License-Identifier: MIT */
/*
 * test_rust_bed.c - tasks of Rust in a library that this program loads (rust_bed.rs): their layout,
 * where they are suspended, and what is said of memory that cannot be read or makes no sense.
 */
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <link.h>
#include <unistd.h>

#include "check.h"
#include "symbols/member_path.h"
#include "symbols/module.h"
#include "symbols/rust_block_on.h"
#include "symbols/rust_futures.h"

/* As in rust_bed.rs. */
struct bed_task {
	void *cell;
	uint32_t (*step)(void *cell); /* 1: it is ready */
	void (*finish)(void *cell);
	size_t size, state, vtable, poll, owner;
};

static struct bed_task (*bed_task)(uint32_t number), (*bed_boxed)(void), (*bed_dynamic)(void);
static const uint32_t *lines; /* two of inner(), outer(), other() */
static struct module_file file;
static const char *choices; /* three objects */
static const uint32_t *third_line, *dynamic_line;
static struct rust_futures *futures;
static uint64_t unreadable; /* an address that cannot be read; 0: none */

static bool read_own(void *arg, uint64_t addr, void *buf, size_t size)
{
	CHECK(arg == &futures && addr >= 4096 && size <= 64);
	if (unreadable >= addr && unreadable < addr + size)
		return false;
	memcpy(buf, (const void *)(uintptr_t)addr, size); // NOLINT(performance-no-int-to-ptr)
	return true;
}

static size_t number_of(const struct bed_task *task)
{
	size_t i;

	for (i = 0; i < rust_futures_count(futures); i++) {
		if (rust_futures_type(futures, i)->poll == task->poll)
			return i;
	}
	fprintf(stderr, "the task is not known\n");
	exit(1);
}

/* "outer:12 inner:34 (awaits)": the stack of a task. */
static const char *stack_of(const struct bed_task *task)
{
	static char text[500];
	struct rust_stack stack;
	size_t i, used = 0;

	if (!rust_futures_read(futures, number_of(task), (uintptr_t)task->cell, read_own, &futures,
			       &stack))
		return "nonsense";
	if (stack.is_finished) {
		rust_stack_release(&stack);
		return "finished";
	}
	text[0] = '\0';
	for (i = 0; i < stack.nr; i++) {
		const struct rust_place *p = stack.places[i];

		CHECK(!p->file || strstr(p->file, "rust_bed.rs"));
		CHECK(p->function && !p->nr_branches);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%s", i ? " " : "",
					 p->function, p->is_initial ? " (not polled)" : "");
		if (p->is_exact)
			used += (size_t)snprintf(text + used, sizeof(text) - used, ":%u", p->line);
		if (p->awaits)
			used += (size_t)snprintf(text + used, sizeof(text) - used, " -> %s",
						 p->awaits);
	}
	CHECK_EQ(stack.wait.fd, -1);
	rust_stack_release(&stack);
	return text;
}

static void the_layout_of_a_task_is_read(void)
{
	uint32_t i;

	CHECK_EQ(rust_futures_count(futures), 4);
	CHECK(!rust_futures_problem(futures));
	for (i = 0; i < 2; i++) {
		struct bed_task task = bed_task(i);
		const struct rust_task_type *type = rust_futures_type(futures, number_of(&task));
		uint64_t state = 0;

		CHECK_EQ(type->size, task.size);
		CHECK_EQ(type->alignment, 64);
		CHECK_EQ(type->state_offset, task.state);
		CHECK_EQ(type->vtable_offset, task.vtable);
		CHECK_EQ(type->owner_offset, task.owner);
		CHECK_EQ(type->poll_offset, 8);
		CHECK(!type->is_untyped && !type->is_async_task);
		CHECK(rust_futures_state(type, (uintptr_t)task.cell, read_own, &futures, &state));
		CHECK_EQ(state, 0xabc);
		unreadable = (uintptr_t)task.cell + task.state + 7;
		CHECK(!rust_futures_state(type, (uintptr_t)task.cell, read_own, &futures, &state));
		unreadable = 0;
	}
	rust_futures_assume(futures, 5); /* only for those without a type */
	CHECK(rust_futures_type(futures, 0)->vtable_offset != 5);
}

static void a_task_is_where_it_awaits(void)
{
	struct bed_task task = bed_task(0), other = bed_task(1);
	char expected[200];

	CHECK_STR(stack_of(&task), "outer (not polled)");
	CHECK_EQ(task.step(task.cell), 0);
	snprintf(expected, sizeof(expected), "outer:%u inner:%u -> tokio::Pause", lines[2],
		 lines[0]);
	CHECK_STR(stack_of(&task), expected);
	CHECK_EQ(task.step(task.cell), 0);
	snprintf(expected, sizeof(expected), "outer:%u inner:%u -> tokio::Pause", lines[2],
		 lines[1]);
	CHECK_STR(stack_of(&task), expected);
	CHECK_EQ(task.step(task.cell), 1);
	CHECK_STR(stack_of(&task), "finished");
	task.finish(task.cell);
	CHECK_STR(stack_of(&task), "finished");
	CHECK_EQ(other.step(other.cell), 0);
	snprintf(expected, sizeof(expected), "other:%u -> tokio::Pause", lines[3]);
	CHECK_STR(stack_of(&other), expected);
	CHECK_STR(rust_futures_root(futures, number_of(&task))->function, "outer");
	CHECK_STR(rust_futures_root(futures, number_of(&other))->function, "other");
	CHECK(rust_futures_root(futures, 0) == rust_futures_root(futures, 0));
}

/* Each byte of a task, unreadable or of another value: nothing worse than another answer. */
static void a_corrupt_task_does_no_harm(void)
{
	struct bed_task task = bed_task(0);
	unsigned nonsense = 0, no_stage = 0;
	size_t i;

	CHECK_EQ(task.step(task.cell), 0);
	for (i = 0; i < task.size; i++) {
		unsigned char *byte = (unsigned char *)task.cell + i, was = *byte;

		unreadable = (uintptr_t)byte;
		nonsense += !strcmp(stack_of(&task), "nonsense");
		unreadable = 0;
		*byte = 0xff;
		no_stage += !strcmp(stack_of(&task), "nonsense");
		*byte = was;
	}
	CHECK(nonsense >= 8); /* the number of the stage */
	CHECK(no_stage > 0);
	CHECK(strstr(stack_of(&task), "inner"));
}

struct levels {
	unsigned nr;
	uint64_t last;
};

static void note_level(void *arg, Dwarf_Die *variant, uint64_t addr)
{
	struct levels *levels = arg;

	CHECK(dwarf_diename(variant) != NULL);
	CHECK(addr >= levels->last); /* the inner future is in the outer one */
	levels->last = addr;
	levels->nr++;
}

static void each_level_is_visited(void)
{
	struct bed_task task = bed_task(0);
	struct levels levels = { 0 };

	CHECK_EQ(task.step(task.cell), 0);
	CHECK(rust_futures_visit(futures, number_of(&task), (uintptr_t)task.cell, read_own,
				 &futures, note_level, &levels));
	CHECK_EQ(levels.nr, 2);
	CHECK(levels.last >= (uintptr_t)task.cell &&
	      levels.last < (uintptr_t)task.cell + task.size);
}

/* Tasks of the crate async-task: the table of functions says where the future is. */
static void a_task_of_another_crate_is_read(void)
{
	struct bed_task task = bed_boxed();
	const struct rust_task_type *type = rust_futures_type(futures, number_of(&task));
	uint64_t *table = ((uint64_t **)task.cell)[2], *layout = (uint64_t *)(uintptr_t)table[2];
	uint64_t state = 0, was = layout[1];
	char expected[200];

	CHECK(type->is_async_task && !type->is_untyped && !type->size);
	CHECK_EQ(type->state_offset, task.state);
	CHECK_EQ(type->vtable_offset, task.vtable);
	CHECK_EQ(type->poll_offset, 8);
	CHECK_EQ(type->alignment, 8);
	/* Scheduled, with a handle, and two references: in the bits of Tokio. */
	CHECK(rust_futures_state(type, (uintptr_t)task.cell, read_own, &futures, &state));
	CHECK_EQ(state, 3 << 6 | 4 | 8);
	((uint64_t *)task.cell)[1] = 2 | 4;
	CHECK(rust_futures_state(type, (uintptr_t)task.cell, read_own, &futures, &state));
	CHECK_EQ(state, 1 << 6 | 1 | 2);
	((uint64_t *)task.cell)[1] = 8;
	CHECK(rust_futures_state(type, (uintptr_t)task.cell, read_own, &futures, &state));
	CHECK_EQ(state, 1 << 6 | 2);
	CHECK_STR(stack_of(&task), "third (not polled)");
	CHECK_EQ(task.step(task.cell), 0);
	snprintf(expected, sizeof(expected), "third:%u inner:%u -> tokio::Pause", *third_line,
		 lines[0]);
	CHECK_STR(stack_of(&task), expected);
	CHECK_STR(rust_futures_root(futures, number_of(&task))->function, "third");
	unreadable = (uintptr_t)task.cell + task.vtable;
	CHECK_STR(stack_of(&task), "nonsense");
	unreadable = (uintptr_t)&table[2];
	CHECK_STR(stack_of(&task), "nonsense");
	unreadable = (uintptr_t)&layout[1];
	CHECK_STR(stack_of(&task), "nonsense");
	unreadable = 0;
	layout[1] = UINT64_MAX;
	CHECK_STR(stack_of(&task), "nonsense");
	layout[1] = was;
	CHECK_STR(stack_of(&task), expected);
}

/* Box<dyn Future>: the table of functions says which future it is. */
static void a_trait_object_is_followed(void)
{
	struct bed_task task = bed_dynamic();
	char expected[200];

	CHECK_STR(stack_of(&task), "dynamic (not polled)");
	CHECK_EQ(task.step(task.cell), 0);
	snprintf(expected, sizeof(expected), "dynamic:%u inner:%u -> tokio::Pause", *dynamic_line,
		 lines[0]);
	CHECK_STR(stack_of(&task), expected);
	CHECK_EQ(task.step(task.cell), 0);
	snprintf(expected, sizeof(expected), "dynamic:%u inner:%u -> tokio::Pause", *dynamic_line,
		 lines[1]);
	CHECK_STR(stack_of(&task), expected);
}

/* ---- enums ------------------------------------------------------------------------------------
 */

/* A type of the crate. */
static bool find_type(Dwarf_Die *in, const char *name, Dwarf_Die *out)
{
	Dwarf_Die die;

	if (dwarf_child(in, &die) != 0)
		return false;
	do {
		const char *found = dwarf_diename(&die);

		if (dwarf_tag(&die) == DW_TAG_structure_type && found && !strcmp(found, name)) {
			*out = die;
			return true;
		}
		if (dwarf_tag(&die) == DW_TAG_namespace && find_type(&die, name, out))
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

static uint64_t value_in(Dwarf_Die *type, const void *object, const char *name)
{
	struct member_path path;
	uint64_t value = 4711;

	CHECK(member_path_resolve(&path, type, name, true, NULL));
	CHECK_EQ(path.end, MEMBER_INTEGER);
	CHECK(member_path_read(&path, (uintptr_t)object, read_own, &futures, &value));
	return value;
}

static void members_of_all_variants_are_found(void)
{
	Dwarf_Die *unit = NULL, type;
	struct member_path path;
	bool is_found = false;
	Dwarf_Addr bias;
	Dwarf_Word size;

	while (!is_found && (unit = dwfl_module_nextcu(file.dwfl_module, unit, &bias)) != NULL)
		is_found = find_type(unit, "Choice", &type);
	CHECK(is_found);
	CHECK_EQ(dwarf_aggregate_size(&type, &size), 0);
	CHECK_EQ(value_in(&type, choices, "First.alpha"), 5);
	CHECK_EQ(value_in(&type, choices + size, "Second.before"), 6);
	CHECK_EQ(value_in(&type, choices + size, "Second.beta"), 7);
	CHECK_EQ(value_in(&type, choices + 2 * size, "Third.gamma"), 8);
	CHECK_EQ(value_in(&type, choices + 2 * size, "Third.after"), 9);
	CHECK(!member_path_resolve(&path, &type, "Fourth", true, NULL));
	CHECK(!member_path_resolve(&path, &type, "Third.beta", true, NULL));
}

/* ---- block_on() ----------------------------------------------------------------------------- */

static void (*bed_block_on)(bool is_block_on, void (*callback)(void));

#ifdef __x86_64__
static bool is_block_on;
static unsigned nr_calls;

static const char *block_on_text(const struct native_frame *frame)
{
	static char text[300];
	struct rust_stack stack;
	enum rust_block_on found = rust_block_on_read(futures, file.dwfl_module, frame, read_own,
						      &futures, &stack);
	size_t i, used = 0;

	if (found == RUST_BLOCK_ON_NONE) {
		CHECK(!stack.places && stack.wait.fd == -1);
		return "none";
	}
	used += (size_t)snprintf(text, sizeof(text), "%s",
				 found == RUST_BLOCK_ON_FOUND ? "found" : "unknown");
	for (i = 0; i < stack.nr; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, " %s:%u",
					 stack.places[i]->function, stack.places[i]->line);
	rust_stack_release(&stack);
	return text;
}

/* Called by the function: its frame is the one of the caller. */
static __attribute__((noinline)) void look_at_caller(void)
{
	uint64_t base = (uintptr_t)__builtin_frame_address(0);
	struct native_frame frame = {
		.pc = (uintptr_t)__builtin_return_address(0) - 1,
		.sp = base + 16,
		.nr_saved = 6,
		.saved = { [1] = *(uint64_t *)(uintptr_t)
					 base }, // NOLINT(performance-no-int-to-ptr)
	};
	char expected[200];

	nr_calls++;
	snprintf(expected, sizeof(expected), "found outer:%u inner:%u", lines[2], lines[0]);
	CHECK_STR(block_on_text(&frame), is_block_on ? expected : "none");
	if (!is_block_on)
		return;
	/* Without its registers, only the function is known. */
	frame.sp = 0;
	frame.nr_saved = 0;
	CHECK_STR(block_on_text(&frame), "unknown outer:0");
	frame.sp = 4096; /* another place */
	unreadable = 4096;
	frame.pc = (uintptr_t)bed_block_on;
	CHECK_STR(block_on_text(&frame), "none");
	frame.pc = (uintptr_t)look_at_caller; /* of another module */
	CHECK_STR(block_on_text(&frame), "none");
	unreadable = 0;
}

static void the_future_of_block_on_is_found(void)
{
	is_block_on = true;
	bed_block_on(true, look_at_caller);
	is_block_on = false;
	bed_block_on(false, look_at_caller);
	CHECK_EQ(nr_calls, 2);
}
#endif

/* ---- without types ----------------------------------------------------------------------------
 */

/* "other outer", or with lines "other:88 outer:84", of the tasks in a library that is not loaded.
 */
static const char *roots_of(const char *path, const char *problem)
{
	static char text[200];
	struct symbol_module module = { .has_bias = true, .path = path, .end = 64u << 20 };
	struct rust_futures *rf = rust_futures_new();
	const char *names[2];
	struct module_file plain;
	uint32_t at[2], i;

	CHECK_EQ(module_file_init(&plain, &module), 0);
	CHECK(module_file_ready(&plain));
	CHECK(rf && rust_futures_add(rf, plain.dwfl_module) == 0);
	CHECK_EQ(rust_futures_count(rf), 2);
	CHECK(rust_futures_problem(rf) && strstr(rust_futures_problem(rf), problem));
	rust_futures_assume(rf, 40);
	for (i = 0; i < 2; i++) {
		const struct rust_task_type *type = rust_futures_type(rf, i);
		struct rust_stack stack;

		CHECK(type->is_untyped && !type->size && type->poll);
		CHECK_EQ(type->vtable_offset, 40);
		CHECK_EQ(type->owner_offset, 48);
		CHECK_EQ(type->alignment, 16);
		/* Of the task only its function is known, whatever is in memory. */
		CHECK(rust_futures_read(rf, i, 4096, read_own, &futures, &stack));
		CHECK_EQ(stack.nr, 1);
		CHECK(stack.places[0] == rust_futures_root(rf, i) && !stack.is_finished);
		CHECK(!stack.places[0]->line == !stack.places[0]->file);
		names[i] = stack.places[0]->function;
		at[i] = stack.places[0]->line;
		rust_stack_release(&stack);
	}
	i = strcmp(names[0], names[1]) > 0;
	snprintf(text, sizeof(text), "%s:%u %s:%u", names[i], at[i], names[!i], at[!i]);
	rust_futures_free(rf);
	module_file_release(&plain);
	return text;
}

static char plain_path[512];

static const char *variant(const char *suffix)
{
	static char path[600];

	snprintf(path, sizeof(path), "%s%s", plain_path, suffix);
	return path;
}

static void tasks_without_types_have_their_function(void)
{
	char expected[100];
	const char *found;

	/* Older names of symbols have no parameters. */
	found = roots_of(variant(".none"), "");
	CHECK(!strcmp(found, "(unknown):0 (unknown):0") || !strcmp(found, "other:0 outer:0"));
	CHECK_STR(roots_of(variant(".names"), "has no types"), "other:0 outer:0");
	snprintf(expected, sizeof(expected), "other:%u outer:%u", lines[3] - 1, lines[2] - 1);
	CHECK_STR(roots_of(variant(".lines"), "has no types"), expected);
}

int main(int argc, char **argv)
{
	void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	struct symbol_module module = { .has_bias = true, .path = argv[1] };
	struct link_map *map;

	CHECK(library != NULL);
	*(void **)&bed_task = dlsym(library, "bed_task");
	*(void **)&bed_block_on = dlsym(library, "bed_block_on");
	*(void **)&bed_boxed = dlsym(library, "bed_boxed");
	*(void **)&bed_dynamic = dlsym(library, "bed_dynamic");
	dynamic_line = dlsym(library, "BED_DYNAMIC");
	choices = dlsym(library, "BED_CHOICES");
	CHECK(bed_dynamic && dynamic_line && choices);
	lines = dlsym(library, "BED_LINES");
	third_line = dlsym(library, "BED_THIRD");
	CHECK(bed_task && bed_block_on && bed_boxed && lines && third_line &&
	      dlinfo(library, RTLD_DI_LINKMAP, &map) == 0);
	module.bias = module.start = map->l_addr;
	module.end = module.start + (64u << 20);
	CHECK_EQ(module_file_init(&file, &module), 0);
	CHECK(module_file_ready(&file));
	futures = rust_futures_new();
	CHECK(futures && rust_futures_add(futures, file.dwfl_module) == 0);
	RUN(the_layout_of_a_task_is_read);
	RUN(a_task_is_where_it_awaits);
	RUN(a_corrupt_task_does_no_harm);
	RUN(each_level_is_visited);
	RUN(a_task_of_another_crate_is_read);
	RUN(a_trait_object_is_followed);
	RUN(members_of_all_variants_are_found);
	snprintf(plain_path, sizeof(plain_path), "%s", argv[1]);
	RUN(tasks_without_types_have_their_function);
#ifdef __x86_64__
	RUN(the_future_of_block_on_is_found);
#endif
	rust_futures_free(futures);
	module_file_release(&file);
	return 0;
}
