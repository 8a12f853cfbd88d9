"""Simulates how long requests of one text wait for vectors in an open loop, by how the queue forms batches.

Texts of 8 to 256 tokens, log-uniform, come by a Poisson process. What a batch takes on one and on both of two processors was
fitted to the times of an encoder of MiniLM's shape on a Zen 4 (AVX-512), and includes what HTTP and the
generator of the load take. Printed are the median and the 99th percentile in ms, and the bound 4.6/(1-load) mean times. The
first line of each is an ideal queue: one text at a time, in the time that a text has when there always is one.
"""

import heapq
import random


def int8(lengths, threads):
    tokens, squares = sum(lengths), sum(n * n for n in lengths)
    if threads == 2:
        return min(0.2 + 0.068 * tokens, 1.6 + 0.0405 * tokens) + 4.3e-5 * squares + 0.2 * len(lengths)
    return 0.05 + 0.0735 * tokens + 5e-5 * squares + 0.3 * len(lengths)


def float32(lengths, threads):
    tokens, squares = sum(lengths), sum(n * n for n in lengths)
    if threads == 2:
        return 0.6 + 0.108 * tokens + 2.5e-5 * squares + 0.2 * len(lengths)
    return 0.2 + 0.21 * tokens + 6e-5 * squares + 0.3 * len(lengths)


# A policy is a function of the number of tokens that wait, which returns the threads that compute the next batch and the
# most tokens of that batch; and the ms by which a text counts as having arrived later, for each of its tokens.
def large(waiting):
    return 2, 2048


def small(waiting):
    return 2, max(128, waiting / 4)


def side_by_side(waiting):
    return (1, max(64, waiting / 8)) if waiting > 128 else (2, 128)


POLICIES = {
    "both threads, 2048 tokens": (large, 0),
    "both threads, a quarter of what waits": (small, 0),
    "a thread each": (side_by_side, 0),
    "a thread each, short texts first": (side_by_side, 0.07),
}


def length(r):
    return min(256, round(8 * 32 ** r.random()))


def ideal(cost, mean, rate, r, n):
    scale = mean / (sum(cost([length(r)], 2) for _ in range(n)) / n)
    wait, times = 0, []
    for _ in range(n):
        service = scale * cost([length(r)], 2)
        times.append(wait + service)
        wait = max(0, wait + service - r.expovariate(rate))
    return times


def simulate(cost, policy, later, rate, r, n):
    arrivals, at = [], 0
    for _ in range(n):
        at += r.expovariate(rate)
        arrivals.append((at, length(r)))
    times, waiting, running, free, now, come = [], [], [], 2, 0, 0
    while come < n or waiting or running:
        if not (waiting and free):
            now = max(now, min([a[0] for a in arrivals[come:come + 1]] + [b[0] for b in running[:1]]))
        while come < n and arrivals[come][0] <= now:
            waiting.append(arrivals[come])
            come += 1
        while running and running[0][0] <= now:
            end, threads, batch = heapq.heappop(running)
            free += threads
            times += [end - a for a, _ in batch]
        while waiting and free:
            threads, room = policy(sum(n for _, n in waiting))
            if threads > free == 1 and policy is not side_by_side:
                break
            threads = min(threads, free)
            waiting.sort(key=lambda a: a[0] + later * a[1])
            batch, rest, tokens = [], [], 0
            for a in waiting:
                if not batch or tokens + a[1] <= room:
                    batch.append(a)
                    tokens += a[1]
                else:
                    rest.append(a)
            waiting = rest
            heapq.heappush(running, (now + cost([n for _, n in batch], threads), threads, batch))
            free -= threads
    return times


def show(name, runs):
    p50, p99 = ([sorted(t)[int(q * len(t))] for t in runs] for q in (0.5, 0.99))
    print(f"  {name:<40}{sorted(p50)[len(runs) // 2]:6.0f}{sorted(p99)[len(runs) // 2]:6.0f}")


def main():
    for cost, best in ((int8, 290), (float32, 113)):  # texts a second, of a closed loop
        for load in (0.5, 0.7, 0.9):
            rate = load * best / 1000
            print(f"{cost.__name__}, {load:.0%} of {best} texts a second, bound {4.6 / (1 - load) / best * 1000:.0f}")
            seeds = range(5)
            show("ideal", [ideal(cost, 1000 / best, rate, random.Random(s), 20000) for s in seeds])
            for name, (policy, later) in POLICIES.items():
                show(name, [simulate(cost, policy, later, rate, random.Random(s), 20000) for s in seeds])


if __name__ == "__main__":
    main()
