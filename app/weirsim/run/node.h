/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * One limiter of the simulation: the appliance's brain (lib/control/limiter) and its packet
 * decisions (lib/datapath/police, one worker), on a clock of its own.
 */
#ifndef WEIR_SIM_NODE_H
#define WEIR_SIM_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "world/disk.h"
#include "limiter/limiter.h"
#include "police/other.h"
#include "police/police.h"
#include "police/profile.h"
#include "sim.h"

struct node_policy {
	struct policy_state state;
	struct police_totals totals;
	uint64_t sampled_packets; /* those that how often to sample was chosen by */
	struct flow_sample sample;
	struct sampling sampling;
	struct enforced enforced;
	void *memory; /* of what is not in state */
};

struct node {
	unsigned index;
	struct limiter *limiter; /* NULL: crashed */
	bool paused;
	uint64_t resume_ns; /* of the event that counts, while it is paused */
	uint64_t secret;    /* of its tables of sources */
	struct sampling_budget budget;
	uint64_t ticked_ns;
	uint64_t next_tick_ns; /* of the event that counts; those before a restart do not */
	uint64_t starts;       /* so far; the epoch of its ledgers */
	bool settling;
	struct disk disk;
	struct held {
		uint8_t *buf;
		size_t len;
	} * held; /* datagrams that wait while it is paused */
	unsigned n_held;
	struct node_policy *policies;
};

int nodes_create(struct sim *sim);
void nodes_free(struct sim *sim);

/*
 * Starts a limiter that is down, as a process that has run for age_ns. Returns 0 or a negative
 * errno.
 */
int node_start(struct sim *sim, struct node *node, uint64_t age_ns);

/* The box is gone: what it would have passed or said is lost. */
void node_crash(struct sim *sim, struct node *node);

/*
 * Its control stands still: limits stay, datagrams wait; packets go on being metered. Pauses that
 * overlap last to the end of the later one.
 */
void node_pause(struct sim *sim, struct node *node, uint64_t for_ns);

/* False when there is nobody to take it. */
bool node_receive(struct sim *sim, struct node *node, uint8_t *buf, size_t len);

/* What happens to a packet (frame_len with its Ethernet header); a crashed one drops it. */
enum verdict node_police(struct sim *sim, struct node *node, unsigned policy,
	const struct packet *packet, const uint8_t *data, uint32_t frame_len);

/* Its clock when the simulation's shows now_ns, and the other way round. */
uint64_t node_clock(const struct sim *sim, const struct node *node, uint64_t now_ns);

/* Peers that a limiter has looked at, for each of its ticks: the work that grows with the group. */
double nodes_looks(const struct sim *sim);

void node_view(const struct node *node, unsigned policy, struct limiter_view *view);

#endif
