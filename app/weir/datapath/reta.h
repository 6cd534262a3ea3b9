/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The redirection table of a placed policy: the workers that its sources are sent to. Sources share
 * RETA_SIZE buckets, and a bucket has one worker at a time, so a source has. Control says where the
 * buckets are wanted (struct reta_target); each owner of a receive queue brings his own table to
 * that, bucket by bucket and by himself (migration.h), since he alone knows when nothing of a
 * bucket is on its way any more.
 *
 * Sources that burst together, those of one prefix, have neighbouring buckets. A prefix of up to
 * RETA_SIZE hosts in a row has a bucket for each host, and buckets that are dealt out in turn split
 * its burst over the workers (section IV-C of "Impact of Distributed Rate Limiting on Load
 * Distribution in a Latency-sensitive Messaging Service").
 */
#ifndef WEIR_APP_RETA_H
#define WEIR_APP_RETA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"
#include "packet/parse.h"
#include "policy/config.h"

#define RETA_SIZE 256

/* One policy's; written by control, read by owners: atomics, but for the key. */
struct reta_target {
	struct place_key key;
	uint8_t wanted[RETA_SIZE]; /* worker of each bucket */
};

/* What a worker tells of one policy's queue: packets, as they come and go. Its one writer's. */
struct reta_queue {
	const uint64_t *waited; /* that have joined it */
	const uint64_t *left;   /* that have left it, in whatever way: the first ones of those */
};

/* One policy's at one owner, who is the one writer; control reads, with atomics. */
struct reta {
	const struct reta_target *reta_target;
	bool strict;           /* what nobody has decided does not leave: set by control before */
	uint8_t at[RETA_SIZE]; /* worker of each bucket, by now */
	uint64_t packets[RETA_SIZE], bytes[RETA_SIZE];
	struct reta_queue queues[CONFIG_WORKERS_MAX]; /* of each worker; set by control before */
};

/* All buckets at one worker, as owners begin. Control. */
void reta_target_init(struct reta_target *reta_target, const struct place_key *key, uint8_t worker);
void reta_init(struct reta *reta, const struct reta_target *reta_target);

/* Control, who tells the owners that there is something to do. */
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

/* The owner. */
static inline void reta_count(struct reta *reta, unsigned bucket, uint32_t bytes)
{
	counter_add(&reta->packets[bucket], 1);
	counter_add(&reta->bytes[bucket], bytes);
}

/*
 * The bucket of a packet's source; `data` is what it was parsed from. Of what is not IP, the
 * sender's MAC address is the source. No secret: whoever chooses his addresses chooses his bucket,
 * as he does with hashes of flows. Any thread.
 */
uint8_t reta_bucket(const struct place_key *key, const struct packet *packet, const uint8_t *data);

#endif
