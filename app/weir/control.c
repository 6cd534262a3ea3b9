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

#include <rte_cycles.h>

#include <sodium.h>

#include "box.h"
#include "log.h"
#include "police/profile.h"

#define SECOND_NS UINT64_C(1000000000)

/* Datagrams taken in before the loop looks at the clock again. */
#define RECEIVE_BATCH 64

/* A worker without traffic keeps this part of an even share, for its first packets. */
#define SPLIT_FLOOR 0.05

/* As the demand of a whole box is smoothed by default. */
#define SPLIT_KEEP_PER_SECOND 0.1

#define LINK_PERIOD_NS (SECOND_NS / 4)

uint64_t control_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

/* Part of a policy's local limit that a worker gets; the parts sum to 1. */
static double worker_share(const struct box *box, unsigned policy, unsigned worker)
{
	const struct split *split = &box->splits[policy];
	unsigned n = box->config->n_workers;
	double sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += split->demand[i].rate;
	if (sum <= 0)
		return 1.0 / n;
	return SPLIT_FLOOR / n + (1 - SPLIT_FLOOR) * split->demand[worker].rate / sum;
}

/*
 * The profile of a policy on a worker, given the one before it, if any. A limit that no meter can
 * express leaves the old one in force.
 */
static bool fill_profile(const struct box *box, unsigned policy, unsigned worker,
	const struct limiter_view *view, const struct limit_profile *old, uint64_t tsc,
	struct limit_profile *profile)
{
	const struct policy *config = &box->config->policies[policy];
	double share = box->config->n_workers > 1 ? worker_share(box, policy, worker) : 1;
	int ret = limit_profile_init(profile, config, view, share, box->clock.hz);

	if (ret) {
		log_err("policy %s: %s", config->name, strerror(-ret));
		if (old)
			*profile = *old;
		return false;
	}
	limit_profile_sample(profile, &box->splits[policy].sampling);
	return !old || limit_profile_succeed(profile, old, tsc);
}

/*
 * Fills a snapshot with the limiter's present limits; true when any differs from the current one.
 */
static bool fill_snapshot(struct box *box, struct snapshot *snapshot)
{
	const struct snapshot *old = box->publisher.current;
	uint64_t tsc = rte_rdtsc();
	bool changed = !old;

	snapshot->classifier = box->classifier;
	for (unsigned p = 0; p < box->config->n_policies; p++) {
		struct limiter_view view;

		limiter_view(box->limiter, p, &view);
		for (unsigned w = 0; w < box->config->n_workers; w++) {
			changed |= fill_profile(box, p, w, &view,
				old ? &snapshot_profiles_of(old, w)[p] : NULL, tsc,
				&snapshot_profiles(snapshot, w)[p]);
		}
	}
	return changed;
}

static int publish(struct box *box)
{
	struct snapshot *snapshot;

	publisher_reclaim(&box->publisher);
	snapshot = publisher_take(&box->publisher);
	if (!snapshot)
		return -ENOMEM;
	if (fill_snapshot(box, snapshot)) {
		publisher_publish(&box->publisher, snapshot);
	} else {
		snapshot->next = box->publisher.spare;
		box->publisher.spare = snapshot;
	}
	return 0;
}

int control_publish_first(struct box *box)
{
	int ret = publish(box);

	for (unsigned w = 0; ret == 0 && w < box->config->n_workers; w++) {
		const struct limit_profile *profiles = snapshot_profiles_of(
			box->publisher.current, w);

		for (unsigned p = 0; p < box->config->n_policies; p++) {
			uint64_t seed;

			randombytes_buf(&seed, sizeof(seed));
			policy_state_init(
				&box->workers[w].policies[p], &profiles[p], rte_rdtsc(), seed);
		}
	}
	return ret;
}

/* The brain's measurement of a policy; on the way, how its demand lies over the workers. */
static void measure(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct box *box = context;
	struct split *split = &box->splits[policy];
	uint64_t now = control_now(), packets = 0;
	double interval_s = (double)(now - split->measured_ns) / SECOND_NS;
	double keep = demand_keep(SPLIT_KEEP_PER_SECOND, interval_s);

	*sample = (struct limiter_sample){.slots = box->slots};
	for (unsigned w = 0; w < box->config->n_workers; w++) {
		const struct worker *worker = &box->workers[w];
		const struct policy_state *state = &worker->policies[policy];
		const struct policy_extra *extra = &worker->extras[policy];
		uint64_t arrived = counter_read(&state->passed_bytes) +
				   counter_read(&state->dropped_bytes);
		uint64_t dropped = counter_read(&state->dropped_packets);

		demand_add(&split->demand[w], (double)(arrived - split->arrived[w]) / interval_s,
			keep);
		split->arrived[w] = arrived;
		sample->arrived_bytes += arrived;
		/* What is marked or only counted is too much all the same. */
		sample->dropped_packets += dropped + counter_read(&extra->over_packets);
		packets += counter_read(&state->passed_packets) + dropped;
		for (unsigned i = 0; i < FLOW_SLOTS; i++)
			box->slots[w * FLOW_SLOTS + i] = flow_slot_read(
				&worker->samples[policy], i);
	}
	sampling_adapt(&split->sampling, packets, interval_s);
	split->measured_ns = now;
}

static void log_peers(struct box *box)
{
	const struct gossip *gossip = limiter_gossip(box->limiter);
	const struct gossip_config *config = &box->config->gossip;

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

static void tick(struct box *box)
{
	uint8_t buf[DATAGRAM_MAX];
	unsigned peer;
	size_t len;

	if (tsc_clock_refine(&box->clock, control_now()))
		log_info("TSC: %.6f MHz", (double)box->clock.hz / 1e6);
	limiter_tick(box->limiter, control_now(), measure, box);
	if (publish(box))
		log_err("out of memory: limits stay as they are");
	while ((len = limiter_send(box->limiter, buf, &peer)) > 0)
		gossip_socket_send(&box->gossip, peer, buf, len);
	log_peers(box);
}

static void receive(struct box *box)
{
	uint8_t buf[DATAGRAM_MAX + 1];

	for (int i = 0; i < RECEIVE_BATCH; i++) {
		ssize_t n = gossip_socket_receive(&box->gossip, buf, sizeof(buf));

		if (n < 0)
			return;
		limiter_receive(box->limiter, control_now(), buf, (size_t)n);
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

static int timeout_ms(uint64_t now, uint64_t next)
{
	/* Rounded up: to wake before the tick is to wake twice. */
	return next > now ? (int)((next - now + 999999) / 1000000) : 0;
}

/* SIGTERM and SIGINT end the loop; a hang-up is said and survived. */
static int take_signal(int signal_fd)
{
	struct signalfd_siginfo info;

	if (read(signal_fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	if (info.ssi_signo == SIGHUP) {
		log_warn("SIGHUP: the configuration is read at start only; nothing changed");
		return 0;
	}
	return (int)info.ssi_signo;
}

int control_run(struct box *box, int signal_fd)
{
	struct pollfd fds[2 + TELEMETRY_MAX_FDS] = {
		{.fd = signal_fd, .events = POLLIN},
		{.fd = box->gossip.fd, .events = POLLIN},
	};
	uint64_t links_ns = 0;

	for (;;) {
		uint64_t now = control_now();
		unsigned n = 2 + telemetry_pollfds(box->telemetry, fds + 2);
		int ready = poll(fds, n, timeout_ms(now, limiter_next(box->limiter)));

		if (ready > 0 && fds[0].revents) {
			int sig = take_signal(signal_fd);

			if (sig)
				return sig;
		}
		if (ready > 0 && fds[1].revents)
			receive(box);
		now = control_now();
		if (now >= limiter_next(box->limiter))
			tick(box);
		if (now - links_ns >= LINK_PERIOD_NS) {
			watch_links(box);
			links_ns = now;
		}
		if (ready > 0)
			telemetry_serve(box->telemetry);
	}
}
