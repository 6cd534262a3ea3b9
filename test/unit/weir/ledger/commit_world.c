/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "commit_world.h"

#include <sys/eventfd.h>

#include <rte_common.h>

#include "base/hash.h"
#include "clock.h"
#include "event.h"
#include "publish.h"

/* An address of this process only, because other processes run the same test. */
#define GROUP                                                              \
	"'gossip': {'listen': '127.%1$u.%2$u.77:7946', 'insecure': true, " \
	"'timeout': '500ms', 'roster': ["                                  \
	"{'name': 'test', 'address': '127.%1$u.%2$u.77:7946'}, "           \
	"{'name': 'peer', 'address': '127.%1$u.%2$u.78:7946'}]}, "         \
	"'ledger': {'store': '/nowhere/weir', 'lease': '2s', 'promise': 0%3$s}, "

struct store {
	char nothing;
};

struct commit_disk disk;
const char *more_of_ledger = "";
static struct store store;

int store_open(const char *directory, struct store **out, uint64_t *epoch)
{
	if (strcmp(directory, "/nowhere/weir") != 0) /* the default path */
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

int store_create(const char *directory, struct store_identity identity)
{
	fail_msg("a store in %s is not needed", directory);
	return 0;
}

int store_accept(const char *directory)
{
	fail_msg("a store in %s is not needed", directory);
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
	return disk.recovering;
}

int store_sentinel_error(const struct store *s)
{
	return disk.sentinel_error;
}

bool store_sentinel_missing(const struct store *s)
{
	return disk.sentinel_missing;
}

struct store_identity store_identity(const struct store *s)
{
	return disk.identity;
}

int store_set_identity(struct store *s, struct store_identity identity)
{
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
	disk.opened = disk.writing = false;
	close(disk.fd);
}

int store_each(struct store *s, uint8_t kind,
	int (*each)(void *context, uint64_t id, const void *record, size_t len), void *context)
{
	return disk.len && kind == disk.kind ? each(context, disk.id, disk.record, disk.len) : 0;
}

int store_put(struct store *s, uint8_t kind, uint64_t id, const void *record, size_t len)
{
	if (disk.put_error)
		return disk.put_error;
	assert_true(len <= sizeof(disk.record));
	disk.kind = kind;
	disk.id = id;
	if (len > 0)
		memcpy(disk.record, record, len);
	disk.len = len;
	disk.put++;
	return 0;
}

void store_discard(struct store *s)
{
	disk.put = 0;
}

int store_commit(struct store *s)
{
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
	return disk.fd;
}

int store_result(struct store *s)
{
	if (!disk.writing || disk.result == -EAGAIN)
		return -EAGAIN;
	disk.writing = false;
	return disk.result;
}

unsigned times_said(uint64_t since, const char *event, const char *text)
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

void disk_new(void)
{
	disk = (struct commit_disk){.exists = true, .identity = {0, 1}, .result = -EAGAIN};
}

void peer_open(struct commit_peer *peer, const struct instance_world *w, uint64_t epoch)
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
	params.ledger.word++;
	params.ledger.proof_ns = 0; /* uses its share before neighbours confirm it */
	peer->until_ns = control_now();
	peer->wants = LIMIT / 2;
	assert_int_equal(limiter_create(&params, peer->until_ns, &peer->limiter), 0);
}

void peer_close(struct commit_peer *peer)
{
	limiter_destroy(peer->limiter);
	roster_destroy(peer->roster);
}

/* Reports the peer's demand. The limiter under test has none. */
static void measure_peer(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct commit_peer *peer = context;
	uint64_t now = control_now();

	peer->arrived += (double)(now - peer->until_ns) / 1e9 * peer->wants;
	peer->until_ns = now;
	*sample = (struct limiter_sample){
		.arrived_bytes = (uint64_t)peer->arrived, .slots = peer->slots};
}

static void measure_instance(void *context, unsigned policy, struct limiter_sample *sample)
{
	*sample = (struct limiter_sample){.slots = ((struct commit_peer *)context)->slots};
}

static void carry_datagrams(struct limiter *from, struct limiter *to)
{
	uint8_t buf[DATAGRAM_MAX];
	unsigned whom;
	size_t len;

	while ((len = limiter_send(from, buf, &whom)) > 0)
		limiter_receive(to, control_now(), buf, len);
}

double limiter_local_limit(const struct limiter *limiter)
{
	struct limiter_view view;

	limiter_view(limiter, 0, &view);
	return view.local_limit;
}

struct commit_view view_of_commit(const struct instance_world *w)
{
	struct commit_view view;

	assert_true(commit_view(&w->inst, &view));
	return view;
}

void talk_to_neighbour(struct instance_world *w, struct commit_peer *peer)
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

bool work_with_neighbour(struct instance_world *w, struct commit_peer *peer)
{
	bool ended = commit_advance(&w->inst);

	talk_to_neighbour(w, peer);
	return ended;
}

void end_round(struct instance_world *w)
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

void until_holding(struct instance_world *w, struct commit_peer *peer)
{
	uint64_t end = control_now() + PATIENCE;

	while (limiter_local_limit(w->inst.limiter) == 0) {
		assert_true(control_now() < end);
		work_with_neighbour(w, peer);
		if (view_of_commit(w).committing)
			end_round(w);
	}
}

void until_giving(struct instance_world *w, struct commit_peer *peer)
{
	uint64_t end = control_now() + PATIENCE;
	double before;

	until_holding(w, peer);
	before = limiter_local_limit(w->inst.limiter);
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

void open_instance(struct instance_world *w, const char *policy)
{
	static char group[512];
	unsigned id = (unsigned)getpid();

	snprintf(group, sizeof(group), GROUP, 1 + id / 256 % 254, id % 256, more_of_ledger);
	instance_world_open_more(w, group, policy);
}

void open_group_of(struct instance_world *w, struct commit_peer *peer, const char *policy)
{
	disk_new();
	open_instance(w, policy);
	peer_open(peer, w, 1);
	until_giving(w, peer);
}

void open_group(struct instance_world *w, struct commit_peer *peer)
{
	open_group_of(w, peer, MOVED);
}

void close_group(struct instance_world *w, struct commit_peer *peer)
{
	/* A round might be running, and control waits for it at the end. */
	disk.result = 0;
	assert_int_equal(eventfd_write(disk.fd, 1), 0);
	peer_close(peer);
	instance_world_close(w);
}
