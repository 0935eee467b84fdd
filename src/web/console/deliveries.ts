// What came of each attempt to reach an endpoint, and sending again.
import { isProblem, read, request } from './api';
import { poll, setQuery, View } from './context';
import { fill, h } from './dom';
import { absolute, moment, number, plural } from './format';
import { segments } from './lists';
import type { Attempt, Deliveries, Delivery } from './types';
import { badge, busy, button, card, emptyState, facts, notify, problemBox, tell, Tone } from './ui';
import { mayTell } from './webhook_rights';

const deliveryTones: Record<Delivery['state'], Tone> = { pending: 'warn', delivered: 'good', failed: 'bad' };

export function deliveriesCard(region: HTMLElement, id: string, view: View): () => void {
  const tools = h('div', {});
  const list = h('div', {});
  const replay: HTMLButtonElement = button(
    'Send again',
    () =>
      void busy(replay, () =>
        request('POST', `/webhooks/${id}/replay`, { body: { sequences: [...chosen] } })
          .then(() => {
            notify(`${plural(chosen.size, 'change')} sent again.`);
            chosen.clear();
            void refresh();
          })
          .catch(tell),
      ),
    { small: true, kind: 'primary', disabled: true },
  );
  const chosen = new Set<number>();
  const opened = new Set<number>();
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
    replay.disabled = chosen.size === 0;
    replay.textContent = chosen.size === 0 ? 'Send again' : `Send ${chosen.size} again`;
  };
  let shown = '';
  const refresh = async (): Promise<void> => {
    try {
      const page = await read<Deliveries>(
        `/webhooks/${id}/deliveries`,
        { limit: 50, before, state: query.get('state') },
        view.signal,
      );
      paintReplay();
      const now = JSON.stringify(page);
      if (now === shown) return;
      shown = now;
      const focus = [...list.querySelectorAll('input, summary, button')].indexOf(document.activeElement ?? list);
      fill(
        list,
        page.data.length === 0
          ? emptyState(
              'send',
              'No delivery',
              query.has('state')
                ? 'None is in this state.'
                : 'The next change that this endpoint is told of stands here, with each attempt. A test makes one at once.',
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
            before !== null &&
              button(
                'Newest',
                () => {
                  before = null;
                  void refresh();
                },
                { small: true },
              ),
            page.pagination.has_more &&
              button(
                'Older',
                () => {
                  before = page.pagination.next_before;
                  void refresh();
                },
                { small: true, shape: 'arrow' },
              ),
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
        h('span', { class: 'subject faint' }, last ? outcome(last) : 'not tried yet'),
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
