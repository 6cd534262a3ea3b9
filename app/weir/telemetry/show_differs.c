/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Peers whose settings differ, and peers from which nothing was ever received.
 */
#include "show.h"

#include "agree/agree.h"
#include "clock.h"
#include "differs.h"
#include "instance.h"

#define PEERS_MOST 32 /* names in a list */

json_t *show_differs(const struct differs *differs)
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

		if (differs.since_ns == 0 || differs_unheard(inst, i, now) ||
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
	       !differs_unheard(inst, i, control_now());
}

void alarm_peers_lost(const struct instance *inst, json_t *alarms)
{
	const struct gossip_config *config = &inst->config->gossip;
	unsigned n = 0;

	for (unsigned i = 0; i < config->n_roster; i++)
		if (is_lost(inst, i) && n++ < PEERS_MOST)
			json_array_append_new(alarms,
				json_sprintf("peer %s is lost: 1/%u of each soft limit is unused",
					config->roster[i].name, config->n_roster));
	if (n > PEERS_MOST)
		json_array_append_new(alarms, json_sprintf("%u more peer%s lost", n - PEERS_MOST,
						      n - PEERS_MOST == 1 ? " is" : "s are"));
}

void alarm_peers_never_heard(const struct instance *inst, json_t *alarms)
{
	const struct gossip_config *config = &inst->config->gossip;

	for (unsigned i = 0; i < config->n_roster; i++)
		if (differs_unheard(inst, i, control_now()))
			json_array_append_new(
				alarms, json_sprintf("no gossip from %s since the start: check its "
						     "process, address and key",
						config->roster[i].name));
}
