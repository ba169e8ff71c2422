/* SPDX-License-Identifier: MIT */
/*
 * weak_sites.h - the ordered accesses of the code under test, by address, and how to weaken one.
 */
#ifndef WEAK_SITES_H
#define WEAK_SITES_H

/* The order to use for the access at @at: @order, or less if it is to be weakened. */
unsigned weak_site(const void *at, char kind, unsigned order);

/* The same for a compare-and-swap that fails. */
unsigned weak_failed_site(const void *at, unsigned order);

#endif
