/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The budget of one policy, and what becomes of it when policies come and go. A record begins with
 * numbers of eight bytes, big-endian: a fingerprint of the edges, the total, and flags; then comes
 * that of the quota. One that is blank has a record that says so and no more, or after the next
 * crash it would pass for one that is new here.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "budget/private.h"

enum { HEAD_FINGERPRINT, HEAD_TOTAL, HEAD_FLAGS, HEAD_NUMBERS };

#define HEAD_BYTES (HEAD_NUMBERS * sizeof(uint64_t))

/* What is left is said anew at most once in so many times that a grant is repeated after. */
#define NEWS_REPEATS 8

#define FLAG_DRAWN 1
#define FLAG_BLANK 2

void pot_destroy(struct pot *pot)
{
	if (pot)
		quota_destroy(pot->quota);
	free(pot);
}

uint64_t pot_share(const struct budget *b, const struct budget_policy *policy)
{
	unsigned n = b->params.n;

	if (policy->drawn)
		return 0;
	return policy->total / n + (b->position < policy->total % n);
}

/* What a record says before the quota's; false if it is damaged, or of other edges. */
static bool read_head(
	const struct budget *b, const struct budget_record *record, uint64_t head[HEAD_NUMBERS])
{
	if (record->len < HEAD_BYTES)
		return false;
	memcpy(head, record->at, HEAD_BYTES);
	for (unsigned i = 0; i < HEAD_NUMBERS; i++)
		head[i] = be64toh(head[i]);
	return head[HEAD_FINGERPRINT] == b->fingerprint && head[HEAD_TOTAL] <= LEDGER_MOST;
}

static int open_quota(const struct budget *b, struct quota_params *params,
	const struct budget_record *record, uint64_t now_ns, struct quota_node **out)
{
	uint64_t head[HEAD_NUMBERS] = {0};

	if (record && !read_head(b, record, head))
		return -EINVAL;
	params->blank = record ? head[HEAD_FLAGS] & FLAG_BLANK : params->blank;
	if (!record || params->blank)
		return quota_create(params, now_ns, out);
	return quota_restore(params, (const uint8_t *)record->at + HEAD_BYTES,
		record->len - HEAD_BYTES, now_ns, out);
}

static struct quota_params quota_params(struct budget *b, const struct budget_policy *policy)
{
	return (struct quota_params){
		.share = pot_share(b, policy),
		.period = policy->period,
		.n_edges = b->n_edges,
		.epoch = b->next_epoch++,
		.durable = b->params.durable,
		.chunk = policy->chunk,
		.theta_ns = b->params.theta_ns,
		.memory_ns = b->params.memory_ns,
		.repeat_ns = b->params.repeat_ns,
		.seed = prng_next(&b->prng),
	};
}

static int reserve_record(struct budget *b, const struct pot *pot)
{
	uint8_t *room = realloc(b->record, HEAD_BYTES + quota_record_size(pot->quota));

	b->record = room ? room : b->record;
	return room ? 0 : -ENOMEM;
}

static void join_tree(const struct budget *b, struct pot *pot)
{
	for (unsigned e = 0; e < b->n_edges; e++)
		if (b->links[e].linked)
			quota_link(pot->quota, e, true, tree_guess(b, pot));
}

int pot_create(struct budget *b, const struct budget_policy *policy,
	const struct budget_record *record, bool blank, uint64_t now_ns, struct pot **out)
{
	struct quota_params params = quota_params(b, policy);
	struct pot *pot = calloc(1, sizeof(*pot));
	int ret;

	if (!pot)
		return -ENOMEM;
	pot->policy = *policy;
	params.blank = blank;
	ret = open_quota(b, &params, record, now_ns, &pot->quota);
	pot->unknown = params.blank && policy->drawn;
	if (ret == 0)
		ret = reserve_record(b, pot);
	/* A record holds the share of its time; what was drawn is said later. */
	if (ret == 0 && record && !policy->drawn)
		ret = quota_set_share(pot->quota, pot_share(b, policy), now_ns);
	if (ret) {
		pot_destroy(pot);
		return ret;
	}
	join_tree(b, pot);
	pot->next_ns = now_ns;
	*out = pot;
	return 0;
}

int pot_create_gone(
	struct budget *b, const struct budget_record *record, uint64_t now_ns, struct pot **out)
{
	struct budget_policy policy = {.id = record->id};
	uint64_t head[HEAD_NUMBERS];
	int ret;

	if (!read_head(b, record, head))
		return -EINVAL;
	policy.total = head[HEAD_TOTAL];
	policy.drawn = head[HEAD_FLAGS] & FLAG_DRAWN;
	ret = pot_create(b, &policy, record, false, now_ns, out);
	if (ret == 0)
		(*out)->gone = true;
	return ret;
}

bool pot_fits(const struct budget *b, const struct pot *pot, const struct budget_policy *policy)
{
	/* However much of it is in the share already. */
	return (__int128)quota_view(pot->quota, 0).balance + pot_share(b, policy) <=
	       (int64_t)LEDGER_MOST;
}

void pot_set(struct budget *b, struct pot *pot, const struct budget_policy *policy, uint64_t now_ns)
{
	bool other = pot->policy.total != policy->total || pot->policy.drawn != policy->drawn;

	pot->gone = false;
	pot->policy = *policy;
	quota_set_chunk(pot->quota, policy->chunk);
	if (other && !policy->drawn)
		(void)quota_set_share(pot->quota, pot_share(b, policy), now_ns); /* it fits */
	if (policy->period > quota_view(pot->quota, now_ns).period)
		(void)pot_period(b, pot, policy->period, now_ns);
	pot_stir(b, pot, now_ns);
}

/*
 * Only now it is known how much a limiter that has lost its memory may have spent: as if all of
 * what was drawn for it.
 */
static int begin_blank(struct budget *b, struct pot *pot, uint64_t share, uint64_t now_ns)
{
	struct quota_params params = quota_params(b, &pot->policy);
	struct quota_node *quota;
	int ret;

	params.share = share;
	params.blank = true;
	params.period = quota_view(pot->quota, now_ns).period;
	ret = quota_create(&params, now_ns, &quota);
	if (ret)
		return ret;
	quota_destroy(pot->quota);
	pot->quota = quota;
	pot->unknown = false;
	join_tree(b, pot);
	return 0;
}

int pot_set_drawn(struct budget *b, struct pot *pot, uint64_t share, uint64_t now_ns)
{
	if (!pot->policy.drawn)
		return -EINVAL;
	if (pot->unknown)
		return begin_blank(b, pot, share, now_ns);
	return quota_set_share(pot->quota, share, now_ns);
}

int pot_period(struct budget *b, struct pot *pot, uint64_t period, uint64_t now_ns)
{
	int ret = quota_period(pot->quota, period, pot_share(b, &pot->policy), now_ns);

	if (ret)
		return ret;
	pot->policy.period = period;
	pot->unknown = false;
	pot_stir(b, pot, now_ns);
	return 0;
}

bool pot_untouched(const struct budget *b, const struct pot *pot)
{
	struct quota_view view = quota_view(pot->quota, 0);

	if (view.blank || view.spent || pot->saving)
		return false;
	for (unsigned e = 0; e < b->n_edges; e++) {
		struct ledger_view edge = quota_edge(pot->quota, e);

		if (edge.granted || edge.received || edge.locked)
			return false;
	}
	return true;
}

void pot_speaks(struct budget *b, struct pot *pot)
{
	pot->next_ns = b->next_ns = 0;
	pot_changed(b, pot);
	if (pot->stirred || pot->unknown)
		return;
	pot->stirred = true;
	b->stirred[b->n_stirred++] = pot;
}

/* When to look for news again. */
static uint64_t refresh(const struct budget *b, struct pot *pot, uint64_t now_ns)
{
	if (now_ns < pot->news_ns)
		return pot->news_ns;
	pot->news_ns = now_ns + NEWS_REPEATS * b->params.repeat_ns;
	return quota_refresh(pot->quota, now_ns) ? pot->news_ns : UINT64_MAX;
}

void pot_stir(struct budget *b, struct pot *pot, uint64_t now_ns)
{
	uint64_t next_ns = b->next_ns, news_ns;

	pot_speaks(b, pot);
	pot->next_ns = quota_tick(pot->quota, now_ns);
	news_ns = refresh(b, pot, now_ns);
	if (news_ns < pot->next_ns)
		pot->next_ns = news_ns;
	b->next_ns = pot->next_ns < next_ns ? pot->next_ns : next_ns;
	pot_changed(b, pot);
}

static bool is_blank(const struct pot *pot)
{
	return pot->unknown || quota_view(pot->quota, 0).blank;
}

bool pot_unsettled(const struct budget *b, const struct pot *pot)
{
	if (is_blank(pot))
		return b->params.durable && !pot->marked;
	return quota_unsettled(pot->quota);
}

int pot_save(struct budget *b, struct pot *pot, size_t *len)
{
	bool blank = is_blank(pot);
	uint64_t flags = (pot->policy.drawn ? FLAG_DRAWN : 0) | (blank ? FLAG_BLANK : 0);
	uint64_t head[HEAD_NUMBERS] = {
		[HEAD_FINGERPRINT] = htobe64(b->fingerprint),
		[HEAD_TOTAL] = htobe64(pot->policy.total),
		[HEAD_FLAGS] = htobe64(flags),
	};
	int ret = 0;

	*len = 0;
	if (!blank)
		ret = quota_save(pot->quota, b->record + HEAD_BYTES, len);
	if (ret)
		return ret;
	memcpy(b->record, head, HEAD_BYTES);
	*len += HEAD_BYTES;
	pot->saving = true;
	pot->marked = blank;
	return 0;
}

void pot_settled(struct pot *pot, bool durable)
{
	pot->saving = false;
	pot->marked &= durable;
	if (durable)
		quota_settled(pot->quota);
	else
		quota_save_failed(pot->quota);
}

static int compare(const void *a, const void *b)
{
	uint32_t x = (*(struct pot *const *)a)->policy.id;
	uint32_t y = (*(struct pot *const *)b)->policy.id;

	return (x > y) - (x < y);
}

void pots_sort(struct pot **by_id, unsigned n)
{
	qsort(by_id, n, sizeof(struct pot *), compare);
}

static int compare_id(const void *id, const void *at)
{
	uint32_t x = *(const uint32_t *)id, y = (*(struct pot *const *)at)->policy.id;

	return (x > y) - (x < y);
}

struct pot *pots_find(struct pot *const *by_id, unsigned n, uint32_t id)
{
	struct pot *const *found = bsearch(&id, by_id, n, sizeof(*found), compare_id);

	return found ? *found : NULL;
}

struct pot *pot_find(const struct budget *b, uint32_t id)
{
	return pots_find(b->by_id, b->n, id);
}
