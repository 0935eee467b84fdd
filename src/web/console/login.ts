// A key is exchanged for a session: sent once, and kept nowhere in the page.
import { isProblem, logIn, Problem } from './api';
import { fill, h, icon } from './dom';
import { busy, button, callout, logo, problemBox } from './ui';

const reasons: Record<string, [string, string]> = {
  session_invalid: ['Your session has ended', 'Log in again to continue.'],
  key_missing: ['Your session has ended', 'Log in again to continue.'],
  key_deactivated: ['The key of this session was deactivated', 'Log in with another one.'],
  key_expired: ['The key of this session has expired', 'Log in with another one.'],
  ip_not_allowed: ['The key of this session may not be used from this address', 'Its IP allowlist or your address has changed.'],
};

export function loginPage(reason: Problem | string | null, done: () => Promise<void>): HTMLElement {
  const trouble = h('div', {});
  const error = h('p', { class: 'field-error', id: 'key-error' });
  // Without a name, so that no form can send it, and without a password manager, which would keep it.
  const input = h('input', {
    id: 'key',
    class: 'key-input',
    type: 'password',
    autocomplete: 'off',
    spellcheck: 'false',
    autocapitalize: 'off',
    'aria-describedby': 'key-hint key-error',
    'data-1p-ignore': true,
    'data-lpignore': 'true',
  });
  const submit = button('Log in', null, { kind: 'primary', type: 'submit' });
  const send = async (): Promise<void> => {
    fill(trouble);
    const key = input.value.trim();
    if (!/^[A-Za-z0-9_.~+/=-]{1,256}$/.test(key)) {
      error.textContent =
        key === '' ? 'Enter a key.' : 'This is no key: a key has no spaces and no other characters than letters, digits and _ . ~ + / = -';
      input.setAttribute('aria-invalid', 'true');
      input.focus();
      return;
    }
    input.value = '';
    error.textContent = '';
    input.removeAttribute('aria-invalid');
    try {
      await logIn(key);
      await done();
    } catch (failure) {
      fill(
        trouble,
        isProblem(failure, 'key_invalid')
          ? callout(
              'bad',
              'Unknown key',
              'This service has no such key. Check that it was copied completely: a key that this service has created has 48 characters.',
            )
          : problemBox(failure),
      );
      input.focus();
    }
  };
  const isOut = typeof reason === 'string';
  const words =
    reason instanceof Problem
      ? (reasons[reason.code] ?? [reason.title, reason.detail])
      : reason !== null
        ? ['You are logged out', reason]
        : null;
  return h(
    'main',
    { class: 'login', id: 'content' },
    h(
      'form',
      {
        class: 'login-card',
        method: 'post',
        novalidate: true,
        onsubmit: (event) => {
          event.preventDefault();
          void busy(submit, send);
        },
      },
      h('div', { class: 'brand' }, logo(), 'latchkey'),
      h('h1', { tabindex: -1 }, 'Log in to the console'),
      words &&
        h(
          'div',
          { class: isOut ? 'callout good' : 'callout info', role: 'status' },
          icon(isOut ? 'check' : 'clock'),
          h('div', {}, h('strong', {}, words[0]!), h('p', {}, words[1]!)),
        ),
      h(
        'div',
        { class: 'field' },
        h('label', { for: 'key' }, 'Key'),
        input,
        error,
        h(
          'p',
          { class: 'hint', id: 'key-hint' },
          'It is sent once and exchanged for a session of an hour, whose cookie scripts cannot read. The console may do what the key may do.',
        ),
      ),
      trouble,
      submit,
      h(
        'p',
        { class: 'login-foot' },
        'No key yet? On the server: ',
        h('code', {}, "latchkey keys create --name admin --scope '*'".split(' ').map((word) => [h('span', { class: 'word' }, word), ' '])),
        ' · ',
        h('a', { href: '/docs' }, 'Documentation'),
      ),
    ),
  );
}
