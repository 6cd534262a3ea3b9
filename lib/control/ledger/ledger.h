/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What one limiter holds of a total that all limiters together must never exceed: a rate in bytes
 * per second, or units that are spent. It moves over edges to neighbours. Both ends of an edge keep
 * how much each has ever granted the other, and tell each other these totals, not steps: a
 * statement that is lost, repeated or overtaken does no harm. The giver lowers its own balance
 * before it tells; the taker raises its own when told. At any instant
 *
 *     sum of balances + spent + sum over edges of (granted - received) = sum of shares.
 *
 * A neighbour that dies would take its balance with it. So each may promise its best friend (GDRL,
 * section IV, node failures) a part of what it holds: the friend may take that once it has heard
 * nothing for so long that the other, should it still run, has stopped using it. The friend takes
 * by raising its `received`, so that it happens once however often it is told, and the one who
 * returns sees in the friend's statement what it no longer has.
 *
 * A pure state machine without a clock; a caller that has a disk saves it (see ledger_save()). One
 * thread. All amounts are exact; none can overflow, as nothing is accepted that would pass
 * LEDGER_MOST, and an edge whose counter would pass it gives no more. Edges are numbered from 0 to
 * n_edges - 1, and no call is made with another number.
 *
 * What is exceeded, and when: as long as nobody is in debt, never anything. Debts come from a share
 * that falls (see ledger_set_share()), and from two neighbours that lose their memory at once: the
 * edge between them begins anew, and what had gone over it is counted again where it was first.
 * The sum of what is usable exceeds the sum of shares by no more than the debts.
 */
#ifndef WEIR_LEDGER_LEDGER_H
#define WEIR_LEDGER_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEDGER_MOST   (UINT64_C(1) << 62)
#define LEDGER_NOBODY UINT32_MAX

/* Value of known_count: two limiters use the name of the receiver. */
#define LEDGER_TWICE UINT64_MAX

/* With a lease of 0 what is promised is never used, and the friend need not wait: for units. */
struct ledger_params {
	uint64_t share; /* of the total, held at the very first start; at most LEDGER_MOST */
	uint32_t n_edges;
	uint32_t friend;    /* edge to the best friend, or LEDGER_NOBODY */
	uint64_t lease_ns;  /* what is promised is used so long after the friend last heard us */
	uint32_t drift_ppm; /* by which clocks may run fast or slow; below 1,000,000 */
	uint64_t epoch;     /* of this start, not 0; above those of earlier starts and recoveries */
	uint32_t word;      /* random, for this start */
	uint64_t most;      /* whole limit or total, the bound of a balance; 0: LEDGER_MOST */
	bool recovering;    /* there may have been an earlier start, and nothing is known of it */
};

/* What one end of an edge tells the other. Everything in it replaces what it said before. */
struct ledger_statement {
	uint64_t epoch;    /* of the sender; 0: recovering, and `stamp` says which of its starts */
	uint64_t stamp;    /* the sender's clock; statements of one epoch are ordered by it */
	uint64_t granted;  /* ever, to the other */
	uint64_t promised; /* at least granted: what the other may have received if we are gone */
	uint64_t received; /* ever, from the other */
	uint64_t echo_epoch; /* newest statement of the other that went into this one */
	uint64_t echo_stamp;
	uint64_t least_epoch; /* statements of the other below this epoch are void from now on */
	uint64_t count;       /* count of the sender's newest durable record */
	uint64_t known_count; /* newest count received from known_word, or LEDGER_TWICE */
	uint32_t word;        /* random word of the sender's start */
	uint32_t known_word;  /* the other's newest start that has accepted its echo; 0: none */
};

enum ledger_verdict {
	LEDGER_NEWS,    /* it changed what we hold, or what may be moved */
	LEDGER_HEARD,   /* it is newer, and nothing else is new */
	LEDGER_OLD,     /* overtaken, repeated, or of an earlier start of the neighbour's */
	LEDGER_INVALID, /* a counter fell, or claims what was never promised: nothing is believed */
	LEDGER_DENIED,  /* proof that our record is old or copied: ledger_lose() is due */
	LEDGER_TWIN,    /* two limiters use our name: ledger_lose() is due */
	LEDGER_VERDICTS,
};

/* One edge, as an operator may see it. */
struct ledger_view {
	uint64_t granted, promised, received;
	uint64_t in_flight; /* granted, and the neighbour has not said that it has it */
	uint64_t
		locked; /* the most that the neighbour may have received, without being told more */
	uint64_t inherited; /* taken from the neighbour while it was gone, and still here */
	uint64_t count;     /* newest count received from the neighbour */
	bool known;         /* it has made a valid statement in this start of ours */
	bool confirmed;     /* it has received this start of ours, and has no later record of us */
	bool denies;        /* its last statement contradicts our record */
	uint64_t heard_ns;
};

struct ledger;

/*
 * With the share, or from the newest record that became durable, whose n_edges must be the same; it
 * holds the share, too, and params->share is only checked. If the epoch is not larger than that of
 * the record, the ledger takes one that is, and is to be saved before it says anything.
 *
 * A recovering one holds nothing until every neighbour has said what the edge between them has
 * seen; that it had spent something is forgotten with its memory, and so is what it had given to or
 * taken from a neighbour that is recovering as well. After a recovering start no older record may
 * ever be restored.
 *
 * 0; -EINVAL (also a record that was cut, altered, or is of another number of edges, and one that
 * is to be restored recovering) or -ENOMEM.
 */
int ledger_create(const struct ledger_params *params, uint64_t now_ns, struct ledger **out);
int ledger_restore(const struct ledger_params *params, const void *record, size_t len,
	uint64_t now_ns, struct ledger **out);
void ledger_destroy(struct ledger *l);

/* Returns the count of the newest durable record, which rises with each record. */
uint64_t ledger_count(const struct ledger *l);

/* Holds nothing yet, and says so to its neighbours. */
bool ledger_recovering(const struct ledger *l);

/*
 * Returns true from the start until its first record is durable, and from ledger_lose() until
 * ledger_loss_committed(). Until then ledger_state() must not be called, so that each life that
 * neighbours receive is in a record. Always false without a word.
 */
bool ledger_is_mute(const struct ledger *l);

/*
 * Drops the record, which is old or used by another limiter: the ledger recovers as if it had
 * none. Has no effect while it is recovering. Call ledger_loss_committed() when no later start can
 * restore the record. An earlier question would close the edges of the neighbours, and drop
 * their proof that the record is old.
 */
void ledger_lose(struct ledger *l);
void ledger_loss_committed(struct ledger *l);

/*
 * Continues the lives and counts of a former ledger of this limiter, on both sides of each edge,
 * without the amounts. The first call on a new ledger.
 */
void ledger_continue(struct ledger *l, const struct ledger *former);

/*
 * Raises the bound of a balance to a larger whole limit. A lowered limit does not lower the bound,
 * because neighbours can have granted amounts by the larger limit.
 */
void ledger_raise_most(struct ledger *l, uint64_t most);

/* The share of the total that it counts, see ledger_set_share(). */
uint64_t ledger_share(const struct ledger *l);

/* All that is held here, promised or not; less than nothing is a debt, see ledger_set_share(). */
int64_t ledger_balance(const struct ledger *l);

/*
 * What may be enforced now as a rate: the balance, less what is promised once the lease has ended.
 * It falls at `*until_ns` even if nothing is heard (UINT64_MAX: it does not), to what this returns
 * for that time; until_ns may be NULL.
 */
uint64_t ledger_usable(const struct ledger *l, uint64_t now_ns, uint64_t *until_ns);

/* Returns the amount that can be granted or spent: held and not promised. */
uint64_t ledger_free(const struct ledger *l);

/*
 * Moves an amount to a neighbour. It leaves the balance at once, and the statements once the
 * ledger is committed. 0; -EDQUOT (more than ledger_free()), -EOVERFLOW (the edge's counter is at
 * its end), -EAGAIN (recovering).
 */
int ledger_grant(struct ledger *l, uint32_t edge, uint64_t amount);

/*
 * Units that are gone for good: 0, -EDQUOT (more than ledger_free()), -EOVERFLOW or -EAGAIN. A
 * crash forgets what was spent since the last record: serve no unit before that is durable.
 */
int ledger_spend(struct ledger *l, uint64_t units);
uint64_t ledger_spent(const struct ledger *l);

/*
 * Units that were spent and not used after all are held again. Until that is in a record a crash
 * loses them. 0; -EINVAL (more than was spent), -EOVERFLOW (more than LEDGER_MOST would be held) or
 * -EAGAIN (recovering).
 */
int ledger_refund(struct ledger *l, uint64_t units);

/*
 * Sets the part of the balance that the best friend may take from now on; less only counts when the
 * friend has said that it knows. What is granted to the friend does not count towards it. 0;
 * -EDQUOT (more than is held), -ENOENT (no friend), -EOVERFLOW, -EAGAIN (recovering).
 */
int ledger_promise(struct ledger *l, uint64_t amount);

/*
 * Another share (the total has been changed; every limiter does so by itself). Where a fall is
 * more than what is free, the rest is a debt: the balance is below zero, and what comes in pays it
 * first. 0, -EINVAL (more than LEDGER_MOST) or -EOVERFLOW (more than that would be held).
 */
int ledger_set_share(struct ledger *l, uint64_t share);

/* What to tell a neighbour now. Of what was granted or promised, only what is committed. */
void ledger_state(
	struct ledger *l, uint32_t edge, uint64_t now_ns, struct ledger_statement *statement);

/*
 * Repeating the last statement without sending it. Both ends have it; it is ledger_settled(),
 * which has no stamps. The sender asserts this at a stamp of at least ledger_next_stamp(), together
 * with ledger_heard_stamp() or an older stamp of the neighbour (0: nothing can be repeated). The
 * receiver calls ledger_hear_again(), with the same outcome as ledger_hear().
 */
struct ledger_statement ledger_settled(const struct ledger *l, uint32_t edge);
uint64_t ledger_next_stamp(const struct ledger *l, uint32_t edge, uint64_t now_ns);
uint64_t ledger_heard_stamp(const struct ledger *l, uint32_t edge);
void ledger_state_again(struct ledger *l, uint32_t edge, uint64_t now_ns, uint64_t stamp);

/* Returns true for a statement of a neighbour that had received this start of ours. */
bool ledger_is_echoed(const struct ledger *l, const struct ledger_statement *statement);

/*
 * What a neighbour has told us. One that was promised something and comes back without its memory
 * is granted it: it may have taken it and passed it on.
 */
enum ledger_verdict ledger_hear(
	struct ledger *l, uint32_t edge, uint64_t now_ns, const struct ledger_statement *statement);

enum ledger_verdict ledger_hear_again(
	struct ledger *l, uint32_t edge, uint64_t now_ns, uint64_t stamp, uint64_t echo_stamp);

/*
 * Inheriting: what may now be taken of a neighbour's balance as its best friend, 0 while it may be
 * alive; and taking it. ledger_inherit() returns what has been added to the balance. It takes a
 * promise that was made to this start of ours: after a restart, the neighbour must have heard us.
 */
bool ledger_was_promised(const struct ledger *l, uint32_t edge); /* something, for later */
uint64_t ledger_inheritable(const struct ledger *l, uint32_t edge, uint64_t now_ns);
uint64_t ledger_inherit(struct ledger *l, uint32_t edge, uint64_t now_ns);

/*
 * Committing: what was taken from the balance is told to nobody before it is out of use here and,
 * if there is a disk, durable. ledger_uncommitted() says whether there is something to commit;
 * ledger_save() writes all that must survive a restart (at most ledger_record_size() bytes; record
 * and len may be NULL where there is no disk) and begins; ledger_committed() ends it, when the
 * record is durable and the workers enforce no more than was usable at the time of ledger_save();
 * ledger_save_failed() ends it as if it had not begun, whether or not the record is durable after
 * all. Grants in between wait for the next. 0; -EBUSY: begun already; -EAGAIN: recovering.
 */
bool ledger_uncommitted(const struct ledger *l);
size_t ledger_record_size(const struct ledger *l);
int ledger_save(struct ledger *l, void *record, size_t *len);
void ledger_committed(struct ledger *l);
void ledger_save_failed(struct ledger *l);

struct ledger_view ledger_view(const struct ledger *l, uint32_t edge);

#endif
