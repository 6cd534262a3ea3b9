/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Any bytes as a scenario: refused with a reason, or accepted and run, cut down to a size that a
 * fuzzer has time for. No crash, no leak, no lost packet, and only finite numbers.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "report.h"
#include "scenario.h"
#include "sim.h"

#define BINS_MAX     20
#define LIMITERS_MAX 8
#define FLOWS_MAX    20
#define SLOWEST_NS   100000 /* between two packets of a flow without a limit */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reduces a scenario; returns false if it is too large. */
static bool cut_down(struct scenario *s)
{
	unsigned flows = 0;

	if (s->n_limiters > LIMITERS_MAX || s->n_traffic > FLOWS_MAX)
		return false;
	if (s->duration_ns > BINS_MAX * s->interval_ns)
		s->duration_ns = BINS_MAX * s->interval_ns;
	if (s->warmup_ns >= s->duration_ns)
		s->warmup_ns = 0;
	s->n_expect = 0;
	for (unsigned i = 0; i < s->n_traffic; i++) {
		struct traffic *t = &s->traffic[i];

		if ((t->kind == TRAFFIC_CBR || t->kind == TRAFFIC_ON_OFF) &&
			(uint64_t)t->packet_bytes * 8000000000 / t->rate_bps < SLOWEST_NS)
			return false;
		if (t->kind == TRAFFIC_WEB && t->requests > 100)
			return false;
		if (t->rtt_ns < 1000000)
			return false;
		flows += t->count * (t->limiter == LIMITER_EACH ? s->n_limiters : 1);
	}
	for (unsigned i = 0; i < s->group.n_policies; i++)
		if (s->group.policies[i].sources > 4096 || s->group.policies[i].limit_bps > 1e8)
			return false;
	return flows <= FLOWS_MAX;
}

static void run_fuzz_scenario(struct scenario *s)
{
	struct sim sim;
	int ret = sim_run(&sim, s, 1, NULL, NULL);

	if (ret == 0) {
		json_t *summary = report_summary(&sim);

		if (!report_verdict(&sim, summary, stderr))
			abort();
		json_decref(summary);
	}
	sim_free(&sim);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *messages = NULL;
	size_t n_messages = 0;
	FILE *err = open_memstream(&messages, &n_messages);
	struct scenario *s;
	int ret;

	if (!err)
		return 0;
	ret = scenario_parse((const char *)data, size, "fuzz", err, &s);
	fclose(err);
	if (ret && n_messages == 0)
		abort();
	free(messages);
	if (ret == 0 && cut_down(s))
		run_fuzz_scenario(s);
	scenario_free(s);
	return 0;
}
