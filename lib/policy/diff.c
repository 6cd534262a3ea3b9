/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/diff.h"
#include "policy/kind.h"
#include "policy/matches.h"
#include "policy/names.h"
#include "policy/schedule.h"
#include "policy/trial.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_MAX (CONFIG_NAME_MAX + 32)

struct fixed_check {
	const struct complaint_sink *to;
	unsigned n;
};

/* The place is as in the messages of config_load(). */
__attribute__((format(printf, 3, 4))) static void check_unchanged(
	struct fixed_check *c, bool same, const char *format, ...)
{
	char place[PLACE_MAX];
	va_list args;

	if (same)
		return;
	c->n++;
	va_start(args, format);
	vsnprintf(place, sizeof(place), format, args);
	va_end(args);
	complaint_tell(c->to, &(struct complaint){.place = place,
				      .found = "cannot change while the limiter runs",
				      .remedy = "restart it"});
}

static bool address_equal(const struct sockaddr_storage *a, socklen_t a_len,
	const struct sockaddr_storage *b, socklen_t b_len)
{
	return a_len == b_len && memcmp(a, b, a_len) == 0;
}

static void check_process(
	struct fixed_check *c, const struct config *old, const struct config *config)
{
	bool same = old->n_eal == config->n_eal;

	for (unsigned i = 0; same && i < old->n_eal; i++)
		same = strcmp(old->eal[i], config->eal[i]) == 0;
	check_unchanged(c, strcmp(old->limiter, config->limiter) == 0, "limiter");
	check_unchanged(c, same, "eal");
	check_unchanged(c,
		old->n_workers == config->n_workers &&
			memcmp(old->workers, config->workers,
				old->n_workers * sizeof(*old->workers)) == 0,
		"workers");
	check_unchanged(c, old->idle == config->idle, "idle");
	check_unchanged(c, old->shape_pool == config->shape_pool, "shape.pool");
	check_unchanged(
		c, strcmp(old->control_socket, config->control_socket) == 0, "control.socket");
	check_unchanged(c, old->control_cpu == config->control_cpu, "control.cpu");
	check_unchanged(c, old->watchdog_ns == config->watchdog_ns, "control.watchdog");
	check_unchanged(c,
		old->tunnels.classify == config->tunnels.classify &&
			old->tunnels.vxlan_port == config->tunnels.vxlan_port,
		"tunnels");
	check_unchanged(c, old->unparsed == config->unparsed, "unparsed");
}

/* In their order, which wires and whoever numbers them go by. */
static void check_same_ports(
	struct fixed_check *c, const struct config *old, const struct config *config)
{
	check_unchanged(c, old->n_ports == config->n_ports, "ports");
	for (unsigned i = 0; i < old->n_ports && old->n_ports == config->n_ports; i++) {
		const struct port_config *a = &old->ports[i], *b = &config->ports[i];

		check_unchanged(c,
			strcmp(a->name, b->name) == 0 && strcmp(a->device, b->device) == 0 &&
				a->mtu == b->mtu && a->buffers == b->buffers &&
				a->queues == b->queues && a->buffer_size == b->buffer_size &&
				a->offloads == b->offloads && a->generic == b->generic,
			"ports.%s", b->name);
	}
	check_unchanged(c, old->n_wires == config->n_wires, "wires");
	for (unsigned i = 0; i < old->n_wires && old->n_wires == config->n_wires; i++) {
		const struct wire *a = &old->wires[i], *b = &config->wires[i];

		check_unchanged(c,
			strcmp(a->name, b->name) == 0 && a->a == b->a && a->b == b->b &&
				a->distribute == b->distribute && a->link == b->link &&
				a->fail == b->fail && a->fail_after_ns == b->fail_after_ns,
			"wires[%u]", i);
	}
}

static void check_roster(
	struct fixed_check *c, const struct gossip_config *old, const struct gossip_config *gossip)
{
	check_unchanged(c, old->n_roster == gossip->n_roster, "gossip.roster");
	for (unsigned i = 0; i < old->n_roster && old->n_roster == gossip->n_roster; i++) {
		const struct peer_config *a = &old->roster[i], *b = &gossip->roster[i];

		check_unchanged(c,
			strcmp(a->name, b->name) == 0 && address_equal(&a->address, a->address_len,
								 &b->address, b->address_len),
			"gossip.roster[%u]", i);
	}
}

static void check_gossip(
	struct fixed_check *c, const struct gossip_config *old, const struct gossip_config *gossip)
{
	check_unchanged(c,
		address_equal(&old->listen, old->listen_len, &gossip->listen, gossip->listen_len),
		"gossip.listen");
	check_roster(c, old, gossip);
	/* Keys and identities may be others, but sealed stays sealed. */
	check_unchanged(c, old->insecure == gossip->insecure, "gossip.insecure");
	check_unchanged(c,
		old->insecure != gossip->insecure ||
			(old->n_key_files == 0) == (gossip->n_key_files == 0),
		"gossip.key_file");
	check_unchanged(c, old->sources == gossip->sources, "gossip.sources");
	check_unchanged(c, old->branching == gossip->branching, "gossip.branching");
	check_unchanged(c, old->timeout_ns == gossip->timeout_ns, "gossip.timeout");
	check_unchanged(c, old->datagram_max == gossip->datagram_max, "gossip.datagram");
	check_unchanged(c, old->estimator == gossip->estimator, "gossip.estimator");
	/* The default of loans follows the estimator. */
	check_unchanged(c, old->estimator != gossip->estimator || old->loans == gossip->loans,
		"gossip.loans");
	check_unchanged(
		c, old->overshoot_alarm == gossip->overshoot_alarm, "gossip.overshoot_alarm");
}

static bool overlay_equal(const struct ledger_config *a, const struct ledger_config *b)
{
	bool same = a->ring == b->ring && a->degree == b->degree && a->n_edges == b->n_edges;

	for (unsigned i = 0; same && i < a->n_edges; i++)
		same = a->edges[i].a == b->edges[i].a && a->edges[i].b == b->edges[i].b;
	return same;
}

static bool etcd_equal(const struct ledger_config *a, const struct ledger_config *b)
{
	bool same = a->n_etcd == b->n_etcd && strcmp(a->etcd_prefix, b->etcd_prefix) == 0 &&
		    strcmp(a->etcd_ca, b->etcd_ca) == 0 &&
		    strcmp(a->etcd_cert, b->etcd_cert) == 0 &&
		    strcmp(a->etcd_key, b->etcd_key) == 0;

	for (unsigned i = 0; same && i < a->n_etcd; i++)
		same = strcmp(a->etcd[i], b->etcd[i]) == 0;
	return same;
}

/* What edges, records and leases stand on. */
static void check_same_ledger(
	struct fixed_check *c, const struct ledger_config *old, const struct ledger_config *ledger)
{
	check_unchanged(c, strcmp(old->store, ledger->store) == 0, "ledger.store");
	check_unchanged(c, old->lease_ns == ledger->lease_ns, "ledger.lease");
	check_unchanged(c, old->promise == ledger->promise, "ledger.promise");
	check_unchanged(c, old->drift_ppm == ledger->drift_ppm, "ledger.drift");
	check_unchanged(c, overlay_equal(old, ledger), "ledger.overlay");
	check_unchanged(c, old->tree_degree == ledger->tree_degree, "ledger.tree.degree");
	check_unchanged(c, etcd_equal(old, ledger), "ledger.etcd");
}

static bool shape_equal(const struct policy *a, const struct policy *b)
{
	return a->shape.delay_ns == b->shape.delay_ns && a->shape.bytes == b->shape.bytes &&
	       a->shape.drop == b->shape.drop && a->shape.target_ns == b->shape.target_ns &&
	       a->shape.interval_ns == b->shape.interval_ns && a->shape.ecn == b->shape.ecn &&
	       a->slo_p99_ns == b->slo_p99_ns;
}

static bool place_equal(const struct place_config *a, const struct place_config *b)
{
	return a->key.v4 == b->key.v4 && a->key.v6 == b->key.v6 && a->round_ns == b->round_ns &&
	       a->concentrate == b->concentrate && a->max_min == b->max_min &&
	       a->correlate == b->correlate;
}

static bool second_equal(const struct policy *a, const struct policy *b)
{
	const struct limit_terms *x = &a->colours.second, *y = &b->colours.second;

	return x->limit_bps == y->limit_bps && x->limit_s == y->limit_s &&
	       x->burst_bytes == y->burst_bytes;
}

static bool policy_terms_equal(const struct policy *a, const struct policy *b)
{
	return a->limit_bps == b->limit_bps && policy_limit_s(a) == policy_limit_s(b) &&
	       a->burst_bytes == b->burst_bytes && a->window_ns == b->window_ns &&
	       a->interval_ns == b->interval_ns && a->keep_per_second == b->keep_per_second &&
	       a->weigh_tcp_only == b->weigh_tcp_only && a->action == b->action &&
	       a->mark == b->mark && a->accounting == b->accounting &&
	       a->history_ns == b->history_ns && a->step_ns == b->step_ns && a->total == b->total &&
	       a->indicator == b->indicator && a->eta == b->eta && shape_equal(a, b) &&
	       schedule_equal(a->schedule, b->schedule) && place_equal(&a->place, &b->place) &&
	       policy_trials_equal(a, b) && second_equal(a, b) && policy_colours_equal(a, b);
}

static bool kind_equal(const struct policy *a, const struct policy *b)
{
	return a->count == b->count && a->meter == b->meter &&
	       memcmp(&a->classes, &b->classes, sizeof(a->classes)) == 0 &&
	       a->allocator == b->allocator && a->per_v4 == b->per_v4 && a->per_v6 == b->per_v6 &&
	       a->sources == b->sources && a->guarantee == b->guarantee && a->period == b->period &&
	       a->period_ns == b->period_ns && policy_id(a) == policy_id(b);
}

/* A parent is another one if its name is: its index may change by others. */
static bool place_in_tree_equal(const struct config *old, const struct policy *a,
	const struct config *config, const struct policy *b)
{
	if (policy_has_parent(a) != policy_has_parent(b) || a->weight != b->weight ||
		a->guaranteed_bps != b->guaranteed_bps)
		return false;
	return !policy_has_parent(a) ||
	       strcmp(old->policies[a->parent].name, config->policies[b->parent].name) == 0;
}

static uint8_t policy_changes(const struct config *old, const struct policy *before,
	const struct config *config, const struct policy *policy)
{
	bool match = policy_matches_equal(before, policy);
	bool terms = policy_terms_equal(before, policy) &&
		     place_in_tree_equal(old, before, config, policy);

	return (uint8_t)((match ? 0 : POLICY_MATCH) | (terms ? 0 : POLICY_TERMS) |
			 (kind_equal(before, policy) ? 0 : POLICY_ANEW));
}

static void diff_policies(struct config_diff *diff, const struct config *old,
	const struct config *config, const struct policy_names *names)
{
	for (unsigned i = 0; i < diff->n; i++) {
		const struct policy *policy = &config->policies[i];

		diff->from[i] = policy_names_find(names, policy->name);
		if (diff->from[i] == old->n_policies) {
			diff->from[i] = POLICY_NEW;
			diff->changes[i] = POLICY_ADDED;
			diff->added++;
			continue;
		}
		diff->changes[i] = policy_changes(
			old, &old->policies[diff->from[i]], config, policy);
		diff->changed += diff->changes[i] != 0;
	}
	diff->removed = old->n_policies - (diff->n - diff->added);
}

static int make_diff(
	const struct config *old, const struct config *config, struct config_diff **out)
{
	struct config_diff *diff = calloc(1, sizeof(*diff));
	struct policy_names *names;
	int ret = policy_names_create(old->policies, old->n_policies, &names);

	if (diff) {
		diff->n = config->n_policies;
		diff->from = calloc((size_t)diff->n + 1, sizeof(*diff->from));
		diff->changes = calloc((size_t)diff->n + 1, sizeof(*diff->changes));
	}
	if (ret || !diff || !diff->from || !diff->changes) {
		policy_names_destroy(names);
		config_diff_free(diff);
		return -ENOMEM;
	}
	diff_policies(diff, old, config, names);
	policy_names_destroy(names);
	*out = diff;
	return 0;
}

unsigned config_fixed(
	const struct config *old, const struct config *config, const struct complaint_sink *to)
{
	struct fixed_check c = {.to = to};

	check_process(&c, old, config);
	check_same_ports(&c, old, config);
	check_gossip(&c, &old->gossip, &config->gossip);
	check_same_ledger(&c, &old->ledger, &config->ledger);
	return c.n;
}

int config_diff(const struct config *old, const struct config *config, const char *file, FILE *err,
	struct config_diff **out)
{
	struct complaint_output named = {file, err};

	*out = NULL;
	if (config_fixed(old, config, &(struct complaint_sink){complaint_print_named, &named}) > 0)
		return -EINVAL;
	return make_diff(old, config, out);
}

void config_diff_free(struct config_diff *diff)
{
	if (!diff)
		return;
	free(diff->from);
	free(diff->changes);
	free(diff);
}
