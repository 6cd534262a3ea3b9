/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Maps that previous processes have left, with random records. A start does not use maps with a
 * value that no process can have written. It inherits all other values. Without the right to create
 * maps the test is skipped.
 */
#include "check.h"

#include <sched.h>
#include <time.h>

#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/prng.h"
#include "base/time.h"
#include "meter/shared_bucket.h"

#include "plane.h"
#include "plane_maps.h"

#define BPF_FILES   "/sys/fs/bpf"
#define KEPT        BPF_FILES "/weir-test"
#define SLOTS       8
#define LINES       64
#define GENERATIONS 3
#define TRIALS      ROUNDS(4000)

/* The maps of one generation. */
struct left {
	struct plane_book *books;
	struct plane_line *lines;
	struct shared_bucket *buckets;
	struct plane_clock *clock;
};

static unsigned cpus;
static bool may_create = true;
static uint64_t seed = 0x5eed0018;

static void *leave_map(
	const char *name, size_t value, unsigned entries, const char *pin, unsigned k)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(
		BPF_MAP_TYPE_ARRAY, name, sizeof(uint32_t), (uint32_t)value, entries, &opts);
	char path[256];
	void *memory;

	snprintf(path, sizeof(path), k ? "%s/plane/%s-%u" : "%s/plane/%s", KEPT, pin, k);
	assert_true(fd >= 0);
	assert_int_equal(bpf_obj_pin(fd, path), 0);
	memory = mmap(NULL, value * entries, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	close(fd);
	return memory;
}

static struct left leave_maps(unsigned k)
{
	return (struct left){
		.books = leave_map(PLANE_LAYOUT, sizeof(struct plane_book), SLOTS, "books", k),
		.lines = leave_map(
			"plane_lines", sizeof(struct plane_line), cpus * SLOTS, "lines", k),
		.buckets = leave_map(
			"plane_buckets", sizeof(struct shared_bucket), 3 * SLOTS, "buckets", k),
		.clock = leave_map("plane_clocks", sizeof(struct plane_clock), 1, "clock", k),
	};
}

static uint64_t boot_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* Random bits, of any length. */
static uint64_t draw(struct prng *prng)
{
	return prng_next(prng) >> prng_below(prng, 64);
}

static void fill_book(struct plane_book *book, struct prng *prng, unsigned slot)
{
	*book = (struct plane_book){.passed_packets = prng_next(prng) >> 24,
		.passed_bytes = prng_next(prng) >> 20,
		.dropped_packets = prng_next(prng) >> 24,
		.dropped_bytes = prng_next(prng) >> 20,
		.over_packets = prng_next(prng) >> 24};
	book->over_bytes = book->passed_bytes / 2;
	if (prng_percent(prng, 80))
		snprintf(book->name, sizeof(book->name), "policy %u", slot);
}

static void fill_line(struct plane_line *line, struct prng *prng)
{
	*line = (struct plane_line){.tokens = prng_next(prng) >> 8,
		.terms = (uint32_t)prng_next(prng),
		.place = prng_next(prng),
		.over_packets = prng_next(prng) >> 24,
		.bytes = prng_next(prng) >> 20,
		.packets = (uint32_t)prng_next(prng),
		.dropped_packets = (uint32_t)prng_next(prng)};
	line->over_bytes = line->bytes / 3;
	line->dropped_bytes = line->bytes / 2;
}

static void fill_bucket(struct shared_bucket *bucket, struct prng *prng)
{
	*bucket = (struct shared_bucket){
		.state.allow_at = prng_next(prng), .written = prng_next(prng)};
	for (unsigned i = 0; i < 2; i++)
		bucket->profiles[i] = (struct shared_bucket_profile){.start_low = prng_next(prng),
			.start_high = prng_next(prng),
			.since = prng_next(prng),
			.rate = prng_next(prng) >> 1,
			.burst = prng_next(prng) >> 17,
			.quantum = (uint32_t)prng_next(prng),
			.least = (uint32_t)prng_next(prng)};
}

/* Values that a process can have written. */
static void fill_maps(struct left *left, struct prng *prng)
{
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		fill_book(&left->books[slot], prng, slot);
		fill_bucket(&left->buckets[slot], prng);
	}
	for (unsigned i = 0; i < cpus * SLOTS; i++)
		fill_line(&left->lines[i], prng);
	*left->clock = (struct plane_clock){.written = (uint32_t)prng_next(prng),
		.until = prng_next(prng),
		.span = prng_next(prng),
		.member_until = prng_next(prng),
		.member_span = prng_next(prng)};
	for (unsigned i = 0; i < 2; i++)
		left->clock->times[i] = (struct plane_time){boot_ns() - prng_below(prng, 1000000),
			prng_next(prng), 1 + (prng_next(prng) >> 24)};
}

/* Writes one random word, or random bytes over a whole record. */
static void spoil(struct left *left, struct prng *prng)
{
	const struct {
		void *record;
		size_t bytes;
	} records[] = {
		{&left->books[prng_below(prng, SLOTS)], sizeof(struct plane_book)},
		{&left->lines[prng_below(prng, cpus * SLOTS)], sizeof(struct plane_line)},
		{&left->buckets[prng_below(prng, SLOTS)], sizeof(struct shared_bucket)},
		{left->clock, sizeof(struct plane_clock)},
	};
	unsigned which = prng_below(prng, 4), words = (unsigned)records[which].bytes / 8;
	uint64_t *record = records[which].record;

	if (prng_percent(prng, 75))
		record[prng_below(prng, words)] = draw(prng);
	else
		for (unsigned i = 0; i < words; i++)
			record[i] = prng_next(prng) |
				    (prng_percent(prng, 50) ? 0x0101010101010101 : 0);
}

static bool can_be_counted(uint64_t count)
{
	return (int64_t)count >= 0;
}

/* The oracle: a named slot has counts below 2^63, and no bytes of verdicts beyond all bytes. */
static bool slot_can_be(const struct left *left, unsigned slot)
{
	const struct plane_book *book = &left->books[slot];
	const struct shared_bucket *bucket = &left->buckets[slot];
	const struct shared_bucket_profile *limit = &bucket->profiles[bucket->written % 2];
	const uint64_t *counts = &book->passed_packets;
	bool can = strnlen(book->name, sizeof(book->name)) < sizeof(book->name) &&
		   (int64_t)limit->rate >= 0 && limit->burst <= UINT64_C(1) << 47;

	for (unsigned i = 0; i < 6; i++)
		can = can && can_be_counted(counts[i]);
	can = can && book->over_bytes <= book->passed_bytes + 131072;
	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		const struct plane_line *line = &left->lines[cpu * SLOTS + slot];

		can = can && line->tokens < UINT64_C(1) << 56 && can_be_counted(line->bytes) &&
		      can_be_counted(line->over_packets) && can_be_counted(line->over_bytes) &&
		      can_be_counted(line->dropped_bytes) &&
		      line->over_bytes + line->dropped_bytes <= line->bytes + 131072;
	}
	return can;
}

static bool maps_can_be(const struct left *left)
{
	const struct plane_time *time = &left->clock->times[left->clock->written % 2];
	bool can = time->ns <= boot_ns() && time->rate > 0 && time->rate <= UINT64_C(1) << 40;

	for (unsigned slot = 0; slot < SLOTS; slot++)
		can = can && (left->books[slot].name[0] == '\0' || slot_can_be(left, slot));
	return can;
}

/* All counts and units of a slot are inherited, and no more tokens than a burst. */
static void check_inherited(struct plane *next, const struct left *left, unsigned at, bool current)
{
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		const struct shared_bucket *bucket = &left->buckets[slot];
		uint64_t burst = bucket->profiles[bucket->written % 2].burst >> 8, held = 0, units;
		struct plane_book sum = left->books[slot];
		struct plane_previous previous;

		assert_int_equal(plane_look_back(next, at + slot, &previous), 0);
		assert_int_equal(previous.current, current);
		assert_string_equal(previous.book.name, sum.name);
		if (sum.name[0] == '\0')
			continue;
		for (unsigned cpu = 0; cpu < cpus; cpu++) {
			const struct plane_line *line = &left->lines[cpu * SLOTS + slot];

			sum.passed_packets += line->packets - line->dropped_packets;
			sum.passed_bytes += line->bytes - line->dropped_bytes;
			sum.dropped_packets += line->dropped_packets;
			sum.dropped_bytes += line->dropped_bytes;
			sum.over_packets += line->over_packets;
			sum.over_bytes += line->over_bytes;
			held += line->tokens >> 24;
		}
		assert_memory_equal(&previous.book.passed_packets, &sum.passed_packets, 48);
		assert_int_equal(previous.held, held);
		units = plane_take_half(next, at + slot, UINT64_MAX);
		assert_true(2 * units <= burst + 1);
		assert_true(plane_take_all(next, at + slot) <= burst);
	}
}

/* Without garbage every generation is inherited, with it exactly the possible ones. */
TEST(test_garbage)
{
	struct left left[GENERATIONS];
	unsigned n_refused = 0;
	struct prng prng;

	if (!may_create)
		skip();
	prng_seed(&prng, seed);
	print_message("WEIR_SEED=0x%llx\n", (unsigned long long)seed);
	for (unsigned k = 0; k < GENERATIONS; k++)
		left[k] = leave_maps(k);
	for (unsigned trial = 0; trial < TRIALS; trial++) {
		struct plane_previous previous;
		unsigned at = 0, n = 0;
		struct plane *next;
		bool can[GENERATIONS], all = true;

		for (unsigned k = 0; k < GENERATIONS; k++) {
			fill_maps(&left[k], &prng);
			for (unsigned i = prng_below(&prng, 3); trial > 0 && i > 0; i--)
				spoil(&left[k], &prng);
			can[k] = maps_can_be(&left[k]);
			all = all && can[k];
		}
		assert_true(trial > 0 || all);
		assert_int_equal(plane_create(SLOTS, LINES, KEPT, &next), 0);
		assert_int_equal(!plane_refused(next), all);
		for (unsigned k = 0; k < GENERATIONS; k++) {
			if (!can[k])
				continue;
			check_inherited(next, &left[k], at, n++ == 0);
			at += SLOTS;
		}
		assert_int_equal(plane_look_back(next, at, &previous), -ENOENT);
		n_refused += !all;
		plane_destroy(next);
	}
	print_message("%u of %u refused\n", n_refused, TRIALS);
	assert_in_range(n_refused, TRIALS / 10, TRIALS * 9 / 10);
}

/* Mounts a BPF file system for this process alone. */
static int start_test(void **state)
{
	if (getenv("WEIR_SEED"))
		seed = strtoull(getenv("WEIR_SEED"), NULL, 0);
	cpus = (unsigned)libbpf_num_possible_cpus();
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		mount("bpf", BPF_FILES, "bpf", 0, NULL) || mkdir(KEPT, 0700) ||
		mkdir(KEPT "/plane", 0700) ||
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "may_we", 4, 4, 1, NULL) < 0) {
		print_message("skipped: %s\n", strerror(errno));
		may_create = false;
	}
	return 0;
}

TEST_GROUP(start_test, NULL)
