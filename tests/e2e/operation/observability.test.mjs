// The dashboard and the alerts of tools/observability: promtool's own tests, and each metric and label that they name against
// a node of a cluster that a Prometheus reads.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { Cluster } from '../helpers/cluster_harness.mjs';
import { Postgres } from '../helpers/cluster_postgres.mjs';
import { assertStatus, newUser, sleep, temporaryFolder } from '../helpers/harness.mjs';

const here = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const folder = path.join(here, '../../tools/observability');
const programs = path.join(here, '../../build/packages/usr/bin');
const promtool = (...words) => execFileSync(path.join(programs, 'promtool'), words, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const read = (name) => fs.readFileSync(path.join(folder, name), 'utf8');

const dashboard = JSON.parse(read('dashboard.json'));
const alerts = parse(read('alerts.yaml')).groups.flatMap((group) => group.rules);
// What Grafana puts in the place of its variables.
const filled = (expression) => expression.replaceAll('$__rate_interval', '1m').replaceAll('"$instance"', '".*"');
const panels = dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr, legendFormat }) => ({
  title, expression: filled(expr), labels: [...legendFormat.matchAll(/{{ *(\w+) *}}/g)].map((match) => match[1]) })));

// Vector selectors: a name of ours, and its matchers.
const selectorsOf = (expression) => [...expression.matchAll(/\b(?:latchkey|process|up)(?:_\w+)?\b(?:{[^}]*})?/g)].map(([text]) => text);

class Prometheus {
  static async start(target) {
    const prometheus = new Prometheus();
    const home = temporaryFolder();
    const config = { global: { scrape_interval: '250ms', scrape_timeout: '250ms' },
      scrape_configs: [{ job_name: 'latchkey', static_configs: [{ targets: [target] }] }] };
    fs.writeFileSync(path.join(home, 'prometheus.yaml'), JSON.stringify(config));
    prometheus.child = spawn(path.join(programs, 'prometheus'), [`--config.file=${home}/prometheus.yaml`, `--storage.tsdb.path=${home}/data`,
      '--web.listen-address=127.0.0.1:0', '--log.level=info'], { stdio: ['ignore', 'ignore', 'pipe'] });
    let output = '';
    prometheus.child.stderr.setEncoding('utf8').on('data', (text) => { output += text; });
    for (let i = 0; i < 600 && !prometheus.url; i += 1) {
      await sleep(50);
      prometheus.url = /msg="Listening on" address=(\S+)/.exec(output)?.[1];
      assert.equal(prometheus.child.exitCode, null, output);
    }
    assert.ok(prometheus.url, `Prometheus listens: ${output}`);
    return prometheus;
  }

  // The result of an instant query; an expression that is not valid is an error.
  async query(expression) {
    const answer = await fetch(`http://${this.url}/api/v1/query`, { method: 'POST', body: new URLSearchParams({ query: expression }) });
    const { status, error, data } = await answer.json();
    assert.equal(status, 'success', `${expression}: ${error}`);
    return data.result;
  }

  async stop() {
    const exit = new Promise((resolve) => { this.child.once('exit', resolve); });
    this.child.kill('SIGTERM');
    await exit;
  }
}

describe('alerts', () => {
  test('promtool accepts rules and configuration', () => {
    promtool('check', 'rules', 'alerts.yaml');
    promtool('check', 'config', 'prometheus.yaml');
  });

  test('each fires, and is quiet, on series of its own', () => {
    promtool('test', 'rules', 'alerts.test.yaml');
    const cases = parse(read('alerts.test.yaml')).tests.flatMap((each) => each.alert_rule_test);
    for (const { alert } of alerts) {
      const counts = cases.filter((each) => each.alertname === alert).map((each) => each.exp_alerts.length);
      assert.ok(counts.includes(0) && counts.some((count) => count > 0), `${alert} has a case of both kinds`);
    }
  });

  test('each says how grave it is, what was seen and what to do', () => {
    for (const { alert, labels, annotations } of alerts) {
      assert.match(labels.severity, /^(?:critical|warning|info)$/, alert);
      assert.ok(annotations.summary.length > 20 && annotations.action.length > 20, alert);
    }
  });
});

describe('against a service', () => {
  let engine;
  let cluster;
  let prometheus;

  before(async () => {
    engine = await Postgres.begin();
    cluster = await Cluster.begin(engine, { names: ['one'] });
    const [node] = cluster.nodes;
    const client = node.client();
    const stranger = node.client('lkeyaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa');
    const traffic = async () => {
      assertStatus(await client.post('/users', newUser()), 201);
      assertStatus(await client.get('/users?limit=1'), 200);
      await stranger.get('/users');
    };
    await traffic();
    prometheus = await Prometheus.start(/management on ([0-9.]+:[0-9]+)/.exec(node.server.stderr)[1]);
    const deadline = Date.now() + 30_000;
    for (let samples = 0; samples < 4;) {
      assert.ok(Date.now() < deadline, 'Prometheus reads the service');
      await traffic();
      await sleep(100);
      samples = Number((await prometheus.query('count_over_time(latchkey_uptime_seconds[1m])'))[0]?.value[1] ?? 0);
    }
  });

  after(async () => {
    await prometheus?.stop();
    await cluster?.stop();
    await engine?.stop();
  });

  test('every metric and label value that a panel or an alert selects is exposed', async () => {
    const absent = [];
    for (const { name, expression } of [...panels.map((each) => ({ name: each.title, ...each })),
      ...alerts.map(({ alert, expr }) => ({ name: alert, expression: expr }))]) {
      const selectors = selectorsOf(expression);
      assert.ok(selectors.length > 0, `${name}: ${expression}`);
      for (const selector of selectors) if ((await prometheus.query(selector)).length === 0) absent.push(`${name}: ${selector}`);
    }
    // No request was answered 5xx so far: of this label the other values are there.
    assert.deepEqual(absent.filter((each) => !each.includes('status="5xx"')), []);
    assert.ok((await prometheus.query('latchkey_requests_total{status="2xx"}')).length > 0);
  });

  test('every panel shows something, by labels that are there', async () => {
    for (const { title, expression, labels } of panels) {
      const result = await prometheus.query(expression);
      assert.ok(result.length > 0, `${title}: ${expression}`);
      for (const label of labels) assert.ok(result.some(({ metric }) => label in metric), `${title}: no label ${label}: ${expression}`);
    }
  });

  test('every alert is a query over labels that are there, and none fires', async () => {
    for (const { alert, expr, annotations } of alerts) {
      assert.deepEqual(await prometheus.query(expr), [], `${alert} is quiet`);
      for (const [, label] of `${annotations.summary}${annotations.action}`.matchAll(/\$labels\.(\w+)/g)) assert.equal(label, 'instance', alert);
      for (const [, grouping] of expr.matchAll(/\bby \(([^)]*)\)/g)) {
        for (const label of grouping.split(', ')) {
          const [selector] = selectorsOf(expr);
          assert.ok((await prometheus.query(selector.replace(/{.*/, ''))).some(({ metric }) => label in metric), `${alert}: no label ${label}`);
        }
      }
    }
  });
});
