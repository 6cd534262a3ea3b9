/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reports when packets are lost that no policy drops, when datagrams are rejected, and when that
 * has ended. Detects queues of a port that are of no use.
 */
#include "losses.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_ethdev.h>

#include "base/time.h"
#include "drop/drop_reason.h"
#include "event.h"
#include "gossip_socket.h"
#include "kernel_sockets.h"
#include "instance.h"
#include "differs.h"
#include "totals.h"

#define LOOK_NS SECOND_NS

/* After this time without any, a trouble has ended. */
#define LOST_QUIET_NS    (5 * SECOND_NS)
#define REFUSED_QUIET_NS (10 * SECOND_NS)
#define REFUSED_ALARM_NS (3 * SECOND_NS) /* one datagram is no alarm */

/* Reasons of lost packets that no policy has dropped; a policy's own drops are intended. */
static const enum drop_reason reasons[] = {
	DROP_TX_FULL, DROP_RING_FULL, DROP_OVERSIZE, DROP_TRUNCATED, DROP_POOL_FULL};

/* Losses that devices count for a port. */
enum { PORT_MISSED, PORT_NO_BUFFER, PORT_RX_ERRORS, PORT_TX_ERRORS, PORT_LOSSES };
static const char *const port_losses[] = {
	[PORT_MISSED] = "rx_missed",
	[PORT_NO_BUFFER] = "rx_no_buffer",
	[PORT_RX_ERRORS] = "rx_errors",
	[PORT_TX_ERRORS] = "tx_errors",
};

/*
 * Verdicts on datagrams from outside the present group. Repeats are left out: a network can cause
 * them.
 */
static const enum gossip_verdict strange[] = {GOSSIP_TRUNCATED, GOSSIP_VERSION, GOSSIP_STRANGER,
	GOSSIP_UNSEALED, GOSSIP_ESTIMATOR, GOSSIP_NO_KEY, GOSSIP_FORGED, GOSSIP_MISSENT,
	GOSSIP_MALFORMED};

struct loss_watch {
	uint64_t looked_ns;
	struct trouble dropped[RTE_DIM(reasons)];
	struct trouble ports[CONFIG_PORTS_MAX][PORT_LOSSES];
	struct trouble refused;
	uint64_t verdicts[GOSSIP_VERDICTS + 1]; /* at its beginning; the last: wrong sources */
};

int losses_start(struct instance *inst)
{
	inst->losses = calloc(1, sizeof(*inst->losses));
	return inst->losses ? 0 : -ENOMEM;
}

void losses_stop(struct instance *inst)
{
	free(inst->losses);
	inst->losses = NULL;
}

uint64_t losses_next(const struct instance *inst)
{
	return inst->losses->looked_ns + LOOK_NS;
}

static void look_at_loss(
	struct trouble *trouble, uint64_t count, const char *reason, uint64_t now_ns)
{
	switch (trouble_look(trouble, count, now_ns, LOST_QUIET_NS)) {
	case TROUBLE_SAME:
		return;
	case TROUBLE_BEGINS:
		event(PACKETS_LOST, event_word("reason", reason),
			event_count("packets", trouble_counted(trouble)));
		return;
	case TROUBLE_ENDS:
		event(PACKETS_NOT_LOST, event_word("reason", reason),
			event_count("packets", trouble_counted(trouble)),
			event_real("seconds",
				(double)(trouble->grew_ns - trouble->began_ns) / SECOND_NS));
	}
}

uint64_t losses_missed(
	const struct instance *inst, unsigned port, const struct rte_eth_stats *stats)
{
	unsigned interface = inst->ports[port].interface;

	return stats->imissed + (interface ? kernel_missed(interface) : 0);
}

static void look_at_port(struct instance *inst, unsigned port, uint64_t now_ns)
{
	struct rte_eth_stats stats;
	uint64_t counts[PORT_LOSSES];
	char reason[CONFIG_NAME_MAX + 32];

	if (!rte_eth_dev_is_valid_port(inst->port_ids[port]) ||
		rte_eth_stats_get(inst->port_ids[port], &stats))
		return;
	counts[PORT_MISSED] = losses_missed(inst, port, &stats);
	counts[PORT_NO_BUFFER] = stats.rx_nombuf;
	counts[PORT_RX_ERRORS] = stats.ierrors;
	counts[PORT_TX_ERRORS] = stats.oerrors;
	for (unsigned k = 0; k < PORT_LOSSES; k++) {
		snprintf(reason, sizeof(reason), "%s of port %s", port_losses[k],
			inst->config->ports[port].name);
		look_at_loss(&inst->losses->ports[port][k], counts[k], reason, now_ns);
	}
}

static int write_verdict(char text[LOSSES_VERDICTS], int len, const char *name, uint64_t n)
{
	if (n == 0 || len >= LOSSES_VERDICTS)
		return len;
	return len + snprintf(text + len, (size_t)(LOSSES_VERDICTS - len), "%s%s %lu",
			     len ? ", " : "", name, (unsigned long)n);
}

/* Writes the verdicts since the trouble began, like "forged 12, version 3". */
static void list_verdicts(const struct instance *inst, char text[LOSSES_VERDICTS])
{
	const struct gossip_counters *c = gossip_counters(limiter_gossip(inst->limiter));
	uint64_t *before = inst->losses->verdicts;
	int len = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < RTE_DIM(strange); i++)
		len = write_verdict(text, len, gossip_verdict_name(strange[i]),
			c->verdict[strange[i]] - before[strange[i]]);
	write_verdict(
		text, len, "wrong_source", inst->gossip->wrong_source - before[GOSSIP_VERDICTS]);
}

bool losses_refused(const struct instance *inst, char text[LOSSES_VERDICTS])
{
	const struct trouble *refused = inst->losses ? &inst->losses->refused : NULL;

	if (!refused || !refused->lasts || refused->grew_ns - refused->began_ns < REFUSED_ALARM_NS)
		return false;
	list_verdicts(inst, text);
	return true;
}

static void look_at_datagrams(struct instance *inst, uint64_t now_ns)
{
	const struct gossip_counters *c = gossip_counters(limiter_gossip(inst->limiter));
	struct trouble *refused = &inst->losses->refused;
	uint64_t n_strange = inst->gossip->wrong_source;
	char verdicts[LOSSES_VERDICTS];
	enum trouble_news news;

	for (unsigned i = 0; i < RTE_DIM(strange); i++)
		n_strange += c->verdict[strange[i]];
	news = trouble_look(refused, n_strange, now_ns, REFUSED_QUIET_NS);
	if (news != TROUBLE_SAME)
		list_verdicts(inst, verdicts);
	if (news == TROUBLE_BEGINS)
		event(DATAGRAMS_REFUSED, event_word("verdicts", verdicts));
	else if (news == TROUBLE_ENDS)
		event(DATAGRAMS_QUIET, event_count("datagrams", trouble_counted(refused)),
			event_word("verdicts", verdicts),
			event_count("quiet_s", REFUSED_QUIET_NS / SECOND_NS));
	if (refused->lasts)
		return;
	for (unsigned v = 0; v < GOSSIP_VERDICTS; v++)
		inst->losses->verdicts[v] = c->verdict[v];
	inst->losses->verdicts[GOSSIP_VERDICTS] = inst->gossip->wrong_source;
}

bool losses_run(struct instance *inst, uint64_t now_ns)
{
	struct loss_watch *losses = inst->losses;
	struct worker_counters totals;

	if (now_ns - losses->looked_ns < LOOK_NS)
		return false;
	losses->looked_ns = now_ns;
	totals = instance_worker_totals(inst);
	for (unsigned i = 0; i < RTE_DIM(reasons); i++)
		look_at_loss(&losses->dropped[i], totals.dropped[reasons[i]],
			drop_reason_name(reasons[i]), now_ns);
	for (unsigned i = 0; i < inst->config->n_ports; i++)
		look_at_port(inst, i, now_ns);
	look_at_datagrams(inst, now_ns);
	return false;
}

/* --- queues without packets ------------------------------------------------------------------- */

#define QUEUES_LOOK_NS SECOND_NS

/*
 * Bits that are set for one queue, of the 64 for flows. If a device spread flows over two queues,
 * the other one would have none with a probability of 2^-23.
 */
#define MANY_FLOWS 24

/* Returns the flow bits of a queue, from all workers: several share a queue. */
static uint64_t flows_of(const struct instance *inst, uint16_t port_id, uint16_t queue)
{
	uint64_t flows = 0;

	for (unsigned w = 0; w < inst->config->n_workers; w++) {
		const struct worker *worker = &inst->workers[w];

		for (unsigned i = 0; i < worker->n_paths; i++) {
			const struct path *path = &worker->paths[i];

			if (path->rx_port == port_id && path->queue == queue)
				flows |= __atomic_load_n(&path->flows, __ATOMIC_RELAXED);
		}
	}
	return flows;
}

static unsigned look_at_queues(const struct instance *inst, unsigned port, bool *many)
{
	unsigned used = 0;

	*many = false;
	for (uint16_t q = 0; q < inst->ports[port].queues; q++) {
		uint64_t flows = flows_of(inst, inst->ports[port].id, q);

		used += flows != 0;
		*many |= __builtin_popcountll(flows) >= MANY_FLOWS;
	}
	return used;
}

unsigned queues_used(const struct instance *inst, unsigned port)
{
	bool many;

	return look_at_queues(inst, port, &many);
}

uint64_t queues_next(const struct instance *inst)
{
	return inst->queues.looked_ns + QUEUES_LOOK_NS;
}

static void watch_queues(struct instance *inst, unsigned port)
{
	unsigned queues = inst->ports[port].queues, used;
	bool many;

	if (queues < 2 || inst->queues.logged[port])
		return;
	used = look_at_queues(inst, port, &many);
	if (!many || used == queues)
		return;
	inst->queues.logged[port] = true;
	event(QUEUES_UNUSED, event_word("port", inst->config->ports[port].name),
		event_count("used", used), event_count("queues", queues));
}

bool queues_run(struct instance *inst, uint64_t now_ns)
{
	if (now_ns < queues_next(inst))
		return false;
	inst->queues.looked_ns = now_ns;
	for (unsigned i = 0; i < inst->config->n_ports; i++)
		watch_queues(inst, i);
	return false;
}
