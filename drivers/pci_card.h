/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The PCI card of a port, from ROOT/sys ("": this machine's). DPDK's drivers do not report whether
 * the card is still there. Any thread.
 */
#ifndef WEIR_DRIVERS_PCI_CARD_H
#define WEIR_DRIVERS_PCI_CARD_H

#include <stdint.h>
#include <stdio.h>

/*
 * Returns a number that no other card at this address has had since boot. 0: there is no card, or
 * the device is not a PCI address.
 */
uint64_t pci_card_identity(const char *root, const char *device);

/*
 * Writes why such a device might have failed to start, and a remedy; nothing if it finds no cause.
 */
void pci_card_advise(const char *root, const char *device, FILE *out);

#endif
