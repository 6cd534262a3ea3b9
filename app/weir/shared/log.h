/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Log lines of the appliance. Never on a worker's packet path.
 */
#ifndef WEIR_APP_LOG_H
#define WEIR_APP_LOG_H

#include <rte_log.h>

extern int weir_logtype;

#define log_at(level, format, ...) \
	rte_log(RTE_LOG_##level, weir_logtype, "weir: " format "\n", ##__VA_ARGS__)

#define log_err(...)  log_at(ERR, __VA_ARGS__)
#define log_warn(...) log_at(WARNING, __VA_ARGS__)
#define log_info(...) log_at(INFO, __VA_ARGS__)

#endif
