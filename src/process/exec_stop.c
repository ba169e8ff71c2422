/* SPDX-License-Identifier: MIT */
/*
 * exec_stop.c - hold a program that is being started before its first instruction.
 *
 * The loader calls _dl_debug_state() for debuggers, an empty function: with RT_ADD before it maps
 * the libraries, and with RT_CONSISTENT when all are relocated, before the first constructor.  A
 * breakpoint there is the stop.  If the loader has no such symbol, the breakpoint is at the entry
 * of the program: constructors of libraries have run then, those of the program have not.
 */
#include "process/exec_stop.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOADER_STOPS 64 /* calls of _dl_debug_state() before the program starts; two are usual */

#if defined(__x86_64__)
#define BREAK_SIZE 1u
static const unsigned char break_code[BREAK_SIZE] = { 0xcc };
#elif defined(__aarch64__)
#define BREAK_SIZE 4u
static const unsigned char break_code[BREAK_SIZE] = { 0x00, 0x00, 0x20, 0xd4 };
#endif

/* Addresses in the new program. */
struct exec_places {
	uint64_t entry;
	uint64_t loader; /* load address of the dynamic loader; 0: a static program */
	uint64_t stop;   /* _dl_debug_state(), or the entry */
	uint64_t debug;  /* _r_debug; 0: none */
};

bool exec_stop_allow(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
}

/* ---- waiting ------------------------------------------------------------- */

/* Until it stops with SIGTRAP; other signals are delivered.  1: it ended. */
static int exec_await_trap(pid_t pid, int *status)
{
	for (;;) {
		if (waitpid(pid, status, 0) < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (!WIFSTOPPED(*status))
			return 1;
		if (WSTOPSIG(*status) == SIGTRAP)
			return 0;
		// NOLINTNEXTLINE(performance-no-int-to-ptr)
		if (ptrace(PTRACE_CONT, pid, NULL, (void *)(intptr_t)WSTOPSIG(*status)) < 0)
			return -errno;
	}
}

/* ---- the program's memory ------------------------------------------------ */

/* Writes pages that the program itself may not write. */
static bool exec_copy(pid_t pid, uint64_t addr, void *buf, size_t size, bool is_write)
{
	char path[64];
	ssize_t done;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, (is_write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = is_write ? pwrite(fd, buf, size, (off_t)addr) : pread(fd, buf, size, (off_t)addr);
	close(fd);
	return done == (ssize_t)size;
}

static bool exec_read_auxv(pid_t pid, struct exec_places *p)
{
	ElfW(auxv_t) auxv[64];
	char path[64];
	ssize_t got;
	size_t i;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, auxv, sizeof(auxv));
	close(fd);
	for (i = 0; got > 0 && i < (size_t)got / sizeof(auxv[0]); i++) {
		if (auxv[i].a_type == AT_ENTRY)
			p->entry = auxv[i].a_un.a_val;
		else if (auxv[i].a_type == AT_BASE)
			p->loader = auxv[i].a_un.a_val;
	}
	return p->entry != 0;
}

/* ---- the loader ---------------------------------------------------------- */

static void exec_scan_symbols(Elf *elf, struct exec_places *p)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data;
		GElf_Shdr header;
		GElf_Sym symbol;
		int i;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM)
			continue;
		data = elf_getdata(section, NULL);
		for (i = 0; data && gelf_getsym(data, i, &symbol); i++) {
			const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);

			if (!name || !symbol.st_value)
				continue;
			if (!strcmp(name, "_dl_debug_state"))
				p->stop = p->loader + symbol.st_value;
			else if (!strcmp(name, "_r_debug"))
				p->debug = p->loader + symbol.st_value;
		}
	}
}

/* The file that is mapped at @addr. */
static int exec_open_mapped(pid_t pid, uint64_t addr)
{
	char path[64], line[512];
	FILE *maps;
	int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (maps && fd < 0 && fgets(line, sizeof(line), maps)) {
		unsigned long long from, to;

		if (sscanf(line, "%llx-%llx", &from, &to) != 2 || from != addr)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pid, from, to);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		/* Some kernels allow map_files to root only. */
		if (fd < 0 && strchr(line, '/')) {
			line[strcspn(line, "\n")] = '\0';
			fd = open(strchr(line, '/'), O_RDONLY | O_CLOEXEC);
		}
	}
	if (maps)
		fclose(maps);
	return fd;
}

static void exec_find_stop(pid_t pid, struct exec_places *p)
{
	int fd = exec_open_mapped(pid, p->loader);
	Elf *elf;

	p->stop = p->entry;
	if (fd < 0 || elf_version(EV_CURRENT) == EV_NONE)
		return;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf)
		exec_scan_symbols(elf, p);
	elf_end(elf);
	close(fd);
	if (!p->debug)
		p->stop = p->entry;
}

/* True if the loader has relocated everything. */
static bool exec_is_loaded(pid_t pid, const struct exec_places *p)
{
	struct r_debug debug;

	if (p->stop == p->entry)
		return true;
	return exec_copy(pid, p->debug, &debug, sizeof(debug), false) && debug.r_map &&
	       debug.r_state == RT_CONSISTENT;
}

/* ---- breakpoint ---------------------------------------------------------- */

#if defined(BREAK_SIZE)
/* Set the program counter; one that is past @addr was moved by the breakpoint. */
static bool exec_set_counter(pid_t pid, uint64_t addr)
{
	struct user_regs_struct regs;
	struct iovec io = { .iov_base = &regs, .iov_len = sizeof(regs) };

	if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &io) < 0)
		return false;
#if defined(__x86_64__)
	if (regs.rip != addr + BREAK_SIZE)
		return false;
	regs.rip = addr;
#else
	if (regs.pc != addr)
		return false;
#endif
	return ptrace(PTRACE_SETREGSET, pid, (void *)NT_PRSTATUS, &io) == 0;
}

/* Execute the original instruction, then set the breakpoint again. */
static int exec_step_over(pid_t pid, uint64_t addr, int *status)
{
	unsigned char trap[BREAK_SIZE];
	int rc;

	memcpy(trap, break_code, sizeof(trap));
	if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) < 0)
		return -errno;
	rc = exec_await_trap(pid, status);
	return rc ? rc : exec_copy(pid, addr, trap, sizeof(trap), true) ? 0 : -EFAULT;
}

/* Continue until the loader is done, at a breakpoint that is gone afterwards. */
static int exec_run_to_stop(pid_t pid, const struct exec_places *p, int *status)
{
	unsigned char code[BREAK_SIZE], trap[BREAK_SIZE];
	bool is_removed;
	unsigned nr;
	int rc;

	memcpy(trap, break_code, sizeof(trap));
	if (!exec_copy(pid, p->stop, code, sizeof(code), false) ||
	    !exec_copy(pid, p->stop, trap, sizeof(trap), true))
		return -EFAULT;
	for (nr = 0; nr < LOADER_STOPS; nr++) {
		if (ptrace(PTRACE_CONT, pid, NULL, NULL) < 0)
			return -errno;
		rc = exec_await_trap(pid, status);
		if (rc)
			return rc;
		/* In any case: the program may run on from here without a tracer. */
		is_removed = exec_copy(pid, p->stop, code, sizeof(code), true);
		if (!exec_set_counter(pid, p->stop) || !is_removed)
			return -EFAULT;
		if (exec_is_loaded(pid, p))
			return 0;
		rc = exec_step_over(pid, p->stop, status);
		if (rc)
			return rc;
	}
	exec_copy(pid, p->stop, code, sizeof(code), true);
	return 0;
}
#endif

int exec_stop_await(pid_t pid, int *status, struct err *err)
{
	struct exec_places places = { 0 };
	int rc = exec_await_trap(pid, status);

	if (rc > 0)
		return 1;
	if (!rc && !exec_read_auxv(pid, &places))
		rc = -EFAULT;
#if defined(BREAK_SIZE)
	if (!rc && places.loader) {
		exec_find_stop(pid, &places);
		rc = exec_run_to_stop(pid, &places, status);
		if (rc > 0)
			return 1;
	}
#endif
	if (rc < 0) {
		err_set(err, rc, "cannot hold the program before it starts: %s", strerror(-rc));
		exec_stop_release(pid);
	}
	return rc;
}

void exec_stop_release(pid_t pid)
{
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
}
