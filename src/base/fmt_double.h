/* SPDX-License-Identifier: MIT */
/*
 * fmt_double.h - floating point to the shortest text that reads back as the same number.
 *
 * "0.1", "1.0", "-2.5e-07", "1e+300".  Not a number and infinities have no digits: the
 * caller deals with them.
 */
#ifndef BASE_FMT_DOUBLE_H
#define BASE_FMT_DOUBLE_H

/* Long enough for any number, with what the formatters write past its end (fmt.h). */
#define FMT_DOUBLE_MAX 40

/* Once before the first number; calling it again does no harm.  Not while another thread formats.
 */
void fmt_double_init(void);

/* @v must be finite.  Not terminated.  Returns the end. */
char *fmt_double(char *p, double v);
char *fmt_float(char *p, float v);

#endif
