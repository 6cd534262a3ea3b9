/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A budget of units (bytes, packets, requests) over a period, which the limiters of a group spend
 * together and never exceed. Each holds a part and passes only its own units. Units move over the
 * edges of a tree to where they are spent, after "A tree-based protocol for enforcing quotas in
 * clouds". The protocol only decides which messages to send. Safety comes from the ledger, which
 * moves units one hop at a time and loses none, with any loss of messages (ledger/ledger.h). All
 * other contents of a message are hints.
 *
 * It differs from the paper (section IV) where that saves messages:
 *
 *   - A request goes towards units, and each limiter that it passes aggregates the requests behind
 *     it. The answer brings the units, so an edge sees two messages and not three; and each limiter
 *     on the way divides by rate (equations 5 and 6) between itself and the requesters. There is no
 *     up and down in it: the paper's parent and children are neighbours alike.
 *   - Every message has the units held behind its sender, and how fast they are spent. Units reach
 *     a branch of a tree only over its edge. So its last message, less the units that the branch
 *     has given since, bounds its units. The likeliest neighbour gets the first request, and one
 *     without units gets none.
 *   - A requester requests its part by rate of all units that seem to be left, not a threshold
 *     (equation 2) more, so that it need not request again soon.
 *   - A limiter that waits for others does not refuse a request: the request waits with it.
 *
 * When the total runs low no limiter holds more than its threshold. Then thresholds are 0: a
 * limiter requests only for traffic that it cannot pass, and gives of all it has.
 *
 * A period has a number, which each limiter takes from its own clock. It begins with a ledger of
 * its own; messages of other periods are void. So no two need change at the same time. A unit is
 * spent in the period of its ledger, and no period spends more than the total.
 *
 * A pure state machine. lib/control/budget has one for each policy, and calls it in the thread of
 * the limiter: control or the simulator. Rates are in 1/1000 units a second.
 */
#ifndef WEIR_QUOTA_QUOTA_H
#define WEIR_QUOTA_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/ledger.h"

struct quota_params {
	uint64_t share;  /* part of a period's total, held when it begins */
	uint64_t period; /* its number */
	bool undated;    /* unknown so far: nothing is held before quota_period() */
	uint32_t n_edges;
	uint64_t epoch;          /* this start's: see struct ledger_params */
	uint32_t word;           /* random, for this start */
	uint64_t total;          /* bound of a balance; 0: unknown */
	uint64_t proof_until_ns; /* see struct book; 0: nothing waits */
	bool recovering;         /* an earlier start in this period has lost its state */
	bool durable;      /* the caller saves: nothing is sent or spent before quota_committed() */
	uint64_t chunk;    /* durable: units that are saved as spent before they are, at most */
	uint64_t theta_ns; /* a reallocation's time, until one has been seen */
	uint64_t memory_ns; /* half-life of the measured rate */
	uint64_t repeat_ns; /* interval of repeated messages until a neighbour confirms */
	uint32_t limiters;  /* in the group, at most; 0: unknown */
	uint64_t seed;
};

enum quota_part {
	QUOTA_REQUEST = 1,    /* `need` and `urgent` units, if you have them or can get them */
	QUOTA_COLLECT = 2,    /* the same when traffic waits: of all you have */
	QUOTA_REPORT = 4,     /* the answer to a request; the statement has the grant */
	QUOTA_DISTRIBUTE = 8, /* units for a requester that first got too few */
	QUOTA_CONFIRM = 16,   /* send a message: you have not confirmed a grant */
	QUOTA_PARTS = 31,
};

/* A message to a neighbour; parts are combined. */
struct quota_message {
	uint64_t period;
	uint32_t parts;        /* bits: enum quota_part */
	uint32_t round;        /* round of the request */
	uint32_t answer;       /* round of the answered request */
	uint64_t need, urgent; /* units; urgent: without which traffic is stopped */
	uint64_t asking;       /* rate of the limiters that the request is for */
	uint64_t held;         /* at most so many are with the sender and behind it */
	uint64_t pace;         /* rate at which they are spent */
	bool partial;          /* report: some limiter got no request, or did not answer */
	bool known;            /* `held` is no guess: reported for all of them */
	uint32_t limiters;     /* whose units it has, if it is no guess */
	struct ledger_statement statement;
};

/*
 * Sum of the reports over the tree. While the tree changes, some limiters can be missing, and
 * others count twice. Then this is the last sum without such doubt, less the units that the group
 * has spent since at its last rate.
 */
struct quota_group {
	bool known; /* false: the rest is zero */
	bool held;  /* an earlier sum */
	uint64_t remaining, pace;
};

struct quota_view {
	uint64_t period;
	bool undated;       /* the period is unknown so far */
	int64_t balance;    /* held here */
	uint64_t spent;     /* here, in this period */
	uint64_t prepaid;   /* spent, and not used yet */
	uint64_t rate;      /* see above */
	uint64_t theta_ns;  /* a reallocation takes so long */
	uint64_t threshold; /* tau: below it we request units */
	uint64_t remaining; /* left of the total, by the messages received, and by guesses */
	uint64_t pace;      /* rate of all limiters, by the messages received */
	struct quota_group group;
	bool recovering; /* holds nothing until all neighbours have reported */
	bool waits;      /* for neighbours to confirm its record; nothing is spent or given */
	bool low;        /* the total runs low: thresholds are 0 */
	bool asking, waiting;
	uint64_t rounds, short_rounds, messages, invalid;
	uint64_t fetches, fetches_ns; /* rounds of our own with requests; their time */
};

struct quota_node;

/*
 * Makes a node at the first start, or from a record that quota_save() wrote. If the record is of an
 * earlier period, the node begins the period of `params`, without its amounts. If it is of a later
 * one, the node stays in that, because clocks can be set back. It also stays while params are
 * undated. Returns 0, -EINVAL or -ENOMEM.
 */
int quota_create(const struct quota_params *params, uint64_t now_ns, struct quota_node **out);
int quota_restore(const struct quota_params *params, const void *record, size_t len,
	uint64_t now_ns, struct quota_node **out);
void quota_destroy(struct quota_node *q);

/*
 * Sets whether the edge is in the tree, and a guess of the units behind it. An edge that is taken
 * out of the tree still exchanges its earlier grants, but its earlier requests are no longer waited
 * for. The tree can change at any time, and for a while be none: call quota_tick() then.
 */
void quota_link(struct quota_node *q, uint32_t edge, bool linked, uint64_t guess);

/*
 * Passes so many units if they are held here. Returns 0; -EAGAIN while requests to others are open,
 * or -EDQUOT if they have ended and there is not enough: the policy decides about the traffic.
 * Requests are repeated now and then, because there can be a top-up.
 */
int quota_spend(struct quota_node *q, uint64_t units, uint64_t now_ns);

/* Does the same for traffic that might come: the units do not count in the rate. */
int quota_prefetch(struct quota_node *q, uint64_t units, uint64_t now_ns);

/*
 * Returns units that quota_spend() passed in this period and that were not used, and with them the
 * units saved as spent ahead of traffic. All are free again, for others too. For a stop, or when
 * the policy goes, with a record to follow; until that a crash loses them. Does not take back more
 * than were passed.
 */
void quota_refund(struct quota_node *q, uint64_t units);

/*
 * Drops the wait of traffic that quota_spend() did not pass: it has gone, and needs no requests.
 * This happens by itself when quota_spend() is not called again for longer than any pause between
 * two calls of quota_tick().
 */
void quota_forgo(struct quota_node *q);

/*
 * Makes a message to the neighbour due, with a request for an answer if `asks`: for news that rides
 * with messages, such as terms.
 */
void quota_wake_edge(struct quota_node *q, uint32_t edge, bool asks);

/* Takes a message from a neighbour. Returns false if it makes no sense (and changes nothing). */
bool quota_receive(
	struct quota_node *q, uint32_t edge, const struct quota_message *message, uint64_t now_ns);

/*
 * Returns LEDGER_DENIED or LEDGER_TWIN if quota_receive() has received proof against the record:
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

/*
 * Writes the next message to send. Returns false for none. Call it until it does after every other
 * call.
 */
bool quota_next(
	struct quota_node *q, uint64_t now_ns, uint32_t *edge, struct quota_message *message);

/* quota_next() of one edge, for messages that ride with others to the same neighbour. */
bool quota_next_to(
	struct quota_node *q, uint64_t now_ns, uint32_t edge, struct quota_message *message);

/*
 * Handles timeouts. Returns when to call again, at the latest; UINT64_MAX: not before another
 * event.
 */
uint64_t quota_tick(struct quota_node *q, uint64_t now_ns);

/*
 * Queues messages with the held units and their rate, if these are no longer near the last sent
 * values: for viewers, because spending sends requests when necessary. If `asks`, a neighbour
 * without a report gets a request for one. Call it as often as such news may be sent, and
 * immediately if quota_is_news() returns true: the limiters behind an edge have changed. Returns
 * true if there can be more without any other event.
 */
bool quota_refresh(struct quota_node *q, bool asks, uint64_t now_ns);
bool quota_is_news(const struct quota_node *q);

/*
 * Begins a later period, with such a share. The held units are void. A node that was undated now
 * follows its params, including `recovering`. Returns 0; -EINVAL for a period that is not later,
 * -ENOMEM (the old one goes on).
 */
int quota_period(struct quota_node *q, uint64_t period, uint64_t share, uint64_t now_ns);

/*
 * Sets whether a period that begins from now on can have begun here before, in a start whose state
 * is lost: it begins recovering then. Initially false.
 */
void quota_doubt(struct quota_node *q, bool doubt);

/*
 * Sets another share of this period: a top-up, or less. Units already given away or spent are a
 * debt, which is paid by received units, and is requested. Returns 0 or -EINVAL.
 */
int quota_set_share(struct quota_node *q, uint64_t share, uint64_t now_ns);

/* Sets the chunk from now on; see struct quota_params. */
void quota_set_chunk(struct quota_node *q, uint64_t chunk);

/*
 * With a disk. quota_uncommitted() returns true if something must be durable before others receive
 * it or traffic uses it. quota_save() writes the record, of at most quota_record_size() bytes.
 * Returns 0, -EBUSY (the last one is still being written) or -EAGAIN (it is recovering, and there
 * is nothing to save). Call quota_committed() when the record is durable. Call quota_save_failed()
 * if it is perhaps not durable: then it is as if quota_save() had not been called.
 */
bool quota_uncommitted(const struct quota_node *q);
size_t quota_record_size(const struct quota_node *q);
int quota_save(struct quota_node *q, void *record, size_t *len);
void quota_committed(struct quota_node *q);
void quota_save_failed(struct quota_node *q);

struct quota_view quota_view(const struct quota_node *q, uint64_t now_ns);
struct ledger_view quota_edge(const struct quota_node *q, uint32_t edge);

/*
 * Units divided by weight, exactly: equations 5 and 6 of "A tree-based protocol for enforcing
 * quotas in clouds" in whole numbers. Pure; any thread.
 */

/* So that a pool of up to 2^64 times the sum of 2^16 weights fits 128 bits. */
#define QUOTA_WEIGHT_MOST (UINT64_C(1) << 48)

/*
 * Divides the pool into n parts. Their sum is the pool, and each differs by less than one from the
 * exact part. A larger weight counts as QUOTA_WEIGHT_MOST. If all weights are 0, the last has all.
 */
void quota_divide(uint64_t pool, const uint64_t *weights, unsigned n, uint64_t *parts);

/*
 * How fast units are spent: an exponential moving average as in equation 4 of "A tree-based
 * protocol for enforcing quotas in clouds", with alpha 0.5. It decays by time, a half-life, and not
 * by reallocations, which can follow each other immediately or be hours apart. Pure; one owner.
 */

/* Zeroed before use, except start_ns. */
struct pace {
	double units;   /* spent, each halved once a half-life */
	double typical; /* units taken at a time */
	uint64_t start_ns, last_ns;
};

void pace_spend(struct pace *pace, uint64_t units, uint64_t now_ns, uint64_t half_life_ns);

/* Units that were taken at a time, whether they are spent already or not. */
void pace_typical(struct pace *pace, uint64_t units);

/* 1/1000 units a second. */
uint64_t pace_rate(const struct pace *pace, uint64_t now_ns, uint64_t half_life_ns);

#endif
