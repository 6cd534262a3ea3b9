/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Computes the numbers of the paper from a record: rates over time, shares, fairness.
 */
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "allocate/allocate.h"
#include "command/output.h"
#include "engine/counts.h"

#include "node.h"
#include "path.h"
#include "policy/kind.h"
#include "policy/trial.h"
#include "scenario.h"
#include "record.h"

/* Numbers at the root of the summary for which a scenario can have bounds. */
static const char *const expectable[] = {"aggregate_ratio", "aggregate_ratio_max_1s",
	"aggregate_ratio_p95_1s", "jain", "jain_1s_mean", "control_bps", "sum_of_limits_max_ratio",
	"spent_ratio"};

#define N_EXPECTABLE (sizeof(expectable) / sizeof(expectable[0]))

/* Classes of answers by size, bytes, as in table 1 of the paper. */
static const uint64_t web_classes[] = {0, 5000, 50000, 500000, UINT64_MAX};

#define N_WEB_CLASSES (sizeof(web_classes) / sizeof(web_classes[0]) - 1)

bool summary_has(const char *name)
{
	for (size_t i = 0; i < N_EXPECTABLE; i++)
		if (strcmp(name, expectable[i]) == 0)
			return true;
	return false;
}

const char *summary_names(void)
{
	return "aggregate_ratio, aggregate_ratio_max_1s, aggregate_ratio_p95_1s, jain, "
	       "jain_1s_mean, control_bps, sum_of_limits_max_ratio, spent_ratio";
}

bool summary_has_ratio(const struct policy *policy)
{
	return policy->count == COUNT_BYTES && !policy->per_v4 && !policy->per_v6 &&
	       !policy_is_quota(policy);
}

/* Writes an index of fairness: null if there are no flows to compare. An index is above 0. */
static void put_jain(json_t *object, const char *key, double value)
{
	json_object_set_new(object, key, value > 0 ? json_real(value) : json_null());
}

static int compare_reals(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Lists the rates of whole seconds in bit/s, or as ratios of the limit in force, in ascending
 * order.
 */
static unsigned list_seconds(const struct sim *sim, unsigned policy, bool parts, double *seconds)
{
	struct rate_window w = rates_measured(sim);
	unsigned bins = rates_bins_1s(sim), n = 0;

	for (unsigned from = w.from; from + bins <= w.to; from += bins) {
		struct rate_window second = {from, from + bins};
		double rate = rates_aggregate(sim, policy, second);

		seconds[n++] = parts ? rate / rates_in_force(sim, policy, second) : rate;
	}
	qsort(seconds, n, sizeof(*seconds), compare_reals);
	return n;
}

static double p95_of(const double *seconds, unsigned n)
{
	return n ? seconds[(unsigned)ceil(0.95 * n) - 1] : 0;
}

/* Writes rates of all limiters together: mean, and 95th percentile and maximum of whole seconds. */
static void put_aggregate(const struct sim *sim, unsigned policy, json_t *out)
{
	struct rate_window w = rates_measured(sim);
	double *seconds = calloc((w.to - w.from) / rates_bins_1s(sim) + 1, sizeof(*seconds));
	double mean = rates_aggregate(sim, policy, w);
	json_t *aggregate = json_object();
	unsigned n;

	if (!seconds)
		return;
	n = list_seconds(sim, policy, false, seconds);
	output_number(aggregate, "mean_bps", mean);
	output_number(aggregate, "p95_1s_bps", p95_of(seconds, n));
	output_number(aggregate, "max_1s_bps", n ? seconds[n - 1] : 0);
	json_object_set_new(out, "aggregate", aggregate);
	if (summary_has_ratio(&sim->scenario->group.policies[policy])) {
		n = list_seconds(sim, policy, true, seconds);
		output_number(out, "aggregate_ratio", mean / rates_in_force(sim, policy, w));
		output_number(out, "aggregate_ratio_p95_1s", p95_of(seconds, n));
		output_number(out, "aggregate_ratio_max_1s", n ? seconds[n - 1] : 0);
	}
	free(seconds);
}

/* Writes units of a policy with a quota, named as by telemetry. */
static void put_units(json_t *object, const struct policy *policy, const char *name, uint64_t units)
{
	char key[32];

	snprintf(key, sizeof(key), "%s%s", name, policy->count == COUNT_BYTES ? "_bytes" : "");
	output_count(object, key, units);
}

/* Counts the whole run, with its warm-up, because a quota does not restart. */
static void put_spent(const struct sim *sim, unsigned p, json_t *out)
{
	const struct policy *policy = &sim->scenario->group.policies[p];
	const struct spent *spent = &sim->spent[p];

	if (!policy_is_quota(policy))
		return;
	put_units(out, policy, "total", policy->total);
	output_count(out, "periods", spent->n_begun);
	put_units(out, policy, "spent", spent->all);
	output_number(out, "spent_ratio", spent_ratio(sim, p));
}

static json_t *tried_json(const struct policy *policy, uint64_t packets, uint64_t units)
{
	json_t *json = json_object();

	output_count(json, "packets", packets);
	if (policy->count != COUNT_PACKETS)
		output_count(json, policy->count == COUNT_FLOWS ? "flows" : "bytes", units);
	return json;
}

/* Writes the counts of trials, of the whole run and all limiters; named as by telemetry. */
static void put_trial(const struct sim *sim, unsigned p, json_t *out)
{
	const struct policy *policy = &sim->scenario->group.policies[p];
	struct policy_totals totals;
	struct policy trial;
	json_t *json;

	if (!policy_has_trial(policy))
		return;
	trial = policy_trial(policy);
	nodes_tried(sim, p, &totals);
	json = json_object();
	output_text(json, "meter", meter_name(trial.meter));
	output_number(json, "limit_bps", policy_rate(&trial) * 8);
	output_count(json, "burst_bytes", trial.burst_bytes);
	json_object_set_new(
		json, "passed", tried_json(policy, totals.passed_packets, totals.passed_bytes));
	json_object_set_new(
		json, "dropped", tried_json(policy, totals.dropped_packets, totals.dropped_bytes));
	json_object_set_new(out, "trial", json);
}

/* Writes the bytes that all limiters lent and borrowed in the whole run. */
static void put_loans(const struct sim *sim, unsigned p, json_t *out)
{
	struct loan_totals loans = nodes_loans(sim, p);

	if (!node_lends(sim))
		return;
	output_count(out, "lent_bytes", loans.lent);
	output_count(out, "borrowed_bytes", loans.borrowed);
}

/*
 * Writes delays of packets of a shaped policy at the limiters that run at the end, since they
 * started.
 */
static void put_delays(const struct sim *sim, unsigned p, json_t *out)
{
	static const struct {
		const char *key;
		double share;
	} quantiles[] = {{"delay_p50_us", 0.5}, {"delay_p95_us", 0.95}, {"delay_p99_us", 0.99},
		{"delay_p99_9_us", 0.999}};
	unsigned unit = delay_unit(NODE_HZ);
	struct delay_sum all = {0};

	if (!policy_is_shaped(&sim->scenario->group.policies[p]))
		return;
	for (unsigned i = 0; i < sim->scenario->n_limiters; i++)
		node_delays(&sim->nodes[i], p, &all);
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		output_number(out, quantiles[i].key,
			(double)delay_quantile(&all, quantiles[i].share, unit) * 1e6 / NODE_HZ);
}

static void put_limiters(const struct sim *sim, unsigned policy, json_t *out)
{
	const struct policy *of = &sim->scenario->group.policies[policy];
	unsigned *flows = calloc(sim->scenario->n_limiters, sizeof(*flows));
	double whole = rates_aggregate(sim, policy, rates_measured(sim));
	json_t *list = json_array();

	for (unsigned i = 0; flows && i < sim->record->n_flows; i++)
		flows[sim->record->flows[i].limiter] += sim->record->flows[i].policy == policy;
	for (unsigned i = 0; flows && i < sim->scenario->n_limiters; i++) {
		double rate = rates_limiter(sim, policy, i, rates_measured(sim));
		json_t *limiter = json_object();

		output_text(limiter, "name", sim->scenario->limiters[i].name);
		output_count(limiter, "flows", flows[i]);
		output_number(limiter, "mean_bps", rate);
		output_number(limiter, "share", whole > 0 ? rate / whole : 0);
		if (policy_is_quota(of))
			put_units(limiter, of, "spent", sim->spent[policy].by_limiter[i]);
		json_array_append_new(list, limiter);
	}
	free(flows);
	json_object_set_new(out, "limiters", list);
}

static void put_flows(const struct sim *sim, unsigned policy, json_t *out)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < sim->record->n_flows; i++) {
		const struct flow_record *record = &sim->record->flows[i];
		double lived, rate = rates_flow(sim, record, rates_measured(sim), &lived);
		json_t *flow = json_object();

		if (record->policy != policy) {
			json_decref(flow);
			continue;
		}
		output_text(flow, "limiter", sim->scenario->limiters[record->limiter].name);
		output_text(flow, "traffic", sim->scenario->traffic[record->traffic].name);
		output_number(flow, "mean_bps", rate);
		output_number(flow, "seconds", lived);
		json_array_append_new(list, flow);
	}
	json_object_set_new(out, "flows", list);
}

/*
 * Returns the largest ratio of the sum of local limits to the limit in force, at ends of intervals.
 */
static double limits_ratio(const struct sim *sim, unsigned policy)
{
	const struct record *r = sim->record;
	size_t row = (size_t)policy * r->n_bins;
	struct rate_window w = rates_measured(sim);
	double most = 0;

	for (size_t i = row + w.from; i < row + w.to; i++)
		most = fmax(most, r->sum_of_limits[i] / r->in_force[i]);
	return most;
}

static void put_policy(const struct sim *sim, unsigned p, json_t *out)
{
	const struct policy *policy = &sim->scenario->group.policies[p];

	output_text(out, "policy", policy->name);
	output_text(out, "allocator", policy->allocator->name);
	output_text(out, "meter", meter_name(policy->meter));
	output_number(out, "limit_bps", policy_rate(policy) * 8);
	output_count(out, "burst_bytes", policy->burst_bytes);
	output_number(out, "interval_ms", (double)policy->interval_ns / 1e6);
	put_aggregate(sim, p, out);
	put_spent(sim, p, out);
	put_trial(sim, p, out);
	put_loans(sim, p, out);
	put_delays(sim, p, out);
	overshoot_put(sim, p, out);
	put_limiters(sim, p, out);
	put_flows(sim, p, out);
	put_jain(out, "jain", rates_jain(sim, p, rates_measured(sim), 1));
	put_jain(out, "jain_1s_mean", rates_jain_1s(sim, p, rates_measured(sim)));
	if (policy->limit_bps > 0) /* a policy can have only a quota */
		output_number(out, "sum_of_limits_max_ratio", limits_ratio(sim, p));
}

/* Writes the messages of loans that all limiters sent in the whole run. */
static void put_loan_messages(const struct sim *sim, json_t *out)
{
	struct loan_counters messages = nodes_loan_messages(sim);
	json_t *loans;

	if (!node_lends(sim))
		return;
	loans = json_object();
	output_count(loans, "requests", messages.requests);
	output_count(loans, "offers", messages.offers);
	output_count(loans, "unanswered", messages.unanswered);
	json_object_set_new(out, "loans", loans);
}

static void put_gossip(const struct sim *sim, json_t *out)
{
	struct simnet_totals totals = sim->net.totals;
	json_t *gossip = json_object();

	output_count(gossip, "datagrams", totals.datagrams);
	output_count(gossip, "bytes", totals.bytes);
	output_count(gossip, "lost", totals.lost);
	output_count(gossip, "lost_bytes", totals.lost_bytes);
	json_object_set_new(out, "gossip", gossip);
	output_number(out, "control_bps",
		(double)totals.bytes * 8e9 / (double)sim->scenario->duration_ns /
			sim->scenario->n_limiters);
}

struct packets {
	uint64_t sent, fate[FATES], under_way;
};

static struct packets count_packets(const struct sim *sim)
{
	struct packets all = {.under_way = path_under_way(sim)};

	for (unsigned i = 0; i < sim->record->n_flows; i++) {
		all.sent += sim->record->flows[i].sent;
		for (unsigned f = 0; f < FATES; f++)
			all.fate[f] += sim->record->flows[i].fate[f];
	}
	return all;
}

static void put_packets(const struct sim *sim, json_t *out)
{
	static const char *const names[FATES] = {"delivered", "limit", "upstream", "down"};
	struct packets all = count_packets(sim);
	json_t *packets = json_object();

	output_count(packets, "sent", all.sent);
	for (unsigned f = 0; f < FATES; f++)
		output_count(packets, names[f], all.fate[f]);
	output_count(packets, "under_way", all.under_way);
	json_object_set_new(out, "packets", packets);
}

/* Writes the requests that were sent and answered in the measured time, by size. */
static void put_web(const struct sim *sim, json_t *out)
{
	json_t *list = json_array();

	for (size_t c = 0; c < N_WEB_CLASSES; c++) {
		double slowness = 0;
		uint64_t n = 0;
		json_t *class = json_object();

		for (size_t i = 0; i < sim->record->n_requests; i++) {
			const struct request_record *r = &sim->record->requests[i];

			if (r->start_ns < sim->scenario->warmup_ns || r->bytes < web_classes[c] ||
				r->bytes >= web_classes[c + 1])
				continue;
			slowness += (double)(r->end_ns - r->start_ns) / 8e9 / (double)r->bytes;
			n++;
		}
		output_count(class, "from_bytes", web_classes[c]);
		output_count(class, "requests", n);
		output_number(class, "harmonic_mean_bps", n ? (double)n / slowness : 0);
		json_array_append_new(list, class);
	}
	json_object_set_new(out, "web", list);
}

json_t *report_summary(const struct sim *sim)
{
	const struct scenario *s = sim->scenario;
	json_t *out = json_object(), *others = json_array();

	output_text(out, "scenario", s->name);
	output_count(out, "seed", sim->seed);
	output_number(out, "seconds", (double)(s->duration_ns - s->warmup_ns) / 1e9);
	output_number(out, "warmup_seconds", (double)s->warmup_ns / 1e9);
	output_number(out, "gossip_loss", s->network.loss);
	put_policy(sim, 0, out);
	for (unsigned p = 1; p < s->group.n_policies; p++) {
		json_t *other = json_object();

		put_policy(sim, p, other);
		json_array_append_new(others, other);
	}
	json_object_set_new(out, "other_policies", others);
	put_gossip(sim, out);
	put_loan_messages(sim, out);
	put_packets(sim, out);
	put_web(sim, out);
	output_count(out, "events", sim->events.taken);
	return out;
}

bool report_verdict(const struct sim *sim, const json_t *summary, FILE *err)
{
	const struct packets all = count_packets(sim);
	uint64_t found = all.under_way;
	bool passed = true;

	for (unsigned f = 0; f < FATES; f++)
		found += all.fate[f];
	if (sim->problem[0]) {
		fprintf(err, "%s\n", sim->problem);
		passed = false;
	}
	if (found != all.sent) {
		fputs("packets are missing: sent differs from counted plus under way\n", err);
		passed = false;
	}
	for (unsigned i = 0; i < sim->scenario->n_expect; i++) {
		const struct expectation *e = &sim->scenario->expect[i];
		const json_t *number = json_object_get(summary, e->key);
		double value = json_number_value(number);

		if (json_is_number(number) && value >= e->least && value <= e->most)
			continue;
		if (json_is_number(number))
			fprintf(err, "%s is %g", e->key, value);
		else
			fprintf(err, "%s has no value", e->key);
		fprintf(err, ", expected %g to %g\n", e->least, e->most);
		passed = false;
	}
	return passed;
}

static double summary_number(const json_t *summary, const char *key)
{
	return json_number_value(json_object_get(summary, key));
}

static void jain_text(const json_t *summary, FILE *out)
{
	fputs("  Jain's index       ", out);
	if (summary_number(summary, "jain") > 0)
		fprintf(out, "%.3f", summary_number(summary, "jain"));
	else
		fputs("-", out);
	if (summary_number(summary, "jain_1s_mean") > 0)
		fprintf(out, "  (second by second %.3f)", summary_number(summary, "jain_1s_mean"));
	fputs("\n", out);
}

#define LINES_FOR_PEOPLE 12

void report_text(const struct sim *sim, const json_t *summary, FILE *out)
{
	const json_t *limiters = json_object_get(summary, "limiters");
	size_t n = json_array_size(limiters);

	fprintf(out, "%s, seed %llu: %u limiters (%s, %s), %u flows, %g s\n", sim->scenario->name,
		(unsigned long long)sim->seed, sim->scenario->n_limiters,
		sim->scenario->group.policies[0].allocator->name,
		meter_name(sim->scenario->group.policies[0].meter), sim->record->n_flows,
		summary_number(summary, "seconds"));
	if (policy_is_quota(&sim->scenario->group.policies[0]))
		fprintf(out, "  spent / total      %.4f  (%u period%s)\n", spent_ratio(sim, 0),
			sim->spent[0].n_begun, sim->spent[0].n_begun > 1 ? "s" : "");
	else if (summary_has_ratio(&sim->scenario->group.policies[0]))
		fprintf(out, "  aggregate / limit  %.3f  (worst second %.3f)\n",
			summary_number(summary, "aggregate_ratio"),
			summary_number(summary, "aggregate_ratio_max_1s"));
	else
		fprintf(out, "  aggregate          %.3f Mbit/s\n",
			summary_number(json_object_get(summary, "aggregate"), "mean_bps") / 1e6);
	jain_text(summary, out);
	fprintf(out, "  gossip             %.1f kbit/s a limiter\n",
		summary_number(summary, "control_bps") / 1e3);
	for (size_t i = 0; i < n && i < LINES_FOR_PEOPLE; i++) {
		const json_t *limiter = json_array_get(limiters, i);

		fprintf(out, "  %-18s %.3f Mbit/s, %.1f %%, %lld flows",
			json_string_value(json_object_get(limiter, "name")),
			summary_number(limiter, "mean_bps") / 1e6,
			summary_number(limiter, "share") * 100,
			(long long)json_integer_value(json_object_get(limiter, "flows")));
		if (policy_is_quota(&sim->scenario->group.policies[0]))
			fprintf(out, ", %.2f %% of the total",
				spent_ratio_of(sim, 0, (unsigned)i) * 100);
		fputc('\n', out);
	}
	if (n > LINES_FOR_PEOPLE)
		fprintf(out, "  ... and %zu more\n", n - LINES_FOR_PEOPLE);
}
