/* SPDX-License-Identifier: MIT */
/* module.c - find and check a file that a traced process had mapped. */
#include "symbols/module.h"

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "symbols/symbol_spans.h"

static struct module_watch *watch;

void module_set_watch(struct module_watch *to)
{
	watch = to;
}

static bool is_known_damaged(const char *path)
{
	unsigned i;

	for (i = 0; watch && i < watch->nr_damaged && i < MODULE_WATCH_MAX; i++) {
		if (!strncmp(watch->damaged[i], path, MODULE_WATCH_PATH - 1))
			return true;
	}
	return false;
}

static void tell_watch(const struct module_file *f)
{
	static const struct module_file *last;

	if (!watch || (last == f && watch->reading[0]))
		return;
	last = f;
	snprintf(watch->reading, sizeof(watch->reading), "%s", f->module.path);
}

int module_file_init(struct module_file *f, const struct symbol_module *module)
{
	*f = (struct module_file){ .module = *module };
	f->module.path = strdup(module->path ? module->path : "");
	f->module.build_id = module->build_id ? strdup(module->build_id) : NULL;
	if (f->module.path && (!module->build_id || f->module.build_id))
		return 0;
	module_file_release(f);
	return -ENOMEM;
}

/* ---- debug files ----------------------------------------------------------- */

static const char *debug_dir;
static char *debug_path;

void module_set_debug_dir(const char *dir)
{
	debug_dir = dir;
	free(debug_path);
	if (asprintf(&debug_path, "%s:-:.debug:/usr/lib/debug", dir) < 0)
		debug_path = NULL;
}

/* True if the file has the build-id of the module. */
static bool debug_file_fits(int fd, Dwfl_Module *module)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	const unsigned char *wanted;
	const void *found = NULL;
	GElf_Addr ignored;
	ssize_t size = elf ? dwelf_elf_gnu_build_id(elf, &found) : 0;
	int wanted_size = dwfl_module_build_id(module, &wanted, &ignored);
	bool fits = wanted_size > 0 && size == wanted_size &&
		    !memcmp(found, wanted, (size_t)wanted_size);

	elf_end(elf);
	return fits;
}

/* DIR/NAME or DIR/NAME.debug; a descriptor, or -1. */
static int debug_file_by_name(Dwfl_Module *module, const char *path, char **name)
{
	static const char *const forms[] = { "%s/%s", "%s/%s.debug" };
	size_t i;

	for (i = 0; debug_dir && i < 2; i++) {
		int fd;

		// NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): one of two constants
		if (asprintf(name, forms[i], debug_dir, path_base(path)) < 0)
			break;
		fd = open(*name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd >= 0 && debug_file_fits(fd, module))
			return fd;
		if (fd >= 0)
			close(fd);
		free(*name);
		*name = NULL;
	}
	return -1;
}

static int module_find_debuginfo(Dwfl_Module *module, void **userdata, const char *modname,
				 GElf_Addr base, const char *file_name, const char *link,
				 GElf_Word crc, char **debug_name)
{
	int fd = dwfl_standard_find_debuginfo(module, userdata, modname, base, file_name, link, crc,
					      debug_name);
	const char *real_path = *userdata;

	return fd >= 0 || !real_path ? fd : debug_file_by_name(module, real_path, debug_name);
}

int module_find_debug_file(struct module_file *f, char **name)
{
	const char *module_name, *main_file = NULL, *link = NULL;
	GElf_Addr bias, start = 0;
	GElf_Word crc = 0;
	void **userdata;
	Elf *elf = dwfl_module_getelf(f->dwfl_module, &bias);

	*name = NULL;
	module_name = dwfl_module_info(f->dwfl_module, &userdata, &start, NULL, NULL, NULL,
				       &main_file, NULL);
	if (elf)
		link = dwelf_elf_gnu_debuglink(elf, &crc);
	return module_find_debuginfo(f->dwfl_module, userdata, module_name, start, main_file, link,
				     crc, name);
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = module_find_debuginfo,
	.debuginfo_path = &debug_path,
};

/* Load bias: mapped address minus the file's address, from the segment that the mapping shows. */
static bool bias_of(int fd, const struct symbol_module *m, uint64_t *bias)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	bool found = false;
	size_t nr = 0, i;

	if (elf && elf_getphdrnum(elf, &nr) == 0) {
		for (i = 0; i < nr && !found; i++) {
			uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
			GElf_Phdr ph;

			if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
			    (ph.p_offset & ~page) != m->offset)
				continue;
			*bias = m->start - (ph.p_vaddr & ~page);
			found = true;
		}
	}
	elf_end(elf);
	return found;
}

bool module_same_build(Dwfl_Module *module, const char *wanted)
{
	const unsigned char *bits;
	GElf_Addr ignored;
	int size = dwfl_module_build_id(module, &bits, &ignored), i;
	char hex[3];

	/* Without a build-id in the trace there is nothing to compare. */
	if (!wanted)
		return true;
	if (size <= 0 || strlen(wanted) != (size_t)size * 2)
		return false;
	for (i = 0; i < size; i++) {
		snprintf(hex, sizeof(hex), "%02x", bits[i]);
		if (memcmp(hex, wanted + (size_t)i * 2, 2) != 0)
			return false;
	}
	return true;
}

static enum module_state module_open_file(struct module_file *f)
{
	int fd = open(f->module.path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	void **userdata;
	uint64_t bias;

	if (fd < 0)
		return MODULE_NO_FILE;
	elf_version(EV_CURRENT);
	bias = f->module.bias;
	if (!f->module.has_bias && !bias_of(fd, &f->module, &bias)) {
		close(fd);
		return MODULE_NO_ELF;
	}
	f->dwfl = dwfl_begin(&callbacks);
	if (!f->dwfl) {
		close(fd);
		return MODULE_NO_ELF;
	}
	dwfl_report_begin(f->dwfl);
	f->dwfl_module = dwfl_report_elf(f->dwfl, f->module.path, f->module.path, fd, bias, true);
	dwfl_report_end(f->dwfl, NULL, NULL);
	if (!f->dwfl_module) {
		close(fd);
		return MODULE_NO_ELF;
	}
	dwfl_module_info(f->dwfl_module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = f->real_path;
	return module_same_build(f->dwfl_module, f->module.build_id) ? MODULE_READY
								     : MODULE_OTHER_BUILD;
}

bool module_file_ready(struct module_file *f)
{
	if (f->state == MODULE_UNTRIED && is_known_damaged(f->module.path))
		f->state = MODULE_DAMAGED;
	if (f->state == MODULE_UNTRIED || f->state == MODULE_READY)
		tell_watch(f);
	if (f->state == MODULE_UNTRIED)
		f->state = module_open_file(f);
	return f->state == MODULE_READY;
}

const char *module_file_symbol(struct module_file *f, uint64_t addr, uint64_t *offset,
			       GElf_Sym *sym)
{
	if (!f->spans)
		f->spans = calloc(1, sizeof(*f->spans));
	if (f->spans)
		return symbol_spans_find(f->spans, f->dwfl_module, addr, offset, sym);
	return dwfl_module_addrinfo(f->dwfl_module, addr, offset, sym, NULL, NULL, NULL);
}

const char *module_state_words(enum module_state state)
{
	static const char *const words[] = {
		[MODULE_UNTRIED] = "was not looked at",
		[MODULE_READY] = "is there",
		[MODULE_NO_FILE] = "no longer exists",
		[MODULE_OTHER_BUILD] = "was rebuilt after the trace was recorded",
		[MODULE_NO_ELF] = "cannot be read as a program",
		[MODULE_DAMAGED] = "is damaged",
	};

	return words[state];
}

void module_file_release(struct module_file *f)
{
	if (f->spans)
		symbol_spans_release(f->spans);
	free(f->spans);
	if (f->dwfl)
		dwfl_end(f->dwfl);
	free((void *)f->module.path);
	free((void *)f->module.build_id);
	free(f->real_path);
	*f = (struct module_file){ 0 };
}
