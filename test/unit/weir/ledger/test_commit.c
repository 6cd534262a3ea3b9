/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a box gives away is told when the disk has it and every worker obeys, and not before. The
 * disk is the test's, and so is the neighbour, which wants all that there is; the test plays
 * control and both workers.
 */
#include "instance_world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/eventfd.h>

#include <rte_common.h>

#include "base/hash.h"
#include "base/time.h"
#include "clock.h"
#include "event.h"
#include "policy_txn.h"
#include "grace.h"
#include "publish.h"
#include "commit.h"
#include "ledger_store.h"
#include "ledger_watch.h"
#include "renewal.h"
#include "meter/shares.h"
#include "store/store.h"
#include "tick.h"

#define MS       UINT64_C(1000000)
#define PATIENCE (20000 * MS)
#define LIMIT    1000000.0 /* bytes per second */

/* An address of this process alone, as others run the same test. */
#define GROUP                                                              \
	"'gossip': {'listen': '127.%1$u.%2$u.77:7946', 'insecure': true, " \
	"'timeout': '500ms', 'roster': ["                                  \
	"{'name': 'test', 'address': '127.%1$u.%2$u.77:7946'}, "           \
	"{'name': 'peer', 'address': '127.%1$u.%2$u.78:7946'}]}, "         \
	"'ledger': {'store': '/nowhere/weir', 'lease': '2s', 'promise': 0}, "
#define ALONE "'ledger': {'store': '/nowhere/weir'}, "
#define MOVED                                                                      \
	"{'name': 'moved', 'match': {'direction': 'a-to-b'}, 'limit': '8Mbit/s', " \
	"'burst': '100kB', 'interval': '10ms', 'allocator': 'gdrl'}"
#define CAP(more) \
	"{'name': 'cap', 'match': {'direction': 'a-to-b'}, 'guarantee': 'conserved'" more "}"
#define CHARGED                                                                    \
	"{'name': 'moved', 'match': {'direction': 'a-to-b'}, 'limit': '8Mbit/s', " \
	"'burst': '100kB', 'interval': '10ms', 'allocator': 'gdrl', 'action': 'count'}"
#define STEADY_OF(more)                                                             \
	"{'name': 'steady', 'match': {'direction': 'a-to-b'}, 'limit': '8Mbit/s', " \
	"'burst': '100kB', 'guarantee': 'conserved'" more "}"
#define STEADY         STEADY_OF("")
#define STEADY_COUNTED STEADY_OF(", 'meter': 'gcra'")
#define STEADY_SHAPED  STEADY_OF(", 'action': 'shape', 'shape': {'delay': '50ms'}")
#define STEADY_PHANTOM STEADY_OF(", 'meter': 'phantom', 'classes': {'by': 'dscp'}")
#define TOTAL          "{'name': 'total', 'allocator': 'quota', 'total': '1GB'}"
#define SOFT           "{'name': 'cap', 'match': {'direction': 'a-to-b'}" FEW "}"
#define FEW            ", 'limit': '8kbit/s', 'burst': '4096B'"

/* The disk: one store, which remembers records of one policy. */
static struct disk {
	int open_error, result; /* result: of what is being written; -EAGAIN: it takes its time */
	int put_error, commit_error, identity_error; /* of what is handed over */
	bool exists, recovering, opened;
	bool writing;
	uint64_t epoch;
	struct store_identity identity;
	unsigned commits, put, handed_over; /* the last: records of the last commit */
	int fd;
	uint8_t kind;
	uint32_t id;
	uint8_t record[1024];
	size_t len;
} disk;

struct store {
	char nothing;
};

static struct store store;

int store_open(const char *directory, struct store **out, uint64_t *epoch)
{
	if (strcmp(directory, "/nowhere/weir") != 0) /* the default of who says nothing */
		return -ENOENT;
	if (disk.open_error)
		return disk.open_error;
	if (!disk.exists)
		return -ENOENT;
	assert_false(disk.opened);
	disk.opened = true;
	disk.fd = eventfd(0, EFD_NONBLOCK);
	*out = &store;
	*epoch = ++disk.epoch;
	return 0;
}

int store_open_recovering(
	const char *directory, uint64_t now_s, struct store **out, uint64_t *epoch)
{
	assert_true(now_s >= STORE_CLOCK_LEAST_S);
	disk.exists = disk.recovering = true;
	disk.identity = (struct store_identity){0};
	return store_open(directory, out, epoch);
}

bool store_recovering(const struct store *s)
{
	(void)s;
	return disk.recovering;
}

struct store_identity store_identity(const struct store *s)
{
	(void)s;
	return disk.identity;
}

int store_set_identity(struct store *s, struct store_identity identity)
{
	(void)s;
	if (disk.identity_error)
		return disk.identity_error;
	disk.identity = identity;
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	assert_true(disk.opened);
	disk.opened = false;
	close(disk.fd);
}

int store_each(struct store *s, uint8_t kind,
	int (*each)(void *context, uint32_t id, const void *record, size_t len), void *context)
{
	(void)s;
	return disk.len && kind == disk.kind ? each(context, disk.id, disk.record, disk.len) : 0;
}

int store_put(struct store *s, uint8_t kind, uint32_t id, const void *record, size_t len)
{
	(void)s;
	if (disk.put_error)
		return disk.put_error;
	assert_true(len <= sizeof(disk.record));
	disk.kind = kind;
	disk.id = id;
	memcpy(disk.record, record, len);
	disk.len = len;
	disk.put++;
	return 0;
}

void store_discard(struct store *s)
{
	(void)s;
	disk.put = 0;
}

int store_commit(struct store *s)
{
	(void)s;
	assert_false(disk.writing);
	assert_true(disk.put > 0);
	if (disk.commit_error)
		return disk.commit_error;
	disk.writing = true;
	disk.handed_over = disk.put;
	disk.put = 0;
	disk.commits++;
	return 0;
}

int store_fd(const struct store *s)
{
	(void)s;
	return disk.fd;
}

int store_result(struct store *s)
{
	(void)s;
	if (!disk.writing || disk.result == -EAGAIN)
		return -EAGAIN;
	disk.writing = false;
	return disk.result;
}

/* How often that was said since then, each time with these words in it. */
static unsigned times_said(uint64_t since, const char *event, const char *text)
{
	unsigned n = 0;

	for (; since < events_number(); since++) {
		json_t *said = events_get(since);

		if (strcmp(json_string_value(json_object_get(said, "event")), event) == 0) {
			assert_non_null(
				strstr(json_string_value(json_object_get(said, "text")), text));
			n++;
		}
		json_decref(said);
	}
	return n;
}

static void disk_new(void)
{
	disk = (struct disk){.exists = true, .identity = {0, 1}, .result = -EAGAIN};
}

/* The neighbour. */
struct neighbour {
	struct roster *roster;
	struct limiter *limiter;
	double wants; /* bytes per second */
	double arrived;
	uint64_t until_ns;
	uint64_t slots[INSTANCE_WORKERS * FLOW_SLOTS];
};

static void peer_open(struct neighbour *peer, const struct instance_world *w, uint64_t epoch)
{
	uint32_t ids[] = {name_hash("test"), name_hash("peer")};
	struct limiter_policy policy = limit_profile_policy(&w->config->policies[0], 1);
	struct limiter_params params = {
		.gossip = {.self = 1,
			.epoch = epoch,
			.seed = 1,
			.branching = 1,
			.timeout_ns = 500 * MS,
			.datagram_max = 1400,
			.estimator = GOSSIP_STATE},
		.policies = &policy,
		.n_policies = 1,
		.n_workers = 1,
		.ledger = commit_ledger(&w->inst),
	};

	memset(peer, 0, sizeof(*peer));
	assert_int_equal(roster_create(ids, 2, &peer->roster), 0);
	params.gossip.roster = peer->roster;
	params.ledger.epoch = epoch;
	params.ledger.identity = (struct book_identity){0, 1};
	params.ledger.recovering = false;
	peer->until_ns = control_now();
	peer->wants = LIMIT / 2;
	assert_int_equal(limiter_create(&params, peer->until_ns, &peer->limiter), 0);
}

static void peer_close(struct neighbour *peer)
{
	limiter_destroy(peer->limiter);
	roster_destroy(peer->roster);
}

/* What it wants, and nothing at the box. */
static void measure_peer(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct neighbour *peer = context;
	uint64_t now = control_now();

	(void)policy;
	peer->arrived += (double)(now - peer->until_ns) / 1e9 * peer->wants;
	peer->until_ns = now;
	*sample = (struct limiter_sample){
		.arrived_bytes = (uint64_t)peer->arrived, .slots = peer->slots};
}

static void measure_instance(void *context, unsigned policy, struct limiter_sample *sample)
{
	(void)policy;
	*sample = (struct limiter_sample){.slots = ((struct neighbour *)context)->slots};
}

static void carry_datagrams(struct limiter *from, struct limiter *to)
{
	uint8_t buf[DATAGRAM_MAX];
	unsigned whom;
	size_t len;

	while ((len = limiter_send(from, buf, &whom)) > 0)
		limiter_receive(to, control_now(), buf, len);
}

static double limiter_local_limit(const struct limiter *limiter)
{
	struct limiter_view view;

	limiter_view(limiter, 0, &view);
	return view.local_limit;
}

static struct commit_view view_of_commit(const struct instance_world *w)
{
	struct commit_view view;

	assert_true(commit_view(&w->inst, &view));
	return view;
}

/* What control does, without committing, and what the neighbour does. */
static void talk_to_neighbour(struct instance_world *w, struct neighbour *peer)
{
	limiter_tick(w->inst.limiter, control_now(), measure_instance, peer);
	limiter_tick(peer->limiter, control_now(), measure_peer, peer);
	publish(&w->inst);
	carry_datagrams(w->inst.limiter, peer->limiter);
	carry_datagrams(peer->limiter, w->inst.limiter);
	if (limiter_save(peer->limiter, NULL, NULL) == 0)
		limiter_committed(peer->limiter, control_now());
	carry_datagrams(peer->limiter, w->inst.limiter);
}

/* Works with what is to be made durable; the disk and the workers are as the test has them. */
static bool work_with_neighbour(struct instance_world *w, struct neighbour *peer)
{
	bool ended = commit_advance(&w->inst);

	talk_to_neighbour(w, peer);
	return ended;
}

/* A round that is under way ends; another may have begun. */
static void end_round(struct instance_world *w)
{
	const struct commit_counters before = view_of_commit(w).counters;
	struct commit_counters after;

	disk.result = 0;
	for (unsigned i = 0; i < 3 && view_of_commit(w).counters.rounds == before.rounds; i++) {
		instance_world_turn_all(w);
		commit_advance(&w->inst);
	}
	disk.result = -EAGAIN;
	after = view_of_commit(w).counters;
	assert_true(after.rounds > before.rounds);
	assert_true(after.last_ns > 0);
	assert_int_equal(after.most_ns, RTE_MAX(before.most_ns, after.last_ns));
}

/* The neighbour wants more, until a round is under way in which something is given away. */
static void until_giving(struct instance_world *w, struct neighbour *peer)
{
	uint64_t end = control_now() + PATIENCE;
	double before = limiter_local_limit(w->inst.limiter);

	peer->wants += 0.3 * LIMIT;
	for (;;) {
		assert_true(control_now() < end);
		talk_to_neighbour(w, peer);
		if (limiter_local_limit(w->inst.limiter) < before)
			break;
		commit_advance(&w->inst);
		if (view_of_commit(w).committing)
			end_round(w);
	}
	if (view_of_commit(w).committing)
		end_round(w);
	commit_advance(&w->inst);
	assert_true(view_of_commit(w).committing);
}

static void open_instance(struct instance_world *w, const char *policy)
{
	static char group[512];
	unsigned id = (unsigned)getpid();

	snprintf(group, sizeof(group), GROUP, 1 + id / 256 % 254, id % 256);
	instance_world_open_more(w, group, policy);
}

static void open_group_of(struct instance_world *w, struct neighbour *peer, const char *policy)
{
	disk_new();
	open_instance(w, policy);
	peer_open(peer, w, 1);
	until_giving(w, peer);
}

static void open_group(struct instance_world *w, struct neighbour *peer)
{
	open_group_of(w, peer, MOVED);
}

static void close_group(struct instance_world *w, struct neighbour *peer)
{
	/* A round may be under way, which control waits for at the end. */
	disk.result = 0;
	assert_int_equal(eventfd_write(disk.fd, 1), 0);
	peer_close(peer);
	instance_world_close(w);
}

/* Both are waited for, whichever is first, and each worker. */
static void check_nothing_is_told_before(const char *policy)
{
	struct instance_world w;
	struct neighbour peer;
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
 * Nothing is told before it is durable: of a limit that all workers draw from, and of one that each
 * is told its part of.
 */
static void test_nothing_is_told_before(void **state)
{
	(void)state;
	check_nothing_is_told_before(MOVED);
	check_nothing_is_told_before(CHARGED);
}

/* Bytes that the box's policy has let pass. */
static uint64_t bytes_passed(struct instance_world *w)
{
	return instance_world_totals(w, 0).passed_bytes;
}

/* As if of the limit that the workers have the most were promised, and had ended by now. */
static void end_limits(struct instance_world *w, uint8_t ending)
{
	struct instance *inst = &w->inst;
	uint32_t slot = inst->slots.of[0];
	uint64_t now = tick_now();

	inst->renewal.until = now;
	inst->engine.slots[slot].ending = ending;
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++) {
		inst->workers[i].ending[slot] = ending;
		expiry_init(&inst->workers[i].expiry, now, inst->renewal.span);
	}
}

/* Control says nothing: workers go by what is left; it is back, and tells them all again. */
static void check_limits_end(const char *policy)
{
	struct instance_world w;
	uint64_t began, passed, took;
	uint8_t ending = expiry_ending(100, 1);

	disk_new();
	disk.exists = true;
	instance_world_open_more(&w, ALONE, policy);
	for (began = control_now(); control_now() - began < 100 * MS;)
		instance_world_turn_all(&w);
	assert_int_equal(w.inst.workers[0].counters.expired, 0);
	end_limits(&w, ending);
	began = control_now();
	passed = bytes_passed(&w);
	while ((took = control_now() - began) < 200 * MS)
		instance_world_turn_all(&w);
	passed = bytes_passed(&w) - passed;
	took = control_now() - began;
	/* 1 MB/s and 100 kB were told; and a packet for each worker. */
	if ((double)passed > (double)took / 1e9 * LIMIT / 100 + 1000 + 2 * INSTANCE_BYTES)
		fail_msg("%" PRIu64 " bytes in %" PRIu64 " ns", passed, took);
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++) {
		assert_int_equal(w.inst.workers[i].counters.expired, 1);
		assert_int_equal(expiry_until(&w.inst.workers[i].expiry), 0);
	}
	passed = bytes_passed(&w);
	began = control_now(); /* they earn from here on, whenever they are seen to pass */
	renewal_run(&w.inst);
	assert_int_equal(w.inst.renewal.late, 1);
	assert_true(renewal_waits(&w.inst)); /* they have yet to take what they are told */
	for (unsigned i = 0; i < 20 && renewal_waits(&w.inst); i++) {
		publish_rest(&w.inst);
		instance_world_turn_all(&w);
		renewal_run(&w.inst);
	}
	assert_false(renewal_waits(&w.inst));
	publish_rest(&w.inst);
	while (bytes_passed(&w) - passed < 50000) { /* which the rest would take seconds for */
		instance_world_turn_all(&w);
		renewal_run(&w.inst);
		assert_true(control_now() - began < PATIENCE);
	}
	took = control_now() - began;
	assert_true((double)took / 1e9 * LIMIT + 1000 >= 50000 - 2 * INSTANCE_BYTES);
	assert_int_equal(w.inst.workers[0].ending[w.inst.slots.of[0]], 0);
	instance_world_close(&w);
}

static void test_limits_end_without_control(void **state)
{
	(void)state;
	check_limits_end(STEADY);
	check_limits_end(STEADY_COUNTED);
	check_limits_end(STEADY_SHAPED);
	check_limits_end(STEADY_PHANTOM);
}

/* Tells each worker of its limit again, of which as much ends as in end_limits(). */
static void tell_ending(struct instance_world *w, uint8_t ending)
{
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++) {
		assert_int_equal(w->inst.workers[i].counters.expired, 1);
		limit_ring_forget(&w->inst.workers[i].limit_ring, w->inst.slots.of[0]);
	}
	publish_all_later(&w->inst);
	publish(&w->inst);
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++) {
		struct limit_ring *ring = &w->inst.workers[i].limit_ring;
		struct limit_profile profile;

		assert_int_equal(limit_ring_take(ring, &profile, 1), 1);
		profile.ending = ending;
		assert_true(limit_ring_send(ring, &profile));
	}
}

/*
 * Control tells of a limit before it knows that this has ended: what a worker finds in its ring
 * then is no more than what is left of it.
 */
static void check_told_after_end(const char *policy)
{
	uint8_t ending = expiry_ending(100, 1);
	uint64_t began, passed, took;
	struct instance_world w;

	disk_new();
	disk.exists = true;
	instance_world_open_more(&w, ALONE, policy);
	for (began = control_now(); control_now() - began < 100 * MS;)
		instance_world_turn_all(&w);
	end_limits(&w, ending);
	instance_world_turn_all(&w);
	tell_ending(&w, ending);
	began = control_now();
	passed = bytes_passed(&w);
	while ((took = control_now() - began) < 200 * MS)
		instance_world_turn_all(&w);
	passed = bytes_passed(&w) - passed;
	took = control_now() - began;
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		assert_true(limit_ring_is_taken(&w.inst.workers[i].limit_ring));
	if ((double)passed > (double)took / 1e9 * LIMIT / 100 + 1000 + 2 * INSTANCE_BYTES)
		fail_msg("%" PRIu64 " bytes in %" PRIu64 " ns", passed, took);
	instance_world_close(&w);
}

static void test_told_after_end(void **state)
{
	(void)state;
	check_told_after_end(STEADY);
	check_told_after_end(STEADY_COUNTED);
	check_told_after_end(STEADY_SHAPED);
	check_told_after_end(STEADY_PHANTOM);
}

/* A worker that was away is not believed to have taken what lies in its ring. */
static void test_limits_are_renewed_when_taken(void **state)
{
	struct instance_world w;
	struct expiry *expiry;
	uint64_t until;

	(void)state;
	disk_new();
	disk.exists = true;
	instance_world_open_more(&w, ALONE, STEADY);
	expiry = &w.inst.workers[1].expiry;
	instance_world_turn_all(&w);
	renewal_run(&w.inst);
	until = expiry_until(expiry);
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		limit_ring_forget(&w.inst.workers[i].limit_ring, w.inst.slots.of[0]);
	publish_all_later(&w.inst);
	publish_rest(&w.inst);
	instance_world_turn(&w, 0);
	renewal_run(&w.inst);
	assert_int_equal(expiry_until(expiry), until);
	assert_true(expiry_until(&w.inst.workers[0].expiry) > until);
	instance_world_turn(&w, 1);
	renewal_run(&w.inst);
	assert_true(expiry_until(expiry) > until);
	instance_world_close(&w);
}

/* What both may use together, at any time, is within the limit; and all of it comes to be used. */
static void test_the_limit_moves(void **state)
{
	uint64_t end = control_now() + PATIENCE;
	struct instance_world w;
	struct neighbour peer;

	(void)state;
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

#define NOT_SAVED \
	"ledger: /nowhere/weir: cannot be saved: No space left on device: make room; until it can "

/* A disk that fails: nothing is told, packets pass, and it is tried again, but not at once. */
static void test_a_disk_that_fails(void **state)
{
	uint64_t end, passed, before, since;
	struct instance_world w;
	struct neighbour peer;
	unsigned commits;
	double has;

	(void)state;
	open_group(&w, &peer);
	has = limiter_local_limit(peer.limiter);
	disk.result = -ENOSPC;
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
	assert_int_equal(times_said(since, "ledger_not_saved", NOT_SAVED), 1); /* not each time */
	assert_int_equal(times_said(since, "ledger_saved", ""), 0);

	disk.result = 0;
	while (limiter_local_limit(peer.limiter) <= has) {
		assert_true(control_now() < end);
		instance_world_turn_all(&w);
		work_with_neighbour(&w, &peer);
	}
	assert_int_equal(view_of_commit(&w).error, 0);
	assert_int_equal(commit_next(&w.inst) == UINT64_MAX, !view_of_commit(&w).committing);
	assert_int_equal(
		times_said(since, "ledger_saved", "ledger: /nowhere/weir: saved again"), 1);
	close_group(&w, &peer);
}

/* What is not even taken: it is as if the disk had failed, and all of it is handed over again. */
static void test_a_store_that_refuses(void **state)
{
	static const struct {
		int put, commit;
	} rows[] = {{-ENOSPC, 0}, {0, -ENOSPC}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct instance_world w;
		struct neighbour peer;
		uint64_t before, since;
		double has;

		open_group(&w, &peer);
		end_round(&w);
		until_giving(&w, &peer);
		has = limiter_local_limit(peer.limiter);
		disk.result = -EIO; /* it was handed over: so it is uncommitted again */
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

/* A disk that hangs when the box is to stop: it is waited for once, and not asked again. */
static void test_a_disk_that_hangs_at_the_stop(void **state)
{
	struct instance_world w;
	struct neighbour peer;
	struct timespec until;
	unsigned commits;

	(void)state;
	open_group(&w, &peer);
	assert_true(view_of_commit(&w).committing);
	commits = disk.commits;
	clock_gettime(CLOCK_MONOTONIC, &until);
	commit_settle(&w.inst, &until);
	close_group(&w, &peer);
	assert_int_equal(disk.commits, commits);
}

/* How often it was said since then that the disk does not answer. */
static unsigned hangs_said(uint64_t since)
{
	return times_said(since, "ledger_hangs",
		"ledger: /nowhere/weir: the disk does not answer: the stop does not wait for it, "
		"and what has changed since the last commit is as after a crash");
}

static struct timespec ahead(time_t seconds)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += seconds;
	return until;
}

/*
 * No round is under way, and something has changed since the last: when all has been given that the
 * neighbour wants, it wants something else.
 */
static void until_uncommitted(struct instance_world *w, struct neighbour *peer)
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

/* At the stop what is on its way to the disk is waited for, and what has changed goes there too. */
static void test_a_disk_at_the_stop(void **state)
{
	struct timespec until = ahead(PATIENCE / SECOND_NS);
	uint64_t since = events_number();
	struct instance_world w;
	struct neighbour peer;
	unsigned commits;

	(void)state;
	open_group(&w, &peer);
	commits = disk.commits;
	assert_false(view_of_commit(&w).saved);
	disk.result = 0; /* it has come to its end, or does in time */
	assert_int_equal(eventfd_write(disk.fd, 1), 0);
	commit_settle(&w.inst, &until);
	assert_true(view_of_commit(&w).saved);
	assert_int_equal(disk.commits, commits);
	assert_false(disk.writing);
	until = ahead(0); /* it is not waited for again */
	commit_settle(&w.inst, &until);
	assert_true(view_of_commit(&w).saved);
	assert_int_equal(hangs_said(since), 0);
	commit_last(&w.inst); /* nobody was told of it: it is written once more */
	assert_false(view_of_commit(&w).committing);
	assert_int_equal(disk.commits, commits + 1);
	disk.writing = false;
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

	open_group(&w, &peer); /* one that does not come to its end, and one that fails */
	until_uncommitted(&w, &peer);
	commits = disk.commits;
	until = ahead(0);
	commit_settle(&w.inst, &until);
	assert_int_equal(disk.commits, commits + 1);
	assert_true(view_of_commit(&w).committing && !view_of_commit(&w).saved);
	assert_int_equal(hangs_said(since), 1);
	commit_last(&w.inst); /* nothing is asked of it any more */
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

/* With nothing to be saved nothing is asked of the disk; nor is there one in each box. */
static void test_nothing_to_save_at_the_stop(void **state)
{
	const struct timespec until = {0};
	uint64_t since = events_number();
	struct instance_world w;
	struct neighbour peer;
	unsigned commits;

	(void)state;
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

/* What it gave away stays given after a restart; without its store it holds nothing at first. */
static void test_it_begins_where_it_ended(void **state)
{
	uint64_t end = control_now() + PATIENCE;
	struct instance_world w;
	struct neighbour peer;
	double held;

	(void)state;
	open_group(&w, &peer);
	disk.result = 0;
	for (double has = limiter_local_limit(peer.limiter);
		limiter_local_limit(peer.limiter) <= has;) {
		instance_world_turn_all(&w);
		work_with_neighbour(&w, &peer);
	}
	commit_last(&w.inst);
	held = limiter_local_limit(w.inst.limiter);
	assert_true(held < LIMIT / 2);
	peer_close(&peer);
	instance_world_close(&w);
	disk.writing = false;
	open_instance(&w, MOVED);
	assert_near(limiter_local_limit(w.inst.limiter), held, 1);
	assert_int_equal(view_of_commit(&w).epoch, 2);
	instance_world_close(&w);

	disk_new();
	disk.exists = false;
	open_instance(&w, MOVED);
	assert_true(view_of_commit(&w).recovering);
	assert_int_equal(commit_count_recovering(&w.inst, control_now()), 1);
	assert_true(limiter_local_limit(w.inst.limiter) == 0);
	peer_open(&peer, &w, 5);
	disk.result = 0;
	while (limiter_local_limit(w.inst.limiter) == 0) {
		assert_true(control_now() < end);
		instance_world_turn_all(&w);
		work_with_neighbour(&w, &peer);
		assert_true(
			limiter_local_limit(w.inst.limiter) + limiter_local_limit(peer.limiter) <=
			LIMIT);
	}
	assert_int_equal(commit_count_recovering(&w.inst, control_now()), 0);
	close_group(&w, &peer);
}

/* A total, too, of which nothing is known passes nothing; and that is said. */
static void test_totals_may_be_recovering(void **state)
{
	struct instance_world w;

	(void)state;
	for (unsigned exists = 0; exists < 2; exists++) {
		disk_new();
		disk.exists = exists > 0;
		disk.result = 0;
		open_instance(&w, TOTAL ", " SOFT);
		assert_int_equal(commit_count_recovering(&w.inst, control_now()), !exists);
		instance_world_close(&w);
	}
}

#define ROUND_MOST 2048 /* records of a kind that are handed over at once */

/* So many totals of which nothing is known: each has a record for the disk that says so. */
static void open_totals(struct instance_world *w, unsigned n)
{
	char *policies = NULL;
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
	free(policies);
}

/* Workers obey all that they are told of, in as many turns as that takes. */
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
 * As many are handed over at once as control has time for, and the rest in the next round; at the
 * stop there is no other round.
 */
static void test_many_records(void **state)
{
	static const struct {
		unsigned totals, rounds[3];
	} rows[] = {
		{ROUND_MOST - 1, {ROUND_MOST - 1}},
		{ROUND_MOST, {ROUND_MOST}},
		{ROUND_MOST + 3, {ROUND_MOST, 3}},
	};
	struct timespec until = ahead(0);
	struct instance_world w;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
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
	instance_world_close(&w);
}

/* A soft one passes its burst at once; what is conserved has to earn it, after a reload too. */
static void test_buckets_begin_empty(void **state)
{
	static const char *const conserved[] = {
		CAP(FEW ", 'allocator': 'static'"),
		CAP(FEW ", 'allocator': 'static', 'meter': 'gcra'"),
		CAP(FEW ", 'allocator': 'static', 'action': 'count'"),
		CAP(FEW ", 'allocator': 'gdrl'"),
	};
	struct instance_world w;

	(void)state;
	disk_new();
	instance_world_open_more(&w, ALONE, SOFT);
	instance_world_turn_all(&w);
	assert_int_equal(instance_world_totals(&w, 0).passed_packets, 2 * INSTANCE_BURST);
	instance_world_close(&w);
	for (unsigned i = 0; i < sizeof(conserved) / sizeof(conserved[0]); i++) {
		struct policy_totals totals;

		instance_world_open_more(&w, ALONE, conserved[i]);
		instance_world_turn_all(&w);
		totals = instance_world_totals(&w, 0);
		assert_int_equal(totals.passed_packets - totals.over_packets, 0);
		instance_world_close(&w);
	}
}

/* 0 or a negative errno, and what was said. */
static int reload_policies(struct instance_world *w, const char *policies, char **words)
{
	struct policy_txn *x;
	size_t size;
	FILE *err = open_memstream(words, &size);
	int ret;

	assert_non_null(err);
	instance_world_write(w, policies);
	ret = policy_txn_prepare(&w->inst, w->file, w->inst.clock.hz, err, &x);
	fclose(err);
	if (ret)
		return ret;
	assert_int_equal(policy_txn_commit(x), 0);
	for (unsigned i = 0; i < 3 && !policy_txn_finish(x); i++)
		instance_world_turn_all(w);
	assert_true(policy_txn_finish(x));
	policy_txn_free(x);
	return 0;
}

/* The first policy that needs a ledger finds its store, or is refused. */
static void test_reload_opens_the_store(void **state)
{
	struct commit_view view;
	struct instance_world w;
	char *words;

	(void)state;
	disk_new();
	disk.exists = false;
	instance_world_open_more(&w, ALONE, SOFT);
	assert_false(commit_view(&w.inst, &view));
	assert_int_equal(commit_fd(&w.inst), -1);
	assert_int_equal(commit_next(&w.inst), UINT64_MAX);
	assert_int_equal(reload_policies(&w, CAP(FEW), &words), -ENOENT);
	assert_non_null(strstr(words, "ledger.store"));
	assert_non_null(strstr(words, "--new-ledger"));
	free(words);
	assert_false(commit_view(&w.inst, &view));

	disk.exists = true;
	assert_int_equal(reload_policies(&w, CAP(FEW), &words), 0);
	free(words);
	assert_int_equal(view_of_commit(&w).epoch, 1);
	assert_non_null(limiter_conserve(w.inst.limiter));
	assert_true(limiter_local_limit(w.inst.limiter) > 0);
	disk.result = 0;
	instance_world_close(&w);
	assert_false(disk.opened);
}

/* What is prepared and comes to nothing leaves the store closed. */
static void test_a_store_for_nothing(void **state)
{
	struct policy_txn *x;
	struct instance_world w;

	(void)state;
	disk_new();
	disk.exists = false;
	instance_world_open_more(&w, ALONE, SOFT);
	disk.exists = true;
	instance_world_write(&w, CAP(FEW));
	assert_int_equal(policy_txn_prepare(&w.inst, w.file, w.inst.clock.hz, stderr, &x), 0);
	assert_true(disk.opened);
	policy_txn_free(x);
	assert_false(disk.opened);
	instance_world_close(&w);
}

static struct policy_state *policy_line(const struct instance_world *w, unsigned worker)
{
	return &w->inst.workers[worker].policies[w->inst.slots.of[0]];
}

/* Bytes a second that a worker's own part of a policy that is not plain earns. */
static double worker_earns_bps(const struct instance_world *w, unsigned worker)
{
	const struct token_bucket_profile *bucket = &policy_line(w, worker)->other->profile.bucket;

	return (double)bucket->rate / 0x1p56 * (double)w->inst.clock.hz;
}

/* Control sees all of the demand at the first worker, and tells them. */
static void demand_at_first(struct instance_world *w)
{
	uint32_t slot = w->inst.slots.of[0];

	share_look(&w->inst.engine.slots[slot].shares[0], 1000000, 1, 0);
	dirty_mark(&w->inst.dirty, slot);
	assert_true(publish(&w->inst));
	instance_world_turn_all(w);
}

/* Parts of a soft limit follow demand; those of a conserved one add up at any time. */
static void test_parts_never_change(void **state)
{
	struct instance_world w;
	double even;

	(void)state;
	disk_new();
	instance_world_open_more(&w, ALONE, CAP(", 'limit': '8Mbit/s', 'action': 'count'"));
	even = worker_earns_bps(&w, 0);
	assert_near(even, LIMIT / 2, 1);
	demand_at_first(&w);
	assert_true(worker_earns_bps(&w, 0) == even && worker_earns_bps(&w, 1) == even);
	assert_true(2 * even <= LIMIT);
	instance_world_close(&w);

	instance_world_open_more(&w, ALONE,
		"{'name': 'cap', 'match': {'direction': 'a-to-b'}, 'limit': '8Mbit/s', "
		"'action': 'count'}");
	demand_at_first(&w);
	assert_true(worker_earns_bps(&w, 0) > 0.9 * LIMIT);
	instance_world_close(&w);
}

/* A worker that held some would keep them when the limit goes elsewhere. */
static void test_workers_hold_nothing(void **state)
{
	struct instance_world w;

	(void)state;
	disk_new();
	instance_world_open_more(&w, ALONE, CAP(", 'limit': '100Gbit/s', 'burst': '1GB'"));
	usleep(1000);
	instance_world_turn_all(&w);
	assert_true(instance_world_totals(&w, 0).passed_packets > 0);
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		assert_int_equal(policy_line(&w, i)->bucket.tokens >> TOKEN_BYTE, 0);
	instance_world_close(&w);
}

/* One that begins anew earns nothing before the last worker has left its former line. */
static void test_no_line_earns_beside_another(void **state)
{
	struct policy_txn *x;
	struct instance_world w;

	(void)state;
	disk_new();
	instance_world_open_more(&w, ALONE, CAP(", 'limit': '8Mbit/s'"));
	instance_world_write(&w, CAP(", 'limit': '8Mbit/s', 'action': 'count'"));
	assert_int_equal(policy_txn_prepare(&w.inst, w.file, w.inst.clock.hz, stderr, &x), 0);
	assert_int_equal(policy_txn_commit(x), 0);
	publish_all_later(&w.inst);
	assert_true(publish(&w.inst));
	instance_world_turn(&w, 0);
	instance_world_turn(&w, 0);
	assert_false(policy_txn_finish(x));
	assert_true(worker_earns_bps(&w, 0) == 0 && worker_earns_bps(&w, 1) == 0);
	for (unsigned i = 0; i < 3 && !policy_txn_finish(x); i++)
		instance_world_turn_all(&w);
	policy_txn_free(x);
	assert_true(publish(&w.inst));
	instance_world_turn_all(&w);
	assert_near(worker_earns_bps(&w, 0) + worker_earns_bps(&w, 1), LIMIT, 2);
	instance_world_close(&w);
}

#define MESSAGES 40 /* more than a worker takes in a turn */

/* A worker that was quiescent, but has limits left to take, does not obey yet. */
static void test_all_messages_are_taken(void **state)
{
	struct limit_profile profile = {
		.kind = METER_TOKEN_BUCKET, .sample_shift = POLICE_UNSAMPLED};
	struct grace grace;
	struct instance_world w;
	unsigned turns = 0;

	(void)state;
	disk_new();
	instance_world_open_more(&w, ALONE, CAP(", 'limit': '8Mbit/s', 'action': 'count'"));
	profile.policy = w.inst.slots.of[0];
	for (unsigned i = 0; i < MESSAGES; i++) {
		profile.meter.bucket.rate = 1 + i;
		assert_true(limit_ring_send(&w.inst.workers[1].limit_ring, &profile));
	}
	grace_begin(&grace, &w.inst);
	assert_false(grace_done(&grace, &w.inst));
	while (!grace_done(&grace, &w.inst)) {
		assert_true(turns++ < MESSAGES);
		instance_world_turn_all(&w);
	}
	assert_int_equal(policy_line(&w, 1)->other->profile.bucket.rate, MESSAGES);
	instance_world_close(&w);
}

static void test_stores_that_do_not_open(void **state)
{
	static const struct policy soft = {.allocator = &allocator_fps};
	static const struct policy cap = {
		.allocator = &allocator_fps, .guarantee = GUARANTEE_CONSERVED};
	static const struct config config = {.ledger = {.store = "/nowhere/weir"}};
	static const struct config root = {.ledger = {.store = "/"}};
	static const struct config unset;
	static const int errors[] = {-EBUSY, -EBADMSG, -EACCES, -ENOSPC};
	struct instance inst = {.config = &config, .policies = &soft, .n_policies = 1};
	char text[EVENT_TEXT];
	uint64_t first;

	(void)state;
	disk_new();
	for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		uint64_t since = events_number();

		disk.open_error = errors[i];
		inst.policies = &soft;
		assert_int_equal(commit_start(&inst), 0);
		snprintf(text, sizeof(text), "ledger.store: /nowhere/weir: %s; no policy needs it",
			ledger_store_reason(errors[i]));
		assert_int_equal(times_said(since, "ledger_not_needed", text), 1);
		inst.policies = &cap;
		assert_int_equal(commit_start(&inst), errors[i]);
		snprintf(text, sizeof(text), "ledger.store: /nowhere/weir: %s",
			ledger_store_reason(errors[i]));
		assert_int_equal(times_said(since, "ledger_not_opened", text), 1);
		assert_int_equal(events_number(), since + 2);
		assert_null(inst.commit);
	}
	/* One that is not there is nothing to nobody who needs none. */
	disk_new();
	disk.exists = false;
	inst.policies = &soft;
	first = events_number();
	assert_int_equal(commit_start(&inst), 0);
	inst.config = &unset;
	assert_int_equal(commit_start(&inst), 0);
	inst.policies = &cap;
	assert_int_equal(commit_start(&inst), -ENOENT);
	assert_null(inst.commit);
	assert_int_equal(events_number(), first);
	/* One of a single letter is one all the same. */
	inst.config = &root;
	assert_int_equal(commit_start(&inst), -ENOENT);
	assert_int_equal(times_said(first, "ledger_no_store", "no store in /"), 1);
	assert_int_equal(times_said(first, "ledger_not_opened", "ledger.store: /: "), 1);
	inst.config = &config;
	/* A store that nobody here needs has records that others may. */
	disk_new();
	inst.policies = &soft;
	assert_int_equal(commit_start(&inst), 0);
	assert_non_null(inst.commit);
	commit_stop(&inst);
	assert_false(disk.opened);
}

/* What the limiter is told of its ledger is what was configured, and what the store has. */
static void test_what_the_limiter_has(void **state)
{
	static struct peer_config roster[] = {{.name = "x"}, {.name = "y"}, {.name = "z"}};
	static struct overlay_pair_config edges[] = {{0, 2}, {1, 0}};
	static const struct policy soft = {.allocator = &allocator_fps};
	static const struct {
		bool ring;
		unsigned n_edges;
		enum overlay_shape shape;
	} rows[] = {
		{true, 0, OVERLAY_RING},
		{false, 0, OVERLAY_RANDOM},
		{false, 1, OVERLAY_GIVEN},
		{false, 2, OVERLAY_GIVEN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct config config = {
			.gossip = {.roster = roster, .n_roster = 3, .timeout_ns = 17},
			.ledger = {.store = "/nowhere/weir",
				.edges = edges,
				.lease_ns = 11,
				.drift_ppm = 12,
				.promise = 13,
				.tree_degree = 14,
				.degree = 15,
				.ring = rows[i].ring,
				.n_edges = rows[i].n_edges}};
		struct instance inst = {.config = &config, .policies = &soft, .n_policies = 1};
		struct limiter_ledger ledger = commit_ledger(&inst);

		assert_false(ledger.durable); /* there is none yet */
		disk_new();
		assert_int_equal(commit_start(&inst), 0);
		ledger = commit_ledger(&inst);
		assert_int_equal(ledger.overlay.shape, rows[i].shape);
		assert_int_equal(ledger.overlay.degree, 15);
		assert_int_equal(ledger.overlay.spares, 1);
		assert_int_equal(ledger.overlay.n_pairs, rows[i].n_edges);
		for (unsigned e = 0; e < rows[i].n_edges; e++) {
			assert_int_equal(
				ledger.overlay.pairs[e].a, name_hash(roster[edges[e].a].name));
			assert_int_equal(
				ledger.overlay.pairs[e].b, name_hash(roster[edges[e].b].name));
		}
		assert_true(ledger.durable);
		assert_false(ledger.recovering);
		assert_int_equal(ledger.identity.low, 1);
		assert_int_equal(ledger.epoch, 1);
		assert_int_equal(ledger.n_records, 0);
		assert_int_equal(ledger.lease_ns, 11);
		assert_int_equal(ledger.drift_ppm, 12);
		assert_int_equal(ledger.promise, 13);
		assert_int_equal(ledger.tree_degree, 14);
		assert_int_equal(ledger.timeout_ns, 17);
		commit_stop(&inst);
	}
}

/* One line with these words is logged when the watch looks at such a time, or (NULL) none. */
static void assert_look(struct ledger_watch *watch, const struct instance_world *w, uint64_t now_ns,
	const char *want)
{
	uint64_t before = events_number();
	json_t *said;

	ledger_watch_look(watch, &w->inst, now_ns);
	said = events_get(before);
	assert_int_equal(events_number() - before, want ? 1 : 0);
	if (want)
		assert_non_null(strstr(json_string_value(json_object_get(said, "text")), want));
	json_decref(said);
}

/* Each has made an identity of its own: nothing moves, and a line a minute at most says why. */
static void test_another_ledger(void **state)
{
	struct ledger_watch *watch = ledger_watch_new(2), *common = ledger_watch_new(2);
	struct limiter_neighbour neighbour;
	struct instance_world w;
	struct neighbour peer;
	uint64_t end, now = 1000000 * MS;
	struct book *book;
	double has;

	(void)state;
	disk_new();
	disk.identity.low = 2;
	open_instance(&w, MOVED);
	peer_open(&peer, &w, 1);
	peer.wants = LIMIT;
	has = limiter_local_limit(w.inst.limiter);
	end = control_now() + PATIENCE;
	while (ledger_disputes(&w.inst).foreign_messages < 5 ||
		!limiter_neighbour(peer.limiter, 0, &neighbour) || neighbour.foreign_messages < 5) {
		assert_true(control_now() < end);
		talk_to_neighbour(&w, &peer);
	}
	assert_int_equal(ledger_disputes(&w.inst).neighbours, 1);
	assert_true(neighbour.foreign && neighbour.says.low == 2);
	assert_true(limiter_local_limit(w.inst.limiter) == has);
	assert_true(limiter_local_limit(peer.limiter) == has);
	assert_look(watch, &w, now,
		"peer speaks of another ledger, 00000000000000000000000000000001, and this one is "
		"00000000000000000000000000000002");
	assert_look(common, &w, now, "peer speaks of another ledger");
	for (unsigned s = 1; s < 200; s++)
		assert_look(watch, &w, now + s * 1000 * MS, NULL);

	book = conserve_book((struct conserve *)(uintptr_t)limiter_conserve(w.inst.limiter));
	for (unsigned s = 200; s < 320; s++) {
		for (unsigned i = 0; i < 10; i++)
			book_invalid(book, 0);
		assert_look(watch, &w, now + s * 1000 * MS,
			s == 200   ? "peer states what cannot be true, 10 times"
			: s == 260 ? "peer states what cannot be true, 600 times"
				   : NULL);
	}
	assert_int_equal(ledger_disputes(&w.inst).invalid_statements, 1200);
	ledger_watch_free(watch);
	close_group(&w, &peer);
	/* The neighbour has another store, with that of this one. */
	disk_new();
	open_instance(&w, MOVED);
	assert_look(common, &w, now + 59999 * MS, NULL);
	assert_look(common, &w, now + 60998 * MS, NULL); /* it has looked just now */
	assert_look(common, &w, now + 60999 * MS, "ledger: peer speaks of this ledger now");
	assert_look(common, &w, now + 200000 * MS, NULL);
	ledger_watch_free(common);
	instance_world_close(&w);
}

#define NAMED                                                                                     \
	"ledger: all neighbours speak of ledger 00000000000000000000000000000001: so it is this " \
	"one"
#define KNOWN    "ledger: all policies hold what their neighbours know of"
#define NO_STORE "ledger: no store in /nowhere/weir: what this limiter has given away"

/* Works until the neighbour has told which ledger it is, and the store keeps that, or will not. */
static void until_named(struct instance_world *w, struct neighbour *peer, bool kept)
{
	uint64_t end = control_now() + PATIENCE;

	while (kept ? disk.identity.low != 1 : view_of_commit(w).identity.low != 1) {
		assert_true(control_now() < end);
		work_with_neighbour(w, peer);
		if (view_of_commit(w).committing)
			end_round(w);
	}
}

/* A limiter without memory keeps the identity that its neighbour tells it. */
static void test_identity_is_kept(void **state)
{
	struct instance_world w;
	struct neighbour peer;
	uint64_t since;

	(void)state;
	disk_new();
	disk.exists = false;
	since = events_number();
	open_instance(&w, MOVED);
	assert_int_equal(times_said(since, "ledger_no_store", NO_STORE), 1);
	assert_int_equal(times_said(since, "ledger_opened",
				 "ledger: /nowhere/weir: start 1 of this store, 0 records, ledger "
				 "not known; it began without memory"),
		1);
	assert_false(book_identity_known(view_of_commit(&w).identity));
	assert_true(view_of_commit(&w).recovering);
	peer_open(&peer, &w, 1);
	since = events_number();
	disk.identity_error = -ENOSPC;
	until_named(&w, &peer, false);
	assert_int_equal(times_said(since, "ledger_named", ""), 0);
	disk.identity_error = 0;
	until_named(&w, &peer, true);
	for (unsigned i = 0; i < 5; i++)
		work_with_neighbour(&w, &peer);
	assert_int_equal(times_said(since, "ledger_named", NAMED), 1);
	assert_int_equal(view_of_commit(&w).identity.low, 1);
	assert_int_equal(ledger_disputes(&w.inst).foreign_messages, 0);
	close_group(&w, &peer);
}

/* It is said once that all is known which the neighbours know, and not before. */
static void test_when_all_is_known(void **state)
{
	uint64_t since = events_number(), end = control_now() + PATIENCE;
	struct instance_world w;
	struct neighbour peer;

	(void)state;
	disk_new();
	disk.exists = false;
	open_instance(&w, MOVED);
	peer_open(&peer, &w, 1);
	while (times_said(since, "ledger_recovered", KNOWN) == 0) {
		assert_true(control_now() < end);
		work_with_neighbour(&w, &peer);
		if (view_of_commit(&w).committing)
			end_round(&w);
	}
	assert_int_equal(commit_count_recovering(&w.inst, control_now()), 0);
	until_giving(&w, &peer);
	end_round(&w);
	assert_int_equal(times_said(since, "ledger_recovered", KNOWN), 1);
	close_group(&w, &peer);
	/* One that began with memory has nothing to say. */
	since = events_number();
	open_group(&w, &peer);
	end_round(&w);
	assert_int_equal(times_said(since, "ledger_recovered", ""), 0);
	close_group(&w, &peer);
}

/* Records that the limiter cannot use are said to be damaged, if there are any. */
static void test_damaged(void **state)
{
	static const struct policy soft = {.allocator = &allocator_fps};
	static const struct config config = {.ledger = {.store = "/nowhere/weir"}};
	static const struct {
		size_t bytes;
		int outcome;
		unsigned said;
	} rows[] = {{4, -EINVAL, 1}, {4, 0, 0}, {4, -ENOMEM, 0}, {0, -EINVAL, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct instance inst = {.config = &config, .policies = &soft, .n_policies = 1};
		uint64_t since = events_number();

		commit_begun(&inst, rows[i].outcome); /* nothing is kept */
		disk_new();
		disk.kind = LIMITER_UNITS;
		disk.len = rows[i].bytes;
		assert_int_equal(commit_start(&inst), 0);
		assert_int_equal(commit_ledger(&inst).n_records, rows[i].bytes > 0);
		commit_begun(&inst, rows[i].outcome);
		assert_int_equal(commit_ledger(&inst).n_records, 0);
		assert_int_equal(times_said(since, "ledger_damaged",
					 "ledger: /nowhere/weir: its records are damaged"),
			rows[i].said);
		commit_stop(&inst);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_told_before),
		cmocka_unit_test(test_the_limit_moves),
		cmocka_unit_test(test_limits_end_without_control),
		cmocka_unit_test(test_told_after_end),
		cmocka_unit_test(test_limits_are_renewed_when_taken),
		cmocka_unit_test(test_a_disk_that_fails),
		cmocka_unit_test(test_a_store_that_refuses),
		cmocka_unit_test(test_a_disk_that_hangs_at_the_stop),
		cmocka_unit_test(test_a_disk_at_the_stop),
		cmocka_unit_test(test_nothing_to_save_at_the_stop),
		cmocka_unit_test(test_it_begins_where_it_ended),
		cmocka_unit_test(test_totals_may_be_recovering),
		cmocka_unit_test(test_many_records),
		cmocka_unit_test(test_buckets_begin_empty),
		cmocka_unit_test(test_reload_opens_the_store),
		cmocka_unit_test(test_a_store_for_nothing),
		cmocka_unit_test(test_parts_never_change),
		cmocka_unit_test(test_workers_hold_nothing),
		cmocka_unit_test(test_no_line_earns_beside_another),
		cmocka_unit_test(test_all_messages_are_taken),
		cmocka_unit_test(test_stores_that_do_not_open),
		cmocka_unit_test(test_what_the_limiter_has),
		cmocka_unit_test(test_another_ledger),
		cmocka_unit_test(test_identity_is_kept),
		cmocka_unit_test(test_when_all_is_known),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, instance_world_start, instance_world_stop);
}
