/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The port commands of DPDK's own telemetry, with the same keys and types. DPDK's server is off in
 * Weir (a request can crash it), so these use the public ethdev calls.
 */
#define ALLOW_EXPERIMENTAL_API /* rte_eth_dev_conf_get */

#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "telemetry/server.h"

/* Bytes of a reply without {"/ethdev/xstats":{}}, with a margin. */
#define XSTATS_OUTPUT (TELEMETRY_MAX_OUTPUT - 64)
/* Bytes of "name":18446744073709551615, without the name. */
#define XSTATS_EXTRA 24

struct xstats_filter {
	bool hide_zero;
	unsigned from; /* number of shown counters to skip */
};

/* State of the queues from the driver; defaults if it has none. */
struct queues {
	json_t *rx_states;
	json_t *tx_states;
	unsigned min_buffer; /* 0: unknown */
	bool scattered;
};

static json_t *json_u64(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static void json_put_u64(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_u64(value));
}

/* Parses digits; *rest is the text after them. */
static bool parse_digits(const char *text, unsigned max, unsigned *value, const char **rest)
{
	unsigned n = 0;
	const char *c = text;

	for (; *c >= '0' && *c <= '9'; c++) {
		n = 10 * n + (unsigned)(*c - '0');
		if (n > max)
			return false;
	}
	*value = n;
	*rest = c;
	return c != text;
}

/* Parses a valid port, alone or with a comma and *rest after it. */
static bool parse_port_id(const char *params, uint16_t *port, const char **rest)
{
	const char *end;
	unsigned n;

	if (params == NULL || !parse_digits(params, RTE_MAX_ETHPORTS - 1, &n, &end))
		return false;
	if (*end != '\0' && *end != ',')
		return false;
	*port = (uint16_t)n;
	*rest = *end == ',' ? end + 1 : NULL;
	return rte_eth_dev_is_valid_port(*port) != 0;
}

static bool parse_only_port(const char *params, uint16_t *port)
{
	const char *rest;

	return parse_port_id(params, port, &rest) && rest == NULL;
}

static json_t *ethdev_list(const char *params, void *context)
{
	json_t *list = json_array();
	uint16_t port;

	(void)params;
	(void)context;
	RTE_ETH_FOREACH_DEV (port)
		json_array_append_new(list, json_u64(port));
	return list;
}

static void put_queue_counters(json_t *object, const char *key, const uint64_t *counters)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < RTE_ETHDEV_QUEUE_STAT_CNTRS; i++)
		json_array_append_new(list, json_u64(counters[i]));
	json_object_set_new(object, key, list);
}

static json_t *ethdev_stats(const char *params, void *context)
{
	struct rte_eth_stats stats;
	json_t *object;
	uint16_t port;

	(void)context;
	if (!parse_only_port(params, &port) || rte_eth_stats_get(port, &stats) != 0)
		return NULL;
	object = json_object();
	json_put_u64(object, "ipackets", stats.ipackets);
	json_put_u64(object, "opackets", stats.opackets);
	json_put_u64(object, "ibytes", stats.ibytes);
	json_put_u64(object, "obytes", stats.obytes);
	json_put_u64(object, "imissed", stats.imissed);
	json_put_u64(object, "ierrors", stats.ierrors);
	json_put_u64(object, "oerrors", stats.oerrors);
	json_put_u64(object, "rx_nombuf", stats.rx_nombuf);
	put_queue_counters(object, "q_ipackets", stats.q_ipackets);
	put_queue_counters(object, "q_opackets", stats.q_opackets);
	put_queue_counters(object, "q_ibytes", stats.q_ibytes);
	put_queue_counters(object, "q_obytes", stats.q_obytes);
	put_queue_counters(object, "q_errors", stats.q_errors);
	return object;
}

/* Parses [hide_zero=true|false][,from=K], in any order; returns false for other texts. */
static bool parse_filter(const char *text, struct xstats_filter *filter)
{
	*filter = (struct xstats_filter){0};
	while (text != NULL) {
		const char *end = strchrnul(text, ',');
		size_t len = (size_t)(end - text);

		if (len == 14 && memcmp(text, "hide_zero=true", 14) == 0)
			filter->hide_zero = true;
		else if (len == 15 && memcmp(text, "hide_zero=false", 15) == 0)
			filter->hide_zero = false;
		else if (strncmp(text, "from=", 5) != 0 ||
			 !parse_digits(text + 5, UINT16_MAX, &filter->from, &text) || text != end)
			return false;
		text = *end == ',' ? end + 1 : NULL;
	}
	return true;
}

/* Adds as many counters as fit in one reply: a port with many queues has more. */
static json_t *fill_xstats(const struct rte_eth_xstat *xstats,
	const struct rte_eth_xstat_name *names, unsigned n, const struct xstats_filter *filter)
{
	json_t *object = json_object();
	size_t used = 0;
	unsigned seen = 0;

	for (unsigned i = 0; i < n; i++) {
		const char *name = xstats[i].id < n ? names[xstats[i].id].name : NULL;

		if (name == NULL || (filter->hide_zero && xstats[i].value == 0))
			continue;
		if (seen++ < filter->from)
			continue;
		used += strnlen(name, RTE_ETH_XSTATS_NAME_SIZE) + XSTATS_EXTRA;
		if (used > XSTATS_OUTPUT)
			break;
		json_put_u64(object, name, xstats[i].value);
	}
	return object;
}

/*
 * Returns NULL also if the driver's number of counters changed between the calls: the client
 * repeats the request.
 */
static json_t *read_xstats(uint16_t port, unsigned n, const struct xstats_filter *filter)
{
	struct rte_eth_xstat *xstats = calloc(n, sizeof(*xstats));
	struct rte_eth_xstat_name *names = calloc(n, sizeof(*names));
	json_t *object = NULL;

	if (xstats != NULL && names != NULL && rte_eth_xstats_get_names(port, names, n) == (int)n &&
		rte_eth_xstats_get(port, xstats, n) == (int)n)
		object = fill_xstats(xstats, names, n, filter);
	free(names);
	free(xstats);
	return object;
}

static json_t *ethdev_xstats(const char *params, void *context)
{
	struct xstats_filter filter;
	const char *rest;
	uint16_t port;
	int n;

	(void)context;
	if (!parse_port_id(params, &port, &rest) || !parse_filter(rest, &filter))
		return NULL;
	n = rte_eth_xstats_get(port, NULL, 0);
	if (n < 0)
		return NULL;
	return n == 0 ? json_object() : read_xstats(port, (unsigned)n, &filter);
}

/*
 * Returns true if the port is started. There is no public call for this. But ethdev gives a stopped
 * port the same burst function as a port that does not exist. The last port number serves as the
 * latter.
 */
static bool is_started(uint16_t port)
{
	return rte_eth_fp_ops[port].rx_pkt_burst !=
	       rte_eth_fp_ops[RTE_MAX_ETHPORTS - 1].rx_pkt_burst;
}

static void read_rx_queues(uint16_t port, unsigned n, uint8_t state, struct queues *queues)
{
	for (uint16_t i = 0; i < n; i++) {
		struct rte_eth_rxq_info info = {.queue_state = state};

		if (rte_eth_rx_queue_info_get(port, i, &info) == 0) {
			unsigned room = info.mp != NULL ? rte_pktmbuf_data_room_size(info.mp) : 0;

			if (queues->min_buffer == 0 || (room != 0 && room < queues->min_buffer))
				queues->min_buffer = room;
			queues->scattered |= info.scattered_rx != 0;
		}
		json_array_append_new(queues->rx_states, json_u64(info.queue_state));
	}
}

/* Reads the queues. Many software drivers have no state per queue; then it is that of the port. */
static struct queues read_queues(uint16_t port, const struct rte_eth_dev_info *info)
{
	struct queues queues = {.rx_states = json_array(), .tx_states = json_array()};
	uint8_t state = is_started(port) ? RTE_ETH_QUEUE_STATE_STARTED
					 : RTE_ETH_QUEUE_STATE_STOPPED;

	read_rx_queues(port, info->nb_rx_queues, state, &queues);
	for (uint16_t i = 0; i < info->nb_tx_queues; i++) {
		struct rte_eth_txq_info queue;
		bool known = rte_eth_tx_queue_info_get(port, i, &queue) == 0;

		json_array_append_new(
			queues.tx_states, json_u64(known ? queue.queue_state : state));
	}
	return queues;
}

static void put_identity(json_t *object, uint16_t port, const struct rte_eth_dev_info *info)
{
	char name[RTE_ETH_NAME_MAX_LEN] = "";
	uint16_t mtu = 0;

	rte_eth_dev_get_name_by_port(port, name);
	rte_eth_dev_get_mtu(port, &mtu);
	json_object_set_new(object, "name", json_string(name));
	json_put_u64(object, "state", RTE_ETH_DEV_ATTACHED);
	json_put_u64(object, "nb_rx_queues", info->nb_rx_queues);
	json_put_u64(object, "nb_tx_queues", info->nb_tx_queues);
	json_put_u64(object, "port_id", port);
	json_put_u64(object, "mtu", mtu);
}

static void put_modes(json_t *object, uint16_t port, const struct rte_eth_dev_info *info,
	const struct rte_eth_conf *conf, const struct queues *queues)
{
	char text[RTE_ETHER_ADDR_FMT_SIZE];
	struct rte_ether_addr mac = {0};

	rte_eth_macaddr_get(port, &mac);
	rte_ether_format_addr(text, sizeof(text), &mac);
	json_put_u64(object, "rx_mbuf_size_min", queues->min_buffer);
	json_object_set_new(object, "mac_addr", json_string(text));
	json_put_u64(object, "promiscuous", rte_eth_promiscuous_get(port) == 1);
	json_put_u64(object, "scattered_rx", queues->scattered);
	json_put_u64(object, "all_multicast", rte_eth_allmulticast_get(port) == 1);
	json_put_u64(object, "dev_started", is_started(port));
	json_put_u64(object, "lro", (conf->rxmode.offloads & RTE_ETH_RX_OFFLOAD_TCP_LRO) != 0);
	json_put_u64(object, "dev_configured", info->nb_rx_queues + info->nb_tx_queues > 0);
}

static json_t *ethdev_info(const char *params, void *context)
{
	struct rte_eth_dev_info info;
	struct rte_eth_conf conf = {0};
	struct queues queues;
	json_t *object;
	uint16_t port;

	(void)context;
	if (!parse_only_port(params, &port) || rte_eth_dev_info_get(port, &info) != 0 ||
		rte_eth_dev_conf_get(port, &conf) != 0)
		return NULL;
	queues = read_queues(port, &info);
	object = json_object();
	put_identity(object, port, &info);
	put_modes(object, port, &info, &conf, &queues);
	json_object_set_new(object, "rxq_state", queues.rx_states);
	json_object_set_new(object, "txq_state", queues.tx_states);
	json_object_set_new(object, "numa_node", json_integer(rte_eth_dev_socket_id(port)));
	json_put_u64(object, "dev_flags", *info.dev_flags);
	json_put_u64(object, "rx_offloads", conf.rxmode.offloads);
	json_put_u64(object, "tx_offloads", conf.txmode.offloads);
	json_put_u64(object, "ethdev_rss_hf", conf.rx_adv_conf.rss_conf.rss_hf);
	return object;
}

static json_t *ethdev_link_status(const char *params, void *context)
{
	struct rte_eth_link link;
	uint16_t port;

	(void)context;
	if (!parse_only_port(params, &port) || rte_eth_link_get_nowait(port, &link) != 0)
		return NULL;
	if (link.link_status == RTE_ETH_LINK_DOWN)
		return json_pack("{ss}", "status", "DOWN");
	return json_pack("{ss sI ss}", "status", "UP", "speed", (json_int_t)link.link_speed,
		"duplex",
		link.link_duplex == RTE_ETH_LINK_FULL_DUPLEX ? "full-duplex" : "half-duplex");
}

const struct telemetry_command telemetry_ethdev[] = {
	{"/ethdev/list", "Returns the ids of all ports. Takes no parameters", ethdev_list,
		TELEMETRY_PARAMS, TELEMETRY_READS},
	{"/ethdev/stats", "Returns the common stats of a port. Parameters: int port_id",
		ethdev_stats, TELEMETRY_PARAMS, TELEMETRY_READS},
	{"/ethdev/xstats",
		"Returns the extended stats of a port, up to one reply. Parameters: "
		"int port_id, hide_zero=true|false (optional), from=int (optional, how many to skip)",
		ethdev_xstats, TELEMETRY_PARAMS, TELEMETRY_READS},
	{"/ethdev/info", "Returns the device info of a port. Parameters: int port_id", ethdev_info,
		TELEMETRY_PARAMS, TELEMETRY_READS},
	{"/ethdev/link_status", "Returns the link status of a port. Parameters: int port_id",
		ethdev_link_status, TELEMETRY_PARAMS, TELEMETRY_READS},
	{0},
};
