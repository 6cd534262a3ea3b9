/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "doctor.h"

#include "checks.h"

/* In the order in which a start meets them. */
static const struct check {
	const char *name;
	const char *well; /* what is said when nothing is wrong */
	void (*look)(struct doctor *doctor);
} checks[] = {
	{"cpus", "all CPUs are there", check_cpus_exist},
	{"cpu-share", "no two workers share a core", check_cpus_shared},
	{"cpu-noise", "nothing else is scheduled where workers poll, or they sleep",
		check_cpus_isolated},
	{"numa", "workers are on the NUMA nodes of their cards, or of none that is known",
		check_numa},
	{"clock", "the TSC goes on, and the kernel trusts it", check_clock},
	{"hugepages", "as many as EAL needs at least, or none is wanted", check_hugepages},
	{"memory", "enough for packet buffers and policies", check_memory},
	{"pci", "cards are bound to a driver for user space, or none is used", check_pci},
	{"interface", "interfaces of ports are there, up, and nobody else's", check_interfaces},
	{"twins", "no two ports stand on one device", check_twins},
	{"mtu", "interfaces carry what the configuration asks for", check_mtu},
	{"offloads", "no offload alters packets, or it can be switched off", check_offloads},
	{"rights", "this user may do what the ports need", check_rights},
	{"bypass", "wires can outlive the process, or none is to", check_bypass},
	{"eal", "EAL takes the arguments, and devices that could be tried come up", check_eal},
	{"secrets", "key, identity and password files are sound, or none is named", check_secrets},
	{"listen", "gossip's address is ours and free, or none is used", check_listen},
	{"groups", "groups of the control socket are there, or none is named", check_groups},
	{"socket", "the control socket can be made", check_socket},
	{"ledger", "the store is sound, or no policy needs it", check_ledger},
};

unsigned doctor_run(const struct config *config, const char *file, bool json, FILE *out)
{
	struct doctor doctor = {
		.config = config, .file = file, .root = "", .out = out, .json = json};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		doctor.check = checks[i].name;
		doctor.said = false;
		doctor.words_at = 0;
		checks[i].look(&doctor);
		if (!doctor.said)
			doctor_find(&doctor, &(struct finding){.found = checks[i].well});
		fflush(out);
	}
	doctor_sum_up(&doctor);
	return doctor.n[DOCTOR_FAIL];
}
