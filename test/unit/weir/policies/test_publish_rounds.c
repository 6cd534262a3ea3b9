/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Control's work for the workers: publishing limits in rounds, and allocating memory for policies.
 * The limiter is complete, except that no workers run.
 */
#include "check.h"
#include "scope.h"

#include <sys/mman.h>

#include <rte_eal.h>
#include <rte_memory.h>
#include <sodium.h>

#include "base/prng.h"
#include "config/load.h"
#include "start.h"
#include "pages.h"
#include "police/extended.h"
#include "publish.h"
#include "worker.h"
#include "worker_data.h"

#define MANY 5000 /* more than a ring holds */

/* Holds the ports, which other instances borrow because ports close with their instance. */
static struct instance holder;

static struct config *config_of(unsigned n, unsigned workers, const char *allocator)
{
	struct config *config = NULL;
	char *text, *words;
	size_t len, words_len;
	FILE *out = open_memstream(&text, &len), *err = open_memstream(&words, &words_len);

	fprintf(out,
		"{\"limiter\":\"x\",\"ports\":{\"a\":{\"device\":\"net_null0\"},"
		"\"b\":{\"device\":\"net_null1\"}},\"wires\":[{\"name\":\"w\",\"a\":\"a\","
		"\"b\":\"b\"}],\"workers\":[%s],\"control\":{\"cpu\":0},\"policies\":[",
		workers == 1 ? "1" : "1,2");
	for (unsigned i = 0; i < n; i++)
		fprintf(out,
			"%s{\"name\":\"p%u\",\"match\":{\"dst\":\"10.%u.%u.0/24\"},"
			"\"limit\":\"1Gbit/s\",\"burst\":\"1MiB\",\"allocator\":\"%s\"}",
			i ? "," : "", i, i / 256, i % 256, allocator);
	fputs("]}", out);
	fclose(out);
	if (config_parse(text, len, "test", err, &config))
		fail_msg("configuration: %s", (fflush(err), words));
	fclose(err);
	free(text);
	free(words);
	return config;
}

static void open_instance(
	struct instance *inst, unsigned n, unsigned workers, const char *allocator)
{
	struct config *config = config_of(n, workers, allocator);

	assert_int_equal(instance_prepare(inst, config, holder.ports), 0);
}

static void close_instance(struct instance *inst)
{
	struct config *config = (struct config *)(uintptr_t)inst->config;

	instance_stop(inst);
	config_free(config);
}

/* Changes the sampling of all policies, to be published. */
static void sample_all(struct instance *inst, uint8_t shift)
{
	for (unsigned p = 0; p < inst->n_policies; p++)
		inst->engine.slots[inst->slots.of[p]].sampling.shift = shift;
	publish_all_later(inst);
}

/* The worker takes n limits from its ring. Checks their slots, counting up, and their shift. */
static void expect_posted_limits(struct instance *inst, unsigned n, uint32_t slot, uint8_t shift)
{
	for (unsigned i = 0; i < n; i++) {
		struct limit_profile profile;

		assert_int_equal(limit_ring_take(&inst->workers[0].limit_ring, &profile, 1), 1);
		if (profile.policy != slot + i || profile.sample_shift != shift)
			fail_msg("%u-th: slot %u with %u, not %u with %u", i, profile.policy,
				profile.sample_shift, slot + i, shift);
	}
}

static void expect_nothing(struct instance *inst)
{
	struct limit_profile profile;

	assert_int_equal(limit_ring_take(&inst->workers[0].limit_ring, &profile, 1), 0);
}

/* A published limit is not published again. */
TEST(test_told_once)
{
	ENDED_BY(close_instance) struct instance inst;

	open_instance(&inst, 20, 1, "fps");
	publish_all_later(&inst);
	assert_true(publish_rest(&inst));
	expect_nothing(&inst);
	sample_all(&inst, 3);
	assert_true(publish_rest(&inst));
	expect_posted_limits(&inst, 20, 0, 3);
	publish_all_later(&inst);
	assert_true(publish_rest(&inst));
	expect_nothing(&inst);
}

/* With more limits than a ring holds, they follow in order, with their newest values. */
TEST(test_rounds)
{
	ENDED_BY(close_instance) struct instance inst;

	open_instance(&inst, MANY, 1, "fps");
	sample_all(&inst, 3);
	assert_false(publish_rest(&inst));
	assert_false(publish_rest(&inst)); /* no room */
	expect_posted_limits(&inst, 100, 0, 3);
	assert_false(publish_rest(&inst));
	expect_posted_limits(&inst, LIMIT_RING_MAX, 100, 3);
	expect_nothing(&inst);
	/* The first two have changed again, but the others have waited longer. */
	for (unsigned p = 0; p < 2; p++) {
		inst.engine.slots[inst.slots.of[p]].sampling.shift = 5;
		dirty_mark(&inst.dirty, inst.slots.of[p]);
	}
	inst.engine.slots[inst.slots.of[MANY - 1]].sampling.shift = 6;
	assert_true(publish_rest(&inst));
	expect_posted_limits(&inst, MANY - 1 - LIMIT_RING_MAX - 100, LIMIT_RING_MAX + 100, 3);
	expect_posted_limits(&inst, 1, MANY - 1, 6);
	expect_posted_limits(&inst, 2, 0, 5);
	expect_nothing(&inst);
}

/* A removed policy is not published. */
TEST(test_never)
{
	ENDED_BY(close_instance) struct instance inst;

	open_instance(&inst, 3, 1, "fps");
	sample_all(&inst, 4);
	dirty_clear(&inst.dirty, 0);
	dirty_clear(&inst.dirty, 2);
	assert_true(publish_rest(&inst));
	expect_posted_limits(&inst, 1, 1, 4);
	expect_nothing(&inst);
}

/* All shared buckets change immediately, repeatedly, even if a worker stalls within a turn. */
TEST(test_shared_buckets_wait_for_nobody)
{
	ENDED_BY(close_instance) struct instance inst;

	open_instance(&inst, 10, 2, "static");
	for (unsigned w = 0; w < 2; w++)
		worker_begin(&inst.workers[w]);
	for (unsigned turn = 1; turn <= 5; turn++) {
		inst.clock.hz += inst.clock.hz / 10; /* changes all limits */
		publish_all_later(&inst);
		assert_true(publish_rest(&inst));
		for (unsigned p = 0; p < 10; p++)
			assert_int_equal(inst.engine.shared_buckets[p].written, 2 * turn);
		publish_all_later(&inst);
		assert_true(publish_rest(&inst)); /* no changes */
		for (unsigned p = 0; p < 10; p++)
			assert_int_equal(inst.engine.shared_buckets[p].written, 2 * turn);
		rte_rcu_qsbr_quiescent(inst.publisher.rcu, 0); /* worker 1 is never quiescent */
	}
	for (unsigned w = 0; w < 2; w++)
		worker_end(&inst.workers[w]);
}

static struct limit_profile begin_with(const struct instance *inst, uint32_t slot)
{
	const struct limiter_view view = {.local_limit = 1e6, .local_burst = 100000};
	const struct sampling sampling = {0};
	struct limit_profile profile;

	assert_int_equal(limit_profile_init(&profile, &inst->policies[0], slot, &view, &sampling, 1,
				 inst->clock.hz),
		0);
	return profile;
}

static bool is_zero(const struct flow_sample *sample)
{
	static const struct flow_sample zero;

	return memcmp(sample, &zero, sizeof(zero)) == 0;
}

/* Each policy has its own sample, which starts empty, also if another policy used it before. */
TEST(test_samples)
{
	const uint64_t seed = 5;
	struct worker *worker;
	struct prng prng;
	ENDED_BY(close_instance) struct instance inst;

	prng_seed(&prng, seed);
	open_instance(&inst, 1, 1, "fps");
	worker = &inst.workers[0];
	for (unsigned i = 0; i < 20000; i++) {
		uint32_t slot = 1 + prng_below(&prng, 300);

		if (worker->samples[slot]) {
			/* Another writer would have left its own mark. */
			assert_int_equal(worker->samples[slot]->slot[0], slot);
			assert_int_equal(worker->samples[slot]->slot[FLOW_SLOTS - 1], slot);
			worker_remove_policy(worker, slot);
			assert_null(worker->samples[slot]);
		} else {
			struct limit_profile profile = begin_with(&inst, slot);

			assert_int_equal(worker_add_policy(worker, inst.policies, &profile), 0);
			if (!worker->samples[slot] || !is_zero(worker->samples[slot]))
				fail_msg("seed %u: no empty sample", (unsigned)seed);
			memset(worker->samples[slot], UINT8_MAX, sizeof(struct flow_sample));
			worker->samples[slot]->slot[0] = slot;
			worker->samples[slot]->slot[FLOW_SLOTS - 1] = slot;
		}
	}
}

/* Freed samples are used again, so frequent reloads do not use more memory. */
TEST(test_samples_return)
{
	struct sample_chunk *chunks;
	struct worker *worker;
	ENDED_BY(close_instance) struct instance inst;

	open_instance(&inst, 1, 1, "fps");
	worker = &inst.workers[0];
	for (unsigned turn = 0; turn < 10; turn++) {
		for (uint32_t slot = 1; slot <= 200; slot++) {
			struct limit_profile profile = begin_with(&inst, slot);

			assert_int_equal(worker_add_policy(worker, inst.policies, &profile), 0);
		}
		if (turn == 0)
			chunks = worker->chunks;
		assert_ptr_equal(worker->chunks, chunks);
		for (uint32_t slot = 1; slot <= 200; slot++)
			worker_remove_policy(worker, slot);
	}
}

/* Policies without sampling have no samples. */
TEST(test_no_samples)
{
	ENDED_BY(close_instance) struct instance inst;

	open_instance(&inst, 100, 1, "static");
	for (unsigned i = 0; i < 100; i++)
		assert_null(inst.workers[0].samples[i]);
	assert_null(inst.workers[0].chunks);
}

/* Returns the number of these pages that have memory. */
static size_t resident_pages(void *memory, size_t bytes)
{
	size_t page = (size_t)getpagesize(), n = 0;
	unsigned char *has = calloc(bytes / page + 1, 1);

	assert_int_equal(mincore(memory, bytes, has), 0);
	for (size_t i = 0; i < (bytes + page - 1) / page; i++)
		n += has[i] & 1;
	free(has);
	return n;
}

/* Memory is zero and writable, and only allocated where written, unless huge pages are in use. */
TEST(test_pages)
{
	static const struct {
		size_t bytes, used;
	} rows[] = {{0, 0}, {1, 1}, {4096, 64}, {PAGES_HUGE - 1, 0}, {PAGES_HUGE + 1, 0},
		{3 * PAGES_HUGE, PAGES_HUGE - 1}, {5 * PAGES_HUGE, 2 * PAGES_HUGE + 64}};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		uint8_t *memory = pages_alloc(rows[i].bytes, rows[i].used, SOCKET_ID_ANY);

		assert_non_null(memory);
		assert_int_equal((uintptr_t)memory % PAGES_HUGE, 0);
		if (rows[i].bytes == 0) {
			pages_free(memory, 0);
			continue;
		}
		if (resident_pages(memory, rows[i].bytes) != 0)
			fail_msg("row %u: memory for nothing", i);
		if (rows[i].used < PAGES_HUGE) {
			memory[rows[i].bytes - 1] = 1;
			if (resident_pages(memory, rows[i].bytes) != 1)
				fail_msg("row %u: more than a page for a byte", i);
			memory[rows[i].bytes - 1] = 0;
		}
		for (size_t at = 0; at < rows[i].bytes; at++)
			if (memory[at]++ != 0)
				fail_msg("row %u: not zero", i);
		pages_free(memory, rows[i].bytes);
	}
	pages_free(NULL, 5);
}

static int start_eal(void **state)
{
	char *args[] = {(char[]){"test_publish"}, (char[]){"--no-huge"}, (char[]){"-m"},
		(char[]){"512"}, (char[]){"--no-pci"}, (char[]){"--no-telemetry"},
		(char[]){"--no-shconf"}, (char[]){"--log-level=1"},
		(char[]){"--lcores=0@0,1@0,2@0"}, (char[]){"--main-lcore=0"},
		(char[]){"--vdev=net_null0"}, (char[]){"--vdev=net_null1"}};

	if (sodium_init() < 0)
		return -1;
	if (rte_eal_init(COUNT(args), args) < 0)
		return -1;
	return instance_prepare(&holder, config_of(1, 2, "static"), NULL);
}

static int stop_eal(void **state)
{
	close_instance(&holder);
	return rte_eal_cleanup();
}

TEST_GROUP(start_eal, stop_eal)
