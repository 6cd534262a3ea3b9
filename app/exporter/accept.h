/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#ifndef WEIR_EXPORTER_ACCEPT_H
#define WEIR_EXPORTER_ACCEPT_H

#include "text.h"

/*
 * The format that a request's Accept header (NULL: it has none) prefers. OpenMetrics only to who
 * names it, in version 1.0.0, 0.0.1 or none, and wants plain text no more than it: so browsers and
 * old scrapers get what they have always got.
 */
enum text_format accept_format(const char *header);

/* What Content-Type says of it. */
const char *accept_content_type(enum text_format format);

#endif
