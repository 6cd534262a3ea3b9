/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Checks of the doctor: huge pages, and the memory that the configuration needs.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_common.h>

#include "checks.h"
#include "config/buffers.h"
#include "doctor.h"
#include "eal_args.h"
#include "police/policy_state.h"
#include "port.h"
#include "worker_data.h"

#define MB          (UINT64_C(1) << 20)
#define EAL_NO_HUGE (64 * MB) /* default heap of EAL without hugepages */
#define NODES       16
#define PAGE        (2 * MB)
#define SMALL_PAGE  4096 /* bytes; without hugepages DPDK keeps each buffer within its own pages */

/* Measured overhead of EAL, the rings of its devices and their tables. */
#define EAL_OWN (2 * MB)

/* Pages to reserve above the minimum: more queues on a card take more, and so does a reload. */
#define PAGES_MORE 64

static const unsigned page_kb[] = {2048, 1048576};

#define N_SIZES (sizeof(page_kb) / sizeof(page_kb[0]))

/*
 * Returns the bytes of DPDK memory that ports and workers need at least, with `queues` per port.
 * `page`: bytes of a page, or 0 for any size.
 */
static uint64_t doctor_heap(const struct config *config, uint16_t queues, size_t page)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < config->n_ports; i++)
		bytes += port_pool_bytes(
			&config->ports[i], queues, config_buffers(config, i), page);
	return bytes + config->n_workers * worker_bytes(config->policies, config->n_policies,
						   config_waiting(config));
}

/* Bytes of free or all hugepages on a NUMA node, or with -1 on all nodes. */
static uint64_t hugepage_bytes(const char *root, int node, const char *which)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < N_SIZES; i++) {
		char folder[MACHINE_PATH];
		long n;

		if (node < 0)
			snprintf(folder, sizeof(folder), "/sys/kernel/mm/hugepages");
		else
			snprintf(folder, sizeof(folder),
				"/sys/devices/system/node/node%d/hugepages", node);
		n = machine_number(root, 0, "%s/hugepages-%ukB/%s", folder, page_kb[i], which);
		bytes += (uint64_t)n * page_kb[i] * 1024;
	}
	return bytes;
}

/* Bytes of hugepage files without a lock: a killed process left them, and EAL frees them. */
static uint64_t left_behind_in(const char *root, const char *directory)
{
	char path[MACHINE_PATH];
	struct dirent *entry;
	uint64_t bytes = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s%s", root, directory);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		int fd = strstr(entry->d_name, "map_")
				 ? openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC)
				 : -1;
		struct stat st;

		if (fd < 0)
			continue;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0)
			bytes += (uint64_t)st.st_size;
		close(fd);
	}
	if (dir)
		closedir(dir);
	return bytes;
}

/* Returns the directory of --huge-dir, or "" for any directory. */
static const char *wanted_directory(const struct config *config)
{
	static const char option[] = "--huge-dir";
	size_t len = strlen(option);
	const char *wanted = "";

	for (unsigned i = 0; i < config->n_eal; i++) {
		if (strncmp(config->eal[i], option, len) != 0)
			continue;
		if (config->eal[i][len] == '=')
			wanted = config->eal[i] + len + 1;
		else if (i + 1 < config->n_eal)
			wanted = config->eal[i + 1];
	}
	return wanted;
}

/* Returns true if a directory is another one or inside it. */
static bool is_within(const char *directory, const char *other)
{
	size_t len = strlen(other);

	return strncmp(directory, other, len) == 0 &&
	       (directory[len] == '\0' || directory[len] == '/');
}

/* Returns true with a mount at the directory; counts the bytes that killed processes left. */
static bool find_hugetlbfs(const char *root, const char *wanted, uint64_t *left_behind)
{
	char path[MACHINE_PATH], line[1024], directory[256], type[64];
	bool found = false;
	FILE *mounts;

	*left_behind = 0;
	snprintf(path, sizeof(path), "%s/proc/self/mounts", root);
	mounts = fopen(path, "re");
	while (mounts && fgets(line, sizeof(line), mounts)) {
		if (sscanf(line, "%*s %255s %63s", directory, type) != 2 ||
			strcmp(type, "hugetlbfs") != 0)
			continue;
		found |= !wanted[0] || is_within(wanted, directory);
		*left_behind += left_behind_in(root, directory);
	}
	if (mounts)
		fclose(mounts);
	return found;
}

/* Hugepages of the machine, in bytes. */
struct huge {
	uint64_t all, available;
	uint64_t small; /* in pages of 2 MB */
};

/* Free and left pages together cannot exceed the reserved ones. */
static struct huge count_huge(const struct doctor *doctor, uint64_t left_behind)
{
	const char *root = doctor->root;
	uint64_t all = hugepage_bytes(root, -1, "nr_hugepages");
	uint64_t available = doctor->huge_free
				     ? *doctor->huge_free
				     : hugepage_bytes(root, -1, "free_hugepages") + left_behind;
	long small = machine_number(
		root, 0, "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");

	return (struct huge){
		.all = all, .available = RTE_MIN(available, all), .small = (uint64_t)small * PAGE};
}

/* vm.nr_hugepages counts pages of the default size, which can be other than 2 MB. */
static const char *reserve_command(struct doctor *doctor, const struct huge *huge, uint64_t need)
{
	uint64_t usual = machine_kilobytes(doctor->root, "/proc/meminfo", "Hugepagesize");
	uint64_t pages = (huge->small + need - huge->available + PAGE - 1) / PAGE + PAGES_MORE;
	bool cards = false; /* they need hugepages; software devices work without them */

	for (unsigned i = 0; i < doctor->config->n_ports; i++)
		cards |= !device_is_vdev(doctor->config->ports[i].device);

	if (usual && usual != PAGE)
		return doctor_words(doctor,
			"echo %" PRIu64 " > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
			pages);
	if (cards)
		return doctor_words(doctor,
			"sysctl vm.nr_hugepages=%" PRIu64 " (and in /etc/sysctl.d to keep it)",
			pages);
	return doctor_words(doctor,
		"sysctl vm.nr_hugepages=%" PRIu64
		" (and in /etc/sysctl.d to keep it), or \"eal\": [\"--no-huge\", \"-m\", \"%" PRIu64
		"\"]",
		pages, need / MB + 128);
}

/* Counts in pages if all are of 2 MB, or in MB. */
static const char *few_words(struct doctor *doctor, const struct huge *huge)
{
	if (huge->all > huge->small)
		return doctor_words(doctor,
			"%" PRIu64 " MB of hugepages are free, of %" PRIu64 " MB reserved",
			huge->available / MB, huge->all / MB);
	return doctor_words(doctor,
		"%" PRIu64 " hugepages of 2 MB are free, of %" PRIu64 " reserved",
		huge->available / PAGE, huge->all / PAGE);
}

static const char *need_words(
	struct doctor *doctor, const struct huge *huge, const char *how, uint64_t need)
{
	if (huge->all > huge->small)
		return doctor_words(doctor, "%s %" PRIu64 " MB", how, need / MB);
	return doctor_words(doctor, "%s %" PRIu64, how, need / PAGE);
}

/* DPDK takes the buffers of a card from the card's own node first. */
static void check_node_pages(struct doctor *doctor, const struct port_config *port)
{
	long node = machine_number(
		doctor->root, -1, "/sys/bus/pci/devices/%s/numa_node", port->device);

	if (node < 0 || node >= NODES || hugepage_bytes(doctor->root, (int)node, "free_hugepages"))
		return;
	doctor_find(doctor,
		&(struct finding){.verdict = DOCTOR_WARN,
			.place = doctor_words(doctor, "ports.%s", port->name),
			.found = doctor_words(doctor,
				"no hugepage is free on its NUMA node %ld, so its packets would be on "
				"another node",
				node),
			.remedy = doctor_words(doctor,
				"echo 512 > /sys/devices/system/node/node%ld/hugepages/"
				"hugepages-2048kB/nr_hugepages",
				node)});
}

/* Bytes of hugepages that a start needs at least, in whole pages. */
static uint64_t needed_huge(const struct config *config, uint16_t queues)
{
	return (doctor_heap(config, queues, PAGE) + EAL_OWN + PAGE - 1) / PAGE * PAGE;
}

void check_hugepages(struct doctor *doctor)
{
	const struct config *config = doctor->config;
	uint64_t need = needed_huge(config, 1), left_behind;
	const char *wanted = wanted_directory(config);
	const char *at = wanted[0] ? wanted : "/dev/hugepages";
	bool mounted = find_hugetlbfs(doctor->root, wanted, &left_behind);
	struct huge huge = count_huge(doctor, left_behind);

	if (eal_has_argument(config, "--no-huge")) {
		doctor_skip(doctor, "EAL runs with --no-huge");
		return;
	}
	doctor_add_fact(doctor, "%s, %s", few_words(doctor, &huge),
		need_words(doctor, &huge, "needed", need));
	if (mounted)
		doctor_add_fact(doctor, "hugetlbfs mounted");
	if (huge.available < need) {
		doctor_find(doctor, &(struct finding){.verdict = DOCTOR_FAIL,
					    .found = few_words(doctor, &huge),
					    .expected = need_words(doctor, &huge, "at least", need),
					    .remedy = reserve_command(doctor, &huge, need)});
	} else {
		for (unsigned i = 0; i < config->n_ports; i++)
			check_node_pages(doctor, &config->ports[i]);
	}
	if (!eal_has_argument(config, "--in-memory") && !mounted)
		doctor_find(doctor,
			&(struct finding){.verdict = DOCTOR_FAIL,
				.found = "no hugetlbfs is mounted",
				.expected = doctor_words(doctor, "one at %s", at),
				.remedy = doctor_words(doctor, "mount -t hugetlbfs nodev %s", at)});
}

/* Bytes of EAL's heap without hugepages: "-m 640", "-m640" or the default. */
static uint64_t ordinary_heap(const struct config *config)
{
	uint64_t bytes = EAL_NO_HUGE;

	for (unsigned i = 0; i < config->n_eal; i++) {
		const char *number = config->eal[i] + 2;

		if (strncmp(config->eal[i], "-m", 2) != 0)
			continue;
		if (!*number)
			number = i + 1 < config->n_eal ? config->eal[i + 1] : "0";
		bytes = strtoull(number, NULL, 10) * MB;
	}
	return bytes;
}

/* Rounds up to MB. */
static uint64_t whole_mb(uint64_t bytes)
{
	return (bytes + MB - 1) / MB;
}

static void check_heap(struct doctor *doctor, uint64_t heap, uint64_t need)
{
	if (heap >= need)
		return;
	doctor_find(doctor,
		&(struct finding){.verdict = DOCTOR_FAIL,
			.place = "eal",
			.found = doctor_words(
				doctor, "EAL is given %" PRIu64 " MB without hugepages", heap / MB),
			.expected = doctor_words(doctor, "at least %" PRIu64 " MB", whole_mb(need)),
			.remedy = doctor_words(doctor,
				"\"eal\": [\"--no-huge\", \"-m\", \"%" PRIu64 "\"]",
				need / MB + 128)});
}

void check_memory(struct doctor *doctor)
{
	const struct config *config = doctor->config;
	bool huge = !eal_has_argument(config, "--no-huge");
	uint64_t available = machine_kilobytes(doctor->root, "/proc/meminfo", "MemAvailable");
	uint64_t heap = huge ? 0 : EAL_OWN + doctor_heap(config, 1, SMALL_PAGE);
	/* for tables, ordinary memory: the kernel adds each page on its first write */
	uint64_t tables = (uint64_t)config->n_policies * config->n_workers *
			  sizeof(struct policy_state);
	uint64_t need = heap + tables;

	if (!huge) {
		doctor_add_fact(doctor, "EAL heap %" PRIu64 " MB, needed %" PRIu64 " MB",
			ordinary_heap(config) / MB, whole_mb(heap));
		check_heap(doctor, ordinary_heap(config), heap);
	}
	doctor_add_fact(doctor, "%" PRIu64 " MB of memory available, needed %" PRIu64 " MB",
		available / MB, whole_mb(need));
	if (available == 0) {
		doctor_find(doctor, &(struct finding){.verdict = DOCTOR_UNSEEN,
					    .found = "/proc/meminfo has no MemAvailable"});
		return;
	}
	if (available >= need)
		return;
	doctor_find(doctor,
		&(struct finding){.verdict = DOCTOR_FAIL,
			.found = doctor_words(
				doctor, "%" PRIu64 " MB of memory are free", available / MB),
			.expected = doctor_words(doctor, "at least %" PRIu64 " MB for %u policies",
				whole_mb(need), config->n_policies),
			.remedy = "ps -eo rss,args --sort -rss | head"});
}

uint64_t doctor_free_huge(const char *root)
{
	uint64_t left_behind;

	(void)find_hugetlbfs(root, "", &left_behind);
	return hugepage_bytes(root, -1, "free_hugepages") + left_behind;
}

void doctor_explain_memory(
	const struct config *config, uint64_t huge_free, bool ran_out, const char *root, FILE *out)
{
	struct doctor doctor = {
		.config = config, .root = root, .out = out, .brief = true, .huge_free = &huge_free};

	struct huge huge;
	uint64_t need;

	if (eal_has_argument(config, "--no-huge")) {
		check_memory(&doctor);
		return;
	}
	check_hugepages(&doctor);
	if (!ran_out || doctor.n[DOCTOR_FAIL] > 0)
		return;
	/* One queue per port was too little: writes the need with a queue for each worker. */
	huge = count_huge(&doctor, 0);
	need = needed_huge(config, (uint16_t)config->n_workers);
	need = RTE_MAX(need, huge.available + PAGE);
	doctor_find(&doctor, &(struct finding){.verdict = DOCTOR_FAIL,
				     .found = few_words(&doctor, &huge),
				     .expected = need_words(&doctor, &huge, "about", need),
				     .remedy = reserve_command(&doctor, &huge, need)});
}
