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
#include "box.h"
#include "delays.h"
#include "gossip_socket.h"
#include "log.h"
#include "measure.h"
#include "publish.h"
#include "purse.h"
#include "settle.h"
#include "tenant.h"

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

static void brain_free(struct box *box)
{
	struct brain *brain = box->brain;

	if (!brain)
		return;
	roster_destroy(brain->roster);
	sodium_memzero(brain->key, sizeof(brain->key));
	free(brain->alive);
	free(brain);
	box->brain = NULL;
}

void brain_stop(struct box *box)
{
	settle_last(box);
	limiter_destroy(box->limiter);
	brain_free(box);
}

static int limiter_build(struct box *box, const struct limiter_policy *policies)
{
	static const enum gossip_estimator estimators[] = {
		[ESTIMATOR_STATE] = GOSSIP_STATE,
		[ESTIMATOR_TREE] = GOSSIP_TREE,
		[ESTIMATOR_PUSH_SUM] = GOSSIP_PUSH_SUM,
	};
	const struct config *config = box->config;
	const struct gossip_config *gossip = &config->gossip;
	struct limiter_params params = {
		.gossip = {.roster = box->brain->roster,
			.self = gossip->self,
			.key = gossip->key_file[0] ? box->brain->key : NULL,
			.branching = gossip->branching,
			.timeout_ns = gossip->timeout_ns,
			.datagram_max = gossip->datagram_max,
			.estimator = estimators[gossip->estimator],
			.compensate = gossip->compensate},
		.policies = policies,
		.n_policies = box->n_policies,
		.n_workers = config->n_workers,
		.naps = true,
		.ledger = settle_ledger(box),
	};
	int ret;

	do
		randombytes_buf(&params.gossip.epoch, sizeof(params.gossip.epoch));
	while (params.gossip.epoch == 0);
	randombytes_buf(&params.gossip.seed, sizeof(params.gossip.seed));
	ret = limiter_create(&params, control_now(), &box->limiter);
	settle_begun(box, ret);
	return ret;
}

static int roster_build(struct box *box)
{
	const struct gossip_config *gossip = &box->config->gossip;
	uint32_t *ids = calloc(gossip->n_roster, sizeof(*ids));
	int ret;

	if (!ids)
		return -ENOMEM;
	for (unsigned i = 0; i < gossip->n_roster; i++)
		ids[i] = name_hash(gossip->roster[i].name);
	ret = roster_create(ids, gossip->n_roster, &box->brain->roster);
	free(ids);
	return ret;
}

static int brain_alloc(struct box *box)
{
	box->brain = calloc(1, sizeof(*box->brain));
	if (!box->brain)
		return -ENOMEM;
	box->brain->alive = calloc(box->config->gossip.n_roster, sizeof(*box->brain->alive));
	return box->brain->alive ? 0 : -ENOMEM;
}

int brain_start(struct box *box)
{
	struct limiter_policy *policies = engine_limiter_policies(
		box->policies, box->n_policies, (int64_t)time(NULL));
	int ret = policies ? brain_alloc(box) : -ENOMEM;

	if (ret == 0)
		ret = roster_build(box);
	if (ret == 0 && box->config->gossip.key_file[0])
		ret = gossip_key_load(box->config->gossip.key_file, box->brain->key);
	if (ret == 0)
		ret = limiter_build(box, policies);
	if (ret)
		brain_free(box);
	free(policies);
	return ret;
}

static void log_peers(struct box *box)
{
	const struct gossip *gossip = limiter_gossip(box->limiter);
	const struct gossip_config *config = &box->config->gossip;
	struct brain *brain = box->brain;

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

void brain_tell(struct box *box)
{
	uint8_t buf[DATAGRAM_MAX];
	unsigned peer;
	size_t len;

	purses_retry(box);
	publish(box);
	while ((len = limiter_send(box->limiter, buf, &peer)) > 0)
		gossip_socket_send(box->gossip, peer, buf, len);
}

static void control_tick(struct box *box)
{
	if (tsc_clock_refine(&box->clock, control_now())) {
		log_info("TSC: %.6f MHz", (double)box->clock.hz / 1e6);
		publish_all_later(box);
	}
	engine_wake(&box->engine, box->limiter, box->slots.of, box->n_policies);
	limiter_tick(box->limiter, control_now(), measure_policy, box);
	engine_share_samples(&box->engine, control_now());
	delays_look(box, control_now());
	brain_tell(box);
	log_peers(box);
}

uint64_t brain_next(const struct box *box)
{
	uint64_t next = limiter_next(box->limiter);

	return dirty_is_empty(&box->dirty) ? next : RTE_MIN(next, control_now() + REST_NS);
}

bool brain_run(struct box *box, uint64_t now_ns)
{
	if (now_ns >= limiter_next(box->limiter))
		control_tick(box);
	else
		publish_rest(box);
	return false;
}

int gossip_start(struct box *box)
{
	return gossip_socket_open(&box->config->gossip, &box->gossip);
}

void gossip_stop(struct box *box)
{
	gossip_socket_close(box->gossip);
	box->gossip = NULL;
}

int gossip_fd(const struct box *box)
{
	return box->gossip->fd;
}

void gossip_take(struct box *box)
{
	uint8_t buf[DATAGRAM_MAX + 1];
	bool letters = false;

	for (int i = 0; i < RECEIVE_BATCH; i++) {
		ssize_t n = gossip_socket_receive(box->gossip, buf, sizeof(buf));

		if (n < 0)
			break;
		letters |= limiter_receive(box->limiter, control_now(), buf, (size_t)n) ==
			   GOSSIP_LETTER;
	}
	if (letters)
		brain_tell(box);
}
