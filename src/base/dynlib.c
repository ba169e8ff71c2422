/* SPDX-License-Identifier: MIT */
/* dynlib.c - load shared libraries when a command first needs them; not in a static program. */
#include "base/dynlib.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#ifdef COROTRACER_STATIC
int dynlib_load(struct dynlib *lib, struct err *err)
{
	size_t i;

	(void)err;
	for (i = 0; i < lib->nr_symbols; i++)
		memcpy(lib->symbols[i].pointer, &lib->symbols[i].linked, sizeof(void *));
	return 0;
}
#else
static int dynlib_missing(const struct dynlib *lib, struct err *err)
{
	err_set(err, -ENOENT, "cannot load %s: %s", lib->file, dlerror());
	err_hint(err, "install the package %s", lib->package);
	return err->code;
}

static int dynlib_resolve(struct dynlib *lib, void *handle, struct err *err)
{
	size_t i;

	for (i = 0; i < lib->nr_symbols; i++) {
		void *function = dlsym(handle, lib->symbols[i].name);

		if (!function)
			return dynlib_missing(lib, err);
		memcpy(lib->symbols[i].pointer, &function, sizeof(function));
	}
	return 0;
}

int dynlib_load(struct dynlib *lib, struct err *err)
{
	void *handle;
	int rc;

	if (lib->handle)
		return 0;
	handle = dlopen(lib->file, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return dynlib_missing(lib, err);
	rc = dynlib_resolve(lib, handle, err);
	if (rc < 0) {
		dlclose(handle);
		return rc;
	}
	lib->handle = handle;
	return 0;
}
#endif
