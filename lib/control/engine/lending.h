/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Token loans (lib/control/loan) and the shared buckets that workers draw from.
 */
#ifndef WEIR_ENGINE_LENDING_H
#define WEIR_ENGINE_LENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"

/* A shared bucket at one tick of a counter of hz ticks a second. */
struct lending_place {
	const struct engine *engine;
	uint32_t slot;
	uint64_t now, hz;
};

/* The bucket of all workers; the rate is rounded up. Control. */
struct loan_bucket lending_look(const struct lending_place *place);

/* See struct limiter_buckets. The rate is rounded up. Control; takes effect for all workers. */
struct loan_taken lending_take(
	const struct lending_place *place, uint64_t keep, uint64_t most, bool withhold);

/*
 * Adds at most *bytes and sets *bytes to the bytes added; see shared_bucket_give(). The caller
 * reads lending_seen() first, then its clocks, and repeats this if lending_give() returns false.
 * Control.
 */
uint64_t lending_seen(const struct lending_place *place);
bool lending_give(const struct lending_place *place, uint64_t seen, uint64_t *bytes);

#endif
