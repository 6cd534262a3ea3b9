/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The worker of a flow when workers share a queue: the sender cannot choose it, and all packets of
 * the flow have the same.
 */
#include "check.h"

#include <rte_mbuf.h>

#include "base/prng.h"
#include "rx_rings.h"
#include "source/source_hash.h"

#define FLOWS   4096
#define WORKERS 4

/* A packet in a buffer that does not belong to a device. */
struct buffer {
	struct rte_mbuf mbuf;
	uint8_t bytes[128];
};

static struct rte_mbuf *put_frame(struct buffer *buffer, const uint8_t *frame, uint16_t len)
{
	memset(buffer, 0, sizeof(*buffer));
	memcpy(buffer->bytes, frame, len);
	buffer->mbuf.buf_addr = buffer->bytes;
	buffer->mbuf.data_len = len;
	buffer->mbuf.pkt_len = len;
	return &buffer->mbuf;
}

static struct rx_rings rings_with(uint64_t secret)
{
	struct rx_rings rings = {.n_workers = WORKERS};

	source_key_init(&rings.key, secret);
	return rings;
}

static uint8_t worker_of(const struct rx_rings *rings, const uint8_t *frame, uint16_t len)
{
	struct buffer buffer;

	return rx_rings_worker_of(rings, put_frame(&buffer, frame, len), false);
}

/*
 * UDP from ports that a sender has chosen so that one worker gets all of them under the first
 * secret.
 */
TEST(test_nobody_aims)
{
	uint8_t frame[46] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0, 0, 32, 0, 0, 0, 0,
		64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2};
	const struct rx_rings known = rings_with(1), secret = rings_with(2);
	unsigned aimed = 0, counts[WORKERS] = {0};

	for (unsigned port = 0; aimed < FLOWS && port < UINT16_MAX; port++) {
		frame[34] = (uint8_t)(port >> 8);
		frame[35] = (uint8_t)port;
		if (worker_of(&known, frame, sizeof(frame)) != 0)
			continue;
		aimed++;
		counts[worker_of(&secret, frame, sizeof(frame))]++;
	}
	assert_int_equal(aimed, FLOWS);
	for (unsigned i = 0; i < WORKERS; i++)
		assert_in_range(counts[i], FLOWS / WORKERS * 3 / 4, FLOWS / WORKERS * 5 / 4);
}

/* Fragments of a packet. Only the first one shows the header after its options. */
TEST(test_fragments_together)
{
	uint8_t first[78] = {[12] = 0x86,
		0xdd,
		0x60,
		[18] = 0,
		24,
		44,
		64,
		[54] = 60,
		0,
		0,
		1,
		0,
		0,
		0,
		7,
		17,
		0,
		1,
		4};
	uint8_t later[78];
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned i = 0; i < 64; i++) {
		struct rx_rings rings = rings_with(prng_next(&prng));

		memcpy(later, first, sizeof(later));
		later[57] = 24; /* the last fragment, 24 bytes later */
		later[62] = (uint8_t)prng_next(&prng);
		assert_int_equal(worker_of(&rings, first, sizeof(first)),
			worker_of(&rings, later, sizeof(later)));
	}
}

/* A hash of the device is not computed again, and a computed hash is kept in the packet. */
TEST(test_hash_is_kept)
{
	static const uint8_t frame[60] = {[12] = 8, 0, 0x45, [23] = 17};
	const struct rx_rings rings = rings_with(3);
	struct buffer buffer;
	struct rte_mbuf *m = put_frame(&buffer, frame, sizeof(frame));
	uint32_t hash = rx_rings_flow_hash(&rings, m, false);

	assert_true(m->ol_flags & RTE_MBUF_F_RX_RSS_HASH);
	assert_int_equal(m->hash.rss, hash);
	m->hash.rss = ~hash;
	assert_int_equal(rx_rings_flow_hash(&rings, m, true), ~hash);
}
