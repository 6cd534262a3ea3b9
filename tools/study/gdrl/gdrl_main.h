/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * weir-study gdrl: the evaluation of the GDRL paper, and cases of one's own.
 */
#ifndef WEIR_STUDY_GDRL_MAIN_H
#define WEIR_STUDY_GDRL_MAIN_H

/* argv[0] is "gdrl". Returns the exit status: 0; 1 the limit was not kept; 2 it could not be run. */
int gdrl_main(int argc, char **argv);

#endif
