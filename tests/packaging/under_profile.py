"""Runs a command under a container's seccomp profile, like a container engine that grants no capability:
    under_profile.py PROFILE.json COMMAND [ARGUMENT...]
Entries for capabilities and for other architectures are left out."""
import json
import os
import platform
import sys

import seccomp

profile = json.load(open(sys.argv[1]))
assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
seccomp_filter = seccomp.SyscallFilter(seccomp.ERRNO(profile["defaultErrnoRet"]))
machine = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
comparisons = {"SCMP_CMP_EQ": seccomp.EQ, "SCMP_CMP_NE": seccomp.NE, "SCMP_CMP_MASKED_EQ": seccomp.MASKED_EQ}
for entry in profile["syscalls"]:
    includes = entry.get("includes") or {}
    if entry["action"] != "SCMP_ACT_ALLOW" or "caps" in includes or machine not in includes.get("arches", [machine]):
        continue
    for name in entry["names"]:
        arguments = [seccomp.Arg(each["index"], comparisons[each["op"]], each["value"], each.get("valueTwo", 0)) if each["op"] == "SCMP_CMP_MASKED_EQ"
                     else seccomp.Arg(each["index"], comparisons[each["op"]], each["value"]) for each in entry.get("args") or []]
        try:
            seccomp_filter.add_rule(seccomp.ALLOW, name, *arguments)
        except (RuntimeError, OSError):
            pass  # not a call of this architecture
seccomp_filter.load()
os.execv(sys.argv[2], sys.argv[2:])
