/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "penalty_formula.h"

#include <math.h>

/*
 * Beyond this the tail is an exponential, except for less than 1e-10 of it at relevant loads.
 * Below, the sum's terms are small enough that their signs cost no visible digit.
 */
#define FAR 12

/* Returns the rate at which the tail falls: the root above 0 of load (e^t - 1) = t. */
static double tail_decay_rate(double load)
{
	double low = -log(load), high = low;

	do
		high *= 2;
	while (load * expm1(high) < high);
	for (unsigned i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		if (load * expm1(middle) < middle)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

static double far_tail(double load, double x)
{
	double decay = tail_decay_rate(load);

	return (1 - load) / (load * exp(decay) - 1) * exp(-decay * x);
}

/* Returns Erlang's distribution of the unfinished work. */
static double near_tail(double load, double x)
{
	long double sum = 0, factorial = 1;

	for (unsigned k = 0; k <= x; k++) {
		long double z = (long double)load * ((long double)k - x);

		factorial *= k ? k : 1;
		sum += powl(z, k) / factorial * expl(-z);
	}
	return (double)(1 - (1 - (long double)load) * sum);
}

double penalty_md1_tail(double load, double x)
{
	if (x < 0)
		return 1;
	return x < FAR ? near_tail(load, x) : far_tail(load, x);
}

/*
 * U crosses a level as often upwards, by an arrival, as downwards. So the tail's integral over a
 * service time is the density there, and excess(x - 1) - excess(x) = tail(x) / load.
 */
double penalty_md1_excess(double load, double x)
{
	double sum = 0;

	if (x < 0)
		return load / (2 * (1 - load)) - x;
	while (x < FAR) {
		x++;
		sum += penalty_md1_tail(load, x) / load;
	}
	return sum + far_tail(load, x) / tail_decay_rate(load);
}

double penalty_formula_paper(const struct penalty_bucket *bucket)
{
	double rate = bucket->rate / bucket->batch, depth = bucket->depth / bucket->batch;

	return penalty_md1_tail(bucket->load, depth - 1) / (2 * rate * (1 - bucket->load));
}

/* A job is a batch; its packet j finds U and j - 1 packets before it. */
double penalty_formula_exact(const struct penalty_bucket *bucket)
{
	double sum = 0;

	for (unsigned j = 1; j <= bucket->batch; j++)
		sum += penalty_md1_excess(bucket->load, (bucket->depth - j) / bucket->batch);
	return sum / bucket->rate;
}
