/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Proposes a placement if no trials will follow. It is the best prediction over all principles of
 * place.h and their subsets.
 *
 * Pure, except for its own memory. Control threads.
 */
#ifndef WEIR_PLACE_PLAN_H
#define WEIR_PLACE_PLAN_H

#include "place/place.h"

/*
 * Makes a plan for each subset of the problem's principles. A plan has the fewest brokers that are
 * predicted to meet the objective (PLACE_HEADROOM), otherwise the number that comes nearest. The
 * best plan places most sources and, among these, has the least place_predict_worst(). Ties: the
 * fewest brokers, then the most principles. So switching off a principle cannot improve the
 * prediction, except for PLACE_CONCENTRATE, which is in all plans if the problem has it.
 *
 * placement->at is memory of the caller. Returns 0, -ERANGE from place_on(), or -ENOMEM.
 */
int place_plan(const struct placer *placer, struct placement *placement);

#endif
