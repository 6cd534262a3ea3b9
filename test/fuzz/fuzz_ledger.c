/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A ledger with its own calls and statements of any kind, decoded from the input. With any
 * neighbours and any statements its books balance, a rejected statement changes nothing, and a
 * record restores the same state.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/wire.h"
#include "ledger/ledger.h"

#define N_EDGES    3
#define RECORD_MAX 512
#define LEASE      1000
#define WORD       3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at;
	size_t left;
};

static void check_ledger_fuzz(bool condition)
{
	if (!condition)
		abort();
}

static uint8_t next_ledger_byte(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

/* Returns a number that is small, or near the maximum. */
static uint64_t next_ledger_number(struct input *in)
{
	uint8_t kind = next_ledger_byte(in);
	uint64_t value = next_ledger_byte(in);

	return kind & 1 ? value : kind & 2 ? LEDGER_MOST - value : value << (kind >> 2);
}

static struct ledger_statement any_statement(struct input *in, uint64_t now)
{
	struct ledger_statement s = {.epoch = next_ledger_byte(in) % 8,
		.stamp = now - next_ledger_byte(in),
		.granted = next_ledger_number(in),
		.received = next_ledger_number(in),
		.echo_epoch = next_ledger_byte(in) % 8,
		.echo_stamp = now - next_ledger_byte(in),
		.least_epoch = next_ledger_byte(in) % 8,
		.count = next_ledger_byte(in) % 8,
		.word = next_ledger_byte(in) % 4,
		.known_word = next_ledger_byte(in) % 5};
	uint8_t known = next_ledger_byte(in);

	s.known_count = known == UINT8_MAX ? LEDGER_TWICE : known % 8;
	s.promised = s.granted + next_ledger_number(in);
	return s;
}

static __int128 ledger_book_sum(const struct ledger *l, uint64_t share)
{
	__int128 sum = (__int128)ledger_balance(l) + ledger_spent(l) - share;

	for (uint32_t e = 0; e < N_EDGES; e++) {
		struct ledger_view view = ledger_view(l, e);

		check_ledger_fuzz(view.granted <= view.promised && view.promised <= view.locked);
		check_ledger_fuzz(view.locked <= LEDGER_MOST && view.received <= LEDGER_MOST);
		sum += (__int128)view.granted - view.received;
	}
	return sum;
}

static void check_ledger(const struct ledger *l, uint64_t share, uint64_t now)
{
	uint64_t until, usable = ledger_usable(l, now, &until);
	uint64_t held = ledger_balance(l) > 0 ? (uint64_t)ledger_balance(l) : 0;

	check_ledger_fuzz(ledger_recovering(l) || ledger_book_sum(l, share) == 0);
	check_ledger_fuzz(held <= LEDGER_MOST && usable <= held && ledger_free(l) <= usable);
	check_ledger_fuzz(until > now);
}

static void hear_any_statement(struct ledger *l, struct input *in, uint64_t now)
{
	struct ledger_statement said = any_statement(in, now), s;
	int64_t balance = ledger_balance(l);
	uint64_t free = ledger_free(l);
	uint32_t edge = next_ledger_byte(in) % N_EDGES;
	uint8_t bytes[LEDGER_STATEMENT_BYTES], again[LEDGER_STATEMENT_BYTES];
	enum ledger_verdict verdict;
	bool readable;

	ledger_statement_write(&said, bytes);
	readable = ledger_statement_read(&s, bytes, sizeof(bytes)) == 0;
	ledger_statement_write(&s, again);
	check_ledger_fuzz(!readable || memcmp(bytes, again, sizeof(bytes)) == 0);
	verdict = ledger_receive(l, edge, now, &said);
	check_ledger_fuzz(readable || verdict == LEDGER_INVALID);
	if (verdict == LEDGER_OLD || verdict == LEDGER_INVALID)
		check_ledger_fuzz(ledger_recovering(l) ||
				  (ledger_balance(l) == balance && ledger_free(l) == free));
}

static struct ledger_params params_of(uint64_t share, uint64_t epoch, uint32_t word)
{
	return (struct ledger_params){.share = share,
		.n_edges = N_EDGES,
		.friend = 0,
		.lease_ns = LEASE,
		.epoch = epoch,
		.word = word};
}

/* Restores a record with wrong bytes and a valid checksum: it is refused, or its books balance. */
static void check_wrong_record(const uint8_t *record, size_t len, struct input *in)
{
	struct ledger_params params = params_of(0, 1, WORD);
	uint64_t sum = HASH64_BASIS;
	uint8_t wrong[RECORD_MAX];
	struct ledger *l;

	memcpy(wrong, record, len);
	for (unsigned k = next_ledger_byte(in) % 4; k > 0; k--)
		wrong[(next_ledger_byte(in) * 2u + (k & 1)) % len] = next_ledger_byte(in);
	for (size_t i = 0; i < len - sizeof(sum); i++)
		sum = hash64_step(sum, wrong[i]);
	wire_put64(wrong + len - sizeof(sum), sum);
	if (ledger_restore(&params, wrong, len, 0, &l) != 0)
		return;
	check_ledger_fuzz(ledger_book_sum(l, ledger_share(l)) == 0);
	ledger_destroy(l);
}

static void check_record(const struct ledger *l, const uint8_t *record, size_t len)
{
	struct ledger_params params = params_of(0, 1, WORD);
	struct ledger *again;

	check_ledger_fuzz(len == ledger_record_size(l) && len <= RECORD_MAX);
	check_ledger_fuzz(ledger_restore(&params, record, len, 0, &again) == 0);
	check_ledger_fuzz(
		ledger_balance(again) == ledger_balance(l) && ledger_free(again) == ledger_free(l));
	ledger_destroy(again);
}

static void act_on_ledger(struct ledger *l, struct input *in, uint64_t now, uint64_t *share)
{
	uint32_t edge = next_ledger_byte(in) % N_EDGES;
	uint8_t record[RECORD_MAX];
	struct ledger_statement s;
	uint64_t amount;
	size_t len;

	switch (next_ledger_byte(in) % 13) {
	case 0:
		ledger_grant(l, edge, next_ledger_number(in));
		break;
	case 1:
		ledger_promise(l, next_ledger_number(in));
		break;
	case 2:
		ledger_spend(l, next_ledger_number(in));
		break;
	case 3:
		amount = next_ledger_number(in);
		if (ledger_set_share(l, amount) == 0)
			*share = amount;
		break;
	case 4:
		ledger_inherit(l, edge, now);
		break;
	case 5:
		if (ledger_save(l, record, &len) == 0) {
			check_record(l, record, len);
			check_wrong_record(record, len, in);
		}
		break;
	case 6:
		ledger_committed(l);
		break;
	case 7:
		ledger_refund(l, next_ledger_number(in));
		break;
	case 8:
		ledger_save_failed(l);
		break;
	case 9:
		if (next_ledger_byte(in) % 8 == 0)
			ledger_lose(l);
		else
			ledger_loss_committed(l);
		break;
	case 10:
		ledger_raise_most(l, next_ledger_number(in) % LEDGER_MOST);
		break;
	case 11:
		if (!ledger_is_mute(l))
			ledger_state_again(l, edge, now, ledger_next_stamp(l, edge, now));
		break;
	default:
		if (ledger_is_mute(l))
			break;
		ledger_state(l, edge, now, &s);
		check_ledger_fuzz(s.granted <= s.promised && s.promised <= LEDGER_MOST);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint64_t share = 0, now = 1000;
	struct ledger_params params;
	struct ledger *l;
	uint8_t flags;

	share = next_ledger_number(&in);
	flags = next_ledger_byte(&in);
	params = params_of(share, 4, flags & 2 ? WORD : 0);
	params.recovering = flags & 1;
	if (ledger_create(&params, now, &l))
		return 0;
	while (in.left > 0) {
		uint8_t act = next_ledger_byte(&in);

		now += next_ledger_byte(&in) * UINT64_C(8);
		if (act % 16 == 2)
			ledger_receive_repeat(l, next_ledger_byte(&in) % N_EDGES, now,
				now - next_ledger_byte(&in), now - next_ledger_byte(&in));
		else if (act & 1)
			hear_any_statement(l, &in, now);
		else
			act_on_ledger(l, &in, now, &share);
		check_ledger(l, share, now);
	}
	ledger_destroy(l);
	return 0;
}
