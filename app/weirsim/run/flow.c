/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Traffic: flows of every kind on their way from a sender through a limiter to a receiver, and
 * back.
 */
#include "sim.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <netinet/in.h>

#include "path.h"
#include "record.h"

#define RECEIVE_WINDOW (4u << 20)
#define UDP_HEADERS    28 /* IPv4 and UDP */
#define CLOCK_MAX      (UINT64_C(1) << 40)

/* Finalizer of MurmurHash3: a flow's hash, as spread as a network card's. */
static uint32_t mix_flow_hash(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x85ebca6b;
	x ^= x >> 13;
	x *= 0xc2b2ae35;
	return x ^ x >> 16;
}

static double exponential_gap(struct sim *sim, double mean)
{
	return -mean * log(1 - prng_unit(&sim->prng[STREAM_TRAFFIC]));
}

/* Inverse of the bounded Pareto distribution (Arlitt and Williamson's shape of Web objects). */
static uint64_t request_size(struct sim *sim, const struct sizes *sizes)
{
	double u = prng_unit(&sim->prng[STREAM_TRAFFIC]);
	double least = (double)sizes->least;
	double ratio = pow(least / (double)sizes->most, sizes->alpha);

	return (uint64_t)(least / pow(1 - u * (1 - ratio), 1 / sizes->alpha));
}

static uint64_t end_of(const struct sim *sim, const struct traffic *t, uint64_t start_ns)
{
	uint64_t end = t->stop_ns ? t->stop_ns : sim->scenario->duration_ns;

	return t->last_ns && start_ns + t->last_ns < end ? start_ns + t->last_ns : end;
}

static void end_flow(struct sim *sim, struct flow *flow)
{
	struct flow_record *record = &sim->record->flows[flow->record];

	if (flow->over)
		return;
	flow->over = true;
	if (!record->web)
		record->end_ns = sim->events.now_ns;
}

static void flow_timer_event(void *world, void *object, uint64_t argument);

static void schedule_timer(struct sim *sim, struct flow *flow)
{
	uint64_t deadline = conn_deadline(&flow->conn);

	/* An earlier event will check again. */
	if (deadline == CONN_NEVER || (flow->timer_ns && flow->timer_ns <= deadline))
		return;
	flow->timer_ns = deadline > sim->events.now_ns ? deadline : sim->events.now_ns + 1;
	flow->references++;
	events_at(&sim->events, flow->timer_ns, flow_timer_event, flow, flow->timer_ns);
}

/* Sends everything that the two ends can send now. */
static void send_segments(struct sim *sim, struct flow *flow)
{
	struct segment segment;

	while (conn_send(&flow->conn, CONN_SENDER, sim->events.now_ns, &segment))
		path_send(sim, flow, &segment, segment_bytes(&flow->params, &segment));
	while (conn_send(&flow->conn, CONN_RECEIVER, sim->events.now_ns, &segment))
		path_answer(sim, flow, &segment);
	if (conn_done(&flow->conn) && !flow->over) {
		if (flow->traffic->kind == TRAFFIC_WEB)
			record_request(sim,
				&(struct request_record){
					(unsigned)(flow->traffic - sim->scenario->traffic),
					flow->params.bytes, flow->start_ns, sim->events.now_ns});
		end_flow(sim, flow);
	}
	if (!flow->over)
		schedule_timer(sim, flow);
}

static void flow_timer_event(void *world, void *object, uint64_t argument)
{
	struct sim *sim = world;
	struct flow *flow = object;

	if (flow->timer_ns == argument && !flow->over) {
		flow->timer_ns = 0;
		if (conn_deadline(&flow->conn) <= sim->events.now_ns)
			conn_expire(&flow->conn, sim->events.now_ns);
		send_segments(sim, flow);
	}
	flow_release(sim, flow);
}

static bool is_stream(const struct flow *flow)
{
	return flow->traffic->kind < TRAFFIC_CBR || flow->traffic->kind > TRAFFIC_ON_OFF;
}

static void flow_arrived(struct sim *sim, struct flow *flow, const struct segment *segment)
{
	uint64_t before;

	if (!is_stream(flow)) {
		record_delivered(sim, flow->record, segment->len);
		return;
	}
	before = conn_stats(&flow->conn)->delivered;
	conn_receive(&flow->conn, CONN_RECEIVER, sim->events.now_ns, segment);
	record_delivered(sim, flow->record, conn_stats(&flow->conn)->delivered - before);
	send_segments(sim, flow);
}

static void flow_answered(struct sim *sim, struct flow *flow, const struct segment *segment)
{
	conn_receive(&flow->conn, CONN_SENDER, sim->events.now_ns, segment);
	send_segments(sim, flow);
}

static void stop_flow(void *world, void *object, uint64_t argument)
{
	struct sim *sim = world;
	struct flow *flow = object;

	(void)argument;
	if (!flow->over) {
		conn_stop(&flow->conn, sim->events.now_ns);
		send_segments(sim, flow);
	}
	flow_release(sim, flow);
}

/* Returns the time to the next packet, while there is no pause. */
static uint64_t packet_spacing(struct sim *sim, struct flow *flow)
{
	uint64_t work = (uint64_t)flow->traffic->packet_bytes * 8000000000 + flow->left_over;

	if (flow->traffic->kind == TRAFFIC_POISSON)
		return (uint64_t)exponential_gap(
			sim, (double)work / (double)flow->traffic->rate_bps);
	flow->left_over = work % flow->traffic->rate_bps;
	return work / flow->traffic->rate_bps;
}

/* Returns the time until the flow has been on for wait_ns. */
static uint64_t on_for(struct sim *sim, struct flow *flow, uint64_t wait_ns)
{
	const struct traffic *t = flow->traffic;
	uint64_t at = sim->events.now_ns;

	while (at + wait_ns > flow->on_until_ns && at < flow->stop_ns) {
		wait_ns -= flow->on_until_ns - at;
		at = flow->on_until_ns + (uint64_t)exponential_gap(sim, (double)t->off_ns);
		flow->on_until_ns = at + (uint64_t)exponential_gap(sim, (double)t->on_ns);
	}
	return at + wait_ns - sim->events.now_ns;
}

/* Sends one packet of a flow without congestion control. */
static void send_paced_packet(void *world, void *object, uint64_t argument)
{
	struct sim *sim = world;
	struct flow *flow = object;
	const struct traffic *t = flow->traffic;
	struct segment segment = {.len = t->packet_bytes - UDP_HEADERS};
	uint64_t next;

	(void)argument;
	if (sim->events.now_ns >= flow->stop_ns) {
		end_flow(sim, flow);
		flow_release(sim, flow);
		return;
	}
	path_send(sim, flow, &segment, t->packet_bytes);
	next = packet_spacing(sim, flow);
	events_after(&sim->events, t->kind == TRAFFIC_ON_OFF ? on_for(sim, flow, next) : next,
		send_paced_packet, flow, 0);
}

static void start_stream(struct sim *sim, struct flow *flow, uint64_t bytes)
{
	const struct traffic *t = flow->traffic;

	flow->params = (struct conn_params){.transport = t->transport,
		.window = RECEIVE_WINDOW,
		.bytes = bytes,
		.handshake = true,
		.ecn = t->ecn,
		/* Every sender is a host of its own, so its timers have times of their own. */
		.clock_ns = prng_next(&sim->prng[STREAM_TRAFFIC]) % CLOCK_MAX};
	flow->params.mss = t->packet_bytes - segment_bytes(&flow->params, &(struct segment){0});
	if (conn_init(&flow->conn, &flow->params, sim->events.now_ns)) {
		sim->events.error = -EINVAL;
		return;
	}
	send_segments(sim, flow);
	if (flow->stop_ns < sim->scenario->duration_ns) {
		flow->references++;
		events_at(&sim->events, flow->stop_ns, stop_flow, flow, 0);
	}
}

static struct flow *flow_create(struct sim *sim, const struct traffic *t, unsigned limiter)
{
	unsigned index = (unsigned)(t - sim->scenario->traffic);
	struct flow *flow = flow_take(sim);
	uint32_t id = sim->flows->next_id++;

	if (!flow)
		return NULL;
	flow->traffic = t;
	flow->limiter = limiter;
	flow->policy = t->policy;
	flow->start_ns = sim->events.now_ns;
	flow->stop_ns = end_of(sim, t, sim->events.now_ns);
	flow->rtt_ns = t->rtt_ns +
		       (uint64_t)((double)t->rtt_spread_ns * prng_unit(&sim->prng[STREAM_TRAFFIC]));
	flow->link = t->bottleneck.shared ? &sim->flows->shared[index] : &flow->own;
	flow->packet = (struct packet){.family = PACKET_IPV4,
		.proto = t->kind == TRAFFIC_TCP || t->kind == TRAFFIC_WEB ? IPPROTO_TCP
									  : IPPROTO_UDP,
		.l2_len = ETHERNET_HEADER,
		.vlan = PARSE_NO_VLAN,
		.flow_hash = mix_flow_hash(id + 1)};
	/* 10.0.0.0/8: every flow has a sender of its own. */
	flow->source[0] = 10;
	for (unsigned i = 1; i < SOURCE_BYTES; i++)
		flow->source[i] = (uint8_t)(id >> (8 * (SOURCE_BYTES - 1 - i)));
	flow->record = UINT32_MAX;
	return flow;
}

static unsigned pick_limiter(struct sim *sim, const struct traffic *t, uint64_t k)
{
	unsigned n = sim->scenario->n_limiters;

	if (t->limiter == LIMITER_RANDOM)
		return prng_below(&sim->prng[STREAM_TRAFFIC], n);
	return t->limiter == LIMITER_EACH ? (unsigned)(k % n) : (unsigned)t->limiter;
}

/* Starts flow k of an entry. */
static void start_flow(void *world, void *object, uint64_t k)
{
	struct sim *sim = world;
	const struct traffic *t = object;
	struct flow *flow;

	/* Flows that start one after the other can start after the stop. */
	if (sim->events.now_ns >= end_of(sim, t, sim->events.now_ns))
		return;
	flow = flow_create(sim, t, pick_limiter(sim, t, k));
	if (!flow)
		return;
	flow->record = record_flow(
		sim, &(struct flow_record){.traffic = (unsigned)(t - sim->scenario->traffic),
			     .limiter = flow->limiter,
			     .policy = t->policy,
			     .start_ns = sim->events.now_ns});
	if (flow->record == UINT32_MAX)
		return;
	if (is_stream(flow)) {
		start_stream(sim, flow, t->size_bytes);
		return;
	}
	flow->references++;
	flow->on_until_ns = sim->events.now_ns + (uint64_t)exponential_gap(sim, (double)t->on_ns);
	send_paced_packet(sim, flow, 0);
}

static void start_request_flow(void *world, void *object, uint64_t argument)
{
	struct sim *sim = world;
	const struct traffic *t = object;
	unsigned record = (unsigned)argument;
	uint64_t gap = (uint64_t)exponential_gap(sim, 1e9 / t->requests);
	struct flow *flow;

	if (sim->events.now_ns >= end_of(sim, t, sim->record->flows[record].start_ns))
		return;
	flow = flow_create(sim, t, sim->record->flows[record].limiter);
	if (!flow)
		return;
	flow->record = record;
	flow->stop_ns = UINT64_MAX; /* requests are answered even after the stop */
	start_stream(sim, flow, request_size(sim, &t->sizes));
	events_after(&sim->events, gap, start_request_flow, object, argument);
}

/* Requests of one entry at one limiter are one line of the results. */
static void start_web(void *world, void *object, uint64_t k)
{
	struct sim *sim = world;
	const struct traffic *t = object;
	unsigned record = record_flow(
		sim, &(struct flow_record){.traffic = (unsigned)(t - sim->scenario->traffic),
			     .limiter = pick_limiter(sim, t, k),
			     .policy = t->policy,
			     .start_ns = sim->events.now_ns,
			     .web = true});

	if (record != UINT32_MAX)
		events_after(&sim->events, (uint64_t)exponential_gap(sim, 1e9 / t->requests),
			start_request_flow, object, record);
}

static void plan_flows(struct sim *sim, const struct traffic *t)
{
	uint64_t n = t->count;

	if (t->limiter == LIMITER_EACH)
		n *= sim->scenario->n_limiters;
	for (uint64_t k = 0; k < n; k++) {
		uint64_t at;

		/* The remaining flows would start after the end. */
		if (t->every_ns && k > sim->scenario->duration_ns / t->every_ns)
			break;
		at = t->start_ns + k * t->every_ns;
		at += (uint64_t)((double)t->start_spread_ns *
				 prng_unit(&sim->prng[STREAM_TRAFFIC]));
		/* Events take a non-const pointer; the scenario is not written to. */
		events_at(&sim->events, at, t->kind == TRAFFIC_WEB ? start_web : start_flow,
			(void *)(uintptr_t)t, k);
	}
}

int flows_create(struct sim *sim)
{
	const struct scenario *s = sim->scenario;
	struct flows *flows = calloc(1, sizeof(*flows));

	sim->flows = flows;
	if (!flows)
		return -ENOMEM;
	flows->arrived = flow_arrived;
	flows->answered = flow_answered;
	flows->shared = calloc(s->n_traffic + 1, sizeof(*flows->shared));
	if (!flows->shared)
		return -ENOMEM;
	for (unsigned i = 0; i < s->n_traffic; i++)
		plan_flows(sim, &s->traffic[i]);
	return 0;
}

void flows_free(struct sim *sim)
{
	struct flows *flows = sim->flows;

	if (!flows)
		return;
	for (unsigned i = 0; i < flows->n_slabs; i++)
		free(flows->slabs[i]);
	free(flows->slabs);
	free(flows->shared);
	free(flows);
}
