/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "show.h"

#include <netdb.h>
#include <string.h>

#include "instance.h"
#include "gossip_socket.h"

static json_t *address_json(const struct peer_config *peer)
{
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (getnameinfo((const struct sockaddr *)&peer->address, peer->address_len, host,
		    sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV))
		return json_null();
	return json_sprintf(strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

static json_t *peer_json(const void *context, unsigned i)
{
	const struct instance *inst = context;
	const struct gossip_config *config = &inst->config->gossip;
	const struct peer *peer = gossip_peer(limiter_gossip(inst->limiter), i);
	static const struct peer unwatched = {0};
	uint64_t now = control_now();
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
		json_uint(peer->restarts));
}

json_t *show_peers(const char *params, void *context)
{
	const struct instance *inst = context;
	const struct gossip *gossip = limiter_gossip(inst->limiter);
	json_t *json = show_page(
		"peers", params, inst->config->gossip.n_roster, TELEMETRY_PAGE, peer_json, inst);

	json_object_set_new(json, "alive", json_uint(gossip_alive(gossip)));
	json_object_set_new(json, "timeout_ms", json_uint(gossip_timeout(gossip) / MS_NS));
	json_object_set_new(json, "sealed", json_boolean(inst->config->gossip.key_file[0]));
	return json;
}

json_t *show_gossip(const char *params, void *context)
{
	const struct instance *inst = context;
	const struct gossip_counters *c = gossip_counters(limiter_gossip(inst->limiter));
	json_t *received = json_object();

	(void)params;
	for (unsigned v = 0; v < GOSSIP_VERDICTS; v++)
		json_object_set_new(received, gossip_verdict_name(v), json_uint(c->verdict[v]));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "sent", json_uint(c->sent), "sent_bytes",
		json_uint(c->sent_bytes), "send_errors", json_uint(inst->gossip->send_errors),
		"received_bytes", json_uint(c->received_bytes), "unknown_policy",
		json_uint(c->unknown_policy), "received", received);
}
