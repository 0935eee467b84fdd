// Would this key pass? One request to POST /keys/verify that counts nothing, and which check decided.
import { request } from './api';
import { can, View } from './context';
import { Child, fill, h, icon, named } from './dom';
import { Field, field, form, input, select, valueOf } from './form';
import { limitMeters } from './limits';
import type { Check, Verdict } from './types';
import { card, code, heading, keyLink } from './ui';

// In the order of api.md §3.
const order: readonly (readonly [Check, string])[] = [
  ['key', 'The key exists'],
  ['state', 'It is active'],
  ['address', 'The IP allowlist has the address'],
  ['rate_limit', 'Its rate limits admit the request'],
  ['route', 'The route exists'],
  ['scope', 'Its scopes cover the request'],
];

const advice: Record<string, string> = {
  NOT_FOUND: 'No key of a project that you see has this text or id. With keys:verify_all you see the texts of all projects.',
  DEACTIVATED: 'It is deactivated. It can be reactivated, unless it was compromised or rotated.',
  EXPIRED: 'It has expired. A later expiry revives it.',
  NOT_YET_ACTIVE: 'It is not valid yet.',
  IP_NOT_ALLOWED: 'Its allowlist has no network with this address. Without an address, a key with an allowlist is refused.',
  INSUFFICIENT_SCOPE: 'Give it the scope that is missing, or a wider one.',
  ROUTE_NOT_FOUND: 'The API has no such path, or not with this method.',
  RATE_LIMITED: 'It has used up its rate limits. It is accepted again once they have refilled.',
};
const examples = [
  '/api/v1/users',
  '/api/v1/users/1',
  '/api/v1/users/1/posts',
  '/api/v1/posts',
  '/api/v1/keys',
  '/api/v1/keys/verify',
  '/api/v1/events',
  '/api/v1/changes',
  '/api/v1/webhooks',
  '/api/v1/audit',
  '/api/v1/usage',
];

export function checkForm(id: number | null): HTMLElement {
  const key = field(
    'Key or its id',
    input({ class: 'key-input', value: id ?? '', placeholder: '12, or the whole key', autocapitalize: 'off' }),
    { pointer: '/key', hint: 'A whole key is sent in the body of one request and forgotten.' },
  );
  const method = field(
    'Method',
    select(
      [
        ['GET', 'GET'],
        ['POST', 'POST'],
        ['PUT', 'PUT'],
        ['PATCH', 'PATCH'],
        ['DELETE', 'DELETE'],
      ],
      'GET',
    ),
    { pointer: '/method' },
  );
  const path = field('Path', input({ placeholder: '/api/v1/users', list: 'known-paths' }), { pointer: '/path', optional: true });
  const address = field('IP address', input({ placeholder: '203.0.113.7' }), { pointer: '/ip', optional: true });
  const scopes = field('Scopes', input({ placeholder: 'users:read' }), { pointer: '/scopes', optional: true });
  const all: Field[] = id === null ? [key, method, path, address, scopes] : [method, path, address, scopes];
  const result = h('div', { 'aria-live': 'polite' });
  const text = (one: Field): string | null => valueOf(one.control as HTMLInputElement);
  return h(
    'div',
    {},
    h(
      'datalist',
      { id: 'known-paths' },
      examples.map((value) => h('option', { value })),
    ),
    form(
      () => [...all, { ...key, pointer: '/key_id' }],
      [
        id === null && key.element,
        h('div', { class: 'field-row narrow-first' }, method.element, path.element),
        h('div', { class: 'field-row' }, address.element, scopes.element),
      ],
      {
        action: 'Check',
        async submit() {
          fill(result);
          const body: Record<string, unknown> = { cost: 0 };
          const given = id === null ? (text(key) ?? '') : String(id);
          if (/^[1-9][0-9]{0,15}$/.test(given)) body['key_id'] = Number(given);
          else body['key'] = given;
          if (text(address)) body['ip'] = text(address);
          if (text(scopes)) body['scopes'] = text(scopes)!.split(/[\s,]+/);
          if (text(path)) Object.assign(body, { method: text(method) ?? 'GET', path: text(path) });
          const { body: verdict } = await request<Verdict>('POST', '/keys/verify', { body });
          if ('key' in body) (key.control as HTMLInputElement).value = '';
          fill(
            result,
            verdictOf(
              verdict,
              new Set<Check>([
                'key',
                'state',
                'rate_limit',
                ...('ip' in body || verdict.check === 'address' ? (['address'] as const) : []),
                ...('path' in body ? (['route', 'scope'] as const) : 'scopes' in body ? (['scope'] as const) : []),
              ]),
            ),
          );
        },
      },
    ),
    result,
  );
}

function verdictOf(verdict: Verdict, asked: Set<Check>): Child {
  const decided = verdict.valid ? order.length : order.findIndex(([name]) => name === verdict.check);
  return h(
    'div',
    { class: verdict.valid ? 'verdict good' : 'verdict bad' },
    h(
      'h2',
      {},
      icon(verdict.valid ? 'check' : 'close'),
      verdict.valid ? 'Accepted' : 'Refused',
      ' ',
      code(verdict.code),
    ),
    !verdict.valid &&
      h('p', {}, verdict.missing_scope ? ['It lacks the scope ', code(verdict.missing_scope), '.'] : (advice[verdict.code] ?? '')),
    verdict.key_id !== null &&
      h('p', { class: 'faint' }, keyLink(verdict.key_id), verdict.project !== null && [' of project ', named(verdict.project)]),
    h(
      'ol',
      { class: 'checks' },
      order.map(([name, label], i) => {
        const state = i < decided && asked.has(name) ? 'passed' : i === decided ? 'decided' : 'skipped';
        return h(
          'li',
          { class: state },
          icon(state === 'passed' ? 'check' : state === 'decided' ? 'close' : 'minus'),
          label,
          h(
            'span',
            { class: 'faint' },
            state === 'decided' ? 'failed' : state === 'passed' ? 'passed' : i > decided ? 'not reached' : 'not checked',
          ),
        );
      }),
    ),
    (verdict.valid || verdict.check === 'rate_limit') &&
      verdict.rate_limits &&
      verdict.rate_limits.length > 0 &&
      limitMeters({ rate_limits: verdict.rate_limits }),
  );
}

export function checkPage(view: View): void {
  view.title('Check access');
  view.element.append(
    heading('Check access', {
      lead: 'Whether the service would accept a request: a key, a route and an IP address. The check is not usage and is charged to no limit of the key.',
      back: can('keys:read') ? ['Keys', '/keys'] : ['Overview', '/'],
    }),
    card('', [checkForm(null)]),
  );
}
