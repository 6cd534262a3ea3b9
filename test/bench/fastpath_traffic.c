/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Prefixes, packets, and the stand-in for a wire.
 */
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_malloc.h>
#include <rte_udp.h>

#include "fastpath.h"

#define OPTIONS_BYTES 20
#define V6_BLOCKS     16 /* the /32s that contain the /48s */
#define V4_FIRST      (UINT64_C(1) << 24)
#define V4_END        (UINT64_C(224) << 24)
#define NESTED        50 /* one prefix in so many is within another */

/* ---- prefixes ---- */

/* Lengths of providers' customers: half /24, some larger, some with a few hosts or one. */
static uint8_t random_length(struct prng *prng)
{
	uint32_t x = prng_below(prng, 100);

	if (x < 50)
		return 24;
	if (x < 75)
		return (uint8_t)(20 + prng_below(prng, 4));
	return x < 90 ? (uint8_t)(25 + prng_below(prng, 4)) : 32;
}

/* Spread over the address space, with random gaps, so all are different. */
static void make_v4(struct prefixes *prefixes, struct prng *prng)
{
	uint64_t at = V4_FIRST, room = (V4_END - V4_FIRST) / prefixes->n;

	for (unsigned i = 0; i < prefixes->n; i++) {
		uint8_t length = random_length(prng);
		uint64_t size = UINT64_C(1) << (32 - length), start = at;

		if (i % NESTED == 1 && prefixes->length[i - 1] < 24) {
			/* The last /28 of the prefix before. */
			length = 28;
			start = prefixes->v4[i - 1] +
				(UINT64_C(1) << (32 - prefixes->length[i - 1])) - 16;
		} else {
			start += prng_below(prng, (uint32_t)(room / 2 + 1));
			start = (start + size - 1) & ~(size - 1);
		}
		prefixes->v4[i] = (uint32_t)start;
		prefixes->length[i] = length;
		at = V4_FIRST + room * (i + 1);
		if (at < start + size)
			at = start + size;
	}
	if (at > V4_END)
		die("%u prefixes do not fit", prefixes->n);
}

static void make_v6(struct prefixes *prefixes, struct prng *prng)
{
	unsigned each = (prefixes->n + V6_BLOCKS - 1) / V6_BLOCKS;

	for (unsigned i = 0; i < prefixes->n; i++) {
		uint64_t block = 0x2a000000 + i / each * 0x10203;
		uint64_t subnet = (uint64_t)(i % each) * 65536 / each;

		subnet += prng_below(prng, 65536 / each);
		prefixes->v6[i] = block << 32 | subnet << 16;
	}
}

/* Shuffles, so that adjacent prefixes are not adjacent in tables of policies. */
static void shuffle_prefixes(struct prefixes *prefixes, struct prng *prng)
{
	for (unsigned i = prefixes->n - 1; i > 0; i--) {
		unsigned k = prng_below(prng, i + 1);
		struct {
			uint64_t v6;
			uint32_t v4;
			uint8_t length;
		} kept = {prefixes->v6[i], prefixes->v4[i], prefixes->length[i]};

		prefixes->v6[i] = prefixes->v6[k];
		prefixes->v4[i] = prefixes->v4[k];
		prefixes->length[i] = prefixes->length[k];
		prefixes->v6[k] = kept.v6;
		prefixes->v4[k] = kept.v4;
		prefixes->length[k] = kept.length;
	}
}

void prefixes_make(struct prefixes *prefixes, unsigned n)
{
	struct prng prng;

	prng_seed(&prng, 1);
	prefixes->n = n;
	prefixes->v4 = need(n * sizeof(*prefixes->v4));
	prefixes->v6 = need(n * sizeof(*prefixes->v6));
	prefixes->length = need(n);
	make_v4(prefixes, &prng);
	make_v6(prefixes, &prng);
	shuffle_prefixes(prefixes, &prng);
}

void prefixes_free(struct prefixes *prefixes)
{
	free(prefixes->v4);
	free(prefixes->v6);
	free(prefixes->length);
}

/* ---- packets ---- */

static uint16_t make_v6_header(uint8_t *at)
{
	struct rte_ipv6_hdr ip = {
		.vtc_flow = RTE_BE32(6u << 28),
		.payload_len = rte_cpu_to_be_16(
			FRAME_BYTES - sizeof(struct rte_ether_hdr) - sizeof(struct rte_ipv6_hdr)),
		.proto = IPPROTO_UDP,
		.hop_limits = 64,
	};
	static const uint8_t src[] = {0x20, 0x01, 0x0d, 0xb8};

	memcpy(&ip.src_addr, src, sizeof(src));
	memcpy(at, &ip, sizeof(ip));
	return sizeof(ip);
}

static uint16_t make_v4_header(uint8_t *at, const struct traffic *traffic)
{
	uint16_t len = sizeof(struct rte_ipv4_hdr);
	struct rte_ipv4_hdr ip = {
		.total_length = rte_cpu_to_be_16(
			(uint16_t)(traffic->frame_len - sizeof(struct rte_ether_hdr))),
		.fragment_offset = traffic->kind == FRAME_FRAGMENT ? RTE_BE16(185) : 0,
		.time_to_live = 64,
		.next_proto_id = IPPROTO_UDP,
	};

	if (traffic->kind == FRAME_OPTIONS) {
		len += OPTIONS_BYTES;
		memset(at + sizeof(ip), 1, OPTIONS_BYTES); /* option "no operation" */
	}
	ip.version_ihl = (uint8_t)(4 << 4 | len / 4);
	memcpy(at, &ip, sizeof(ip));
	return len;
}

static void make_header(struct traffic *traffic)
{
	const uint16_t l2 = sizeof(struct rte_ether_hdr);
	struct rte_ether_hdr ether = {.dst_addr.addr_bytes = {2, 0, 0, 0, 0, 1},
		.src_addr.addr_bytes = {2, 0, 0, 0, 0, 2},
		.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4)};
	struct rte_udp_hdr udp = {.src_port = RTE_BE16(5000), .dst_port = RTE_BE16(53)};
	uint16_t l3;

	traffic->frame_len = FRAME_BYTES;
	if (traffic->kind == FRAME_SMALLEST)
		traffic->frame_len = l2 + sizeof(struct rte_ipv4_hdr);
	if (traffic->kind == FRAME_V6) {
		ether.ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV6);
		l3 = make_v6_header(traffic->header + l2);
		traffic->address = l2 + offsetof(struct rte_ipv6_hdr, dst_addr);
	} else {
		l3 = make_v4_header(traffic->header + l2, traffic);
		traffic->address = l2 + offsetof(struct rte_ipv4_hdr, src_addr);
	}
	memcpy(traffic->header, &ether, sizeof(ether));
	traffic->ports = l2 + l3;
	memcpy(traffic->header + traffic->ports, &udp, sizeof(udp));
}

static unsigned words_of(const struct traffic *traffic)
{
	return traffic->kind == FRAME_V6 ? 2 : 1;
}

static uint64_t v4_word(uint32_t src, uint32_t dst)
{
	uint32_t pair[2] = {rte_cpu_to_be_32(src), rte_cpu_to_be_32(dst)};
	uint64_t word;

	memcpy(&word, pair, sizeof(word));
	return word;
}

/* Returns addresses of a packet from a random source to a random host of the prefix. */
static uint64_t v4_packet(const struct prefixes *prefixes, unsigned policy, uint64_t random)
{
	uint32_t hosts = (uint32_t)((UINT64_C(1) << (32 - prefixes->length[policy])) - 1);

	return v4_word((uint32_t)(random >> 32), prefixes->v4[policy] | ((uint32_t)random & hosts));
}

uint64_t traffic_tuple(const struct prefixes *prefixes, unsigned policy)
{
	return v4_packet(prefixes, policy, (policy + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

/* Returns the cumulative probabilities of Zipf's law, by which policies are drawn. */
static double *zipf_odds(unsigned n)
{
	double *odds = need(n * sizeof(*odds)), sum = 0;

	for (unsigned i = 0; i < n; i++)
		odds[i] = sum += 1.0 / (i + 1);
	for (unsigned i = 0; i < n; i++)
		odds[i] /= sum;
	return odds;
}

static unsigned zipf_draw(const double *odds, unsigned n, double x)
{
	unsigned low = 0, high = n - 1;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (odds[middle] < x)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static unsigned draw_policy(const struct prefixes *prefixes, enum drawing draw, unsigned i,
	const double *odds, struct prng *prng)
{
	switch (draw) {
	case DRAW_ZIPF:
		return zipf_draw(odds, prefixes->n, prng_unit(prng));
	case DRAW_CYCLE:
		return i % prefixes->n;
	case DRAW_FIRST:
	case DRAW_SCAN:
		return 0;
	default:
		return prng_below(prng, prefixes->n);
	}
}

static void make_packet(struct traffic *traffic, const struct prefixes *prefixes, enum drawing draw,
	unsigned i, const double *odds, struct prng *prng)
{
	unsigned policy = draw_policy(prefixes, draw, i, odds, prng);
	uint64_t random = prng_next(prng);

	if (traffic->kind == FRAME_V6) {
		traffic->words[2 * i] = rte_cpu_to_be_64(
			prefixes->v6[policy] | (random & UINT16_MAX));
		traffic->words[2 * i + 1] = random;
	} else if (draw == DRAW_TUPLES) {
		traffic->words[i] = traffic_tuple(prefixes, policy);
	} else if (draw == DRAW_SCAN) {
		traffic->words[i] = v4_word(0x0a000000 + i, prefixes->v4[0]);
	} else if (draw == DRAW_NONE) {
		/* Class E: above all prefixes. */
		traffic->words[i] = v4_word((uint32_t)(random >> 32),
			UINT32_C(0xf0000000) | ((uint32_t)random & 0x0fffffff));
	} else {
		traffic->words[i] = v4_packet(prefixes, policy, random);
	}
}

struct traffic *traffic_make(
	const struct prefixes *prefixes, enum frame_kind kind, enum drawing draw, unsigned n)
{
	struct traffic *traffic = need(sizeof(*traffic));
	double *odds = draw == DRAW_ZIPF ? zipf_odds(prefixes->n) : NULL;
	static unsigned serial;
	struct prng prng;

	prng_seed(&prng, 2);
	traffic->serial = ++serial;
	traffic->kind = kind;
	traffic->n = n;
	make_header(traffic);
	traffic->words = need((size_t)n * words_of(traffic) * sizeof(*traffic->words));
	for (unsigned i = 0; i < n; i++)
		make_packet(traffic, prefixes, draw, i, odds, &prng);
	free(odds);
	return traffic;
}

void traffic_free(struct traffic *traffic)
{
	free(traffic->words);
	free(traffic);
}

static void write_header(
	struct rte_mempool *pool __rte_unused, void *opaque, void *object, unsigned i __rte_unused)
{
	const struct traffic *traffic = opaque;
	struct rte_mbuf *mbuf = object;

	memcpy((uint8_t *)mbuf->buf_addr + RTE_PKTMBUF_HEADROOM, traffic->header, FRAME_BYTES);
}

void traffic_headers(const struct traffic *traffic, struct rte_mempool *pool)
{
	rte_mempool_obj_iter(pool, write_header, (void *)(uintptr_t)traffic);
}

/* ---- the stand-in ---- */

static __rte_always_inline void write_addresses(
	const struct traffic *traffic, bool v6, unsigned i, struct rte_mbuf *mbuf)
{
	uint8_t *data = rte_pktmbuf_mtod(mbuf, uint8_t *);

	/* The last bytes of the address also determine the ports. */
	if (v6) {
		memcpy(data + traffic->address, &traffic->words[2 * i], 16);
		memcpy(data + traffic->ports, &traffic->words[2 * i + 1], 4);
	} else {
		memcpy(data + traffic->address, &traffic->words[i], 8);
		memcpy(data + traffic->ports, &traffic->words[i], 4);
	}
}

void traffic_frame(const struct traffic *traffic, unsigned i, struct rte_mbuf *mbuf)
{
	memcpy(rte_pktmbuf_mtod(mbuf, uint8_t *), traffic->header, FRAME_BYTES);
	mbuf->data_len = traffic->frame_len;
	mbuf->pkt_len = traffic->frame_len;
	write_addresses(traffic, traffic->kind == FRAME_V6, i, mbuf);
}

/* Stand-in for a wire, for one queue of one port. */
static struct stand_in {
	const struct traffic *traffic;
	unsigned at;
	const struct rte_eth_rxtx_callback *callback;
} __rte_cache_aligned stand_ins[PORTS_MAX][2];

static __rte_always_inline uint16_t stand_in(
	struct stand_in *s, bool v6, struct rte_mbuf **mbufs, uint16_t n)
{
	const struct traffic *traffic = s->traffic;
	unsigned mask = traffic->n - 1;

	for (uint16_t i = 0; i < n; i++)
		write_addresses(traffic, v6, (s->at + i) & mask, mbufs[i]);
	s->at += n;
	return n;
}

static uint16_t stand_in4(uint16_t port __rte_unused, uint16_t queue __rte_unused,
	struct rte_mbuf *mbufs[], uint16_t n, uint16_t max __rte_unused, void *param)
{
	return stand_in(param, false, mbufs, n);
}

static uint16_t stand_in6(uint16_t port __rte_unused, uint16_t queue __rte_unused,
	struct rte_mbuf *mbufs[], uint16_t n, uint16_t max __rte_unused, void *param)
{
	return stand_in(param, true, mbufs, n);
}

static uint16_t stand_in_send(uint16_t port __rte_unused, uint16_t queue __rte_unused,
	struct rte_mbuf *mbufs[], uint16_t n, void *param)
{
	return stand_in(param, false, mbufs, n);
}

static uint16_t stand_in_short(uint16_t port __rte_unused, uint16_t queue __rte_unused,
	struct rte_mbuf *mbufs[], uint16_t n, uint16_t max __rte_unused, void *param)
{
	struct stand_in *s = param;

	for (uint16_t i = 0; i < n; i++) {
		mbufs[i]->data_len = s->traffic->frame_len;
		mbufs[i]->pkt_len = s->traffic->frame_len;
	}
	return stand_in(s, false, mbufs, n);
}

/* Sets hashes like a device that reports its hash functions: other bits for other flows. */
static uint16_t stand_in_hashed(uint16_t port __rte_unused, uint16_t queue __rte_unused,
	struct rte_mbuf *mbufs[], uint16_t n, uint16_t max __rte_unused, void *param)
{
	struct stand_in *s = param;
	unsigned mask = s->traffic->n - 1;

	for (uint16_t i = 0; i < n; i++) {
		uint64_t word = s->traffic->words[(s->at + i) & mask];

		mbufs[i]->hash.rss = (uint32_t)(word * UINT64_C(0x9e3779b97f4a7c15) >> 32);
		mbufs[i]->ol_flags |= RTE_MBUF_F_RX_RSS_HASH;
	}
	return stand_in(s, false, mbufs, n);
}

/* Gives each queue its own part of the stream. */
static struct stand_in *stand_in_begin(
	unsigned p, uint16_t q, const struct traffic *traffic, unsigned at)
{
	struct stand_in *s = &stand_ins[p][q];

	s->traffic = traffic;
	s->at = at + (2 * p + q) * (traffic->n / (2 * PORTS_MAX));
	return s;
}

void stand_in_attach(
	const struct port *ports, unsigned n_ports, const struct traffic *traffic, unsigned at)
{
	rte_rx_callback_fn callback = traffic->kind == FRAME_V6         ? stand_in6
				      : traffic->kind == FRAME_SMALLEST ? stand_in_short
				      : traffic->kind == FRAME_HASHED   ? stand_in_hashed
									: stand_in4;

	for (unsigned p = 0; p < n_ports; p++)
		for (uint16_t q = 0; q < RTE_MIN(ports[p].queues, 2); q++) {
			struct stand_in *s = stand_in_begin(p, q, traffic, at);

			s->callback = rte_eth_add_rx_callback(ports[p].id, q, callback, s);
			if (!s->callback)
				die("no receive callback");
		}
}

void stand_in_detach(const struct port *ports, unsigned n_ports)
{
	for (unsigned p = 0; p < n_ports; p++)
		for (uint16_t q = 0; q < RTE_MIN(ports[p].queues, 2); q++) {
			struct stand_in *s = &stand_ins[p][q];

			rte_eth_remove_rx_callback(ports[p].id, q, s->callback);
			/* No thread receives now. */
			rte_free((void *)(uintptr_t)s->callback);
		}
}

void stand_in_attach_send(
	const struct port *ports, unsigned n_ports, const struct traffic *traffic, unsigned at)
{
	for (unsigned p = 0; p < n_ports; p++) {
		struct stand_in *s = stand_in_begin(p, 0, traffic, at);

		s->callback = rte_eth_add_tx_callback(ports[p].id, 0, stand_in_send, s);
		if (!s->callback)
			die("no transmit callback");
	}
}

void stand_in_detach_send(const struct port *ports, unsigned n_ports)
{
	for (unsigned p = 0; p < n_ports; p++) {
		rte_eth_remove_tx_callback(ports[p].id, 0, stand_ins[p][0].callback);
		/* No thread sends now. */
		rte_free((void *)(uintptr_t)stand_ins[p][0].callback);
	}
}
