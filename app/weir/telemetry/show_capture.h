/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#ifndef WEIR_APP_SHOW_CAPTURE_H
#define WEIR_APP_SHOW_CAPTURE_H

struct instance;

/* Ends a capture, and frees it if no worker may be at it any more. Control. */
void capture_stop(struct instance *inst);

#endif
