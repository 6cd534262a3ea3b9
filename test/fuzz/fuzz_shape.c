/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Calls of a shaper in any order, with a model. After each call, packets leave in order and once,
 * and none before it is due. None is lost, the counters equal the waiting packets, and no more
 * leaves than the limits have granted. Every other queue is timed; some of those leave, and start
 * again. One of the others is below another limit, which accepts packets arbitrarily. That limit
 * has accepted exactly the packets that leave.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shape/shape.h"

#define QUEUES  4
#define PACKETS 512
#define OUT     16
#define HZ      UINT64_C(1000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct input {
	const uint8_t *data;
	size_t len;
};

struct model {
	struct shaper *shaper;
	struct shape_queue queues[QUEUES];
	struct shape_packet packets[PACKETS];
	unsigned in[QUEUES][PACKETS]; /* numbers of the waiting packets */
	unsigned n_in[QUEUES], n_out[QUEUES];
	double granted[QUEUES]; /* maximum units until `since` */
	double spent[QUEUES], rate[QUEUES];
	uint64_t since[QUEUES], now;
	uint64_t due[PACKETS]; /* ticks, for packets in timed queues */
	bool leaves[QUEUES];
	bool taken[PACKETS]; /* accepted above, and has not left */
	bool above_is_open;
	uint32_t asked;
	unsigned sent;
};

static uint32_t take_input_bytes(struct input *input, unsigned bytes)
{
	uint32_t value = 0;

	for (; bytes > 0 && input->len > 0; bytes--, input->len--)
		value = value << 8 | *input->data++;
	return value;
}

static void check_shape(bool holds)
{
	if (!holds)
		abort();
}

static struct token_bucket_profile limit_of(struct input *input)
{
	struct token_bucket_params params = {
		.rate_bps = (uint64_t)take_input_bytes(input, 2) << take_input_bytes(input, 1) % 24,
		.burst_bytes = take_input_bytes(input, 2)};
	struct token_bucket_profile limit;

	check_shape(!token_bucket_profile_init(&limit, &params, HZ));
	return limit;
}

static bool is_timed(unsigned q)
{
	return q % 2;
}

#define BELOW 2 /* the queue below another limit */

/* Accepts or not in a pattern that the shaper cannot predict. */
static bool take_above(
	void *context, struct shape_queue *queue, struct shape_packet *packet, uint64_t now)
{
	struct model *m = context;
	unsigned number = (unsigned)(packet - m->packets);

	check_shape(queue == &m->queues[BELOW] && !m->taken[number] && now == m->now);
	m->asked++;
	m->taken[number] = m->above_is_open || (m->asked * 0x9e3779b1u) >> 31;
	return m->taken[number];
}

static void give_above(void *context, struct shape_queue *queue, struct shape_packet *packet)
{
	struct model *m = context;
	unsigned number = (unsigned)(packet - m->packets);

	check_shape(queue == &m->queues[BELOW] && m->taken[number]);
	m->taken[number] = false;
}

/* Called for a packet that is out of the shaper, and leaves or not. */
static void check_above(struct model *m, unsigned number, bool leaves)
{
	check_shape(m->taken[number] == (leaves && m->packets[number].path == BELOW));
	m->taken[number] = false;
}

static struct shape_params params_of(struct input *input, unsigned q)
{
	uint32_t flags = take_input_bytes(input, 1);

	if (is_timed(q))
		return (struct shape_params){
			.delay = ((uint64_t)take_input_bytes(input, 2) << flags % 32) %
				 (HZ / SHAPE_TIMED_PARTS),
			.units = flags & 32 ? take_input_bytes(input, 2) : 0,
			.timed = true};
	return (struct shape_params){.delay = (uint64_t)take_input_bytes(input, 2) << flags % 32,
		.units = flags & 32 ? take_input_bytes(input, 2) : 0,
		.codel = flags & 64,
		.below = q == BELOW,
		.ecn = flags & 128,
		.target = take_input_bytes(input, 1) << 12,
		.interval = (uint64_t)take_input_bytes(input, 1) << 16};
}

/* Adds the units that each queue's bucket can have granted until that tick. */
static void grant_tokens(struct model *m, unsigned q, uint64_t until)
{
	if (until <= m->since[q])
		return;
	m->granted[q] += m->rate[q] * (double)(until - m->since[q]);
	m->since[q] = until;
}

static void model_set_limit(struct model *m, unsigned q, const struct token_bucket_profile *limit)
{
	uint64_t last = m->queues[q].edt.last;
	bool later = is_timed(q) && (int64_t)(last - m->now) > 0;

	/* A changed limit of a timed queue applies to packets after the waiting ones. */
	grant_tokens(m, q, later ? last : m->now);
	m->rate[q] = (double)limit->rate * 0x1p-56;
}

static void model_packet_leaves(
	struct model *m, unsigned q, const struct shape_packet *packet, uint64_t now)
{
	grant_tokens(m, q, now);
	m->spent[q] += packet->cost;
	check_shape(m->spent[q] <= m->granted[q] * (1 + 1e-9) + 1e-3);
}

static void comes_out(struct model *m, const struct shape_packet *packet, bool conforms)
{
	unsigned number = (unsigned)(packet - m->packets), q = packet->path;

	check_shape(m->n_out[q] < m->n_in[q] && m->in[q][m->n_out[q]] == number);
	m->n_out[q]++;
	check_above(m, number, conforms && !(packet->flags & SHAPE_DROP));
	check_shape(!(packet->flags & SHAPE_DELAY_EXCEEDED) || packet->flags & SHAPE_DROP);
	if (is_timed(q)) /* charged on arrival */
		check_shape(packet->flags == 0 && (!conforms || m->due[number] < m->now));
	else if (conforms && !(packet->flags & SHAPE_DROP))
		model_packet_leaves(m, q, packet, m->now);
}

static unsigned count_waiting(const struct model *m, unsigned q)
{
	return m->n_in[q] - m->n_out[q];
}

/* A packet of a timed queue gets its due time, and takes its tokens at that time. */
static void is_settled(struct model *m, unsigned q, const struct shape_packet *packet)
{
	uint64_t due = m->queues[q].edt.last;

	/* After the waiting ones, and within a limited time. */
	check_shape(count_waiting(m, q) == 0 || due >= m->due[m->in[q][m->n_in[q] - 1]]);
	check_shape((int64_t)(due - m->now) <= (int64_t)(HZ / SHAPE_TIMED_PARTS / 64 * 65));
	m->due[m->sent] = due;
	/* After a late packet it is due in the past, and leaves from now on. */
	model_packet_leaves(m, q, packet, (int64_t)(due - m->now) > 0 ? due : m->now);
}

static void model_packet_arrives(struct model *m, unsigned q, struct input *input)
{
	struct shape_packet *packet = &m->packets[m->sent];
	enum shape_verdict verdict;

	if (m->sent == PACKETS)
		return;
	*packet = (struct shape_packet){.cost = take_input_bytes(input, 2), .path = (uint16_t)q};
	packet->flags = take_input_bytes(input, 1) & (is_timed(q) ? 0 : SHAPE_ECN);
	verdict = shape_arrive(m->shaper, &m->queues[q], packet, packet->cost, m->now, m->now);
	if (verdict != SHAPE_WAITS)
		check_above(m, m->sent, verdict == SHAPE_PASSES);
	if (verdict == SHAPE_PASSES) {
		check_shape(count_waiting(m, q) == 0);
		if (!m->leaves[q]) /* in any state */
			model_packet_leaves(m, q, packet, m->now);
	}
	if (verdict == SHAPE_WAITS && is_timed(q))
		is_settled(m, q, packet);
	if (verdict == SHAPE_WAITS)
		m->in[q][m->n_in[q]++] = m->sent;
	m->sent++;
}

static void model_released(struct model *m, unsigned n, struct shape_packet **out, bool conforms)
{
	for (unsigned i = 0; i < n; i++)
		comes_out(m, out[i], conforms);
}

static void change_queue(struct model *m, unsigned q, struct input *input, bool params)
{
	if (params) {
		struct shape_params next = params_of(input, q);

		shape_change(m->shaper, &m->queues[q], &next, m->now);
	} else {
		struct token_bucket_profile limit = limit_of(input);

		model_set_limit(m, q, &limit);
		shape_limit(m->shaper, &m->queues[q], &limit, m->now);
	}
}

/* Starts a queue with a whole burst before it, and one packet that costs more than the burst. */
static void queue_begins(struct model *m, unsigned q, struct input *input)
{
	struct token_bucket_profile limit = limit_of(input);
	struct shape_params params = params_of(input, q);

	shape_queue_init(&m->queues[q], &params, &limit, NULL, m->now);
	m->leaves[q] = false;
	m->granted[q] = UINT16_MAX;
	m->spent[q] = 0;
	m->since[q] = m->now;
	m->rate[q] = (double)limit.rate * 0x1p-56;
}

static const struct shape_queue *queue_of(const struct shape_packet *packet, void *model)
{
	const struct model *m = model;

	return &m->queues[packet->path];
}

/* A queue leaves, or packets are removed from leaving ones, or one that has left starts again. */
static void set_queue_aside(struct model *m, unsigned q, unsigned n, struct input *input)
{
	const struct shape_whose whose = {queue_of, m};
	struct shape_packet *out[OUT];
	uint32_t what = take_input_bytes(input, 1) % 4;

	if (what == 0) {
		shape_leave(m->shaper, &m->queues[q]);
		m->leaves[q] = true;
	} else if (what == 1 && m->leaves[q] && count_waiting(m, q) == 0) {
		queue_begins(m, q, input);
	} else {
		n = shaper_flush_leaving(m->shaper, &whose, out, n);
		for (unsigned i = 0; i < n; i++)
			check_shape(m->leaves[out[i]->path]);
		model_released(m, n, out, false);
	}
}

static void call_shaper(struct model *m, struct input *input)
{
	uint32_t what = take_input_bytes(input, 1);
	unsigned q = what / 8 % QUEUES, n = 1 + what / 32;
	struct shape_packet *out[OUT];

	m->now += (uint64_t)take_input_bytes(input, 1) << what % 29;
	switch (what % 8) {
	case 0:
		change_queue(m, q, input, true);
		break;
	case 1:
		change_queue(m, q, input, false);
		break;
	case 2:
		model_released(m, shape_flush(m->shaper, &m->queues[q], out, n), out, false);
		if (is_timed(q))
			set_queue_aside(m, q, n, input);
		break;
	case 3:
	case 4:
		model_released(m, shaper_release(m->shaper, m->now, out, n), out, true);
		break;
	default:
		model_packet_arrives(m, q, input);
	}
}

static void check_shaper_counts(const struct model *m)
{
	const struct shaper_counts *counts = shaper_counts(m->shaper);
	unsigned all = 0;

	for (unsigned q = 0; q < QUEUES; q++) {
		check_shape(is_timed(q) || m->queues[q].packets == count_waiting(m, q));
		check_shape(!m->leaves[q] || count_waiting(m, q) == 0 || shaper_leaves(m->shaper));
		all += count_waiting(m, q);
	}
	check_shape(counts->packets == all && shaper_waits(m->shaper) == (all > 0));
	check_shape(shaper_next(m->shaper, m->now) - m->now < UINT64_C(1) << 63);
}

static void begin_shape_model(struct model *m, struct input *input)
{
	uint32_t most = 1 + take_input_bytes(input, 1);
	size_t bytes = shaper_bytes(most);

	memset(m, 0, sizeof(*m));
	m->shaper = aligned_alloc(64, bytes);
	check_shape(m->shaper != NULL);
	memset(m->shaper, 0, bytes);
	shaper_init(m->shaper, HZ, most, 0);
	shaper_ask(m->shaper, &(struct shape_above){take_above, give_above, m});
	for (unsigned q = 0; q < QUEUES; q++)
		queue_begins(m, q, input);
}

/* Waiting packets leave in the end, or are dropped because they waited too long. */
static void let_all_leave(struct model *m)
{
	struct shape_packet *out[OUT];

	m->now += UINT64_C(1) << 50;
	m->above_is_open = true;
	for (unsigned calls = 0; shaper_waits(m->shaper); calls++) {
		check_shape(calls < 4 * PACKETS && shaper_next(m->shaper, m->now) == m->now);
		model_released(m, shaper_release(m->shaper, m->now, out, OUT), out, true);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input input = {data, len};
	struct shape_packet *out[OUT];
	static struct model m;
	unsigned n;

	begin_shape_model(&m, &input);
	while (input.len > 0) {
		call_shaper(&m, &input);
		check_shaper_counts(&m);
	}
	if (len % 2)
		let_all_leave(&m);
	while ((n = shaper_flush(m.shaper, out, OUT)) > 0)
		model_released(&m, n, out, false);
	check_shaper_counts(&m);
	check_shape(!shaper_waits(m.shaper));
	free(m.shaper);
	return 0;
}
