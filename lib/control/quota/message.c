/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Messages between neighbours about units: decides their contents and when they are due.
 * budget/message.c converts them to bytes and calls these functions in the thread of the limiter.
 */
#include "base/math.h"
#include "quota/quota_private.h"

static bool quota_message_valid(const struct quota_message *m)
{
	return (m->parts & ~(uint32_t)QUOTA_PARTS) == 0 && m->need <= LEDGER_MOST &&
	       m->urgent <= m->need && m->asking <= LEDGER_MOST && m->held <= LEDGER_MOST &&
	       m->pace <= LEDGER_MOST;
}

/* Takes the neighbour's statement. Returns the verdict. */
static enum ledger_verdict receive_statement(
	struct quota_node *q, uint32_t edge, const struct quota_message *m, uint64_t now_ns)
{
	struct quota_edge *e = &q->edges[edge];
	uint64_t received = ledger_view(q->ledger, edge).received;
	enum ledger_verdict verdict = ledger_receive(q->ledger, edge, now_ns, &m->statement);

	/*
	 * A neighbour with a new disk counts its starts from one again, and needs an answer to go
	 * on. A neighbour that recovers as well sends its own as often as repeat_grants() does: two
	 * that answered each other would not stop.
	 */
	e->speak |= verdict == LEDGER_OLD && !ledger_recovering(q->ledger) &&
		    (m->statement.epoch == 0 || m->parts & QUOTA_CONFIRM);
	if (verdict == LEDGER_DENIED || verdict == LEDGER_TWIN)
		q->denied = verdict;
	/* The answer shows an old record to its sender. */
	e->speak |= verdict == LEDGER_INVALID;
	if (verdict != LEDGER_NEWS && verdict != LEDGER_HEARD)
		return verdict;
	quota_forfeit(q);
	if (m->statement.epoch == 0) {
		/*
		 * The neighbour is recovering, and waits for our counters of the edge; there are
		 * none if we recover, too.
		 */
		e->uncommitted = q->params.durable && !ledger_recovering(q->ledger);
		e->speak |= !ledger_recovering(q->ledger);
	}
	e->silences = 0;
	e->silent_ns = now_ns;
	/* The neighbour's hints include its grants to us. */
	if (ledger_view(q->ledger, edge).received != received)
		e->sent_dry = false;
	return verdict;
}

bool quota_receive(
	struct quota_node *q, uint32_t edge, const struct quota_message *m, uint64_t now_ns)
{
	struct quota_edge *e = &q->edges[edge];
	enum ledger_verdict verdict;

	if (!quota_message_valid(m)) {
		q->invalid++;
		return false;
	}
	if (m->period != q->params.period || q->params.undated) {
		if (m->period + 1 >= q->params.period)
			e->other_ns = now_ns;
		if (m->period < q->params.period)
			e->speak |= m->parts & QUOTA_CONFIRM; /* show our later period */
		return true;
	}
	verdict = receive_statement(q, edge, m, now_ns);
	if (verdict == LEDGER_INVALID)
		q->invalid++;
	if (verdict != LEDGER_NEWS && verdict != LEDGER_HEARD)
		return verdict == LEDGER_OLD;
	(void)quota_waits(q, now_ns);
	hint_read(q, edge, m, now_ns);
	if (e->linked && m->parts & (QUOTA_REQUEST | QUOTA_COLLECT))
		round_claim(q, edge, m, now_ns);
	if (m->parts & QUOTA_REPORT)
		round_answer(q, edge, m, now_ns);
	round_alive(q, e, now_ns);
	if (m->parts & QUOTA_CONFIRM)
		e->speak = true;
	round_consider(q, now_ns);
	quota_commit_now(q);
	return true;
}

/*
 * Returns true if a neighbour has not confirmed a grant or our record. Also true if it possibly
 * granted units that we confirmed, and lost this in a crash: it would not send them again by
 * itself.
 */
static bool is_to_confirm(const struct quota_node *q, uint32_t edge)
{
	struct ledger_view view = ledger_view(q->ledger, edge);

	return view.in_flight > 0 || ledger_recovering(q->ledger) || (q->back && !view.known) ||
	       (q->waits && !view.confirmed);
}

/* Requests the missing confirmations again. Returns when to look again. */
static uint64_t repeat_grants(struct quota_node *q, uint64_t now_ns)
{
	uint64_t repeat_ns = q->params.repeat_ns / (q->waits ? WAITING_REPEATS : 1);
	uint64_t next = UINT64_MAX;

	for (uint32_t i = 0; i < q->params.n_edges; i++) {
		struct quota_edge *e = &q->edges[i];
		uint64_t at = e->granted_ns + repeat_ns;

		if (!is_to_confirm(q, i))
			continue;
		if (e->speak || e->due) {
			at = now_ns + repeat_ns; /* a message is due now */
		} else if (now_ns >= at) {
			e->due |= QUOTA_CONFIRM;
			e->granted_ns = now_ns;
			at = now_ns + repeat_ns;
		}
		if (at < next)
			next = at;
	}
	return next;
}

uint64_t quota_tick(struct quota_node *q, uint64_t now_ns)
{
	uint64_t next, again, settled;

	if (q->params.undated)
		return UINT64_MAX;
	quota_forfeit(q);
	settled = hint_settle(q, now_ns);
	if (quota_waits(q, now_ns))
		return min_u64(min_u64(repeat_grants(q, now_ns), settled),
			max_u64(q->params.proof_until_ns, now_ns + q->params.repeat_ns));
	next = min_u64(round_timeouts(q, now_ns), settled);
	again = repeat_grants(q, now_ns); /* also grants of just now */
	quota_commit_now(q);
	return again < next ? again : next;
}

static void fill_quota_message(struct quota_node *q, uint32_t edge, struct quota_message *m,
	uint32_t parts, uint64_t now_ns)
{
	struct quota_edge *e = &q->edges[edge];

	*m = (struct quota_message){
		.period = q->params.period,
		.parts = parts,
		.round = q->round,
		.answer = e->claim_round,
		.partial = e->partial,
	};
	if (parts & (QUOTA_REQUEST | QUOTA_COLLECT)) {
		struct wants w = round_wants(q, now_ns);

		m->need = w.need > w.urgent ? w.need : w.urgent;
		m->urgent = w.urgent;
		m->asking = w.asking;
		e->asked_need = m->need;
		e->asked_received = ledger_view(q->ledger, edge).received;
	}
	hint_write(q, edge, m, now_ns);
	ledger_state(q->ledger, edge, now_ns, &m->statement);
	q->sent_count = ledger_count(q->ledger);
	e->sent_dry = m->known && m->held == 0;
	e->has_sent = true;
	e->sent_held = m->held;
	e->sent_limiters = m->known ? m->limiters : 0;
	e->sent_pace = m->pace;
	e->sent_ns = now_ns;
	e->due = 0;
	e->speak = false;
	if (ledger_view(q->ledger, edge).in_flight > 0)
		e->granted_ns = now_ns;
}

void quota_wake_edge(struct quota_node *q, uint32_t edge, bool asks)
{
	q->edges[edge].speak = true;
	if (asks)
		q->edges[edge].due |= QUOTA_CONFIRM;
}

bool quota_next_to(struct quota_node *q, uint64_t now_ns, uint32_t edge, struct quota_message *m)
{
	struct quota_edge *e = &q->edges[edge];
	uint32_t parts = e->due;

	if (q->params.undated)
		return false;
	/* A request is dropped if it was answered before it was sent, or the round has ended. */
	if (!q->active || !e->asked || e->answered)
		parts &= ~(uint32_t)(QUOTA_REQUEST | QUOTA_COLLECT);
	if (e->uncommitted || e->saving || ledger_is_mute(q->ledger))
		return false;
	if (parts == 0 && !e->speak) {
		e->due = 0;
		return false;
	}
	fill_quota_message(q, edge, m, parts, now_ns);
	q->messages++;
	return true;
}

bool quota_next(struct quota_node *q, uint64_t now_ns, uint32_t *edge, struct quota_message *m)
{
	for (uint32_t i = 0; i < q->params.n_edges; i++) {
		uint32_t at = (q->next + i) % q->params.n_edges;

		if (!quota_next_to(q, now_ns, at, m))
			continue;
		q->next = at + 1;
		*edge = at;
		return true;
	}
	return false;
}
