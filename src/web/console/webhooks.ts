// Webhooks: the addresses to which changes are sent, and each of them.
import { read, request } from './api';
import { now } from './clock';
import { can, go, link, View } from './context';
import { deliveriesCard } from './deliveries';
import { confirm, openDialog, showSecret } from './dialogs';
import { Child, fill, h, named } from './dom';
import { Field, field, form, input, overlapField } from './form';
import { ago, moment, number, relative } from './format';
import { listInto, pager, table } from './lists';
import type { NewWebhook, Page, Webhook } from './types';
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
  load,
  notify,
} from './ui';
import { secretWords } from './webhook_form';
import { mayTell, mayWrite } from './webhook_rights';

const reasons = { manual: 'switched off', gone: 'its receiver answered 410', failing: 'every attempt of five days failed', revoked: 'the key that created it was compromised' };

const stateOf = (webhook: Webhook): HTMLElement =>
  !webhook.enabled
    ? badge('bad', 'disabled', webhook.disabled_reason ? reasons[webhook.disabled_reason] : '')
    : webhook.failing_since !== null
      ? badge('warn', ['failing since ', relative(webhook.failing_since)])
      : badge('good', 'enabled');
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
      lead: 'Addresses to which changes are posted as they happen, signed as Standard Webhooks says.',
      actions: [mayTell() && linkButton('Add endpoint', link('/webhooks/new'), { kind: 'primary', shape: 'plus' })],
    }),
  );
  listInto(
    view,
    () => '',
    async (query) => {
      const { data, pagination } = await read<Page<Webhook>>(
        '/webhooks',
        { page: query.get('page'), limit: 50, sort: '-id' },
        view.signal,
      );
      if (data.length === 0) {
        return emptyState(
          'send',
          'No endpoint yet',
          'An endpoint is an https address of yours. Each change is posted to it until it answers 2xx: ' +
            'at once, then again and again for three days.',
          mayTell() && linkButton('Add endpoint', link('/webhooks/new'), { kind: 'primary', shape: 'plus' }),
          linkButton('How to receive them', '/docs'),
        );
      }
      return [
        table(
          'Webhooks',
          [
            {
              head: 'Endpoint',
              kind: 'main',
              cell: (webhook) => [
                h('a', { class: 'strong break', href: link(`/webhooks/${webhook.id}`) }, named(webhook.url)),
                h('span', { class: 'under' }, `#${webhook.id} `, webhook.description && named(webhook.description)),
              ],
            },
            { head: 'State', cell: stateOf },
            { head: 'Changes', kind: 'wide', cell: (webhook) => typeList(webhook.types) },
            { head: 'Dealt with', kind: 'widest', cell: (webhook) => `up to #${number(webhook.position)}` },
            { head: 'Created', kind: 'wide', cell: (webhook) => ago(webhook.created_at) },
          ],
          data,
          { href: (webhook) => link(`/webhooks/${webhook.id}`) },
        ),
        pager(pagination, 'endpoint'),
      ];
    },
  );
}

export function webhookPage(view: View): void {
  const id = view.parameters[0]!;
  view.title(`Webhook ${id}`);
  const head = h('div', {});
  const notes = h('div', {});
  const side = h('div', {});
  const deliveries = h('div', {});
  view.element.append(head, notes, h('div', { class: 'columns wide-first' }, deliveries, side));
  const refresh = (): Promise<void> =>
    load(head, async () => {
      const webhook = await read<Webhook>(`/webhooks/${id}`, {}, view.signal);
      view.title(webhook.url);
      fill(
        notes,
        !webhook.enabled &&
          callout(
            'warn',
            ['It is disabled: ', webhook.disabled_reason ? reasons[webhook.disabled_reason] : '', '.'],
            ['Since ', moment(webhook.disabled_at), '. Once enabled it goes on where it stopped, as far as changes are kept.'],
            mayTell() && actionButton('Enable', () => enable(webhook, refresh), { kind: 'primary', small: true }),
          ),
        webhook.enabled &&
          webhook.failing_since !== null &&
          callout(
            'warn',
            ['Its attempts fail since ', moment(webhook.failing_since), '.'],
            'See below what the receiver answered. After five days it is disabled by itself.',
          ),
      );
      fill(
        side,
        card(
          'Endpoint',
          [
            facts(
              ['Changes', typeList(webhook.types)],
              ['Order', webhook.ordered ? 'one after the other' : 'up to 32 at a time'],
              ['Pace', webhook.max_per_second === null ? 'no limit' : `at most ${number(webhook.max_per_second)} a second`],
              ['Signed with', webhook.signatures.join(', ')],
              webhook.public_key !== null && ['Public key', h('code', { class: 'hash' }, webhook.public_key)],
              [
                'Headers',
                Object.keys(webhook.headers).length === 0
                  ? 'none of its own'
                  : Object.keys(webhook.headers).map((name) => [code(name), ' ']),
              ],
              ['Dealt with', `changes up to #${number(webhook.position)}`],
              webhook.secret_rotation_ends_at !== null &&
                Date.parse(webhook.secret_rotation_ends_at) > now() && [
                  'The secret before signs until',
                  moment(webhook.secret_rotation_ends_at),
                ],
              ['Project', webhook.project === null ? 'all' : named(webhook.project)],
              ['Created', moment(webhook.created_at)],
              ['Created by', can('keys:read') ? keyLink(webhook.created_by) : String(webhook.created_by ?? '–')],
            ),
          ],
          { actions: [mayTell() && h('a', { href: link(`/webhooks/${id}/edit`) }, 'Change')] },
        ),
      );
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
      mayTell() && webhook.enabled && button('Send again', () => replayDialog(webhook, repaint), { shape: 'refresh' }),
      mayWrite() && button('New secret', () => rotateDialog(webhook, refresh)),
      mayTell() &&
        webhook.enabled &&
        actionButton('Disable', async () => {
          await request('PATCH', `/webhooks/${webhook.id}`, { body: { enabled: false } });
          notify('The endpoint is disabled.');
          await refresh();
        }),
      mayWrite() &&
        button(
          'Delete',
          () =>
            void confirm('Delete the endpoint?', ['What was not delivered yet is not.'], 'Delete endpoint', async () => {
              await request('DELETE', `/webhooks/${webhook.id}`);
              notify(`Webhook ${webhook.id} is deleted.`);
              go('/webhooks');
            }),
          { kind: 'danger' },
        ),
    ],
  });

function rotateDialog(webhook: Webhook, refresh: () => Promise<void>): void {
  const overlap = overlapField('Both secrets sign for', {
    hint: 'In that time each attempt has two signatures: change the receiver without missing one.',
  });
  const dialog = openDialog('A new secret', [
    form(() => [overlap], [overlap.element], {
      action: 'Make new secret',
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

function replayDialog(webhook: Webhook, repaint: () => void): void {
  const local = (time: number): string => new Date(time - new Date(time).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  const from = field('From', input({ type: 'datetime-local', value: local(now() - 3_600_000) }), { pointer: '/from' });
  const to = field('To', input({ type: 'datetime-local', value: local(now() + 60_000) }), { pointer: '/to' });
  const time = (one: Field): string => new Date((one.control as HTMLInputElement).value).toISOString();
  const dialog = openDialog('Send changes again', [
    h(
      'p',
      {},
      'All changes of a time that this endpoint is told of, under the same ids: a receiver that has seen one ignores it. ' +
        'To send single ones, choose them in the list.',
    ),
    form(() => [from, to], [h('div', { class: 'field-row' }, from.element, to.element)], {
      action: 'Send again',
      cancel: () => dialog.close(),
      async submit(idempotencyKey) {
        await request('POST', `/webhooks/${webhook.id}/replay`, { body: { from: time(from), to: time(to) }, idempotencyKey });
        dialog.close();
        notify('They are sent again.');
        repaint();
      },
    }),
  ]);
}
