/* SPDX-License-Identifier: MIT */
/* test_own_coroutines.c - what DWARF says about coroutines, compared with frames of this process.
 */
#include "symbols/coroutine_types.h"

#include "coroutine_bed.h"
#include "own_module.h"
#include "symbols/coroutine_layout.h"
#include "symbols/guard_scopes.h"
#include "symbols/variable_list.h"

static struct coro_types *types;

static int64_t number_of(const void *frame)
{
	const uint64_t *words = frame;

	return coro_types_find(types, words[0], words[1]);
}

static uint64_t index_of(const struct coro_type *type, const void *frame)
{
	uint64_t index = 0;

	CHECK(type->has_index && type->index_size <= 8);
	memcpy(&index, (const char *)frame + type->index_offset, type->index_size);
	return index;
}

/* "name=value name=value", of integers; a name in brackets may be unset. */
static const char *variables_of(int64_t number, const void *frame)
{
	static char text[256];
	const struct coro_type *type = coro_types_get(types, (size_t)number);
	struct coro_source source;
	struct variable_list *list;
	size_t i;

	CHECK(coro_types_source(types, (size_t)number, &source));
	list = variable_list_read(type, &source, index_of(type, frame));
	CHECK(list && !list->is_without_types && !list->is_without_scope);
	text[0] = '\0';
	for (i = 0; i < list->nr; i++) {
		const struct frame_variable *v = &list->variables[i];
		short value;

		if (strcmp(v->name, "result") == 0)
			continue;
		CHECK_EQ(v->place, VARIABLE_MEMBER);
		memcpy(&value, (const char *)frame + v->offset, sizeof(value));
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s=%d ",
			 v->is_parameter ? "*" : "", v->name, value);
	}
	variable_list_free(list);
	return text;
}

static const struct coro_field *field_named(const struct coro_type *type, const char *path)
{
	size_t i;

	for (i = 0; i < type->nr_fields; i++) {
		if (!strcmp(type->fields[i].path, path))
			return &type->fields[i];
	}
	return NULL;
}

static void a_frame_names_its_function(void)
{
	long result = 0;
	void *sum = bed_create_sum(4, &result), *eager = bed_create_eager();
	const struct coro_type *type;
	int64_t number = number_of(sum);
	uint64_t low, high;

	CHECK(number >= 0 && number_of(eager) >= 0 && number != number_of(eager));
	type = coro_types_get(types, (size_t)number);
	CHECK(strstr(type->function, "sum_of"));
	CHECK(strstr(coro_types_get(types, (size_t)number_of(eager))->function, "eager"));
	CHECK_EQ(type->resume, *(const uint64_t *)sum);
	CHECK(type->has_layout && type->has_promise);
	CHECK(type->starts_suspended && !type->starts_running);
	type = coro_types_get(types, (size_t)number_of(eager));
	CHECK(!type->starts_suspended && type->starts_running);
	/* Both addresses have to fit; a frame at its end has only the second one. */
	CHECK_EQ(coro_types_find(types, ((uint64_t *)sum)[0], ((uint64_t *)eager)[1]), -1);
	CHECK_EQ(coro_types_find(types, ((uint64_t *)sum)[0] + 1, ((uint64_t *)sum)[1]), -1);
	CHECK_EQ(coro_types_find(types, 0, ((uint64_t *)sum)[1]), number);
	coro_types_bounds(types, &low, &high);
	CHECK(low <= ((uint64_t *)sum)[0] && high >= ((uint64_t *)eager)[0]);
	bed_destroy(sum);
	bed_destroy(eager);
}

static void code_belongs_to_its_coroutine_from_the_first_to_the_last_byte(void)
{
	long result = 0;
	void *sum = bed_create_sum(4, &result);
	int64_t number = number_of(sum);
	const struct coro_type *type = coro_types_get(types, (size_t)number);

	CHECK(type->code_end > type->resume);
	CHECK_EQ(coro_types_at(types, type->resume), number);
	CHECK_EQ(coro_types_at(types, type->code_end - 1), number);
	CHECK(coro_types_at(types, type->code_end) != number);
	CHECK(coro_types_at(types, type->resume - 1) != number);
	CHECK_EQ(coro_types_at(types, 0), -1);
	CHECK_EQ(coro_types_at(types, UINT64_MAX), -1);
	bed_destroy(sum);
}

static void fields_are_where_the_frame_has_them(void)
{
	long result = 0;
	void *sum = bed_create_sum(1234, &result);
	const struct coro_type *type = coro_types_get(types, (size_t)number_of(sum));
	const struct coro_field *field = field_named(type, "first");
	int tag, value;

	CHECK(field && !field->in_promise && field->is_signed && !field->is_reference);
	CHECK_EQ(field->size, sizeof(int));
	CHECK_EQ(field->kind, CORO_FIELD_INTEGER);
	CHECK_STR(field->type, "int");
	memcpy(&value, (char *)sum + field->offset, sizeof(value));
	CHECK_EQ(value, 1234);
	field = field_named(type, "result");
	CHECK(field && field->kind == CORO_FIELD_POINTER);
	CHECK(*(long **)((char *)sum + field->offset) == &result);
	CHECK_EQ(type->promise_size, sizeof(int));
	memcpy(&tag, (char *)sum + type->promise_offset, sizeof(tag));
	CHECK_EQ(tag, 0x5a5a);
	CHECK(type->size >= type->promise_offset + type->promise_size);
	CHECK(type->index_offset + type->index_size <= type->size);
	bed_destroy(sum);
}

static void expect_point(const void *frame, unsigned line, const char *awaits)
{
	const struct coro_type *type = coro_types_get(types, (size_t)number_of(frame));
	const struct coro_point *point = coro_type_point(type, index_of(type, frame));

	CHECK(point && coro_type_has_index(type, index_of(type, frame)));
	CHECK_EQ(point->line, line);
	CHECK(strstr(point->file, "coroutine_bed.cpp"));
	CHECK(!point->is_initial);
	/* gcc does not always say which awaiter it is. */
	CHECK(!point->awaits || strstr(point->awaits, awaits));
	CHECK(point->addr >= type->resume && point->addr < type->code_end);
}

static void a_suspended_coroutine_is_at_its_co_await(void)
{
	long result = 0;
	void *sum = bed_create_sum(4, &result), *eager = bed_create_eager();
	const struct coro_type *type = coro_types_get(types, (size_t)number_of(sum));
	const struct coro_point *point = coro_type_point(type, index_of(type, sum));

	CHECK(point && point->is_initial);
	CHECK(!coro_type_has_index(type, 4711));
	CHECK(!coro_type_point(type, 4711));
	bed_resume(sum);
	expect_point(sum, bed_lines[0], "Pause");
	bed_resume(sum);
	expect_point(sum, bed_lines[1], "suspend_always");
	bed_resume(sum);
	expect_point(sum, bed_lines[2], "Pause");
	expect_point(eager, bed_lines[3], "Pause");
	type = coro_types_get(types, (size_t)number_of(eager));
	CHECK_STR(coro_type_point(type, index_of(type, eager))->awaits, "Pause");
	CHECK_EQ(result, 7);
	bed_destroy(sum);
	bed_destroy(eager);
}

static void variables_exist_in_their_blocks(void)
{
	long result = 0;
	void *sum = bed_create_sum(4, &result);
	int64_t number = number_of(sum);

	bed_resume(sum);
	CHECK_STR(variables_of(number, sum), "*first=4 total=4 ");
	bed_resume(sum);
	CHECK_STR(variables_of(number, sum), "*first=4 total=4 inner=3 ");
	bed_resume(sum);
	CHECK_STR(variables_of(number, sum), "*first=4 total=7 ");
	bed_destroy(sum);
}

static void names_of_members_have_depth_and_number(void)
{
	unsigned depth = 0, serial = 0;

	CHECK_EQ(guard_name_split("one_1_2", &depth, &serial), 3);
	CHECK_EQ(depth, 1);
	CHECK_EQ(serial, 2);
	CHECK_EQ(guard_name_split("my_lock_10_234", &depth, &serial), 7);
	CHECK_EQ(depth, 10);
	CHECK_EQ(serial, 234);
	CHECK_EQ(guard_name_split("one_2", &depth, &serial), 0);
	CHECK_EQ(guard_name_split("one", &depth, &serial), 0);
	CHECK_EQ(guard_name_split("one_1_x", &depth, &serial), 0);
	CHECK_EQ(guard_name_split("", &depth, &serial), 0);
}

int main(void)
{
	struct symbol_module m = own_module();

	types = coro_types_new();
	CHECK(types);
	CHECK_EQ(coro_types_add(types, &m, m.path), 2);
	CHECK_EQ(coro_types_count(types), 2);
	CHECK(!coro_types_problem(types));
	RUN(a_frame_names_its_function);
	RUN(code_belongs_to_its_coroutine_from_the_first_to_the_last_byte);
	RUN(fields_are_where_the_frame_has_them);
	RUN(a_suspended_coroutine_is_at_its_co_await);
	RUN(variables_exist_in_their_blocks);
	RUN(names_of_members_have_depth_and_number);
	coro_types_free(types);
	return 0;
}
