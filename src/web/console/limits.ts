// What is left of the limits of a key.
import { Child, h, named } from './dom';
import { duration, limitText, number } from './format';
import type { LiveLimit } from './types';

export function limitMeters({ rate_limits: limits }: { rate_limits: LiveLimit[] }): Child {
  if (limits.length === 0) return h('p', { class: 'quiet-text' }, 'No rate limit.');
  return h(
    'ul',
    { class: 'meters' },
    limits.map((limit) => {
      const most = limit.burst ?? limit.limit;
      return h(
        'li',
        {},
        h(
          'div',
          { class: 'ranking-row' },
          h('span', {}, named(limit.name), h('span', { class: 'faint' }, ` ${limitText(limit)}`)),
          h('span', { class: 'figure' }, `${number(limit.remaining)} left`),
        ),
        h('meter', {
          min: 0,
          max: most,
          low: most * 0.2,
          high: most * 0.5,
          optimum: most,
          value: limit.remaining,
          'aria-label': `${limit.name}: ${limit.remaining} of ${most} left`,
        }),
        limit.remaining < most && h('p', { class: 'faint' }, `full in ${duration(limit.full_in_seconds)}`),
      );
    }),
  );
}
