/* SPDX-License-Identifier: MIT */
/*
 * coroTracer.h - includes corotracer/coroTracer.h, under the name that existing programs include.
 */
#include "corotracer/coroTracer.h"
