/* SPDX-License-Identifier: MIT */
/*
 * ring_decode.c - pass units of the wire to a packer.
 *
 * Nearly all units are plain accesses: they use a table and the packer's inline path, as many at
 * a time as are certain to fit.  Separate functions handle all other units.
 */
#include "ring_decode.h"

#include "decode_accesses.h"

/* Tag and attributes in the container for the code of a range unit. */
#define TAG(c)                                                                                     \
	((((c)&CRW_IS_WRITE) ? CRAY_WRITE : CRAY_READ) | (((c)&CRW_IS_ATOMIC) ? CRAY_ATOMIC : 0) | \
	 (((c)&CRW_IS_UNALIGNED) ? CRAY_UNALIGNED : 0))
#define ATTR(c) (((c)&CRW_IS_VOLATILE) ? CRAY_ATTR_VOLATILE : 0)

static struct crw_unit read_once(const struct crw_unit *u)
{
	struct crw_unit copy;

	copy.w1 = __atomic_load_n(&u->w1, __ATOMIC_RELAXED);
	copy.w0 = __atomic_load_n(&u->w0, __ATOMIC_RELAXED);
	return copy;
}

/*
 * Read the payload after a header unit.  Returns the units it takes; 0 if it is incomplete or
 * corrupt.
 */
static uint32_t ring_decode_payload(const struct crw_unit *units, uint32_t nr, uint8_t *out,
				    uint32_t *size)
{
	uint32_t want, i;
	struct crw_unit u;

	if (nr == 0)
		return 0;
	u = read_once(units);
	if (CRW_CODE(u.w1) != CRW_DATA || u.w0 > CRW_PAYLOAD_MAX)
		return 0;
	*size = (uint32_t)u.w0;
	want = 1 + (*size + 7) / 8;
	if (want > nr)
		return 0;
	for (i = 1; i < want; i++) {
		u = read_once(&units[i]);
		if (CRW_CODE(u.w1) != CRW_DATA)
			return 0;
		__builtin_memcpy(out + 8 * (size_t)(i - 1), &u.w0, 8);
	}
	return want;
}

/* Pack as much of a range as fits; true when nothing of it is left. */
static bool ring_decode_pieces(struct crw_feed *f, struct cray_pack *p)
{
	while (f->piece_left) {
		uint64_t n = f->piece_left, line = CRW_PIECE - f->piece_at % CRW_PIECE;

		if ((f->piece_how >> 16 & CRAY_ATTR_RANGE) && n > line)
			n = line;
		if (cray_pack_room(p) == 0)
			return false;
		cray_pack_access(p, f->piece_pc, f->piece_at, f->piece_how | (uint32_t)n << 8);
		f->piece_at += n;
		f->piece_left -= n;
	}
	return true;
}

/* A range: two units.  It may continue in the following blocks. */
static uint32_t ring_decode_range(struct crw_feed *f, struct cray_pack *p,
				  const struct crw_unit *units, uint32_t nr)
{
	struct crw_unit head = read_once(&units[0]), extent;
	unsigned code = CRW_CODE(head.w1), attr = ATTR(code);

	if (nr < 2)
		return 0;
	extent = read_once(&units[1]);
	if (CRW_CODE(extent.w1) != CRW_EXTENT)
		return 0;
	/*
	 * No memory is larger.  This also bounds the work that one unit of a hostile program
	 * causes.
	 */
	if (extent.w0 > UINT64_C(1) << 36) {
		f->ranges++;
		return 2;
	}
	attr |= extent.w0 > 255 ? CRAY_ATTR_RANGE : 0;
	attr |= (extent.w1 & 2) ? CRAY_ATTR_LIBRARY : 0;
	f->piece_how = CRAY_HOW(TAG(code), 0, attr);
	f->piece_pc = head.w1 & CRW_LOW;
	f->piece_at = head.w0;
	f->piece_left = extent.w0;
	ring_decode_pieces(f, p);
	return 2;
}

static uint64_t ring_decode_word(const uint8_t *at)
{
	uint64_t v;

	__builtin_memcpy(&v, at, sizeof(v));
	return v;
}

static uint32_t ring_decode_clip(uint64_t v)
{
	return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static bool ring_decode_stamp(struct crw_feed *f, struct cray_pack *p, uint64_t order,
			      uint64_t time_ns);

/* The time whose low bits are those of @w1, after the last one of this thread. */
static uint64_t ring_decode_time(const struct crw_feed *f, uint64_t w1)
{
	uint64_t more = (w1 - f->time_ns) & CRW_LOW;

	return more > CRW_LOW / 2 ? f->time_ns : f->time_ns + more;
}

/* The thread runs another coroutine.  False: the packer is full. */
static bool ring_decode_coroutine(struct crw_feed *f, struct cray_pack *p, uint64_t id,
				  uint64_t time_ns, const uint8_t *bytes, uint32_t size)
{
	uint32_t how = ring_decode_clip(ring_decode_word(bytes));

	/* If one of the two does not fit, both are decoded again for the next block. */
	if (!ring_decode_stamp(f, p, f->order, time_ns) ||
	    !cray_pack_coroutine(p, id, how, (const char *)bytes + 8, size - 8))
		return false;
	f->coroutine = id;
	f->coroutine_how = (how & ~(uint32_t)CRAY_CORO_CAUSE) | CRAY_CORO_CONTINUED;
	f->coroutine_size = size - 8;
	__builtin_memcpy(f->coroutine_text, bytes + 8, size - 8);
	return true;
}

void crw_feed_repeat(const struct crw_feed *f, struct cray_pack *p)
{
	if (f->coroutine_how)
		cray_pack_coroutine(p, f->coroutine, f->coroutine_how, f->coroutine_text,
				    f->coroutine_size);
	crw_calls_repeat(&f->calls, p);
}

/*
 * An allocation or its end, with the units that belong to it.  Returns the units used; 0: the
 * packer is full; ~0: corrupt.
 */
static uint32_t ring_decode_heap(struct crw_feed *f, struct cray_pack *p,
				 const struct crw_unit *units, uint32_t nr)
{
	struct crw_unit head = read_once(&units[0]), u = { 0, 0 };
	bool is_alloc = CRW_CODE(head.w1) == CRW_ALLOC;
	uint64_t ticket = 0, size = 0, pc = head.w1 & CRW_LOW;
	uint32_t used = 1, stack = 0;

	if (is_alloc) {
		if (nr > 1)
			u = read_once(&units[used++]);
		if (CRW_CODE(u.w1) != CRW_AMOUNT)
			return ~0u;
		size = u.w0;
		stack = ring_decode_clip(u.w1 & CRW_LOW);
	}
	if (used < nr) {
		u = read_once(&units[used]);
		if (CRW_CODE(u.w1) == CRW_TICKET) {
			ticket = u.w0;
			used++;
		}
	}
	if (!(is_alloc ? cray_pack_alloc(p, ticket, pc, head.w0, size, stack)
		       : cray_pack_free(p, ticket, pc, head.w0)))
		return 0;
	f->order = ticket > f->order ? ticket : f->order;
	return used;
}

/* Headers with a payload.  Returns the units used; 0: the packer is full; ~0: corrupt. */
static uint32_t long_one(struct crw_feed *f, struct cray_pack *p, const struct crw_unit *units,
			 uint32_t nr)
{
	struct crw_unit u = read_once(&units[0]);
	uint8_t bytes[CRW_PAYLOAD_MAX + 8];
	uint64_t pc = u.w1 & CRW_LOW;
	uint32_t size, used = ring_decode_payload(units + 1, nr - 1, bytes, &size);

	if (!used)
		return ~0u;
	switch (CRW_CODE(u.w1)) {
	case CRW_ADD:
		if (size < 24)
			return ~0u;
		if (!cray_pack_add(p, CRAY_RTTA_ADD, ring_decode_word(bytes), pc, u.w0,
				   ring_decode_clip(ring_decode_word(bytes + 8)),
				   ring_decode_clip(ring_decode_word(bytes + 16)),
				   (const char *)bytes + 24, size - 24))
			return 0;
		f->order = ring_decode_word(bytes) > f->order ? ring_decode_word(bytes) : f->order;
		break;
	case CRW_REMOVE:
		if (size < 8)
			return ~0u;
		if (!cray_pack_remove(p, CRAY_RTTA_REMOVE, ring_decode_word(bytes), pc, u.w0))
			return 0;
		f->order = ring_decode_word(bytes) > f->order ? ring_decode_word(bytes) : f->order;
		break;
	case CRW_MARK:
		if (!cray_pack_mark(p, u.w0, (const char *)bytes, size))
			return 0;
		break;
	case CRW_CORO:
		if (size < 8)
			return ~0u;
		if (!ring_decode_coroutine(f, p, u.w0, ring_decode_time(f, u.w1), bytes, size))
			return 0;
		break;
	case CRW_CALLS:
		if (!crw_calls_whole(&f->calls, p, bytes, size))
			return 0;
		break;
	default: /* CRW_MODULE, CRW_FACT, CRW_STACK */
		if (f->aside)
			f->aside(f->context, CRW_CODE(u.w1), u.w0, bytes, size);
		break;
	}
	return 1 + used;
}

static bool ring_decode_stamp(struct crw_feed *f, struct cray_pack *p, uint64_t order,
			      uint64_t time_ns)
{
	/* Update the feed first: if the stamp does not fit, the next block starts with it. */
	f->order = order > f->order ? order : f->order;
	f->time_ns = time_ns > f->time_ns ? time_ns : f->time_ns;
	return cray_pack_stamp(p, order, time_ns);
}

static uint64_t *ring_decode_told(struct crw_feed *f, uint32_t cause)
{
	switch (cause) {
	case CRAY_GAP_FULL:
		return &f->told_full;
	case CRAY_GAP_SAMPLED:
		return &f->told_sampled;
	case CRAY_GAP_FILTERED:
		return &f->told_filtered;
	default:
		return NULL;
	}
}

static bool ring_decode_gap(struct crw_feed *f, struct cray_pack *p, uint32_t cause, uint64_t count)
{
	uint64_t *sum = ring_decode_told(f, cause);

	if (!cray_pack_gap(p, cause, count))
		return false;
	if (sum)
		*sum += count;
	return true;
}

uint64_t crw_untold(const struct crw_feed *f, const struct crw_slot_view *view, uint32_t cause)
{
	uint64_t all = 0, in_gaps = 0;

	switch (cause) {
	case CRAY_GAP_FULL:
		all = view->lost_full;
		in_gaps = f->told_full;
		break;
	case CRAY_GAP_SAMPLED:
		all = view->left_sampled;
		in_gaps = f->told_sampled;
		break;
	case CRAY_GAP_FILTERED:
		all = view->left_filtered;
		in_gaps = f->told_filtered;
		break;
	default:
		break;
	}
	return all > in_gaps ? all - in_gaps : 0;
}

/* A weight applies to a whole block: end a non-empty block before the weight changes. */
static bool ring_decode_weight(struct crw_feed *f, struct cray_pack *p, uint64_t weight_256)
{
	uint32_t w = ring_decode_clip(weight_256) ? ring_decode_clip(weight_256) : 256;

	if (w == p->head.weight_256)
		return true;
	f->weight_256 = w;
	if (!cray_pack_empty(p))
		return false;
	cray_pack_weight(p, w);
	return true;
}

/*
 * Handle a unit other than a plain access.  Returns the units used; 0: the packer is full; ~0:
 * corrupt.
 */
static uint32_t ring_decode_closer(struct crw_feed *f, struct cray_pack *p,
				   const struct crw_unit *units, uint32_t nr)
{
	struct crw_unit u = read_once(&units[0]);
	unsigned code = CRW_CODE(u.w1);
	uint32_t used;

	switch (code) {
	case CRW_PAD:
		return 1;
	case CRW_STAMP:
		return ring_decode_stamp(f, p, u.w0, ring_decode_time(f, u.w1));
	case CRW_GAP:
		return ring_decode_gap(f, p, ring_decode_clip(u.w1 & CRW_LOW), u.w0);
	case CRW_WEIGHT:
		return ring_decode_weight(f, p, u.w0);
	case CRW_ENTER:
	case CRW_LEAVE:
		return crw_calls_unit(&f->calls, p, &u);
	case CRW_ALLOC:
	case CRW_RELEASE:
		return ring_decode_heap(f, p, units, nr);
	case CRW_ADD:
	case CRW_REMOVE:
	case CRW_MARK:
	case CRW_CORO:
	case CRW_MODULE:
	case CRW_FACT:
	case CRW_STACK:
	case CRW_CALLS:
		return long_one(f, p, units, nr);
	default:
		break;
	}
	if ((code & CRW_SIZE_MASK) == CRW_CONTROL)
		return ~0u;
	if ((code & CRW_SIZE_MASK) == CRW_RANGE) {
		if (cray_pack_room(p) == 0)
			return 0;
		used = ring_decode_range(f, p, units, nr);
		return used ? used : ~0u;
	}
	if (cray_pack_room(p) < 2)
		return 0;
	/*
	 * A compound access: a read, then a write.  (The program may have changed the unit since:
	 * then it is a single access.)
	 */
	cray_pack_access(p, u.w1 & CRW_LOW, u.w0, crw_how[code] & ~CRW_CLOSER);
	if (code & CRW_IS_COMPOUND)
		cray_pack_access(p, u.w1 & CRW_LOW, u.w0,
				 crw_how[code | CRW_IS_WRITE] & ~CRW_CLOSER);
	return 1;
}

uint32_t crw_feed(struct crw_feed *f, struct cray_pack *p, const struct crw_taken *run)
{
	uint32_t at = 0, used;

	if (!ring_decode_pieces(f, p))
		return 0;
	if (run->new_chunk) {
		bool fits = ring_decode_stamp(f, p, run->head.order, run->head.time_ns);

		if (!ring_decode_weight(f, p, run->head.weight_256) || !fits)
			return 0;
	}
	while (at < run->nr) {
		at += crw_plain(p, run->units + at, run->nr - at);
		if (at == run->nr || cray_pack_room(p) == 0)
			break;
		used = ring_decode_closer(f, p, run->units + at, run->nr - at);
		if (used == ~0u) {
			f->broken++;
			used = 1;
		}
		if (used == 0)
			break;
		at += used;
		if (f->piece_left)
			break;
	}
	return at;
}
