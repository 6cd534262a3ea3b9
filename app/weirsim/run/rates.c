/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "rates.h"

#include "base/time.h"

struct rate_window rates_measured(const struct sim *sim)
{
	const struct scenario *s = sim->scenario;

	return (struct rate_window){(unsigned)(s->warmup_ns / s->interval_ns), sim->record->n_bins};
}

unsigned rates_bins_1s(const struct sim *sim)
{
	return (unsigned)(SECOND_NS / sim->record->bin_ns);
}

static double window_seconds(const struct sim *sim, struct rate_window w)
{
	return (double)(w.to - w.from) * (double)sim->record->bin_ns / 1e9;
}

double rates_limiter(const struct sim *sim, unsigned policy, unsigned limiter, struct rate_window w)
{
	const uint64_t *row = sim->record->forwarded + record_row(sim, policy, limiter);
	uint64_t bytes = 0;

	for (unsigned i = w.from; i < w.to; i++)
		bytes += row[i];
	return (double)bytes * 8 / window_seconds(sim, w);
}

double rates_aggregate(const struct sim *sim, unsigned policy, struct rate_window w)
{
	double sum = 0;

	for (unsigned i = 0; i < sim->scenario->n_limiters; i++)
		sum += rates_limiter(sim, policy, i, w);
	return sum;
}

double rates_in_force(const struct sim *sim, unsigned policy, struct rate_window w)
{
	const double *row = sim->record->in_force + (size_t)policy * sim->record->n_bins;
	double sum = 0;

	for (unsigned i = w.from; i < w.to; i++)
		sum += row[i];
	return sum * 8 / (w.to - w.from);
}

double rates_flow(
	const struct sim *sim, const struct flow_record *flow, struct rate_window w, double *lived)
{
	uint64_t from = w.from * sim->record->bin_ns, to = w.to * sim->record->bin_ns, bytes = 0;
	uint64_t end = flow->end_ns ? flow->end_ns : to;

	if (flow->start_ns > from)
		from = flow->start_ns;
	if (end < to)
		to = end;
	*lived = to > from ? (double)(to - from) / 1e9 : 0;
	for (unsigned i = w.from; i < w.to; i++)
		bytes += flow->delivered[i];
	return *lived > 0 ? (double)bytes * 8 / *lived : 0;
}

bool rates_elastic(const struct sim *sim, const struct flow_record *flow)
{
	enum traffic_kind kind = sim->scenario->traffic[flow->traffic].kind;

	return kind == TRAFFIC_TCP || kind == TRAFFIC_QUIC;
}

double rates_jain(const struct sim *sim, unsigned policy, struct rate_window w, double least)
{
	double sum = 0, squares = 0, n = 0;

	for (unsigned i = 0; i < sim->record->n_flows; i++) {
		const struct flow_record *flow = &sim->record->flows[i];
		double lived, rate = rates_flow(sim, flow, w, &lived);

		if (flow->policy != policy || lived < least || !rates_elastic(sim, flow))
			continue;
		sum += rate;
		squares += rate * rate;
		n++;
	}
	return squares > 0 ? sum * sum / (n * squares) : 0;
}

double rates_jain_1s(const struct sim *sim, unsigned policy, struct rate_window w)
{
	unsigned bins = rates_bins_1s(sim), n = 0;
	double sum = 0;

	for (unsigned from = w.from; from + bins <= w.to; from += bins) {
		double jain = rates_jain(
			sim, policy, (struct rate_window){from, from + bins}, 0.999);

		if (jain <= 0)
			continue;
		sum += jain;
		n++;
	}
	return n ? sum / n : 0;
}
