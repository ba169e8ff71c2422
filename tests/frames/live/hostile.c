/* SPDX-License-Identifier: MIT */
/*
 * hostile.c - a program that attacks its collector.
 *
 *	hostile MODE [SEED]
 *
 * MODE selects the description of buffer Evil; with "scribble" it maps the offered ring
 * and writes random bytes all over it, with "jump", "shrink" and
 * "elsewhere" it attaches properly and then puts a false value into one field.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "frames/spec/frames_abi.h"
#include "ppt-Fixed.h"

extern const char *const __ppt_Fixed_json;

const char *__ppt_Evil_json __attribute__((used));
struct ppt_hmem __ppt_Evil_hmem __attribute__((used, aligned(8)));
struct ppt_stat __ppt_Evil_stat __attribute__((used, aligned(8)));

static uint64_t state = 88172645463325252u;

static uint64_t roll(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* ---- descriptions -------------------------------------------------------- */

static char *with(const char *from, const char *to)
{
	const char *text = __ppt_Fixed_json, *at = strstr(text, from);
	char *out = malloc(strlen(text) + strlen(to) + 1);

	if (!at || !out)
		exit(3);
	sprintf(out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	return out;
}

static void choose_json(const char *mode)
{
	char *text;
	size_t i;

	if (!strcmp(mode, "garbage")) {
		text = malloc(5001);
		for (i = 0; i < 5000; i++)
			text[i] = (char)(roll() % 255 + 1);
		text[5000] = '\0';
		__ppt_Evil_json = text;
	} else if (!strcmp(mode, "deep")) {
		text = malloc(1 << 20);
		memset(text, '[', (1 << 20) - 1);
		text[(1 << 20) - 1] = '\0';
		__ppt_Evil_json = text;
	} else if (!strcmp(mode, "endless")) {
		/* Not terminated, and the memory behind it is not mapped. */
		text = mmap(NULL, 64u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
		memset(text, ' ', 64u << 20);
		__ppt_Evil_json = text;
	} else if (!strcmp(mode, "cliff")) {
		text = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		munmap(text + 4096, 4096);
		memset(text, ' ', 4096);
		__ppt_Evil_json = text;
	} else if (!strcmp(mode, "null")) {
		__ppt_Evil_json = NULL;
	} else if (!strcmp(mode, "kernel")) {
		__ppt_Evil_json = (const char *)(uintptr_t)0xffffffff81000000u;
	} else if (!strcmp(mode, "abi2")) {
		__ppt_Evil_json = with("\"abi\":\"1.1.0\"", "\"abi\":\"2.0.0\"");
	} else if (!strcmp(mode, "newer")) {
		__ppt_Evil_json = with("\"abi\":\"1.1.0\"", "\"abi\":\"1.9.3\",\"news\":[1,{}]");
	} else {
		__ppt_Evil_json = __ppt_Fixed_json;
	}
}

/* ---- rings --------------------------------------------------------------- */

static uint8_t *await_ring(size_t *size)
{
	struct shmid_ds ds;
	uint8_t *map;
	int id;

	while ((id = __atomic_load_n(&__ppt_Evil_hmem.id, __ATOMIC_RELAXED)) <= 0)
		usleep(200);
	if (shmctl(id, IPC_STAT, &ds) < 0)
		return NULL;
	map = shmat(id, NULL, 0);
	*size = ds.shm_segsz;
	return (intptr_t)map == -1 ? NULL : map;
}

/* As a correct client would. */
static void attach_well(struct ppt_control *c, size_t size)
{
	/* From the metadata of the description; the test's buffer has this one. */
	const char *at = strstr(__ppt_Fixed_json, "\"stride\":");
	uint32_t stride = at ? (uint32_t)strtoul(at + 9, NULL, 10) : 0;
	uint64_t slots = 2;

	if (!stride)
		exit(3);
	c->data_offset = ppt_slot0_offset(PPT_CONTROL_SIZE, stride);
	while (c->data_offset + slots * 2 * stride <= size)
		slots *= 2;
	c->stride = stride;
	c->data_block_sz = slots;
	c->data_block = (uint64_t)(uintptr_t)c + c->data_offset;
	c->client_pid = getpid();
	__atomic_store_n(&c->client_flags, PPT_CLIENT_FLAG_ATTACHED, __ATOMIC_RELEASE);
}

static void scribble(uint8_t *map, size_t size)
{
	struct ppt_control *c = (struct ppt_control *)map;

	if (roll() % 2)
		attach_well(c, size);
	for (;;) {
		size_t at = roll() % 4 ? roll() % sizeof(*c) : roll() % size;

		map[at] = (uint8_t)roll();
		if (roll() % 64 == 0)
			c->next_ticket += roll() % 100000;
		if (roll() % 256 == 0)
			usleep(50);
	}
}

static void lie(const char *mode, struct ppt_control *c, size_t size)
{
	attach_well(c, size);
	if (!strcmp(mode, "elsewhere"))
		c->data_offset += 4096;
	if (!strcmp(mode, "more"))
		c->data_block_sz = UINT64_MAX / 2;
	usleep(20000);
	if (!strcmp(mode, "jump"))
		c->next_ticket = UINT64_C(1) << 62;
	if (!strcmp(mode, "shrink"))
		c->next_ticket = 0;
	pause();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "scribble";
	size_t size = 0;
	uint8_t *map;

	state += argc > 2 ? strtoull(argv[2], NULL, 10) * 7919 : 0;
	choose_json(mode);
	puts("ready");
	fflush(stdout);
	for (;;) {
		map = await_ring(&size);
		if (map && !strcmp(mode, "scribble"))
			scribble(map, size);
		else if (map)
			lie(mode, (struct ppt_control *)map, size);
	}
}
