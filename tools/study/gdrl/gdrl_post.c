/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "gdrl_post.h"

#include <errno.h>
#include <stdlib.h>

#include "base/prng.h"

/* Messages that arrive in one slot, in the order in which they were sent. */
struct sack {
	struct gdrl_message *messages;
	size_t n, taken, room;
};

struct gdrl_post {
	unsigned delay;
	double loss;
	struct prng prng;
	struct gdrl_totals totals;
	struct sack sacks[]; /* delay + 1: by slot */
};

int gdrl_post_create(unsigned delay, double loss, uint64_t seed, struct gdrl_post **out)
{
	struct gdrl_post *post = calloc(
		1, sizeof(*post) + (delay + (size_t)1) * sizeof(post->sacks[0]));

	*out = post;
	if (!post)
		return -ENOMEM;
	post->delay = delay;
	post->loss = loss;
	prng_seed(&post->prng, seed + (UINT64_C(1) << 34));
	return 0;
}

void gdrl_post_destroy(struct gdrl_post *post)
{
	for (unsigned i = 0; post && i <= post->delay; i++)
		free(post->sacks[i].messages);
	free(post);
}

static int put_gdrl_message(struct sack *sack, const struct gdrl_message *message)
{
	if (sack->n == sack->room) {
		size_t room = sack->room ? 2 * sack->room : 64;
		struct gdrl_message *more = realloc(sack->messages, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		sack->messages = more;
		sack->room = room;
	}
	sack->messages[sack->n++] = *message;
	return 0;
}

int gdrl_post_send(struct gdrl_post *post, uint64_t slot, const struct gdrl_message *message)
{
	uint64_t arrival = slot;

	post->totals.statements++;
	if (post->loss > 0 && prng_unit(&post->prng) < post->loss) {
		post->totals.lost++;
		return 0;
	}
	if (post->delay > 0)
		arrival += 1 + prng_below(&post->prng, post->delay);
	return put_gdrl_message(&post->sacks[arrival % (post->delay + 1)], message);
}

const struct gdrl_message *gdrl_post_take(struct gdrl_post *post, uint64_t slot)
{
	struct sack *sack = &post->sacks[slot % (post->delay + 1)];

	if (sack->taken < sack->n)
		return &sack->messages[sack->taken++];
	sack->n = 0;
	sack->taken = 0;
	return NULL;
}

struct gdrl_totals gdrl_post_totals(const struct gdrl_post *post)
{
	return post->totals;
}
