/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * weirsim plan: proposes a limiter for each source.
 */
#ifndef WEIR_SIM_PLAN_MAIN_H
#define WEIR_SIM_PLAN_MAIN_H

int plan_main(int argc, char **argv);

#endif
