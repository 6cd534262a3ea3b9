/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Exit statuses of weirctl, in addition to EXIT_SUCCESS, and EXIT_FAILURE for refusals and
 * failures. The command "check" has those of Nagios.
 */
#ifndef WEIR_WEIRCTL_EXITS_H
#define WEIR_WEIRCTL_EXITS_H

#define EXIT_USAGE     2 /* wrong usage */
#define EXIT_UNHEALTHY 3 /* something is wrong with a limiter that answers */

#endif
