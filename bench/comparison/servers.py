"""The servers that are compared: how each is prepared and started. All of them answer on a plain port, some on a TLS
port too, with one worker on core 0 unless the work says otherwise."""
import os
import subprocess

from comparison import machine

here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Server:
    name = "?"

    def __init__(self, bench):
        self.bench = bench
        self.folder = os.path.join(bench.folder, self.name)
        os.makedirs(self.folder, exist_ok=True)
        self.port, self.tls_port = machine.free_port(), machine.free_port()
        self.process = None

    def command(self, work):
        raise NotImplementedError

    def start(self, work):
        command = (["taskset", "-c", work.server_cores] if work.server_cores else []) + self.command(work)
        with open(os.path.join(self.folder, "errors"), "w") as errors:
            self.process = subprocess.Popen(command, stdout=errors, stderr=errors)
        try:
            machine.wait_for(self.port, self.process)
        except RuntimeError as wrong:
            with open(os.path.join(self.folder, "errors")) as errors:
                raise RuntimeError(f"{self.name}: {wrong}\n{errors.read()}") from None
        if work.tls:
            machine.wait_for(self.tls_port, self.process)

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(60)
            self.process = None

    def url(self, tls):
        return f"https://127.0.0.1:{self.tls_port}" if tls else f"http://127.0.0.1:{self.port}"

    def fill(self, template):
        with open(os.path.join(here, "peers", template)) as file:
            text = file.read()
        for name, value in {"FOLDER": self.folder, "PORT": self.port, "TLS_PORT": self.tls_port,
                            "CERTIFICATE": self.bench.certificate, "KEY": self.bench.certificate_key,
                            "ACCESS_LOG": self.access_log, "LOG": self.log_line, "USER": self.bench.user_name}.items():
            text = text.replace(f"@{name}@", str(value))
        path = os.path.join(self.folder, template)
        with open(path, "w") as file:
            file.write(text)
        return path

    access_log = log_line = ""

    def write_user(self):
        os.makedirs(os.path.join(self.folder, "www"), exist_ok=True)
        with open(os.path.join(self.folder, "www", "user.json"), "w") as file:
            file.write(self.bench.user)

    def write_keys(self, name, line):
        with open(os.path.join(self.folder, name), "w") as file:
            file.writelines(line.format(key=key, n=n) for n, key in enumerate(self.bench.keys))


class Limit(Server):
    name = "limit"

    def command(self, work):
        return [os.path.join(self.bench.build, "bench/limit/limit"), str(self.port), str(len(self.bench.user))]


class Latchkey(Server):
    name = "latchkey"
    data = "data"  # which store of the bench
    more = ()  # further arguments
    settings = ""  # of its configuration file; empty: it has none
    workers = None  # None: as many as the work says

    def __init__(self, bench):
        super().__init__(bench)
        if self.settings:
            path = os.path.join(self.folder, "latchkey.toml")
            with open(path, "w") as file:
                file.write(self.settings)
            self.more = ("--config", path)

    def start(self, work):
        # As after a start of the machine: what was cached in small pages would stay in them.
        with open(os.path.join(self.bench.store(self.data), "store.mdb"), "rb") as store:
            os.posix_fadvise(store.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        super().start(work)

    def command(self, work):
        log = os.path.join(self.folder, "access.log") if work.log else "off"
        return [self.bench.latchkey, "serve", "--data", self.bench.store(self.data),
                "--workers", str(self.workers or work.workers),
                "--listen", f"http://127.0.0.1:{self.port}", "--listen", f"https://127.0.0.1:{self.tls_port}",
                "--tls-certificate", self.bench.certificate, "--tls-key", self.bench.certificate_key,
                "--access-log", log, *self.more] + self.bench.latchkey_options


class UnloggedLatchkey(Latchkey):
    """It writes no access log. Of options that come twice the last one counts."""
    name, data, more = "latchkey, no log", "unlogged", ("--access-log", "off")


class MillionKeys(Latchkey):
    name, data = "1,000,000 keys", "million_keys"


class TenMillionKeys(Latchkey):
    name, data = "10,000,000 keys", "ten_million_keys"


class SmallStore(Latchkey):
    name, data = "10,000 users", "small"


class OneWorker(SmallStore):
    name, workers = "one worker", 1


class LargeStore(Latchkey):
    name, data = "10,000,000 users", "large"


class WriteStore(Latchkey):
    name, data = "latchkey, writing", "writes"


class SilentStore(Latchkey):
    """It records no changes."""
    name, data, settings = "latchkey, no changes", "silent", "changes = false\n"


class Nginx(Server):
    name = "nginx"

    def command(self, work):
        self.write_user()
        os.chmod(self.folder, 0o755)
        self.write_keys("keys.nginx", '"{key}" "client{n}";\n')
        self.access_log = os.path.join(self.folder, "access.log") + " json buffer=64k flush=1s" if work.log else "off"
        return ["nginx", "-e", os.path.join(self.folder, "start.log"), "-p", self.folder, "-c", self.fill("nginx.conf"),
                "-g", f"daemon off; user {self.bench.user_name};"]


class Haproxy(Server):
    name = "haproxy"

    def command(self, work):
        self.write_user()
        self.write_keys("keys.haproxy", "{key} client{n}\n")
        with open(os.path.join(self.folder, "server.pem"), "w") as both:
            for part in (self.bench.certificate, self.bench.certificate_key):
                with open(part) as file:
                    both.write(file.read())
        # Its log goes to standard output, which is a file here: haproxy itself writes no files.
        self.log_line = "log stdout format raw local0" if work.log else ""
        return ["haproxy", "-f", self.fill("haproxy.cfg")]


class Go(Server):
    name = "Go net/http"

    def command(self, work):
        self.write_keys("keys", "{key}\n")
        program = os.path.join(self.folder, "server")
        if not os.path.exists(program):
            machine.run(["go", "build", "-o", program, os.path.join(here, "peers", "server.go")],
                        env={**os.environ, "GOCACHE": os.path.join(self.folder, "cache"), "GO111MODULE": "off"})
        log = os.path.join(self.folder, "access.log") if work.log else "off"
        return ["env", "GOMAXPROCS=1", program, str(self.port), os.path.join(self.folder, "keys"), "100000", log,
                str(self.tls_port), self.bench.certificate, self.bench.certificate_key]


class H2o(Server):
    name = "h2o (a file only)"
    logs = False

    def command(self, work):
        self.write_user()
        self.log_line = "access-log: " + os.path.join(self.folder, "access.log") if self.logs and work.log else ""
        return ["h2o", "-c", self.fill("h2o.conf")]


class LoggingH2o(H2o):
    logs = True
