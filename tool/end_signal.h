/* SPDX-License-Identifier: MIT */
/* end_signal.h - end by the signal that ended another process. */
#ifndef TOOL_END_SIGNAL_H
#define TOOL_END_SIGNAL_H

/*
 * End by @sig, as a shell expects of a command whose program was ended by it, without a second core
 * file.  Returns the exit status for a signal that does not end this process.
 */
int end_by_signal(int sig);

#endif
