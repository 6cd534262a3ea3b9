/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The PCI card that a port stands on, as the kernel has it below ROOT/sys ("": this machine's):
 * DPDK's drivers do not tell whether theirs is still there. Any thread.
 */
#ifndef WEIR_DRIVERS_PCI_CARD_H
#define WEIR_DRIVERS_PCI_CARD_H

#include <stdint.h>
#include <stdio.h>

/*
 * What no other card has that is, or was, at this address since the machine has booted; 0: there is
 * none, or the device is not a PCI address.
 */
uint64_t pci_card_identity(const char *root, const char *device);

/* Writes why such a device may not have come up, and what to do; nothing where that is not seen. */
void pci_card_advise(const char *root, const char *device, FILE *out);

#endif
