/* SPDX-License-Identifier: MIT */
/* kernel_btf.h - look up functions and struct members in the kernel's type information (BTF). */
#ifndef PROCESS_KERNEL_BTF_H
#define PROCESS_KERNEL_BTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_btf {
	unsigned char *data;
	size_t size;
	bool is_mapped; /* else from malloc() */
	const unsigned char *types;
	size_t types_size;
	const char *names; /* ends with a zero byte */
	size_t names_size;
	uint32_t *at; /* offset of each type in types; type 0 is void */
	uint32_t nr;
};

/* Read the file; -ENOENT: this kernel has none. */
int kernel_btf_open(struct kernel_btf *btf, const char *path);
void kernel_btf_close(struct kernel_btf *btf);

/* Check and index @size bytes, from malloc(): @btf owns them.  -EINVAL: not valid. */
int kernel_btf_parse(struct kernel_btf *btf, unsigned char *data, size_t size);

/* The number of the function, or -ENOENT. */
int kernel_btf_function(const struct kernel_btf *btf, const char *name);

/* The offset in bytes of a member, also in unnamed members of @type, or -ENOENT. */
int kernel_btf_member(const struct kernel_btf *btf, const char *type, const char *member);

#endif
