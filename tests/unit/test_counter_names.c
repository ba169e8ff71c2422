/* SPDX-License-Identifier: MIT */
/*
 * test_counter_names.c - names of counters become attributes, or messages that say what there is.
 *
 * The library and the kernel are the test's: a machine with six counters.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "count_open.h"
#include "frames/live/counters.h"
#include "frames/live/libpfm_loader.h"

static int loads, initializes, opens;
static unsigned nr_more; /* counters beside the usual ones */
static struct perf_event_attr opened;

static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
	bool is_broken;
} events[] = {
	{ "CYCLES", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false },
	{ "PERF_COUNT_HW_CPU_CYCLES", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false },
	{ "BROKEN", PERF_TYPE_HARDWARE, 99, true },
	{ "SWITCHES", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, false },
	{ "MIGRATIONS", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, false },
	{ "FAULTS", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, false },
};
#define NR_EVENTS ((int)(sizeof(events) / sizeof(events[0])))

long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	const struct perf_event_attr *attr;
	va_list args;

	CHECK_EQ(number, SYS_perf_event_open);
	va_start(args, number);
	attr = va_arg(args, const struct perf_event_attr *);
	va_end(args);
	opened = *attr;
	errno = attr->config == 99 ? ENOENT : opens;
	return errno ? -1 : dup(STDERR_FILENO);
}

/* ---- the library ---------------------------------------------------------------------------- */

struct libpfm libpfm;

static pfm_err_t initialize(void)
{
	return initializes;
}

static const char *strerror_of(int code)
{
	return code == PFM_ERR_NOTFOUND ? "not found" : "not supported";
}

static pfm_err_t get_encoding(const char *name, int plm, pfm_os_t os, void *args)
{
	pfm_perf_encode_arg_t *arg = args;
	const char *at = strstr(name, "::") ? strstr(name, "::") + 2 : name;
	int i;

	CHECK_EQ(plm, PFM_PLM3);
	CHECK_EQ(os, PFM_OS_PERF_EVENT_EXT);
	CHECK_EQ(arg->size, sizeof(*arg));
	for (i = 0; i < NR_EVENTS; i++) {
		if (strcmp(events[i].name, at) != 0)
			continue;
		arg->attr->type = events[i].type;
		arg->attr->config = events[i].config;
		/* Whatever the library sets: the generated code expects one form. */
		arg->attr->inherit = arg->attr->disabled = 1;
		arg->attr->sample_type = PERF_SAMPLE_IP;
		arg->attr->sample_period = 4000;
		arg->attr->read_format = PERF_FORMAT_ID;
		return PFM_SUCCESS;
	}
	return nr_more && !strncmp(at, "MORE", 4) ? PFM_SUCCESS : PFM_ERR_NOTFOUND;
}

/* Two units: the generic one, and one that is absent. */
static pfm_err_t get_pmu(pfm_pmu_t pmu, pfm_pmu_info_t *info)
{
	CHECK_EQ(info->size, sizeof(*info));
	if ((int)pmu > 2)
		return PFM_ERR_NOTSUPP;
	info->name = pmu == 0 ? "perf" : "other";
	info->first_event = (int)pmu == 2 ? 0 : pmu == 0 ? 0 : 1;
	info->is_present = pmu == 0;
	return PFM_SUCCESS;
}

static int get_next(int i)
{
	return i + 1 < NR_EVENTS + (int)nr_more ? i + 1 : -1;
}

static pfm_err_t get_event(int i, pfm_os_t os, pfm_event_info_t *info)
{
	static char more[16];

	CHECK_EQ(os, PFM_OS_PERF_EVENT_EXT);
	CHECK_EQ(info->size, sizeof(*info));
	if (i >= NR_EVENTS) {
		snprintf(more, sizeof(more), "MORE%08d", i);
		info->name = more;
		return PFM_SUCCESS;
	}
	info->name = events[i].name;
	return PFM_SUCCESS;
}

int libpfm_load(struct err *err)
{
	libpfm = (struct libpfm){ .pfm_get_event_info = get_event,
				  .pfm_get_event_next = get_next,
				  .pfm_get_os_event_encoding = get_encoding,
				  .pfm_get_pmu_info = get_pmu,
				  .pfm_initialize = initialize,
				  .pfm_strerror = strerror_of };
	return loads ? err_set(err, loads, "no library") : 0;
}

/* ---- tests ---------------------------------------------------------------------------------- */

static struct counters c;
static struct err err;

static void resolve(const char *list, bool privileged, int result)
{
	counters_release(&c);
	c = (struct counters){ 0 };
	err = (struct err){ 0 };
	CHECK_EQ(counters_add(&c, list, &err), 0);
	CHECK_EQ(counters_resolve(&c, privileged, &err), result);
}

static void names_are_separated_by_commas(void)
{
	err = (struct err){ 0 };
	CHECK_EQ(counters_add(&c, "a:u,b::c", &err), 0);
	CHECK_EQ(counters_add(&c, "d", &err), 0);
	CHECK_EQ(c.nr, 3);
	CHECK_STR(c.names[0], "a:u");
	CHECK_STR(c.names[1], "b::c");
	CHECK_STR(c.names[2], "d");
	CHECK_EQ(counters_add(&c, "e", &err), -E2BIG);
	CHECK_STR(err.text, "3 counters at most");
	counters_release(&c);
	CHECK_EQ(c.nr, 0);
	CHECK_EQ(counters_add(&c, "a,,b", &err), -EINVAL);
	CHECK_STR(err.text, "a counter without a name");
	CHECK_EQ(c.nr, 1);
	CHECK_EQ(counters_add(&c, "", &err), -EINVAL);
	counters_release(&c);
}

static void a_counter_of_the_program_counts_user_mode(void)
{
	unsigned before = count_open();

	resolve("CYCLES,FAULTS", true, 0);
	CHECK_EQ(count_open(), before); /* those that were tried are closed */
	CHECK_EQ(c.attrs[0].type, PERF_TYPE_HARDWARE);
	CHECK_EQ(c.attrs[1].config, PERF_COUNT_SW_PAGE_FAULTS);
	CHECK_EQ(c.attrs[0].size, PERF_ATTR_SIZE_VER0);
	CHECK_EQ(c.attrs[0].read_format, PERF_FORMAT_GROUP);
	CHECK(c.attrs[0].exclude_kernel && c.attrs[1].exclude_kernel && c.attrs[0].exclude_hv);
	CHECK(!c.attrs[0].inherit && !c.attrs[0].disabled);
	CHECK(!c.attrs[0].sample_type && !c.attrs[0].sample_period);
	CHECK_STR(c.warning, "");
	CHECK_EQ(opened.config, PERF_COUNT_SW_PAGE_FAULTS); /* it was tried */
}

static void one_of_the_kernel_counts_there(void)
{
	resolve("SWITCHES", true, 0);
	CHECK(!c.attrs[0].exclude_kernel);
	resolve("MIGRATIONS", true, 0);
	CHECK(!c.attrs[0].exclude_kernel);
	CHECK_STR(c.warning, "");
}

static void an_absent_counter_has_a_list_of_others(void)
{
	resolve("CYCLES,NONE", true, -ENOENT);
	CHECK_STR(err.text, "this machine has no counter 'NONE': not found");
	CHECK_STR(err.hint, "it has CYCLES, SWITCHES, MIGRATIONS, FAULTS");
	resolve("BROKEN", true, -ENOENT);
	CHECK_STR(err.text, "this machine has no counter 'BROKEN': No such file or directory");
	nr_more = 50;
	resolve("NONE", true, -ENOENT);
	nr_more = 0;
	CHECK(strstr(err.hint, "it has CYCLES, SWITCHES, MIGRATIONS, FAULTS, MORE00000006, ") ==
	      err.hint);
	CHECK(strstr(err.hint, ", and 25 more: '-c list' shows them") != NULL);
	opens = ENODEV;
	resolve("NONE", true, -ENOENT);
	CHECK_STR(err.hint, "it has none at all that we may open");
	opens = 0;
}

static void forbidden_counters_have_a_hint(void)
{
	static const int codes[] = { EACCES, EPERM };
	unsigned i;

	for (i = 0; i < 2; i++) {
		opens = codes[i];
		resolve("CYCLES", true, -codes[i]);
		CHECK(strstr(err.text, "counters are forbidden here (perf_event_paranoid is "));
		CHECK(strstr(err.hint, "sysctl kernel.perf_event_paranoid=2"));
	}
	opens = 0;
}

static void without_counters_no_library_is_needed(void)
{
	loads = -ENOENT;
	resolve("CYCLES", true, -ENOENT);
	CHECK_STR(err.text, "no library");
	CHECK_EQ(counters_list(stdout, &err), -ENOENT);
	counters_release(&c);
	CHECK_EQ(counters_resolve(&c, true, &err), 0);
	loads = 0;
	initializes = PFM_ERR_NOTSUPP;
	resolve("CYCLES", true, -ENOSYS);
	CHECK_STR(err.text, "libpfm4 does not know this processor: not supported");
	initializes = PFM_SUCCESS;
}

static void all_that_work_are_listed(void)
{
	char text[256] = "";
	FILE *f = fmemopen(text, sizeof(text), "w");

	CHECK(f != NULL);
	CHECK_EQ(counters_list(f, &err), 0);
	fclose(f);
	CHECK_STR(text, "perf::CYCLES\nperf::PERF_COUNT_HW_CPU_CYCLES\nperf::SWITCHES\n"
			"perf::MIGRATIONS\nperf::FAULTS\n");
}

int main(void)
{
	RUN(names_are_separated_by_commas);
	RUN(a_counter_of_the_program_counts_user_mode);
	RUN(one_of_the_kernel_counts_there);
	RUN(an_absent_counter_has_a_list_of_others);
	RUN(forbidden_counters_have_a_hint);
	RUN(without_counters_no_library_is_needed);
	RUN(all_that_work_are_listed);
	counters_release(&c);
	return 0;
}
