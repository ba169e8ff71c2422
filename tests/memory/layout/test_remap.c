/* SPDX-License-Identifier: MIT */
/*
 * test_remap.c - files of layouts to try, line by line with their messages; records as parts; and
 * layouts as text to paste.  The types are those of this program.
 */
#include <errno.h>
#include <unistd.h>

#include "count_memory.h"
#include "count_open.h"
#include "memory/layout/remap.h"

/* As the compiler names the types of these members, and what follows in a column. */
#ifdef __clang__
#define LONG_LAST "long last;    "
#define LONG_B    "long b;    "
#else
#define LONG_LAST "long int last;"
#define LONG_B    "long int b;"
#endif

struct node {
	int key;
	char tag;
	struct node *next;
	char name[8];
};

struct flags {
	unsigned a : 3, b : 5, c : 20;
	char after;
	union {
		int number;
		float real;
	};
	long last;
};

struct packed {
	char a;
	long b;
} __attribute__((packed));

struct tail {
	int nr;
	long items[];
};

union both {
	int a;
	long b;
};

static struct node kept_node __attribute__((used));
static struct flags kept_flags __attribute__((used));
static struct packed kept_packed __attribute__((used));
static struct tail kept_tail __attribute__((used));
static union both kept_both __attribute__((used));
static struct types *types;
static char path[64];
static struct err err;
static struct remap map;

static void open_types(void)
{
	const struct cray_module module = { .start = 0x1000, .end = 0x2000 };
	static struct mem_facts facts;

	types = types_new();
	CHECK(types != NULL);
	CHECK_EQ(mem_facts_add_module(&facts, &module, "/proc/self/exe"), 0);
	CHECK_EQ(types_add_modules(types, &facts), 0);
	mem_facts_release(&facts);
}

static int read_text(const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f != NULL);
	fputs(text, f);
	CHECK_EQ(fclose(f), 0);
	err = (struct err){ 0 };
	return remap_read(&map, path, types, &err);
}

/* ---- files ------------------------------------------------------------------------------------
 */

/* The message behind the name of the file. */
static void refused(const char *text, const char *message, const char *hint)
{
	unsigned before = count_open();

	CHECK_EQ(read_text(text), -EINVAL);
	CHECK(!map.types && !map.nr);
	CHECK_EQ(strncmp(err.text, path, strlen(path)), 0);
	CHECK_STR(err.text + strlen(path), message);
	CHECK_STR(err.hint, hint);
	CHECK_EQ(count_open(), before);
}

static void a_line_moves_members(void)
{
	const struct shape *s;
	const char *text =
		"# a comment\n\n  struct node = next , 0 ; key,010;tag, 0xc;name,16,4 # 24\n"
		"struct tail=align=64;sizeof=64;nr,4\n";

	CHECK_EQ(read_text(text), 0);
	CHECK_EQ(map.nr, 2);
	CHECK_EQ(map.types[0].line, 3);
	CHECK_EQ(map.types[1].line, 4);
	s = map.types[0].shape;
	CHECK_EQ(s->offset[0], 8); /* key, octal */
	CHECK_EQ(s->offset[1], 12);
	CHECK_EQ(s->offset[2], 0);
	CHECK_EQ(s->offset[3], 16);
	CHECK_EQ(s->size[3], 4);
	CHECK_EQ(s->size[0], 4);
	CHECK_EQ(s->bytes, 24);
	CHECK_EQ(s->order[0], 2);
	CHECK_EQ(s->order[1], 0);
	CHECK_EQ(s->order[2], 1);
	CHECK_EQ(s->order[3], 3);
	s = map.types[1].shape;
	CHECK_EQ(s->align, 64);
	CHECK_EQ(s->bytes, 64);
	CHECK(s->raised);
	CHECK_EQ(s->offset[0], 4);
	remap_release(&map);
	CHECK(!map.types && !map.nr);
	CHECK_EQ(read_text("struct node= ;stride=32; \t;"), 0);
	CHECK_EQ(map.types[0].shape->bytes, 32);
	CHECK(!map.types[0].shape->raised);
	remap_release(&map);
	/* Bit-fields have one name each, and move together; a nameless union is its fields. */
	CHECK_EQ(read_text("struct flags=b,16;real,0;after,20;last,8;sizeof=24"), 0);
	CHECK_EQ(map.types[0].shape->offset[0], 16);
	remap_release(&map);
}

static void wrong_lines_are_explained(void)
{
	refused("struct node", ":1: 'struct node' has no '='",
		"for example: struct node=key,0;next,8");
	refused("\n\nstruct nod=key,0", ":3: 'struct nod' is not a type of the traced program",
		"'corotracer mem layout' without --remap lists those that were used");
	refused("union both=a,0", ":1: 'union both' the members of a union have one place", "");
	refused("struct node=key,0\nstruct node=key,0", ":2: 'struct node' has a line already", "");
	refused("struct node=key", ":1: 'key' is neither 'member,offset' nor 'sizeof=bytes'",
		"for example: struct node=key,0;next,8;sizeof=64");
	refused("struct node=kex,0", ":1: 'struct node' has no member 'kex'",
		"it has key, tag, next, name");
	refused("struct node=key,0; key,4", ":1: 'key' has a place already", "");
	refused("struct node=size=4", ":1: 'size' is nothing that can be set",
		"sizeof=, stride= (the same) and align= can");
	refused("struct node=key,x", ":1: 'x' is no number of bytes",
		"decimal, 0x hexadecimal or 0 octal, up to 1073741824");
	refused("struct node=key,-1", ":1: '-1' is no number of bytes",
		"decimal, 0x hexadecimal or 0 octal, up to 1073741824");
	refused("struct node=key,1073741825", ":1: '1073741825' is no number of bytes",
		"decimal, 0x hexadecimal or 0 octal, up to 1073741824");
	refused("struct node=key,4x", ":1: '4x' is no number of bytes",
		"decimal, 0x hexadecimal or 0 octal, up to 1073741824");
	refused("struct node=key,0,0", ":1: '0' is no size of a member", "");
	refused("struct node=sizeof=0", ":1: '0' is no size of a record", "");
	refused("struct node=align=0", ":1: '0' is no alignment: a power of two up to 65536", "");
	refused("struct node=align=24", ":1: '24' is no alignment: a power of two up to 65536", "");
	refused("struct node=align=131072",
		":1: '131072' is no alignment: a power of two up to 65536", "");
	refused("struct node=align=16",
		":1: 24 bytes are not a multiple of the alignment 16 of 'struct node'", "");
	refused("struct node=name,17",
		":1: 'name' of 'struct node' would end at 25, behind its 24 bytes",
		"'sizeof=25' makes it as long as that");
	refused("struct node=key,1", ":1: 'key' and 'tag' of 'struct node' would overlap",
		"members that are not named stay where they are: 'key' at 0, 'tag' at 4");
	refused("struct node=tag,3", ":1: 'key' and 'tag' of 'struct node' would overlap",
		"members that are not named stay where they are: 'key' at 0, 'tag' at 4");
	CHECK_EQ(read_text("# nothing\n"), -EINVAL);
	CHECK(strstr(err.text, "' has no layout in it") != NULL);
	CHECK_STR(err.hint, "for example: struct node=key,0;next,8");
	CHECK_EQ(remap_read(&map, "/nowhere/file", types, &err), -ENOENT);
	CHECK(!map.types);
}

static void limits_of_a_file_are_met_exactly(void)
{
	/* The last alignment and offset that are allowed. */
	CHECK_EQ(read_text("struct node=align=65536;sizeof=65536"), 0);
	remap_release(&map);
	CHECK_EQ(read_text("struct node=name,1073741824;sizeof=1073741824"), -EINVAL);
	CHECK_STR(err.hint, "'sizeof=1073741832' makes it as long as that");
	CHECK_EQ(read_text("struct node=key,0;tag,4;name,5;next,16"), 0); /* side by side */
	remap_release(&map);
	/* A flexible array may begin at the end. */
	CHECK_EQ(read_text("struct tail=nr,0;items,8"), 0);
	remap_release(&map);
}

static void read_and_release(void)
{
	CHECK_EQ(read_text("struct node=key,0\nstruct flags=a,0"), 0);
	remap_release(&map);
	CHECK(read_text("struct node=key,0\nstruct flags=a,zero") < 0);
}

static void nothing_is_kept(void)
{
	check_keeps_no_memory(read_and_release);
}

static void a_line_has_at_most_a_mebibyte(void)
{
	char *text = malloc(REMAP_LINE_MAX + 100);

	CHECK(text != NULL);
	memset(text, ' ', REMAP_LINE_MAX + 100);
	strcpy(text + REMAP_LINE_MAX + 50, "\nstruct node=key,0");
	CHECK_EQ(read_text(text), -EINVAL);
	CHECK_STR(err.text + strlen(path), ":1: '...' is too long a line");
	free(text);
}

/* ---- parts -------------------------------------------------------------------------------------
 */

static struct pieces pieces_of(const char *name)
{
	uint32_t number = types_by_name(types, name);
	struct pieces p;

	CHECK(number != 0);
	CHECK_EQ(pieces_init(&p, types, number), 0);
	return p;
}

static void bytes_belong_to_members(void)
{
	struct pieces p = pieces_of("struct node");

	CHECK_EQ(p.nr, 4);
	CHECK_EQ(pieces_at(&p, 0), 0);
	CHECK_EQ(pieces_at(&p, 3), 0);
	CHECK_EQ(pieces_at(&p, 4), 1);
	CHECK_EQ(pieces_at(&p, 5), NO_PIECE); /* padding */
	CHECK_EQ(pieces_at(&p, 8), 2);
	CHECK_EQ(pieces_at(&p, 23), 3);
	CHECK_EQ(pieces_at(&p, 24), NO_PIECE);
	p.list[0].visits = 100;
	p.list[1].visits = 10;
	p.list[2].visits = 9;
	CHECK(!pieces_is_cold(&p, 0) && !pieces_is_cold(&p, 1));
	CHECK(pieces_is_cold(&p, 2) && pieces_is_cold(&p, 3));
	pieces_release(&p);
	CHECK(!p.list && !p.of && !p.nr);
	p = pieces_of("struct flags");
	CHECK_EQ(p.nr, 4);
	CHECK_EQ(p.list[0].nr, 3);
	CHECK_EQ(p.list[0].size, 4);
	CHECK_EQ(pieces_at(&p, 2), 0);
	CHECK_EQ(p.list[2].size, 4);
	pieces_release(&p);
	p = pieces_of("struct packed");
	CHECK_EQ(p.list[1].align, 1);
	CHECK_EQ(p.list[1].offset, 1);
	pieces_release(&p);
	/* The array at the end has no end. */
	p = pieces_of("struct tail");
	CHECK(p.list[1].at_end && !p.list[0].at_end);
	CHECK_EQ(pieces_at(&p, 8), 1);
	CHECK_EQ(pieces_at(&p, 1000), 1);
	CHECK_EQ(pieces_at(&p, 3), 0);
	pieces_release(&p);
}

static void a_type_that_cannot_be_arranged_has_a_reason(void)
{
	struct type t = *types_get(types, types_by_name(types, "struct node"));
	struct type_member members[4];

	CHECK(!pieces_obstacle(&t));
	memcpy(members, t.members, sizeof(members));
	t.members = members;
	members[1].offset = 3;
	CHECK_STR(pieces_obstacle(&t), "its members lie over each other");
	members[1].offset = 4;
	members[3].size = 9;
	CHECK_STR(pieces_obstacle(&t), "its debug information is contradictory");
	members[3].flags |= MEMBER_FLEXIBLE;
	CHECK(!pieces_obstacle(&t));
	t.name = "std::node";
	CHECK_STR(pieces_obstacle(&t), "the standard library declares it");
	t.name = "__gnu_cxx::node";
	CHECK_STR(pieces_obstacle(&t), "the standard library declares it");
	t.name = "std_node";
	CHECK(!pieces_obstacle(&t));
	t.size = 0;
	CHECK_STR(pieces_obstacle(&t), "its size is not known");
	t.nr_members = 0;
	CHECK_STR(pieces_obstacle(&t), "it has no members");
}

/* ---- text --------------------------------------------------------------------------------------
 */

static void text_is(const struct shape *s, const char *expected)
{
	char *text = shape_text(s, 64);

	CHECK(text != NULL);
	CHECK_STR(text, expected);
	free(text);
}

static void a_layout_is_a_declaration(void)
{
	struct pieces p = pieces_of("struct node");
	struct shape *s = shape_new(&p, "now"), *copy;

	text_is(s, "struct node { /* 24 bytes */\n"
		   "\tint key;                                /* 0, 4 bytes */\n"
		   "\tchar tag;                               /* 4, 1 bytes */\n"
		   "\tstruct node *next;                      /* 8, 8 bytes */\n"
		   "\tchar name[8];                           /* 16, 8 bytes */\n"
		   "};\n");
	/* Accesses; the hot ones first, the cold ones by a pointer. */
	p.list[2].reads = 3 * 256;
	p.list[0].writes = 256;
	p.list[2].visits = 100;
	p.list[0].visits = 50;
	copy = shape_copy(s, "hot first");
	CHECK(copy && shape_same(s, copy) && !shape_moves(copy));
	copy->order[0] = 2;
	copy->order[1] = 0;
	copy->order[2] = 1;
	copy->nr_cold = 2;
	copy->by_pointer = true;
	copy->line_start[2] = true;
	shape_settle(copy, 1, 64);
	CHECK(!shape_same(s, copy) && shape_moves(copy));
	CHECK_EQ(copy->pointer, 16);
	CHECK_EQ(copy->bytes, 64);
	CHECK_EQ(copy->align, 64);
	CHECK_EQ(copy->cold_bytes, 9);
	CHECK_EQ(copy->cold_align, 1);
	CHECK(!copy->raised);
	text_is(copy, "struct node_cold { /* 9 bytes */\n"
		      "\t/* cold */\n"
		      "\tchar tag;                               /* 0, 1 bytes, was at 4; 0.0 % of "
		      "its accesses */\n"
		      "\tchar name[8];                           /* 1, 8 bytes, was at 16; 0.0 % "
		      "of its accesses */\n"
		      "};\n"
		      "struct node { /* 64 bytes, was 24 */\n"
		      "\t/* hot */\n"
		      "\t_Alignas(64) struct node *next;         /* 0, 8 bytes, was at 8; 75.0 % "
		      "of its accesses */\n"
		      "\tint key;                                /* 8, 4 bytes, was at 0; 25.0 % "
		      "of its accesses */\n"
		      "\tstruct node_cold *cold;        /* 16, 8 bytes */\n"
		      "};\n");
	/* The cold part has the alignment of its members. */
	copy->order[1] = 3;
	copy->order[3] = 0;
	shape_settle(copy, 1, 64);
	CHECK_EQ(copy->offset[1], 0);
	CHECK_EQ(copy->offset[0], 4);
	CHECK_EQ(copy->cold_bytes, 8);
	CHECK_EQ(copy->cold_align, 4);
	copy->by_pointer = false; /* a second array */
	copy->line_start[2] = false;
	shape_settle(copy, 1, 64);
	CHECK_EQ(copy->bytes, 16);
	CHECK_EQ(copy->align, 8);
	copy->order[1] = 0;
	copy->order[3] = 3;
	copy->nr_cold = 0;
	shape_settle(copy, 32, 64);
	CHECK(copy->raised);
	CHECK_EQ(copy->bytes, 32);
	text_is(copy, "struct node { /* 32 bytes, was 24 */\n"
		      "\t/* hot */\n"
		      "\tstruct node *next;                      /* 0, 8 bytes, was at 8; 75.0 % "
		      "of its accesses */\n"
		      "\tint key;                                /* 8, 4 bytes, was at 0; 25.0 % "
		      "of its accesses */\n"
		      "\t/* cold */\n"
		      "\tchar tag;                               /* 12, 1 bytes, was at 4; 0.0 % "
		      "of its accesses */\n"
		      "\tchar name[8];                           /* 13, 8 bytes, was at 16; 0.0 % "
		      "of its accesses */\n"
		      "} __attribute__((aligned(32)));\n");
	shape_free(copy);
	shape_free(s);
	pieces_release(&p);
}

static void bits_and_classes_are_declared(void)
{
	struct pieces p = pieces_of("struct flags");
	struct shape *s = shape_new(&p, "now");

	s->line_start[0] = true;
	s->order[0] = 1;
	s->order[1] = 0;
	shape_settle(s, 1, 64);
	text_is(s,
		"struct flags { /* 128 bytes, was 24 */\n"
		"\tchar after;                             /* 0, 1 bytes, was at 4 */\n"
		"\tunsigned int a : 3 __attribute__((aligned(64))); /* 64, 4 bytes, was at 0 */\n"
		"\tunsigned int b : 5;                     /* with the one before */\n"
		"\tunsigned int c : 20;                    /* with the one before */\n"
		"\tunion { int number; float real; };      /* 68, 4 bytes, was at 8 */\n"
		"\t" LONG_LAST "                          /* 72, 8 bytes, was at 16 */\n"
		"};\n");
	shape_free(s);
	pieces_release(&p);
	p = pieces_of("struct packed");
	s = shape_new(&p, "now");
	text_is(s, "struct packed { /* 9 bytes */\n"
		   "\tchar a;                                 /* 0, 1 bytes */\n"
		   "\t" LONG_B "                             /* 1, 8 bytes */\n"
		   "} __attribute__((packed));\n");
	shape_free(s);
	pieces_release(&p);
	p = pieces_of("bed::Middle");
	CHECK(p.list[0].in_front && p.list[1].in_front && !p.list[2].in_front);
	s = shape_new(&p, "now");
	shape_settle(s, 64, 64);
	text_is(s, "class alignas(64) Middle : public bed::Base { /* 64 bytes, was 24 */\n"
		   "public:\n"
		   "\tint open;                               /* 16, 4 bytes */\n"
		   "protected:\n"
		   "\tshort int half;                         /* 20, 2 bytes */\n"
		   "private:\n"
		   "\tchar shut;                              /* 22, 1 bytes */\n"
		   "\t/* member functions, static members and default values as they were */\n"
		   "};\n");
	shape_free(s);
	pieces_release(&p);
	CHECK_EQ(read_text("bed::Middle=open,16;Base,0"), -EINVAL);
}

int main(void)
{
	snprintf(path, sizeof(path), "/tmp/corotracer-remap-%d", (int)getpid());
	open_types();
	RUN(a_line_moves_members);
	RUN(wrong_lines_are_explained);
	RUN(limits_of_a_file_are_met_exactly);
	RUN(a_line_has_at_most_a_mebibyte);
	RUN(nothing_is_kept);
	RUN(bytes_belong_to_members);
	RUN(a_type_that_cannot_be_arranged_has_a_reason);
	RUN(a_layout_is_a_declaration);
	RUN(bits_and_classes_are_declared);
	unlink(path);
	types_free(types);
	return 0;
}
