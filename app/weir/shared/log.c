/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "log.h"

RTE_LOG_REGISTER(weir_logtype, weir, INFO);
