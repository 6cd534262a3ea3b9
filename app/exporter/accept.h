/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#ifndef WEIR_EXPORTER_ACCEPT_H
#define WEIR_EXPORTER_ACCEPT_H

#include "text.h"

/*
 * Returns the format that a request's Accept header (NULL: none) prefers. It is OpenMetrics only if
 * the header names it, with version 1.0.0, 0.0.1 or none, and does not prefer plain text. So
 * browsers and old scrapers get the older format.
 */
enum text_format accept_format(const char *header);

/* Returns the value of Content-Type. */
const char *accept_content_type(enum text_format format);

#endif
