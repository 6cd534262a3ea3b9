/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the files of this library share and nobody else sees: balance.c has what is held and
 * prepaid; hints.c what is thought of others; round.c asks and gives; message.c talks; quota.c has
 * the periods and the records. Each calls only those that are named before it.
 */
#ifndef WEIR_QUOTA_PRIVATE_H
#define WEIR_QUOTA_PRIVATE_H

#include "base/prng.h"
#include "quota/spend_rate.h"
#include "quota/quota.h"

/* What a neighbour has asked for. */
enum claim {
	CLAIM_NONE,
	CLAIM_NEW,      /* came while a round was under way */
	CLAIM_OPEN,     /* the round under way is for it */
	CLAIM_ANSWERED, /* with less than it needs: it gets more when there is more */
};

struct quota_edge {
	bool linked;

	uint64_t held; /* behind it, at most; what we have granted since is in it */
	uint64_t pace;
	uint64_t hint_ns;
	bool heard;    /* it has said these */
	bool known;    /* `held` is no guess */
	bool told_dry; /* we said that there is nothing behind us */
	bool early;    /* it said so while the edge was not of the tree, or not for us */
	bool told;     /* since it is we have said these of us: */
	uint64_t told_held, told_pace, told_ns;

	bool asked, answered, resent; /* in the round under way; answered: or not waited for */
	bool vague;                   /* there may be units behind it that we were not told of */
	uint64_t asked_ns;
	uint64_t asked_need, asked_received; /* units it was asked for; received until then */
	uint64_t theta_ns;                   /* until it answers */
	uint64_t silent_ns;                  /* it did not: not to be asked before */
	uint64_t other_ns; /* time of its newest statement of a later or the last period; 0: none */
	unsigned silences;
	unsigned patience; /* with one that is alive and does not answer */

	enum claim claim;
	bool claim_seen;
	uint32_t claim_round;
	uint64_t need, urgent, asking;
	bool partial; /* of the report */

	uint32_t due;        /* parts to be said */
	bool speak;          /* anything at all */
	bool uncommitted;    /* what is granted is not durable */
	bool saving;         /* is being made so */
	uint64_t granted_ns; /* when we last said what is not confirmed */
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
	bool back;                  /* restored: what is not in the record the neighbours know, */
	bool behind;                /* and it may have been in the next period before */
	bool doubt;          /* the next one may have begun here before, and been forgotten */
	bool fresh;          /* the period has begun, and no record says so */
	uint64_t waiting_ns; /* when quota_spend() last asked for them */
	uint64_t waiting;    /* units that quota_spend() did not pass */
	bool low;

	bool active; /* a round is under way */
	bool own;    /* it is for us, too */
	bool wide;   /* the likeliest have been asked */
	bool grown;  /* who was asked may have more: more is needed now than then */
	uint32_t round;
	uint64_t started_ns, ended_ns;
	uint64_t retry_ns; /* not to ask on our own behalf before */
	unsigned failures;
	bool refused;   /* we have asked, and there was not enough */
	unsigned reach; /* thresholds to have after a reallocation: the paper's 1 + beta */
	uint32_t next;  /* edge with which quota_next() goes on */
	uint64_t rounds, short_rounds, messages, invalid, fetches, fetches_ns;
};

/* balance.c */

/* Whether units that are saved as spent, or need not be, are there; they are used if so. */
bool quota_use(struct quota_node *q, uint64_t units);

/* Units here that traffic may use; and what is missing of those that traffic waits for. */
uint64_t quota_stock(const struct quota_node *q);
uint64_t quota_missing(const struct quota_node *q);

/* What has been granted or spent is told at once, where there is no disk. */
void quota_commit_now(struct quota_node *q);

/* A recovering ledger learns from others how much it may have spent: as if it were all. */
void quota_forfeit(struct quota_node *q);

/* Ends the waiting if the time has come. Returns true if the node still waits. */
bool quota_waits(struct quota_node *q, uint64_t now_ns);

/* hints.c */

uint64_t hint_rate(const struct quota_node *q, uint64_t now_ns);
uint64_t hint_threshold(const struct quota_node *q, uint64_t now_ns);

/* Our part, by rate, of what we have heard of. */
uint64_t hint_part(const struct quota_node *q, uint64_t now_ns);

/* Units to have after a reallocation. */
uint64_t hint_target(const struct quota_node *q, uint64_t now_ns);

/* Thought to be behind an edge now; and to be left of the total. */
uint64_t hint_behind(const struct quota_edge *e, uint64_t now_ns);
uint64_t hint_remaining(const struct quota_node *q, uint64_t now_ns);
uint64_t hint_pace(const struct quota_node *q, uint64_t now_ns);

/*
 * It can have nothing, so that it is no use asking; until it may have, and its word was lost, or it
 * has restarted from a record that is older than what it said.
 */
bool hint_dry(const struct quota_node *q, const struct quota_edge *e, uint64_t now_ns);

/* Fills in what a neighbour is told; and takes in what it says. */
void hint_write(
	const struct quota_node *q, uint32_t edge, struct quota_message *m, uint64_t now_ns);
void hint_read(struct quota_node *q, uint32_t edge, const struct quota_message *m, uint64_t now_ns);

/* round.c */

/* Begins a round if one is needed, and goes on with the one under way. After all that changes. */
void round_consider(struct quota_node *q, uint64_t now_ns);

/* A request has come; and an answer. */
void round_claim(
	struct quota_node *q, uint32_t edge, const struct quota_message *m, uint64_t now_ns);
void round_answer(
	struct quota_node *q, uint32_t edge, const struct quota_message *m, uint64_t now_ns);

/* A neighbour that was asked again has said something: it is alive, and still asking others. */
void round_alive(struct quota_node *q, struct quota_edge *e, uint64_t now_ns);

/*
 * A neighbour that is silent is asked again, and then not waited for. Returns when to look again.
 */
uint64_t round_timeouts(struct quota_node *q, uint64_t now_ns);

/* Units needed in all, beyond what is here, by us and by those whom the round is for. */
struct wants {
	uint64_t need, urgent, asking;
};
struct wants round_wants(const struct quota_node *q, uint64_t now_ns);

#endif
