"""What is asked of the machine: processor time of processes, quiet moments, ports, memory."""
import glob
import os
import socket
import subprocess
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, process, patience=30):
    until = time.time() + patience
    while time.time() < until:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args[0]} ended with {process.returncode} before it listened")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError(f"{process.args[0]} does not listen")


def family(pid):
    """A process and those it started."""
    found = [pid]
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        with open(path) as file:
            for child in file.read().split():
                found += family(int(child))
    return found


def cpu_seconds(pid):
    """Processor time of a process, its threads and its children, to the nanosecond."""
    total = 0
    for each in family(pid):
        for path in glob.glob(f"/proc/{each}/task/*/schedstat"):
            try:
                with open(path) as file:
                    total += int(file.read().split()[0])
            except OSError:
                pass
    return total / 1e9


def pin(pid, cores):
    """Moves a process, its threads and its children to these cores, and what they start later."""
    for each in family(pid):
        for path in glob.glob(f"/proc/{each}/task/*"):
            try:
                os.sched_setaffinity(int(os.path.basename(path)), cores)
            except OSError:
                pass


def resident_bytes(pid):
    total = 0
    for each in family(pid):
        with open(f"/proc/{each}/status") as file:
            total += sum(int(line.split()[1]) * 1024 for line in file if line.startswith("RssAnon:"))
    return total


def busy_share(seconds=0.4):
    """Which share of all cores was busy for that long."""
    def read():
        with open("/proc/stat") as file:
            numbers = [int(x) for x in file.readline().split()[1:]]
        return sum(numbers), numbers[3] + numbers[4]
    all_before, idle_before = read()
    time.sleep(seconds)
    all_after, idle_after = read()
    return 1 - (idle_after - idle_before) / max(1, all_after - all_before)


def wait_until_quiet(limit=0.06, patience=120):
    """True once the machine is idle; False when it did not become so."""
    until = time.time() + patience
    while time.time() < until:
        if busy_share() <= limit:
            return True
        time.sleep(1)
    return False


def describe():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
                 os.uname().machine)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores of {model}, {memory:.0f} GiB, Linux {os.uname().release}"


def run(command, **more):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **more).stdout
