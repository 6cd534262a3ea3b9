/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to this room: the vocabulary of a limiter's configuration.
 */
#ifndef WEIR_CONFIG_SYNONYMS_H
#define WEIR_CONFIG_SYNONYMS_H

#include "json/vocabulary.h"

extern const struct vocabulary config_vocabulary;

#endif
