/* SPDX-License-Identifier: MIT */
/* story_program.h - functions and variables that test_miss_story.c looks up. */
#ifndef TESTS_STORY_PROGRAM_H
#define TESTS_STORY_PROGRAM_H

struct item {
	long key;
	struct item *next;
	char name[48];
	int hits, misses;
	char flag; /* and padding */
};

struct halves {
	long left, right;
};

extern struct item story_items[4];
extern struct halves story_halves;
extern long story_counter;

void story_main(void);
void story_walk(void);
void story_sort(void);
void story_worker(void);
void story_alloc(void);
void story_make(void);

#endif
