/* SPDX-License-Identifier: MIT */
/*
 * test_member_path.c - members by their names, in types and in an object of this process
 * (member_bed.cpp); and the scalars of a frame.
 */
#include "symbols/member_path.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>

#include "member_bed.h"
#include "own_module.h"
#include "symbols/coroutine_layout.h"
#include "symbols/die_sibling.h"
#include "symbols/guard_scopes.h"

static Dwarf_Die unit;
static uint64_t unit_bias;

static bool read_own(void *arg, uint64_t addr, void *buf, size_t size)
{
	(void)arg;
	CHECK(addr >= 4096 && size > 0 && size <= 8);
	memcpy(buf, (const void *)(uintptr_t)addr, size); // NOLINT(performance-no-int-to-ptr)
	return true;
}

static Dwarf_Die die_below(Dwarf_Die *parent, const char *name)
{
	Dwarf_Die die;

	CHECK_EQ(dwarf_child(parent, &die), 0);
	do {
		const char *found = dwarf_diename(&die);

		if (found && !strcmp(found, name) && !dwarf_hasattr(&die, DW_AT_declaration))
			return die;
	} while (die_next(&die));
	fprintf(stderr, "there is no %s\n", name);
	exit(1);
}

static Dwarf_Die type_named(const char *name)
{
	Dwarf_Die scope = die_below(&unit, "bed");

	return die_below(&scope, name);
}

/* "-5 (4 bytes, signed)", "struct", "1.5 s": the value at the end of @path in the object. */
static const char *value_at(const char *path, bool is_value)
{
	static char text[100];
	Dwarf_Die whole = type_named("Whole"), target;
	uint64_t addr = (uintptr_t)member_bed_whole(), value = 4711;
	struct member_path found;
	int64_t ns = 0;

	if (!member_path_resolve(&found, &whole, path, is_value, &target))
		return "none";
	if (found.end == MEMBER_STRUCT) {
		CHECK(member_path_read(&found, addr, read_own, NULL, &value));
		if (!found.is_timespec)
			return "struct";
		CHECK(member_path_read_time(&found, addr, 5, read_own, NULL, &ns));
		snprintf(text, sizeof(text), "%lld ns", (long long)ns);
	} else if (!member_path_read(&found, addr, read_own, NULL, &value)) {
		snprintf(text, sizeof(text), "unreadable, %u bytes", found.size);
	} else if (found.end == MEMBER_POINTER) {
		const char *name = dwarf_diename(&target);

		snprintf(text, sizeof(text), "%s %s, %u bytes", value ? "to" : "null",
			 name ? name : "?", found.size);
	} else {
		CHECK_EQ(found.end, MEMBER_INTEGER);
		snprintf(text, sizeof(text), "%lld, %u bytes%s", (long long)value, found.size,
			 found.is_signed ? ", signed" : "");
	}
	return text;
}

#define EXPECT(path, text)       CHECK_STR(value_at(path, false), text)
#define EXPECT_VALUE(path, text) CHECK_STR(value_at(path, true), text)

static void a_member_is_found_by_its_whole_name(void)
{
	EXPECT("number", "-5, 4 bytes, signed");
	EXPECT("number_two", "-6, 4 bytes, signed");
	EXPECT("numb", "none");
	EXPECT("numbeR", "none");
	EXPECT("inner.low", "-32768, 2 bytes, signed");
	EXPECT("inner.small", "-128, 1 bytes, signed");
	EXPECT("inner.byte", "255, 1 bytes");
	EXPECT("inner.word", "31, 4 bytes");
	EXPECT("inner.number", "none");
	EXPECT("letter", "120, 1 bytes, signed");
	EXPECT("is_set", "1, 1 bytes");
	EXPECT("colour", "1, 1 bytes");
	EXPECT("huge", "unreadable, 0 bytes");
	EXPECT("pair.right", "-52, 2 bytes, signed");
	EXPECT("qualified", "-40, 8 bytes, signed");
	EXPECT("named.in_union", "61, 4 bytes, signed");
}

static void bases_and_nameless_members_are_searched(void)
{
	EXPECT("base_first", "10, 8 bytes, signed");
	EXPECT("base_number", "11, 4 bytes, signed");
	EXPECT("second_number", "12, 8 bytes");
	EXPECT("apart", "21, 4 bytes, signed");
	/* After nameless members without the name, the place is the member's own. */
	EXPECT("deadline.before", "1, 8 bytes, signed");
	EXPECT("nested.eighth", "0, 4 bytes, signed");
	EXPECT("nested.ninth", "none");
	/* A static member is not in the object. */
	EXPECT("shared", "none");
	EXPECT("wrapped.shared", "none");
	/* The limit: one member more is not looked at. */
	EXPECT("large->m033d", "none");
	EXPECT("large->m0000a", "0, 2 bytes, signed");
	EXPECT("large->m3333d", "0, 2 bytes, signed");
	EXPECT("large->beyond", "none");
}

static void pointers_and_references_are_followed(void)
{
	EXPECT("pointer", "to Inner, 8 bytes");
	EXPECT("pointer->low", "-2, 2 bytes, signed");
	EXPECT("pointer->word", "4000000000, 4 bytes");
	EXPECT("pointer.low", "none"); /* a dot follows no pointer */
	EXPECT("reference", "to Inner, 8 bytes");
	EXPECT("reference.small", "-3, 1 bytes, signed");
	EXPECT("reference->byte", "200, 1 bytes");
	EXPECT("moved.byte", "200, 1 bytes");
	EXPECT("number->low", "none");
	EXPECT("inner->low", "none");
	EXPECT("empty->low", "none");
	/* A smart pointer begins with one, behind empty and static members. */
	EXPECT("wrapped.smart->low", "-2, 2 bytes, signed");
	EXPECT("wrapped->low", "-2, 2 bytes, signed");
	EXPECT("self->self->number", "-5, 4 bytes, signed");
	EXPECT("self->inner.word", "31, 4 bytes");
	EXPECT("nothing", "null ?, 8 bytes");
	EXPECT("nothing->low", "none");
	EXPECT("elsewhere->found", "72, 4 bytes, signed");
	EXPECT("elsewhere->missing", "none");
}

static void a_path_has_at_most_eleven_arrows(void)
{
#define SELF5 "self->self->self->self->self->"
	EXPECT(SELF5 SELF5 "self->number", "-5, 4 bytes, signed");
	EXPECT(SELF5 SELF5 "self->self->number", "none");
}

static void a_struct_stands_for_its_first_number(void)
{
	EXPECT("inner", "struct");
	EXPECT_VALUE("inner", "-32768, 2 bytes, signed");
	EXPECT_VALUE("wrapped", "to Inner, 8 bytes");
	EXPECT_VALUE("pair", "51, 2 bytes, signed");
	EXPECT_VALUE("named", "61, 4 bytes, signed");
	EXPECT_VALUE("number", "-5, 4 bytes, signed");
	EXPECT_VALUE("seven", "0, 4 bytes, signed");
	EXPECT_VALUE("eight", "none"); /* nested too deeply */
	EXPECT_VALUE("empty", "none");
	EXPECT("eight", "struct");
	EXPECT_VALUE("", "10, 8 bytes, signed");
	EXPECT("fifteen", "15, 4 bytes, signed");
	EXPECT("sixteen", "none"); /* too many names of one type */
}

static void a_time_has_seconds_and_nanoseconds(void)
{
	EXPECT("when", "60999999999 ns");
	EXPECT_VALUE("when", "60999999999 ns");
	EXPECT_VALUE("deadline.clock", "-999999500 ns");
	EXPECT("deadline.clock", "-999999500 ns");
	EXPECT("deadline.clock.inside.stamp", "-999999500 ns");
	EXPECT_VALUE("deadline", "1, 8 bytes, signed"); /* begins with something else */
	EXPECT("deadline", "struct");
}

static void structs_are_where_the_object_has_them(void)
{
	const struct member_bed_place *place;
	Dwarf_Die whole = type_named("Whole"), target;
	struct member_path found;
	uint64_t value = 0;

	for (place = member_bed_places; place->name; place++) {
		CHECK(member_path_resolve(&found, &whole, place->name, false, &target));
		found.end = MEMBER_STRUCT;
		CHECK(member_path_read(&found, (uintptr_t)member_bed_whole(), read_own, NULL,
				       &value));
		CHECK_EQ(value, (uintptr_t)place->at);
	}
	/* The type at the end; a dot alone is the object. */
	CHECK(member_path_resolve(&found, &whole, "pair", false, &target));
	CHECK_STR(dwarf_diename(&target), "Pair<short int>");
	CHECK(member_path_resolve(&found, &whole, "pair", false, NULL));
	CHECK(member_path_resolve(&found, &whole, ".", false, &target));
	CHECK_STR(dwarf_diename(&target), "Whole");
	CHECK_EQ(found.nr, 1);
	CHECK_EQ(found.offsets[0], 0);
}

/* ---- values ------------------------------------------------------------------------------- */

static uint64_t words[4];
static size_t readable;

/* Four words at 0x1000. */
static bool read_words(void *arg, uint64_t addr, void *buf, size_t size)
{
	CHECK(arg == &readable);
	if (addr < 0x1000 || addr + size > 0x1000 + readable)
		return false;
	memcpy(buf, (const char *)words + (addr - 0x1000), size);
	return true;
}

static void a_pointer_to_the_first_page_is_not_followed(void)
{
	struct member_path path = {
		.offsets = { 8, 4 }, .nr = 2, .end = MEMBER_INTEGER, .size = 4
	};
	uint64_t value = 0;

	readable = sizeof(words);
	words[0] = 0xabcdef0012345678;
	words[1] = 0x1000;
	CHECK(member_path_read(&path, 0x1000, read_words, &readable, &value));
	CHECK_EQ(value, 0xabcdef00);
	path.is_signed = true;
	CHECK(member_path_read(&path, 0x1000, read_words, &readable, &value));
	CHECK_EQ((int64_t)value, -0x54321100);
	words[1] = 0xfff;
	CHECK(!member_path_read(&path, 0x1000, read_words, &readable, &value));
	words[1] = 0x1000 + sizeof(words) - 8;
	CHECK(member_path_read(&path, 0x1000, read_words, &readable, &value));
	words[1]++;
	CHECK(!member_path_read(&path, 0x1000, read_words, &readable, &value));
	readable = 8; /* the pointer itself */
	CHECK(!member_path_read(&path, 0x1000, read_words, &readable, &value));
	path.nr = 0;
	CHECK(!member_path_read(&path, 0x1000, read_words, &readable, &value));
	path = (struct member_path){ .nr = 1, .end = MEMBER_INTEGER, .size = 8, .is_signed = true };
	CHECK(member_path_read(&path, 0x1000, read_words, &readable, &value));
	CHECK(value == 0xabcdef0012345678);
	path.size = 0;
	CHECK(!member_path_read(&path, 0x1000, read_words, &readable, &value));
}

static void times_that_cannot_be_are_refused(void)
{
	struct member_path path = { .nr = 1, .end = MEMBER_INTEGER, .size = 8 };
	struct member_path time = {
		.nr = 1, .end = MEMBER_STRUCT, .is_timespec = true, .seconds = 0, .ns = 8
	};
	int64_t ns = 0;

	readable = 12;
	words[0] = 3;
	words[1] = 999999999;
	CHECK(member_path_read_time(&path, 0x1000, 1000, read_words, &readable, &ns));
	CHECK_EQ(ns, 3000);
	CHECK(member_path_read_time(&time, 0x1000, 1000, read_words, &readable, &ns));
	CHECK_EQ(ns, 3999999999);
	words[1] = 1000000000;
	CHECK(!member_path_read_time(&time, 0x1000, 1000, read_words, &readable, &ns));
	words[1] = 0;
	readable = 11;
	CHECK(!member_path_read_time(&time, 0x1000, 1000, read_words, &readable, &ns));
	readable = 7;
	CHECK(!member_path_read_time(&time, 0x1000, 1000, read_words, &readable, &ns));
	CHECK(!member_path_read_time(&path, 0x1000, 1000, read_words, &readable, &ns));
	readable = 16;
	time.is_timespec = false;
	CHECK(!member_path_read_time(&time, 0x1000, 1000, read_words, &readable, &ns));
	path.end = MEMBER_POINTER;
	CHECK(!member_path_read_time(&path, 0x1000, 1000, read_words, &readable, &ns));
	path.end = MEMBER_INTEGER;
	words[0] = INT64_MAX / 1000;
	CHECK(member_path_read_time(&path, 0x1000, 1000, read_words, &readable, &ns));
	words[0]++;
	CHECK(!member_path_read_time(&path, 0x1000, 1000, read_words, &readable, &ns));
	time.is_timespec = true;
	words[0] = INT64_MAX / 1000000000;
	words[1] = INT64_MAX % 1000000000;
	CHECK(member_path_read_time(&time, 0x1000, 1, read_words, &readable, &ns));
	CHECK(ns == INT64_MAX);
	words[1]++;
	CHECK(!member_path_read_time(&time, 0x1000, 1, read_words, &readable, &ns));
}

/* ---- names of types -------------------------------------------------------------------------- */

static void the_path_of_a_type_has_its_scopes(void)
{
	Dwarf_Die whole = type_named("Whole"), pair = type_named("Pair<short int>"), target;
	struct member_path found;
	char text[40];

	CHECK(member_type_path(&whole, text, 11));
	CHECK_STR(text, "bed::Whole");
	CHECK(!member_type_path(&whole, text, 10));
	CHECK(!member_type_path(&whole, text, 5));
	CHECK(member_type_path(&pair, text, sizeof(text)));
	CHECK_STR(text, "bed::Pair");
	CHECK(member_path_resolve(&found, &whole, "colour", false, &target));
	CHECK(member_type_path(&target, text, sizeof(text)));
	CHECK_STR(text, "bed::Whole::Colour");
	CHECK(member_path_resolve(&found, &whole, "named", false, &target));
	CHECK(member_type_path(&target, text, sizeof(text)));
	CHECK_STR(text, "bed::Whole::(anonymous)");
	CHECK(member_type_path(&target, text, 24));
	CHECK(!member_type_path(&target, text, 23));
	memset(text, 'z', sizeof(text)); /* nothing is written behind the end */
	CHECK(!member_type_path(&target, text, 12));
	CHECK_EQ(text[12], 'z');
	CHECK(!member_type_path(&unit, text, sizeof(text)));
}

static void the_scopes_of_a_type_end_with_the_unit(void)
{
	Dwarf_Die whole = type_named("Whole"), scopes[3];

	CHECK_EQ(die_scopes(&whole, scopes, 3), 3);
	CHECK(scopes[0].addr == whole.addr && scopes[2].addr == unit.addr);
	CHECK_STR(dwarf_diename(&scopes[1]), "bed");
	CHECK_EQ(die_scopes(&whole, scopes, 2), 0);
	CHECK_EQ(die_scopes(&unit, scopes, 1), 1);
	CHECK_EQ(die_scopes(&unit, scopes, 0), 0);
}

/* ---- the scalars of a frame --------------------------------------------------------------------
 */

static const char *fields_text(struct coro_field_list *list)
{
	static const char *const kinds[] = { "other", "integer", "pointer", "handle" };
	static char text[4000];
	FILE *f = fmemopen(text, sizeof(text), "w");
	size_t i;
	unsigned k;

	CHECK(f != NULL);
	for (i = 0; i < list->nr; i++) {
		const struct coro_field *x = &list->fields[i];

		fprintf(f, "%u+%u %s: %s %s of %s in %s%s%s%s", x->offset, x->size, x->path,
			kinds[x->kind], x->type, x->owner ? x->owner : "-",
			x->root_type ? x->root_type : "-", x->in_promise ? ", promise" : "",
			x->is_signed ? ", signed" : "", x->is_reference ? ", reference" : "");
		for (k = 0; k < x->nr_handles; k++)
			fprintf(f, " @%u", x->handles[k]);
		fputc('\n', f);
		free(x->path);
		free(x->type);
		free(x->owner);
		free(x->root_type);
	}
	fclose(f);
	free(list->fields);
	*list = (struct coro_field_list){ 0 };
	return text;
}

static void the_scalars_of_a_frame_have_paths(void)
{
	struct coro_field_list list = { 0 };
	Dwarf_Die frame = type_named("Frame"), promise = type_named("Pair<int>");

	coro_fields_read(&list, &frame);
	CHECK_STR(
		fields_text(&list),
		"0+8 _Coro_resume_fn: pointer ? * of - in -\n"
		"8+8 _Coro_destroy_fn: pointer ? * of - in -\n"
		"16+8 _Coro_promise.base_first: integer long int of Base in Promise, promise, "
		"signed\n"
		"24+4 _Coro_promise.base_number: integer int of Base in Promise, promise, signed\n"
		"32+8 _Coro_promise.waiter.address: handle void * of coroutine_handle in Promise, "
		"promise\n"
		"40+8 _Coro_promise.state: pointer Continued * of Promise in Promise, promise @8 "
		"@16 @65528\n"
		"48+8 _Coro_promise.all: pointer Handles & of Promise in Promise, promise, "
		"reference @0 @8 @16 @24\n"
		"56+1 _Coro_promise.flag: integer unsigned char of Promise in Promise, promise\n"
		"64+2 local_1_2.low: integer short int of Inner in Inner, signed\n"
		"66+1 local_1_2.small: integer signed char of Inner in Inner, signed\n"
		"67+1 local_1_2.byte: integer unsigned char of Inner in Inner\n"
		"68+4 local_1_2.word: integer unsigned int of Inner in Inner\n"
		"72+8 text: pointer char * of - in -\n"
		"80+8 real: integer double of - in double\n"
		"88+8 state_1_3: pointer Continued * of - in -\n"
		"96+64 array: other ? of - in -\n"
		"226+1 colour: integer Colour of - in Colour\n"
		"232+8 handle_1_4.address: handle void * of coroutine_handle in "
		"coroutine_handle\n");
	frame = type_named("ClangFrame");
	coro_fields_read(&list, &frame);
	CHECK_STR(fields_text(&list),
		  "0+8 __resume_fn: pointer ? * of - in -\n"
		  "8+4 __promise.left: integer int of Pair<int> in Pair<int>, promise, signed\n"
		  "12+4 __promise.right: integer int of Pair<int> in Pair<int>, promise, signed\n");
	coro_promise_fields_read(&list, &promise, 48);
	CHECK_STR(fields_text(&list),
		  "48+4 __promise.left: integer int of Pair<int> in Pair<int>, promise, signed\n"
		  "52+4 __promise.right: integer int of Pair<int> in Pair<int>, promise, signed\n");
	coro_fields_read(&list, &unit); /* has no members */
	CHECK_EQ(list.nr, 0);
}

/* ---- blocks -----------------------------------------------------------------------------------
 */

static struct guard_scope scope_of(const char *name)
{
	Dwarf_Die function = die_below(&unit, "member_bed_blocks");
	struct guard_scope out;

	guard_scope_read(&out, &function, name, 0, unit_bias);
	return out;
}

static void a_variable_has_the_line_and_the_code_of_its_block(void)
{
	uint64_t begin = (uintptr_t)member_bed_blocks;
	struct guard_scope one = scope_of("one"), two = scope_of("two");

	CHECK_EQ(member_bed_blocks(3), 3 + 4 + 6 + 3);
	CHECK(one.is_known && two.is_known);
	CHECK_EQ(one.line, member_bed_lines(0));
	CHECK_EQ(one.nr_ranges, 0); /* the whole function */
	CHECK_EQ(two.line, member_bed_lines(3));
	CHECK_EQ(two.nr_ranges, 1);
	CHECK(two.ranges[0].start > begin && two.ranges[0].end > two.ranges[0].start);
	CHECK(two.ranges[0].end < begin + 500);
	CHECK(!two.depth && !two.serial);
	CHECK(!scope_of("thr").is_known && !scope_of("on").is_known && !scope_of("ones").is_known);
	/* gcc's names of members. */
	two = scope_of("two_2_13");
	CHECK(two.is_known && two.depth == 2 && two.serial == 13);
	two = scope_of("two_2_x");
	CHECK(!two.is_known && !two.depth && !two.serial);
	two = scope_of("two_13");
	CHECK(!two.is_known && !two.depth && !two.serial);
}

int main(void)
{
	struct symbol_module m = own_module();
	struct module_file file;
	Dwarf_Die *next = NULL;
	Dwarf_Addr bias;

	CHECK_EQ(module_file_init(&file, &m), 0);
	CHECK(module_file_ready(&file));
	while ((next = dwfl_module_nextcu(file.dwfl_module, next, &bias)) != NULL) {
		const char *name = dwarf_diename(next), *end = "member_bed.cpp";

		if (strlen(name) < strlen(end) || strcmp(name + strlen(name) - strlen(end), end))
			continue;
		unit = *next;
		unit_bias = bias;
	}
	CHECK(unit.addr != NULL);
	RUN(a_member_is_found_by_its_whole_name);
	RUN(bases_and_nameless_members_are_searched);
	RUN(pointers_and_references_are_followed);
	RUN(a_path_has_at_most_eleven_arrows);
	RUN(a_struct_stands_for_its_first_number);
	RUN(a_time_has_seconds_and_nanoseconds);
	RUN(structs_are_where_the_object_has_them);
	RUN(a_pointer_to_the_first_page_is_not_followed);
	RUN(times_that_cannot_be_are_refused);
	RUN(the_path_of_a_type_has_its_scopes);
	RUN(the_scopes_of_a_type_end_with_the_unit);
	RUN(the_scalars_of_a_frame_have_paths);
	RUN(a_variable_has_the_line_and_the_code_of_its_block);
	module_file_release(&file);
	return 0;
}
