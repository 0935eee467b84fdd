// The manifests of tools/kubernetes: the schema of Kubernetes, what they refer to, and their commands and configuration, run
// with the paths of this machine.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { Postgres } from '../helpers/cluster_postgres.mjs';
import { until } from '../helpers/cluster_harness.mjs';
import { binary, command, run, startServer, temporaryFolder } from '../helpers/harness.mjs';

const here = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const top = path.join(here, '../..');
const files = ['single-node.yaml', 'cluster.yaml'];
const read = (name) => fs.readFileSync(path.join(top, 'tools/kubernetes', name), 'utf8');
// As kubectl reads them: YAML 1.1, where 0440 is octal; an anchor is known within its document alone.
const objectsOf = (name) => parseAllDocuments(read(name), { version: '1.1' }).map((document) => {
  assert.deepEqual(document.errors, [], name);
  return document.toJS();
});
const find = (objects, kind) => objects.find((each) => each.kind === kind);
const workloads = (objects) => objects.filter(({ spec }) => spec?.template);
const containersOf = ({ spec }) => [...(spec.template.spec.initContainers ?? []), ...spec.template.spec.containers];
const modelOf = ({ apiVersion, kind }) => `kubernetes-models/${apiVersion}/${kind}`;

// What the compiler says of objects as literals of the types of Kubernetes, which refuses members that it does not know.
function compile(objects) {
  const folder = fs.mkdtempSync(path.join(here, 'node_modules/.manifests-'));
  try {
    const lines = objects.flatMap((object, i) => {
      const { kind } = object;
      return [`import type { I${kind} as I${i} } from '${modelOf(object)}';`, `export const object${i}: I${i} = ${JSON.stringify(object)};`];
    });
    fs.writeFileSync(path.join(folder, 'objects.ts'), lines.join('\n'));
    return spawnSync(path.join(here, 'node_modules/.bin/tsc'), ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext',
      '--moduleResolution', 'nodenext', '--target', 'es2022', path.join(folder, 'objects.ts')], { encoding: 'utf8' }).stdout;
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

// Puts this machine's paths in the place of the container's.
const local = (text, places) => Object.entries(places).reduce((result, [from, to]) => result.replaceAll(from, to), text);

async function look(server, target) {
  const [, host, port] = /management on ([0-9.]+):([0-9]+)/.exec(server.stderr);
  const [answer] = await once(http.get({ host, port, path: target, agent: false }), 'response');
  answer.resume();
  return answer.statusCode;
}

function makeCertificate(folder) {
  fs.mkdirSync(folder, { recursive: true });
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost',
    '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', path.join(folder, 'tls.key'), '-out', path.join(folder, 'tls.crt')], { stdio: 'ignore' });
}

// The configuration, which listens on a free port of loopback; everything else is that of the manifest.
function settingsOf(objects, places) {
  const text = find(objects, 'ConfigMap').data['latchkey.toml'];
  for (const listener of ['listen = ["https://0.0.0.0:8443"]', 'management = "0.0.0.0:9464"']) assert.ok(text.includes(listener), listener);
  return local(text, { ...places, '0.0.0.0:8443': '127.0.0.1:0', '0.0.0.0:9464': '127.0.0.1:0', 'drain_delay_seconds = 5': 'drain_delay_seconds = 0' });
}

for (const name of files) {
  describe(name, () => {
    const objects = objectsOf(name);

    test('holds to the schema of Kubernetes', async () => {
      for (const object of objects) {
        const model = (await import(modelOf(object)))[object.kind];
        new model(object).validate();
      }
      assert.equal(compile(objects), '');
    });

    test('refers to what is there', () => {
      for (const workload of workloads(objects)) {
        const { spec } = workload.spec.template;
        const volumes = [...(spec.volumes ?? []), ...(workload.spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata)].map((each) => each.name);
        const mounted = containersOf(workload).flatMap(({ volumeMounts = [] }) => volumeMounts.map((each) => each.name));
        assert.deepEqual([...new Set(mounted)].sort(), volumes.sort(), 'each volume is mounted, and there is one for each mount');
        for (const { configMap } of spec.volumes) if (configMap) assert.equal(configMap.name, find(objects, 'ConfigMap').metadata.name);
        const secrets = [...spec.volumes.flatMap(({ secret }) => secret?.secretName ?? []),
          ...containersOf(workload).flatMap(({ env = [] }) => env.map(({ valueFrom }) => valueFrom.secretKeyRef.name))];
        const comments = files.map(read).join('');
        for (const secret of secrets) assert.match(comments, new RegExp(`^# +kubectl create secret (?:tls|generic) ${secret} `, 'm'));
      }
      const server = find(objects, 'StatefulSet') ?? find(objects, 'Deployment');
      const { metadata: { labels }, spec: { containers: [container] } } = server.spec.template;
      const ports = container.ports.map((each) => each.name);
      for (const { port } of find(objects, 'NetworkPolicy').spec.ingress.flatMap((rule) => rule.ports)) assert.ok(ports.includes(port), port);
      for (const { targetPort } of find(objects, 'Service').spec.ports) assert.ok(ports.includes(targetPort), targetPort);
      for (const selector of [find(objects, 'Service').spec.selector, server.spec.selector.matchLabels,
        find(objects, 'NetworkPolicy').spec.podSelector.matchLabels]) {
        for (const [key, value] of Object.entries(selector)) assert.equal(labels[key], value);
      }
      for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) assert.ok(ports.includes(container[probe].httpGet.port), probe);
    });

    test('confines its containers, with the seccomp profile that allows io_uring', () => {
      assert.match(read('single-node.yaml'), /tools\/packaging\/seccomp\.json as \/var\/lib\/kubelet\/seccomp\/profiles\/latchkey\.json/);
      const { syscalls } = JSON.parse(fs.readFileSync(path.join(top, 'tools/packaging/seccomp.json'), 'utf8'));
      assert.ok(syscalls.some(({ names, action }) => action === 'SCMP_ACT_ALLOW' && names.includes('io_uring_setup')));
      for (const workload of workloads(objects)) {
        const { securityContext } = workload.spec.template.spec;
        assert.equal(securityContext.seccompProfile.localhostProfile, 'profiles/latchkey.json');
        assert.ok(securityContext.runAsNonRoot && securityContext.runAsUser > 0);
        for (const container of containersOf(workload)) {
          assert.deepEqual(container.securityContext, { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } });
        }
      }
    });

    test('gives a pod more time to stop than the service takes', () => {
      const seconds = [...find(objects, 'ConfigMap').data['latchkey.toml'].matchAll(/^\w+_seconds = ([0-9]+)$/gm)].map((match) => Number(match[1]));
      const { terminationGracePeriodSeconds } = (find(objects, 'StatefulSet') ?? find(objects, 'Deployment')).spec.template.spec;
      assert.equal(seconds.length, 2);
      assert.ok(terminationGracePeriodSeconds > seconds[0] + seconds[1]);
    });
  });
}

test('a member that Kubernetes does not know is found', () => {
  const [, service] = objectsOf('single-node.yaml');
  service.spec.ports[0].targetPorts = 'https';
  assert.match(compile([service]), /targetPorts/);
});

test('the single node serves with its configuration and command, and its probes are answered', async () => {
  const objects = objectsOf('single-node.yaml');
  const folder = temporaryFolder();
  const places = { '/var/lib/latchkey': `${folder}/store`, '/etc/latchkey': `${folder}/etc` };
  fs.mkdirSync(`${folder}/store`, { mode: 0o770 }); // a volume belongs to a group: the data directory is below it
  makeCertificate(`${folder}/etc/tls`);
  const [container] = find(objects, 'StatefulSet').spec.template.spec.containers;
  assert.deepEqual(container.args, ['serve', '--config', '/etc/latchkey/latchkey.toml']);
  const server = await startServer({ data: `${folder}/store/data`, config: settingsOf(objects, places), listen: [], workers: 2, management: null, log: null });
  await until(() => /listening on/.test(server.stderr), 'it listens');
  for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) {
    assert.equal(await look(server, container[probe].httpGet.path), 200, probe);
  }
  assert.equal(fs.statSync(`${folder}/store/data`).mode & 0o777, 0o700);
  const { port } = new URL(/https:\/\/\S+/.exec(server.stderr)[0]);
  const { stdout } = await run('curl', ['-sS', '--cacert', `${folder}/etc/tls/tls.crt`, `https://127.0.0.1:${port}/healthz`]);
  assert.match(stdout, /"status":"ok"/);
  await server.stop();
});

test('the cluster begins and its nodes join with their commands, from the secrets alone', async () => {
  const objects = objectsOf('cluster.yaml');
  const postgres = await Postgres.begin();
  const folder = temporaryFolder();
  const address = await postgres.makeDatabase('kubernetes');
  fs.mkdirSync(`${folder}/secrets`);
  fs.writeFileSync(`${folder}/secrets/master.key`, crypto.randomBytes(32));
  makeCertificate(`${folder}/etc/tls`);
  // A pod: its first containers are run, then the place and the settings are those of its last.
  const begin = async (workload, pod) => {
    const { initContainers, containers: [container] } = workload.spec.template.spec;
    const places = { '/var/lib/latchkey': `${folder}/${pod}`, '/etc/latchkey': `${folder}/etc`, '/run/latchkey': `${folder}/secrets` };
    fs.mkdirSync(`${folder}/${pod}`, { mode: 0o770 });
    for (const { command: [shell, ...flags], args } of initContainers) await run(shell, [...flags, ...args.map((text) => local(text, places))]);
    const settings = settingsOf(objects, places).replace(/^postgres = .*$/m, `postgres = "${address}"\nname = "${pod}"`);
    const file = `${folder}/${pod}.toml`;
    fs.writeFileSync(file, settings);
    return { settings, data: `${folder}/${pod}/data`, words: container.args.map((word) => (word.endsWith('.toml') ? file : word)) };
  };
  const job = await begin(find(objects, 'Job'), 'latchkey-init');
  const { code, stderr } = await command(...job.words);
  assert.equal(code, 0, stderr);
  const pods = [];
  for (const name of ['latchkey-1', 'latchkey-2']) {
    const { settings, data, words } = await begin(find(objects, 'Deployment'), name);
    assert.equal(words[0], 'serve');
    const server = await startServer({ data, config: settings, listen: [], management: null, log: null });
    await until(() => /listening on/.test(server.stderr), `${name} listens`);
    await until(async () => (await look(server, '/readyz')) === 200, `${name} is ready`);
    pods.push({ server, data, words });
  }
  const [first, second] = pods;
  const creation = await command('keys', 'create', ...first.words.slice(1), '--name', 'first', '--scope', '*');
  assert.equal(creation.code, 0, creation.stderr);
  const key = creation.stdout.trim();
  const { port } = new URL(/https:\/\/\S+/.exec(second.server.stderr)[0]);
  await until(async () => {
    const { stdout } = await run('curl', ['-sS', '--cacert', `${folder}/etc/tls/tls.crt`, '-H', `Authorization: Bearer ${key}`, `https://127.0.0.1:${port}/api/v1/users`]);
    return stdout.includes('"data":[]');
  }, 'the key works on the other node');
  for (const { server } of pods) await server.stop();
  await postgres.stop();
});

test('the image has what the manifests run', () => {
  const text = fs.readFileSync(path.join(top, 'tools/packaging/Containerfile'), 'utf8');
  assert.match(text, /tools\/package-cluster/);
  assert.match(text, /^ENTRYPOINT \["\/usr\/bin\/latchkey"\]$/m);
  assert.ok(fs.existsSync(binary));
});
