/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Runs `weir --doctor`: lists, before the first start, the problems that this machine has with a
 * configuration, each with a command that fixes it.
 */
#include "doctor.h"

#include "checks.h"

/* All checks, in the order of a start. */
static const struct check {
	const char *name;
	void (*look)(struct doctor *doctor);
	const char *usual_remedy; /* for findings without their own */
} checks[] = {
	{"cpus", check_cpus_exist, "lscpu -e"},
	{"cpu-share", check_cpus_shared, "lscpu -e"},
	{"cpu-noise", check_cpus_isolated, "lscpu -e"},
	{"numa", check_numa, "lscpu -e"},
	{"clock", check_clock, "dmesg | grep -i tsc"},
	{"hugepages", check_hugepages, "grep Huge /proc/meminfo"},
	{"memory", check_memory, "free -m"},
	{"pci", check_pci, "dpdk-devbind.py --status"},
	{"interface", check_interfaces, "ip -br link"},
	{"twins", check_twins, "ip -br link"},
	{"mtu", check_mtu, "ip link"},
	{"offloads", check_offloads, "ethtool -k INTERFACE"},
	{"rights", check_rights, "systemctl start weir@NAME"},
	{"bypass", check_bypass, "ls -ld /sys/fs/bpf /sys/fs/bpf/weir"},
	{"eal", check_eal, "correct the port's \"device\""},
	{"secrets", check_secrets, "correct the path or the file"},
	{"listen", check_listen, "ip -br address; ss -ulpn"},
	{"groups", check_groups, "getent group"},
	{"socket", check_socket, "choose another \"control\": {\"socket\": PATH}"},
	{"ledger", check_ledger, "choose another \"ledger\": {\"store\": PATH}"},
};

unsigned doctor_run(const struct config *config, const char *file, bool json, FILE *out)
{
	struct doctor doctor = {
		.config = config, .file = file, .root = "", .out = out, .json = json};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		doctor_begin_check(&doctor, checks[i].name, checks[i].usual_remedy);
		checks[i].look(&doctor);
		doctor_end_check(&doctor);
		fflush(out);
	}
	doctor_sum_up(&doctor);
	return doctor.n[DOCTOR_FAIL];
}
