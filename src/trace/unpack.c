/* SPDX-License-Identifier: MIT */
/* unpack.c - read a file that gzip or zstd compressed as if it were not. */
#include "trace/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/io.h"

#define PIECE ((size_t)128 * 1024)
/* 15 bits of window, and the header of gzip. */
#define GZIP_WINDOW (15 + 16)

enum unpack_form { UNPACK_PLAIN, UNPACK_GZIP, UNPACK_ZSTD };

static enum unpack_form unpack_form_of(int fd)
{
	static const uint8_t zstd[4] = { 0x28, 0xb5, 0x2f, 0xfd }, gzip[3] = { 0x1f, 0x8b, 8 };
	uint8_t begin[4] = { 0 };
	ssize_t size = io_pread(fd, begin, sizeof(begin), 0);

	if (size == (ssize_t)sizeof(zstd) && !memcmp(begin, zstd, sizeof(zstd)))
		return UNPACK_ZSTD;
	return size >= (ssize_t)sizeof(gzip) && !memcmp(begin, gzip, sizeof(gzip)) ? UNPACK_GZIP
										   : UNPACK_PLAIN;
}

/* ---- the thread ------------------------------------------------------------------ */

/* False: the reader has closed its end. */
static bool unpack_send(const struct packed_input *u, const uint8_t *data, size_t size)
{
	while (size) {
		ssize_t put = send(u->to, data, size, MSG_NOSIGNAL);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		data += put;
		size -= (size_t)put;
	}
	return true;
}

/* Returns false if the data is damaged or ends early. */
static bool unpack_zstd(struct packed_input *u, uint8_t *in, uint8_t *out)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	size_t rc = 1;
	ssize_t got = 0;

	while (stream && (got = io_read(u->from, in, PIECE)) > 0) {
		ZSTD_inBuffer from = { in, (size_t)got, 0 };
		ZSTD_outBuffer to;

		do {
			to = (ZSTD_outBuffer){ out, PIECE, 0 };
			rc = ZSTD_decompressStream(stream, &to, &from);
			if (ZSTD_isError(rc) || !unpack_send(u, out, to.pos)) {
				ZSTD_freeDStream(stream);
				return !ZSTD_isError(rc);
			}
		} while (from.pos < from.size || to.pos == to.size);
	}
	ZSTD_freeDStream(stream);
	return stream && got == 0 && rc == 0;
}

/* A file may have several members, one after the other. */
static bool unpack_gzip(struct packed_input *u, uint8_t *in, uint8_t *out)
{
	z_stream stream = { 0 };
	int rc = inflateInit2(&stream, GZIP_WINDOW);
	bool is_open = rc == Z_OK, is_sent = true;
	ssize_t got = 0;

	while (is_open && is_sent && (rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR) &&
	       (got = io_read(u->from, in, PIECE)) > 0) {
		stream.next_in = in;
		stream.avail_in = (unsigned)got;
		do {
			if (rc == Z_STREAM_END)
				inflateReset(&stream);
			stream.next_out = out;
			stream.avail_out = (unsigned)PIECE;
			rc = inflate(&stream, Z_NO_FLUSH);
			is_sent = unpack_send(u, out, PIECE - stream.avail_out);
		} while (is_sent && ((rc == Z_OK && (stream.avail_in || !stream.avail_out)) ||
				     (rc == Z_STREAM_END && stream.avail_in)));
	}
	if (is_open)
		inflateEnd(&stream);
	return !is_sent || (rc == Z_STREAM_END && got == 0);
}

static void *unpack_thread(void *arg)
{
	struct packed_input *u = arg;
	uint8_t *in = malloc(2 * PIECE);

	u->is_damaged = !in || !(u->is_zstd ? unpack_zstd(u, in, in + PIECE)
					    : unpack_gzip(u, in, in + PIECE));
	free(in);
	shutdown(u->to, SHUT_RDWR);
	return NULL;
}

/* ---- open and close ---------------------------------------------------------------- */

static int unpack_start(struct packed_input *u, int fd)
{
	int ends[2], rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	u->from = fd;
	u->to = ends[1];
	rc = pthread_create(&u->thread, NULL, unpack_thread, u);
	if (rc) {
		close(ends[0]);
		close(ends[1]);
		return -rc;
	}
	u->is_running = true;
	return ends[0];
}

int unpack_open(struct packed_input *u, const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), end;
	enum unpack_form form;
	struct stat st;

	memset(u, 0, sizeof(*u));
	if (fd < 0)
		return err_errno(err, "cannot open '%s'", path);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		return err_set(err, -EISDIR, "'%s' is a directory", path);
	}
	form = unpack_form_of(fd);
	if (form == UNPACK_PLAIN)
		return fd;
	u->is_zstd = form == UNPACK_ZSTD;
	end = unpack_start(u, fd);
	if (end >= 0)
		return end;
	close(fd);
	return err_set(err, end, "cannot read '%s': %s", path, strerror(-end));
}

bool unpack_close(struct packed_input *u)
{
	bool is_whole;

	if (!u->is_running)
		return true;
	pthread_join(u->thread, NULL);
	is_whole = !u->is_damaged;
	close(u->from);
	close(u->to);
	memset(u, 0, sizeof(*u));
	return is_whole;
}

bool unpack_is_packed(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && unpack_form_of(fd) != UNPACK_PLAIN;

	if (fd >= 0)
		close(fd);
	return is;
}

char *unpack_plain_name(const char *path)
{
	static const char *const suffixes[] = { ".zst", ".gz" };
	size_t size = strlen(path), i;

	for (i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t cut = strlen(suffixes[i]);

		if (size > cut && !strcmp(path + size - cut, suffixes[i]))
			return strndup(path, size - cut);
	}
	return strdup(path);
}
