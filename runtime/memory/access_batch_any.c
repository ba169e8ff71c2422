/* SPDX-License-Identifier: MIT */
/* access_batch_any.c - pack plain accesses, on any processor. */
#define ACCESS_BATCH crw_plain_any
#include "access_batch_code.h"
