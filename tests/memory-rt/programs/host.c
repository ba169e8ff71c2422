/* SPDX-License-Identifier: MIT */
/* host.c - loads a library and calls it: host PATH */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
	void (*work)(void);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	work = (void (*)(void))dlsym(library, "plugin_work");
	work();
	dlclose(library);
	return 0;
}
