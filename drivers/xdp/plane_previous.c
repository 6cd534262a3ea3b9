/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The maps that previous processes have left. A start that is killed during the takeover leaves
 * several generations, each with counts of its own. The pins list all of them before the first
 * program is replaced, so no count depends on the moment of the kill.
 */
#include "plane_inside.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/counter.h"
#include "base/expiry.h"
#include "base/time.h"
#include "meter/shared_bucket.h"

#include "bypass_check.h"
#include "plane_maps.h"

/* No count gets this high: 5 years at 400 Gbit/s. */
#define COUNT_END (UINT64_C(1) << 63)

/* More than the bytes of a packet that a CPU counts while its line is read. */
#define IN_FLIGHT (1 << 17)

/* In 2^-28 ticks per nanosecond: a clock of 4 THz. */
#define CLOCK_RATE_END (UINT64_C(1) << 40)

static const struct {
	const char *pin, *name;
	size_t value;
} kept_rows[KEPT_MAPS] = {
	[KEPT_BOOKS] = {"books", PLANE_LAYOUT, sizeof(struct plane_book)},
	[KEPT_LINES] = {"lines", "plane_lines", sizeof(struct plane_line)},
	[KEPT_BUCKETS] = {"buckets", "plane_buckets", sizeof(struct shared_bucket)},
	[KEPT_CLOCK] = {"clock", "plane_clocks", sizeof(struct plane_clock)},
};

/* A mapping has whole pages. */
int plane_map_memory(struct shared_map *shared, size_t value, size_t entries)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	shared->bytes = (value * entries + page - 1) / page * page;
	shared->memory = mmap(
		NULL, shared->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared->fd, 0);
	if (shared->memory == MAP_FAILED)
		shared->memory = NULL;
	return shared->memory ? 0 : -errno;
}

void plane_unmap(struct shared_map *shared)
{
	if (shared->memory)
		munmap(shared->memory, shared->bytes);
	shared->memory = NULL;
}

void plane_close_map(struct shared_map *shared)
{
	plane_unmap(shared);
	if (shared->fd >= 0)
		close(shared->fd);
	shared->fd = -1;
}

void plane_name_kept(const struct plane *plane, const char *where, enum plane_kept map,
	unsigned generation, char path[PATH_MAX])
{
	int length = snprintf(
		path, PATH_MAX, "%s/%s/%s", plane->directory, where, kept_rows[map].pin);

	if (generation > 0)
		snprintf(path + length, PATH_MAX - (size_t)length, "-%u", generation);
}

/* Opens a map if its name and the size of its values are ours. Returns its entries, or 0. */
static uint32_t open_kept(const char *path, enum plane_kept map, struct plane_generation *made)
{
	struct shared_map *shared = &made->maps[map];
	struct bpf_map_info info = {0};
	uint32_t bytes = sizeof(info);

	shared->fd = bpf_obj_get(path);
	if (shared->fd < 0 || bpf_obj_get_info_by_fd(shared->fd, &info, &bytes) ||
		strncmp(info.name, kept_rows[map].name, sizeof(info.name)) != 0 ||
		info.value_size != kept_rows[map].value ||
		plane_map_memory(shared, info.value_size, info.max_entries))
		return 0;
	if (map == KEPT_LINES)
		made->id = info.id;
	return info.max_entries;
}

static void close_generation(struct plane_generation *generation)
{
	for (unsigned i = 0; i < KEPT_MAPS; i++)
		plane_close_map(&generation->maps[i]);
}

static uint64_t boot_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static bool clock_is_possible(const struct plane_clock *clock)
{
	const struct plane_time *from = &clock->times[clock->written & 1];

	return from->ns <= boot_ns() && from->rate - 1 < CLOCK_RATE_END;
}

static bool book_is_possible(const struct plane_book *book)
{
	return book->passed_packets < COUNT_END && book->passed_bytes < COUNT_END &&
	       book->dropped_packets < COUNT_END && book->dropped_bytes < COUNT_END &&
	       book->over_packets < COUNT_END && book->over_bytes < COUNT_END &&
	       book->over_bytes <= book->passed_bytes + IN_FLIGHT;
}

/*
 * Returns whether a process can have written a line. A CPU holds at most a quantum, and a packet is
 * counted before its verdict.
 */
static bool line_is_possible(const struct plane_line *line)
{
	uint64_t over_packets = counter_read((const uint64_t *)&line->over_packets);
	uint64_t over = counter_read((const uint64_t *)&line->over_bytes);
	uint64_t dropped = counter_read((const uint64_t *)&line->dropped_bytes);
	uint64_t bytes = counter_read((const uint64_t *)&line->bytes);

	return line->tokens >> TOKEN_BYTE <= UINT32_MAX && over_packets < COUNT_END &&
	       over < COUNT_END && dropped < COUNT_END && bytes < COUNT_END &&
	       over + dropped <= bytes + IN_FLIGHT;
}

static bool bucket_is_possible(const struct shared_bucket *shared)
{
	const struct shared_bucket_profile limit = shared_bucket_read(shared);

	return limit.rate <= INT64_MAX && limit.burst <= TOKEN_BUCKET_MAX_BURST << GCRA_SHIFT;
}

static const struct plane_line *line_at(
	const struct plane_generation *from, unsigned cpu, unsigned slot)
{
	const struct plane_line *lines = from->maps[KEPT_LINES].memory;

	return &lines[(size_t)cpu * from->slots + slot];
}

/* Returns the kind of the first value in a slot that no process can have written, or NULL. */
static const char *find_fault(const struct plane_generation *from, unsigned cpus, unsigned slot)
{
	const struct plane_book *book = (struct plane_book *)from->maps[KEPT_BOOKS].memory + slot;
	const struct shared_bucket *buckets = from->maps[KEPT_BUCKETS].memory;

	if (book->name[0] == '\0')
		return NULL;
	if (!memchr(book->name, '\0', sizeof(book->name)))
		return "name";
	if (!book_is_possible(book))
		return "count";
	for (unsigned cpu = 0; cpu < cpus; cpu++)
		if (!line_is_possible(line_at(from, cpu, slot)))
			return "count of a CPU";
	return bucket_is_possible(&buckets[slot]) ? NULL : "bucket";
}

static void set_refused(struct plane *plane, const char *why)
{
	snprintf(plane->refused, sizeof(plane->refused), "%s", why);
}

/* Returns true if all values of a generation are possible. Otherwise it writes the reason. */
static bool is_possible(struct plane *plane, const struct plane_generation *from)
{
	if (!clock_is_possible(from->maps[KEPT_CLOCK].memory)) {
		set_refused(plane, "have an impossible clock");
		return false;
	}
	for (unsigned slot = 0; slot < from->slots; slot++) {
		const char *fault = find_fault(from, plane->cpus, slot);

		if (!fault)
			continue;
		snprintf(plane->refused, sizeof(plane->refused), "have an impossible %s in slot %u",
			fault, slot);
		return false;
	}
	return true;
}

/* Opens all maps of a generation, or none if one is impossible. Returns false if it has no pin. */
static bool open_generation(struct plane *plane, unsigned generation)
{
	struct plane_generation *made = &plane->previous[plane->n_previous];
	uint32_t entries[KEPT_MAPS];
	char path[PATH_MAX];
	bool there;

	for (unsigned i = 0; i < KEPT_MAPS; i++) {
		plane_name_kept(plane, PLANE_KEPT, i, generation, path);
		entries[i] = open_kept(path, i, made);
	}
	there = made->maps[KEPT_BOOKS].fd >= 0;
	made->slots = entries[KEPT_BOOKS];
	if (made->slots == 0 || entries[KEPT_LINES] != (uint64_t)made->slots * plane->cpus ||
		entries[KEPT_BUCKETS] < made->slots || entries[KEPT_CLOCK] != 1) {
		if (there)
			set_refused(plane, "have another layout");
	} else if (is_possible(plane, made)) {
		plane->n_previous++;
		return true;
	}
	close_generation(made);
	return there;
}

/* Returns the kernel's number of the map of lines of a link's program, or 0 if it has none. */
static uint32_t lines_of_link(const char *path)
{
	struct bpf_map_info info = {0};
	uint32_t program = 0, bytes = sizeof(info);
	int interface, link = bypass_open_link(path, &interface, &program), lines;

	if (link < 0)
		return 0;
	close(link);
	lines = bypass_open_map(program, kept_rows[KEPT_LINES].name);
	if (lines < 0)
		return 0;
	if (bpf_obj_get_info_by_fd(lines, &info, &bytes))
		info.max_entries = 0;
	close(lines);
	return info.max_entries > 1 ? info.id : 0; /* 1: no XDP data plane */
}

static void mark_current(struct plane *plane, uint32_t lines)
{
	for (unsigned i = 0; i < plane->n_previous; i++)
		if (plane->previous[i].id == lines) {
			plane->previous[i].current = true;
			return;
		}
	if (!plane->refused[0])
		set_refused(plane, "are not pinned");
}

unsigned plane_n_current(const struct plane *plane)
{
	unsigned n = 0;

	for (unsigned i = 0; i < plane->n_previous; i++)
		n += plane->previous[i].current;
	return n;
}

void plane_open_previous(struct plane *plane)
{
	DIR *pins = opendir(plane->directory);
	const struct dirent *entry;
	char path[PATH_MAX];

	for (unsigned i = 0; i < PLANE_GENERATIONS && open_generation(plane, i); i++)
		;
	while (pins && (entry = readdir(pins))) {
		uint32_t lines;

		if (strncmp(entry->d_name, "link-", strlen("link-")) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", plane->directory, entry->d_name);
		lines = lines_of_link(path);
		if (lines)
			mark_current(plane, lines);
	}
	if (pins)
		closedir(pins);
	/* If no program is attached any more, the last generation has the tokens. */
	if (plane_n_current(plane) == 0)
		plane->previous[0].current = true;
}

void plane_close_previous(struct plane *plane)
{
	for (unsigned i = 0; i < plane->n_previous; i++)
		close_generation(&plane->previous[i]);
	plane->n_previous = 0;
}

const char *plane_refused(const struct plane *plane)
{
	return plane->refused[0] ? plane->refused : NULL;
}

/*
 * Converts an index over the slots of all generations. Returns the generation and, in *i, its slot.
 */
static unsigned find_slot(const struct plane *plane, unsigned *i)
{
	unsigned generation = 0;

	for (; generation < plane->n_previous && *i >= plane->previous[generation].slots;
		generation++)
		*i -= plane->previous[generation].slots;
	return generation;
}

/* Adds the counts and units of all CPUs. A line counts packets in 32 bits. */
static void add_lines(const struct plane_generation *from, unsigned cpus, unsigned slot,
	struct plane_previous *previous)
{
	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		const struct plane_line *line = line_at(from, cpu, slot);
		uint32_t dropped = counter_read32(&line->dropped_packets);
		uint64_t dropped_bytes = counter_read((const uint64_t *)&line->dropped_bytes);

		previous->book.dropped_packets += dropped;
		previous->book.dropped_bytes += dropped_bytes;
		previous->book.over_packets += counter_read((const uint64_t *)&line->over_packets);
		previous->book.over_bytes += counter_read((const uint64_t *)&line->over_bytes);
		previous->book.passed_packets += counter_read32(&line->packets) - dropped;
		previous->book.passed_bytes += counter_read((const uint64_t *)&line->bytes) -
					       dropped_bytes;
		previous->held += line->tokens >> TOKEN_BYTE;
	}
}

int plane_look_back(const struct plane *plane, unsigned i, struct plane_previous *previous)
{
	unsigned generation = find_slot(plane, &i);
	const struct plane_book *books;

	if (generation >= plane->n_previous)
		return -ENOENT;
	books = plane->previous[generation].maps[KEPT_BOOKS].memory;
	*previous = (struct plane_previous){
		.book = books[i], .current = plane->previous[generation].current};
	previous->book.name[sizeof(previous->book.name) - 1] = '\0';
	if (previous->book.name[0] != '\0')
		add_lines(&plane->previous[generation], plane->cpus, i, previous);
	return 0;
}

/* The tick for the bucket by the previous programs' clock, as in look_at_lease(). */
static uint64_t previous_slowed(const struct plane_generation *from, unsigned slot)
{
	const struct plane_line *line = line_at(from, 0, slot);
	const struct plane_clock *clock = from->maps[KEPT_CLOCK].memory;
	struct expiry lease = {.until = clock->until, .span = clock->span};
	const struct plane_time *from_time = &clock->times[clock->written & 1];
	const uint64_t elapsed = boot_ns() - from_time->ns;
	/* tick_of_kernel() of the previous programs. */
	const uint64_t tick = from_time->ticks +
			      (uint64_t)(((unsigned __int128)elapsed * from_time->rate) >>
					 PLANE_CLOCK_SHIFT);
	uint8_t ending = line->terms & PLANE_ENDING;

	if (line->terms & PLANE_SOFT)
		lease = (struct expiry){.until = clock->member_until, .span = clock->member_span};
	if (ending == 0 || !expiry_is_past(&lease, tick))
		return tick;
	return expiry_slowed(lease.until, tick, ending);
}

/* Takes the bucket's tokens / 2^shift, and removes `less` units more. Like shared_bucket_take(). */
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

/* The previous process has ended, so no other thread writes limits there. */
uint64_t plane_take_half(struct plane *plane, unsigned i, uint64_t rate)
{
	const struct plane_generation *from = &plane->previous[find_slot(plane, &i)];
	struct shared_bucket *shared = (struct shared_bucket *)from->maps[KEPT_BUCKETS].memory + i;
	struct shared_bucket_profile profile = shared_bucket_read(shared);
	uint64_t tick = previous_slowed(from, i);

	if (profile.rate > rate) {
		profile.rate = rate;
		shared_bucket_change(shared, &profile, tick);
	}
	return take_part(shared, 1, 0, tick);
}

uint64_t plane_take_all(struct plane *plane, unsigned i)
{
	const struct plane_generation *from = &plane->previous[find_slot(plane, &i)];
	struct shared_bucket *buckets = from->maps[KEPT_BUCKETS].memory;

	return take_part(&buckets[i], 0, SHARED_BUCKET_AHEAD, previous_slowed(from, i));
}
