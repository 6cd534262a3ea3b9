/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include <stdio.h>
#include <string.h>

#include "checks.h"
#include "clock.h"
#include "eal.h"
#include "eal_args.h"
#include "machine.h"

#define LIST 1024 /* bytes of a list of CPUs */

static void say_no_cpu(struct doctor *doctor, const char *place, unsigned cpu)
{
	char online[LIST] = "";

	machine_line(doctor->root, online, sizeof(online), "/sys/devices/system/cpu/online");
	doctor_find(
		doctor, &(struct finding){.verdict = DOCTOR_FAIL,
				.place = place,
				.found = doctor_words(doctor, "this machine has no CPU %u", cpu),
				.expected = doctor_words(doctor, "one of %s", online),
				.remedy = "lscpu -e"});
}

void check_cpus_exist(struct doctor *doctor)
{
	const struct config *config = doctor->config;

	if (!eal_has_cpu(config->control_cpu))
		say_no_cpu(doctor, "control.cpu", config->control_cpu);
	for (unsigned i = 0; i < config->n_workers; i++)
		if (!eal_has_cpu(config->workers[i]))
			say_no_cpu(
				doctor, doctor_words(doctor, "workers[%u]", i), config->workers[i]);
}

/* Whether two are threads of one core; the same CPU is not meant. */
static bool are_siblings(const char *root, unsigned a, unsigned b)
{
	char list[LIST];

	return a != b &&
	       machine_line(root, list, sizeof(list),
		       "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", a) &&
	       cpu_list_has(list, b);
}

static void check_pair(struct doctor *doctor, unsigned i, unsigned j)
{
	unsigned a = doctor->config->workers[i], b = doctor->config->workers[j];
	bool same = a == b;

	if (!same && !are_siblings(doctor->root, a, b))
		return;
	doctor_find(doctor,
		&(struct finding){.verdict = DOCTOR_WARN,
			.place = doctor_words(doctor, "workers[%u]", j),
			.found = same ? doctor_words(doctor, "worker %u has CPU %u, too", i, a)
				      : doctor_words(doctor,
						"CPU %u and worker %u's CPU %u are threads of one "
						"core: together they are little faster than one",
						b, i, a),
			.expected = "a core of its own for each worker",
			.remedy = "lscpu -e"});
}

void check_cpus_shared(struct doctor *doctor)
{
	for (unsigned j = 0; j < doctor->config->n_workers; j++)
		for (unsigned i = 0; i < j; i++)
			check_pair(doctor, i, j);
}

void check_cpus_isolated(struct doctor *doctor)
{
	const struct config *config = doctor->config;
	char isolated[LIST] = "", cpus[LIST] = "";
	size_t at = 0;

	machine_line(doctor->root, isolated, sizeof(isolated), "/sys/devices/system/cpu/isolated");
	for (unsigned i = 0; config->idle == IDLE_POLL && i < config->n_workers; i++)
		if (!cpu_list_has(isolated, config->workers[i]))
			at += (size_t)snprintf(cpus + at, sizeof(cpus) - at, "%s%u", at ? "," : "",
				config->workers[i]);
	if (!cpus[0])
		return;
	doctor_find(doctor,
		&(struct finding){.verdict = DOCTOR_WARN,
			.place = "workers",
			.found = doctor_words(doctor,
				"the kernel runs other processes on CPU %s, too, and packets wait "
				"meanwhile",
				cpus),
			.expected = "isolated CPUs",
			.remedy = doctor_words(doctor,
				"add isolcpus=%s nohz_full=%s rcu_nocbs=%s to GRUB_CMDLINE_LINUX in "
				"/etc/default/grub; update-grub; reboot",
				cpus, cpus, cpus)});
}

static void check_node(struct doctor *doctor, const struct port_config *port, long node)
{
	char list[LIST];

	if (!machine_line(doctor->root, list, sizeof(list),
		    "/sys/devices/system/node/node%ld/cpulist", node))
		return;
	for (unsigned i = 0; i < doctor->config->n_workers; i++)
		if (!cpu_list_has(list, doctor->config->workers[i]))
			doctor_find(doctor,
				&(struct finding){.verdict = DOCTOR_WARN,
					.place = doctor_words(doctor, "workers[%u]", i),
					.found = doctor_words(doctor,
						"CPU %u is far from ports.%s, which is at NUMA node "
						"%ld: each packet comes by another socket",
						doctor->config->workers[i], port->name, node),
					.expected = doctor_words(doctor, "one of %s", list),
					.remedy = "lscpu -e"});
}

void check_numa(struct doctor *doctor)
{
	for (unsigned i = 0; i < doctor->config->n_ports; i++) {
		const struct port_config *port = &doctor->config->ports[i];
		long node = machine_number(
			doctor->root, -1, "/sys/bus/pci/devices/%s/numa_node", port->device);

		if (!device_is_vdev(port->device) && node >= 0)
			check_node(doctor, port, node);
	}
}

void check_clock(struct doctor *doctor)
{
	const char *doubt = tsc_clock_doubt();

	if (doubt)
		doctor_find(doctor,
			&(struct finding){.verdict = DOCTOR_WARN,
				.found = doctor_words(
					doctor, "%s; every limit is timed by it", doubt),
				.expected = "a TSC that never stops, and is the kernel's clock",
				.remedy = "cat /sys/devices/system/clocksource/clocksource0/"
					  "{available,current}_clocksource; dmesg | grep -i tsc"});
}
