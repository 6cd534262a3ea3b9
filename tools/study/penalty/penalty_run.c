/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "penalty_run.h"

#include <errno.h>
#include <math.h>

#include "penalty_queue.h"

static unsigned bin_of(uint64_t delay)
{
	unsigned shift;

	if (delay >> PENALTY_BINS_SHIFT == 0)
		return (unsigned)delay;
	shift = 63 - (unsigned)__builtin_clzll(delay) - PENALTY_BINS_SHIFT;
	return (shift << PENALTY_BINS_SHIFT) + (unsigned)(delay >> shift);
}

/* Returns the middle of a bin. */
static double delay_of(unsigned bin)
{
	unsigned shift = bin >> PENALTY_BINS_SHIFT;
	uint64_t low;

	if (shift <= 1)
		return bin;
	low = (bin & ((1U << PENALTY_BINS_SHIFT) - 1)) | 1U << PENALTY_BINS_SHIFT;
	return (double)(low << (shift - 1)) + ldexp(1, (int)shift - 2) - 0.5;
}

void penalty_count(struct penalty_row *row, uint64_t delay)
{
	row->bins[bin_of(delay)]++;
	row->n++;
}

double penalty_quantile(const struct penalty_row *row, double share)
{
	uint64_t rank = (uint64_t)ceil(share * (double)row->n), seen = 0;
	unsigned bin = 0;

	while (bin < PENALTY_BINS - 1 && (seen += row->bins[bin]) < rank)
		bin++;
	return delay_of(bin);
}

double penalty_error(const struct penalty_row *row)
{
	if (row->seeds < 2)
		return 0;
	return sqrt(row->squares / (row->seeds - 1) / row->seeds);
}

double penalty_ticks(const struct penalty_case *c)
{
	return (double)c->packets * penalty_gap(c);
}

unsigned penalty_parts(const struct penalty_case *c)
{
	uint64_t fit = c->burst_bytes / c->packet_bytes;

	return fit < PENALTY_PARTS ? (unsigned)fit : PENALTY_PARTS;
}

static void add_seed_mean(struct penalty_row *row, double mean)
{
	double off = mean - row->mean;

	row->mean += off / ++row->seeds;
	row->squares += off * (mean - row->mean);
}

static void measure_penalty(struct penalty_row *row, struct penalty_queue *queues,
	struct penalty_traffic *traffic, unsigned __int128 *total)
{
	uint64_t packets = traffic->c->packets, first = packets / 10;
	unsigned __int128 sum = 0;

	*total = 0;
	for (uint64_t i = 0; i < packets; i++) {
		struct penalty_packet p = penalty_traffic_next(traffic);
		uint64_t delay = penalty_queue_leave(
					 &queues[p.part], p.at, traffic->c->packet_bytes) -
				 p.at;

		*total += delay;
		if (i < first)
			continue;
		sum += delay;
		row->bins[bin_of(delay)]++;
	}
	row->n += packets - first;
	add_seed_mean(row, (double)sum / (double)(packets - first));
}

int penalty_run(struct penalty_row *row, const struct penalty_case *c, uint64_t seed,
	unsigned __int128 *total)
{
	struct penalty_queue queues[PENALTY_PARTS];
	struct penalty_traffic traffic;
	int err;

	for (unsigned i = 0; i < row->parts; i++)
		if (penalty_queue_init(
			    &queues[i], c->rate_bps / row->parts, c->burst_bytes / row->parts))
			return -ERANGE;
	err = penalty_traffic_init(&traffic, c, row->parts, seed);
	if (err == 0)
		measure_penalty(row, queues, &traffic, total);
	penalty_traffic_free(&traffic);
	return err;
}

/* Returns true if a part gets the same number of packets of each batch, or one packet or none. */
static bool batch_of_part(const struct penalty_case *c, unsigned parts, unsigned *batch)
{
	switch (c->arrivals) {
	case PENALTY_POISSON:
		*batch = 1;
		return true;
	case PENALTY_BATCH:
		*batch = c->batch;
		return true;
	case PENALTY_SPREAD:
		*batch = parts < c->batch ? c->batch / parts : 1;
		return parts >= c->batch || c->batch % parts == 0;
	default:
		return false;
	}
}

bool penalty_part(const struct penalty_case *c, unsigned parts, struct penalty_bucket *bucket)
{
	*bucket = (struct penalty_bucket){
		.load = c->load,
		.rate = (double)(c->rate_bps / parts) / 8 / c->packet_bytes,
		.depth = (double)(c->burst_bytes / parts) / c->packet_bytes,
	};
	return batch_of_part(c, parts, &bucket->batch);
}
