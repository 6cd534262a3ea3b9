/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Checks of the doctor: PCI cards, interfaces, MTUs, offloads, and the rights to use them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/resource.h>
#include <unistd.h>

#include "checks.h"
#include "eal.h"
#include "eal_args.h"
#include "kernel_port.h"
#include "wire_offloads.h"

/* Beginning of lines about ports; other lines come from EAL, `weir: unrecognized option` too. */
#define EAL_OURS "weir: ports"

/* Kernel drivers that give a card to DPDK, and drivers that share it with DPDK. */
static const char *const lenders[] = {
	"vfio-pci", "uio_pci_generic", "igb_uio", "mlx5_core", "mlx4_core", "mana"};

static void find_port_problem(struct doctor *doctor, unsigned i, enum doctor_verdict verdict,
	const char *found, const char *expected, const char *remedy)
{
	doctor_find(doctor,
		&(struct finding){.verdict = verdict,
			.place = doctor_words(doctor, "ports.%s", doctor->config->ports[i].name),
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

/* With an IOMMU each group has a file, and the user of weir must be able to open it. */
static void check_vfio(struct doctor *doctor, unsigned i, const char *pci)
{
	char group[64], unsafe[8] = "";
	const char *file;

	if (!machine_link(doctor->root, group, sizeof(group), "/sys/bus/pci/devices/%s/iommu_group",
		    pci)) {
		machine_line(doctor->root, unsafe, sizeof(unsafe),
			"/sys/module/vfio/parameters/enable_unsafe_noiommu_mode");
		find_port_problem(doctor, i, unsafe[0] == 'Y' ? DOCTOR_WARN : DOCTOR_FAIL,
			doctor_words(doctor, "%s is in no IOMMU group%s", pci,
				unsafe[0] == 'Y' ? ", so it can write to any memory" : ""),
			"an IOMMU",
			"enable VT-d or AMD-Vi in the BIOS, and add intel_iommu=on iommu=pt to the "
			"kernel's command line; in a virtual machine without one: echo Y > "
			"/sys/module/vfio/parameters/enable_unsafe_noiommu_mode");
		return;
	}
	file = doctor_words(doctor, "%s/dev/vfio/%s", doctor->root, group);
	if (access(file, R_OK | W_OK) && errno == EACCES)
		find_port_problem(doctor, i, DOCTOR_FAIL,
			doctor_words(doctor, "user %u cannot open %s", (unsigned)geteuid(), file),
			NULL, doctor_words(doctor, "chown USER %s", file));
}

void check_pci(struct doctor *doctor)
{
	doctor_skip(doctor, "no port is a PCI card");
	for (unsigned i = 0; i < doctor->config->n_ports; i++) {
		const char *pci = doctor->config->ports[i].device;
		char driver[64] = "";

		if (device_is_vdev(pci))
			continue;
		if (!machine_has(doctor->root, "/sys/bus/pci/devices/%s", pci)) {
			find_port_problem(doctor, i, DOCTOR_FAIL,
				doctor_words(doctor, "there is no PCI device %s", pci), NULL,
				"lspci -D | grep -i ethernet");
			continue;
		}
		machine_link(doctor->root, driver, sizeof(driver), "/sys/bus/pci/devices/%s/driver",
			pci);
		doctor_add_fact(doctor, "ports.%s %s uses driver %s", doctor->config->ports[i].name,
			pci, driver);
		if (!is_lender(driver))
			find_port_problem(doctor, i, DOCTOR_FAIL,
				driver[0] ? doctor_words(doctor, "%s uses the kernel driver %s",
						    pci, driver)
					  : doctor_words(doctor, "%s has no driver", pci),
				"a driver for DPDK such as vfio-pci",
				doctor_words(doctor,
					"modprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci %s",
					pci));
		else if (strcmp(driver, "vfio-pci") == 0)
			check_vfio(doctor, i, pci);
	}
}

/* ---- interfaces of the kernel */

static void check_shared(
	struct doctor *doctor, unsigned i, const char *interface, const struct kernel_kin *kin)
{
	char address[64];
	bool up = true, known = kernel_link(interface, &up) == 0;

	doctor_add_fact(doctor, "ports.%s %s: %s, no address, no bridge",
		doctor->config->ports[i].name, interface, known ? "up" : "link state unknown");
	if (kin->master[0])
		find_port_problem(doctor, i, DOCTOR_WARN,
			doctor_words(doctor, "%s is a member of %s, which also gets every frame",
				interface, kin->master),
			NULL, doctor_words(doctor, "ip link set %s nomaster", interface));
	if (kernel_address(interface, address, sizeof(address)))
		find_port_problem(doctor, i, DOCTOR_WARN,
			doctor_words(doctor,
				"%s has the address %s, so this machine answers and routes packets "
				"of the wire",
				interface, address),
			"no address", doctor_words(doctor, "ip address flush dev %s", interface));
	if (known && !up)
		find_port_problem(doctor, i, DOCTOR_WARN,
			doctor_words(doctor, "%s is down or has no carrier", interface), NULL,
			doctor_words(doctor, "ip link set %s up; ip -br link show %s", interface,
				interface));
}

void check_interfaces(struct doctor *doctor)
{
	doctor_skip(doctor, "no port is a kernel interface");
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
			find_port_problem(doctor, i, ret == -ENODEV ? DOCTOR_FAIL : DOCTOR_UNSEEN,
				doctor_words(doctor, "%s: %s", interface,
					ret == -ENODEV ? "no such interface" : strerror(-ret)),
				NULL, "ip -br link");
	}
}

void check_twins(struct doctor *doctor)
{
	doctor_add_fact(doctor, "%u ports on %u different devices", doctor->config->n_ports,
		doctor->config->n_ports);
	for (unsigned i = 0; i < doctor->config->n_ports; i++) {
		unsigned twin = port_twin(doctor->config, i);

		if (twin != i)
			find_port_problem(doctor, i, DOCTOR_FAIL,
				doctor_words(doctor, "%s uses the same device as ports.%s",
					doctor->config->ports[i].device,
					doctor->config->ports[twin].name),
				"a separate device for each port", "ip -br link");
	}
}

static void check_port_mtu(struct doctor *doctor, unsigned i, const char *interface)
{
	const struct port_config *port = &doctor->config->ports[i];
	unsigned mtu = 0, wanted = port_frame_max(port) - ETHER_LEN;
	struct kernel_kin kin;

	if (kernel_kin(interface, &kin) || kernel_mtu(interface, &mtu))
		return;
	doctor_add_fact(
		doctor, "ports.%s %s MTU %u, configured %u", port->name, interface, mtu, port->mtu);
	if (mtu >= port->mtu)
		return;
	if (kin.mtu_max >= port->mtu && kin.mtu_max < wanted)
		wanted = kin.mtu_max;
	if (kin.mtu_max && kin.mtu_max < port->mtu)
		find_port_problem(doctor, i, DOCTOR_FAIL,
			doctor_words(doctor, "%s supports an MTU of at most %u, and \"mtu\" is %u",
				interface, kin.mtu_max, port->mtu),
			NULL, doctor_words(doctor, "\"mtu\": %u", kin.mtu_max));
	else
		find_port_problem(doctor, i, DOCTOR_WARN,
			doctor_words(doctor, "%s has an MTU of %u; the start raises it to %u",
				interface, mtu, wanted),
			NULL, doctor_words(doctor, "ip link set dev %s mtu %u", interface, wanted));
}

void check_mtu(struct doctor *doctor)
{
	doctor_skip(doctor, "no port is a kernel interface");
	for (unsigned i = 0; i < doctor->config->n_ports; i++) {
		const struct port_config *port = &doctor->config->ports[i];
		char interface[IFNAMSIZ];

		if (port_is_af_packet(port) && !af_packet_fits(port))
			find_port_problem(doctor, i, DOCTOR_FAIL,
				"framesz is smaller than a frame of its mtu", NULL,
				"remove framesz from \"device\"");
		if (kernel_interface(port, interface))
			check_port_mtu(doctor, i, interface);
	}
}

static void find_offloads(
	void *context, unsigned i, const char *interface, const char *names, const char *command)
{
	struct doctor *doctor = context;
	bool meant = doctor->config->ports[i].offloads == OFFLOADS_IGNORE;

	find_port_problem(doctor, i, meant ? DOCTOR_WARN : DOCTOR_FAIL,
		doctor_words(doctor, "%s of %s: %s packets of the wire", names + 1, interface,
			strchr(names + 1, ' ') ? "offloads that alter" : "an offload that alters"),
		"off", doctor_words(doctor, "ethtool -K %s%s", interface, command));
}

/* Offloads that are on, by port. */
struct offloads_on {
	struct doctor *doctor;
	bool ports[CONFIG_PORTS_MAX];
};

static void add_offload_on(
	void *context, unsigned i, const char *interface, const char *names, const char *command)
{
	struct offloads_on *on = context;

	(void)command;
	on->ports[i] = true;
	doctor_add_fact(on->doctor, "ports.%s: %s of %s on, off after the start",
		on->doctor->config->ports[i].name, names + 1, interface);
}

/*
 * Adds a fact for each kernel interface. For ports that ignore offloads, wire_offloads_foresee()
 * reports every altering one, so it gets such a copy of the configuration. 0 or -ENOMEM.
 */
static int add_offload_facts(struct doctor *doctor)
{
	const struct config *config = doctor->config;
	struct port_config *ports = calloc(config->n_ports + 1, sizeof(*ports));
	struct config *ignoring = malloc(sizeof(*ignoring));
	struct offloads_on on = {.doctor = doctor};
	char interface[IFNAMSIZ];
	int ret = -ENOMEM;

	if (ports && ignoring) {
		*ignoring = *config;
		ignoring->ports = ports;
		for (unsigned i = 0; i < config->n_ports; i++) {
			ports[i] = config->ports[i];
			ports[i].offloads = OFFLOADS_IGNORE;
		}
		ret = wire_offloads_foresee(ignoring, add_offload_on, &on);
	}
	for (unsigned i = 0; ret == 0 && i < config->n_ports; i++)
		if (!on.ports[i] && kernel_interface(&config->ports[i], interface))
			doctor_add_fact(doctor, "ports.%s %s: no altering offload is on",
				config->ports[i].name, interface);
	free(ignoring);
	free(ports);
	return ret;
}

void check_offloads(struct doctor *doctor)
{
	int facts_ret = add_offload_facts(doctor);

	doctor_skip(doctor, "no port is a kernel interface");
	if (wire_offloads_foresee(doctor->config, find_offloads, doctor) || facts_ret)
		doctor_find(doctor,
			&(struct finding){.verdict = DOCTOR_UNSEEN, .found = "out of memory"});
}

/* ---- rights of this user */

/* The kernel takes cards' memory, and AF_XDP's, only if all of it can be locked. */
static void check_locked(struct doctor *doctor, uint64_t effective)
{
	struct rlimit limit;

	if (rights_lock(doctor->config, effective) || getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	doctor_find(doctor,
		&(struct finding){.verdict = DOCTOR_FAIL,
			.found = doctor_words(doctor, "user %u can lock only %lu MB of memory",
				(unsigned)geteuid(), (unsigned long)(limit.rlim_cur >> 20)),
			.expected = "no limit, because cards and AF_XDP write to packet buffers",
			.remedy = RIGHTS_LOCK_REMEDY});
}

void check_rights(struct doctor *doctor)
{
	char hex[64] = "";
	uint64_t effective;

	if (!machine_row(doctor->root, "/proc/self/status", "CapEff", hex, sizeof(hex))) {
		doctor_find(doctor, &(struct finding){.verdict = DOCTOR_UNSEEN,
					    .found = "/proc/self/status has no CapEff"});
		return;
	}
	effective = strtoull(hex, NULL, 16);
	doctor_skip(doctor, "the ports need no rights");
	for (const struct right *right = rights; right->name; right++)
		if (right_is_needed(doctor->config, right))
			doctor_add_fact(doctor, "user %u has %s", (unsigned)geteuid(), right->name);
	for (const struct right *right = rights; right->name; right++)
		if (!(effective & right->any) && right_is_needed(doctor->config, right))
			doctor_find(doctor,
				&(struct finding){.verdict = DOCTOR_FAIL,
					.found = doctor_words(doctor,
						"user %u lacks %s, needed to %s",
						(unsigned)geteuid(), right->name, right->why),
					.remedy = RIGHTS_REMEDY});
	check_locked(doctor, effective);
}

/* ---- EAL */

/* Joins the lines of EAL that have a reason; the others only report the failure. */
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

/* True if EAL starts without the argument `at`, and without a value that follows it. */
static bool starts_without(const struct config *config, unsigned at)
{
	struct config *trial = malloc(sizeof(*trial));
	FILE *nowhere = fopen("/dev/null", "we");
	unsigned n = at;
	bool starts = false;

	if (trial && nowhere) {
		*trial = *config;
		for (unsigned i = at + 1; i < config->n_eal; i++)
			if (n > at || config->eal[i][0] == '-')
				trial->eal[n++] = config->eal[i];
		trial->n_eal = n;
		starts = eal_trial(trial, nowhere) == 0;
	}
	if (nowhere)
		fclose(nowhere);
	free(trial);
	return starts;
}

/* Returns the value of an argument, such as "640" after "-m"; "" without one. */
static const char *argument_value(const struct config *config, unsigned at)
{
	return at + 1 < config->n_eal && config->eal[at + 1][0] != '-' ? config->eal[at + 1] : "";
}

/* Names each argument that is enough to remove; otherwise the one that EAL rejects, if any. */
static const char *eal_remedy(struct doctor *doctor, unsigned rejected)
{
	const struct config *config = doctor->config;
	char names[512] = "";
	size_t at = 0;

	for (unsigned i = 0; i < config->n_eal && at < sizeof(names); i++)
		if (config->eal[i][0] == '-' && (i == rejected || starts_without(config, i)))
			at += (size_t)snprintf(names + at, sizeof(names) - at, "%s\"%s%s%s\"",
				at ? " or " : "", config->eal[i],
				argument_value(config, i)[0] ? " " : "", argument_value(config, i));
	if (at == 0)
		return doctor_words(
			doctor, "fix the other failures, then weir --doctor %s", doctor->file);
	return doctor_words(doctor, "remove %s from \"eal\" in %s", names, doctor->file);
}

/* After -EINVAL, looks for the argument whose absence lets EAL start. */
static void find_eal_error(struct doctor *doctor, int error, const char *text)
{
	const struct config *config = doctor->config;
	unsigned at = error == -EINVAL ? eal_trial_refused(config) : config->n_eal;
	bool named = at < config->n_eal;

	doctor_find(doctor,
		&(struct finding){.verdict = DOCTOR_FAIL,
			.place = named ? doctor_words(doctor, "eal[%u]", at) : NULL,
			.found = named ? doctor_words(doctor, "EAL rejects \"%s\"%s",
						 config->eal[at], eal_words(doctor, text))
				       : doctor_words(doctor, "EAL does not start: %s%s",
						 strerror(-error), eal_words(doctor, text)),
			.remedy = eal_remedy(doctor, error == -EINVAL ? at : config->n_eal)});
}

/* Facts about the arguments and the ports of a trial that succeeded. */
static void add_eal_facts(struct doctor *doctor)
{
	const struct config *config = doctor->config;
	char list[512] = "";
	size_t at = 0;

	for (unsigned i = 0; i < config->n_eal && at < sizeof(list); i++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, " %s", config->eal[i]);
	doctor_add_fact(doctor, "EAL starts %s%s", at ? "with" : "without extra arguments", list);
	for (unsigned i = 0; i < config->n_ports; i++)
		doctor_add_fact(
			doctor, "ports.%s %s", config->ports[i].name, config->ports[i].device);
}

static void find_untried(struct doctor *doctor, const char *why)
{
	doctor_find(doctor, &(struct finding){.verdict = DOCTOR_UNSEEN, .found = why});
}

void check_eal(struct doctor *doctor)
{
	bool has_cpus = eal_has_cpu(doctor->config->control_cpu);
	char *text = NULL;
	const char *ours;
	size_t size;
	FILE *words;
	int ret;

	for (unsigned i = 0; i < doctor->config->n_workers; i++)
		has_cpus &= eal_has_cpu(doctor->config->workers[i]);
	if (!has_cpus) {
		find_untried(doctor, "not tried, because CPUs are missing");
		return;
	}
	words = open_memstream(&text, &size);
	if (!words)
		return;
	ret = eal_trial(doctor->config, words);
	fclose(words);
	add_eal_facts(doctor);
	if (eal_runs_already(doctor->config))
		doctor_find(doctor,
			&(struct finding){.verdict = DOCTOR_FAIL,
				.place = "limiter",
				.found = doctor_words(doctor, "a weir named %s is already running",
					doctor->config->limiter),
				.remedy = doctor_words(doctor, "systemctl stop weir@%s",
					doctor->config->limiter)});
	ours = strstr(text, EAL_OURS);
	if (ret == -ENOTSUP && !ours)
		find_untried(
			doctor, size ? doctor_words(doctor, "not tried: %.*s", (int)size - 1, text)
				     : "not tried: --vdev and --legacy-mem can leave files "
				       "and devices on the machine");
	else if (ret && ours)
		doctor_find_lines(doctor, DOCTOR_FAIL, text, EAL_OURS);
	else if (ret)
		find_eal_error(doctor, ret, text);
	free(text);
}
