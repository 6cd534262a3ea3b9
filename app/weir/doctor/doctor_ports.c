/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/capability.h>
#include <sys/resource.h>
#include <unistd.h>

#include "checks.h"
#include "eal.h"
#include "eal_args.h"
#include "eal_trial.h"
#include "kernel_port.h"
#include "machine.h"
#include "wire_offloads.h"

/* How lines about devices begin; others are of EAL, also of `weir: unrecognized option`. */
#define EAL_OURS "weir: ports"

/* Drivers of the kernel that lend their cards to DPDK, and those that keep them all the same. */
static const char *const lenders[] = {
	"vfio-pci", "uio_pci_generic", "igb_uio", "mlx5_core", "mlx4_core", "mana"};

static const char *port_place(struct doctor *doctor, unsigned i)
{
	return doctor_words(doctor, "ports.%s", doctor->config->ports[i].name);
}

static void say_port(struct doctor *doctor, unsigned i, enum doctor_verdict verdict,
	const char *found, const char *expected, const char *remedy)
{
	doctor_find(doctor, &(struct finding){.verdict = verdict,
				    .place = port_place(doctor, i),
				    .found = found,
				    .expected = expected,
				    .remedy = remedy});
}

/* ---- cards */

static bool is_lender(const char *driver)
{
	bool found = false;

	for (size_t i = 0; i < sizeof(lenders) / sizeof(lenders[0]); i++)
		found |= strcmp(driver, lenders[i]) == 0;
	return found;
}

static void say_unbound(struct doctor *doctor, unsigned i, const char *pci, const char *driver)
{
	say_port(doctor, i, DOCTOR_FAIL,
		driver[0]
			? doctor_words(doctor, "%s belongs to the kernel's driver %s", pci, driver)
			: doctor_words(doctor, "%s has no driver", pci),
		"vfio-pci, or another that lends it to DPDK",
		doctor_words(
			doctor, "modprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci %s", pci));
}

/* With an IOMMU each group has a file, that its user must be able to open. */
static void check_vfio(struct doctor *doctor, unsigned i, const char *pci)
{
	char group[64], unsafe[8] = "";
	const char *file;

	if (!machine_link(doctor->root, group, sizeof(group), "/sys/bus/pci/devices/%s/iommu_group",
		    pci)) {
		machine_line(doctor->root, unsafe, sizeof(unsafe),
			"/sys/module/vfio/parameters/enable_unsafe_noiommu_mode");
		say_port(doctor, i, unsafe[0] == 'Y' ? DOCTOR_WARN : DOCTOR_FAIL,
			doctor_words(doctor, "%s is in no IOMMU group%s", pci,
				unsafe[0] == 'Y' ? ": it may write anywhere in memory" : ""),
			"an IOMMU",
			"switch VT-d or AMD-Vi on in the BIOS, and add intel_iommu=on iommu=pt to the "
			"kernel's command line; in a virtual machine without one: echo Y > "
			"/sys/module/vfio/parameters/enable_unsafe_noiommu_mode");
		return;
	}
	file = doctor_words(doctor, "%s/dev/vfio/%s", doctor->root, group);
	if (access(file, R_OK | W_OK) && errno == EACCES)
		say_port(doctor, i, DOCTOR_FAIL,
			doctor_words(doctor, "this user may not open %s", file), NULL,
			doctor_words(doctor, "chown USER %s", file));
}

void check_pci(struct doctor *doctor)
{
	for (unsigned i = 0; i < doctor->config->n_ports; i++) {
		const char *pci = doctor->config->ports[i].device;
		char driver[64] = "";

		if (device_is_vdev(pci))
			continue;
		if (!machine_has(doctor->root, "/sys/bus/pci/devices/%s", pci)) {
			say_port(doctor, i, DOCTOR_FAIL,
				doctor_words(doctor, "there is no PCI device %s", pci), NULL,
				"lspci -D | grep -i ethernet");
			continue;
		}
		machine_link(doctor->root, driver, sizeof(driver), "/sys/bus/pci/devices/%s/driver",
			pci);
		if (!is_lender(driver))
			say_unbound(doctor, i, pci, driver);
		else if (strcmp(driver, "vfio-pci") == 0)
			check_vfio(doctor, i, pci);
	}
}

/* ---- interfaces of the kernel */

static void check_shared(
	struct doctor *doctor, unsigned i, const char *interface, const struct kernel_kin *kin)
{
	char address[64];
	bool up = true;

	if (kin->master[0])
		say_port(doctor, i, DOCTOR_WARN,
			doctor_words(doctor, "%s belongs to %s, which gets every frame too",
				interface, kin->master),
			NULL, doctor_words(doctor, "ip link set %s nomaster", interface));
	if (kernel_address(interface, address, sizeof(address)))
		say_port(doctor, i, DOCTOR_WARN,
			doctor_words(doctor,
				"%s has the address %s: this machine answers and routes what the "
				"wire carries",
				interface, address),
			"no address", doctor_words(doctor, "ip address flush dev %s", interface));
	if (kernel_link(interface, &up) == 0 && !up)
		say_port(doctor, i, DOCTOR_WARN,
			doctor_words(doctor, "%s is down, or has no carrier", interface), NULL,
			doctor_words(doctor, "ip link set %s up; ip -br link show %s", interface,
				interface));
}

void check_interfaces(struct doctor *doctor)
{
	for (unsigned i = 0; i < doctor->config->n_ports; i++) {
		char interface[IFNAMSIZ];
		struct kernel_kin kin;
		int ret;

		if (!kernel_interface(&doctor->config->ports[i], interface))
			continue;
		ret = kernel_kin(interface, &kin);
		if (ret == 0)
			check_shared(doctor, i, interface, &kin);
		else
			say_port(doctor, i, ret == -ENODEV ? DOCTOR_FAIL : DOCTOR_UNSEEN,
				doctor_words(doctor, "%s: %s", interface,
					ret == -ENODEV ? "there is no such interface here"
						       : strerror(-ret)),
				NULL, "ip -br link");
	}
}

void check_twins(struct doctor *doctor)
{
	for (unsigned i = 0; i < doctor->config->n_ports; i++) {
		unsigned twin = port_twin(doctor->config, i);

		if (twin != i)
			say_port(doctor, i, DOCTOR_FAIL,
				doctor_words(doctor, "%s stands on what ports.%s has already",
					doctor->config->ports[i].device,
					doctor->config->ports[twin].name),
				"an interface for each port", "ip -br link");
	}
}

static void check_port_mtu(struct doctor *doctor, unsigned i, const char *interface)
{
	const struct port_config *port = &doctor->config->ports[i];
	struct kernel_kin kin;
	unsigned mtu = 0;

	if (kernel_kin(interface, &kin) || kernel_mtu(interface, &mtu) || mtu >= port->mtu)
		return;
	if (kin.mtu_max && kin.mtu_max < port->mtu)
		say_port(doctor, i, DOCTOR_FAIL,
			doctor_words(doctor, "%s takes an MTU of %u at most, and is to have %u",
				interface, kin.mtu_max, port->mtu),
			NULL, doctor_words(doctor, "\"mtu\": %u", kin.mtu_max));
	else
		say_port(doctor, i, DOCTOR_WARN,
			doctor_words(doctor, "%s has an MTU of %u: the start raises it to %u",
				interface, mtu, port->mtu),
			NULL,
			doctor_words(doctor, "ip link set dev %s mtu %u", interface, port->mtu));
}

void check_mtu(struct doctor *doctor)
{
	for (unsigned i = 0; i < doctor->config->n_ports; i++) {
		const struct port_config *port = &doctor->config->ports[i];
		char interface[IFNAMSIZ];

		if (port_is_af_packet(port) && !af_packet_fits(port))
			say_port(doctor, i, DOCTOR_FAIL, "its framesz holds no frame of its mtu",
				NULL, "leave framesz away");
		if (kernel_interface(port, interface))
			check_port_mtu(doctor, i, interface);
	}
}

static void say_offloads(
	void *context, unsigned i, const char *interface, const char *names, const char *command)
{
	struct doctor *doctor = context;
	bool meant = doctor->config->ports[i].offloads == OFFLOADS_IGNORE;

	say_port(doctor, i, meant ? DOCTOR_WARN : DOCTOR_FAIL,
		doctor_words(doctor, "%s of %s alter%s what was on the wire", names + 1, interface,
			strchr(names + 1, ' ') ? "" : "s"),
		"them switched off", doctor_words(doctor, "ethtool -K %s%s", interface, command));
}

void check_offloads(struct doctor *doctor)
{
	if (wire_offloads_foresee(doctor->config, say_offloads, doctor))
		doctor_find(doctor,
			&(struct finding){.verdict = DOCTOR_UNSEEN, .found = "out of memory"});
}

/* ---- what this user may do */

#define BIT(capability) (UINT64_C(1) << (capability))

static bool of_the_kernel(const struct port_config *port)
{
	char interface[IFNAMSIZ];

	return kernel_interface(port, interface);
}

static bool of_pci(const struct port_config *port)
{
	return !device_is_vdev(port->device);
}

/* What a port takes, of which any one will do. */
static const struct right {
	bool (*needed)(const struct port_config *port); /* NULL: wires that outlive the process */
	uint64_t any;
	const char *name, *why;
} rights[] = {
	{of_the_kernel, BIT(CAP_NET_RAW), "CAP_NET_RAW", "opens packet sockets"},
	{of_the_kernel, BIT(CAP_NET_ADMIN), "CAP_NET_ADMIN",
		"makes interfaces promiscuous and switches offloads off"},
	{port_is_af_xdp, BIT(CAP_SYS_ADMIN), "CAP_SYS_ADMIN",
		"finds the program of AF_XDP that it has loaded"},
	{NULL, BIT(CAP_BPF) | BIT(CAP_SYS_ADMIN), "CAP_BPF",
		"loads the programs of wires that outlive it"},
	{NULL, BIT(CAP_PERFMON) | BIT(CAP_SYS_ADMIN), "CAP_PERFMON",
		"loads the programs of wires that outlive it"},
};

static bool is_needed(const struct config *config, const struct right *right)
{
	bool found = false;

	if (!right->needed)
		return config_has_programs(config);
	for (unsigned i = 0; i < config->n_ports; i++)
		found |= right->needed(&config->ports[i]);
	return found;
}

/* A card's memory is locked, all of it. */
static void check_locked(struct doctor *doctor, uint64_t effective)
{
	static const struct right cards = {.needed = of_pci};
	struct rlimit limit;

	if (!is_needed(doctor->config, &cards) || effective & BIT(CAP_IPC_LOCK) ||
		getrlimit(RLIMIT_MEMLOCK, &limit) ||
		limit.rlim_cur >= doctor_heap(doctor->config, 1, 0))
		return;
	doctor_find(doctor,
		&(struct finding){.verdict = DOCTOR_FAIL,
			.found = doctor_words(doctor, "user %u may lock %lu MB of memory",
				(unsigned)geteuid(), (unsigned long)(limit.rlim_cur >> 20)),
			.expected = "no limit, as cards write to it",
			.remedy = "ulimit -l unlimited, or LimitMEMLOCK=infinity in its unit"});
}

void check_rights(struct doctor *doctor)
{
	char hex[64] = "";
	uint64_t effective;

	if (!machine_row(doctor->root, "/proc/self/status", "CapEff", hex, sizeof(hex))) {
		doctor_find(doctor, &(struct finding){.verdict = DOCTOR_UNSEEN,
					    .found = "/proc/self/status does not say"});
		return;
	}
	effective = strtoull(hex, NULL, 16);
	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++)
		if (!(effective & rights[i].any) && is_needed(doctor->config, &rights[i]))
			doctor_find(doctor,
				&(struct finding){.verdict = DOCTOR_FAIL,
					.found = doctor_words(doctor, "user %u lacks %s, which %s",
						(unsigned)geteuid(), rights[i].name, rights[i].why),
					.remedy =
						"start it by systemd's weir@.service, or with sudo"});
	check_locked(doctor, effective);
}

/* ---- EAL */

/* Those lines of EAL's own that say more than that it has failed, in one. */
static const char *eal_words(struct doctor *doctor, const char *text)
{
	static const char program[] = "EAL: ";
	char all[512] = "";
	size_t at = 0;

	for (const char *line = text, *end; *line && at < sizeof(all);
		line = end + (*end != '\0')) {
		end = line + strcspn(line, "\n");
		if (strncmp(line, program, strlen(program)) != 0)
			continue;
		line += strlen(program);
		if (strncmp(line, "FATAL: ", 7) != 0 && strncmp(line, "Invalid 'command", 16) != 0)
			at += (size_t)snprintf(all + at, sizeof(all) - at, "%s%.*s",
				at ? "; " : ": ", (int)(end - line), line);
	}
	return doctor_words(doctor, "%s", all);
}

/* Where EAL means what it was told, the argument that it would do without is looked for. */
static void say_eal_refuses(struct doctor *doctor, int error, const char *text)
{
	const struct config *config = doctor->config;
	unsigned at = error == -EINVAL ? eal_trial_refused(config) : config->n_eal;
	bool named = at < config->n_eal;

	doctor_find(doctor,
		&(struct finding){.verdict = DOCTOR_FAIL,
			.place = named ? doctor_words(doctor, "eal[%u]", at) : NULL,
			.found = named ? doctor_words(doctor, "EAL refuses \"%s\"%s",
						 config->eal[at], eal_words(doctor, text))
				       : doctor_words(doctor, "EAL does not start: %s%s",
						 strerror(-error), eal_words(doctor, text)),
			.remedy = doctor_words(doctor, "weir --describe %s", doctor->file)});
}

static bool cpus_are_there(struct doctor *doctor)
{
	bool there = eal_has_cpu(doctor->config->control_cpu);

	for (unsigned i = 0; i < doctor->config->n_workers; i++)
		there &= eal_has_cpu(doctor->config->workers[i]);
	return there;
}

static void say_untried(struct doctor *doctor, const char *why)
{
	doctor_find(doctor, &(struct finding){.verdict = DOCTOR_UNSEEN, .found = why});
}

void check_eal(struct doctor *doctor)
{
	char *text = NULL;
	const char *ours;
	size_t size;
	FILE *words;
	int ret;

	if (!cpus_are_there(doctor)) {
		say_untried(doctor, "not tried without these CPUs");
		return;
	}
	words = open_memstream(&text, &size);
	if (!words)
		return;
	ret = eal_trial(doctor->config, words);
	fclose(words);
	if (eal_runs_already(doctor->config))
		doctor_find(doctor,
			&(struct finding){.verdict = DOCTOR_FAIL,
				.place = "limiter",
				.found = doctor_words(doctor, "a weir named %s runs here already",
					doctor->config->limiter),
				.remedy = "weirctl status"});
	ours = strstr(text, EAL_OURS);
	if (ret == -ENOTSUP && !ours)
		say_untried(
			doctor, size ? doctor_words(doctor, "not tried: %.*s", (int)size - 1, text)
				     : "not tried: --vdev and --legacy-mem might leave things "
				       "behind");
	else if (ret && ours)
		doctor_find_lines(doctor, DOCTOR_FAIL, text, EAL_OURS);
	else if (ret)
		say_eal_refuses(doctor, ret, text);
	free(text);
}
