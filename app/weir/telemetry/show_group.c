/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Answers about peers and gossip, and alarms for peers that are lost or differ. The members of the
 * group, and changes of them: app/weir/group/group_task.h.
 */
#include "show.h"

#include <inttypes.h>
#include <string.h>

#include <netdb.h>

#include <sodium.h>

#include "agree/agree.h"
#include "clock.h"
#include "differs.h"
#include "instance.h"
#include "gossip_socket.h"
#include "base/math.h"
#include "group_task.h"
#include "limiter/limiter.h"
#include "members/exchange.h"
#include "members/members.h"
#include "policy/value.h"

/* Peers whose settings differ, and peers from which nothing was ever received. */

#define PEERS_MOST 32 /* names in a list */

static json_t *show_differs(const struct differs *differs)
{
	json_t *json = json_array();

	for (unsigned i = 0; i < differs->named; i++)
		json_array_append_new(json, json_string(differs->text[i]));
	if (differs->others || differs->more)
		json_array_append_new(json, json_sprintf("%u more%s", differs->others,
						    differs->more ? ", list incomplete" : ""));
	return json;
}

json_t *show_differing_peers(const struct instance *inst)
{
	const struct gossip_config *gossip = &inst->config->gossip;
	json_t *names = json_array();
	unsigned n = 0;

	for (unsigned i = 0; i < gossip->n_roster; i++) {
		if (agree_peer(limiter_agree(inst->limiter), i).since_ns == 0)
			continue;
		if (n++ < PEERS_MOST)
			json_array_append_new(names, json_string(gossip->roster[i].name));
	}
	if (n > PEERS_MOST)
		json_array_append_new(names, json_sprintf("%u more", n - PEERS_MOST));
	if (n)
		return names;
	json_decref(names);
	return json_null();
}

void alarm_peers_that_differ(const struct instance *inst, json_t *alarms)
{
	for (unsigned i = 0; i < inst->config->gossip.n_roster; i++) {
		uint64_t now = control_now();
		struct differs differs = differs_of(inst, i, now);
		json_t *texts;

		if (differs.since_ns == 0 || differs_silent(inst, i, now) ||
			(!differs.fixed && now - differs.since_ns < inst->differs_alarm_ns))
			continue;
		texts = show_differs(&differs);
		json_array_append_new(alarms, json_sprintf("%s differs for %.0f s: %s",
						      inst->config->gossip.roster[i].name,
						      (double)(now - differs.since_ns) / SECOND_NS,
						      json_string_value(json_array_get(texts, 0))));
		json_decref(texts);
	}
}

/* A peer that has never sent anything since the start has an alarm of its own. */
static bool is_lost(const struct instance *inst, unsigned i)
{
	const struct peer *peer = gossip_peer(limiter_gossip(inst->limiter), i);

	return i != inst->config->gossip.self && peer && peer->known && !peer->alive &&
	       !differs_silent(inst, i, control_now());
}

unsigned show_count_lost(const struct instance *inst)
{
	unsigned n = 0;

	for (unsigned i = 0; i < inst->config->gossip.n_roster; i++)
		n += is_lost(inst, i);
	return n;
}

void alarm_peers_lost(const struct instance *inst, json_t *alarms)
{
	const struct gossip_config *config = &inst->config->gossip;
	const char *more = inst->commit ? ", with its parts of hard limits and quotas" : "";
	unsigned n = 0;

	for (unsigned i = 0; i < config->n_roster; i++)
		if (is_lost(inst, i) && n++ < PEERS_MOST)
			json_array_append_new(alarms,
				json_sprintf("peer %s is lost: 1/%u of each soft limit is unused%s",
					config->roster[i].name, config->n_roster, more));
	if (n > PEERS_MOST)
		json_array_append_new(alarms, json_sprintf("%u more peer%s lost", n - PEERS_MOST,
						      n - PEERS_MOST == 1 ? " is" : "s are"));
}

void alarm_silent_peers(const struct instance *inst, json_t *alarms)
{
	const struct gossip_config *config = &inst->config->gossip;

	for (unsigned i = 0; i < config->n_roster; i++)
		if (differs_silent(inst, i, control_now()))
			json_array_append_new(
				alarms, json_sprintf("no gossip from %s since the start: check its "
						     "process, address and key",
						config->roster[i].name));
}

/* Peers in one page: each can take 1,200 bytes of a reply. */
#define PEERS_PAGE 13

static json_t *address_json(const struct peer_config *peer)
{
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (getnameinfo((const struct sockaddr *)&peer->address, peer->address_len, host,
		    sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
		return json_null();
	return json_sprintf(strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

/* Adds the ledger's view of a neighbour, and its rejected statements. */
static void add_ledger_neighbour(json_t *json, const struct instance *inst, unsigned i)
{
	struct limiter_neighbour neighbour;
	bool edge = limiter_neighbour(inst->limiter, i, &neighbour);
	const char *state = !neighbour.has_reported                        ? "silent"
			    : neighbour.foreign                            ? "other"
			    : book_identity_known(neighbour.peer_identity) ? "same"
									   : "unknown";

	json_object_set_new(json, "ledger", edge ? json_string(state) : json_null());
	if (neighbour.foreign)
		json_object_set_new(json, "other_ledger", identity_json(neighbour.peer_identity));
	json_object_set_new(json, "invalid_statements", json_uint(neighbour.invalid));
}

/* Adds the format and the key of a peer's last accepted datagram; of ours, the sealing key. */
static void add_speech(json_t *json, const struct peer *peer, const struct keyring *own)
{
	uint32_t key = own ? keyring_name(own, true) : peer->key;

	json_object_set_new(json, "format",
		peer->speaks.version ? json_integer(peer->speaks.version) : json_null());
	json_object_set_new(json, "key", key ? json_sprintf("%08x", (unsigned)key) : json_null());
	json_object_set_new(json, "unreadable_format",
		peer->unreadable ? json_integer(peer->unreadable) : json_null());
}

static json_t *peer_json(const void *context, unsigned i)
{
	const struct instance *inst = context;
	const struct gossip_config *config = &inst->config->gossip;
	const struct peer *peer = gossip_peer(limiter_gossip(inst->limiter), i);
	static const struct peer unwatched = {0};
	const struct refusal *refusal = refusals_of(inst->gossip->refusals, i);
	const char *refused_as = refusal_name(refusal);
	uint64_t now = control_now();
	struct differs differs = differs_of(inst, i, now);
	struct agree_peer_view view = agree_peer(limiter_agree(inst->limiter), i);
	const char *state = i == config->self ? "self"
			    : !peer           ? "unwatched"
			    : peer->alive     ? "alive"
					      : "lost";
	json_t *json;

	if (!peer)
		peer = &unwatched;
	json = json_pack("{s:s, s:o, s:s, s:o, s:o, s:o, s:o}", "name", config->roster[i].name,
		"address", address_json(&config->roster[i]), "state", state, "silent_ms",
		age_ms(peer->known, peer->advanced_ns, now), "confirmed_ms_ago",
		age_ms(peer->confirmed, peer->confirmed_ns, now), "restarts",
		json_uint(peer->restarts), "implausible", json_uint(peer->implausible));
	add_ledger_neighbour(json, inst, i);
	add_speech(json, peer, i == config->self ? inst->keyring : NULL);
	json_object_set_new(json, "refused", json_uint(refusal->n));
	json_object_set_new(json, "refused_as", refused_as ? json_string(refused_as) : json_null());
	json_object_set_new(json, "refused_ms_ago", age_ms(refusal->n, refusal->last_ns, now));
	json_object_set_new(
		json, "compared_ms_ago", age_ms(view.has_reported, view.received_ns, now));
	json_object_set_new(
		json, "differs", differs.since_ns ? show_differs(&differs) : json_null());
	json_object_set_new(json, "differs_ms", age_ms(differs.since_ns, differs.since_ns, now));
	return json;
}

json_t *show_peers(const char *params, void *context)
{
	const struct instance *inst = context;
	const struct gossip *gossip = limiter_gossip(inst->limiter);
	const struct keyring *ring = inst->keyring;
	json_t *keys = json_array(); /* the sealing one first; a peer's "key" is one of them */
	json_t *json = show_page(
		"peers", params, inst->config->gossip.n_roster, PEERS_PAGE, peer_json, inst);

	json_object_set_new(json, "alive", json_uint(gossip_alive(gossip)));
	json_object_set_new(json, "timeout_ms", json_uint(gossip_timeout(gossip) / MS_NS));
	if (ring)
		json_array_append_new(
			keys, json_sprintf("%08x", (unsigned)keyring_name(ring, true)));
	if (ring && keyring_also(ring))
		json_array_append_new(keys, json_sprintf("%08x", (unsigned)keyring_also(ring)));
	json_object_set_new(json, "keys", keys);
	json_object_set_new(json, "identities",
		json_string(keyring_requires_identities(ring) ? "required"
			    : keyring_has_identities(ring)    ? "optional"
							      : "none"));
	json_object_set_new(json, "sealed", json_boolean(inst->config->gossip.n_key_files));
	return json;
}

json_t *show_gossip(const char *params, void *context)
{
	const struct instance *inst = context;
	const struct gossip_counters *c = gossip_counters(limiter_gossip(inst->limiter));
	const struct loan_counters *l = limiter_loan_counters(inst->limiter);
	json_t *received = json_object(), *loans = json_null();

	(void)params;
	if (l)
		loans = json_pack("{s:o, s:o, s:o, s:o}", "requests", json_uint(l->requests),
			"offers", json_uint(l->offers), "unanswered", json_uint(l->unanswered),
			"ignored", json_uint(l->ignored));
	for (unsigned v = 0; v < GOSSIP_VERDICTS; v++)
		json_object_set_new(received, gossip_verdict_name(v), json_uint(c->verdict[v]));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "sent",
		json_uint(c->sent), "sent_bytes", json_uint(c->sent_bytes), "send_errors",
		json_uint(inst->gossip->send_errors), "socket_drops",
		json_uint(gossip_socket_drops(inst->gossip)), "wrong_source",
		json_uint(inst->gossip->wrong_source), "received_bytes",
		json_uint(c->received_bytes), "unknown_policy", json_uint(c->unknown_policy),
		"implausible", json_uint(c->implausible), "loans", loans, "received", received);
}

/* --- members ---------------------------------------------------------------------------------- */

/* Members in one page: each takes up to 300 bytes of a reply. */
#define MEMBERS_PAGE 48

static const char *const state_names[MEMBER_STATES] = {
	[MEMBER_IN] = "in", [MEMBER_LEAVING] = "leaving", [MEMBER_LEFT] = "left"};

static json_t *member_json(const void *context, unsigned i)
{
	const struct instance *inst = context;
	const struct gossip_config *gossip = &inst->config->gossip;
	const struct peer_config *peer = &gossip->roster[i];
	const struct peer *watched = gossip_peer(limiter_gossip(inst->limiter), i);
	const struct member_entry *member = members_find(inst->members, peer->name);
	char address[ADDRESS_TEXT_MAX];
	bool self = i == gossip->self;

	return json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", peer->name, "address",
		address_format(&peer->address, address, sizeof(address)), "state",
		state_names[member ? member->state : MEMBER_LEFT], "alive",
		self      ? json_true()
		: watched ? json_boolean(watched->alive)
			  : json_null(),
		"confirmed",
		self      ? json_true()
		: watched ? json_boolean(exchange_confirmed(limiter_exchange(inst->limiter), i))
			  : json_null());
}

json_t *show_members(const char *params, void *context)
{
	const struct instance *inst = context;
	const struct gossip_config *gossip = &inst->config->gossip;
	const char *trouble = group_trouble(inst);
	unsigned alive, confirmed;
	json_t *json;

	if (!inst->group)
		return json_pack("{s:i, s:s, s:[]}", "limiters", (int)gossip->n_roster, "alone",
			gossip->roster[gossip->self].name, "members");
	json = show_page("members", params, gossip->n_roster, MEMBERS_PAGE, member_json, inst);
	group_count(inst, &alive, &confirmed);
	json_object_set_new(json, "limiters", json_uint(gossip->n_roster));
	json_object_set_new(
		json, "digest", json_sprintf("%016" PRIx64, members_digest(inst->members)));
	json_object_set_new(json, "neighbours_alive", json_uint(alive));
	json_object_set_new(json, "neighbours_confirmed", json_uint(confirmed));
	json_object_set_new(json, "removed", json_boolean(inst->removed));
	json_object_set_new(json, "joining", json_boolean(inst->joining));
	json_object_set_new(json, "trouble", trouble ? json_string(trouble) : json_null());
	json_object_set_new(json, "kept_in",
		inst->state_directory ? json_string(inst->state_directory) : json_null());
	return json;
}

/* Reads the keys of a public key, 64 digits. */
static bool read_key(const char *text, uint8_t key[CONFIG_PUBLIC_KEY])
{
	size_t len = 0;

	return strlen(text) == 2 * CONFIG_PUBLIC_KEY &&
	       sodium_hex2bin(key, CONFIG_PUBLIC_KEY, text, 2 * CONFIG_PUBLIC_KEY, NULL, &len,
		       NULL) == 0 &&
	       len == CONFIG_PUBLIC_KEY;
}

static const char *read_verb(const char *verb, struct group_edit *edit)
{
	if (strcmp(verb, "add") == 0)
		edit->verb = GROUP_ADD;
	else if (strcmp(verb, "remove") == 0)
		edit->verb = GROUP_REMOVE;
	else if (strcmp(verb, "move") == 0)
		edit->verb = GROUP_MOVE;
	else
		return "expected \"do\": \"add\", \"remove\" or \"move\"";
	return NULL;
}

/* Reads a change. Returns NULL, or the error. */
static const char *read_edit(const json_t *object, struct group_edit *edit, int *plan)
{
	const char *verb = "", *name = "", *address = NULL, *key = NULL, *wrong;
	int dead = 0;

	*edit = (struct group_edit){0};
	if (json_unpack((json_t *)(uintptr_t)object, "{s:s, s:s, s?s, s?s, s?b, s?b !}", "do",
		    &verb, "name", &name, "address", &address, "public_key", &key, "dead", &dead,
		    "plan", plan))
		return "expected an object with do, name, address, public_key, dead and plan";
	wrong = read_verb(verb, edit);
	if (wrong)
		return wrong;
	edit->dead = dead;
	if (!name_valid(name))
		return "the name: expected 1 to 63 letters, digits, \".\", \"_\" and \"-\"";
	snprintf(edit->peer.name, sizeof(edit->peer.name), "%s", name);
	if (edit->verb == GROUP_REMOVE)
		return NULL;
	if (!address || address_parse(address, &edit->peer.address, &edit->peer.address_len) ||
		!address_is_one_host(&edit->peer.address) || address_is_any(&edit->peer.address))
		return "the address: expected one such as 10.0.0.1:7946 or [2001:db8::1]:7946";
	if (key && !read_key(key, edit->peer.public_key))
		return "the public key: expected 64 hexadecimal digits";
	return NULL;
}

/* Returns the part of all demand that a limiter has, or a negative number: unknown. */
static double demand_part(const struct instance *inst, const char *name)
{
	const struct gossip_config *gossip = &inst->config->gossip;
	double own = 0, all = 0;
	unsigned i = 0;

	while (i < gossip->n_roster && strcmp(gossip->roster[i].name, name) != 0)
		i++;
	for (unsigned p = 0; i < gossip->n_roster && p < inst->n_policies; p++) {
		struct limiter_view view;
		struct gossip_sum sum;

		limiter_view(inst->limiter, p, &view);
		all += view.global_demand;
		if (i == gossip->self)
			own += view.demand;
		else if (gossip_reported_sum(limiter_gossip(inst->limiter), p, i, &sum))
			own += sum.demand;
		else if (inst->policies[p].allocator->gossips)
			return -1;
	}
	return all > 0 ? min_double(own / all, 1) : 0;
}

/* Describes the effect of a change, a sentence each. */
static json_t *describe_effects(const struct instance *inst, const struct group_edit *edit)
{
	const char *name = edit->peer.name;
	unsigned n = inst->config->gossip.n_roster;
	double part = demand_part(inst, name);
	json_t *lines = json_array();

	switch (edit->verb) {
	case GROUP_ADD:
		json_array_append_new(lines,
			json_sprintf("the group has %u limiters then; until %s is alive, 1/%u of "
				     "each soft limit is unused",
				n + 1, name, n + 1));
		json_array_append_new(lines,
			json_sprintf("start %s afterwards: its roster names it and a limiter of "
				     "the group",
				name));
		break;
	case GROUP_REMOVE:
		json_array_append_new(lines,
			json_sprintf(
				"the group has %u limiters then, which share each limit", n - 1));
		if (edit->dead)
			json_array_append_new(lines,
				json_sprintf("if %s still runs, cut off from the others, it passes "
					     "up to 1/%u of each limit in addition",
					name, n));
		else
			json_array_append_new(lines,
				json_sprintf("all limits of %s become 0: it drops all packets that "
					     "it still gets",
					name));
		if (!edit->dead && part < 0)
			json_array_append_new(
				lines, json_sprintf("its traffic is unknown here: see weirctl -n "
						    "%s rates there",
					       name));
		else if (!edit->dead && part > 0)
			json_array_append_new(
				lines, json_sprintf("it has %.1f %% of the group's demand now",
					       100 * part));
		break;
	case GROUP_MOVE:
		json_array_append_new(lines,
			json_sprintf("all limiters send to %s at the new address, and accept it "
				     "from there",
				name));
		break;
	}
	return lines;
}

json_t *do_group(const char *params, void *context)
{
	struct instance *inst = context;
	json_t *object = params ? json_loads(params, JSON_REJECT_DUPLICATES, NULL) : NULL;
	char why[GROUP_TEXT];
	struct group_edit edit;
	int plan = 0, ret = 0;
	const char *wrong = read_edit(object, &edit, &plan);
	json_t *lines;

	json_decref(object);
	if (wrong)
		return json_pack("{s:[s]}", "refused", wrong);
	if (!group_may(inst, &edit, why))
		return json_pack("{s:[s]}", "refused", why);
	lines = describe_effects(inst, &edit);
	if (!plan)
		ret = group_edit(inst, &edit, telemetry_asker(inst->telemetry));
	if (ret) {
		json_decref(lines);
		return json_pack("{s:[s]}", "refused", strerror(-ret));
	}
	return json_pack("{s:o, s:b}", "effects", lines, "done", !plan);
}

void alarm_group(const struct instance *inst, json_t *alarms)
{
	const struct members *set = inst->members;
	const struct member_entry *twice = set ? members_twice(set) : NULL;
	const char *trouble = group_trouble(inst);

	if (inst->removed)
		json_array_append_new(alarms,
			json_string("this limiter was removed from the group: its limits are 0. "
				    "Stop it, or add it again at a member"));
	if (inst->joining)
		json_array_append_new(alarms,
			json_string("this limiter joins the group: its limits are 0 until a member "
				    "has reported the others; was it added there?"));
	if (trouble)
		json_array_append_new(alarms, json_string(trouble));
	if (twice)
		json_array_append_new(alarms,
			json_sprintf("two limiters were added as %s: remove it, and add one again",
				twice->name));
}
