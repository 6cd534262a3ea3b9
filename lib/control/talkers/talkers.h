/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Who sends most, by a sample of packets each of which stands for some (flow/packet_sample.h): what
 * each sent, with how far that may be off, in memory of a fixed size.
 *
 * When another key has no room it takes the place of the one that has the least, and keeps what
 * that one had as `missed`: it may have sent that before, unnoticed (Space-Saving, Metwally et al.,
 * ICDT 2005). So whoever has more than 1/capacity of all bytes is there, and of nobody more than
 * 1/capacity of them is missed, however many addresses are made up.
 *
 * Pure: memory is taken by talkers_create() alone. One owner an instance; any thread.
 */
#ifndef WEIR_TALKERS_TALKERS_H
#define WEIR_TALKERS_TALKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALKERS_KEY 48

/* Whose packets are one's: what does not tell them apart is 0. */
struct talker_key {
	uint8_t bytes[TALKERS_KEY];
};

/* A packet that was taken. */
struct talkers_sample {
	struct talker_key key;
	uint32_t bytes;
	uint64_t weight; /* packets that it stands for, itself included; not 0 */
	bool dropped;
	uint32_t tag; /* the caller's */
};

/* Estimates of one. */
struct talker {
	struct talker_key key;
	uint64_t samples;
	double packets, bytes;   /* all that it sent */
	double dropped;          /* packets, of those */
	double packets_variance; /* of the estimates: 0 where every packet was taken */
	double bytes_variance;
	double missed; /* bytes that it may have beside those, from before there was room for it */
	uint32_t tag;  /* of its first sample */
	bool tags;     /* there are samples of another */
};

struct talkers;

/*
 * Room for so many keys (not 0). The seed is what their hash depends on, so that nobody chooses
 * addresses by it. NULL: there is no memory.
 */
struct talkers *talkers_create(uint32_t capacity, uint64_t seed);
void talkers_free(struct talkers *talkers);

void talkers_add(struct talkers *talkers, const struct talkers_sample *sample);

/* Those with most bytes, at most so many, the first first; returns how many. */
size_t talkers_top(const struct talkers *talkers, struct talker *top, size_t most);

/* All together, whatever their keys. Until the next talkers_add(). */
const struct talker *talkers_all(const struct talkers *talkers);

/* --- how far an estimate may be off, in 19 of 20 cases ---------------------------------------- */

/* Packets or bytes of one: half the width of the interval, also where samples are few. */
double talkers_packets_margin(const struct talker *one);
double talkers_bytes_margin(const struct talker *all, const struct talker *one);

/* One's part of all bytes, 0 to 1, and its margin. */
double talkers_share(const struct talker *all, const struct talker *one, double *margin);

/* The part of one's packets that was dropped, 0 to 1, and its margin. */
double talkers_dropped(const struct talker *one, double *margin);

/*
 * Whoever sent fewer packets than this may not be among the samples at all: of those who sent as
 * many, one in 20 is not. 0: everybody is.
 */
double talkers_unseen(const struct talker *all);

#endif
