/* SPDX-License-Identifier: MIT */
/*
 * fuzz_host_caches.c - the description of this computer's caches in /sys, against hostile contents.
 *
 * The lines of the input become the files of two caches.  What is accepted and passes the check of
 * a machine has levels that can be simulated.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory/sim/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#include "text_mutations.h"

static char host_root[64];
static uint64_t nr_machines, nr_refused_machines;

static const char *const host_files[] = {
	"online",
	"cpu0/cache/index0/type",
	"cpu0/cache/index0/level",
	"cpu0/cache/index0/size",
	"cpu0/cache/index0/coherency_line_size",
	"cpu0/cache/index0/ways_of_associativity",
	"cpu0/cache/index0/shared_cpu_list",
	"cpu0/cache/index1/type",
	"cpu0/cache/index1/level",
	"cpu0/cache/index1/size",
	"cpu0/cache/index1/coherency_line_size",
	"cpu0/cache/index1/ways_of_associativity",
	"cpu0/cache/index1/shared_cpu_list",
};

#define NR_HOST_FILES (sizeof(host_files) / sizeof(host_files[0]))

static void host_remove(void)
{
	static const char *const folders[] = { "cpu0/cache/index0", "cpu0/cache/index1",
					       "cpu0/cache", "cpu0", "" };
	char path[128];
	size_t i;

	for (i = 0; i < NR_HOST_FILES; i++) {
		snprintf(path, sizeof(path), "%s/%s", host_root, host_files[i]);
		unlink(path);
	}
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", host_root, folders[i]);
		rmdir(path);
	}
}

static void host_make(void)
{
	static const char *const folders[] = { "cpu0", "cpu0/cache", "cpu0/cache/index0",
					       "cpu0/cache/index1" };
	const char *tmp = getenv("TMPDIR");
	char path[128];
	size_t i;

	snprintf(host_root, sizeof(host_root), "%s/ct_host_XXXXXX", tmp ? tmp : "/tmp");
	MUST_HOLD(mkdtemp(host_root) != NULL);
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", host_root, folders[i]);
		MUST_HOLD(mkdir(path, 0700) == 0);
	}
	atexit(host_remove);
}

/* A line "-" is a file that does not exist. */
static void host_write(const char *name, const uint8_t *line, size_t size)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", host_root, name);
	if (size == 1 && line[0] == '-') {
		unlink(path);
		return;
	}
	file = fopen(path, "we");
	MUST_HOLD(file && fwrite(line, 1, size, file) == size && fclose(file) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sim_config config;
	struct err err = { 0 };
	uint32_t k;
	size_t i;

	if (!host_root[0])
		host_make();
	for (i = 0; i < NR_HOST_FILES; i++) {
		const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
		size_t length = end ? (size_t)(end - data) : size;

		host_write(host_files[i], data, length);
		data += end ? length + 1 : length;
		size -= end ? length + 1 : length;
	}
	if (sim_config_host(&config, host_root, &err) < 0 || sim_config_check(&config, &err) < 0) {
		MUST_HOLD(err.text[0]);
		nr_refused_machines++;
		return 0;
	}
	nr_machines++;
	MUST_HOLD(config.nr_levels >= 1 && config.nr_levels <= SIM_LEVELS_MAX);
	for (k = 0; k < config.nr_levels; k++)
		MUST_HOLD(config.level[k].size && config.level[k].line);
	return 0;
}

#ifndef FUZZ_LIBFUZZER

int main(int argc, char **argv)
{
	static const char *const seeds[] = {
		"0-7\nData\n1\n32K\n64\n8\n0-1\nUnified\n2\n1024K\n64\n16\n0-1\n",
		"0\nUnified\n3\n8M\n64\n16\n0\nInstruction\n1\n32K\n64\n8\n0\n", NULL
	};
	static const char *const words[] = {
		"0-3,8", "Data",       "Instruction", "Unified", "K", "M",  "64",
		"-\n",   "4294967295", "0",           ",",       "-", "\n", "99999999999999999999",
		NULL
	};
	struct text_source source = { seeds, words, 0 };
	unsigned long rounds = text_rounds(argc, argv);

	text_inputs(&source, rounds);
	printf("%lu inputs: %llu machines, %llu refused\n", rounds, (unsigned long long)nr_machines,
	       (unsigned long long)nr_refused_machines);
	if (rounds >= 100)
		MUST_HOLD(nr_machines && nr_refused_machines);
	return 0;
}

#endif
