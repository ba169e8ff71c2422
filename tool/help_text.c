/* SPDX-License-Identifier: MIT */
/* help_text.c - the help of one command, from its table of options. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"

const char *command_word(const struct command *cmd)
{
	const char *space = strrchr(cmd->name, ' ');

	return space ? space + 1 : cmd->name;
}

/* Names of the options that few users need: the help must fit a screen. */
static void help_print_rare(const struct command *cmd)
{
	const struct opt *o;
	size_t column = 0;

	for (o = cmd->opts; o && o->name; o++) {
		size_t size = strlen(o->name) + 4; /* with "--" and ", " */

		if (!o->help || !o->is_rare)
			continue;
		if (!column)
			column = (size_t)printf("  see man corotracer:");
		else
			column += (size_t)printf(",");
		if (column + size > 98)
			column = (size_t)printf("\n   ") - 1;
		column += (size_t)printf(" --%s", o->name);
	}
	if (column)
		putchar('\n');
}

void command_help_print(const struct command *cmd)
{
	const struct opt *o;
	size_t i;

	printf("usage: corotracer %s%s%s\n\n%s\n", cmd->name, *cmd->args ? " " : "", cmd->args,
	       cmd->summary);
	for (i = 0; cmd->subs && cmd->subs[i]; i++)
		printf("%s  %-9s %s\n", i ? "" : "\n", command_word(cmd->subs[i]),
		       cmd->subs[i]->summary);
	for (o = cmd->opts; o && o->name; o++) {
		char left[64];

		if (!o->help || o->is_rare)
			continue;
		snprintf(left, sizeof(left), "%c%c%s--%s%s%s", o->letter ? '-' : ' ',
			 o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name,
			 o->arg && o->arg[0] != '[' ? " " : "", o->arg ? o->arg : "");
		printf("%s  %-26s %s\n", o == cmd->opts ? "\n" : "", left, o->help);
	}
	help_print_rare(cmd);
	if (cmd->details)
		printf("\n%s", cmd->details);
}
