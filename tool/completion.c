/* SPDX-License-Identifier: MIT */
/* completion.c - print the bash completion script from the command table. */
#include <stdio.h>

#include "cmd.h"

static void print_options(const struct command *cmd);

/* The subcommands of a command, and the options of each. */
static void print_subs(const struct command *cmd)
{
	size_t i;

	printf("\t%s)\n\t\tif ((COMP_CWORD == 2)); then\n"
	       "\t\t\tmapfile -t COMPREPLY < <(compgen -W '",
	       cmd->name);
	for (i = 0; cmd->subs[i]; i++)
		printf("%s ", command_word(cmd->subs[i]));
	puts("--help' -- \"$cur\")\n\t\t\treturn\n\t\tfi\n\t\tcase ${COMP_WORDS[2]} in");
	for (i = 0; cmd->subs[i]; i++) {
		fputs("\t", stdout);
		print_options(cmd->subs[i]);
	}
	puts("\t\tesac ;;");
}

static void print_options(const struct command *cmd)
{
	const struct opt *o;

	if (cmd->subs) {
		print_subs(cmd);
		return;
	}
	printf("\t%s) options='", command_word(cmd));
	for (o = cmd->opts; o && o->name; o++) {
		if (o->letter)
			printf("-%c ", o->letter);
		printf("--%s ", o->name);
	}
	puts("--help' ;;");
}

int completion_print(void)
{
	size_t i;

	puts("# bash completion for corotracer; made by 'corotracer --completion'\n"
	     "_corotracer()\n{\n"
	     "\tlocal cur=${COMP_WORDS[COMP_CWORD]} options='' i\n"
	     "\tif ((COMP_CWORD == 1)); then");
	fputs("\t\tmapfile -t COMPREPLY < <(compgen -W '", stdout);
	for (i = 0; commands[i]; i++)
		printf("%s%s", i ? " " : "", commands[i]->name);
	puts("' -- \"$cur\")\n\t\treturn\n\tfi\n"
	     "\t# after '--' comes the command line of another program\n"
	     "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	     "\t\tif [[ ${COMP_WORDS[i]} == -- ]]; then\n"
	     "\t\t\tif ((i + 1 == COMP_CWORD)); then\n"
	     "\t\t\t\tmapfile -t COMPREPLY < <(compgen -c -f -- \"$cur\")\n"
	     "\t\t\telse\n"
	     "\t\t\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	     "\t\t\tfi\n\t\t\treturn\n\t\tfi\n\tdone\n"
	     "\tcase ${COMP_WORDS[1]} in");
	for (i = 0; commands[i]; i++)
		print_options(commands[i]);
	puts("\tesac\n"
	     "\tif [[ ${COMP_WORDS[1]} == help ]]; then");
	fputs("\t\tmapfile -t COMPREPLY < <(compgen -W '", stdout);
	for (i = 0; commands[i]; i++)
		printf("%s%s", i ? " " : "", commands[i]->name);
	puts("' -- \"$cur\")\n"
	     "\telif [[ $cur == -* ]]; then\n"
	     "\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
	     "\telse\n"
	     "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	     "\tfi\n}\n"
	     "complete -o filenames -F _corotracer corotracer");
	return EXIT_OK;
}
