"""Nodes of a cluster over one PostgreSQL without a standby: against a node alone, against each other, and against a service
that keeps nothing and asks PostgreSQL for each request. Everything shares the cores of this machine, PostgreSQL too; only where
a GET is measured, a service has core 0 for itself."""
import hashlib
import http.client
import json
import os
import shutil
import statistics
import subprocess
import threading
import time
import types

from comparison import load, machine, report, servers
from comparison.postgresql import Postgresql
from comparison.works import make_user, one_user

database, samples, first_uses = "latchkey", 300, 1000


class Node(servers.Latchkey):
    """A node, or with `engine` None the same alone."""

    def __init__(self, bench, name, engine):
        self.name, self.data, self.engine = name, f"cluster-{name}", engine
        super().__init__(bench)
        self.home, self.management = bench.store(self.data), machine.free_port()
        self.settings = os.path.join(self.folder, "latchkey.toml")
        with open(self.settings, "w") as file:
            if engine:
                file.write(f'[cluster]\npostgres = "{engine.address(database)}"\nname = "{name}"\n')
        self.more = ("--config", self.settings, "--management", f"127.0.0.1:{self.management}")

    def begin(self, work, patience=120):
        """Starts it; returns the seconds until it is ready."""
        began = time.time()
        servers.Server.start(self, work)
        while time.time() < began + patience:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.management, timeout=1)
                connection.request("GET", "/readyz")
                if connection.getresponse().status == 200:
                    return time.time() - began
            except OSError:
                pass
            time.sleep(0.02)
        raise RuntimeError(f"{self.name} is not ready")

    def run(self, *words):
        return machine.run([self.bench.latchkey, *words, "--config", self.settings, "--data", self.home], stderr=subprocess.PIPE)

    def cpu_seconds(self):
        return machine.cpu_seconds(self.process.pid)


class Select(servers.Server):
    """bench/peers/select.go."""
    name = "select"

    def __init__(self, bench, engine):
        super().__init__(bench)
        self.engine = engine

    def prepare(self):
        self.engine.ask(database, "CREATE TABLE peer_key (digest bytea PRIMARY KEY); "
                        "CREATE TABLE peer_user (id bigint PRIMARY KEY, name text, email text, created_at text, updated_at text); "
                        "INSERT INTO peer_user SELECT i, 'Ada Lovelace', 'user' || i || '@example.com', '2026-01-02T03:04:05.678Z', "
                        "'2026-01-02T03:04:05.678Z' FROM generate_series(1, 1000000) i")
        digests = ", ".join(f"('\\x{hashlib.sha256(key.encode()).hexdigest()}')" for key in self.bench.keys)
        self.engine.ask(database, f"INSERT INTO peer_key VALUES {digests}")
        self.engine.ask(database, "VACUUM ANALYZE peer_user")
        self.engine.ask(database, "VACUUM ANALYZE peer_key")

    def command(self, _):
        program = os.path.join(self.folder, "select")
        machine.run(["go", "build", "-o", program, os.path.join(servers.here, "peers", "select.go")],
                    env={**os.environ, "GOCACHE": os.path.join(self.folder, "cache"), "GO111MODULE": "off", "GOPATH": "/usr/share/gocode"})
        return ["env", "GOMAXPROCS=1", program, str(self.port), self.engine.address(database), "32"]

    def cpu_seconds(self):
        return machine.cpu_seconds(self.process.pid) + self.engine.cpu_seconds()


class Client:
    """A connection that stays."""

    def __init__(self, node, key):
        self.connection, self.key = http.client.HTTPConnection("127.0.0.1", node.port, timeout=20), key

    def ask(self, method, path, body=None, key=None):
        headers = {"X-API-Key": key or self.key, **({"Content-Type": "application/json"} if body else {})}
        self.connection.request(method, "/api/v1" + path, json.dumps(body) if body else None, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None


def share(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


class Cluster:
    def __init__(self, bench, note):
        self.bench, self.note, self.seconds = bench, note, bench.given.seconds
        self.free = types.SimpleNamespace(server_cores="", workers=1, log=False, tls=False)
        self.engine = Postgresql(os.path.join(bench.folder, "postgresql"))
        self.alone = Node(bench, "alone", None)
        self.nodes = [Node(bench, name, self.engine) for name in ("one", "two", "three")]
        self.peer = Select(bench, self.engine)
        self.lines = []

    def promise(self, text, value, bound, unit="", most=True):
        self.lines.append(report.promise(text, value, unit, bound, most))

    def tell(self, text):
        self.lines.append(f"- {text}")

    # ---- the cluster
    def begin(self):
        one = self.nodes[0]
        self.note("cluster: PostgreSQL, and the state of 1,000,000 users in it")
        self.engine.start()
        self.engine.ask("postgres", f"CREATE DATABASE {database}")
        for node in (self.alone, one):
            self.bench.stores.copy(self.bench.store("data"), node.home)
        one.run("cluster", "init")
        self.operator = one.run("keys", "create", "--name", "operator", "--scope", "*", "--unlimited").strip()
        for node in self.nodes[1:]:
            shutil.rmtree(node.home, ignore_errors=True)
            os.makedirs(node.home, mode=0o700)
            shutil.copy2(os.path.join(one.home, "master.key"), node.home)
        self.alone.begin(self.free)
        one.begin(self.free)

    def end(self):
        for each in (self.peer, self.alone, *self.nodes, self.engine):
            each.stop()

    def join(self):
        times = [node.begin(self.free) for node in self.nodes[1:]]
        self.promise("a node joins with 1,000,000 users", statistics.median(times), 60, " s")

    # ---- loads
    def drive(self, server, more, cores="0,1", seconds=None):
        seconds = seconds or self.seconds
        words = load.command(self.bench, server.url(False), cores, seconds, ["--threads", str(len(cores.split(","))), *more])
        before = server.cpu_seconds()
        seen = load.run(server.name, words, seconds)
        cpu = (server.cpu_seconds() - before) * 1e6 / load.answered(seen, seconds)
        return {"per_second": seen["per_second"], "cpu_us": cpu, "p99": seen["latency_us"]["p99"]}

    def drive_all(self, connections):
        """All nodes at once: their requests per second together."""
        words = [load.command(self.bench, node.url(False), str(i % 2), self.seconds,
                              ["--request", make_user.replace("bench", node.name), "--connections", str(connections)])
                 for i, node in enumerate(self.nodes)]
        running = [subprocess.Popen(each, stdout=subprocess.PIPE, text=True) for each in words]
        seen = [load.parse(node.name, each.communicate(timeout=self.seconds + 60)[0]) for node, each in zip(self.nodes, running)]
        return {"per_second": sum(each["per_second"] for each in seen)}

    def alternate(self, label, measures, rounds=None):
        """Rounds of each in turn: lists of figures by name."""
        figures = {name: [] for name in measures}
        rounds = rounds or self.bench.given.rounds
        for number in range(rounds):
            order = list(measures) if number % 2 == 0 else list(reversed(measures))
            for name in order:
                self.note(f"cluster: {label}, round {number + 1} of {rounds}, {name}")
                figures[name].append(measures[name]())
        return figures

    @staticmethod
    def median(figures, name, figure):
        return statistics.median(each[figure] for each in figures[name])

    @staticmethod
    def ratio(figures, first, second, figure):
        return statistics.median(a[figure] / b[figure] for a, b in zip(figures[first], figures[second]))

    # ---- what is measured
    def reads(self):
        one = self.nodes[0]
        load_of = ["--request", one_user]
        machine.pin(self.engine.process.pid, {1})
        for server in (self.alone, one, self.peer):
            machine.pin(server.process.pid, {0})
        # Many short rounds: the machine's speed changes from one to the next by more than the bound allows.
        pair = self.alternate("GET", {name: lambda server=server: self.drive(server, load_of, "1", self.seconds / 4)
                                      for name, server in (("node", one), ("alone", self.alone))}, 8 * self.bench.given.rounds)
        seen = self.alternate("GET", {name: lambda server=server: self.drive(server, load_of, "1")
                                      for name, server in (("node", one), ("select", self.peer))})
        for server in (self.alone, one, self.engine):
            machine.pin(server.process.pid, {0, 1})
        self.peer.stop()
        for name, figures in ("node", pair), ("alone", pair), ("select", seen):
            self.tell(f"GET a user, {name}: {self.median(figures, name, 'per_second'):,.0f}/s, "
                      f"{self.median(figures, name, 'cpu_us'):.2f} µs CPU" + (" with that of PostgreSQL" if name == "select" else ""))
        self.promise("CPU of a GET on a node against alone, round by round", self.ratio(pair, "node", "alone", "cpu_us"), 1.03)
        self.tell(f"against a service with a SELECT for each request: {self.ratio(seen, 'node', 'select', 'per_second'):.1f} times "
                  f"the requests/s, 1/{self.ratio(seen, 'select', 'node', 'cpu_us'):.1f} of the CPU")

    def writes(self):
        one = self.nodes[0]
        for connections, bound in ((64, 5000), (256, 15000)):
            more = ["--request", make_user, "--connections", str(connections)]
            seen = self.alternate(f"POST over {connections} connections", {
                "node": lambda more=more: self.drive(one, more), "alone": lambda more=more: self.drive(self.alone, more)})
            rate = self.median(seen, "node", "per_second")
            self.tell(f"durable creates over {connections} connections, alone: {self.median(seen, 'alone', 'per_second'):,.0f}/s")
            self.promise(f"durable creates on a node over {connections} connections", rate, bound, "/s", most=False)
            if connections == 64:
                self.rate = rate
                self.promise("the same against alone, round by round", self.ratio(seen, "node", "alone", "per_second"), 0.5, most=False)

    def three(self):
        one = self.nodes[0]
        seen = self.alternate("POST on three nodes", {
            "three": lambda: self.drive_all(64),
            "one": lambda: self.drive(one, ["--request", make_user, "--connections", "192"])})
        self.tell(f"durable creates over 192 connections, the nodes two and three following: {self.median(seen, 'one', 'per_second'):,.0f}/s on one, "
                  f"{self.median(seen, 'three', 'per_second'):,.0f}/s on three")
        self.promise("three nodes that write against one, round by round", self.ratio(seen, "three", "one", "per_second"), 0.7, most=False)

    def visibility(self):
        """From the answer to a write to the first answer of another node that has it, under half of the writes that a node takes."""
        self.note("cluster: until a write is visible elsewhere")
        writer, *readers = [Client(node, self.operator) for node in self.nodes]
        words = load.command(self.bench, self.nodes[0].url(False), "1", 12, ["--request", make_user, "--rate", str(int(self.rate / 2))])
        done = []
        clients = threading.Thread(target=lambda: done.append(load.run("half load", words, 12)))
        clients.start()
        time.sleep(1)
        times = []
        while clients.is_alive() and len(times) < samples:
            tag = f"visible{time.time_ns()}"
            status, user = writer.ask("POST", "/users", {"name": tag, "email": f"{tag}@example.org"})
            if status != 201:
                raise RuntimeError(f"a write was answered {status}")
            began, reader = time.perf_counter(), readers[len(times) % 2]
            while reader.ask("GET", f"/users/{user['id']}")[0] != 200:
                pass
            times.append((time.perf_counter() - began) * 1000)
        clients.join()
        self.tell(f"at half of the load ({self.rate / 2:,.0f} creates/s on one node), {len(times)} writes were looked for on the others")
        self.promise("visible there, p50", share(times, 0.5), 10, " ms")
        self.promise("visible there, p99", share(times, 0.99), 50, " ms")

    def first_use(self):
        self.note("cluster: the first use of a key on a node")
        one, two = Client(self.nodes[0], self.operator), Client(self.nodes[1], self.operator)
        limit = [{"name": "minute", "limit": 1000, "window_seconds": 60}]
        keys = [one.ask("POST", "/keys", {"name": f"first {n}", "scopes": ["users:read"], "rate_limits": limit})[1]["key"]
                for n in range(first_uses)]
        time.sleep(1)
        machine.wait_until_quiet(0.15, 20)  # what the loads before have left is folded in PostgreSQL, and synced everywhere
        times = []
        for key in keys:
            began = time.perf_counter()
            status = two.ask("GET", "/users/1", key=key)[0]
            times.append((time.perf_counter() - began) * 1000)
            if status != 200:
                raise RuntimeError(f"the first use of a key was answered {status}")
        self.promise(f"first use of a key on another node, p99 of {first_uses}", share(times, 0.99), 5, " ms")

    def measure(self):
        self.begin()
        self.peer.prepare()
        self.peer.start(self.free)
        self.reads()
        self.writes()
        self.join()
        self.three()
        self.visibility()
        self.first_use()
        self.tell("without `[cluster]` nothing may be slower than before by more than 2 %: `bench/compare --before BUILD get random post list`")


def measure(bench, work, note):
    cluster = Cluster(bench, note)
    try:
        cluster.measure()
    finally:
        cluster.end()
    return [f"### {work.title}", "", *cluster.lines, ""]
