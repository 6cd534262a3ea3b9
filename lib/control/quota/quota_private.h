/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to lib/control/quota. The held and prefetched units, and the rate at which
 * they are spent, are in balance.c, the estimates of others in hints.c, requests and grants in
 * round.c, messages in message.c. Periods and records are in quota.c. Each calls only files that
 * are named before it.
 */
#ifndef WEIR_QUOTA_PRIVATE_H
#define WEIR_QUOTA_PRIVATE_H

#include "base/prng.h"
#include "quota/quota.h"

/* State of a neighbour's request. */
enum claim {
	CLAIM_NONE,
	CLAIM_NEW,      /* came while a round was under way */
	CLAIM_OPEN,     /* the round under way is for it */
	CLAIM_ANSWERED, /* with less than it needs: it gets more when there is more */
};

struct quota_edge {
	bool linked;

	uint64_t held; /* behind it, at most; includes our grants since */
	uint64_t pace;
	uint64_t hint_ns;
	bool has_reported; /* the neighbour has sent these */
	bool known;        /* `held` is no guess */
	uint32_t limiters; /* number of limiters with these units */
	bool sent_dry;     /* our last message had nothing behind us */
	bool early;        /* sent while the edge was not in the tree, or not for us */
	bool has_sent;     /* since it is in the tree we have sent these: */
	uint64_t sent_held, sent_pace, sent_ns;
	uint32_t sent_limiters; /* 0: a guess */

	bool asked, answered, resent; /* in the round under way; answered: or not waited for */
	bool vague;                   /* there can be units behind it without a report to us */
	uint64_t asked_ns;
	uint64_t asked_need, asked_received; /* units requested of it; received until then */
	uint64_t theta_ns;                   /* time until it answers */
	uint64_t silent_ns;                  /* after no answer: no request before */
	uint64_t other_ns; /* time of its newest statement of a later or the last period; 0: none */
	unsigned silences;
	unsigned patience; /* with one that is alive and does not answer */

	enum claim claim;
	bool claim_seen;
	uint32_t claim_round;
	uint64_t need, urgent, asking;
	bool partial; /* for the report */

	uint32_t due;        /* parts to be sent */
	bool speak;          /* anything at all */
	bool uncommitted;    /* a grant is not durable */
	bool saving;         /* a grant is being made durable */
	uint64_t granted_ns; /* when we last sent an unconfirmed grant */
};

/* Repetitions without a statement after which a start does not wait for a neighbour. */
#define SILENT_REPEATS 4

/* Factor of repetitions by a waiting start, so that few lost messages cannot end the waiting. */
#define WAITING_REPEATS 8

struct quota_node {
	struct quota_params params;
	struct ledger *ledger;
	struct quota_edge *edges;
	uint64_t *weights, *parts; /* n_edges + 1, to divide */
	struct prng prng;
	struct pace pace;
	uint64_t theta_ns;

	uint64_t prepaid, drawn,
		committing; /* committed; spent in the ledger and not saved; or being */
	bool saving;
	bool waits;                 /* see struct quota_view */
	enum ledger_verdict denied; /* see quota_denied() */
	bool lost;                  /* another start can have begun the next period here */
	uint64_t sent_count;        /* newest count of a record in a message */
	bool back;                  /* restored: neighbours have all that is not in the record, */
	bool behind;                /* also perhaps in the next period before */
	bool doubt;                 /* the next one perhaps began here before, and was lost */
	bool fresh;                 /* the period has begun, and is in no record */
	uint64_t waiting_ns;        /* when quota_spend() last needed them */
	uint64_t waiting;           /* units that quota_spend() did not pass */
	bool low;

	bool active; /* a round is under way */
	bool own;    /* round is for us, too */
	bool wide;   /* requests to the likeliest are sent */
	bool grown;  /* neighbours can have more: more is needed now than at the request */
	uint32_t round;
	uint64_t started_ns, ended_ns;
	uint64_t retry_ns; /* no request on our own behalf before */
	unsigned failures;
	bool refused;   /* requests brought not enough */
	unsigned reach; /* thresholds to have after a reallocation: the paper's 1 + beta */
	uint32_t next;  /* edge with which quota_next() goes on */
	uint64_t rounds, short_rounds, messages, invalid, fetches, fetches_ns;

	bool news;                /* see quota_is_news() */
	uint32_t counted;         /* limiters in the sum of the reports; 0: none yet */
	uint64_t counted_ns;      /* time of the last change of that number */
	bool settled;             /* the number has lasted for long enough */
	uint64_t unsettled_ns;    /* time of the last end of that */
	struct quota_group group; /* last sum that had settled: see hint_settle() */
	uint64_t group_ns;        /* its time */
};

/* balance.c */

/* Uses units that are saved as spent, or need not be. Returns false if there are too few. */
bool quota_use(struct quota_node *q, uint64_t units);

/*
 * Returns the units here that traffic can use; the missing part of the units that traffic waits
 * for.
 */
uint64_t quota_stock(const struct quota_node *q);
uint64_t quota_missing(const struct quota_node *q);

/* Commits grants and expenses immediately if there is no disk. */
void quota_commit_now(struct quota_node *q);

/* After a recovery, counts all free units as spent: others report its grants, not its expenses. */
void quota_forfeit(struct quota_node *q);

/* Ends the waiting if the time has come. Returns true if the node still waits. */
bool quota_waits(struct quota_node *q, uint64_t now_ns);

/* hints.c */

uint64_t hint_rate(const struct quota_node *q, uint64_t now_ns);
uint64_t hint_threshold(const struct quota_node *q, uint64_t now_ns);

/* Our part, by rate, of all units in received messages. */
uint64_t hint_part(const struct quota_node *q, uint64_t now_ns);

/* Units to have after a reallocation. */
uint64_t hint_target(const struct quota_node *q, uint64_t now_ns);

/* Units that are probably behind an edge now; left of the total. */
uint64_t hint_behind(const struct quota_edge *e, uint64_t now_ns);
uint64_t hint_remaining(const struct quota_node *q, uint64_t now_ns);
uint64_t hint_pace(const struct quota_node *q, uint64_t now_ns);

/*
 * hint_settle() counts the limiters in the reports, and keeps the sum while their number is
 * settled. Call it after each change. Returns when to call again. hint_group() returns the sum for
 * viewers.
 */
uint64_t hint_settle(struct quota_node *q, uint64_t now_ns);
struct quota_group hint_group(const struct quota_node *q, uint64_t now_ns);

/*
 * Returns true if the branch can have nothing, so that a request is useless. It ends after a while,
 * because later news can be lost, or the neighbour has restarted from a record older than its
 * message.
 */
bool hint_dry(const struct quota_node *q, const struct quota_edge *e, uint64_t now_ns);

/* Fills in the hints for a neighbour; takes them from its message. */
void hint_write(
	const struct quota_node *q, uint32_t edge, struct quota_message *m, uint64_t now_ns);
void hint_read(struct quota_node *q, uint32_t edge, const struct quota_message *m, uint64_t now_ns);

/* round.c */

/*
 * Begins a round if one is needed, and goes on with the one under way. Call it after all changes.
 */
void round_consider(struct quota_node *q, uint64_t now_ns);

/* Takes a request; takes an answer. */
void round_claim(
	struct quota_node *q, uint32_t edge, const struct quota_message *m, uint64_t now_ns);
void round_answer(
	struct quota_node *q, uint32_t edge, const struct quota_message *m, uint64_t now_ns);

/* A neighbour has sent a message after a repeated request: it is alive, with requests to others. */
void round_alive(struct quota_node *q, struct quota_edge *e, uint64_t now_ns);

/*
 * Repeats requests to a silent neighbour, and then stops waiting for it. Returns when to look
 * again.
 */
uint64_t round_timeouts(struct quota_node *q, uint64_t now_ns);

/* Units needed in all, beyond those here, by us and by the neighbours that the round is for. */
struct wants {
	uint64_t need, urgent, asking;
};
struct wants round_wants(const struct quota_node *q, uint64_t now_ns);

#endif
