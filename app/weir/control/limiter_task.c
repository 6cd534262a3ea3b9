/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The task of the limiter (limiter/limiter.h) in the appliance: its construction, its ticks, and
 * the datagrams that it receives and sends.
 */
#include "limiter_task.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <unistd.h>

#include <rte_common.h>

#include <sodium.h>

#include "base/hash.h"
#include "base/time.h"
#include "engine/engine.h"
#include "instance.h"
#include "delays.h"
#include "differs.h"
#include "gossip_socket.h"
#include "limiter/limiter.h"
#include "kernel_lines.h"
#include "event.h"
#include "totals.h"
#include "publish.h"
#include "senders.h"
#include "secret/group_keys.h"
#include "renewal.h"
#include "tick.h"
#include "credits.h"
#include "commit.h"
#include "attach.h"

struct instance;

static struct lending_place bucket_place(const struct instance *inst, unsigned policy)
{
	return (struct lending_place){
		.engine = &inst->engine,
		.slot = inst->slots.of[policy],
		.now = tick_now(),
		.hz = inst->clock.hz,
	};
}

/* A policy that waits for workers to leave its slot has no bucket yet. */
static struct loan_bucket look_at_bucket(void *context, unsigned policy)
{
	struct lending_place place = bucket_place(context, policy);

	if (place.engine->slots[place.slot].held)
		return (struct loan_bucket){0};
	return lending_look(&place);
}

static struct loan_taken take_tokens(
	void *context, unsigned policy, uint64_t keep, uint64_t most, bool withhold)
{
	struct lending_place place = bucket_place(context, policy);

	return lending_take(&place, keep, most, withhold);
}

static uint64_t give_tokens(void *context, unsigned policy, uint64_t bytes, uint64_t until_ns)
{
	struct lending_place place = bucket_place(context, policy);
	uint64_t seen, given;

	if (place.engine->slots[place.slot].held)
		return 0;
	do {
		seen = lending_seen(&place);
		if (control_now() >= until_ns)
			return 0;
		place.now = tick_now();
		given = bytes;
	} while (!lending_give(&place, seen, &given));
	return given;
}

/*
 * Time between two checks for differences of peers. A difference that has no name after the second
 * time is logged without one.
 */
#define DIFFERS_NS       (SECOND_NS / 2)
#define DIFFERS_NAMED_NS (2 * SECOND_NS)

/* Time that a worker has to take limits before more are sent. */
#define REST_NS MS_NS

struct limiter_task {
	struct roster *roster;    /* the group's limiters; the limiter borrows it */
	bool *alive;              /* n_roster: as last logged */
	uint64_t peers_seen;      /* gossip_changes() at that time */
	bool *differs;            /* n_roster: as last logged */
	uint64_t differs_next_ns; /* time of the next check */
};

/*
 * Largest plausible demand of a peer, 1 Tbit/s in bytes a second. No limiter's ports together are
 * faster, and none has as many flows or waiting bytes. Weir rejects larger reports.
 */
#define LINE_RATE_MOST 125e9

static void limiter_task_free(struct instance *inst)
{
	struct limiter_task *limiter_task = inst->limiter_task;

	if (!limiter_task)
		return;
	keyring_destroy(inst->keyring);
	inst->keyring = NULL;
	roster_destroy(limiter_task->roster);
	free(limiter_task->alive);
	free(limiter_task->differs);
	free(limiter_task);
	inst->limiter_task = NULL;
}

void limiter_task_stop(struct instance *inst)
{
	commit_last(inst);
	limiter_destroy(inst->limiter);
	limiter_task_free(inst);
}

static int limiter_build(struct instance *inst, const struct limiter_policy *policies)
{
	static const enum gossip_estimator estimators[] = {
		[ESTIMATOR_STATE] = GOSSIP_STATE,
		[ESTIMATOR_TREE] = GOSSIP_TREE,
	};
	const struct config *config = inst->config;
	const struct gossip_config *gossip = &config->gossip;
	const bool loans = gossip->loans && inst->engine.shared_buckets;
	struct limiter_params params = {
		.gossip = {.roster = inst->limiter_task->roster,
			.self = gossip->self,
			.keyring = inst->keyring,
			.random_bits = randombytes_random,
			.branching = gossip->branching,
			.timeout_ns = gossip->timeout_ns,
			.datagram_max = gossip->datagram_max,
			.estimator = estimators[gossip->estimator],
			.demand_max = LINE_RATE_MOST},
		.policies = policies,
		.n_policies = inst->n_policies,
		.n_workers = engine_lines(&inst->engine),
		.skips_idle = true,
		.ledger = commit_ledger(inst),
		.buckets = loans ? (struct limiter_buckets){inst, look_at_bucket, take_tokens,
					   give_tokens}
				 : (struct limiter_buckets){0},
		.overshoot_alarm = gossip->overshoot_alarm,
		.members = inst->members,
	};

	do
		randombytes_buf(&params.gossip.epoch, sizeof(params.gossip.epoch));
	while (params.gossip.epoch == 0);
	randombytes_buf(&params.gossip.seed, sizeof(params.gossip.seed));
	return limiter_create(&params, control_now(), &inst->limiter);
}

static int limiter_task_alloc(struct instance *inst)
{
	inst->limiter_task = calloc(1, sizeof(*inst->limiter_task));
	if (!inst->limiter_task)
		return -ENOMEM;
	inst->receives_since_ns = control_now();
	inst->differs_alarm_ns = inst->config->gossip.differs_alarm_ns;
	inst->limiter_task->alive = calloc(
		inst->config->gossip.n_roster, sizeof(*inst->limiter_task->alive));
	inst->limiter_task->differs = calloc(
		inst->config->gossip.n_roster, sizeof(*inst->limiter_task->differs));
	return inst->limiter_task->alive && inst->limiter_task->differs ? 0 : -ENOMEM;
}

int limiter_task_start(struct instance *inst)
{
	struct limiter_policy *policies = engine_limiter_policies(
		inst->policies, inst->n_policies, inst->config->gossip.loans, TIME_UNKNOWN);
	const struct complaint_sink to = complaint_sink_of(stderr);
	int ret = policies ? limiter_task_alloc(inst) : -ENOMEM;

	if (ret == 0)
		ret = group_keys_roster(&inst->config->gossip, &inst->limiter_task->roster);
	if (ret == 0)
		ret = group_keys_load(&inst->config->gossip, geteuid(), &to, &inst->keyring);
	if (ret == 0) {
		ret = limiter_build(inst, policies);
		commit_begun(inst, ret);
		if (ret == 0 && (inst->removed || inst->joining))
			limiter_leave(inst->limiter, true);
	}
	if (ret)
		limiter_task_free(inst);
	free(policies);
	return ret;
}

int limiter_task_try(const struct config *config, struct ledger_store *opened)
{
	struct instance *inst = calloc(1, sizeof(*inst));
	struct limiter_policy *policies = engine_limiter_policies(
		config->policies, config->n_policies, config->gossip.loans, TIME_UNKNOWN);
	int ret = inst && policies ? 0 : -ENOMEM;

	if (ret == 0) {
		inst->config = config;
		inst->policies = config->policies;
		inst->n_policies = config->n_policies;
		inst->engine.n_workers = config->n_workers;
		ret = limiter_task_alloc(inst);
	}
	if (ret == 0)
		ret = group_keys_roster(&config->gossip, &inst->limiter_task->roster);
	if (ret == 0)
		ret = commit_make(inst, opened);
	if (ret == 0)
		ret = limiter_build(inst, policies);
	if (inst) {
		limiter_destroy(inst->limiter);
		limiter_task_free(inst);
		commit_stop(inst);
	}
	free(inst);
	free(policies);
	return ret;
}

/* The parts of control with an entry for each limiter of the roster. */
struct by_limiter {
	struct roster *roster, *of_socket;
	struct refusals *refusals;
	struct senders *senders;
	bool *alive, *differs;
};

static void free_by_limiter(struct by_limiter *by)
{
	roster_destroy(by->roster);
	roster_destroy(by->of_socket);
	refusals_destroy(by->refusals);
	senders_destroy(by->senders);
	free(by->alive);
	free(by->differs);
}

static int make_by_limiter(const struct gossip_config *config, struct by_limiter *by)
{
	int ret = group_keys_roster(config, &by->roster);

	if (ret == 0)
		ret = group_keys_roster(config, &by->of_socket);
	if (ret == 0)
		ret = refusals_create(config, &by->refusals);
	if (ret == 0)
		ret = senders_create(config->n_roster, &by->senders);
	by->alive = calloc(config->n_roster, sizeof(*by->alive));
	by->differs = calloc(config->n_roster, sizeof(*by->differs));
	return ret == 0 && !(by->alive && by->differs) ? -ENOMEM : ret;
}

/* Takes them over, with the logged state of each limiter. */
static void take_by_limiter(struct instance *inst, const struct by_limiter *by)
{
	struct limiter_task *limiter_task = inst->limiter_task;

	for (unsigned i = 0; i < by->roster->n; i++) {
		unsigned was = roster_find(limiter_task->roster, by->roster->ids[i]);

		if (was == limiter_task->roster->n)
			continue;
		by->alive[i] = limiter_task->alive[was];
		by->differs[i] = limiter_task->differs[was];
		refusals_keep(by->refusals, i, refusals_of(inst->gossip->refusals, was));
	}
	gossip_socket_regroup(inst->gossip, by->of_socket, by->refusals);
	senders_destroy(inst->senders);
	inst->senders = by->senders;
	if (limiter_task->roster != by->roster)
		roster_destroy(limiter_task->roster);
	free(limiter_task->alive);
	free(limiter_task->differs);
	limiter_task->roster = by->roster;
	limiter_task->alive = by->alive;
	limiter_task->differs = by->differs;
	/* A limiter that is new here has not been silent since the start. */
	inst->receives_since_ns = control_now();
	limiter_task->peers_seen = 0;
}

static void swap_rosters(struct gossip_config *a, struct gossip_config *b)
{
	struct peer_config *roster = a->roster;
	unsigned n = a->n_roster, self = a->self;

	a->roster = b->roster;
	a->n_roster = b->n_roster;
	a->self = b->self;
	b->roster = roster;
	b->n_roster = n;
	b->self = self;
}

int limiter_task_regroup(struct instance *inst, struct gossip_config *live,
	struct gossip_config *next, struct keyring **keyring)
{
	struct keyring *keys = *keyring;
	struct by_limiter by = {0};
	int ret;

	swap_rosters(live, next);
	ret = make_by_limiter(live, &by);
	if (ret == 0 && roster_equal(inst->limiter_task->roster, by.roster)) {
		/* Only addresses or keys have changed: possible with a ledger, too. */
		roster_destroy(by.roster);
		by.roster = inst->limiter_task->roster;
		if (keys)
			limiter_rekey(inst->limiter, keys);
	} else if (ret == 0) {
		ret = limiter_regroup(
			inst->limiter, by.roster, NULL, live->self, keys, control_now());
	}
	if (ret) {
		swap_rosters(live, next);
		free_by_limiter(&by);
		return ret;
	}
	*keyring = inst->keyring;
	inst->keyring = keys;
	take_by_limiter(inst, &by);
	return 0;
}

static void log_peers(struct instance *inst)
{
	const struct gossip *gossip = limiter_gossip(inst->limiter);
	const struct gossip_config *config = &inst->config->gossip;
	struct limiter_task *limiter_task = inst->limiter_task;

	if (limiter_task->peers_seen == gossip_changes(gossip))
		return;
	limiter_task->peers_seen = gossip_changes(gossip);
	for (unsigned i = 0; i < config->n_roster; i++) {
		const struct peer *peer = gossip_peer(gossip, i);
		bool alive = peer && peer->alive;

		if (i == config->self || alive == limiter_task->alive[i])
			continue;
		limiter_task->alive[i] = alive;
		if (!peer) /* the peer has another neighbour now, not this limiter */
			continue;
		if (alive)
			event(PEER_HEARD, event_word("peer", config->roster[i].name));
		else
			event(PEER_LOST, event_word("peer", config->roster[i].name),
				event_count("limiters", config->n_roster));
	}
}

/* Logs one line when a peer begins to differ, and one when it no longer does. */
static void log_differing_peer(struct instance *inst, unsigned i, uint64_t now_ns)
{
	const char *name = inst->config->gossip.roster[i].name;
	struct differs differs = differs_of(inst, i, now_ns);
	bool *logged = &inst->limiter_task->differs[i];
	char things[2 * DIFFERS_TEXT + 32] = "in policies";

	if ((differs.since_ns != 0) == *logged)
		return;
	if (!*logged && !differs.named && now_ns - differs.since_ns < DIFFERS_NAMED_NS)
		return;
	if (differs.named)
		snprintf(things, sizeof(things), "%s%s%s%s", differs.text[0],
			differs.named > 1 ? "; " : "", differs.text[1],
			differs.others || differs.more ? "; and more" : "");
	if (*logged)
		event(PEER_AGREES, event_word("peer", name));
	else
		event(PEER_DIFFERS, event_word("peer", name), event_word("things", things));
	*logged = !*logged;
}

static void log_differing_peers(struct instance *inst)
{
	uint64_t now = control_now();

	if (now < inst->limiter_task->differs_next_ns)
		return;
	inst->limiter_task->differs_next_ns = now + DIFFERS_NS;
	for (unsigned i = 0; i < inst->config->gossip.n_roster; i++)
		log_differing_peer(inst, i, now);
}

void limiter_task_publish(struct instance *inst)
{
	uint8_t buf[DATAGRAM_MAX];
	uint64_t tick = tick_now();
	bool left = false;
	unsigned peer;
	size_t len;

	credits_retry(inst);
	publish(inst);
	while ((len = limiter_send(inst->limiter, buf, &peer)) > 0)
		left |= gossip_socket_send(inst->gossip, peer, buf, len);
	if (left)
		kernel_lines_spoke(inst, tick);
}

/*
 * Logs each jump of the TSC, because jumps are rare unless something is wrong. The kernel's CPUs
 * use another clock, so they are updated before control publishes anything by the new one.
 */
static void look_at_clocks(struct instance *inst)
{
	struct tsc_clock *clock = &inst->clock;
	enum tsc_news news = tsc_clock_look(clock);

	if (news != TSC_SAME)
		kernel_lines_clock(inst, news);
	switch (news) {
	case TSC_SAME:
		return;
	case TSC_REFINED:
		event(TSC_REFINED, event_real("mhz", (double)clock->hz / 1e6));
		publish_all_later(inst);
		return;
	case TSC_JUMPED:
		event(TSC_JUMPED, event_real("ms", (double)clock->jumped_ns / MS_NS));
		return;
	case TSC_SET_BACK:
		event(TSC_SET_BACK, event_real("ms", (double)clock->jumped_ns / MS_NS));
		publish_restart(inst);
	}
}

static void control_tick(struct instance *inst)
{
	bool measures = limiter_measures(inst->limiter, control_now());

	look_at_clocks(inst);
	if (measures)
		engine_wake(&inst->engine, inst->limiter, inst->slots.of, inst->n_policies);
	limiter_tick(inst->limiter, control_now(), measure_policy, inst);
	if (measures)
		engine_share_samples(&inst->engine, control_now());
	delays_look(inst, control_now());
	limiter_task_publish(inst);
	log_peers(inst);
	log_differing_peers(inst);
}

uint64_t limiter_task_next(const struct instance *inst)
{
	uint64_t next = RTE_MIN(limiter_next(inst->limiter), limiter_next_look(inst->limiter));

	if (publish_is_done(inst) && !renewal_waits(inst))
		return next;
	return RTE_MIN(next, control_now() + REST_NS);
}

bool limiter_task_run(struct instance *inst, uint64_t now_ns)
{
	if (now_ns >= limiter_next(inst->limiter))
		control_tick(inst);
	else
		publish_rest(inst);
	if (now_ns >= limiter_next_look(inst->limiter)) {
		limiter_look(inst->limiter, control_now());
		limiter_task_publish(inst);
	}
	renewal_run(inst);
	return false;
}

int gossip_start(struct instance *inst)
{
	int ret = senders_create(inst->config->gossip.n_roster, &inst->senders);

	if (ret == 0)
		ret = gossip_socket_open(&inst->config->gossip, inst->members, &inst->gossip);
	if (ret)
		gossip_stop(inst);
	return ret;
}

void gossip_stop(struct instance *inst)
{
	gossip_socket_close(inst->gossip);
	inst->gossip = NULL;
	senders_destroy(inst->senders);
	inst->senders = NULL;
}

int gossip_fd(const struct instance *inst)
{
	return inst->gossip->fd;
}

uint64_t gossip_next(const struct instance *inst)
{
	return gossip_socket_next(inst->gossip);
}

bool gossip_run(struct instance *inst, uint64_t now_ns)
{
	gossip_socket_retry(inst->gossip, now_ns);
	return false;
}

/* Notes a rejected datagram of the batch that was read. */
static void note_refusal(struct instance *inst, unsigned datagram, unsigned verdict, uint64_t now)
{
	unsigned source = gossip_socket_source(inst->gossip, datagram);
	const struct peer *peer;

	if (source == inst->config->gossip.n_roster)
		return;
	peer = gossip_peer(limiter_gossip(inst->limiter), source);
	refusals_note(
		inst->gossip->refusals, source, verdict, peer ? peer->own_advanced_ns : 0, now);
}

/* Notes the address of an authentic datagram, which shows if a peer's name is used twice. */
static void note_sender(struct instance *inst, unsigned datagram, uint64_t now)
{
	unsigned peer = gossip_socket_note_sender(inst->gossip, datagram, inst->senders, now);
	char addresses[SENDERS_TEXT];

	if (peer < inst->config->gossip.n_roster)
		event(PEER_TWICE, event_word("peer", inst->config->gossip.roster[peer].name),
			event_word(
				"addresses", senders_write(inst->senders, peer, now, addresses)));
}

void gossip_take(struct instance *inst)
{
	unsigned n = gossip_socket_read(inst->gossip);
	uint64_t now = control_now();
	bool messages = false;

	for (unsigned i = 0; i < n; i++) {
		unsigned verdict = REFUSED_SOURCE;
		size_t len;
		uint8_t *at = gossip_socket_datagram(inst->gossip, i, &len);

		if (at)
			verdict = limiter_receive(inst->limiter, now, at, len);
		messages |= verdict == GOSSIP_MESSAGE;
		if (verdict == GOSSIP_STRANGER)
			gossip_socket_keep_stray(inst->gossip, i);
		/* Datagrams of a previous start are replays, and a copy of a limiter sends them. */
		if (verdict == GOSSIP_ACCEPTED || verdict == GOSSIP_MESSAGE ||
			verdict == GOSSIP_UNPROVEN || verdict == GOSSIP_REPLAY)
			note_sender(inst, i, now);
		if (refusals_count(verdict))
			note_refusal(inst, i, verdict, now);
	}
	if (messages)
		limiter_task_publish(inst);
}
