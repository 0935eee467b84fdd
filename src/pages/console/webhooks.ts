// Webhooks: where changes are sent, what came of each attempt, and sending again.
import { isProblem, read, request } from './api';
import { can, go, link, poll, setQuery, View } from './context';
import { changeTypes } from './changes';
import { Child, fill, h, named } from './dom';
import { check, Field, field, form, group, input, numberOf, select, valueOf } from './form';
import { absolute, ago, moment, number, plural, relative } from './format';
import { listInto } from './list';
import type { Attempt, Deliveries, Delivery, NewWebhook, Page, Webhook } from './types';
import { actionButton, badge, button, busy, callout, card, code, confirm, emptyState, facts, heading, keyLink, linkButton, load, notify, openDialog, pager, problemBox, segments, showSecret, table, tell, Tone } from './ui';

const mayWrite = (): boolean => can('webhooks:write');
const mayTell = (): boolean => mayWrite() && can('changes:read');
const reasons = { manual: 'switched off', gone: 'its receiver answered 410', failing: 'every attempt of five days failed' };

const stateOf = (webhook: Webhook): HTMLElement =>
  (!webhook.enabled ? badge('bad', 'disabled', webhook.disabled_reason ? reasons[webhook.disabled_reason] : '') : webhook.failing_since !== null ? badge('warn', ['failing since ', relative(webhook.failing_since)]) : badge('good', 'enabled'));
const typeList = (types: string[]): Child => h('span', { class: 'scopes', title: types.join(', ') }, types.slice(0, 3).map((type) => h('code', { class: 'scope' }, type === '*' ? 'all changes' : type)), types.length > 3 && h('span', { class: 'faint' }, ` +${types.length - 3}`));

export function webhooksPage(view: View): void {
  view.title('Webhooks');
  view.element.append(heading('Webhooks', { lead: 'Addresses to which changes are posted as they happen, signed as Standard Webhooks says.', actions: [mayTell() && linkButton('Add endpoint', link('/webhooks/new'), { kind: 'primary', shape: 'plus' })] }));
  listInto(view, () => '', async (query) => {
    const { data, pagination } = await read<Page<Webhook>>('/webhooks', { page: query.get('page'), limit: 50, sort: '-id' }, view.signal);
    if (data.length === 0) {
      return emptyState('send', 'No endpoint yet', 'An endpoint is an https address of yours. Each change is posted to it until it answers 2xx: at once, then again and again for three days.',
        mayTell() && linkButton('Add endpoint', link('/webhooks/new'), { kind: 'primary', shape: 'plus' }), linkButton('How to receive them', '/docs'));
    }
    return [table('Webhooks', [
      { head: 'Endpoint', kind: 'main', cell: (webhook) => [h('a', { class: 'strong break', href: link(`/webhooks/${webhook.id}`) }, named(webhook.url)), h('span', { class: 'under' }, `#${webhook.id} `, webhook.description && named(webhook.description))] },
      { head: 'State', cell: stateOf },
      { head: 'Changes', kind: 'wide', cell: (webhook) => typeList(webhook.types) },
      { head: 'Dealt with', kind: 'widest', cell: (webhook) => `up to #${number(webhook.position)}` },
      { head: 'Created', kind: 'wide', cell: (webhook) => ago(webhook.created_at) },
    ], data, { href: (webhook) => link(`/webhooks/${webhook.id}`) }), pager(pagination, 'endpoint')];
  });
}

// ---- what an endpoint is ----

function typeChoice(first: string[]): { field: Field; types(): string[] } {
  const chosen = new Set(first);
  let all = chosen.has('*') || chosen.size === 0;
  const boxes = [...new Map(changeTypes.map((type) => [type.split('.')[0]!, changeTypes.filter((each) => each.startsWith(`${type.split('.')[0]}.`))]))];
  const list = h('div', { class: 'type-groups' }, boxes.map(([name, types]) => h('fieldset', {}, h('legend', {}, name),
    [`${name}.*`, ...types].map((type) => check(type.endsWith('.*') ? 'all' : type.slice(name.length + 1), { checked: chosen.has(type), 'aria-label': type, onchange: (event) => ((event.target as HTMLInputElement).checked ? chosen.add(type) : chosen.delete(type)) }).element))));
  const paint = (): void => { list.hidden = all; };
  paint();
  const which = segments('Which changes', [['all', 'All changes'], ['some', 'Some types']], all ? 'all' : 'some', (value) => {
    all = value === 'all';
    chosen.delete('*');
    paint();
  });
  return { field: group('Changes', [which, list], { pointer: '/types' }), types: () => (all ? ['*'] : [...chosen].filter((type) => type.endsWith('.*') || !chosen.has(`${type.split('.')[0]}.*`))) };
}

function endpointForm(webhook: Webhook | null, submit: (body: Record<string, unknown>, idempotencyKey: string) => Promise<void>): HTMLElement {
  const url = field('Address', input({ type: 'url', value: webhook?.url ?? '', placeholder: 'https://example.com/hooks/latchkey' }), { pointer: '/url', hint: 'https, reachable from the service. Private networks only where the operator allows them.' });
  const description = field('Description', input({ value: webhook?.description ?? '' }), { pointer: '/description', optional: true });
  const types = typeChoice(webhook?.types ?? ['*']);
  const ordered = check('One after the other, in the order in which they happened', { checked: webhook?.ordered ?? false });
  const pace = field('At most a second', input({ type: 'number', min: 1, max: 10_000, value: webhook?.max_per_second ?? '', placeholder: 'no limit' }), { pointer: '/max_per_second', optional: true });
  const signatures = field('Signed with', select([['v1', 'HMAC-SHA-256, a shared secret'], ['v1a', 'Ed25519, a public key'], ['v1,v1a', 'both']], (webhook?.signatures ?? ['v1']).join(',')), { pointer: '/signatures' });
  const headers = h('textarea', { rows: 2, spellcheck: 'false', placeholder: 'X-Team: billing', value: Object.entries(webhook?.headers ?? {}).map(([name, value]) => `${name}: ${value}`).join('\n') });
  const extra = field('Headers', headers, { pointer: '/headers', optional: true, hint: 'One a line, sent with each attempt. Stored encrypted; values are shown masked, and a masked one stays as it is.' });
  const fields = (): Field[] => [url, description, types.field, pace, signatures, extra];
  const text = (one: Field): string => (one.control as HTMLInputElement).value.trim();
  return form(fields, [card('Where', [url.element, description.element]), card('What', [types.field.element]), card('How', [ordered.element, h('div', { class: 'field-row' }, signatures.element, pace.element), extra.element])],
    { action: webhook === null ? 'Add endpoint' : 'Save changes', cancel: () => go(webhook === null ? '/webhooks' : `/webhooks/${webhook.id}`), async submit(idempotencyKey) {
      const lines = headers.value.split('\n').filter((line) => line.trim() !== '').map((line) => line.split(/:\s*(.*)/s));
      const sent: Record<string, string | null> = Object.fromEntries(lines.map(([name = '', value = '']) => [name.trim(), value.trim()]));
      for (const name of Object.keys(webhook?.headers ?? {})) if (!(name in sent)) sent[name] = null; // a merge patch removes what is null
      const body: Record<string, unknown> = { url: text(url), types: types.types(), ordered: ordered.control.checked, max_per_second: numberOf(pace.control as HTMLInputElement), signatures: text(signatures).split(','), headers: sent };
      if (text(description) !== (webhook?.description ?? '')) body['description'] = valueOf(description.control as HTMLInputElement);
      await submit(body, idempotencyKey);
    } });
}

const secretWords = (webhook: NewWebhook): Child[] => [h('p', {}, 'The receiver verifies the signature of each attempt with it; libraries of ', h('a', { href: 'https://www.standardwebhooks.com', rel: 'noopener noreferrer', target: '_blank' }, 'Standard Webhooks'), ' do that in most languages.'),
  webhook.public_key !== null && [h('p', {}, 'Public key, for v1a:'), h('pre', { class: 'json wrap' }, webhook.public_key)]];

export function newWebhookPage(view: View): void {
  view.title('Add an endpoint');
  view.element.append(heading('Add an endpoint', { back: ['Webhooks', '/webhooks'], lead: 'It begins with the change after its creation.' }), endpointForm(null, async (body, idempotencyKey) => {
    const { body: webhook } = await request<NewWebhook>('POST', '/webhooks', { body, idempotencyKey });
    if (webhook.secret) await showSecret('The secret of the endpoint', webhook.secret, secretWords(webhook));
    go(`/webhooks/${webhook.id}`);
  }));
}

export function editWebhookPage(view: View): void {
  const id = view.parameters[0]!;
  view.title(`Change webhook ${id}`);
  const region = h('div', {});
  view.element.append(region);
  void load(region, async () => {
    const { body: webhook, etag } = await request<Webhook>('GET', `/webhooks/${id}`, { signal: view.signal });
    return [heading('Change the endpoint', { back: [`Webhook ${id}`, `/webhooks/${id}`] }), endpointForm(webhook, async (body, idempotencyKey) => {
      await request('PATCH', `/webhooks/${id}`, { body, etag, idempotencyKey });
      notify('Saved.');
      go(`/webhooks/${id}`);
    })];
  });
}

// ---- one endpoint ----

export function webhookPage(view: View): void {
  const id = view.parameters[0]!;
  view.title(`Webhook ${id}`);
  const head = h('div', {});
  const notes = h('div', {});
  const side = h('div', {});
  const deliveries = h('div', {});
  view.element.append(head, notes, h('div', { class: 'columns wide-first' }, deliveries, side));
  const refresh = (): Promise<void> => load(head, async () => {
    const webhook = await read<Webhook>(`/webhooks/${id}`, {}, view.signal);
    view.title(webhook.url);
    fill(notes, !webhook.enabled && callout('warn', ['It is disabled: ', webhook.disabled_reason ? reasons[webhook.disabled_reason] : '', '.'], ['Since ', moment(webhook.disabled_at), '. Once enabled it goes on where it stopped, as far as changes are kept.'],
      mayTell() && actionButton('Enable', () => enable(webhook, refresh), { kind: 'primary', small: true })),
    webhook.enabled && webhook.failing_since !== null && callout('warn', ['Its attempts fail since ', moment(webhook.failing_since), '.'], 'See below what the receiver answered. After five days it is disabled by itself.'));
    fill(side, card('Endpoint', [facts(['Changes', typeList(webhook.types)], ['Order', webhook.ordered ? 'one after the other' : 'up to 32 at a time'], ['Pace', webhook.max_per_second === null ? 'no limit' : `at most ${number(webhook.max_per_second)} a second`],
      ['Signed with', webhook.signatures.join(', ')], webhook.public_key !== null && ['Public key', h('code', { class: 'hash' }, webhook.public_key)], ['Headers', Object.keys(webhook.headers).length === 0 ? 'none of its own' : Object.keys(webhook.headers).map((name) => [code(name), ' '])],
      ['Dealt with', `changes up to #${number(webhook.position)}`], webhook.secret_rotation_ends_at !== null && Date.parse(webhook.secret_rotation_ends_at) > Date.now() && ['The secret before signs until', moment(webhook.secret_rotation_ends_at)],
      ['Project', webhook.project === null ? 'all' : named(webhook.project)], ['Created', moment(webhook.created_at)], ['Created by', can('keys:read') ? keyLink(webhook.created_by) : String(webhook.created_by ?? '–')])],
    { actions: [mayTell() && h('a', { href: link(`/webhooks/${id}/edit`) }, 'Change')] }));
    return webhookHeading(webhook, refresh, repaint);
  });
  const repaint = deliveriesCard(deliveries, id, view);
  void refresh();
}

async function enable(webhook: Webhook, refresh: () => Promise<void>): Promise<void> {
  await request('POST', `/webhooks/${webhook.id}/enable`);
  notify('The endpoint is enabled.');
  await refresh();
}

const webhookHeading = (webhook: Webhook, refresh: () => Promise<void>, repaint: () => void): HTMLElement => heading(named(webhook.url, { class: 'break' }), { back: ['Webhooks', '/webhooks'], lead: [stateOf(webhook), ` · #${webhook.id} `, webhook.description && named(webhook.description)], actions: [
  mayWrite() && webhook.enabled && actionButton('Send test', async () => {
    const { body } = await request<{ sequence?: number }>('POST', `/webhooks/${webhook.id}/test`);
    notify(`The test${body?.sequence ? ` is change #${body.sequence}` : ' is sent'}: see below what comes of it.`);
    repaint();
  }, { shape: 'send' }),
  mayTell() && webhook.enabled && button('Send again', () => replayDialog(webhook, repaint), { shape: 'refresh' }),
  mayWrite() && button('New secret', () => rotateDialog(webhook, refresh)),
  mayTell() && webhook.enabled && actionButton('Disable', async () => {
    await request('PATCH', `/webhooks/${webhook.id}`, { body: { enabled: false } });
    notify('The endpoint is disabled.');
    await refresh();
  }),
  mayWrite() && button('Delete', () => void confirm('Delete the endpoint?', ['What was not delivered yet is not.'], 'Delete endpoint', async () => {
    await request('DELETE', `/webhooks/${webhook.id}`);
    notify(`Webhook ${webhook.id} is deleted.`);
    go('/webhooks');
  }), { kind: 'danger' })] });

function rotateDialog(webhook: Webhook, refresh: () => Promise<void>): void {
  const overlap = field('Both secrets sign for', select([['0', 'no time'], ['3600', '1 hour'], ['86400', '1 day (recommended)'], ['172800', '2 days']], '86400'), { pointer: '/overlap_seconds', hint: 'In that time each attempt has two signatures: change the receiver without missing one.' });
  const dialog = openDialog('A new secret', [form(() => [overlap], [overlap.element], { action: 'Make new secret', cancel: () => dialog.close(), async submit(idempotencyKey) {
    const { body } = await request<NewWebhook>('POST', `/webhooks/${webhook.id}/rotate-secret`, { body: { overlap_seconds: Number((overlap.control as HTMLSelectElement).value) }, idempotencyKey });
    dialog.close();
    if (body.secret) await showSecret('The new secret', body.secret, secretWords(body));
    await refresh();
  } })]);
}

function replayDialog(webhook: Webhook, repaint: () => void): void {
  const local = (time: number): string => new Date(time - new Date(time).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  const from = field('From', input({ type: 'datetime-local', value: local(Date.now() - 3_600_000) }), { pointer: '/from' });
  const to = field('To', input({ type: 'datetime-local', value: local(Date.now() + 60_000) }), { pointer: '/to' });
  const time = (one: Field): string => new Date((one.control as HTMLInputElement).value).toISOString();
  const dialog = openDialog('Send changes again', [h('p', {}, 'All changes of a time that this endpoint is told of, under the same ids: a receiver that has seen one ignores it. To send single ones, choose them in the list.'),
    form(() => [from, to], [h('div', { class: 'field-row' }, from.element, to.element)], { action: 'Send again', cancel: () => dialog.close(), async submit(idempotencyKey) {
      await request('POST', `/webhooks/${webhook.id}/replay`, { body: { from: time(from), to: time(to) }, idempotencyKey });
      dialog.close();
      notify('They are sent again.');
      repaint();
    } })]);
}

// ---- attempts ----

const deliveryTones: Record<Delivery['state'], Tone> = { pending: 'warn', delivered: 'good', failed: 'bad' };

function deliveriesCard(region: HTMLElement, id: string, view: View): () => void {
  const tools = h('div', {});
  const list = h('div', {});
  const replay: HTMLButtonElement = button('Send again', () => void busy(replay, () => request('POST', `/webhooks/${id}/replay`, { body: { sequences: [...chosen] } }).then(() => {
    notify(`${plural(chosen.size, 'change')} sent again.`);
    chosen.clear();
    void refresh();
  }).catch(tell)), { small: true, kind: 'primary', disabled: true });
  const chosen = new Set<number>();
  const opened = new Set<number>();
  let before: number | null = null;
  let query = view.query;
  region.append(card('Deliveries', [list], { actions: [mayTell() && replay, tools] }));
  const paint = (): void => fill(tools, segments('State', [['', 'All'], ['pending', 'Pending'], ['delivered', 'Delivered'], ['failed', 'Failed']], query.get('state') ?? '', (state) => setQuery({ state })));
  const paintReplay = (): void => {
    replay.disabled = chosen.size === 0;
    replay.textContent = chosen.size === 0 ? 'Send again' : `Send ${chosen.size} again`;
  };
  let shown = '';
  const refresh = async (): Promise<void> => {
    try {
      const page = await read<Deliveries>(`/webhooks/${id}/deliveries`, { limit: 50, before, state: query.get('state') }, view.signal);
      paintReplay();
      const now = JSON.stringify(page);
      if (now === shown) return;
      shown = now;
      const focus = [...list.querySelectorAll('input, summary, button')].indexOf(document.activeElement ?? list);
      fill(list, page.data.length === 0 ? emptyState('send', 'No delivery', query.has('state') ? 'None is in this state.' : 'The next change that this endpoint is told of stands here, with each attempt. A test makes one at once.')
        : h('ol', { class: 'feed deliveries' }, page.data.map((delivery) => deliveryEntry(delivery, chosen, opened, paintReplay))),
      (page.pagination.has_more || before !== null) && h('div', { class: 'actions end' }, before !== null && button('Newest', () => { before = null; void refresh(); }, { small: true }),
        page.pagination.has_more && button('Older', () => { before = page.pagination.next_before; void refresh(); }, { small: true, shape: 'arrow' })));
      if (focus >= 0) list.querySelectorAll<HTMLElement>('input, summary, button')[focus]?.focus();
    } catch (error) {
      if (view.signal.aborted) return;
      shown = '';
      fill(list, isProblem(error, 'not_found') ? '' : problemBox(error, () => void refresh()));
    }
  };
  paint();
  view.onQuery((next) => {
    query = next;
    before = null;
    chosen.clear();
    paint();
    void refresh();
  });
  poll(view.signal, 3, refresh);
  return () => void refresh();
}

function deliveryEntry(delivery: Delivery, chosen: Set<number>, opened: Set<number>, changed: () => void): HTMLElement {
  const last = delivery.attempts.at(-1);
  const box = mayTell() && h('input', { type: 'checkbox', checked: chosen.has(delivery.sequence), 'aria-label': `Choose change ${delivery.sequence}`, onchange: (event) => {
    if ((event.target as HTMLInputElement).checked) chosen.add(delivery.sequence);
    else chosen.delete(delivery.sequence);
    changed();
  } });
  return h('li', { class: 'delivery' }, box, h('details', { open: opened.has(delivery.sequence), ontoggle: (event) => ((event.target as HTMLDetailsElement).open ? opened.add(delivery.sequence) : opened.delete(delivery.sequence)) },
    h('summary', {}, badge(deliveryTones[delivery.state], delivery.state), h('code', { class: 'kind' }, delivery.type), h('span', { class: 'subject faint' }, last ? outcome(last) : 'not tried yet'), h('span', { class: 'faint mono sequence' }, `#${delivery.sequence}`)),
    h('div', {}, facts(['Id', h('code', { class: 'hash' }, delivery.message_id)], delivery.next_attempt_at !== null && ['Next attempt', moment(delivery.next_attempt_at)]),
      h('ol', { class: 'attempts' }, delivery.attempts.map((attempt, i) => h('li', {}, h('div', { class: 'ranking-row' }, h('span', {}, `Attempt ${i + 1}: `, h('strong', {}, outcome(attempt))), h('time', { class: 'faint', datetime: attempt.at }, absolute(attempt.at))),
        attempt.response && h('pre', { class: 'json wrap', tabindex: 0, role: 'group', 'aria-label': 'Answer of the receiver' }, attempt.response)))))));
}

const outcome = ({ status, error, duration_ms: time }: Attempt): string => (status !== null ? `answered ${status} in ${number(time)} ms` : `${error ?? 'no answer'} after ${number(time)} ms`);
