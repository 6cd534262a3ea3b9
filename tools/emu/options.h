/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Settings on the command line and the control socket: `delay=20ms`, `rate=100Mbit/s`, `loss=1%`,
 * `queue=1000` (packets) or `queue=64kB`. Both use the same table, so all settings of the start can
 * be changed later.
 */
#ifndef WEIR_EMU_OPTIONS_H
#define WEIR_EMU_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "emu_link.h"

#define EMU_NAME_MAX  64
#define EMU_LINKS_MAX 16 /* two ports each, and RTE_MAX_ETHPORTS of Debian's DPDK is 32 */

#define DIRECTIONS 2 /* a-to-b, b-to-a */

struct link_options {
	char port[2][EMU_NAME_MAX]; /* A and B: EAL's names of the ports */
	struct lane_params lane[DIRECTIONS];
};

struct options {
	struct link_options link[EMU_LINKS_MAX];
	unsigned n_links;
	uint64_t seed;
	unsigned mbufs;      /* 0: as many as the links need */
	const char *control; /* NULL: no control socket */
	const char *stats;   /* NULL: standard output */
};

/* Parses the arguments after EAL's; argv[0] is skipped. Prints errors to stderr: -EINVAL. */
int options_parse(struct options *options, int argc, char **argv);

#define OPTIONS_SETTINGS "delay=20ms, rate=100Mbit/s, loss=1%%, queue=1000 or queue=64kB"

/*
 * Settings with commas between them, `KEY=VALUE`, or `a-to-b.KEY=VALUE` for one direction; NULL:
 * none. Modifies the text. Returns NULL, or the first invalid setting: then the lanes are
 * unchanged.
 */
const char *options_set(struct lane_params lane[DIRECTIONS], char *words);

void options_help(void);

#endif
