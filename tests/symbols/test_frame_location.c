/* SPDX-License-Identifier: MIT */
/* test_frame_location.c - places of variables in a suspended frame, by operations of DWARF. */
#include "symbols/frame_location.h"

#include <dwarf.h>

#include "check.h"

#define FRAME 0x5000
#define RBX   3

/* Memory from FRAME on: each byte is its offset. */
static bool read_frame(void *arg, uint64_t addr, void *buf, size_t size)
{
	uint8_t *out = buf;
	size_t i;

	(void)arg;
	if (addr < FRAME || addr + size > FRAME + 256)
		return false;
	for (i = 0; i < size; i++)
		out[i] = (uint8_t)(addr + i - FRAME);
	return true;
}

static struct frame_base in_rbx(void)
{
	struct frame_base base = { .nr_registers = 0 };

	frame_base_add_register(&base, RBX);
	return base;
}

/* Bytes of the variable in hexadecimal, "--" for one that is unknown; "none": it has no value. */
static const char *value_of(const struct frame_base *base, const Dwarf_Op *ops, size_t nr,
			    size_t size)
{
	static char text[80];
	uint8_t data[32] = { 0 }, valid[32];
	struct frame_value out = { data, valid, size };
	size_t i;

	CHECK(size <= sizeof(data));
	memset(valid, 7, sizeof(valid));
	text[0] = '\0';
	if (!frame_location_read(base, ops, nr, FRAME, read_frame, NULL, &out))
		return "none";
	CHECK(frame_location_usable(base, ops, nr));
	for (i = 0; i < size; i++)
		snprintf(text + 2 * i, sizeof(text) - 2 * i, valid[i] ? "%02x" : "--", data[i]);
	return text;
}

#define OPS(...)                           \
	(const Dwarf_Op[]){ __VA_ARGS__ }, \
		sizeof((const Dwarf_Op[]){ __VA_ARGS__ }) / sizeof(Dwarf_Op)
#define EXPECT(base, size, text, ...) CHECK_STR(value_of(&(base), OPS(__VA_ARGS__), size), text)

static void a_variable_is_at_an_offset_of_the_frame(void)
{
	struct frame_base base = in_rbx();

	EXPECT(base, 4, "10111213", { .atom = DW_OP_breg0 + RBX, .number = 16 });
	EXPECT(base, 4, "10111213", { .atom = DW_OP_bregx, .number = RBX, .number2 = 16 });
	EXPECT(base, 2, "2425", { .atom = DW_OP_breg0 + RBX, .number = 32 },
	       { .atom = DW_OP_plus_uconst, .number = 4 });
	EXPECT(base, 4, "none",
	       { .atom = DW_OP_breg0 + RBX + 1, .number = 16 }); /* another register */
	EXPECT(base, 4, "none", { .atom = DW_OP_fbreg, .number = 16 });
	EXPECT(base, 4, "none", { .atom = DW_OP_breg0 + RBX, .number = 254 }); /* no memory there */
	EXPECT(base, 4, "none", { .atom = DW_OP_breg0 + RBX, .number = (Dwarf_Word)-8 });
	CHECK_STR(value_of(&base, NULL, 0, 4), "none");
}

static void values_are_computed(void)
{
	struct frame_base base = in_rbx();
	static const struct {
		uint8_t atom;
		uint64_t a, b;
		const char *text;
	} list[] = {
		{ DW_OP_plus, 0x30, 4, "3400" }, { DW_OP_minus, 0x30, 4, "2c00" },
		{ DW_OP_mul, 0x30, 4, "c000" },  { DW_OP_and, 0x3c, 0xf, "0c00" },
		{ DW_OP_or, 0x30, 4, "3400" },   { DW_OP_xor, 0x3c, 0xf, "3300" },
		{ DW_OP_shl, 0x30, 4, "0003" },  { DW_OP_shr, 0x30, 4, "0300" },
		{ DW_OP_shl, 0x30, 64, "0000" }, { DW_OP_shr, 0x30, 64, "0000" },
		{ DW_OP_div, 0x30, 4, "none" },
	};
	size_t i;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		EXPECT(base, 2, list[i].text, { .atom = DW_OP_constu, .number = list[i].a },
		       { .atom = DW_OP_const2u, .number = list[i].b }, { .atom = list[i].atom },
		       { .atom = DW_OP_stack_value });
	EXPECT(base, 4, "07000000", { .atom = DW_OP_lit0 + 7 }, { .atom = DW_OP_stack_value });
	EXPECT(base, 4, "00000000", { .atom = DW_OP_lit0 }, { .atom = DW_OP_nop },
	       { .atom = DW_OP_stack_value });
	EXPECT(base, 4, "1f000000", { .atom = DW_OP_lit31 }, { .atom = DW_OP_stack_value });
	/* A value has eight bytes. */
	EXPECT(base, 10, "0700000000000000----", { .atom = DW_OP_lit0 + 7 },
	       { .atom = DW_OP_stack_value });
	EXPECT(base, 4, "none", { .atom = DW_OP_stack_value });
	EXPECT(base, 4, "none", { .atom = DW_OP_lit0 + 1 }, { .atom = DW_OP_plus },
	       { .atom = DW_OP_stack_value });
	EXPECT(base, 4, "none", { .atom = DW_OP_plus_uconst, .number = 1 },
	       { .atom = DW_OP_stack_value });
}

static void memory_is_read_for_an_address(void)
{
	struct frame_base base = in_rbx();

	EXPECT(base, 8, "0809000000000000", { .atom = DW_OP_breg0 + RBX, .number = 8 },
	       { .atom = DW_OP_deref_size, .number = 2 }, { .atom = DW_OP_stack_value });
	EXPECT(base, 8, "08090a0b0c0d0e0f", { .atom = DW_OP_breg0 + RBX, .number = 8 },
	       { .atom = DW_OP_deref }, { .atom = DW_OP_stack_value });
	EXPECT(base, 8, "none", { .atom = DW_OP_breg0 + RBX, .number = 8 },
	       { .atom = DW_OP_deref_size, .number = 9 }, { .atom = DW_OP_stack_value });
	EXPECT(base, 8, "none", { .atom = DW_OP_breg0 + RBX, .number = 8 },
	       { .atom = DW_OP_deref_size, .number = 0 }, { .atom = DW_OP_stack_value });
	EXPECT(base, 8, "none", { .atom = DW_OP_deref });
	EXPECT(base, 4, "none", { .atom = DW_OP_breg0 + RBX },
	       { .atom = DW_OP_deref }); /* points elsewhere */
}

static void pieces_may_be_unknown(void)
{
	struct frame_base base = in_rbx();

	EXPECT(base, 6, "1011----4000", { .atom = DW_OP_breg0 + RBX, .number = 16 },
	       { .atom = DW_OP_piece, .number = 2 }, { .atom = DW_OP_piece, .number = 2 },
	       { .atom = DW_OP_constu, .number = 64 }, { .atom = DW_OP_stack_value },
	       { .atom = DW_OP_piece, .number = 2 });
	/* A register is lost, and the next piece is not. */
	EXPECT(base, 4, "--1415--", { .atom = DW_OP_breg0, .number = 16 },
	       { .atom = DW_OP_piece, .number = 1 }, { .atom = DW_OP_breg0 + RBX, .number = 20 },
	       { .atom = DW_OP_piece, .number = 2 });
	EXPECT(base, 4, "none", { .atom = DW_OP_piece, .number = 4 });
	/* More than the variable has. */
	EXPECT(base, 2, "1011", { .atom = DW_OP_breg0 + RBX, .number = 16 },
	       { .atom = DW_OP_piece, .number = 8 }, { .atom = DW_OP_breg0 + RBX, .number = 16 },
	       { .atom = DW_OP_piece, .number = 8 });
}

static void learn_from(struct frame_base *base, uint32_t offset, const Dwarf_Op *ops, size_t nr)
{
	frame_base_learn(base, ops, nr, offset);
}

static void known_variables_tell_where_the_frame_is(void)
{
	struct frame_base base = { .nr_registers = 0 };

	learn_from(&base, 16,
		   OPS({ .atom = DW_OP_breg0 + 6, .number = 24 })); /* not at its offset */
	CHECK_EQ(base.nr_registers, 0);
	learn_from(&base, 16, OPS({ .atom = DW_OP_breg0 + 6, .number = 16 }));
	learn_from(&base, 24, OPS({ .atom = DW_OP_breg0 + 6, .number = 24 }));
	CHECK_EQ(base.nr_registers, 1);
	CHECK_EQ(base.registers[0], 6);
	CHECK(!base.has_slot);
	learn_from(&base, 16,
		   OPS({ .atom = DW_OP_fbreg, .number = 40 }, { .atom = DW_OP_deref },
		       { .atom = DW_OP_plus_uconst, .number = 24 }));
	CHECK(!base.has_slot);
	learn_from(&base, 16,
		   OPS({ .atom = DW_OP_fbreg, .number = 40 }, { .atom = DW_OP_deref },
		       { .atom = DW_OP_plus_uconst, .number = 16 }));
	CHECK(base.has_slot && base.is_fbreg);
	CHECK_EQ(base.slot_offset, 40);
	learn_from(&base, 0,
		   OPS({ .atom = DW_OP_fbreg, .number = 48 },
		       { .atom = DW_OP_deref })); /* the first counts */
	CHECK_EQ(base.slot_offset, 40);
	EXPECT(base, 2, "2021", { .atom = DW_OP_fbreg, .number = 40 }, { .atom = DW_OP_deref },
	       { .atom = DW_OP_plus_uconst, .number = 32 });
	EXPECT(base, 2, "none", { .atom = DW_OP_fbreg, .number = 48 }, { .atom = DW_OP_deref },
	       { .atom = DW_OP_plus_uconst, .number = 32 });
	EXPECT(base, 2, "none", { .atom = DW_OP_fbreg, .number = 40 },
	       { .atom = DW_OP_plus_uconst, .number = 32 });
}

static void the_frame_may_be_in_a_slot_of_a_register(void)
{
	struct frame_base base = { .nr_registers = 0 };

	learn_from(&base, 8,
		   OPS({ .atom = DW_OP_breg7, .number = 8 },
		       { .atom = DW_OP_deref })); /* has an offset */
	CHECK(!base.has_slot);
	learn_from(&base, 0, OPS({ .atom = DW_OP_breg7, .number = 8 }, { .atom = DW_OP_deref }));
	CHECK(base.has_slot && !base.is_fbreg);
	CHECK_EQ(base.slot_base, 7);
	CHECK_EQ(base.slot_offset, 8);
	EXPECT(base, 1, "20", { .atom = DW_OP_breg7, .number = 8 }, { .atom = DW_OP_deref },
	       { .atom = DW_OP_plus_uconst, .number = 32 });
	EXPECT(base, 1, "none", { .atom = DW_OP_breg7, .number = 16 }, { .atom = DW_OP_deref },
	       { .atom = DW_OP_plus_uconst, .number = 32 });
	EXPECT(base, 1, "none", { .atom = DW_OP_breg6, .number = 8 }, { .atom = DW_OP_deref },
	       { .atom = DW_OP_plus_uconst, .number = 32 });
	base = (struct frame_base){ .nr_registers = 0 };
	learn_from(&base, 0, OPS({ .atom = DW_OP_fbreg, .number = 8 })); /* clang 14 */
	CHECK(base.has_slot && base.is_fbreg);
	frame_base_learn(&base, NULL, 0, 0);
	frame_base_add_register(&base, 1);
	frame_base_add_register(&base, 2);
	frame_base_add_register(&base, 1);
	frame_base_add_register(&base, 3);
	frame_base_add_register(&base, 4); /* no room */
	CHECK_EQ(base.nr_registers, FRAME_REGISTERS_MAX);
	CHECK_EQ(base.registers[2], 3);
}

static void hostile_operations_end(void)
{
	struct frame_base base = in_rbx();
	Dwarf_Op ops[200];
	size_t i;

	for (i = 0; i < 200; i++)
		ops[i] = (Dwarf_Op){ .atom = DW_OP_lit1 };
	CHECK(frame_location_usable(&base, ops, 16));
	CHECK(!frame_location_usable(&base, ops, 17)); /* the stack is full */
	for (i = 1; i < 200; i++)
		ops[i] = (Dwarf_Op){ .atom = DW_OP_nop };
	CHECK(frame_location_usable(&base, ops, 128));
	CHECK(!frame_location_usable(&base, ops, 129)); /* too many */
}

int main(void)
{
	RUN(a_variable_is_at_an_offset_of_the_frame);
	RUN(values_are_computed);
	RUN(memory_is_read_for_an_address);
	RUN(pieces_may_be_unknown);
	RUN(known_variables_tell_where_the_frame_is);
	RUN(the_frame_may_be_in_a_slot_of_a_register);
	RUN(hostile_operations_end);
	return 0;
}
