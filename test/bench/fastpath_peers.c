/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The competitors of the appliance: bare forwarding, and forwarders built expertly from DPDK's
 * libraries.
 */
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_hash.h>
#include <rte_launch.h>
#include <rte_lpm.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_meter.h>
#include <rte_prefetch.h>
#include <rte_sched.h>
#include <rte_vect.h>

#include "fastpath.h"

#define NO_POLICY UINT32_C(0xffffff)

struct forwarder {
	uint16_t port[2], queue;
	uint64_t received, dropped;
};

static void forwarder_transmit(
	struct forwarder *f, unsigned from, struct rte_mbuf **mbufs, uint16_t n)
{
	uint16_t sent = rte_eth_tx_burst(f->port[!from], f->queue, mbufs, n);

	if (unlikely(sent < n)) {
		rte_pktmbuf_free_bulk(mbufs + sent, n - sent);
		f->dropped += n - sent;
	}
}

static void forwarder_counted(const void *self, uint64_t *received, uint64_t *dropped)
{
	const struct forwarder *f = self;

	*received = f->received;
	*dropped = f->dropped;
}

static void forwarder_init(struct forwarder *f, const struct port *ports)
{
	f->port[0] = ports[0].id;
	f->port[1] = ports[1].id;
}

/* A forwarder is the first member of self. */
static struct contender forwarder_contender(const char *name, void *self, const struct port *ports,
	const struct traffic *traffic, void (*turn)(void *))
{
	forwarder_init(self, ports);
	return (struct contender){
		.name = name,
		.self = self,
		.ports = ports,
		.n_ports = 2,
		.traffic = traffic,
		.turn = turn,
		.counted = forwarder_counted,
		.close = free,
	};
}

/* ---- bare forwarding ---- */

static void io_turn(void *self)
{
	struct forwarder *f = self;

	for (unsigned from = 0; from < 2; from++) {
		struct rte_mbuf *mbufs[BURST];
		uint16_t n = rte_eth_rx_burst(f->port[from], f->queue, mbufs, BURST);

		f->received += n;
		forwarder_transmit(f, from, mbufs, n);
	}
}

struct contender io_contender(const struct port *ports, const struct traffic *traffic)
{
	return forwarder_contender(traffic ? "io_with_headers" : "io",
		need(sizeof(struct forwarder)), ports, traffic, io_turn);
}

/* ---- bare forwarding by two threads ---- */

/* Each thread writes its own lines, and the prefetcher fetches no line of the other. */
struct io_two {
	struct forwarder first __rte_aligned(2 * RTE_CACHE_LINE_SIZE);
	struct forwarder second __rte_aligned(2 * RTE_CACHE_LINE_SIZE);
	struct companion companion __rte_aligned(2 * RTE_CACHE_LINE_SIZE);
	bool stop;
};

static int io_second(void *self)
{
	struct io_two *two = self;

	companion_publish(&two->companion);
	while (!__atomic_load_n(&two->stop, __ATOMIC_RELAXED))
		io_turn(&two->second);
	return 0;
}

static void io_two_begin(void *self)
{
	struct io_two *two = self;

	__atomic_store_n(&two->stop, false, __ATOMIC_RELAXED);
	if (rte_eal_remote_launch(io_second, two, SECOND_LCORE))
		die("lcore %u does not start", SECOND_LCORE);
}

static void io_two_end(void *self)
{
	struct io_two *two = self;

	__atomic_store_n(&two->stop, true, __ATOMIC_RELAXED);
	rte_eal_wait_lcore(SECOND_LCORE);
}

static void io_two_counted(const void *self, uint64_t *received, uint64_t *dropped)
{
	const struct io_two *two = self;

	*received = two->first.received + two->second.received;
	*dropped = two->first.dropped + two->second.dropped;
}

struct contender io_two_contender(
	const struct port *ports, unsigned apart, const struct traffic *traffic)
{
	struct io_two *two = aligned_alloc(alignof(struct io_two), sizeof(*two));
	struct contender contender;

	if (!two)
		die("no memory");
	memset(two, 0, sizeof(*two));
	contender = forwarder_contender("", &two->first, ports, traffic, io_turn);
	forwarder_init(&two->second, ports + apart);
	two->second.queue = apart ? 0 : 1;
	contender.self = two;
	contender.n_ports = 2 + apart;
	contender.companion = &two->companion;
	contender.begin = io_two_begin;
	contender.end = io_two_end;
	contender.counted = io_two_counted;
	return contender;
}

static void swap_addresses(struct rte_mbuf *mbuf)
{
	struct rte_ether_hdr *ether = rte_pktmbuf_mtod(mbuf, struct rte_ether_hdr *);
	struct rte_ether_addr kept = ether->dst_addr;

	ether->dst_addr = ether->src_addr;
	ether->src_addr = kept;
}

static void mac_turn(void *self)
{
	struct forwarder *f = self;

	for (unsigned from = 0; from < 2; from++) {
		struct rte_mbuf *mbufs[BURST];
		uint16_t n = rte_eth_rx_burst(f->port[from], 0, mbufs, BURST);

		for (uint16_t i = 0; i < n; i++)
			rte_prefetch0(rte_pktmbuf_mtod(mbufs[i], void *));
		for (uint16_t i = 0; i < n; i++)
			swap_addresses(mbufs[i]);
		f->received += n;
		forwarder_transmit(f, from, mbufs, n);
	}
}

struct contender mac_contender(const struct port *ports, const struct traffic *traffic)
{
	return forwarder_contender("mac", need(sizeof(struct forwarder)), ports, traffic, mac_turn);
}

/* ---- a meter for each policy ---- */

/* A meter and its profile: one cache line for two. */
struct policer {
	struct rte_meter_srtcm srtcm;
	uint32_t over;
} __rte_aligned(32);

struct library {
	struct forwarder f;
	struct rte_lpm *lpm;
	struct rte_hash *hash;
	struct policer *meters;
	struct rte_meter_srtcm_profile profiles[2]; /* within the limit; above it */
};

static void meters_make(struct library *library, unsigned n, double over)
{
	struct rte_meter_srtcm_params params[2] = {
		{.cir = UINT64_C(50000000000), .cbs = 64 << 20}, {.cir = 10, .cbs = 1500}};

	for (unsigned k = 0; k < 2; k++)
		if (rte_meter_srtcm_profile_config(&library->profiles[k], &params[k]))
			die("rte_meter refuses a profile");
	library->meters = rte_zmalloc(NULL, n * sizeof(*library->meters), RTE_CACHE_LINE_SIZE);
	if (!library->meters)
		die("no memory for %u meters", n);
	for (unsigned i = 0; i < n; i++) {
		struct policer *meter = &library->meters[i];

		meter->over = policy_is_over(i, over);
		rte_meter_srtcm_config(&meter->srtcm, &library->profiles[meter->over]);
	}
}

/*
 * Meters packets that have a policy and passes the others; transmits and frees. Stores in both
 * lists without a branch on the colour, because verdicts near a limit are unpredictable.
 */
static void meter_and_send(struct library *library, unsigned from, struct rte_mbuf **mbufs,
	const uint32_t *policy, uint16_t n)
{
	struct rte_mbuf *dropped[BURST];
	uint16_t n_pass = 0, n_drop = 0;
	uint64_t now = rte_rdtsc();

	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *mbuf = mbufs[i];
		bool passes = true;

		if (likely(policy[i] != NO_POLICY)) {
			struct policer *meter = &library->meters[policy[i]];

			passes = rte_meter_srtcm_color_blind_check(&meter->srtcm,
					 &library->profiles[meter->over], now,
					 mbuf->pkt_len) != RTE_COLOR_RED;
		}
		mbufs[n_pass] = mbuf;
		dropped[n_drop] = mbuf;
		n_pass += passes;
		n_drop += !passes;
	}
	forwarder_transmit(&library->f, from, mbufs, n_pass);
	if (n_drop)
		rte_pktmbuf_free_bulk(dropped, n_drop);
	library->f.received += n;
	library->f.dropped += n_drop;
}

static void library_close(void *self)
{
	struct library *library = self;

	rte_lpm_free(library->lpm);
	rte_hash_free(library->hash);
	rte_free(library->meters);
	free(library);
}

static struct contender library_like(const char *name, struct library *library,
	const struct port *ports, const struct traffic *traffic, void (*turn)(void *))
{
	struct contender contender = forwarder_contender(name, library, ports, traffic, turn);

	contender.close = library_close;
	return contender;
}

/* ---- by prefix ---- */

static uint32_t ipv4_destination(const struct rte_mbuf *mbuf)
{
	uint32_t address;

	memcpy(&address,
		rte_pktmbuf_mtod_offset(mbuf, const uint8_t *,
			sizeof(struct rte_ether_hdr) + offsetof(struct rte_ipv4_hdr, dst_addr)),
		sizeof(address));
	return address;
}

/* Returns the destinations of four packets, in host byte order. */
static xmm_t four_destinations(struct rte_mbuf **mbufs)
{
#ifdef RTE_ARCH_X86
	const __m128i swap = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
	__m128i address = _mm_set_epi32((int)ipv4_destination(mbufs[3]),
		(int)ipv4_destination(mbufs[2]), (int)ipv4_destination(mbufs[1]),
		(int)ipv4_destination(mbufs[0]));

	return _mm_shuffle_epi8(address, swap);
#else
	rte_xmm_t four;

	for (unsigned k = 0; k < 4; k++)
		four.u32[k] = rte_be_to_cpu_32(ipv4_destination(mbufs[k]));
	return four.x;
#endif
}

/* Looks up the policies of four packets, and prefetches their meters. */
static void lookup_four(const struct library *library, struct rte_mbuf **mbufs, uint32_t *policy)
{
	rte_lpm_lookupx4(library->lpm, four_destinations(mbufs), policy, NO_POLICY);
	for (unsigned k = 0; k < 4; k++)
		if (likely(policy[k] != NO_POLICY))
			rte_prefetch0(&library->meters[policy[k]]);
}

static void library_burst(struct library *library, unsigned from)
{
	struct rte_mbuf *mbufs[BURST];
	uint32_t policy[BURST];
	uint16_t n = rte_eth_rx_burst(library->f.port[from], 0, mbufs, BURST), i;

	for (i = 0; i < n; i++)
		rte_prefetch0(rte_pktmbuf_mtod(mbufs[i], void *));
	for (i = 0; i + 4 <= n; i += 4)
		lookup_four(library, &mbufs[i], &policy[i]);
	for (; i < n; i++)
		if (rte_lpm_lookup(
			    library->lpm, rte_be_to_cpu_32(ipv4_destination(mbufs[i])), &policy[i]))
			policy[i] = NO_POLICY;
	meter_and_send(library, from, mbufs, policy, n);
}

static void library_turn(void *self)
{
	library_burst(self, 0);
	library_burst(self, 1);
}

struct contender library_contender(const struct port *ports, const struct traffic *traffic,
	const struct prefixes *prefixes, double over)
{
	static unsigned serial;
	struct rte_lpm_config config = {
		.max_rules = prefixes->n, .number_tbl8s = RTE_MAX(prefixes->n, 256u)};
	struct library *library = need(sizeof(*library));
	char name[RTE_LPM_NAMESIZE];

	snprintf(name, sizeof(name), "bench-%u", serial++);
	library->lpm = rte_lpm_create(name, SOCKET_ID_ANY, &config);
	if (!library->lpm)
		die("rte_lpm: %s", rte_strerror(rte_errno));
	for (unsigned i = 0; i < prefixes->n; i++)
		if (rte_lpm_add(library->lpm, prefixes->v4[i], prefixes->length[i], i))
			die("rte_lpm takes no prefix %u", i);
	meters_make(library, prefixes->n, over);
	return library_like("library", library, ports, traffic, library_turn);
}

/* ---- by 5-tuple ---- */

struct tuple {
	uint64_t addresses;
	uint32_t ports;
	uint32_t proto;
};

static void tuple_of(const struct rte_mbuf *mbuf, struct tuple *tuple)
{
	const uint8_t *l3 = rte_pktmbuf_mtod_offset(
		mbuf, const uint8_t *, sizeof(struct rte_ether_hdr));

	memcpy(&tuple->addresses, l3 + offsetof(struct rte_ipv4_hdr, src_addr), 8);
	memcpy(&tuple->ports, l3 + sizeof(struct rte_ipv4_hdr), 4);
	tuple->proto = l3[offsetof(struct rte_ipv4_hdr, next_proto_id)];
}

static void hash_burst(struct library *library, unsigned from)
{
	struct rte_mbuf *mbufs[BURST];
	struct tuple tuples[BURST];
	const void *keys[BURST];
	int32_t position[BURST];
	uint32_t policy[BURST];
	uint16_t n = rte_eth_rx_burst(library->f.port[from], 0, mbufs, BURST);

	for (uint16_t i = 0; i < n; i++) {
		tuple_of(mbufs[i], &tuples[i]);
		keys[i] = &tuples[i];
	}
	rte_hash_lookup_bulk(library->hash, keys, n, position);
	for (uint16_t i = 0; i < n; i++) {
		policy[i] = position[i] < 0 ? NO_POLICY : (uint32_t)position[i];
		if (likely(position[i] >= 0))
			rte_prefetch0(&library->meters[policy[i]]);
	}
	meter_and_send(library, from, mbufs, policy, n);
}

static void hash_turn(void *self)
{
	hash_burst(self, 0);
	hash_burst(self, 1);
}

struct contender hash_contender(
	const struct port *ports, const struct traffic *traffic, const struct prefixes *prefixes)
{
	struct rte_hash_parameters params = {.name = "bench",
		.entries = 2 * prefixes->n,
		.key_len = sizeof(struct tuple),
		.socket_id = (int)rte_socket_id()};
	struct library *library = need(sizeof(*library));

	library->hash = rte_hash_create(&params);
	if (!library->hash)
		die("rte_hash: %s", rte_strerror(rte_errno));
	for (unsigned i = 0; i < prefixes->n; i++) {
		struct tuple tuple = {
			.addresses = traffic_tuple(prefixes, i), .proto = IPPROTO_UDP};

		memcpy(&tuple.ports, &tuple.addresses, 4);
		if (rte_hash_add_key(library->hash, &tuple) < 0)
			die("rte_hash takes no key %u", i);
	}
	meters_make(library, (unsigned)rte_hash_max_key_id(library->hash) + 1, 0);
	return library_like("rte_hash", library, ports, traffic, hash_turn);
}

/* ---- a scheduler ---- */

struct sched {
	struct forwarder f;
	struct rte_sched_port *port;
};

static void sched_burst(struct sched *sched, unsigned from)
{
	struct rte_mbuf *mbufs[BURST];
	uint16_t n = rte_eth_rx_burst(sched->f.port[from], 0, mbufs, BURST);
	int taken;

	sched->f.received += n;
	for (uint16_t i = 0; i < n; i++)
		rte_sched_port_pkt_write(sched->port, mbufs[i], 0,
			rte_be_to_cpu_32(ipv4_destination(mbufs[i])) * 2654435761u >> 20,
			RTE_SCHED_TRAFFIC_CLASS_BE, 0, RTE_COLOR_GREEN);
	/* The library frees packets whose queue is full. */
	taken = rte_sched_port_enqueue(sched->port, mbufs, n);
	sched->f.dropped += n - (unsigned)taken;
	n = (uint16_t)rte_sched_port_dequeue(sched->port, mbufs, BURST);
	forwarder_transmit(&sched->f, from, mbufs, n);
}

static void sched_turn(void *self)
{
	sched_burst(self, 0);
	sched_burst(self, 1);
}

static void sched_close(void *self)
{
	struct sched *sched = self;

	rte_sched_port_free(sched->port); /* frees queued packets */
	free(sched);
}

/* Rates are never reached: only queueing is measured. */
static struct rte_sched_port *sched_port(void)
{
	const uint64_t rate = UINT64_C(100000000000);
	struct rte_sched_subport_profile_params profile = {
		.tb_rate = rate, .tb_size = 1 << 24, .tc_period = 10};
	struct rte_sched_pipe_params pipe = {.tb_rate = rate,
		.tb_size = 1 << 24,
		.tc_period = 10,
		.tc_ov_weight = 1,
		.wrr_weights = {1, 1, 1, 1}};
	struct rte_sched_subport_params subport = {.n_pipes_per_subport_enabled = PIPES,
		.pipe_profiles = &pipe,
		.n_pipe_profiles = 1,
		.n_max_pipe_profiles = 1};
	struct rte_sched_port_params params = {.name = "bench",
		.rate = rate,
		.mtu = 1522,
		.frame_overhead = 24,
		.n_subports_per_port = 1,
		.subport_profiles = &profile,
		.n_subport_profiles = 1,
		.n_max_subport_profiles = 1,
		.n_pipes_per_subport = PIPES};
	struct rte_sched_port *port;

	for (unsigned k = 0; k < RTE_SCHED_TRAFFIC_CLASSES_PER_PIPE; k++)
		profile.tc_rate[k] = rate;
	/* Only one class has queues. */
	pipe.tc_rate[RTE_SCHED_TRAFFIC_CLASS_BE] = rate;
	subport.qsize[RTE_SCHED_TRAFFIC_CLASS_BE] = 64;
	port = rte_sched_port_config(&params);
	if (!port || rte_sched_subport_config(port, 0, &subport, 0))
		die("rte_sched refuses its port");
	for (unsigned i = 0; i < PIPES; i++)
		if (rte_sched_pipe_config(port, 0, i, 0))
			die("rte_sched refuses pipe %u", i);
	return port;
}

struct contender sched_contender(const struct port *ports, const struct traffic *traffic)
{
	struct sched *sched = need(sizeof(*sched));
	struct contender contender = forwarder_contender(
		"rte_sched", sched, ports, traffic, sched_turn);

	sched->port = sched_port();
	contender.close = sched_close;
	return contender;
}
