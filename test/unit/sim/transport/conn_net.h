/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A minimal network for tests of connections. All send through one bottleneck (a policer, or a
 * queue that drains at a rate), then a line with a delay. Acknowledgements return over a line only.
 * Segments of each direction can be lost, by number or randomly, repeated, and delayed. The same
 * parameters and seed give the same run.
 */
#ifndef WEIR_TEST_CONN_NET_H
#define WEIR_TEST_CONN_NET_H

#include <stdlib.h>
#include <string.h>

#include "base/prng.h"
#include "transport/conn_state.h"
#include "meter/token_bucket.h"
#include "world/events.h"

#define MS      UINT64_C(1000000)
#define SECOND  (1000 * MS)
#define NET_LOG 8192

struct net_params {
	uint64_t delay_ns;                 /* one way */
	uint64_t rate_bps;                 /* rate of the queue; 0: no queue */
	unsigned queue;                    /* packets */
	uint64_t police_bps, police_burst; /* 0: no policer */
	double loss, ack_loss, repeat;     /* probabilities */
	uint64_t jitter_ns;                /* maximum extra delay, independent for each segment */
	bool one_host;                     /* all timers share a grid */
	double jittered;                   /* probability of extra delay */
	uint64_t cut_ns;                   /* all data is lost from then on; 0: never */
	const uint32_t *drop;              /* ascending numbers of data segments to lose */
	unsigned n_drop;
	unsigned drop_syns, drop_synacks; /* to lose, from the first on */
	uint64_t pause_ns, resume_ns;     /* arrivals between these are delayed to the second */
	uint32_t late;                    /* this data segment ... */
	uint64_t late_ns;                 /* ... arrives so much later; 0: none */
	uint64_t seed;
	double mark;                       /* probability that ECN-capable data is marked */
	uint64_t mark_from_ns, mark_to_ns; /* data sent in this time is marked */
};

/* A segment that an end sent. */
struct net_sent {
	uint64_t at_ns;
	struct segment segment;
	unsigned conn;
	enum conn_end end;
	bool lost;
};

struct net_flight {
	unsigned conn;
	enum conn_end to;
	struct segment segment;
};

struct net {
	struct net_params p;
	struct conn_params *params; /* for each connection */
	struct conn *conns;
	uint64_t *starts; /* start time of each */
	bool *begun;
	unsigned n;
	uint64_t now_ns;
	struct prng prng;
	struct token_bucket bucket;
	struct token_bucket_profile profile;
	uint64_t queue_free_ns;
	uint64_t passed_bytes; /* IP, through the bottleneck */
	uint64_t marked;       /* segments */
	uint32_t n_data, next_drop;
	unsigned n_syns, n_synacks;
	struct events flights;
	struct net_sent *log; /* the first NET_LOG segments */
	unsigned n_log;
};

static inline void *net_array(size_t n, size_t size)
{
	void *array = calloc(n, size);

	assert_non_null(array);
	return array;
}

static inline struct net *net_create(
	const struct net_params *p, const struct conn_params *params, unsigned n)
{
	struct net *net = net_array(1, sizeof(*net));
	struct token_bucket_params police = {
		.rate_bps = p->police_bps, .burst_bytes = p->police_burst};

	net->p = *p;
	net->n = n;
	net->params = net_array(n, sizeof(*net->params));
	net->conns = net_array(n, sizeof(*net->conns));
	net->starts = net_array(n, sizeof(*net->starts));
	net->begun = net_array(n, sizeof(*net->begun));
	net->log = net_array(NET_LOG, sizeof(*net->log));
	prng_seed(&net->prng, p->seed);
	for (unsigned i = 0; i < n; i++) {
		net->params[i] = *params;
		if (!p->one_host)
			net->params[i].clock_ns = prng_next(&net->prng) % (100 * SECOND);
	}
	assert_int_equal(token_bucket_profile_init(&net->profile, &police, SECOND), 0);
	token_bucket_init(&net->bucket, &net->profile, 0);
	return net;
}

static inline void net_destroy(struct net *net)
{
	free(net->params);
	free(net->conns);
	free(net->starts);
	free(net->begun);
	for (size_t i = 0; i < net->flights.n; i++)
		free(net->flights.heap[i].object);
	events_free(&net->flights);
	free(net->log);
	free(net);
}

static inline bool net_chance(struct net *net, double p)
{
	return p > 0 && prng_unit(&net->prng) < p;
}

static inline bool net_drops(struct net *net, const struct segment *s)
{
	uint32_t number;

	if (s->syn)
		return s->is_ack ? net->n_synacks++ < net->p.drop_synacks
				 : net->n_syns++ < net->p.drop_syns;
	if (s->len == 0)
		return net_chance(net, net->p.ack_loss);
	number = net->n_data++;
	if (net->next_drop < net->p.n_drop && net->p.drop[net->next_drop] == number) {
		net->next_drop++;
		return true;
	}
	if (net->p.cut_ns && net->now_ns >= net->p.cut_ns)
		return true;
	return net_chance(net, net->p.loss);
}

/* The time at which data sent now leaves the bottleneck; CONN_NEVER if it is dropped there. */
static inline uint64_t net_bottleneck(struct net *net, uint32_t bytes)
{
	uint64_t start, bits = UINT64_C(8) * bytes;

	if (net->p.police_bps &&
		!token_bucket_conforms(&net->bucket, &net->profile, net->now_ns, bytes))
		return CONN_NEVER;
	net->passed_bytes += bytes;
	if (net->p.rate_bps == 0)
		return net->now_ns;
	start = net->queue_free_ns > net->now_ns ? net->queue_free_ns : net->now_ns;
	if ((start - net->now_ns) / (SECOND * bits / net->p.rate_bps) >= net->p.queue) {
		net->passed_bytes -= bytes;
		return CONN_NEVER;
	}
	net->queue_free_ns = start + SECOND * bits / net->p.rate_bps;
	return net->queue_free_ns;
}

static inline void net_fly(struct net *net, unsigned conn, enum conn_end to, uint64_t at_ns,
	const struct segment *segment)
{
	struct net_flight *flight = net_array(1, sizeof(*flight));

	*flight = (struct net_flight){conn, to, *segment};
	if (net_chance(net, net->p.jittered))
		at_ns += prng_next(&net->prng) % (net->p.jitter_ns + 1);
	if (net->p.late_ns && segment->len && net->n_data == net->p.late + 1)
		at_ns += net->p.late_ns;
	if (at_ns >= net->p.pause_ns && at_ns < net->p.resume_ns)
		at_ns = net->p.resume_ns;
	assert_int_equal(events_at(&net->flights, at_ns, NULL, flight, 0), 0);
}

/* Marks ECN-capable data randomly or by time. */
static inline void net_mark(struct net *net, struct segment *segment)
{
	bool timed = net->now_ns >= net->p.mark_from_ns && net->now_ns < net->p.mark_to_ns;

	if (segment->ecn == NOT_ECT || !(timed || net_chance(net, net->p.mark)))
		return;
	segment->ecn = ECN_CE;
	net->marked++;
}

static inline void net_transmit(
	struct net *net, unsigned conn, enum conn_end end, const struct segment *segment)
{
	enum conn_end to = end == CONN_SENDER ? CONN_RECEIVER : CONN_SENDER;
	struct segment arrives = *segment;
	uint64_t leaves = net->now_ns;
	bool lost = net_drops(net, segment);

	if (!lost && segment->len)
		leaves = net_bottleneck(net, segment_bytes(&net->params[conn], segment));
	lost |= leaves == CONN_NEVER;
	if (net->n_log < NET_LOG)
		net->log[net->n_log++] = (struct net_sent){net->now_ns, *segment, conn, end, lost};
	if (lost)
		return;
	net_mark(net, &arrives);
	net_fly(net, conn, to, leaves + net->p.delay_ns, &arrives);
	if (net_chance(net, net->p.repeat))
		net_fly(net, conn, to, leaves + net->p.delay_ns, &arrives);
}

static inline void net_drain(struct net *net, unsigned i)
{
	struct segment segment;

	for (int end = CONN_SENDER; end <= CONN_RECEIVER; end++)
		while (conn_send(&net->conns[i], (enum conn_end)end, net->now_ns, &segment))
			net_transmit(net, i, (enum conn_end)end, &segment);
}

static inline void net_begin(struct net *net, unsigned i)
{
	net->begun[i] = true;
	assert_int_equal(conn_init(&net->conns[i], &net->params[i], net->now_ns), 0);
	net_drain(net, i);
}

/* The earliest timer of all connections; for few connections a scan is fast enough. */
static inline uint64_t net_next_timer(const struct net *net, unsigned *which)
{
	uint64_t least = CONN_NEVER;

	for (unsigned i = 0; i < net->n; i++) {
		uint64_t at = net->begun[i] ? conn_deadline(&net->conns[i]) : net->starts[i];

		if (at < least) {
			least = at;
			*which = i;
		}
	}
	return least;
}

static inline void net_timer(struct net *net, unsigned i)
{
	if (net->begun[i]) {
		conn_expire(&net->conns[i], net->now_ns);
		net_drain(net, i);
	} else {
		net_begin(net, i);
	}
}

/* Runs until this time, or until no event is left. */
static inline void net_run(struct net *net, uint64_t until_ns)
{
	while (true) {
		unsigned which = 0;
		uint64_t timer_ns = net_next_timer(net, &which);
		uint64_t flight_ns = net->flights.n ? net->flights.heap[0].at_ns : CONN_NEVER;
		uint64_t next_ns = timer_ns < flight_ns ? timer_ns : flight_ns;

		if (next_ns > until_ns || next_ns == CONN_NEVER)
			break;
		net->now_ns = next_ns > net->now_ns ? next_ns : net->now_ns;
		if (flight_ns <= timer_ns) {
			struct event event;
			struct net_flight f;

			assert_true(events_take(&net->flights, flight_ns, &event));
			f = *(struct net_flight *)event.object;
			free(event.object);
			conn_receive(&net->conns[f.conn], f.to, net->now_ns, &f.segment);
			net_drain(net, f.conn);
		} else {
			net_timer(net, which);
		}
	}
	if (until_ns != CONN_NEVER && until_ns > net->now_ns)
		net->now_ns = until_ns;
}

/* Runs until all are done; returns false if that takes longer. */
static inline bool net_finish(struct net *net, uint64_t until_ns)
{
	unsigned done = 0;

	net_run(net, until_ns);
	for (unsigned i = 0; i < net->n; i++)
		done += net->begun[i] && conn_done(&net->conns[i]);
	return done == net->n;
}

#endif
