/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A limiter sends a gift only after the disk has it and every worker obeys it. The same holds if
 * the disk fails or hangs, and at the stop.
 */
#include "commit_world.h"
#include "scope.h"

#include <time.h>

#include <sys/eventfd.h>

#include "base/time.h"
#include "clock.h"
#include "event.h"
#include "publish.h"

#define CHARGED                                                                    \
	"{'name': 'moved', 'match': {'direction': 'a-to-b'}, 'limit': '8Mbit/s', " \
	"'burst': '100kB', 'interval': '10ms', 'allocator': 'gdrl', 'action': 'count'}"

/* A gift waits for the disk and for each worker, in any order. */
static void check_nothing_is_told_before(const char *policy)
{
	struct instance_world w;
	struct commit_peer peer;
	double has;

	open_group_of(&w, &peer, policy);
	has = limiter_local_limit(peer.limiter);
	for (unsigned i = 0; i < 50; i++) {
		instance_world_turn_all(&w);
		assert_false(work_with_neighbour(&w, &peer));
	}
	assert_true(view_of_commit(&w).enforced && !view_of_commit(&w).saved);
	assert_true(limiter_local_limit(peer.limiter) == has);
	disk.result = 0;
	assert_true(work_with_neighbour(&w, &peer));
	assert_true(limiter_local_limit(peer.limiter) > has);

	disk.result = -EAGAIN;
	until_giving(&w, &peer);
	has = limiter_local_limit(peer.limiter);
	disk.result = 0;
	for (unsigned i = 0; i < 50; i++) {
		instance_world_turn(&w, 0);
		assert_false(work_with_neighbour(&w, &peer));
	}
	assert_true(view_of_commit(&w).saved && !view_of_commit(&w).enforced);
	assert_true(limiter_local_limit(peer.limiter) == has);
	instance_world_turn(&w, 1);
	work_with_neighbour(&w, &peer);
	instance_world_turn_all(&w);
	work_with_neighbour(&w, &peer);
	assert_true(limiter_local_limit(peer.limiter) > has);
	close_group(&w, &peer);
}

/*
 * Nothing is sent before it is durable, for a limit that all workers share and for one with a part
 * for each worker.
 */
TEST(test_nothing_is_told_before)
{
	check_nothing_is_told_before(MOVED);
	check_nothing_is_told_before(CHARGED);
}

/* Both together never use more than the limit, and finally they use all of it. */
TEST(test_the_limit_moves)
{
	uint64_t end = control_now() + PATIENCE;
	struct instance_world w;
	struct commit_peer peer;

	open_group(&w, &peer);
	peer.wants = 4 * LIMIT;
	disk.result = 0;
	while (limiter_local_limit(peer.limiter) < 0.9 * LIMIT) {
		assert_true(control_now() < end);
		instance_world_turn_all(&w);
		work_with_neighbour(&w, &peer);
		assert_true(
			limiter_local_limit(w.inst.limiter) + limiter_local_limit(peer.limiter) <=
			LIMIT);
	}
	assert_true(view_of_commit(&w).counters.rounds > 0);
	assert_int_equal(view_of_commit(&w).counters.failures, 0);
	close_group(&w, &peer);
}

#define NOT_SAVED "/nowhere/weir: cannot be saved: No space left on device: "

/* The disk fails: nothing is sent, packets pass, and a later attempt follows. */
TEST(test_a_disk_that_fails)
{
	uint64_t end, passed, before, since;
	struct instance_world w;
	struct commit_peer peer;
	unsigned commits;
	double has;

	open_group(&w, &peer);
	has = limiter_local_limit(peer.limiter);
	disk.result = -ENOSPC;
	disk.sentinel_error = -EROFS;
	since = events_number();
	before = control_now();
	instance_world_turn_all(&w);
	work_with_neighbour(&w, &peer);
	assert_in_range(commit_next(&w.inst), before + 100 * MS, control_now() + 100 * MS);
	assert_int_equal(view_of_commit(&w).error, -ENOSPC);
	assert_int_equal(view_of_commit(&w).counters.failures, 1);
	assert_false(view_of_commit(&w).committing);

	before = control_now();
	commits = disk.commits;
	passed = instance_world_totals(&w, 0).passed_packets;
	end = before + PATIENCE;
	assert_true(commit_next(&w.inst) <= before + 100 * MS);
	while (view_of_commit(&w).counters.failures < 3) {
		assert_true(control_now() < end);
		instance_world_turn_all(&w);
		work_with_neighbour(&w, &peer);
		assert_true(limiter_local_limit(peer.limiter) == has);
	}
	assert_true(control_now() - before >= 290 * MS); /* 100 ms and 200 ms */
	assert_int_equal(disk.commits, commits + 2);
	assert_true(instance_world_totals(&w, 0).passed_packets > passed);
	assert_int_equal(times_said(since, "ledger_not_saved", NOT_SAVED), 1); /* only once */
	assert_int_equal(times_said(since, "ledger_saved", ""), 0);
	assert_int_equal(times_said(since, "ledger_no_sentinel", "Read-only file system"), 1);
	assert_int_equal(view_of_commit(&w).sentinel_error, -EROFS);

	disk.result = disk.sentinel_error = 0;
	while (limiter_local_limit(peer.limiter) <= has) {
		assert_true(control_now() < end);
		instance_world_turn_all(&w);
		work_with_neighbour(&w, &peer);
	}
	assert_int_equal(view_of_commit(&w).error, 0);
	assert_int_equal(commit_next(&w.inst) == UINT64_MAX, !view_of_commit(&w).committing);
	assert_int_equal(
		times_said(since, "ledger_saved", "ledger: /nowhere/weir: saved again"), 1);
	assert_int_equal(times_said(since, "ledger_sentinel", ""), 1);
	assert_int_equal(view_of_commit(&w).sentinel_error, 0);
	close_group(&w, &peer);
}

/* The store rejects the records. All are handed over again, as after a failure of the disk. */
TEST(test_a_store_that_refuses)
{
	static const struct {
		int put, commit;
	} rows[] = {{-ENOSPC, 0}, {0, -ENOSPC}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct instance_world w;
		struct commit_peer peer;
		uint64_t before, since;
		double has;

		open_group(&w, &peer);
		end_round(&w);
		until_giving(&w, &peer);
		has = limiter_local_limit(peer.limiter);
		disk.result = -EIO; /* handed over, so uncommitted again */
		work_with_neighbour(&w, &peer);
		assert_int_equal(view_of_commit(&w).error, -EIO);
		disk.result = -EAGAIN;
		disk.put_error = rows[i].put;
		disk.commit_error = rows[i].commit;
		since = events_number();
		while (view_of_commit(&w).error != -ENOSPC) {
			before = control_now();
			work_with_neighbour(&w, &peer);
		}
		assert_in_range(commit_next(&w.inst), before + 200 * MS, control_now() + 200 * MS);
		assert_false(view_of_commit(&w).committing);
		assert_int_equal(disk.put, 0);
		assert_int_equal(times_said(since, "ledger_not_saved", NOT_SAVED), 1);
		assert_true(limiter_local_limit(peer.limiter) == has);
		disk.put_error = disk.commit_error = 0;
		while (!view_of_commit(&w).committing)
			commit_advance(&w.inst);
		end_round(&w);
		assert_int_equal(view_of_commit(&w).error, 0);
		close_group(&w, &peer);
	}
}

/* The disk hangs at the stop. The stop waits once and sends no new request. */
TEST(test_a_disk_that_hangs_at_the_stop)
{
	struct instance_world w;
	struct commit_peer peer;
	struct timespec until;
	unsigned commits;

	open_group(&w, &peer);
	assert_true(view_of_commit(&w).committing);
	commits = disk.commits;
	clock_gettime(CLOCK_MONOTONIC, &until);
	commit_settle(&w.inst, &until);
	close_group(&w, &peer);
	assert_int_equal(disk.commits, commits);
}

/* Number of new events about a disk that does not answer. */
static unsigned hangs_said(uint64_t since)
{
	return times_said(since, "ledger_hangs", "/nowhere/weir: the disk does not answer");
}

static struct timespec ahead(time_t seconds)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += seconds;
	return until;
}

/*
 * Waits until no round is under way and something has changed since the last. The neighbour changes
 * its wish when it has all that it wants.
 */
static void until_uncommitted(struct instance_world *w, struct commit_peer *peer)
{
	uint64_t end = control_now() + PATIENCE, turn = control_now() + 200 * MS;

	while (view_of_commit(w).committing)
		end_round(w);
	while (!limiter_uncommitted(w->inst.limiter)) {
		assert_true(control_now() < end);
		talk_to_neighbour(w, peer);
		if (control_now() < turn)
			continue;
		peer->wants = peer->wants > LIMIT / 2 ? LIMIT / 10 : LIMIT;
		turn = control_now() + 200 * MS;
	}
}

/* The stop waits for the round that is under way, and then saves the later changes. */
TEST(test_a_disk_at_the_stop)
{
	struct timespec until = ahead(PATIENCE / SECOND_NS);
	uint64_t since = events_number();
	struct instance_world w;
	struct commit_peer peer;
	unsigned commits;

	open_group(&w, &peer);
	commits = disk.commits;
	assert_false(view_of_commit(&w).saved);
	disk.result = 0; /* the round has ended, or ends in time */
	assert_int_equal(eventfd_write(disk.fd, 1), 0);
	commit_settle(&w.inst, &until);
	assert_true(view_of_commit(&w).saved);
	assert_int_equal(disk.commits, commits);
	assert_false(disk.writing);
	until = ahead(0); /* no second wait */
	commit_settle(&w.inst, &until);
	assert_true(view_of_commit(&w).saved);
	assert_int_equal(hangs_said(since), 0);
	commit_last(&w.inst); /* not sent, so written once more */
	assert_false(view_of_commit(&w).committing);
	assert_int_equal(disk.commits, commits + 1);
	close_group(&w, &peer);

	open_group(&w, &peer);
	until_uncommitted(&w, &peer);
	commits = disk.commits;
	disk.result = 0;
	assert_int_equal(eventfd_write(disk.fd, 1), 0);
	until = ahead(PATIENCE / SECOND_NS);
	commit_settle(&w.inst, &until);
	assert_int_equal(disk.commits, commits + 1);
	assert_true(view_of_commit(&w).committing && view_of_commit(&w).saved);
	assert_int_equal(hangs_said(since), 0);
	close_group(&w, &peer);

	open_group(&w, &peer); /* a round that does not end, and one that fails */
	until_uncommitted(&w, &peer);
	commits = disk.commits;
	until = ahead(0);
	commit_settle(&w.inst, &until);
	assert_int_equal(disk.commits, commits + 1);
	assert_true(view_of_commit(&w).committing && !view_of_commit(&w).saved);
	assert_int_equal(hangs_said(since), 1);
	commit_last(&w.inst); /* no further request */
	assert_int_equal(disk.commits, commits + 1);
	assert_true(view_of_commit(&w).committing);
	close_group(&w, &peer);

	open_group(&w, &peer);
	disk.result = -EIO;
	assert_int_equal(eventfd_write(disk.fd, 1), 0);
	until = ahead(PATIENCE / SECOND_NS);
	commit_settle(&w.inst, &until);
	assert_false(view_of_commit(&w).saved);
	assert_int_equal(hangs_said(since), 1);
	close_group(&w, &peer);
}

/* Without changes the disk gets no request. A limiter can have no store. */
TEST(test_nothing_to_save_at_the_stop)
{
	const struct timespec until = {0};
	uint64_t since = events_number();
	struct instance_world w;
	struct commit_peer peer;
	unsigned commits;

	open_group(&w, &peer);
	while (view_of_commit(&w).committing)
		end_round(&w);
	assert_false(limiter_uncommitted(w.inst.limiter));
	commits = disk.commits;
	commit_settle(&w.inst, &until);
	commit_last(&w.inst);
	assert_int_equal(disk.commits, commits);
	assert_false(view_of_commit(&w).committing);
	close_group(&w, &peer);
	instance_world_open(&w, SOFT);
	assert_null(w.inst.commit);
	commit_settle(&w.inst, &until);
	commit_last(&w.inst);
	instance_world_close(&w);
	assert_int_equal(hangs_said(since), 0);
}

#define ROUND_MOST 2048 /* records of a kind that are handed over together */

/* Quotas without records: each has one record for the disk that marks this. */
static void open_totals(struct instance_world *w, unsigned n)
{
	ENDED_BY(free_at) char *policies = NULL;
	size_t size;
	FILE *text = open_memstream(&policies, &size);

	assert_non_null(text);
	for (unsigned i = 0; i < n; i++)
		fprintf(text,
			"%s{'name': 'p%u', 'match': {'vlan': %u}, 'allocator': 'quota', 'total': "
			"'1GB'}",
			i ? ", " : "", i, i + 1);
	assert_int_equal(fclose(text), 0);
	disk_new();
	disk.exists = false;
	open_instance(w, policies);
}

/* Workers obey all updates, in the necessary number of turns. */
static void until_enforced(struct instance_world *w)
{
	for (unsigned i = 0; i < 1000 && !view_of_commit(w).enforced; i++) {
		publish_rest(&w->inst);
		instance_world_turn_all(w);
		commit_advance(&w->inst);
	}
	assert_true(view_of_commit(w).enforced);
}

/*
 * Control hands over as many records as it has time for, and the rest in the next round. The stop
 * has no further round.
 */
TEST(test_many_records)
{
	static const struct {
		unsigned totals, rounds[3];
	} rows[] = {
		{ROUND_MOST - 1, {ROUND_MOST - 1}},
		{ROUND_MOST, {ROUND_MOST}},
		{ROUND_MOST + 3, {ROUND_MOST, 3}},
	};
	struct timespec until = ahead(0);
	ENDED_BY(instance_world_close) struct instance_world w;

	for (size_t i = 0; i < COUNT(rows); i++) {
		open_totals(&w, rows[i].totals);
		for (unsigned round = 0; rows[i].rounds[round]; round++) {
			commit_advance(&w.inst);
			assert_int_equal(disk.handed_over, rows[i].rounds[round]);
			until_enforced(&w);
			end_round(&w);
		}
		assert_false(limiter_uncommitted(w.inst.limiter));
		instance_world_close(&w);
	}
	open_totals(&w, ROUND_MOST + 3);
	commit_settle(&w.inst, &until);
	assert_int_equal(disk.handed_over, ROUND_MOST + 3);
}

TEST_GROUP(instance_world_start, instance_world_stop)
