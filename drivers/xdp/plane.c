/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "plane.h"

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

#include "bypass.skel.h" /* of the maps above */

/* The program has its own names for what lib has; both are the same memory. */
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
static_assert(sizeof(struct shared_bucket) == sizeof(struct plane_bucket), "");
SAME(shared_bucket, state.allow_at, plane_bucket, allow_at);
SAME(shared_bucket, written, plane_bucket, written);
SAME(shared_bucket, profiles, plane_bucket, profiles);
SAME(shared_bucket_profile, start_low, plane_profile, start_low);
SAME(shared_bucket_profile, start_high, plane_profile, start_high);
SAME(shared_bucket_profile, since, plane_profile, since);
SAME(shared_bucket_profile, rate, plane_profile, rate);
SAME(shared_bucket_profile, burst, plane_profile, burst);
SAME(shared_bucket_profile, quantum, plane_profile, quantum);
SAME(shared_bucket_profile, least, plane_profile, least);
static_assert(sizeof(struct flow_sample) == sizeof(struct plane_sample), "");
SAME(flow_sample, slot, plane_sample, slot);
SAME(flow_sample, score, plane_sample, score);
static_assert(sizeof(struct plane_clock) == 128 &&
		      offsetof(struct plane_clock, span) - offsetof(struct plane_clock, until) ==
			      offsetof(struct expiry, span) &&
		      offsetof(struct plane_clock, member_span) -
				      offsetof(struct plane_clock, member_until) ==
			      offsetof(struct expiry, span),
	"");
static_assert(EXPIRY_PARTS == PLANE_ENDING && (MARK_ECN & PLANE_MARK_MASK) == PLANE_ECN, "");
static_assert(POLICE_LEAST_BYTES == 9084 && POLICE_LEAST_PACKETS == 6, "");
static_assert(FLOW_SLOTS == PLANE_FLOWS && FLOW_SCORE_MAX == 31 && FLOW_COUNT_BITS == 40, "");
static_assert(TOKEN_BYTE == 24 && TOKEN_SHIFT - GCRA_SHIFT == 48 && GCRA_SHIFT == 8, "");
static_assert(SHARED_BUCKET_SECOND == 40 && SHARED_BUCKET_AHEAD == 1 << 20, "");
static_assert(POLICE_TCP_ONLY == 1 << 3 && ACCOUNTING_L3 == 1 && ACCOUNTING_WIRE == 2, "");

/* Where maps are kept, and where they are made ready: no interface's names. */
#define KEPT       "plane"
#define KEPT_ASIDE "plane-next"
#define KEPT_MAPS  4

static const char *const kept_names[KEPT_MAPS] = {"books", "lines", "buckets", "clock"};

/* No packet takes as long, if the kernel does not say when all are over. */
#define GRACE_NS 50000000

/* A map that is shared with the kernel. */
struct shared_map {
	int fd;
	void *memory;
	size_t bytes;
};

/* What outlives the process, and the next one adopts. */
struct kept_maps {
	struct shared_map lines, buckets, books, clock;
	unsigned slots;
};

struct plane {
	unsigned slots, cpus;
	struct shared_map lines, buckets, books, samples, clock;
	struct kept_maps former;
	bool former_differs; /* a former process has left maps of another layout */
	int tables;          /* the map of the one classifier in force, that is one of: */
	struct shared_map classifiers[2];
	uint32_t room; /* lines of each */
	unsigned spare;
};

/* Pages, as the kernel has them. */
static int map_memory(struct shared_map *shared, size_t value, size_t entries)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	shared->bytes = (value * entries + page - 1) / page * page;
	shared->memory = mmap(
		NULL, shared->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared->fd, 0);
	if (shared->memory == MAP_FAILED)
		shared->memory = NULL;
	return shared->memory ? 0 : -errno;
}

static void unmap_shared(struct shared_map *shared)
{
	if (shared->memory)
		munmap(shared->memory, shared->bytes);
	shared->memory = NULL;
}

static void name_kept(
	const char *directory, const char *where, const char *what, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/%s/%s", directory, where, what);
}

/*
 * A map that a former process has left, if its name and the size of its values are ours; returns
 * its entries, or 0.
 */
static unsigned open_kept(const char *directory, const char *what, const char *name, size_t value,
	struct shared_map *shared)
{
	struct bpf_map_info info = {0};
	uint32_t bytes = sizeof(info);
	char path[PATH_MAX];

	name_kept(directory, KEPT, what, path);
	shared->fd = bpf_obj_get(path);
	if (shared->fd < 0 || bpf_obj_get_info_by_fd(shared->fd, &info, &bytes) ||
		strcmp(info.name, name) != 0 || info.value_size != value ||
		map_memory(shared, value, info.max_entries))
		return 0;
	return info.max_entries;
}

static void close_kept(struct shared_map *shared)
{
	unmap_shared(shared);
	if (shared->fd >= 0)
		close(shared->fd);
	shared->fd = -1;
}

void plane_forget_former(struct plane *plane)
{
	close_kept(&plane->former.clock);
	close_kept(&plane->former.lines);
	close_kept(&plane->former.buckets);
	close_kept(&plane->former.books);
	plane->former.slots = 0;
}

/* Opens all of it, or nothing if a part has another layout. */
static void open_former(struct plane *plane, const char *directory)
{
	struct kept_maps *former = &plane->former;
	unsigned lines, buckets;

	former->slots = open_kept(
		directory, "books", PLANE_LAYOUT, sizeof(struct plane_book), &former->books);
	lines = open_kept(
		directory, "lines", "plane_lines", sizeof(struct plane_line), &former->lines);
	buckets = open_kept(directory, "buckets", "plane_buckets", sizeof(struct plane_bucket),
		&former->buckets);
	if (former->slots > 0 && lines == (uint64_t)former->slots * plane->cpus &&
		buckets >= former->slots &&
		open_kept(directory, "clock", "plane_clocks", sizeof(struct plane_clock),
			&former->clock) == 1)
		return;
	plane->former_differs = former->books.fd >= 0;
	plane_forget_former(plane);
}

bool plane_former_differs(const struct plane *plane)
{
	return plane->former_differs;
}

static int make_books(struct plane *plane)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);

	plane->books.fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, PLANE_LAYOUT, sizeof(uint32_t),
		sizeof(struct plane_book), plane->slots, &opts);
	if (plane->books.fd < 0)
		return -errno;
	return map_memory(&plane->books, sizeof(struct plane_book), plane->slots);
}

int plane_create(unsigned slots, uint32_t lines, const char *directory, struct plane **plane)
{
	const struct shared_map none = {.fd = -1};
	int cpus = libbpf_num_possible_cpus();

	*plane = calloc(1, sizeof(**plane));
	if (!*plane)
		return -ENOMEM;
	**plane = (struct plane){.slots = slots,
		.cpus = cpus > 0 ? (unsigned)cpus : 1,
		.lines = none,
		.buckets = none,
		.books = none,
		.samples = none,
		.clock = none,
		.former = {none, none, none, none, 0},
		.tables = -1,
		.classifiers = {none, none},
		.room = lines};
	open_former(*plane, directory);
	return make_books(*plane);
}

static int size_map(struct bpf_map *map, const struct shared_map *shared, size_t entries)
{
	if (shared->fd >= 0)
		return bpf_map__reuse_fd(map, shared->fd);
	if (entries > UINT32_MAX)
		return -E2BIG;
	return bpf_map__set_max_entries(map, (uint32_t)entries);
}

/* Both from the start: a reload then allocates nothing, and its pages are there. */
static int make_classifiers(struct plane *plane)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int ret = 0;

	for (unsigned i = 0; ret == 0 && i < 2; i++) {
		struct shared_map *table = &plane->classifiers[i];

		table->fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "plane_table", sizeof(uint32_t),
			sizeof(struct classify_line), plane->room, &opts);
		ret = table->fd < 0 ? -errno
				    : map_memory(table, sizeof(struct classify_line), plane->room);
	}
	return ret;
}

/* By one of that size, as libbpf lets nobody say it. */
static int size_tables(struct plane *plane, struct bpf_map *tables)
{
	int ret = make_classifiers(plane);

	return ret ? ret : bpf_map__set_inner_map_fd(tables, plane->classifiers[0].fd);
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
	if (ret == 0 && plane->tables >= 0)
		return bpf_map__reuse_fd(program->maps.plane_tables, plane->tables);
	return ret ? ret : size_tables(plane, program->maps.plane_tables);
}

static int map_shared(struct shared_map *shared, const struct bpf_map *map)
{
	shared->fd = bpf_map__fd(map);
	return map_memory(shared, bpf_map__value_size(map), bpf_map__max_entries(map));
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
	close_kept(&plane->classifiers[0]);
	close_kept(&plane->classifiers[1]);
	plane_forget_former(plane);
	close_kept(&plane->books);
	unmap_shared(&plane->lines);
	unmap_shared(&plane->buckets);
	unmap_shared(&plane->samples);
	unmap_shared(&plane->clock);
	free(plane);
}

/* What the CPUs have counted, and still hold; packets in the 32 bits that a line has. */
static void add_lines(const struct plane *plane, unsigned slot, struct plane_former *former)
{
	const struct plane_line *lines = plane->former.lines.memory;

	for (unsigned cpu = 0; cpu < plane->cpus; cpu++) {
		const struct plane_line *line = &lines[(size_t)cpu * plane->former.slots + slot];
		uint32_t dropped = counter_read32(&line->dropped_packets);
		uint64_t dropped_bytes = counter_read((const uint64_t *)&line->dropped_bytes);

		former->book.dropped_packets += dropped;
		former->book.dropped_bytes += dropped_bytes;
		former->book.over_packets += counter_read((const uint64_t *)&line->over_packets);
		former->book.over_bytes += counter_read((const uint64_t *)&line->over_bytes);
		former->book.passed_packets += counter_read32(&line->packets) - dropped;
		former->book.passed_bytes += counter_read((const uint64_t *)&line->bytes) -
					     dropped_bytes;
		former->held += line->tokens >> TOKEN_BYTE;
	}
}

int plane_look_back(const struct plane *plane, unsigned i, struct plane_former *former)
{
	const struct plane_book *books = plane->former.books.memory;

	if (i >= plane->former.slots)
		return -ENOENT;
	*former = (struct plane_former){.book = books[i]};
	former->book.name[sizeof(former->book.name) - 1] = '\0';
	if (former->book.name[0] != '\0')
		add_lines(plane, i, former);
	return 0;
}

/* tick_of_kernel() of the former programs. */
static uint64_t former_tick(const struct plane_clock *clock)
{
	const struct plane_time *from = &clock->times[clock->written & 1];
	struct timespec now;
	uint64_t elapsed;

	clock_gettime(CLOCK_BOOTTIME, &now);
	elapsed = (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec - from->ns;
	return from->ticks +
	       (uint64_t)(((unsigned __int128)elapsed * from->rate) >> PLANE_CLOCK_SHIFT);
}

/* look_at_lease() of them: where their clock stands for the bucket. */
static uint64_t former_slowed(const struct plane *plane, unsigned i)
{
	const struct plane_line *lines = plane->former.lines.memory;
	const struct plane_clock *clock = plane->former.clock.memory;
	struct expiry lease = {.until = clock->until, .span = clock->span};
	uint64_t tick = former_tick(clock);
	uint8_t ending = lines[i].terms & PLANE_ENDING;

	if (lines[i].terms & PLANE_SOFT)
		lease = (struct expiry){.until = clock->member_until, .span = clock->member_span};
	if (ending == 0 || !expiry_is_past(&lease, tick))
		return tick;
	return expiry_slowed(lease.until, tick, ending);
}

/* As shared_bucket_take(): what it has is divided by 2^shift, and it then has so much less. */
static uint64_t take_part(
	struct shared_bucket *shared, unsigned shift, uint64_t less, uint64_t tick)
{
	const struct shared_bucket_profile profile = shared_bucket_read(shared);
	const struct gcra_profile limit = shared_bucket_limit(&profile);
	const struct gcra_now instant = gcra_now(&limit, tick);
	uint64_t seen = __atomic_load_n(&shared->state.allow_at, __ATOMIC_RELAXED), left, units;

	do {
		int64_t tokens = gcra_tokens(&(struct gcra){seen}, &instant);

		units = tokens > 0 ? (uint64_t)tokens >> (GCRA_SHIFT + shift) : 0;
		left = instant.at - (uint64_t)tokens + ((units + less) << GCRA_SHIFT);
	} while (!__atomic_compare_exchange_n(
		&shared->state.allow_at, &seen, left, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return units;
}

/* Its process is no more: nobody else writes limits there. */
uint64_t plane_take_half(struct plane *plane, unsigned i, uint64_t rate)
{
	struct shared_bucket *shared = (struct shared_bucket *)plane->former.buckets.memory + i;
	struct shared_bucket_profile profile = shared_bucket_read(shared);
	uint64_t tick = former_slowed(plane, i);

	if (profile.rate > rate) {
		profile.rate = rate;
		shared_bucket_change(shared, &profile, tick);
	}
	return take_part(shared, 1, 0, tick);
}

uint64_t plane_take_all(struct plane *plane, unsigned i)
{
	struct shared_bucket *buckets = plane->former.buckets.memory;

	return take_part(&buckets[i], 0, SHARED_BUCKET_AHEAD, former_slowed(plane, i));
}

struct plane_book *plane_book(struct plane *plane, uint32_t slot)
{
	return (struct plane_book *)plane->books.memory + slot;
}

static int keep_map(const struct shared_map *shared, const char *directory, const char *what)
{
	char path[PATH_MAX];

	name_kept(directory, KEPT_ASIDE, what, path);
	return bpf_obj_pin(shared->fd, path) ? -errno : 0;
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
	return strcmp(name, KEPT) == 0;
}

void plane_drop_aside(const char *directory)
{
	char path[PATH_MAX];

	name_kept(directory, KEPT_ASIDE, "", path);
	plane_unkeep(path);
}

int plane_keep_aside(struct plane *plane, const char *directory)
{
	char path[PATH_MAX];
	int ret;

	const struct shared_map *maps[KEPT_MAPS] = {
		&plane->books, &plane->lines, &plane->buckets, &plane->clock};

	plane_drop_aside(directory);
	name_kept(directory, KEPT_ASIDE, "", path);
	ret = mkdir(path, 0700) ? -errno : 0;
	for (unsigned i = 0; ret == 0 && i < KEPT_MAPS; i++)
		ret = keep_map(maps[i], directory, kept_names[i]);
	return ret;
}

bool plane_is_whole(const char *directory)
{
	char path[PATH_MAX];

	for (unsigned i = 0; i < KEPT_MAPS; i++) {
		name_kept(directory, KEPT, kept_names[i], path);
		if (access(path, F_OK))
			return false;
	}
	return true;
}

/* Never some maps of one process and some of another: they change places all at once. */
int plane_keep(const char *directory)
{
	char aside[PATH_MAX], kept[PATH_MAX];
	int ret = 0;

	name_kept(directory, KEPT_ASIDE, "", aside);
	name_kept(directory, KEPT, "", kept);
	if (renameat2(AT_FDCWD, aside, AT_FDCWD, kept, RENAME_EXCHANGE))
		ret = errno == ENOENT && rename(aside, kept) == 0 ? 0 : -errno;
	if (ret == 0)
		plane_drop_aside(directory);
	return ret;
}

/* Programs run where the kernel's grace periods wait for them. */
void plane_await_former(void)
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
	if (!policy_is_conserved(policy))
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

void plane_tell_time(struct plane *plane, uint64_t ns, uint64_t tick, uint64_t hz)
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

/* Nobody looks into the spare one: the exchange before has waited for those who did. */
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
