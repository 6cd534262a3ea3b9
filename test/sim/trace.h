/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A trace of lib/control in a world: a few readable lines, and a digest of everything. The digest
 * covers every datagram, record and verdict, and every limit after every tick. The linker's --wrap
 * intercepts the calls, see trace_calls.c, so worlds need no change. One trace a program.
 */
#ifndef WEIR_SIM_TRACE_H
#define WEIR_SIM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The part whose calls are traced. Only calls by the world itself count: calls between a limiter
 * and its ledgers are internal, and can change.
 */
enum trace_part {
	TRACE_NOTHING,
	TRACE_LIMITER,
	TRACE_CONSERVE,
	TRACE_QUOTA,
	TRACE_BUDGET,
	TRACE_LEDGER,
	TRACE_ITSELF /* the world writes its own trace */
};

#define TRACE_COLUMNS 100 /* width of a line */

/* Keeps all later lines, for trace_taken(). */
void trace_begin(void);

/* Returns the lines so far, which the caller frees. */
char *trace_taken(void);

/*
 * Begins another world, in which a part is traced, with lines at most every step_ns. The time is
 * that of the part's calls, or, if clocks are not right, only that of trace_sample(). `format` is
 * its name, with its seed. trace_end() ends it.
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

/* Begins a line, adds words to it, and ends it: less than 256 bytes. */
__attribute__((format(printf, 1, 2))) void trace_write(const char *format, ...);

/* Writes a number, whole or with six digits; a full line continues below. */
void trace_write_real(double value);
void trace_write_whole(int64_t value);

/* Adds to the digest. Reals are rounded, because libraries differ in the last bit. */
void trace_word(uint64_t word);
void trace_real(double value);
void trace_bytes(const void *bytes, size_t len);

/* Add several words or reals, in this order. */
#define trace_words(...)                                 \
	trace_word_list((const uint64_t[]){__VA_ARGS__}, \
		sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))
#define trace_reals(...)                               \
	trace_real_list((const double[]){__VA_ARGS__}, \
		sizeof((const double[]){__VA_ARGS__}) / sizeof(double))
void trace_word_list(const uint64_t *words, size_t n);
void trace_real_list(const double *reals, size_t n);

/* Adds a datagram or message with its sender and receiver; counts them. */
void trace_sent(unsigned from, unsigned to, const void *bytes, size_t len);
uint64_t trace_n_sent(void);

/* The traced objects, by their number in the world, and the policies of each. */
#define TRACE_POLICIES 64

struct trace_subject {
	const void *at;
	unsigned policies;
	uint64_t ids[TRACE_POLICIES]; /* policies, if they differ between objects */
};

/* Traces an object from now on; ids can be NULL. */
void trace_add(const void *at, unsigned number, unsigned policies, const uint64_t *ids);
void trace_remove(const void *at);
unsigned trace_number(const void *at);
const struct trace_subject *trace_subjects(unsigned *n);

/* Writes lines about all objects, if they are due at this time of the world, or of a call. */
void trace_sample(uint64_t now_ns);
void trace_called(uint64_t now_ns);

/* Called by trace_sample(): writes the objects of the traced part. */
void trace_write_subjects(void);

#endif
