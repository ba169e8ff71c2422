/* SPDX-License-Identifier: MIT */
/*
 * cacheray.h - includes corotracer/cacheray.h, under the name that existing programs include.
 */
#include "corotracer/cacheray.h"
