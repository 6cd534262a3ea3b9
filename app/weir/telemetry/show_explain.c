/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Explains the verdict that a packet would get now. The first request gives the packet to a worker
 * and returns a number; a request with that number returns the verdict. There is one packet at a
 * time, and at least EXPLAIN_GAP_NS between two, so that clients cannot keep workers busy: an early
 * client gets "busy", and tries again. Also lists the policies that could take some packets.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "instance.h"
#include "policy/kind.h"
#include "policy/value.h"
#include "probe/probe.h"
#include "dry_run.h"
#include "show.h"
#include "specimen.h"
#include "unknown_name.h"
#include "classify/candidates.h"

#define EXPLAIN_GAP_NS  (2 * MS_NS)
#define EXPLAIN_KEEP_NS (100 * MS_NS) /* another packet does not replace a verdict earlier */

struct explainer {
	uint64_t number;   /* the last packet's; 0: none so far */
	uint64_t asked_ns; /* the time of its request */
	bool open;         /* there is no verdict yet */
	unsigned worker;
	uint64_t generation; /* the snapshot's at that time */
	struct specimen *specimen;
	struct probe_packet probe;
};

static json_t *refusal_json(const char *why)
{
	return json_pack("{s:s}", "refused", why);
}

static struct explainer *explainer_of(struct instance *inst)
{
	struct explainer *e = inst->explainer;

	if (e)
		return e;
	e = calloc(1, sizeof(*e));
	if (e)
		e->specimen = aligned_alloc(
			RTE_CACHE_LINE_SIZE, RTE_ALIGN(sizeof(*e->specimen), RTE_CACHE_LINE_SIZE));
	if (!e || !e->specimen) {
		free(e);
		return NULL;
	}
	memset(e->specimen, 0, sizeof(*e->specimen));
	inst->explainer = e;
	return e;
}

/* A worker that has begun and not ended can still write to it. */
void explain_stop(struct instance *inst)
{
	struct explainer *e = inst->explainer;

	if (!e)
		return;
	if (e->number == 0 || specimen_is_taken(e->specimen) ||
		specimen_withdraw(&inst->workers[e->worker], e->specimen))
		free(e->specimen);
	free(e);
	inst->explainer = NULL;
}

/* Returns the path by which a worker receives such a packet, or -1. */
static int find_path(const struct worker *w, uint16_t wire, enum direction direction)
{
	for (unsigned i = 0; i < w->n_paths; i++)
		if (w->paths[i].wire == wire && w->paths[i].direction == direction)
			return (int)i;
	return -1;
}

/*
 * Finds the worker that the request names; without a name, the first that has such a path. If
 * several have one, only the device can choose the worker of a flow.
 */
static int find_worker(const struct instance *inst, const struct probe_packet *probe, uint16_t wire,
	enum direction direction, unsigned *worker)
{
	for (unsigned i = 0; i < inst->config->n_workers; i++) {
		int path = find_path(&inst->workers[i], wire, direction);

		if (path < 0 || (probe->worker != PROBE_ANY && probe->worker != (int)i))
			continue;
		*worker = i;
		return path;
	}
	return -ENOENT;
}

static json_t *ask_worker(struct instance *inst, struct explainer *e)
{
	enum direction direction = e->probe.direction == DIRECTION_ANY ? DIRECTION_A_TO_B
								       : e->probe.direction;
	struct specimen *s = e->specimen;
	char why[UNKNOWN_NAME_MAX];
	unsigned wire = 0;
	int path;

	while (wire < inst->config->n_wires && e->probe.wire[0] &&
		strcmp(inst->config->wires[wire].name, e->probe.wire) != 0)
		wire++;
	if (wire == inst->config->n_wires)
		return refusal_json(unknown_wire(inst->config, e->probe.wire, why));
	path = find_worker(inst, &e->probe, (uint16_t)wire, direction, &e->worker);
	if (path < 0)
		return json_pack("{s:o}", "refused",
			json_sprintf("worker: %d: no such worker, or it has no queue of this wire: "
				     "expected one that \"weirctl workers\" lists",
				e->probe.worker));
	memset(s->frame, 0, sizeof(s->frame));
	memcpy(s->frame, e->probe.frame, e->probe.bytes);
	s->len = e->probe.len;
	s->path = (uint16_t)path;
	e->number++;
	e->open = true;
	e->asked_ns = control_now();
	e->generation = inst->publisher.current->generation;
	specimen_ask(&inst->workers[e->worker], s);
	return json_pack("{s:o}", "asked", json_uint(e->number));
}

/* Returns true if another packet can be tried now. Withdraws one that no worker answers. */
static bool is_free(struct instance *inst, struct explainer *e)
{
	uint64_t age = control_now() - e->asked_ns;

	if (e->number == 0)
		return true;
	if (age < EXPLAIN_GAP_NS || (e->open && age < EXPLAIN_KEEP_NS))
		return false;
	return specimen_is_taken(e->specimen) ||
	       specimen_withdraw(&inst->workers[e->worker], e->specimen);
}

static json_t *begin_question(struct instance *inst, const char *params)
{
	struct explainer *e = explainer_of(inst);
	char why[PROBE_WHY];
	struct probe_packet probe;

	if (!e)
		return NULL;
	if (probe_parse(params, &probe, why))
		return refusal_json(why);
	if (!is_free(inst, e))
		return json_pack("{s:b}", "busy", true);
	e->probe = probe;
	return ask_worker(inst, e);
}

static json_t *address_json(const struct packet *packet, const uint8_t *addr)
{
	struct prefix prefix = {.family = packet->family};
	char text[PREFIX_TEXT_MAX];

	if (packet->family == PACKET_OTHER)
		return json_null();
	prefix.length = packet->family == PACKET_IPV4 ? 32 : 128;
	memcpy(prefix.addr, addr, prefix.length / 8);
	prefix_format(&prefix, text, sizeof(text));
	*strchrnul(text, '/') = '\0';
	return json_string(text);
}

static json_t *known_or_null(bool known, unsigned value)
{
	return known ? json_integer(value) : json_null();
}

/* The part before the IP header: the types of the frame's layers, and VLANs. */
static void add_link(json_t *json, const struct probe_packet *probe, const struct packet *packet)
{
	json_t *vlans = json_array();
	unsigned at = 12, type = 0;

	while (at + 2 <= probe->bytes) {
		type = (unsigned)probe->frame[at] << 8 | probe->frame[at + 1];
		if ((type != 0x8100 && type != 0x88a8 && type != 0x9100) || at + 4 > probe->bytes)
			break;
		json_array_append_new(vlans,
			json_integer((probe->frame[at + 2] & 0xf) << 8 | probe->frame[at + 3]));
		at += 4;
	}
	json_object_set_new(json, "ethertype", known_or_null(at + 2 <= probe->bytes, type));
	json_object_set_new(json, "vlans", vlans);
	json_object_set_new(
		json, "vlan", known_or_null(packet->vlan != PARSE_NO_VLAN, packet->vlan));
	json_object_set_new(json, "l2_bytes", json_integer(packet->l2_len));
}

static json_t *packet_json(
	const struct probe_packet *probe, const struct packet *packet, const uint8_t *frame)
{
	static const char *const fragments[] = {"no", "first", "later"};
	static const char *const parts[] = {"ports", "proto", "flags", "address"};
	const uint32_t v4_at = 12, v6_at = 8;
	const uint32_t outer = packet->l2_len + (packet->family == PACKET_IPV4 ? v4_at : v6_at);
	bool ip = packet->family != PACKET_OTHER;
	json_t *json = json_pack("{s:i}", "bytes", (int)probe->len), *unknown = json_array();

	add_link(json, probe, packet);
	json_object_set_new(json, "family",
		packet->family == PACKET_IPV4   ? json_string("ipv4")
		: packet->family == PACKET_IPV6 ? json_string("ipv6")
						: json_null());
	json_object_set_new(json, "inside_tunnel", json_boolean(ip && packet->src_off > outer));
	json_object_set_new(json, "src", address_json(packet, frame + packet->src_off));
	json_object_set_new(json, "dst", address_json(packet, frame + packet->dst_off));
	json_object_set_new(json, "dscp", known_or_null(ip, packet->dscp));
	json_object_set_new(json, "proto",
		!packet->proto              ? json_null()
		: proto_name(packet->proto) ? json_string(proto_name(packet->proto))
					    : json_integer(packet->proto));
	json_object_set_new(json, "src_port", known_or_null(packet->src_port, packet->src_port));
	json_object_set_new(json, "dst_port", known_or_null(packet->dst_port, packet->dst_port));
	json_object_set_new(json, "fragment", json_string(fragments[packet->fragment]));
	json_object_set_new(json, "unparsed",
		packet->unparsed ? json_string(packet_unparsed_name(packet->unparsed))
				 : json_null());
	for (unsigned bit = 0; bit < RTE_DIM(parts); bit++)
		if (packet->unknown >> bit & 1)
			json_array_append_new(unknown, json_string(parts[bit]));
	json_object_set_new(json, "unknown", unknown);
	return json;
}

/* The limit here, and the rest of it: null if the policy's meter has several levels. */
static json_t *state_json(struct instance *inst, const struct dry_run_result *r,
	const struct policy *policy, unsigned index)
{
	struct limiter_view view;
	json_t *json = json_object();

	limiter_view(inst->limiter, index, &view);
	show_rate(json, policy, "local_limit", view.local_limit);
	show_units(json, policy, "local_burst", view.local_burst);
	json_object_set_new(json, "level", r->level_known ? json_uint(r->level) : json_null());
	json_object_set_new(
		json, "level_shared", r->shared_known ? json_uint(r->level_shared) : json_null());
	json_object_set_new(json, "colour",
		r->colour < COLOURS ? json_string(colour_name(r->colour)) : json_null());
	if (police_is_shaped(&r->before)) {
		struct waiting waiting = engine_waiting(&inst->engine, r->slot);

		json_object_set_new(json, "waiting_packets", json_uint(waiting.packets));
		show_units(json, policy, "waiting", waiting.units);
	}
	return json;
}

/* Returns NULL for a policy that is gone. */
static const struct policy *policy_at(const struct instance *inst, uint32_t slot)
{
	unsigned policy = inst->slots.policy[slot];

	return policy < inst->n_policies ? &inst->policies[policy] : NULL;
}

/* Returns the reason of the verdict, by the name of its counter. */
static const char *reason_of(const struct instance *inst, const struct dry_run_result *r)
{
	const struct policy *doer;

	if (r->reason != DROP_REASONS)
		return drop_reason_name(r->reason);
	if (r->slot == CLASSIFY_NONE)
		return "unmatched";
	if (r->colour == COLOUR_GREEN)
		return "conforms";
	switch (r->verdict) {
	case DRY_RUN_PASS:
		return r->fallback ? "fallback" : "conforms";
	case DRY_RUN_WAIT:
		return "waits";
	default:
		doer = policy_at(inst, r->doer);
		return doer && policy_is_quota(doer) ? "quota" : "limit";
	}
}

static void note_level(const struct instance *inst, uint32_t slot, const char *lacks, json_t *notes)
{
	const struct policy *policy = policy_at(inst, slot);

	if (policy)
		json_array_append_new(
			notes, json_sprintf("%s, which the policy is below, %s", policy->name,
				       policy_is_quota(policy) ? "does not pay for it" : lacks));
}

static json_t *notes_json(
	const struct instance *inst, const struct explainer *e, const struct dry_run_result *r)
{
	const struct path *path = &inst->workers[e->worker].paths[e->specimen->path];
	json_t *notes = json_array();

	if (inst->config->n_workers > 1 && e->probe.worker == PROBE_ANY)
		json_array_append_new(notes,
			json_string("another worker might get this flow: worker=N selects one"));
	if (path->rx_hash && r->slot != CLASSIFY_NONE && police_is_phantom(&r->before))
		json_array_append_new(notes,
			json_string("the flow's class depends on the device's hash, and might be "
				    "another"));
	/* Levels above the packet's policy that have no tokens for it, or do not pay. */
	if (r->slot != CLASSIFY_NONE && r->doer != r->slot)
		note_level(inst, r->doer, "has no room for it", notes);
	for (unsigned i = 0; r->slot != CLASSIFY_NONE && i < r->n_also; i++)
		note_level(inst, r->also[i], "has no room for it either, and counts it as over",
			notes);
	if (r->packet.unparsed && r->slot != CLASSIFY_NONE)
		json_array_append_new(notes,
			json_string("only a part of it can be read: the strictest of the policies "
				    "that could take it does"));
	if (r->packet.family == PACKET_OTHER && !r->altered && !r->packet.unparsed)
		json_array_append_new(notes,
			json_string("no IP: only policies that name no address, DSCP, protocol or "
				    "port can take it"));
	return notes;
}

static json_t *verdict_json(struct instance *inst, const struct explainer *e,
	const struct dry_run_result *r, const struct policy *policy)
{
	const struct path *path = &inst->workers[e->worker].paths[e->specimen->path];
	json_t *json = json_pack("{s:s, s:s, s:s?, s:s, s:s, s:i}", "verdict",
		dry_run_verdict_name(r->verdict), "reason", reason_of(inst, r), "policy",
		policy ? policy->name : NULL, "wire", inst->config->wires[path->wire].name,
		"direction", direction_name(path->direction), "worker", (int)e->worker);

	json_object_set_new(json, "charged", policy ? json_integer(r->cost) : json_null());
	json_object_set_new(
		json, "count", policy ? json_string(show_counting(policy->count)) : json_null());
	json_object_set_new(json, "packet", packet_json(&e->probe, &r->packet, e->specimen->frame));
	json_object_set_new(json, "state",
		policy ? state_json(inst, r, policy, (unsigned)(policy - inst->policies))
		       : json_null());
	json_object_set_new(json, "notes", notes_json(inst, e, r));
	return json;
}

static json_t *answer_question(struct instance *inst, struct explainer *e)
{
	struct specimen *s = e->specimen;
	const struct policy *policy = NULL;
	struct dry_run_result result;
	int ret;

	e->open = false;
	if (e->generation != inst->publisher.current->generation)
		return json_pack("{s:b}", "busy", true);
	if (s->slot != CLASSIFY_NONE && inst->slots.policy[s->slot] >= inst->n_policies)
		return json_pack("{s:b}", "busy", true); /* the worker has an older snapshot */
	if (s->slot != CLASSIFY_NONE)
		policy = &inst->policies[inst->slots.policy[s->slot]];
	ret = dry_run(s, &inst->workers[e->worker], policy, &result);
	if (ret)
		return refusal_json(strerror(-ret));
	if (result.slot == CLASSIFY_NONE)
		policy = NULL;
	return verdict_json(inst, e, &result, policy);
}

json_t *show_explain(const char *params, void *context)
{
	struct instance *inst = context;
	struct explainer *e = inst->explainer;
	unsigned number;

	if (!params)
		return NULL;
	if (!show_index(params, &number))
		return begin_question(inst, params);
	if (!e || !e->open || number != e->number)
		return NULL;
	if (!specimen_is_taken(e->specimen))
		return json_pack("{s:b}", "pending", true);
	return answer_question(inst, e);
}

/* --- /weir/match ------------------------------------------------------------------------------ */

#define LOOKS     8192 /* matches of a page */
#define ROWS      40   /* most rows of a page */
#define WORDS_MAX 12   /* more than there are facts */

/* The packets in question, in both directions. */
struct asked_match {
	struct match to, from;
	unsigned only_to, only_from; /* matches that name only the other side's address */
};

static json_t *takes_json(enum candidate candidate)
{
	if (candidate == CANDIDATE_NONE)
		return json_null();
	return json_string(candidate == CANDIDATE_ALL ? "all" : "some");
}

/* Counts a match that names only the other side's address; only other matches are listed. */
static enum candidate listed_candidate(
	const struct match *question, const struct match *match, bool names_other, unsigned *only)
{
	enum candidate candidate = classify_candidate(question, match);

	if (candidate == CANDIDATE_NONE || !names_other)
		return candidate;
	++*only;
	return CANDIDATE_NONE;
}

/* Returns NULL for a match that takes none of the packets. */
static json_t *candidate_json(
	struct instance *inst, unsigned i, const struct match *match, struct asked_match *asked)
{
	const struct policy *policy = &inst->policies[i];
	enum candidate to = listed_candidate(
		&asked->to, match, match->src.family && !match->dst.family, &asked->only_to);
	enum candidate from = listed_candidate(
		&asked->from, match, match->dst.family && !match->src.family, &asked->only_from);

	struct precedence order;
	char precedence[2 * sizeof(order.of) + 1];

	if (to == CANDIDATE_NONE && from == CANDIDATE_NONE)
		return NULL;
	order = classify_precedence(match);
	for (size_t byte = 0; byte < sizeof(order.of); byte++)
		snprintf(precedence + 2 * byte, 3, "%02x", order.of[byte]);
	return json_pack("{s:s, s:i, s:o, s:o, s:s, s:o, s:o}", "policy", policy->name, "index",
		(int)i, "to", takes_json(to), "from", takes_json(from), "precedence", precedence,
		"strictness", json_uint(classify_strictness(inst->policies, i)), "match",
		show_match_of(inst->config, match));
}

/* Where a page is: at a policy's match, and how many there were before. */
struct match_cursor {
	unsigned policy, match;
	uint64_t at;
};

/* Skips parents without a match. */
static void step_match(const struct instance *inst, struct match_cursor *cursor)
{
	cursor->at++;
	cursor->match++;
	while (cursor->policy < inst->n_policies &&
		cursor->match >= policy_n_matches(&inst->policies[cursor->policy])) {
		cursor->match = 0;
		cursor->policy++;
	}
}

static json_t *match_page(struct instance *inst, struct asked_match *asked, unsigned start)
{
	struct match_cursor at = {.at = start, .match = start};
	json_t *rows = json_array(), *next;

	while (at.policy < inst->n_policies &&
		at.match >= policy_n_matches(&inst->policies[at.policy]))
		at.match -= policy_n_matches(&inst->policies[at.policy++]);

	for (unsigned looks = 0;
		looks < LOOKS && at.policy < inst->n_policies && json_array_size(rows) < ROWS;
		looks++, step_match(inst, &at)) {
		json_t *row = candidate_json(
			inst, at.policy, policy_match(&inst->policies[at.policy], at.match), asked);

		if (row)
			json_array_append_new(rows, row);
	}
	next = at.policy < inst->n_policies ? json_uint(at.at) : json_null();
	return json_pack("{s:o, s:o, s:i, s:i, s:o}", "generation",
		json_uint(inst->publisher.current->generation), "next", next, "only_by_source",
		(int)asked->only_to, "only_by_destination", (int)asked->only_from, "policies",
		rows);
}

/* Splits off at most WORDS_MAX words, and returns the number of all. */
static unsigned split_words(char *text, const char **words)
{
	unsigned n = 0;
	char *word;

	while ((word = strsep(&text, " ")) != NULL)
		if (*word && n++ < WORDS_MAX)
			words[n - 1] = word;
	return n;
}

json_t *show_match(const char *params, void *context)
{
	struct instance *inst = context;
	const char *words[WORDS_MAX];
	struct probe_question question;
	struct asked_match asked;
	char *text, why[PROBE_WHY], unknown[UNKNOWN_NAME_MAX];
	unsigned n, start = 0;
	int ret;

	if (!params)
		return NULL;
	text = strdup(params);
	n = text ? split_words(text, words) : 0;
	if (n == 0 || !show_index(words[0], &start)) {
		free(text);
		return NULL;
	}
	if (n > WORDS_MAX) {
		free(text);
		return refusal_json("too many words: expected an address, and each fact once");
	}
	ret = probe_question(&question, words + 1, n - 1, why);
	free(text);
	if (ret)
		return refusal_json(why);
	if (question.wire[0]) {
		question.match.wire = CONFIG_ANY;
		for (unsigned i = 0; i < inst->config->n_wires; i++)
			if (strcmp(inst->config->wires[i].name, question.wire) == 0)
				question.match.wire = (int)i;
		if (question.match.wire == CONFIG_ANY)
			return refusal_json(unknown_wire(inst->config, question.wire, unknown));
	}
	asked = (struct asked_match){.to = question.match, .from = question.match};
	asked.to.dst = question.where;
	asked.from.src = question.where;
	return match_page(inst, &asked, start);
}
