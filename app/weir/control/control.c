/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "control.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/signalfd.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "box.h"
#include "delays.h"
#include "draw.h"
#include "log.h"
#include "placing.h"
#include "base/time.h"
#include "police/profile.h"
#include "police/shaped.h"
#include "publish.h"
#include "purse.h"
#include "reload.h"
#include "settle.h"

/* Datagrams taken in before the loop looks at the clock again. */
#define RECEIVE_BATCH 64

/* Signals, gossip, reload, store, etcd. */
#define FDS 5

#define LINK_PERIOD_NS (SECOND_NS / 4)

/* How long a worker has to take in limits before more are sent. */
#define REST_NS MS_NS

uint64_t control_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

/* What one worker has counted in a slot is added to what all have; returns the bytes. */
static uint64_t measure_counters(
	const struct box *box, uint32_t slot, unsigned w, struct limiter_sample *sample)
{
	const struct policy_state *state = &box->workers[w].policies[slot];
	uint64_t arrived = counter_read(&state->bytes);

	sample->arrived_bytes += arrived;
	/* What is marked, only counted, or made to wait is too much all the same. */
	sample->dropped_packets += box_fold(box, slot, w)->dropped_packets +
				   police_over_packets(state) + shaped_waited(state);
	return arrived;
}

/* The same of a policy's own slot; and how its demand lies over the workers. */
static void measure_worker(struct box *box, uint32_t slot, unsigned w, double interval_s,
	struct limiter_sample *sample)
{
	const struct flow_sample *flows = box->workers[w].samples[slot];
	struct split *split = &box->splits[slot];
	uint64_t arrived = measure_counters(box, slot, w, sample);

	if (split->shares)
		share_look(&split->shares[w], arrived, interval_s, shares_keep(interval_s));
	for (unsigned i = 0; i < FLOW_SLOTS; i++)
		box->flows[w * FLOW_SLOTS + i] = flows ? flow_slot_read(flows, i) : 0;
}

/*
 * What a policy that has moved counted in its former slot is still its own. While workers may be at
 * that one, what has arrived is what they counted as it came: what was passed and dropped lacks
 * what waits, and would run backwards.
 */
static void measure_carried(const struct box *box, uint32_t slot, struct limiter_sample *sample)
{
	const struct carried *carried = &box->carried[slot];
	const struct policy_totals *before = &carried->before;

	sample->arrived_bytes += before->passed_bytes + before->dropped_bytes;
	sample->dropped_packets += before->dropped_packets + before->over_packets +
				   delays_waited_before(box, slot);
	for (unsigned w = 0; carried->also != SLOT_NONE && w < box->config->n_workers; w++)
		measure_counters(box, carried->also, w, sample);
}

static uint64_t packets_of(const struct box *box, uint32_t slot)
{
	uint64_t packets = 0;

	for (unsigned w = 0; w < box->config->n_workers; w++)
		packets += box_totals(box, slot, w)->packets;
	return packets;
}

/* On the way, how a policy's demand lies over the workers. */
void control_measure(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct box *box = context;
	uint32_t slot = box->slots.of[policy];
	struct split *split = &box->splits[slot];
	uint64_t now = control_now(), packets;
	double interval_s = (double)(now - split->measured_ns) / SECOND_NS;
	struct sampling sampling = split->sampling;

	/* What waits now is the least that has waited at some time since the last measurement. */
	*sample = (struct limiter_sample){
		.slots = box->flows, .backlog = box_waiting(box, slot).units};
	for (unsigned w = 0; w < box->config->n_workers; w++)
		measure_worker(box, slot, w, interval_s, sample);
	measure_carried(box, slot, sample);
	/* Since the last measurement: somebody may have looked in between. */
	packets = packets_of(box, slot) - split->packets;
	split->packets += packets;
	if (box->policies[policy].allocator->samples_flows)
		sampling_adapt(&split->sampling, &box->budget, packets, interval_s);
	split->measured_ns = now;
	/* What the limiter does not know of, and so cannot say that it has changed. */
	if (split->shares || split->sampling.shift != sampling.shift)
		publish_later(box, slot);
}

static void share_samples(struct box *box, uint64_t now)
{
	if (now - box->budget_ns < SECOND_NS && !sampling_budget_spent(&box->budget))
		return;
	sampling_budget_adapt(&box->budget, (double)(now - box->budget_ns) / SECOND_NS);
	box->budget_ns = now;
}

static void log_peers(struct box *box)
{
	const struct gossip *gossip = limiter_gossip(box->limiter);
	const struct gossip_config *config = &box->config->gossip;

	if (box->peers_seen == gossip_changes(gossip))
		return;
	box->peers_seen = gossip_changes(gossip);
	for (unsigned i = 0; i < config->n_roster; i++) {
		const struct peer *peer = gossip_peer(gossip, i);
		bool alive = peer && peer->alive;

		if (i == config->self || alive == box->alive[i])
			continue;
		box->alive[i] = alive;
		if (!peer) /* it has another neighbour now, and is not ours to watch */
			continue;
		if (alive)
			log_info("peer %s: heard", config->roster[i].name);
		else
			log_warn("peer %s: lost; its 1/%u of each limit is not used",
				config->roster[i].name, config->n_roster);
	}
}

/* Those that nothing had arrived for nap, until something has: all that an idle one costs. */
static void wake(struct box *box)
{
	for (unsigned w = 0; w < box->config->n_workers; w++) {
		const struct policy_state *states = box->workers[w].policies;

		for (unsigned i = 0; i < box->n_policies; i++) {
			uint32_t slot = box->slots.of[i];
			uint32_t seen = (uint32_t)box_totals(box, slot, w)->packets;

			if (counter_read32(&states[slot].packets) != seen)
				limiter_wake(box->limiter, i);
		}
	}
}

/* Limits that have changed go to the workers, and what there is to say to the peers. */
static void converse(struct box *box)
{
	uint8_t buf[DATAGRAM_MAX];
	unsigned peer;
	size_t len;

	purses_retry(box);
	publish(box);
	while ((len = limiter_send(box->limiter, buf, &peer)) > 0)
		gossip_socket_send(&box->gossip, peer, buf, len);
}

static void tick(struct box *box)
{
	if (tsc_clock_refine(&box->clock, control_now())) {
		log_info("TSC: %.6f MHz", (double)box->clock.hz / 1e6);
		publish_all_later(box);
	}
	wake(box);
	limiter_tick(box->limiter, control_now(), control_measure, box);
	share_samples(box, control_now());
	delays_look(box, control_now());
	converse(box);
	log_peers(box);
}

/* Letters change limits and are answered at once; other news waits for the tick. */
static void receive(struct box *box)
{
	uint8_t buf[DATAGRAM_MAX + 1];
	bool letters = false;

	for (int i = 0; i < RECEIVE_BATCH; i++) {
		ssize_t n = gossip_socket_receive(&box->gossip, buf, sizeof(buf));

		if (n < 0)
			break;
		letters |= limiter_receive(box->limiter, control_now(), buf, (size_t)n) ==
			   GOSSIP_LETTER;
	}
	if (letters)
		converse(box);
}

/* How the devices' clocks run that packets are stamped by. */
static void watch_clocks(struct box *box)
{
	for (unsigned i = 0; i < box->config->n_ports; i++) {
		uint64_t before = rte_rdtsc(), nic;

		if (box->ports[i].timestamps && port_clock(&box->ports[i], &nic) == 0)
			nic_clock_read(&box->nic_clocks[i], nic, before, rte_rdtsc());
	}
}

static void watch_links(struct box *box)
{
	for (unsigned i = 0; i < box->config->n_ports; i++) {
		struct link_state *state = &box->links[i];
		bool up;

		if (port_link(&box->ports[i], &up, &state->speed_mbps))
			continue;
		if (state->known && state->up == up)
			continue;
		state->changes += state->known;
		state->known = true;
		state->up = up;
		log_info("port %s: link %s", box->config->ports[i].name, up ? "up" : "down");
	}
}

/* When there is something to do that nobody tells. */
static uint64_t next_ns(const struct box *box, uint64_t now)
{
	uint64_t next = RTE_MIN(limiter_next(box->limiter), settle_next(box, now));

	next = RTE_MIN(next, RTE_MIN(purses_next(box), draw_next(box)));
	next = RTE_MIN(next, placings_next(box));

	return box->all_told && !reload_settling(box) ? next : RTE_MIN(next, now + REST_NS);
}

static int timeout_ms(uint64_t now, uint64_t next)
{
	/* Rounded up: to wake before the tick is to wake twice. */
	return next > now ? (int)((next - now + MS_NS - 1) / MS_NS) : 0;
}

/* SIGTERM and SIGINT end the loop; a hang-up asks for the file to be read again. */
static int take_signal(struct box *box, int signal_fd)
{
	struct signalfd_siginfo info;

	if (read(signal_fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	if (info.ssi_signo == SIGHUP) {
		const char *answer = reload_request(box);

		log_info("SIGHUP: reload %s", answer ? answer : "of nothing: there is no file");
		return 0;
	}
	return (int)info.ssi_signo;
}

int control_run(struct box *box, int signal_fd)
{
	struct pollfd fds[FDS + TELEMETRY_MAX_FDS] = {
		{.fd = signal_fd, .events = POLLIN}, {.fd = box->gossip.fd, .events = POLLIN},
		{.fd = reload_fd(box), .events = POLLIN},
		{.events = POLLIN}, /* the store's, which a reload may open, as it may */
		{.events = POLLIN}, /* etcd's */
	};
	uint64_t links_ns = 0;

	for (;;) {
		uint64_t now = control_now();
		unsigned n = FDS + telemetry_pollfds(box->telemetry, fds + FDS);
		bool news;
		int ready;

		fds[3].fd = settle_fd(box);
		fds[4].fd = draw_fd(box);
		ready = poll(fds, n, timeout_ms(now, next_ns(box, now)));

		if (ready > 0 && fds[0].revents) {
			int sig = take_signal(box, signal_fd);

			if (sig)
				return sig;
		}
		if (ready > 0 && fds[1].revents)
			receive(box);
		reload_advance(box);
		now = control_now();
		if (now >= limiter_next(box->limiter))
			tick(box);
		else
			publish_rest(box);
		news = settle_advance(box);
		news |= purses_look(box, now);
		news |= draw_look(box, now);
		if (news)
			converse(box);
		placings_look(box, now);
		if (now - links_ns >= LINK_PERIOD_NS) {
			watch_links(box);
			watch_clocks(box);
			links_ns = now;
		}
		if (ready > 0)
			telemetry_serve(box->telemetry);
	}
}
