"""A GET with a JWT against one with a key. The service is on core 0, the load on core 1.
Tokens are signed by OpenSSL, RS256 with 2,048 bits, and have about the size of those of identity providers. Beside a flood of
wrong ones: bench/limits."""
import base64
import json
import os
import subprocess
import time

from comparison import load, machine, report, servers
from comparison.stores import limits
from comparison.works import one_user

issuer, subject = "https://id.example.com/realms/bench", "bench-job"


def encode(content):
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


class Issuer:
    def __init__(self, folder):
        self.key, self.file = os.path.join(folder, "issuer.pem"), os.path.join(folder, "jwks.json")
        machine.run(["openssl", "genpkey", "-quiet", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self.key])
        shown = subprocess.run(["openssl", "rsa", "-in", self.key, "-noout", "-modulus"], stdout=subprocess.PIPE, text=True, check=True)
        modulus = encode(bytes.fromhex(shown.stdout.strip().removeprefix("Modulus=")))
        with open(os.open(self.file, os.O_CREAT | os.O_WRONLY, 0o644), "w") as file:
            json.dump({"keys": [{"kty": "RSA", "kid": "bench-1", "alg": "RS256", "n": modulus, "e": "AQAB"}]}, file)

    def sign(self, **claims):
        now = int(time.time())
        payload = {"exp": now + 86400, "iat": now, "jti": "a7c5ad2b-6c0e-4c1c-9a3e-4f3a3ce1c0de", "iss": issuer, "aud": "bench",
                   "sub": subject, "typ": "Bearer", "azp": subject, "acr": "1", "scope": "users:read posts:read", **claims}
        text = ".".join(encode(json.dumps(part).encode()) for part in ({"alg": "RS256", "typ": "JWT", "kid": "bench-1"}, payload))
        signed = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], input=text.encode(), stdout=subprocess.PIPE, check=True)
        return f"{text}.{encode(signed.stdout)}"


class TokenService(servers.SmallStore):
    """It accepts JWTs and has a record for them, with limits as the keys have."""
    name = "tokens"

    def __init__(self, bench, issuer_of_tokens):
        self.settings = f'[[jwt]]\nissuer = "{issuer}"\naudience = "bench"\njwks = "{issuer_of_tokens.file}"\n'
        super().__init__(bench)

    def make_record(self):
        listed = subprocess.run([self.bench.latchkey, "keys", "list", "--data", self.bench.store(self.data), "--json"],
                                stdout=subprocess.PIPE, text=True, check=True)
        if any(each["subject"] == subject for each in json.loads(listed.stdout)["data"]):
            return
        words = [word for each in limits for word in ("--limit", f"{each['name']}={each['limit']}/{each['window_seconds']}")]
        machine.run([self.bench.latchkey, "keys", "create", "--data", self.bench.store(self.data), "--name", "bench", "--jwt-issuer",
                     issuer, "--jwt-subject", subject, "--scope", "*", *words], stderr=subprocess.DEVNULL)


def command(bench, service, credential, more=()):
    return [bench.load, "--json", "--url", service.url(False), "--header", f"Authorization: Bearer {credential}", "--cores", "1",
            "--seconds", str(bench.given.seconds), "--warmup", "0.5", "--request", one_user, *more]


def cpu_of_get(bench, service, credential, more=()):
    before = machine.cpu_seconds(service.process.pid)
    seen = load.run("GET", command(bench, service, credential, more), bench.given.seconds)
    return (machine.cpu_seconds(service.process.pid) - before) * 1e6 / load.answered(seen, bench.given.seconds)


def measure(bench, work, note):
    issuer_of_tokens = Issuer(bench.folder)
    service = TokenService(bench, issuer_of_tokens)
    credentials = {"key": bench.keys[0], "token": issuer_of_tokens.sign()}
    ways = {"64 connections": (), "64 connections, pipelined 16 deep": ("--pipeline", "16"), "one connection": ("--connections", "1")}
    figures = {(way, kind): [] for way in ways for kind in credentials}
    try:
        service.start(work)
        service.make_record()
        for number in range(bench.given.rounds):
            for way, more in ways.items():
                for kind in credentials if number % 2 == 0 else reversed(credentials):
                    if not machine.wait_until_quiet() and not bench.given.busy:
                        raise RuntimeError("the machine is not idle; end what runs beside, or say --busy")
                    note(f"tokens: round {number + 1} of {bench.given.rounds}, {way}, {kind}")
                    figures[way, kind].append(cpu_of_get(bench, service, credentials[kind], more))
    finally:
        service.stop()
    lines = [f"### {work.title}", "", f"The token has {len(credentials['token'])} bytes.", ""]
    for way in ways:
        key, token = (report.median(figures[way, kind]) for kind in ("key", "token"))
        lines.append(report.promise(f"{way}: CPU with a token ({token:.3f} µs) against a key ({key:.3f} µs)", token / key, "", 1.10,
                                    most=True))
    return lines + [""]
