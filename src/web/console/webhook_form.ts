// Adding a webhook, and changing one.
import { request } from './api';
import { changeTypes } from './changes';
import { go, View } from './context';
import { showSecret } from './dialogs';
import { Child, h, named } from './dom';
import { check, Field, field, form, group, input, numberOf, select, valueOf } from './form';
import { segments } from './lists';
import type { NewWebhook, Webhook } from './types';
import { card, heading, loadRecord, notify } from './ui';

function typeChoice(first: string[]): { field: Field; types(): string[] } {
  const chosen = new Set(first);
  let all = chosen.has('*') || chosen.size === 0;
  const boxes = [
    ...new Map(
      changeTypes.map((type) => [type.split('.')[0]!, changeTypes.filter((each) => each.startsWith(`${type.split('.')[0]}.`))]),
    ),
  ];
  const list = h(
    'div',
    { class: 'type-groups' },
    boxes.map(([name, types]) =>
      h(
        'fieldset',
        {},
        h('legend', {}, name),
        [`${name}.*`, ...types].map(
          (type) =>
            check(type.endsWith('.*') ? 'all' : type.slice(name.length + 1), {
              checked: chosen.has(type),
              'aria-label': type,
              onchange: (event) => ((event.target as HTMLInputElement).checked ? chosen.add(type) : chosen.delete(type)),
            }).element,
        ),
      ),
    ),
  );
  const paint = (): void => {
    list.hidden = all;
  };
  paint();
  const which = segments(
    'Which changes',
    [
      ['all', 'All changes'],
      ['some', 'Some types'],
    ],
    all ? 'all' : 'some',
    (value) => {
      all = value === 'all';
      chosen.delete('*');
      paint();
    },
  );
  return {
    field: group('Changes', [which, list], { pointer: '/types' }),
    types: () => (all ? ['*'] : [...chosen].filter((type) => type.endsWith('.*') || !chosen.has(`${type.split('.')[0]}.*`))),
  };
}

function webhookForm(
  webhook: Webhook | null,
  submit: (body: Record<string, unknown>, idempotencyKey: string) => Promise<void>,
): HTMLElement {
  const url = field(
    'URL',
    input({ type: 'url', value: webhook?.url ?? '', placeholder: 'https://example.com/hooks/latchkey' }),
    { pointer: '/url', hint: 'https, reachable from the service. Private networks only where the operator allows them.' },
  );
  const description = field('Description', input({ value: webhook?.description ?? '' }), {
    pointer: '/description',
    optional: true,
  });
  const types = typeChoice(webhook?.types ?? ['*']);
  const ordered = check('Ordered: one delivery at a time, in the order of the changes', { checked: webhook?.ordered ?? false });
  const pace = field(
    'Requests per second',
    input({ type: 'number', min: 1, max: 10_000, value: webhook?.max_per_second ?? '', placeholder: 'no limit' }),
    { pointer: '/max_per_second', optional: true },
  );
  const signatures = field(
    'Signatures',
    select(
      [
        ['v1', 'HMAC-SHA-256, a shared secret'],
        ['v1a', 'Ed25519, a public key'],
        ['v1,v1a', 'both'],
      ],
      (webhook?.signatures ?? ['v1']).join(','),
    ),
    { pointer: '/signatures' },
  );
  const headers = h('textarea', {
    rows: 2,
    spellcheck: 'false',
    placeholder: 'X-Team: billing',
    value: Object.entries(webhook?.headers ?? {})
      .map(([name, value]) => `${name}: ${value}`)
      .join('\n'),
  });
  const extra = field('Headers', headers, {
    pointer: '/headers',
    optional: true,
    hint: 'One per line, sent with each attempt. Stored encrypted; values are shown masked, and a masked one stays as it is.',
  });
  const fields = (): Field[] => [url, description, types.field, pace, signatures, extra];
  const text = (one: Field): string => (one.control as HTMLInputElement).value.trim();
  return form(
    fields,
    [
      card('Receiver', [url.element, description.element]),
      card('Types of changes', [types.field.element]),
      card('Delivery', [ordered.element, h('div', { class: 'field-row' }, signatures.element, pace.element), extra.element]),
    ],
    {
      action: webhook === null ? 'Add webhook' : 'Save changes',
      cancel: () => go(webhook === null ? '/webhooks' : `/webhooks/${webhook.id}`),
      async submit(idempotencyKey) {
        const lines = headers.value
          .split('\n')
          .filter((line) => line.trim() !== '')
          .map((line) => line.split(/:\s*(.*)/s));
        const sent: Record<string, string | null> = Object.fromEntries(
          lines.map(([name = '', value = '']) => [name.trim(), value.trim()]),
        );
        // A merge patch removes what is null.
        for (const name of Object.keys(webhook?.headers ?? {})) if (!(name in sent)) sent[name] = null;
        const body: Record<string, unknown> = {
          url: text(url),
          types: types.types(),
          ordered: ordered.control.checked,
          max_per_second: numberOf(pace.control as HTMLInputElement),
          signatures: text(signatures).split(','),
          headers: sent,
        };
        if (text(description) !== (webhook?.description ?? ''))
          body['description'] = valueOf(description.control as HTMLInputElement);
        await submit(body, idempotencyKey);
      },
    },
  );
}

export const secretWords = (webhook: NewWebhook): Child[] => [
  h(
    'p',
    {},
    'The receiver verifies the signature of each attempt with it; libraries of ',
    h('a', { href: 'https://www.standardwebhooks.com', rel: 'noopener noreferrer', target: '_blank' }, 'Standard Webhooks'),
    ' do that in most languages.',
  ),
  webhook.public_key !== null && [h('p', {}, 'Public key, for v1a:'), h('pre', { class: 'json wrap' }, webhook.public_key)],
];

export function newWebhookPage(view: View): void {
  view.title('Add a webhook');
  view.element.append(
    heading('Add a webhook', { back: ['Webhooks', '/webhooks'], lead: 'It gets the changes after its creation.' }),
    webhookForm(null, async (body, idempotencyKey) => {
      const { body: webhook } = await request<NewWebhook>('POST', '/webhooks', { body, idempotencyKey });
      if (webhook.secret) await showSecret('Secret of the webhook', webhook.secret, secretWords(webhook));
      go(`/webhooks/${webhook.id}`);
    }),
  );
}

export function editWebhookPage(view: View): void {
  const id = view.parameters[0]!;
  view.title(`Edit webhook ${id}`);
  const region = h('div', {});
  view.element.append(region);
  void loadRecord(region, 'webhook', ['Webhooks', '/webhooks'], async () => {
    const { body: webhook, etag } = await request<Webhook>('GET', `/webhooks/${id}`, { signal: view.signal });
    return [
      heading(['Edit ', named(webhook.url)], { back: [`Webhook ${id}`, `/webhooks/${id}`] }),
      webhookForm(webhook, async (body, idempotencyKey) => {
        await request('PATCH', `/webhooks/${id}`, { body, etag, idempotencyKey });
        notify('Saved.');
        go(`/webhooks/${id}`);
      }),
    ];
  });
}
