// What came of each attempt to reach a webhook, and sending again.
import { isProblem, read, request } from './api';
import { now } from './clock';
import { poll, setQuery, View } from './context';
import { openDialog } from './dialogs';
import { fill, h } from './dom';
import { Field, field, form, input } from './form';
import { moment, number, plural } from './format';
import { segments } from './lists';
import type { Attempt, Deliveries, Delivery } from './types';
import { badge, busy, button, card, emptyState, facts, notify, problemBox, skeleton, tell, Tone } from './ui';
import { mayTell } from './webhook_rights';
import { absolute, chosenZone, inputOf, timeOfInput, timeWithSeconds, when } from './zone';

const deliveryTones: Record<Delivery['state'], Tone> = { pending: 'warn', delivered: 'good', failed: 'bad' };

const pageSize = 50;

// The deliveries before a sequence, newest first. A page that ended early may be empty although there are more (api.md §17).
async function readDeliveries(id: string, before: number | null, state: string | null, signal: AbortSignal): Promise<Deliveries> {
  for (;;) {
    const page = await read<Deliveries>(`/webhooks/${id}/deliveries`, { limit: pageSize, before, state }, signal);
    if (page.data.length > 0 || !page.pagination.has_more) return page;
    before = page.pagination.next_before;
  }
}

// Changes are sent again: those that are chosen in the list, or those of a time.
function replayDialog(id: string, repaint: () => void): void {
  const timeField = (label: string, time: number, pointer: string): Field =>
    field(label, input({ type: 'datetime-local', value: inputOf(time) }), { pointer, hint: `Time zone: ${chosenZone()}.` });
  const from = timeField('From', now() - 3_600_000, '/from');
  const to = timeField('To', now() + 60_000, '/to');
  const time = (one: Field): string | null => timeOfInput((one.control as HTMLInputElement).value);
  const dialog = openDialog('Send changes again', [
    h(
      'p',
      {},
      'All changes of a time range that match the types of this webhook, under the same ids: a receiver that has seen one ignores it. ' +
        'To send single ones, select them in the list.',
    ),
    form(() => [from, to], [h('div', { class: 'field-row' }, from.element, to.element)], {
      action: 'Send them again',
      cancel: () => dialog.close(),
      async submit(idempotencyKey) {
        await request('POST', `/webhooks/${id}/replay`, { body: { from: time(from), to: time(to) }, idempotencyKey });
        dialog.close();
        notify('The changes are sent again.');
        repaint();
      },
    }),
  ]);
}

export function deliveriesCard(region: HTMLElement, id: string, view: View): () => void {
  const tools = h('div', {});
  const list = h('div', {}, skeleton());
  const chosen = new Set<number>();
  const opened = new Set<number>();
  const replayChosen = async (): Promise<void> => {
    await request('POST', `/webhooks/${id}/replay`, { body: { sequences: [...chosen] } });
    notify(`${plural(chosen.size, 'change')} sent again.`);
    chosen.clear();
    await refresh();
  };
  const replay: HTMLButtonElement = button(
    'Send again',
    () => {
      if (chosen.size === 0) replayDialog(id, () => void refresh());
      else void busy(replay, () => replayChosen().catch(tell));
    },
    { small: true },
  );
  let before: number | null = null;
  let query = view.query;
  region.append(card('Deliveries', [list], { actions: [mayTell() && replay, tools] }));
  const paint = (): void =>
    fill(
      tools,
      segments(
        'State',
        [
          ['', 'All'],
          ['pending', 'Pending'],
          ['delivered', 'Delivered'],
          ['failed', 'Failed'],
        ],
        query.get('state') ?? '',
        (state) => setQuery({ state }),
      ),
    );
  const paintReplay = (): void => {
    replay.textContent = chosen.size === 0 ? 'Send again' : `Send ${chosen.size} again`;
  };
  const move = (text: string, shape: string, target: number | null): HTMLElement =>
    button(
      text,
      () => {
        before = target;
        void refresh();
      },
      { small: true, shape },
    );
  let shown = '';
  let generation = 0;
  const refresh = async (): Promise<void> => {
    const mine = (generation += 1);
    try {
      const page = await readDeliveries(id, before, query.get('state'), view.signal);
      if (mine !== generation) return;
      paintReplay();
      const text = JSON.stringify(page);
      if (text === shown) return;
      shown = text;
      const focus = [...list.querySelectorAll('input, summary, button')].indexOf(document.activeElement ?? list);
      fill(
        list,
        page.data.length === 0
          ? emptyState(
              'send',
              before === null ? 'No deliveries' : 'No older deliveries',
              query.has('state')
                ? 'None is in this state.'
                : 'The next change of the types of this webhook appears here, with each attempt. A test makes one at once.',
            )
          : h(
              'ol',
              { class: 'feed deliveries' },
              page.data.map((delivery) => deliveryEntry(delivery, chosen, opened, paintReplay)),
            ),
        (page.pagination.has_more || before !== null) &&
          h(
            'div',
            { class: 'actions end' },
            before !== null && move('Newest', 'back', null),
            page.pagination.has_more && move('Older', 'arrow', page.pagination.next_before),
          ),
      );
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
  const box =
    mayTell() &&
    h('input', {
      type: 'checkbox',
      checked: chosen.has(delivery.sequence),
      'aria-label': `Choose change ${delivery.sequence}`,
      onchange: (event) => {
        if ((event.target as HTMLInputElement).checked) chosen.add(delivery.sequence);
        else chosen.delete(delivery.sequence);
        changed();
      },
    });
  return h(
    'li',
    { class: 'delivery' },
    box,
    h(
      'details',
      {
        open: opened.has(delivery.sequence),
        ontoggle: (event) =>
          (event.target as HTMLDetailsElement).open ? opened.add(delivery.sequence) : opened.delete(delivery.sequence),
      },
      h(
        'summary',
        {},
        badge(deliveryTones[delivery.state], delivery.state),
        h('code', { class: 'kind' }, delivery.type),
        h(
          'span',
          { class: 'subject faint' },
          last ? [h('time', { datetime: last.at }, when(last.at, timeWithSeconds)), ' ', outcome(last)] : 'not tried yet',
          delivery.next_attempt_at !== null && [
            ' · next attempt ',
            h('time', { datetime: delivery.next_attempt_at }, when(delivery.next_attempt_at, timeWithSeconds)),
          ],
        ),
        h('span', { class: 'faint mono sequence' }, `#${delivery.sequence}`),
      ),
      h(
        'div',
        {},
        facts(
          ['Id', h('code', { class: 'hash' }, delivery.message_id)],
          delivery.next_attempt_at !== null && ['Next attempt', moment(delivery.next_attempt_at)],
        ),
        h(
          'ol',
          { class: 'attempts' },
          delivery.attempts.map((attempt, i) =>
            h(
              'li',
              {},
              h(
                'div',
                { class: 'ranking-row' },
                h('span', {}, `Attempt ${i + 1}: `, h('strong', {}, outcome(attempt))),
                h('time', { class: 'faint', datetime: attempt.at }, absolute(attempt.at)),
              ),
              attempt.response &&
                h(
                  'pre',
                  { class: 'json wrap', tabindex: 0, role: 'group', 'aria-label': 'Answer of the receiver' },
                  attempt.response,
                ),
            ),
          ),
        ),
      ),
    ),
  );
}

const outcome = ({ status, error, duration_ms: time }: Attempt): string =>
  status !== null ? `answered ${status} in ${number(time)} ms` : `${error ?? 'no answer'} after ${number(time)} ms`;
