/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Nanoseconds in the units that people use. All times and delays are 64-bit counts of nanoseconds;
 * a fraction of a second is (double)ns / SECOND_NS. TIME_UNKNOWN stands for unknown Unix seconds,
 * which are signed.
 */
#ifndef WEIR_BASE_TIME_H
#define WEIR_BASE_TIME_H

#include <stdint.h>

#define US_NS     UINT64_C(1000)
#define MS_NS     UINT64_C(1000000)
#define SECOND_NS UINT64_C(1000000000)

#define TIME_UNKNOWN INT64_MIN

#endif
