/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "emu_link.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/math.h"
#include "base/time.h"

/* A ring is sized for packets of this mean size; packets beyond it count as an overrun. */
#define MEAN_BYTES   256
#define CAPACITY_MIN 1024u
#define CAPACITY_MAX 65536u

uint32_t lane_capacity(const struct lane_params *params)
{
	double line = (double)params->delay_ns / SECOND_NS * (double)params->rate_bps / 8 /
		      MEAN_BYTES;
	uint64_t need = params->queue_packets + params->queue_bytes / MEAN_BYTES;
	uint32_t capacity = CAPACITY_MIN;

	if (params->rate_bps == LANE_RATE_UNLIMITED)
		line = 8 * CAPACITY_MIN;
	need += line < CAPACITY_MAX ? (uint64_t)line : CAPACITY_MAX;
	while (capacity < need && capacity < CAPACITY_MAX)
		capacity *= 2;
	return capacity;
}

int lane_init(struct lane *lane, const struct lane_params *params, uint32_t capacity, uint64_t seed)
{
	*lane = (struct lane){.params = *params, .mask = capacity - 1, .random = seed};
	lane->ring = calloc(capacity, sizeof(*lane->ring));
	return lane->ring ? 0 : -ENOMEM;
}

void lane_fini(struct lane *lane)
{
	free(lane->ring);
	lane->ring = NULL;
}

/*
 * Returns a number from 0 to 1. Any seed is good, and the number of a packet alone decides its
 * loss.
 */
static double draw_uniform(uint64_t *state)
{
	return (double)(splitmix64_next(state) >> 11) * 0x1p-53;
}

static uint64_t serialisation_ns(const struct lane_params *params, uint32_t bytes)
{
	if (params->rate_bps == LANE_RATE_UNLIMITED)
		return 0;
	return (uint64_t)bytes * 8 * SECOND_NS / params->rate_bps;
}

/*
 * Starts the transmissions that are due by now. A packet uses the rate and the delay of its start,
 * so changes of either affect waiting packets.
 */
static void start_transmissions(struct lane *lane, uint64_t now_ns)
{
	while (lane->mid != lane->tail) {
		struct lane_entry *entry = &lane->ring[lane->mid & lane->mask];
		uint64_t start = max_u64(entry->time_ns, lane->free_at_ns);

		if (start > now_ns)
			return;
		lane->free_at_ns = start + serialisation_ns(&lane->params, entry->bytes);
		entry->time_ns = lane->free_at_ns + lane->params.delay_ns;
		lane->waiting_bytes -= entry->bytes;
		lane->mid++;
	}
}

static bool queue_full(const struct lane *lane, uint32_t bytes)
{
	const struct lane_params *p = &lane->params;

	if (p->queue_packets && lane_waiting(lane) >= p->queue_packets)
		return true;
	return p->queue_bytes && lane->waiting_bytes + bytes > p->queue_bytes;
}

static enum lane_verdict lane_decide(struct lane *lane, uint32_t bytes)
{
	if (draw_uniform(&lane->random) < lane->params.loss) {
		lane->counters.lost++;
		return LANE_LOST;
	}
	if (queue_full(lane, bytes)) {
		lane->counters.queue_full++;
		return LANE_QUEUE_FULL;
	}
	if (lane->tail - lane->head > lane->mask) {
		lane->counters.overrun++;
		return LANE_OVERRUN;
	}
	return LANE_QUEUED;
}

enum lane_verdict lane_push(struct lane *lane, void *packet, uint32_t bytes, uint64_t now_ns)
{
	enum lane_verdict verdict;

	start_transmissions(lane, now_ns);
	lane->counters.received++;
	lane->counters.received_bytes += bytes;
	verdict = lane_decide(lane, bytes);
	if (verdict != LANE_QUEUED)
		return verdict;
	lane->ring[lane->tail & lane->mask] = (struct lane_entry){packet, now_ns, bytes};
	lane->waiting_bytes += bytes;
	lane->tail++;
	return LANE_QUEUED;
}

static void count_late(struct lane_counters *counters, uint64_t late_ns)
{
	unsigned bucket = 0;

	for (uint64_t us = late_ns / US_NS; us && bucket < LANE_LATE_BUCKETS - 1; us >>= 1)
		bucket++;
	counters->late[bucket]++;
	counters->late_ns += late_ns;
	counters->late_max_ns = max_u64(counters->late_max_ns, late_ns);
}

void *lane_pop(struct lane *lane, uint64_t now_ns)
{
	struct lane_entry *entry = &lane->ring[lane->head & lane->mask];

	start_transmissions(lane, now_ns);
	if (lane->head == lane->mid || entry->time_ns > now_ns)
		return NULL;
	lane->head++;
	lane->counters.sent++;
	lane->counters.sent_bytes += entry->bytes;
	count_late(&lane->counters, now_ns - entry->time_ns);
	return entry->packet;
}

void lane_refuse(struct lane *lane, uint32_t bytes)
{
	lane->counters.refused++;
	lane->counters.sent--;
	lane->counters.sent_bytes -= bytes;
}

uint64_t lane_next(const struct lane *lane)
{
	if (lane->head != lane->mid)
		return lane->ring[lane->head & lane->mask].time_ns;
	return lane->mid != lane->tail ? lane->free_at_ns : LANE_NEVER;
}
