/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Traces the calls of worlds into lib/control: the linker calls __wrap_NAME in place of NAME, which
 * is __real_NAME here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "budget/budget.h"
#include "conserve/conserve.h"
#include "ledger/ledger.h"
#include "limiter/limiter.h"
#include "node.h"
#include "quota/quota.h"
#include "trace.h"
#include "world/events.h"

/* Declares __real_NAME and __wrap_NAME, and begins to define the latter. */
#define WATCHED(type, name, ...)         \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

/* ---- counters that operators see */

static void digest_conserve_counters(const struct conserve *c)
{
	const struct conserve_counters *counters = conserve_counters(c);

	trace_words(
		counters->messages_sent, counters->messages_received, counters->statements_sent);
	for (unsigned i = 0; i < LEDGER_VERDICTS; i++)
		trace_word(counters->verdicts[i]);
	trace_words(counters->unknown, counters->differing, counters->malformed, counters->grants,
		counters->adoptions);
}

static void digest_budget_counters(const struct budget *b)
{
	const struct budget_counters *counters = budget_counters(b);

	trace_words(counters->messages_sent, counters->messages_received, counters->parts_sent,
		counters->parts_received, counters->unknown, counters->differing,
		counters->malformed, counters->relinked);
	for (unsigned i = 0; i < budget_peers(b); i++) {
		struct budget_peer peer = budget_peer(b, i);

		trace_words((uint64_t)peer.peer << 3 | (uint64_t)peer.linked << 2 |
				    (uint64_t)peer.parent << 1 | peer.alive,
			peer.round_trip_ns);
	}
}

/* ---- limiters */

#define FEW   12   /* policies of which all is written */
#define SMALL 2000 /* largest id that is not a hash of a name */

static void digest_view(const struct limiter *limiter, unsigned policy)
{
	struct limiter_view v;

	limiter_view(limiter, policy, &v);
	trace_reals(v.limit, v.share, v.effective_limit, v.local_limit, v.drain, v.drop);
	trace_words(v.local_burst, v.ending);
	trace_reals(v.demand, v.weight, v.global_demand, v.global_weight);
	trace_words(v.lost, v.flows);
	trace_real(v.flow_rate);
	trace_word(v.regime);
}

/* Adds all decisions of a limiter about its policies, and the time of its next call. */
static void digest_limiter(const struct limiter *limiter)
{
	unsigned n, number = trace_number(limiter);
	const struct trace_subject *subjects = trace_subjects(&n);

	if (number >= n)
		return;
	trace_words(number, limiter_next(limiter), limiter_lease_ends(limiter));
	for (unsigned p = 0; p < subjects[number].policies; p++)
		digest_view(limiter, p);
}

static void watch_limiter(const struct limiter *limiter, unsigned number,
	const struct limiter_policy *policies, unsigned n)
{
	uint64_t ids[TRACE_POLICIES];

	for (unsigned p = 0; p < n && p < TRACE_POLICIES; p++)
		ids[p] = policies[p].id;
	trace_add(limiter, number, n, ids);
	digest_limiter(limiter);
}

WATCHED(int, limiter_create, const struct limiter_params *params, uint64_t now_ns,
	struct limiter **out)
{
	int ret = __real_limiter_create(params, now_ns, out);

	if (!trace_watches(TRACE_LIMITER))
		return ret;
	trace_word((uint64_t)ret);
	if (ret == 0)
		watch_limiter(*out, params->gossip.self, params->policies, params->n_policies);
	return ret;
}

WATCHED(void, limiter_destroy, struct limiter *limiter)
{
	trace_remove(limiter);
	__real_limiter_destroy(limiter);
}

WATCHED(int, limiter_update, struct limiter *limiter, const struct limiter_policy *policies,
	unsigned n, const unsigned *from, uint64_t now_ns)
{
	int ret = __real_limiter_update(limiter, policies, n, from, now_ns);

	if (!trace_watches(TRACE_LIMITER))
		return ret;
	trace_word((uint64_t)ret);
	if (ret == 0)
		watch_limiter(limiter, trace_number(limiter), policies, n);
	return ret;
}

WATCHED(bool, limiter_tick, struct limiter *limiter, uint64_t now_ns, limiter_measure measure,
	void *context)
{
	bool changed;

	trace_called(now_ns);
	changed = __real_limiter_tick(limiter, now_ns, measure, context);
	trace_word(changed);
	digest_limiter(limiter);
	return changed;
}

WATCHED(size_t, limiter_send, struct limiter *limiter, uint8_t *buf, unsigned *peer)
{
	size_t len = __real_limiter_send(limiter, buf, peer);

	if (len > 0)
		trace_sent(trace_number(limiter), *peer, buf, len);
	return len;
}

WATCHED(enum gossip_verdict, limiter_receive, struct limiter *limiter, uint64_t now_ns,
	uint8_t *buf, size_t len)
{
	enum gossip_verdict verdict = __real_limiter_receive(limiter, now_ns, buf, len);

	trace_word(verdict);
	/* Gossip affects the next tick; a message can move limits immediately. */
	if (verdict == GOSSIP_MESSAGE)
		digest_limiter(limiter);
	return verdict;
}

WATCHED(int, limiter_spend, struct limiter *limiter, unsigned policy, uint64_t units,
	uint64_t now_ns)
{
	int ret = __real_limiter_spend(limiter, policy, units, now_ns);

	trace_word((uint64_t)ret);
	return ret;
}

WATCHED(void, limiter_committed, struct limiter *limiter, uint64_t now_ns)
{
	__real_limiter_committed(limiter, now_ns);
	digest_limiter(limiter);
}

struct limiter_disk {
	limiter_write write;
	void *context;
};

static int digest_limiter_record(
	void *context, enum limiter_record_kind kind, uint64_t id, const void *record, size_t len)
{
	const struct limiter_disk *disk = context;

	trace_word((uint64_t)kind << 32 | id);
	trace_bytes(record, len);
	return disk->write(disk->context, kind, id, record, len);
}

WATCHED(int, limiter_save, struct limiter *limiter, limiter_write write, void *context)
{
	struct limiter_disk disk = {write, context};
	int ret = __real_limiter_save(limiter, write ? digest_limiter_record : NULL, &disk);

	trace_word((uint64_t)ret);
	return ret;
}

WATCHED(enum passage, node_police, struct sim *sim, struct node *node, unsigned policy,
	const struct packet *packet, const uint8_t *data, uint32_t frame_len,
	struct shape_packet *waiting)
{
	enum passage passage = __real_node_police(
		sim, node, policy, packet, data, frame_len, waiting);

	trace_word(passage);
	return passage;
}

static void digest_time(const struct timekeeper *keeper, uint64_t now_ns)
{
	uint64_t time_ns = 0;

	trace_word(timekeeper_time(keeper, now_ns, &time_ns));
	trace_words(time_ns, keeper->followed);
}

/* Adds telemetry of the peers: their states and their config mismatches. */
static void digest_peers(const struct limiter *limiter, unsigned n)
{
	const struct gossip_counters *counters = gossip_counters(limiter_gossip(limiter));
	const struct agree *agree = limiter_agree(limiter);

	digest_time(limiter_timekeeper(limiter), 0);
	if (limiter_conserve(limiter))
		digest_conserve_counters(limiter_conserve(limiter));
	if (limiter_budget(limiter))
		digest_budget_counters(limiter_budget(limiter));
	for (unsigned i = 0; i < GOSSIP_VERDICTS; i++)
		trace_word(counters->verdict[i]);
	trace_words(counters->sent, counters->received_bytes, counters->unknown_policy,
		counters->implausible, counters->looks, gossip_silent(limiter_gossip(limiter)),
		gossip_changes(limiter_gossip(limiter)));
	for (unsigned i = 0; i < n; i++) {
		const struct peer *peer = gossip_peer(limiter_gossip(limiter), i);
		struct agree_peer_view view = agree_peer(agree, i);
		struct limiter_neighbour neighbour = {0};

		if (peer)
			trace_words(peer->epoch, (uint64_t)peer->tick << 1 | peer->alive,
				peer->restarts, peer->advanced_ns);
		trace_words((uint64_t)view.has_reported << 33 | (uint64_t)view.more << 32 | view.n,
			view.received_ns, view.since_ns);
		for (unsigned d = 0; d < view.n; d++) {
			struct agree_difference difference = agree_difference(agree, i, d);

			trace_words((uint64_t)difference.id << 32 | difference.things,
				difference.since_ns);
		}
		trace_word(limiter_neighbour(limiter, i, &neighbour));
		trace_word(neighbour.foreign_messages + neighbour.invalid);
	}
}

/* Writes one policy at all limiters that have it; nothing if many limiters have no demand. */
static void write_limits(const struct trace_subject *subjects, unsigned n, uint64_t id, unsigned p)
{
	double limits[TRACE_POLICIES], asked[TRACE_POLICIES], sum = 0;
	unsigned having = 0;

	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; subjects[i].at && k < subjects[i].policies; k++) {
			struct limiter_view v;

			if (subjects[i].ids[k] != id)
				continue;
			limiter_view(subjects[i].at, k, &v);
			limits[having] = v.local_limit;
			asked[having++] = v.demand;
			sum += v.demand;
		}
	if (sum <= 0 && subjects[0].policies > FEW)
		return;
	trace_write("  policy %u, limits", p);
	for (unsigned i = 0; i < having; i++)
		trace_write_real(limits[i]);
	trace_write("\n  policy %u, asked", p);
	for (unsigned i = 0; i < having; i++)
		trace_write_real(asked[i]);
	trace_write("\n");
}

/* Policies have small ids, or are the same in the same order everywhere. */
static void write_all_limits(const struct trace_subject *subjects, unsigned n)
{
	uint64_t done[TRACE_POLICIES * 2];
	unsigned n_done = 0;

	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; subjects[i].at && k < subjects[i].policies; k++) {
			uint64_t id = subjects[i].ids[k];
			bool is_done = n_done == TRACE_POLICIES * 2;

			for (unsigned d = 0; d < n_done; d++)
				is_done |= done[d] == id;
			if (is_done)
				continue;
			done[n_done++] = id;
			write_limits(subjects, n, id, id < SMALL ? id : k);
		}
}

static void write_limiters(const struct trace_subject *subjects, unsigned n)
{
	trace_write("  peers alive");
	for (unsigned i = 0; i < n; i++)
		if (subjects[i].at)
			trace_write_whole(gossip_alive(limiter_gossip(subjects[i].at)));
	for (unsigned i = 0; i < n; i++)
		if (subjects[i].at)
			digest_peers(subjects[i].at, n);
	trace_write("\n");
	write_all_limits(subjects, n);
}

/* ---- hard limits */

static uint64_t latest_ns; /* newest time of any call; only for display */

static void digest_conserve(const struct conserve *c, uint64_t now_ns)
{
	for (unsigned p = 0; p < conserve_policies(c); p++) {
		struct conserve_view v = conserve_view(c, p, now_ns);

		trace_words(v.share, v.limit, (uint64_t)v.balance, v.usable, v.until_ns, v.free,
			v.in_flight, v.promised, v.inherited);
		trace_real(v.target);
		trace_words(v.recovering, conserve_burst(c, p, 100000, v.usable));
	}
}

WATCHED(int, conserve_create, const struct conserve_params *params, uint64_t now_ns,
	struct conserve **out)
{
	int ret = __real_conserve_create(params, now_ns, out);

	if (!trace_watches(TRACE_CONSERVE))
		return ret;
	trace_word((uint64_t)ret);
	if (ret == 0)
		trace_add(*out, params->self, params->n_policies, NULL);
	return ret;
}

WATCHED(void, conserve_destroy, struct conserve *c)
{
	if (trace_watches(TRACE_CONSERVE))
		trace_remove(c);
	__real_conserve_destroy(c);
}

WATCHED(void, conserve_tick, struct conserve *c, uint64_t now_ns)
{
	__real_conserve_tick(c, now_ns);
	if (!trace_watches(TRACE_CONSERVE))
		return;
	latest_ns = now_ns;
	trace_word(trace_number(c));
	digest_conserve(c, now_ns);
}

WATCHED(size_t, conserve_send, struct conserve *c, uint64_t now_ns, uint8_t *buf, size_t room,
	unsigned *peer)
{
	size_t len = __real_conserve_send(c, now_ns, buf, room, peer);

	if (len > 0 && trace_watches(TRACE_CONSERVE))
		trace_sent(trace_number(c), *peer, buf, len);
	return len;
}

WATCHED(int, conserve_receive, struct conserve *c, unsigned from, uint64_t now_ns,
	const uint8_t *buf, size_t len)
{
	int ret = __real_conserve_receive(c, from, now_ns, buf, len);

	if (trace_watches(TRACE_CONSERVE)) {
		trace_word((uint64_t)ret);
		digest_conserve(c, now_ns);
	}
	return ret;
}

static void write_hard(const struct trace_subject *subjects, unsigned n)
{
	unsigned policies = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!subjects[i].at)
			continue;
		digest_conserve_counters(subjects[i].at);
		policies = subjects[i].policies;
	}
	for (unsigned p = 0; p < policies; p++) {
		trace_write("  account %u, balances", p);
		for (unsigned i = 0; i < n; i++)
			if (subjects[i].at)
				trace_write_whole(
					conserve_view(subjects[i].at, p, latest_ns).balance);
		trace_write("\n");
	}
}

/* ---- units */

static void digest_quota_view(const struct quota_view *v)
{
	trace_words(v->period, (uint64_t)v->balance, v->spent, v->prepaid, v->rate, v->theta_ns,
		v->threshold, v->remaining, v->pace,
		(uint64_t)v->undated << 4 | (uint64_t)v->recovering << 3 | (uint64_t)v->low << 2 |
			(uint64_t)v->asking << 1 | v->waiting,
		v->fetches_ns);
}

/* Numbers the objects in order of creation. */
static void add_quota(struct quota_node *q)
{
	unsigned n, free_at = 0;
	const struct trace_subject *subjects = trace_subjects(&n);

	while (free_at < n && subjects[free_at].at)
		free_at++;
	trace_add(q, free_at, 1, NULL);
}

WATCHED(int, quota_create, const struct quota_params *params, uint64_t now_ns,
	struct quota_node **out)
{
	int ret = __real_quota_create(params, now_ns, out);

	if (ret == 0 && trace_watches(TRACE_QUOTA))
		add_quota(*out);
	return ret;
}

WATCHED(int, quota_restore, const struct quota_params *params, const void *record, size_t len,
	uint64_t now_ns, struct quota_node **out)
{
	int ret = __real_quota_restore(params, record, len, now_ns, out);

	if (ret == 0 && trace_watches(TRACE_QUOTA))
		add_quota(*out);
	return ret;
}

WATCHED(void, quota_destroy, struct quota_node *q)
{
	if (trace_watches(TRACE_QUOTA))
		trace_remove(q);
	__real_quota_destroy(q);
}

static void digest_statement(const struct ledger_statement *statement)
{
	uint8_t bytes[LEDGER_STATEMENT_BYTES];

	ledger_statement_write(statement, bytes);
	trace_bytes(bytes, sizeof(bytes));
}

WATCHED(bool, quota_next, struct quota_node *q, uint64_t now_ns, uint32_t *edge,
	struct quota_message *m)
{
	bool is = __real_quota_next(q, now_ns, edge, m);

	if (!is || !trace_watches(TRACE_QUOTA))
		return is;
	digest_statement(&m->statement);
	trace_words(m->period, (uint64_t)m->parts << 2 | (uint64_t)m->partial << 1 | m->known,
		(uint64_t)m->round << 32 | m->answer, m->urgent, m->asking, m->held, m->pace);
	trace_sent(trace_number(q), *edge, &m->need, sizeof(m->need));
	return is;
}

WATCHED(bool, quota_receive, struct quota_node *q, uint32_t edge,
	const struct quota_message *message, uint64_t now_ns)
{
	bool sense = __real_quota_receive(q, edge, message, now_ns);

	if (trace_watches(TRACE_QUOTA)) {
		struct quota_view view = quota_view(q, now_ns);

		trace_word(sense);
		digest_quota_view(&view);
	}
	return sense;
}

WATCHED(int, quota_spend, struct quota_node *q, uint64_t units, uint64_t now_ns)
{
	int ret = __real_quota_spend(q, units, now_ns);

	if (trace_watches(TRACE_QUOTA)) {
		struct quota_view view = quota_view(q, now_ns);

		trace_word((uint64_t)ret);
		digest_quota_view(&view);
	}
	return ret;
}

WATCHED(uint64_t, quota_tick, struct quota_node *q, uint64_t now_ns)
{
	uint64_t next = __real_quota_tick(q, now_ns);

	if (trace_watches(TRACE_QUOTA)) {
		latest_ns = now_ns;
		trace_word(next);
	}
	return next;
}

WATCHED(int, quota_save, struct quota_node *q, void *record, size_t *len)
{
	int ret = __real_quota_save(q, record, len);

	if (trace_watches(TRACE_QUOTA)) {
		trace_word((uint64_t)ret);
		if (ret == 0)
			trace_bytes(record, *len);
	}
	return ret;
}

static void write_quotas(const struct trace_subject *subjects, unsigned n)
{
	trace_write("  balances");
	for (unsigned i = 0; i < n; i++)
		if (subjects[i].at)
			trace_write_whole(quota_view(subjects[i].at, latest_ns).balance);
	trace_write("\n  spent");
	for (unsigned i = 0; i < n; i++)
		if (subjects[i].at)
			trace_write_whole((int64_t)quota_view(subjects[i].at, latest_ns).spent);
	trace_write("\n");
}

WATCHED(int, budget_create, const struct budget_params *params, uint64_t now_ns,
	struct budget **out)
{
	int ret = __real_budget_create(params, now_ns, out);

	if (!trace_watches(TRACE_BUDGET))
		return ret;
	trace_word((uint64_t)ret);
	if (ret == 0)
		trace_add(*out, params->self, params->n_policies, NULL);
	return ret;
}

WATCHED(void, budget_destroy, struct budget *b)
{
	if (trace_watches(TRACE_BUDGET))
		trace_remove(b);
	__real_budget_destroy(b);
}

static void digest_budget(const struct budget *b, uint64_t now_ns)
{
	unsigned n, number = trace_number(b);
	const struct trace_subject *subjects = trace_subjects(&n);

	if (number >= n)
		return;
	trace_word((uint64_t)number << 32 | budget_root(b));
	for (unsigned p = 0; p < subjects[number].policies; p++) {
		struct quota_view view = budget_view(b, p, now_ns);

		digest_quota_view(&view);
		trace_words(budget_total(b, p), budget_in_flight(b, p));
	}
}

WATCHED(uint64_t, budget_tick, struct budget *b, uint64_t now_ns)
{
	uint64_t next;

	if (!trace_watches(TRACE_BUDGET))
		return __real_budget_tick(b, now_ns);
	latest_ns = now_ns;
	trace_called(now_ns);
	next = __real_budget_tick(b, now_ns);
	trace_word(next);
	return next;
}

WATCHED(size_t, budget_send, struct budget *b, uint64_t now_ns, uint8_t *buf, size_t room,
	unsigned *peer)
{
	size_t len = __real_budget_send(b, now_ns, buf, room, peer);

	if (len > 0 && trace_watches(TRACE_BUDGET))
		trace_sent(trace_number(b), *peer, buf, len);
	return len;
}

WATCHED(int, budget_receive, struct budget *b, unsigned from, uint64_t now_ns, const uint8_t *buf,
	size_t len)
{
	int ret = __real_budget_receive(b, from, now_ns, buf, len);

	if (trace_watches(TRACE_BUDGET)) {
		trace_word((uint64_t)ret);
		digest_budget(b, now_ns);
	}
	return ret;
}

WATCHED(int, budget_spend, struct budget *b, unsigned policy, uint64_t units, uint64_t now_ns)
{
	int ret = __real_budget_spend(b, policy, units, now_ns);

	if (trace_watches(TRACE_BUDGET))
		trace_word((uint64_t)ret);
	return ret;
}

WATCHED(bool, budget_clock, struct budget *b, uint64_t wall_ns, bool synchronised, uint64_t now_ns)
{
	bool changed = __real_budget_clock(b, wall_ns, synchronised, now_ns);

	if (trace_watches(TRACE_BUDGET)) {
		trace_word(changed);
		digest_time(budget_timekeeper(b), now_ns);
	}
	return changed;
}

static void write_budgets(const struct trace_subject *subjects, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (subjects[i].at)
			digest_budget_counters(subjects[i].at);
	for (unsigned p = 0; p < (n ? subjects[0].policies : 0); p++) {
		trace_write("  policy %u, balances", p);
		for (unsigned i = 0; i < n; i++)
			if (subjects[i].at)
				trace_write_whole(
					budget_view(subjects[i].at, p, latest_ns).balance);
		trace_write("\n");
	}
}

/* ---- the records of both */

struct book_disk {
	book_write write;
	void *context;
};

static int digest_book_record(void *context, uint64_t id, const void *record, size_t len)
{
	const struct book_disk *disk = context;

	trace_word(id);
	trace_bytes(record, len);
	return disk->write ? disk->write(disk->context, id, record, len) : 0;
}

WATCHED(int, book_save, struct book *book, book_write write, void *context)
{
	struct book_disk disk = {write, context};
	int ret;

	if (!trace_watches(TRACE_BUDGET) && !trace_watches(TRACE_CONSERVE))
		return __real_book_save(book, write, context);
	ret = __real_book_save(book, digest_book_record, &disk);
	trace_word((uint64_t)ret);
	return ret;
}

/* ---- ledgers, whose world has steps: a statement is a millisecond here */

static unsigned verdicts[LEDGER_VERDICTS]; /* since the previous line */

WATCHED(void, ledger_state, struct ledger *l, uint32_t edge, uint64_t now_ns,
	struct ledger_statement *s)
{
	uint8_t bytes[LEDGER_STATEMENT_BYTES];

	__real_ledger_state(l, edge, now_ns, s);
	if (!trace_watches(TRACE_LEDGER))
		return;
	trace_called(trace_n_sent() * 1000000);
	ledger_statement_write(s, bytes);
	trace_sent(0, edge, bytes, sizeof(bytes));
}

WATCHED(enum ledger_verdict, ledger_receive, struct ledger *l, uint32_t edge, uint64_t now_ns,
	const struct ledger_statement *statement)
{
	enum ledger_verdict verdict = __real_ledger_receive(l, edge, now_ns, statement);

	if (trace_watches(TRACE_LEDGER)) {
		verdicts[verdict]++;
		trace_word(verdict);
	}
	return verdict;
}

WATCHED(uint64_t, ledger_usable, const struct ledger *l, uint64_t now_ns, uint64_t *until_ns)
{
	uint64_t usable = __real_ledger_usable(l, now_ns, until_ns);

	if (trace_watches(TRACE_LEDGER)) {
		trace_words(usable, until_ns ? *until_ns : 0);
	}
	return usable;
}

WATCHED(int, ledger_grant, struct ledger *l, uint32_t edge, uint64_t amount)
{
	int ret = __real_ledger_grant(l, edge, amount);

	if (trace_watches(TRACE_LEDGER))
		trace_word((uint64_t)ret);
	return ret;
}

WATCHED(int, ledger_promise, struct ledger *l, uint64_t amount)
{
	int ret = __real_ledger_promise(l, amount);

	if (trace_watches(TRACE_LEDGER))
		trace_word((uint64_t)ret);
	return ret;
}

WATCHED(uint64_t, ledger_inherit, struct ledger *l, uint32_t edge, uint64_t now_ns)
{
	uint64_t taken = __real_ledger_inherit(l, edge, now_ns);

	if (trace_watches(TRACE_LEDGER))
		trace_word(taken);
	return taken;
}

WATCHED(int, ledger_save, struct ledger *l, void *record, size_t *len)
{
	int ret = __real_ledger_save(l, record, len);

	if (trace_watches(TRACE_LEDGER)) {
		trace_word((uint64_t)ret);
		if (ret == 0)
			trace_bytes(record, *len);
	}
	return ret;
}

static void write_verdicts(void)
{
	trace_write("  heard: %u news, %u nothing new, %u old, %u invalid\n", verdicts[LEDGER_NEWS],
		verdicts[LEDGER_HEARD], verdicts[LEDGER_OLD], verdicts[LEDGER_INVALID]);
	memset(verdicts, 0, sizeof(verdicts));
}

/* ---- all parts */

/* The clocks of torture's worlds are not right, but their events have the right time. */
WATCHED(bool, events_take, struct events *events, uint64_t until_ns, struct event *out)
{
	bool is = __real_events_take(events, until_ns, out);

	if (is && !trace_watches(TRACE_NOTHING))
		trace_sample(events->now_ns);
	return is;
}

void trace_write_subjects(void)
{
	unsigned n;
	const struct trace_subject *subjects = trace_subjects(&n);

	if (trace_watches(TRACE_LIMITER))
		write_limiters(subjects, n);
	else if (trace_watches(TRACE_CONSERVE))
		write_hard(subjects, n);
	else if (trace_watches(TRACE_QUOTA))
		write_quotas(subjects, n);
	else if (trace_watches(TRACE_BUDGET))
		write_budgets(subjects, n);
	else if (trace_watches(TRACE_LEDGER))
		write_verdicts();
}
