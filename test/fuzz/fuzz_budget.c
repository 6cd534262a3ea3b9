/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A quota with its own calls and messages from strangers: arbitrary bytes, and valid messages of a
 * neighbour, some of them altered. With any messages its books balance, a message fits its room,
 * and a record restores the same state.
 */
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "budget/budget_private.h"

#define N       4
#define SELF    1
#define ROOM    700
#define RECORD  1024
#define TOTAL   UINT64_C(1000)
#define TIMEOUT UINT64_C(4000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at;
	size_t left;
};

struct record {
	uint8_t at[RECORD];
	size_t len;
};

static const uint32_t ids[N] = {11, 7, 13, 5};

static void check_budget(bool condition)
{
	if (!condition)
		abort();
}

static uint8_t next_budget_byte(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

static struct budget *create_fuzz_budget(
	unsigned self, const struct record *record, bool recovering, uint64_t total)
{
	const struct budget_policy policies[] = {{.id = 1, .total = total, .chunk = 8},
		{.id = 2, .total = LEDGER_MOST, .period = 3}};
	struct book_record records[] = {{1, record ? record->at : NULL, record ? record->len : 0}};
	struct budget_params params = {.ids = ids,
		.n = N,
		.self = self,
		.policies = policies,
		.n_policies = 2,
		.records = records,
		.n_records = record ? 1 : 0,
		.recovering = recovering,
		.durable = true,
		.epoch = record ? 9 : 4,
		.identity = {.low = 1},
		.repeat_ns = 100,
		.theta_ns = 10,
		.memory_ns = 1000,
		.timeout_ns = TIMEOUT};
	struct budget *b;

	check_budget(budget_create(&params, 1, &b) == 0);
	return b;
}

/* Checks that held, spent and in-flight units add up exactly to the share. */
static void check_books(const struct budget *b, unsigned policy)
{
	const struct unit_account *account = unit_at(b, policy);
	struct quota_view view = quota_view(account->quota, 0);
	__int128 sum = (__int128)view.balance + view.spent;

	check_budget(view.prepaid <= view.spent && view.balance <= (int64_t)LEDGER_MOST);
	if (view.recovering)
		return;
	for (unsigned e = 0; e < b->book.n_edges; e++) {
		struct ledger_view edge = quota_edge(account->quota, e);

		sum += (__int128)edge.granted - edge.received;
	}
	check_budget(sum == unit_share(b, account));
}

static void check_tree(const struct budget *b)
{
	unsigned linked = 0;

	for (unsigned e = 0; e < b->book.n_edges; e++)
		linked += b->links[e].linked;
	check_budget(linked <= b->params.degree && b->route.root <= b->book.position);
	check_budget(budget_peers(b) < N && budget_root(b) < N);
	check_budget(budget_is_root(b) == (budget_root(b) == SELF));
	check_budget(b->parent == b->book.n_edges || b->links[b->parent].linked);
}

static int keep_budget_record(void *context, uint64_t id, const void *record, size_t len)
{
	struct record *to = context;

	check_budget(len <= RECORD);
	if (id == 1) {
		memcpy(to->at, record, len);
		to->len = len;
	}
	return 0;
}

/*
 * Returns the units held beyond the share. A start uses its own total until others have sent
 * theirs. A recovering one holds nothing.
 */
static int64_t units_moved(const struct budget *b)
{
	struct quota_view view = budget_view(b, 0, 0);
	int64_t share = (int64_t)unit_share(b, unit_at(b, 0));

	return view.recovering ? view.balance : view.balance - share;
}

static void save_fuzz_budget(struct budget *b, struct input *in)
{
	struct record record = {.len = 0};
	struct budget *again;

	if (book_save(budget_book(b), keep_budget_record, &record))
		return;
	if (record.len > 0) {
		again = create_fuzz_budget(SELF, &record, false, TOTAL);
		check_budget(units_moved(again) == units_moved(b));
		check_budget(budget_view(again, 0, 0).spent == budget_view(b, 0, 0).spent);
		budget_destroy(again);
	}
	if (next_budget_byte(in) & 1)
		book_committed(budget_book(b));
	else
		book_save_failed(budget_book(b));
}

/* Returns a wall clock: nearly equal ones, hours apart, or any value. */
static uint64_t some_wall_ns(struct input *in)
{
	uint8_t byte = next_budget_byte(in);

	if (byte >= 0xf0)
		return (uint64_t)byte << 55;
	return UINT64_C(1700000000000000000) + byte % 16 * (byte & 0x80 ? 3600 : 1) * SECOND_NS;
}

static void act_on_budget(struct budget *b, struct input *in, uint64_t now)
{
	unsigned policy = next_budget_byte(in) % 2;

	switch (next_budget_byte(in) % 9) {
	case 0:
		budget_spend(b, policy, next_budget_byte(in), now);
		break;
	case 1:
		budget_refund(b, policy, next_budget_byte(in));
		break;
	case 2:
		budget_period(b, policy, next_budget_byte(in), now);
		break;
	case 3:
		budget_forgo(b, policy);
		break;
	case 4:
		save_fuzz_budget(b, in);
		break;
	case 5:
		budget_ask(b, policy, next_budget_byte(in) % N);
		break;
	case 6:
		budget_prefetch(b, policy, next_budget_byte(in), now);
		break;
	case 7:
		if (next_budget_byte(in) % 16 == 0)
			budget_lose(b, BOOK_OLDER_STORE, now);
		break;
	default:
		budget_clock(b, some_wall_ns(in), policy, now);
		budget_tick(b, now);
	}
}

static void hear_budget_message(
	struct budget *b, struct budget *neighbour, struct input *in, uint64_t now)
{
	uint8_t buf[ROOM];
	size_t len = 0;
	unsigned to;

	uint8_t what = next_budget_byte(in);

	if (what & 2)
		budget_clock(neighbour, some_wall_ns(in), true, now);
	budget_spend(neighbour, what & 1, next_budget_byte(in), now);
	budget_tick(neighbour, now);
	if (next_budget_byte(in) & 1) {
		while (len < sizeof(buf) && in->left > 0)
			buf[len++] = next_budget_byte(in);
	} else {
		while ((len = budget_send(neighbour, now, buf, sizeof(buf), &to)) > 0 && to != SELF)
			check_budget(len <= ROOM);
		for (unsigned k = next_budget_byte(in) % 8; k > 0 && len > 0; k--)
			buf[(next_budget_byte(in) * 256u + next_budget_byte(in)) % len] ^=
				next_budget_byte(in);
	}
	budget_receive(b, next_budget_byte(in) % (N + 1), now, buf, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint8_t flags = next_budget_byte(&in);
	struct budget *b = create_fuzz_budget(SELF, NULL, flags & 1, TOTAL),
		      *neighbour = create_fuzz_budget(
			      0, NULL, flags & 2, flags & 4 ? TOTAL / 2 : TOTAL);
	uint64_t now = 1;
	uint8_t buf[ROOM];
	unsigned to;
	size_t len;

	while (in.left > 0) {
		now += next_budget_byte(&in) * UINT64_C(8);
		if (next_budget_byte(&in) & 1)
			hear_budget_message(b, neighbour, &in, now);
		else
			act_on_budget(b, &in, now);
		while ((len = budget_send(b, now, buf, sizeof(buf), &to)) > 0) {
			check_budget(len <= ROOM && to < N && to != SELF);
			budget_receive(neighbour, SELF, now, buf, to == 0 ? len : 0);
		}
		check_books(b, 0);
		check_books(b, 1);
		check_tree(b);
	}
	budget_destroy(b);
	budget_destroy(neighbour);
	return 0;
}
