/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Who counts. A peer counts only while both hold: we hear it, and it confirms that it hears us. So
 * a path that is cut in one direction alone makes both sides give up the other's part, and the sum
 * of what they use stays within the limit.
 *
 * A peer is known by its epoch, random at each of its starts. A new epoch is believed when a
 * datagram of it echoes our own epoch and a recent tick of ours: nobody but a holder of the key who
 * has lately heard us can make one, so datagrams recorded earlier (from an earlier start of either
 * side) never pass, and neither clocks nor disks are needed for it. Recent is what was sent within
 * the timeout, and after all that the peer has echoed before: so a start that is over cannot prove
 * itself once more, however soon the next one has come.
 *
 * An epoch that is said without proof is a claim. Somebody who plays recordings back can make as
 * many as the peer has had starts, and of the one that is true nothing tells it apart but that its
 * proof comes once it has been echoed. So several claims are kept, and echoed in turn. One that has
 * been echoed and was not proven within the timeout is refuted: it makes room for another, and
 * never takes the place of one that still has its turn or its time before it.
 */
#ifndef WEIR_GOSSIP_MEMBERSHIP_H
#define WEIR_GOSSIP_MEMBERSHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/prng.h"

#define REPLAY_WINDOW 64 /* datagrams that may arrive out of order */
#define PEER_CLAIMS   16 /* kept for a peer */
#define PEER_RETIRED  16 /* epochs of a peer that are over and known as such */

/* What a limiter has said it can read, in a datagram that is its own. */
struct peer_speaks {
	uint8_t version; /* the newest format, no newer than ours; 0: nothing is known */
	bool identity;   /* opens what is sealed with identities */
};

/* An epoch that a peer is said to have. Times are ticks of ours. */
struct peer_claim {
	uint64_t epoch; /* 0: none */
	uint32_t tick;  /* newest of that epoch that was said */
	uint32_t said;  /* when it was said last */
	uint32_t told;  /* when it was echoed for the first time */
	bool was_told;
	struct peer_speaks speaks;
};

/* An epoch that was believed before, and never is again. */
struct peer_retired {
	uint64_t epoch;   /* 0: none */
	uint64_t counter; /* highest received */
};

struct peer {
	uint32_t id; /* FNV-1a of its name */
	bool known;  /* `epoch` is believed */
	bool alive;  /* counts, as of the last membership_expire() */
	uint64_t epoch;
	uint32_t tick;         /* newest tick of that epoch that has reached us, by anybody */
	uint32_t own_tick;     /* the newest that it has said itself, once it is proven */
	uint32_t spoke_tick;   /* ours, in which it last spoke */
	uint64_t spoke_ns;     /* when its own tick came first */
	uint64_t heard_ns;     /* when the tick last advanced */
	uint64_t confirmed_ns; /* when our newest tick that it confirmed was sent */
	bool confirmed;
	bool proven;      /* it has said its epoch itself; others may have told it before */
	uint64_t counter; /* highest counter received directly */
	uint64_t window;  /* bit i: counter - i was received */
	bool has_echoed;
	uint32_t echoed; /* our newest tick that it has echoed, in whatever epoch */
	struct peer_retired retired[PEER_RETIRED]; /* newest first */
	struct peer_claim claims[PEER_CLAIMS];     /* none is of the epoch that is believed */
	uint8_t claim_turn;        /* the claim that is echoed next, if there is one */
	bool echo_claim;           /* the next echo is of a claim */
	struct peer_speaks speaks; /* in the epoch that is believed */
	uint32_t key;       /* name of the key that its last datagram was sealed with; 0: none */
	uint8_t unreadable; /* a format that was said to be its and that we do not read; 0: none */
	uint64_t restarts;  /* epochs believed after the first */
	uint32_t replaced_tick; /* ours, when the newest epoch was retired */
	uint32_t rival_tick;    /* ours, of the newest datagram of a retired epoch */
	uint32_t twice_tick;    /* the same, of one sent after it was retired */
	bool replaced, rival, twice;
	uint64_t other_epoch; /* another start of ours, in the newest echoes */
	uint32_t other_tick;
	unsigned others;      /* echoes of it, each of a later tick than before */
	uint64_t implausible; /* things that it has told which cannot be, of itself or of others */
};

/* a is newer than b. */
static inline bool serial_newer(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

/* Takes note of a counter of the believed epoch; false when it is a replay or too old to tell. */
bool peer_counter_fresh(struct peer *peer, uint64_t counter);

/* The epoch, if it was believed before another as far as is known, or NULL. */
struct peer_retired *peer_find_retired(struct peer *peer, uint64_t epoch);

/* It has echoed a tick of ours, and was believed. */
void peer_echoed(struct peer *peer, uint32_t tick);

/*
 * Takes note of what was said without proof: the newest of each epoch. `wait` are the ticks after
 * which a claim that is not said any more is dropped, and one that was echoed is refuted. Which of
 * those makes room is left to chance.
 */
void peer_claim(struct peer *peer, const struct peer_claim *said, uint32_t tick, uint32_t wait,
	struct prng *prng);

/*
 * The claim to be echoed in this tick, or NULL: one that never was, else the one whose turn has
 * come. While the peer counts, one that is refuted is not echoed.
 */
const struct peer_claim *peer_next_claim(struct peer *peer, uint32_t tick, uint32_t wait);

/* Begins to believe an epoch, by the peer's own word or, unless it has given one, by another's. */
void peer_believe(struct peer *peer, uint64_t epoch, uint32_t tick, uint64_t now_ns);

/*
 * It has proven the epoch that is believed, with a datagram of this counter, not 0. What it sent
 * before that was for others, or for an earlier start of ours.
 */
void peer_proven(struct peer *peer, uint64_t counter);

/*
 * It has said its tick itself, in our tick, in a datagram than which none newer has come. That
 * holds, whatever others have told of it before.
 */
void peer_spoke(struct peer *peer, uint32_t tick, uint32_t our_tick, uint64_t now_ns);

/* Others tell a tick of the epoch that is believed. */
void peer_heard(struct peer *peer, uint32_t tick, uint64_t now_ns);

/*
 * Whether it can have come to that tick, by what it has said itself: `late_ns` is how old that may
 * have been when it came, and no tick is shorter than `tick_ns`. True of one that has said nothing.
 */
bool peer_can_be_at(const struct peer *peer, uint32_t tick, uint64_t now_ns, uint64_t late_ns,
	uint64_t tick_ns);

/*
 * The tick to echo: its own word, so that nobody else's can make the echo fail; or that of others,
 * when it has said nothing for so many of our ticks.
 */
uint32_t peer_echo_tick(const struct peer *peer, uint32_t our_tick, uint32_t silent);

/* It has confirmed what we sent at that time. */
void peer_confirmed(struct peer *peer, uint64_t sent_ns);

/* Decides again whether the peer counts; true when that changed. */
bool peer_expire(struct peer *peer, uint64_t now_ns, uint64_t timeout_ns);

#endif
