/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Publication of a classifier: the snapshot of a worker never changes, and no snapshot is kept for
 * ever. The first tests play all threads and are exact. The last one is a real race, and most
 * useful under ThreadSanitizer.
 */
#include "check.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "snapshot.h"

#define WORKERS 3

/* Returns a pointer that stands for a generation's classifier. It is never dereferenced. */
static const struct classifier *classifier_mark(uint64_t generation)
{
	return (const struct classifier *)(uintptr_t)(generation * 1000003);
}

static void fill_snapshot(struct snapshot *snapshot)
{
	snapshot->classifier = classifier_mark(snapshot->generation);
}

/* Returns true if a snapshot is still as fill_snapshot() wrote it for this generation. */
static bool snapshot_is_intact(const struct snapshot *snapshot, uint64_t generation)
{
	return snapshot->generation == generation &&
	       snapshot->classifier == classifier_mark(generation);
}

static struct snapshot *publish_next(struct publisher *publisher)
{
	struct snapshot *snapshot;

	publisher_reclaim(publisher);
	snapshot = publisher_take(publisher);
	if (!snapshot)
		return NULL;
	fill_snapshot(snapshot);
	publisher_publish(publisher, snapshot);
	return snapshot;
}

static unsigned snapshot_list_length(const struct snapshot *list)
{
	unsigned n = 0;

	for (; list; list = list->next)
		n++;
	return n;
}

/* Counts all snapshots. */
static unsigned count_snapshots(const struct publisher *publisher)
{
	return snapshot_list_length(publisher->retired) + snapshot_list_length(publisher->spare) +
	       (publisher->current != NULL);
}

static void start_readers_online(struct publisher *publisher, unsigned online)
{
	assert_int_equal(publisher_init(publisher, WORKERS), 0);
	for (unsigned w = 0; w < online; w++) {
		assert_int_equal(rte_rcu_qsbr_thread_register(publisher->rcu, w), 0);
		rte_rcu_qsbr_thread_online(publisher->rcu, w);
	}
}

static void stop_readers_online(struct publisher *publisher, unsigned online)
{
	for (unsigned w = 0; w < online; w++) {
		rte_rcu_qsbr_thread_offline(publisher->rcu, w);
		rte_rcu_qsbr_thread_unregister(publisher->rcu, w);
	}
	publisher_free(publisher);
	assert_null(publisher->current);
}

TEST(test_newest_is_current)
{
	struct publisher publisher;

	start_readers_online(&publisher, 0);
	assert_null(publisher_current(&publisher));
	for (uint64_t i = 1; i <= 5; i++) {
		struct snapshot *published = publish_next(&publisher);

		assert_ptr_equal(publisher_current(&publisher), published);
		assert_true(snapshot_is_intact(published, i));
	}
	stop_readers_online(&publisher, 0);
}

/* A new snapshot is zeroed. */
TEST(test_new_is_zero)
{
	struct publisher publisher;
	struct snapshot zero, *taken;

	memset(&zero, 0, sizeof(zero));
	start_readers_online(&publisher, 0);
	taken = publisher_take(&publisher);
	assert_non_null(taken);
	assert_int_equal((uintptr_t)taken % RTE_CACHE_LINE_SIZE, 0);
	assert_int_equal(taken->generation, 1);
	taken->generation = 0;
	assert_memory_equal(taken, &zero, sizeof(zero));
	publisher_publish(&publisher, taken);
	stop_readers_online(&publisher, 0);
}

/* One worker of three holds a snapshot: it stays, with all later ones. */
TEST(test_held_is_untouched)
{
	struct publisher publisher;
	const struct snapshot *held;

	start_readers_online(&publisher, WORKERS);
	publish_next(&publisher);
	held = publisher_current(&publisher);
	for (unsigned i = 0; i < 50; i++) {
		assert_ptr_not_equal(publish_next(&publisher), held);
		rte_rcu_qsbr_quiescent(publisher.rcu, 0);
		rte_rcu_qsbr_quiescent(publisher.rcu, 2);
		assert_true(snapshot_is_intact(held, 1));
	}
	assert_int_equal(count_snapshots(&publisher), 51);
	rte_rcu_qsbr_quiescent(publisher.rcu, 1);
	publisher_reclaim(&publisher);
	assert_null(publisher.retired);
	stop_readers_online(&publisher, WORKERS);
}

TEST(test_memory_is_bounded)
{
	struct publisher publisher;

	start_readers_online(&publisher, WORKERS);
	for (unsigned i = 0; i < 1000; i++) {
		publish_next(&publisher);
		for (unsigned w = 0; w < WORKERS; w++)
			rte_rcu_qsbr_quiescent(publisher.rcu, w);
		assert_in_range(count_snapshots(&publisher), 1, 2);
	}
	stop_readers_online(&publisher, WORKERS);
}

/* A sleeping worker is offline, so control does not wait for it. */
TEST(test_sleeper_blocks_nobody)
{
	struct publisher publisher;

	start_readers_online(&publisher, WORKERS);
	publish_next(&publisher);
	rte_rcu_qsbr_thread_offline(publisher.rcu, 1);
	for (unsigned i = 0; i < 100; i++) {
		publish_next(&publisher);
		rte_rcu_qsbr_quiescent(publisher.rcu, 0);
		rte_rcu_qsbr_quiescent(publisher.rcu, 2);
		assert_in_range(count_snapshots(&publisher), 1, 2);
	}
	/* Once online, it counts again. */
	rte_rcu_qsbr_thread_online(publisher.rcu, 1);
	assert_int_equal(publisher_current(&publisher)->generation, 101);
	publish_next(&publisher);
	publish_next(&publisher);
	assert_non_null(publisher.retired);
	stop_readers_online(&publisher, WORKERS);
}

TEST(test_never_started_blocks_nobody)
{
	struct publisher publisher;

	start_readers_online(&publisher, 0);
	for (unsigned i = 0; i < 100; i++)
		publish_next(&publisher);
	assert_in_range(count_snapshots(&publisher), 1, 2);
	stop_readers_online(&publisher, 0);
}

struct race {
	struct publisher publisher;
	bool stop; /* written by the main thread: atomics only */
};

struct reader {
	struct race *race;
	pthread_t thread;
	unsigned index;
	uint64_t seen, changed, went_back, last;
};

/* Takes about as long as a burst, and sometimes long enough for many publications. */
static void hold_for_a_while(uint64_t turn)
{
	if (turn % 64 == 0)
		sched_yield();
	for (volatile unsigned i = 0; i < turn % 512; i++)
		;
}

static void read_snapshot(struct reader *reader, const struct snapshot *snapshot)
{
	uint64_t generation = snapshot->generation;

	reader->changed += !snapshot_is_intact(snapshot, generation);
	hold_for_a_while(reader->seen);
	reader->changed += !snapshot_is_intact(snapshot, generation);
	reader->went_back += generation < reader->last;
	reader->last = generation;
	reader->seen++;
}

/* The loop of a worker, with sleeps. */
static void *read_all(void *arg)
{
	static const struct timespec nap = {.tv_nsec = 100000};
	struct reader *reader = arg;
	struct publisher *publisher = &reader->race->publisher;

	rte_rcu_qsbr_thread_register(publisher->rcu, reader->index);
	rte_rcu_qsbr_thread_online(publisher->rcu, reader->index);
	while (!__atomic_load_n(&reader->race->stop, __ATOMIC_RELAXED)) {
		read_snapshot(reader, publisher_current(publisher));
		rte_rcu_qsbr_quiescent(publisher->rcu, reader->index);
		if (reader->seen % 256 == reader->index) {
			rte_rcu_qsbr_thread_offline(publisher->rcu, reader->index);
			nanosleep(&nap, NULL);
			rte_rcu_qsbr_thread_online(publisher->rcu, reader->index);
		}
	}
	rte_rcu_qsbr_thread_offline(publisher->rcu, reader->index);
	rte_rcu_qsbr_thread_unregister(publisher->rcu, reader->index);
	return NULL;
}

static double monotonic_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Publishes for this time, with pauses in which every reader passes. */
static unsigned publish_for(struct publisher *publisher, double duration)
{
	static const struct timespec pause = {.tv_nsec = 200000};
	double end = monotonic_seconds() + duration;
	unsigned most = 0;

	for (unsigned i = 0; monotonic_seconds() < end; i++) {
		unsigned n;

		publish_next(publisher);
		n = count_snapshots(publisher);
		most = n > most ? n : most;
		if (i % 16 == 0)
			nanosleep(&pause, NULL);
	}
	return most;
}

TEST(test_race)
{
	static struct race race;
	struct reader readers[WORKERS];
	unsigned most;

	start_readers_online(&race.publisher, 0);
	publish_next(&race.publisher);
	for (unsigned i = 0; i < WORKERS; i++) {
		readers[i] = (struct reader){.race = &race, .index = i};
		assert_int_equal(
			pthread_create(&readers[i].thread, NULL, read_all, &readers[i]), 0);
	}
	most = publish_for(&race.publisher, 1.5);
	__atomic_store_n(&race.stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < WORKERS; i++) {
		pthread_join(readers[i].thread, NULL);
		assert_true(readers[i].seen > 0);
		assert_int_equal(readers[i].changed, 0);
		assert_int_equal(readers[i].went_back, 0);
	}
	print_message("%u generations, at most %u snapshots at once, %u looks by reader 0\n",
		(unsigned)race.publisher.generation, most, (unsigned)readers[0].seen);
	/* All readers have ended: one more round frees all snapshots but the current one. */
	publish_next(&race.publisher);
	publisher_reclaim(&race.publisher);
	assert_null(race.publisher.retired);
	stop_readers_online(&race.publisher, 0);
}

int main(void)
{
	mallopt(M_PERTURB, 0xa5); /* fresh memory is never zero */
	return run_all_tests();
}
