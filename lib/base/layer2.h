/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The depth to which the parser (packet/parse.h) follows layer 2. Ports have room for all of it
 * around a full layer-3 packet. Constants; any thread.
 */
#ifndef WEIR_BASE_LAYER2_H
#define WEIR_BASE_LAYER2_H

#define ETHER_LEN  14
#define VLAN_LEN   4
#define VLANS_MAX  4 /* twice the depth of QinQ; no network has a longer chain */
#define LABEL_LEN  4
#define LABELS_MAX 8 /* transport, protection, service, entropy; doubled */
#define PPPOE_LEN  8 /* with the PPP protocol field after it */

/* Most bytes before the layer-3 packet: tags and labels. PPPoE is shorter. */
#define LAYER2_MAX (ETHER_LEN + VLANS_MAX * VLAN_LEN + LABELS_MAX * LABEL_LEN)

_Static_assert(PPPOE_LEN <= LABELS_MAX * LABEL_LEN, "labels take the most room");

#endif
