/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the doctor makes of answers that no machine of a test would give: the kernel's, EAL's and
 * the system's calls are the test's own.
 */
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "checks.h"
#include "eal_trial.h"
#include "gossip_socket.h"
#include "kernel_port.h"
#include "policy/value.h"
#include "socket_groups.h"
#include "store/store.h"
#include "telemetry/server.h"
#include "wire_offloads.h"

#define CARD "0000:03:00.1"

/* A path, what its absence is called, and what a user gets who wants more than to see it. */
struct test_path {
	const char *path;
	int seen, used;
};

/* An interface of the kernel, as each of its calls tells of it. */
struct test_interface {
	const char *name, *address;
	struct kernel_kin kin;
	bool up;
	unsigned mtu;
	int kin_error, link_error, mtu_error;
};

static struct {
	struct test_path paths[2];
	int mode; /* of the latest question that was not F_OK */
	struct test_interface interfaces[2];
	struct {
		unsigned port;
		const char *names, *command;
	} offloads[2];
	int offloads_error;
	uint64_t cpus;
	int trial_error;
	const char *trial_text;
	unsigned refused, refusals_asked;
	bool runs_already, no_memory;
	const char *doubt;
	int listen_error, socket_error, store_error, fs_error;
	struct statvfs fs;
	uid_t user;
	gid_t group, groups[3];
	int n_groups;
	struct telemetry_group socket_group;
	int groups_error;
} told;

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
	for (size_t i = 0; i < sizeof(told.paths) / sizeof(*told.paths); i++) {
		const struct test_path *row = &told.paths[i];

		if (!row->path || strcmp(row->path, path) != 0)
			continue;
		if (mode != F_OK)
			told.mode = mode;
		errno = mode == F_OK ? row->seen : row->used;
		return errno ? -1 : 0;
	}
	return __real_access(path, mode);
}

static const struct test_interface *interface_told(const char *name)
{
	for (size_t i = 0; i < sizeof(told.interfaces) / sizeof(*told.interfaces); i++)
		if (told.interfaces[i].name && strcmp(told.interfaces[i].name, name) == 0)
			return &told.interfaces[i];
	fail_msg("nothing is told of %s", name);
	return NULL;
}

int __wrap_kernel_kin(const char *name, struct kernel_kin *kin);
int __wrap_kernel_kin(const char *name, struct kernel_kin *kin)
{
	*kin = interface_told(name)->kin;
	return interface_told(name)->kin_error;
}

int __wrap_kernel_link(const char *name, bool *up);
int __wrap_kernel_link(const char *name, bool *up)
{
	*up = interface_told(name)->up;
	return interface_told(name)->link_error;
}

int __wrap_kernel_mtu(const char *name, unsigned *mtu);
int __wrap_kernel_mtu(const char *name, unsigned *mtu)
{
	*mtu = interface_told(name)->mtu;
	return interface_told(name)->mtu_error;
}

bool __wrap_kernel_address(const char *name, char *text, size_t size);
bool __wrap_kernel_address(const char *name, char *text, size_t size)
{
	const char *address = interface_told(name)->address;

	snprintf(text, size, "%s", address ? address : "");
	return address != NULL;
}

int __wrap_wire_offloads_foresee(
	const struct config *config, wire_offloads_found found, void *context);
int __wrap_wire_offloads_foresee(
	const struct config *config, wire_offloads_found found, void *context)
{
	(void)config;
	for (size_t i = 0; i < sizeof(told.offloads) / sizeof(*told.offloads); i++)
		if (told.offloads[i].names)
			found(context, told.offloads[i].port, "eth7", told.offloads[i].names,
				told.offloads[i].command);
	return told.offloads_error;
}

bool __wrap_eal_has_cpu(unsigned cpu);
bool __wrap_eal_has_cpu(unsigned cpu)
{
	return told.cpus >> cpu & 1;
}

int __wrap_eal_trial(const struct config *config, FILE *err);
int __wrap_eal_trial(const struct config *config, FILE *err)
{
	(void)config;
	fputs(told.trial_text, err);
	return told.trial_error;
}

unsigned __wrap_eal_trial_refused(const struct config *config);
unsigned __wrap_eal_trial_refused(const struct config *config)
{
	(void)config;
	told.refusals_asked++;
	return told.refused;
}

bool __wrap_eal_runs_already(const struct config *config);
bool __wrap_eal_runs_already(const struct config *config)
{
	(void)config;
	return told.runs_already;
}

const char *__wrap_tsc_clock_doubt(void);
const char *__wrap_tsc_clock_doubt(void)
{
	return told.doubt;
}

int __wrap_gossip_socket_try(const struct gossip_config *config);
int __wrap_gossip_socket_try(const struct gossip_config *config)
{
	(void)config;
	return told.listen_error;
}

int __wrap_telemetry_look(const char *path);
int __wrap_telemetry_look(const char *path)
{
	(void)path;
	return told.socket_error;
}

int __wrap_store_look(const char *directory);
int __wrap_store_look(const char *directory)
{
	(void)directory;
	return told.store_error;
}

bool __wrap_config_needs_ledger(const struct config *config);
bool __wrap_config_needs_ledger(const struct config *config)
{
	return config->n_policies > 0;
}

int __wrap_socket_groups_find(const struct config *config, struct telemetry_options *options,
	const struct complaint_sink *to);
int __wrap_socket_groups_find(const struct config *config, struct telemetry_options *options,
	const struct complaint_sink *to)
{
	(void)config;
	(void)to;
	options->group = told.socket_group;
	return told.groups_error;
}

int __wrap_statvfs64(const char *path, struct statvfs *fs);
int __wrap_statvfs64(const char *path, struct statvfs *fs)
{
	(void)path;
	*fs = told.fs;
	return told.fs_error;
}

uid_t __wrap_geteuid(void);
uid_t __wrap_geteuid(void)
{
	return told.user;
}

gid_t __wrap_getegid(void);
gid_t __wrap_getegid(void)
{
	return told.group;
}

int __wrap_getgroups(int size, gid_t *groups);
int __wrap_getgroups(int size, gid_t *groups)
{
	assert_true(size >= told.n_groups);
	for (int i = 0; i < told.n_groups; i++)
		groups[i] = told.groups[i];
	return told.n_groups;
}

FILE *__real_open_memstream(char **text, size_t *size);
FILE *__wrap_open_memstream(char **text, size_t *size);
FILE *__wrap_open_memstream(char **text, size_t *size)
{
	return told.no_memory ? NULL : __real_open_memstream(text, size);
}

/* ---- whom it is asked of */

static struct patient {
	struct config config;
	struct port_config ports[2];
	struct doctor doctor;
	char root[32];
	char *text;
	size_t size;
} patient;

static int set_up(void **state)
{
	(void)state;
	memset(&patient, 0, sizeof(patient));
	memset(&told, 0, sizeof(told));
	told.trial_text = "";
	told.cpus = UINT64_MAX;
	told.fs = (struct statvfs){.f_bavail = 1 << 20, .f_frsize = 4096};
	for (unsigned i = 0; i < 2; i++) {
		snprintf(patient.ports[i].name, sizeof(patient.ports[i].name), "%c", 'a' + i);
		snprintf(patient.ports[i].device, sizeof(patient.ports[i].device),
			"net_af_packet%u,iface=eth%u", i, i);
		patient.ports[i].mtu = 1500;
		told.interfaces[i].name = i ? "eth1" : "eth0";
		told.interfaces[i].up = true;
		told.interfaces[i].mtu = 1500;
	}
	patient.config = (struct config){
		.ports = patient.ports, .n_ports = 2, .limiter = "it", .n_workers = 3};
	for (unsigned i = 0; i < 3; i++)
		patient.config.workers[i] = 10 + i;
	strcpy(patient.root, "/none");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(patient.text);
	return 0;
}

static void expect_said(void (*check)(struct doctor *doctor), const char *text)
{
	free(patient.text);
	patient.doctor = (struct doctor){
		.config = &patient.config, .file = "f.json", .root = patient.root, .check = "it"};
	patient.doctor.out = __real_open_memstream(&patient.text, &patient.size);
	check(&patient.doctor);
	fclose(patient.doctor.out);
	assert_string_equal(patient.text, text);
}

#define EXPECT_FAIL(check, words, remedy) \
	expect_said(check, "FAIL    it          " words "\n            remedy: " remedy "\n")
#define EXPECT_WARN(check, words, remedy) \
	expect_said(check, "warn    it          " words "\n            remedy: " remedy "\n")

/* ---- CPUs, and the clock */

#define NO_CPU(place, cpu)                                                                 \
	"FAIL    it          " place ": this machine has no CPU " cpu ": expected one of " \
	"\n            remedy: lscpu -e\n"

static void test_cpus(void **state)
{
	(void)state;
	told.cpus = 1 << 0 | 1 << 11;
	expect_said(check_cpus_exist, NO_CPU("workers[0]", "10") NO_CPU("workers[2]", "12"));
	told.cpus = 7 << 10;
	expect_said(check_cpus_exist, NO_CPU("control.cpu", "0"));
	told.cpus |= 1;
	expect_said(check_cpus_exist, "");
}

static void test_clock(void **state)
{
	(void)state;
	expect_said(check_clock, "");
	told.doubt = "the TSC stops in deep sleep";
	EXPECT_WARN(check_clock,
		"the TSC stops in deep sleep; every limit is timed by it: expected a TSC that "
		"never stops, and is the kernel's clock",
		"cat /sys/devices/system/clocksource/clocksource0/"
		"{available,current}_clocksource; dmesg | grep -i tsc");
}

/* ---- interfaces of the kernel */

static void test_interfaces(void **state)
{
	struct test_interface *second = &told.interfaces[1];

	(void)state;
	expect_said(check_interfaces, "");
	strcpy(second->kin.master, "br7");
	EXPECT_WARN(check_interfaces, "ports.b: eth1 belongs to br7, which gets every frame too",
		"ip link set eth1 nomaster");
	second->kin.master[0] = '\0';
	second->up = false;
	EXPECT_WARN(check_interfaces, "ports.b: eth1 is down, or has no carrier",
		"ip link set eth1 up; ip -br link show eth1");
	second->link_error = -EIO; /* nobody says so */
	expect_said(check_interfaces, "");
	second->kin_error = -EACCES;
	patient.config.n_ports = 1; /* whoever else there is is no port */
	expect_said(check_interfaces, "");
	patient.config.n_ports = 2;
	expect_said(check_interfaces, "unseen  it          ports.b: eth1: Permission denied\n"
				      "            remedy: ip -br link\n");
	second->kin_error = -ENODEV;
	strcpy(told.interfaces[0].kin.master, "bond0");
	told.interfaces[0].address = "10.1.2.3";
	told.interfaces[0].up = false;
	expect_said(check_interfaces,
		"warn    it          ports.a: eth0 belongs to bond0, which gets every frame too\n"
		"            remedy: ip link set eth0 nomaster\n"
		"warn    it          ports.a: eth0 has the address 10.1.2.3: this machine answers "
		"and routes what the wire carries: expected no address\n"
		"            remedy: ip address flush dev eth0\n"
		"warn    it          ports.a: eth0 is down, or has no carrier\n"
		"            remedy: ip link set eth0 up; ip -br link show eth0\n"
		"FAIL    it          ports.b: eth1: there is no such interface here\n"
		"            remedy: ip -br link\n");
}

/* An MTU that is too small is raised, if the interface takes that; each port has its own. */
static void test_mtu(void **state)
{
	struct test_interface *second = &told.interfaces[1];

	(void)state;
	expect_said(check_mtu, "");
	patient.ports[1].mtu = 9000;
	second->kin.mtu_max = 9000;
	EXPECT_WARN(check_mtu, "ports.b: eth1 has an MTU of 1500: the start raises it to 9000",
		"ip link set dev eth1 mtu 9000");
	patient.config.n_ports = 1;
	expect_said(check_mtu, "");
	patient.config.n_ports = 2;
	second->kin.mtu_max = 8999;
	EXPECT_FAIL(check_mtu, "ports.b: eth1 takes an MTU of 8999 at most, and is to have 9000",
		"\"mtu\": 8999");
	second->mtu = 9000; /* as it has it, it does not matter what it would take */
	expect_said(check_mtu, "");
	second->mtu = 1500;
	second->mtu_error = -EIO;
	expect_said(check_mtu, "");
	second->mtu_error = 0;
	second->kin_error = -ENODEV; /* which is said elsewhere */
	expect_said(check_mtu, "");
	second->kin_error = 0;
	second->kin.mtu_max = 0; /* it does not say */
	EXPECT_WARN(check_mtu, "ports.b: eth1 has an MTU of 1500: the start raises it to 9000",
		"ip link set dev eth1 mtu 9000");
}

static void test_offloads(void **state)
{
	(void)state;
	expect_said(check_offloads, "");
	told.offloads[0].port = 1;
	told.offloads[0].names = " gro lro";
	told.offloads[0].command = " gro off lro off";
	EXPECT_FAIL(check_offloads,
		"ports.b: gro lro of eth7 alter what was on the wire: expected them switched off",
		"ethtool -K eth7 gro off lro off");
	patient.ports[1].offloads = OFFLOADS_IGNORE;
	told.offloads[1].names = " rxvlan";
	told.offloads[1].command = " rxvlan off";
	told.offloads_error = -ENOMEM;
	expect_said(check_offloads,
		"warn    it          ports.b: gro lro of eth7 alter what was on the wire: "
		"expected them switched off\n"
		"            remedy: ethtool -K eth7 gro off lro off\n"
		"FAIL    it          ports.a: rxvlan of eth7 alters what was on the wire: "
		"expected them switched off\n"
		"            remedy: ethtool -K eth7 rxvlan off\n"
		"unseen  it          out of memory\n");
}

/* ---- a card whose group's file is another's */

static void test_vfio(void **state)
{
	char command[512], words[512], file[64];

	(void)state;
	strcpy(patient.root, "/tmp/weir-doctor-XXXXXX");
	assert_non_null(mkdtemp(patient.root));
	snprintf(command, sizeof(command),
		"mkdir -p %s/sys/bus/pci/devices/" CARD " && cd %s/sys/bus/pci/devices/" CARD
		" && ln -s ../../drivers/vfio-pci driver && ln -s ../../groups/17 iommu_group",
		patient.root, patient.root);
	assert_int_equal(system(command), 0);
	strcpy(patient.ports[0].device, "net_ring0");
	strcpy(patient.ports[1].device, CARD);
	snprintf(file, sizeof(file), "%s/dev/vfio/17", patient.root);
	told.paths[0] = (struct test_path){.path = file, .used = EACCES};
	snprintf(words, sizeof(words),
		"FAIL    it          ports.b: this user may not open %s\n"
		"            remedy: chown USER %s\n",
		file, file);
	expect_said(check_pci, words);
	assert_int_equal(told.mode, R_OK | W_OK);
	patient.config.n_ports = 1;
	expect_said(check_pci, "");
	patient.config.n_ports = 2;
	told.paths[0].used = ENOENT; /* it comes when the driver has it */
	expect_said(check_pci, "");
	told.paths[0].used = 0;
	expect_said(check_pci, "");
	snprintf(command, sizeof(command), "rm -r %s", patient.root);
	assert_int_equal(system(command), 0);
}

/* ---- EAL */

#define UNTRIED "unseen  it          not tried"

static void test_eal_untried(void **state)
{
	(void)state;
	told.trial_error = -ENOTSUP;
	expect_said(check_eal, UNTRIED ": --vdev and --legacy-mem might leave things behind\n");
	told.trial_text = "weir: no room for it\n";
	expect_said(check_eal, UNTRIED ": weir: no room for it\n");
	for (unsigned i = 0; i < 3; i++) {
		told.cpus = ~(UINT64_C(1) << (10 + i));
		expect_said(check_eal, UNTRIED " without these CPUs\n");
	}
	told.cpus = ~UINT64_C(1);
	expect_said(check_eal, UNTRIED " without these CPUs\n");
}

/* Devices that do not come up, each in a line of its own; EAL's own lines say the same again. */
static void test_eal_devices(void **state)
{
	(void)state;
	told.trial_text = "EAL: Driver cannot attach the device (net_x)\n"
			  "weir: ports.a: net_x0 does not come up\n"
			  "weir: something else\n"
			  "weir: ports.b: net_x1 does not come up\n";
	expect_said(check_eal, "");
	for (unsigned i = 0; i < 2; i++) {
		told.trial_error = i ? -ENOTSUP : -ENODEV;
		expect_said(check_eal, "FAIL    it          ports.a: net_x0 does not come up\n"
				       "FAIL    it          ports.b: net_x1 does not come up\n");
	}
	assert_int_equal(told.refusals_asked, 0);
}

static void test_eal_refuses(void **state)
{
	char first[] = "--first", second[] = "--second";

	(void)state;
	patient.config.eal[0] = first;
	patient.config.eal[1] = second;
	patient.config.n_eal = 2;
	told.trial_error = -EINVAL;
	told.refused = 1;
	told.trial_text = "weir: unrecognized option '--second'\n"
			  "EAL: FATAL: Invalid arguments.\n"
			  "EAL: Invalid 'command line' arguments.\n"
			  "EAL: Invalid 'lines' of others\n"
			  "no line of it\n"
			  "EAL: it has no end";
	EXPECT_FAIL(check_eal,
		"eal[1]: EAL refuses \"--second\": Invalid 'lines' of others; it has no end",
		"weir --describe f.json");
	told.refused = 2; /* none of them alone */
	EXPECT_FAIL(check_eal,
		"EAL does not start: Invalid argument: Invalid 'lines' of others; it has no end",
		"weir --describe f.json");
	assert_int_equal(told.refusals_asked, 2);
	told.refused = 0;
	told.trial_text = "";
	EXPECT_FAIL(check_eal, "eal[0]: EAL refuses \"--first\"", "weir --describe f.json");
	told.trial_error = -ENOMEM; /* which is no argument's fault */
	EXPECT_FAIL(
		check_eal, "EAL does not start: Cannot allocate memory", "weir --describe f.json");
	assert_int_equal(told.refusals_asked, 3);
}

/* What there is room for, where it says much. */
static void test_eal_says_much(void **state)
{
	char text[2048] = "", expected[2048], joined[1024] = ": ";

	(void)state;
	for (unsigned i = 0; i < 32; i++) {
		char line[64];

		snprintf(line, sizeof(line), "line %02u is about so long a one", i);
		strcat(strcat(strcat(text, "EAL: "), line), "\n");
		if (i < 20)
			strcat(strcat(joined, line), "; ");
	}
	joined[511] = '\0';
	told.trial_text = text;
	told.trial_error = -ENOMEM;
	snprintf(expected, sizeof(expected),
		"FAIL    it          EAL does not start: Cannot allocate memory%s\n"
		"            remedy: weir --describe f.json\n",
		joined);
	expect_said(check_eal, expected);
}

static void test_eal_runs_already(void **state)
{
	(void)state;
	expect_said(check_eal, "");
	told.no_memory = true;
	told.runs_already = true;
	expect_said(check_eal, "");
	told.no_memory = false;
	EXPECT_FAIL(check_eal, "limiter: a weir named it runs here already", "weirctl status");
}

/* ---- files, sockets and groups */

/* Each of etcd's files is looked at that is named, and a start goes on without it. */
static void test_tls_files(void **state)
{
	struct ledger_config *ledger = &patient.config.ledger;

	(void)state;
	expect_said(check_secrets, "");
	told.paths[0] = (struct test_path){.path = "/tls/none", .used = ENOENT};
	told.paths[1] = (struct test_path){.path = "/tls/fine"};
	strcpy(ledger->etcd_ca, "/tls/none");
	strcpy(ledger->etcd_cert, "/tls/fine");
	EXPECT_WARN(check_secrets,
		"ledger.etcd.ca: /tls/none: No such file or directory: nothing is drawn of etcd "
		"before it can be read",
		"ls -l /tls/none");
	assert_int_equal(told.mode, R_OK);
	told.paths[0].used = EACCES;
	strcpy(ledger->etcd_ca, "/tls/fine");
	strcpy(ledger->etcd_cert, "/tls/none");
	EXPECT_WARN(check_secrets,
		"ledger.etcd.cert: /tls/none: Permission denied: nothing is drawn of etcd before "
		"it can be read",
		"ls -l /tls/none");
	strcpy(ledger->etcd_cert, "");
	strcpy(ledger->etcd_key, "/tls/none");
	EXPECT_WARN(check_secrets,
		"ledger.etcd.key: /tls/none: Permission denied: nothing is drawn of etcd before "
		"it can be read",
		"ls -l /tls/none");
}

static void test_groups(void **state)
{
	static const struct {
		uid_t user;
		gid_t group, wanted;
		int n;
		bool may;
	} rows[] = {
		{0, 5, 70, 0, true},     /* root may give it to anybody */
		{1000, 70, 70, 0, true}, /* his own */
		{1000, 5, 70, 0, false},
		{1000, 5, 70, -1, false},
		{1000, 5, 70, 1, false},
		{1000, 5, 70, 2, true}, /* one of several, wherever it stands */
		{1000, 5, 70, 3, true},
		{1000, 5, 69, 3, true},
		{1000, 5, 71, 3, true},
		{1000, 5, 72, 3, false},
	};

	(void)state;
	told.groups[0] = 69;
	told.groups[1] = 70;
	told.groups[2] = 71;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		told.user = rows[i].user;
		told.group = rows[i].group;
		told.n_groups = rows[i].n;
		told.groups_error = 0;
		told.socket_group = (struct telemetry_group){.name = "weir", .gid = rows[i].wanted};
		if (rows[i].may)
			expect_said(check_groups, "");
		else
			EXPECT_FAIL(check_groups,
				"control.group: \"weir\": user 1000 is not in it, and cannot give "
				"it the socket",
				"usermod -aG weir USER");
		told.groups_error = -ENOENT; /* that was said already */
		expect_said(check_groups, "");
		told.groups_error = 0;
		told.socket_group.name = NULL; /* none is named */
		expect_said(check_groups, "");
	}
}

static void listen_at(const char *address)
{
	struct gossip_config *gossip = &patient.config.gossip;

	assert_int_equal(address_parse(address, &gossip->listen, &gossip->listen_len), 0);
}

static void test_listen(void **state)
{
	(void)state;
	listen_at("[2001:db8::7]:7946");
	expect_said(check_listen, "");
	told.listen_error = -EADDRNOTAVAIL;
	EXPECT_FAIL(check_listen,
		"gossip.listen: cannot bind [2001:db8::7]:7946: no interface of this machine has "
		"it",
		"ip -br address; ip address add 2001:db8::7 dev INTERFACE");
	told.listen_error = -EADDRINUSE;
	EXPECT_FAIL(check_listen,
		"gossip.listen: cannot bind [2001:db8::7]:7946: another process has it",
		"ss -ulpn 'sport = :7946'");
	told.listen_error = -EACCES;
	expect_said(check_listen, "FAIL    it          gossip.listen: cannot bind "
				  "[2001:db8::7]:7946: Permission denied\n");
	told.listen_error = -EADDRNOTAVAIL;
	listen_at("192.0.2.1:80");
	EXPECT_FAIL(check_listen,
		"gossip.listen: cannot bind 192.0.2.1:80: no interface of this machine has it",
		"ip -br address; ip address add 192.0.2.1 dev INTERFACE");
}

static void test_socket(void **state)
{
	(void)state;
	strcpy(patient.config.control_socket, "/run/weir/it/socket");
	expect_said(check_socket, "");
	told.socket_error = -EADDRINUSE;
	EXPECT_FAIL(check_socket, "control.socket: /run/weir/it/socket: a weir that runs has it",
		"weirctl -s /run/weir/it/socket status");
	told.socket_error = -EEXIST;
	EXPECT_FAIL(check_socket,
		"control.socket: /run/weir/it/socket: something that is no socket has this name",
		"ls -l /run/weir/it/socket");
	told.socket_error = -ENOENT;
	EXPECT_FAIL(check_socket,
		"control.socket: /run/weir/it/socket: the directories above it are not there",
		"mkdir -p /run/weir/it");
	told.socket_error = -EACCES;
	EXPECT_FAIL(check_socket, "control.socket: /run/weir/it/socket: Permission denied",
		"chown USER /run/weir/it");
	told.socket_error = -ENAMETOOLONG;
	expect_said(check_socket,
		"FAIL    it          control.socket: /run/weir/it/socket: File name too long\n");
	strcpy(patient.config.control_socket, "socket"); /* with no directory in it */
	told.socket_error = -EACCES;
	EXPECT_FAIL(check_socket, "control.socket: socket: Permission denied", "chown USER ");
}

/* ---- the ledger's store */

static void test_no_store(void **state)
{
	static const char store[] = "/led/ger/store//";

	(void)state;
	told.store_error = -ENOENT;
	told.paths[0] = (struct test_path){.path = store, .seen = ENOENT, .used = ENOENT};
	told.paths[1] = (struct test_path){.path = "/led/ger/", .used = EACCES};
	strcpy(patient.config.ledger.store, store);
	expect_said(check_ledger, ""); /* which no policy needs */
	patient.config.n_policies = 1;
	EXPECT_FAIL(check_ledger,
		"ledger.store: /led/ger/: Permission denied: no store is there, and none can be "
		"made",
		"chown USER /led/ger/");
	assert_int_equal(told.mode, W_OK | X_OK);
	told.paths[1].used = ENOENT;
	EXPECT_FAIL(check_ledger,
		"ledger.store: /led/ger/: No such file or directory: no store is there, and none "
		"can be made",
		"mkdir -p /led/ger/");
	told.paths[1].used = 0;
	EXPECT_WARN(check_ledger,
		"ledger.store: /led/ger/store//: no store is there: this limiter would begin as "
		"one that has lost its memory, and let nothing pass of what is never exceeded "
		"until its neighbours have told it what they know",
		"weir --new-ledger f.json");
	told.paths[0].seen = 0; /* an empty directory, in which it would be */
	told.paths[0].used = EACCES;
	EXPECT_FAIL(check_ledger,
		"ledger.store: /led/ger/store//: Permission denied: no store is there, and none "
		"can be made",
		"chown USER /led/ger/store//");
	strcpy(patient.config.ledger.store, "");
	expect_said(check_ledger, "");
}

/* In the directory of the process, or of the machine. */
static void test_store_without_directory(void **state)
{
	(void)state;
	patient.config.n_policies = 1;
	told.store_error = -ENOENT;
	told.paths[1] = (struct test_path){.path = ".", .used = EACCES};
	strcpy(patient.config.ledger.store, "s"); /* the shortest of names */
	told.paths[0] = (struct test_path){.path = "s", .seen = ENOENT};
	EXPECT_FAIL(check_ledger,
		"ledger.store: .: Permission denied: no store is there, and none can be made",
		"chown USER .");
	told.paths[0].path = "s/";
	strcpy(patient.config.ledger.store, "s/");
	EXPECT_FAIL(check_ledger,
		"ledger.store: .: Permission denied: no store is there, and none can be made",
		"chown USER .");
	told.paths[0] = (struct test_path){.path = "/s", .seen = ENOENT};
	told.paths[1].path = "/";
	strcpy(patient.config.ledger.store, "/s");
	EXPECT_FAIL(check_ledger,
		"ledger.store: /: Permission denied: no store is there, and none can be made",
		"chown USER /");
}

static void test_store_refused(void **state)
{
	(void)state;
	patient.config.n_policies = 1;
	strcpy(patient.config.ledger.store, "/store");
	told.paths[0] = (struct test_path){.path = "/store"};
	told.store_error = -EBUSY;
	EXPECT_FAIL(check_ledger, "ledger.store: /store: another process has it open",
		"fuser -v /store");
	told.store_error = -EPROTONOSUPPORT;
	expect_said(check_ledger, "FAIL    it          ledger.store: /store: it is of a later "
				  "version of weir than this one: start that one\n");
}

/* A file system with less room than a store and its journal take when they are made. */
static void test_store_room(void **state)
{
	static const struct {
		fsblkcnt_t blocks;
		fsfilcnt_t files, free_files;
		unsigned long flags;
		int error;
		bool full;
	} rows[] = {
		{256, 0, 0, 0, 0, false}, /* it does not count files */
		{255, 0, 0, 0, 0, true},
		{256, 10, 1, 0, 0, false},
		{256, 10, 0, 0, 0, true},
		{256, 1, 0, 0, 0, true},
		{255, 10, 0, ST_RDONLY, 0, false}, /* the store's own look says so */
		{255, 10, 0, ST_NOSUID, 0, true},
		{255, 10, 0, 0, -1, false},
	};

	(void)state;
	patient.config.n_policies = 1;
	strcpy(patient.config.ledger.store, "/led/store");
	told.paths[0] = (struct test_path){.path = "/led/store"};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		told.fs = (struct statvfs){.f_bsize = 65536,
			.f_frsize = 4096,
			.f_blocks = 1 << 20,
			.f_bfree = 1 << 19,
			.f_bavail = rows[i].blocks,
			.f_files = rows[i].files,
			.f_ffree = 5,
			.f_favail = rows[i].free_files,
			.f_flag = rows[i].flags};
		told.fs_error = rows[i].error;
		if (rows[i].full)
			EXPECT_WARN(check_ledger,
				"ledger.store: /led/store: the file system is full: what is not "
				"saved is not spent",
				"df -h /led/store; df -i /led/store");
		else
			expect_said(check_ledger, "");
	}
}

#define patient_test(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		patient_test(test_cpus),
		patient_test(test_clock),
		patient_test(test_interfaces),
		patient_test(test_mtu),
		patient_test(test_offloads),
		patient_test(test_vfio),
		patient_test(test_eal_untried),
		patient_test(test_eal_devices),
		patient_test(test_eal_refuses),
		patient_test(test_eal_says_much),
		patient_test(test_eal_runs_already),
		patient_test(test_tls_files),
		patient_test(test_groups),
		patient_test(test_listen),
		patient_test(test_socket),
		patient_test(test_no_store),
		patient_test(test_store_without_directory),
		patient_test(test_store_refused),
		patient_test(test_store_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
