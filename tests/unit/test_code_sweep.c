/* SPDX-License-Identifier: MIT */
/*
 * test_code_sweep.c - which instructions store a constant into the resume index of a frame, and
 * which one reads it first; on both machines.
 *
 * The frame is in rdi or x0.  Above each case are its instructions.
 */
#include "symbols/code_sweep.h"

#include <elf.h>
#include <stdio.h>

#include "check.h"

#define FIELD_OFFSET 24

struct store_case {
	unsigned machine;
	uint32_t size; /* of the field */
	const char *code;
	size_t code_size;
	const char *stores; /* "OFFSET:VALUE", with an f if it is certainly the frame */
};

struct index_case {
	unsigned machine;
	const char *code;
	size_t code_size;
	uint32_t offset, size; /* 0: not recognized */
};

struct base_case {
	unsigned machine;
	const char *code;
	size_t code_size;
	int base; /* number of the register in DWARF; -1: not a store */
};

/* clang-format off */
static const struct store_case store_cases[] = {
	/* movw $2,24(%rdi) */
	{ EM_X86_64, 2, "\x66\xc7\x47\x18\x02\x00", 6, "0:2f" },
	/* mov %rdi,%rbx; movw $4,24(%rbx) */
	{ EM_X86_64, 2, "\x48\x89\xfb\x66\xc7\x43\x18\x04\x00", 9, "3:4f" },
	/* movw $4,24(%rsi) */
	{ EM_X86_64, 2, "\x66\xc7\x46\x18\x04\x00", 6, "0:4" },
	/* movl $4,24(%rdi) */
	{ EM_X86_64, 2, "\xc7\x47\x18\x04\x00\x00\x00", 7, "" },
	/* movl $4,24(%rdi) */
	{ EM_X86_64, 4, "\xc7\x47\x18\x04\x00\x00\x00", 7, "0:4f" },
	/* movb $4,24(%rdi) */
	{ EM_X86_64, 1, "\xc6\x47\x18\x04", 4, "0:4f" },
	/* movw $4,26(%rdi) */
	{ EM_X86_64, 2, "\x66\xc7\x47\x1a\x04\x00", 6, "" },
	/* mov $6,%eax; mov %ax,24(%rdi) */
	{ EM_X86_64, 2, "\xb8\x06\x00\x00\x00\x66\x89\x47\x18", 9, "5:6f" },
	/* movabs $6,%rax; mov %ax,24(%rdi) */
	{ EM_X86_64, 2, "\x48\xb8\x06\x00\x00\x00\x00\x00\x00\x00\x66\x89\x47\x18", 14, "10:6f" },
	/* xor %eax,%eax; mov %ax,24(%rdi) */
	{ EM_X86_64, 2, "\x31\xc0\x66\x89\x47\x18", 6, "2:0f" },
	/* xor %ecx,%eax; mov %ax,24(%rdi) */
	{ EM_X86_64, 2, "\x31\xc8\x66\x89\x47\x18", 6, "" },
	/* mov $6,%eax; mov %eax,%ecx; mov %cx,24(%rdi) */
	{ EM_X86_64, 2, "\xb8\x06\x00\x00\x00\x89\xc1\x66\x89\x4f\x18", 11, "7:6f" },
	/* mov %rdi,%rbx; mov $6,%eax; call .; mov %ax,24(%rbx) */
	{ EM_X86_64, 2, "\x48\x89\xfb\xb8\x06\x00\x00\x00\xe8\xfb\xff\xff\xff\x66\x89\x43\x18", 17, "" },
	/* mov %rdi,%rbx; call .; movw $8,24(%rbx) */
	{ EM_X86_64, 2, "\x48\x89\xfb\xe8\xfb\xff\xff\xff\x66\xc7\x43\x18\x08\x00", 14, "8:8f" },
	/* mov %rdi,%rcx; call .; movw $8,24(%rcx) */
	{ EM_X86_64, 2, "\x48\x89\xf9\xe8\xfb\xff\xff\xff\x66\xc7\x41\x18\x08\x00", 14, "8:8" },
	/* mov %rdi,%r12; call .; movw $8,24(%r12) */
	{ EM_X86_64, 2, "\x49\x89\xfc\xe8\xfb\xff\xff\xff\x66\x41\xc7\x44\x24\x18\x08\x00", 16, "8:8f" },
	/* mov %rdi,%r11; call .; movw $8,24(%r11) */
	{ EM_X86_64, 2, "\x49\x89\xfb\xe8\xfb\xff\xff\xff\x66\x41\xc7\x43\x18\x08\x00", 15, "8:8" },
	/* mov %rdi,-8(%rbp); call .; mov -8(%rbp),%rax; movw $3,24(%rax) */
	{ EM_X86_64, 2, "\x48\x89\x7d\xf8\xe8\xfb\xff\xff\xff\x48\x8b\x45\xf8\x66\xc7\x40\x18\x03\x00", 19, "13:3f" },
	/* mov %rdi,-8(%rbp); call .; mov -16(%rbp),%rax; movw $3,24(%rax) */
	{ EM_X86_64, 2, "\x48\x89\x7d\xf8\xe8\xfb\xff\xff\xff\x48\x8b\x45\xf0\x66\xc7\x40\x18\x03\x00", 19, "13:3" },
	/* mov %rdi,-8(%rbp); call .; mov -8(%rsp),%rax; movw $3,24(%rax) */
	{ EM_X86_64, 2, "\x48\x89\x7d\xf8\xe8\xfb\xff\xff\xff\x48\x8b\x44\x24\xf8\x66\xc7\x40\x18\x03\x00", 20, "14:3" },
	/* mov $5,%eax; jmp 1f; mov $7,%eax; 1: mov %ax,24(%rdi) */
	{ EM_X86_64, 2, "\xb8\x05\x00\x00\x00\xeb\x05\xb8\x07\x00\x00\x00\x66\x89\x47\x18", 16, "" },
	/* mov $5,%eax; je 1f; mov $7,%eax; 1: mov %ax,24(%rdi) */
	{ EM_X86_64, 2, "\xb8\x05\x00\x00\x00\x74\x05\xb8\x07\x00\x00\x00\x66\x89\x47\x18", 16, "" },
	/* mov $5,%eax; je 1f; mov %ax,24(%rdi); 1: ret */
	{ EM_X86_64, 2, "\xb8\x05\x00\x00\x00\x74\x04\x66\x89\x47\x18\xc3", 12, "7:5f" },
	/* mov $5,%eax; jmp .+64; mov %ax,24(%rdi) */
	{ EM_X86_64, 2, "\xb8\x05\x00\x00\x00\xeb\x3e\x66\x89\x47\x18", 11, "" },
	/* mov %rdi,%rbx; jmp .+64; movw $9,24(%rbx) */
	{ EM_X86_64, 2, "\x48\x89\xfb\xeb\x3e\x66\xc7\x43\x18\x09\x00", 11, "5:9f" },
	/* mov $5,%eax; add $1,%eax; mov %ax,24(%rdi) */
	{ EM_X86_64, 2, "\xb8\x05\x00\x00\x00\x83\xc0\x01\x66\x89\x47\x18", 12, "" },
	/* mov %rdi,%rbx; lea 8(%rbx),%rbx; movw $9,24(%rbx) */
	{ EM_X86_64, 2, "\x48\x89\xfb\x48\x8d\x5b\x08\x66\xc7\x43\x18\x09\x00", 13, "7:9" },
	/* mov %rdi,%rbx; pop %rbx; ret; movw $9,24(%rbx) */
	{ EM_X86_64, 2, "\x48\x89\xfb\x5b\xc3\x66\xc7\x43\x18\x09\x00", 11, "5:9f" },
	/* mov %rdi,%rbp; leave; ret; movw $9,24(%rbp) */
	{ EM_X86_64, 2, "\x48\x89\xfd\xc9\xc3\x66\xc7\x45\x18\x09\x00", 11, "5:9f" },
	/* movw $5,24(%rdi,%rax,1) */
	{ EM_X86_64, 2, "\x66\xc7\x44\x07\x18\x05\x00", 7, "" },
	/* movw $5,%fs:24(%rdi) */
	{ EM_X86_64, 2, "\x64\x66\xc7\x47\x18\x05\x00", 7, "" },
	/* movw $1,24(%rdi); movw $2,24(%rdi) */
	{ EM_X86_64, 2, "\x66\xc7\x47\x18\x01\x00\x66\xc7\x47\x18\x02\x00", 12, "0:1f 6:2f" },
	/* mov w1,#2; strh w1,[x0,#24] */
	{ EM_AARCH64, 2, "\x41\x00\x80\x52\x01\x30\x00\x79", 8, "4:2f" },
	/* strh wzr,[x0,#24] */
	{ EM_AARCH64, 2, "\x1f\x30\x00\x79", 4, "0:0f" },
	/* str wzr,[x0,#24] */
	{ EM_AARCH64, 4, "\x1f\x18\x00\xb9", 4, "0:0f" },
	/* str xzr,[x0,#24] */
	{ EM_AARCH64, 8, "\x1f\x0c\x00\xf9", 4, "0:0f" },
	/* strb wzr,[x0,#24] */
	{ EM_AARCH64, 1, "\x1f\x60\x00\x39", 4, "0:0f" },
	/* strb wzr,[x0,#24] */
	{ EM_AARCH64, 2, "\x1f\x60\x00\x39", 4, "" },
	/* sturh wzr,[x0,#24] */
	{ EM_AARCH64, 2, "\x1f\x80\x01\x78", 4, "0:0f" },
	/* sturb wzr,[x0,#24] */
	{ EM_AARCH64, 1, "\x1f\x80\x01\x38", 4, "0:0f" },
	/* stur wzr,[x0,#24] */
	{ EM_AARCH64, 4, "\x1f\x80\x01\xb8", 4, "0:0f" },
	/* strh wzr,[x0,#26] */
	{ EM_AARCH64, 2, "\x1f\x34\x00\x79", 4, "" },
	/* mov x19,x0; bl .; mov w1,#4; strh w1,[x19,#24] */
	{ EM_AARCH64, 2, "\xf3\x03\x00\xaa\x00\x00\x00\x94\x81\x00\x80\x52\x61\x32\x00\x79", 16, "12:4f" },
	/* mov x18,x0; bl .; mov w1,#4; strh w1,[x18,#24] */
	{ EM_AARCH64, 2, "\xf2\x03\x00\xaa\x00\x00\x00\x94\x81\x00\x80\x52\x41\x32\x00\x79", 16, "12:4" },
	/* mov x18,x0; blr x3; mov w1,#4; strh w1,[x18,#24] */
	{ EM_AARCH64, 2, "\xf2\x03\x00\xaa\x60\x00\x3f\xd6\x81\x00\x80\x52\x41\x32\x00\x79", 16, "12:4" },
	/* mov x29,x0; strh wzr,[x29,#24] */
	{ EM_AARCH64, 2, "\xfd\x03\x00\xaa\xbf\x33\x00\x79", 8, "4:0f" },
	/* mov x30,x0; strh wzr,[x30,#24] */
	{ EM_AARCH64, 2, "\xfe\x03\x00\xaa\xdf\x33\x00\x79", 8, "4:0f" },
	/* mov x28,x0; strh wzr,[x28,#24] */
	{ EM_AARCH64, 2, "\xfc\x03\x00\xaa\x9f\x33\x00\x79", 8, "4:0f" },
	/* str x0,[sp,#8]; bl .; ldr x1,[sp,#8]; strh wzr,[x1,#24] */
	{ EM_AARCH64, 2, "\xe0\x07\x00\xf9\x00\x00\x00\x94\xe1\x07\x40\xf9\x3f\x30\x00\x79", 16, "12:0f" },
	/* str x0,[sp,#8]; bl .; ldr x1,[sp,#16]; strh wzr,[x1,#24] */
	{ EM_AARCH64, 2, "\xe0\x07\x00\xf9\x00\x00\x00\x94\xe1\x0b\x40\xf9\x3f\x30\x00\x79", 16, "12:0" },
	/* mov w1,#2; cbz x3,1f; mov w1,#3; 1: strh w1,[x0,#24] */
	{ EM_AARCH64, 2, "\x41\x00\x80\x52\x43\x00\x00\xb4\x61\x00\x80\x52\x01\x30\x00\x79", 16, "" },
	/* mov w1,#2; cbz x3,1f; strh w1,[x0,#24]; 1: ret */
	{ EM_AARCH64, 2, "\x41\x00\x80\x52\x43\x00\x00\xb4\x01\x30\x00\x79\xc0\x03\x5f\xd6", 16, "8:2f" },
	/* mov w1,#2; add w1,w1,#1; strh w1,[x0,#24] */
	{ EM_AARCH64, 2, "\x41\x00\x80\x52\x21\x04\x00\x11\x01\x30\x00\x79", 12, "" },
	/* strh wzr,[x0,x1] */
	{ EM_AARCH64, 2, "\x1f\x68\x21\x78", 4, "" },
	/* mov x19,x0; ldp x19,x20,[sp]; ret; strh wzr,[x19,#24] */
	{ EM_AARCH64, 2, "\xf3\x03\x00\xaa\xf3\x53\x40\xa9\xc0\x03\x5f\xd6\x7f\x32\x00\x79", 16, "12:0f" },
};

static const struct index_case index_cases[] = {
	/* movzwl 24(%rdi),%eax */
	{ EM_X86_64, "\x0f\xb7\x47\x18", 4, 24, 2 },
	/* movsbl 24(%rdi),%eax */
	{ EM_X86_64, "\x0f\xbe\x47\x18", 4, 24, 1 },
	/* cmpw $2,24(%rdi) */
	{ EM_X86_64, "\x66\x83\x7f\x18\x02", 5, 24, 2 },
	/* mov 40(%rdi),%eax */
	{ EM_X86_64, "\x8b\x47\x28", 3, 40, 4 },
	/* mov 24(%rdi),%rax; movb 16(%rdi),%al */
	{ EM_X86_64, "\x48\x8b\x47\x18\x8a\x47\x10", 7, 16, 1 },
	/* movzwl 15(%rdi),%eax */
	{ EM_X86_64, "\x0f\xb7\x47\x0f", 4, 0, 0 },
	/* movzwl 16(%rdi),%eax */
	{ EM_X86_64, "\x0f\xb7\x47\x10", 4, 16, 2 },
	/* movzwl 0xfffff(%rdi),%eax */
	{ EM_X86_64, "\x0f\xb7\x87\xff\xff\x0f\x00", 7, 1048575, 2 },
	/* movzwl 0x100000(%rdi),%eax */
	{ EM_X86_64, "\x0f\xb7\x87\x00\x00\x10\x00", 7, 0, 0 },
	/* movzwl 24(%rsi),%eax */
	{ EM_X86_64, "\x0f\xb7\x46\x18", 4, 0, 0 },
	/* mov %rdi,%rbx; movzwl 24(%rbx),%eax */
	{ EM_X86_64, "\x48\x89\xfb\x0f\xb7\x43\x18", 7, 24, 2 },
	/* mov %rdi,-8(%rbp); mov -8(%rbp),%rax; movzwl 24(%rax),%eax */
	{ EM_X86_64, "\x48\x89\x7d\xf8\x48\x8b\x45\xf8\x0f\xb7\x40\x18", 12, 24, 2 },
	/* call .; movzwl 24(%rdi),%eax */
	{ EM_X86_64, "\xe8\xfb\xff\xff\xff\x0f\xb7\x47\x18", 9, 0, 0 },
	/* mov %rdi,%rbx; call .; movzwl 24(%rbx),%eax */
	{ EM_X86_64, "\x48\x89\xfb\xe8\xfb\xff\xff\xff\x0f\xb7\x43\x18", 12, 0, 0 },
	/* movw %ax,24(%rdi) */
	{ EM_X86_64, "\x66\x89\x47\x18", 4, 0, 0 },
	/* ldrh w1,[x0,#24] */
	{ EM_AARCH64, "\x01\x30\x40\x79", 4, 24, 2 },
	/* ldrb w1,[x0,#24] */
	{ EM_AARCH64, "\x01\x60\x40\x39", 4, 24, 1 },
	/* ldr w1,[x0,#24] */
	{ EM_AARCH64, "\x01\x18\x40\xb9", 4, 24, 4 },
	/* ldurh w1,[x0,#24] */
	{ EM_AARCH64, "\x01\x80\x41\x78", 4, 24, 2 },
	/* ldurb w1,[x0,#24] */
	{ EM_AARCH64, "\x01\x80\x41\x38", 4, 24, 1 },
	/* ldur w1,[x0,#24] */
	{ EM_AARCH64, "\x01\x80\x41\xb8", 4, 24, 4 },
	/* ldr x1,[x0,#24] */
	{ EM_AARCH64, "\x01\x0c\x40\xf9", 4, 0, 0 },
	/* ldrh w1,[x1,#24] */
	{ EM_AARCH64, "\x21\x30\x40\x79", 4, 0, 0 },
	/* mov x19,x0; bl .; ldrh w1,[x19,#24] */
	{ EM_AARCH64, "\xf3\x03\x00\xaa\x00\x00\x00\x94\x61\x32\x40\x79", 12, 0, 0 },
	/* mov x19,x0; blr x3; ldrh w1,[x19,#24] */
	{ EM_AARCH64, "\xf3\x03\x00\xaa\x60\x00\x3f\xd6\x61\x32\x40\x79", 12, 0, 0 },
};

static const struct base_case base_cases[] = {
	/* movb $1,24(%rax) */
	{ EM_X86_64, "\xc6\x40\x18\x01", 4, 0 },
	/* movb $1,24(%rdx) */
	{ EM_X86_64, "\xc6\x42\x18\x01", 4, 1 },
	/* movb $1,24(%rcx) */
	{ EM_X86_64, "\xc6\x41\x18\x01", 4, 2 },
	/* movb $1,24(%rbx) */
	{ EM_X86_64, "\xc6\x43\x18\x01", 4, 3 },
	/* movb $1,24(%rsi) */
	{ EM_X86_64, "\xc6\x46\x18\x01", 4, 4 },
	/* movb $1,24(%rdi) */
	{ EM_X86_64, "\xc6\x47\x18\x01", 4, 5 },
	/* movb $1,24(%rbp) */
	{ EM_X86_64, "\xc6\x45\x18\x01", 4, 6 },
	/* movb $1,24(%rsp) */
	{ EM_X86_64, "\xc6\x44\x24\x18\x01", 5, 7 },
	/* movb $1,24(%r8) */
	{ EM_X86_64, "\x41\xc6\x40\x18\x01", 5, 8 },
	/* movb $1,24(%r9) */
	{ EM_X86_64, "\x41\xc6\x41\x18\x01", 5, 9 },
	/* movb $1,24(%r10) */
	{ EM_X86_64, "\x41\xc6\x42\x18\x01", 5, 10 },
	/* movb $1,24(%r11) */
	{ EM_X86_64, "\x41\xc6\x43\x18\x01", 5, 11 },
	/* movb $1,24(%r12) */
	{ EM_X86_64, "\x41\xc6\x44\x24\x18\x01", 6, 12 },
	/* movb $1,24(%r13) */
	{ EM_X86_64, "\x41\xc6\x45\x18\x01", 5, 13 },
	/* movb $1,24(%r14) */
	{ EM_X86_64, "\x41\xc6\x46\x18\x01", 5, 14 },
	/* movb $1,24(%r15) */
	{ EM_X86_64, "\x41\xc6\x47\x18\x01", 5, 15 },
	/* mov %al,(%rcx) */
	{ EM_X86_64, "\x88\x01", 2, 2 },
	/* mov (%rcx),%al */
	{ EM_X86_64, "\x8a\x01", 2, -1 },
	/* ret */
	{ EM_X86_64, "\xc3", 1, -1 },
	/* strb w1,[x7] */
	{ EM_AARCH64, "\xe1\x00\x00\x39", 4, 7 },
	/* str x1,[x28] */
	{ EM_AARCH64, "\x81\x03\x00\xf9", 4, 28 },
	/* str x1,[x29] */
	{ EM_AARCH64, "\xa1\x03\x00\xf9", 4, 29 },
	/* str x1,[x30] */
	{ EM_AARCH64, "\xc1\x03\x00\xf9", 4, 30 },
	/* str x1,[sp] */
	{ EM_AARCH64, "\xe1\x03\x00\xf9", 4, 31 },
	/* ldr x1,[x7] */
	{ EM_AARCH64, "\xe1\x00\x40\xf9", 4, -1 },
};
/* clang-format on */

#define CODE_AT 0x400000

static char stores[128];

static void note_store(void *arg, uint64_t addr, uint64_t value, bool is_frame)
{
	size_t len = strlen(stores);

	CHECK(arg == stores);
	snprintf(stores + len, sizeof(stores) - len, "%s%llu:%llu%s", len ? " " : "",
		 (unsigned long long)addr - CODE_AT, (unsigned long long)value,
		 is_frame ? "f" : "");
}

static struct code_bytes code_of(unsigned machine, const char *code, size_t size)
{
	return (struct code_bytes){
		.data = (const uint8_t *)code, .size = size, .addr = CODE_AT, .machine = machine
	};
}

static void stores_of_constants_are_found(void)
{
	size_t i;

	for (i = 0; i < sizeof(store_cases) / sizeof(store_cases[0]); i++) {
		const struct store_case *c = &store_cases[i];
		const struct code_field field = { FIELD_OFFSET, c->size };
		struct code_bytes code = code_of(c->machine, c->code, c->code_size);

		stores[0] = '\0';
		CHECK(code_find_stores(&code, &field, note_store, stores));
		if (strcmp(stores, c->stores) != 0)
			fprintf(stderr, "case %zu\n", i);
		CHECK_STR(stores, c->stores);
	}
}

static void the_first_read_of_the_frame_is_its_index(void)
{
	size_t i;

	for (i = 0; i < sizeof(index_cases) / sizeof(index_cases[0]); i++) {
		const struct index_case *c = &index_cases[i];
		struct code_bytes code = code_of(c->machine, c->code, c->code_size);
		struct code_field field = { 0, 0 };

		if (code_find_index(&code, &field) != (c->size != 0) || field.offset != c->offset ||
		    field.size != c->size)
			fprintf(stderr, "case %zu\n", i);
		CHECK_EQ(field.offset, c->offset);
		CHECK_EQ(field.size, c->size);
	}
}

static void the_address_of_a_store_is_in_a_register(void)
{
	size_t i;

	for (i = 0; i < sizeof(base_cases) / sizeof(base_cases[0]); i++) {
		struct code_bytes code = code_of(base_cases[i].machine, base_cases[i].code,
						 base_cases[i].code_size);

		CHECK_EQ(code_store_base(&code), base_cases[i].base);
	}
}

static void other_machines_are_not_understood(void)
{
	struct code_bytes code = code_of(EM_386, "\x90", 1);
	const struct code_field field = { FIELD_OFFSET, 2 };
	struct code_field out;

	CHECK(!code_find_stores(&code, &field, note_store, stores));
	CHECK(!code_find_index(&code, &out));
	CHECK_EQ(code_store_base(&code), -1);
}

int main(void)
{
	struct code_bytes none = code_of(EM_X86_64, "", 0);
	const struct code_field field = { FIELD_OFFSET, 2 };

	if (!code_find_stores(&none, &field, note_store, stores))
		SKIP("no disassembler here");
	RUN(stores_of_constants_are_found);
	RUN(the_first_read_of_the_frame_is_its_index);
	RUN(the_address_of_a_store_is_in_a_register);
	RUN(other_machines_are_not_understood);
	return 0;
}
