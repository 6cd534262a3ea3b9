/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Calls of a shaper in any order, beside what must hold after each: packets leave in order and
 * once, nothing is lost, what the counts say is what waits, and no more leaves than the limits have
 * granted.
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
	unsigned in[QUEUES][PACKETS]; /* numbers of those that wait */
	unsigned n_in[QUEUES], n_out[QUEUES];
	double granted[QUEUES]; /* units at most, until `since` */
	double spent[QUEUES], rate[QUEUES];
	uint64_t since[QUEUES], now;
	unsigned sent;
};

static uint32_t take(struct input *input, unsigned bytes)
{
	uint32_t value = 0;

	for (; bytes > 0 && input->len > 0; bytes--, input->len--)
		value = value << 8 | *input->data++;
	return value;
}

static void need(bool holds)
{
	if (!holds)
		abort();
}

static struct token_bucket_profile limit_of(struct input *input)
{
	struct token_bucket_params params = {
		.rate_bps = (uint64_t)take(input, 2) << take(input, 1) % 24,
		.burst_bytes = take(input, 2)};
	struct token_bucket_profile limit;

	need(!token_bucket_profile_init(&limit, &params, HZ));
	return limit;
}

static struct shape_params params_of(struct input *input)
{
	uint32_t flags = take(input, 1);

	return (struct shape_params){.delay = (uint64_t)take(input, 2) << flags % 32,
		.units = flags & 32 ? take(input, 2) : 0,
		.codel = flags & 64,
		.ecn = flags & 128,
		.target = take(input, 1) << 12,
		.interval = (uint64_t)take(input, 1) << 16};
}

/* A bucket of each queue may have given this until now. */
static void grant(struct model *m, unsigned q)
{
	m->granted[q] += m->rate[q] * (double)(m->now - m->since[q]);
	m->since[q] = m->now;
}

static void limited(struct model *m, unsigned q, const struct token_bucket_profile *limit)
{
	grant(m, q);
	m->rate[q] = (double)limit->rate * 0x1p-56;
}

static void leaves(struct model *m, unsigned q, const struct shape_packet *packet)
{
	grant(m, q);
	m->spent[q] += packet->cost;
	need(m->spent[q] <= m->granted[q] * (1 + 1e-9) + 1e-3);
}

static void comes_out(struct model *m, const struct shape_packet *packet, bool conforms)
{
	unsigned number = (unsigned)(packet - m->packets), q = packet->path;

	need(m->n_out[q] < m->n_in[q] && m->in[q][m->n_out[q]] == number);
	m->n_out[q]++;
	need(!(packet->flags & SHAPE_LATE) || packet->flags & SHAPE_DROP);
	if (conforms && !(packet->flags & SHAPE_DROP))
		leaves(m, q, packet);
}

static void arrives(struct model *m, unsigned q, struct input *input)
{
	struct shape_packet *packet = &m->packets[m->sent];
	enum shape_verdict verdict;

	if (m->sent == PACKETS)
		return;
	*packet = (struct shape_packet){
		.cost = take(input, 2), .path = (uint16_t)q, .flags = take(input, 1) & SHAPE_ECN};
	verdict = shape_arrive(m->shaper, &m->queues[q], packet, packet->cost, m->now, m->now);
	if (verdict == SHAPE_PASSES)
		leaves(m, q, packet);
	if (verdict == SHAPE_WAITS)
		m->in[q][m->n_in[q]++] = m->sent;
	m->sent++;
}

static void released(struct model *m, unsigned n, struct shape_packet **out, bool conforms)
{
	for (unsigned i = 0; i < n; i++)
		comes_out(m, out[i], conforms);
}

static void changes(struct model *m, unsigned q, struct input *input, bool params)
{
	if (params) {
		struct shape_params next = params_of(input);

		shape_change(m->shaper, &m->queues[q], &next, m->now);
	} else {
		struct token_bucket_profile limit = limit_of(input);

		limited(m, q, &limit);
		shape_limit(m->shaper, &m->queues[q], &limit, m->now);
	}
}

static void call(struct model *m, struct input *input)
{
	uint32_t what = take(input, 1);
	unsigned q = what / 8 % QUEUES, n = 1 + what / 32;
	struct shape_packet *out[OUT];

	m->now += (uint64_t)take(input, 1) << what % 29;
	switch (what % 8) {
	case 0:
		changes(m, q, input, true);
		break;
	case 1:
		changes(m, q, input, false);
		break;
	case 2:
		released(m, shape_flush(m->shaper, &m->queues[q], out, n), out, false);
		break;
	case 3:
	case 4:
		released(m, shaper_release(m->shaper, m->now, out, n), out, true);
		break;
	default:
		arrives(m, q, input);
	}
}

static void check(const struct model *m)
{
	const struct shaper_counts *counts = shaper_counts(m->shaper);
	unsigned all = 0;

	for (unsigned q = 0; q < QUEUES; q++) {
		need(m->queues[q].packets == m->n_in[q] - m->n_out[q]);
		all += m->queues[q].packets;
	}
	need(counts->packets == all && shaper_waits(m->shaper) == (all > 0));
	need(shaper_next(m->shaper, m->now) - m->now < UINT64_C(1) << 63);
}

static void begin(struct model *m, struct input *input)
{
	uint32_t most = 1 + take(input, 1);
	size_t bytes = shaper_bytes(most);

	memset(m, 0, sizeof(*m));
	m->shaper = aligned_alloc(64, bytes);
	need(m->shaper != NULL);
	memset(m->shaper, 0, bytes);
	shaper_init(m->shaper, HZ, most, 0);
	for (unsigned q = 0; q < QUEUES; q++) {
		struct token_bucket_profile limit = limit_of(input);
		struct shape_params params = params_of(input);

		shape_queue_init(&m->queues[q], &params, &limit, NULL, 0);
		/* A burst, and a packet that costs more than that. */
		m->granted[q] = UINT16_MAX;
		limited(m, q, &limit);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input input = {data, len};
	struct shape_packet *out[OUT];
	static struct model m;
	unsigned n;

	begin(&m, &input);
	while (input.len > 0) {
		call(&m, &input);
		check(&m);
	}
	while ((n = shaper_flush(m.shaper, out, OUT)) > 0)
		released(&m, n, out, false);
	check(&m);
	need(!shaper_waits(m.shaper));
	free(m.shaper);
	return 0;
}
