"""What is measured: each work names the servers it goes round, how they are loaded, and which ratios it must keep."""
from dataclasses import dataclass, field

from comparison import servers as s

one_user = "GET /api/v1/users/1"
random_user = "GET /api/v1/users/{1..1000000}"
make_user = 'POST /api/v1/users {"name":"Ada Lovelace","email":"bench{unique}@example.com"}'


@dataclass
class Run:
    """One server under one load. `load` is what bench/load gets beside the URL."""
    label: str
    server: type
    load: list
    keys: str = "one"  # one | all | the name of a store of keys: which file of keys
    plain: bool = False  # over HTTP, in a work over TLS

    @property
    def http2(self):
        return "--http2" in self.load


@dataclass
class Target:
    """figure(a) / figure(b), compared with `bound` and `aim`; figure is per_second, cpu_us, p99, get_p99 or memory."""
    text: str
    of: str
    against: list
    figure: str
    bound: float
    aim: float
    most: bool  # at most, else at least


@dataclass
class Work:
    name: str
    title: str
    runs: list
    targets: list
    tls: bool = False
    log: bool = True
    workers: int = 1
    server_cores: str = "0"
    load_cores: str = "1"
    expect_length: bool = True
    kind: str = "load"  # load, or the name of the work that is measured in a way of its own
    needs: list = field(default_factory=list)  # stores


def target(text, of, against, figure, bound, aim, most=True):
    return Target(text, of, against if isinstance(against, list) else [against], figure, bound, aim, most)


def get(label, server, *load, keys="one"):
    return Run(label, server, ["--request", one_user, *load], keys)


def get_http2(label, server):
    return get(label, server, "--http2", "--connections", "16", "--streams", "32")


works = [
    Work("get", "GET a user, 64 connections, plain HTTP",
         [get("limit", s.Limit), get("latchkey", s.Latchkey), get("haproxy", s.Haproxy), get("nginx", s.Nginx),
          get("Go net/http", s.Go), get("h2o (a file only)", s.H2o)],
         [target("CPU against the limit", "latchkey", "limit", "cpu_us", 1.20, 1.15),
          target("requests/s against the better of haproxy and nginx", "latchkey", ["haproxy", "nginx"], "per_second",
                 1.4, 1.55, most=False),
          target("requests/s against Go", "latchkey", "Go net/http", "per_second", 2.5, 2.8, most=False)]),
    Work("random", "GET a random user of 1,000,000 with a random key of 1,000",
         [get("hot", s.Latchkey), Run("random", s.Latchkey, ["--request", random_user], "all")],
         [target("CPU against the hot case", "random", "hot", "cpu_us", 1.20, 1.12)], expect_length=False),
    Work("pipelined", "GET a user, pipelined 16 deep",
         [get(label, server, "--pipeline", "16") for label, server in
          (("limit", s.Limit), ("latchkey", s.Latchkey), ("latchkey, no log", s.UnloggedLatchkey), ("nginx", s.Nginx))],
         [target("requests/s against nginx", "latchkey", "nginx", "per_second", 6, 7, most=False),
          target("CPU against the limit", "latchkey", "limit", "cpu_us", 2.8, 2.2),
          target("CPU against the limit, without a log", "latchkey, no log", "limit", "cpu_us", 2.0, 2.0)], needs=["unlogged"]),
    Work("tls", "GET a user, TLS 1.3, keep-alive",
         [get("latchkey", s.Latchkey), Run("latchkey, plain", s.Latchkey, ["--request", one_user], plain=True), get("nginx", s.Nginx)],
         [target("CPU against the same without TLS", "latchkey", "latchkey, plain", "cpu_us", 1.35, 1.35),
          target("CPU against nginx", "latchkey", "nginx", "cpu_us", 0.5, 0.5)], tls=True),
    Work("h2", "GET a user, HTTP/2 over TLS 1.3, 16 connections with 32 streams each",
         [get_http2("latchkey", s.Latchkey), get_http2("h2o (a file only)", s.LoggingH2o), get_http2("haproxy", s.Haproxy),
          get_http2("nginx", s.Nginx), get_http2("Go net/http", s.Go), get("latchkey, HTTP/1.1", s.Latchkey)],
         [target("CPU against h2o", "latchkey", "h2o (a file only)", "cpu_us", 0.6, 0.5),
          target("CPU against haproxy", "latchkey", "haproxy", "cpu_us", 0.3, 0.3),
          target("CPU against nginx", "latchkey", "nginx", "cpu_us", 0.25, 0.22),
          target("CPU against its own HTTP/1.1, 64 connections with keep-alive", "latchkey", "latchkey, HTTP/1.1", "cpu_us",
                 0.75, 0.65)], tls=True),
    Work("handshake", "a full TLS 1.3 handshake (ECDSA P-256) and one GET",
         [get("latchkey", s.Latchkey, "--reconnect", "full"), get("nginx", s.Nginx, "--reconnect", "full")],
         [target("CPU against nginx", "latchkey", "nginx", "cpu_us", 0.65, 0.55)], tls=True),
    Work("resumed", "a resumed TLS 1.3 handshake and one GET, against a full one of nginx",
         [get("latchkey", s.Latchkey, "--reconnect", "resumed"), get("nginx, full", s.Nginx, "--reconnect", "full"),
          get("nginx", s.Nginx, "--reconnect", "resumed")],
         [target("CPU against nginx' full handshake", "latchkey", "nginx, full", "cpu_us", 0.45, 0.38)], tls=True),
    Work("post", "POST a user, durable, 1,000,000 users there",
         [Run("one to a commit", None, []),
          Run("64 connections", s.WriteStore, ["--request", make_user, "--connections", "64"]),
          Run("256 connections", s.WriteStore, ["--request", make_user, "--connections", "256"])],
         [target("64 connections against one to a commit", "64 connections", "one to a commit", "per_second", 5, 7,
                 most=False),
          target("256 connections against one to a commit", "256 connections", "one to a commit", "per_second", 8, 12,
                 most=False)], expect_length=False, needs=["writes"]),
    Work("post_h2", "POST a user, durable, over TLS: 64 streams of one HTTP/2 connection, and 64 connections of HTTP/1.1",
         [Run("64 streams", s.WriteStore, ["--request", make_user, "--http2", "--connections", "1", "--streams", "64"]),
          Run("64 connections", s.WriteStore, ["--request", make_user, "--connections", "64"])],
         [target("64 streams against 64 connections", "64 streams", "64 connections", "per_second", 0.8, 0.9, most=False)],
         tls=True, expect_length=False, needs=["writes"]),
    Work("mixed", "90 % GET, 10 % POST, 64 connections, two workers and the load on both cores",
         [Run("GET alone", s.WriteStore, ["--request", random_user, "--threads", "2"], "all"),
          Run("with writes", s.WriteStore, ["--request", "9*" + random_user, "--request", make_user, "--threads", "2"],
              "all")],
         [target("p99 of GET against that without writes", "with writes", "GET alone", "get_p99", 2, 1.5)],
         expect_length=False, workers=2, server_cores="0,1", load_cores="0,1", needs=["writes"]),
    Work("tails", "GET a user at half of the limit's rate", [], [], kind="tails"),
    Work("idle_beside", "GET a user beside 10,000 idle TLS connections", [], [], tls=True, kind="idle_beside"),
    Work("start", "the start with 10,000,000 users and 1,000,000 keys", [], [], kind="start", needs=["full"]),
    Work("keys", "GET a user with a random key of 1,000,000 and of 10,000,000",
         [get("one key", s.MillionKeys), get("1,000,000 keys", s.MillionKeys, keys="million_keys"),
          get("10,000,000 keys", s.TenMillionKeys, keys="ten_million_keys")],
         [target("CPU of 1,000,000 against one", "1,000,000 keys", "one key", "cpu_us", 1.25, 1.25),
          target("CPU of 10,000,000 against one", "10,000,000 keys", "one key", "cpu_us", 1.4, 1.4)],
         needs=["million_keys", "ten_million_keys"]),
    Work("list", "a list of the 20 posts of one user",
         [get("GET a user", s.Latchkey), Run("list of 20", s.Latchkey, ["--request", "GET /api/v1/users/1/posts"])],
         [target("CPU against GET a user", "list of 20", "GET a user", "cpu_us", 3, 2)], expect_length=False),
    Work("size", "GET a random user of 10,000,000 instead of 10,000",
         [Run("10,000 users", s.SmallStore, ["--request", "GET /api/v1/users/{1..10000}"]),
          Run("10,000,000 users", s.LargeStore, ["--request", "GET /api/v1/users/{1..10000000}"])],
         [target("CPU against 10,000 users", "10,000,000 users", "10,000 users", "cpu_us", 1.45, 1.3)],
         expect_length=False, needs=["small", "large"]),
    Work("workers", "GET a user, two workers instead of one, the server and the load on both cores",
         [get("one worker", s.OneWorker, "--threads", "2"), get("two workers", s.Latchkey, "--threads", "2")],
         [target("CPU against one worker", "two workers", "one worker", "cpu_us", 1.2, 1.1)], expect_length=False,
         workers=2, server_cores="0,1", load_cores="0,1", needs=["small"]),
    Work("idle", "memory of an idle connection, 10,000 of them",
         [Run("plain", s.Latchkey, []), Run("TLS", s.Latchkey, [])], [], kind="idle"),
    Work("cluster", "nodes of a cluster over one PostgreSQL without a standby, 1,000,000 users there", [], [], log=False,
         kind="cluster"),
    Work("changes", "POST a user, durable, with changes and without",
         [Run(f"{count} connections, {label}", server, ["--request", make_user, "--connections", str(count)])
          for count in (64, 256) for label, server in (("changes", s.WriteStore), ("no changes", s.SilentStore))],
         [target(f"{count} connections against those without changes", f"{count} connections, changes",
                 f"{count} connections, no changes", "per_second", 0.85, 0.95, most=False) for count in (64, 256)],
         expect_length=False, needs=["writes"]),
    Work("feed", "the feed of 1,000,000 changes", [], [], log=False, kind="feed", needs=["writes"]),
    Work("streams", "GET a user beside 1,000 streams of changes", [], [], kind="streams", needs=["writes"]),
    Work("tokens", "GET a user with a JWT against one with a key, both in Authorization", [], [], kind="tokens", needs=["small"]),
    Work("webhooks", "changes to webhooks over kept TLS connections, one core for the service and its helper", [], [], log=False,
         kind="webhooks", needs=["writes"]),
]
