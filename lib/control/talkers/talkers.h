/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Top talkers: the senders of most bytes, estimated from a sample of packets that each stand for
 * several (flow/packet_sample.h). Estimates have an error margin. The memory has a fixed size.
 *
 * A new key without room replaces the key with the fewest bytes and keeps that number as `missed`.
 * The new key can have sent so much before, unnoticed (Space-Saving, Metwally et al., ICDT 2005).
 * So the table contains all keys with more than 1/capacity of all bytes. No key misses more than
 * 1/capacity of all bytes, however many addresses an attacker makes up.
 *
 * Pure; only talkers_create() allocates memory. Only weirctl uses this room: it polls the packets
 * that workers sampled, and estimates from them. One owner an instance; any thread.
 */
#ifndef WEIR_TALKERS_TALKERS_H
#define WEIR_TALKERS_TALKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALKERS_KEY 48

/* The key of a sender; bytes that do not distinguish senders are 0. */
struct talker_key {
	uint8_t bytes[TALKERS_KEY];
};

/* A sampled packet. */
struct talkers_sample {
	struct talker_key key;
	uint32_t bytes;
	uint64_t weight; /* packets that it stands for, including itself; not 0 */
	bool dropped;
	uint32_t tag; /* the caller's */
};

/* Estimates for one sender. */
struct talker {
	struct talker_key key;
	uint64_t samples;
	double packets, bytes;   /* all sent packets and bytes */
	double dropped;          /* packets, included in the sent ones */
	double packets_variance; /* variances of the estimates: 0 if every packet was sampled */
	double bytes_variance;
	double missed; /* bytes that it can have sent in addition, before it had an entry */
	uint32_t tag;  /* tag of its first sample */
	bool tags;     /* a later sample has another tag */
};

struct talkers;

/*
 * Creates a table for `capacity` keys (not 0). The seed of their hash prevents an attacker from
 * choosing colliding addresses. NULL: out of memory.
 */
struct talkers *talkers_create(uint32_t capacity, uint64_t seed);
void talkers_free(struct talkers *talkers);

void talkers_add(struct talkers *talkers, const struct talkers_sample *sample);

/* Writes the keys with most bytes, at most `most`, in falling order. Returns how many. */
size_t talkers_top(const struct talkers *talkers, struct talker *top, size_t most);

/* Returns the estimates for all keys together. Valid until the next talkers_add(). */
const struct talker *talkers_all(const struct talkers *talkers);

/* --- error margins: half the width of an interval that holds in 19 of 20 cases ---------------- */

/* Margin of the packets or bytes of a sender, also for few samples. */
double talkers_packets_margin(const struct talker *one);
double talkers_bytes_margin(const struct talker *all, const struct talker *one);

/* Returns the sender's part of all bytes, 0 to 1, and its margin. */
double talkers_share(const struct talker *all, const struct talker *one, double *margin);

/* Returns the dropped part of the sender's packets, 0 to 1, and its margin. */
double talkers_dropped(const struct talker *one, double *margin);

/*
 * Returns the number of packets below which a sender can be missing from the samples. With exactly
 * that many, 1 of 20 senders is missing. 0: every sender is sampled.
 */
double talkers_unseen(const struct talker *all);

#endif
