/* SPDX-License-Identifier: MIT */
/* mem_machine.c - the simulated caches, from --cache, --config or this computer. */
#include "mem_machine.h"

#include <stdio.h>
#include <string.h>

#include "memory/sim/config.h"

#define SYSFS "/sys/devices/system/cpu"

bool mem_machine_add_cache(void *config, const struct opt_use *use)
{
	struct err err = { 0 };

	return sim_config_level_text(config, use->value, &err) == 0 || opt_failed(use, &err);
}

static int machine_choose(struct mem_machine *m, const struct command *cmd, struct err *err)
{
	struct sim_config given = m->config;

	if (given.nr_levels) {
		snprintf(m->words, sizeof(m->words), "the command line");
		sim_config_default(&m->config);
		memcpy(m->config.level, given.level, sizeof(given.level));
		m->config.nr_levels = given.nr_levels;
		sim_config_finish(&m->config);
		return 0;
	}
	if (m->file) {
		snprintf(m->words, sizeof(m->words), "'%.100s'", m->file);
		return sim_config_read(&m->config, m->file, err);
	}
	snprintf(m->words, sizeof(m->words), "this computer");
	if (sim_config_host(&m->config, SYSFS, err) == 0)
		return 0;
	if (m->host)
		return err->code;
	/* Warn that the simulated machine is not this computer. */
	message_print(cmd->name, "%s: simulating the default machine", err->text);
	fputs("hint: name the caches: --cache 32K,8,64 --cache 8M,16,64, or --config FILE\n",
	      stderr);
	*err = (struct err){ 0 };
	snprintf(m->words, sizeof(m->words), "the default machine: no cache information in /sys");
	sim_config_default(&m->config);
	return 0;
}

bool mem_machine_settle(struct mem_machine *m, const struct command *cmd)
{
	struct err err = { 0 };
	int ways = (m->config.nr_levels > 0) + (m->file != NULL) + m->host;

	if (ways > 1) {
		message_print(cmd->name, "--cache, --config and --host exclude each other");
		return false;
	}
	if (machine_choose(m, cmd, &err) == 0) {
		if (m->cores)
			m->config.cores = m->cores;
		if (sim_config_check(&m->config, &err) == 0)
			return true;
	}
	message_error(cmd->name, &err);
	return false;
}
