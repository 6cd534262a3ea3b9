/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The ledger's protocol between two ends of an edge, for spin: every order of events within small
 * bounds. Node A has the whole total and promises to F, its best friend; both grant, save, settle,
 * crash and restart from what was durable. A also gives to a third one, which has it as soon as it
 * is durable here.
 *
 * The network has SLOTS statements in each direction. One that is said takes the place of any of
 * them, which is thereby lost; one that is heard stays, and may be heard again or overtaken.
 *
 * Of time only this is left: that F has waited for its patience means that all leases have ended
 * which echoes up to the stamp that F has heard last could give (lib/control/ledger/receive.c says
 * why).
 *
 * The invariant: what A may use, what F may use and what the third one has is within the total.
 * It is asserted wherever one of these grows, and no sum of theirs grows elsewhere.
 *
 * BREAK, if defined, is the number of a rule that is broken, and spin must find it (run.py).
 */
#ifndef BREAK
#define BREAK 0
#endif
#define SLOTS 2 /* to F; to A, one is enough */

/* Bounds: run.py has several sets of them. */
#ifndef TOTAL
#define TOTAL 2
#endif
#ifndef MOST /* of what A ever promises */
#define MOST 3
#endif
#ifndef BACK /* of what F grants */
#define BACK 1
#endif
#ifndef SAYS_A
#define SAYS_A 3
#endif
#ifndef SAYS_F
#define SAYS_F 2
#endif
#ifndef CRASHES_A
#define CRASHES_A 0
#endif
#ifndef CRASHES_F
#define CRASHES_F 0
#endif

#define A 0
#define F 1

typedef node {
	byte balance, granted, promised, received;
	byte locked, mark, high;
	byte said, epoch;
	byte told_granted, told_promised;
	byte lease, over;         /* newest stamp that was echoed, and up to which it has ended */
	byte h_epoch, h_stamp;    /* newest statement heard */
	byte h_granted, h_promised;
	bit saving;
	byte r_balance, r_granted, r_promised, r_locked, r_received; /* the record */
}

typedef statement {
	byte epoch, stamp, granted, promised, received, echo_epoch, echo_stamp;
}

typedef slots {
	statement at[SLOTS];
}

node n[2];
slots net[2]; /* to each */
byte says[2];
byte third;   /* what the third one has */

#define max(a, b) ((a) > (b) -> (a) : (b))

#if BREAK == 1 /* the lock is not kept */
#define LOCK(i) (n[i].promised)
#else
#define LOCK(i) max(max(n[i].locked, n[i].told_promised), max(n[i].r_promised, n[i].promised))
#endif
#define PART(i) (LOCK(i) > n[i].granted -> LOCK(i) - n[i].granted : 0)
#define FREE(i) (n[i].balance > PART(i) -> n[i].balance - PART(i) : 0)
#define USABLE(i) (n[i].lease > n[i].over -> n[i].balance : FREE(i))

#define CHECK assert(USABLE(A) + USABLE(F) + third <= TOTAL)

inline say(i)
{
	d_step {
		n[i].said++;
		says[i]++;
		if
		:: i == A && n[i].mark == 0 ->
			n[i].mark = n[i].said;
			n[i].high = n[i].told_promised
		:: else ->
			n[i].high = (i == A -> max(n[i].high, n[i].told_promised) : 0)
		fi;
		n[i].locked = max(n[i].locked, n[i].told_promised)
	}
	if
	:: slot = 0
	:: i == A -> slot = 1 /* of the answers one is enough */
	fi;
	d_step {
		net[1 - i].at[slot].epoch = n[i].epoch;
		net[1 - i].at[slot].stamp = n[i].said;
#if BREAK == 2 /* told before it is settled */
		net[1 - i].at[slot].granted = n[i].granted;
		net[1 - i].at[slot].promised = max(n[i].granted, n[i].told_promised);
#else
		net[1 - i].at[slot].granted = n[i].told_granted;
		net[1 - i].at[slot].promised = n[i].told_promised;
#endif
		net[1 - i].at[slot].received = n[i].received;
		net[1 - i].at[slot].echo_epoch = n[i].h_epoch;
		net[1 - i].at[slot].echo_stamp = n[i].h_stamp;
		slot = 0
	}
}

#define S net[i].at[k]
#define NEWER(i, k) (net[i].at[k].epoch > n[i].h_epoch || \
		     (net[i].at[k].epoch == n[i].h_epoch && net[i].at[k].stamp > n[i].h_stamp))

inline hear(i, k)
{
	d_step {
		/* Received beyond what was granted: it was promised, and has been adopted. */
		assert(S.received <= max(LOCK(i), n[i].granted));
		if
		:: S.received > n[i].granted ->
			n[i].balance = n[i].balance - (S.received - n[i].granted);
			n[i].granted = S.received;
			n[i].promised = max(n[i].promised, n[i].granted)
		:: else
		fi;
		if
#if BREAK == 3 /* what is granted is added to what was adopted */
		:: S.granted > n[i].h_granted ->
			n[i].balance = n[i].balance + (S.granted - n[i].h_granted);
			n[i].received = n[i].received + (S.granted - n[i].h_granted)
#else
		:: S.granted > n[i].received ->
			n[i].balance = n[i].balance + (S.granted - n[i].received);
			n[i].received = S.granted
#endif
		:: else
		fi;
		n[i].h_granted = S.granted;
#if BREAK == 4 /* a promise to an earlier start of ours */
		n[i].h_promised = S.promised;
#else
		n[i].h_promised = (S.echo_epoch == n[i].epoch -> S.promised : 0);
#endif
		if
#if BREAK == 5 /* an echo of an earlier epoch */
		:: S.echo_stamp > 0 ->
#else
		:: S.echo_epoch == n[i].epoch ->
#endif
			n[i].lease = max(n[i].lease, S.echo_stamp);
			if
#if BREAK == 6 /* an echo of an earlier statement */
			:: n[i].mark != 0 ->
#else
			:: n[i].mark != 0 && S.echo_stamp >= n[i].mark ->
#endif
				n[i].locked = n[i].high;
				n[i].high = 0;
				n[i].mark = 0
			:: else
			fi
		:: else
		fi;
		n[i].h_epoch = S.epoch;
		n[i].h_stamp = S.stamp;
		CHECK
	}
}

inline remember(i)
{
		n[i].r_balance = n[i].balance;
		n[i].r_granted = n[i].granted;
		n[i].r_locked = LOCK(i);
		n[i].r_promised = n[i].promised;
		n[i].r_received = n[i].received;
		n[i].saving = 1
}

inline save(i)
{
	d_step {
		remember(i)
	}
}

inline settled(i)
{
	d_step {
		n[i].told_granted = n[i].r_granted;
		n[i].told_promised = n[i].r_promised;
		n[i].saving = 0;
		CHECK
	}
}

/* Nothing is left but the record, and that is settled: all in it may have been told. */
inline crash(i)
{
	d_step {
		n[i].balance = n[i].r_balance;
		n[i].granted = n[i].r_granted;
		n[i].promised = n[i].r_promised;
		n[i].told_granted = n[i].r_granted;
		n[i].told_promised = n[i].r_promised;
		n[i].locked = n[i].r_locked;
		n[i].received = n[i].r_received;
		n[i].epoch++;
		n[i].said = 0;
		n[i].mark = 0;
		n[i].high = 0;
		n[i].lease = 0;
		n[i].over = 0;
		n[i].h_epoch = 0;
		n[i].h_stamp = 0;
		n[i].h_granted = 0;
		n[i].h_promised = 0;
		n[i].saving = 0;
		CHECK
	}
}

inline grant(i)
{
	d_step {
		n[i].balance--;
		n[i].granted++;
		n[i].promised++
	}
}

inline give(i)
{
	d_step {
		n[i].balance--;
		third++;
		remember(i);
		CHECK
	}
}

inline adopt()
{
	d_step {
#if BREAK != 7 /* it does not wait */
		if
		:: n[F].h_epoch == n[A].epoch -> n[A].over = max(n[A].over, n[F].h_stamp)
		:: else
		fi;
#endif
		n[F].balance = n[F].balance + (n[F].h_promised - n[F].received);
		n[F].received = n[F].h_promised;
		CHECK
	}
}

#define UNSETTLED(i) (n[i].granted != n[i].told_granted || n[i].promised != n[i].told_promised)

init {
	byte slot;

	d_step {
		n[A].balance = TOTAL;
		n[A].r_balance = TOTAL;
		n[A].epoch = 1;
		n[F].epoch = 1
	}
end:
	do
	:: says[A] < SAYS_A -> say(A)
	:: says[F] < SAYS_F -> say(F)
	:: NEWER(A, 0) -> hear(A, 0)
	:: NEWER(F, 0) -> hear(F, 0)
	:: NEWER(F, 1) -> hear(F, 1)
	:: !n[A].saving && UNSETTLED(A) -> save(A)
	:: n[A].saving -> settled(A)
	:: UNSETTLED(F) || n[F].received != n[F].r_received ->
		d_step {
			remember(F);
			n[F].told_granted = n[F].granted;
			n[F].told_promised = n[F].promised;
			n[F].saving = 0
		}
	:: n[A].epoch <= CRASHES_A -> crash(A)
	:: n[F].epoch <= CRASHES_F -> crash(F)
	:: FREE(A) > 0 && n[A].promised < MOST -> grant(A)
	:: FREE(F) > 0 && n[F].promised < BACK -> grant(F)
	:: FREE(A) > 0 && !n[A].saving -> give(A)
	:: n[A].promised - n[A].granted < n[A].balance && n[A].promised < MOST ->
		n[A].promised++
	:: n[A].promised > n[A].granted -> n[A].promised--
	:: n[F].h_promised > n[F].received -> adopt()
	od
}
