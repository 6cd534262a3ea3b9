/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The checks of a doctor. Each writes findings for problems, and adds facts for the "ok" row.
 */
#ifndef WEIR_APP_CHECKS_H
#define WEIR_APP_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include "findings.h"

/* doctor_cpus.c */
void check_cpus_exist(struct doctor *doctor);
void check_cpus_shared(struct doctor *doctor);
void check_cpus_isolated(struct doctor *doctor);
void check_numa(struct doctor *doctor);
void check_clock(struct doctor *doctor);

/* doctor_memory.c */
void check_hugepages(struct doctor *doctor);
void check_memory(struct doctor *doctor);

/* doctor_ports.c */
void check_pci(struct doctor *doctor);
void check_interfaces(struct doctor *doctor);
void check_twins(struct doctor *doctor);
void check_mtu(struct doctor *doctor);
void check_offloads(struct doctor *doctor);
void check_rights(struct doctor *doctor);
void check_eal(struct doctor *doctor);

/* doctor_state.c */
void check_bypass(struct doctor *doctor);
void check_secrets(struct doctor *doctor);
void check_listen(struct doctor *doctor);
void check_groups(struct doctor *doctor);
void check_socket(struct doctor *doctor);
void check_ledger(struct doctor *doctor);

/* A part of check_ledger(): the records of an intact store, against the roster. */
void check_roster(struct doctor *doctor);

#endif
