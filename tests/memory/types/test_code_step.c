/* SPDX-License-Identifier: MIT */
/* test_code_step.c - what each instruction becomes: registers by their DWARF number. */
#include <elf.h>
#include <inttypes.h>
#include <stdbool.h>

#include "check.h"
#include "memory/types/code_step.h"

#define CODE_START 0x1000

struct instruction {
	const char *text, *bytes, *steps;
};

static const struct instruction x86_list[] = {
	{ "mov %rsi, 16(%rdi)", "48897710", "store of 4 [5 +16] 8" },
	{ "mov %esi, 16(%rdi)", "897710", "store of -1 [5 +16] 4" },
	{ "movq $5, -8(%rbp)", "48c745f805000000", "store of -1 [6 -8] 8" },
	{ "mov %rax, %fs:40", "644889042528000000", "other 0" },
	{ "mov (%rdi), %rax", "488b07", "load 0 [5 +0] 8" },
	{ "mov 8(%rdi,%rcx,8), %rdx", "488b54cf08", "load 1 [5 +2*8 +8] 8" },
	{ "mov 0x1000(%rip), %rax", "488b0500100000", "load 0 [+8199] 8" },
	{ "mov %fs:40, %rax", "64488b042528000000", "other 1" },
	{ "mov (%eax), %rbx", "67488b18", "load 3 [0 +0] 8" },
	{ "movzbl 3(%rdi), %eax", "0fb64703", "load 0 [5 +3] 1" },
	{ "movslq %esi, %rsi", "4863f6", "set 4 [4 +0] 4" },
	{ "movslq 4(%rdi), %rax", "48634704", "load 0 [5 +4] 4" },
	{ "movsbw %al, %ax", "660fbec0", "other 1" },
	{ "mov %r9, %r15", "4d89cf", "set 15 [9 +0] 8" },
	{ "mov %ax, %cx", "6689c1", "other 4" },
	{ "movzwl %ax, %ecx", "0fb7c8", "other 4" },
	{ "mov %ah, %bl", "88e3", "other 8" },
	{ "mov $7, %r8d", "41b807000000", "set 8 [+7] 4" },
	{ "movabs $0x123456789, %r10", "49ba8967452301000000", "set 10 [+4886718345] 8" },
	{ "lea 24(%rdi,%rsi,4), %rax", "488d44b718", "set 0 [5 +4*4 +24] 8" },
	{ "lea 0x20(%rip), %r11", "4c8d1d20000000", "set 11 [+4135] 8" },
	{ "lea (%rdi), %ax", "668d07", "other 1" },
	{ "lea (,%rsi,8), %r12", "4c8d24f500000000", "set 12 [+4*8 +0] 8" },
	{ "add $8, %rdi", "4883c708", "set 5 [5 +8] 8" },
	{ "sub $0x28, %rsp", "4883ec28", "set 7 [7 -40] 8" },
	{ "add %rsi, %rdi", "4801f7", "set 5 [5 +4*1 +0] 8" },
	{ "sub %rsi, %rdi", "4829f7", "set 5 [5 +4*-1 +0] 8" },
	{ "add (%rsi), %rdi", "48033e", "other 20" },
	{ "addq $1, 24(%rsp)", "488344241801", "bump by 1 [7 +24] 8" },
	{ "subq $2, 24(%rsp)", "48836c241802", "bump by -2 [7 +24] 8" },
	{ "addl $1, 24(%rsp)", "8344241801", "store of -1 [7 +24] 4" },
	{ "add %rax, 24(%rsp)", "4801442418", "store of -1 [7 +24] 8" },
	{ "addq $1, %fs:24", "64488304251800000001", "other 0" },
	{ "add $1, %ax", "6683c001", "other 1" },
	{ "shl $3, %rsi", "48c1e603", "set 4 [+4*8 +0] 8" },
	{ "shl %rsi", "48d1e6", "set 4 [+4*2 +0] 8" },
	{ "shl $31, %rsi", "48c1e61f", "set 4 [+4*2147483648 +0] 8" },
	{ "shl $32, %rsi", "48c1e620", "other 10" },
	{ "shl %cl, %rsi", "48d3e6", "other 10" },
	{ "shlq $3, (%rdi)", "48c12703", "store of -1 [5 +0] 8; other 0" },
	{ "shl $3, %ax", "66c1e003", "other 1" },
	{ "imul $24, %rsi, %rax", "486bc618", "set 0 [+4*24 +0] 8" },
	{ "imul $24, (%rsi), %rax", "486b0618", "other 1" },
	{ "imul $24, %rsi", "486bf618", "set 4 [+4*24 +0] 8" },
	{ "imul %rsi, %rax", "480fafc6", "other 1" },
	{ "imul %rsi", "48f7ee", "other 3" },
	{ "push %rbx", "53", "store of 3 [7 -8] 8; set 7 [7 -8] 8" },
	{ "pushq $5", "6a05", "store of -1 [7 -8] 8; set 7 [7 -8] 8" },
	{ "pop %r14", "415e", "load 14 [7 +0] 8; set 7 [7 +8] 8" },
	{ "pop %rax", "58", "load 0 [7 +0] 8; set 7 [7 +8] 8" },
	{ "popq (%rax)", "8f00", "set 7 [7 +8] 8; store of -1 [0 +0] 8" },
	{ "leave", "c9", "set 7 [6 +0] 8; load 6 [7 +0] 8; set 7 [7 +8] 8" },
	{ "xor %eax, %eax", "31c0", "set 0 [+0] 8" },
	{ "xor %rax, %rbx", "4831c3", "other 8" },
	{ "xor %ax, %ax", "6631c0", "other 1" },
	{ "xor %rax, (%rdi)", "483107", "store of -1 [5 +0] 8; other 0" },
	{ "cmove %rsi, %rdi", "480f44fe", "pick 5 of 4" },
	{ "cmovne %esi, %edi", "0f45fe", "other 20" },
	{ "cmovg (%rsi), %rdi", "480f4f3e", "other 20" },
	{ "cmova %r8, %r13", "4d0f47e8", "pick 13 of 8" },
	{ "cmovae %rsi, %rdi", "480f43fe", "pick 5 of 4" },
	{ "cmovb %rsi, %rdi", "480f42fe", "pick 5 of 4" },
	{ "cmovbe %rsi, %rdi", "480f46fe", "pick 5 of 4" },
	{ "cmovge %rsi, %rdi", "480f4dfe", "pick 5 of 4" },
	{ "cmovl %rsi, %rdi", "480f4cfe", "pick 5 of 4" },
	{ "cmovle %rsi, %rdi", "480f4efe", "pick 5 of 4" },
	{ "cmovno %rsi, %rdi", "480f41fe", "pick 5 of 4" },
	{ "cmovnp %rsi, %rdi", "480f4bfe", "pick 5 of 4" },
	{ "cmovns %rsi, %rdi", "480f49fe", "pick 5 of 4" },
	{ "cmovo %rsi, %rdi", "480f40fe", "pick 5 of 4" },
	{ "cmovp %rsi, %rdi", "480f4afe", "pick 5 of 4" },
	{ "cmovs %rsi, %rdi", "480f48fe", "pick 5 of 4" },
	{ "call .+0x105", "e800010000", "call 1105" },
	{ "call *%rax", "ffd0", "call 0" },
	{ "jmp .+0x20", "eb1e", "jump 1020" },
	{ "jmp *%rax", "ffe0", "jump 0" },
	{ "je .-0x10", "74ee", "branch ff0" },
	{ "ret", "c3", "end" },
	{ "ud2", "0f0b", "end" },
	{ "hlt", "f4", "end" },
	{ "nop", "90", "other 0" },
	{ "cpuid", "0fa2", "other f" },
	{ "incl 8(%rdi)", "ff4708", "store of -1 [5 +8] 4; other 0" },
	{ "cmpq $1, 8(%rdi)", "48837f0801", "other 0" },
	{ "sete 5(%rsp)", "0f94442405", "store of -1 [7 +5] 1; other 0" },
	{ "not %rdx", "48f7d2", "other 2" },
	{ "xchg %rbx, %rbp", "4887dd", "other 48" },
	{ "and $-16, %rsp", "4883e4f0", "other 80" },
	{ "incl (%edi)", "67ff07", "store of -1 [5 +0] 4; other 0" },
	{ "movups %xmm0, 32(%rsp)", "0f11442420", "store of -1 [7 +32] 16; other 0" },
	{ "movdqa %xmm0, 32(%rsp)", "660f7f442420", "store of -1 [7 +32] 16; other 0" },
	{ "vmovdqu %ymm0, 32(%rsp)", "c5fe7f442420", "store of -1 [7 +32] 32; other 0" },
	{ "movq %xmm0, 32(%rsp)", "660fd6442420", "store of -1 [7 +32] 8; other 0" },
	{ "lock cmpxchg %rbx, 32(%rsp)", "f0480fb15c2420", "store of -1 [7 +32] 8; other 1" },
	{ "cmpxchg16b 32(%rsp)", "480fc74c2420", "store of -1 [7 +32] 16; other 3" },
	{ "stosb", "aa", "store of -1 [5 +0] 1; other 34" },
	{ "movsl", "a5", "store of -1 [5 +0] 4; other 34" },
	{ "movsd %xmm0, (%rdi)", "f20f1107", "store of -1 [5 +0] 8; other 0" },
	{ "testq $1, 32(%rsp)", "48f744242001000000", "other 0" },
	{ "btq $1, 32(%rsp)", "480fba64242001", "other 0" },
	{ "mulq 32(%rsp)", "48f7642420", "other 3" },
	{ "divq 32(%rsp)", "48f7742420", "other 3" },
	{ "imulq 32(%rsp)", "48f76c2420", "other 3" },
	{ "fldl 32(%rsp)", "dd442420", "other 0" },
};

static const struct instruction arm_list[] = {
	{ "mov x0, x1", "e00301aa", "set 0 [1 +0] 8" },
	{ "mov w0, w1", "e003012a", "set 0 [1 +0] 4" },
	{ "mov x0, xzr", "e0031faa", "set 0 [+0] 8" },
	{ "mov x3, #7", "e30080d2", "set 3 [+7] 8" },
	{ "movz x3, #1, lsl #16", "2300a0d2", "set 3 [+65536] 8" },
	{ "add x0, x1, #16", "20400091", "set 0 [1 +16] 8" },
	{ "sub sp, sp, #32", "ff8300d1", "set 31 [31 -32] 8" },
	{ "add x0, x1, #1, lsl #12", "20044091", "set 0 [1 +4096] 8" },
	{ "add x0, x1, x2", "2000028b", "set 0 [1 +2*1 +0] 8" },
	{ "sub x0, x1, x2", "200002cb", "set 0 [1 +2*-1 +0] 8" },
	{ "add x0, x1, x2, lsl #3", "200c028b", "set 0 [1 +2*8 +0] 8" },
	{ "add x0, x1, w2, sxtw #2", "20c8228b", "set 0 [1 +2*4 +0] 8" },
	{ "add x0, x1, x2, lsr #3", "200c428b", "other 1" },
	{ "add w0, w1, w2", "2000020b", "set 0 [1 +2*1 +0] 4" },
	{ "lsl x0, x1, #4", "20ec7cd3", "set 0 [+1*16 +0] 8" },
	{ "lsl x0, x1, #40", "205c58d3", "other 1" },
	{ "ubfiz x0, x1, #3, #32", "207c7dd3", "set 0 [+1*8 +0] 8" },
	{ "lsl x0, x1, x2", "2020c29a", "other 1" },
	{ "ldr x0, [x1, #8]", "200440f9", "load 0 [1 +8] 8" },
	{ "ldr w0, [x1, #8]", "200840b9", "load 0 [1 +8] 4" },
	{ "ldr x0, [x1, x2, lsl #3]", "207862f8", "load 0 [1 +2*8 +0] 8" },
	{ "ldr x0, [x1], #16", "200441f8", "load 0 [1 +0] 8; set 1 [1 +16] 8" },
	{ "ldr x0, [x1, #16]!", "200c41f8", "set 1 [1 +16] 8; load 0 [1 +0] 8" },
	{ "ldrb w0, [x1]", "20004039", "load 0 [1 +0] 1" },
	{ "ldrh w0, [x1]", "20004079", "load 0 [1 +0] 2" },
	{ "ldrsw x0, [x1]", "200080b9", "load 0 [1 +0] 4" },
	{ "ldr q0, [x1]", "2000c03d", "other 0" },
	{ "ldur x0, [x1, #-8]", "20805ff8", "load 0 [1 -8] 8" },
	{ "ldp x0, x1, [x0]", "000440a9", "load 1 [0 +8] 8; load 0 [0 +0] 8" },
	{ "ldp x29, x30, [sp], #32", "fd7bc2a8",
	  "load 30 [31 +8] 8; load 29 [31 +0] 8; set 31 [31 +32] 8" },
	{ "str x0, [x1, #8]", "200400f9", "store of 0 [1 +8] 8" },
	{ "str w0, [x1]", "200000b9", "store of -1 [1 +0] 4" },
	{ "str xzr, [x1]", "3f0000f9", "store of -1 [1 +0] 8" },
	{ "strb w0, [x1]", "20000039", "store of -1 [1 +0] 1" },
	{ "str q0, [sp]", "e003803d", "store of -1 [31 +0] 16" },
	{ "stp x29, x30, [sp, #-32]!", "fd7bbea9",
	  "set 31 [31 -32] 8; store of 30 [31 +8] 8; store of 29 [31 +0] 8" },
	{ "stp x0, x1, [sp, #16]", "e00701a9", "store of 1 [31 +24] 8; store of 0 [31 +16] 8" },
	{ "csel x0, x1, x2, eq", "2000829a", "set 0 [1 +0] 8; pick 0 of 2" },
	{ "csel x0, x1, x0, eq", "2000809a", "set 0 [0 +0] 8; pick 0 of 1" },
	{ "csel x3, x0, x2, eq", "0300829a", "set 3 [0 +0] 8; pick 3 of 2" },
	{ "csel x3, x2, x0, eq", "4300809a", "set 3 [2 +0] 8; pick 3 of 0" },
	{ "csel x0, xzr, x2, eq", "e003829a", "set 0 [2 +0] 8; pick 0 of 2" },
	{ "csel x0, x1, xzr, eq", "20009f9a", "set 0 [1 +0] 8; pick 0 of 1" },
	{ "csel w0, w1, w2, eq", "2000821a", "other 1" },
	{ "bl .+0x100", "40000094", "call 1100" },
	{ "blr x0", "00003fd6", "call 0" },
	{ "b .+0x20", "08000014", "jump 1020" },
	{ "b.eq .+0x20", "00010054", "branch 1020" },
	{ "br x0", "00001fd6", "jump 0" },
	{ "cbz x0, .-8", "c0ffffb4", "branch ff8" },
	{ "tbnz x0, #3, .-8", "c0ff1f37", "branch ff8" },
	{ "ret", "c0035fd6", "end" },
	{ "brk #1", "200020d4", "end" },
	{ "nop", "1f2003d5", "other 0" },
	{ "adrp x0, .", "00000090", "set 0 [+4096] 8" },
	{ "sxtw x0, w1", "207c4093", "set 0 [1 +0] 4" },
	{ "mul x3, x4, x5", "837c059b", "other 8" },
	{ "ldp q0, q1, [x1]", "200440ad", "other 0; other 0" },
	{ "ldr d0, [x1, #8]!", "208c40fc", "set 1 [1 +8] 8; other 0" },
	{ "ldr xzr, [x1]", "3f0040f9", "other 0" },
};

static size_t read_hex(const char *hex, uint8_t *out)
{
	size_t n = 0;

	for (; hex[0]; hex += 2) {
		char digits[3] = { hex[0], hex[1], 0 };

		out[n++] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return n;
}

/* "base + index * scale + disp" */
static void print_result(FILE *f, const struct code_step *s)
{
	if (s->base >= 0)
		fprintf(f, "%d ", s->base);
	if (s->index >= 0)
		fprintf(f, "+%d*%" PRId64 " ", s->index, s->scale);
	fprintf(f, "%+" PRId64, s->disp);
}

static void print_code_step(FILE *f, const struct code_step *s)
{
	static const char *names[] = { "other", "set",  "load", "store",  "bump",
				       "pick",  "call", "jump", "branch", "end" };

	fprintf(f, "%s", names[s->kind]);
	if (s->kind == STEP_OTHER)
		fprintf(f, " %" PRIx32, s->written);
	if (s->kind == STEP_SET || s->kind == STEP_LOAD || s->kind == STEP_SELECT)
		fprintf(f, " %d", s->dst);
	if (s->kind == STEP_STORE || s->kind == STEP_SELECT)
		fprintf(f, " of %d", s->src);
	if (s->kind == STEP_BUMP)
		fprintf(f, " by %" PRId64, s->amount);
	if (s->kind >= STEP_SET && s->kind <= STEP_BUMP) {
		fprintf(f, " [");
		print_result(f, s);
		fprintf(f, "] %u", s->width);
	}
	if (s->kind >= STEP_CALL && s->kind <= STEP_BRANCH)
		fprintf(f, " %" PRIx64, s->target);
}

static void decode_text(unsigned machine, const char *bytes, char *out, size_t size)
{
	struct code_steps steps = { 0 };
	uint8_t code[64];
	size_t nr = read_hex(bytes, code), i;
	FILE *f = fmemopen(out, size, "w");

	CHECK(f);
	out[0] = '\0';
	CHECK(code_decode(&steps, machine, code, nr, CODE_START));
	CHECK(steps.nr > 0);
	for (i = 0; i < steps.nr; i++) {
		CHECK_EQ(steps.list[i].addr, CODE_START);
		CHECK_EQ(steps.list[i].next, CODE_START + nr);
		fprintf(f, "%s", i ? "; " : "");
		print_code_step(f, &steps.list[i]);
	}
	fclose(f);
	code_steps_release(&steps);
}

static void check_instructions(unsigned machine, const struct instruction *list, size_t nr)
{
	char text[512];
	size_t i;

	for (i = 0; i < nr; i++) {
		decode_text(machine, list[i].bytes, text, sizeof(text));
		if (strcmp(text, list[i].steps) != 0)
			fprintf(stderr, "# %s\n", list[i].text);
		CHECK_STR(text, list[i].steps);
	}
}

static void instructions_of_x86_become_steps(void)
{
	check_instructions(EM_X86_64, x86_list, sizeof(x86_list) / sizeof(x86_list[0]));
}

/* Their length is in a register: the memory behind the first element is not known, either. */
static void repeated_stores_forget_what_follows(void)
{
	static const uint8_t clear[] = { 0xf3, 0x48, 0xab }, copy[] = { 0xf3, 0xa4 };
	struct code_steps steps = { 0 };
	int64_t end = 0;
	size_t i;

	CHECK(code_decode(&steps, EM_X86_64, clear, sizeof(clear), CODE_START));
	CHECK(code_decode(&steps, EM_X86_64, copy, sizeof(copy), CODE_START));
	for (i = 0; steps.list[i].kind == STEP_STORE; i++) {
		CHECK_EQ(steps.list[i].base, 5);
		CHECK_EQ(steps.list[i].src, STEP_NO_REGISTER);
		CHECK_EQ(steps.list[i].disp, end);
		end += steps.list[i].width;
	}
	CHECK(end >= 3000);
	CHECK_EQ(steps.list[i].written, 0x34);
	CHECK_EQ(steps.nr, 2 * (i + 1));
	code_steps_release(&steps);
}

static void instructions_of_aarch64_become_steps(void)
{
	check_instructions(EM_AARCH64, arm_list, sizeof(arm_list) / sizeof(arm_list[0]));
}

/* No address is left out, and what is not an instruction may change every register. */
static void bytes_that_are_no_instruction_are_steps_too(void)
{
	static const uint8_t x86[] = { 0x06, 0xc3 }, arm[] = { 0, 0, 0, 0, 0xc0, 0x03 };
	struct code_steps steps = { 0 };

	CHECK(code_decode(&steps, EM_X86_64, x86, sizeof(x86), 0x2000));
	CHECK_EQ(steps.nr, 2);
	CHECK_EQ(steps.list[0].kind, STEP_OTHER);
	CHECK_EQ(steps.list[0].written, UINT32_MAX);
	CHECK_EQ(steps.list[0].addr, 0x2000);
	CHECK_EQ(steps.list[0].next, 0x2001);
	CHECK_EQ(steps.list[1].kind, STEP_END);
	CHECK_EQ(steps.list[1].addr, 0x2001);
	code_steps_release(&steps);

	/* Half an instruction at the end. */
	CHECK(code_decode(&steps, EM_AARCH64, arm, sizeof(arm), 0x2000));
	CHECK_EQ(steps.nr, 2);
	CHECK_EQ(steps.list[0].written, UINT32_MAX);
	CHECK_EQ(steps.list[1].addr, 0x2004);
	CHECK_EQ(steps.list[1].next, 0x2006);
	code_steps_release(&steps);
}

static void steps_of_several_parts_are_one_list(void)
{
	static const uint8_t ret[] = { 0xc3 };
	struct code_steps steps = { 0 };
	unsigned i;

	for (i = 0; i < 1000; i++)
		CHECK(code_decode(&steps, EM_X86_64, ret, 1, 0x3000 + i));
	CHECK_EQ(steps.nr, 1000);
	for (i = 0; i < 1000; i++) {
		CHECK_EQ(steps.list[i].addr, 0x3000 + i);
		CHECK_EQ(steps.list[i].kind, STEP_END);
	}
	code_steps_release(&steps);
	CHECK_EQ(steps.nr, 0);
}

/* A function of more than 1,048,576 steps is not read.  "rep stos" has many of them. */
static void a_list_has_at_most_a_million_steps(void)
{
	static const uint8_t fill[] = { 0xf3, 0x48, 0xab }, nop[] = { 0x90 };
	static uint8_t code[3 << 16];
	struct code_steps steps = { 0 };
	size_t each, nr;

	for (nr = 0; nr < sizeof(code); nr++)
		code[nr] = fill[nr % 3];
	CHECK(code_decode(&steps, EM_X86_64, code, 3, CODE_START));
	each = steps.nr;
	nr = (1 << 20) / each;
	CHECK(nr < sizeof(code) / 3);
	CHECK(code_decode(&steps, EM_X86_64, code, 3 * (nr - 1), CODE_START));
	CHECK_EQ(steps.nr, nr * each);
	while (steps.nr < 1 << 20)
		CHECK(code_decode(&steps, EM_X86_64, nop, 1, CODE_START));
	CHECK(!code_decode(&steps, EM_X86_64, nop, 1, CODE_START));
	CHECK_EQ(steps.nr, 1 << 20);
	code_steps_release(&steps);
}

/* By the calling conventions: rdi, rsi, rdx, rcx, r8, r9; x0 to x5. */
static void machines_have_their_calling_convention(void)
{
	static const int8_t x86_arguments[] = { 5, 4, 1, 2, 8, 9 };
	const struct step_machine *x86 = code_machine(EM_X86_64), *arm = code_machine(EM_AARCH64);
	unsigned i;

	CHECK_EQ(x86->stack_pointer, 7);
	CHECK_EQ(arm->stack_pointer, 31);
	CHECK_EQ(x86->entry, 8);
	CHECK_EQ(arm->entry, 0);
	for (i = 0; i < 6; i++) {
		CHECK_EQ(x86->arguments[i], x86_arguments[i]);
		CHECK_EQ(arm->arguments[i], i);
		CHECK(x86->clobbered >> x86_arguments[i] & 1);
	}
	CHECK(!(x86->clobbered >> 3 & 1)); /* rbx */
	CHECK(!(arm->clobbered >> 19 & 1));
	CHECK(!code_machine(EM_PPC64));
}

int main(void)
{
	if (!code_machine(EM_X86_64))
		SKIP("no disassembler");
	RUN(instructions_of_x86_become_steps);
	RUN(repeated_stores_forget_what_follows);
	RUN(instructions_of_aarch64_become_steps);
	RUN(bytes_that_are_no_instruction_are_steps_too);
	RUN(steps_of_several_parts_are_one_list);
	RUN(a_list_has_at_most_a_million_steps);
	RUN(machines_have_their_calling_convention);
	return 0;
}
