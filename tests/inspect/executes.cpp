// SPDX-License-Identifier: MIT
// executes.cpp - a process that changes under a sampler: it loads a library, or executes another
// program, once per line on its standard input: "load FILE", "execute PROGRAM", "exit".
#include "tasks.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

static Gate gate;

static Task<> waits()
{
	co_await gate.wait(); // @waits
}

int main()
{
	char line[4096];

	waits().detach().resume();
	ready();
	while (std::fgets(line, sizeof(line), stdin)) {
		char *word = std::strtok(line, " \n"), *file = std::strtok(nullptr, " \n");

		if (word && file && !std::strcmp(word, "load") && !dlopen(file, RTLD_NOW))
			std::printf("%s\n", dlerror());
		if (word && file && !std::strcmp(word, "execute"))
			execl(file, file, "60", nullptr);
		if (word && !std::strcmp(word, "exit"))
			_exit(0);
		ready();
	}
}
