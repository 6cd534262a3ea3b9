/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The book that one limiter keeps of the totals that a group shares: rates that move (the room
 * conserve) or units that are spent (the room budget). It has an account for each policy, and over
 * each edge of an overlay a link to a neighbour. The book does not depend on the content of an
 * account; a row of operations opens, closes and writes one. It does the tasks that both kinds
 * share:
 *
 *   - accounts by their index and by the id of their policy, with the text of its name. A policy of
 *     another name that has the same id is refused, and never takes up the account;
 *   - records, each after a fingerprint of the edges, because a record is of no use if edges lead
 *     elsewhere, and after the name;
 *   - limiters that join (see book_regroup()). They have no share and no place in the overlay. Each
 *     of the others adds an edge to them, which its records name;
 *   - other policies at run time: a prepared copy takes effect when nothing can fail any more. The
 *     account of a policy that is gone is kept as long as neighbours might hold something of it;
 *   - the accounts that wait to be durable, in one round for all: one request to the disk, however
 *     many accounts have changed;
 *   - epochs, so that an account that is made again is never taken for the one before;
 *   - the identity of the ledger, which is the same at all limiters of the group, and with which
 *     every message between them begins. Messages of another ledger are rejected. When a whole
 *     group begins again, its previous life is another ledger;
 *   - which neighbours have sent messages recently.
 *
 * Policies are rows of a type of the owner's, each of which begins as struct book_name. A pure
 * state machine: the time comes in as an argument. One thread.
 */
#ifndef WEIR_BOOK_BOOK_H
#define WEIR_BOOK_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "group/overlay.h"

/* 128 bits, random, made once for a group; all zero: unknown. */
struct book_identity {
	uint64_t high, low;
};

static inline bool book_identity_known(struct book_identity identity)
{
	return identity.high || identity.low;
}

static inline bool book_identity_equal(struct book_identity a, struct book_identity b)
{
	return a.high == b.high && a.low == b.low;
}

/* Text form for people: 32 hexadecimal digits, and a NUL when it is written. */
#define BOOK_IDENTITY_TEXT 33

void book_identity_write(struct book_identity identity, char text[BOOK_IDENTITY_TEXT]);

/* Returns false if the text is not such digits, or all zero. */
bool book_identity_read(const char *text, struct book_identity *identity);

/* Bytes that every message to a neighbour begins with: its kind, and the identity. */
#define BOOK_HEAD (1 + sizeof(struct book_identity))

/*
 * Reason for which all accounts of a limiter closed and recover as if their records had been lost.
 * BOOK_IMPOSSIBLE closes nothing: it is the name of the alarm for invalid statements.
 */
enum book_closure {
	BOOK_OPEN,
	BOOK_OLDER_STORE, /* neighbours have received later records of this limiter */
	BOOK_NAME_TWICE,  /* another limiter uses our name */
	BOOK_IMPOSSIBLE,
	BOOK_CLOSURES,
};

/* Identity of a policy by its name: two halves of a hash of 128 bits, and the text. */
struct book_name {
	uint64_t id;
	uint64_t check;   /* follows the id in messages */
	const char *name; /* shorter than BOOK_NAME_MAX; NULL: "". Borrowed during a call */
};

#define BOOK_NAME_MAX 128

/* Record of one account, as book_save() wrote it. */
struct book_record {
	uint64_t id;
	const void *at;
	size_t len;
};

/* Every account begins with this. Only the book writes to it, except record_bytes (open). */
struct book_account {
	uint64_t id, check;
	char *name;
	unsigned index;
	size_t record_bytes;  /* the most that save() writes */
	bool gone;            /* no policy has it any more; others can still hold something of it */
	bool stored;          /* there can be a record of it */
	bool born;            /* a store with other records had none: proof against it is its own */
	bool saving, changed; /* in the round under way; among those that wait for one */
	TAILQ_ENTRY(book_account) next_changed;
};

/* Doubts if a neighbour's messages can be of two limiters with one name. */
enum book_doubt {
	BOOK_SURE,
	BOOK_YOUNG, /* restarted recently: a recovering start waits */
	BOOK_RIVAL, /* messages of its earlier start still arrive: all statements are ignored */
	BOOK_TWICE, /* its earlier start is alive: both starts receive that as the answer */
};

/*
 * A member of the group. All limiters have the same founders, between which the overlay is. `born`
 * differs between two memberships of one limiter: an edge leads to one membership.
 */
struct book_member {
	uint32_t id;
	bool joined; /* after the ledger was made */
	uint64_t born;
};

/* Peer of a link to a member that a record names, and that is not in the roster yet. */
#define BOOK_NO_PEER UINT32_MAX

/* One neighbour: the state that both kinds of accounts share. */
struct book_link {
	unsigned peer; /* index in the roster, or BOOK_NO_PEER */
	uint32_t id;   /* the neighbour's; and: */
	uint64_t born; /* with an added edge */
	bool alive;    /* sent a message, and since then not found to be silent for too long */
	uint64_t received_ns, sent_ns; /* when the newest message arrived, and was sent */
	bool has_reported;             /* a message has arrived; the newest is of this ledger: */
	struct book_identity peer_identity;
	uint64_t foreign;  /* messages of another ledger, rejected */
	uint64_t invalid;  /* impossible statements: corruption, or a disagreement */
	uint64_t collided; /* statements of a policy of another name and the same id */
	enum book_doubt doubt;
};

struct book;

struct book_ops {
	size_t policy_bytes;

	/*
	 * Makes the account of a policy, or of one that is gone (NULL), with the record that save()
	 * wrote of it, or NULL. Without a record it holds nothing yet if book->recovering. Returns
	 * 0, -EINVAL or -ENOMEM.
	 */
	int (*open)(struct book *book, const void *policy, const struct book_record *record,
		uint64_t now_ns, struct book_account **account);
	void (*close)(struct book *book, struct book_account *account);

	/* Checks if an account (NULL: a new one) can have these terms: 0, -EINVAL or -EOVERFLOW. */
	int (*check)(
		const struct book *book, const struct book_account *account, const void *policy);

	/* Returns true if a new account would be the same, so that this one can be forgotten. */
	bool (*untouched)(const struct book *book, const struct book_account *account);

	/* True if a neighbour has reported, to this start, that it has the policy. */
	bool (*in_use)(const struct book *book, const struct book_account *account);

	/* Returns true if something in it must be durable before others may receive it. */
	bool (*unsaved)(const struct book *book, const struct book_account *account);

	/* Writes its record, of at most record_bytes. Returns 0 or a negative errno. */
	int (*save)(struct book *book, struct book_account *account, uint8_t *record, size_t *len);

	/* The record is durable and in force, or (false) it is as if it had not been written. */
	void (*committed)(struct book *book, struct book_account *account, bool durable);

	/*
	 * Makes room for so many edges in all accounts, which book_account_moved() can replace.
	 * Returns 0 or -ENOMEM. Then add_edge() adds one, whose number is n_edges - 1. Both NULL:
	 * no limiter can join.
	 */
	int (*make_room)(struct book *book, unsigned n_edges);
	void (*add_edge)(struct book *book, uint64_t now_ns);
};

struct book_params {
	const struct book_ops *ops;
	struct overlay_params overlay; /* ids: the roster, without `members` */
	/*
	 * The roster; NULL: that of the overlay, all founders. A member that records name as a
	 * joiner is one, too. With a joiner the overlay must have an edge between all.
	 */
	const struct book_member *members;
	unsigned n_members;
	unsigned self; /* our index in the roster */
	const void *policies;
	unsigned n_policies;
	struct book_record *records; /* also of policies that are gone; they get sorted */
	unsigned n_records;
	bool recovering; /* an earlier start is possible: without a record, hold nothing */
	uint64_t epoch;  /* larger than that of any earlier start; below 2^42 */
	struct book_identity identity; /* if unknown, see book_read_head() */
	uint32_t word;                 /* random, for this start; 0: old records are not detected */
	uint64_t proof_ns;   /* accounts wait until their neighbours have confirmed the records, or
			      have been silent for so long; 0: no waiting */
	uint64_t timeout_ns; /* a neighbour that is silent for so long is not alive; above 0 */
};

struct book {
	const struct book_ops *ops;
	struct overlay *overlay; /* between the founders */
	unsigned position;       /* in the overlay, or overlay->n if we have joined */
	unsigned n_edges;
	unsigned n_first;        /* edges of the overlay, the first ones; the others are added */
	unsigned n_named;        /* added edges of a joiner to founders, the first ones of those */
	struct book_link *links; /* n_edges */
	unsigned n_roster;
	unsigned *edge_of;  /* n_roster, or BOOK_NO_PEER */
	unsigned *index_of; /* in the roster, by position */
	uint64_t timeout_ns;
	uint64_t fingerprint; /* hash of the edges */
	uint64_t next_epoch;  /* for open() to take, and to raise */
	bool recovering;
	bool has_store; /* there are or were records */
	struct book_identity identity;
	uint32_t word;
	uint64_t proof_until_ns;  /* end of waiting for silent neighbours; 0: no waiting */
	enum book_closure closes; /* newest reason in this start */
	uint64_t closures;        /* losses of all accounts in this start */
	bool held;                /* another limiter uses our name: no messages */

	unsigned n_policies, n;         /* n: including removed ones, which come last */
	struct book_account **accounts; /* n, policies by their index */
	struct book_account **by_id;    /* n, sorted */
	TAILQ_HEAD(, book_account) changed;
	unsigned n_saving;   /* accounts of `changed` in this round, the first ones */
	uint64_t *forgotten; /* n_forgotten ids, whose records are to go; */
	unsigned n_forgotten, forgotten_room, n_forgetting; /* the first ones in this round */
	uint8_t *record;                                    /* room for one, in bytes: */
	size_t record_room;
};

/*
 * Makes the overlay and the links, with no neighbour alive; then an account for each policy and for
 * each other record. Both return 0; -EINVAL (also a damaged record, or one of other edges); -EEXIST
 * (a record has the id of a policy and another name), -ENOMEM, or an error of overlay_create(). The
 * caller calls book_close() in any case.
 */
int book_open(struct book *book, const struct book_params *params);
int book_fill(struct book *book, const struct book_params *params, uint64_t now_ns);
void book_close(struct book *book);

/*
 * Takes another roster, in which self is our index. It has the founders and the joiners of before,
 * and can have more joiners: each gets an edge, which the caller commits. Returns 0, or -ENOMEM or
 * -ENOTSUP and nothing has changed. -ENOTSUP: a member is missing, a new one has not joined, or the
 * overlay has no edge between some founders.
 */
int book_regroup(struct book *book, const struct book_member *members, unsigned n, unsigned self,
	uint64_t now_ns);

/* Two steps of that: only the first one can fail. Each first step needs a second or a cancel. */
struct book_regrouping {
	unsigned *edge_of;
	struct book_link *links;
};

int book_regroup_begin(struct book *book, const struct book_member *members, unsigned n,
	unsigned self, struct book_regrouping *regrouping);
void book_regroup_commit(struct book *book, const struct book_regrouping *regrouping,
	const struct book_member *members, unsigned n, unsigned self, uint64_t now_ns);
void book_regroup_cancel(const struct book_regrouping *regrouping);

/* Replaces account i, which has moved in memory. For make_room(). */
void book_account_moved(struct book *book, unsigned i, struct book_account *account);

/*
 * Returns true if records name a member that is not in the roster. Then the owner's set of members
 * is older than its records. It must not confirm the sets of others, see ledger_set_complete().
 */
bool book_misses_member(const struct book *book);

/*
 * Fixes the links of a queue's entry that has moved in memory, or of a queue that has.
 */
#define BOOK_ENTRY_MOVED(head, entry, field)                                                 \
	do {                                                                                 \
		*(entry)->field.tqe_prev = (entry);                                          \
		if (TAILQ_NEXT(entry, field))                                                \
			TAILQ_NEXT(entry, field)->field.tqe_prev = &(entry)->field.tqe_next; \
		else                                                                         \
			(head)->tqh_last = &(entry)->field.tqe_next;                         \
	} while (0)

#define BOOK_QUEUE_MOVED(head, field)                                           \
	do {                                                                    \
		if (TAILQ_EMPTY(head))                                          \
			TAILQ_INIT(head);                                       \
		else                                                            \
			TAILQ_FIRST(head)->field.tqe_prev = &TAILQ_FIRST(head); \
	} while (0)

/* Returns the account of a policy's id, or NULL. */
struct book_account *book_find(const struct book *book, uint64_t id);

/*
 * Returns the account of a neighbour's message over an edge, or NULL. Counts one of another name.
 */
struct book_account *book_find_named(struct book *book, unsigned edge, uint64_t id, uint64_t check);

/*
 * Reads the name in a record, NUL-terminated. Returns false if the bytes are no record. Any thread.
 */
bool book_record_name(const struct book_record *record, uint64_t *check, char name[BOOK_NAME_MAX]);

/*
 * Replaces the policies by n others: accounts of ids that were there go on, and the caller gives
 * them their new terms. Returns 0; -EINVAL, -EEXIST (an account has the id of a policy and another
 * name), -EOVERFLOW or -ENOMEM, and nothing has changed.
 */
int book_update(struct book *book, const void *policies, unsigned n, uint64_t now_ns);

/*
 * Closes accounts of policies that are gone, for which `may` returns true, and has their records
 * removed with the next commit. One whose record is being saved stays. Returns their number.
 */
unsigned book_forget(struct book *book,
	bool (*may)(void *context, const struct book_account *account), void *context);

/* Returns the edge to a limiter, by its index in the roster, or n_edges. */
unsigned book_edge(const struct book *book, unsigned peer);

/*
 * Writes the head of a message; returns the place behind it. A limiter that has lost the identity
 * with its memory sends a head alone, and nothing more.
 */
uint8_t *book_write_head(const struct book *book, uint8_t kind, uint8_t *at);

/*
 * Reads the head of a message from a neighbour. Returns 0; -EBADMSG (cut short, or of another kind)
 * or -ESTALE: it is of another ledger and is counted so, or one of the two has no identity. Then
 * reject all that follows.
 *
 * A book without an identity takes that of its neighbours, once all of them have sent messages and
 * those with an identity have the same one. Fewer neighbours could not restore its memory.
 */
int book_read_head(
	struct book *book, unsigned edge, uint8_t kind, const uint8_t *message, size_t len);

/* Counts the loss of all accounts, and its reason. */
void book_closes(struct book *book, enum book_closure closure);

/* Counts an impossible statement over the edge. */
void book_invalid(struct book *book, unsigned edge);

/* Notes a good message of a neighbour; returns true if the last one was within the timeout. */
void book_note_received(struct book *book, unsigned edge, uint64_t now_ns);
bool book_alive(const struct book *book, unsigned edge, uint64_t now_ns);

/* Marks neighbours that have been silent for too long as not alive until their next message. */
void book_find_silent(struct book *book, uint64_t now_ns);

/* Call it after all that can change an account: it is committed in its turn. */
void book_changed(struct book *book, struct book_account *account);

/*
 * A round of commits: before it is durable and in force, no neighbour receives an amount that an
 * account has given away, and no traffic uses a prepaid one.
 *
 * book_save() hands each record to `write` (NULL: there is no disk). If that returns less than 0,
 * or after book_save_failed(), it is as if nothing had begun. If it returns more than 0, it has
 * that record and gets no more in this round: the accounts that have waited longest come first.
 * Without a record (NULL) that of the id is to be removed. Returns 0; -EBUSY (a round is under
 * way); -EAGAIN (nothing to be saved), or an error of `write`.
 *
 * book_committed() ends the round when all is durable, and the workers enforce no more than they
 * could at the time of book_save().
 */
typedef int (*book_write)(void *context, uint64_t id, const void *record, size_t len);

bool book_unsaved(const struct book *book);
int book_save(struct book *book, book_write write, void *context);
void book_committed(struct book *book);
void book_save_failed(struct book *book);

#endif
