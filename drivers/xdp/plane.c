/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The process's side of the XDP data plane: memory that control and the programs at ports
 * (plane.bpf.h) share.
 */
#include "plane_inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/counter.h"
#include "base/expiry.h"
#include "base/time.h"
#include "classify/lines.h"
#include "flow/flow_sample.h"
#include "meter/shared_bucket.h"
#include "police/expire.h"
#include "police/policy_state.h"
#include "police/try.h"
#include "policy/kind.h"

#include "bypass_maps.h"
#include "plane_maps.h"

#include "bypass.skel.h" /* uses the maps above */

/* The program has its own names for lib's structures, which are in the same memory. */
#define SAME(a, member_a, b, member_b)                                                          \
	static_assert(                                                                          \
		offsetof(struct a, member_a) == offsetof(struct b, member_b) &&                 \
			sizeof(((struct a *)0)->member_a) == sizeof(((struct b *)0)->member_b), \
		#member_a " is in the same place")
static_assert(sizeof(struct policy_state) == sizeof(struct plane_line), "");
SAME(policy_state, bucket.tokens, plane_line, tokens);
SAME(policy_state, bucket.last, plane_line, place);
SAME(policy_state, over.packets, plane_line, over_packets);
SAME(policy_state, over.bytes, plane_line, over_bytes);
SAME(policy_state, bytes, plane_line, bytes);
SAME(policy_state, dropped_bytes, plane_line, dropped_bytes);
SAME(policy_state, packets, plane_line, packets);
SAME(policy_state, dropped_packets, plane_line, dropped_packets);
static_assert(sizeof(struct plane_clock) == 128 &&
		      offsetof(struct plane_clock, span) - offsetof(struct plane_clock, until) ==
			      offsetof(struct expiry, span) &&
		      offsetof(struct plane_clock, member_span) -
				      offsetof(struct plane_clock, member_until) ==
			      offsetof(struct expiry, span),
	"");
static_assert(EXPIRY_PARTS == PLANE_ENDING && (MARK_ECN & PLANE_MARK_MASK) == PLANE_ECN, "");
static_assert(POLICE_LEAST_BYTES == 9084 && POLICE_LEAST_PACKETS == 6, "");
static_assert(ACCOUNTING_L3 == 1 && ACCOUNTING_WIRE == 2, "");

#define KEPT_ASIDE "plane-next"

/* Longer than any packet takes, for a kernel that cannot report the end of all programs. */
#define GRACE_NS 50000000

static int make_books(struct plane *plane, struct shared_map *books)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);

	books->fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, PLANE_LAYOUT, sizeof(uint32_t),
		sizeof(struct plane_book), plane->slots, &opts);
	if (books->fd < 0)
		return -errno;
	return plane_map_memory(books, sizeof(struct plane_book), plane->slots);
}

int plane_create(unsigned slots, uint32_t lines, const char *directory, struct plane **plane)
{
	const struct shared_map none = {.fd = -1};
	int cpus = libbpf_num_possible_cpus(), ret;

	*plane = calloc(1, sizeof(**plane));
	if (!*plane)
		return -ENOMEM;
	**plane = (struct plane){.directory = directory,
		.slots = slots,
		.cpus = cpus > 0 ? (unsigned)cpus : 1,
		.lines = none,
		.buckets = none,
		.books = none,
		.next_books = none,
		.samples = none,
		.clock = none,
		.tables = -1,
		.classifiers = {none, none},
		.room = lines};
	plane_open_previous(*plane);
	ret = make_books(*plane, &(*plane)->books);
	return ret ? ret : make_books(*plane, &(*plane)->next_books);
}

static int size_map(struct bpf_map *map, const struct shared_map *shared, size_t entries)
{
	if (shared->fd >= 0)
		return bpf_map__reuse_fd(map, shared->fd);
	if (entries > UINT32_MAX)
		return -E2BIG;
	return bpf_map__set_max_entries(map, (uint32_t)entries);
}

/* Makes both classifiers at the start. A reload then allocates nothing, and the pages exist. */
static int make_classifiers(struct plane *plane)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int ret = 0;

	for (unsigned i = 0; ret == 0 && i < 2; i++) {
		struct shared_map *table = &plane->classifiers[i];

		table->fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "plane_table", sizeof(uint32_t),
			sizeof(struct classify_line), plane->room, &opts);
		ret = table->fd < 0
			      ? -errno
			      : plane_map_memory(table, sizeof(struct classify_line), plane->room);
	}
	return ret;
}

int plane_share(struct plane *plane, struct bypass_bpf *program)
{
	size_t cpus = plane->cpus;
	int ret = size_map(program->maps.plane_lines, &plane->lines, cpus * plane->slots);

	if (ret == 0)
		ret = size_map(
			program->maps.plane_buckets, &plane->buckets, trial_lines(plane->slots));
	if (ret == 0)
		ret = size_map(program->maps.plane_samples, &plane->samples, cpus * PLANE_SAMPLES);
	if (ret == 0)
		ret = size_map(program->maps.plane_clocks, &plane->clock, 1);
	if (ret)
		return ret;
	if (plane->tables >= 0)
		return bpf_map__reuse_fd(program->maps.plane_tables, plane->tables);
	/* One of the maps sets the size, because libbpf has no other way. */
	ret = make_classifiers(plane);
	return ret ? ret
		   : bpf_map__set_inner_map_fd(
			     program->maps.plane_tables, plane->classifiers[0].fd);
}

static int map_shared(struct shared_map *shared, const struct bpf_map *map)
{
	shared->fd = bpf_map__fd(map);
	return plane_map_memory(shared, bpf_map__value_size(map), bpf_map__max_entries(map));
}

int plane_map(struct plane *plane, struct bypass_bpf *program)
{
	int ret;

	if (plane->tables >= 0)
		return 0;
	plane->tables = bpf_map__fd(program->maps.plane_tables);
	ret = map_shared(&plane->lines, program->maps.plane_lines);
	if (ret == 0)
		ret = map_shared(&plane->buckets, program->maps.plane_buckets);
	if (ret == 0)
		ret = map_shared(&plane->samples, program->maps.plane_samples);
	return ret ? ret : map_shared(&plane->clock, program->maps.plane_clocks);
}

void plane_destroy(struct plane *plane)
{
	if (!plane)
		return;
	plane_close_map(&plane->classifiers[0]);
	plane_close_map(&plane->classifiers[1]);
	plane_close_previous(plane);
	plane_close_map(&plane->books);
	plane_close_map(&plane->next_books);
	plane_unmap(&plane->lines);
	plane_unmap(&plane->buckets);
	plane_unmap(&plane->samples);
	plane_unmap(&plane->clock);
	free(plane);
}

struct plane_book *plane_book(struct plane *plane, uint32_t slot)
{
	return (struct plane_book *)plane->books.memory + slot;
}

void plane_unkeep(const char *path)
{
	DIR *directory = opendir(path);
	const struct dirent *entry;

	if (!directory) {
		unlink(path);
		return;
	}
	while ((entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(directory), entry->d_name, 0);
	closedir(directory);
	rmdir(path);
}

bool plane_is_kept(const char *name)
{
	return strcmp(name, PLANE_KEPT) == 0;
}

static void name_directory(const struct plane *plane, const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s", plane->directory, name);
}

void plane_drop_aside(const struct plane *plane)
{
	char path[PATH_MAX];

	name_directory(plane, KEPT_ASIDE, path);
	plane_unkeep(path);
}

static int keep_map(const struct plane *plane, int fd, enum plane_kept map, unsigned generation)
{
	char path[PATH_MAX];

	plane_name_kept(plane, KEPT_ASIDE, map, generation, path);
	return bpf_obj_pin(fd, path) ? -errno : 0;
}

/* Pins its own maps and, as further generations, those whose counts can still grow. */
int plane_keep_aside(const struct plane *plane)
{
	const int own[KEPT_MAPS] = {
		plane->books.fd, plane->lines.fd, plane->buckets.fd, plane->clock.fd};
	unsigned n = 1;
	char path[PATH_MAX];
	int ret;

	plane_drop_aside(plane);
	name_directory(plane, KEPT_ASIDE, path);
	ret = mkdir(path, 0700) ? -errno : 0;
	for (unsigned i = 0; ret == 0 && i < KEPT_MAPS; i++)
		ret = keep_map(plane, own[i], i, 0);
	for (unsigned k = 0; k < plane->n_previous; k++) {
		if (!plane->previous[k].current)
			continue;
		for (unsigned i = 0; ret == 0 && i < KEPT_MAPS; i++)
			ret = keep_map(plane, plane->previous[k].maps[i].fd, i, n);
		n++;
	}
	return ret;
}

bool plane_is_whole(const struct plane *plane)
{
	char path[PATH_MAX];

	for (unsigned i = 0; i < KEPT_MAPS; i++) {
		plane_name_kept(plane, PLANE_KEPT, i, 0, path);
		if (access(path, F_OK))
			return false;
	}
	return true;
}

/* Exchanges both directories in one step, so the pins never mix maps of two processes. */
int plane_swap(const struct plane *plane)
{
	char aside[PATH_MAX], kept[PATH_MAX];

	name_directory(plane, KEPT_ASIDE, aside);
	name_directory(plane, PLANE_KEPT, kept);
	if (renameat2(AT_FDCWD, aside, AT_FDCWD, kept, RENAME_EXCHANGE) == 0)
		return 0;
	if (errno == ENOENT && (rename(aside, kept) == 0 || rename(kept, aside) == 0))
		return 0;
	return -errno;
}

int plane_keep(const struct plane *plane)
{
	int ret = plane_keep_aside(plane);

	if (ret == 0)
		ret = plane_swap(plane);
	plane_drop_aside(plane);
	return ret;
}

static void exchange_books(struct plane *plane)
{
	const struct shared_map books = plane->books;

	plane->books = plane->next_books;
	plane->next_books = books;
}

void plane_begin_books(struct plane *plane)
{
	if (plane->n_previous == 0)
		return;
	memcpy(plane->next_books.memory, plane->books.memory, plane->books.bytes);
	exchange_books(plane);
}

void plane_forget_previous(struct plane *plane)
{
	unsigned n = plane->n_previous;
	int ret;

	if (n == 0)
		return;
	plane->n_previous = 0;
	ret = plane_keep(plane);
	plane->n_previous = n;
	if (ret == 0)
		plane_close_previous(plane);
	else
		exchange_books(plane);
}

/* Programs run within the kernel's RCU read sections, for which membarrier() waits. */
void plane_await_previous(void)
{
	const struct timespec longest = {.tv_nsec = GRACE_NS};

	if (syscall(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		nanosleep(&longest, NULL);
}

unsigned plane_slots(const struct plane *plane)
{
	return plane->slots;
}

unsigned plane_cpus(const struct plane *plane)
{
	return plane->cpus;
}

struct policy_state *plane_lines(struct plane *plane, unsigned cpu)
{
	return (struct policy_state *)plane->lines.memory + (size_t)cpu * plane->slots;
}

struct shared_bucket *plane_buckets(struct plane *plane)
{
	return plane->buckets.memory;
}

static size_t sample_index(unsigned cpu, unsigned sample)
{
	return (size_t)cpu * PLANE_SAMPLES + sample;
}

struct flow_sample *plane_sample_of(struct plane *plane, unsigned cpu, unsigned sample)
{
	return (struct flow_sample *)plane->samples.memory + sample_index(cpu, sample);
}

static void set_place(struct plane *plane, unsigned cpu, uint32_t slot, uint64_t place)
{
	struct plane_line *lines = plane->lines.memory;

	__atomic_store_n(&lines[(size_t)cpu * plane->slots + slot].place, place, __ATOMIC_RELEASE);
}

void plane_hold(struct plane *plane, unsigned cpu, uint32_t slot, uint32_t sample)
{
	set_place(plane, cpu, slot,
		sample == PLANE_UNSAMPLED ? PLANE_HELD : PLANE_SAMPLED + sample_index(cpu, sample));
}

void plane_leave(struct plane *plane, unsigned cpu, uint32_t slot, bool never)
{
	set_place(plane, cpu, slot, never ? PLANE_WORKERS_ALONE : PLANE_WORKERS);
}

static struct plane_line *line_of(const struct plane *plane, unsigned cpu, uint32_t slot)
{
	return (struct plane_line *)plane->lines.memory + (size_t)cpu * plane->slots + slot;
}

void plane_set_terms(struct plane *plane, unsigned cpu, uint32_t slot, const struct policy *policy)
{
	struct plane_line *line = line_of(plane, cpu, slot);
	uint32_t terms = policy_unit_bits(policy) << PLANE_UNIT_SHIFT;

	if (policy->count == COUNT_PACKETS)
		terms |= PLANE_PACKETS;
	if (!policy_is_hard(policy))
		terms |= PLANE_SOFT;
	if (policy->action == ACTION_COUNT)
		terms |= PLANE_COUNTS;
	if (policy->action == ACTION_MARK)
		terms |= PLANE_MARKS | ((uint32_t)policy->mark & PLANE_MARK_MASK)
					       << PLANE_MARK_SHIFT;
	__atomic_store_n(&line->terms, (line->terms & PLANE_ENDING) | terms, __ATOMIC_RELEASE);
}

void plane_set_ending(struct plane *plane, unsigned cpu, uint32_t slot, uint8_t ending)
{
	struct plane_line *line = line_of(plane, cpu, slot);

	__atomic_store_n(&line->terms, (line->terms & ~PLANE_ENDING) | ending, __ATOMIC_RELEASE);
}

uint8_t plane_ending(const struct plane *plane, unsigned cpu, uint32_t slot)
{
	return line_of(plane, cpu, slot)->terms & PLANE_ENDING;
}

struct expiry *plane_lease(struct plane *plane)
{
	struct plane_clock *clock = plane->clock.memory;

	return (struct expiry *)&clock->until;
}

struct expiry *plane_membership(struct plane *plane)
{
	struct plane_clock *clock = plane->clock.memory;

	return (struct expiry *)&clock->member_until;
}

void plane_leave_unknown(struct plane *plane, bool never)
{
	struct plane_clock *clock = plane->clock.memory;

	__atomic_store_n(&clock->all_soft, !never, __ATOMIC_RELAXED);
}

void plane_set_time(struct plane *plane, uint64_t ns, uint64_t tick, uint64_t hz)
{
	struct plane_clock *clock = plane->clock.memory;
	uint32_t written = clock->written + 1;
	struct plane_time *time = &clock->times[written & 1];
	uint64_t rate = (uint64_t)(((unsigned __int128)hz << PLANE_CLOCK_SHIFT) / 1000000000);

	__atomic_store_n(&time->ns, ns, __ATOMIC_RELEASE);
	__atomic_store_n(&time->ticks, tick, __ATOMIC_RELEASE);
	__atomic_store_n(&time->rate, rate, __ATOMIC_RELEASE);
	__atomic_store_n(&clock->written, written, __ATOMIC_RELEASE);
}

/* No program uses the spare classifier, because the previous exchange waited for all of them. */
int plane_publish(struct plane *plane, const struct classifier *classifier)
{
	struct shared_map *table = &plane->classifiers[plane->spare];
	int ret = classifier_lines_write(classifier, table->memory, plane->room);
	uint32_t only = 0;

	if (ret == 0 && bpf_map_update_elem(plane->tables, &only, &table->fd, BPF_ANY))
		ret = -errno;
	if (ret)
		bpf_map_delete_elem(plane->tables, &only);
	else
		plane->spare ^= 1;
	return ret == -ENOSPC ? -E2BIG : ret;
}
