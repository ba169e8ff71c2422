/* SPDX-License-Identifier: MIT */
/* test_printer.c - one set of calls gives the text and the JSON of a result. */
#include "base/printer.h"

#include <errno.h>
#include <stdlib.h>

#include "check.h"

static void print_sample(struct printer *p)
{
	print_count(p, "events", "%s events", 1234567);
	print_count(p, "bytes", NULL, 7);
	print_text(p, "\nname        reads\n");
	print_list(p, "threads");
	print_row(p);
	print_name(p, "name", 6, "a\033b");
	print_number(p, "id", " %8s", 4096);
	print_row_end(p);
	print_row(p);
	print_name(p, "name", 6, "longer than six");
	print_known(p, "id", " %8s", false, 0, "-");
	print_row_end(p);
	print_list_end(p);
	print_object(p, "more");
	print_integer(p, "step", "%s", -3);
	print_address(p, "at", " at %s", 0x1f40);
	print_real(p, "share", " %.1f %%", 12.5);
	print_flag(p, "cut", ", cut", true);
	print_flag(p, "lost", ", lost", false);
	print_string(p, "file", NULL);
	print_safe(p, "\n", 0);
	print_object_end(p);
}

static void check_form(bool is_json, const char *expected)
{
	struct printer p;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	CHECK(file != NULL);
	printer_begin(&p, file, is_json);
	print_sample(&p);
	CHECK_EQ(printer_end(&p), 0);
	fclose(file);
	CHECK_STR(text, expected);
	free(text);
}

static void the_text_has_formats_and_no_control_characters(void)
{
	check_form(false, "1,234,567 events\nname        reads\n"
			  "a\\x1bb     4096\nlon...        -\n"
			  "-3 at 0x1f40 12.5 %, cut\\x0a");
}

static void the_json_has_keys_and_exact_values(void)
{
	check_form(
		true,
		"{\"events\":1234567,\"bytes\":7,\"threads\":[{\"name\":\"a\\u001bb\",\"id\":4096},"
		"{\"name\":\"longer than six\",\"id\":null}],\"more\":{\"step\":-3,"
		"\"at\":\"0x1f40\",\"share\":12.5,\"cut\":true,\"lost\":false,\"file\":null}}\n");
}

static void a_full_disk_is_an_error_in_both_forms(void)
{
	struct printer p;
	int is_json;

	for (is_json = 0; is_json < 2; is_json++) {
		FILE *full = fopen("/dev/full", "we");

		CHECK(full != NULL);
		printer_begin(&p, full, is_json);
		print_count(&p, "events", "%s", 1);
		CHECK_EQ(printer_end(&p), -ENOSPC);
		fclose(full);
	}
}

int main(void)
{
	RUN(the_text_has_formats_and_no_control_characters);
	RUN(the_json_has_keys_and_exact_values);
	RUN(a_full_disk_is_an_error_in_both_forms);
	return 0;
}
