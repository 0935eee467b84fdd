// The audit log, whose chain is verified here: each entry's hash is computed from what the entry says, and compared.
import { read } from './api';
import { prove } from './audit_chain';
import { can, isAdministrator, link, View } from './context';
import { copyButton, openDialog } from './dialogs';
import { Child, fill, h, named } from './dom';
import { ago, moment, number, plural } from './format';
import { filterText, showList, table } from './lists';
import type { AuditEntry, Page } from './types';
import { actionButton, badge, button, callout, code, emptyState, heading, keyLink, problemBox, Tone } from './ui';

const automatic = 2000; // entries that are verified without being asked
const toneOf = (action: string): Tone =>
  /deactivate|delete/.test(action) ? 'bad' : /create|reactivate|put/.test(action) ? 'good' : 'info';

export function auditPage(view: View): void {
  view.title('Audit');
  const verdict = h('div', { 'aria-live': 'polite' });
  view.element.append(
    heading('Audit', { lead: 'Every change of a key, a secret or a webhook: who made it, and from where. Entries are never changed or removed.' }),
    verdict,
  );
  const wrong = new Set<number>();
  showList<AuditEntry>(view, {
    path: '/audit',
    nouns: ['entry', 'entries'],
    shape: 'list',
    filters: ['project'],
    bar: (query) => [isAdministrator() && filterText('Project', 'project', query, { placeholder: 'any', size: 12 })],
    parameters: (query) => ({ project: query.get('project') }),
    nothing: () => emptyState('list', 'No entries yet', 'Every change of a key, a secret or a webhook is recorded here.'),
    show: (entries) => auditTable(entries, wrong),
    csv: [
      ['id', ({ id }) => id],
      ['created_at', (entry) => entry.created_at],
      ['action', ({ action }) => action],
      ['actor_key_id', (entry) => entry.actor_key_id],
      ['address', ({ address }) => address],
      ['key_id', (entry) => entry.key_id],
      ['project', ({ project }) => project],
      ['source', ({ source }) => source],
      ['webhook_id', (entry) => entry.webhook_id],
      ['fields', ({ fields }) => fields.join(' ')],
      ['previous_hash', (entry) => entry.previous_hash],
      ['hash', ({ hash }) => hash],
    ],
  });
  void begin(verdict, wrong, view.signal);
}

const auditTable = (entries: AuditEntry[], wrong: Set<number>): HTMLElement =>
  table(
    'Audit log',
    [
      {
        head: 'Action',
        kind: 'main',
        cell: (entry) => [
          badge(toneOf(entry.action), entry.action),
          wrong.has(entry.id) && badge('bad', 'hash differs'),
          h('span', { class: 'under' }, `#${entry.id}`),
        ],
      },
      { head: 'Target', cell: subject },
      {
        head: 'Actor',
        kind: 'wide',
        cell: (entry) => [
          can('keys:read')
            ? keyLink(entry.actor_key_id)
            : entry.actor_key_id === null
              ? 'the command line'
              : `key ${entry.actor_key_id}`,
          h('span', { class: 'under' }, entry.address ?? ''),
        ],
      },
      { head: 'Fields', kind: 'wide', cell: (entry) => entry.fields.map((name) => [code(name), ' ']) },
      { head: 'Time', cell: (entry) => ago(entry.created_at) },
      {
        head: 'Hash',
        kind: 'widest',
        cell: (entry) =>
          button(h('code', {}, entry.hash.slice(0, 10)), () => void proofDialog(entry), { kind: 'quiet', small: true }),
      },
    ],
    entries,
  );

function subject(entry: AuditEntry): Child {
  const project = entry.project !== null && h('span', { class: 'under' }, 'project ', named(entry.project));
  if (entry.key_id !== null) return [can('keys:read') ? keyLink(entry.key_id) : `key ${entry.key_id}`, project];
  if (entry.webhook_id !== null)
    return [
      can('webhooks:read')
        ? h('a', { href: link(`/webhooks/${entry.webhook_id}`) }, `webhook ${entry.webhook_id}`)
        : `webhook ${entry.webhook_id}`,
      project,
    ];
  return entry.source === null ? '–' : h('span', {}, 'source ', named(entry.source));
}

async function begin(place: HTMLElement, wrong: Set<number>, signal: AbortSignal): Promise<void> {
  const whole = async (): Promise<void> => {
    try {
      await verify(place, wrong, signal);
    } catch (error) {
      if (!signal.aborted)
        fill(
          place,
          problemBox(error, () => void whole()),
        );
    }
  };
  const { pagination } = await read<Page<AuditEntry>>('/audit', { limit: 1 }, signal).catch(() => ({ pagination: { total: 0 } }));
  const total = pagination.total ?? 0;
  if (total === 0 || signal.aborted) return;
  if (total <= automatic) await whole();
  else
    fill(
      place,
      callout(
        'info',
        `${number(total)} entries`,
        'To verify the hash chain, the page fetches and hashes all of them.',
        actionButton('Verify the hash chain', whole, { small: true }),
      ),
    );
}

// From the first entry to the last. Of a caller without `*` entries of other projects are missing, and with them some links.
async function verify(place: HTMLElement, wrong: Set<number>, signal: AbortSignal): Promise<void> {
  let before: AuditEntry | null = null;
  let [entries, links, gaps] = [0, 0, 0];
  const broken: [AuditEntry, string][] = [];
  let cursor: string | null = null;
  const start = performance.now();
  do {
    const page: Page<AuditEntry> = await read<Page<AuditEntry>>('/audit', { limit: 100, cursor }, signal);
    for (const entry of page.data) {
      if ((await prove(entry)).hash !== entry.hash) broken.push([entry, 'its hash is not that of its content']);
      const previous: string | null =
        before === null ? (entry.id === 1 ? '0'.repeat(64) : null) : before.id === entry.id - 1 ? before.hash : null;
      if (previous === null) gaps += 1;
      else if (entry.previous_hash !== previous) broken.push([entry, 'it does not follow the entry before it']);
      else links += 1;
      before = entry;
    }
    entries += page.data.length;
    cursor = page.pagination.next_cursor;
    const total = page.pagination.total ?? entries;
    fill(
      place,
      h(
        'div',
        { class: 'progress' },
        h('progress', { max: total, value: entries, 'aria-label': 'Verified' }),
        ` ${number(entries)} of ${number(total)} verified`,
      ),
    );
  } while (cursor !== null && !signal.aborted);
  if (before === null) return;
  for (const [{ id }] of broken) wrong.add(id);
  const last: AuditEntry = before;
  const time = `${Math.max(1, Math.round(performance.now() - start))} ms`;
  fill(
    place,
    broken.length > 0
      ? callout(
          'bad',
          `The hash chain is broken at ${plural(broken.length, 'place')}.`,
          'The store was tampered with or is damaged. Keep a copy, and compare it with a backup.',
          h(
            'ul',
            {},
            broken.slice(0, 20).map(([{ id }, reason]) => h('li', {}, `Entry ${id}: ${reason}.`)),
          ),
        )
      : callout(
          'good',
          gaps === 0 ? 'The hash chain is valid.' : 'The hash of every visible entry is valid.',
          `${plural(entries, 'hash', 'hashes')} computed from the entries and ${plural(links, 'link')} compared, ` +
            `here in the page, in ${time}.` +
            (gaps > 0 ? ` ${plural(gaps, 'link')} lead to entries of other projects, which your key does not see.` : ''),
          [
            'Entry ',
            String(last.id),
            ' has the hash ',
            h('code', { class: 'hash' }, last.hash),
            ' ',
            copyButton(() => last.hash),
          ],
          'Keep that hash elsewhere: it proves later that nothing before it was changed.',
        ),
  );
}

async function proofDialog(entry: AuditEntry): Promise<void> {
  const { hash: computed, bytes } = await prove(entry);
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  openDialog(
    `Entry ${entry.id}`,
    [
      callout(
        computed === entry.hash ? 'good' : 'bad',
        computed === entry.hash ? 'Its hash is that of its content.' : 'Its hash is not that of its content.',
        ['Recorded ', moment(entry.created_at), '.'],
      ),
      h('p', {}, 'Hash'),
      h('pre', { class: 'json wrap' }, entry.hash),
      h('p', {}, 'Hash of the entry before it'),
      h('pre', { class: 'json wrap' }, entry.previous_hash),
      h(
        'details',
        {},
        h('summary', {}, `The ${bytes.length} bytes that are hashed (SHA-256)`),
        h('pre', { class: 'json wrap', tabindex: 0, role: 'group', 'aria-label': 'Bytes' }, hex),
      ),
    ],
    { wide: true },
  );
}
