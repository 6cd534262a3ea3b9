/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Layer-3 accounting of generated frames: IPv4, IPv6 and others, below tags, labels or PPPoE.
 * Frames are bare, padded or have a trailer. The oracle is the length from which the IP header was
 * built.
 */
#include "classify_world.h"

#include "police/charge.h"

#define ROOM   256
#define ROUND  20000
#define PADDED 46 /* bytes of Ethernet's smallest payload */

struct padded {
	unsigned len, l2_len, charged; /* charged: by layer 3 */
	uint8_t bytes[ROOM];
};

static unsigned below(unsigned n)
{
	return (unsigned)(random_next() % n);
}

static unsigned put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
	return 2;
}

/* Writes addresses, up to two tags, and labels, PPPoE or the type itself. */
static unsigned put_layers(uint8_t *frame, unsigned type)
{
	unsigned at = 12, labels = below(3);

	for (unsigned tags = below(3); tags > 0; tags--) {
		at += put16(frame + at, 0x8100);
		at += put16(frame + at, below(4095));
	}
	if (type == 0x0806 || one_in(2))
		return at + put16(frame + at, type);
	if (labels == 0) {
		at += put16(frame + at, 0x8864);
		memcpy(frame + at, "\x11\x00\x00\x01\x00\x00", 6);
		return at + 6 + put16(frame + at + 6, type == 0x0800 ? 0x0021 : 0x0057);
	}
	at += put16(frame + at, 0x8847);
	for (; labels > 0; labels--, at += 4) {
		memset(frame + at, 0, 4);
		frame[at + 2] = labels == 1;
	}
	return at;
}

static void draw_frame(struct padded *frame)
{
	static const unsigned types[] = {0x0800, 0x86dd, 0x0806};
	unsigned type = types[below(3)], head = type == 0x86dd ? 40 : type == 0x0800 ? 20 : 28;
	unsigned whole = head + (type == 0x0806 ? 0 : below(60)),
		 behind = one_in(3) ? 0 : below(40);
	uint8_t *ip;

	memset(frame->bytes, 0xa5, sizeof(frame->bytes));
	frame->l2_len = put_layers(frame->bytes, type);
	ip = frame->bytes + frame->l2_len;
	memset(ip, 0, head);
	if (type == 0x0800) {
		ip[0] = 0x45;
		put16(ip + 2, whole);
		ip[9] = 17;
	} else if (type == 0x86dd) {
		ip[0] = 0x60;
		put16(ip + 4, whole - head);
		ip[6] = 17;
	}
	frame->len = frame->l2_len + whole + behind;
	frame->charged = type != 0x0806 && whole + behind <= PADDED ? whole : whole + behind;
}

/* The worker's columns and the parser agree with the oracle, in any mixture of a burst. */
static void check_burst(const struct classifier *classifier, const struct policy_state *state)
{
	static struct padded drawn[BURST];
	static struct frames frames;
	unsigned n = 1 + below(BURST);
	struct packet packet;

	frames = (struct frames){.wide = classify_has_wide()};
	for (unsigned i = 0; i < n; i++) {
		if (i == 0 || !one_in(2))
			draw_frame(&drawn[i]);
		else
			drawn[i] = drawn[i - 1];
		frames.data[i] = drawn[i].bytes;
		frames.len[i] = drawn[i].len;
	}
	classify_frames(classifier, 0, DIRECTION_A_TO_B, &frames, n);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(
			police_bytes(state, frames.uncharged[i], drawn[i].len), drawn[i].charged);
		packet_parse(drawn[i].bytes, drawn[i].len, &packet);
		assert_int_equal(police_cost(state, &packet, drawn[i].bytes, drawn[i].len, 0),
			drawn[i].charged);
	}
}

TEST(test_charges_of_layer_3)
{
	/* One policy takes all without reading addresses, the other one by a prefix. */
	static const struct row rows[] = {{.used = true}, {.used = true, .dst = "0.0.0.0/1"}};
	struct policy_state line = {
		.bucket.fraction = police_owner(POLICE_SIMPLE, POLICE_UNSAMPLED, ACCOUNTING_L3)};
	const char *text = getenv("WEIR_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : 1;

	print_message("seed %lu (WEIR_SEED changes it)\n", seed);
	classify_world_seed(seed);
	for (size_t k = 0; k < COUNT(rows); k++) {
		struct policy policy = make_policy(&rows[k]);
		struct classifier *classifier = NULL;

		policy.count = COUNT_BYTES;
		policy.accounting = ACCOUNTING_L3;
		assert_int_equal(classifier_create(&policy, 1, -1, &classifier), 0);
		for (unsigned i = 0; i < ROUNDS(ROUND) / BURST; i++)
			check_burst(classifier, &line);
		classifier_destroy(classifier);
	}
}

TEST_GROUP(start_eal, stop_eal)
