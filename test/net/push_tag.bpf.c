/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Gives outgoing frames a VLAN tag outside of their data, like a VLAN interface: for offloads.py.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define VLAN 100

SEC("tc")
int push(struct __sk_buff *frame)
{
	if (frame->protocol == bpf_htons(ETH_P_802_EX1))
		bpf_skb_vlan_push(frame, bpf_htons(ETH_P_8021Q), VLAN);
	return TC_ACT_OK;
}

char licence[] SEC("license") = "Dual BSD/GPL";
