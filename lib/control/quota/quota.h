/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A budget of units (bytes, packets, requests) over a period, which the limiters of a group spend
 * together and never exceed. Each holds a part and passes only what it holds; units move over the
 * edges of a tree to where they are spent, after "A tree-based protocol for enforcing quotas in
 * clouds". That is a matter of messages only: what is safe is the ledger's, which moves units one
 * hop at a time and loses none, whatever becomes of a message (ledger/ledger.h). All else that a
 * message says is a hint.
 *
 * It differs from the paper (section IV) where that saves messages:
 *
 *   - A request goes towards units, and each limiter that it passes aggregates what is behind it.
 *     The answer brings the units, so an edge sees two messages and not three; and each limiter on
 *     the way divides by rate (equations 5 and 6) between itself and those who ask. There is no up
 *     and down in it: the paper's parent and children are neighbours alike.
 *   - Every message says what is held behind its sender, and how fast it is spent. As units reach a
 *     branch of a tree only over its edge, what it once said, less what it has given since, bounds
 *     what it can have. The likeliest is asked first, and one that has nothing is not asked at all.
 *   - Who asks, asks for its part by rate of all that is thought to be left, not for a threshold
 *     (equation 2) more, so that it need not ask again soon.
 *   - Who is asked while it waits for others is not refused: the request waits with it.
 *
 * When the total runs low there is nothing above the thresholds any more. Then they are 0: a
 * limiter asks only for traffic that it cannot pass, and gives of all it has.
 *
 * A period has a number, of which each limiter is told by its own clock. It begins with a ledger of
 * its own; messages of other periods are void. So no two need change at the same time: a unit is
 * spent in the period whose ledger it is from, in each of which no more than the total is spent.
 *
 * A pure state machine. One thread. Rates are in 1/1000 units a second.
 */
#ifndef WEIR_QUOTA_QUOTA_H
#define WEIR_QUOTA_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/ledger.h"

struct quota_params {
	uint64_t share;  /* of a period's total, held when it begins */
	uint64_t period; /* its number */
	bool undated;    /* that is not known yet: nothing is held before quota_period() */
	uint32_t n_edges;
	uint64_t epoch;          /* of this start: see struct ledger_params */
	uint32_t word;           /* random, for this start */
	uint64_t total;          /* bound of a balance; 0: unknown */
	uint64_t proof_until_ns; /* see struct book; 0: nothing waits */
	bool recovering; /* there was an earlier start in this period, of which nothing is known */
	bool durable;    /* the caller saves: nothing is told or spent before quota_committed() */
	uint64_t chunk;  /* durable: units that are saved as spent before they are, at most */
	uint64_t theta_ns;  /* a reallocation's time, until one has been seen */
	uint64_t memory_ns; /* half-life of what is known of the rate */
	uint64_t repeat_ns; /* what a neighbour has not confirmed is told again so often */
	uint64_t seed;
};

enum quota_part {
	QUOTA_REQUEST = 1,    /* `need` and `urgent` units, if you have them or can get them */
	QUOTA_COLLECT = 2,    /* the same when traffic waits: of all you have */
	QUOTA_REPORT = 4,     /* the answer to a request; the statement has what was given */
	QUOTA_DISTRIBUTE = 8, /* units for one who was told that there were too few */
	QUOTA_CONFIRM = 16,   /* say something: you have not confirmed what was granted */
	QUOTA_PARTS = 31,
};

/* All that a neighbour is told; parts ride together. */
struct quota_message {
	uint64_t period;
	uint32_t parts;        /* of enum quota_part */
	uint32_t round;        /* of the request */
	uint32_t answer;       /* the round of the request that is answered */
	uint64_t need, urgent; /* units; urgent: without which traffic is stopped */
	uint64_t asking;       /* rate of those on whose behalf it is asked */
	uint64_t held;         /* at most so many are with the sender and behind it */
	uint64_t pace;         /* rate at which they are spent */
	bool partial;          /* report: somebody was not asked, or did not answer */
	bool known;            /* `held` is no guess: all of them have been heard of */
	struct ledger_statement statement;
};

struct quota_view {
	uint64_t period;
	bool undated;       /* which one that is is not known yet */
	int64_t balance;    /* held here */
	uint64_t spent;     /* here, in this period */
	uint64_t prepaid;   /* of these, not used yet */
	uint64_t rate;      /* see above */
	uint64_t theta_ns;  /* a reallocation takes so long */
	uint64_t threshold; /* tau: below it we ask */
	uint64_t remaining; /* of the total, as far as we have heard */
	uint64_t pace;      /* rate of all, likewise */
	bool recovering;    /* holds nothing until all neighbours have said what they know */
	bool waits;         /* for neighbours to confirm its record; nothing is spent or given */
	bool low;           /* the total runs low: thresholds are 0 */
	bool asking, waiting;
	uint64_t rounds, short_rounds, messages, invalid;
	uint64_t fetches, fetches_ns; /* rounds of our own in which others were asked; their time */
};

struct quota_node;

/*
 * The first start, or from a record that quota_save() wrote. One of an earlier period is of no more
 * use, and the period begins anew; one of a later period than `params` says stays in that, as
 * clocks may be set back, and so does any while params are undated. 0, -EINVAL or -ENOMEM.
 */
int quota_create(const struct quota_params *params, uint64_t now_ns, struct quota_node **out);
int quota_restore(const struct quota_params *params, const void *record, size_t len,
	uint64_t now_ns, struct quota_node **out);
void quota_destroy(struct quota_node *q);

/*
 * Whether the edge is one of the tree's, and a guess of the units behind it. An edge that is taken
 * out of the tree still tells and hears what was granted over it; what was asked over it is not
 * waited for any more. The tree may change at any time, and for a while be none: quota_tick() is to
 * be called then.
 */
void quota_link(struct quota_node *q, uint32_t edge, bool linked, uint64_t guess);

/*
 * Passes so many units if they are held here: 0. Else -EAGAIN while others are asked, or -EDQUOT
 * when they have been, and there is not enough: the policy says what becomes of the traffic. They
 * are asked again now and then, as there may be a top-up.
 */
int quota_spend(struct quota_node *q, uint64_t units, uint64_t now_ns);

/* Does the same for traffic that might come: the units do not count in the rate. */
int quota_prefetch(struct quota_node *q, uint64_t units, uint64_t now_ns);

/*
 * Units that quota_spend() passed in this period and that were not used come back, and with them
 * those that are saved as spent ahead of traffic: all are free again, for others too. At a stop,
 * or when the policy goes, with a record to follow; until that a crash loses them. More than were
 * passed are not taken back.
 */
void quota_refund(struct quota_node *q, uint64_t units);

/*
 * The traffic that quota_spend() did not pass has gone; nobody need be asked on its behalf. It is
 * forgotten by itself when quota_spend() is not called again for longer than any pause between two
 * calls of quota_tick().
 */
void quota_forgo(struct quota_node *q);

/* Tells it something, and asks it to say something: what rides with messages is news. */
void quota_tell(struct quota_node *q, uint32_t edge, bool asks);

/* A message from a neighbour; false when it makes no sense (and changes nothing). */
bool quota_hear(
	struct quota_node *q, uint32_t edge, const struct quota_message *message, uint64_t now_ns);

/*
 * Returns LEDGER_DENIED or LEDGER_TWIN if quota_hear() has received proof against the record:
 * quota_lose() is due. Otherwise returns LEDGER_HEARD.
 */
enum ledger_verdict quota_denied(const struct quota_node *q);

/*
 * Drops the record: the node recovers, and counts the units that it held as spent. A durable one
 * has no messages until quota_loss_committed(), which is due when no later start can restore the
 * record.
 */
void quota_lose(struct quota_node *q);
void quota_loss_committed(struct quota_node *q);

/* Raises the bound of a balance, see ledger_raise_most(). */
void quota_raise_total(struct quota_node *q, uint64_t total);

/* The next message to send, or false. To be called until then after every other call. */
bool quota_next(
	struct quota_node *q, uint64_t now_ns, uint32_t *edge, struct quota_message *message);

/* quota_next() of one edge, for messages that ride with others to the same neighbour. */
bool quota_next_to(
	struct quota_node *q, uint64_t now_ns, uint32_t edge, struct quota_message *message);

/* Timeouts. Returns when to call again, at the latest; UINT64_MAX: not before something happens. */
uint64_t quota_tick(struct quota_node *q, uint64_t now_ns);

/*
 * Has neighbours told what is here and how fast it is spent, where that is no longer near what they
 * were told: for those who look at it, since spending asks when it needs to know. As often as such
 * news may be sent. Returns whether there may be more though nothing else happens.
 */
bool quota_refresh(struct quota_node *q, uint64_t now_ns);

/*
 * A later period has begun, with such a share. What was held is void. One that was undated is what
 * its params said now: also recovering. 0; -EINVAL for one that is not later, -ENOMEM (the old one
 * goes on).
 */
int quota_period(struct quota_node *q, uint64_t period, uint64_t share, uint64_t now_ns);

/*
 * Whether a period that begins from now on may have begun here before, in a start of which nothing
 * is known: it begins recovering then. At first it may not.
 */
void quota_doubt(struct quota_node *q, bool doubt);

/*
 * Another share of this period: a top-up, or less. What has been given away or spent already is a
 * debt, which is paid by what comes in, and is asked for. 0 or -EINVAL.
 */
int quota_set_share(struct quota_node *q, uint64_t share, uint64_t now_ns);

/* From now on; see struct quota_params. */
void quota_set_chunk(struct quota_node *q, uint64_t chunk);

/*
 * With a disk: whether there is something that others must not hear of, or traffic use, before it
 * is durable; the record, of at most quota_record_size() bytes; and that it now is, or is not for
 * all that is known: then as if quota_save() had not been called. -EBUSY: the last one is still
 * being written; -EAGAIN: it is recovering, and there is nothing to save.
 */
bool quota_uncommitted(const struct quota_node *q);
size_t quota_record_size(const struct quota_node *q);
int quota_save(struct quota_node *q, void *record, size_t *len);
void quota_committed(struct quota_node *q);
void quota_save_failed(struct quota_node *q);

struct quota_view quota_view(const struct quota_node *q, uint64_t now_ns);
struct ledger_view quota_edge(const struct quota_node *q, uint32_t edge);

#endif
