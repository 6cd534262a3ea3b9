/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Replays the batches of sources through one broker, and measures their waits.
 */
#include <math.h>
#include <stddef.h>

#include "base/prng.h"
#include "place/place_private.h"

#define FINE  1024 /* histogram bins up to REACH units, and as many above */
#define REACH 4
#define FAR   100 /* ratio of bin widths */

#define WARM 10 /* the first tenth of a record is not counted, because buckets start full */

struct histogram {
	double unit;
	uint64_t n;
	uint32_t counts[2 * FINE];
};

static void histogram_count(struct histogram *h, double value)
{
	double bin = value / h->unit * FINE / REACH;

	if (bin >= FINE)
		bin = FINE + fmin((bin - FINE) / FAR, FINE - 1);
	h->counts[(unsigned)bin]++;
	h->n++;
}

/* Returns the upper end of the bin that a share of values exceeds. */
static double histogram_quantile(const struct histogram *h, double share)
{
	double may = share * (double)h->n, above = 0;
	unsigned bin = 2 * FINE - 1;

	while (bin > 0 && above + h->counts[bin] <= may)
		above += h->counts[bin--];
	if (bin == 0)
		return 0; /* less than one bin */
	return (bin < FINE ? bin + 1 : FINE + (bin + 1 - FINE) * (double)FAR) * REACH / FINE *
	       h->unit;
}

/* Returns the size of a piece: waiting units are distinguished in steps of the largest packet. */
static double piece_of(const struct placer *placer, double units)
{
	double least = fmax(1, (double)placer->problem->aggregate.least - 1);

	return units / ceil(units / least);
}

/* Units that a part of any depth lacks of being full. */
struct debt {
	double at, units, limit;
};

static double charge_debt(struct debt *debt, double at, double units)
{
	debt->units = fmax(0, debt->units - (at - debt->at) * debt->limit) + units;
	debt->at = at;
	return debt->units;
}

/* The clock of a record can start at any time. */
static double record_begin_time(const struct place_record *record)
{
	return record->n > 0 ? record->arrivals[0].at : 0;
}

static uint32_t warm_up_arrivals(const struct place_record *record)
{
	return record->n / WARM;
}

double replay_level(const struct placer *placer, const uint32_t *at, uint32_t broker, double limit)
{
	const struct place_record *record = placer->problem->record;
	struct histogram levels = {.unit = fmax(1, (double)placer->problem->aggregate.burst)};
	struct debt debt = {.at = record_begin_time(record), .limit = limit};

	for (uint32_t i = 0; i < record->n; i++) {
		const struct place_arrival *a = &record->arrivals[i];
		double piece;

		if (broker != PLACE_NOWHERE && at[a->source] != broker)
			continue;
		piece = piece_of(placer, a->units);
		for (double sent = 0; sent < a->units * (1 - 1e-9); sent += piece) {
			double level = charge_debt(&debt, a->at, piece);

			if (i >= warm_up_arrivals(record))
				histogram_count(&levels, level);
		}
	}
	return histogram_quantile(&levels, PLACE_TAIL);
}

/* A broker's part of the bucket, followed by its server: first come, first served. */
struct line {
	struct debt debt;
	double burst;
	double begins;      /* start of the record, seconds */
	double speed, free; /* units per second, 0: unlimited; seconds when it is idle */
	double gap, batch;  /* other aggregates: mean seconds between batches; units of a batch */
	double next;
	struct prng prng;
};

static double draw_service_gap(struct line *line)
{
	return -log1p(-prng_unit(&line->prng)) * line->gap;
}

static void broker_line_init(struct line *line, const struct placer *placer,
	const struct placement *placement, unsigned i)
{
	const struct place_part *part = &placement->parts[i];
	const struct place_broker *broker = &placer->problem->brokers[i];

	*line = (struct line){.debt = {.limit = (double)part->limit},
		.begins = record_begin_time(placer->problem->record),
		.burst = (double)part->burst * place_worth(placer, placement),
		.speed = broker->speed,
		.batch = broker->load_batch > 0 ? broker->load_batch
						: (double)placer->problem->aggregate.least,
		.next = HUGE_VAL};
	if (broker->load <= 0 || broker->speed <= 0)
		return;
	prng_seed(&line->prng, placer->problem->seed + i);
	line->gap = line->batch / broker->load;
	line->next = draw_service_gap(line);
}

/* Returns the end of service of a piece whose token is available at `due`. */
static double serve_piece(struct line *line, double due, double units)
{
	if (line->speed <= 0)
		return due;
	while (line->next <= due) {
		line->free = fmax(line->free, line->next) + line->batch / line->speed;
		line->next += draw_service_gap(line);
	}
	return line->free = fmax(line->free, due) + units / line->speed;
}

/* Plays the pieces of a packet. */
static void play_packet(struct line *line, const struct placer *placer,
	const struct place_arrival *a, struct histogram *access, struct histogram *whole)
{
	double piece = piece_of(placer, a->units), at = a->at - line->begins;

	for (double sent = 0; sent < a->units * (1 - 1e-9); sent += piece) {
		double backlog = charge_debt(&line->debt, at, piece) - line->burst;
		double wait = fmax(0, backlog) / line->debt.limit;
		double end = serve_piece(line, at + wait, piece);

		if (access == NULL)
			continue;
		histogram_count(access, wait);
		histogram_count(whole, end - at + placer->problem->aggregate.constant);
	}
}

bool replay(const struct placer *placer, const struct placement *placement, unsigned broker,
	struct place_delay *delay)
{
	const struct place_record *record = placer->problem->record;
	double slo = placer->problem->aggregate.slo;
	struct histogram access = {.unit = slo}, whole = {.unit = slo};
	struct line line;

	if (placer->level <= 0 || placement->parts[broker].limit == 0)
		return false;
	broker_line_init(&line, placer, placement, broker);
	for (uint32_t i = 0; i < record->n; i++) {
		const struct place_arrival *a = &record->arrivals[i];
		bool counted = i >= warm_up_arrivals(record);

		if (placement->at[a->source] == broker)
			play_packet(&line, placer, a, counted ? &access : NULL, &whole);
	}
	if (whole.n == 0)
		return false;
	*delay = (struct place_delay){.access_p99 = histogram_quantile(&access, PLACE_TAIL),
		.p50 = histogram_quantile(&whole, 0.5),
		.p99 = histogram_quantile(&whole, PLACE_TAIL)};
	delay->most = placer->problem->brokers[broker].load > 0 ? HUGE_VAL
								: delay->p99 * PLACE_DOUBT;
	return true;
}
