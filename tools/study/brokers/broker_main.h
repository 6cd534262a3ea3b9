/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * weir-study brokers: the figures of a paper on the value of placing sources.
 */
#ifndef WEIR_SIM_BROKER_MAIN_H
#define WEIR_SIM_BROKER_MAIN_H

int broker_main(int argc, char **argv);

#endif
