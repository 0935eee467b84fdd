#!/usr/bin/env python3
"""Prints the components of programs of a build folder as CycloneDX 1.5 JSON: what was compiled into them or linked, by the
files that ninja and the linker read and the packages that these are of, according to dpkg. The same build gives the same text.

  sbom.py --build build/packaged --boringssl build/boringssl --name latchkey --version 1.2.3 --time 1700000000 src/latchkey…
"""
import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import uuid

# What is embedded as data by a tool, whose inputs ninja does not see: the console's charts, bundled into its script.
embedded = {"src/latchkey": ["/usr/share/nodejs/chart.js/package.json"]}
# Names in Debian's copyright files for licences of the SPDX list.
spdx = {"expat": "MIT", "mit": "MIT", "bsl-1.0": "BSL-1.0", "zlib": "Zlib", "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause",
        "apache-2.0": "Apache-2.0", "curl": "curl", "isc": "ISC", "openssl": "OpenSSL", "lgpl-2.1+": "LGPL-2.1-or-later",
        "lgpl-2.1": "LGPL-2.1-only", "gpl-2": "GPL-2.0-only", "gpl-2+": "GPL-2.0-or-later"}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def ninja(build, *words):
    return subprocess.run(["ninja", *words], cwd=build, check=True, capture_output=True, text=True).stdout.splitlines()


def read_dependencies(build):
    """{object: [files that its compiler read]}, absolute."""
    files, current = {}, None
    for line in ninja(build, "-t", "deps"):
        if not line:
            current = None
        elif not line.startswith(" "):
            current = files.setdefault(line.split(":")[0], [])
        elif current is not None:
            current.append(os.path.normpath(os.path.join(build, line.strip())))
    return files


def compiler_archives():
    """What the compiler links by itself where it is told to link its libraries statically."""
    names = ["libstdc++.a", "libgcc.a", "libgcc_eh.a", "crtbeginS.o"]
    return [os.path.realpath(output("clang++-19", f"-print-file-name={name}").strip()) for name in names]


def needed(program):
    return re.findall(r"NEEDED +(\S+)", output("objdump", "-p", program))


def shared_file(name):
    for line in output("/sbin/ldconfig", "-p").splitlines():
        match = re.match(rf"\s*{re.escape(name)} .*=> (\S+)", line)
        if match:
            return os.path.realpath(match[1])
    sys.exit(f"sbom: the library {name} is not installed")


def packages_of(files):
    """The packages that have these files, by dpkg's lists, which take a second to read where `dpkg -S` takes minutes. A file
    below a merged /usr may be registered without it."""
    wanted = {alias for name in files for alias in (name, name.removeprefix("/usr"))}
    found, folder = set(), "/var/lib/dpkg/info"
    for name in os.listdir(folder):
        if name.endswith(".list"):
            with open(os.path.join(folder, name), encoding="utf-8", errors="surrogateescape") as file:
                if not wanted.isdisjoint(file.read().splitlines()):
                    found.add(name.removesuffix(".list").split(":")[0])
    return found


def licences(package):
    """The names in the package's copyright file, where that is machine-readable."""
    try:
        with open(f"/usr/share/doc/{package}/copyright", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except FileNotFoundError:
        return []
    main = re.search(r"^Files: *\*\s*$.*?^License: *(\S[^\n]*)$", text, re.M | re.S)
    if not text.startswith("Format:") or not main:
        return []
    name = main[1].strip()
    return [{"license": {"id": spdx[name.lower()]} if name.lower() in spdx else {"name": name}}]


def component(package, kind):
    fields = "${Version}\t${source:Package}\t${source:Version}\t${Architecture}\t${Homepage}"
    version, source, source_version, architecture, homepage = output("dpkg-query", "-W", "-f", fields + "\n", package).splitlines()[0].split("\t")
    purl = f"pkg:deb/debian/{package}@{version}?arch={architecture}"
    made = {"type": "library", "bom-ref": purl, "name": package, "version": version, "purl": purl,
            "properties": [{"name": "latchkey:linked", "value": kind}, {"name": "latchkey:source", "value": f"{source} {source_version}"}]}
    if names := licences(package):
        made["licenses"] = names
    if homepage:
        made["externalReferences"] = [{"type": "website", "url": homepage}]
    return made


def boringssl(folder):
    with open(os.path.join(folder, "version")) as file:
        version = file.read().strip()
    purl = f"pkg:deb/debian/android-platform-external-boringssl@{version}?arch=source"
    return {"type": "library", "bom-ref": purl, "name": "boringssl", "version": version, "purl": purl,
            "licenses": [{"license": {"name": "OpenSSL and ISC"}}],
            "properties": [{"name": "latchkey:linked", "value": "static"},
                           {"name": "latchkey:source", "value": f"android-platform-external-boringssl {version}"}]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("build", "boringssl", "name", "version", "time"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("targets", nargs="+")
    given = parser.parse_args()
    build, own = os.path.realpath(given.build), os.path.realpath(given.boringssl) + os.sep

    read = read_dependencies(build)
    static, shared, uses_boringssl = set(compiler_archives()), set(), False
    for target in given.targets:
        inputs = [os.path.normpath(os.path.join(build, name)) for name in ninja(build, "-t", "inputs", target)]
        for name in inputs:
            headers = read.get(os.path.relpath(name, build), []) if name.endswith(".o") else []
            compiled = [name, *(os.path.normpath(os.path.join(build, each)) for each in headers)]
            uses_boringssl = uses_boringssl or any(each.startswith(own) for each in compiled)
            # Programs of the build, such as esbuild, are inputs too, and no part of what is built.
            static.update(each for each in compiled if each.startswith(("/usr/include/", "/usr/lib/", "/usr/share/")) and ".so" not in each)
        static.update(embedded.get(target, []))
        shared.update(shared_file(name) for name in needed(os.path.join(build, target)))

    dynamic = packages_of(shared)
    components = [component(package, "static") for package in sorted(packages_of(static) - dynamic)]
    components += [component(package, "dynamic") for package in sorted(dynamic)]
    if uses_boringssl:
        components.append(boringssl(given.boringssl))
    itself = {"type": "application", "bom-ref": given.name, "name": given.name, "version": given.version,
              "licenses": [{"license": {"id": "Apache-2.0"}}]}
    body = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {"timestamp": datetime.datetime.fromtimestamp(int(given.time), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "component": itself},
            "components": components,
            "dependencies": [{"ref": given.name, "dependsOn": [each["bom-ref"] for each in components]}]}
    body["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(body, sort_keys=True))}"
    print(json.dumps(body, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
