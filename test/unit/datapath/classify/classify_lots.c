/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "classify_lots.h"

/* Sets few bits, near the ends of prefixes, so that most prefixes nest. */
static void random_address(uint8_t family, bool wide, uint8_t *addr)
{
	static const uint8_t bits4[] = {4, 7, 15, 16, 22, 23, 24, 25, 30, 31};
	static const uint8_t bits6[] = {3, 23, 24, 31, 32, 47, 48, 55, 63, 64, 95, 120, 126, 127};
	const uint8_t *bits = family == 4 ? bits4 : bits6;
	const unsigned n = family == 4 ? sizeof(bits4) : sizeof(bits6);

	memset(addr, 0, 16);
	addr[0] = 0x20;
	for (unsigned i = 1; wide && i < (family == 4 ? 4 : 16); i++)
		addr[i] = random_next();
	for (unsigned i = random_next() % 5; i > 0; i--) {
		const unsigned bit = bits[random_next() % n];

		addr[bit / 8] ^= 0x80 >> bit % 8;
	}
}

static struct prefix random_prefix(uint8_t family, bool wide)
{
	const unsigned max = family == 4 ? 32 : 128;
	struct prefix prefix = {.family = family};

	random_address(family, wide, prefix.addr);
	prefix.length = one_in(12) ? 0 : one_in(6) ? max : random_next() % (max + 1);
	for (unsigned bit = prefix.length; bit < 128; bit++)
		prefix.addr[bit / 8] &= ~(0x80 >> bit % 8);
	return prefix;
}

struct flavour random_flavour(void)
{
	return (struct flavour){
		.dst = !one_in(4),
		.src = one_in(2),
		.v4 = !one_in(3),
		.v6 = one_in(2),
		.vlan = one_in(2),
		.dscp = one_in(2),
		.proto = one_in(2),
		.ports = one_in(2),
		.wire = one_in(2),
		.direction = one_in(2),
		.wide = one_in(3),
		.two_ways = one_in(4),
		.l3 = one_in(2),
	};
}

static uint8_t random_proto(void)
{
	static const uint8_t protos[] = {6, 6, 6, 17, 17, 1, 58, 132, 50, 59, 33, 136};

	return protos[random_next() % sizeof(protos)];
}

static struct port_range random_range(void)
{
	const uint16_t first = 1 + random_next() % 8;

	return (struct port_range){first, first + random_next() % 4};
}

static void random_transport(const struct flavour *flavour, struct match *match)
{
	if (flavour->proto && one_in(3))
		match->proto = random_proto();
	if (flavour->ports && one_in(3))
		match->dst_port = random_range();
	if (flavour->ports && one_in(3))
		match->src_port = random_range();
}

static void random_place(const struct flavour *flavour, struct match *match)
{
	if (flavour->wire && one_in(3))
		match->wire = random_next() % 3;
	if (flavour->two_ways && match->dst.family != 0)
		match->direction = DIRECTION_B_TO_A;
	else if (flavour->two_ways && match->src.family != 0)
		match->direction = DIRECTION_A_TO_B;
	else if (flavour->direction && one_in(3))
		match->direction = one_in(2) ? DIRECTION_A_TO_B : DIRECTION_B_TO_A;
}

struct policy random_policy(const struct flavour *flavour)
{
	const uint8_t family = !flavour->v6 || (flavour->v4 && one_in(2)) ? 4 : 6;
	struct match match = {.vlan = CONFIG_ANY, .dscp = CONFIG_ANY, .wire = CONFIG_ANY};

	if (flavour->wire && one_in(20)) { /* the rest of a wire */
		match.wire = random_next() % 3;
		match.last = true;
		return (struct policy){.match = match, .accounting = ACCOUNTING_L2};
	}
	if (flavour->dst && !one_in(4))
		match.dst = random_prefix(family, flavour->wide);
	if (flavour->src && one_in(2))
		match.src = random_prefix(one_in(50) ? 10 - family : family, flavour->wide);
	if (flavour->vlan && one_in(3))
		match.vlan = random_next() % 4;
	if (flavour->dscp && one_in(3))
		match.dscp = random_next() % 3;
	random_transport(flavour, &match);
	random_place(flavour, &match);
	return (struct policy){
		.match = match, .accounting = flavour->l3 ? ACCOUNTING_L3 : ACCOUNTING_L2};
}

/* Replaces the first bits of the address by a policy's prefix, if it has one. */
static void borrow_address(const struct prefix *prefix, uint8_t family, uint8_t *addr)
{
	if (prefix->family != family)
		return;
	for (unsigned bit = 0; bit < prefix->length; bit++) {
		addr[bit / 8] &= ~(0x80 >> bit % 8);
		addr[bit / 8] |= prefix->addr[bit / 8] & 0x80 >> bit % 8;
	}
}

static void random_frame(const struct policy *model, uint8_t family, bool tag, enum form form,
	bool wide, struct frame *frame)
{
	*frame = (struct frame){
		.form = form,
		.family = family,
		.proto = random_proto(),
		.dscp = random_next() % 4,
		.vlan = tag ? (int)(random_next() % 5) : CONFIG_ANY,
		.sport = random_next() % 12,
		.dport = random_next() % 12,
	};
	random_address(family, wide, frame->src);
	random_address(family, wide, frame->dst);
	if (one_in(2)) {
		borrow_address(&model->match.src, family, frame->src);
		borrow_address(&model->match.dst, family, frame->dst);
	}
	put_frame(frame);
}

void random_frames(const struct policy *policies, unsigned n_policies, bool wide,
	struct frame *frames, unsigned n)
{
	static const uint8_t families[] = {4, 4, 6, 6, 0};
	const uint8_t family = families[random_next() % sizeof(families)];
	const bool tag = one_in(2);
	const enum form form = one_in(2) ? PLAIN : random_next() % FORMS;
	const unsigned odd = one_in(3) ? 0 : one_in(2) ? 1 : 30;

	for (unsigned i = 0; i < n; i++) {
		const struct policy *model = &policies[random_next() % n_policies];

		if (odd == 0 || !one_in(odd))
			random_frame(model, family, tag, form, wide, &frames[i]);
		else
			random_frame(model, families[random_next() % sizeof(families)], one_in(2),
				random_next() % FORMS, wide, &frames[i]);
	}
}
