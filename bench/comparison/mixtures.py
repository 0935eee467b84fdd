"""What single loads do not show: the slowest answers at half of the limit's rate, a busy connection beside idle ones, and the
start with a large store. The service is on core 0, what asks on core 1."""
import http.client
import os
import re
import subprocess
import time

from comparison import load, machine, report, servers
from comparison.works import one_user

idle_connections = 10_000


def await_quiet(bench):
    if not machine.wait_until_quiet() and not bench.given.busy:
        raise RuntimeError("the machine is not idle; end what runs beside, or say --busy")


def ask(bench, server, more=()):
    """One measurement of a GET over plain HTTP: what the load saw, and the processor time of each request."""
    before = machine.cpu_seconds(server.process.pid)
    seen = load.run("GET", load.command(bench, server.url(False), "1", bench.given.seconds, ["--request", one_user, *more]),
                    bench.given.seconds)
    return seen, (machine.cpu_seconds(server.process.pid) - before) * 1e6 / load.answered(seen, bench.given.seconds)


def measure_tails(bench, work, note):
    """p99.9 at half of the rate that `limit` reaches. A latency counts from the time at which the request was due."""
    limit, service = servers.Limit(bench), servers.Latchkey(bench)
    figures = {"limit": [], "latchkey": []}
    try:
        limit.start(work)
        service.start(work)
        await_quiet(bench)
        rate = ask(bench, limit)[0]["per_second"] / 2
        for number in range(bench.given.rounds):
            for server in (limit, service) if number % 2 == 0 else (service, limit):
                await_quiet(bench)
                note(f"tails: round {number + 1} of {bench.given.rounds}, {server.name}")
                figures[server.name].append(ask(bench, server, ["--rate", f"{rate:.0f}"])[0]["latency_us"]["p999"])
    finally:
        service.stop()
        limit.stop()
    own, bound = (report.median(figures[name]) for name in ("latchkey", "limit"))
    return [f"### {work.title}", "", f"{rate:,.0f} requests a second; p99.9 of the limit {bound:,.0f} µs, of latchkey {own:,.0f}.", "",
            report.promise("p99.9 against the limit", own / bound, "", 2, most=True), ""]


class CrowdedService(servers.Latchkey):
    name, settings = "latchkey beside idle connections", f"connections = {idle_connections + 2000}\n"


def measure_idle_beside(bench, work, note):
    """Processor time of a GET on 64 connections, alone and beside idle ones over TLS, which ask ten times a second together."""
    service, figures = CrowdedService(bench), {"alone": [], "beside": []}
    crowd_seconds = bench.given.seconds + 40
    try:
        service.start(work)
        for number in range(bench.given.rounds):
            for kind in ("alone", "beside") if number % 2 == 0 else ("beside", "alone"):
                note(f"idle_beside: round {number + 1} of {bench.given.rounds}, {kind}")
                if kind == "alone":
                    await_quiet(bench)
                    figures[kind].append(ask(bench, service)[1])
                    continue
                command = [bench.load, "--url", service.url(True), "--keys", bench.keys_file("one"), "--cores", "1", "--connections",
                           str(idle_connections), "--rate", "10", "--seconds", str(crowd_seconds), "--request", one_user]
                with subprocess.Popen(command, stdout=subprocess.DEVNULL) as crowd:
                    deadline = time.time() + 30
                    while len(os.listdir(f"/proc/{service.process.pid}/fd")) < idle_connections:
                        if crowd.poll() is not None or time.time() > deadline:
                            raise RuntimeError("the idle connections are not there")
                        time.sleep(0.1)
                    await_quiet(bench)
                    figures[kind].append(ask(bench, service)[1])
                    if crowd.poll() is not None:
                        raise RuntimeError("the idle connections were not there any more")
                    crowd.terminate()
    finally:
        service.stop()
    alone, beside = (report.median(figures[kind]) for kind in ("alone", "beside"))
    return [f"### {work.title}", "", report.promise(f"CPU beside them ({beside:.2f} µs) against alone ({alone:.2f} µs)", beside / alone,
                                                    "", 1.02, most=True), ""]


class FullStore(servers.Latchkey):
    name, data = "10,000,000 users and 1,000,000 keys", "full"


def measure_start(bench, work, note):
    """From the start of the process to its first answer to a GET with a key, with nothing of the store in the page cache."""
    seconds = []
    for number in range(bench.given.rounds):
        await_quiet(bench)
        note(f"start: round {number + 1} of {bench.given.rounds}")
        service = FullStore(bench)
        with open(os.path.join(bench.store(service.data), "store.mdb"), "rb") as store:
            os.posix_fadvise(store.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        began = time.monotonic()
        try:
            service.start(work)
            connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
            connection.request("GET", re.sub("^GET ", "", one_user), headers={"X-API-Key": bench.keys[0]})
            if connection.getresponse().status != 200:
                raise RuntimeError("the first request was refused")
            seconds.append(time.monotonic() - began)
        finally:
            service.stop()
    return [f"### {work.title}", "", report.promise("to the first answer", report.median(seconds), " s", 1, most=True), ""]
