/* SPDX-License-Identifier: MIT */
/* code_sweep.c - find the stores of the resume index in machine code, with capstone. */
#include "symbols/code_sweep.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/capstone_loader.h"

#define SWEEP_REGISTERS 32
#define SWEEP_SLOTS     16
#define SWEEP_TARGETS   4096
#define NO_REGISTER     (-1)

/* What the sweep knows of a register. */
enum value_kind {
	VALUE_UNKNOWN,
	VALUE_CONSTANT,
	VALUE_FRAME, /* the address of the coroutine's frame */
};

struct sweep_value {
	enum value_kind kind;
	uint64_t constant;
};

/* A stack slot that holds the frame's address, in code that is not optimized. */
struct sweep_slot {
	int base;
	int64_t offset;
};

struct sweep {
	csh handle;
	cs_insn *insn;
	unsigned machine;
	struct sweep_value values[SWEEP_REGISTERS];
	struct sweep_slot slots[SWEEP_SLOTS];
	size_t nr_slots;
	uint64_t *targets; /* of jumps, sorted: several ways lead there */
	size_t nr_targets;
};

/* An operand of a move: a register, a constant, or memory at a register plus offset. */
enum operand_kind {
	OPERAND_OTHER,
	OPERAND_REGISTER,
	OPERAND_CONSTANT,
	OPERAND_MEMORY,
};

struct sweep_operand {
	enum operand_kind kind;
	int reg; /* of the register, or of the memory's base */
	int64_t value;
	unsigned size;
};

struct sweep_move {
	struct sweep_operand to, from;
	bool is_load, is_store, is_clear;
};

/* ---- x86_64 ------------------------------------------------------------------ */

/* Numbers of the 16 general registers, whatever part is used. */
static int x86_register(unsigned reg)
{
	static const struct {
		uint16_t names[5];
	} all[] = {
		{ { X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH } },
		{ { X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH } },
		{ { X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH } },
		{ { X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH } },
		{ { X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL } },
		{ { X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL } },
		{ { X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL } },
		{ { X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL } },
		{ { X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B } },
		{ { X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B } },
		{ { X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B } },
		{ { X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B } },
		{ { X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B } },
		{ { X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B } },
		{ { X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B } },
		{ { X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B } },
	};
	size_t i, k;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		for (k = 0; k < 5; k++) {
			if (all[i].names[k] == reg && reg)
				return (int)i;
		}
	}
	return NO_REGISTER;
}

static struct sweep_operand x86_operand(const cs_x86_op *op)
{
	struct sweep_operand out = { .reg = NO_REGISTER, .size = op->size };

	if (op->type == X86_OP_REG) {
		out.kind = OPERAND_REGISTER;
		out.reg = x86_register(op->reg);
	} else if (op->type == X86_OP_IMM) {
		out.kind = OPERAND_CONSTANT;
		out.value = op->imm;
	} else if (op->type == X86_OP_MEM && op->mem.index == X86_REG_INVALID &&
		   op->mem.segment == X86_REG_INVALID) {
		out.kind = OPERAND_MEMORY;
		out.reg = x86_register(op->mem.base);
		out.value = op->mem.disp;
	}
	return out;
}

static struct sweep_move x86_move(const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;
	struct sweep_move m = { 0 };
	bool is_move = insn->id == X86_INS_MOV || insn->id == X86_INS_MOVABS ||
		       insn->id == X86_INS_MOVZX || insn->id == X86_INS_MOVSX;

	if (x86->op_count < 2)
		return m;
	m.to = x86_operand(&x86->operands[0]);
	m.from = x86_operand(&x86->operands[1]);
	m.is_store = is_move && m.to.kind == OPERAND_MEMORY;
	m.is_load = is_move && m.to.kind == OPERAND_REGISTER;
	m.is_clear = insn->id == X86_INS_XOR && m.to.kind == OPERAND_REGISTER &&
		     m.from.kind == OPERAND_REGISTER && m.to.reg == m.from.reg;
	/* The coroutine compares the field itself, without loading it. */
	if (insn->id == X86_INS_CMP && m.to.kind == OPERAND_MEMORY) {
		m.from = m.to;
		m.to = (struct sweep_operand){ .kind = OPERAND_REGISTER, .reg = NO_REGISTER };
		m.is_load = true;
	}
	return m;
}

/* ---- aarch64 ------------------------------------------------------------------- */

static int arm_register(unsigned reg)
{
	if (reg >= ARM64_REG_X0 && reg <= ARM64_REG_X28)
		return (int)(reg - ARM64_REG_X0);
	if (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30)
		return (int)(reg - ARM64_REG_W0);
	if (reg == ARM64_REG_X29 || reg == ARM64_REG_X30)
		return reg == ARM64_REG_X29 ? 29 : 30;
	return reg == ARM64_REG_SP ? 31 : NO_REGISTER;
}

static unsigned arm_access_size(unsigned id, unsigned reg)
{
	switch (id) {
	case ARM64_INS_STRB:
	case ARM64_INS_STURB:
	case ARM64_INS_LDRB:
	case ARM64_INS_LDURB:
		return 1;
	case ARM64_INS_STRH:
	case ARM64_INS_STURH:
	case ARM64_INS_LDRH:
	case ARM64_INS_LDURH:
		return 2;
	default:
		return (reg >= ARM64_REG_W0 && reg <= ARM64_REG_W30) || reg == ARM64_REG_WZR ? 4
											     : 8;
	}
}

static struct sweep_operand arm_operand(const cs_arm64_op *op)
{
	struct sweep_operand out = { .reg = NO_REGISTER };

	if (op->type == ARM64_OP_REG) {
		out.kind = OPERAND_REGISTER;
		/* The zero register is the constant 0. */
		if (op->reg == ARM64_REG_WZR || op->reg == ARM64_REG_XZR)
			out.kind = OPERAND_CONSTANT;
		out.reg = arm_register(op->reg);
	} else if (op->type == ARM64_OP_IMM) {
		out.kind = OPERAND_CONSTANT;
		out.value = op->imm;
	} else if (op->type == ARM64_OP_MEM && op->mem.index == ARM64_REG_INVALID) {
		out.kind = OPERAND_MEMORY;
		out.reg = arm_register(op->mem.base);
		out.value = op->mem.disp;
	}
	return out;
}

static bool arm_is_store(unsigned id)
{
	return id == ARM64_INS_STR || id == ARM64_INS_STRB || id == ARM64_INS_STRH ||
	       id == ARM64_INS_STUR || id == ARM64_INS_STURB || id == ARM64_INS_STURH;
}

static bool arm_is_load(unsigned id)
{
	return id == ARM64_INS_LDR || id == ARM64_INS_LDRB || id == ARM64_INS_LDRH ||
	       id == ARM64_INS_LDUR || id == ARM64_INS_LDURB || id == ARM64_INS_LDURH ||
	       id == ARM64_INS_MOV || id == ARM64_INS_MOVZ;
}

static struct sweep_move arm_move(const cs_insn *insn)
{
	const cs_arm64 *arm = &insn->detail->arm64;
	struct sweep_move m = { 0 };
	struct sweep_operand first, second;

	if (arm->op_count < 2)
		return m;
	first = arm_operand(&arm->operands[0]);
	second = arm_operand(&arm->operands[1]);
	if (arm_is_store(insn->id)) {
		m = (struct sweep_move){ .to = second, .from = first, .is_store = true };
		m.to.size = arm_access_size(insn->id, arm->operands[0].reg);
	} else if (arm_is_load(insn->id)) {
		m = (struct sweep_move){ .to = first, .from = second, .is_load = true };
		m.from.size = arm_access_size(insn->id, arm->operands[0].reg);
	}
	return m;
}

/* ---- what registers hold --------------------------------------------------------- */

static int sweep_register(const struct sweep *s, unsigned reg)
{
	return s->machine == EM_X86_64 ? x86_register(reg) : arm_register(reg);
}

static struct sweep_move sweep_move_of(const struct sweep *s)
{
	return s->machine == EM_X86_64 ? x86_move(s->insn) : arm_move(s->insn);
}

static struct sweep_slot *sweep_slot_at(struct sweep *s, const struct sweep_operand *at)
{
	size_t i;

	for (i = 0; i < s->nr_slots; i++) {
		if (s->slots[i].base == at->reg && s->slots[i].offset == at->value)
			return &s->slots[i];
	}
	return NULL;
}

static void sweep_store_frame(struct sweep *s, const struct sweep_operand *to)
{
	if (s->nr_slots < SWEEP_SLOTS && !sweep_slot_at(s, to))
		s->slots[s->nr_slots++] = (struct sweep_slot){ to->reg, to->value };
}

static struct sweep_value sweep_value_of(struct sweep *s, const struct sweep_operand *from)
{
	struct sweep_value v = { 0 };

	if (from->kind == OPERAND_CONSTANT) {
		v.kind = VALUE_CONSTANT;
		v.constant = (uint64_t)from->value;
	} else if (from->kind == OPERAND_REGISTER && from->reg >= 0) {
		v = s->values[from->reg];
	} else if (from->kind == OPERAND_MEMORY && sweep_slot_at(s, from)) {
		v.kind = VALUE_FRAME;
	}
	return v;
}

/* The end of a function restores registers; the code after it, reached by a jump, has the old. */
static bool sweep_is_epilogue(const struct sweep *s)
{
	return s->machine == EM_X86_64 ? s->insn->id == X86_INS_POP || s->insn->id == X86_INS_LEAVE
				       : s->insn->id == ARM64_INS_LDP;
}

/* Registers that the instruction writes are unknown from now on. */
static void sweep_forget_written(struct sweep *s)
{
	cs_regs read, written;
	uint8_t nr_read = 0, nr_written = 0, i;

	if (sweep_is_epilogue(s))
		return;
	if (capstone.cs_regs_access(s->handle, s->insn, read, &nr_read, written, &nr_written))
		return;
	for (i = 0; i < nr_written; i++) {
		int reg = sweep_register(s, written[i]);

		if (reg >= 0)
			s->values[reg] = (struct sweep_value){ 0 };
	}
}

/* Some versions of the disassembler do not list the calls of aarch64 as such. */
static bool sweep_is_call(const struct sweep *s)
{
	if (s->machine == EM_AARCH64 &&
	    (s->insn->id == ARM64_INS_BL || s->insn->id == ARM64_INS_BLR))
		return true;
	return capstone.cs_insn_group(s->handle, s->insn, CS_GRP_CALL);
}

/* A call may change the registers that a function need not preserve. */
static void sweep_forget_call(struct sweep *s)
{
	static const uint8_t x86_kept[] = { 3, 6, 7, 12, 13, 14, 15 };
	int reg, i;

	for (reg = 0; reg < SWEEP_REGISTERS; reg++) {
		bool kept = s->machine == EM_AARCH64 && reg >= 19;

		for (i = 0; s->machine == EM_X86_64 && i < (int)sizeof(x86_kept); i++)
			kept = kept || x86_kept[i] == reg;
		if (!kept)
			s->values[reg] = (struct sweep_value){ 0 };
	}
}

static void sweep_forget_constants(struct sweep *s)
{
	int reg;

	for (reg = 0; reg < SWEEP_REGISTERS; reg++) {
		if (s->values[reg].kind == VALUE_CONSTANT)
			s->values[reg] = (struct sweep_value){ 0 };
	}
}

static void sweep_step(struct sweep *s, const struct sweep_move *m)
{
	struct sweep_value v = { 0 };

	if (m->is_load)
		v = sweep_value_of(s, &m->from);
	if (m->is_clear)
		v.kind = VALUE_CONSTANT;
	if (m->is_store && sweep_value_of(s, &m->from).kind == VALUE_FRAME)
		sweep_store_frame(s, &m->to);
	sweep_forget_written(s);
	if ((m->is_load || m->is_clear) && m->to.reg >= 0)
		s->values[m->to.reg] = v;
	if (sweep_is_call(s))
		sweep_forget_call(s);
	if (s->insn->id == X86_INS_JMP && s->machine == EM_X86_64)
		sweep_forget_constants(s);
}

/* ---- jumps ------------------------------------------------------------------------ */

static int sweep_by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static bool sweep_jump_target(const struct sweep *s, uint64_t *target)
{
	const cs_detail *d = s->insn->detail;

	if (!capstone.cs_insn_group(s->handle, s->insn, CS_GRP_JUMP))
		return false;
	if (s->machine == EM_X86_64 && d->x86.op_count == 1 &&
	    d->x86.operands[0].type == X86_OP_IMM) {
		*target = (uint64_t)d->x86.operands[0].imm;
		return true;
	}
	if (s->machine == EM_AARCH64 && d->arm64.op_count &&
	    d->arm64.operands[d->arm64.op_count - 1].type == ARM64_OP_IMM) {
		*target = (uint64_t)d->arm64.operands[d->arm64.op_count - 1].imm;
		return true;
	}
	return false;
}

static void sweep_find_targets(struct sweep *s, const struct code_bytes *code)
{
	const uint8_t *at = code->data;
	size_t left = code->size;
	uint64_t addr = code->addr, target;

	s->targets = calloc(SWEEP_TARGETS, sizeof(*s->targets));
	while (s->targets && s->nr_targets < SWEEP_TARGETS &&
	       capstone.cs_disasm_iter(s->handle, &at, &left, &addr, s->insn)) {
		if (sweep_jump_target(s, &target))
			s->targets[s->nr_targets++] = target;
	}
	if (s->targets && s->nr_targets)
		qsort(s->targets, s->nr_targets, sizeof(*s->targets), sweep_by_number);
}

static bool sweep_is_target(const struct sweep *s)
{
	uint64_t at = s->insn->address;

	return s->nr_targets &&
	       bsearch(&at, s->targets, s->nr_targets, sizeof(at), sweep_by_number);
}

/* ---- begin and end ----------------------------------------------------------------- */

static bool sweep_begin(struct sweep *s, const struct code_bytes *code)
{
	bool is_arm = code->machine == EM_AARCH64;
	struct err err;

	*s = (struct sweep){ .machine = code->machine };
	if ((!is_arm && code->machine != EM_X86_64) || capstone_load(&err) < 0 ||
	    capstone.cs_open(is_arm ? CS_ARCH_ARM64 : CS_ARCH_X86,
			     is_arm ? CS_MODE_LITTLE_ENDIAN : CS_MODE_64, &s->handle))
		return false;
	capstone.cs_option(s->handle, CS_OPT_DETAIL, CS_OPT_ON);
	s->insn = capstone.cs_malloc(s->handle);
	/* The first argument is the frame. */
	s->values[is_arm ? 0 : x86_register(X86_REG_RDI)].kind = VALUE_FRAME;
	return s->insn != NULL;
}

static void sweep_end(struct sweep *s)
{
	if (s->insn)
		capstone.cs_free(s->insn, 1);
	if (s->handle)
		capstone.cs_close(&s->handle);
	free(s->targets);
}

bool code_find_index(const struct code_bytes *code, struct code_field *out)
{
	const uint8_t *at = code->data;
	size_t left = code->size;
	uint64_t addr = code->addr;
	struct sweep s;
	bool found = false;

	if (!sweep_begin(&s, code))
		return false;
	while (!found && capstone.cs_disasm_iter(s.handle, &at, &left, &addr, s.insn)) {
		struct sweep_move m = sweep_move_of(&s);

		if (m.is_load && m.from.kind == OPERAND_MEMORY && m.from.reg >= 0 &&
		    s.values[m.from.reg].kind == VALUE_FRAME && m.from.size <= 4 &&
		    m.from.value >= 16 && m.from.value < 1 << 20) {
			out->offset = (uint32_t)m.from.value;
			out->size = m.from.size;
			found = true;
		}
		sweep_step(&s, &m);
		if (sweep_is_call(&s))
			break;
	}
	sweep_end(&s);
	return found;
}

bool code_find_stores(const struct code_bytes *code, const struct code_field *field,
		      code_store_handler handler, void *arg)
{
	const uint8_t *at = code->data;
	size_t left = code->size;
	uint64_t addr = code->addr;
	struct sweep s;

	if (!sweep_begin(&s, code))
		return false;
	sweep_find_targets(&s, code);
	while (capstone.cs_disasm_iter(s.handle, &at, &left, &addr, s.insn)) {
		struct sweep_move m;
		struct sweep_value v;

		if (sweep_is_target(&s))
			sweep_forget_constants(&s);
		m = sweep_move_of(&s);
		v = sweep_value_of(&s, &m.from);
		if (m.is_store && m.to.value == (int64_t)field->offset &&
		    m.to.size == field->size && m.to.reg >= 0 && v.kind == VALUE_CONSTANT)
			handler(arg, s.insn->address, v.constant,
				s.values[m.to.reg].kind == VALUE_FRAME);
		sweep_step(&s, &m);
	}
	sweep_end(&s);
	return true;
}

/* The sweep's numbers of registers are those of DWARF, on both machines. */
int code_store_base(const struct code_bytes *code)
{
	const uint8_t *at = code->data;
	size_t left = code->size;
	uint64_t addr = code->addr;
	struct sweep s;
	int reg = NO_REGISTER;

	if (sweep_begin(&s, code) && capstone.cs_disasm_iter(s.handle, &at, &left, &addr, s.insn)) {
		struct sweep_move m = sweep_move_of(&s);

		if (m.is_store)
			reg = m.to.reg;
	}
	sweep_end(&s);
	return reg;
}
