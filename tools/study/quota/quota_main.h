/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * weir-study quota: the cost of enforcing a total that is used up.
 */
#ifndef WEIR_SIM_QUOTA_MAIN_H
#define WEIR_SIM_QUOTA_MAIN_H

/* argv[0] is "quota". Returns the exit status: 0; 1 the total was exceeded; 2 it could not be run. */
int quota_main(int argc, char **argv);

#endif
