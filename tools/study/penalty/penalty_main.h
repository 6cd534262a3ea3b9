/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * weir-study penalty: the delay of packets when one bucket is split into parts.
 */
#ifndef WEIR_SIM_PENALTY_MAIN_H
#define WEIR_SIM_PENALTY_MAIN_H

/*
 * argv[0] is "penalty". Returns the exit status: 0; 1 the total delay was lower after a split,
 * which is impossible; 2 it could not be run.
 */
int penalty_main(int argc, char **argv);

#endif
