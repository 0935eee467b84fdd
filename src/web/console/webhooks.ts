// Webhooks: the URLs to which changes are sent, and each of them.
import { read, request } from './api';
import { now } from './clock';
import { can, go, link, View } from './context';
import { deliveriesCard } from './deliveries';
import { confirm, openDialog, showSecret } from './dialogs';
import { Child, fill, h, named } from './dom';
import { form, overlapField } from './form';
import { ago, moment, number } from './format';
import { showList, table } from './lists';
import type { NewWebhook, Webhook } from './types';
import {
  actionButton,
  badge,
  button,
  callout,
  card,
  code,
  emptyState,
  facts,
  heading,
  keyLink,
  linkButton,
  loadRecord,
  notify,
} from './ui';
import { secretWords } from './webhook_form';
import { mayTell, mayWrite } from './webhook_rights';
import { when } from './zone';

const reasons = { manual: 'disabled by hand', gone: 'its receiver answered 410', failing: 'every attempt of five days failed', revoked: 'the key that created it was compromised' };

const stateOf = (webhook: Webhook): HTMLElement =>
  !webhook.enabled
    ? badge('bad', 'disabled', webhook.disabled_reason ? reasons[webhook.disabled_reason] : '')
    : webhook.failing_since !== null
      ? badge('warn', ['failing since ', when(webhook.failing_since)])
      : badge('good', 'enabled');
const stateName = ({ enabled, failing_since: failing }: Webhook): string =>
  !enabled ? 'disabled' : failing !== null ? 'failing' : 'enabled';
const typeList = (types: string[]): Child =>
  h(
    'span',
    { class: 'scopes', title: types.join(', ') },
    types.slice(0, 3).map((type) => h('code', { class: 'scope' }, type === '*' ? 'all changes' : type)),
    types.length > 3 && h('span', { class: 'faint' }, ` +${types.length - 3}`),
  );

export function webhooksPage(view: View): void {
  view.title('Webhooks');
  view.element.append(
    heading('Webhooks', {
      lead: 'URLs to which changes are posted as they happen, signed according to Standard Webhooks.',
      actions: [mayTell() && linkButton('Add webhook', link('/webhooks/new'), { kind: 'primary', shape: 'plus' })],
    }),
  );
  showList<Webhook>(view, {
    path: '/webhooks',
    nouns: ['webhook', 'webhooks'],
    shape: 'send',
    filters: [],
    bar: () => [],
    parameters: () => ({}),
    nothing: () =>
      emptyState(
        'send',
        'No webhooks yet',
        'A webhook is an https URL of yours. Each change is posted to it until it answers 2xx: ' +
          'at once, then again and again for three days.',
        mayTell() && linkButton('Add webhook', link('/webhooks/new'), { kind: 'primary', shape: 'plus' }),
        linkButton('Documentation', '/docs/changes-and-webhooks'),
      ),
    show: (webhooks, extent) =>
      table(
        'Webhooks',
        [
          {
            head: 'URL',
            kind: 'main',
            cell: (webhook) => [
              h('a', { class: 'strong break', href: link(`/webhooks/${webhook.id}`) }, named(webhook.url)),
              h('span', { class: 'under' }, `#${webhook.id} `, webhook.description && named(webhook.description)),
            ],
            order: ({ url }) => url,
          },
          { head: 'State', cell: stateOf, order: stateName },
          { head: 'Types', kind: 'wide', cell: (webhook) => typeList(webhook.types) },
          { head: 'Position', kind: 'widest', cell: (webhook) => `#${number(webhook.position)}`, order: ({ position }) => position },
          { head: 'Created', kind: 'wide', cell: (webhook) => ago(webhook.created_at), order: (webhook) => webhook.created_at },
        ],
        webhooks,
        { href: (webhook) => link(`/webhooks/${webhook.id}`), extent },
      ),
    csv: [
      ['id', ({ id }) => id],
      ['url', ({ url }) => url],
      ['description', ({ description }) => description],
      ['types', ({ types }) => types.join(' ')],
      ['enabled', ({ enabled }) => enabled],
      ['disabled_reason', (webhook) => webhook.disabled_reason],
      ['failing_since', (webhook) => webhook.failing_since],
      ['position', ({ position }) => position],
      ['project', ({ project }) => project],
      ['created_at', (webhook) => webhook.created_at],
    ],
  });
}

export function webhookPage(view: View): void {
  const id = view.parameters[0]!;
  view.title(`Webhook ${id}`);
  const head = h('div', {});
  const notes = h('div', {});
  const side = h('div', {});
  const deliveries = h('div', {});
  let repaint: (() => void) | null = null;
  view.element.append(head, notes, h('div', { class: 'columns wide-first' }, deliveries, side));
  const refresh = (): Promise<void> =>
    loadRecord(head, 'webhook', ['Webhooks', '/webhooks'], async () => {
      const webhook = await read<Webhook>(`/webhooks/${id}`, {}, view.signal);
      view.title(webhook.url);
      fill(notes, notesOf(webhook, refresh));
      fill(side, webhookCard(webhook));
      repaint ??= deliveriesCard(deliveries, id, view);
      return webhookHeading(webhook, refresh, repaint);
    });
  void refresh();
}

const notesOf = (webhook: Webhook, refresh: () => Promise<void>): Child => [
  !webhook.enabled &&
    callout(
      'warn',
      ['Disabled: ', webhook.disabled_reason ? reasons[webhook.disabled_reason] : '', '.'],
      ['Since ', moment(webhook.disabled_at), '. Once enabled it goes on where it stopped, as far as changes are kept.'],
      mayTell() && actionButton('Enable', () => enable(webhook, refresh), { kind: 'primary', small: true }),
    ),
  webhook.enabled &&
    webhook.failing_since !== null &&
    callout(
      'warn',
      ['Every attempt has failed since ', moment(webhook.failing_since), '.'],
      'The deliveries below show what the receiver answered. After five days the webhook is disabled.',
    ),
];

const webhookCard = (webhook: Webhook): HTMLElement =>
  card(
    'Webhook',
    [
      facts(
        ['Types', typeList(webhook.types)],
        ['Order', webhook.ordered ? 'ordered, one delivery at a time' : 'unordered, up to 32 deliveries at a time'],
        ['Rate limit', webhook.max_per_second === null ? 'none' : `${number(webhook.max_per_second)} requests per second`],
        ['Signatures', webhook.signatures.join(', ')],
        webhook.public_key !== null && ['Public key', h('code', { class: 'hash' }, webhook.public_key)],
        [
          'Headers',
          Object.keys(webhook.headers).length === 0 ? 'none' : Object.keys(webhook.headers).map((name) => [code(name), ' ']),
        ],
        ['Position', `change #${number(webhook.position)}`],
        webhook.secret_rotation_ends_at !== null &&
          Date.parse(webhook.secret_rotation_ends_at) > now() && [
            'Previous secret valid until',
            moment(webhook.secret_rotation_ends_at),
          ],
        ['Project', webhook.project === null ? 'all' : named(webhook.project)],
        ['Created', moment(webhook.created_at)],
        ['Created by', can('keys:read') ? keyLink(webhook.created_by) : String(webhook.created_by ?? '–')],
      ),
    ],
    { actions: [mayTell() && h('a', { href: link(`/webhooks/${webhook.id}/edit`) }, 'Edit')] },
  );

async function enable(webhook: Webhook, refresh: () => Promise<void>): Promise<void> {
  await request('POST', `/webhooks/${webhook.id}/enable`);
  notify('The webhook is enabled.');
  await refresh();
}

const webhookHeading = (webhook: Webhook, refresh: () => Promise<void>, repaint: () => void): HTMLElement =>
  heading(named(webhook.url, { class: 'break' }), {
    back: ['Webhooks', '/webhooks'],
    lead: [stateOf(webhook), ` · #${webhook.id} `, webhook.description && named(webhook.description)],
    actions: [
      mayWrite() &&
        webhook.enabled &&
        actionButton(
          'Send test',
          async () => {
            const { body } = await request<{ sequence?: number }>('POST', `/webhooks/${webhook.id}/test`);
            notify(`The test${body?.sequence ? ` is change #${body.sequence}` : ' is sent'}: see below what comes of it.`);
            repaint();
          },
          { shape: 'send' },
        ),
      mayWrite() && button('Rotate secret', () => rotateDialog(webhook, refresh)),
      mayTell() &&
        webhook.enabled &&
        actionButton('Disable', async () => {
          await request('PATCH', `/webhooks/${webhook.id}`, { body: { enabled: false } });
          notify('The webhook is disabled.');
          await refresh();
        }),
      mayWrite() &&
        button(
          'Delete',
          () =>
            void confirm(['Delete the webhook ', named(webhook.url), '?'], ['Pending deliveries are dropped.'], 'Delete webhook', async () => {
              await request('DELETE', `/webhooks/${webhook.id}`);
              notify(`Webhook ${webhook.id} is deleted.`);
              go('/webhooks');
            }),
          { kind: 'danger' },
        ),
    ],
  });

function rotateDialog(webhook: Webhook, refresh: () => Promise<void>): void {
  const overlap = overlapField('Overlap', {
    hint: 'During the overlap each attempt has a signature of either secret.',
  });
  const dialog = openDialog(['Rotate the secret of ', named(webhook.url)], [
    form(() => [overlap], [overlap.element], {
      action: 'Rotate secret',
      cancel: () => dialog.close(),
      async submit(idempotencyKey) {
        const { body } = await request<NewWebhook>('POST', `/webhooks/${webhook.id}/rotate-secret`, {
          body: { overlap_seconds: Number((overlap.control as HTMLSelectElement).value) },
          idempotencyKey,
        });
        dialog.close();
        if (body.secret) await showSecret('The new secret', body.secret, secretWords(body));
        await refresh();
      },
    }),
  ]);
}
