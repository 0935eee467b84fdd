"""A PostgreSQL for the nodes of a cluster: Debian's, with its default settings, a data directory on the disk of the stores,
and a Unix socket."""
import glob
import os
import shutil
import subprocess
import time

from comparison import machine


class Postgresql:
    def __init__(self, folder):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
        if not found:
            raise RuntimeError("PostgreSQL is not installed")
        self.programs, self.folder, self.process = os.path.dirname(found[-1]), folder, None
        # It refuses to be root.
        self.user = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}

    def start(self):
        os.makedirs(self.folder)
        os.chmod(self.folder, 0o755)
        if self.user:
            shutil.chown(self.folder, self.user["user"], self.user["group"])
        data = os.path.join(self.folder, "data")
        self.run("initdb", "-D", data, "-U", "owner", "-A", "trust", "-E", "UTF8", "--no-locale")
        with open(os.path.join(self.folder, "log"), "w") as log:
            self.process = subprocess.Popen([os.path.join(self.programs, "postgres"), "-D", data, "-k", self.folder, "-c",
                                             "listen_addresses="], stdout=log, stderr=log, cwd=self.folder, **self.user)
        until = time.time() + 30
        while time.time() < until:
            if os.path.exists(os.path.join(self.folder, ".s.PGSQL.5432")) and self.ask("postgres", "SELECT 1", check=False):
                return
            time.sleep(0.05)
        raise RuntimeError("PostgreSQL does not start")

    def run(self, program, *arguments, check=True):
        done = subprocess.run([os.path.join(self.programs, program), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, cwd=self.folder, **self.user)
        if check and done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stderr}")
        return done.stdout

    def ask(self, database, sql, check=True):
        return self.run("psql", "-h", self.folder, "-U", "owner", "-d", database, "-qAtX", "-v", "ON_ERROR_STOP=1", "-c", sql,
                        check=check).strip()

    def address(self, database):
        return f"host={self.folder} user=owner dbname={database}"

    def cpu_seconds(self):
        return machine.cpu_seconds(self.process.pid)

    def stop(self):
        if self.process:
            self.process.send_signal(2)
            self.process.wait(60)
            self.process = None
