"""Runs the load generator against a server."""
import json
import subprocess


def command(bench, url, cores, seconds, more, keys="one"):
    return [bench.load, "--json", "--url", url, "--keys", bench.keys_file(keys), "--cores", cores, "--seconds", str(seconds),
            "--warmup", "0.5", *more]


def parse(label, output):
    """What it has printed; every answer was right."""
    if not output:
        raise RuntimeError("the load did not run")
    seen = json.loads(output)
    if seen["wrong"] or seen["broken"] or seen["goaways"] or not seen["answers"]:
        raise RuntimeError(f"{label}: {seen['wrong']} wrong answers, {seen['broken']} broken, {seen['goaways']} GOAWAY: "
                           f"{seen['first_wrong']}")
    return seen


def run(label, words, seconds):
    return parse(label, subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=seconds + 60).stdout)


def answered(seen, seconds):
    """All answers, also those of the warm-up, over which a server's processor time is spread."""
    return seen["answers"] * (seconds + 0.5) / seconds
