/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Measurements of policies for the limiter at every tick: bytes that arrived on all workers, and
 * how they are distributed over workers. Control.
 */
#ifndef WEIR_APP_MEASURE_H
#define WEIR_APP_MEASURE_H

#include <stdint.h>

struct instance;
struct limiter_sample;

/*
 * Measures a policy (limiter_measure); the context is the instance. Also reads how the policy's
 * demand is distributed over the workers, and marks the policy if that has changed.
 */
void measure_policy(void *context, unsigned policy, struct limiter_sample *sample);

#endif
