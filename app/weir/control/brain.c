/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "brain.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include <rte_common.h>

#include <sodium.h>

#include "base/hash.h"
#include "base/time.h"
#include "instance.h"
#include "delays.h"
#include "gossip_socket.h"
#include "log.h"
#include "measure.h"
#include "publish.h"
#include "credits.h"
#include "commit.h"
#include "attach.h"

/* Datagrams taken in before the loop looks at the clock again. */
#define RECEIVE_BATCH 64

/* How long a worker has to take in limits before more are sent. */
#define REST_NS MS_NS

struct brain {
	uint8_t key[DATAGRAM_KEY];
	struct roster *roster; /* of the limiters of the group, which the limiter borrows */
	bool *alive;           /* n_roster: as last logged */
	uint64_t peers_seen;   /* gossip_changes() of then */
};

static void brain_free(struct instance *inst)
{
	struct brain *brain = inst->brain;

	if (!brain)
		return;
	roster_destroy(brain->roster);
	sodium_memzero(brain->key, sizeof(brain->key));
	free(brain->alive);
	free(brain);
	inst->brain = NULL;
}

void brain_stop(struct instance *inst)
{
	commit_last(inst);
	limiter_destroy(inst->limiter);
	brain_free(inst);
}

static int limiter_build(struct instance *inst, const struct limiter_policy *policies)
{
	static const enum gossip_estimator estimators[] = {
		[ESTIMATOR_STATE] = GOSSIP_STATE,
		[ESTIMATOR_TREE] = GOSSIP_TREE,
		[ESTIMATOR_PUSH_SUM] = GOSSIP_PUSH_SUM,
	};
	const struct config *config = inst->config;
	const struct gossip_config *gossip = &config->gossip;
	struct limiter_params params = {
		.gossip = {.roster = inst->brain->roster,
			.self = gossip->self,
			.key = gossip->key_file[0] ? inst->brain->key : NULL,
			.branching = gossip->branching,
			.timeout_ns = gossip->timeout_ns,
			.datagram_max = gossip->datagram_max,
			.estimator = estimators[gossip->estimator],
			.compensate = gossip->compensate},
		.policies = policies,
		.n_policies = inst->n_policies,
		.n_workers = config->n_workers,
		.skips_idle = true,
		.ledger = commit_ledger(inst),
	};
	int ret;

	do
		randombytes_buf(&params.gossip.epoch, sizeof(params.gossip.epoch));
	while (params.gossip.epoch == 0);
	randombytes_buf(&params.gossip.seed, sizeof(params.gossip.seed));
	ret = limiter_create(&params, control_now(), &inst->limiter);
	commit_begun(inst, ret);
	return ret;
}

static int roster_build(struct instance *inst)
{
	const struct gossip_config *gossip = &inst->config->gossip;
	uint32_t *ids = calloc(gossip->n_roster, sizeof(*ids));
	int ret;

	if (!ids)
		return -ENOMEM;
	for (unsigned i = 0; i < gossip->n_roster; i++)
		ids[i] = name_hash(gossip->roster[i].name);
	ret = roster_create(ids, gossip->n_roster, &inst->brain->roster);
	free(ids);
	return ret;
}

static int brain_alloc(struct instance *inst)
{
	inst->brain = calloc(1, sizeof(*inst->brain));
	if (!inst->brain)
		return -ENOMEM;
	inst->brain->alive = calloc(inst->config->gossip.n_roster, sizeof(*inst->brain->alive));
	return inst->brain->alive ? 0 : -ENOMEM;
}

int brain_start(struct instance *inst)
{
	struct limiter_policy *policies = engine_limiter_policies(
		inst->policies, inst->n_policies, (int64_t)time(NULL));
	int ret = policies ? brain_alloc(inst) : -ENOMEM;

	if (ret == 0)
		ret = roster_build(inst);
	if (ret == 0 && inst->config->gossip.key_file[0])
		ret = gossip_key_load(inst->config->gossip.key_file, inst->brain->key);
	if (ret == 0)
		ret = limiter_build(inst, policies);
	if (ret)
		brain_free(inst);
	free(policies);
	return ret;
}

static void log_peers(struct instance *inst)
{
	const struct gossip *gossip = limiter_gossip(inst->limiter);
	const struct gossip_config *config = &inst->config->gossip;
	struct brain *brain = inst->brain;

	if (brain->peers_seen == gossip_changes(gossip))
		return;
	brain->peers_seen = gossip_changes(gossip);
	for (unsigned i = 0; i < config->n_roster; i++) {
		const struct peer *peer = gossip_peer(gossip, i);
		bool alive = peer && peer->alive;

		if (i == config->self || alive == brain->alive[i])
			continue;
		brain->alive[i] = alive;
		if (!peer) /* it has another neighbour now, and is not ours to watch */
			continue;
		if (alive)
			log_info("peer %s: heard", config->roster[i].name);
		else
			log_warn("peer %s: lost; its 1/%u of each limit is not used",
				config->roster[i].name, config->n_roster);
	}
}

void brain_tell(struct instance *inst)
{
	uint8_t buf[DATAGRAM_MAX];
	unsigned peer;
	size_t len;

	credits_retry(inst);
	publish(inst);
	while ((len = limiter_send(inst->limiter, buf, &peer)) > 0)
		gossip_socket_send(inst->gossip, peer, buf, len);
}

static void control_tick(struct instance *inst)
{
	if (tsc_clock_refine(&inst->clock, control_now())) {
		log_info("TSC: %.6f MHz", (double)inst->clock.hz / 1e6);
		publish_all_later(inst);
	}
	engine_wake(&inst->engine, inst->limiter, inst->slots.of, inst->n_policies);
	limiter_tick(inst->limiter, control_now(), measure_policy, inst);
	engine_share_samples(&inst->engine, control_now());
	delays_look(inst, control_now());
	brain_tell(inst);
	log_peers(inst);
}

uint64_t brain_next(const struct instance *inst)
{
	uint64_t next = limiter_next(inst->limiter);

	return dirty_is_empty(&inst->dirty) ? next : RTE_MIN(next, control_now() + REST_NS);
}

bool brain_run(struct instance *inst, uint64_t now_ns)
{
	if (now_ns >= limiter_next(inst->limiter))
		control_tick(inst);
	else
		publish_rest(inst);
	return false;
}

int gossip_start(struct instance *inst)
{
	return gossip_socket_open(&inst->config->gossip, &inst->gossip);
}

void gossip_stop(struct instance *inst)
{
	gossip_socket_close(inst->gossip);
	inst->gossip = NULL;
}

int gossip_fd(const struct instance *inst)
{
	return inst->gossip->fd;
}

void gossip_take(struct instance *inst)
{
	uint8_t buf[DATAGRAM_MAX + 1];
	bool messages = false;

	for (int i = 0; i < RECEIVE_BATCH; i++) {
		ssize_t n = gossip_socket_receive(inst->gossip, buf, sizeof(buf));

		if (n < 0)
			break;
		messages |= limiter_receive(inst->limiter, control_now(), buf, (size_t)n) ==
			    GOSSIP_MESSAGE;
	}
	if (messages)
		brain_tell(inst);
}
