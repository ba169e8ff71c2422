/* SPDX-License-Identifier: MIT */
/* inspection_traced.h - a part of test_inspection.c: coroutines that the SDK told of. */

/* Four of the five frames of traced(), one that is in no frame, and one without an entry. */
static struct traced_coroutine told[] = {
	{ .id = 101,
	  .parent = 7,
	  .name = "first",
	  .state = "suspended",
	  .reason = "read",
	  .has_resource = true,
	  .resource = 42,
	  .has_waker = true,
	  .waker = 9,
	  .created = { "main", "dir/main.cpp", 10 },
	  .suspended = { "traced", "dir/bed.cpp", 20 },
	  .age_ns = 2500000000,
	  .state_ns = 1200000000,
	  .suspensions = 3,
	  .entry = 1 << 20 },
	{ .id = 102, .has_waker = true, .is_adopted = true, .entry = 2 << 20 },
	{ .id = 103, .state = "suspended", .reason = "lock", .entry = 3 << 20 },
	{ .id = 104, .has_resource = true, .resource = 5, .entry = 4 << 20 },
	{ .id = 105,
	  .parent = 8,
	  .name = "elsewhere",
	  .state = "suspended",
	  .reason = "write",
	  .has_resource = true,
	  .resource = 43,
	  .has_waker = true,
	  .waker = 10,
	  .created = { "main", "dir/main.cpp", 11 },
	  .suspended = { "other", "dir/bed.cpp", 21 },
	  .age_ns = 2000000000,
	  .state_ns = 1500000000,
	  .suspensions = 4,
	  .entry = 77 << 20 },
	{ .id = 106, .has_resource = true, .resource = 6, .is_adopted = true, .has_waker = true },
};

static void check_joined(struct traced_list *list, const struct inspection *in)
{
	bool seen[6] = { false };
	uint64_t number;
	size_t i, nr = 0;

	for (i = 0; i < in->table.nr; i++) {
		if (!u64map_get(&list->by_frame, i, &number))
			continue;
		CHECK(number >= 1 && number <= 4 && !seen[number - 1]);
		seen[number - 1] = true;
		nr++;
	}
	CHECK_EQ(nr, 4);
	CHECK_EQ(list->nr_joined, 4);
	for (i = 0; i < 6; i++)
		CHECK_EQ(list->at[i].is_joined, i < 4);
}

static void check_traced_text(struct inspection *in)
{
	struct inspect_print_options o = { 0 };
	char *text = text_of(in, false, &o);

	CHECK(strstr(text, "   traced: coroutine 10") != NULL);
	CHECK(strstr(text, "           and 1 more\n") != NULL); /* of a group, three are shown */
	CHECK(strstr(text,
		     "\nA collector traces this program (pid 88): it knows 6 coroutines, 4 of "
		     "them were found above, and these in no frame or task:\n"
		     "   coroutine 105 \"elsewhere\", suspended (write 43) for 1.5 s at "
		     "dir/bed.cpp:21, suspended 4 times, created at dir/main.cpp:11 2.0 s "
		     "ago, by coroutine 8, woken last by coroutine 10\n"
		     "   coroutine 106, state unknown (resource 6) for 0.0 s, suspended 0 "
		     "times, adopted 0.0 s ago, woken last by no coroutine\n") != NULL);
	free(text);
}

static const json_t *traced_with_id(const json_t *list, long long id)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		if (num(json_array_get(list, i), "id") == id)
			return json_array_get(list, i);
	}
	CHECK(!"the coroutine is listed");
	return NULL;
}

static void check_traced_json(struct inspection *in)
{
	struct inspect_print_options o = { 0 };
	json_t *found = json_of(in, &o);
	const json_t *g = find_group(found, "traced", -1), *list = json_object_get(g, "traced");
	const json_t *c = traced_with_id(list, 101), *all = json_object_get(found, "collector");

	CHECK_EQ(json_array_size(list), 4);
	CHECK_STR(str(c, "name"), "first");
	CHECK_STR(str(c, "reason"), "read");
	CHECK_EQ(num(c, "resource"), 42);
	CHECK_EQ(num(c, "state_ns"), 1200000000);
	CHECK_EQ(num(c, "age_ns"), 2500000000);
	CHECK_EQ(num(c, "suspensions"), 3);
	CHECK_EQ(num(c, "parent"), 7);
	CHECK_EQ(num(c, "last_waker"), 9);
	CHECK(!flag(c, "adopted"));
	CHECK_STR(str(json_object_get(c, "created_at"), "function"), "main");
	CHECK_EQ(num(json_object_get(c, "suspended_at"), "line"), 20);
	c = traced_with_id(list, 102);
	CHECK(flag(c, "adopted") && json_is_null(json_object_get(c, "name")));
	CHECK(json_is_null(json_object_get(c, "created_at")));
	CHECK(json_is_null(json_object_get(c, "parent")));
	CHECK_EQ(num(c, "last_waker"), 0);
	CHECK(json_is_null(json_object_get(traced_with_id(list, 103), "resource")));
	CHECK_EQ(num(traced_with_id(list, 104), "resource"), 5);
	/* The fifth has the member, and no collector knows it. */
	CHECK_EQ(json_array_size(json_object_get(g, "untraced")), 1);
	CHECK_EQ(num(all, "pid"), 88);
	CHECK_STR(str(all, "region"), "a region");
	CHECK_EQ(num(all, "coroutines"), 6);
	CHECK_EQ(num(all, "joined"), 4);
	CHECK_EQ(json_array_size(json_object_get(all, "others")), 2);
	json_decref(found);
}

static void coroutines_of_the_sdk_are_joined(void)
{
	struct traced_list list = { .nr = 6, .collector = 88, .region = "a region" };
	struct process_image image;
	struct err err = { 0 };
	struct inspection *in;

	list.at = malloc(sizeof(told));
	CHECK(list.at != NULL);
	memcpy(list.at, told, sizeof(told));
	CHECK_EQ(image_open_process(&image, bed, &err), 0);
	in = look(&image, false);
	CHECK_EQ(traced_join(&list, in), 0);
	check_joined(&list, in);
	in->traced = &list;
	check_traced_text(in);
	check_traced_json(in);
	in->traced = NULL;
	traced_list_release(&list);
	CHECK(!list.at && !list.nr && !list.next_of_task);
	inspection_free(in);
	image_close(&image);
}
