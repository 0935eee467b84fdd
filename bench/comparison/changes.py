"""Changes: the feed by pages, and a thousand streams beside a load. The service is on core 0, what asks on core 1."""
import http.client
import re
import select
import socket
import subprocess
import time

from comparison import load, machine, report, servers
from comparison.works import make_user, one_user

feed_changes = 1_000_000
streams = 1000


class Service(servers.WriteStore):
    name, settings = "changes", "connections = 4000\n[changes]\nstreams = 4000\n"

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)

    def page(self, connection, position, limit=1000):
        """The body of one page of the feed."""
        connection.request("GET", f"/api/v1/changes?after={position}&limit={limit}", headers={"X-API-Key": self.bench.keys[0]})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"GET /changes: {answer.status} {text}")
        return text

    def last_change(self):
        return int(re.search(rb'"next_after":(\d+)', self.page(self.connect(), "latest"))[1])

    def make_changes(self, count):
        """Users, until there are so many changes."""
        while (missing := count - self.last_change()) > 0:
            seconds = 4 if missing > 50_000 else 1
            load.run("changes", load.command(self.bench, self.url(False), "1", seconds, ["--connections", "256", "--request",
                                                                                        make_user]), seconds)


def measure_feed(bench, work, note):
    """Changes per second by pages of 1,000, one after the other over one connection."""
    service = Service(bench)
    try:
        service.start(work)
        note(f"feed: {feed_changes:,} changes")
        service.make_changes(feed_changes)
        rates = []
        for number in range(bench.given.rounds):
            note(f"feed: round {number + 1} of {bench.given.rounds}")
            connection, position, count = service.connect(), 0, 0
            began = time.monotonic()
            while count < feed_changes:
                body = service.page(connection, position)
                following = int(re.search(rb'"next_after":(\d+)', body[-200:])[1])
                count, position = count + following - position, following
            rates.append(count / (time.monotonic() - began))
    finally:
        service.stop()
    return [f"### {work.title}", "", report.promise("pages of 1,000", report.median(rates), " changes/s", 300_000, most=False), ""]


class Reader:
    """One stream; counts what it gets and sees each gap."""

    def __init__(self, service):
        self.socket = socket.create_connection(("127.0.0.1", service.port))
        self.socket.sendall((f"GET /api/v1/changes?after=latest HTTP/1.1\r\nHost: bench\r\nX-API-Key: {service.bench.keys[0]}\r\n"
                             "Accept: text/event-stream\r\n\r\n").encode())
        self.rest, self.last, self.count, self.missed, self.bytes = b"", None, 0, 0, 0

    def read(self):
        received = self.socket.recv(1 << 20)
        if not received:
            raise RuntimeError("a stream has ended")
        self.bytes += len(received)
        text = self.rest + received
        complete = text.rfind(b"\n\n") + 2
        self.rest = text[complete:] if complete > 1 else text
        for number in re.findall(rb"^id: ?(\d+)\r?$", text[:complete], re.M):
            sequence = int(number)
            if self.last is not None and sequence != self.last + 1:
                self.missed += 1
            self.last, self.count = sequence, self.count + 1


def read_all(readers, seconds, until=None):
    """Reads what comes, for so long or until `until()` holds."""
    poll = select.epoll()
    by_number = {reader.socket.fileno(): reader for reader in readers}
    for number in by_number:
        poll.register(number, select.EPOLLIN)
    end = time.monotonic() + seconds
    while time.monotonic() < end and not (until and until()):
        for number, _ in poll.poll(0.05):
            by_number[number].read()
    poll.close()


def cpu_of_get(bench, service):
    """Processor time of one GET, in µs, and the resident bytes then."""
    before = machine.cpu_seconds(service.process.pid)
    seen = load.run("GET", load.command(bench, service.url(False), "1", bench.given.seconds, ["--request", one_user]),
                    bench.given.seconds)
    after = machine.cpu_seconds(service.process.pid)
    return (after - before) * 1e6 / load.answered(seen, bench.given.seconds), machine.resident_bytes(service.process.pid)


def idle_connections(service):
    """Each has had one answer, as a client's that keeps its connection."""
    request = f"GET /api/v1/users/1 HTTP/1.1\r\nHost: bench\r\nX-API-Key: {service.bench.keys[0]}\r\n\r\n".encode()
    sockets = []
    for _ in range(streams):
        each = socket.create_connection(("127.0.0.1", service.port))
        each.sendall(request)
        each.recv(4096)
        sockets.append(each)
    return sockets


def open_streams(service):
    readers = [Reader(service) for _ in range(streams)]
    read_all(readers, 20, lambda: all(reader.bytes > 0 for reader in readers))
    return readers


def round_of_streams(bench, service, figures, number):
    for kind in ("idle", "streams") if number % 2 == 0 else ("streams", "idle"):
        held = idle_connections(service) if kind == "idle" else open_streams(service)
        cpu, resident = cpu_of_get(bench, service)
        figures[kind].append((cpu, resident))
        for each in held:
            (each if kind == "idle" else each.socket).close()
        time.sleep(0.5)


def complete_streams(bench, service):
    """Streams beside creates: how many changes each got, and how many gaps all saw."""
    readers, start = open_streams(service), service.last_change()
    command = load.command(bench, service.url(False), "1", 10, ["--rate", "1000", "--connections", "4", "--request", make_user,
                                                               "--request", "19*" + one_user])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as creates:
        read_all(readers, 12)
        load.parse("creates", creates.communicate()[0])
    last = service.last_change()
    read_all(readers, 20, lambda: all(reader.last == last for reader in readers))
    for reader in readers:
        reader.socket.close()
    short = sum(reader.count != last - start for reader in readers)
    return last - start, sum(reader.missed for reader in readers) + short


def measure_streams(bench, work, note):
    figures = {"idle": [], "streams": []}
    service = Service(bench)
    try:
        service.start(work)
        cpu_of_get(bench, service)
        for number in range(bench.given.rounds):
            if not machine.wait_until_quiet() and not bench.given.busy:
                raise RuntimeError("the machine is not idle; end what runs beside, or say --busy")
            note(f"streams: round {number + 1} of {bench.given.rounds}")
            round_of_streams(bench, service, figures, number)
        note("streams: beside creates")
        changes, missed = complete_streams(bench, service)
    finally:
        service.stop()
    ratio = [report.median(each[part] for each in figures["streams"]) / report.median(each[part] for each in figures["idle"])
             for part in (0, 1)]
    return [f"### {work.title}", "",
            report.promise("CPU of a GET against that beside as many idle connections", ratio[0], "", 1.05, most=True),
            report.promise("resident memory against that with as many idle connections", ratio[1], "", 1.2, most=True),
            report.promise(f"sequences of {changes:,} changes that one of {streams:,} streams missed", missed, "", 0, most=True), ""]
