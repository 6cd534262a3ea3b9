/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Two exchanges with operations on their sets, stored sets of any content, and messages: arbitrary
 * bytes, and messages of the other one, altered or not. Entries stay valid, a rejected message
 * changes nothing, a message fits its room, and stored bytes restore the same set.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/wire.h"
#include "members/exchange.h"

#define N    3
#define ROOM 300
#define MS   UINT64_C(1000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at;
	size_t left;
};

struct side {
	struct members *members;
	struct exchange *exchange;
	unsigned self;
};

static void check_members_fuzz(bool condition)
{
	if (!condition)
		abort();
}

static uint8_t next_members_byte(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

static void check_members(const struct members *m)
{
	const struct member_entry *entry;
	unsigned position = 0;
	uint64_t digest = 0;

	for (unsigned i = 0; i < members_count(m); i++) {
		entry = members_at(m, i);
		check_members_fuzz(member_is_valid(entry));
		check_members_fuzz(!members_ended(m, entry->id) || entry->state == MEMBER_LEFT);
		check_members_fuzz(i == 0 || member_compare(members_at(m, i - 1), entry) < 0);
		digest += member_hash(entry);
	}
	check_members_fuzz(digest == members_digest(m));
	while ((entry = members_present(m, &position)))
		check_members_fuzz(members_find(m, entry->name) == entry);
	entry = members_twice(m);
	check_members_fuzz(!entry || members_find(m, entry->name) != entry);
}

static void check_stored(const struct members *m, struct input *in)
{
	size_t len = members_bytes(m), at;
	uint8_t *buf = malloc(len);
	struct members *again = NULL;

	check_members_fuzz(buf != NULL);
	members_encode(m, buf);
	check_members_fuzz(members_decode(buf, len, &again) == 0);
	check_members_fuzz(members_digest(again) == members_digest(m));
	members_destroy(again);
	at = next_members_byte(in) * 256u + next_members_byte(in);
	buf[at % len] ^= (uint8_t)(1 << next_members_byte(in) % 8);
	check_members_fuzz(members_decode(buf, len, &again) == -EBADMSG);
	/* With the right hash, the bytes are refused, or are another set. */
	wire_put64(buf + len - 8, member_hash_bytes(buf, len - 8));
	if (members_decode(buf, len, &again) == 0) {
		check_members(again);
		members_destroy(again);
	}
	free(buf);
}

static void act_on_members(struct side *side, struct input *in)
{
	static const char *const names[] = {"gwzx", "16cd", "l1", "l 2", ""};
	const char *name = names[next_members_byte(in) % 5];
	struct member_address address = {.family = 4, .port = next_members_byte(in)};
	uint8_t key[MEMBER_KEY] = {1}, what = next_members_byte(in);
	struct members *m = side->members;

	if (what & 0x80)
		address.family = what & 0x40 ? 6 : 5;
	switch (what % 7) {
	case 0:
		members_seed(m, name, &address, what & 8 ? key : NULL);
		break;
	case 1:
		members_add(m, name, &address, what & 8 ? key : NULL, next_members_byte(in));
		break;
	case 2:
		members_remove(m, name, what & 8);
		break;
	case 3:
		members_left(m, name);
		break;
	case 4:
		members_move(m, name, &address);
		break;
	case 5:
		exchange_restarted(side->exchange, next_members_byte(in) % N);
		break;
	default:
		check_stored(m, in);
	}
}

static void regroup_exchange(struct side *side, struct input *in)
{
	unsigned to[N], a = next_members_byte(in) % N, b = next_members_byte(in) % N;

	for (unsigned i = 0; i < N; i++)
		to[i] = i == side->self || next_members_byte(in) & 1 ? i : N;
	if (a != side->self && b != side->self) {
		unsigned moved = to[a];

		to[a] = to[b];
		to[b] = moved;
	}
	exchange_regroup(side->exchange, N, side->self, to);
	exchange_watch(side->exchange, next_members_byte(in) % (N + 1), next_members_byte(in) & 1);
}

static void receive_checked(struct side *side, unsigned from, const uint8_t *buf, size_t len)
{
	uint64_t digest = members_digest(side->members), serial = members_serial(side->members);
	struct exchange_counters before = exchange_counters(side->exchange);
	int ret = exchange_receive(side->exchange, from, buf, len);
	struct exchange_counters now = exchange_counters(side->exchange);

	check_members_fuzz(now.rejected == before.rejected + (ret == -EBADMSG));
	check_members_fuzz(members_serial(side->members) - serial == now.merged - before.merged);
	check_members_fuzz(now.merged > before.merged || members_digest(side->members) == digest);
	check_members(side->members);
}

static void receive_altered(struct side *from, struct side *to, struct input *in, uint64_t now)
{
	uint8_t buf[ROOM], what = next_members_byte(in);
	unsigned peer;
	size_t len = 0;

	if (what & 1) {
		while (len < sizeof(buf) && in->left > 0 && len < what)
			buf[len++] = next_members_byte(in);
	} else {
		exchange_tick(from->exchange);
		len = exchange_send(from->exchange, now, buf, sizeof(buf), &peer);
		for (unsigned k = next_members_byte(in) % 4; k > 0 && len > 0; k--)
			buf[next_members_byte(in) % len] ^= next_members_byte(in);
	}
	receive_checked(to, what & 2 ? from->self : what % (N + 1), buf, len);
}

static void send_all_messages(struct side *from, struct side *to, uint64_t now)
{
	uint8_t buf[ROOM];
	unsigned peer;
	size_t len;

	exchange_tick(from->exchange);
	while ((len = exchange_send(from->exchange, now, buf, sizeof(buf), &peer)) > 0) {
		check_members_fuzz(len <= sizeof(buf) && peer < N && peer != from->self);
		if (peer == to->self)
			receive_checked(to, from->self, buf, len);
	}
	check_members_fuzz(exchange_next(from->exchange, now) > now);
}

static void create_side(struct side *side, unsigned self)
{
	struct exchange_params params = {.n = N, .self = self};

	side->self = self;
	check_members_fuzz(members_create(&side->members) == 0);
	params.members = side->members;
	check_members_fuzz(exchange_create(&params, &side->exchange) == 0);
	for (unsigned peer = 0; peer < N; peer++)
		exchange_watch(side->exchange, peer, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct side sides[2];
	uint64_t now = 1;

	for (unsigned i = 0; i < 2; i++)
		create_side(&sides[i], i);
	while (in.left > 0) {
		uint8_t what = next_members_byte(&in);
		unsigned i = what & 1;

		now += (what >> 4) * 50 * MS;
		if (what & 2)
			act_on_members(&sides[i], &in);
		else if (what & 4)
			receive_altered(&sides[i], &sides[1 - i], &in, now);
		else if (what & 8)
			regroup_exchange(&sides[i], &in);
		else
			send_all_messages(&sides[i], &sides[1 - i], now);
		check_members(sides[i].members);
	}
	for (unsigned i = 0; i < 2; i++) {
		exchange_destroy(sides[i].exchange);
		members_destroy(sides[i].members);
	}
	return 0;
}
