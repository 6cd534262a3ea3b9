/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Decides which peers are active. A peer is active only while both hold: its datagrams arrive here,
 * and it confirms that ours arrive there. So if a path is cut in one direction alone, both sides
 * give up the other's part, and the sum of their rates stays within the limit.
 *
 * The epoch of a peer is random at each of its starts. A new epoch is accepted when a datagram of
 * it echoes our own epoch and a recent tick of ours. Only a holder of the key that has recently
 * received our datagrams can make one. So datagrams recorded earlier (from an earlier start of
 * either side) never pass, without clocks or disks. A tick is recent if it was sent within the
 * timeout, and after all ticks that the peer has echoed before. So a start that has ended cannot
 * prove itself again, however soon the next one follows.
 *
 * An epoch without proof is a claim. An attacker that replays recordings can make one for each
 * start of the peer. Only the true one gets a proof, after it has been echoed. So several claims
 * are kept, and echoed in turn. One that has been echoed and was not proven within the timeout is
 * refuted: it makes room for another. It never replaces one that still waits for its turn or its
 * proof.
 */
#ifndef WEIR_GROUP_MEMBERSHIP_H
#define WEIR_GROUP_MEMBERSHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/prng.h"

#define REPLAY_WINDOW 64 /* datagrams that may arrive out of order */
#define PEER_CLAIMS   16 /* kept for a peer */
#define PEER_RETIRED  16 /* ended epochs that are kept for a peer */

/* Abilities to read that a limiter has reported in a datagram of its own. */
struct peer_speaks {
	uint8_t version; /* the newest format, no newer than ours; 0: no report yet */
	bool identity;   /* opens datagrams sealed with identities */
};

/* A claimed epoch of a peer. Times are ticks of ours. */
struct peer_claim {
	uint64_t epoch;        /* 0: none */
	uint32_t tick;         /* newest claimed tick of that epoch */
	uint32_t claimed_tick; /* when it was last claimed */
	uint32_t echoed_tick;  /* when it was first echoed */
	bool was_sent;
	struct peer_speaks speaks;
};

/* An epoch that was accepted before, and never is again. */
struct peer_retired {
	uint64_t epoch;   /* 0: none */
	uint64_t counter; /* highest received */
};

struct peer {
	uint32_t id; /* FNV-1a of its name */
	bool known;  /* `epoch` is accepted */
	bool alive;  /* active, at the last peer_expire() */
	uint64_t epoch;
	uint32_t tick;          /* newest tick of that epoch that has reached us, also by others */
	uint32_t own_tick;      /* the newest that it has sent itself, once it is proven */
	uint32_t received_tick; /* ours, in which it last sent to us */
	uint64_t own_advanced_ns; /* when its own tick first arrived */
	uint64_t advanced_ns;     /* when the tick last advanced */
	uint64_t confirmed_ns;    /* when our newest tick that it confirmed was sent */
	bool confirmed;
	bool proven;      /* the peer has sent its epoch itself; others can report it before */
	uint64_t counter; /* highest counter received directly */
	uint64_t window;  /* bit i: counter - i was received */
	bool has_echoed;
	uint32_t echoed; /* our newest tick that it has echoed, in any epoch */
	struct peer_retired retired[PEER_RETIRED]; /* newest first */
	struct peer_claim claims[PEER_CLAIMS];     /* none is of the accepted epoch */
	uint8_t claim_turn;        /* the claim that is echoed next, if there is one */
	bool echo_claim;           /* the next echo is of a claim */
	struct peer_speaks speaks; /* in the accepted epoch */
	uint32_t key;       /* name of the key that its last datagram was sealed with; 0: none */
	uint8_t unreadable; /* unreadable format of a datagram with its name; 0: none */
	uint64_t restarts;  /* epochs accepted after the first */
	uint32_t replaced_tick; /* ours, when the newest epoch was retired */
	uint32_t rival_tick;    /* ours, of the newest datagram of a retired epoch */
	uint32_t twice_tick;    /* the same, of one sent after it was retired */
	bool replaced, rival, twice;
	uint64_t other_epoch; /* another start of ours, in the newest echoes */
	uint32_t other_tick;
	unsigned others;      /* echoes of it, each of a later tick than before */
	uint64_t implausible; /* impossible values that it has sent, of itself or of others */
};

/* Returns true if a is newer than b. */
static inline bool serial_newer(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

/* Notes a counter of the accepted epoch; returns false for a replay, or one too old to check. */
bool peer_counter_fresh(struct peer *peer, uint64_t counter);

/* Returns the epoch if it is one of the kept ended epochs, or NULL. */
struct peer_retired *peer_find_retired(struct peer *peer, uint64_t epoch);

/* Notes the echo of a tick of ours in an accepted epoch. */
void peer_echoed(struct peer *peer, uint32_t tick);

/*
 * Notes a claim: the newest of each epoch. `wait` are the ticks after which a claim that is not
 * repeated is dropped, and one that was echoed is refuted. A random refuted claim makes room.
 */
void peer_claim(struct peer *peer, const struct peer_claim *received, uint32_t tick, uint32_t wait,
	struct prng *prng);

/*
 * Returns the claim to echo in this tick, or NULL: one that was never echoed, otherwise the next in
 * turn. While the peer is active, a refuted one is not echoed.
 */
const struct peer_claim *peer_next_claim(struct peer *peer, uint32_t tick, uint32_t wait);

/* Accepts an epoch, by the peer's own datagram or, unless there was one, by another's report. */
void peer_accept(struct peer *peer, uint64_t epoch, uint32_t tick, uint64_t now_ns);

/*
 * Notes that the peer has proven the accepted epoch, by a datagram with this counter, not 0. Its
 * earlier datagrams were for others, or for an earlier start of ours: they count as received.
 */
void peer_proven(struct peer *peer, uint64_t counter);

/*
 * Notes the tick that the peer itself has sent in its newest datagram, which arrived in our tick.
 * It prevails over all earlier reports by others.
 */
void peer_note_own_tick(struct peer *peer, uint32_t tick, uint32_t our_tick, uint64_t now_ns);

/* Notes a tick of the accepted epoch that others report. */
void peer_note_reported_tick(struct peer *peer, uint32_t tick, uint64_t now_ns);

/*
 * Returns true if the peer can have reached that tick since the last tick that it sent. Its last
 * tick was at most `late_ns` old at its arrival, and no tick is shorter than `tick_ns`. Returns
 * true if it has sent none.
 */
bool peer_can_be_at(const struct peer *peer, uint32_t tick, uint64_t now_ns, uint64_t late_ns,
	uint64_t tick_ns);

/*
 * Returns the tick to echo. This is the peer's own tick, so that no report of others can make the
 * echo fail. If the peer has sent nothing for `silent` of our ticks, it is the newest tick reported
 * by others.
 */
uint32_t peer_echo_tick(const struct peer *peer, uint32_t our_tick, uint32_t silent);

/* Notes that the peer has confirmed a datagram that we sent at that time. */
void peer_confirmed(struct peer *peer, uint64_t sent_ns);

/* Decides again if the peer is active; returns true if that changed. */
bool peer_expire(struct peer *peer, uint64_t now_ns, uint64_t timeout_ns);

#endif
