/* SPDX-License-Identifier: MIT */
/*
 * frames_recording.c - make a recording to decode.
 *
 *	bench-frames-recording FILE FRAMES
 *
 * Two types of frames of 84 bytes: time intervals, integers, a double with all of its digits;
 * typical of what a server saves per request.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames/file/recording_writer.h"

#define INT    "{\"tag\":\"PIntegral\",\"contents\":[\"PPInt\",null]}"
#define BYTE   "{\"tag\":\"PIntegral\",\"contents\":[\"PPByte\",null]}"
#define DOUBLE "{\"tag\":\"PRational\",\"contents\":[\"PPDouble\",null]}"
#define TIME   "{\"tag\":\"PTime\",\"contents\":null}"
#define MEMBER(name, interval, type) \
	"{\"fmName\":\"" name "\",\"fmDifferential\":" interval ",\"fmType\":" type "}"
#define FIELD(name, offset, size, type, kind)                               \
	"{\"_lName\":\"" name "\",\"_lOffset\":" offset ",\"_lSize\":" size \
	",\"_lAlignment\":4,\"_lType\":" type ",\"_lKind\":" kind "}"
#define PLAIN(m) "{\"tag\":\"LKMember\",\"contents\":[" m ",null]}"
#define ENDS(m, tag) \
	"{\"tag\":\"LKMember\",\"contents\":[" m ",{\"tag\":\"" tag "\",\"contents\":[0,1]}]}"
#define ELEM(m) "{\"tag\":\"FMemberElem\",\"contents\":" m "}"
#define FRONT                                                                                  \
	FIELD("__ppt_seqno", "0", "4", INT, "{\"tag\":\"LKSeqno\",\"contents\":\"FrontSeq\"}") \
	"," FIELD("__ppt_type", "4", "4", INT, "{\"tag\":\"LKTypeDescrim\",\"contents\":2}") ","
#define BACK                                          \
	"," FIELD("__ppt_seqno_back", "80", "4", INT, \
		  "{\"tag\":\"LKSeqno\",\"contents\":\"BackSeq\"}")

static const char json[] =
	"{\"abi\":\"1.0.0\",\"emit\":{\"_eBuffer\":{\"ebName\":\"Bench\",\"ebMinElements\":null},"
	"\"_eLanguage\":\"ELangC\",\"_eTimeRep\":{\"tag\":\"ETimeSpec\",\"contents\":"
	"\"ETimeClockMonotonic\"},\"_eRuntime\":{\"erMultithread\":true},\"_eTags\":[],"
	"\"_eOptions\":[]},\"target\":{\"tDouble\":8,\"tFloat\":4,\"tInt\":4,\"tTime\":16,"
	"\"tCounter\":8,\"tPadTo\":4,\"tCounterCount\":3},\"tags\":[],\"metadata\":[],\"frames\":["
	"{\"_flName\":\"request\",\"_flFrame\":{\"_frameName\":\"request\",\"_frameElements\":"
	"[" ELEM(MEMBER("took", "true", TIME)) "," ELEM(MEMBER("share", "false", DOUBLE)) "," ELEM(
		MEMBER("id", "false",
		       INT)) "," ELEM(MEMBER("status", "false",
					     INT)) "," ELEM(MEMBER("bytes", "true",
								   INT)) "]},\"_flLayout\":[" FRONT
		FIELD("took_start", "8", "16", TIME, ENDS(MEMBER("took", "true", TIME), "IntBegin")) "," FIELD("took_end", "24", "16", TIME, ENDS(MEMBER("took", "true", TIME), "IntEnd")) "," FIELD(
			"share", "40", "8", DOUBLE,
			PLAIN(MEMBER(
				"share", "false",
				DOUBLE))) "," FIELD("id", "48", "4", INT,
						    PLAIN(MEMBER(
							    "id", "false",
							    INT))) "," FIELD("status", "52", "4",
									     INT,
									     PLAIN(MEMBER(
										     "status",
										     "false",
										     INT))) "," FIELD("bytes_start",
												      "56",
												      "4",
												      INT,
												      ENDS(MEMBER("bytes",
														  "true",
														  INT),
													   "IntBegin")) "," FIELD("bytes_end",
																  "60",
																  "4",
																  INT,
																  ENDS(MEMBER("bytes",
																	      "true",
																	      INT),
																       "IntEnd")) "," FIELD("__ppt_endpad_16",
																			    "64",
																			    "16",
																			    BYTE,
																			    "{\"tag\":\"LKPadding\",\"contents\":16}")
			BACK
	"]},{\"_flName\":\"tick\",\"_flFrame\":{\"_frameName\":\"tick\",\"_frameElements\":[" ELEM(
		MEMBER("at", "false", TIME)) "," ELEM(MEMBER("n", "false",
							     INT)) "]},\"_flLayout\":[" FRONT
		FIELD("at", "8", "16", TIME, PLAIN(MEMBER("at", "false", TIME))) "," FIELD(
			"n", "24", "4", INT,
			PLAIN(MEMBER("n", "false",
				     INT))) "," FIELD("__ppt_endpad_52", "28", "52", BYTE,
						      "{\"tag\":\"LKPadding\",\"contents\":52}")
			BACK "]}]}";

struct image {
	uint32_t seqno, type;
	int64_t start_s, start_ns, end_s, end_ns;
	double share;
	int32_t id, status, bytes_start, bytes_end;
	uint8_t pad[16];
	uint32_t back;
};

int main(int argc, char **argv)
{
	struct recording_info info = { .date = (char *)"now" };
	unsigned long frames = argc > 2 ? strtoul(argv[2], NULL, 10) : 0, n;
	struct recording r;
	struct err err = { 0 };
	struct desc d;

	if (!frames) {
		fputs("usage: bench-frames-recording FILE FRAMES\n", stderr);
		return 2;
	}
	if (desc_from_json(&d, json, strlen(json), &err) < 0 ||
	    recording_create(&r, argv[1], &err) < 0 || recording_begin(&r, &d, &info, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (n = 1; n <= frames; n++) {
		struct image i = { .seqno = (uint32_t)n,
				   .type = n % 4 ? 1 : 2,
				   .back = (uint32_t)n };

		i.start_s = 1000000 + (int64_t)(n / 100000);
		i.start_ns = (int64_t)(n % 100000) * 9973;
		i.end_s = i.start_s;
		i.end_ns = i.start_ns + 1000 + (int64_t)(n % 977);
		i.share = (double)n / 3;
		i.id = (int32_t)n;
		i.status = -(int32_t)(n % 600);
		i.bytes_start = (int32_t)(n * 7);
		i.bytes_end = i.bytes_start + 512;
		if (n % 4 == 0)
			memcpy(&i.end_s, &n, 4); /* the offset of the tick's n */
		recording_frame(&r, n, (const uint8_t *)&i);
	}
	if (recording_close(&r, &info, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	desc_release(&d);
	return 0;
}
