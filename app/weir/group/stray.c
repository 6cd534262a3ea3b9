/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Sends the set of members to a removed limiter that still sends gossip, so that it finds its own
 * removal and enforces nothing (group_task.h). Uses a gossip between the two limiters, without
 * policies. It sends only messages, so the other limiter does not count this one as active.
 */
#include "group_task.h"

#include <errno.h>
#include <stdlib.h>

#include <sodium.h>

#include "base/time.h"
#include "gossip/gossip.h"
#include "gossip_socket.h"
#include "members/exchange.h"
#include "secret/group_keys.h"

#define OTHER 1 /* index of the removed limiter in the roster of two */

#define TICK_NS     EXCHANGE_EVERY_NS
#define MUTE_NS     (2 * SECOND_NS)  /* a version without this exchange reports nothing */
#define PATIENCE_NS (10 * SECOND_NS) /* after that, nothing more is sent to it */

struct stray {
	struct roster *roster;
	struct keyring *keyring;
	struct gossip *gossip;
	struct exchange *exchange;
	struct sockaddr_storage address;
	socklen_t address_len;
	uint64_t began_ns, next_ns;
	bool authentic;
};

void stray_destroy(struct stray *stray)
{
	if (!stray)
		return;
	exchange_destroy(stray->exchange);
	gossip_destroy(stray->gossip);
	keyring_destroy(stray->keyring);
	roster_destroy(stray->roster);
	free(stray);
}

static int open_gossip(struct stray *stray, const struct gossip_config *pair,
	struct keyring *keyring, uint64_t now_ns)
{
	static const uint64_t policy = 0; /* no policy has this id */
	struct gossip_params params = {.roster = stray->roster,
		.n_policies = 1,
		.policies = &policy,
		.keyring = keyring,
		.random_bits = randombytes_random,
		.branching = 1,
		.tick_ns = TICK_NS,
		.timeout_ns = PATIENCE_NS,
		.datagram_max = pair->datagram_max,
		.estimator = pair->estimator == ESTIMATOR_TREE ? GOSSIP_TREE : GOSSIP_STATE};

	do
		randombytes_buf(&params.epoch, sizeof(params.epoch));
	while (params.epoch == 0);
	randombytes_buf(&params.seed, sizeof(params.seed));
	return gossip_create(&params, now_ns, &stray->gossip);
}

int stray_create(const struct gossip_config *pair, struct keyring *keyring, struct members *members,
	const struct gossip_stray *datagram, uint64_t now_ns, struct stray **out)
{
	const struct exchange_params params = {.n = 2, .members = members};
	struct stray *stray = calloc(1, sizeof(*stray));
	int ret = stray ? group_keys_roster(pair, &stray->roster) : -ENOMEM;

	if (ret == 0)
		ret = open_gossip(stray, pair, keyring, now_ns);
	if (ret == 0)
		ret = exchange_create(&params, &stray->exchange);
	if (ret) {
		stray_destroy(stray);
		return ret;
	}
	stray->keyring = keyring;
	stray->address = datagram->from;
	stray->address_len = datagram->from_len;
	stray->began_ns = stray->next_ns = now_ns;
	exchange_watch(stray->exchange, OTHER, true);
	*out = stray;
	return 0;
}

uint32_t stray_id(const struct stray *stray)
{
	return stray->roster->ids[OTHER];
}

void stray_receive(struct stray *stray, struct gossip_stray *datagram, uint64_t now_ns)
{
	enum gossip_verdict verdict = gossip_receive(
		stray->gossip, now_ns, datagram->bytes, datagram->len);
	struct gossip_message message;

	stray->authentic |= verdict == GOSSIP_ACCEPTED || verdict == GOSSIP_UNPROVEN ||
			    verdict == GOSSIP_MESSAGE;
	if (verdict != GOSSIP_MESSAGE)
		return;
	message = gossip_message(stray->gossip, datagram->bytes, datagram->len);
	/* Only the digest: the entries of a limiter that was removed do not count. */
	if (message.len >= EXCHANGE_HEAD && message.at[0] == EXCHANGE_MESSAGE)
		exchange_receive(stray->exchange, OTHER, message.at, EXCHANGE_HEAD);
}

void stray_run(struct stray *stray, struct gossip_socket *socket, uint64_t now_ns)
{
	uint8_t buf[DATAGRAM_MAX];
	size_t len, room = gossip_message_room(stray->gossip);
	unsigned to;

	if (now_ns < stray->next_ns)
		return;
	stray->next_ns = now_ns + TICK_NS;
	gossip_tick(stray->gossip, now_ns);
	exchange_tick(stray->exchange);
	if (!stray->authentic)
		return;
	while ((len = exchange_send(stray->exchange, now_ns, gossip_message_at(buf), room, &to)) >
		0) {
		len = gossip_seal_message(stray->gossip, buf, len, to);
		gossip_socket_send_to(socket, &stray->address, stray->address_len, buf, len);
	}
}

uint64_t stray_next(const struct stray *stray)
{
	return stray->next_ns;
}

bool stray_differs(const struct stray *stray, uint64_t now_ns)
{
	if (exchange_speaks(stray->exchange, OTHER))
		return !exchange_confirmed(stray->exchange, OTHER);
	return stray->authentic && now_ns - stray->began_ns >= MUTE_NS;
}

bool stray_is_over(const struct stray *stray, uint64_t now_ns)
{
	return exchange_confirmed(stray->exchange, OTHER) ||
	       now_ns - stray->began_ns >= PATIENCE_NS;
}
