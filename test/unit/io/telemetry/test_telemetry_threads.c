/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A thread serves like the control loop: many clients together, ports, and random requests.
 *
 * WEIR_TEST_SEED=N repeats a run of the random requests.
 */
#include "telemetry_world.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#define MANY_CLIENTS 24
#define CLIENT_ASKS  400
#define RANDOM_ASKS  20000
#define PORTS        2

static pthread_t thread;
static atomic_bool stop;

static void *serve_until_stopped(void *arg)
{
	struct pollfd fds[TELEMETRY_MAX_FDS];

	while (!atomic_load(&stop))
		if (poll(fds, telemetry_pollfds(server, fds), 10) > 0)
			telemetry_serve(server);
	return NULL;
}

static int start_thread(void **state)
{
	start_inline(state);
	atomic_store(&stop, false);
	return pthread_create(&thread, NULL, serve_until_stopped, NULL);
}

static int stop_thread(void **state)
{
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	return stop_inline(state);
}

static int connect_threaded(void)
{
	int fd = try_connect();

	assert_true(fd >= 0);
	expect_greeting(fd);
	return fd;
}

/* --- many clients --------------------------------------------------------------------------- */

static void *one_of_many(void *arg)
{
	char request[64], expected[80], reply[TELEMETRY_MAX_OUTPUT + 1];
	long id = (long)(intptr_t)arg;
	long wrong = 0;
	int fd = try_connect();

	if (fd < 0 || receive_test_reply(fd, reply) <= 0)
		return (void *)-1;
	for (int i = 0; i < CLIENT_ASKS; i++) {
		snprintf(request, sizeof(request), "/test/echo,%ld:%d", id, i);
		snprintf(expected, sizeof(expected), "{\"/test/echo\":\"%ld:%d\"}", id, i);
		if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
			return (void *)-2;
		wrong += receive_test_reply(fd, reply) <= 0 || strcmp(reply, expected) != 0;
	}
	close(fd);
	return (void *)(intptr_t)wrong;
}

static void test_everyone_gets_their_own(void **state)
{
	pthread_t clients[MANY_CLIENTS];

	for (long i = 0; i < MANY_CLIENTS; i++)
		assert_int_equal(
			pthread_create(&clients[i], NULL, one_of_many, (void *)(intptr_t)i), 0);
	for (int i = 0; i < MANY_CLIENTS; i++) {
		void *wrong;

		pthread_join(clients[i], &wrong);
		assert_ptr_equal(wrong, NULL);
	}
}

static uint64_t random_state;

static uint32_t random_below(uint32_t n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((random_state >> 33) % n);
}

/* Half a valid request, a few bytes changed, sometimes much too long. */
static size_t random_request(char *request, size_t max)
{
	static const char *const starts[] = {"/", "/help,", "/help,/info", "/info", "/test/echo,x",
		"/ethdev/stats,", "/ethdev/stats,1", "/ethdev/xstats,0,hide_zero=true,from=3",
		"/ethdev/info,0", "/ethdev/link_status,1", "/ethdev/list,", "/weir/telemetry",
		"{\"\"}", ""};
	const char *start = starts[random_below(COUNT(starts))];
	size_t len = strlen(start);
	size_t more = random_below(50) == 0 ? random_below((uint32_t)max - 64) : random_below(24);

	memcpy(request, start, len);
	for (size_t i = 0; i < more; i++)
		request[len + i] = random_below(3) == 0 ? ',' : (char)random_below(256);
	if (random_below(3) != 0)
		len += more;
	if (len > 0 && random_below(2) == 0)
		request[random_below((uint32_t)len)] = (char)random_below(256);
	return len;
}

static void check_random_reply(const char *reply)
{
	json_error_t error;
	json_t *object = json_loads(reply, JSON_REJECT_DUPLICATES, &error);

	if (object == NULL)
		print_error("%s: %s\n", error.text, reply);
	assert_non_null(object);
	assert_int_equal(json_object_size(object), 1);
	json_decref(object);
}

static void test_random_requests(void **state)
{
	static char request[100000];
	char reply[TELEMETRY_MAX_OUTPUT + 1];
	const char *seed = getenv("WEIR_TEST_SEED");
	int fd = connect_threaded();

	random_state = seed != NULL ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
	print_message("WEIR_TEST_SEED=%llu\n", (unsigned long long)random_state);
	for (int i = 0; i < RANDOM_ASKS; i++) {
		size_t len = random_request(request, sizeof(request));

		send_bytes(fd, request, len);
		assert_true(receive_test_reply(fd, reply) > 0);
		check_random_reply(reply);
	}
	send_request(fd, "/nope");
	expect_reply(fd, NULL_NOPE);
	close(fd);
}

/* --- ports ---------------------------------------------------------------------------------- */

static struct rte_mempool *pool;

static int start_ports(void **state)
{
	struct rte_eth_conf conf = {0};

	for (uint16_t port = 0; port < PORTS; port++) {
		assert_int_equal(rte_eth_dev_configure(port, 1, 1, &conf), 0);
		assert_int_equal(rte_eth_rx_queue_setup(port, 0, 64, 0, NULL, pool), 0);
		assert_int_equal(rte_eth_tx_queue_setup(port, 0, 64, 0, NULL), 0);
		assert_int_equal(rte_eth_dev_start(port), 0);
	}
	return start_thread(state);
}

static int stop_ports(void **state)
{
	int rc = stop_thread(state);

	for (uint16_t port = 0; port < PORTS; port++)
		assert_int_equal(rte_eth_dev_stop(port), 0);
	return rc;
}

static void test_port_ids(void **state)
{
	static const char *const bad[] = {"", ",", ",2", ",99", ",65536", ",4294967296",
		",18446744073709551616", ",-1", ",+1", ", 0", ",0 ", ",0x0", ",1e0", ",a", ",0,",
		",0,1", ",net_null0", ",0\xff"};
	static const char *const commands[] = {
		"/ethdev/stats", "/ethdev/xstats", "/ethdev/info", "/ethdev/link_status"};
	char request[64], expected[64];

	for (size_t c = 0; c < COUNT(commands); c++) {
		snprintf(expected, sizeof(expected), "{\"%s\":null}", commands[c]);
		for (size_t i = 0; i < COUNT(bad); i++) {
			snprintf(request, sizeof(request), "%s%s", commands[c], bad[i]);
			expect_answer(request, expected);
		}
		snprintf(request, sizeof(request), "%s,1", commands[c]);
		json_decref(ask_telemetry(request, commands[c]));
	}
	expect_answer("/ethdev/list", "{\"/ethdev/list\":[0,1]}");
	expect_answer("/ethdev/list,x", "{\"/ethdev/list\":[0,1]}");
}

#define SIXTEEN_ZEROS "[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]"

static void test_port_stats(void **state)
{
	expect_answer("/ethdev/stats,0",
		"{\"/ethdev/stats\":{\"ipackets\":0,\"opackets\":0,\"ibytes\":0,\"obytes\":0,"
		"\"imissed\":0,\"ierrors\":0,\"oerrors\":0,\"rx_nombuf\":0,"
		"\"q_ipackets\":" SIXTEEN_ZEROS ",\"q_opackets\":" SIXTEEN_ZEROS
		",\"q_ibytes\":" SIXTEEN_ZEROS ",\"q_obytes\":" SIXTEEN_ZEROS
		",\"q_errors\":" SIXTEEN_ZEROS "}}");
}

static void test_port_counts(void **state)
{
	struct rte_mbuf *packets[8];
	uint16_t n = rte_eth_rx_burst(1, 0, packets, 8); /* net_null generates them */
	json_t *stats = ask_telemetry("/ethdev/stats,1", "/ethdev/stats");
	json_t *queues = json_object_get(stats, "q_ipackets");

	assert_int_equal(n, 8);
	rte_pktmbuf_free_bulk(packets, n);
	assert_int_equal(json_integer_value(json_object_get(stats, "ipackets")), 8);
	assert_int_equal(json_integer_value(json_array_get(queues, 0)), 8);
	assert_int_equal(json_integer_value(json_array_get(queues, 1)), 0);
	json_decref(stats);
	expect_answer("/ethdev/xstats,1,hide_zero=true,from=1",
		"{\"/ethdev/xstats\":{\"rx_q0_packets\":8}}");
	assert_int_equal(rte_eth_stats_reset(1), 0);
}

static void test_port_xstats(void **state)
{
	expect_answer("/ethdev/xstats,0",
		"{\"/ethdev/xstats\":{\"rx_good_packets\":0,\"tx_good_packets\":0,"
		"\"rx_good_bytes\":0,\"tx_good_bytes\":0,\"rx_missed_errors\":0,\"rx_errors\":0,"
		"\"tx_errors\":0,\"rx_mbuf_allocation_errors\":0,\"rx_q0_packets\":0,"
		"\"rx_q0_bytes\":0,\"rx_q0_errors\":0,\"tx_q0_packets\":0,\"tx_q0_bytes\":0}}");
	expect_answer("/ethdev/xstats,0,from=11",
		"{\"/ethdev/xstats\":{\"tx_q0_packets\":0,\"tx_q0_bytes\":0}}");
	expect_answer("/ethdev/xstats,0,from=13", "{\"/ethdev/xstats\":{}}");
	expect_answer("/ethdev/xstats,0,hide_zero=true", "{\"/ethdev/xstats\":{}}");
	expect_answer("/ethdev/xstats,0,from=12,hide_zero=false",
		"{\"/ethdev/xstats\":{\"tx_q0_bytes\":0}}");
	expect_answer("/ethdev/xstats,0,from=", "{\"/ethdev/xstats\":null}");
	expect_answer("/ethdev/xstats,0,from=1x", "{\"/ethdev/xstats\":null}");
	expect_answer("/ethdev/xstats,0,from=65535", "{\"/ethdev/xstats\":{}}");
	expect_answer("/ethdev/xstats,0,from=65536", "{\"/ethdev/xstats\":null}");
	expect_answer("/ethdev/xstats,0,hide_zero=1", "{\"/ethdev/xstats\":null}");
	expect_answer("/ethdev/xstats,0,hide_zero=true,", "{\"/ethdev/xstats\":null}");
}

static void test_port_link(void **state)
{
	expect_answer("/ethdev/link_status,0",
		"{\"/ethdev/link_status\":{\"status\":\"UP\",\"speed\":10000,"
		"\"duplex\":\"full-duplex\"}}");
	assert_int_equal(rte_eth_dev_stop(0), 0);
	expect_answer("/ethdev/link_status,0", "{\"/ethdev/link_status\":{\"status\":\"DOWN\"}}");
	assert_int_equal(rte_eth_dev_start(0), 0);
}

static void expect_port_info(const char *key, json_int_t value)
{
	json_t *info = ask_telemetry("/ethdev/info,0", "/ethdev/info");
	json_t *member = json_object_get(info, key);

	if (json_is_array(member))
		member = json_array_get(member, 0);
	assert_true(json_is_integer(member));
	if (json_integer_value(member) != value)
		print_error("%s\n", key);
	assert_int_equal(json_integer_value(member), value);
	json_decref(info);
}

/* Information about queues of port 1, which net_null does not provide. */
static struct rte_eth_rxq_info queue_says;

/* Replaces ethdev's function. */
int rte_eth_rx_queue_info_get(uint16_t port, uint16_t queue, struct rte_eth_rxq_info *info)
{
	if (port != 1)
		return -ENOTSUP;
	info->mp = queue_says.mp;
	info->scattered_rx = queue_says.scattered_rx;
	return 0;
}

static void expect_queue_info(json_int_t scattered, json_int_t room)
{
	json_t *info = ask_telemetry("/ethdev/info,1", "/ethdev/info");

	assert_int_equal(json_integer_value(json_object_get(info, "scattered_rx")), scattered);
	assert_int_equal(json_integer_value(json_object_get(info, "rx_mbuf_size_min")), room);
	json_decref(info);
}

static void test_queue_info(void **state)
{
	queue_says = (struct rte_eth_rxq_info){.scattered_rx = 1};
	expect_queue_info(1, 0);
	queue_says = (struct rte_eth_rxq_info){.mp = pool};
	expect_queue_info(0, RTE_MBUF_DEFAULT_BUF_SIZE);
}

static void test_port_info(void **state)
{
	static const struct {
		const char *key;
		json_int_t value;
	} rows[] = {{"state", 1}, {"nb_rx_queues", 1}, {"nb_tx_queues", 1}, {"port_id", 0},
		{"mtu", 1500}, {"promiscuous", 1}, {"scattered_rx", 0}, {"all_multicast", 1},
		{"dev_started", 1}, {"lro", 0}, {"dev_configured", 1}, {"rxq_state", 1},
		{"txq_state", 1}, {"numa_node", 0}, {"dev_flags", 64}, {"rx_offloads", 0},
		{"tx_offloads", 0}, {"ethdev_rss_hf", 0}, {"rx_mbuf_size_min", 0}};
	json_t *info = ask_telemetry("/ethdev/info,0", "/ethdev/info");

	rte_eth_promiscuous_enable(0);
	rte_eth_allmulticast_enable(0);
	assert_string_equal(json_string_value(json_object_get(info, "name")), "net_null0");
	assert_int_equal(json_string_length(json_object_get(info, "mac_addr")), 17);
	assert_int_equal(json_object_size(info), COUNT(rows) + 2);
	json_decref(info);
	for (size_t i = 0; i < COUNT(rows); i++)
		expect_port_info(rows[i].key, rows[i].value);
	assert_int_equal(rte_eth_dev_stop(0), 0);
	expect_port_info("dev_started", 0);
	expect_port_info("rxq_state", 0);
	expect_port_info("txq_state", 0);
	assert_int_equal(rte_eth_dev_start(0), 0);
	expect_port_info("dev_started", 1);
}

/* DPDK's own client, unchanged; skipped if it or Python is missing. */
static void test_stock_client(void **state)
{
	char command[512];
	int status;

	snprintf(command, sizeof(command),
		"s=$(dirname %s)/../../../net/stock_client.py; test -e $s || exit 77; "
		"command -v python3 >/dev/null || exit 77; exec python3 $s %s",
		__FILE__, path);
	status = system(command);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void start_eal(void)
{
	const char *args[] = {"test_telemetry_threads", "--no-huge", "-m", "128", "--no-pci",
		"--no-telemetry", "--no-shconf", "--log-level", "error", "--vdev", "net_null0",
		"--vdev", "net_null1", "-l", "0", NULL};

	if (rte_eal_init(COUNT(args) - 1, (char **)(uintptr_t)args) < 0) {
		fprintf(stderr, "no EAL: %s\n", rte_strerror(rte_errno));
		exit(77);
	}
	pool = rte_pktmbuf_pool_create("pool", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	if (pool == NULL)
		exit(77);
}

#define THREADED(test) cmocka_unit_test_setup_teardown(test, start_thread, stop_thread)
#define PORT(test)     cmocka_unit_test_setup_teardown(test, start_ports, stop_ports)

int main(void)
{
	const struct CMUnitTest tests[] = {
		THREADED(test_everyone_gets_their_own),
		PORT(test_port_ids),
		PORT(test_port_stats),
		PORT(test_port_counts),
		PORT(test_port_xstats),
		PORT(test_port_link),
		PORT(test_port_info),
		PORT(test_queue_info),
		PORT(test_random_requests),
		PORT(test_stock_client),
	};

	start_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
