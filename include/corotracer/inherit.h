/* SPDX-License-Identifier: MIT */
/*
 * corotracer/inherit.h - descriptors that a launched program inherits from its collector.
 *
 * A program may give up its privileges, change its root directory or have its own /dev/shm before
 *it creates its first coroutine: paths to the region and to the socket are of no use to it then. So
 * the collector also leaves two descriptors open in the program that it launches:
 *
 *	region	the file of the region, to be mapped and to be enlarged
 *	door	a SOCK_SEQPACKET socket.  A process sends a struct ctp_hello through it, with one
 *		end of a socket pair that it has created: the other end is its connection.  So each
 *		process has its own connection, and the kernel tells the collector which process it
 *		is.
 *
 * CTP_FDS names them: numbers of the descriptors with device and inode of each, and the path of the
 * region.  All numbers are hexadecimal:
 *
 *	REGION_FD:DEVICE:INODE:DOOR_FD:DEVICE:INODE:PATH
 *
 * A descriptor that the program has closed, or that is another file, is not used; nor is the
 * variable if PATH differs from CTP_SHM_PATH, which another collector has set then.  Without a
 *usable descriptor the paths are used, as by SDKs and collectors that do not know CTP_FDS.
 */
#ifndef COROTRACER_INHERIT_H
#define COROTRACER_INHERIT_H

#include <corotracer/ctp.h>

#include <corotracer/header_begin.h>

#define CTP_ENV_FDS "CTP_FDS"

/* The lowest number to use: some programs rely on low descriptor numbers. */
#define CTP_HIGH_FD       512

#define CTP_HELLO_MAGIC   UINT64_C(0x314f4c4c48505443) /* "CTPHLLO1" in memory */
#define CTP_HELLO_CONNECT 1u                           /* with a socket */
#define CTP_HELLO_FAILED  2u /* the process cannot use the region: `why` */

struct ctp_hello {
	uint64_t magic;
	uint32_t kind; /* CTP_HELLO_* */
	uint32_t why;  /* ctp_request.why */
	uint32_t pid;  /* as the process sees it, possibly in its own pid namespace */
	uint32_t reserved;
};

CTP_SIZE(ctp_hello, 24);
CTP_FIELD(ctp_hello, magic, 0x00, 8);
CTP_FIELD(ctp_hello, kind, 0x08, 4);
CTP_FIELD(ctp_hello, why, 0x0C, 4);
CTP_FIELD(ctp_hello, pid, 0x10, 4);

/* One descriptor; inode 0: none. */
struct ctp_inherited {
	int32_t fd;
	uint64_t dev, ino;
};

#include <corotracer/header_end.h>

#endif
