/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Units divided by weight, exactly: equations 5 and 6 of "A tree-based protocol for enforcing
 * quotas in clouds" in whole numbers. Pure; any thread.
 */
#ifndef WEIR_QUOTA_DIVIDE_H
#define WEIR_QUOTA_DIVIDE_H

#include <stdint.h>

/* So that a pool of up to 2^64 times the sum of 2^16 weights fits 128 bits. */
#define QUOTA_WEIGHT_MOST (UINT64_C(1) << 48)

/*
 * Divides the pool into n parts. Their sum is the pool, and each differs by less than one from the
 * exact part. A larger weight counts as QUOTA_WEIGHT_MOST. If all weights are 0, the last has all.
 */
void quota_divide(uint64_t pool, const uint64_t *weights, unsigned n, uint64_t *parts);

#endif
