/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * weir-emu: emulated links between DPDK ports, for machines whose kernel cannot delay packets. One
 * thread, which sleeps between packets: experiments run many of these next to the limiters on few
 * cores, and a busy loop would take CPU time from them.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "base/time.h"
#include "command/output.h"
#include "emu_link.h"
#include "options.h"
#include "emu_port.h"
#include "stats.h"
#include "telemetry/server.h"
#include "wake.h"

#define BURST             32
#define NAP_NS            100000ull /* longest sleep during which arrivals do not wake the thread */
#define LISTEN_NS         SECOND_NS /* longest sleep during which they do */
#define GROUP             2         /* packets a round from which sleeps cost less than wake-ups */
#define SLACK_NS          1000ul /* the kernel's default slack of 50 µs would be most of a sleep */
#define CONTROL_BUDGET_NS 100000 /* packets wait meanwhile */
#define LANES_MAX         (EMU_LINKS_MAX * DIRECTIONS)

struct emu {
	struct options options;
	struct lane lanes[LANES_MAX]; /* link i: [2i] a-to-b, [2i + 1] b-to-a */
	uint16_t ports[LANES_MAX];    /* link i: [2i] A, [2i + 1] B */
	unsigned n_lanes, n_ports;    /* set up so far */
	struct rte_mempool *pool;
	struct telemetry_server *control;                    /* NULL: there is none */
	struct pollfd fds[WAKE_FDS_MAX + TELEMETRY_MAX_FDS]; /* the ports', then the control's */
	unsigned n_wake; /* sockets of ports; 0: arrivals cannot wake the thread */
	bool woken;      /* probably by an arrival */
};

static volatile sig_atomic_t stop_wanted, stats_wanted;

static void on_signal(int number)
{
	if (number == SIGUSR1)
		stats_wanted = 1;
	else
		stop_wanted = 1;
}

/* The signals stay blocked, in EAL's threads too, except while the main thread waits. */
static void catch_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
	struct sigaction action = {.sa_handler = on_signal};
	sigset_t blocked;

	sigemptyset(&blocked);
	for (unsigned i = 0; i < RTE_DIM(numbers); i++) {
		sigaddset(&blocked, numbers[i]);
		sigaction(numbers[i], &action, NULL);
	}
	sigprocmask(SIG_BLOCK, &blocked, NULL);
}

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void lane_take(struct lane *lane, struct rte_mbuf **bufs, uint16_t n, uint64_t now_ns)
{
	for (uint16_t i = 0; i < n; i++) {
		if (lane_push(lane, bufs[i], bufs[i]->pkt_len, now_ns) != LANE_QUEUED)
			rte_pktmbuf_free(bufs[i]);
	}
}

static void lane_transmit(struct lane *lane, uint16_t port, struct rte_mbuf **bufs, uint16_t n)
{
	uint16_t sent = rte_eth_tx_burst(port, 0, bufs, n);

	for (uint16_t i = sent; i < n; i++) {
		lane_refuse(lane, bufs[i]->pkt_len);
		rte_pktmbuf_free(bufs[i]);
	}
}

/* Adds the number of received packets to *received; returns true if a port can have more. */
static bool receive_all(struct emu *emu, unsigned *received)
{
	struct rte_mbuf *bufs[BURST];
	uint64_t now_ns = clock_ns();
	bool more = false;

	for (unsigned i = 0; i < emu->n_lanes; i++) {
		uint16_t n = rte_eth_rx_burst(emu->ports[i], 0, bufs, BURST);

		lane_take(&emu->lanes[i], bufs, n, now_ns);
		*received += n;
		more |= n == BURST;
	}
	return more;
}

static bool send_lane_due(struct lane *lane, uint16_t port, uint64_t now_ns)
{
	struct rte_mbuf *bufs[BURST];
	uint16_t n = 0;

	while (n < BURST && (bufs[n] = lane_pop(lane, now_ns)))
		n++;
	if (n)
		lane_transmit(lane, port, bufs, n);
	return n == BURST;
}

static bool send_all_lanes(struct emu *emu)
{
	uint64_t now_ns = clock_ns();
	bool more = false;

	for (unsigned i = 0; i < emu->n_lanes; i++)
		more |= send_lane_due(&emu->lanes[i], emu->ports[i ^ 1], now_ns);
	return more;
}

static void free_waiting(struct lane *lane)
{
	struct rte_mbuf *packet;

	while ((packet = lane_pop(lane, LANE_NEVER)))
		rte_pktmbuf_free(packet);
}

static json_t *emu_stats(const struct emu *emu)
{
	uint64_t no_mbuf = 0;

	for (unsigned i = 0; i < emu->n_ports; i++) {
		struct rte_eth_stats stats;

		if (!rte_eth_stats_get(emu->ports[i], &stats))
			no_mbuf += stats.rx_nombuf;
	}
	return stats_json(&emu->options, emu->lanes, no_mbuf);
}

static int write_stats(const void *stats, FILE *out)
{
	return json_dumpf(stats, out, JSON_COMPACT) || fputc('\n', out) == EOF ? -EIO : 0;
}

static void print_stats(const struct emu *emu)
{
	json_t *stats = emu_stats(emu);

	output_write(emu->options.stats ? emu->options.stats : "-", write_stats, stats);
	json_decref(stats);
}

static json_t *show_emu_stats(const char *params, void *context)
{
	(void)params;
	return emu_stats(context);
}

/* Changes a link. Parameters: its index, and settings as after the ports of --link. */
static json_t *change_link(const char *params, void *context)
{
	struct emu *emu = context;
	struct lane_params next[DIRECTIONS];
	char *rest, *words;
	unsigned long index = params ? strtoul(params, &rest, 10) : 0;
	json_t *answer;

	if (!params || rest == params || *rest != ',' || index >= emu->options.n_links)
		return json_string("error: no such link");
	for (unsigned d = 0; d < DIRECTIONS; d++)
		next[d] = emu->lanes[index * DIRECTIONS + d].params;
	words = strdup(rest + 1);
	answer = json_string(!words || options_set(next, words)
				     ? "error: expected delay=, rate=, loss= or queue="
				     : "ok");
	for (unsigned d = 0; d < DIRECTIONS; d++)
		emu->lanes[index * DIRECTIONS + d].params = next[d];
	free(words);
	return answer;
}

static uint64_t next_due(const struct emu *emu)
{
	uint64_t next_ns = LANE_NEVER;

	for (unsigned i = 0; i < emu->n_lanes; i++)
		next_ns = RTE_MIN(next_ns, lane_next(&emu->lanes[i]));
	return next_ns;
}

static bool is_any_ready(const struct pollfd *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (fds[i].revents)
			return true;
	}
	return false;
}

/* Sleeps until a time at the latest; returns true if an event woke the thread before. */
static bool sleep_until(struct emu *emu, uint64_t until_ns, bool listen)
{
	uint64_t now_ns = clock_ns(), ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec pause = {(time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS)};
	struct pollfd *control = emu->fds + emu->n_wake;
	unsigned n_control = emu->control ? telemetry_pollfds(emu->control, control) : 0;
	unsigned n_wake = listen ? emu->n_wake : 0;
	sigset_t none;

	sigemptyset(&none);
	if (ppoll(control - n_wake, n_wake + n_control, &pause, &none) <= 0)
		return false;
	if (is_any_ready(control, n_control))
		telemetry_serve(emu->control);
	wake_clear_errors(emu->fds, n_wake);
	return true;
}

/*
 * A wake-up costs as much as several packets. So single packets wake the thread. While packets
 * arrive in groups, the thread sleeps for a fixed time and then receives all. A socket that woke
 * without a packet is ignored for one sleep, because it could keep the thread busy.
 */
static void wait_for_next(struct emu *emu, unsigned received)
{
	bool listen = emu->n_wake && received < GROUP && !(emu->woken && !received);
	uint64_t longest_ns = listen ? LISTEN_NS : NAP_NS;
	uint64_t until_ns = RTE_MIN(next_due(emu), clock_ns() + longest_ns);

	emu->woken = sleep_until(emu, until_ns, listen) && listen;
}

static void run_emu(struct emu *emu)
{
	while (!stop_wanted) {
		unsigned received = 0;
		bool more = receive_all(emu, &received);

		more |= send_all_lanes(emu);
		if (more)
			sleep_until(emu, 0, false); /* handles signals and commands */
		else
			wait_for_next(emu, received);
		if (stats_wanted) {
			stats_wanted = 0;
			print_stats(emu);
		}
	}
}

static int create_emu_pool(struct emu *emu)
{
	unsigned n = emu->options.mbufs;

	if (!n) {
		for (unsigned i = 0; i < emu->n_lanes; i++)
			n += emu->lanes[i].mask + 1 + 2 * BURST;
	}
	emu->pool = rte_pktmbuf_pool_create(
		"links", n, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, (int)rte_socket_id());
	if (emu->pool)
		return 0;
	fprintf(stderr, "%u packet buffers: %s; give EAL more with -m\n", n,
		rte_strerror(rte_errno));
	return -rte_errno;
}

static int create_lanes(struct emu *emu)
{
	for (unsigned i = 0; i < emu->options.n_links * DIRECTIONS; i++) {
		const struct lane_params *params =
			&emu->options.link[i / DIRECTIONS].lane[i % DIRECTIONS];
		int rc = lane_init(&emu->lanes[i], params, lane_capacity(params),
			emu->options.seed * LANES_MAX + i);

		if (rc)
			return rc;
		emu->n_lanes++;
	}
	return 0;
}

static int open_ports(struct emu *emu)
{
	for (unsigned i = 0; i < emu->n_lanes; i++) {
		int rc = port_open(emu->options.link[i / 2].port[i % 2], emu->pool, &emu->ports[i]);

		if (rc)
			return rc;
		emu->n_ports++;
	}
	return 0;
}

static int set_up_emu(struct emu *emu)
{
	static const struct telemetry_command commands[] = {
		{"/stats", "Returns the counters of all links. Takes no parameters", show_emu_stats,
			TELEMETRY_PARAMS, TELEMETRY_READS},
		{"/link", "Changes a link. Parameters: int index, its settings", change_link,
			TELEMETRY_PARAMS, TELEMETRY_CHANGES},
		{0},
	};
	static const struct telemetry_command *const tables[] = {commands};
	const struct telemetry_options control = {
		.path = emu->options.control,
		.tables = tables,
		.n_tables = 1,
		.context = emu,
		.now_ns = clock_ns,
		.budget_ns = CONTROL_BUDGET_NS,
	};
	int rc = create_lanes(emu);

	if (!rc)
		rc = create_emu_pool(emu);
	if (!rc)
		rc = open_ports(emu);
	if (rc)
		return rc;
	emu->n_wake = wake_find(emu->fds, emu->n_ports);
	if (control.path)
		rc = telemetry_listen(&control, &emu->control);
	if (rc)
		fprintf(stderr, "%s: %s\n", control.path, strerror(-rc));
	return rc;
}

static void tear_down(struct emu *emu)
{
	telemetry_close(emu->control);
	for (unsigned i = 0; i < emu->n_lanes; i++) {
		free_waiting(&emu->lanes[i]);
		lane_fini(&emu->lanes[i]);
	}
	for (unsigned i = 0; i < emu->n_ports; i++)
		port_close(emu->ports[i]);
	rte_mempool_free(emu->pool);
}

static int run_emulation(struct emu *emu)
{
	int rc = set_up_emu(emu);

	if (!rc) {
		fprintf(stderr, "%u links up\n", emu->options.n_links);
		run_emu(emu);
		print_stats(emu);
	}
	tear_down(emu);
	return rc;
}

static bool help_wanted(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return true;
	}
	return argc == 1;
}

int main(int argc, char **argv)
{
	static struct emu emu;
	int used, rc;

	if (help_wanted(argc, argv)) {
		options_help();
		return EXIT_SUCCESS;
	}
	catch_signals();
	prctl(PR_SET_TIMERSLACK, SLACK_NS, 0, 0, 0);
	used = rte_eal_init(argc, argv);
	if (used < 0) {
		fprintf(stderr, "EAL: %s\n", rte_strerror(rte_errno));
		return EXIT_FAILURE;
	}
	rc = options_parse(&emu.options, argc - used, argv + used);
	if (!rc)
		rc = run_emulation(&emu);
	rte_eal_cleanup();
	return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}
