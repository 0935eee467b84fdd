// TLS scanners, sslscan and nmap's ssl-enum-ciphers: nothing below TLS 1.2, forward secrecy and authenticated encryption
// only, no known weakness.

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { run, startServer, temporaryFolder } from '../helpers/harness.mjs';

const folder = temporaryFolder();
const rsa = { certificate: path.join(folder, 'rsa.pem'), key: path.join(folder, 'rsa.key') };
await run('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '30', '-subj', '/CN=rsa', '-addext', 'subjectAltName=IP:127.0.0.1',
  '-keyout', rsa.key, '-out', rsa.certificate]);

const servers = {
  'the certificate that is made': await startServer(),
  'an RSA certificate': await startServer({ args: ['--tls-certificate', rsa.certificate, '--tls-key', rsa.key] }),
};
after(() => Promise.all(Object.values(servers).map((each) => each.stop())));

// The attributes of every element of that name.
function elements(xml, name) {
  return [...xml.matchAll(new RegExp(`<${name}\\b([^>]*?)/?>`, 'g'))]
    .map(([, text]) => Object.fromEntries([...text.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, key, value]) => [key, value])));
}

// ECDHE with AES-GCM or ChaCha20-Poly1305; all suites of TLS 1.3 are.
const sane = /^(ECDHE-(ECDSA|RSA)-(AES(128|256)-GCM-SHA(256|384)|CHACHA20-POLY1305)|TLS_(AES_128_GCM_SHA256|AES_256_GCM_SHA384|CHACHA20_POLY1305_SHA256))$/;
const saneOfNmap = /^TLS_(ECDHE_(ECDSA|RSA)_WITH|AKE_WITH)_(AES_(128|256)_GCM|CHACHA20_POLY1305)_SHA(256|384)(-draft)?$/;

for (const [label, server] of Object.entries(servers)) {
  const { host, port } = server.at('https');
  describe(`sslscan, ${label}`, async () => {
    const xml = (await run('sslscan', ['--xml=-', '--show-certificate', `${host}:${port}`], { maxBuffer: 8 << 20 })).stdout;

    test('no version below TLS 1.2 is spoken', () => {
      const enabledProtocols = elements(xml, 'protocol').filter(({ enabled }) => enabled === '1').map(({ type, version }) => `${type} ${version}`);
      assert.deepEqual(enabledProtocols.sort(), ['tls 1.2', 'tls 1.3'], `versions that are on: ${enabledProtocols}`);
    });

    test('every cipher has forward secrecy and authenticates', () => {
      const ciphers = elements(xml, 'cipher');
      assert.ok(ciphers.length >= 4, `sslscan saw ${ciphers.length} ciphers`);
      for (const { cipher, sslversion, strength } of ciphers) {
        assert.match(cipher, sane, `${cipher} in ${sslversion} should not be offered`);
        assert.ok(['strong', 'acceptable'].includes(strength), `sslscan calls ${cipher} ${strength}`);
      }
    });

    test('no renegotiation, no compression, no Heartbleed', () => {
      const [renegotiation] = elements(xml, 'renegotiation');
      assert.ok(renegotiation, 'sslscan looked at renegotiation');
      assert.equal(renegotiation.supported, '0', 'renegotiation');
      // Only if its OpenSSL supports compression; nmap checks it below in any case.
      for (const { supported } of elements(xml, 'compression')) assert.equal(supported, '0', 'TLS compression (CRIME)');
      const heartbleed = elements(xml, 'heartbleed');
      assert.equal(heartbleed.length, 2, 'sslscan tried Heartbleed');
      for (const { sslversion, vulnerable } of heartbleed) assert.equal(vulnerable, '0', `Heartbleed in ${sslversion}`);
    });

    test('only curves of 128 bits and more', () => {
      const groups = elements(xml, 'group').map(({ name }) => name.split(' ')[0]);
      assert.ok(groups.length > 0, 'sslscan saw no curve');
      for (const name of groups) assert.match(name, /^(x25519|secp256r1|secp384r1|secp521r1)$/, `${name} should not be offered`);
    });
  });

  test(`nmap, ${label}: the same by another program`, async () => {
    const { stdout } = await run('nmap', ['-n', '-Pn', '--script', 'ssl-enum-ciphers,ssl-heartbleed,ssl-poodle,ssl-dh-params,sslv2', '-p', String(port), host]);
    const versions = [...stdout.matchAll(/^\| +(SSLv[23]|TLSv1\.[0-9]):/gm)].map(([, version]) => version);
    assert.deepEqual(versions, ['TLSv1.2', 'TLSv1.3'], `versions that nmap saw:\n${stdout}`);
    const ciphers = [...stdout.matchAll(/^\| +(TLS_\w+(?:-draft)?) .*- ([A-F])$/gm)];
    assert.ok(ciphers.length >= 4, `ciphers that nmap saw:\n${stdout}`);
    for (const [, cipher, grade] of ciphers) {
      assert.match(cipher, saneOfNmap, `${cipher} should not be offered`);
      assert.equal(grade, 'A', `${cipher} has grade ${grade}`);
    }
    assert.match(stdout, /compressors:\s*\n\|\s+NULL/, 'no compression');
    assert.doesNotMatch(stdout, /VULNERABLE|warnings:/, stdout);
  });
}
