/* SPDX-License-Identifier: MIT */
/* code_step_x86.c - instructions of x86_64 as steps. */
#include "memory/types/code_step_arch.h"

#define X86_STACK 7
#define X86_FRAME 6

#define X86_RAX   (1u << 0)
#define X86_RDX   (1u << 1)
#define X86_RCX   (1u << 2)
#define X86_RSI   (1u << 4)
#define X86_RDI   (1u << 5)

/* A repeated store is taken for this long: its length is not known. */
#define X86_REPEATED_STORES 16
#define X86_REPEATED_WIDTH  248

/* The DWARF number of a general register or a part of it; 16 is the instruction pointer. */
static int step_x86_number(unsigned reg)
{
	static const uint16_t names[][5] = {
		{ X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH },
		{ X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH },
		{ X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH },
		{ X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH },
		{ X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL },
		{ X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL },
		{ X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL },
		{ X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL },
		{ X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B },
		{ X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B },
		{ X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B },
		{ X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B },
		{ X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B },
		{ X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B },
		{ X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B },
		{ X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B },
	};
	size_t i, k;

	for (i = 0; reg && i < sizeof(names) / sizeof(names[0]); i++) {
		for (k = 0; k < 5; k++) {
			if (names[i][k] == reg)
				return (int)i;
		}
	}
	return STEP_NO_REGISTER;
}

/* Put the address of a memory operand into @step.  False: it cannot be followed. */
static bool x86_address(const struct step_sink *sink, const cs_x86_op *op, struct code_step *step)
{
	if (op->mem.segment != X86_REG_INVALID)
		return false;
	step->disp = op->mem.disp;
	if (op->mem.base == X86_REG_RIP)
		step->disp += (int64_t)sink->next;
	else if (op->mem.base != X86_REG_INVALID)
		step->base = (int8_t)step_x86_number(op->mem.base);
	if (op->mem.index != X86_REG_INVALID) {
		step->index = (int8_t)step_x86_number(op->mem.index);
		step->scale = op->mem.scale;
		if (step->index < 0)
			return false;
	}
	return op->mem.base == X86_REG_INVALID || op->mem.base == X86_REG_RIP || step->base >= 0;
}

static bool x86_is_load(const cs_insn *insn)
{
	return insn->id == X86_INS_MOV || insn->id == X86_INS_MOVZX || insn->id == X86_INS_MOVSX ||
	       insn->id == X86_INS_MOVSXD;
}

/* mov, in all its directions. */
static bool x86_decode_move(struct step_sink *sink, const cs_insn *insn)
{
	const cs_x86_op *to = &insn->detail->x86.operands[0], *from = to + 1;
	struct code_step step = { STEP_EMPTY, .width = to->size };

	if (to->type == X86_OP_MEM) {
		step.kind = STEP_STORE;
		if (from->type == X86_OP_REG && from->size == 8)
			step.src = (int8_t)step_x86_number(from->reg);
		if (!x86_address(sink, to, &step))
			return false;
		step_add(sink, &step);
		return true;
	}
	step.dst = (int8_t)step_x86_number(to->reg);
	if (step.dst < 0 || to->size < 4)
		return false;
	step.kind = STEP_SET;
	if (from->type == X86_OP_MEM) {
		step.kind = STEP_LOAD;
		step.width = from->size;
		if (!x86_address(sink, from, &step))
			return false;
	} else if (from->type == X86_OP_IMM) {
		step.disp = from->imm;
	} else {
		step.base = (int8_t)step_x86_number(from->reg);
		step.width = from->size;
		if (step.base < 0 || from->size < 4)
			return false;
	}
	step_add(sink, &step);
	return true;
}

static bool x86_decode_lea(struct step_sink *sink, const cs_insn *insn)
{
	const cs_x86_op *to = &insn->detail->x86.operands[0];
	struct code_step step = { STEP_EMPTY, .kind = STEP_SET, .width = to->size };

	step.dst = (int8_t)step_x86_number(to->reg);
	if (step.dst < 0 || to->size < 4 || !x86_address(sink, to + 1, &step))
		return false;
	step_add(sink, &step);
	return true;
}

/* add and sub: of a register, or of memory and a constant. */
static bool x86_decode_add(struct step_sink *sink, const cs_insn *insn)
{
	const cs_x86_op *to = &insn->detail->x86.operands[0], *from = to + 1;
	int sign = insn->id == X86_INS_SUB ? -1 : 1;
	struct code_step step = { STEP_EMPTY, .kind = STEP_SET, .width = to->size };

	if (to->type == X86_OP_MEM) {
		step.kind = from->type == X86_OP_IMM && to->size == 8 ? STEP_BUMP : STEP_STORE;
		step.amount = sign * from->imm;
		if (!x86_address(sink, to, &step))
			return false;
		step_add(sink, &step);
		return true;
	}
	step.dst = step.base = (int8_t)step_x86_number(to->reg);
	if (step.dst < 0 || to->size < 4)
		return false;
	if (from->type == X86_OP_IMM) {
		step.disp = sign * from->imm;
	} else if (from->type == X86_OP_REG) {
		step.index = (int8_t)step_x86_number(from->reg);
		step.scale = sign;
		if (step.index < 0)
			return false;
	} else {
		return false;
	}
	step_add(sink, &step);
	return true;
}

/* Multiplications by a constant: shl, imul. */
static bool x86_decode_scale(struct step_sink *sink, const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;
	const cs_x86_op *to = &x86->operands[0], *last = &x86->operands[x86->op_count - 1];
	const cs_x86_op *from = x86->op_count == 3 ? to + 1 : to;
	struct code_step step = { STEP_EMPTY, .kind = STEP_SET, .width = to->size };

	if (to->type != X86_OP_REG || from->type != X86_OP_REG || to->size < 4)
		return false;
	step.dst = (int8_t)step_x86_number(to->reg);
	step.index = (int8_t)step_x86_number(from->reg);
	step.scale = 2;
	if (insn->id == X86_INS_IMUL) {
		if (x86->op_count < 2 || last->type != X86_OP_IMM)
			return false;
		step.scale = last->imm;
	} else if (x86->op_count == 2) {
		if (last->type != X86_OP_IMM || last->imm < 0 || last->imm > 31)
			return false;
		step.scale = INT64_C(1) << last->imm;
	}
	if (step.dst < 0 || step.index < 0)
		return false;
	step_add(sink, &step);
	return true;
}

static void x86_move_stack(struct step_sink *sink, int64_t by)
{
	const struct code_step step = { STEP_EMPTY, .kind = STEP_SET, .width = 8 };
	struct code_step moved = step;

	moved.dst = moved.base = X86_STACK;
	moved.disp = by;
	step_add(sink, &moved);
}

static void x86_decode_push(struct step_sink *sink, const cs_insn *insn)
{
	const cs_x86_op *op = &insn->detail->x86.operands[0];
	struct code_step step = { STEP_EMPTY, .kind = STEP_STORE, .width = 8 };

	step.base = X86_STACK;
	step.disp = -8;
	if (op->type == X86_OP_REG)
		step.src = (int8_t)step_x86_number(op->reg);
	step_add(sink, &step);
	x86_move_stack(sink, -8);
}

static void x86_decode_pop(struct step_sink *sink, int reg)
{
	struct code_step step = { STEP_EMPTY, .kind = STEP_LOAD, .width = 8 };

	step.base = X86_STACK;
	step.dst = (int8_t)reg;
	if (reg >= 0)
		step_add(sink, &step);
	x86_move_stack(sink, 8);
}

/* The address is that after the stack has moved. */
static void x86_decode_pop_memory(struct step_sink *sink, const cs_x86_op *op)
{
	struct code_step step = { STEP_EMPTY, .kind = STEP_STORE, .width = op->size };

	x86_move_stack(sink, 8);
	if (x86_address(sink, op, &step))
		step_add(sink, &step);
}

static void x86_decode_leave(struct step_sink *sink)
{
	struct code_step step = { STEP_EMPTY, .kind = STEP_SET, .width = 8 };

	step.dst = X86_STACK;
	step.base = X86_FRAME;
	step_add(sink, &step);
	x86_decode_pop(sink, X86_FRAME);
}

static bool x86_decode_clear(struct step_sink *sink, const cs_insn *insn)
{
	const cs_x86_op *to = &insn->detail->x86.operands[0], *from = to + 1;
	struct code_step step = { STEP_EMPTY, .kind = STEP_SET, .width = 8 };

	if (to->type != X86_OP_REG || from->type != X86_OP_REG || to->reg != from->reg ||
	    to->size < 4)
		return false;
	step.dst = (int8_t)step_x86_number(to->reg);
	if (step.dst < 0)
		return false;
	step_add(sink, &step);
	return true;
}

static bool x86_decode_select(struct step_sink *sink, const cs_insn *insn)
{
	const cs_x86_op *to = &insn->detail->x86.operands[0], *from = to + 1;
	struct code_step step = { STEP_EMPTY, .kind = STEP_SELECT };

	if (from->type != X86_OP_REG || to->size != 8)
		return false;
	step.dst = (int8_t)step_x86_number(to->reg);
	step.src = (int8_t)step_x86_number(from->reg);
	if (step.dst < 0 || step.src < 0)
		return false;
	step_add(sink, &step);
	return true;
}

static bool x86_is_select(unsigned id)
{
	switch (id) {
	case X86_INS_CMOVA:
	case X86_INS_CMOVAE:
	case X86_INS_CMOVB:
	case X86_INS_CMOVBE:
	case X86_INS_CMOVE:
	case X86_INS_CMOVG:
	case X86_INS_CMOVGE:
	case X86_INS_CMOVL:
	case X86_INS_CMOVLE:
	case X86_INS_CMOVNE:
	case X86_INS_CMOVNO:
	case X86_INS_CMOVNP:
	case X86_INS_CMOVNS:
	case X86_INS_CMOVO:
	case X86_INS_CMOVP:
	case X86_INS_CMOVS:
		return true;
	default:
		return false;
	}
}

static bool x86_decode_flow(struct step_sink *sink, const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;
	struct code_step step = { STEP_EMPTY };

	if (x86->op_count == 1 && x86->operands[0].type == X86_OP_IMM)
		step.target = (uint64_t)x86->operands[0].imm;
	if (insn->id == X86_INS_CALL)
		step.kind = STEP_CALL;
	else if (insn->id == X86_INS_RET || insn->id == X86_INS_UD2 || insn->id == X86_INS_HLT)
		step.kind = STEP_END;
	else if (insn->id == X86_INS_JMP)
		step.kind = STEP_JUMP;
	else if (capstone.cs_insn_group(sink->handle, insn, CS_GRP_JUMP))
		step.kind = STEP_BRANCH;
	else
		return false;
	step_add(sink, &step);
	return true;
}

/* Instructions that only read their first operand. */
static bool x86_is_reading(unsigned id)
{
	switch (id) {
	case X86_INS_BT:
	case X86_INS_CMP:
	case X86_INS_DIV:
	case X86_INS_FILD:
	case X86_INS_FLD:
	case X86_INS_IDIV:
	case X86_INS_IMUL:
	case X86_INS_MUL:
	case X86_INS_NOP:
	case X86_INS_TEST:
		return true;
	default:
		return false;
	}
}

/*
 * Other instructions that write memory: the value there is unknown from now on.  capstone 4 says of
 * many stores (movups, movdqa, vmovups, cmpxchg) that they read: what is not known to read, writes.
 */
static void x86_forget_memory(struct step_sink *sink, const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;
	struct code_step step = { STEP_EMPTY, .kind = STEP_STORE };

	if (!x86->op_count || x86->operands[0].type != X86_OP_MEM || x86_is_reading(insn->id))
		return;
	step.width = x86->operands[0].size;
	if (x86_address(sink, &x86->operands[0], &step))
		step_add(sink, &step);
}

/* Stores of strings; movsd is also a name of a vector move. */
static bool x86_is_string_store(const cs_insn *insn)
{
	switch (insn->id) {
	case X86_INS_STOSB:
	case X86_INS_STOSW:
	case X86_INS_STOSD:
	case X86_INS_STOSQ:
	case X86_INS_MOVSB:
	case X86_INS_MOVSW:
	case X86_INS_MOVSQ:
		return true;
	case X86_INS_MOVSD:
		return insn->detail->x86.operands[1].type == X86_OP_MEM &&
		       insn->detail->x86.operands[0].type == X86_OP_MEM;
	default:
		return false;
	}
}

static void x86_forget_string(struct step_sink *sink, const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;
	bool is_repeated = x86->prefix[0] == X86_PREFIX_REP || x86->prefix[0] == X86_PREFIX_REPNE;
	struct code_step step = { STEP_EMPTY, .kind = STEP_STORE, .width = x86->operands[0].size };
	unsigned i, nr = is_repeated ? X86_REPEATED_STORES : 1;

	step.base = (int8_t)step_x86_number(X86_REG_RDI);
	if (is_repeated)
		step.width = X86_REPEATED_WIDTH;
	for (i = 0; i < nr; i++) {
		step_add(sink, &step);
		step.disp += step.width;
	}
}

/* Registers that capstone does not list for some instructions. */
static uint32_t x86_written(const cs_insn *insn)
{
	if (x86_is_string_store(insn))
		return X86_RDI | X86_RSI | X86_RCX;
	if (insn->id == X86_INS_CMPXCHG16B || insn->id == X86_INS_CMPXCHG8B)
		return X86_RAX | X86_RDX;
	return insn->id == X86_INS_CMPXCHG ? X86_RAX : 0;
}

static bool x86_decode_known(struct step_sink *sink, const cs_insn *insn)
{
	switch (insn->id) {
	case X86_INS_LEA:
		return x86_decode_lea(sink, insn);
	case X86_INS_MOVABS:
		return x86_decode_move(sink, insn);
	case X86_INS_ADD:
	case X86_INS_SUB:
		return x86_decode_add(sink, insn);
	case X86_INS_SHL:
	case X86_INS_SAL:
	case X86_INS_IMUL:
		return x86_decode_scale(sink, insn);
	case X86_INS_XOR:
		return x86_decode_clear(sink, insn);
	case X86_INS_PUSH:
		x86_decode_push(sink, insn);
		return true;
	case X86_INS_POP:
		if (insn->detail->x86.operands[0].type == X86_OP_MEM)
			x86_decode_pop_memory(sink, &insn->detail->x86.operands[0]);
		else
			x86_decode_pop(sink, step_x86_number(insn->detail->x86.operands[0].reg));
		return true;
	case X86_INS_LEAVE:
		x86_decode_leave(sink);
		return true;
	default:
		return false;
	}
}

void step_decode_x86(struct step_sink *sink, const cs_insn *insn)
{
	if (x86_decode_flow(sink, insn) || x86_decode_known(sink, insn))
		return;
	if (x86_is_load(insn) && x86_decode_move(sink, insn))
		return;
	if (x86_is_select(insn->id) && x86_decode_select(sink, insn))
		return;
	if (x86_is_string_store(insn))
		x86_forget_string(sink, insn);
	else
		x86_forget_memory(sink, insn);
	step_add_other(sink, insn, step_x86_number, x86_written(insn));
}
