/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#ifndef WEIR_EXPORTER_OVERVIEW_H
#define WEIR_EXPORTER_OVERVIEW_H

#include <jansson.h>

#include "boxes.h"

/*
 * Returns the page's overview of the limiters without their policies: "limiters", "drops" by reason
 * and "peers". Rates are since `before`, which can be NULL.
 */
json_t *overview_json(const struct boxes *now, const struct boxes *before);

#endif
