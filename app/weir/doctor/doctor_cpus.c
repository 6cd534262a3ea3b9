/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Checks of the doctor: the CPUs of workers and control, NUMA nodes, and the clock.
 */
#include <stdio.h>
#include <string.h>

#include "checks.h"
#include "clock.h"
#include "eal.h"
#include "eal_args.h"

#define LIST 1024 /* bytes of a list of CPUs */

static void find_no_cpu(struct doctor *doctor, const char *place, unsigned cpu)
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

/* Writes the CPUs of the workers, or only those outside of `except`, as "2,3". */
static void list_workers(const struct config *config, const char *except, char cpus[LIST])
{
	size_t at = 0;

	cpus[0] = '\0';
	for (unsigned i = 0; i < config->n_workers; i++)
		if (!cpu_list_has(except, config->workers[i]))
			at += (size_t)snprintf(
				cpus + at, LIST - at, "%s%u", at ? "," : "", config->workers[i]);
}

void check_cpus_exist(struct doctor *doctor)
{
	const struct config *config = doctor->config;
	char cpus[LIST];

	list_workers(config, "", cpus);
	doctor_add_fact(doctor, "control on CPU %u", config->control_cpu);
	if (cpus[0])
		doctor_add_fact(doctor, "workers on CPU %s", cpus);
	if (!eal_has_cpu(config->control_cpu))
		find_no_cpu(doctor, "control.cpu", config->control_cpu);
	for (unsigned i = 0; i < config->n_workers; i++)
		if (!eal_has_cpu(config->workers[i]))
			find_no_cpu(
				doctor, doctor_words(doctor, "workers[%u]", i), config->workers[i]);
}

static void check_pair(struct doctor *doctor, unsigned i, unsigned j)
{
	unsigned a = doctor->config->workers[i], b = doctor->config->workers[j];
	bool same = a == b;
	char threads[LIST];
	/* two threads of one core */
	bool siblings = !same &&
			machine_line(doctor->root, threads, sizeof(threads),
				"/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", a) &&
			cpu_list_has(threads, b);

	if (!same && !siblings)
		return;
	doctor_find(doctor,
		&(struct finding){.verdict = DOCTOR_WARN,
			.place = doctor_words(doctor, "workers[%u]", j),
			.found = same ? doctor_words(doctor, "worker %u also uses CPU %u", i, a)
				      : doctor_words(doctor,
						"CPU %u shares a core with CPU %u of worker %u: "
						"the two are hardly faster than one",
						b, a, i),
			.expected = "a separate core for each worker",
			.remedy = "lscpu -e"});
}

void check_cpus_shared(struct doctor *doctor)
{
	unsigned n = doctor->config->n_workers;

	if (n > 1)
		doctor_add_fact(doctor, "%u workers on %u separate cores", n, n);
	else
		doctor_skip(doctor, "there is one worker");
	for (unsigned j = 0; j < doctor->config->n_workers; j++)
		for (unsigned i = 0; i < j; i++)
			check_pair(doctor, i, j);
}

void check_cpus_isolated(struct doctor *doctor)
{
	const struct config *config = doctor->config;
	char isolated[LIST] = "", cpus[LIST];

	if (config->idle != IDLE_POLL) {
		doctor_skip(doctor, "idle workers sleep");
		return;
	}
	machine_line(doctor->root, isolated, sizeof(isolated), "/sys/devices/system/cpu/isolated");
	list_workers(config, isolated, cpus);
	if (!cpus[0]) {
		list_workers(config, "", cpus);
		doctor_add_fact(doctor, "CPU %s isolated from the kernel's scheduler", cpus);
		return;
	}
	doctor_find(doctor,
		&(struct finding){.verdict = DOCTOR_WARN,
			.place = "workers",
			.found = doctor_words(doctor,
				"the kernel also runs other processes on CPU %s, so packets wait",
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
	doctor_add_fact(doctor, "ports.%s and all workers on NUMA node %ld", port->name, node);
	for (unsigned i = 0; i < doctor->config->n_workers; i++)
		if (!cpu_list_has(list, doctor->config->workers[i]))
			doctor_find(doctor,
				&(struct finding){.verdict = DOCTOR_WARN,
					.place = doctor_words(doctor, "workers[%u]", i),
					.found = doctor_words(doctor,
						"CPU %u and ports.%s (NUMA node %ld) are on "
						"different nodes: each packet crosses sockets",
						doctor->config->workers[i], port->name, node),
					.expected = doctor_words(doctor, "one of %s", list),
					.remedy = "lscpu -e"});
}

void check_numa(struct doctor *doctor)
{
	doctor_skip(doctor, "no port reports a NUMA node");
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
	char source[64] = "";

	machine_line(doctor->root, source, sizeof(source),
		"/sys/devices/system/clocksource/clocksource0/current_clocksource");
	doctor_add_fact(doctor, "the TSC never stops%s%s",
		source[0] ? ", kernel clock source " : "", source);
	if (doubt)
		doctor_find(doctor,
			&(struct finding){.verdict = DOCTOR_WARN,
				.found = doctor_words(
					doctor, "%s; every limit uses the TSC", doubt),
				.expected = "a TSC that never stops and is the kernel's clock",
				.remedy = "cat /sys/devices/system/clocksource/clocksource0/"
					  "{available,current}_clocksource; dmesg | grep -i tsc"});
}
