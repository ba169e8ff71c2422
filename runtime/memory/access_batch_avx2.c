/* SPDX-License-Identifier: MIT */
/* access_batch_avx2.c - pack plain accesses, with AVX2 and BMI2. */
#if defined(__x86_64__)
#define ACCESS_BATCH crw_plain_avx2
#include "access_batch_code.h"
#endif
