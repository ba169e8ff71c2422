/* SPDX-License-Identifier: MIT */
/* local_print.c - print the variables of coroutines. */
#include "inspect/local_print.h"

#include <stdio.h>

#include "base/text.h"

#define LOCAL_INDENT  "           "
#define LOCAL_COLUMNS 100 /* of a struct or list; the rest is left out */

/* ---- text -------------------------------------------------------------------------------- */

/* Nodes that fit into the line; what is left out becomes "...". */
struct local_line {
	struct printer *p;
	const struct local_tree *tree;
	int columns;
};

static void local_put_text(struct local_line *line, const struct local_node *node)
{
	FILE *file = line->p->file;

	fputc('"', file);
	text_put_n(file, node->text, node->text_size);
	fputs(node->is_cut ? "\"..." : "\"", file);
	line->columns -= (int)node->text_size;
}

static void local_put_character(struct local_line *line, const struct local_node *node)
{
	char utf8[8];
	size_t size = 0;
	uint32_t cp = (uint32_t)node->number;

	if (cp < 0x80) {
		utf8[size++] = (char)cp;
	} else if (cp < 0x800) {
		utf8[size++] = (char)(0xc0 | cp >> 6);
	} else if (cp < 0x10000) {
		utf8[size++] = (char)(0xe0 | cp >> 12);
		utf8[size++] = (char)(0x80 | (cp >> 6 & 0x3f));
	} else {
		utf8[size++] = (char)(0xf0 | cp >> 18);
		utf8[size++] = (char)(0x80 | (cp >> 12 & 0x3f));
		utf8[size++] = (char)(0x80 | (cp >> 6 & 0x3f));
	}
	if (cp >= 0x80)
		utf8[size++] = (char)(0x80 | (cp & 0x3f));
	if (line->p->is_json) {
		jw_string_n(&line->p->json, utf8, size);
		return;
	}
	fputc('\'', line->p->file);
	text_put_n(line->p->file, utf8, size);
	fputc('\'', line->p->file);
}

/* A value without members. */
static void local_put_scalar(struct local_line *line, const struct local_node *node)
{
	FILE *file = line->p->file;
	int put = 0;

	switch (node->kind) {
	case LOCAL_INTEGER:
		put = fprintf(file, "%lld", (long long)(int64_t)node->number);
		break;
	case LOCAL_UNSIGNED:
		put = fprintf(file, "%llu", (unsigned long long)node->number);
		break;
	case LOCAL_BOOL:
		put = fprintf(file, "%s", node->number ? "true" : "false");
		break;
	case LOCAL_REAL:
		put = fprintf(file, "%.9g", node->real);
		break;
	case LOCAL_CHARACTER:
		local_put_character(line, node);
		put = 3;
		break;
	case LOCAL_POINTER:
		put = node->number ? fprintf(file, "%#llx", (unsigned long long)node->number)
				   : fprintf(file, "null");
		break;
	case LOCAL_NAME:
	case LOCAL_VARIANT:
		text_put(file, node->text ? node->text : "?");
		put = (int)node->text_size;
		break;
	default:
		put = fprintf(file, "<%s>", node->text ? node->text : "unknown");
	}
	line->columns -= put > 0 ? put : 0;
}

static void local_put_value(struct local_line *line, size_t number);

static void local_put_children(struct local_line *line, size_t number, const char *open,
			       const char *close)
{
	const struct local_node *node = &line->tree->nodes[number];
	bool is_first = true;
	size_t i;

	fputs(open, line->p->file);
	for (i = number + 1; i < node->end; i = line->tree->nodes[i].end) {
		const char *name = line->tree->nodes[i].name;

		fputs(is_first ? "" : ", ", line->p->file);
		is_first = false;
		if (line->columns <= 0) {
			fputs("...", line->p->file);
			fputs(close, line->p->file);
			return;
		}
		if (name) {
			text_put(line->p->file, name);
			fputs(" = ", line->p->file);
			line->columns -= text_width(name) + 3;
		}
		local_put_value(line, i);
		line->columns -= 2;
	}
	if (node->is_cut)
		fputs(is_first ? "..." : ", ...", line->p->file);
	fputs(close, line->p->file);
}

static void local_put_value(struct local_line *line, size_t number)
{
	const struct local_node *node = &line->tree->nodes[number];
	bool has_children = node->end > number + 1;
	char text[TEXT_SIZE];

	switch (node->kind) {
	case LOCAL_STRUCT:
		local_put_children(line, number, has_children ? "{ " : "{",
				   has_children ? " }" : "}");
		break;
	case LOCAL_VARIANT:
		local_put_scalar(line, node);
		if (has_children)
			local_put_children(line, number, "(", ")");
		break;
	case LOCAL_TEXT:
		fprintf(line->p->file, "length %s", text_count(text, node->length));
		line->columns -= 12;
		if (node->text) {
			fputc(' ', line->p->file);
			local_put_text(line, node);
		}
		break;
	case LOCAL_LIST:
		fprintf(line->p->file, "length %s", text_count(text, node->length));
		line->columns -= 12;
		if (has_children)
			local_put_children(line, number, " [", "]");
		break;
	default:
		local_put_scalar(line, node);
	}
	if (node->is_unread)
		fputs(" (not in memory)", line->p->file);
}

static void local_put_line(struct printer *p, const struct local_tree *tree, size_t number)
{
	struct local_line line = { .p = p, .tree = tree, .columns = LOCAL_COLUMNS };
	const struct local_node *node = &tree->nodes[number];

	fputs(LOCAL_INDENT, p->file);
	text_put_short(p->file, node->type, 60);
	fputc(' ', p->file);
	text_put(p->file, node->name ? node->name : "?");
	fputs(node->kind == LOCAL_STATE ? ": " : " = ", p->file);
	if (node->kind == LOCAL_STATE)
		fputs(node->text, p->file);
	else
		local_put_value(&line, number);
	if (node->may_be_unset && node->kind != LOCAL_STATE)
		fputs("  (declared here: may not be set)", p->file);
	fputc('\n', p->file);
}

/* ---- JSON -------------------------------------------------------------------------------- */

static void local_json_value(struct printer *p, const struct local_tree *tree, size_t number)
{
	const struct local_node *node = &tree->nodes[number];
	struct local_line line = { .p = p, .tree = tree };
	char text[32];

	switch (node->kind) {
	case LOCAL_INTEGER:
		jw_i64(&p->json, (int64_t)node->number);
		break;
	case LOCAL_UNSIGNED:
		jw_u64(&p->json, node->number);
		break;
	case LOCAL_BOOL:
		jw_bool(&p->json, node->number != 0);
		break;
	case LOCAL_REAL:
		jw_double(&p->json, node->real);
		break;
	case LOCAL_CHARACTER:
		local_put_character(&line, node);
		break;
	case LOCAL_POINTER:
		snprintf(text, sizeof(text), "%#llx", (unsigned long long)node->number);
		jw_string(&p->json, node->number ? text : NULL);
		break;
	case LOCAL_NAME:
		jw_string(&p->json, node->text);
		break;
	case LOCAL_TEXT:
		jw_string_n(&p->json, node->text, node->text_size);
		break;
	default:
		jw_null(&p->json);
	}
}

static void local_json_node(struct printer *p, const struct local_tree *tree, size_t number)
{
	const struct local_node *node = &tree->nodes[number];
	bool is_text = node->kind == LOCAL_TEXT;
	size_t i;

	print_object(p, NULL);
	if (node->name)
		print_string(p, "name", node->name);
	print_string(p, "type", node->type);
	if (node->is_parameter)
		print_flag(p, "parameter", NULL, true);
	if (node->may_be_unset)
		print_flag(p, "may_be_unset", NULL, true);
	if (node->has_length)
		print_number(p, "length", NULL, node->length);
	if (node->kind == LOCAL_STATE)
		print_string(p, "state", node->text);
	if (node->kind == LOCAL_VARIANT)
		print_string(p, "variant", node->text);
	if (node->is_reference && node->kind == LOCAL_STRUCT)
		print_address(p, "address", NULL, node->number);
	if (is_text ? node->text != NULL : node->kind != LOCAL_STATE && node->kind < LOCAL_LIST) {
		jw_key(&p->json, "value");
		local_json_value(p, tree, number);
	}
	if (node->is_unread)
		print_flag(p, "unread", NULL, true);
	if (node->is_cut)
		print_flag(p, "cut", NULL, true);
	if (node->kind == LOCAL_STRUCT || node->end > number + 1) {
		print_list(p, node->kind == LOCAL_LIST ? "elements" : "members");
		for (i = number + 1; i < node->end; i = tree->nodes[i].end)
			local_json_node(p, tree, i);
		print_list_end(p);
	}
	print_object_end(p);
}

/* ---- all of it ------------------------------------------------------------------------------ */

void print_locals(const struct local_values *values, struct printer *p, size_t level)
{
	const char *problem;
	const struct local_tree *tree = local_values_tree(values, level, &problem);
	size_t i;

	print_list(p, "locals");
	for (i = 0; i < tree->nr; i = tree->nodes[i].end) {
		if (p->is_json)
			local_json_node(p, tree, i);
		else
			local_put_line(p, tree, i);
	}
	print_list_end(p);
	if (problem) {
		print_text(p, LOCAL_INDENT "(variables unknown: %s)\n", problem);
		print_string(p, "locals_problem", problem);
	}
	if (tree->is_full) {
		print_text(p, LOCAL_INDENT "(more variables or members are left out)\n");
		print_flag(p, "locals_cut", NULL, true);
	}
}

static void print_member_levels(struct local_values *values, struct printer *p, size_t nr)
{
	size_t level;

	print_list(p, "stack");
	for (level = 0; level < nr; level++) {
		print_object(p, NULL);
		print_locals(values, p, level);
		print_object_end(p);
	}
	print_list_end(p);
}

void print_member_locals(struct local_values *values, struct printer *p,
			 const struct inspect_group *group, size_t max)
{
	size_t i;

	if (!p->is_json)
		return;
	print_list(p, "member_locals");
	for (i = 0; i < group->count && i < max; i++) {
		size_t nr = local_values_read(values, group, i);

		print_object(p, NULL);
		print_member_levels(values, p, nr);
		print_object_end(p);
	}
	print_list_end(p);
	if (i < group->count)
		print_count(p, "member_locals_left_out", NULL, group->count - i);
}
