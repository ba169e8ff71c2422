/* SPDX-License-Identifier: MIT */
/* story_program.c - functions and variables that test_miss_story.c looks up. */
#include "story_program.h"

struct item story_items[4] __attribute__((aligned(64)));
struct halves story_halves __attribute__((aligned(64)));
long story_counter __attribute__((aligned(64)));
static volatile long story_used;

/* A line each: where a function begins is not the same line for each compiler. */
/* clang-format off */
void story_main(void) { story_used = 1; }
void story_walk(void) { story_used = 2; }
void story_sort(void) { story_used = 3; }
void story_worker(void) { story_used = 4; }
void story_alloc(void) { story_used = 5; }
void story_make(void) { story_used = 6; }
/* clang-format on */
