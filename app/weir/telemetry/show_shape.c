/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "show.h"

#include "base/time.h"
#include "instance.h"
#include "delays.h"
#include "policy/kind.h"
#include "totals.h"
#include "tick.h"

#define MICRO 1e6

static double quantile_us(const struct delay_sum *sum, double share)
{
	uint64_t hz = tick_hz();

	return (double)delay_quantile(sum, share, delay_unit(hz)) * MICRO / (double)hz;
}

/* Returns the bins of a sum that have packets: their edges and counts. */
static json_t *bins_json(const struct delay_sum *sum)
{
	double hz = (double)tick_hz();
	unsigned unit = delay_unit(tick_hz());
	json_t *json = json_array();
	uint64_t from = 0;

	for (unsigned i = 0; i < DELAY_BINS; i++) {
		uint64_t to = delay_bin_end(i, unit) + 1;

		if (sum->bins[i])
			json_array_append_new(
				json, json_pack("[f, f, o]", (double)from * MICRO / hz,
					      (double)to * MICRO / hz, json_uint(sum->bins[i])));
		from = to;
	}
	return json;
}

/*
 * Shows how long a policy's packets have waited, in bins. Unlike quantiles, bins can be added over
 * limiters and subtracted over time.
 */
json_t *show_delays(const char *params, void *context)
{
	struct instance *inst = context;
	unsigned i = show_find(inst, params);
	struct delays_totals totals;

	if (i == inst->n_policies || !policy_is_shaped(&inst->policies[i]))
		return NULL;
	delays_totals(inst, inst->slots.of[i], &totals);
	return json_pack("{s:o, s:o}", "packets", json_uint(delay_count(&totals.delay)), "bins_us",
		bins_json(&totals.delay));
}

json_t *show_waiting(struct instance *inst, unsigned worker)
{
	const struct shaper_counts *counts = shaper_counts(inst->workers[worker].shaper);
	const struct delay_sum *late = delays_lateness(inst, worker);

	return json_pack("{s:o, s:o, s:f, s:f}", "packets",
		json_uint(counter_read32(&counts->packets)), "room", json_uint(counts->most),
		"lateness_p99_us", quantile_us(late, 0.99), "lateness_max_us",
		quantile_us(late, 1));
}
