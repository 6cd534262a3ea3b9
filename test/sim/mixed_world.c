/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A group of limiters that use all features at the same time. Policies have all allocators, are
 * soft, hard and counted, children and parents, most of them idle at a time. Keys change, and
 * identities are added. There are reloads, temporary limits, and clocks that are stepped. The
 * network damages, repeats and misdelivers. Limiters crash, with or without a durable disk. This
 * file checks only that no call fails; the trace records the results (trace.h).
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/hash.h"
#include "base/prng.h"
#include "base/time.h"
#include "flow/flow_sample.h"
#include "limiter/limiter.h"
#include "world/disk.h"
#include "world/simnet.h"
#include "worlds.h"

#define MS       UINT64_C(1000000)
#define SECOND   (1000 * MS)
#define STEP     (10 * MS)
#define LENGTH   (25 * SECOND)
#define BEGIN    (100 * SECOND)
#define TIMEOUT  (700 * MS)
#define BOXES    5
#define TAPE     64
#define PERIOD_S 15
#define WALL     UINT64_C(1700000000)

/* The policies that a limiter can have; a child is used only together with its parent. */
enum {
	FPS,
	GTB,
	GRD,
	ADAPTOR,
	STATIC,
	PARENT,
	CHILD,
	OTHER_CHILD,
	HARD,
	HARD_ADAPTOR,
	GDRL,
	HARD_CHILD,
	QUOTA,
	DRAWN,
	PERIODIC,
	IDLE,
	KINDS = 28 /* the rest are mostly idle */
};

struct demand {
	double rate; /* bytes or units a second that arrive, regardless of the limit */
	uint64_t arrived, dropped;
	uint64_t slots[FLOW_SLOTS];
};

struct box {
	struct limiter *limiter; /* NULL: it is down */
	struct keyring *keyring;
	struct disk disk;
	bool saving, forgot;
	uint64_t written_ns, up_ns, measured_ns, starts, drawn;
	int64_t off_ns; /* wall clock minus true time */
	unsigned keys;  /* see make_keyring() */
	unsigned kinds[KINDS], n;
	unsigned version; /* number of the limits in use */
	struct demand demands[KINDS];
};

struct world {
	struct events events;
	struct simnet net;
	struct network network;
	struct prng prng;
	uint64_t seed, now_ns;
	enum gossip_estimator estimator;
	struct roster *roster;
	uint32_t ids[BOXES];
	uint8_t secrets[BOXES][DATAGRAM_KEY], publics[BOXES][DATAGRAM_KEY];
	uint32_t sides[BOXES];
	struct box boxes[BOXES];
	unsigned version, keys;
	struct {
		unsigned to;
		size_t len;
		uint8_t bytes[DATAGRAM_MAX];
	} tape[TAPE];
};

static void must(const struct world *w, const char *what, int ret)
{
	if (ret == 0)
		return;
	fprintf(stderr, "seed %llu, %.2f s: %s: %s\n", (unsigned long long)w->seed,
		(double)w->now_ns / 1e9, what, strerror(-ret));
	exit(1);
}

static bool mixed_chance(struct world *w, unsigned in)
{
	return prng_below(&w->prng, in) == 0;
}

static unsigned box_index(const struct world *w, const struct box *box)
{
	return (unsigned)(box - w->boxes);
}

/* ---- policies */

static struct limiter_policy soft_policy(unsigned kind, unsigned version)
{
	static const char *const allocators[] = {"fps", "gtb", "grd", "adaptor", "static"};
	uint64_t limit = 8000000 + 800000 * (uint64_t)(version % 3);

	return (struct limiter_policy){
		.id = 100 + kind,
		.allocator = allocator_find(kind < PARENT ? allocators[kind] : "fps"),
		.limit_bps = limit,
		.plain = {.limit_bps = kind == GRD ? limit / 2 : 0},
		.burst_bytes = 80000 + 10000 * kind,
		.interval_ns = kind % 2 ? 100 * MS : 50 * MS,
		.keep_per_second = kind == GTB ? 0.4 : 0.1,
		.history_ns = kind == ADAPTOR ? 2 * SECOND : 0,
		.step_ns = kind == ADAPTOR ? 500 * MS : 0,
		.schedule = kind == GRD ? version % 2 : 0,
		.counts = kind,
		.second = kind == STATIC ? version % 2 : 0,
	};
}

static void make_hard(struct limiter_policy *policy, unsigned kind)
{
	policy->guarantee = LIMITER_HARD;
	policy->interval_ns = 100 * MS;
	policy->burst_bytes = 200000;
	if (kind == HARD_ADAPTOR) {
		policy->allocator = allocator_find("adaptor");
		policy->history_ns = 3 * SECOND;
		policy->step_ns = SECOND;
	} else if (kind == GDRL) {
		policy->allocator = allocator_find("gdrl");
		policy->indicator = gdrl_indicator_find("utilisation");
	} else if (kind == HARD) {
		policy->limit_s = 60;
	}
}

static void make_counted(
	const struct world *w, struct limiter_policy *policy, unsigned kind, int64_t wall_s)
{
	policy->allocator = allocator_find("quota");
	policy->limit_bps = 80000;
	policy->total = kind == DRAWN ? 1 : 4000000 + 1000 * (w->version % 4);
	policy->chunk = 5000;
	policy->drawn = kind == DRAWN;
	if (kind != PERIODIC)
		return;
	policy->period_length = PERIOD_S;
	policy->undated = wall_s == TIME_UNKNOWN;
	policy->period = policy->undated ? 0 : (uint64_t)wall_s / PERIOD_S;
}

static struct limiter_policy mixed_policy(
	const struct world *w, const struct box *box, unsigned kind)
{
	struct limiter_policy policy = soft_policy(kind, box->version);
	int64_t wall_s = box->limiter ? limiter_wall_s(box->limiter, w->now_ns) : TIME_UNKNOWN;

	if (kind == CHILD || kind == OTHER_CHILD || kind == HARD_CHILD) {
		policy.child = true;
		policy.parent = 100 + (kind == HARD_CHILD ? HARD : PARENT);
		policy.below = UINT64_C(1) << 32 | policy.parent;
		policy.weight = kind == CHILD ? 3 : 0;
		policy.guaranteed_bps = kind == OTHER_CHILD ? 500000 : 0;
		if (kind == HARD_CHILD)
			policy.interval_ns = 100 * MS;
	}
	policy.own = kind == PARENT;
	if (kind >= HARD && kind <= GDRL)
		make_hard(&policy, kind);
	if (kind >= QUOTA && kind <= PERIODIC)
		make_counted(w, &policy, kind, wall_s);
	return policy;
}

static bool box_has(const struct box *box, unsigned kind)
{
	for (unsigned i = 0; i < box->n; i++)
		if (box->kinds[i] == kind)
			return true;
	return false;
}

/* Chooses some of them, in any order. */
static void choose_kinds(struct world *w, struct box *box)
{
	struct box had = *box;

	box->n = 0;
	for (unsigned k = 0; k < KINDS; k++) {
		unsigned at;

		if (mixed_chance(w, box_has(&had, k) ? 8 : 3) && k != PARENT && k != HARD)
			continue;
		at = prng_below(&w->prng, box->n + 1);
		box->kinds[box->n++] = box->kinds[at];
		box->kinds[at] = k;
	}
}

static void fill_mixed_policies(
	const struct world *w, const struct box *box, struct limiter_policy *policies)
{
	for (unsigned i = 0; i < box->n; i++)
		policies[i] = mixed_policy(w, box, box->kinds[i]);
}

/* ---- starts and ends */

/* 0 and 1: one key or another; 2: both; 3, 4: with identities, which are required in the end. */
static struct keyring *make_keyring(const struct world *w, const struct box *box)
{
	static const uint8_t keys[2][DATAGRAM_KEY] = {"one key", "another key"};
	unsigned self = box_index(w, box), step = box->keys;
	struct keyring_params params = {
		.roster = w->roster,
		.self = self,
		.n_keys = step == 2 ? 2 : 1,
		.keys = step == 0 ? &keys[0] : &keys[1],
		.secret = step >= 3 ? w->secrets[self] : NULL,
		.publics = step >= 3 ? w->publics : NULL,
		.identities_optional = step == 3,
	};
	struct keyring *keyring;

	if (step == 2)
		params.keys = keys;
	must(w, "keyring_create", keyring_create(&params, &keyring));
	return keyring;
}

static void rekey_box(struct world *w, struct box *box)
{
	box->keys = w->keys;
	keyring_destroy(limiter_rekey(box->limiter, box->keyring = make_keyring(w, box)));
}

static struct limiter_ledger mixed_ledger(
	const struct world *w, struct box *box, struct limiter_record *records)
{
	const struct disk_batch *durable = &box->disk.durable;

	for (unsigned i = 0; i < durable->n; i++)
		records[i] = (struct limiter_record){
			(enum limiter_record_kind)durable->records[i].kind, durable->records[i].id,
			durable->records[i].at, durable->records[i].len};
	return (struct limiter_ledger){
		.overlay = {.shape = w->seed % 2 ? OVERLAY_RANDOM : OVERLAY_RING,
			.degree = w->seed % 2 ? 2 : 0,
			.spares = 1},
		.records = records,
		.n_records = durable->n,
		.recovering = box->forgot,
		.durable = true,
		.epoch = box->starts,
		.identity = {.low = box->forgot ? 0 : 1},
		.lease_ns = 3 * SECOND,
		.drift_ppm = 1000,
		.promise = 60,
		.tree_degree = 3,
		.timeout_ns = TIMEOUT,
	};
}

static void start_box(struct world *w, struct box *box)
{
	struct limiter_policy policies[KINDS];
	struct limiter_record *records = calloc(box->disk.durable.n + 1, sizeof(*records));
	unsigned self = box_index(w, box);
	struct limiter_params params = {
		.gossip = {.roster = w->roster,
			.self = self,
			.keyring = box->keyring,
			.seed = w->seed * 31 + self,
			.branching = 2,
			.timeout_ns = TIMEOUT,
			.datagram_max = 1200,
			.estimator = w->estimator,
			.demand_max = 1e9},
		.policies = policies,
		.n_policies = box->n,
		.n_workers = 1,
		.skips_idle = true,
	};

	if (!records)
		abort();
	box->starts++;
	params.gossip.epoch = 1 + self + BOXES * box->starts;
	params.ledger = mixed_ledger(w, box, records);
	fill_mixed_policies(w, box, policies);
	for (unsigned i = 0; i < KINDS; i++) {
		box->demands[i].arrived = box->demands[i].dropped = 0;
		memset(box->demands[i].slots, 0, sizeof(box->demands[i].slots));
	}
	box->measured_ns = w->now_ns;
	must(w, "limiter_create", limiter_create(&params, w->now_ns, &box->limiter));
	if (params.ledger.n_records > 0)
		limiter_remembers(box->limiter, (int64_t)(WALL + w->now_ns / SECOND) - 60);
	free(records);
}

static void crash_box(struct world *w, struct box *box)
{
	limiter_destroy(box->limiter);
	box->limiter = NULL;
	box->saving = false;
	disk_forget_written(&box->disk);
	box->up_ns = w->now_ns + prng_below(&w->prng, 6000) * MS;
	box->forgot = mixed_chance(w, 4);
	if (box->forgot)
		disk_free(&box->disk);
}

/* ---- traffic */

static void shift_demands(struct world *w)
{
	for (unsigned i = 0; i < BOXES; i++)
		for (unsigned k = 0; k < KINDS; k++) {
			double most = mixed_chance(w, 3) ? 1600000 : 300000;

			w->boxes[i].demands[k].rate = mixed_chance(w, k < IDLE ? 2 : 12)
							      ? prng_unit(&w->prng) * most
							      : 0;
		}
}

static void arrive_mixed(struct world *w, struct box *box, unsigned i, double dt)
{
	struct demand *d = &box->demands[box->kinds[i]];
	double bytes = floor(d->rate * dt * (0.8 + 0.4 * prng_unit(&w->prng)));
	struct limiter_view view;
	unsigned flows = 1 + box->kinds[i] % 5;

	if (bytes < 1)
		return;
	limiter_view(box->limiter, i, &view);
	d->arrived += (uint64_t)bytes;
	d->dropped += d->rate > view.local_limit;
	for (unsigned f = 0; f < flows; f++) {
		uint64_t count = d->slots[f] + (uint64_t)bytes / flows;

		d->slots[f] = (uint64_t)(f + 1) << FLOW_COUNT_BITS | (count & FLOW_COUNT_MASK);
	}
	limiter_wake(box->limiter, i);
}

static void measure_mixed(void *context, unsigned policy, struct limiter_sample *sample)
{
	const struct box *box = context;
	const struct demand *d = &box->demands[box->kinds[policy]];

	*sample = (struct limiter_sample){.arrived_bytes = d->arrived,
		.dropped_packets = d->dropped,
		.slots = d->slots,
		.backlog = (uint64_t)(d->rate / 100)};
}

static void spend_mixed(struct world *w, struct box *box, unsigned i)
{
	const struct demand *d = &box->demands[box->kinds[i]];
	uint64_t units = 1 + (uint64_t)(d->rate / 100);
	int ret;

	if (d->rate <= 0)
		return;
	ret = limiter_spend(box->limiter, i, units, w->now_ns);
	if (ret == 0 && mixed_chance(w, 20))
		limiter_refund(box->limiter, i, units / 2);
	else if (ret == -EAGAIN && mixed_chance(w, 10))
		limiter_forgo(box->limiter, i);
	if (box->kinds[i] == DRAWN && mixed_chance(w, 50)) {
		box->drawn += 40000;
		limiter_set_share(box->limiter, i, box->drawn, w->now_ns);
	}
}

static void run_units(struct world *w, struct box *box)
{
	int64_t wall_s = limiter_wall_s(box->limiter, w->now_ns);

	for (unsigned i = 0; i < box->n; i++) {
		unsigned kind = box->kinds[i];

		if (kind >= QUOTA && kind <= PERIODIC)
			spend_mixed(w, box, i);
		if (kind == PERIODIC && wall_s != TIME_UNKNOWN)
			limiter_period(box->limiter, i, (uint64_t)wall_s / PERIOD_S, w->now_ns);
	}
}

/* ---- events of limiters */

static int write_mixed_record(
	void *box, enum limiter_record_kind kind, uint64_t id, const void *record, size_t len)
{
	return disk_write(&((struct box *)box)->disk, kind, id, record, len);
}

static void run_mixed_disk(struct world *w, struct box *box)
{
	if (box->saving && w->now_ns >= box->written_ns) {
		box->saving = false;
		if (mixed_chance(w, 12)) {
			disk_forget_written(&box->disk);
			limiter_save_failed(box->limiter);
		} else {
			must(w, "disk_commit", disk_commit(&box->disk));
			limiter_committed(box->limiter, w->now_ns);
			box->forgot = false;
		}
	}
	if (box->saving || !limiter_uncommitted(box->limiter))
		return;
	box->saving = limiter_save(box->limiter, write_mixed_record, box) == 0;
	box->written_ns = w->now_ns + prng_below(&w->prng, 60) * MS;
}

/* Damages or truncates a datagram, sends it to another limiter, or replaces it by an old one. */
static void harm_datagram(struct world *w, unsigned from, unsigned to, uint8_t *buf, size_t len)
{
	switch (prng_below(&w->prng, 4)) {
	case 0:
		buf[prng_below(&w->prng, (uint32_t)len)] ^= 1 << prng_below(&w->prng, 8);
		break;
	case 1:
		len = prng_below(&w->prng, (uint32_t)len);
		break;
	case 2:
		to = prng_below(&w->prng, BOXES);
		break;
	default: {
		unsigned t = prng_below(&w->prng, TAPE);

		to = w->tape[t].to;
		len = w->tape[t].len;
		memcpy(buf, w->tape[t].bytes, len);
	}
	}
	if (len > 0)
		simnet_send(&w->net, &w->network, &w->prng, from, to, buf, len);
}

static void send_mixed(struct world *w, struct box *box)
{
	unsigned from = box_index(w, box), to;
	uint8_t buf[DATAGRAM_MAX];
	size_t len;

	while ((len = limiter_send(box->limiter, buf, &to)) > 0) {
		if (mixed_chance(w, 20)) {
			unsigned t = prng_below(&w->prng, TAPE);

			w->tape[t].to = to;
			w->tape[t].len = len;
			memcpy(w->tape[t].bytes, buf, len);
		}
		simnet_send(&w->net, &w->network, &w->prng, from, to, buf, len);
		if (mixed_chance(w, 12))
			harm_datagram(w, from, to, buf, len);
	}
}

static bool receive_mixed(void *world, unsigned from, unsigned to, uint8_t *buf, size_t len)
{
	struct world *w = world;
	struct box *box = &w->boxes[to];

	(void)from;
	if (!box->limiter)
		return false;
	limiter_receive(box->limiter, w->now_ns, buf, len);
	send_mixed(w, box);
	return true;
}

/* Reloads other policies, at its own time: with the group's limits, or others of its own. */
static void reload_box(struct world *w, struct box *box)
{
	struct limiter_policy policies[KINDS];
	unsigned from[KINDS];
	struct box had = *box;

	box->version = w->version;
	if (mixed_chance(w, 2))
		choose_kinds(w, box);
	fill_mixed_policies(w, box, policies);
	for (unsigned i = 0; i < box->n; i++) {
		from[i] = LIMITER_ADDED;
		for (unsigned k = 0; k < had.n; k++)
			if (had.kinds[k] == box->kinds[i])
				from[i] = k;
		if (from[i] != LIMITER_ADDED)
			continue;
		box->demands[box->kinds[i]].arrived = box->demands[box->kinds[i]].dropped = 0;
		memset(box->demands[box->kinds[i]].slots, 0, sizeof(box->demands[0].slots));
	}
	must(w, "limiter_update", limiter_update(box->limiter, policies, box->n, from, w->now_ns));
}

/* Changes the limit of one policy temporarily. */
static void change_terms(struct world *w, struct box *box)
{
	unsigned i = prng_below(&w->prng, box->n);
	struct limiter_policy policy = mixed_policy(w, box, box->kinds[i]);
	struct limiter_change_terms change = {.policy = i,
		.terms = {.limit_bps = policy.limit_bps / 2,
			.limit_s = policy.limit_s,
			.burst_bytes = policy.burst_bytes},
		.override = box->kinds[i]};

	must(w, "limiter_set_terms", limiter_set_terms(box->limiter, &change, 1, w->now_ns));
}

static void trouble_mixed_box(struct world *w, struct box *box)
{
	if (mixed_chance(w, 300))
		reload_box(w, box);
	if (mixed_chance(w, 800))
		change_terms(w, box);
	if (mixed_chance(w, 200) && box->keys != w->keys)
		rekey_box(w, box);
	if (mixed_chance(w, 1000))
		box->off_ns = (int64_t)prng_below(&w->prng, 400) * (int64_t)(100 * MS);
	if (mixed_chance(w, 800))
		crash_box(w, box);
}

static void step_box(struct world *w, struct box *box)
{
	double dt = (double)(w->now_ns - box->measured_ns) / 1e9;
	uint64_t wall_ns = WALL * SECOND + w->now_ns + (uint64_t)box->off_ns;

	limiter_clock(box->limiter, wall_ns, box_index(w, box) == 0, w->now_ns);
	run_units(w, box);
	if (w->now_ns >= limiter_next(box->limiter)) {
		for (unsigned i = 0; i < box->n; i++)
			arrive_mixed(w, box, i, dt);
		box->measured_ns = w->now_ns;
		limiter_tick(box->limiter, w->now_ns, measure_mixed, box);
	}
	run_mixed_disk(w, box);
	send_mixed(w, box);
}

static void trouble_all(struct world *w)
{
	if (mixed_chance(w, 150))
		shift_demands(w);
	if (mixed_chance(w, 500))
		w->version++;
	if (mixed_chance(w, 600) && w->keys < 4)
		w->keys++;
	if (mixed_chance(w, 800))
		w->sides[prng_below(&w->prng, BOXES)] ^= 1;
	if (mixed_chance(w, 400))
		memset(w->sides, 0, sizeof(w->sides));
}

static void step_mixed_world(struct world *w)
{
	w->now_ns += STEP;
	events_run(&w->events, w->now_ns, w);
	if (w->events.error)
		abort();
	trouble_all(w);
	for (unsigned i = 0; i < BOXES; i++) {
		struct box *box = &w->boxes[i];

		if (box->limiter)
			trouble_mixed_box(w, box);
		if (!box->limiter && w->now_ns >= box->up_ns)
			start_box(w, box);
		if (box->limiter)
			step_box(w, box);
	}
}

static void populate_mixed_world(struct world *w)
{
	for (unsigned i = 0; i < BOXES; i++) {
		uint64_t state = w->seed + i;

		w->ids[i] = (uint32_t)prng_next(&w->prng) | 1;
		for (unsigned b = 0; b < DATAGRAM_KEY; b++)
			w->secrets[i][b] = (uint8_t)splitmix64_next(&state);
		crypto_scalarmult_base(w->publics[i], w->secrets[i]);
	}
	must(w, "roster_create", roster_create(w->ids, BOXES, &w->roster));
	shift_demands(w);
	for (unsigned i = 0; i < BOXES; i++) {
		w->boxes[i].keyring = make_keyring(w, &w->boxes[i]);
		choose_kinds(w, &w->boxes[i]);
		start_box(w, &w->boxes[i]);
	}
}

void run_mixed_world(uint64_t seed, enum gossip_estimator estimator)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	w->seed = seed;
	w->estimator = estimator;
	w->now_ns = BEGIN;
	prng_seed(&w->prng, seed);
	w->net = (struct simnet){.events = &w->events, .receive = receive_mixed, .side = w->sides};
	w->network = (struct network){.kind = DELAY_UNIFORM,
		.delay_ns = 5 * MS,
		.spread_ns = 30 * MS,
		.loss = 0.05,
		.duplicate = 0.03,
		.reorder = 0.05,
		.reorder_ns = 100 * MS};
	populate_mixed_world(w);
	while (w->now_ns < BEGIN + LENGTH)
		step_mixed_world(w);
	for (unsigned i = 0; i < BOXES; i++) {
		limiter_destroy(w->boxes[i].limiter);
		keyring_destroy(w->boxes[i].keyring);
		disk_free(&w->boxes[i].disk);
	}
	roster_destroy(w->roster);
	simnet_free(&w->net);
	events_free(&w->events);
	free(w);
}
