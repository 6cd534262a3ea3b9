/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The check of a whole burst is compared with a check byte by byte. All frames are plain except
 * one, in which one field differs.
 */
#include "check.h"

#include "base/prng.h"
#include "classify/frames.h"
#include "classify/plain.h"
#include "classify/wide.h"

#define FRAMES     64
#define FRAME_SIZE (TAGGED + IPV6_LEN + 8)

struct sent {
	unsigned n, l2;
	bool v6;
	uint8_t bytes[FRAMES][FRAME_SIZE];
	const uint8_t *data[FRAMES];
	uint32_t len[FRAMES];
};

static unsigned n_wide; /* bursts also checked by wide_plain4() */

static const uint16_t tags[] = {ETHERTYPE_VLAN, ETHERTYPE_QINQ, ETHERTYPE_9100};

static void put_plain_u16(uint8_t *at, uint16_t word)
{
	at[0] = (uint8_t)(word >> 8);
	at[1] = (uint8_t)word;
}

/* Fills all fields without a required value with random bytes. */
static void make_frame(struct prng *prng, const struct sent *sent, uint16_t tag, uint8_t *frame)
{
	uint8_t *ip = frame + sent->l2;

	for (unsigned i = 0; i < FRAME_SIZE; i++)
		frame[i] = (uint8_t)prng_below(prng, 256);
	if (sent->l2 == TAGGED)
		put_plain_u16(frame + 12, tag);
	put_plain_u16(ip - 2, sent->v6 ? 0x86dd : 0x0800);
	if (sent->v6) {
		ip[0] = 0x60 | (ip[0] & 0xf);
		ip[6] = prng_below(prng, 2) ? 6 : 17;
	} else {
		ip[0] = 0x45;
		put_plain_u16(ip + 2, (uint16_t)(20 + prng_below(prng, 65516)));
		ip[6] &= 0xc0;
		ip[7] = 0;
	}
}

static void make_burst(struct prng *prng, struct sent *sent, unsigned n, unsigned l2, bool v6)
{
	const uint16_t tag = tags[prng_below(prng, COUNT(tags))];

	sent->n = n;
	sent->l2 = l2;
	sent->v6 = v6;
	for (unsigned i = 0; i < n; i++) {
		make_frame(prng, sent, tag, sent->bytes[i]);
		sent->data[i] = sent->bytes[i];
		sent->len[i] = l2 + (v6 ? 40 : 20) + prng_below(prng, 9);
	}
}

/* Returns true if a frame is plain and has the form of its burst. */
static bool expect_plain(const struct sent *sent, unsigned i)
{
	const uint8_t *frame = sent->data[i], *ip = frame + sent->l2;

	if (sent->len[i] < sent->l2 + (sent->v6 ? 40 : 20))
		return false;
	if (sent->l2 == TAGGED && memcmp(frame + 12, sent->data[0] + 12, 2) != 0)
		return false;
	if (sent->v6)
		return ip[-2] == 0x86 && ip[-1] == 0xdd && ip[0] >> 4 == 6 && ip[6] != 0 &&
		       ip[6] != 43 && ip[6] != 44 && ip[6] != 51 && ip[6] != 60;
	return ip[-2] == 8 && ip[-1] == 0 && ip[0] == 0x45 && (ip[2] << 8 | ip[3]) >= 20 &&
	       (ip[6] & 0x3f) == 0 && ip[7] == 0;
}

static bool all_plain(const struct sent *sent, uint32_t *addr4, struct lpm6_addr *addr6)
{
	if (sent->v6)
		return all_plain6(sent->data, sent->len, sent->n, sent->l2, IPV6_DST, addr6);
	return all_plain4(sent->data, sent->len, sent->n, sent->l2, IPV4_DST, addr4);
}

static void check_addresses(
	const struct sent *sent, const uint32_t *addr4, const struct lpm6_addr *addr6)
{
	for (unsigned i = 0; i < sent->n; i++) {
		const uint8_t *ip = sent->data[i] + sent->l2;

		if (sent->v6)
			assert_memory_equal(&addr6[i], ip + 24, 16);
		else
			assert_int_equal(addr4[i],
				(uint32_t)ip[16] << 24 | ip[17] << 16 | ip[18] << 8 | ip[19]);
	}
}

/* Compares with the check that uses 512-bit vectors, for frames that are long enough. */
static void check_wide(const struct sent *sent, const uint32_t *addr4, bool expect)
{
	uint32_t wide[FRAMES];

	if (!classify_has_wide() || sent->v6 || sent->l2 != ETHER_LEN || sent->n % WIDE_STEP ||
		!all_hold(sent->len, sent->n, ETHER_LEN + IPV4_LEN))
		return;
	assert_int_equal(wide_plain4(sent->data, sent->n, wide), expect);
	if (expect)
		assert_memory_equal(wide, addr4, sent->n * sizeof(wide[0]));
	n_wide++;
}

/* Checks the burst, and each frame alone with any tag. */
static void check_plain_burst(const struct sent *sent)
{
	struct lpm6_addr addr6[FRAMES];
	uint32_t addr4[FRAMES];
	bool expect = true;

	for (unsigned i = 0; i < sent->n; i++) {
		bool plain = expect_plain(sent, i);

		expect &= plain;
		if (sent->l2 == ETHER_LEN && sent->len[i] >= sent->l2 + (sent->v6 ? 40 : 20))
			assert_int_equal(sent->v6 ? not_plain6(sent->data[i], sent->l2) == 0
						  : not_plain4(sent->data[i], sent->l2) == 0,
				plain);
	}
	if (all_plain(sent, addr4, addr6) != expect)
		fail_msg("%u of IPv%u behind %u: expected %d", sent->n, sent->v6 ? 6 : 4, sent->l2,
			expect);
	check_wide(sent, addr4, expect);
	if (expect)
		check_addresses(sent, addr4, addr6);
}

/* Changes each bit of one frame's headers, and its length. */
static void check_one_other(struct prng *prng, struct sent *sent)
{
	const unsigned other = prng_below(prng, sent->n), headers = sent->l2 + (sent->v6 ? 40 : 20);
	const uint32_t len = sent->len[other];

	check_plain_burst(sent);
	for (unsigned bit = 12 * 8; bit < headers * 8; bit++) {
		sent->bytes[other][bit / 8] ^= (uint8_t)(1 << bit % 8);
		check_plain_burst(sent);
		sent->bytes[other][bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (sent->len[other] = 0; sent->len[other] <= headers; sent->len[other]++)
		check_plain_burst(sent);
	sent->len[other] = len;
}

static uint64_t seed_of_run(void)
{
	const char *text = getenv("WEIR_SEED");
	const uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : 0x5eed0007;

	print_message("seed %#" PRIx64 " (WEIR_SEED changes it)\n", seed);
	return seed;
}

TEST(test_one_other)
{
	static struct sent sent;
	struct prng prng;

	prng_seed(&prng, seed_of_run());
	for (unsigned n = 1; n <= FRAMES; n++)
		for (unsigned form = 0; form < 4; form++) {
			make_burst(&prng, &sent, n, form & 1 ? TAGGED : ETHER_LEN, form & 2);
			check_one_other(&prng, &sent);
		}
}

/* Words whose fields could carry into each other: total length, with TOS and ID. */
TEST(test_total_length)
{
	static const uint16_t totals[] = {0, 19, 20, 21, 0xff, 0x100, 0x113, 0x8000, 0xffff};
	static const uint16_t others[] = {0, 1, 0xff, 0x8000, 0xffff};
	static struct sent sent;
	struct prng prng;

	prng_seed(&prng, 1);
	make_burst(&prng, &sent, WIDE_STEP, ETHER_LEN, false);
	for (unsigned t = 0; t < COUNT(totals); t++)
		for (unsigned o = 0; o < COUNT(others) * COUNT(others); o++) {
			uint8_t *ip = sent.bytes[1] + ETHER_LEN;

			ip[1] = (uint8_t)others[o % COUNT(others)];
			put_plain_u16(ip + 2, totals[t]);
			put_plain_u16(ip + 4, others[o / COUNT(others)]);
			check_plain_burst(&sent);
		}
}

TEST(test_next_headers)
{
	static struct sent sent;
	struct prng prng;

	prng_seed(&prng, 1);
	make_burst(&prng, &sent, 3, ETHER_LEN, true);
	for (unsigned next = 0; next < 256; next++) {
		sent.bytes[2][ETHER_LEN + 6] = (uint8_t)next;
		check_plain_burst(&sent);
	}
}

/* If the CPU has vectors of 512 bits, their check was tested too. */
TEST(test_wide)
{
	print_message("%u bursts were also looked at by vectors of 512 bits\n", n_wide);
	if (!classify_has_wide())
		skip();
	assert_true(n_wide > 0);
}
