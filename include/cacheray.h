/* SPDX-License-Identifier: MIT */
/*
 * cacheray.h - the name under which programs know corotracer/cacheray.h.
 */
#include "corotracer/cacheray.h"
