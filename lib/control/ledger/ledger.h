/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The part that one limiter holds of a total. All limiters together must never exceed the total: a
 * rate in bytes per second, or units that are spent. It moves over edges to neighbours. Both ends
 * of an edge count how much each has ever granted the other, and exchange these totals, not steps.
 * So a statement that is lost, repeated or overtaken does no harm. The giver lowers its own balance
 * before it sends the new total; the taker raises its own on receipt. At any instant
 *
 *     sum of balances + spent + sum over edges of (granted - received) = sum of shares.
 *
 * A neighbour that dies would take its balance with it. So each can promise its backup neighbour
 * (the "best friend" of GDRL, section IV, node failures) a part of its balance. The backup takes
 * that part after it has received no statement for so long that the other, if it still runs, has
 * stopped using it. The backup takes by raising its `received`, so that it takes once, however
 * often the promise is repeated. A promiser that returns finds in the backup's statement the amount
 * that it no longer has.
 *
 * A limiter that joins has a share of 0, and its neighbours add edges to it with ledger_add_edge().
 * It begins like one that has lost its memory. So a join creates no amount, with any messages lost.
 * A recovery ends only with all edges, see ledger_set_complete(). So when a joiner's has ended, all
 * others have an edge to it. Until then the edge is not met, and no amount moves to it.
 *
 * A pure state machine without a clock; a caller that has a disk saves it (see ledger_save()). One
 * thread. All amounts are exact. None can overflow, because the ledger rejects anything that would
 * pass LEDGER_MOST, and an edge whose counter would pass it gives no more. Edges are numbered from
 * 0 to n_edges - 1; callers pass no other number.
 *
 * Without debts, nothing is ever exceeded. Debts come from a share that falls (see
 * ledger_set_share()), and from two neighbours that lose their memory at the same time. The edge
 * between them then starts again from zero, and the amounts that had moved over it count where they
 * were first. The sum of usable amounts exceeds the sum of shares by no more than the debts.
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

/* With lease_ns 0 a promised amount is never used, and the backup need not wait: for units. */
struct ledger_params {
	uint64_t share; /* part of the total, held at the very first start; at most LEDGER_MOST */
	uint32_t n_edges;
	uint32_t n_added;   /* the last ones of them, like after ledger_add_edge() */
	uint32_t friend;    /* edge to the backup neighbour, or LEDGER_NOBODY */
	uint64_t lease_ns;  /* a promised amount is used so long after our last echoed stamp */
	uint32_t drift_ppm; /* by which clocks may run fast or slow; below 1,000,000 */
	uint64_t epoch;     /* this start's, not 0; above those of earlier starts and recoveries */
	uint32_t word;      /* random, for this start */
	uint64_t most;      /* whole limit or total, the bound of a balance; 0: LEDGER_MOST */
	bool recovering;    /* an earlier start is possible, and its state is lost */
	bool incomplete;    /* see ledger_set_complete() */
};

/* Statement of one end of an edge to the other. Each value replaces the previous one. */
struct ledger_statement {
	uint64_t epoch;      /* sender's; 0: recovering, and `stamp` identifies its start */
	uint64_t stamp;      /* sender's clock; orders the statements of one epoch */
	uint64_t granted;    /* total ever granted to the other */
	uint64_t promised;   /* at least granted: most the other can have received if we are gone */
	uint64_t received;   /* total ever received from the other */
	uint64_t echo_epoch; /* newest statement of the other that went into this one */
	uint64_t echo_stamp;
	uint64_t least_epoch; /* statements of the other below this epoch are void from now on */
	uint64_t count;       /* count of the sender's newest durable record */
	uint64_t known_count; /* newest count received from known_word, or LEDGER_TWICE */
	uint32_t word;        /* random word of the sender's start */
	uint32_t known_word;  /* the other's newest start that has accepted its echo; 0: none */
};

enum ledger_verdict {
	LEDGER_NEWS,    /* changes the balance, or the amount that can be moved */
	LEDGER_HEARD,   /* newer, without other changes */
	LEDGER_OLD,     /* overtaken, repeated, or of an earlier start of the neighbour's */
	LEDGER_INVALID, /* a counter fell, or exceeds the promised amount: rejected */
	LEDGER_DENIED,  /* proof that our record is old or copied: ledger_lose() is due */
	LEDGER_TWIN,    /* two limiters use our name: ledger_lose() is due */
	LEDGER_VERDICTS,
};

/* One edge, as an operator may see it. */
struct ledger_view {
	uint64_t granted, promised, received;
	uint64_t in_flight; /* granted, and not confirmed by the neighbour */
	uint64_t locked;    /* most that the neighbour can have received without a new statement */
	uint64_t inherited; /* taken from the neighbour while it was gone, and still here */
	uint64_t count;     /* newest count received from the neighbour */
	bool met;           /* amounts can be given over the edge, see ledger_add_edge() */
	bool known;         /* the neighbour has sent a valid statement to this start of ours */
	bool confirmed;     /* the neighbour has received this start of ours, and no later record */
	bool denies;        /* its last statement contradicts our record */
	uint64_t received_ns; /* time of receipt of its newest statement */
};

struct ledger;

/*
 * Creates a ledger with the share, or restores it from the newest record that became durable. The
 * record has the same edges, or fewer: the last ones, of n_added, were added since. It holds the
 * share, too, and params->share is only checked. If the epoch is not larger than that of the
 * record, the ledger takes one that is; the caller saves it before it sends anything.
 *
 * A recovering ledger holds nothing until every neighbour has reported the counters of the edge
 * between them. Its spent amount is lost with its memory. So are the amounts that it gave to or
 * took from a neighbour that recovers as well. After a recovering start no older record may ever be
 * restored.
 *
 * Returns 0, -ENOMEM or -EINVAL. -EINVAL also means a record that was cut, altered, or has another
 * number of edges, or a restore with `recovering` set.
 */
int ledger_create(const struct ledger_params *params, uint64_t now_ns, struct ledger **out);
int ledger_restore(const struct ledger_params *params, const void *record, size_t len,
	uint64_t now_ns, struct ledger **out);
void ledger_destroy(struct ledger *l);

/*
 * Adds an edge with amounts of 0, whose number is the previous n_edges; the caller commits it. It
 * is met after a statement of a neighbour that is not recovering. Call ledger_make_room() before,
 * with all edges that there will be: it moves the ledger in memory. Returns 0 or -ENOMEM.
 */
int ledger_make_room(struct ledger **l, uint32_t n_edges);
void ledger_add_edge(struct ledger *l, uint64_t now_ns);

/*
 * Sets if all edges are here that any member of the group can have to this limiter. Until then a
 * recovery does not end: amounts that had moved over a missing edge would count where they were
 * first. Returns true if a recovery has ended.
 */
bool ledger_set_complete(struct ledger *l, bool complete);

/* Returns the count of the newest durable record, which rises with each record. */
uint64_t ledger_count(const struct ledger *l);

/* Returns true while it holds nothing yet, and its statements to neighbours have epoch 0. */
bool ledger_recovering(const struct ledger *l);

/*
 * Returns true from the start until its first record is durable, and from ledger_lose() until
 * ledger_loss_committed(). Until then ledger_state() must not be called, so that each life that
 * neighbours receive is in a record. Always false without a word.
 */
bool ledger_is_mute(const struct ledger *l);

/*
 * Drops the record, which is old or used by another limiter: the ledger recovers as if it had none.
 * Has no effect while it is recovering. Call ledger_loss_committed() when no later start can
 * restore the record. A request sent earlier would close the edges of the neighbours, and drop
 * their proof that the record is old.
 */
void ledger_lose(struct ledger *l);
void ledger_loss_committed(struct ledger *l);

/*
 * Continues the lives and counts of a previous ledger of this limiter, on both sides of each edge,
 * without the amounts. The first call on a new ledger.
 */
void ledger_continue(struct ledger *l, const struct ledger *previous);

/*
 * Raises the bound of a balance to a larger whole limit. A lowered limit does not lower the bound,
 * because neighbours can have granted amounts by the larger limit.
 */
void ledger_raise_most(struct ledger *l, uint64_t most);

/* Returns the share of the total that it counts, see ledger_set_share(). */
uint64_t ledger_share(const struct ledger *l);

/* Returns the held amount, promised or not; below zero it is a debt, see ledger_set_share(). */
int64_t ledger_balance(const struct ledger *l);

/*
 * Returns the rate that can be enforced now: the balance, less the promised amount after the lease
 * has ended. It falls at `*until_ns` even if no statement arrives (UINT64_MAX: it does not), to the
 * return value for that time; until_ns may be NULL.
 */
uint64_t ledger_usable(const struct ledger *l, uint64_t now_ns, uint64_t *until_ns);

/* Returns the amount that can be granted or spent: held and not promised. */
uint64_t ledger_free(const struct ledger *l);

/*
 * Moves an amount to a neighbour. The balance falls immediately, and statements contain the grant
 * once the ledger is committed. Returns 0; -EDQUOT (more than ledger_free()), -EOVERFLOW (the
 * edge's counter is at its end), -EAGAIN (recovering), -ENOTCONN (the edge is not met).
 */
int ledger_grant(struct ledger *l, uint32_t edge, uint64_t amount);

/*
 * Spends units for good. Returns 0, -EDQUOT (more than ledger_free()), -EOVERFLOW or -EAGAIN. A
 * crash forgets units spent since the last record: serve no unit before that is durable.
 */
int ledger_spend(struct ledger *l, uint64_t units);
uint64_t ledger_spent(const struct ledger *l);

/*
 * Returns spent but unused units to the balance. A crash loses them until a record contains the
 * refund. Returns 0; -EINVAL (more than was spent), -EOVERFLOW (the balance would exceed
 * LEDGER_MOST) or -EAGAIN (recovering).
 */
int ledger_refund(struct ledger *l, uint64_t units);

/*
 * Sets the part of the balance that the backup neighbour can take from now on. A lower amount
 * counts only after the backup has confirmed it. Grants to the backup do not count towards it.
 * Returns 0; -EDQUOT (more than is held), -ENOENT (no backup), -EOVERFLOW, -EAGAIN (recovering),
 * -ENOTCONN (the edge to the backup is not met).
 */
int ledger_promise(struct ledger *l, uint64_t amount);

/*
 * Sets another share (the total has changed; every limiter does so by itself). If a fall exceeds
 * the free amount, the rest is a debt: the balance is below zero, and received amounts pay it
 * first. Returns 0, -EINVAL (more than LEDGER_MOST) or -EOVERFLOW (the balance would exceed that).
 */
int ledger_set_share(struct ledger *l, uint64_t share);

/*
 * Writes the statement to send to a neighbour now. It contains only committed grants and promises.
 */
void ledger_state(
	struct ledger *l, uint32_t edge, uint64_t now_ns, struct ledger_statement *statement);

/*
 * Repeating the last statement without sending it. Both ends have it; it is ledger_settled(),
 * which has no stamps. The sender asserts this at a stamp of at least ledger_next_stamp(), together
 * with ledger_received_stamp() or an older stamp of the neighbour (0: nothing can be repeated). The
 * receiver calls ledger_receive_repeat(), with the same outcome as ledger_receive().
 */
struct ledger_statement ledger_settled(const struct ledger *l, uint32_t edge);
uint64_t ledger_next_stamp(const struct ledger *l, uint32_t edge, uint64_t now_ns);
uint64_t ledger_received_stamp(const struct ledger *l, uint32_t edge);
void ledger_state_again(struct ledger *l, uint32_t edge, uint64_t now_ns, uint64_t stamp);

/* Returns true for a statement of a neighbour that had received this start of ours. */
bool ledger_is_echoed(const struct ledger *l, const struct ledger_statement *statement);

/*
 * Takes a statement from a neighbour. A neighbour that was promised an amount and returns without
 * its memory is granted it: it can have taken it and passed it on.
 */
enum ledger_verdict ledger_receive(
	struct ledger *l, uint32_t edge, uint64_t now_ns, const struct ledger_statement *statement);

enum ledger_verdict ledger_receive_repeat(
	struct ledger *l, uint32_t edge, uint64_t now_ns, uint64_t stamp, uint64_t echo_stamp);

/*
 * Inheriting. ledger_inheritable() returns the amount that can now be taken of a neighbour's
 * balance as its backup; 0 while it might be alive. The function ledger_inherit() takes it,
 * and returns the amount added to the balance. The promise must be to this start of ours: after a
 * restart, the neighbour must have received a statement of ours.
 */
bool ledger_was_promised(const struct ledger *l, uint32_t edge); /* an amount, for later */
uint64_t ledger_inheritable(const struct ledger *l, uint32_t edge, uint64_t now_ns);
uint64_t ledger_inherit(struct ledger *l, uint32_t edge, uint64_t now_ns);

/*
 * Committing: statements contain an amount taken from the balance only after it is out of use here
 * and, if there is a disk, durable. Call ledger_uncommitted() to learn if there is something to
 * commit. Call ledger_save() to begin a commit: it writes all that must survive a restart (at most
 * ledger_record_size() bytes). If there is no disk, record and len can be NULL. Returns 0, -EBUSY
 * (begun already) or -EAGAIN (recovering). Call ledger_committed() to end it, when the record is
 * durable and the workers enforce no more than was usable at the time of ledger_save(). Or call
 * ledger_save_failed() to end it as if it had not begun, whether or not the record is durable after
 * all. Grants in between wait for the next commit.
 */
bool ledger_uncommitted(const struct ledger *l);
size_t ledger_record_size(const struct ledger *l);
int ledger_save(struct ledger *l, void *record, size_t *len);
void ledger_committed(struct ledger *l);
void ledger_save_failed(struct ledger *l);

struct ledger_view ledger_view(const struct ledger *l, uint32_t edge);

/*
 * A statement as bytes: its numbers in the order of struct ledger_statement, eight bytes each and
 * four for the words, big-endian. The enclosing datagram identifies sender, receiver and subject,
 * and protects it from changes. Pure; any thread.
 */

#define LEDGER_STATEMENT_BYTES 88

void ledger_statement_write(
	const struct ledger_statement *statement, uint8_t buf[LEDGER_STATEMENT_BYTES]);

/* Sets both stamps of a written statement to 0, as in ledger_settled(). */
void ledger_statement_unstamp(uint8_t buf[LEDGER_STATEMENT_BYTES]);

/* Returns 0, or -EBADMSG: another length, or values that no ledger makes. */
int ledger_statement_read(struct ledger_statement *statement, const uint8_t *buf, size_t len);

#endif
