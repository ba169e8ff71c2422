/* SPDX-License-Identifier: MIT */
/*
 * test_recording.c - a recording is read as it was written: frames, tickets, marks, for frames of
 * every small size.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "frames/file/recording_reader.h"

#define FIELD(name, offset, size, kind)                                                        \
	"{\"_lName\":\"" name "\",\"_lOffset\":" #offset ",\"_lSize\":" #size                  \
	",\"_lAlignment\":4,\"_lType\":{\"tag\":\"PIntegral\",\"contents\":[\"PPInt\",null]}," \
	"\"_lKind\":" kind "}"
#define MEMBER                                                                          \
	"{\"fmName\":\"a\",\"fmDifferential\":false,\"fmType\":{\"tag\":\"PIntegral\"," \
	"\"contents\":[\"PPInt\",null]}}"

/* The smallest buffer with a member: one int, frames of 12 bytes. */
static const char json[] =
	"{\"abi\":\"1.0.0\",\"emit\":{\"_eBuffer\":{\"ebName\":\"B\",\"ebMinElements\":null},"
	"\"_eLanguage\":\"ELangC\",\"_eTimeRep\":{\"tag\":\"ETimeVal\"},"
	"\"_eRuntime\":{\"erMultithread\":true},\"_eTags\":[],\"_eOptions\":[]},"
	"\"target\":{\"tDouble\":8,\"tFloat\":4,\"tInt\":4,\"tTime\":16,\"tCounter\":8,\"tPadTo\":"
	"4,"
	"\"tCounterCount\":3},\"tags\":[],\"metadata\":[],\"frames\":[{\"_flName\":\"f\","
	"\"_flFrame\":{\"_frameName\":\"f\",\"_frameElements\":[{\"tag\":\"FMemberElem\","
	"\"contents\":" MEMBER
	"}]},\"_flLayout\":[" FIELD("__ppt_seqno", 0, 4, "{\"tag\":\"LKSeqno\",\"contents\":\"FrontSeq\"}") "," FIELD(
		"a", 4, 4,
		"{\"tag\":\"LKMember\",\"contents\":[" MEMBER
		",null]}") "," FIELD("__ppt_seqno_back", 8, 4,
				     "{\"tag\":\"LKSeqno\",\"contents\":\"BackSeq\"}") "]}]}";

static char path[] = "/tmp/corotracer-recording-XXXXXX";

static void put(struct recording *r, uint64_t ticket)
{
	uint32_t image[3] = { (uint32_t)ticket, (uint32_t)ticket * 7, (uint32_t)ticket };

	recording_frame(r, ticket, (const uint8_t *)image);
}

static void expect_frame(struct recfile *f, uint64_t ticket)
{
	struct recfile_item item;
	struct err err = { 0 };
	uint32_t image[3];

	CHECK_EQ(recfile_next(f, &item, &err), 1);
	CHECK(!item.mark);
	memcpy(image, item.image, sizeof(image));
	CHECK_EQ(image[1], (uint32_t)ticket * 7);
	CHECK_EQ(item.ticket, ticket);
}

static void expect_mark(struct recfile *f, uint32_t kind, uint64_t a, uint64_t d)
{
	struct recfile_item item;
	struct err err = { 0 };

	CHECK_EQ(recfile_next(f, &item, &err), 1);
	CHECK(item.mark != NULL);
	CHECK_EQ(item.mark->kind, kind);
	CHECK_EQ(item.mark->a, a);
	CHECK_EQ(item.mark->d, d);
}

static const uint64_t far = UINT64_C(0x7123456789);

static void record(void)
{
	struct recording_info info = { .comment = (char *)"c", .delta_s = -7, .pid = 42 };
	struct recording r;
	struct desc d;
	struct err err = { 0 };

	CHECK_EQ(desc_from_json(&d, json, strlen(json), &err), 0);
	CHECK_EQ(recording_create(&r, path, &err), 0);
	CHECK_EQ(recording_begin(&r, &d, &info, &err), 0);
	put(&r, 1);
	put(&r, 2);
	recording_mark(&r, RECORDING_LOSS, 3, 0, 0, 0);
	put(&r, 6);
	put(&r, 5); /* arrived late */
	put(&r, far);
	recording_mark(&r, RECORDING_RESIZE, 8, 16, 0, 0);
	put(&r, far + 1);
	recording_mark(&r, RECORDING_END, 9, 6, 3, UINT64_MAX);
	info.clock = (struct recording_clock){ true, 11, 22, 0.25 };
	CHECK_EQ(recording_close(&r, &info, &err), 0);
	desc_release(&d);
}

static void comes_back_as_it_went_in(void)
{
	struct recfile_item item;
	struct recfile f;
	struct err err = { 0 };

	record();
	CHECK_EQ(recfile_open(&f, path, &err), 0);
	CHECK_EQ(f.info.delta_s, -7);
	CHECK_EQ(f.info.pid, 42);
	CHECK(f.info.clock.known);
	CHECK_EQ(f.info.clock.ticks, 11);
	CHECK_EQ((long)(f.info.clock.ns_per_tick * 100), 25);
	expect_frame(&f, 1);
	expect_frame(&f, 2);
	expect_mark(&f, RECORDING_LOSS, 3, 0);
	expect_frame(&f, 6);
	expect_frame(&f, 5);
	expect_mark(&f, RECORDING_TICKET, far, 0);
	expect_frame(&f, far);
	expect_mark(&f, RECORDING_RESIZE, 8, 0);
	expect_frame(&f, far + 1);
	expect_mark(&f, RECORDING_END, 9, UINT64_MAX);
	CHECK_EQ(recfile_next(&f, &item, &err), 0);
	CHECK_EQ(f.stats.frames, 6);
	CHECK_EQ(f.stats.torn, 0);
	CHECK_EQ(f.stats.cut_bytes, 0);
	CHECK(f.stats.ended);
	recfile_close(&f);
}

/* A reader that knows frames only skips the records of marks: front and back differ. */
static void marks_are_torn_frames_to_others(void)
{
	struct recfile f;
	struct recfile_item item;
	struct err err = { 0 };
	uint64_t frames = 0;

	CHECK_EQ(recfile_open(&f, path, &err), 0);
	f.info.format = 0;
	while (recfile_next(&f, &item, &err) > 0)
		frames++;
	CHECK_EQ(frames, 6);
	CHECK_EQ(f.stats.torn, f.stats.records - 6);
	recfile_close(&f);
}

/* Truncated at any byte, it is read up to there. */
static void a_file_cut_anywhere_is_read_up_to_there(void)
{
	char data[8192];
	int fd = open(path, O_RDONLY), memfd;
	ssize_t size = read(fd, data, sizeof(data)), cut;
	size_t header = 8 + ((size_t)(uint8_t)data[6] << 8) + (uint8_t)data[7];
	unsigned good = 0;

	CHECK(size > 200 && size < (ssize_t)sizeof(data));
	close(fd);
	for (cut = 0; cut < size; cut++) {
		struct recfile f;
		struct recfile_item item;
		struct err err = { 0 };
		uint64_t records = 0;

		memfd = memfd_create("cut", MFD_CLOEXEC);
		CHECK_EQ(write(memfd, data, (size_t)cut), cut);
		lseek(memfd, 0, SEEK_SET);
		if (recfile_open_fd(&f, memfd, "cut", &err) < 0) {
			CHECK(err.text[0]);
			continue;
		}
		good++;
		while (recfile_next(&f, &item, &err) > 0)
			records++;
		CHECK(records <= 6 + 4);
		CHECK_EQ(f.stats.cut_bytes, ((size_t)cut - header) % 12);
		recfile_close(&f);
	}
	CHECK(good > 100);
}

static void an_abandoned_recording_leaves_what_was_there(void)
{
	struct recording r;
	struct err err = { 0 };
	char old[sizeof(path) + 4];
	struct recfile f;

	CHECK_EQ(recording_create(&r, path, &err), 0);
	snprintf(old, sizeof(old), "%s.old", path);
	CHECK_EQ(access(old, F_OK), 0);
	recording_abandon(&r);
	CHECK(access(old, F_OK) != 0);
	CHECK_EQ(recfile_open(&f, path, &err), 0);
	recfile_close(&f);
}

int main(void)
{
	close(mkstemp(path));
	RUN(comes_back_as_it_went_in);
	RUN(marks_are_torn_frames_to_others);
	RUN(a_file_cut_anywhere_is_read_up_to_there);
	RUN(an_abandoned_recording_leaves_what_was_there);
	unlink(path);
	return 0;
}
