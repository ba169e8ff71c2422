/* SPDX-License-Identifier: MIT */
/*
 * fmt_double.h - format floating point as the shortest text that reads back as the same number.
 *
 * "0.1", "1.0", "-2.5e-07", "1e+300".  NaN and infinities have no digits: the caller handles them.
 */
#ifndef BASE_FMT_DOUBLE_H
#define BASE_FMT_DOUBLE_H

/* Size for any number, including the bytes that the formatters write past the end (fmt.h). */
#define FMT_DOUBLE_MAX 40

/* @v must be finite.  Not terminated.  Returns the end.  Any thread may call it. */
char *fmt_double(char *p, double v);
char *fmt_float(char *p, float v);

#endif
