/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Top talkers: the senders of most bytes, estimated from a sample of packets that each stand for
 * several (flow/packet_sample.h).
 */
#include "talkers/talkers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define NO_ENTRY UINT32_MAX

struct entry {
	struct talker talker;
	uint32_t next;    /* next entry with this hash; NO_ENTRY: none */
	uint32_t in_heap; /* index in heap[] */
};

struct talkers {
	uint64_t seed;
	uint32_t capacity, n;
	uint32_t mask; /* number of lists in first[], less 1 */
	struct talker all;
	uint32_t *first;       /* first entry by hash; NO_ENTRY: none */
	uint32_t *heap;        /* entry with the least rank at the top */
	struct entry *entries; /* n of them */
};

static uint32_t *first_of(const struct talkers *talkers, const struct talker_key *key)
{
	uint64_t hash = talkers->seed, word;

	for (size_t i = 0; i < TALKERS_KEY; i += sizeof(word)) {
		memcpy(&word, key->bytes + i, sizeof(word));
		hash ^= word;
		hash = splitmix64_next(&hash);
	}
	return &talkers->first[(uint32_t)hash & talkers->mask];
}

struct talkers *talkers_create(uint32_t capacity, uint64_t seed)
{
	struct talkers *talkers = calloc(1, sizeof(*talkers));
	uint32_t places = 1;

	if (!talkers)
		return NULL;
	while (places < capacity && places < UINT32_C(1) << 31)
		places *= 2;
	talkers->seed = seed;
	talkers->capacity = capacity;
	talkers->mask = places - 1;
	talkers->first = malloc(places * sizeof(*talkers->first));
	talkers->heap = malloc(capacity * sizeof(*talkers->heap));
	talkers->entries = malloc(capacity * sizeof(*talkers->entries));
	if (!talkers->first || !talkers->heap || !talkers->entries) {
		talkers_free(talkers);
		return NULL;
	}
	memset(talkers->first, 0xff, places * sizeof(*talkers->first));
	return talkers;
}

void talkers_free(struct talkers *talkers)
{
	if (!talkers)
		return;
	free(talkers->first);
	free(talkers->heap);
	free(talkers->entries);
	free(talkers);
}

/* Returns the most bytes that the entry can have sent, by its samples: the heap's order. */
static double rank_at(const struct talkers *talkers, uint32_t place)
{
	const struct talker *talker = &talkers->entries[talkers->heap[place]].talker;

	return talker->bytes + talker->missed;
}

static void put_at(struct talkers *talkers, uint32_t place, uint32_t entry)
{
	talkers->heap[place] = entry;
	talkers->entries[entry].in_heap = place;
}

static void swap_places(struct talkers *talkers, uint32_t one, uint32_t other)
{
	uint32_t entry = talkers->heap[one];

	put_at(talkers, one, talkers->heap[other]);
	put_at(talkers, other, entry);
}

/* Moves an entry whose rank has grown down from its place. */
static void sink_entry(struct talkers *talkers, uint32_t place)
{
	for (;;) {
		uint32_t least = place;

		for (uint32_t child = 2 * place + 1; child <= 2 * place + 2; child++)
			if (child < talkers->n && rank_at(talkers, child) < rank_at(talkers, least))
				least = child;
		if (least == place)
			return;
		swap_places(talkers, place, least);
		place = least;
	}
}

/*
 * Returns an entry for another key, at the top of the heap: a free one, or the one with the least
 * rank.
 */
static uint32_t make_entry(struct talkers *talkers, const struct talkers_sample *sample)
{
	uint32_t i = talkers->n, *first;
	double missed = 0;

	if (i < talkers->capacity) {
		put_at(talkers, talkers->n++, i);
		/* A new entry, whose rank is 0, moves to the top. */
		for (uint32_t place = i; place > 0; place = (place - 1) / 2)
			swap_places(talkers, place, (place - 1) / 2);
	} else {
		i = talkers->heap[0];
		missed = rank_at(talkers, 0);
		first = first_of(talkers, &talkers->entries[i].talker.key);
		while (*first != i)
			first = &talkers->entries[*first].next;
		*first = talkers->entries[i].next;
	}
	first = first_of(talkers, &sample->key);
	talkers->entries[i].talker = (struct talker){
		.key = sample->key, .tag = sample->tag, .missed = missed};
	talkers->entries[i].next = *first;
	*first = i;
	return i;
}

/*
 * Adds a packet with its weight (Horvitz and Thompson 1952), and the variance of that. Each packet
 * is sampled independently of others.
 */
static void add_sample(struct talker *talker, const struct talkers_sample *sample)
{
	double weight = (double)sample->weight, bytes = sample->bytes;

	talker->tags |= talker->samples > 0 && talker->tag != sample->tag;
	talker->tag = talker->samples > 0 ? talker->tag : sample->tag;
	talker->samples++;
	talker->packets += weight;
	talker->bytes += weight * bytes;
	talker->dropped += sample->dropped ? weight : 0;
	talker->packets_variance += weight * (weight - 1);
	talker->bytes_variance += weight * (weight - 1) * bytes * bytes;
}

void talkers_add(struct talkers *talkers, const struct talkers_sample *sample)
{
	uint32_t i = *first_of(talkers, &sample->key);

	while (i != NO_ENTRY &&
		memcmp(&talkers->entries[i].talker.key, &sample->key, sizeof(sample->key)) != 0)
		i = talkers->entries[i].next;
	if (i == NO_ENTRY)
		i = make_entry(talkers, sample);
	add_sample(&talkers->entries[i].talker, sample);
	add_sample(&talkers->all, sample);
	sink_entry(talkers, talkers->entries[i].in_heap);
}

const struct talker *talkers_all(const struct talkers *talkers)
{
	return &talkers->all;
}

/* Orders by bytes, and by key if equal, so that the order is always the same. */
static bool is_before(const struct talker *one, const struct talker *other)
{
	if (one->bytes != other->bytes)
		return one->bytes > other->bytes;
	return memcmp(&one->key, &other->key, sizeof(one->key)) < 0;
}

size_t talkers_top(const struct talkers *talkers, struct talker *top, size_t most)
{
	size_t n = 0;

	for (uint32_t i = 0; i < talkers->n; i++) {
		const struct talker *one = &talkers->entries[i].talker;
		size_t at;

		if (most == 0 || (n == most && !is_before(one, &top[n - 1])))
			continue;
		n += n < most;
		for (at = n - 1; at > 0 && is_before(one, &top[at - 1]); at--)
			top[at] = top[at - 1];
		top[at] = *one;
	}
	return n;
}

/* --- margins ---------------------------------------------------------------------------------- */

/*
 * Confidence intervals that also hold for few samples: Wilson's score interval of a Poisson number
 * of samples that each stand for `unit` packets or bytes. An estimate and its standard error would
 * be too sure with few samples: a sender seen once would certainly send something, and one never
 * seen nothing.
 */

#define Z 1.96 /* 19 of 20 values lie within so many standard errors */

/* -ln(1/20): with this expected number of samples, a sender is never sampled in 1 of 20 cases. */
#define UNSEEN 3.0

/* Returns the amount that one sample represents beyond itself: 0 if every packet was sampled. */
static double unit_of(double estimate, double variance)
{
	return estimate > 0 ? variance / estimate : 0;
}

static double score_margin(double unit, double variance)
{
	return Z * Z / 2 * unit + Z * sqrt(variance + Z * Z / 4 * unit * unit);
}

double talkers_packets_margin(const struct talker *one)
{
	return score_margin(unit_of(one->packets, one->packets_variance), one->packets_variance);
}

/*
 * If the few samples of a sender are all small, the packets that were not sampled can still be as
 * large as those of others. So the unit is at least that of all traffic.
 */
static double bytes_unit(const struct talker *all, const struct talker *one)
{
	return fmax(
		unit_of(one->bytes, one->bytes_variance), unit_of(all->bytes, all->bytes_variance));
}

double talkers_bytes_margin(const struct talker *all, const struct talker *one)
{
	return score_margin(bytes_unit(all, one), one->bytes_variance);
}

double talkers_share(const struct talker *all, const struct talker *one, double *margin)
{
	double share, unit, variance;

	*margin = 0;
	if (all->bytes <= 0)
		return 0;
	share = one->bytes / all->bytes;
	/*
	 * Variance of a ratio: the part's own samples and the other samples act in opposite
	 * directions.
	 */
	variance = one->bytes_variance * (1 - 2 * share) + share * share * all->bytes_variance;
	unit = bytes_unit(all, one) / all->bytes;
	*margin = score_margin(unit * (1 - share), fmax(variance, 0) / (all->bytes * all->bytes));
	*margin = fmin(*margin, fmax(share, 1 - share));
	return share;
}

double talkers_dropped(const struct talker *one, double *margin)
{
	double unit = unit_of(one->packets, one->packets_variance), share, n, centre, half;

	*margin = 0;
	if (one->packets <= 0)
		return 0;
	share = fmin(one->dropped / one->packets, 1);
	if (unit <= 0)
		return share;
	n = one->packets / unit;
	centre = (share + Z * Z / (2 * n)) / (1 + Z * Z / n);
	half = Z / (1 + Z * Z / n) * sqrt(share * (1 - share) / n + Z * Z / (4 * n * n));
	*margin = half + fabs(centre - share);
	return share;
}

double talkers_unseen(const struct talker *all)
{
	return UNSEEN * unit_of(all->packets, all->packets_variance);
}
