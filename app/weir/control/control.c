/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "control.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <sys/signalfd.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "box.h"
#include "delays.h"
#include "draw.h"
#include "gossip_socket.h"
#include "log.h"
#include "measure.h"
#include "placing.h"
#include "base/time.h"
#include "publish.h"
#include "purse.h"
#include "reload.h"
#include "settle.h"
#include "telemetry/server.h"

/* Datagrams taken in before the loop looks at the clock again. */
#define RECEIVE_BATCH 64

/* Signals, gossip, reload, store, etcd. */
#define FDS 5

#define LINK_PERIOD_NS (SECOND_NS / 4)

/* How long a worker has to take in limits before more are sent. */
#define REST_NS MS_NS

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

/* Limits that have changed go to the workers, and what there is to say to the peers. */
static void converse(struct box *box)
{
	uint8_t buf[DATAGRAM_MAX];
	unsigned peer;
	size_t len;

	purses_retry(box);
	publish(box);
	while ((len = limiter_send(box->limiter, buf, &peer)) > 0)
		gossip_socket_send(box->gossip, peer, buf, len);
}

static void tick(struct box *box)
{
	if (tsc_clock_refine(&box->clock, control_now())) {
		log_info("TSC: %.6f MHz", (double)box->clock.hz / 1e6);
		publish_all_later(box);
	}
	measure_wake(box);
	limiter_tick(box->limiter, control_now(), measure_policy, box);
	measure_share_samples(box, control_now());
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
		ssize_t n = gossip_socket_receive(box->gossip, buf, sizeof(buf));

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

	return dirty_is_empty(&box->dirty) && !reload_settling(box) ? next
								    : RTE_MIN(next, now + REST_NS);
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
		{.fd = signal_fd, .events = POLLIN}, {.fd = box->gossip->fd, .events = POLLIN},
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
