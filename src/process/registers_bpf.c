/* SPDX-License-Identifier: MIT */
/* registers_bpf.c - a BPF task iterator, written instruction by instruction. */
#include "process/registers_bpf.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/io.h"
#include "process/kernel_btf.h"

#define BPF_TYPES "/sys/kernel/btf/vmlinux"
/* Older headers lack them. */
#define FUNCTION_SEQ_WRITE    127
#define FUNCTION_TASK_PT_REGS 175
/* The inode number of the first pid namespace, fixed in the kernel. */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCu

/* What the program writes for a thread. */
struct bpf_record {
	uint64_t tid;
	uint64_t raw[REGISTERS_RAW];
};

#define BPF_STACK  ((int)sizeof(struct bpf_record)) /* at most 512 */
#define BPF_LENGTH (32 + 2 * REGISTERS_RAW)

/* ---- instructions ---------------------------------------------------------- */

struct bpf_code {
	struct bpf_insn list[BPF_LENGTH];
	unsigned nr;
};

static void code_add(struct bpf_code *c, unsigned op, unsigned dst, unsigned src, int off, int imm)
{
	c->list[c->nr++] = (struct bpf_insn){ .code = (__u8)op,
					      .dst_reg = dst & 15,
					      .src_reg = src & 15,
					      .off = (__s16)off,
					      .imm = imm };
}

static void code_move(struct bpf_code *c, unsigned dst, unsigned src)
{
	code_add(c, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

static void code_load(struct bpf_code *c, unsigned size, unsigned dst, unsigned src, int off)
{
	code_add(c, BPF_LDX | BPF_MEM | size, dst, src, off, 0);
}

static void code_store(struct bpf_code *c, unsigned src, int off)
{
	code_add(c, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, src, off, 0);
}

static void code_call(struct bpf_code *c, int function)
{
	code_add(c, BPF_JMP | BPF_CALL, 0, 0, 0, function);
}

/* Only these words of struct pt_regs have the same type in all kernels. */
static bool word_is_used(unsigned i)
{
#if defined(__aarch64__)
	return i < 33;
#else
	return i <= 16 || i == 19;
#endif
}

static void code_copy_registers(struct bpf_code *c)
{
	unsigned i;

	for (i = 0; i < REGISTERS_RAW; i++) {
		if (word_is_used(i))
			code_load(c, BPF_DW, BPF_REG_1, BPF_REG_8, (int)(8 * i));
		else
			code_add(c, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, 0);
		code_store(c, BPF_REG_1, (int)(8 * (i + 1)) - BPF_STACK);
	}
}

/*
 * r6 = context {meta, task}; r7 = task; r8 = its registers.
 * Returns without output unless task->tgid is @tgid.
 */
static void code_build(struct bpf_code *c, pid_t tgid, int tgid_at, int pid_at)
{
	unsigned no_task, other_process;

	code_move(c, BPF_REG_6, BPF_REG_1);
	code_load(c, BPF_DW, BPF_REG_7, BPF_REG_6, 8);
	no_task = c->nr;
	code_add(c, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_7, 0, 0, 0);
	code_load(c, BPF_W, BPF_REG_1, BPF_REG_7, tgid_at);
	other_process = c->nr;
	code_add(c, BPF_JMP | BPF_JNE | BPF_K, BPF_REG_1, 0, 0, (int)tgid);
	code_load(c, BPF_W, BPF_REG_1, BPF_REG_7, pid_at);
	code_store(c, BPF_REG_1, -BPF_STACK);
	code_move(c, BPF_REG_1, BPF_REG_7);
	code_call(c, FUNCTION_TASK_PT_REGS);
	code_move(c, BPF_REG_8, BPF_REG_0);
	code_copy_registers(c);
	code_load(c, BPF_DW, BPF_REG_1, BPF_REG_6, 0); /* meta */
	code_load(c, BPF_DW, BPF_REG_1, BPF_REG_1, 0); /* meta->seq */
	code_move(c, BPF_REG_2, BPF_REG_10);
	// NOLINTNEXTLINE(misc-redundant-expression): some of the names are 0
	code_add(c, BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -BPF_STACK);
	code_add(c, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, BPF_STACK);
	code_call(c, FUNCTION_SEQ_WRITE);
	c->list[no_task].off = (__s16)(c->nr - no_task - 1);
	c->list[other_process].off = (__s16)(c->nr - other_process - 1);
	code_add(c, BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0);
	code_add(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* ---- load ---------------------------------------------------------------- */

static int bpf_call(int command, union bpf_attr *attr, size_t size)
{
	return (int)syscall(SYS_bpf, command, attr, size);
}

static int bpf_load(const struct bpf_code *code, int function)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_TRACING;
	attr.expected_attach_type = BPF_TRACE_ITER;
	attr.attach_btf_id = (__u32)function;
	attr.insns = (__u64)(uintptr_t)code->list;
	attr.insn_cnt = code->nr;
	attr.license = (__u64)(uintptr_t) "Dual MIT/GPL";
	memcpy(attr.prog_name, "ct_registers", 13);
	return bpf_call(BPF_PROG_LOAD, &attr, sizeof(attr));
}

/* Linux 6.1 and later visit only the threads of @pid. */
static int bpf_link(int program, pid_t pid)
{
	__u32 info[4] = { 0, (__u32)pid, 0, 0 }; /* tid, pid, pidfd */
	union bpf_attr attr;
	int link;

	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (__u32)program;
	attr.link_create.attach_type = BPF_TRACE_ITER;
	attr.link_create.iter_info = (__u64)(uintptr_t)info;
	attr.link_create.iter_info_len = sizeof(info);
	link = bpf_call(BPF_LINK_CREATE, &attr, sizeof(attr));
	if (link >= 0 || errno == EPERM)
		return link;
	attr.link_create.iter_info = 0;
	attr.link_create.iter_info_len = 0;
	return bpf_call(BPF_LINK_CREATE, &attr, sizeof(attr));
}

static int bpf_refused(int error, struct err *err)
{
	if (error == EPERM || error == EACCES) {
		err_set(err, -EPERM,
			"cannot read registers with BPF: CAP_BPF and CAP_PERFMON are "
			"required");
		err_hint(err, "use sudo, or --stacks, which stops each thread for a moment");
		return -EPERM;
	}
	err_set(err, -ENOTSUP, "cannot read registers with BPF: %s", strerror(error));
	err_hint(err, "Linux 5.15 or later is required; --stacks works without BPF");
	return -ENOTSUP;
}

static int bpf_no_types(int error, struct err *err)
{
	if (error == EACCES || error == EPERM)
		return bpf_refused(error, err);
	err_set(err, -ENOTSUP, "cannot read registers with BPF: " BPF_TYPES ": %s",
		strerror(error));
	err_hint(err, "the kernel is built without CONFIG_DEBUG_INFO_BTF; --stacks works without "
		      "it");
	return -ENOTSUP;
}

static int bpf_build(struct bpf_code *code, pid_t pid, struct err *err)
{
	struct kernel_btf btf;
	int rc = kernel_btf_open(&btf, BPF_TYPES), tgid_at, pid_at;

	if (rc < 0)
		return bpf_no_types(-rc, err);
	rc = kernel_btf_function(&btf, "bpf_iter_task");
	tgid_at = kernel_btf_member(&btf, "task_struct", "tgid");
	pid_at = kernel_btf_member(&btf, "task_struct", "pid");
	kernel_btf_close(&btf);
	if (rc < 0 || tgid_at < 0 || pid_at < 0 || tgid_at > INT16_MAX || pid_at > INT16_MAX)
		return bpf_refused(ENOSYS, err);
	code->nr = 0;
	code_build(code, pid, tgid_at, pid_at);
	return rc;
}

/* The program sees the numbers of the first pid namespace. */
static bool in_first_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 || st.st_ino == FIRST_PID_NAMESPACE;
}

int registers_bpf_open(struct registers_bpf *b, pid_t pid, struct err *err)
{
	struct bpf_code code;
	int function, program;

	b->link = -1;
	if (!in_first_namespace()) {
		err_set(err, -ENOTSUP, "cannot read registers with BPF in a pid namespace");
		err_hint(err, "run corotracer on the host, or use --stacks");
		return -ENOTSUP;
	}
	function = bpf_build(&code, pid, err);
	if (function < 0)
		return function;
	program = bpf_load(&code, function);
	if (program < 0)
		return bpf_refused(errno, err);
	b->link = bpf_link(program, pid);
	if (b->link < 0) {
		int rc = bpf_refused(errno, err);

		close(program);
		return rc;
	}
	close(program);
	return 0;
}

void registers_bpf_close(struct registers_bpf *b)
{
	if (b->link >= 0)
		close(b->link);
	b->link = -1;
}

/* ---- read ---------------------------------------------------------------- */

static ssize_t bpf_take_records(const struct bytes *out, struct image_thread *threads, size_t nr)
{
	size_t at, i;
	ssize_t found = 0;

	for (at = 0; out->size - at >= sizeof(struct bpf_record); at += sizeof(struct bpf_record)) {
		struct bpf_record record;

		memcpy(&record, out->data + at, sizeof(record));
		for (i = 0; i < nr; i++) {
			/* Usually in the same order. */
			struct image_thread *t = &threads[(at / sizeof(record) + i) % nr];

			if ((uint64_t)t->tid != record.tid)
				continue;
			registers_set(t, record.raw);
			found++;
			break;
		}
	}
	return found;
}

ssize_t registers_bpf_read(struct registers_bpf *b, struct image_thread *threads, size_t nr,
			   struct err *err)
{
	struct bytes out = { 0 };
	union bpf_attr attr;
	ssize_t got = 1;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.iter_create.link_fd = (__u32)b->link;
	fd = bpf_call(BPF_ITER_CREATE, &attr, sizeof(attr));
	if (fd < 0)
		return bpf_refused(errno, err);
	while (got > 0) {
		char *to = bytes_room(&out, 65536);

		got = to ? io_read(fd, to, 65536) : -ENOMEM;
		out.size += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	if (!got)
		got = nr ? bpf_take_records(&out, threads, nr) : 0;
	else
		err_set(err, (int)got, "cannot read registers with BPF: %s", strerror((int)-got));
	bytes_release(&out);
	return got;
}
