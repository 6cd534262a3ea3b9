/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the doctor says of the kernel's interfaces, in a network of this process alone that has a
 * loopback and nothing else; and of CPUs and cards on a machine of paper that has none.
 */
#include "loopback.h"

#include <stdlib.h>

#include "checks.h"

#define LOOPBACK "net_af_packet0,iface=lo"

static struct patient {
	struct config config;
	struct port_config ports[2];
	struct doctor doctor;
	char *text;
	size_t size;
} patient;

static bool alone; /* in a network of its own */

static int set_up(void **state)
{
	(void)state;
	memset(&patient, 0, sizeof(patient));
	for (unsigned i = 0; i < 2; i++) {
		snprintf(patient.ports[i].name, sizeof(patient.ports[i].name), "%c", 'a' + i);
		snprintf(patient.ports[i].device, sizeof(patient.ports[i].device), "net_ring%u", i);
		patient.ports[i].mtu = 1500;
	}
	patient.config = (struct config){.ports = patient.ports, .n_ports = 2};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(patient.text);
	return 0;
}

static void stand_on(unsigned port, const char *device)
{
	strcpy(patient.ports[port].device, device);
}

static void expect_said(void (*check)(struct doctor *doctor), const char *text)
{
	free(patient.text);
	patient.doctor = (struct doctor){
		.config = &patient.config, .file = "f.json", .root = "/none", .check = "it"};
	patient.doctor.out = open_memstream(&patient.text, &patient.size);
	check(&patient.doctor);
	fclose(patient.doctor.out);
	assert_string_equal(patient.text, text);
}

static void set_mtu(int mtu)
{
	struct ifreq ifr = {.ifr_mtu = mtu};

	set_interface(SIOCSIFMTU, &ifr);
}

static void test_interfaces(void **state)
{
	struct ifreq up = {.ifr_flags = IFF_UP}, down = {0};

	(void)state;
	if (!alone)
		skip();
	expect_said(check_interfaces, "");
	stand_on(1, LOOPBACK);
	expect_said(check_interfaces,
		"warn    it          ports.b: lo is down, or has no carrier\n"
		"            remedy: ip link set lo up; ip -br link show lo\n");
	set_interface(SIOCSIFFLAGS, &up);
	set_address("10.9.8.7");
	expect_said(check_interfaces,
		"warn    it          ports.b: lo has the address 10.9.8.7: this machine answers "
		"and routes what the wire carries: expected no address\n"
		"            remedy: ip address flush dev lo\n");
	set_address("0.0.0.0");
	set_interface(SIOCSIFFLAGS, &down);
}

static void test_no_interface(void **state)
{
	(void)state;
	stand_on(0, "net_af_packet0,iface=weirnone");
	expect_said(check_interfaces,
		"FAIL    it          ports.a: weirnone: there is no such interface here\n"
		"            remedy: ip -br link\n");
	expect_said(check_mtu, "");
}

static void test_mtu(void **state)
{
	(void)state;
	if (!alone)
		skip();
	stand_on(0, LOOPBACK);
	set_mtu(1500);
	expect_said(check_mtu, "");
	set_mtu(1499);
	expect_said(check_mtu,
		"warn    it          ports.a: lo has an MTU of 1499: the start raises it to 1500\n"
		"            remedy: ip link set dev lo mtu 1500\n");
}

static void test_frames(void **state)
{
	(void)state;
	stand_on(1, "net_af_packet0,iface=weirnone,framesz=1024");
	expect_said(check_mtu,
		"FAIL    it          ports.b: its framesz holds no frame of its mtu\n"
		"            remedy: leave framesz away\n");
	stand_on(1, "net_af_packet0,iface=weirnone,framesz=4096");
	expect_said(check_mtu, "");
}

static void test_twins(void **state)
{
	(void)state;
	expect_said(check_twins, "");
	stand_on(0, LOOPBACK);
	stand_on(1, "net_af_packet1,iface=lo");
	expect_said(check_twins,
		"FAIL    it          ports.b: net_af_packet1,iface=lo stands on what ports.a has "
		"already: expected an interface for each port\n"
		"            remedy: ip -br link\n");
	patient.config.n_ports = 1;
	expect_said(check_twins, "");
}

/* A card that is not there. */
static void test_no_card(void **state)
{
	(void)state;
	stand_on(1, "0000:03:00.0");
	expect_said(check_pci, "FAIL    it          ports.b: there is no PCI device 0000:03:00.0\n"
			       "            remedy: lspci -D | grep -i ethernet\n");
}

static void test_no_cpu(void **state)
{
	(void)state;
	expect_said(check_cpus_exist, "");
	patient.config.n_workers = 2;
	patient.config.workers[1] = 4095;
	expect_said(check_cpus_exist,
		"FAIL    it          workers[1]: this machine has no CPU 4095: expected one of \n"
		"            remedy: lscpu -e\n");
	expect_said(check_eal, "unseen  it          not tried without these CPUs\n");
	patient.config.n_workers = 1;
	patient.config.control_cpu = 4094;
	expect_said(check_cpus_exist,
		"FAIL    it          control.cpu: this machine has no CPU 4094: expected one of \n"
		"            remedy: lscpu -e\n");
	expect_said(check_eal, "unseen  it          not tried without these CPUs\n");
}

#define patient_test(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		patient_test(test_interfaces),
		patient_test(test_no_interface),
		patient_test(test_mtu),
		patient_test(test_frames),
		patient_test(test_twins),
		patient_test(test_no_card),
		patient_test(test_no_cpu),
	};

	alone = loopback_alone();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
