/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A few readable lines about what the brain does in a world, and a digest of all of it: of every
 * datagram, record and verdict, and of every limit after every tick. The calls are watched by the
 * linker's --wrap, see trace_calls.c, so that worlds know nothing of it. One trace a program.
 */
#ifndef WEIR_SIM_TRACE_H
#define WEIR_SIM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whose calls are watched. Only what its world calls itself: what a limiter asks of its ledgers is
 * its own business, and may be asked in another way tomorrow.
 */
enum trace_part {
	TRACE_NOTHING,
	TRACE_LIMITER,
	TRACE_CONSERVE,
	TRACE_QUOTA,
	TRACE_BUDGET,
	TRACE_LEDGER,
	TRACE_ITSELF /* the world says itself what there is to be said */
};

#define TRACE_COLUMNS 100 /* of a line */

/* All lines from now on are kept, for trace_taken(). */
void trace_begin(void);

/* The lines so far, which the caller frees. */
char *trace_taken(void);

/*
 * Another world begins, in which a part is watched, and of which there are lines every step_ns at
 * the most: by the time that is said in calls of the part, or, as clocks there are not right, only
 * by trace_sample(). `format` is its name, with its seed. Then it has ended.
 */
struct trace_kind {
	enum trace_part part;
	uint64_t step_ns;
	bool by_calls;
};

__attribute__((format(printf, 2, 3))) void trace_world(
	const struct trace_kind *kind, const char *format, ...);
void trace_end(void);

bool trace_watches(enum trace_part part);

/* A line that begins, words that go on with it, and its end: less than 256 bytes. */
__attribute__((format(printf, 1, 2))) void trace_write(const char *format, ...);

/* A number of six digits, or a whole one, in a line that goes on below when it is full. */
void trace_write_real(double value);
void trace_write_whole(int64_t value);

/* More for the digest. Reals are rounded, as libraries differ in the last bit. */
void trace_word(uint64_t word);
void trace_real(double value);
void trace_bytes(const void *bytes, size_t len);

/* A datagram or message that was sent, from whom to whom; and how many there were. */
void trace_sent(unsigned from, unsigned to, const void *bytes, size_t len);
uint64_t trace_n_sent(void);

/* Those that are watched, by their number in the world, and what policies each has. */
#define TRACE_POLICIES 64

struct trace_subject {
	const void *at;
	unsigned policies;
	uint64_t ids[TRACE_POLICIES]; /* where they need not be the same at all */
};

/* It is watched from now on; ids may be NULL. */
void trace_add(const void *at, unsigned number, unsigned policies, const uint64_t *ids);
void trace_remove(const void *at);
unsigned trace_number(const void *at);
const struct trace_subject *trace_subjects(unsigned *n);

/* Lines about them all, if they are due at a time of the world; and by a call that says it. */
void trace_sample(uint64_t now_ns);
void trace_called(uint64_t now_ns);

/* What trace_sample() writes of those of the part that is watched. */
void trace_write_subjects(void);

#endif
