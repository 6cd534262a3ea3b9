/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * For the files of this library, and for estimators of weirsim alone (sums/sums.h): one limiter's
 * gossip, and the table of functions by which an estimator (a way to learn the global sums) takes
 * part in it. gossip.c does what is the same for all: headers, seals, epochs, verdicts, counters.
 */
#ifndef WEIR_GOSSIP_ESTIMATOR_H
#define WEIR_GOSSIP_ESTIMATOR_H

#include "base/prng.h"
#include "gossip/gossip.h"

struct gossip {
	const struct estimator *estimator;
	void *own;                   /* the estimator's */
	const struct roster *roster; /* borrowed */
	struct id_table *policies;   /* ours, then those that were withdrawn */
	unsigned n_policies;         /* ours */
	unsigned from;               /* see gossip_from() */
	uint64_t *withdrawn_ns;      /* of each of the others, when */
	unsigned self, branching, datagram_max;
	double demand_max; /* see gossip_params */
	uint64_t tick_ns, timeout_ns, epoch, counter;
	uint32_t tick;
	uint32_t usurped_tick; /* see gossip_usurped() */
	bool usurped;
	uint8_t flags;           /* of every datagram, see datagram.h */
	struct keyring *keyring; /* NULL: plain */
	uint32_t (*random_bits)(void);
	struct prng prng, bits; /* bits: see gossip_params.random_bits */
	struct gossip_counters counters;
	uint64_t *looks; /* one of the counters, for those who only ask: see estimator_looks() */
	uint64_t *news;  /* a bit for each policy, see gossip_next_news() */
	bool all_news;
	uint64_t changes;                      /* see gossip_changes() */
	struct correspondent **correspondents; /* see message.h; NULL: nobody has sent messages */
	unsigned n_answers;                    /* of these, who is to be answered */
	struct limit_reports *enforced;        /* reports of limits; NULL: none */
};

/* Where the policies of an update have been before it: an index, or GOSSIP_ADDED. */
struct remap {
	unsigned n;
	const unsigned *from; /* n */
};

/* A copy of an array of a row each policy, as the map has them, or NULL. Those added are zero. */
void *remap_rows(const struct remap *map, const void *rows, size_t size);

/* Limiters are named by their index in the roster; roster->n stands for none. */
struct estimator {
	/* Sets g->own. Returns 0 or -ENOMEM; destroy is called in either case. */
	int (*create)(struct gossip *g, uint64_t now_ns);
	void (*destroy)(struct gossip *g);

	void (*set)(struct gossip *g, unsigned policy, float demand, float weight);

	/* Decides who counts and whom to tell; g->tick is the new one. */
	void (*tick)(struct gossip *g, uint64_t now_ns);

	/* The next to tell in this tick, or none. */
	unsigned (*next)(struct gossip *g);

	/* Writes what follows the fixed part of a body; returns the number of own records. */
	uint16_t (*write)(struct gossip *g, struct cursor *cursor, unsigned to);

	/* What is known of a limiter, or NULL. */
	struct peer *(*find)(const struct gossip *g, unsigned index);

	/* The peer, but NULL for one that it would not matter to lose: see gossip_peer(). */
	struct peer *(*watched)(const struct gossip *g, unsigned index);

	/* The peer of one that has sent an authentic datagram: NULL when there is no room. */
	struct peer *(*admit)(struct gossip *g, unsigned index, uint64_t now_ns);

	/* It has restarted, or is believed for the first time: what it said before is void. */
	void (*forget)(struct gossip *g, unsigned index);

	/* Whether what follows the fixed part of a body makes sense. Changes nothing. */
	bool (*check)(
		const struct gossip *g, struct cursor cursor, const struct datagram_body *body);

	/* Takes in what has passed check, from a peer whose epoch is believed. */
	void (*take)(struct gossip *g, struct cursor cursor, const struct datagram_body *body,
		unsigned from, uint64_t now_ns);

	struct gossip_sum (*sum)(const struct gossip *g, unsigned policy);

	/* What one peer has told, see gossip_told(). NULL: single ones are not remembered. */
	bool (*told)(
		const struct gossip *g, unsigned policy, unsigned peer, struct gossip_sum *told);
	unsigned (*alive)(const struct gossip *g);
	unsigned (*silent)(const struct gossip *g); /* as of the last tick */

	/* How long a peer that is watched may be silent, or not confirm us; nanoseconds. */
	uint64_t (*silence)(const struct gossip *g);

	/* Nanoseconds, without delays of the network, until all know what one has noticed. */
	uint64_t (*spread)(const struct gossip *g);

	/* Whether we have ever said something of the policy. */
	bool (*said)(const struct gossip *g, unsigned policy);

	/* Moves what is kept of the policies; g->policies is still the old one. 0 or -ENOMEM. */
	int (*update)(struct gossip *g, const struct remap *map);

	bool tells_news; /* calls estimator_news(), or sets g->all_news */
};

extern const struct estimator estimator_state, estimator_tree;

/*
 * Reports of local limits, of `state` alone; see enforced.c. create, destroy, update and tick are
 * called by the functions of an estimator of that name. A section whose origin is the teller has
 * reports: enforced_take() reads its records.
 */
int enforced_create(struct gossip *g, uint64_t now_ns);
void enforced_destroy(struct gossip *g);
int enforced_update(struct gossip *g, const struct remap *map);
void enforced_tick(struct gossip *g, uint64_t now_ns);
void enforced_write(struct gossip *g, struct cursor *cursor, unsigned to);
void enforced_take(struct gossip *g, struct cursor *cursor, const struct datagram_section *section,
	const struct datagram_body *body, unsigned from, uint64_t now_ns);

/* Begins to believe an epoch of a peer. */
void estimator_believe(
	struct gossip *g, unsigned index, uint64_t epoch, uint32_t tick, uint64_t now_ns);

/* The sum of a policy has changed. */
static inline void estimator_news(struct gossip *g, unsigned policy)
{
	g->news[policy / 64] |= UINT64_C(1) << policy % 64;
}

/*
 * So many peers are looked at, see struct gossip_counters. Who only asks changes nothing by it but
 * this count.
 */
static inline void estimator_looks(const struct gossip *g, unsigned n)
{
	*g->looks += n;
}

/*
 * Whether so many limiters together can have that demand and weight: see gossip_params. Of any
 * sign.
 */
bool estimator_plausible(const struct gossip *g, unsigned limiters, float demand, float weight);

/* Something that this limiter told us cannot be, and is not taken. */
void estimator_implausible(struct gossip *g, unsigned teller);

/* Finite and not negative, as every rate and weight is. */
bool estimator_rate_valid(float value);

#endif
