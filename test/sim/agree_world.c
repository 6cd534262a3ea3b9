/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Peers that compare their settings. They have thousands of policies, some with several names in a
 * leaf. Settings change at some limiters only, policies are added and removed, and messages are
 * lost, late and repeated. In the end all have equal settings.
 */
#include <stdlib.h>
#include <string.h>

#include "agree/agree.h"
#include "base/prng.h"
#include "trace.h"
#include "worlds.h"

#define PEERS    4
#define POLICIES 3000
#define THINGS   3
#define GROUP    2
#define ROOM     500
#define FLYING   200
#define MS       UINT64_C(1000000)
#define STEP     (100 * MS)
#define STEPS    400
#define CALM     300 /* step after which nothing changes */

struct word {
	unsigned from, to;
	size_t len;
	uint8_t bytes[ROOM];
};

struct world {
	struct prng prng;
	uint64_t now_ns;
	struct agree *agrees[PEERS];
	uint64_t group[PEERS][GROUP];
	uint64_t values[PEERS][POLICIES][THINGS];
	bool has[PEERS][POLICIES];
	struct word flying[FLYING];
	unsigned n_flying;
};

static void tell_agree(struct world *w, unsigned i)
{
	struct agree_policy *policies = calloc(POLICIES, sizeof(*policies));
	unsigned n = 0;

	if (!policies)
		abort();
	for (unsigned p = 0; p < POLICIES; p++)
		if (w->has[i][p])
			policies[n++] = (struct agree_policy){
				.id = p * UINT32_C(7919) + p % 3, .values = w->values[i][p]};
	if (agree_set(w->agrees[i], w->group[i], policies, n, w->now_ns))
		abort();
	free(policies);
}

static void create_agrees(struct world *w)
{
	static const char *const group_things[GROUP] = {"key", "clock"};
	static const char *const policy_things[THINGS] = {"limit", "burst", "allocator"};

	for (unsigned i = 0; i < PEERS; i++) {
		struct agree_params params = {
			.n = PEERS,
			.self = i,
			.epoch = 1 + prng_next(&w->prng) / 2,
			.group_things = group_things,
			.n_group = GROUP,
			.clock = 1,
			.policy_things = policy_things,
			.n_policy = THINGS,
		};

		if (agree_create(&params, &w->agrees[i]))
			abort();
		w->group[i][0] = w->group[i][1] = 1;
		for (unsigned p = 0; p < POLICIES; p++) {
			w->has[i][p] = true;
			for (unsigned t = 0; t < THINGS; t++)
				w->values[i][p][t] = 1000 + p;
		}
		for (unsigned k = 0; k < PEERS; k++)
			if (k != i)
				agree_watch(w->agrees[i], k, true);
		tell_agree(w, i);
	}
}

/* Changes some policies at one limiter, mostly adjacent ones in the list. */
static void change_agree(struct world *w)
{
	unsigned i = prng_below(&w->prng, PEERS), most = prng_below(&w->prng, 4) ? 8 : 400;
	unsigned n = 1 + prng_below(&w->prng, most), first = prng_below(&w->prng, POLICIES - n);

	for (unsigned p = first; p < first + n; p++)
		if (prng_below(&w->prng, 4) == 0)
			w->has[i][p] = !w->has[i][p];
		else
			w->values[i][p][prng_below(&w->prng, THINGS)] = prng_below(&w->prng, 3);
	if (prng_below(&w->prng, 3) == 0)
		w->group[i][0] = prng_below(&w->prng, 3);
	tell_agree(w, i);
}

static void send_agrees(struct world *w, bool calm)
{
	for (unsigned i = 0; i < PEERS; i++) {
		struct word word = {.from = i};

		agree_clock(w->agrees[i], i == 1 && !calm ? 5000 * MS : 0);
		agree_tick(w->agrees[i], w->now_ns);
		while ((word.len = agree_send(w->agrees[i], w->now_ns, word.bytes,
				sizeof(word.bytes), &word.to)) > 0) {
			trace_sent(i, word.to, word.bytes, word.len);
			if (w->n_flying < FLYING && (calm || prng_below(&w->prng, 10) > 0))
				w->flying[w->n_flying++] = word;
		}
	}
}

static void hear_agrees(struct world *w, bool calm)
{
	for (unsigned k = 0; k < w->n_flying;) {
		struct word *word = &w->flying[k];

		if (!calm && prng_below(&w->prng, 3) == 0) {
			k++;
			continue;
		}
		trace_word((uint64_t)agree_receive(
			w->agrees[word->to], word->from, w->now_ns, word->bytes, word->len));
		if (calm || prng_below(&w->prng, 20) > 0)
			*word = w->flying[--w->n_flying];
		else
			k++;
	}
}

static unsigned digest_agree(const struct world *w, unsigned i)
{
	unsigned differences = 0;

	for (unsigned k = 0; k < PEERS; k++) {
		struct agree_peer_view view = agree_peer(w->agrees[i], k);

		trace_word((uint64_t)view.has_reported << 33 | (uint64_t)view.more << 32 | view.n);
		trace_word(view.received_ns);
		trace_word(view.since_ns);
		for (unsigned d = 0; d < view.n; d++) {
			struct agree_difference difference = agree_difference(w->agrees[i], k, d);

			trace_word((uint64_t)difference.id << 32 | difference.things);
			trace_word(difference.policy);
			trace_word(difference.since_ns);
		}
		differences += view.n;
	}
	trace_word(agree_changes(w->agrees[i]));
	return differences;
}

void run_agree_world(uint64_t seed)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	prng_seed(&w->prng, seed);
	w->now_ns = 1000 * MS;
	create_agrees(w);
	for (unsigned step = 0; step < STEPS; step++) {
		bool calm = step >= CALM;

		w->now_ns += STEP;
		if (!calm && prng_below(&w->prng, 20) == 0)
			change_agree(w);
		for (unsigned i = 1; step == CALM && i < PEERS; i++) {
			memcpy(w->values[i], w->values[0], sizeof(w->values[0]));
			memcpy(w->has[i], w->has[0], sizeof(w->has[0]));
			memcpy(w->group[i], w->group[0], sizeof(w->group[0]));
			tell_agree(w, i);
		}
		send_agrees(w, calm);
		hear_agrees(w, calm);
		if (step % 40 > 0 && step + 1 < STEPS)
			continue;
		trace_write("  %.1f s, differences", (double)w->now_ns / 1e9);
		for (unsigned i = 0; i < PEERS; i++)
			trace_write_whole(digest_agree(w, i));
		trace_write("\n");
	}
	for (unsigned i = 0; i < PEERS; i++)
		agree_destroy(w->agrees[i]);
	free(w);
}
