/* SPDX-License-Identifier: MIT */
/*
 * emit_frames.c - the part of generated code that depends on the frames.
 *
 * Frames are copied member by member, so that the bytes between members are never read.  Padding
 * in the ring is zero because it was never written, or because generated code writes zeros where
 * another frame type has members.
 */
#include <string.h>

#include "frames/spec/emit.h"

bool emit_is_cpp(const struct desc *d)
{
	return strcmp(d->language, "C") != 0;
}

bool emit_has_type(const struct desc *d, enum desc_type type)
{
	size_t i, j;

	for (i = 0; i < d->nr_frames; i++) {
		for (j = 0; j < d->frames[i].nr_members; j++) {
			if (d->frames[i].members[j].type == type)
				return true;
		}
	}
	return false;
}

static bool is_timed(enum desc_type type)
{
	return type == DESC_TIME || type == DESC_TICKS || type == DESC_COUNTER;
}

static const char *c_type(const struct desc *d, const struct desc_field *f)
{
	switch (f->type) {
	case DESC_INT8:
		return "int8_t";
	case DESC_INT16:
		return "int16_t";
	case DESC_INT32:
	case DESC_ENUM:
		return "int32_t";
	case DESC_INT64:
		return "int64_t";
	case DESC_UINT8:
		return "uint8_t";
	case DESC_UINT16:
		return "uint16_t";
	case DESC_UINT32:
		return "uint32_t";
	case DESC_UINT64:
	case DESC_TICKS:
	case DESC_COUNTER:
		return "uint64_t";
	case DESC_BOOL:
		return "bool";
	case DESC_FLOAT:
		return "float";
	case DESC_DOUBLE:
		return "double";
	case DESC_TIME:
		return d->time == DESC_TIMEVAL ? "struct timeval" : "struct timespec";
	case DESC_STRING:
		return "char";
	default:
		return "unsigned char";
	}
}

/* True if the struct has a hidden field after the frame that records the start of the interval. */
static bool has_beginning(const struct desc_member *m)
{
	return m->type == DESC_COUNTER || (m->interval && is_timed(m->type));
}

/* A clock that each thread has for itself, like counters. */
static bool is_thread_clock(const struct desc *d)
{
	return d->time == DESC_TIMESPEC && d->clock && !strcmp(d->clock, "thread_cputime");
}

/* "struct ppt_Server_request" or "request". */
static void put_class(const struct emit *e, const struct desc_frame *f, FILE *out)
{
	if (emit_is_cpp(e->d))
		fputs(f->name, out);
	else
		fprintf(out, "struct ppt_%s_%s", e->d->name, f->name);
}

/* ---- usage comment ------------------------------------------------------------ */

static const struct desc_member *first_timed(const struct desc_frame *f)
{
	size_t i;

	for (i = 0; i < f->nr_members; i++) {
		if (is_timed(f->members[i].type))
			return &f->members[i];
	}
	return NULL;
}

void emit_usage(const struct emit *e, FILE *out)
{
	const struct desc_frame *f = &e->d->frames[0];
	const struct desc_member *m = first_timed(f);
	const char *end = m && m->interval ? "_start" : "";

	if (emit_is_cpp(e->d)) {
		fprintf(out, " *\tppt::%s::%s frame;\n", e->d->name, f->name);
		if (m)
			fprintf(out, " *\tframe.snapshot_%s%s();\n", m->name, end);
		fprintf(out, " *\t...\n *\tframe.save();\n");
		return;
	}
	fprintf(out, " *\tstruct ppt_%s_%s frame = { 0 };\n", e->d->name, f->name);
	if (m)
		fprintf(out, " *\tppt_%s_%s_snapshot_%s%s(&frame);\n", e->d->name, f->name, m->name,
			end);
	fprintf(out, " *\t...\n *\tppt_%s_%s_save(&frame);\n", e->d->name, f->name);
}

/* ---- enums -------------------------------------------------------------------- */

/* True if an earlier member has already declared this enum. */
static bool seen_before(const struct desc *d, const struct desc_member *m)
{
	size_t i, j;

	for (i = 0; i < d->nr_frames; i++) {
		for (j = 0; j < d->frames[i].nr_members; j++) {
			const struct desc_member *other = &d->frames[i].members[j];

			if (other == m)
				return false;
			if (other->type == DESC_ENUM && !strcmp(other->type_name, m->type_name))
				return true;
		}
	}
	return false;
}

static void emit_put_enum(const struct emit *e, const struct desc_member *m, FILE *out)
{
	size_t i;

	if (emit_is_cpp(e->d))
		fprintf(out, "enum class %s : int32_t {\n", m->type_name);
	else
		fprintf(out, "enum ppt_%s_%s {\n", e->d->name, m->type_name);
	for (i = 0; i < m->nr_values; i++) {
		if (emit_is_cpp(e->d))
			fprintf(out, "\t%s", m->values[i].name);
		else
			fprintf(out, "\tppt_%s_%s_%s", e->d->name, m->type_name, m->values[i].name);
		/* The smallest number cannot be written as a literal. */
		if (m->values[i].value == INT32_MIN)
			fprintf(out, " = -2147483647 - 1,\n");
		else
			fprintf(out, " = %d,\n", (int)m->values[i].value);
	}
	fputs("};\n\n", out);
}

void emit_enums(const struct emit *e, FILE *out)
{
	size_t i, j;

	for (i = 0; i < e->d->nr_frames; i++) {
		for (j = 0; j < e->d->frames[i].nr_members; j++) {
			const struct desc_member *m = &e->d->frames[i].members[j];

			if (m->type == DESC_ENUM && !seen_before(e->d, m))
				emit_put_enum(e, m, out);
		}
	}
}

/* ---- the struct ---------------------------------------------------------------- */

static void emit_put_field(const struct emit *e, const struct desc_field *f, FILE *out)
{
	bool cpp = emit_is_cpp(e->d), bytes = f->type == DESC_STRING || f->type == DESC_BYTES;

	if (cpp && f->type == DESC_ENUM)
		fprintf(out, "\t%s %s", f->type_name, f->name);
	else
		fprintf(out, "\t%s %s", c_type(e->d, f), f->name);
	if (f->is_array || bytes)
		fprintf(out, "[%u]", f->count);
	if (cpp)
		fputs(f->is_array || bytes || f->type == DESC_TIME || f->type == DESC_ENUM ? " = {}"
		      : f->type == DESC_BOOL ? " = false"
					     : " = 0",
		      out);
	fputc(';', out);
	if (!cpp && f->type == DESC_ENUM)
		fprintf(out, " /* enum ppt_%s_%s */", e->d->name, f->type_name);
	if (f->role == DESC_FRONT_SEQ)
		fputs(" /* not to be set, as all that begin with __ */", out);
	fputc('\n', out);
}

/*
 * After the back number, where save() does not look: the thread's stamp (or the last stamp of
 * any thread) when the interval began; 0 if it never began.
 */
static void put_beginnings(const struct emit *e, const struct desc_frame *f, FILE *out)
{
	size_t i;

	for (i = 0; i < f->nr_members; i++) {
		if (has_beginning(&f->members[i]))
			fprintf(out, "\tuint32_t __ppt_began_%s%s; /* not to be set */\n",
				f->members[i].name, emit_is_cpp(e->d) ? " = 0" : "");
	}
}

/* C++ also includes C headers, and has another keyword for it: the header defines a macro. */
static void put_asserts(const struct emit *e, const struct desc_frame *f, FILE *out)
{
	size_t i;

	for (i = 0; i < f->nr_fields; i++) {
		const struct desc_field *field = &f->fields[i];

		if (field->role == DESC_PADDING)
			continue;
		if (emit_is_cpp(e->d))
			fputs("static_assert(offsetof(", out);
		else
			fprintf(out, "PPT_%s_ASSERT(offsetof(", e->d->name);
		put_class(e, f, out);
		fprintf(out, ", %s) == %u, \"%s\");\n", field->name, field->offset, field->name);
	}
}

/* ---- snapshots -------------------------------------------------------------------- */

/* The body of a snapshot: its indentation, and the prefix of the frame's members. */
static const char *tab_of(const struct emit *e)
{
	return emit_is_cpp(e->d) ? "\t\t" : "\t";
}

static const char *emit_frame_of(const struct emit *e)
{
	return emit_is_cpp(e->d) ? "" : "frame->";
}

/* "if (attached())", which has a longer name in C; @begin: also set the thread up. */
static void put_condition(const struct emit *e, bool begin, const char *brace, FILE *out)
{
	fprintf(out, "%sif (", tab_of(e));
	if (begin)
		fprintf(out, "ppt_%s_begin_", e->d->name);
	else if (emit_is_cpp(e->d))
		fputs("attached", out);
	else
		fprintf(out, "ppt_%s_attached", e->d->name);
	fprintf(out, "())%s\n", brace);
}

static void put_now(const struct emit *e, const char *name, const char *end, FILE *out)
{
	fprintf(out, "%s\tppt_%s_now_(&%s%s%s);\n", tab_of(e), e->d->name, emit_frame_of(e), name,
		end);
}

/* Mark this time as not taken.  @extra: additional indentation. */
static void put_no_time(const struct emit *e, const char *extra, const char *name, const char *end,
			FILE *out)
{
	const char *frame = emit_frame_of(e),
		   *last = e->d->time == DESC_TIMEVAL ? "tv_usec" : "tv_nsec";

	if (e->d->time == DESC_COUNTER_CLOCK)
		fprintf(out, "%s%s%s%s%s = 0;\n", tab_of(e), extra, frame, name, end);
	else
		fprintf(out, "%s%s%s%s%s.tv_sec = %s%s%s.%s = 0;\n", tab_of(e), extra, frame, name,
			end, frame, name, end, last);
}

static void put_time_or_none(const struct emit *e, const char *name, const char *end, FILE *out)
{
	put_condition(e, false, "", out);
	put_now(e, name, end, out);
	fprintf(out, "%selse\n", tab_of(e));
	put_no_time(e, "\t", name, end, out);
}

/* begin_() does all slow work before the clock is read. */
static void put_time_start(const struct emit *e, const char *name, FILE *out)
{
	put_condition(e, true, " {", out);
	put_no_time(e, "\t", name, "_end", out);
	fprintf(out, "%s\t%s__ppt_began_%s = ppt_%s_%s_stamp_();\n", tab_of(e), emit_frame_of(e),
		name, e->d->name, is_thread_clock(e->d) ? "own" : "last");
	put_now(e, name, "_start", out);
	fprintf(out, "%s} else {\n", tab_of(e));
	fprintf(out, "%s\t%s__ppt_began_%s = 0;\n", tab_of(e), emit_frame_of(e), name);
	put_no_time(e, "\t", name, "_start", out);
	fprintf(out, "%s}\n", tab_of(e));
}

/*
 * The interval has no start if generated code had to set something up during it, or if it began
 * in another thread and each thread has its own clock.  A start that the program stored itself
 * has no stamp, and is kept.
 */
static void put_time_end(const struct emit *e, const char *name, FILE *out)
{
	const char *tab = tab_of(e), *frame = emit_frame_of(e), *buf = e->d->name;

	put_time_or_none(e, name, "_end", out);
	fprintf(out, "%sif (%s__ppt_began_%s &&\n", tab, frame, name);
	if (is_thread_clock(e->d))
		fprintf(out, "%s    %s__ppt_began_%s != ppt_%s_own_stamp_())\n", tab, frame, name,
			buf);
	else
		fprintf(out, "%s    (int32_t)(ppt_%s_own_stamp_() - %s__ppt_began_%s) > 0)\n", tab,
			buf, frame, name);
	put_no_time(e, "\t", name, "_start", out);
}

/* Store all three counters of a member: the values read, or all ones if not measured. */
static void emit_put_counters(const struct emit *e, const char *extra, const char *name,
			      const char *end, bool measured, FILE *out)
{
	unsigned i;

	for (i = 0; i < 3; i++) {
		fprintf(out, "%s%s%s%s_%u%s = ", tab_of(e), extra, emit_frame_of(e), name, i, end);
		if (measured)
			fprintf(out, "values[%u];\n", i);
		else
			fputs("UINT64_MAX;\n", out);
	}
}

/* Each thread has its own counters: an interval that began in another thread has no start. */
static void put_counter_body(const struct emit *e, const struct desc_member *m, const char *end,
			     FILE *out)
{
	const char *tab = tab_of(e), *frame = emit_frame_of(e);
	bool ends = !strcmp(end, "_end");

	fprintf(out, "%suint64_t values[3] = { UINT64_MAX, UINT64_MAX, UINT64_MAX };\n", tab);
	fprintf(out, "%suint32_t stamp = 0;\n\n", tab);
	put_condition(e, !ends, "", out);
	fprintf(out, "%s\tstamp = ppt_%s_counters_(values);\n", tab, e->d->name);
	if (ends) {
		fprintf(out, "%sif (!stamp || stamp != %s__ppt_began_%s) {\n", tab, frame, m->name);
		emit_put_counters(e, "\t", m->name, "_start", false, out);
		fprintf(out, "%s}\n", tab);
	} else {
		fprintf(out, "%s%s__ppt_began_%s = stamp;\n", tab, frame, m->name);
	}
	if (m->interval && !ends)
		emit_put_counters(e, "", m->name, "_end", false, out);
	emit_put_counters(e, "", m->name, end, true, out);
}

static void put_snapshot(const struct emit *e, const struct desc_frame *f,
			 const struct desc_member *m, const char *end, FILE *out)
{
	const char *buf = e->d->name;

	if (emit_is_cpp(e->d))
		fprintf(out, "\tvoid snapshot_%s%s()\n\t{\n", m->name, end);
	else
		fprintf(out,
			"static inline void ppt_%s_%s_snapshot_%s%s(struct ppt_%s_%s *frame)\n{\n",
			buf, f->name, m->name, end, buf, f->name);
	if (m->type == DESC_COUNTER)
		put_counter_body(e, m, end, out);
	else if (!m->interval)
		put_time_or_none(e, m->name, "", out);
	else if (!strcmp(end, "_start"))
		put_time_start(e, m->name, out);
	else
		put_time_end(e, m->name, out);
	fputs(emit_is_cpp(e->d) ? "\t}\n\n" : "}\n\n", out);
}

static void put_snapshots(const struct emit *e, const struct desc_frame *f, FILE *out)
{
	size_t i;

	for (i = 0; i < f->nr_members; i++) {
		const struct desc_member *m = &f->members[i];

		if (!is_timed(m->type))
			continue;
		put_snapshot(e, f, m, m->interval ? "_start" : "", out);
		if (m->interval)
			put_snapshot(e, f, m, "_end", out);
	}
}

/* ---- frames ------------------------------------------------------------------------ */

static void put_c_frame(const struct emit *e, const struct desc_frame *f, FILE *out)
{
	const char *buf = e->d->name;
	size_t i;

	fprintf(out, "/* ---- frame %s ---- */\n\nstruct ppt_%s_%s {\n", f->name, buf, f->name);
	for (i = 0; i < f->nr_fields; i++)
		emit_put_field(e, &f->fields[i], out);
	put_beginnings(e, f, out);
	fputs("};\n\n", out);
	put_asserts(e, f, out);
	fputc('\n', out);
	put_snapshots(e, f, out);
	fprintf(out, "PPT_%s_API void ppt_%s_%s_save_(const struct ppt_%s_%s *frame);\n\n", buf,
		buf, f->name, buf, f->name);
	fprintf(out, "static inline void ppt_%s_%s_save(const struct ppt_%s_%s *frame)\n{\n", buf,
		f->name, buf, f->name);
	fprintf(out, "\tif (ppt_%s_attached())\n\t\tppt_%s_%s_save_(frame);\n}\n\n", buf, buf,
		f->name);
}

static void put_cpp_frame(const struct emit *e, const struct desc_frame *f, FILE *out)
{
	size_t i;

	fprintf(out, "class PPT_%s_API %s\n{\n    public:\n", e->d->name, f->name);
	for (i = 0; i < f->nr_fields; i++)
		emit_put_field(e, &f->fields[i], out);
	put_beginnings(e, f, out);
	fputc('\n', out);
	put_snapshots(e, f, out);
	fputs("\tvoid save() const\n\t{\n\t\tif (attached())\n\t\t\tsave_();\n\t}\n\n", out);
	fputs("    private:\n\tvoid save_() const;\n};\n\n", out);
	put_asserts(e, f, out);
	fputc('\n', out);
}

void emit_frames(const struct emit *e, FILE *out)
{
	size_t i;

	for (i = 0; i < e->d->nr_frames; i++) {
		if (emit_is_cpp(e->d))
			put_cpp_frame(e, &e->d->frames[i], out);
		else
			put_c_frame(e, &e->d->frames[i], out);
	}
}

/* ---- storing fields ------------------------------------------------------------------ */

/* How a field is stored into the slot. */
enum put { PUT8, PUT16, PUT32, PUT64, PUT_FLOAT, PUT_DOUBLE, PUT_TEXT, PUT_ZEROS, NR_PUTS };

static enum put put_of(const struct desc_field *f)
{
	switch (f->type) {
	case DESC_FLOAT:
		return PUT_FLOAT;
	case DESC_DOUBLE:
		return PUT_DOUBLE;
	case DESC_STRING:
		return PUT_TEXT;
	case DESC_BYTES:
		return PUT_ZEROS;
	case DESC_TIME:
		return PUT64;
	default:
		break;
	}
	switch (desc_type_size(f->type)) {
	case 1:
		return PUT8;
	case 2:
		return PUT16;
	case 4:
		return PUT32;
	default:
		return PUT64;
	}
}

/* With a single frame type, padding keeps the zeros of the new segment. */
static bool is_written(const struct desc *d, const struct desc_field *f)
{
	if (f->role == DESC_PADDING)
		return d->nr_frames > 1;
	return f->role != DESC_FRONT_SEQ && f->role != DESC_BACK_SEQ;
}

static void find_puts(const struct desc *d, bool used[NR_PUTS])
{
	size_t i, j;

	memset(used, 0, NR_PUTS * sizeof(*used));
	for (i = 0; i < d->nr_frames; i++) {
		for (j = 0; j < d->frames[i].nr_fields; j++) {
			if (is_written(d, &d->frames[i].fields[j]))
				used[put_of(&d->frames[i].fields[j])] = true;
		}
	}
	used[PUT8] |= used[PUT_TEXT] || used[PUT_ZEROS];
	used[PUT32] |= used[PUT_FLOAT];
	used[PUT64] |= used[PUT_DOUBLE];
	/* Slots are aligned to four bytes only: 64-bit words are stored as two halves. */
	used[PUT32] |= used[PUT64] && d->stride % 8;
}

static void put_store(unsigned bits, FILE *out)
{
	fprintf(out,
		"static inline void put%u(unsigned char *at, uint%u_t value)\n{\n"
		"\tstore_relaxed((uint%u_t *)(void *)at, value);\n}\n\n",
		bits, bits, bits);
}

static void emit_put_real(const char *type, unsigned bits, FILE *out)
{
	fprintf(out,
		"static inline void put_%s(unsigned char *at, %s value)\n{\n\tuint%u_t bits;\n\n"
		"\tmemcpy(&bits, &value, sizeof(bits));\n\tput%u(at, bits);\n}\n\n",
		type, type, bits, bits);
}

static const char *const put_halves =
	"/* Slots are aligned to four bytes only. */\n"
	"static inline void put64(unsigned char *at, uint64_t value)\n{\n"
	"\tput32(at, (uint32_t)value);\n\tput32(at + 4, (uint32_t)(value >> 32));\n}\n\n";

static const char *const counted =
	"/* A counter of which no snapshot was taken is not 0, but not measured. */\n"
	"static inline uint64_t counted(uint64_t value, uint32_t began)\n{\n"
	"\treturn value || began ? value : UINT64_MAX;\n}\n\n";

static const char *const put_text =
	"/* Up to the terminator; what is behind it is not ours to show. */\n"
	"static inline void put_text(unsigned char *at, const char *text, size_t size)\n{\n"
	"\tsize_t i;\n\tint ended = 0;\n\n"
	"\tfor (i = 0; i < size; i++) {\n\t\tended = ended || !text[i];\n"
	"\t\tput8(at + i, ended ? 0 : (uint8_t)text[i]);\n\t}\n}\n\n";

static const char *const put_zeros =
	"/* Where another kind of frame may have had something. */\n"
	"static inline void put_zeros(unsigned char *at, size_t size)\n{\n"
	"\tsize_t i;\n\n\tfor (i = 0; i < size; i++)\n\t\tput8(at + i, 0);\n}\n\n";

void emit_puts(const struct emit *e, FILE *out)
{
	bool used[NR_PUTS];

	find_puts(e->d, used);
	if (used[PUT8])
		put_store(8, out);
	if (used[PUT16])
		put_store(16, out);
	if (used[PUT32])
		put_store(32, out);
	if (used[PUT64] && e->d->stride % 8)
		fputs(put_halves, out);
	else if (used[PUT64])
		put_store(64, out);
	if (used[PUT_FLOAT])
		emit_put_real("float", 32, out);
	if (used[PUT_DOUBLE])
		emit_put_real("double", 64, out);
	if (emit_has_type(e->d, DESC_COUNTER))
		fputs(counted, out);
	if (used[PUT_TEXT])
		fputs(put_text, out);
	if (used[PUT_ZEROS])
		fputs(put_zeros, out);
}

/* ---- save() ---------------------------------------------------------------------------- */

static void put_at(const struct emit *e, const struct desc_frame *f, const struct desc_field *field,
		   FILE *out)
{
	fputs("slot + offsetof(", out);
	put_class(e, f, out);
	fprintf(out, ", %s)", field->name);
}

static void put_scalar(const struct emit *e, const struct desc_frame *f,
		       const struct desc_field *field, FILE *out)
{
	static const char *const names[NR_PUTS] = { "put8",     "put16",     "put32",
						    "put64",    "put_float", "put_double",
						    "put_text", "put_zeros" };
	static const char *const casts[NR_PUTS] = {
		"(uint8_t)", "(uint16_t)", "(uint32_t)", "(uint64_t)", "", "", "", ""
	};
	enum put put = put_of(field);

	if (field->is_array)
		fprintf(out, "\tfor (i = 0; i < %u; i++)\n\t", field->count);
	fprintf(out, "\t%s(", names[put]);
	put_at(e, f, field, out);
	if (field->type == DESC_COUNTER)
		fprintf(out, ", counted(frame->%s, frame->__ppt_began_%s));\n", field->name,
			field->member);
	else if (field->is_array)
		fprintf(out, " + i * %u, %s%s%s[i]);\n", desc_type_size(field->type), casts[put],
			"frame->", field->name);
	else
		fprintf(out, ", %s%s%s);\n", casts[put], "frame->", field->name);
}

static void emit_put_time(const struct emit *e, const struct desc_frame *f,
			  const struct desc_field *field, FILE *out)
{
	fputs("\tput64(", out);
	put_at(e, f, field, out);
	fprintf(out, ", (uint64_t)frame->%s.tv_sec);\n\tput64(", field->name);
	put_at(e, f, field, out);
	fprintf(out, " + 8, (uint64_t)frame->%s.%s);\n", field->name,
		e->d->time == DESC_TIMEVAL ? "tv_usec" : "tv_nsec");
}

/* Emit the function with which save() stores the members. */
static void put_fill(const struct emit *e, const struct desc_frame *f, unsigned type, FILE *out)
{
	bool cpp = emit_is_cpp(e->d), arrays = false;
	size_t i;

	for (i = 0; i < f->nr_fields; i++)
		arrays |= f->fields[i].is_array;
	fprintf(out, "static inline void fill_%s(unsigned char *slot, const void *from)\n{\n",
		f->name);
	fputs(f->nr_members ? "\tconst " : "\t(void)from;\n", out);
	if (f->nr_members) {
		put_class(e, f, out);
		fputs(" *frame = (const ", out);
		put_class(e, f, out);
		fputs(" *)from;\n", out);
	}
	fputs(arrays ? "\tsize_t i;\n\n" : "\n", out);
	for (i = 0; i < f->nr_fields; i++) {
		const struct desc_field *field = &f->fields[i];

		if (!is_written(e->d, field))
			continue;
		if (field->role == DESC_FRAME_TYPE) {
			fputs("\tput32(", out);
			put_at(e, f, field, out);
			fprintf(out, ", %u);\n", type);
		} else if (field->type == DESC_TIME) {
			emit_put_time(e, f, field, out);
		} else if (field->type == DESC_STRING || field->type == DESC_BYTES) {
			fputs(field->type == DESC_STRING ? "\tput_text(" : "\tput_zeros(", out);
			put_at(e, f, field, out);
			if (field->type == DESC_STRING)
				fprintf(out, ", frame->%s", field->name);
			fprintf(out, ", %u);\n", field->size);
		} else {
			put_scalar(e, f, field, out);
		}
	}
	if (f->nr_fields == 2)
		fputs("\t(void)slot;\n", out);
	fputs("}\n\n", out);
	if (cpp)
		fprintf(out, "void %s::save_() const\n{\n\tsave_frame(this, fill_%s);\n}\n",
			f->name, f->name);
	else
		fprintf(out,
			"void ppt_%s_%s_save_(const struct ppt_%s_%s *frame)\n{\n"
			"\tsave_frame(frame, fill_%s);\n}\n",
			e->d->name, f->name, e->d->name, f->name, f->name);
}

void emit_saves(const struct emit *e, FILE *out)
{
	size_t i;

	if (emit_is_cpp(e->d))
		fprintf(out, "namespace ppt\n{\nnamespace %s\n{\n\n", e->d->name);
	for (i = 0; i < e->d->nr_frames; i++) {
		if (i)
			fputc('\n', out);
		put_fill(e, &e->d->frames[i], (unsigned)i + 1, out);
	}
	if (emit_is_cpp(e->d))
		fprintf(out, "\n} // namespace %s\n} // namespace ppt\n", e->d->name);
}
