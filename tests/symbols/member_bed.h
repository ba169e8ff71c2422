/* SPDX-License-Identifier: MIT */
/* member_bed.h - an object with members of many kinds, and where they are. */
#ifndef TESTS_MEMBER_BED_H
#define TESTS_MEMBER_BED_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct member_bed_place {
	const char *name;
	const void *at;
};

extern const struct member_bed_place member_bed_places[];
const void *member_bed_whole(void);
unsigned member_bed_lines(unsigned number); /* of the variables in blocks */
int member_bed_blocks(int value);

#ifdef __cplusplus
}
#endif

#endif
