// Events from outside: what other services reported, and the secrets by which they are verified.
import { read, request } from './api';
import { now } from './clock';
import { can, go, link, View } from './context';
import { confirm, copyButton, openDialog, sample, showSecret } from './dialogs';
import { h, named } from './dom';
import { field, form, input, overlapField, select, valueOf } from './form';
import { ago, effectOf, escapeControls, indentJson, memberText, moment, plural } from './format';
import { filterText, showList, table, tabs } from './lists';
import type { EventSecret, EventSource, InboundEvent } from './types';
import { badge, button, callout, card, code, emptyState, facts, heading, keyLink, linkButton, load, loadRecord, notify } from './ui';

const sections = [
  ['Received', '/events'],
  ['Sources', '/sources'],
] as const;
const verifiedBadge = (verified: boolean): HTMLElement =>
  verified
    ? badge('good', 'verified', 'Its signature is valid')
    : badge('idle', 'not verified', 'Its source had no secret: only the key was checked');
const explanation =
  'An outside service reports its events with POST /events/{source}. They are kept byte for byte, each delivery once; ' +
  'with a secret, only those that are signed.';

export function eventsPage(view: View): void {
  view.title('Events');
  view.element.append(
    heading('Events', { lead: 'Events that external services have sent, with their payloads as received.' }),
    can('events:manage') ? tabs('Events', '/events', sections) : '',
  );
  showList<InboundEvent>(view, {
    path: '/events',
    nouns: ['event', 'events'],
    shape: 'inbox',
    filters: ['source'],
    bar: (query) => [filterText('Source', 'source', query, { placeholder: 'any', size: 14 })],
    parameters: (query) => ({ source: query.get('source') }),
    nothing: () =>
      emptyState(
        'inbox',
        'No events yet',
        explanation,
        can('events:manage') && linkButton('Set up a source', link('/sources'), { kind: 'primary' }),
        linkButton('Documentation', '/docs/external-events'),
      ),
    show: (events) =>
      table(
        'Events',
        [
          {
            head: 'Source',
            kind: 'main',
            cell: (event) => [
              h('a', { class: 'strong', href: link(`/events/${event.id}`) }, named(event.source)),
              h('span', { class: 'under' }, `#${event.id}`),
            ],
          },
          { head: 'Verified', cell: (event) => verifiedBadge(event.verified) },
          {
            head: 'Payload',
            kind: 'widest',
            cell: (event) => h('code', { class: 'preview' }, escapeControls(JSON.stringify(event.payload).slice(0, 120))),
          },
          {
            head: 'Delivery',
            kind: 'wide',
            cell: (event) =>
              event.delivery_id === null ? h('span', { class: 'faint' }, '–') : named(event.delivery_id, { class: 'mono clip' }),
          },
          { head: 'Received', cell: (event) => ago(event.received_at) },
        ],
        events,
        { href: (event) => link(`/events/${event.id}`) },
      ),
    csv: [
      ['id', ({ id }) => id],
      ['source', ({ source }) => source],
      ['delivery_id', (event) => event.delivery_id],
      ['key_id', (event) => event.key_id],
      ['verified', ({ verified }) => verified],
      ['received_at', (event) => event.received_at],
      ['payload', ({ payload }) => JSON.stringify(payload)],
    ],
  });
}

export function eventPage(view: View): void {
  const id = view.parameters[0]!;
  view.title(`Event ${id}`);
  const region = h('div', {});
  view.element.append(region);
  void loadRecord(region, 'event', ['Events', '/events'], async () => {
    const { body: event, text } = await request<InboundEvent>('GET', `/events/${id}`, { signal: view.signal });
    const payload = memberText(text, 'payload') ?? JSON.stringify(event.payload);
    return [
      heading([named(event.source), ` #${event.id}`], {
        back: ['Events', '/events'],
        lead: [verifiedBadge(event.verified), ' received ', ago(event.received_at)],
      }),
      h(
        'div',
        { class: 'columns wide-first' },
        card(
          'Payload',
          [
            h(
              'pre',
              { class: 'json', tabindex: 0, role: 'group', 'aria-label': 'Payload' },
              h('code', {}, escapeControls(indentJson(payload))),
            ),
          ],
          { actions: [copyButton(() => payload, 'Copy as sent')] },
        ),
        card('Delivery', [
          facts(
            ['Source', h('a', { href: link('/events', { source: event.source }) }, named(event.source))],
            ['Delivery', event.delivery_id === null ? 'no id' : named(event.delivery_id, { class: 'mono' })],
            ['Key', can('keys:read') ? keyLink(event.key_id, '–') : `key ${event.key_id ?? '–'}`],
            ['Received', moment(event.received_at)],
            ['Signature', event.verified ? 'valid' : 'not verified: the source had no secret'],
          ),
        ]),
      ),
    ];
  });
}

// ---- sources ----

const sourcesMax = 1000;

async function allSources(signal: AbortSignal): Promise<EventSource[]> {
  const sources: EventSource[] = [];
  for (let more = true; more && sources.length < sourcesMax; ) {
    const page = await read<{ data: EventSource[]; has_more: boolean }>('/events/sources', { after: sources.at(-1)?.source }, signal);
    sources.push(...page.data);
    more = page.has_more;
  }
  return sources;
}

export function sourcesPage(view: View): void {
  view.title('Sources of events');
  const region = h('div', {});
  const refresh = (): Promise<void> =>
    load(region, async () => {
      const sources = await allSources(view.signal);
      if (sources.length === 0)
        return emptyState(
          'inbox',
          'No source yet',
          explanation,
          button('Set up a source', () => secretDialog(null, refresh), { kind: 'primary' }),
        );
      return sources.map((source) => sourceCard(source, refresh));
    });
  view.element.append(
    heading('Events', {
      lead: 'External services that send events, and the secrets that verify them.',
      actions: [button('Set up a source', () => secretDialog(null, refresh), { kind: 'primary', shape: 'plus' })],
    }),
    tabs('Events', '/sources', sections),
    region,
  );
  void refresh();
}

const formatNames = { standard: 'Standard Webhooks', github: 'GitHub', stripe: 'Stripe' };
// The format in which a source of that name signs, if nobody has said.
const formatOf = (source: string): EventSecret['format'] =>
  /github/.test(source) ? 'github' : /stripe/.test(source) ? 'stripe' : 'standard';

function sourceCard({ source, events, secret }: EventSource, refresh: () => Promise<void>): HTMLElement {
  const overlaps = typeof secret?.rotation_ends_at === 'string' && Date.parse(secret.rotation_ends_at) > now();
  return card(
    named(source),
    [
      secret === null
        ? callout(
            'warn',
            'No secret',
            'Events are accepted without a signature from every key with this scope. Set the secret that the sender signs with.',
          )
        : facts(
            ['Signature format', formatNames[secret.format]],
            ['Secret since', moment(secret.created_at)],
            overlaps && ['Previous secret valid until', moment(secret?.rotation_ends_at)],
          ),
      facts(
        ['URL', [code(`${location.origin}/api/v1/events/${source}`)]],
        ['Events', can('events:read') ? h('a', { href: link('/events', { source }) }, plural(events, 'event')) : '–'],
      ),
    ],
    {
      actions: [
        button(secret === null ? 'Set secret' : 'New secret', () => secretDialog(source, refresh, secret?.format ?? formatOf(source)), { small: true }),
        secret !== null &&
          button(
            'Remove secret',
            () =>
              void confirm(
                ['Remove the secret of ', named(source), '?'],
                [`From then on, events of ${source} are accepted without a signature.`],
                'Remove secret',
                async () => {
                  await request('DELETE', `/events/${source}/secret`);
                  notify(`The secret of ${source} is removed.`);
                  await refresh();
                },
              ),
            { kind: 'danger', small: true },
          ),
      ],
    },
  );
}

function secretDialog(source: string | null, refresh: () => Promise<void>, format: EventSecret['format'] = 'standard'): void {
  const name = field('Source', input({ value: source ?? '', placeholder: 'github', maxlength: 32 }), {
    pointer: '/source',
    hint: 'Small letters, digits and -: it becomes part of the URL.',
  });
  const kind = field(
    'Signature format',
    select(
      [
        ['standard', 'Standard Webhooks'],
        ['github', 'GitHub'],
        ['stripe', 'Stripe'],
      ],
      format,
    ),
    { pointer: '/format' },
  );
  let isChosen = false;
  kind.control.addEventListener('change', () => {
    isChosen = true;
  });
  name.control.addEventListener('input', () => {
    if (!isChosen) (kind.control as HTMLSelectElement).value = formatOf((name.control as HTMLInputElement).value);
  });
  const given = field('Secret', input({ type: 'password', placeholder: 'empty: one is generated', 'data-1p-ignore': true }), {
    pointer: '/secret',
    optional: true,
    hint: 'Stripe assigns its own: paste it here.',
  });
  const overlap = overlapField('Previous secret valid for', { chosen: '0' });
  const fields = source === null ? [name, kind, given, overlap] : [kind, given, overlap];
  const dialog = openDialog(source === null ? 'Set up a source' : ['A new secret for ', named(source)], [
    form(
      () => fields,
      fields.map(({ element }) => element),
      {
        action: 'Set secret',
        cancel: () => dialog.close(),
        async submit() {
          const target = source ?? valueOf(name.control as HTMLInputElement) ?? '';
          if (!/^[a-z][a-z0-9-]{0,31}$/.test(target))
            return name.showError('A small letter first, then small letters, digits and -, 32 at most.');
          const secretInput = given.control as HTMLInputElement;
          const { body } = await request<EventSecret>('PUT', `/events/${target}/secret`, {
            body: {
              format: (kind.control as HTMLSelectElement).value,
              overlap_seconds: Number((overlap.control as HTMLSelectElement).value),
              ...(secretInput.value ? { secret: secretInput.value } : {}),
            },
          });
          secretInput.value = '';
          dialog.close();
          const effect = effectOf(body, `The secret of ${target} is set.`);
          if (body.secret)
            await showSecret(`The secret of ${target}`, body.secret, [
              h('p', {}, effect),
              h('p', {}, 'Enter it where the sender asks for a secret, with this URL:'),
              sample(`${location.origin}/api/v1/events/${target}`, 'URL'),
              h(
                'p',
                { class: 'hint' },
                'The sender also needs a key with the scope ',
                code(`events:write:${target}`),
                ', in a header or as ?api_key=.',
              ),
            ]);
          else notify(effect);
          await refresh();
          if (location.hash !== link('/sources')) go('/sources');
        },
      },
    ),
  ]);
}
