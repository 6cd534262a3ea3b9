/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Describes guarantees, and their foundations, in words.
 */
#include "allocate/allocate.h"
#include "allocate/gdrl.h"
#include "config/describe.h"
#include "policy/kind.h"
#include "policy/units.h"

void describe_guarantee(const struct policy *policy, unsigned n, FILE *out)
{
	char rate[UNITS_TEXT_MAX];

	if (policy_is_hard(policy)) {
		fprintf(out, "  never above %s", format_limit(policy, 1, rate, sizeof(rate)));
		if (n > 1)
			fprintf(out, " over all %u limiters", n);
		fputs(" plus the burst (hard limit)\n", out);
	} else if (n > 1 && policy->allocator->gossips) {
		fputs("  more can pass until gossip has arrived (soft)\n", out);
	}
	if (policy->indicator != NULL)
		fprintf(out, "  moves until \"%s\" is the same at all limiters\n",
			policy->indicator->name);
}

void describe_share(const struct policy *policy, unsigned n, FILE *out)
{
	char text[UNITS_TEXT_MAX];

	if (n <= 1 || policy_is_quota(policy))
		return;
	format_limit(policy, n, text, sizeof(text));
	if (policy_is_hard(policy))
		fprintf(out,
			"  at the very start: %s here (limit/%u); at a partition: its share at that time\n",
			text, n);
	else
		fprintf(out, "  at a full partition, and at the start: %s here (limit/%u)\n", text,
			n);
}

static void describe_period(const struct policy *policy, FILE *out)
{
	char text[UNITS_TEXT_MAX];

	if (policy->period == PERIOD_MONTH)
		fputs(", a month (UTC)", out);
	else if (policy->period == PERIOD_FIXED)
		fprintf(out, ", each %s (UTC)",
			units_format_time(policy->period_ns, text, sizeof(text)));
	else
		fputs(", once (prepaid)", out);
}

static void describe_rest(const struct policy *policy, unsigned n, FILE *out)
{
	char text[UNITS_TEXT_MAX];

	if (policy->limit_bps == 0) {
		fputs("  the excess ", out);
		describe_action(policy, out);
		fputc('\n', out);
		return;
	}
	fprintf(out, "  then %s", format_limit(policy, 1, text, sizeof(text)));
	if (n > 1)
		fprintf(out, " (%s here, limit/%u)", format_limit(policy, n, text, sizeof(text)),
			n);
	fprintf(out, ", burst %s, the excess ",
		format_units(policy, policy->burst_bytes, text, sizeof(text)));
	describe_action(policy, out);
	fputc('\n', out);
}

void describe_quota(const struct policy *policy, unsigned n, FILE *out)
{
	char text[UNITS_TEXT_MAX];

	fprintf(out, "  never more than %s of %s",
		format_units(policy, policy->total, text, sizeof(text)), counting_words(policy));
	describe_period(policy, out);
	if (n > 1)
		fprintf(out, ", over all %u limiters", n);
	fputc('\n', out);
	describe_rest(policy, n, out);
	if (policy->drawn)
		fputs("  begins with nothing here, and draws from etcd", out);
	else if (n > 1)
		fprintf(out, "  begins with total/%u here", n);
	else
		fputs("  begins with all of it here", out);
	fprintf(out, "; a crash costs up to twice %s, and the units of 0.1s\n",
		format_units(policy, policy->chunk, text, sizeof(text)));
}

static void describe_overlay(const struct config *config, FILE *out)
{
	const struct ledger_config *ledger = &config->ledger;
	char text[UNITS_TEXT_MAX];

	fprintf(out, "  lease %s, %u%% promised to the backup neighbour, clocks within %u ppm\n",
		units_format_time(ledger->lease_ns, text, sizeof(text)), ledger->promise,
		ledger->drift_ppm);
	fputs("  neighbours: ", out);
	if (ledger->ring)
		fputs("a ring\n", out);
	else if (ledger->n_edges > 0)
		fprintf(out, "%u given edge%s\n", ledger->n_edges, ledger->n_edges > 1 ? "s" : "");
	else if (ledger->degree > 0)
		fprintf(out, "a random graph of degree %u\n", ledger->degree);
	else
		fputs("by the size of the group\n", out);
	if (ledger->tree_degree > 0)
		fprintf(out, "  in the tree of quotas at most %u each\n", ledger->tree_degree);
}

void describe_ledger(const struct config *config, FILE *out)
{
	const struct ledger_config *ledger = &config->ledger;

	if (!config_needs_ledger(config))
		return;
	fprintf(out, "ledger: store %s\n", ledger->store);
	if (config->gossip.n_roster > 1)
		describe_overlay(config, out);
	if (ledger->n_etcd == 0)
		return;
	fprintf(out, "  totals in etcd below %s:", ledger->etcd_prefix);
	for (unsigned i = 0; i < ledger->n_etcd; i++)
		fprintf(out, " %s", ledger->etcd[i]);
	if (ledger->etcd_user[0] != '\0')
		fprintf(out, ", as user %s", ledger->etcd_user);
	fputc('\n', out);
}
