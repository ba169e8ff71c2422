/* SPDX-License-Identifier: MIT */
/* code_step_arm.c - instructions of aarch64 as steps. */
#include "memory/types/code_step_arch.h"

static int step_arm_number(unsigned reg)
{
	if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28)
		return (int)(reg - ARM64_REG_X0);
	if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30)
		return (int)(reg - ARM64_REG_W0);
	if (reg == ARM64_REG_X29 || reg == ARM64_REG_X30)
		return reg == ARM64_REG_X29 ? 29 : 30;
	return reg == ARM64_REG_SP || reg == ARM64_REG_WSP ? 31 : STEP_NO_REGISTER;
}

static bool arm_is_wide(unsigned reg)
{
	return (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28) || reg == ARM64_REG_X29 ||
	       reg == ARM64_REG_X30 || reg == ARM64_REG_SP || reg == ARM64_REG_XZR;
}

static bool arm_is_zero(unsigned reg)
{
	return reg == ARM64_REG_XZR || reg == ARM64_REG_WZR;
}

/* The factor of "lsl #3" or of an extension with a shift; 0: another shift. */
static int64_t arm_scale(const cs_arm64_op *op)
{
	if (op->shift.type == ARM64_SFT_INVALID)
		return op->shift.value < 32 ? INT64_C(1) << op->shift.value : 0;
	return op->shift.type == ARM64_SFT_LSL && op->shift.value < 32
		       ? INT64_C(1) << op->shift.value
		       : 0;
}

static bool arm_address(const cs_arm64_op *op, struct code_step *step)
{
	step->base = (int8_t)step_arm_number(op->mem.base);
	step->disp = op->mem.disp;
	if (op->mem.index != ARM64_REG_INVALID) {
		step->index = (int8_t)step_arm_number(op->mem.index);
		step->scale = arm_scale(op);
		if (step->index < 0 || !step->scale)
			return false;
	}
	return step->base >= 0;
}

static void arm_write_back(struct step_sink *sink, int base, int64_t by)
{
	struct code_step step = { STEP_EMPTY, .kind = STEP_SET, .width = 8 };

	step.dst = step.base = (int8_t)base;
	step.disp = by;
	step_add(sink, &step);
}

static unsigned arm_width(unsigned id, unsigned reg)
{
	switch (id) {
	case ARM64_INS_STRB:
	case ARM64_INS_STURB:
	case ARM64_INS_LDRB:
	case ARM64_INS_LDURB:
	case ARM64_INS_LDRSB:
	case ARM64_INS_LDURSB:
		return 1;
	case ARM64_INS_STRH:
	case ARM64_INS_STURH:
	case ARM64_INS_LDRH:
	case ARM64_INS_LDURH:
	case ARM64_INS_LDRSH:
	case ARM64_INS_LDURSH:
		return 2;
	case ARM64_INS_LDRSW:
	case ARM64_INS_LDURSW:
		return 4;
	default:
		return arm_is_wide(reg) ? 8 : 4;
	}
}

/* One register of a load or store; @step has the address of the first. */
static void arm_add_one(struct step_sink *sink, const struct code_step *first, const cs_insn *insn,
			unsigned which)
{
	unsigned reg = insn->detail->arm64.operands[which].reg;
	int number = step_arm_number(reg);
	bool is_general = number >= 0 || arm_is_zero(reg);
	struct code_step step = *first;

	step.width = is_general ? (uint8_t)arm_width(insn->id, reg) : 16;
	step.disp += (int64_t)which * step.width;
	if (step.kind == STEP_LOAD)
		step.dst = (int8_t)number;
	else
		step.src = (int8_t)(step.width == 8 ? number : STEP_NO_REGISTER);
	if (step.kind == STEP_LOAD && number < 0)
		step = (struct code_step){ STEP_EMPTY, .kind = STEP_OTHER };
	step_add(sink, &step); /* also of a vector register: no address is left out */
}

/* Loads and stores of @nr registers (1 or 2), with pre- and post-increment. */
static bool arm_decode_memory(struct step_sink *sink, const cs_insn *insn, bool is_load, int nr)
{
	const cs_arm64 *arm = &insn->detail->arm64;
	const cs_arm64_op *memory = &arm->operands[nr];
	struct code_step step = { STEP_EMPTY, .kind = is_load ? STEP_LOAD : STEP_STORE };
	bool is_post = arm->op_count == nr + 2;
	int64_t by;
	int i, base;

	if (arm->op_count < nr + 1 || memory->type != ARM64_OP_MEM || !arm_address(memory, &step))
		return false;
	base = step_arm_number(memory->mem.base);
	by = is_post ? arm->operands[nr + 1].imm : memory->mem.disp;
	if (arm->writeback && !is_post) {
		arm_write_back(sink, base, by);
		step.disp = 0;
	}
	/* The last register first: the first one may be the base. */
	for (i = nr - 1; i >= 0; i--)
		arm_add_one(sink, &step, insn, (unsigned)i);
	if (arm->writeback && is_post)
		arm_write_back(sink, base, by);
	return true;
}

/* mov, add, sub, lsl, adr and similar: dst = base + index * scale + disp. */
static bool arm_decode_add(struct step_sink *sink, const cs_insn *insn)
{
	const cs_arm64 *arm = &insn->detail->arm64;
	const cs_arm64_op *op = arm->operands;
	int64_t sign = insn->id == ARM64_INS_SUB ? -1 : 1;
	struct code_step step = { STEP_EMPTY, .kind = STEP_SET };

	if (arm->op_count != 3 || op[1].type != ARM64_OP_REG)
		return false;
	step.dst = (int8_t)step_arm_number(op[0].reg);
	step.base = (int8_t)step_arm_number(op[1].reg);
	step.width = arm_is_wide(op[0].reg) ? 8 : 4;
	if (op[2].type == ARM64_OP_IMM) {
		step.disp = sign * (op[2].imm
				    << (op[2].shift.type == ARM64_SFT_LSL ? op[2].shift.value : 0));
	} else {
		step.index = (int8_t)step_arm_number(op[2].reg);
		step.scale = sign * arm_scale(&op[2]);
		if (step.index < 0 || !step.scale)
			return false;
	}
	if (step.dst < 0 || step.base < 0)
		return false;
	step_add(sink, &step);
	return true;
}

static bool arm_decode_set(struct step_sink *sink, const cs_insn *insn)
{
	const cs_arm64 *arm = &insn->detail->arm64;
	const cs_arm64_op *to = &arm->operands[0], *from = to + 1;
	struct code_step step = { STEP_EMPTY, .kind = STEP_SET, .width = 8 };

	step.dst = (int8_t)step_arm_number(to->reg);
	if (step.dst < 0 || arm->op_count < 2)
		return false;
	if (from->type == ARM64_OP_IMM) {
		step.disp = from->imm;
		if (from->shift.type == ARM64_SFT_LSL)
			step.disp <<= from->shift.value;
	} else if (from->type == ARM64_OP_REG && !arm_is_zero(from->reg)) {
		step.base = (int8_t)step_arm_number(from->reg);
		step.width = arm_is_wide(to->reg) && arm_is_wide(from->reg) ? 8 : 4;
		if (step.base < 0)
			return false;
	} else if (from->type != ARM64_OP_REG) {
		return false;
	}
	step_add(sink, &step);
	return true;
}

/* lsl and the bit-field moves that extend an index: dst = index * scale. */
static bool arm_decode_shift(struct step_sink *sink, const cs_insn *insn)
{
	const cs_arm64 *arm = &insn->detail->arm64;
	const cs_arm64_op *op = arm->operands;
	struct code_step step = { STEP_EMPTY, .kind = STEP_SET, .width = 8 };

	if (arm->op_count < 3 || op[1].type != ARM64_OP_REG || op[2].type != ARM64_OP_IMM ||
	    op[2].imm < 0 || op[2].imm > 31)
		return false;
	step.dst = (int8_t)step_arm_number(op[0].reg);
	step.index = (int8_t)step_arm_number(op[1].reg);
	step.scale = INT64_C(1) << op[2].imm;
	if (step.dst < 0 || step.index < 0)
		return false;
	step_add(sink, &step);
	return true;
}

/* csel: one of two registers. */
static bool arm_decode_select(struct step_sink *sink, const cs_insn *insn)
{
	const cs_arm64_op *op = insn->detail->arm64.operands;
	struct code_step first = { STEP_EMPTY, .kind = STEP_SET, .width = 8 };
	struct code_step second = { STEP_EMPTY, .kind = STEP_SELECT };
	int dst = step_arm_number(op[0].reg), a = step_arm_number(op[1].reg);
	int b = step_arm_number(op[2].reg);

	if (dst < 0 || !arm_is_wide(op[0].reg) || (a < 0 && b < 0))
		return false;
	/* The zero register is a null pointer, which is never dereferenced. */
	a = a < 0 ? b : a;
	b = b < 0 ? a : b;
	if (b == dst) {
		b = a;
		a = dst;
	}
	first.dst = second.dst = (int8_t)dst;
	first.base = (int8_t)a;
	second.src = (int8_t)b;
	step_add(sink, &first);
	step_add(sink, &second);
	return true;
}

static bool arm_decode_flow(struct step_sink *sink, const cs_insn *insn)
{
	const cs_arm64 *arm = &insn->detail->arm64;
	struct code_step step = { STEP_EMPTY };

	if (arm->op_count && arm->operands[arm->op_count - 1].type == ARM64_OP_IMM)
		step.target = (uint64_t)arm->operands[arm->op_count - 1].imm;
	if (insn->id == ARM64_INS_BL || insn->id == ARM64_INS_BLR)
		step.kind = STEP_CALL;
	else if (insn->id == ARM64_INS_RET || insn->id == ARM64_INS_BRK)
		step.kind = STEP_END;
	else if (insn->id == ARM64_INS_BR)
		step.kind = STEP_JUMP;
	else if (insn->id == ARM64_INS_B)
		step.kind = arm->cc == ARM64_CC_INVALID || arm->cc == ARM64_CC_AL ? STEP_JUMP
										  : STEP_BRANCH;
	else if (insn->id == ARM64_INS_CBZ || insn->id == ARM64_INS_CBNZ ||
		 insn->id == ARM64_INS_TBZ || insn->id == ARM64_INS_TBNZ)
		step.kind = STEP_BRANCH;
	else
		return false;
	step_add(sink, &step);
	return true;
}

static bool arm_decode_known(struct step_sink *sink, const cs_insn *insn)
{
	switch (insn->id) {
	case ARM64_INS_LDR:
	case ARM64_INS_LDUR:
	case ARM64_INS_LDRB:
	case ARM64_INS_LDURB:
	case ARM64_INS_LDRH:
	case ARM64_INS_LDURH:
	case ARM64_INS_LDRSB:
	case ARM64_INS_LDRSH:
	case ARM64_INS_LDRSW:
	case ARM64_INS_LDURSB:
	case ARM64_INS_LDURSH:
	case ARM64_INS_LDURSW:
		return arm_decode_memory(sink, insn, true, 1);
	case ARM64_INS_LDP:
		return arm_decode_memory(sink, insn, true, 2);
	case ARM64_INS_STR:
	case ARM64_INS_STUR:
	case ARM64_INS_STRB:
	case ARM64_INS_STURB:
	case ARM64_INS_STRH:
	case ARM64_INS_STURH:
		return arm_decode_memory(sink, insn, false, 1);
	case ARM64_INS_STP:
		return arm_decode_memory(sink, insn, false, 2);
	case ARM64_INS_ADD:
	case ARM64_INS_SUB:
		return arm_decode_add(sink, insn);
	case ARM64_INS_MOV:
	case ARM64_INS_MOVZ:
	case ARM64_INS_ADR:
	case ARM64_INS_ADRP:
	case ARM64_INS_SXTW:
	case ARM64_INS_UXTW:
		return arm_decode_set(sink, insn);
	case ARM64_INS_LSL:
	case ARM64_INS_UBFIZ:
	case ARM64_INS_SBFIZ:
		return arm_decode_shift(sink, insn);
	case ARM64_INS_CSEL:
		return arm_decode_select(sink, insn);
	default:
		return false;
	}
}

void step_decode_arm(struct step_sink *sink, const cs_insn *insn)
{
	if (!arm_decode_flow(sink, insn) && !arm_decode_known(sink, insn))
		step_add_other(sink, insn, step_arm_number, 0);
}
