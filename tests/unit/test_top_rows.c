/* SPDX-License-Identifier: MIT */
/* test_top_rows.c - the order of the coroutines that `top` lists, and which ones are listed. */
#include "top/top_rows.h"

#include "check.h"
#include "trace/event.h"

#define MOMENT UINT64_C(1000000)

static struct recover_coroutine coroutines[5];
static struct top_row list[5];
static struct trace_site sites[3];
static struct top_picture p;
static struct top_places places;
static struct top_rows rows;

static void row(size_t i, uint64_t id, enum trace_state state, const char *name, uint32_t site)
{
	struct recover_coroutine *c = &coroutines[i];

	*c = (struct recover_coroutine){ 0 };
	c->co.probe_id = id;
	c->co.state = (uint8_t)state;
	c->co.site = site;
	snprintf(c->name, sizeof(c->name), "%s", name);
	list[i] = (struct top_row){ .c = c, .state = (uint8_t)state };
}

static void picture_new(void)
{
	memset(&p, 0, sizeof(p));
	sites[0] = (struct trace_site){
		.id = 1, .file = "same_file_name.c", .function = "same_long_name_1", .line = 1
	};
	sites[1] = (struct trace_site){
		.id = 2, .file = "same_file_name.c", .function = "same_long_name_2", .line = 2
	};
	sites[2] = (struct trace_site){ .id = 3, .file = "c.c", .function = "other", .line = 3 };
	p.rows = list;
	p.nr = 5;
	p.moment = MOMENT;
	p.r.sites = sites;
	p.r.nr_sites = 3;
	row(0, 30, TRACE_STATE_SUSPENDED, "worker-two-b", 1);
	row(1, 10, TRACE_STATE_RUNNING, "worker-two-a", 2);
	row(2, 50, TRACE_STATE_READY, "", 0);
	row(3, 20, TRACE_STATE_SUSPENDED, "Alpha", 3);
	row(4, 40, TRACE_STATE_NEW, "worker", 1);
}

/* "30 20 50" */
static const char *order(struct top_choice choice)
{
	static char text[128];
	size_t i, used = 0;

	text[0] = '\0';
	CHECK_EQ(top_rows_make(&rows, &p, &places, &choice), 0);
	for (i = 0; i < rows.nr; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d", i ? " " : "",
					 (int)list[rows.at[i].row].c->co.probe_id);
	return text;
}

static void coroutines_are_sorted_by_each_column(void)
{
	picture_new();
	CHECK_STR(order((struct top_choice){ .sort = TOP_BY_ID }), "10 20 30 40 50");
	CHECK_STR(order((struct top_choice){ .sort = TOP_BY_ID, .reverse = true }),
		  "50 40 30 20 10");
	/* Those that wait first, the longest wait first; then woken, new, running. */
	coroutines[0].co.since_ts = MOMENT - 5000;
	coroutines[3].co.since_ts = MOMENT - 9000;
	CHECK_STR(order((struct top_choice){ .sort = TOP_BY_AGE }), "20 30 50 40 10");
	coroutines[0].co.since_ts = MOMENT - 10000;
	CHECK_STR(order((struct top_choice){ .sort = TOP_BY_AGE }), "30 20 50 40 10");
	list[2].rate = 2.5;
	list[4].rate = 2.25;
	list[1].rate = 100;
	CHECK_STR(order((struct top_choice){ .sort = TOP_BY_RATE }), "10 50 40 20 30");
	/* Also beyond the first eight bytes; without a name at the end. */
	CHECK_STR(order((struct top_choice){ .sort = TOP_BY_NAME }), "20 40 10 30 50");
	CHECK_STR(order((struct top_choice){ .sort = TOP_BY_NAME, .reverse = true }),
		  "50 30 10 40 20");
	coroutines[3].tid = 9;
	coroutines[0].tid = 7;
	coroutines[2].tid = 9;
	CHECK_STR(order((struct top_choice){ .sort = TOP_BY_THREAD }), "30 20 50 10 40");
	coroutines[4].co.written = 8;
	coroutines[2].co.written = 9;
	CHECK_STR(order((struct top_choice){ .sort = TOP_BY_EVENTS }), "50 40 10 20 30");
}

static void places_are_sorted_as_texts(void)
{
	char first[128], second[128];
	struct top_choice choice = { .sort = TOP_BY_SITE };

	picture_new();
	row(2, 50, TRACE_STATE_READY, "", 2);
	snprintf(first, sizeof(first), "%s", top_row_place(&list[0], &p, &places));
	snprintf(second, sizeof(second), "%s", top_row_place(&list[1], &p, &places));
	CHECK(strcmp(first, second) < 0);
	CHECK_EQ(strncmp(first, second, 8), 0); /* they differ later */
	choice.hidden[TRACE_STATE_NEW] = true;
	snprintf(choice.filter, sizeof(choice.filter), "same_long");
	CHECK_STR(order(choice), "30 10 50");
	choice.reverse = true;
	CHECK_STR(order(choice), "50 10 30");
}

static void a_filter_is_a_part_of_the_name_or_the_place(void)
{
	struct top_choice choice = { .sort = TOP_BY_ID, .filter = "TWO" };

	picture_new();
	CHECK_STR(order(choice), "10 30");
	snprintf(choice.filter, sizeof(choice.filter), "other");
	CHECK_STR(order(choice), "20");
	choice.hidden[TRACE_STATE_SUSPENDED] = true;
	CHECK_STR(order(choice), "");
	choice.filter[0] = '\0';
	CHECK_STR(order(choice), "10 40 50");
}

static void sorts_have_names(void)
{
	int sort;

	for (sort = 0; sort < NR_TOP_SORTS; sort++) {
		CHECK(top_sort_name((enum top_sort)sort) != NULL);
		CHECK_EQ(top_sort_from_name(top_sort_name((enum top_sort)sort)), sort);
	}
	CHECK_EQ(top_sort_from_name("nothing"), NR_TOP_SORTS);
}

static void an_age_is_the_time_in_the_state(void)
{
	picture_new();
	coroutines[2].woken_ts = MOMENT - 30;
	coroutines[2].co.since_ts = MOMENT - 70;
	CHECK_EQ(top_row_age(&list[2], &p), 30); /* ready since it was woken */
	list[2].state = TRACE_STATE_SUSPENDED;
	CHECK_EQ(top_row_age(&list[2], &p), 70);
	coroutines[2].co.since_ts = MOMENT;
	CHECK_EQ(top_row_age(&list[2], &p), 0);
	coroutines[2].co.since_ts = 0;
	CHECK_EQ(top_row_age(&list[2], &p), 0); /* unknown */
}

int main(void)
{
	RUN(coroutines_are_sorted_by_each_column);
	RUN(places_are_sorted_as_texts);
	RUN(a_filter_is_a_part_of_the_name_or_the_place);
	RUN(sorts_have_names);
	RUN(an_age_is_the_time_in_the_state);
	top_rows_release(&rows);
	top_places_release(&places);
	return 0;
}
