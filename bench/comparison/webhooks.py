"""Deliveries of changes that wait: the service and its helper on core 0, the receiver, nginx over TLS, on core 1."""
import http.client
import json
import os
import time
import types

from comparison import load, machine, report, servers
from comparison.works import make_user

cases = (("one webhook", 1, False), ("eight webhooks", 8, False), ("one webhook, in order", 1, True))


class Receiver(servers.Server):
    name = "receiver"

    def command(self, _):
        config = os.path.join(self.folder, "nginx.conf")
        with open(config, "w") as file:
            file.write(f"daemon off; worker_processes 1; pid {self.folder}/pid; error_log stderr crit; user {self.bench.user_name};"
                       "events { worker_connections 2048; } http { access_log off; keepalive_requests 1000000000; server {"
                       f"listen 127.0.0.1:{self.port}; listen 127.0.0.1:{self.tls_port} ssl;"
                       f"ssl_certificate {self.bench.certificate}; ssl_certificate_key {self.bench.certificate_key};"
                       "location / { return 204; } } }")
        return ["nginx", "-e", os.path.join(self.folder, "start.log"), "-p", self.folder, "-c", config]


class Service(servers.Latchkey):
    name, data = "webhooks", "writes"
    settings = '[webhooks]\nallow_private = ["127.0.0.0/8"]\n'

    def __init__(self, bench):
        super().__init__(bench)
        self.management = machine.free_port()
        self.more = (*self.more, "--management", f"127.0.0.1:{self.management}")

    def command(self, work):
        return ["env", f"SSL_CERT_FILE={self.bench.certificate}", *super().command(work)]

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(method, "/api/v1/webhooks" + path, json.dumps(body) if body else None,
                           {"X-API-Key": self.bench.keys[0], "Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text}")
        return json.loads(text) if text else None

    def delivered(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.management, timeout=20)
        connection.request("GET", "/metrics")
        for line in connection.getresponse().read().decode().splitlines():
            if line.startswith('latchkey_webhook_deliveries_total{outcome="delivered"}'):
                return int(line.split()[-1])
        raise RuntimeError("webhooks are not delivered: is latchkey-deliver built?")


def deliver(bench, service, receiver, count, ordered):
    """Deliveries per second."""
    hooks = [service.ask("POST", "", {"url": f"https://127.0.0.1:{receiver.tls_port}/{i}", "types": ["user.created"],
                                      "ordered": ordered, "description": "bench"})["id"] for i in range(count)]
    for each in hooks:
        service.ask("PATCH", f"/{each}", {"enabled": False})
    seen = load.run("changes", load.command(bench, service.url(False), "1", bench.given.seconds, ["--connections", "64",
                                                                                                 "--request", make_user]),
                    bench.given.seconds)
    changes, before = seen["answers"], service.delivered()  # at least so many: the warm-up makes some too
    for each in hooks:
        service.ask("POST", f"/{each}/enable")
    began = time.monotonic()
    while service.delivered() - before < changes * count:
        if time.monotonic() > began + 300:
            raise RuntimeError(f"{service.delivered() - before} of {changes * count} were delivered within 300 s")
        time.sleep(0.01)
    took = time.monotonic() - began
    for each in hooks:
        service.ask("DELETE", f"/{each}")
    return changes * count / took


def measure(bench, work, note):
    receiver, service = Receiver(bench), Service(bench)
    lines = [f"### {work.title}", ""]
    try:
        receiver.start(types.SimpleNamespace(server_cores="1", tls=True))
        service.start(work)
        for title, count, ordered in cases:
            note(f"webhooks: {title}")
            rate = deliver(bench, service, receiver, count, ordered)
            lines.append(f"- {title}: **{rate:,.0f}/s**" if ordered else report.promise(title, rate, "/s", 2000, most=False))
    finally:
        service.stop()
        receiver.stop()
    return lines + [""]
