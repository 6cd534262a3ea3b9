/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A placement to propose, where nobody is going to measure any: the best by prediction of what the
 * principles of place.h come to, all of them and any part.
 *
 * Pure but for memory, which is its own. Control threads.
 */
#ifndef WEIR_PLACE_PLAN_H
#define WEIR_PLACE_PLAN_H

#include "place/place.h"

/*
 * Each part of the problem's principles has a plan: the fewest brokers on which it is predicted to
 * keep the objective (PLACE_HEADROOM), else as many as come nearest to it. Proposed is that which
 * has a place for most sources and, of these, the least place_predict_worst(); of equal ones that
 * on the fewest brokers, then that of most principles. So no principle that is switched off makes
 * for a better prediction, but for PLACE_CONCENTRATE, which all plans have if the problem does.
 *
 * placement->at is the caller's memory. Returns 0, -ERANGE as place_on(), or -ENOMEM.
 */
int place_plan(const struct placer *placer, struct placement *placement);

#endif
