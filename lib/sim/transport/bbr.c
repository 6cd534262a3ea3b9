/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * BBR, version 1, by the rules of draft-cardwell-iccrg-bbr-congestion-control-00. Names from the
 * draft are in brackets. Linux adds an estimate of a policer's rate, which is missing here and in
 * the draft. Rounds in probe-rtt do not age the bandwidth: the draft skips their samples as
 * application-limited.
 */
#include <math.h>

#include "transport/tcp_parts.h"

#define HIGH_GAIN    2.89 /* 2 / ln 2 */
#define LEAST_WINDOW 4
#define RTPROP_NS    UINT64_C(10000000000) /* age at which the least round trip is probed again */
#define PROBE_RTT_NS UINT64_C(200000000)
#define PHASES       8

enum { BBR_STARTUP, BBR_DRAIN, BBR_PROBE_BW, BBR_PROBE_RTT };

static const double cycle[PHASES] = {1.25, 0.75, 1, 1, 1, 1, 1, 1};

static double bbr_rate(const struct bbr *b)
{
	double most = 0;

	for (unsigned i = 0; i < BBR_ROUNDS; i++)
		most = fmax(most, b->best[i]);
	return most;
}

/*
 * Returns the segments that leave together [BBRSetSendQuantum]: one below 1.2 Mbit/s, otherwise
 * those of 1 ms.
 */
static double bbr_quantum(const struct bbr *b)
{
	return b->pacing < 100 ? 1 : fmax(2, floor(b->pacing / 1000));
}

/*
 * Returns `gain` bandwidth-delay products in segments, and three quanta for the hosts
 * [BBRInflight].
 */
static uint32_t bbr_flight(const struct bbr *b, double gain)
{
	double product = bbr_rate(b) * (double)b->rtprop_ns / 1e9;

	if (b->rtprop_ns == 0)
		return WINDOW_INITIAL;
	return (uint32_t)fmin(1e9, gain * product + 3 * bbr_quantum(b));
}

void bbr_open(struct tcp_sender *t, uint32_t rtt_us)
{
	t->bbr.cwnd = t->window.cwnd;
	t->bbr.rtprop_ns = UINT64_C(1000) * rtt_us;
	t->bbr.pacing = HIGH_GAIN * WINDOW_INITIAL * 1e6 / (rtt_us ? rtt_us : 1000);
}

void bbr_sent(struct tcp_sender *t, uint64_t now_ns, struct segment *out)
{
	struct bbr *b = &t->bbr;

	if (tcp_in_flight(t) <= 1)
		b->first_ns = b->delivered_ns = now_ns;
	out->stamp = (struct stamp){b->delivered, b->delivered_ns, b->first_ns, now_ns};
	if (++b->burst < bbr_quantum(b))
		return;
	b->next_ns = b->next_ns > now_ns ? b->next_ns : now_ns;
	b->next_ns += (uint64_t)fmin(1e12, 1e9 * b->burst / b->pacing);
	b->burst = 0;
}

/*
 * Updates the round, and samples the delivery rate over the longer of the send and ack intervals.
 */
static void sample_rate(struct bbr *b, const struct stamp *stamp, uint64_t now_ns)
{
	double ns = fmax(
		(double)(stamp->sent_ns - stamp->first_ns), (double)(now_ns - stamp->delivered_ns));
	float *best;

	b->first_ns = stamp->sent_ns;
	b->delivered_ns = now_ns;
	b->round_start = stamp->delivered >= b->round_end;
	if (b->round_start) {
		b->round_end = b->delivered;
		b->conserve = false;
		if (b->state != BBR_PROBE_RTT)
			b->best[++b->round % BBR_ROUNDS] = 0;
	}
	best = &b->best[b->round % BBR_ROUNDS];
	if (ns > 0 && ns >= (double)b->rtprop_ns)
		*best = fmaxf(*best, (float)((double)(b->delivered - stamp->delivered) * 1e9 / ns));
}

/*
 * Starts with any phase except that of 0.75, by the host's clock, so that flows are not in
 * lockstep.
 */
static void enter_probe_bw(struct tcp_sender *t, uint64_t now_ns)
{
	t->bbr.state = BBR_PROBE_BW;
	t->bbr.phase = (uint8_t)(((t->clock_ns + now_ns) / 1000 % (PHASES - 1) + 2) % PHASES);
	t->bbr.phase_ns = now_ns;
}

/* [BBRIsNextCyclePhase]. before: segments in flight before this acknowledgement. */
static bool phase_is_over(const struct bbr *b, uint32_t before, bool lost, uint64_t now_ns)
{
	bool whole = now_ns - b->phase_ns > b->rtprop_ns;

	if (cycle[b->phase] > 1)
		return whole && (lost || before >= bbr_flight(b, cycle[b->phase]));
	return whole || (cycle[b->phase] < 1 && before <= bbr_flight(b, 1));
}

/* Startup ends after three rounds without a quarter more bandwidth [BBRCheckFullPipe]. */
static void bbr_move_on(struct tcp_sender *t, const struct news *news, uint64_t now_ns)
{
	struct bbr *b = &t->bbr;
	uint32_t before = tcp_in_flight(t) + news->delivered + news->lost;

	if (b->state == BBR_PROBE_BW && phase_is_over(b, before, news->lost, now_ns)) {
		b->phase = (uint8_t)((b->phase + 1) % PHASES);
		b->phase_ns = now_ns;
	}
	if (b->state == BBR_STARTUP && !b->filled && b->round_start) {
		b->flat++;
		if (bbr_rate(b) >= 1.25 * b->full) {
			b->full = bbr_rate(b);
			b->flat = 0;
		}
		b->filled = b->flat >= 3;
	}
	if (b->state == BBR_STARTUP && b->filled)
		b->state = BBR_DRAIN;
	if (b->state == BBR_DRAIN && tcp_in_flight(t) <= bbr_flight(b, 1))
		enter_probe_bw(t, now_ns);
}

/*
 * Updates the least round trip. Every 10 s it keeps a small flight for 200 ms and a round
 * [BBRCheckProbeRTT].
 */
static void update_rtprop(struct tcp_sender *t, uint64_t rtt_ns, uint64_t now_ns)
{
	struct bbr *b = &t->bbr;
	bool old = now_ns > b->rtprop_at_ns + RTPROP_NS;

	if (b->rtprop_ns == 0 || rtt_ns <= b->rtprop_ns || old) {
		b->rtprop_ns = rtt_ns;
		b->rtprop_at_ns = now_ns;
	}
	if (old && b->state != BBR_PROBE_RTT) {
		b->state = BBR_PROBE_RTT;
		b->done_ns = 0;
	}
	if (b->state != BBR_PROBE_RTT)
		return;
	if (b->done_ns == 0 && tcp_in_flight(t) <= LEAST_WINDOW) {
		b->done_ns = now_ns + PROBE_RTT_NS;
		b->round_end = b->delivered;
	} else if (b->done_ns && b->round_start && now_ns > b->done_ns) {
		b->rtprop_at_ns = now_ns;
		b->state = BBR_STARTUP;
		if (b->filled)
			enter_probe_bw(t, now_ns);
	}
}

/* [BBRSetCwnd]. The first round of a recovery sends as much as is delivered. */
static void set_window(struct tcp_sender *t, const struct news *news)
{
	struct bbr *b = &t->bbr;
	bool recovers = t->state >= TCP_RECOVERY, did = b->was >= TCP_RECOVERY;
	uint32_t kept = tcp_in_flight(t) + news->delivered;
	uint32_t target = bbr_flight(b, b->state >= BBR_PROBE_BW ? 2 : HIGH_GAIN);

	if (recovers && !did) {
		b->prior = b->cwnd;
		b->cwnd = 1;
		b->conserve = t->state == TCP_RECOVERY;
		b->round_end = b->delivered;
	} else if (did && !recovers) {
		b->cwnd = b->prior;
	}
	b->was = t->state;
	b->conserve &= recovers;
	b->cwnd = b->cwnd > news->lost ? b->cwnd - news->lost : 1;
	if (b->conserve) {
		b->cwnd = b->cwnd > kept ? b->cwnd : kept;
	} else {
		if (b->filled || b->cwnd < target || b->delivered < WINDOW_INITIAL)
			b->cwnd += news->delivered;
		if (b->filled && b->cwnd > target)
			b->cwnd = target;
		b->cwnd = b->cwnd > LEAST_WINDOW ? b->cwnd : LEAST_WINDOW;
	}
	t->window.cwnd = b->state == BBR_PROBE_RTT && b->cwnd > LEAST_WINDOW ? LEAST_WINDOW
									     : b->cwnd;
}

void bbr_acked(
	struct tcp_sender *t, const struct news *news, const struct stamp *stamp, uint64_t now_ns)
{
	static const double gains[] = {HIGH_GAIN, 1 / HIGH_GAIN, 1, 1};
	struct bbr *b = &t->bbr;
	double pace;

	if (news->delivered && stamp->sent_ns) {
		b->delivered += news->delivered;
		sample_rate(b, stamp, now_ns);
		bbr_move_on(t, news, now_ns);
		update_rtprop(t, now_ns - stamp->sent_ns, now_ns);
		pace = bbr_rate(b) * (b->state == BBR_PROBE_BW ? cycle[b->phase] : gains[b->state]);
		if (pace > 0 && (b->filled || pace > b->pacing))
			b->pacing = pace;
	}
	set_window(t, news);
}
