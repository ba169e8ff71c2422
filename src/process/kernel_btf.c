/* SPDX-License-Identifier: MIT */
/* kernel_btf.c - parse BTF, the format of /sys/kernel/btf/vmlinux. */
#include "process/kernel_btf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

#define BTF_SIZE_MAX  ((off_t)256 << 20)
#define BTF_DEPTH_MAX 4 /* of unnamed structs */

/* Bytes behind the struct btf_type of each kind; for a list: per entry. */
static int btf_tail_size(uint32_t info, size_t *size)
{
	size_t nr = BTF_INFO_VLEN(info);

	switch (BTF_INFO_KIND(info)) {
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case 16: /* BTF_KIND_FLOAT */
	case 18: /* BTF_KIND_TYPE_TAG */
		*size = 0;
		return 0;
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case 17: /* BTF_KIND_DECL_TAG */
		*size = 4;
		return 0;
	case BTF_KIND_ARRAY:
		*size = sizeof(struct btf_array);
		return 0;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		*size = nr * sizeof(struct btf_member);
		return 0;
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		*size = nr * 8;
		return 0;
	case BTF_KIND_DATASEC:
	case 19: /* BTF_KIND_ENUM64 */
		*size = nr * 12;
		return 0;
	default:
		return -EINVAL;
	}
}

static const char *btf_name(const struct kernel_btf *btf, uint32_t at)
{
	return at < btf->names_size ? btf->names + at : "";
}

static struct btf_type btf_type_at(const struct kernel_btf *btf, uint32_t nr)
{
	struct btf_type t = { 0 };

	if (nr && nr < btf->nr)
		memcpy(&t, btf->types + btf->at[nr], sizeof(t));
	return t;
}

/* The kernel has about 150,000 types of 12 bytes and more. */
static int btf_index(struct kernel_btf *btf)
{
	size_t at = 0, tail;

	btf->at = calloc(btf->types_size / sizeof(struct btf_type) + 2, sizeof(*btf->at));
	if (!btf->at)
		return -ENOMEM;
	for (btf->nr = 1; btf->types_size - at >= sizeof(struct btf_type); btf->nr++) {
		struct btf_type t;

		memcpy(&t, btf->types + at, sizeof(t));
		btf->at[btf->nr] = (uint32_t)at;
		at += sizeof(t);
		if (btf_tail_size(t.info, &tail) < 0 || tail > btf->types_size - at)
			return -EINVAL;
		at += tail;
	}
	return 0;
}

static int btf_parse(struct kernel_btf *btf)
{
	const unsigned char *data = btf->data;
	size_t size = btf->size;
	struct btf_header h;
	int rc = -EINVAL;

	if (size >= sizeof(h)) {
		memcpy(&h, data, sizeof(h));
		if (h.magic == BTF_MAGIC && h.hdr_len >= sizeof(h) && h.hdr_len <= size &&
		    h.type_off <= size - h.hdr_len && h.type_len <= size - h.hdr_len - h.type_off &&
		    h.str_off <= size - h.hdr_len && h.str_len &&
		    h.str_len <= size - h.hdr_len - h.str_off &&
		    !data[h.hdr_len + h.str_off + h.str_len - 1])
			rc = 0;
	}
	if (!rc) {
		btf->types = data + h.hdr_len + h.type_off;
		btf->types_size = h.type_len;
		btf->names = (const char *)data + h.hdr_len + h.str_off;
		btf->names_size = h.str_len;
		rc = btf_index(btf);
	}
	if (rc < 0)
		kernel_btf_close(btf);
	return rc;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): kernel_btf_close() frees it */
int kernel_btf_parse(struct kernel_btf *btf, unsigned char *data, size_t size)
{
	*btf = (struct kernel_btf){ .data = data, .size = size };
	return btf_parse(btf);
}

/* Kernels before 6.16 cannot map the file, and give one page per read(2). */
static int btf_load(struct kernel_btf *btf, int fd, size_t size)
{
	void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	ssize_t got = 1;

	if (map != MAP_FAILED) {
		*btf = (struct kernel_btf){ .data = map, .size = size, .is_mapped = true };
		return 0;
	}
	btf->data = malloc(size);
	if (!btf->data)
		return -ENOMEM;
	while (got > 0 && btf->size < size) {
		got = io_read(fd, btf->data + btf->size, size - btf->size);
		btf->size += got > 0 ? (size_t)got : 0;
	}
	return got < 0 ? (int)got : 0;
}

int kernel_btf_open(struct kernel_btf *btf, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;
	struct stat st;

	*btf = (struct kernel_btf){ 0 };
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > BTF_SIZE_MAX)
		rc = -EINVAL;
	else
		rc = btf_load(btf, fd, (size_t)st.st_size);
	close(fd);
	if (!rc)
		return btf_parse(btf);
	kernel_btf_close(btf);
	return rc;
}

void kernel_btf_close(struct kernel_btf *btf)
{
	if (btf->is_mapped)
		munmap(btf->data, btf->size);
	else
		free(btf->data);
	free(btf->at);
	*btf = (struct kernel_btf){ 0 };
}

static int btf_find(const struct kernel_btf *btf, uint32_t kind, const char *name)
{
	uint32_t i;

	for (i = 1; i < btf->nr; i++) {
		struct btf_type t = btf_type_at(btf, i);

		if (BTF_INFO_KIND(t.info) == kind && !strcmp(btf_name(btf, t.name_off), name))
			return (int)i;
	}
	return -ENOENT;
}

int kernel_btf_function(const struct kernel_btf *btf, const char *name)
{
	return btf_find(btf, BTF_KIND_FUNC, name);
}

static int btf_find_member(const struct kernel_btf *btf, uint32_t nr, const char *member,
			   unsigned depth)
{
	struct btf_type t = btf_type_at(btf, nr);
	uint32_t kind = BTF_INFO_KIND(t.info), i;

	if (depth > BTF_DEPTH_MAX || (kind != BTF_KIND_STRUCT && kind != BTF_KIND_UNION))
		return -ENOENT;
	for (i = 0; i < BTF_INFO_VLEN(t.info); i++) {
		struct btf_member m;
		uint32_t bits;
		int inner;

		memcpy(&m, btf->types + btf->at[nr] + sizeof(t) + i * sizeof(m), sizeof(m));
		/* With bit fields the size is in the upper byte. */
		bits = BTF_INFO_KFLAG(t.info) ? BTF_MEMBER_BIT_OFFSET(m.offset) : m.offset;
		if (!strcmp(btf_name(btf, m.name_off), member))
			return (int)(bits / 8);
		if (*btf_name(btf, m.name_off))
			continue;
		inner = btf_find_member(btf, m.type, member, depth + 1);
		if (inner >= 0)
			return (int)(bits / 8) + inner;
	}
	return -ENOENT;
}

int kernel_btf_member(const struct kernel_btf *btf, const char *type, const char *member)
{
	int nr = btf_find(btf, BTF_KIND_STRUCT, type);

	return nr < 0 ? nr : btf_find_member(btf, (uint32_t)nr, member, 0);
}
