/* SPDX-License-Identifier: MIT */
/* test_type_json.c - types from the JSON of dwarf2json: sizes, arrays, bit-fields, what is refused.
 */
#include "memory/types/type_files.h"

#include <errno.h>
#include <stdarg.h>

#include "check.h"
#include "count_memory.h"
#include "memory/types/types.h"

static struct types *t;
static char out[8192];

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...)
{
	size_t used = strlen(out);
	va_list args;

	va_start(args, fmt);
	vsnprintf(out + used, sizeof(out) - used, fmt, args);
	va_end(args);
}

static int parse(const char *text, struct err *err)
{
	*err = (struct err){ 0 };
	types_free(t);
	t = types_new();
	CHECK(t != NULL);
	return types_parse_json(t, text, strlen(text), "types.json", err);
}

static void read_types(const char *text)
{
	struct err err;
	int rc = parse(text, &err);

	if (rc)
		fprintf(stderr, "%s\n", err.text);
	CHECK_EQ(rc, 0);
	CHECK_EQ(err.code, 0);
}

/* "struct a 8/4: 0+4 int x; ..." with size and alignment, and for each member offset + size. */
static const char *shape(const char *name)
{
	uint32_t number = types_by_name(t, name), i;
	const struct type *type = types_get(t, number);

	out[0] = '\0';
	if (!number)
		return "unknown";
	say("%s %d/%u%s:", type->name, (int)type->size, type->align,
	    type->is_packed ? " packed" : "");
	for (i = 0; i < type->nr_members; i++) {
		const struct type_member *m = &type->members[i];

		say(" %d+%d/%u %s;", (int)m->offset, (int)m->size, m->align, m->text);
	}
	return out;
}

/* "0+4 a.x int; ..." */
static const char *fields(const char *name)
{
	const struct type *type = types_get(t, types_by_name(t, name));
	uint32_t i;

	out[0] = '\0';
	for (i = 0; i < type->nr_leaves; i++)
		say("%s%d+%d %s %s;", i ? " " : "", (int)type->leaves[i].offset,
		    (int)type->leaves[i].size, type->leaves[i].path, type->leaves[i].type_name);
	return out;
}

#define HEAD "{\"version\": 4, \"structs\": ["
#define M(name, type, offset, size)                                                   \
	"{\"memberName\": \"" name "\", \"name\": \"" type "\", \"offset\": " #offset \
	", \"size\": " #size "}"

/* ---- sizes ---------------------------------------------------------------------------- */

static void a_struct_ends_at_its_alignment(void)
{
	read_types(HEAD
		   "{\"name\": \"struct a\", \"id\": 1, \"members\": [" M("x", "int", 0, 4) "," M(
			   "y", "char", 4,
			   1) "]},"
			      "{\"name\": \"b\", \"id\": 2, \"members\": [" M(
				      "p", "struct a*", 8,
				      8) "," M("c", "const char", 0,
					       1) "]},"
						  "{\"name\": \"empty\", \"members\": []}]}");
	CHECK_STR(shape("struct a"), "struct a 8/4: 0+4/4 int x; 4+1/1 char y;");
	CHECK_STR(shape("a"), "struct a 8/4: 0+4/4 int x; 4+1/1 char y;");
	/* In the order of their offsets. */
	CHECK_STR(shape("struct b"), "struct b 16/8: 0+1/1 char c; 8+8/8 struct a *p;");
	CHECK_STR(shape("empty"), "struct empty 0/1:");
	CHECK_STR(shape("none"), "unknown");
}

static void sizes_follow_from_words(void)
{
	/* A size of 0, or none, is that of the word. */
	read_types(HEAD "{\"name\": \"s\", \"members\": [" M("a", "unsigned short[]", 0, 2) "," M(
		"b", "long double[]", 32,
		16) "," M("c", "double", 64, 8) "," M("d", "odd", 72,
						      12) "," M("e", "odd", 84,
								0) "," M("f", "struct gone", 88,
									 8) "]}]}");
	CHECK_STR(shape("s"),
		  "struct s 96/16: 0+32/2 unsigned short a[16]; 32+32/16 long double b[2]; "
		  "64+8/8 double c; 72+12/1 odd d; 84+4/4 unsigned char e[4] /* odd */; "
		  "88+8/8 unsigned char f[8] /* struct gone */;");
	CHECK_STR(fields("s"), "0+32 a[] unsigned short[16]; 32+32 b[] long double[2]; "
			       "64+8 c double; 72+12 d odd; 84+4 e ?; 88+8 f ?;");
}

/* gcc gives the size of one element. */
static void an_array_extends_to_the_next_member(void)
{
	read_types(HEAD "{\"name\": \"in\", \"id\": 7, \"members\": [" M("k", "int", 0, 4) "," M(
		"v", "int", 4,
		4) "]},"
		   "{\"name\": \"s\", \"members\": [" M(
			   "n", "int", 0,
			   4) ","
			      "{\"memberName\": \"slots\", \"name\": \"struct in[]\", \"id\": 7, "
			      "\"offset\": 4, \"size\": 8}," M("ptrs", "char*[]", 40, 8) "," M(
				      "last", "int[]", 64, 12) "]}]}");
	CHECK_STR(shape("s"), "struct s 80/8: 0+4/4 int n; 4+32/4 struct in slots[4]; "
			      "40+24/8 char *ptrs[3]; 64+12/4 int last[3];");
	CHECK_STR(fields("s"), "0+4 n int; 4+4 slots[].k int; 8+4 slots[].v int; "
			       "40+24 ptrs[] char*[3]; 64+12 last[] int[3];");
}

static void members_of_one_offset_are_bits(void)
{
	read_types(HEAD "{\"name\": \"s\", \"members\": [" M("a", "unsigned int", 0, 4) "," M(
		"b", "unsigned int", 0,
		4) "," M("c", "unsigned char", 0,
			 1) "," M("d", "int", 4, 4) "," M("z", "int", 8, 0) "," M("y", "int", 8,
										  4) "]}]}");
	CHECK_STR(shape("s"), "struct s 12/4: 0+4/4 unsigned int a,b,c; 4+4/4 int d; "
			      "8+1/1 unsigned char z[1] /* int */; 8+4/4 int y;");
	CHECK_STR(fields("s"), "0+4 a,b,c unsigned int; 4+4 d int; 8+1 z ?; 8+4 y int;");
}

static void members_that_do_not_fit_are_packed_or_cut(void)
{
	read_types(HEAD "{\"name\": \"packed\", \"members\": [" M("a", "char", 0, 1) "," M(
		"b", "int", 1, 4) "," M("c", "long", 5, 8) "]},"
							   "{\"name\": \"cut\", \"members\": [" M(
								   "a", "long", 0,
								   8) "," M("b", "int", 4,
									    4) "]}]}");
	CHECK_STR(shape("packed"),
		  "struct packed 13/1 packed: 0+1/1 char a; 1+4/1 int b; 5+8/1 long c;");
	CHECK_STR(shape("cut"),
		  "struct cut 8/4: 0+4/4 unsigned char a[4] /* long */; 4+4/4 int b;");
}

/* ---- records inside others ---------------------------------------------------------------- */

static void unions_have_no_offsets(void)
{
	read_types(HEAD
		   "{\"name\": \"s\", \"members\": ["
		   "{\"memberName\": \"u\", \"name\": \"<anon>\", \"id\": 9, \"offset\": 8, "
		   "\"size\": 8}]}], \"unions\": [{\"name\": \"u\", \"id\": 9, \"members\": [" M(
			   "i", "int", 0, 4) ","
					     "{\"memberName\": \"d\", \"name\": \"double\", "
					     "\"size\": 8}]}], \"typedefs\": [{\"type\": "
					     "\"alias\", \"def\": \"struct u\"},"
					     "{\"type\": \"second\", \"def\": \"alias\"}, "
					     "{\"type\": \"other\", \"def\": "
					     "\"int\"}]}");
	CHECK_STR(shape("u"), "union u 8/8: 0+4/4 int i; 0+8/8 double d;");
	CHECK_STR(shape("s"), "struct s 16/8: 8+8/8 <anon> u;");
	CHECK_STR(fields("s"), "8+4 u.i int; 8+8 u.d double;");
	CHECK_STR(shape("alias"), "union u 8/8: 0+4/4 int i; 0+8/8 double d;");
	CHECK_STR(shape("second"), "union u 8/8: 0+4/4 int i; 0+8/8 double d;");
	CHECK_STR(shape("other"), "unknown");
	CHECK_STR(shape("struct alias"), "unknown"); /* a tag is not a typedef */
}

/* By its entry, else by the name after "struct ". */
static void records_are_found_by_entry_or_name(void)
{
	read_types(HEAD "{\"name\": \"in\", \"id\": 5, \"members\": [" M(
		"k", "int", 0,
		4) "]},"
		   "{\"name\": \"other\", \"id\": 6, \"members\": [" M(
			   "q", "char", 0,
			   1) "]},"
			      "{\"name\": \"s\", \"members\": ["
			      "{\"memberName\": \"a\", \"name\": \"struct other\", \"id\": 5, "
			      "\"offset\": 0, \"size\": 4}," M("b", "struct other", 4, 1) "," M(
				      "c", "other", 5, 1) "," M("<anon1>", "struct in", 8,
								4) "]}]}");
	CHECK_STR(shape("s"), "struct s 12/4: 0+4/4 struct other a; 4+1/1 struct other b; "
			      "5+1/1 other c; 8+4/4 struct in ;");
	CHECK_STR(fields("s"), "0+4 a int; 4+1 b char; 5+1 c other; 8+4 k int;");
}

static void a_record_that_contains_itself_is_cut(void)
{
	read_types(HEAD "{\"name\": \"s\", \"members\": [" M("a", "int", 0, 4) "," M(
		"self", "struct s", 8, 16) "]}]}");
	CHECK_STR(shape("s"), "struct s 24/4: 0+4/4 int a; 8+16/1 unsigned char self[16] "
			      "/* struct s */;");
}

static void members_without_an_offset_are_left_out(void)
{
	read_types(HEAD "{\"name\": \"s\", \"members\": [" M(
		"a", "int", 0, 4) ", {\"memberName\": \"b\", \"name\": \"int\", \"size\": 4}, "
				  "{\"offset\": 4}, " M("far", "int", 1099511627776, 4) "," M(
					  "large", "int", 8, 1099511627776) "," M("minus", "int",
										  12, -4) "]}]}");
	CHECK_STR(shape("s"), "struct s 16/4: 0+4/4 int a; 4+8/1 unsigned char [8] "
			      "/* <unsupported type> */; 12+1/1 unsigned char minus[1] /* int */;");
}

/* ---- what is refused ------------------------------------------------------------------------ */

static void check_refused(const char *text, const char *why)
{
	struct err err;

	CHECK_EQ(parse(text, &err), -EINVAL);
	CHECK_EQ(err.code, -EINVAL);
	CHECK_STR(err.text, why);
}

static void other_files_are_refused(void)
{
	struct err err;

	check_refused("{\"structs\": []}", "cannot read 'types.json': it has no version");
	check_refused("{\"version\": \"4\", \"structs\": [{}]}",
		      "cannot read 'types.json': it has no version");
	check_refused("{\"version\": 3, \"structs\": [{}]}",
		      "cannot read 'types.json': it has a version other than 4");
	check_refused("{\"version\": 4, \"structs\": []}",
		      "cannot read 'types.json': it has no structs");
	CHECK_EQ(parse("{\"version\": 4}", &err), -EINVAL);
	CHECK_STR(err.hint, "dwarf2json of the Cacheray suite writes such files (version 4)");
	check_refused(HEAD "{\"name\": \"a\", \"members\": []}, {\"members\": []}]}",
		      "cannot read 'types.json': structs[1] has no name or no members");
	check_refused(HEAD "{\"name\": \"a\"}]}",
		      "cannot read 'types.json': structs[0] has no name or no members");
	check_refused(HEAD "], \"unions\": [{\"name\": \"a\"}]}",
		      "cannot read 'types.json': unions[0] has no name or no members");
	check_refused(HEAD
		      "{\"name\": \"a\", \"members\": []}], \"typedefs\": [{\"type\": \"x\"}]}",
		      "cannot read 'types.json': typedefs[0] has no type or no def");
	CHECK_STR((parse(HEAD "{\"name\": \"a\"}]}", &err), err.hint),
		  "dwarf2json of the Cacheray suite writes such files (version 4)");
	CHECK_EQ(parse("{\n\"version\" 4}", &err), -EINVAL);
	CHECK(strstr(err.text, "cannot read 'types.json': line 2, column ") == err.text);
}

/* ---- nesting -------------------------------------------------------------------------------- */

static void nesting_has_a_limit(void)
{
	static char text[16384];
	const struct type *type;
	size_t used;
	unsigned i;

	used = (size_t)snprintf(text, sizeof(text), HEAD);
	for (i = 0; i < 40; i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used,
			"%s{\"name\": \"n%u\", \"members\": [{\"memberName\": \"m\", "
			"\"name\": \"struct n%u\", \"offset\": 0, \"size\": 4}]}",
			i ? "," : "", i, i + 1);
	snprintf(text + used, sizeof(text) - used,
		 ",{\"name\": \"n40\", \"members\": [" M("x", "int", 0, 4) "]}]}");
	read_types(text);
	type = types_get(t, types_by_name(t, "n0"));
	CHECK_EQ(type->size, 4);
	CHECK_EQ(type->nr_leaves, 1);
	CHECK_STR(shape("n30"), "struct n30 4/4: 0+4/4 struct n31 m;");
	CHECK_STR(shape("n31"), "struct n31 4/4: 0+4/4 unsigned char m[4] /* struct n32 */;");
}

static void read_again(void)
{
	a_struct_ends_at_its_alignment();
	unions_have_no_offsets();
	other_files_are_refused();
	types_free(t);
	t = NULL;
}

static void nothing_is_kept(void)
{
	check_keeps_no_memory(read_again);
}

int main(void)
{
	RUN(a_struct_ends_at_its_alignment);
	RUN(sizes_follow_from_words);
	RUN(an_array_extends_to_the_next_member);
	RUN(members_of_one_offset_are_bits);
	RUN(members_that_do_not_fit_are_packed_or_cut);
	RUN(unions_have_no_offsets);
	RUN(records_are_found_by_entry_or_name);
	RUN(a_record_that_contains_itself_is_cut);
	RUN(members_without_an_offset_are_left_out);
	RUN(other_files_are_refused);
	RUN(nesting_has_a_limit);
	RUN(nothing_is_kept);
	types_free(t);
	return 0;
}
