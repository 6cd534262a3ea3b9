/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "config/buffers.h"

#include <inttypes.h>
#include <math.h>

#include "base/math.h"
#include "base/time.h"
#include "config/check.h"
#include "config/config_messages.h"
#include "policy/kind.h"
#include "policy/schedule.h"

#define PACKET 1500 /* bytes: assumed packet size for counting buffers */

/*
 * Buffers of a port, without those of its queues. There is room for a few policies that a reload
 * adds, and by itself this takes at most some 150 MB.
 */
#define BUFFERS_PLAIN 4096
#define BUFFERS_LEAST 16384
#define BUFFERS_MOST  65536

#define ROUNDING 1e-6

/* Returns the most packets in the queue of a policy, for packets of the usual size. */
static uint64_t queue_packets_of(const struct policy *policy, const struct limit_terms *terms)
{
	const struct shape_config *shape = &policy->shape;
	unsigned __int128 units = (unsigned __int128)terms->limit_bps * shape->delay_ns /
				  (8 * SECOND_NS * (terms->limit_s ? terms->limit_s : 1));
	uint64_t most = shape->bytes;

	if (most == 0 || units < most)
		most = (uint64_t)units;
	return policy->count == COUNT_BYTES ? most / PACKET + 1 : most + 1;
}

/* Returns the most packets over all entries of the policy's schedule. */
static uint64_t most_packets_of(const struct policy *policy)
{
	const struct schedule *schedule = policy->schedule;
	const struct limit_terms own = policy_terms(policy);
	uint64_t most = queue_packets_of(policy, &own);

	for (unsigned i = 0; schedule && i < schedule->n; i++)
		most = max_u64(most, queue_packets_of(policy, &schedule->entries[i].terms));
	return most;
}

/*
 * Returns the most waiting packets per worker. Each worker has a queue of each policy, with room
 * for the whole delay.
 */
static uint64_t packets_waiting(const struct config *config)
{
	uint64_t packets = 0;

	for (unsigned i = 0; i < config->n_policies; i++)
		if (policy_is_shaped(&config->policies[i]))
			packets += most_packets_of(&config->policies[i]);
	return packets;
}

uint32_t config_buffers(const struct config *config, unsigned port)
{
	uint64_t packets;
	double buffers;

	if (config->ports[port].buffers > 0)
		return config->ports[port].buffers;
	packets = packets_waiting(config);
	if (packets == 0)
		return BUFFERS_PLAIN;
	buffers = ceil((double)packets * config->n_workers / config->shape_pool);
	if (buffers < BUFFERS_LEAST)
		return BUFFERS_LEAST;
	return buffers < BUFFERS_MOST ? (uint32_t)buffers : BUFFERS_MOST;
}

/*
 * Returns the waiting packets of all workers, for the port with the fewest buffers; 0 without
 * ports.
 */
static uint32_t room_waiting(const struct config *config)
{
	uint32_t least = config->n_ports > 0 ? UINT32_MAX : 0;

	for (unsigned i = 0; i < config->n_ports; i++)
		if (config_buffers(config, i) < least)
			least = config_buffers(config, i);
	/* Compensates rounding: 0.3 is not exact as a double, but 30 % of 10 must be 3. */
	return (uint32_t)(least * config->shape_pool + ROUNDING);
}

uint32_t config_waiting(const struct config *config)
{
	uint32_t each = room_waiting(config) / config->n_workers;

	return each > 0 ? each : 1;
}

/* Pools keep their size from the start, and new policies share them. */
void shape_warn(struct reader *reader, const struct config *config, const struct config *running)
{
	static const struct json_path ports = {.key = "ports"};
	const struct config *pools = running ? running : config;
	const char *whose = running ? "as the pools were made at the start"
				    : "as set by \"buffers\"";
	uint64_t packets = packets_waiting(config);
	uint32_t room = room_waiting(pools);

	if (config->n_ports == 0 || packets == 0)
		return;
	if (room < config->n_workers)
		reader_report(
			reader, &ports, MESSAGE(SHAPE_FEW_BUFFERS), room, whose, config->n_workers);
	else if (config_waiting(pools) < packets)
		reader_report(reader, &ports, MESSAGE(SHAPE_QUEUES_LARGER), config_waiting(pools),
			whose, packets, PACKET);
}
