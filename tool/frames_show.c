/* SPDX-License-Identifier: MIT */
/* frames_show.c - print buffers, layouts and tags. */
#include "frames_show.h"

#include <errno.h>
#include <string.h>

#include "base/printer.h"
#include "base/text.h"
#include "cmd.h"
#include "frames/live/live_buffer.h"
#include "json_file.h"

/* ---- one description ----------------------------------------------------- */

static const char *role_word(const struct desc_field *f)
{
	switch (f->role) {
	case DESC_FRONT_SEQ:
	case DESC_BACK_SEQ:
		return "sequence number";
	case DESC_FRAME_TYPE:
		return "type of frame";
	case DESC_PADDING:
		return "padding";
	case DESC_START:
		return "start of interval";
	case DESC_END:
		return "end of interval";
	case DESC_FOREIGN:
		return "unknown type";
	default:
		return "";
	}
}

static const char *type_words(const struct desc_field *f, char *buf, size_t size)
{
	const char *name = f->type_name ? f->type_name : desc_type_name(f->type);

	if (f->role == DESC_PADDING)
		return "";
	if (f->type == DESC_STRING || f->is_array)
		snprintf(buf, size, "%s[%u]", name, f->count);
	else if (f->type == DESC_COUNTER)
		snprintf(buf, size, "%s %u", name, f->counter);
	else
		return name;
	return buf;
}

void show_layout(FILE *out, const struct desc *d)
{
	char type[DESC_NAME_MAX + 32];
	size_t f, i;

	for (f = 0; f < d->nr_frames; f++) {
		const struct desc_frame *frame = &d->frames[f];
		int width = 6;

		for (i = 0; i < frame->nr_fields; i++) {
			int len = text_width(frame->fields[i].name);

			width = len > width ? len : width;
		}
		fprintf(out, "%sframe %s (type %zu, %u bytes)\n", f ? "\n" : "", frame->name, f + 1,
			d->frame_size);
		fprintf(out, "  %6s %5s  %-*s  %-14s %s\n", "offset", "size", width, "field",
			"type", "");
		for (i = 0; i < frame->nr_fields; i++) {
			const struct desc_field *field = &frame->fields[i];

			fprintf(out, "  %6u %5u  %-*s  %-14s %s\n", field->offset, field->size,
				width, field->name, type_words(field, type, sizeof(type)),
				role_word(field));
		}
	}
}

void show_tags(FILE *out, const struct desc *d)
{
	size_t i;

	for (i = 0; i < d->nr_tags; i++) {
		text_put(out, d->tags[i].key);
		fputs(" = ", out);
		text_put(out, d->tags[i].value);
		fputc('\n', out);
	}
}

static const char *time_word(const struct desc *d)
{
	return d->time == DESC_TIMEVAL         ? "timeval"
	       : d->time == DESC_COUNTER_CLOCK ? "counter"
					       : "timespec";
}

static const char *dialect_word(const struct desc *d)
{
	return d->dialect == DESC_PPT ? "ppt" : "seed";
}

void show_facts(FILE *out, const struct desc *d)
{
	char size[TEXT_SIZE];
	size_t i;

	fprintf(out, "buffer    %s\n", d->name);
	fputs("made by   ", out);
	text_put(out, d->generator ? d->generator : "the existing tool");
	fputs(", ", out);
	text_put(out, d->language ? d->language : "?");
	fputs(", abi ", out);
	text_put(out, d->abi ? d->abi : "?");
	fprintf(out, ", dialect %s\n", dialect_word(d));
	fprintf(out, "time      %s", time_word(d));
	if (d->clock) {
		fputc(' ', out);
		text_put(out, d->clock);
	}
	fprintf(out, "\nring      %s\n", d->resize ? "resizable" : "of one size");
	if (d->has_min_slots)
		fprintf(out, "slots     at least %s (from the spec)\n",
			text_count(size, d->min_slots));
	fputs("frames    ", out);
	for (i = 0; i < d->nr_frames; i++)
		fprintf(out, "%s%s", i ? ", " : "", d->frames[i].name);
	fprintf(out, " (%u bytes each)\n", d->frame_size);
}

static const char *role_key(enum desc_role role)
{
	static const char *const keys[] = {
		[DESC_FRONT_SEQ] = "front_seq",
		[DESC_FRAME_TYPE] = "frame_type",
		[DESC_BACK_SEQ] = "back_seq",
		[DESC_PADDING] = "padding",
		[DESC_PLAIN] = "plain",
		[DESC_START] = "start",
		[DESC_END] = "end",
		[DESC_FOREIGN] = "foreign",
	};

	return keys[role];
}

static void show_field_json(struct json_writer *w, const struct desc_field *f)
{
	jw_object_begin(w);
	jw_field_string(w, "name", f->name);
	jw_field_string(w, "member", f->member);
	jw_field_string(w, "type",
			f->type_name && f->role == DESC_FOREIGN ? f->type_name
								: desc_type_name(f->type));
	jw_field_string(w, "role", role_key(f->role));
	jw_field_u64(w, "offset", f->offset);
	jw_field_u64(w, "size", f->size);
	if (f->is_array || f->type == DESC_STRING)
		jw_field_u64(w, "count", f->count);
	if (f->type == DESC_COUNTER)
		jw_field_u64(w, "counter", f->counter);
	jw_object_end(w);
}

void show_desc_json(struct json_writer *w, const struct desc *d)
{
	size_t f, i;

	jw_field_string(w, "buffer", d->name);
	jw_field_string(w, "abi", d->abi);
	jw_field_string(w, "dialect", dialect_word(d));
	jw_field_string(w, "language", d->language);
	jw_field_string(w, "generator", d->generator);
	jw_field_string(w, "time", time_word(d));
	jw_field_string(w, "clock", d->clock);
	jw_field_bool(w, "resize", d->resize);
	jw_field_bool(w, "extended", d->extended);
	jw_field_u64(w, "frame_size", d->frame_size);
	jw_field_u64(w, "stride", d->stride);
	jw_key(w, "tags");
	jw_array_begin(w);
	for (i = 0; i < d->nr_tags; i++) {
		jw_array_begin(w);
		jw_string(w, d->tags[i].key);
		jw_string(w, d->tags[i].value);
		jw_array_end(w);
	}
	jw_array_end(w);
	jw_key(w, "frames");
	jw_array_begin(w);
	for (f = 0; f < d->nr_frames; f++) {
		jw_object_begin(w);
		jw_field_string(w, "name", d->frames[f].name);
		jw_field_u64(w, "type", f + 1);
		jw_key(w, "fields");
		jw_array_begin(w);
		for (i = 0; i < d->frames[f].nr_fields; i++)
			show_field_json(w, &d->frames[f].fields[i]);
		jw_array_end(w);
		jw_object_end(w);
	}
	jw_array_end(w);
}

/* ---- the buffers of a process -------------------------------------------- */

static void show_owner(struct printer *p, struct live_buffer *b)
{
	pid_t owner = live_owner(b);
	char name[32];

	print_integer(p, "owner", NULL, owner);
	if (p->is_json) /* it reads the program's memory */
		print_flag(p, "attached", NULL, live_is_attached(b, owner));
	else if (!owner)
		print_text(p, "%-20s ", "-");
	else
		print_text(p, "%-8d %-11s ", (int)owner,
			   live_owner_works(b, owner) ? target_name(owner, name) : "(not there)");
}

static void show_place(struct printer *p, struct target *t, const struct buffer_symbol *place)
{
	struct live_buffer b = { .target = *t, .place = place };
	struct err err = { 0 };

	print_row(p);
	print_text(p, "%-16s ", place->name);
	print_string(p, "name", place->name);
	print_string(p, "file", place->file);
	if (live_describe(t, place, &b.desc, &err) < 0) {
		print_text(p, "unreadable: %s", err.text);
		print_string(p, "error", err.text);
		print_row_end(p);
		return;
	}
	print_text(p, "%4zu %9u  %-9s ", b.desc.nr_frames, b.desc.frame_size,
		   b.desc.resize ? "resizable" : "fixed");
	show_owner(p, &b);
	print_safe(p, place->file, 0);
	if (p->is_json)
		show_desc_json(&p->json, &b.desc);
	print_row_end(p);
	desc_release(&b.desc);
}

static void print_places(struct target *t, const struct buffer_symbols *list, bool json)
{
	struct printer p;
	size_t i;

	printer_begin(&p, json_file_stream(stdout), json);
	print_text(&p, "%-16s %4s %9s  %-9s %-20s %s\n", "buffer", "frms", "bytes", "ring",
		   "collector", "in");
	print_integer(&p, "pid", NULL, t->pid);
	print_list(&p, "buffers");
	for (i = 0; i < list->nr; i++)
		show_place(&p, t, &list->at[i]);
	print_list_end(&p);
	printer_end(&p);
}

int show_buffers(const char *command, pid_t pid, bool json)
{
	struct buffer_symbols list = { 0 };
	struct err err = { 0 };
	struct target t;
	int status = EXIT_OK;

	if (target_open(&t, pid, &err) < 0) {
		message_error(command, &err);
		return EXIT_FAILED;
	}
	if (places_find(&t, &list, &err) < 0 ||
	    (!list.nr && !json && !places_pick(&list, NULL, pid, &err))) {
		message_error(command, &err);
		status = EXIT_FAILED;
	} else {
		print_places(&t, &list, json);
		if (list.unreadable)
			message_print(command, "cannot read %s%s", list.unreadable_first,
				      list.unreadable > 1 ? " and others" : "");
	}
	places_release(&list);
	target_close(&t);
	return status;
}
