// Creating a key, and changing one.
import { isProblem, request } from './api';
import { caller, go, isAdministrator, link, View } from './context';
import { sample, showSecret } from './dialogs';
import { h, named } from './dom';
import { Field, field, form, input, select, valueOf } from './form';
import { effectOf } from './format';
import { expiryChoice, firstLimits, limitEditor, metadataEditor, scopeMatrix, timeInput, timeOf } from './key_fields';
import type { Key, NewKey } from './types';
import { callout, card, heading, loadRecord, notify } from './ui';
import { chosenZone } from './zone';

const environments = [
  ['development', 'development'],
  ['staging', 'staging'],
  ['production', 'production'],
] as const;
const addresses = (control: HTMLTextAreaElement): string[] => control.value.split(/[\s,]+/).filter(Boolean);

export const curlLine = (key: string): string => `curl -H 'Authorization: Bearer ${key}' ${location.origin}/api/v1/keys/current`;

export async function revealKey(created: NewKey, title: string, effect = ''): Promise<void> {
  if (created.key === null) {
    notify(
      [
        'The key was created by an earlier attempt, whose answer got lost, and cannot be shown again. ',
        'Rotate it to get a new one.',
        effect && h('p', {}, effect),
      ],
      'warn',
    );
    return;
  }
  await showSecret(title, created.key, [
    effect && h('p', {}, effect),
    h('h3', {}, 'Try it'),
    sample(curlLine(created.key), 'A request with curl'),
    h(
      'p',
      { class: 'hint' },
      'Where the service made its own certificate, add ',
      h('code', {}, '--cacert DATA/tls/certificate.pem'),
      '. The answer is what the key may do and how much of its limits is left.',
    ),
  ]);
}

export function newKeyPage(view: View): void {
  view.title('Create a key');
  const name = field('Name', input({ required: true, maxlength: 100, placeholder: 'Billing worker' }), {
    pointer: '/name',
    hint: 'The application that uses the key.',
  });
  const project = field(
    'Project',
    input({ placeholder: isAdministrator() ? 'default' : caller().project, disabled: !isAdministrator() }),
    { pointer: '/project', optional: true, hint: 'Keys of one project do not see those of another.' },
  );
  const environment = field('Environment', select(environments, 'development'), { pointer: '/environment' });
  const scopes = scopeMatrix(['users:read', 'posts:read'].filter((scope) => isAdministrator() || caller().scopes.includes(scope)));
  const limits = limitEditor(firstLimits());
  const expiry = expiryChoice();
  const begins = field('Valid from', timeInput(null), {
    pointer: '/not_before',
    optional: true,
    hint: `Empty: at once. Time zone: ${chosenZone()}.`,
  });
  const allowed = h('textarea', { rows: 2, spellcheck: 'false', placeholder: '203.0.113.0/24' });
  const allowlist = field('IP allowlist', allowed, {
    pointer: '/ip_allowlist',
    optional: true,
    hint: 'Networks in CIDR notation, one per line. Empty: every address.',
  });
  const metadata = metadataEditor({});
  const [nameControl, projectControl, environmentControl, beginControl] = [name, project, environment, begins].map(
    (each) => each.control as HTMLInputElement,
  ) as [HTMLInputElement, HTMLInputElement, HTMLInputElement, HTMLInputElement];
  const fields = (): Field[] => [
    name,
    project,
    environment,
    scopes.field,
    limits.field,
    ...limits.fields(),
    expiry.field,
    { ...expiry.field, pointer: '/expires_at' },
    begins,
    allowlist,
    metadata.field,
  ];

  view.element.append(
    heading('Create a key', { back: ['Keys', '/keys'] }),
    form(
      fields,
      [
        card('Key', [h('div', { class: 'field-row' }, name.element, environment.element, project.element)]),
        card('Scopes', [scopes.field.element]),
        card('Expiry', [expiry.field.element]),
        card('Rate limits', [limits.field.element]),
        card('IP allowlist and metadata', [
          h('div', { class: 'field-row' }, allowlist.element, begins.element),
          metadata.field.element,
        ]),
      ],
      {
        action: 'Create key',
        cancel: () => go('/keys'),
        async submit(idempotencyKey) {
          const body: Record<string, unknown> = {
            name: nameControl.value,
            environment: environmentControl.value,
            scopes: scopes.scopes(),
            rate_limits: limits.limits(),
            ...expiry.members(),
          };
          if (valueOf(projectControl)) body['project'] = valueOf(projectControl);
          if (timeOf(beginControl)) body['not_before'] = timeOf(beginControl);
          if (addresses(allowed).length > 0) body['ip_allowlist'] = addresses(allowed);
          if (Object.keys(metadata.metadata()).length > 0) body['metadata'] = metadata.metadata();
          const { body: created } = await request<NewKey>('POST', '/keys', { body, idempotencyKey });
          await revealKey(created, 'Your new key');
          go(`/keys/${created.id}`);
        },
      },
    ),
  );
  nameControl.focus();
}

export function editKeyPage(view: View): void {
  const id = view.parameters[0]!;
  view.title(`Edit key ${id}`);
  const region = h('div', {});
  view.element.append(region);
  void loadRecord(region, 'key', ['Keys', '/keys'], async () => {
    const { body: key, etag } = await request<Key>('GET', `/keys/${id}`, { signal: view.signal });
    return [
      heading(['Edit ', named(key.name)], {
        back: [`Key ${id}`, `/keys/${id}`],
        lead: 'A change holds for every request that starts after it was answered.',
      }),
      editForm(key, etag, region),
    ];
  });
}

function editForm(key: Key, etag: string | null, region: HTMLElement): HTMLElement {
  const name = field('Name', input({ value: key.name }), { pointer: '/name' });
  const environment = field('Environment', select(environments, key.environment), { pointer: '/environment' });
  const scopes = scopeMatrix(key.scopes);
  const limits = limitEditor(key.rate_limits);
  const begins = field('Valid from', timeInput(key.not_before), {
    pointer: '/not_before',
    optional: true,
    hint: `Empty: from its creation. Time zone: ${chosenZone()}.`,
  });
  const ends = field('Expires', timeInput(key.expires_at), {
    pointer: '/expires_at',
    optional: true,
    hint: `Empty: never. A later time revives an expired key. Time zone: ${chosenZone()}.`,
  });
  const allowed = h('textarea', { rows: 3, spellcheck: 'false', value: key.ip_allowlist.join('\n') });
  const allowlist = field('IP allowlist', allowed, {
    pointer: '/ip_allowlist',
    optional: true,
    hint: 'Networks in CIDR notation, one per line. Empty: every address.',
  });
  const metadata = metadataEditor(key.metadata);
  const before = JSON.stringify(limits.limits());
  const [nameControl, environmentControl, beginControl, endControl] = [name, environment, begins, ends].map(
    (each) => each.control as HTMLInputElement,
  ) as [HTMLInputElement, HTMLInputElement, HTMLInputElement, HTMLInputElement];
  const firstTimes = [beginControl.value, endControl.value];
  const fields = (): Field[] => [
    name,
    environment,
    scopes.field,
    limits.field,
    ...limits.fields(),
    ends,
    begins,
    allowlist,
    metadata.field,
  ];
  const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
  return form(
    fields,
    [
      card('Key', [h('div', { class: 'field-row' }, name.element, environment.element)]),
      card('Scopes', [scopes.field.element]),
      card('Expiry', [h('div', { class: 'field-row' }, ends.element, begins.element)]),
      card('Rate limits', [limits.field.element]),
      card('IP allowlist and metadata', [allowlist.element, metadata.field.element]),
    ],
    {
      action: 'Save changes',
      cancel: () => go(`/keys/${key.id}`),
      async submit(idempotencyKey) {
        const body: Record<string, unknown> = {};
        if (nameControl.value !== key.name) body['name'] = nameControl.value;
        if (environmentControl.value !== key.environment) body['environment'] = environmentControl.value;
        if (!same([...scopes.scopes()].sort(), [...key.scopes].sort())) body['scopes'] = scopes.scopes();
        if (JSON.stringify(limits.limits()) !== before) body['rate_limits'] = limits.limits();
        if (beginControl.value !== firstTimes[0]) body['not_before'] = timeOf(beginControl);
        if (endControl.value !== firstTimes[1]) body['expires_at'] = timeOf(endControl);
        if (!same(addresses(allowed), key.ip_allowlist)) body['ip_allowlist'] = addresses(allowed);
        const members = metadata.metadata();
        const changed = Object.fromEntries([
          ...Object.entries(members).filter(([member, value]) => key.metadata[member] !== value),
          ...Object.keys(key.metadata)
            .filter((member) => !(member in members))
            .map((member) => [member, null]),
        ]);
        if (Object.keys(changed).length > 0) body['metadata'] = changed;
        if (Object.keys(body).length === 0) {
          notify('Nothing was changed.');
          go(`/keys/${key.id}`);
          return;
        }
        const { body: answer } = await request<Key>('PATCH', `/keys/${key.id}`, {
          body,
          etag,
          idempotencyKey,
        }).catch((error: unknown) => {
          if (isProblem(error, 'precondition_failed')) {
            region.prepend(
              callout(
                'warn',
                'Somebody else has changed this key meanwhile.',
                h('a', { href: link(`/keys/${key.id}`) }, 'See what it is now'),
                'Then change it again: what you entered here was not saved.',
              ),
            );
          }
          throw error;
        });
        notify(effectOf(answer, `Key ${key.id} was changed.`));
        go(`/keys/${key.id}`);
      },
    },
  );
}
