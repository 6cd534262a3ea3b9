/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Who sits where: the workers that the sources of a placed policy are sent to. Sources share SEATS
 * buckets, and a bucket has one worker at a time, so a source has. Control says where the buckets
 * are wanted (struct seating); each owner of a receive queue brings his own table to that, bucket
 * by bucket and by himself (mover.h), since he alone knows when nothing of a bucket is on its way
 * any more.
 *
 * Sources that burst together, those of one prefix, have neighbouring buckets. A prefix of up to
 * SEATS hosts in a row has a bucket for each host, and buckets that are dealt out in turn split its
 * burst over the workers (section IV-C of "Impact of Distributed Rate Limiting on Load Distribution
 * in a Latency-sensitive Messaging Service").
 */
#ifndef WEIR_APP_SEATS_H
#define WEIR_APP_SEATS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"
#include "packet/parse.h"
#include "policy/config.h"

#define SEATS 256

/* One policy's; written by control, read by owners: atomics, but for the key. */
struct seating {
	struct place_key key;
	uint8_t wanted[SEATS]; /* worker of each bucket */
};

/* What a worker tells of one policy's queue: packets, as they come and go. Its one writer's. */
struct seat_queue {
	const uint64_t *waited; /* that have joined it */
	const uint64_t *left;   /* that have left it, in whatever way: the first ones of those */
};

/* One policy's at one owner, who is the one writer; control reads, with atomics. */
struct owner_seats {
	const struct seating *seating;
	bool strict;       /* what nobody has decided does not leave: set by control before */
	uint8_t at[SEATS]; /* worker of each bucket, by now */
	uint64_t packets[SEATS], bytes[SEATS];
	struct seat_queue queues[CONFIG_WORKERS_MAX]; /* of each worker; set by control before */
};

/* All buckets at one worker, as owners begin. Control. */
void seating_init(struct seating *seating, const struct place_key *key, uint8_t worker);
void owner_seats_init(struct owner_seats *seats, const struct seating *seating);

/* Control, who tells the owners that there is something to do. */
static inline void seating_want(struct seating *seating, unsigned bucket, uint8_t worker)
{
	__atomic_store_n(&seating->wanted[bucket], worker, __ATOMIC_RELAXED);
}

static inline uint8_t seat_wanted(const struct seating *seating, unsigned bucket)
{
	return __atomic_load_n(&seating->wanted[bucket], __ATOMIC_RELAXED);
}

static inline uint8_t seat_at(const struct owner_seats *seats, unsigned bucket)
{
	return __atomic_load_n(&seats->at[bucket], __ATOMIC_RELAXED);
}

static inline void seat_set(struct owner_seats *seats, unsigned bucket, uint8_t worker)
{
	__atomic_store_n(&seats->at[bucket], worker, __ATOMIC_RELAXED);
}

/* The owner. */
static inline void seat_count(struct owner_seats *seats, unsigned bucket, uint32_t bytes)
{
	counter_add(&seats->packets[bucket], 1);
	counter_add(&seats->bytes[bucket], bytes);
}

/*
 * The bucket of a packet's source; `data` is what it was parsed from. Of what is not IP, the
 * sender's MAC address is the source. No secret: whoever chooses his addresses chooses his bucket,
 * as he does with hashes of flows. Any thread.
 */
uint8_t seat_bucket(const struct place_key *key, const struct packet *packet, const uint8_t *data);

#endif
