/* SPDX-License-Identifier: MIT */
/* type_files.c - types from a program, or from the JSON of its types, that the user names. */
#include "memory/types/type_files.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "memory/types/type_model.h"

#define JSON_SIZE_MAX (UINT64_C(1) << 28)

/* ---- a program ------------------------------------------------------------- */

/* Split "a.out@0x555555554000" at its last @, if a hexadecimal number follows. */
static char *program_split(const char *text, bool *has_address, uint64_t *address)
{
	char *path = strdup(text), *at = path ? strrchr(path, '@') : NULL, *end;

	*has_address = false;
	if (!at || strncmp(at + 1, "0x", 2) != 0)
		return path;
	errno = 0;
	*address = strtoull(at + 1, &end, 16);
	if (*end || errno || !at[3])
		return path;
	*has_address = true;
	*at = '\0';
	return path;
}

/* Where the program is mapped: at its own addresses, or moved by the given address. */
static bool program_span(int fd, struct symbol_module *m, bool has_address, uint64_t address)
{
	Elf *elf;
	GElf_Ehdr head;
	GElf_Phdr ph;
	size_t nr = 0, i;
	bool is_fixed;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || !gelf_getehdr(elf, &head) || elf_getphdrnum(elf, &nr) != 0) {
		elf_end(elf);
		return false;
	}
	is_fixed = head.e_type == ET_EXEC;
	m->bias = is_fixed || !has_address ? 0 : address;
	for (i = 0; i < nr && (is_fixed || has_address); i++) {
		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD)
			continue;
		if (!m->end || ph.p_vaddr + m->bias < m->start)
			m->start = ph.p_vaddr + m->bias;
		if (ph.p_vaddr + ph.p_memsz + m->bias > m->end)
			m->end = ph.p_vaddr + ph.p_memsz + m->bias;
	}
	elf_end(elf);
	return true;
}

static int program_add(struct types *t, const char *path, bool has_address, uint64_t address,
		       struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct symbol_module module = { .has_bias = true, .path = path };
	struct types_module *m;
	bool is_elf;

	if (fd < 0)
		return err_errno(err, "cannot open '%s'", path);
	is_elf = program_span(fd, &module, has_address, address);
	close(fd);
	if (!is_elf) {
		err_set(err, -EINVAL, "cannot read '%s': it is not an ELF file", path);
		err_hint(err, "--program takes the traced program, --dwarf the JSON of its types");
		return err->code;
	}
	m = types_push_module(t, &module);
	if (!m)
		return err_set(err, -ENOMEM, "no memory for the types of '%s'", path);
	if (!types_is_ready(t, m))
		return err_set(err, -EINVAL, "cannot read '%s': it %s", path,
			       module_state_words(m->file.state));
	if (m->no_debug) {
		err_set(err, -ENOENT, "cannot read types of '%s': it has no debug information",
			path);
		err_hint(err, "compile it with -g, or name the file before strip");
		return err->code;
	}
	return 0;
}

static int program_read(struct types *t, const char *text, struct err *err)
{
	uint64_t address = 0;
	bool has_address;
	char *path = program_split(text, &has_address, &address);
	int ret = path ? program_add(t, path, has_address, address, err)
		       : err_set(err, -ENOMEM, "no memory for '%s'", text);

	free(path);
	return ret;
}

/* ---- JSON -------------------------------------------------------------------- */

static int type_files_load(int fd, const char *path, char **text, size_t *size, struct err *err)
{
	size_t room = 1u << 16;
	ssize_t got = 1;

	*size = 0;
	*text = malloc(room);
	while (*text && got > 0) {
		if (*size == room) {
			char *more = room < JSON_SIZE_MAX ? realloc(*text, room * 2) : NULL;

			if (!more)
				return err_set(err, -EFBIG,
					       "cannot read '%s': too large, or no memory", path);
			*text = more;
			room *= 2;
		}
		got = io_read(fd, *text + *size, room - *size);
		*size += got > 0 ? (size_t)got : 0;
	}
	if (!*text)
		return err_set(err, -ENOMEM, "no memory to read '%s'", path);
	if (got < 0) {
		errno = (int)-got;
		return err_errno(err, "cannot read '%s'", path);
	}
	return 0;
}

static int type_files_json(struct types *t, const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;
	char *text = NULL;
	size_t size;

	if (fd < 0)
		return err_errno(err, "cannot open '%s'", path);
	ret = type_files_load(fd, path, &text, &size, err);
	close(fd);
	if (ret == 0)
		ret = types_parse_json(t, text, size, path, err);
	free(text);
	return ret;
}

int types_add_files(struct types *t, const struct type_files *files, struct err *err)
{
	int ret = 0;

	if (files->program)
		ret = program_read(t, files->program, err);
	if (ret == 0 && files->json)
		ret = type_files_json(t, files->json, err);
	return ret;
}
