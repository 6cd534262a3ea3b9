/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A budget of units (bytes, packets, requests) over a period, which the limiters of a group spend
 * together and never exceed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/math.h"
#include "quota/quota_private.h"

#define REACH_FIRST 2

#define RECORD_MAGIC UINT64_C(0x3176617475717765) /* another layout has another number */

struct quota_saved {
	uint64_t magic, period;
};

static struct ledger_params ledger_params(const struct quota_params *p)
{
	return (struct ledger_params){
		.share = p->undated ? 0 : p->share,
		.n_edges = p->n_edges,
		.friend = LEDGER_NOBODY,
		.epoch = p->epoch,
		.word = p->word,
		.most = p->total,
		.recovering = p->recovering,
	};
}

/* Initialises all that does not depend on a record. */
static int begin_quota_node(
	const struct quota_params *params, uint64_t now_ns, struct quota_node **out)
{
	const size_t n = (size_t)params->n_edges + 1;
	struct quota_node *q;

	*out = NULL;
	if (params->theta_ns == 0 || params->memory_ns == 0 || params->repeat_ns == 0)
		return -EINVAL;
	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	*out = q;
	q->params = *params;
	q->waits = q->back = params->proof_until_ns > 0 && !params->recovering;
	q->denied = LEDGER_HEARD;
	q->edges = calloc(n, sizeof(*q->edges));
	q->weights = calloc(n, sizeof(*q->weights));
	q->parts = calloc(n, sizeof(*q->parts));
	if (!q->edges || !q->weights || !q->parts)
		return -ENOMEM;
	prng_seed(&q->prng, params->seed);
	q->pace.start_ns = q->pace.last_ns = now_ns;
	q->theta_ns = params->theta_ns;
	q->round = (uint32_t)prng_next(&q->prng);
	q->reach = REACH_FIRST;
	q->retry_ns = q->ended_ns = now_ns;
	for (uint32_t i = 0; i < params->n_edges; i++) {
		q->edges[i].theta_ns = params->theta_ns;
		q->edges[i].silent_ns = q->edges[i].hint_ns = now_ns;
	}
	return 0;
}

int quota_create(const struct quota_params *params, uint64_t now_ns, struct quota_node **out)
{
	struct ledger_params lp = ledger_params(params);
	int err = begin_quota_node(params, now_ns, out);

	if (err == 0)
		err = ledger_create(&lp, now_ns, &(*out)->ledger);
	if (err) {
		quota_destroy(*out);
		*out = NULL;
		return err;
	}
	if (!params->undated)
		quota_forfeit(*out);
	quota_commit_now(*out);
	return 0;
}

/* Continues the lives of a record of an earlier period, without its amounts. */
static int restore_later(const struct quota_params *later, const void *record, size_t len,
	uint64_t now_ns, struct quota_node **out)
{
	struct ledger_params lp = ledger_params(later);
	struct ledger *previous;
	int err = ledger_restore(&lp, record, len, now_ns, &previous);

	if (err)
		return err;
	err = quota_create(later, now_ns, out);
	if (err == 0) {
		ledger_continue((*out)->ledger, previous);
		(*out)->back = true;
	}
	ledger_destroy(previous);
	return err;
}

int quota_restore(const struct quota_params *params, const void *bytes, size_t len, uint64_t now_ns,
	struct quota_node **out)
{
	const char *ledger_record = (const char *)bytes + sizeof(struct quota_saved);
	struct quota_params later = *params;
	struct ledger_params lp;
	struct quota_saved record;
	int err;

	*out = NULL;
	if (len < sizeof(record))
		return -EINVAL;
	memcpy(&record, bytes, sizeof(record));
	if (record.magic != RECORD_MAGIC)
		return -EINVAL;
	later.recovering = false;
	later.undated = params->undated && record.period == 0;
	if (record.period < params->period) {
		/* The period can have begun nevertheless, and have been given units. */
		return restore_later(&later, ledger_record, len - sizeof(record), now_ns, out);
	}
	later.period = record.period;
	lp = ledger_params(&later);
	err = begin_quota_node(&later, now_ns, out);
	if (err == 0)
		err = ledger_restore(
			&lp, ledger_record, len - sizeof(record), now_ns, &(*out)->ledger);
	if (err) {
		quota_destroy(*out);
		*out = NULL;
		return err;
	}
	quota_commit_now(*out);
	(*out)->back = (*out)->behind = true;
	/* A neighbour that took us for gone receives our held units. */
	for (uint32_t i = 0; i < params->n_edges; i++)
		(*out)->edges[i].sent_dry = true;
	return 0;
}

void quota_destroy(struct quota_node *q)
{
	if (!q)
		return;
	if (q->ledger)
		ledger_destroy(q->ledger);
	free(q->parts);
	free(q->weights);
	free(q->edges);
	free(q);
}

void quota_link(struct quota_node *q, uint32_t edge, bool linked, uint64_t guess)
{
	struct quota_edge *e = &q->edges[edge];

	if (e->linked == linked)
		return;
	e->linked = linked;
	e->known = e->has_sent = false;
	q->news = true;
	e->sent_pace = 0;
	e->claim = CLAIM_NONE;
	e->answered = true;
	e->silent_ns = q->ended_ns;
	e->silences = 0;
	if (linked) {
		q->failures = 0;
		q->refused = false;
		q->retry_ns = q->ended_ns;
	}
	/* A node that took us for a neighbour before we did has sent its hints. */
	e->has_reported = linked && e->early;
	if (!e->has_reported) {
		e->held = guess < LEDGER_MOST ? guess : LEDGER_MOST;
		e->pace = 0;
	}
	e->early = false;
}

/* The request is for the largest waiting amount; it is enough for the others. */
static void note_units_waiting(struct quota_node *q, uint64_t units, uint64_t now_ns)
{
	if (units < q->waiting)
		return;
	q->waiting_ns = now_ns;
	if (units == q->waiting)
		return;
	q->waiting = units;
	q->grown = true;
	q->refused = false;
}

/* `ahead`: for traffic that might come. */
static int take_units(struct quota_node *q, uint64_t units, bool ahead, uint64_t now_ns)
{
	int ret = 0;

	if (units > LEDGER_MOST)
		return -EDQUOT;
	if (q->params.undated || q->waits)
		return -EAGAIN;
	if (quota_use(q, units)) {
		pace_typical(&q->pace, units);
		if (!ahead)
			pace_spend(&q->pace, units, now_ns, q->params.memory_ns);
		if (units >= q->waiting) {
			q->waiting = 0;
			q->refused = false;
		}
		round_consider(q, now_ns);
	} else if (quota_stock(q) >= units && q->params.durable) {
		ret = -EAGAIN; /* the disk's turn */
	} else {
		note_units_waiting(q, units, now_ns);
		round_consider(q, now_ns);
		ret = q->refused ? -EDQUOT : -EAGAIN;
	}
	quota_commit_now(q);
	return ret;
}

int quota_spend(struct quota_node *q, uint64_t units, uint64_t now_ns)
{
	return take_units(q, units, false, now_ns);
}

int quota_prefetch(struct quota_node *q, uint64_t units, uint64_t now_ns)
{
	return take_units(q, units, true, now_ns);
}

void quota_refund(struct quota_node *q, uint64_t units)
{
	uint64_t ahead = q->prepaid + q->drawn + q->committing, passed;

	passed = ledger_spent(q->ledger) - ahead;
	units = units < passed ? units : passed;
	if (ledger_refund(q->ledger, ahead + units))
		return;
	q->prepaid = q->drawn = q->committing = 0;
	quota_commit_now(q);
}

/* Nothing that was sent or requested in the old period holds. */
static void forget_period(struct quota_node *q)
{
	for (uint32_t i = 0; i < q->params.n_edges; i++) {
		struct quota_edge *e = &q->edges[i];

		e->held = q->params.share; /* a guess; the branch is no smaller */
		e->known = e->has_reported = e->sent_dry = e->has_sent = e->early = false;
		e->sent_pace = e->sent_ns = e->other_ns = 0;
		e->asked = e->uncommitted = e->saving = e->speak = false;
		e->due = 0;
		e->claim = CLAIM_NONE;
	}
	q->prepaid = q->drawn = q->committing = q->waiting = 0;
	q->active = q->low = q->refused = q->saving = false;
	q->back = q->behind;
	q->behind = false;
	q->failures = 0;
	q->reach = REACH_FIRST;
	q->news = true;
	q->counted = 0;
	q->group.known = false;
}

int quota_period(struct quota_node *q, uint64_t period, uint64_t share, uint64_t now_ns)
{
	struct quota_params next = q->params;
	struct ledger_params lp;
	struct ledger *ledger;
	bool waits;
	int err;

	if (period <= q->params.period)
		return -EINVAL;
	next.period = period;
	next.share = share;
	next.recovering = (next.recovering && (next.undated || q->lost)) || q->doubt;
	next.undated = false;
	/* Another machine of our name can begin it, too. */
	waits = q->waits || (ledger_recovering(q->ledger) && !next.recovering);
	if (waits)
		next.proof_until_ns = max_u64(
			next.proof_until_ns, now_ns + SILENT_REPEATS * next.repeat_ns);
	lp = ledger_params(&next);
	err = ledger_create(&lp, now_ns, &ledger);
	if (err)
		return err;
	ledger_continue(ledger, q->ledger);
	ledger_destroy(q->ledger);
	q->ledger = ledger;
	q->params = next;
	q->retry_ns = now_ns;
	q->waits = waits;
	forget_period(q);
	q->fresh = true;
	quota_forfeit(q);
	quota_commit_now(q);
	return 0;
}

void quota_doubt(struct quota_node *q, bool doubt)
{
	q->doubt = doubt;
}

int quota_set_share(struct quota_node *q, uint64_t share, uint64_t now_ns)
{
	int err = q->params.undated ? 0 : ledger_set_share(q->ledger, share);

	if (err || q->params.undated)
		return err;
	q->params.share = share;
	q->refused = false;
	q->retry_ns = now_ns;
	round_consider(q, now_ns);
	quota_commit_now(q);
	return 0;
}

enum ledger_verdict quota_denied(const struct quota_node *q)
{
	return q->denied;
}

void quota_lose(struct quota_node *q)
{
	ledger_lose(q->ledger);
	q->denied = LEDGER_HEARD;
	q->params.recovering = q->lost = true;
	q->prepaid = q->drawn = q->committing = 0;
	q->active = q->saving = q->waits = false;
	for (uint32_t i = 0; i < q->params.n_edges; i++) {
		q->edges[i].uncommitted = q->edges[i].saving = false;
		q->edges[i].speak = true;
	}
	if (!q->params.durable)
		quota_loss_committed(q);
}

void quota_loss_committed(struct quota_node *q)
{
	ledger_loss_committed(q->ledger);
}

void quota_raise_total(struct quota_node *q, uint64_t total)
{
	q->params.total = total;
	ledger_raise_most(q->ledger, total);
}

void quota_set_chunk(struct quota_node *q, uint64_t chunk)
{
	q->params.chunk = chunk;
}

bool quota_uncommitted(const struct quota_node *q)
{
	bool uncommitted = q->fresh || q->drawn || ledger_uncommitted(q->ledger);

	if (ledger_recovering(q->ledger) || q->params.undated)
		return false;
	for (uint32_t i = 0; i < q->params.n_edges; i++)
		uncommitted |= q->edges[i].uncommitted;
	return q->params.durable && uncommitted;
}

size_t quota_record_size(const struct quota_node *q)
{
	return sizeof(struct quota_saved) + ledger_record_size(q->ledger);
}

int quota_save(struct quota_node *q, void *bytes, size_t *len)
{
	struct quota_saved record = {RECORD_MAGIC, q->params.period};
	int err;

	if (q->saving)
		return -EBUSY;
	err = ledger_save(q->ledger, (char *)bytes + sizeof(record), len);
	if (err)
		return err;
	memcpy(bytes, &record, sizeof(record));
	*len += sizeof(record);
	q->saving = true;
	q->fresh = false;
	q->committing = q->drawn;
	q->drawn = 0;
	for (uint32_t i = 0; i < q->params.n_edges; i++) {
		q->edges[i].saving = q->edges[i].uncommitted;
		q->edges[i].uncommitted = false;
	}
	return 0;
}

void quota_committed(struct quota_node *q)
{
	if (!q->saving) /* a record of an earlier period */
		return;
	q->saving = false;
	ledger_committed(q->ledger);
	q->prepaid += q->committing;
	q->committing = 0;
	for (uint32_t i = 0; i < q->params.n_edges; i++)
		q->edges[i].saving = false;
}

void quota_save_failed(struct quota_node *q)
{
	if (!q->saving)
		return;
	q->saving = false;
	ledger_save_failed(q->ledger);
	q->drawn += q->committing;
	q->committing = 0;
	for (uint32_t i = 0; i < q->params.n_edges; i++) {
		q->edges[i].uncommitted |= q->edges[i].saving;
		q->edges[i].saving = false;
	}
}

struct quota_view quota_view(const struct quota_node *q, uint64_t now_ns)
{
	return (struct quota_view){
		.period = q->params.period,
		.undated = q->params.undated,
		.balance = ledger_balance(q->ledger),
		.spent = ledger_spent(q->ledger),
		.prepaid = q->prepaid + q->drawn + q->committing,
		.rate = hint_rate(q, now_ns),
		.theta_ns = q->theta_ns,
		.threshold = q->low ? 0 : hint_threshold(q, now_ns),
		.remaining = hint_remaining(q, now_ns),
		.pace = hint_pace(q, now_ns),
		.group = hint_group(q, now_ns),
		.recovering = ledger_recovering(q->ledger),
		.waits = q->waits,
		.low = q->low,
		.asking = q->active,
		.waiting = q->waiting > 0,
		.rounds = q->rounds,
		.short_rounds = q->short_rounds,
		.messages = q->messages,
		.invalid = q->invalid,
		.fetches = q->fetches,
		.fetches_ns = q->fetches_ns,
	};
}

struct ledger_view quota_edge(const struct quota_node *q, uint32_t edge)
{
	return ledger_view(q->ledger, edge);
}
