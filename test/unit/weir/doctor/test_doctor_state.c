/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Tests the checks of files, sockets and groups of this machine, and the whole report.
 */
#include "parts.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <sodium.h>

#include "checks.h"
#include "config/load.h"
#include "doctor.h"
#include "store/store.h"

struct place {
	char top[32], path[128], more[512];
	struct config *config;
	struct doctor doctor;
	char *text;
	size_t size;
};

static int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	assert_true(sodium_init() >= 0);
	strcpy(place->top, "/tmp/weir-doctor-XXXXXX");
	assert_non_null(mkdtemp(place->top));
	*state = place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", place->top);
	assert_int_equal(system(command), 0);
	config_free(place->config);
	free(place->text);
	free(place);
	return 0;
}

/* Parses a configuration with these top-level keys; each ends with a comma. */
static void configure(struct place *place, const char *keys)
{
	FILE *nowhere = fopen("/dev/null", "w"); /* for warnings */
	char text[2048];

	assert_non_null(nowhere);
	snprintf(text, sizeof(text),
		"{%s 'limiter': 'it', 'workers': [0], 'ports': {'a': {'device': 'net_null0'}, "
		"'b': {'device': 'net_null1'}}, 'wires': [{'name': 'w', 'a': 'a', 'b': 'b'}], "
		"'policies': [{'name': 'total', 'allocator': 'quota', 'total': '1GB'}]}",
		keys);
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	config_free(place->config);
	place->config = NULL;
	assert_int_equal(config_parse(text, strlen(text), "it", nowhere, &place->config), 0);
	fclose(nowhere);
}

static const char *ask(struct place *place, void (*check)(struct doctor *doctor))
{
	free(place->text);
	place->doctor = (struct doctor){.config = place->config, .file = "f.json", .root = ""};
	doctor_begin_check(&place->doctor, "it", "a usual remedy");
	place->doctor.out = open_memstream(&place->text, &place->size);
	check(&place->doctor);
	fclose(place->doctor.out);
	return place->text;
}

#define assert_says(place, check, verdict, words)                                            \
	do {                                                                                 \
		const char *said_ = ask(place, check);                                       \
		if (strncmp(said_, verdict, strlen(verdict)) != 0 || !strstr(said_, words))  \
			fail_msg("expected %s with \"%s\", got: %s", verdict, words, said_); \
	} while (0)

#define assert_well(place, check) assert_string_equal(ask(place, check), "")

/* The path of something below the test's own directory. */
static const char *below(struct place *place, const char *name)
{
	snprintf(place->path, sizeof(place->path), "%s/%s", place->top, name);
	return place->path;
}

static void put(struct place *place, const char *name, const char *text)
{
	FILE *file = fopen(below(place, name), "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	assert_int_equal(chmod(place->path, 0600), 0);
}

static void configure_store(struct place *place, const char *name)
{
	snprintf(place->more, sizeof(place->more), "'ledger': {'store': '%s'}, ",
		below(place, name));
	configure(place, place->more);
}

TEST_WITH(the_store, set_up, tear_down)
{
	struct place *place = *state;
	struct store *store;
	uint64_t epoch;

	configure_store(place, "none/store");
	assert_says(place, check_ledger, "FAIL", "missing and cannot be created");
	assert_non_null(strstr(place->text, "remedy: mkdir -p "));
	configure_store(place, "store");
	assert_says(place, check_ledger, "warn", "ledger.store: ");
	assert_non_null(strstr(place->text, "store: the store is missing"));
	assert_non_null(strstr(place->text, "remedy: weir --new-ledger f.json"));
	assert_int_equal(store_create(below(place, "store"), (struct store_identity){0, 1}), 0);
	assert_well(place, check_ledger);
	assert_int_equal(store_open(place->path, &store, &epoch), 0);
	assert_says(place, check_ledger, "FAIL", place->path);
	assert_non_null(strstr(place->text, "remedy: fuser -v "));
	store_close(store);
	assert_well(place, check_ledger);
}

static void configure_socket(struct place *place, const char *name)
{
	snprintf(place->more, sizeof(place->more),
		"'ledger': {'store': '%s/store'}, 'control': {'socket': '%s/%s'}, ", place->top,
		place->top, name);
	configure(place, place->more);
}

TEST_WITH(the_control_socket, set_up, tear_down)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct place *place = *state;
	int fd;

	configure_socket(place, "socket");
	assert_well(place, check_socket);
	put(place, "socket", "");
	assert_says(place, check_socket, "FAIL", "not a socket");
	assert_non_null(strstr(place->text, "control.socket: "));
	assert_non_null(strstr(place->text, "remedy: ls -l "));
	unlink(place->path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	memcpy(address.sun_path, place->path, strlen(place->path) + 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_says(place, check_socket, "FAIL", "running weir");
	assert_non_null(strstr(place->text, "remedy: weirctl -s "));
	close(fd);
	assert_well(place, check_socket); /* left by a killed weir */
}

/* An address that gossip would listen at. */
static void configure_listen(struct place *place, const char *address)
{
	snprintf(place->more, sizeof(place->more),
		"'ledger': {'store': '%s/store'}, 'gossip': {'listen': '%s', 'insecure': true, "
		"'roster': [{'name': 'it', 'address': '%s'}, "
		"{'name': 'two', 'address': '%s'}]}, ",
		place->top, address, address,
		address[0] == '[' ? "[2001:db8::2]:7946" : "127.6.1.1:7946");
	configure(place, place->more);
}

/*
 * In a group the remedy for a missing store must not make another ledger. So it has the identity of
 * the group's ledger, after the advice to start without one.
 */
TEST_WITH(the_store_of_a_group, set_up, tear_down)
{
	struct place *place = *state;
	const char *start, *new;

	configure_listen(place, "127.6.1.2:7946");
	assert_says(place, check_ledger, "warn", "store: the store is missing");
	start = strstr(place->text, "remedy: if this limiter has run before, none: start it");
	new = strstr(place->text, "weir --new-ledger IDENTITY f.json");
	assert_true(start && new &&start < new);
	assert_null(strstr(place->text, "weir --new-ledger f.json"));
}

TEST_WITH(the_address, set_up, tear_down)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof(address);
	struct place *place = *state;
	char text[64];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	snprintf(text, sizeof(text), "127.0.0.1:%u", ntohs(address.sin_port));
	configure_listen(place, text);
	assert_says(place, check_listen, "FAIL", "another process uses this port");
	snprintf(text, sizeof(text), "remedy: ss -ulpn 'sport = :%u'", ntohs(address.sin_port));
	assert_non_null(strstr(place->text, text));
	close(fd);
	assert_well(place, check_listen);
	configure_listen(place, "192.0.2.1:7946");
	assert_says(place, check_listen, "warn", "192.0.2.1:7946: no interface of");
	assert_non_null(strstr(place->text, "ip address add 192.0.2.1 dev INTERFACE"));
	configure_listen(place, "[2001:db8::1]:7946");
	assert_says(place, check_listen, "warn", "[2001:db8::1]:7946");
}

TEST_WITH(groups, set_up, tear_down)
{
	struct place *place = *state;

	snprintf(place->more, sizeof(place->more),
		"'ledger': {'store': '%s/store'}, 'control': {'group': 'nobody-has-this-group'}, ",
		place->top);
	configure(place, place->more);
	assert_says(place, check_groups, "FAIL", "control.group: \"nobody-has-this-group\"");
	assert_non_null(strstr(place->text, "remedy: groupadd nobody-has-this-group"));
	snprintf(place->more, sizeof(place->more),
		"'ledger': {'store': '%s/store'}, 'control': {'group': 'root', 'operators': "
		"'nobody-has-this-group'}, ",
		place->top);
	configure(place, place->more);
	assert_says(place, check_groups, "FAIL", "control.operators: \"nobody-has-this-group\"");
	configure_store(place, "store");
	assert_well(place, check_groups);
}

TEST_WITH(secrets, set_up, tear_down)
{
	struct place *place = *state;

	snprintf(place->more, sizeof(place->more),
		"'ledger': {'store': '%s/store'}, 'gossip': {'listen': '127.0.0.1:7946', "
		"'key_files': ['%s/key'], "
		"'roster': [{'name': 'it', 'address': '127.0.0.1:7946'}, "
		"{'name': 'two', 'address': '127.6.1.1:7946'}]}, ",
		place->top, place->top);
	configure(place, place->more);
	assert_says(place, check_secrets, "FAIL", "gossip.key_file: ");
	put(place, "key", "0123");
	assert_says(place, check_secrets, "FAIL", "gossip.key_file: ");
	put(place, "key", "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n");
	assert_well(place, check_secrets);
	assert_int_equal(chmod(place->path, 0644), 0);
	assert_says(place, check_secrets, "FAIL", "gossip.key_file: ");
}

/* Asserts the order of the checks, the last line and the number of failures. */
TEST_WITH(the_report, set_up, tear_down)
{
	static const char *const order[] = {"cpus", "cpu-share", "cpu-noise", "numa", "clock",
		"hugepages", "memory", "pci", "interface", "twins", "mtu", "offloads", "rights",
		"bypass", "eal", "secrets", "listen", "groups", "socket", "ledger"};
	struct place *place = *state;
	const char *at;
	unsigned failing;

	configure_socket(place, "none/none/socket");
	put(place, "store", "no store");
	free(place->text);
	place->doctor.out = open_memstream(&place->text, &place->size);
	failing = doctor_run(place->config, "f.json", true, place->doctor.out);
	fclose(place->doctor.out);
	assert_true(failing >= 2);
	at = place->text;
	for (size_t i = 0; i < COUNT(order); i++) {
		char name[32];

		snprintf(name, sizeof(name), "\"check\":\"%s\"", order[i]);
		at = strstr(at, name);
		if (!at)
			fail_msg("%s is not in its place: %s", order[i], place->text);
	}
	assert_non_null(strstr(place->text, "{\"verdict\":\"n/a\",\"check\":\"pci\""));
	assert_non_null(strstr(place->text, "{\"verdict\":\"FAIL\",\"check\":\"socket\""));
	assert_non_null(strstr(place->text, "\"fit\":false"));
	free(place->text);
	place->doctor.out = open_memstream(&place->text, &place->size);
	assert_int_equal(doctor_run(place->config, "f.json", false, place->doctor.out), failing);
	fclose(place->doctor.out);
	assert_null(strstr(place->text, "pci"));
	assert_null(strstr(place->text, "ok      socket"));
	assert_non_null(strstr(place->text, "\nf.json: not fit: "));
}
