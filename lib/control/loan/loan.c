/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Token loans between the limiters of a group.
 */
#include "loan/loan.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/math.h"
#include "base/time.h"
#include "group/id_table.h"
#include "loan/loan_message.h"

#define NANOSECONDS_A_MICROSECOND 1000
#define MILLION                   1000000

/* Bytes lent to peers that may be under way until a time. */
struct loan_lent {
	uint64_t bytes, until_ns;
};

#define LENT_KEPT 4

struct loan_policy {
	uint64_t wanted; /* bytes; 0: not short */
	uint64_t room;   /* bytes that our bucket had room for during recent requests, smoothed */
	struct loan_totals totals;
	struct loan_bucket top; /* `level` is the most that the bucket held at top_ns */
	uint64_t top_ns;
	struct loan_lent lent[LENT_KEPT];
	uint64_t recent,
		recent_ns; /* bytes borrowed, less the limit's bytes since; as of this time */
};

/* A policy in a request under way. */
struct loan_requested {
	unsigned policy;
	uint64_t peak; /* most bytes that our bucket held since, with loans of ours under way */
};

/* The two roles towards one peer. */
struct loan_edge {
	/* Borrower: */
	uint32_t number; /* number of the newest request */
	uint64_t requested_ns;
	uint64_t next_ns;  /* no request before */
	uint64_t round_ns; /* smoothed round trip; 0: not measured */
	uint64_t wait_ns, pause_ns;
	unsigned n_requested;
	struct loan_requested *requested; /* LOAN_POLICIES; NULL before the first request */
	/* Lender: */
	bool has_requested; /* a request was received, with this session and number: */
	uint32_t session, answered;
	struct loan_message *request; /* to be answered; NULL: none */
};

struct loan {
	unsigned n, self;
	uint32_t session, drift_ppm;
	struct id_table *ids; /* ids of policies */
	struct loan_policy *policies;
	unsigned n_short, first_short; /* first_short: where the next request begins */
	unsigned n_requests;           /* edges with `request` */
	struct loan_edge *edges;       /* n */
	struct loan_edge *waiting;     /* peer with our request in flight; NULL: none */
	struct loan_counters counters;
};

static int create_policies(
	const uint64_t *ids, unsigned n, struct id_table **table, struct loan_policy **policies)
{
	int ret = id_table_create(ids, n, table);

	if (ret)
		return ret;
	*policies = calloc((size_t)n + 1, sizeof(**policies));
	if (*policies)
		return 0;
	id_table_destroy(*table);
	*table = NULL;
	return -ENOMEM;
}

int loan_create(const struct loan_params *params, struct loan **out)
{
	struct loan *loan;
	int ret;

	if (params->n == 0 || params->self >= params->n)
		return -EINVAL;
	loan = calloc(1, sizeof(*loan));
	if (!loan)
		return -ENOMEM;
	loan->n = params->n;
	loan->self = params->self;
	loan->session = params->session;
	loan->drift_ppm = params->drift_ppm;
	loan->edges = calloc(params->n, sizeof(*loan->edges));
	ret = loan->edges ? create_policies(params->policies, params->n_policies, &loan->ids,
				    &loan->policies)
			  : -ENOMEM;
	if (ret) {
		loan_destroy(loan);
		return ret;
	}
	*out = loan;
	return 0;
}

static void edge_free(struct loan_edge *edge)
{
	free(edge->request);
	free(edge->requested);
}

void loan_destroy(struct loan *loan)
{
	if (!loan)
		return;
	for (unsigned i = 0; loan->edges && i < loan->n; i++)
		edge_free(&loan->edges[i]);
	free(loan->edges);
	free(loan->policies);
	if (loan->ids)
		id_table_destroy(loan->ids);
	free(loan);
}

int loan_change_begin(const struct loan *loan, const uint64_t *ids, unsigned n,
	const unsigned *from, struct loan_change *change)
{
	int ret = create_policies(ids, n, &change->ids, &change->policies);

	for (unsigned i = 0; ret == 0 && i < n; i++) {
		if (from[i] >= loan->ids->n)
			continue;
		change->policies[i].totals = loan->policies[from[i]].totals;
		memcpy(change->policies[i].lent, loan->policies[from[i]].lent,
			sizeof(change->policies[i].lent));
	}
	return ret;
}

void loan_change_cancel(struct loan_change *change)
{
	if (change->ids)
		id_table_destroy(change->ids);
	free(change->policies);
	*change = (struct loan_change){0};
}

void loan_change_commit(struct loan *loan, struct loan_change *change)
{
	struct loan_change old = {loan->ids, loan->policies};

	loan->ids = change->ids;
	loan->policies = change->policies;
	loan->n_short = loan->first_short = 0;
	for (unsigned i = 0; i < loan->n; i++)
		loan->edges[i].n_requested = 0;
	loan_change_cancel(&old);
	*change = (struct loan_change){0};
}

struct loan_edge *loan_regroup_begin(unsigned n)
{
	return calloc(n, sizeof(struct loan_edge));
}

void loan_regroup_commit(
	struct loan *loan, unsigned n, unsigned self, const unsigned *to, struct loan_edge *edges)
{
	struct loan_edge *waiting = NULL;

	for (unsigned i = 0; i < loan->n; i++) {
		struct loan_edge *edge = &loan->edges[i];

		if (to[i] < n) {
			edges[to[i]] = *edge;
			waiting = edge == loan->waiting ? &edges[to[i]] : waiting;
			continue;
		}
		loan->n_requests -= edge->request != NULL;
		edge_free(edge);
	}
	free(loan->edges);
	loan->edges = edges;
	loan->waiting = waiting;
	loan->n = n;
	loan->self = self;
}

/* Returns the bytes by which a bucket fills in `ns` nanoseconds, rounded up. */
static uint64_t filled_bytes(uint64_t rate, uint64_t ns)
{
	unsigned __int128 bytes = (unsigned __int128)rate * ns / SECOND_NS + 1;

	return bytes < UINT64_MAX ? (uint64_t)bytes : UINT64_MAX;
}

/* Returns the most that a policy's bucket can hold now. */
static uint64_t top_level(const struct loan_policy *p, uint64_t now_ns)
{
	uint64_t filled = filled_bytes(p->top.rate, now_ns - p->top_ns);

	return p->top.level + filled < p->top.burst ? p->top.level + filled : p->top.burst;
}

/* Returns the bytes of our loans that can be in flight. */
static uint64_t lent_in_flight(const struct loan_policy *p, uint64_t now_ns)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < LENT_KEPT; i++)
		if (p->lent[i].until_ns > now_ns)
			bytes += p->lent[i].bytes;
	return bytes;
}

uint64_t loan_withheld(const struct loan *loan, unsigned policy, uint64_t now_ns)
{
	return lent_in_flight(&loan->policies[policy], now_ns);
}

/* Records a loan in an expired entry, or merges it with the loan that ends first. */
static void note_lent(struct loan_policy *p, uint64_t bytes, uint64_t now_ns, uint64_t wait_ns)
{
	struct loan_lent *place = &p->lent[0];

	for (unsigned i = 1; i < LENT_KEPT; i++)
		if (p->lent[i].until_ns < place->until_ns)
			place = &p->lent[i];
	if (place->until_ns <= now_ns)
		place->bytes = 0;
	place->bytes += bytes;
	if (place->until_ns < now_ns + wait_ns)
		place->until_ns = now_ns + wait_ns;
	p->totals.lent += bytes;
}

/*
 * Raises the peak of the request in flight to `level`, which our bucket can have held; adds `more`.
 */
static void raise_peak(struct loan *loan, unsigned policy, uint64_t level, uint64_t more)
{
	for (unsigned i = 0; loan->waiting && i < loan->waiting->n_requested; i++) {
		struct loan_requested *requested = &loan->waiting->requested[i];

		if (requested->policy != policy)
			continue;
		if (requested->peak < level)
			requested->peak = level;
		requested->peak += more;
	}
}

void loan_level(
	struct loan *loan, unsigned policy, const struct loan_bucket *bucket, uint64_t now_ns)
{
	struct loan_policy *p = &loan->policies[policy];
	bool was = p->wanted > 0;

	raise_peak(loan, policy, top_level(p, now_ns) + lent_in_flight(p, now_ns), 0);
	if (p->top_ns == 0)
		p->room = bucket->burst / 2;
	p->top = *bucket;
	p->top_ns = now_ns;
	p->wanted = bucket->level < bucket->burst / 2 ? bucket->burst - bucket->level : 0;
	loan->n_short += (unsigned)(p->wanted > 0) - (unsigned)was;
}

bool loan_is_short(const struct loan *loan)
{
	return loan->n_short > 0;
}

/* A peer that gave nothing gets no request for some time. */
static void pause_edge(struct loan_edge *edge, uint64_t most_ns, uint64_t now_ns)
{
	edge->pause_ns = max_u64(2 * edge->pause_ns, LOAN_PAUSE_MIN_NS);
	edge->pause_ns = min_u64(edge->pause_ns, most_ns);
	edge->next_ns = now_ns + edge->pause_ns;
}

/* Collects the short policies, starting where the last collection ended. */
static unsigned list_short(struct loan *loan, unsigned *list, unsigned most)
{
	unsigned n = 0, at = loan->first_short, of = loan->ids->n;

	for (unsigned i = 0; i < of && n < most && n < loan->n_short; i++) {
		if (loan->policies[at].wanted > 0)
			list[n++] = at;
		at = at + 1 < of ? at + 1 : 0;
	}
	if (n < loan->n_short)
		loan->first_short = at;
	return n;
}

/* Longest time for which unused tokens add up; a bucket is full after that. */
#define UNUSED_MOST_NS SECOND_NS

/*
 * Finds the peer with most unused bytes of n policies since our last request to it, so that peers
 * take turns by their unused limits. Returns false if no peer leaves anything.
 */
static bool find_lender(const struct loan *loan, const struct loan_calls *calls, uint64_t now_ns,
	const unsigned *list, unsigned n, unsigned *best)
{
	unsigned __int128 most = 0;

	for (unsigned peer = 0; peer < loan->n; peer++) {
		const struct loan_edge *edge = &loan->edges[peer];
		unsigned __int128 spare = 0;

		if (peer == loan->self || now_ns < edge->next_ns)
			continue;
		for (unsigned i = 0; i < n; i++)
			spare += calls->spare(calls->context, list[i], peer);
		/* Since our last request to the peer, its unused tokens have added up. */
		spare *= edge->number > 0 ? min_u64(now_ns - edge->requested_ns, UNUSED_MOST_NS)
					  : UNUSED_MOST_NS;
		if (spare > most) {
			most = spare;
			*best = peer;
		}
	}
	return most > 0;
}

static size_t send_request(struct loan *loan, const struct loan_calls *calls, uint64_t now_ns,
	uint8_t *buf, unsigned most, unsigned *peer)
{
	unsigned list[LOAN_POLICIES], n;
	struct loan_message message = {.kind = LOAN_REQUEST, .session = loan->session};
	struct loan_edge *edge;

	if (loan->n_short == 0 || loan->waiting)
		return 0;
	n = list_short(loan, list, most);
	if (!find_lender(loan, calls, now_ns, list, n, peer))
		return 0;
	edge = &loan->edges[*peer];
	if (!edge->requested)
		edge->requested = malloc(LOAN_POLICIES * sizeof(*edge->requested));
	if (!edge->requested)
		return 0;
	loan->waiting = edge;
	edge->n_requested = 0;
	edge->number++;
	edge->requested_ns = now_ns;
	if (edge->wait_ns == 0)
		edge->wait_ns = LOAN_WAIT_FIRST_NS;
	loan->counters.requests++;
	message.number = edge->number;
	message.round_us = (uint32_t)(edge->round_ns / NANOSECONDS_A_MICROSECOND);
	message.wait_us = (uint32_t)(edge->wait_ns / NANOSECONDS_A_MICROSECOND) + 1;
	for (unsigned i = 0; i < n; i++) {
		const struct loan_policy *p = &loan->policies[list[i]];

		if (calls->spare(calls->context, list[i], *peer) == 0)
			continue;
		edge->requested[edge->n_requested++] = (struct loan_requested){
			list[i], top_level(p, now_ns) + lent_in_flight(p, now_ns)};
		message.entries[message.n++] = (struct loan_entry){
			loan->ids->ids[list[i]], {.bytes = p->wanted, .room = p->room}};
	}
	return loan_message_write(&message, buf);
}

/*
 * Returns the bytes that a lender keeps: half of the burst, or more if it uses more in a round
 * trip.
 */
static uint64_t kept_bytes(const struct loan_lender *lender, uint64_t round_ns)
{
	uint64_t use = filled_bytes(lender->used, round_ns) - 1, half = lender->bucket.burst / 2;

	return use > half ? use : half;
}

/*
 * True if the borrower would give up most of the bytes, because its bucket has little room and ours
 * is nearly full. Also true before a round trip is measured.
 */
static bool is_hopeless(
	const struct loan_bucket *bucket, const struct loan_entry *wanted, uint64_t round_ns)
{
	uint64_t filled = filled_bytes(bucket->rate, round_ns);
	uint64_t missing = bucket->burst - bucket->level;
	uint64_t excess = filled > missing ? filled - missing : 0;

	return round_ns == 0 || excess > wanted->taken.room + wanted->taken.bytes / 2;
}

/*
 * Lends tokens of a hard limit together with depth: at most half of the burst at a time. No
 * borrower can accept them when the depth is back, and this limiter has the burst for so long. The
 * time is that of the request or later, so control can stall at any step.
 */
static struct loan_taken lend_depth(struct loan *loan, const struct loan_calls *calls,
	uint64_t now_ns, unsigned policy, const struct loan_lender *lender, uint64_t keep,
	uint64_t most, uint64_t wait_ns)
{
	struct loan_policy *p = &loan->policies[policy];
	uint64_t half = lender->bucket.burst / 2, withheld = lent_in_flight(p, now_ns);
	/*
	 * Contains the borrower's wait, which begins earlier, if one clock is fast and the other
	 * one slow.
	 */
	uint64_t hold = wait_ns + 2 * wait_ns * loan->drift_ppm / (MILLION - loan->drift_ppm) + 1;
	struct loan_taken taken = {0};

	if (withheld >= half || hold > LOAN_HOLD_MOST_NS || now_ns + hold > lender->ends_ns)
		return taken;
	taken = calls->take(calls->context, policy, keep, min_u64(most, half - withheld));
	taken.room = taken.rate = 0;
	if (taken.bytes > 0)
		note_lent(p, taken.bytes, now_ns, hold);
	return taken;
}

static struct loan_taken lend_tokens(struct loan *loan, const struct loan_calls *calls,
	uint64_t now_ns, unsigned policy, const struct loan_entry *requested,
	const struct loan_message *request)
{
	struct loan_lender lender = calls->lender(calls->context, policy);
	uint64_t round_ns = (uint64_t)request->round_us * NANOSECONDS_A_MICROSECOND;
	uint64_t wait_ns = (uint64_t)request->wait_us * NANOSECONDS_A_MICROSECOND;
	struct loan_taken taken = {0};

	/* No borrower waits longer than the maximum. */
	wait_ns = wait_ns < LOAN_WAIT_MAX_NS ? wait_ns : LOAN_WAIT_MAX_NS;
	if (lender.bucket.burst == 0 || loan->policies[policy].wanted > 0)
		return taken;
	if (lender.ends_ns > 0)
		return lend_depth(loan, calls, now_ns, policy, &lender,
			kept_bytes(&lender, round_ns), requested->taken.bytes, wait_ns);
	if (is_hopeless(&lender.bucket, requested, round_ns))
		return taken;
	taken = calls->take(
		calls->context, policy, kept_bytes(&lender, round_ns), requested->taken.bytes);
	if (taken.bytes > 0)
		note_lent(&loan->policies[policy], taken.bytes, now_ns, wait_ns);
	return taken;
}

/* Sends an offer, also one of 0 bytes: it ends the request and measures the round trip. */
static size_t send_offer(struct loan *loan, const struct loan_calls *calls, uint64_t now_ns,
	uint8_t *buf, unsigned most, unsigned *peer)
{
	struct loan_message message = {.kind = LOAN_OFFER};
	const struct loan_message *request;
	unsigned i = 0;

	if (loan->n_requests == 0)
		return 0;
	while (!loan->edges[i].request)
		i++;
	request = loan->edges[i].request;
	message.session = request->session;
	message.number = request->number;
	for (unsigned k = 0; k < request->n && message.n < most; k++) {
		const struct loan_entry *entry = &request->entries[k];
		unsigned policy = id_table_find(loan->ids, entry->policy);
		struct loan_taken taken = {0};

		if (policy < loan->ids->n)
			taken = lend_tokens(loan, calls, now_ns, policy, entry, request);
		if (taken.bytes > 0)
			message.entries[message.n++] = (struct loan_entry){entry->policy, taken};
	}
	free(loan->edges[i].request);
	loan->edges[i].request = NULL;
	loan->n_requests--;
	loan->counters.offers++;
	*peer = i;
	return loan_message_write(&message, buf);
}

size_t loan_send(struct loan *loan, const struct loan_calls *calls, uint64_t now_ns, uint8_t *buf,
	size_t room, unsigned *peer)
{
	unsigned most = loan_message_policies(room);
	size_t len = most > 0 ? send_offer(loan, calls, now_ns, buf, most, peer) : 0;
	struct loan_edge *edge = loan->waiting;

	if (len > 0 || most == 0)
		return len;
	/* Gives up a request that was not answered in time; the next one waits twice as long. */
	if (edge && now_ns - edge->requested_ns >= edge->wait_ns) {
		loan->waiting = NULL;
		pause_edge(edge, LOAN_SILENT_MAX_NS, now_ns);
		edge->wait_ns = min_u64(edge->wait_ns * 2, LOAN_WAIT_MAX_NS);
		loan->counters.unanswered++;
	}
	return send_request(loan, calls, now_ns, buf, most, peer);
}

/* Records a request. A repeated or overtaken one gets no second offer. */
static int take_request(
	struct loan *loan, struct loan_edge *edge, const struct loan_message *message)
{
	bool same = edge->has_requested && edge->session == message->session;

	if (same && (int32_t)(message->number - edge->answered) <= 0) {
		loan->counters.ignored++;
		return 0;
	}
	if (!edge->request) {
		edge->request = malloc(sizeof(*edge->request));
		if (!edge->request)
			return 0; /* the peer requests again */
		loan->n_requests++;
	}
	edge->has_requested = true;
	edge->session = message->session;
	edge->answered = message->number;
	*edge->request = *message;
	return 0;
}

static void measure_round(struct loan_edge *edge, uint64_t round_ns)
{
	uint64_t wait;

	if (edge->round_ns == 0)
		edge->round_ns = round_ns;
	else
		edge->round_ns = edge->round_ns - edge->round_ns / 8 + round_ns / 8;
	wait = 2 * edge->round_ns;
	wait = wait > LOAN_WAIT_MIN_NS ? wait : LOAN_WAIT_MIN_NS;
	edge->wait_ns = wait < LOAN_WAIT_MAX_NS ? wait : LOAN_WAIT_MAX_NS;
}

/* Returns the bytes that our bucket had room for all the time since a request. */
static uint64_t room_since(
	struct loan *loan, const struct loan_requested *requested, uint64_t now_ns)
{
	struct loan_policy *p = &loan->policies[requested->policy];
	uint64_t peak = top_level(p, now_ns) + lent_in_flight(p, now_ns), room;

	peak = peak > requested->peak ? peak : requested->peak;
	room = p->top.burst > peak ? p->top.burst - peak : 0;
	p->room = p->room - p->room / 4 + room / 4;
	return room;
}

/* Returns the bytes that we may borrow now, which do not depend on messages of peers. */
static uint64_t borrow_most(struct loan_policy *p, uint64_t now_ns)
{
	uint64_t earned = filled_bytes(p->top.limit, now_ns - p->recent_ns);
	uint64_t most = filled_bytes(p->top.limit, LOAN_BORROWED_NS);

	p->recent = p->recent > earned ? p->recent - earned : 0;
	p->recent_ns = now_ns;
	return most > p->recent ? most - p->recent : 0;
}

/*
 * Adds the bytes of an offer to our bucket. The lender's bucket may have overflowed by `excess`
 * bytes meanwhile; of these we accept as many as our own bucket had room for.
 */
static uint64_t accept_offer(struct loan *loan, const struct loan_calls *calls, uint64_t now_ns,
	unsigned policy, uint64_t room, const struct loan_taken *taken,
	const struct loan_edge *edge)
{
	struct loan_policy *p = &loan->policies[policy];
	uint64_t until_ns = taken->rate > 0 ? UINT64_MAX : edge->requested_ns + edge->wait_ns;
	uint64_t filled = filled_bytes(taken->rate, now_ns - edge->requested_ns);
	uint64_t top = top_level(p, now_ns), bytes;
	uint64_t excess = filled > taken->room ? filled - taken->room : 0, most;

	room = room < excess ? room : excess;
	if (excess - room >= taken->bytes)
		return 0;
	bytes = taken->bytes - (excess - room);
	most = borrow_most(p, now_ns);
	bytes = calls->give(calls->context, policy, bytes < most ? bytes : most, until_ns);
	p->recent += bytes;
	p->top.level = top + bytes;
	p->top_ns = now_ns;
	p->totals.borrowed += bytes;
	raise_peak(loan, policy, p->top.level, room);
	return bytes;
}

/* Returns the offer for a requested policy, or NULL. */
static const struct loan_taken *find_offer(
	const struct loan *loan, const struct loan_message *message, unsigned policy)
{
	for (unsigned i = 0; i < message->n; i++)
		if (message->entries[i].policy == loan->ids->ids[policy])
			return &message->entries[i].taken;
	return NULL;
}

/* Accepts an offer. A late one is ignored, and its request is given up as if the offer was lost. */
static int take_offer(struct loan *loan, const struct loan_calls *calls, uint64_t now_ns,
	struct loan_edge *edge, const struct loan_message *message)
{
	uint64_t round_ns = now_ns - edge->requested_ns, all = 0;

	if (edge != loan->waiting || message->session != loan->session ||
		message->number != edge->number || round_ns >= edge->wait_ns) {
		loan->counters.ignored++;
		return 0;
	}
	for (unsigned i = 0; i < edge->n_requested; i++) {
		unsigned policy = edge->requested[i].policy;
		const struct loan_taken *taken = find_offer(loan, message, policy);
		uint64_t room = room_since(loan, &edge->requested[i], now_ns);

		if (taken)
			all += accept_offer(loan, calls, now_ns, policy, room, taken, edge);
	}
	loan->waiting = NULL;
	measure_round(edge, round_ns);
	if (all == 0)
		pause_edge(edge, LOAN_PAUSE_MAX_NS, now_ns);
	else
		edge->pause_ns = 0;
	return 0;
}

int loan_receive(struct loan *loan, const struct loan_calls *calls, uint64_t now_ns, unsigned peer,
	const uint8_t *at, size_t len)
{
	struct loan_message message;

	if (peer >= loan->n || peer == loan->self || loan_message_read(&message, at, len)) {
		loan->counters.ignored++;
		return -EINVAL;
	}
	if (message.kind == LOAN_REQUEST)
		return take_request(loan, &loan->edges[peer], &message);
	return take_offer(loan, calls, now_ns, &loan->edges[peer], &message);
}

struct loan_totals loan_totals(const struct loan *loan, unsigned policy)
{
	return loan->policies[policy].totals;
}

const struct loan_counters *loan_counters(const struct loan *loan)
{
	return &loan->counters;
}
