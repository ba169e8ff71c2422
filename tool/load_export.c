/* SPDX-License-Identifier: MIT */
/* load_export.c - `export clickhouse -i TRACE --into URL`: another name of `load --into URL TRACE`.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "load_source.h"
#include "message.h"

/* The trace of "--in=TRACE"; NULL: another word. */
static char *load_export_input(char *word)
{
	return !strncmp(word, "--in=", 5) ? word + 5 : NULL;
}

int load_export(int argc, char **argv)
{
	char **words = calloc((size_t)argc + 1, sizeof(*words));
	char *name = strdup("load");
	int i, nr = 0, status = EXIT_FAILED;

	if (words && name) {
		words[nr++] = name;
		for (i = 2; i < argc; i++) {
			if (!strcmp(argv[i], "-i") || !strcmp(argv[i], "--in"))
				continue; /* the next word is the trace */
			words[nr++] = load_export_input(argv[i]) ? load_export_input(argv[i])
								 : argv[i];
		}
		status = command_load.run(nr, words);
	} else {
		message_print("export", "no memory for the options");
	}
	free(words);
	free(name);
	return status;
}
