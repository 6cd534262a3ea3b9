/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Input of weirsim plan: an aggregate, its sources, and the limiters. Read and checked like weir's
 * configuration; documented in doc/design/placement.md.
 */
#ifndef WEIR_SIM_PLAN_SCENARIO_H
#define WEIR_SIM_PLAN_SCENARIO_H

#include <stdio.h>

#include "place/place.h"
#include "policy/policy.h"

#define PLAN_SOURCES_MAX 100000

struct plan_source {
	char name[CONFIG_NAME_MAX];
	char key[CONFIG_NAME_MAX]; /* same for sources that send together; empty: none */
	struct prefix prefix;      /* family 0: not given */
	uint64_t rate_bps, batch_bytes, period_ns, spread_ns;
};

struct plan_limiter {
	char name[CONFIG_NAME_MAX];
	uint64_t capacity_bps, speed_bps, load_bps, load_batch_bytes;
};

struct plan_scenario {
	uint64_t limit_bps, burst_bytes, packet_bytes, backlog_bytes, slo_ns, constant_ns, seed;
	struct plan_source *sources;
	unsigned n_sources;
	struct plan_limiter *limiters;
	unsigned n_limiters;
	/* The scenario in the terms of lib/control/place: units are bytes. */
	struct place_source *place_sources;
	struct place_broker brokers[PLACE_BROKERS];
	struct place_problem problem;
};

/*
 * Reports every error to err with its place, like config_load(). Returns 0, -EINVAL, -ENOMEM or an
 * errno of the file.
 */
int plan_scenario_load(const char *path, FILE *err, struct plan_scenario **out);
void plan_scenario_free(struct plan_scenario *plan);

#endif
