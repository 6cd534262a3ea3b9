/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The input of fib4.h and lpm6.h. Private to this folder.
 */
#ifndef WEIR_CLASSIFY_LPM_H
#define WEIR_CLASSIFY_LPM_H

#include <stdint.h>

struct lpm_prefix {
	uint8_t addr[16]; /* network order; IPv4 in the first four bytes; no host bits */
	uint8_t length;
	uint32_t answer; /* its upper two bits are equal: fib4.h uses other values */
};

#endif
