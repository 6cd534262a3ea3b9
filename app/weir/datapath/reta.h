/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The redirection table of a placed policy: the workers of its sources. Sources share RETA_SIZE
 * buckets, and each bucket has one worker at a time. Control sets the wanted worker of each bucket
 * (struct reta_target). Each owner of a receive queue changes its own table to match, bucket by
 * bucket (migration.h). Only the owner can find out when no packet of a bucket is in flight.
 *
 * Sources that burst together, those of one prefix, have neighbouring buckets. A prefix of up to
 * RETA_SIZE consecutive hosts has a bucket for each host. If control assigns the buckets to workers
 * in turn, a prefix's burst is split over the workers. See section IV-C of "Impact of Distributed
 * Rate Limiting on Load Distribution in a Latency-sensitive Messaging Service".
 */
#ifndef WEIR_APP_RETA_H
#define WEIR_APP_RETA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"
#include "packet/parse.h"
#include "policy/config.h"

#define RETA_SIZE 256

/*
 * The wanted table of one policy. Written by control, read by owners: atomics, except for the key.
 */
struct reta_target {
	struct place_key key;
	uint8_t wanted[RETA_SIZE]; /* worker of each bucket */
};

/* Counters of one policy's queue on a worker, which is their one writer. */
struct reta_queue {
	const uint64_t *waited; /* packets that have joined it */
	const uint64_t *left;   /* packets that have left it, in any way; first in, first out */
};

/* The table of one policy at one owner, the one writer. Control reads it with atomics. */
struct reta {
	const struct reta_target *reta_target;
	bool strict;           /* drop packets that no worker has decided; set before use */
	uint8_t at[RETA_SIZE]; /* present worker of each bucket */
	uint64_t packets[RETA_SIZE], bytes[RETA_SIZE];
	struct reta_queue queues[CONFIG_WORKERS_MAX]; /* by worker; control sets them before use */
};

/* Assign all buckets to one worker, the initial state. Control. */
void reta_target_init(struct reta_target *reta_target, const struct place_key *key, uint8_t worker);
void reta_init(struct reta *reta, const struct reta_target *reta_target);

/* Sets the wanted worker of a bucket. Control, which then notifies the owners. */
static inline void reta_target_set(struct reta_target *reta_target, unsigned bucket, uint8_t worker)
{
	__atomic_store_n(&reta_target->wanted[bucket], worker, __ATOMIC_RELAXED);
}

static inline uint8_t reta_target_of(const struct reta_target *reta_target, unsigned bucket)
{
	return __atomic_load_n(&reta_target->wanted[bucket], __ATOMIC_RELAXED);
}

static inline uint8_t reta_worker(const struct reta *reta, unsigned bucket)
{
	return __atomic_load_n(&reta->at[bucket], __ATOMIC_RELAXED);
}

static inline void reta_set(struct reta *reta, unsigned bucket, uint8_t worker)
{
	__atomic_store_n(&reta->at[bucket], worker, __ATOMIC_RELAXED);
}

/* Counts a packet of a bucket. The owner. */
static inline void reta_count(struct reta *reta, unsigned bucket, uint32_t bytes)
{
	counter_add(&reta->packets[bucket], 1);
	counter_add(&reta->bytes[bucket], bytes);
}

/*
 * Returns the bucket of a packet's source. `data` are the bytes that `packet` was parsed from. The
 * source of a packet that is not IP is the sender's MAC address. There is no secret: a sender that
 * can choose its address can choose its bucket, like with the hash of a flow. Any thread.
 */
uint8_t reta_bucket(const struct place_key *key, const struct packet *packet, const uint8_t *data);

#endif
