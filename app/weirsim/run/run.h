/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * weirsim run: a scenario from its file to its results.
 */
#ifndef WEIR_SIM_RUN_H
#define WEIR_SIM_RUN_H

/* argv[0] is "run". Returns the exit status: 0; 1 a run failed; 2 it could not be run. */
int run_main(int argc, char **argv);

#endif
