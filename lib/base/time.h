/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * How many nanoseconds, in which every time and delay is counted, make the units that people use.
 * Whole numbers of 64 bits: a fraction of a second is (double)ns / SECOND_NS. And what seconds of
 * Unix time, which are signed, say where nobody knows them.
 */
#ifndef WEIR_BASE_TIME_H
#define WEIR_BASE_TIME_H

#include <stdint.h>

#define US_NS     UINT64_C(1000)
#define MS_NS     UINT64_C(1000000)
#define SECOND_NS UINT64_C(1000000000)

#define TIME_UNKNOWN INT64_MIN

#endif
