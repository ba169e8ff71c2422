/* SPDX-License-Identifier: MIT */
/* native_stack.c - unwind stacks with libdwfl, from registers and memory of the caller. */
#include "symbols/native_stack.h"

#include <elfutils/libdwfl.h>
#include <elfutils/version.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define NATIVE_PID 1 /* libdwfl wants a number; nothing is done with it */

struct native_unwinder {
	unsigned machine;
	Dwfl *dwfl;
	bool is_attached;
	const struct native_start *start; /* of the stack that is unwound */
	struct native_frame *frames;
	size_t nr;
	bool is_broken; /* it ended before the outermost function */
};

/* ---- modules ------------------------------------------------------------------ */

/* .eh_frame is in the file itself. */
static int native_find_debuginfo(Dwfl_Module *module, void **userdata, const char *name,
				 GElf_Addr base, const char *file, const char *link, GElf_Word crc,
				 char **debug_name)
{
	(void)module, (void)userdata, (void)name, (void)base, (void)file, (void)link, (void)crc;
	(void)debug_name;
	return -1;
}

static int native_find_elf(Dwfl_Module *module, void **userdata, const char *name, GElf_Addr base,
			   char **file_name, Elf **elf)
{
	(void)module, (void)userdata, (void)name, (void)base, (void)file_name, (void)elf;
	return -1;
}

static const Dwfl_Callbacks native_files = {
	.find_elf = native_find_elf,
	.find_debuginfo = native_find_debuginfo,
};

struct native_unwinder *native_unwinder_new(unsigned machine)
{
	struct native_unwinder *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->machine = machine;
	u->dwfl = dwfl_begin(&native_files);
	if (!u->dwfl) {
		free(u);
		return NULL;
	}
	return u;
}

void native_unwinder_add(struct native_unwinder *u, const struct symbol_module *module,
			 const char *open_path)
{
	static char other_build;
	int fd = open(open_path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	Dwfl_Module *added;
	void **userdata;

	if (fd < 0)
		return;
	dwfl_report_begin_add(u->dwfl);
	added = dwfl_report_elf(u->dwfl, module->path, open_path, fd, module->bias, true);
	dwfl_report_end(u->dwfl, NULL, NULL);
	if (!added) {
		close(fd);
		return;
	}
	dwfl_module_info(added, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = module_same_build(added, module->build_id) ? NULL : &other_build;
}

void native_unwinder_free(struct native_unwinder *u)
{
	if (!u)
		return;
	dwfl_end(u->dwfl);
	free(u);
}

/* ---- the thread, as libdwfl asks for it ------------------------------------------- */

static pid_t native_next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	(void)dwfl, (void)arg, (void)thread_arg;
	return 0;
}

static bool native_get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	(void)dwfl, (void)tid;
	*thread_arg = arg;
	return true;
}

static bool native_read_word(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	const struct native_unwinder *u = arg;
	uint64_t word;

	(void)dwfl;
	if (!u->start->read(u->start->arg, addr, &word))
		return false;
	*result = word;
	return true;
}

static unsigned native_sp_number(const struct native_unwinder *u)
{
	return u->machine == EM_AARCH64 ? 31 : 7;
}

static bool native_set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct native_unwinder *u = arg;
	const struct native_start *s = u->start;
	unsigned sp = native_sp_number(u), nr = u->machine == EM_AARCH64 ? 32 : 16, i;
	Dwarf_Word words[32];

	if (s->registers) {
		for (i = 0; i < nr && i < s->nr_registers; i++)
			words[i] = s->registers[i];
		if (!dwfl_thread_state_registers(thread, 0, i, words))
			return false;
	} else {
		words[0] = s->sp;
		if (!dwfl_thread_state_registers(thread, (int)sp, 1, words))
			return false;
	}
	dwfl_thread_state_register_pc(thread, s->pc);
	return true;
}

static const Dwfl_Thread_Callbacks native_thread = {
	.next_thread = native_next_thread,
	.get_thread = native_get_thread,
	.memory_read = native_read_word,
	.set_initial_registers = native_set_registers,
};

/* ---- frames ------------------------------------------------------------------------ */

/* True if .eh_frame describes the code; libdwfl guesses otherwise. */
static bool native_has_cfi(struct native_unwinder *u, uint64_t pc)
{
	Dwfl_Module *module = dwfl_addrmodule(u->dwfl, pc);
	Dwarf_Addr bias = 0;
	Dwarf_CFI *cfi;
	Dwarf_Frame *rules = NULL;
	void **userdata;

	if (!module)
		return false;
	dwfl_module_info(module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	cfi = *userdata ? NULL : dwfl_module_eh_cfi(module, &bias);
	if (!cfi || dwarf_cfi_addrframe(cfi, pc - bias, &rules) != 0)
		return false;
	free(rules);
	return true;
}

#if _ELFUTILS_PREREQ(0, 188)
static void native_read_registers(const struct native_unwinder *u, Dwfl_Frame *state,
				  struct native_frame *frame)
{
	static const unsigned char x86_64[] = { 3, 6, 12, 13, 14, 15 };
	bool is_arm = u->machine == EM_AARCH64;
	unsigned i, nr = is_arm ? 11 : sizeof(x86_64);
	Dwarf_Word word;

	if (dwfl_frame_reg(state, native_sp_number(u), &word) == 0)
		frame->sp = word;
	for (i = 0; i < nr; i++) {
		if (dwfl_frame_reg(state, is_arm ? 19 + i : x86_64[i], &word) == 0)
			frame->saved[frame->nr_saved++] = word;
	}
}
#else
static void native_read_registers(const struct native_unwinder *u, Dwfl_Frame *state,
				  struct native_frame *frame)
{
	(void)u, (void)state, (void)frame;
}
#endif

static int native_add_frame(Dwfl_Frame *state, void *arg)
{
	struct native_unwinder *u = arg;
	struct native_frame *frame = &u->frames[u->nr];
	bool is_activation;
	Dwarf_Addr pc;

	*frame = (struct native_frame){ 0 };
	if (!dwfl_frame_pc(state, &pc, &is_activation)) {
		u->is_broken = true;
		return DWARF_CB_ABORT;
	}
	native_read_registers(u, state, frame);
	frame->pc = is_activation ? pc : pc - 1;
	/* Each call moves up the stack; a damaged stack may be a ring. */
	if (u->nr && frame->sp && frame->sp <= u->frames[u->nr - 1].sp) {
		u->is_broken = true;
		return DWARF_CB_ABORT;
	}
	u->nr++;
	if (u->nr == NATIVE_FRAMES_MAX || !native_has_cfi(u, frame->pc)) {
		u->is_broken = true;
		return DWARF_CB_ABORT;
	}
	return DWARF_CB_OK;
}

size_t native_stack_unwind(struct native_unwinder *u, const struct native_start *start,
			   struct native_frame frames[NATIVE_FRAMES_MAX], bool *is_complete)
{
	u->start = start;
	u->frames = frames;
	u->nr = 0;
	u->is_broken = false;
	*is_complete = false;
	if (!u->is_attached) {
		u->is_attached = dwfl_attach_state(u->dwfl, NULL, NATIVE_PID, &native_thread, u);
		if (!u->is_attached)
			return 0;
	}
	*is_complete = dwfl_getthread_frames(u->dwfl, NATIVE_PID, native_add_frame, u) == 0 &&
		       !u->is_broken;
	return u->nr;
}
