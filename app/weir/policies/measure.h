/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the brain is told of its policies every tick: what has arrived of each, on all workers, and
 * how that lies over them. Control.
 */
#ifndef WEIR_APP_MEASURE_H
#define WEIR_APP_MEASURE_H

#include <stdint.h>

struct instance;
struct limiter_sample;

/*
 * The brain's measurement (limiter_measure) of a policy of the box, which is the context. On the
 * way it sees how the policy's demand lies over the workers, and marks it where that is news.
 */
void measure_policy(void *context, unsigned policy, struct limiter_sample *sample);

#endif
