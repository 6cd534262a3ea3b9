/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "show.h"

#include <math.h>
#include <netdb.h>
#include <string.h>
#include <time.h>

#include <rte_ethdev.h>

#include "box.h"
#include "gossip_socket.h"
#include "links.h"
#include "packet/fragment.h"
#include "policy/kind.h"
#include "policy/value.h"
#include "reload.h"
#include "policy/units.h"
#include "show_json.h"
#include "show_shape.h"
#include "totals.h"

/* Bytes of messages in a reply, and what each costs beside its own. */
#define LINES_MAX 6000
#define LINE_COST 8

static json_t *show_policies(const char *params, void *context)
{
	const struct box *box = context;
	json_t *names;
	unsigned start;

	if (!show_page_start(params, &start))
		return NULL;
	names = json_array();
	for (unsigned i = start; i < box->n_policies && i - start < TELEMETRY_PAGE; i++)
		json_array_append_new(names, json_string(box->policies[i].name));
	return show_page("policies", names, start, box->n_policies);
}

static const char *action_name(enum action action)
{
	static const char *const names[] = {
		[ACTION_DROP] = "drop",
		[ACTION_MARK] = "mark",
		[ACTION_COUNT] = "count",
		[ACTION_SHAPE] = "shape",
	};

	return names[action];
}

/* Packets, and what the policy counts if that is something else. */
static json_t *packets_units(const struct policy *policy, uint64_t packets, uint64_t units)
{
	json_t *json = json_pack("{s:o}", "packets", integer(packets));

	if (policy->count != COUNT_PACKETS)
		json_object_set_new(json, show_counting(policy->count), integer(units));
	return json;
}

static json_t *proto_json(uint8_t proto)
{
	const char *name = proto_name(proto);

	return name ? json_string(name) : json_integer(proto);
}

static void add_ports(json_t *json, const char *key, const struct port_range *range)
{
	char text[PORTS_TEXT_MAX];

	if (range->first == 0)
		return;
	json_object_set_new(json, key, json_string(port_range_format(range, text, sizeof(text))));
}

static json_t *match_json(const struct config *config, const struct match *match)
{
	char src[64], dst[64];
	json_t *json = json_pack("{s:s, s:s, s:s}", "src",
		prefix_format(&match->src, src, sizeof(src)), "dst",
		prefix_format(&match->dst, dst, sizeof(dst)), "direction",
		direction_name(match->direction));

	if (match->wire != CONFIG_ANY)
		json_object_set_new(json, "wire", json_string(config->wires[match->wire].name));
	if (match->vlan != CONFIG_ANY)
		json_object_set_new(json, "vlan", json_integer(match->vlan));
	if (match->dscp != CONFIG_ANY)
		json_object_set_new(json, "dscp", json_integer(match->dscp));
	if (match->proto)
		json_object_set_new(json, "proto", proto_json(match->proto));
	add_ports(json, "src-port", &match->src_port);
	add_ports(json, "dst-port", &match->dst_port);
	return json;
}

/* What makes a source, as configured; null when the policy has one meter for all. */
static json_t *per_json(const struct policy *policy)
{
	if (!policy->per_v4 && !policy->per_v6)
		return json_null();
	if (policy->per_v4 == 32 && policy->per_v6 == 128)
		return json_string("src");
	return json_sprintf("src/%d", policy->per_v4 < 32 ? policy->per_v4 : policy->per_v6);
}

static json_t *mark_json(const struct policy *policy)
{
	if (policy->action != ACTION_MARK)
		return json_null();
	return policy->mark == MARK_ECN ? json_string("ecn") : json_integer(policy->mark);
}

/* Null of a budget, whose kind of guarantee is its own. */
static json_t *guarantee_json(const struct policy *policy)
{
	if (policy->allocator->counts_units)
		return json_null();
	return json_string(policy_is_conserved(policy) ? "conserved" : "soft");
}

/* Beside a total there need not be one. */
static double limit_or_none(const struct policy *policy, double rate)
{
	return policy->allocator->counts_units && policy->limit_bps == 0 ? NAN : rate;
}

/* As it was written: 100/min is no whole number a second. */
static json_t *limit_json(const struct policy *policy)
{
	char text[UNITS_TEXT_MAX];

	if (policy->limit_bps == 0)
		return json_null();
	if (policy->count == COUNT_BYTES)
		return json_string(units_format_rate(policy->limit_bps, text, sizeof(text)));
	return json_string(units_format_count_rate(
		policy->limit_bps, policy_limit_s(policy), text, sizeof(text)));
}

static void add_configured(json_t *json, const struct config *config, const struct policy *policy)
{
	json_object_set_new(json, "name", json_string(policy->name));
	json_object_set_new(json, "match", match_json(config, &policy->match));
	json_object_set_new(json, "allocator", json_string(policy->allocator->name));
	json_object_set_new(json, "guarantee", guarantee_json(policy));
	json_object_set_new(json, "meter", json_string(meter_name(policy->meter)));
	json_object_set_new(json, "count", json_string(show_counting(policy->count)));
	json_object_set_new(json, "per", per_json(policy));
	json_object_set_new(json, "action", json_string(action_name(policy->action)));
	json_object_set_new(json, "mark", mark_json(policy));
	json_object_set_new(json, "accounting", json_string(accounting_name(policy->accounting)));
	json_object_set_new(json, "interval_ms", json_real((double)policy->interval_ns / MS_NS));
	json_object_set_new(json, "limit", limit_json(policy));
	show_rate(json, policy, "limit", limit_or_none(policy, policy_rate(policy)));
	show_units(json, policy, "burst", policy->burst_bytes);
}

static void add_view(json_t *json, const struct policy *policy, const struct limiter_view *view)
{
	/* Nobody is told of what allocators do not ask for. */
	bool heard = policy->allocator->gossips;

	show_rate(json, policy, "effective_limit", limit_or_none(policy, view->effective_limit));
	show_rate(json, policy, "local_limit", limit_or_none(policy, view->local_limit));
	show_units(json, policy, "local_burst", view->local_burst);
	show_rate(json, policy, "demand", view->demand);
	json_object_set_new(json, "weight", json_real(view->weight));
	show_rate(json, policy, "global_demand", heard ? view->global_demand : NAN);
	json_object_set_new(
		json, "global_weight", heard ? json_real(view->global_weight) : json_null());
	json_object_set_new(json, "peers_lost", heard ? integer(view->lost) : json_null());
	json_object_set_new(json, "regime", json_string(allocate_regime_name(view->regime)));
	json_object_set_new(json, "flows_sampled", integer(view->flows));
	show_rate(json, policy, "flow_rate", view->flow_rate);
}

static void add_verdicts(json_t *json, struct box *box, unsigned i)
{
	const struct policy *policy = &box->policies[i];
	struct policy_totals totals = box_policy_totals(box, box->slots.of[i]);

	json_object_set_new(
		json, "passed", packets_units(policy, totals.passed_packets, totals.passed_bytes));
	json_object_set_new(json, "dropped",
		packets_units(policy, totals.dropped_packets, totals.dropped_bytes));
	if (policy->allocator->counts_units)
		json_object_set_new(json, "fallback",
			packets_units(policy, totals.fallback_packets, totals.fallback_bytes));
	json_object_set_new(
		json, "over", packets_units(policy, totals.over_packets, totals.over_bytes));
}

/* Null when the policy has one meter for all. */
static json_t *sources_json(const struct box *box, unsigned policy)
{
	struct source_table_stats stats = engine_source_totals(&box->engine, box->slots.of[policy]);

	if (stats.capacity == 0)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o}", "busy", integer(stats.sources), "capacity",
		integer(stats.capacity), "new", integer(stats.new_sources), "overflows",
		integer(stats.overflows));
}

static json_t *weights_json(const struct classes_config *classes)
{
	json_t *json = json_object();

	for (unsigned i = 0; i < PHANTOM_DSCPS; i++) {
		char dscp[8];

		snprintf(dscp, sizeof(dscp), "%u", i);
		if (classes->weights[i] > 1)
			json_object_set_new(json, dscp, integer(classes->weights[i]));
	}
	return json;
}

/* Null unless classes share the limit. */
static json_t *classes_json(const struct box *box, unsigned policy)
{
	const struct classes_config *classes = &box->policies[policy].classes;
	uint64_t backlogged = 0;

	if (box->policies[policy].meter != METER_PHANTOM)
		return json_null();
	for (unsigned w = 0; w < box->config->n_workers; w++)
		backlogged += police_backlogged(&box->workers[w].policies[box->slots.of[policy]]);
	return json_pack("{s:s, s:o, s:o, s:o}", "by",
		classes->by == CLASSES_BY_DSCP ? "dscp" : "flow", "n", integer(classes->n),
		"weights", weights_json(classes), "backlogged", integer(backlogged));
}

static json_t *show_policy(const char *params, void *context)
{
	struct box *box = context;

	for (unsigned i = 0; params && i < box->n_policies; i++) {
		const struct policy *policy = &box->policies[i];
		struct limiter_view view;
		json_t *json;

		if (strcmp(policy->name, params) != 0)
			continue;
		limiter_view(box->limiter, i, &view);
		json = json_object();
		add_configured(json, box->config, policy);
		add_view(json, policy, &view);
		add_verdicts(json, box, i);
		json_object_set_new(json, "sources", sources_json(box, i));
		show_shape(json, box, i);
		json_object_set_new(json, "classes", classes_json(box, i));
		return json;
	}
	return NULL;
}

static json_t *address_json(const struct peer_config *peer)
{
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (getnameinfo((const struct sockaddr *)&peer->address, peer->address_len, host,
		    sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
		return json_null();
	return json_sprintf(strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

static json_t *peer_json(const struct box *box, unsigned i, uint64_t now)
{
	const struct gossip_config *config = &box->config->gossip;
	const struct peer *peer = gossip_peer(limiter_gossip(box->limiter), i);
	static const struct peer unwatched = {0};
	const char *state = i == config->self ? "self"
			    : !peer           ? "unwatched"
			    : peer->alive     ? "alive"
					      : "lost";

	if (!peer)
		peer = &unwatched;

	return json_pack("{s:s, s:o, s:s, s:o, s:o, s:o}", "name", config->roster[i].name,
		"address", address_json(&config->roster[i]), "state", state, "heard_ms_ago",
		age_ms(peer->known, peer->heard_ns, now), "confirmed_ms_ago",
		age_ms(peer->confirmed, peer->confirmed_ns, now), "restarts",
		integer(peer->restarts));
}

static json_t *show_peers(const char *params, void *context)
{
	const struct box *box = context;
	const struct gossip *gossip = limiter_gossip(box->limiter);
	unsigned total = box->config->gossip.n_roster, start;
	uint64_t now = control_now();
	json_t *peers, *json;

	if (!show_page_start(params, &start))
		return NULL;
	peers = json_array();
	for (unsigned i = start; i < total && i - start < TELEMETRY_PAGE; i++)
		json_array_append_new(peers, peer_json(box, i, now));
	json = show_page("peers", peers, start, total);
	json_object_set_new(json, "alive", integer(gossip_alive(gossip)));
	json_object_set_new(json, "timeout_ms", integer(gossip_timeout(gossip) / MS_NS));
	json_object_set_new(json, "sealed", json_boolean(box->config->gossip.key_file[0]));
	return json;
}

static json_t *show_gossip(const char *params, void *context)
{
	const struct box *box = context;
	const struct gossip_counters *c = gossip_counters(limiter_gossip(box->limiter));
	json_t *json, *received;

	if (params)
		return NULL;
	received = json_object();
	for (unsigned v = 0; v < GOSSIP_VERDICTS; v++)
		json_object_set_new(received, gossip_verdict_name(v), integer(c->verdict[v]));
	json = json_pack("{s:o, s:o, s:o, s:o, s:o}", "sent", integer(c->sent), "sent_bytes",
		integer(c->sent_bytes), "send_errors", integer(box->gossip->send_errors),
		"received_bytes", integer(c->received_bytes), "unknown_policy",
		integer(c->unknown_policy));
	json_object_set_new(json, "received", received);
	return json;
}

/* What the devices lost before a worker saw it, or after. */
static void add_device_drops(json_t *json, const struct box *box)
{
	uint64_t missed = 0, no_buffer = 0, rx_errors = 0, tx_errors = 0;

	for (unsigned i = 0; i < box->config->n_ports; i++) {
		struct rte_eth_stats stats;

		if (rte_eth_stats_get(box->port_ids[i], &stats))
			continue;
		missed += stats.imissed;
		no_buffer += stats.rx_nombuf;
		rx_errors += stats.ierrors;
		tx_errors += stats.oerrors;
	}
	json_object_set_new(json, "rx_missed", integer(missed));
	json_object_set_new(json, "rx_no_buffer", integer(no_buffer));
	json_object_set_new(json, "rx_errors", integer(rx_errors));
	json_object_set_new(json, "tx_errors", integer(tx_errors));
}

static json_t *show_drops(const char *params, void *context)
{
	const struct box *box = context;
	struct worker_counters totals = box_worker_totals(box);
	json_t *json;

	if (params)
		return NULL;
	json = json_object();
	for (unsigned r = 0; r < DROP_REASONS; r++)
		json_object_set_new(json, drop_reason_name(r), integer(totals.dropped[r]));
	add_device_drops(json, box);
	return json;
}

/* What became of fragments, or null where no policy names ports. */
static json_t *fragments(const struct worker *worker)
{
	const struct fragments *table = __atomic_load_n(&worker->fragments, __ATOMIC_ACQUIRE);

	if (!table)
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "first", integer(counter_read(&table->first)), "found",
		integer(counter_read(&table->found)), "unknown",
		integer(counter_read(&table->unknown)));
}

static json_t *worker_json(struct box *box, unsigned i)
{
	const struct worker *worker = &box->workers[i];
	const struct worker_counters *c = &worker->counters;
	json_t *json, *dropped = json_object();

	for (unsigned r = 0; r < DROP_REASONS; r++)
		json_object_set_new(
			dropped, drop_reason_name(r), integer(counter_read(&c->dropped[r])));
	json = json_pack("{s:i, s:i, s:s, s:i}", "lcore", (int)worker->lcore, "cpu",
		(int)worker->cpu, "idle", worker->idle == IDLE_POLL ? "poll" : "sleep", "paths",
		(int)worker->n_paths);
	json_object_set_new(json, "rx_packets", integer(counter_read(&c->rx_packets)));
	json_object_set_new(json, "tx_packets", integer(counter_read(&c->tx_packets)));
	json_object_set_new(
		json, "unmatched_packets", integer(counter_read(&c->unmatched_packets)));
	json_object_set_new(json, "dropped", dropped);
	json_object_set_new(json, "fragments", fragments(worker));
	json_object_set_new(json, "bursts", integer(counter_read(&c->bursts)));
	json_object_set_new(json, "empty_polls", integer(counter_read(&c->empty_polls)));
	json_object_set_new(json, "sleeps", integer(counter_read(&c->sleeps)));
	json_object_set_new(json, "busy_cycles",
		integer(counter_read(&c->busy_cycles) + counter_read(&c->handing_cycles)));
	json_object_set_new(json, "handing_cycles", integer(counter_read(&c->handing_cycles)));
	json_object_set_new(json, "waiting", show_waiting(box, i));
	return json;
}

static json_t *show_workers(const char *params, void *context)
{
	struct box *box = context;
	json_t *json;

	if (params)
		return NULL;
	json = json_array();
	for (unsigned i = 0; i < box->config->n_workers; i++)
		json_array_append_new(json, worker_json(box, i));
	return json;
}

static json_t *port_json(const struct box *box, unsigned i)
{
	const struct link_state *link = &box->links->ports[i];

	return json_pack("{s:s, s:s, s:i, s:s, s:i, s:o, s:i, s:b}", "name",
		box->config->ports[i].name, "device", box->config->ports[i].device, "port",
		(int)box->port_ids[i], "link", link->up ? "UP" : "DOWN", "speed_mbps",
		(int)link->speed_mbps, "link_changes", integer(link->changes), "queues",
		(int)box->ports[i].queues, "rss", box->ports[i].rss);
}

static json_t *show_ports(const char *params, void *context)
{
	const struct box *box = context;
	json_t *json;

	if (params)
		return NULL;
	json = json_array();
	for (unsigned i = 0; i < box->config->n_ports; i++)
		json_array_append_new(json, port_json(box, i));
	return json;
}

/* As in the log; as many lines as a reply has room for. */
static json_t *lines(const char *text)
{
	json_t *json = json_array();
	size_t room = LINES_MAX;

	while (*text) {
		size_t len = strcspn(text, "\n");

		if (len + LINE_COST > room) {
			json_array_append_new(json, json_string("..."));
			break;
		}
		json_array_append_new(json, json_stringn(text, len));
		room -= len + LINE_COST;
		text += len + (text[len] == '\n');
	}
	return json;
}

static json_t *utc(time_t when)
{
	char text[sizeof("2026-01-01T00:00:00Z") + 8];
	struct tm tm;

	gmtime_r(&when, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(text);
}

static json_t *outcome_json(const struct reload_outcome *last)
{
	if (!last || !last->known)
		return json_null();
	return json_pack("{s:b, s:o, s:f, s:i, s:i, s:i, s:i, s:o}", "ok", last->error == 0, "at",
		utc(last->when.tv_sec), "took_ms", (double)last->took_ns / MS_NS, "added",
		(int)last->added, "removed", (int)last->removed, "changed", (int)last->changed,
		"unchanged", (int)last->unchanged, "messages", lines(last->messages));
}

static json_t *show_config(const char *params, void *context)
{
	const struct box *box = context;
	const struct policy_totals *gone = &box->gone;

	if (params)
		return NULL;
	return json_pack("{s:s?, s:o, s:i, s:i, s:s, s:o, s:{s:o, s:o}}", "file", box->file,
		"generation", integer(box->publisher.current->generation), "policies",
		(int)box->n_policies, "room", (int)box->slots.capacity, "reload", reload_state(box),
		"last_reload", outcome_json(reload_last(box)), "removed_policies", "passed_packets",
		integer(gone->passed_packets), "dropped_packets", integer(gone->dropped_packets));
}

static json_t *start_reload(const char *params, void *context)
{
	const char *answer = params ? NULL : reload_request(context);

	return answer ? json_pack("{s:s}", "reload", answer) : NULL;
}

const struct telemetry_command show_commands[] = {
	{"/weir/config", "The configuration in force, and how the last reload ended", show_config},
	{"/weir/reload", "Reads the configuration file again; /weir/config tells the outcome",
		start_reload},
	{"/weir/policies", "Names of the policies. Parameter: first index of a page",
		show_policies},
	{"/weir/policy", "A policy's limits, demand and verdicts. Parameter: its name",
		show_policy},
	{"/weir/delays", "How long a policy's packets have waited. Parameter: its name",
		show_delays},
	{"/weir/peers", "The roster: who counts. Parameter: first index of a page", show_peers},
	{"/weir/gossip", "Datagrams sent, and received by verdict", show_gossip},
	{"/weir/drops", "Packets that came in and did not leave, by reason", show_drops},
	{"/weir/workers", "What each worker lcore has done", show_workers},
	{"/weir/ports", "The configured ports and their links", show_ports},
	{0},
};
