"""Runs a command under a container's seccomp profile, as an engine would that gives it no capability:
    under_profile.py PROFILE.json COMMAND [ARGUMENT...]
Of the profile it takes what is always allowed; entries for capabilities, other kernels and architectures are left out."""
import json
import os
import sys

import seccomp

profile = json.load(open(sys.argv[1]))
assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
allowed = seccomp.SyscallFilter(seccomp.ERRNO(profile["defaultErrnoRet"]))
comparisons = {"SCMP_CMP_EQ": seccomp.EQ, "SCMP_CMP_NE": seccomp.NE, "SCMP_CMP_MASKED_EQ": seccomp.MASKED_EQ}
for entry in profile["syscalls"]:
    if entry["action"] != "SCMP_ACT_ALLOW" or entry.get("includes"):
        continue
    for name in entry["names"]:
        arguments = [seccomp.Arg(each["index"], comparisons[each["op"]], each["value"], each.get("valueTwo", 0)) if each["op"] == "SCMP_CMP_MASKED_EQ"
                     else seccomp.Arg(each["index"], comparisons[each["op"]], each["value"]) for each in entry.get("args") or []]
        try:
            allowed.add_rule(seccomp.ALLOW, name, *arguments)
        except (RuntimeError, OSError):
            pass  # not a call of this architecture
allowed.load()
os.execv(sys.argv[2], sys.argv[2:])
