/* SPDX-License-Identifier: MIT */
/*
 * existing_client.c - a hand-written client of the existing generator's protocol.
 *
 *	existing_client FRAMES INTERVAL_US [LINGER_MS]
 *	existing_client -          one frame for each byte of standard input, which it prints again
 *
 * Saves FRAMES frames (0: for ever), one every INTERVAL_US microseconds (0: as fast as it
 * can), then stays for LINGER_MS.  Written from the description of what that generator
 * emits, quirks included: the front number is published before the payload, slots
 * are wider than frames (120 and 116 bytes), slot 0 is at C + C mod T, handle 0 detaches, a
 * changed handle goes unnoticed.  Compiled with other values of STRIDE, SLOTS and DATA_BLOCK, it
 * is a client of another implementation of the protocol: slots as far apart as the layout says, a
 * fixed number of slots, no answer in the control block.  All of its fields hold the same number,
 * so that half a frame shows.
 *
 *	frame work { interval time took; double load; interval counter events; int id, code; }
 *	frame tick { int n; float f; }
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct work {
	int32_t seqno, type;
	uint8_t pad_8[8];
	struct timespec took_start, took_end;
	double load;
	uint64_t events[6]; /* 0_start 0_end 1_start 1_end 2_start 2_end */
	int32_t id, code;
	int32_t seqno_back;
};

struct tick {
	int32_t seqno, type, n;
	float f;
	uint8_t endpad[96];
	int32_t seqno_back;
};

#define L 116
#define T sizeof(struct work)
#ifndef STRIDE
#define STRIDE T
#endif
#ifndef SLOTS
#define SLOTS 0 /* as many as fit */
#endif
#ifndef DATA_BLOCK
#define DATA_BLOCK 1
#endif
_Static_assert(sizeof(struct work) == 120, "the slot");
_Static_assert(offsetof(struct work, seqno_back) == L - 4, "the layout");
_Static_assert(offsetof(struct tick, seqno_back) == L - 4, "the layout");

struct control {
	size_t control_blk_sz;
	uint64_t data_block_hmem, data_block_hmem_attached;
	void *data_block;
	size_t data_block_sz;
	uint64_t client_flags;
	uint32_t nr_perf_ctrs;
	struct {
		uint32_t ecx;
		struct perf_event_attr attr;
	} counterdata[3];
};

/* ---- the description ----------------------------------------------------- */

#define INT     "{\"contents\":[\"PPInt\",null],\"tag\":\"PIntegral\"}"
#define BYTE    "{\"contents\":[\"PPByte\",null],\"tag\":\"PIntegral\"}"
#define DOUBLE  "{\"contents\":[\"PPDouble\",null],\"tag\":\"PRational\"}"
#define FLOAT   "{\"contents\":[\"PPFloat\",null],\"tag\":\"PRational\"}"
#define TIME    "{\"contents\":null,\"tag\":\"PTime\"}"
#define COUNTER "{\"contents\":[{\"tag\":\"NotExpanded\"},null],\"tag\":\"PCounter\"}"
#define COUNTER_N(i) \
	"{\"contents\":[{\"contents\":" i ",\"tag\":\"Expanded\"},null],\"tag\":\"PCounter\"}"
#define MEMBER(name, interval, type) \
	"{\"fmDifferential\":" interval ",\"fmName\":\"" name "\",\"fmType\":" type "}"
#define ELEM(m) "{\"contents\":" m ",\"tag\":\"FMemberElem\"}"
#define ENTRY(name, offset, size, align, type, kind)                        \
	"{\"_lAlignment\":" align ",\"_lKind\":" kind ",\"_lName\":\"" name \
	"\",\"_lOffset\":" offset ",\"_lSize\":" size ",\"_lType\":" type "}"
#define PLAIN(m) "{\"contents\":[" m ",null],\"tag\":\"LKMember\"}"
#define BEGIN(m, n) \
	"{\"contents\":[" m ",{\"contents\":[" n "],\"tag\":\"IntBegin\"}],\"tag\":\"LKMember\"}"
#define END(m, n) \
	"{\"contents\":[" m ",{\"contents\":[" n "],\"tag\":\"IntEnd\"}],\"tag\":\"LKMember\"}"
#define FRONT                                                    \
	ENTRY("__ppt_seqno", "0", "4", "4", INT,                 \
	      "{\"contents\":\"FrontSeq\",\"tag\":\"LKSeqno\"}") \
	"," ENTRY("__ppt_type", "4", "4", "4", INT,              \
		  "{\"contents\":2,\"tag\":\"LKTypeDescrim\"}") ","
#define BACK                                                \
	"," ENTRY("__ppt_seqno_back", "112", "4", "4", INT, \
		  "{\"contents\":\"BackSeq\",\"tag\":\"LKSeqno\"}")
#define PAD(name, offset, size) \
	ENTRY(name, offset, size, "1", BYTE, "{\"contents\":" size ",\"tag\":\"LKPadding\"}") ","

#define TOOK   MEMBER("took", "true", TIME)
#define LOAD   MEMBER("load", "false", DOUBLE)
#define EVENTS MEMBER("events", "true", COUNTER)
#define ID     MEMBER("id", "false", INT)
#define CODE   MEMBER("code", "false", INT)
#define N      MEMBER("n", "false", INT)
#define F      MEMBER("f", "false", FLOAT)
#define EVENT(i, start, end)                                                              \
	ENTRY("events_" i "_start", start, "8", "8", COUNTER_N(i), BEGIN(EVENTS, i ",2")) \
	"," ENTRY("events_" i "_end", end, "8", "8", COUNTER_N(i), END(EVENTS, i ",2")) ","

const char *_ppt_json_Legacy __attribute__((used)) =
	"{\"abi\":\"1.0.0\",\"emit\":{\"_eBuffer\":{\"ebMinElements\":512,\"ebName\":\"Legacy\"},"
	"\"_eLanguage\":\"ELangCpp\",\"_eOptions\":[],\"_eRuntime\":{\"erMultithread\":true},"
	"\"_eTags\":[[\"service\",\"old one\"]],"
	"\"_eTimeRep\":{\"contents\":\"ETimeClockMonotonic\",\"tag\":\"ETimeSpec\"}},\"frames\":["
	"{\"_flFrame\":{\"_frameElements\":[" ELEM(TOOK) "," ELEM(LOAD) "," ELEM(EVENTS) "," ELEM(
		ID) "," ELEM(CODE) "],\"_frameName\":\"work\"},\"_flLayout\":[" FRONT PAD("__pad_8",
											  "8", "8")
		ENTRY("took_start", "16", "16", "16", TIME, BEGIN(TOOK, "0,1")) "," ENTRY(
			"took_end", "32", "16", "16", TIME,
			END(TOOK, "0,1")) "," ENTRY("load", "48", "8", "8", DOUBLE,
						    PLAIN(LOAD)) "," EVENT("0", "56", "64")
			EVENT("1", "72", "80") EVENT("2", "88", "96")
				ENTRY("id", "104", "4", "4", INT, PLAIN(ID)) "," ENTRY(
					"code", "108", "4", "4", INT, PLAIN(CODE)) BACK
	"],\"_flName\":\"work\"},"
	"{\"_flFrame\":{\"_frameElements\":[" ELEM(N) "," ELEM(
		F) "],\"_frameName\":\"tick\"},\"_flLayout\":[" FRONT
		ENTRY("n", "8", "4", "4", INT, PLAIN(N)) "," ENTRY(
			"f", "12", "4", "4", FLOAT, PLAIN(F)) "," PAD("__ppt_endpad_96", "16", "96")
			ENTRY("__ppt_seqno_back", "112", "4", "4", INT,
			      "{\"contents\":\"BackSeq\",\"tag\":"
			      "\"LKSeqno\"}") "],\"_flName\":\"tick\"}],"
					      "\"metadata\":[],\"tags\":[],"
					      "\"target\":{\"tCounter\":8,"
					      "\"tCounterCount\":3,"
					      "\"tDouble\":8,\"tFloat\":4,"
					      "\"tInt\":4,"
					      "\"tPadTo\":4,\"tTime\":16}}";

int _ppt_hmem_Legacy __attribute__((used));
struct {
	pid_t ppt_agent_pid;
} _ppt_stat_Legacy __attribute__((used));

/* ---- saving -------------------------------------------------------------- */

static char *slots;
static size_t nr_slots, phase;
static struct control *control;
static _Atomic int next_index = 1;
static int fds[3] = { -1, -1, -1 };
static unsigned nr_fds;

static void open_counters(void)
{
	unsigned i;

	for (i = 0; i < control->nr_perf_ctrs && i < 3; i++) {
		fds[i] = (int)syscall(SYS_perf_event_open, &control->counterdata[i].attr, 0, -1,
				      i ? fds[0] : -1, 0);
		if (fds[i] < 0) {
			perror("perf_event_open");
			control->nr_perf_ctrs = 0;
			return;
		}
		nr_fds = i + 1;
	}
}

static void read_counters(uint64_t *into)
{
	uint64_t values[4] = { 0 };
	unsigned i;

	if (!nr_fds || read(fds[0], values, 8 * (nr_fds + 1)) < 0)
		return;
	for (i = 0; i < nr_fds; i++)
		into[2 * i] = values[1 + i];
}

static bool try_attach(void)
{
	int id = *(volatile int *)&_ppt_hmem_Legacy;
	size_t offset = sizeof(struct control) + sizeof(struct control) % STRIDE;
	struct shmid_ds ds;

	if (slots && !id) {
		while (nr_fds)
			close(fds[--nr_fds]);
		shmdt(control);
		slots = NULL;
		return false;
	}
	if (shmctl(id, IPC_STAT, &ds) < 0) {
		perror("shmctl");
		_ppt_hmem_Legacy = 0;
		return false;
	}
	control = shmat(id, NULL, 0);
	if ((intptr_t)control == -1) {
		perror("shmat");
		return false;
	}
	slots = (char *)control + offset;
	nr_slots = SLOTS ? SLOTS : (ds.shm_segsz - offset) / STRIDE;
	phase = nr_slots - (size_t)(next_index - 1) % nr_slots;
	open_counters();
	control->data_block_hmem_attached = (uint64_t)id;
	if (DATA_BLOCK) {
		control->data_block_sz = nr_slots;
		control->data_block = slots;
	}
	return true;
}

static void save(void *frame, int type)
{
	int id = *(volatile int *)&_ppt_hmem_Legacy, index;
	struct work *slot;

	if (!slots && !id)
		return;
	if ((!slots || !id) && !try_attach())
		return;
	index = atomic_fetch_add(&next_index, 1);
	((struct work *)frame)->type = type;
	slot = (struct work *)(slots + (phase + (size_t)index - 1) % nr_slots * STRIDE);
	slot->seqno = 0;
	slot->seqno_back = 0;
	atomic_thread_fence(memory_order_release);
	slot->seqno = index;
	atomic_thread_fence(memory_order_release);
	memcpy((char *)slot + 4, (char *)frame + 4, T - 8);
	atomic_thread_fence(memory_order_release);
	slot->seqno_back = index;
	atomic_thread_fence(memory_order_release);
}

static void save_work(int n)
{
	struct work w;

	memset(&w, 0, sizeof(w));
	w.took_start = (struct timespec){ .tv_sec = n, .tv_nsec = n % 1000000 };
	w.took_end = (struct timespec){ .tv_sec = n, .tv_nsec = n % 1000000 + 1000 };
	w.load = n * 0.5;
	w.id = n;
	w.code = -n;
	read_counters(w.events);
	read_counters(w.events + 1);
	save(&w, 1);
}

static void save_tick(int n)
{
	struct tick t;

	memset(&t, 0, sizeof(t));
	t.n = n;
	t.f = (float)n * 0.25f;
	save(&t, 2);
}

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static void save_one(int n)
{
	if (n % 4 == 0)
		save_tick(n);
	else
		save_work(n);
}

static int save_as_asked(void)
{
	char byte;
	int n;

	for (n = 1; read(0, &byte, 1) == 1; n++) {
		save_one(n);
		if (write(1, &byte, 1) != 1)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	long frames = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	unsigned interval = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 100;
	unsigned linger = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
	int n;

	if (argc == 2 && !strcmp(argv[1], "-"))
		return save_as_asked();
	signal(SIGTERM, on_signal);
	puts("ready");
	fflush(stdout);
	for (n = 1; !stop && (!frames || next_index <= frames); n++) {
		save_one(n);
		if (interval)
			usleep(interval);
	}
	while (linger-- && !stop)
		usleep(1000);
	printf("saved %d\n", next_index - 1);
	return 0;
}
