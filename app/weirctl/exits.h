/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Exit statuses of weirctl beside EXIT_SUCCESS, and EXIT_FAILURE for what was refused or failed.
 * Those of "check" are Nagios's.
 */
#ifndef WEIR_WEIRCTL_EXITS_H
#define WEIR_WEIRCTL_EXITS_H

#define EXIT_USAGE     2 /* what it was called with makes no sense */
#define EXIT_UNHEALTHY 3 /* something is wrong with a limiter that answers */

#endif
