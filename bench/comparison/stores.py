"""The stores that are measured: filled once by `latchkey seed` and kept beside the results, so that a second run starts
quickly. Keys are made over HTTP, each with limits that a run does not reach."""
import hashlib
import http.client
import json
import os
import shutil
import subprocess

from comparison import machine

# Of each store, how many users it has, and how many keys beside those of the clients.
users = {"data": 1_000_000, "small": 10_000, "large": 10_000_000, "full": 10_000_000, "million_keys": 10_000, "ten_million_keys": 10_000}
imported_keys = {"full": 1_000_000, "million_keys": 1_000_000, "ten_million_keys": 10_000_000}
# Of the main store, made anew for each run: one process alone may serve a store.
copies = {"writes": ("writes", "silent", "single"), "unlogged": ("unlogged",)}
key_count = 1000
limits = [{"name": "minute", "limit": 1_000_000_000, "window_seconds": 60},
          {"name": "hour", "limit": 1_000_000_000, "window_seconds": 3600}]


class Stores:
    def __init__(self, bench):
        self.bench = bench
        self.home = os.path.join(bench.home, "stores")
        os.makedirs(self.home, mode=0o700, exist_ok=True)

    def folder(self, name):
        return os.path.join(self.home, name)

    def make(self, names):
        for name in sorted(names):
            if name in copies:
                for copy in copies[name]:
                    self.copy(self.folder("data"), self.folder(copy))
            elif not os.path.exists(self.folder(name)):
                self.copy(self.folder("keys"), self.folder(name))
                self.import_keys(name, imported_keys.get(name, 0))
                self.seed(self.folder(name), users[name])

    def prepare(self):
        """Makes the main store; returns its keys and the text of its first user."""
        kept = os.path.join(self.home, "keys.json")
        if not os.path.exists(kept):
            shutil.rmtree(self.home)
            os.makedirs(self.home, mode=0o700)
            keys = self.make_keys(self.folder("keys"))
            self.copy(self.folder("keys"), self.folder("data"))
            self.seed(self.folder("data"), users["data"])
            self.ask(self.folder("data"), lambda call: self.make_posts(call, keys[0]))
            with open(os.open(kept, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
                json.dump(keys, file)
        with open(kept) as file:
            keys = json.load(file)
        user = self.ask(self.folder("data"), lambda call: call("GET", "/api/v1/users/1", keys[0]))
        return keys, user

    def seed(self, folder, count):
        self.run("seed", "--data", folder, "--users", str(count), "--posts", "0")
        # Out of the page cache, as after a start of the machine: how pages are read decides how they are mapped.
        file = os.open(os.path.join(folder, "store.mdb"), os.O_RDWR)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)

    def keys_file(self, name):
        return os.path.join(self.home, f"{name}.keys")

    def import_keys(self, name, count):
        """Keys by their digests, each with the limits of a client; their texts go into a file for the load."""
        if count == 0:
            return
        lines = self.keys_file(name) + ".json"
        with open(self.keys_file(name), "w") as texts, open(lines, "w") as digests:
            for number in range(count):
                key = f"bench-{hashlib.sha256(f'{name} {number}'.encode()).hexdigest()[:40]}"
                texts.write(key + "\n")
                digests.write(json.dumps({"sha256": hashlib.sha256(key.encode()).hexdigest(), "name": f"client {number}",
                                          "scopes": ["users:read"], "rate_limits": limits}) + "\n")
        self.run("keys", "import", "--data", self.folder(name), lines)
        os.remove(lines)

    def run(self, *arguments):
        return machine.run([self.bench.latchkey, *arguments])

    @staticmethod
    def copy(source, target):
        shutil.rmtree(target, ignore_errors=True)
        machine.run(["cp", "-a", "--sparse=always", source, target])

    def make_keys(self, folder):
        """One key for each client."""
        operator = self.run("keys", "create", "--data", folder, "--name", "operator", "--scope", "*", "--unlimited").strip()
        wanted = {"name": "bench", "scopes": ["users:*", "posts:*", "webhooks:*", "changes:read"], "rate_limits": limits}

        def make(call):
            return [json.loads(call("POST", "/api/v1/keys", operator, {**wanted, "name": f"bench {n}"}))["key"]
                    for n in range(key_count)]
        return self.ask(folder, make)

    @staticmethod
    def make_posts(call, key):
        for n in range(20):
            call("POST", "/api/v1/posts", key, {"user_id": 1, "title": f"Post {n}", "body": "Twenty words of text.",
                                                "status": "published"})

    def ask(self, folder, what):
        """Runs `what` with a function that makes a request, against a server that lives as long."""
        port = machine.free_port()
        with subprocess.Popen([self.bench.latchkey, "serve", "--data", folder, "--workers", "1", "--listen",
                               f"http://127.0.0.1:{port}", "--access-log", "off", *self.bench.latchkey_options],
                              stderr=subprocess.DEVNULL) as server:
            machine.wait_for(port, server)
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

            def call(method, path, key, body=None):
                headers = {"X-API-Key": key, **({"Content-Type": "application/json"} if body else {})}
                connection.request(method, path, json.dumps(body) if body else None, headers)
                answer = connection.getresponse()
                text = answer.read().decode()
                if answer.status // 100 != 2:
                    raise RuntimeError(f"{method} {path}: {answer.status} {text}")
                return text
            try:
                return what(call)
            finally:
                connection.close()
                server.terminate()
                server.wait(60)

    def one_to_a_commit(self, seconds):
        program = os.path.join(self.bench.build, "bench/commits/commits")
        done = json.loads(machine.run([program, self.folder("single"), str(seconds)]))
        rate = done["commits"] / done["seconds"]
        return {"per_second": rate, "cpu_us": 0, "p50": 1e6 / rate, "p99": 0, "p999": 0, "get_p99": 0}
