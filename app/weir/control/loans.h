/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Token loans of the appliance: the shared buckets that workers draw from, for lib/control/loan.
 */
#ifndef WEIR_LOANS_H
#define WEIR_LOANS_H

#include "limiter/limiter.h"

struct instance;

/* The buckets of the policies, for limiter_create(); all NULL without loans. Control. */
struct limiter_buckets loans_buckets(struct instance *inst);

#endif
