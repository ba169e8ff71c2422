/* SPDX-License-Identifier: MIT */
/* counters.c - counter names to perf_event_open(2) attributes, tested on this machine. */
#include "frames/live/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "frames/live/libpfm_loader.h"

/* ---- one counter --------------------------------------------------------- */

static int open_here(const struct perf_event_attr *attr)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, 0);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static long counters_read_paranoid(void)
{
	char text[16] = "";
	int fd = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strtol(text, NULL, 10);
}

/* Encode @name with libpfm.  Returns a PFM_ error. */
static int counters_encode(const char *name, struct perf_event_attr *attr)
{
	pfm_perf_encode_arg_t arg;

	memset(attr, 0, sizeof(*attr));
	memset(&arg, 0, sizeof(arg));
	arg.attr = attr;
	arg.size = sizeof(arg);
	return libpfm.pfm_get_os_event_encoding(name, PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg);
}

/* These events happen in the kernel only: without kernel mode the count stays 0. */
static bool is_kernels(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE &&
	       (attr->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
		attr->config == PERF_COUNT_SW_CPU_MIGRATIONS);
}

/* A group is read by one call; the generated code expects the values and nothing else. */
static void finish_attr(struct perf_event_attr *attr, bool with_kernel)
{
	attr->size = PERF_ATTR_SIZE_VER0;
	attr->disabled = 0;
	attr->inherit = 0;
	attr->exclude_kernel = !with_kernel;
	attr->exclude_hv = 1;
	attr->read_format = PERF_FORMAT_GROUP;
	attr->sample_type = 0;
	attr->sample_period = 0;
}

static bool counters_is_working(const char *name)
{
	struct perf_event_attr attr;

	if (counters_encode(name, &attr) != PFM_SUCCESS)
		return false;
	finish_attr(&attr, false);
	return open_here(&attr) == 0;
}

/* ---- all counters of the machine ----------------------------------------- */

/* Calls @each with every counter that works, until it returns false. */
static void counters_walk(bool (*each)(void *arg, const char *name), void *arg)
{
	pfm_pmu_info_t pmu;
	pfm_event_info_t info;
	char name[256];
	int p, i;

	for (p = 0; p < PFM_PMU_MAX; p++) {
		memset(&pmu, 0, sizeof(pmu));
		pmu.size = sizeof(pmu);
		if (libpfm.pfm_get_pmu_info((pfm_pmu_t)p, &pmu) != PFM_SUCCESS || !pmu.is_present)
			continue;
		for (i = pmu.first_event; i != -1; i = libpfm.pfm_get_event_next(i)) {
			memset(&info, 0, sizeof(info));
			info.size = sizeof(info);
			if (libpfm.pfm_get_event_info(i, PFM_OS_PERF_EVENT_EXT, &info) !=
			    PFM_SUCCESS)
				continue;
			snprintf(name, sizeof(name), "%s::%s", pmu.name, info.name);
			if (counters_is_working(name) && !each(arg, name))
				return;
		}
	}
}

struct names {
	char *buf;
	size_t size, used;
	unsigned left_out;
};

/* Append as many names as fit; the prefix of the generic PMU is omitted. */
static bool append_name(void *arg, const char *name)
{
	struct names *n = arg;
	int len;

	if (!strncmp(name, "perf::", 6))
		name += 6;
	if (!strncmp(name, "PERF_COUNT_", 11)) /* the same event has a shorter name */
		return true;
	if (n->left_out || n->used + strlen(name) + 3 > n->size) {
		n->left_out++;
		return true;
	}
	len = snprintf(n->buf + n->used, n->size - n->used, "%s%s", n->used ? ", " : "", name);
	n->used += len > 0 ? (size_t)len : 0;
	return true;
}

static bool counters_print_name(void *arg, const char *name)
{
	fprintf(arg, "%s\n", name);
	return true;
}

static int counters_begin(struct err *err)
{
	int rc = libpfm_load(err);

	if (rc < 0)
		return rc;
	rc = libpfm.pfm_initialize();
	if (rc == PFM_SUCCESS)
		return 0;
	return err_set(err, -ENOSYS, "libpfm4 does not know this processor: %s",
		       libpfm.pfm_strerror(rc));
}

int counters_list(FILE *out, struct err *err)
{
	int rc = counters_begin(err);

	if (!rc)
		counters_walk(counters_print_name, out);
	return rc;
}

/* ---- requested counters -------------------------------------------------- */

static int add_one(struct counters *c, const char *name, size_t len, struct err *err)
{
	if (!len)
		return err_set(err, -EINVAL, "a counter without a name");
	if (c->nr == COUNTERS_MAX) {
		err_set(err, -E2BIG, "%d counters at most", COUNTERS_MAX);
		err_hint(err, "a frame has room for three readings per member");
		return -E2BIG;
	}
	c->names[c->nr] = strndup(name, len);
	if (!c->names[c->nr])
		return err_set(err, -ENOMEM, "no memory for a counter's name");
	c->nr++;
	return 0;
}

int counters_add(struct counters *c, const char *list, struct err *err)
{
	int rc = 0;

	while (!rc) {
		/* A colon starts a modifier or an event of a PMU; only commas separate names. */
		size_t len = strcspn(list, ",");

		rc = add_one(c, list, len, err);
		if (!list[len])
			break;
		list += len + 1;
	}
	return rc;
}

static int counters_is_missing(const char *name, const char *why, struct err *err)
{
	char list[400] = "";
	struct names names = { .buf = list, .size = sizeof(list) };

	err_set(err, -ENOENT, "this machine has no counter '%s': %s", name, why);
	counters_walk(append_name, &names);
	if (!names.used)
		err_hint(err, "it has none at all that we may open");
	else if (names.left_out)
		err_hint(err, "it has %s, and %u more: '-c list' shows them", list, names.left_out);
	else
		err_hint(err, "it has %s", list);
	return -ENOENT;
}

static int resolve_one(struct counters *c, unsigned i, bool privileged, struct err *err)
{
	struct perf_event_attr *attr = &c->attrs[i];
	int rc = counters_encode(c->names[i], attr);
	bool with_kernel;

	if (rc != PFM_SUCCESS)
		return counters_is_missing(c->names[i], libpfm.pfm_strerror(rc), err);
	with_kernel = is_kernels(attr) && (privileged || counters_read_paranoid() <= 1);
	if (is_kernels(attr) && !with_kernel)
		snprintf(c->warning, sizeof(c->warning),
			 "'%s' will stay 0: the program may not count what the kernel does "
			 "(perf_event_paranoid is %ld)",
			 c->names[i], counters_read_paranoid());
	finish_attr(attr, with_kernel);
	rc = open_here(attr);
	if (rc == -EACCES || rc == -EPERM) {
		err_set(err, rc, "counters are forbidden here (perf_event_paranoid is %ld)",
			counters_read_paranoid());
		err_hint(err, "sysctl kernel.perf_event_paranoid=2, or a container that allows "
			      "perf_event_open");
		return rc;
	}
	if (rc < 0)
		return counters_is_missing(c->names[i], strerror(-rc), err);
	return 0;
}

int counters_resolve(struct counters *c, bool privileged, struct err *err)
{
	unsigned i;
	int rc;

	if (!c->nr)
		return 0;
	rc = counters_begin(err);
	for (i = 0; !rc && i < c->nr; i++)
		rc = resolve_one(c, i, privileged, err);
	return rc;
}

void counters_release(struct counters *c)
{
	while (c->nr)
		free(c->names[--c->nr]);
}
