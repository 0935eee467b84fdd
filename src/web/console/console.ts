// The console: a page for each hash of the address, behind a session. It uses the public API and nothing else.
import {
  forgetSession,
  isProblem,
  loggedOut,
  logOut,
  onSessionEnd,
  onStorage,
  Problem,
  read,
  renew,
  sessionEnd,
} from './api';
import { auditPage } from './audit';
import { changesPage } from './changes';
import { checkPage } from './check';
import { now } from './clock';
import { caller, can, isLoggedIn, place, setCaller, View } from './context';
import { whenSecretStored } from './dialogs';
import { Child, fill, h, icon, named } from './dom';
import { eventPage, eventsPage, sourcesPage } from './events';
import { keyPage } from './key';
import { editKeyPage, newKeyPage } from './key_form';
import { keysPage } from './keys';
import { loginPage } from './login';
import { overviewPage } from './overview';
import { postPage, postsPage } from './posts';
import { busy, button, emptyState, heading, linkButton, logo, noticeRegion, problemBox, tell } from './ui';
import { userPage, usersPage } from './users';
import { editWebhookPage, newWebhookPage } from './webhook_form';
import { webhookPage, webhooksPage } from './webhooks';
import type { CurrentKey } from './types';
import { chooseZone, chosenZone, when, zones } from './zone';

interface Route {
  path: RegExp;
  page(view: View): void;
  scopes: string[];
  section: string;
}

const routes: Route[] = [
  { path: /^\/$/, page: overviewPage, scopes: [], section: '/' },
  { path: /^\/keys$/, page: keysPage, scopes: ['keys:read'], section: '/keys' },
  { path: /^\/keys\/new$/, page: newKeyPage, scopes: ['keys:write'], section: '/keys' },
  { path: /^\/keys\/([1-9]\d{0,15})$/, page: keyPage, scopes: ['keys:read'], section: '/keys' },
  { path: /^\/keys\/([1-9]\d{0,15})\/edit$/, page: editKeyPage, scopes: ['keys:read', 'keys:write'], section: '/keys' },
  { path: /^\/check$/, page: checkPage, scopes: ['keys:verify'], section: '/check' },
  { path: /^\/changes$/, page: changesPage, scopes: ['changes:read'], section: '/changes' },
  { path: /^\/events$/, page: eventsPage, scopes: ['events:read'], section: '/events' },
  { path: /^\/events\/([1-9]\d{0,15})$/, page: eventPage, scopes: ['events:read'], section: '/events' },
  { path: /^\/sources$/, page: sourcesPage, scopes: ['events:manage'], section: '/events' },
  { path: /^\/webhooks$/, page: webhooksPage, scopes: ['webhooks:read'], section: '/webhooks' },
  { path: /^\/webhooks\/new$/, page: newWebhookPage, scopes: ['webhooks:write', 'changes:read'], section: '/webhooks' },
  { path: /^\/webhooks\/([1-9]\d{0,15})$/, page: webhookPage, scopes: ['webhooks:read'], section: '/webhooks' },
  {
    path: /^\/webhooks\/([1-9]\d{0,15})\/edit$/,
    page: editWebhookPage,
    scopes: ['webhooks:read', 'webhooks:write'],
    section: '/webhooks',
  },
  { path: /^\/audit$/, page: auditPage, scopes: ['audit:read'], section: '/audit' },
  { path: /^\/users$/, page: usersPage, scopes: ['users:read'], section: '/users' },
  { path: /^\/users\/([1-9]\d{0,15})$/, page: userPage, scopes: ['users:read'], section: '/users' },
  { path: /^\/posts$/, page: postsPage, scopes: ['posts:read'], section: '/posts' },
  { path: /^\/posts\/([1-9]\d{0,15})$/, page: postPage, scopes: ['posts:read'], section: '/posts' },
];

const menu: [string, [string, string, string, string][]][] = [
  ['', [['/', 'Overview', 'overview', '']]],
  [
    'Access',
    [
      ['/keys', 'Keys', 'key', 'keys:read'],
      ['/check', 'Check access', 'shield', 'keys:verify'],
      ['/audit', 'Audit', 'list', 'audit:read'],
    ],
  ],
  [
    'Activity',
    [
      ['/changes', 'Changes', 'pulse', 'changes:read'],
      ['/webhooks', 'Webhooks', 'send', 'webhooks:read'],
      ['/events', 'Events', 'inbox', 'events:read'],
    ],
  ],
  [
    'Data',
    [
      ['/users', 'Users', 'users', 'users:read'],
      ['/posts', 'Posts', 'posts', 'posts:read'],
    ],
  ],
];

const name = 'latchkey';
const main = h('main', { id: 'content', tabindex: -1 });
const sidebar = h('nav', { class: 'sidebar', id: 'sidebar', 'aria-label': 'Console' });
let open: AbortController | null = null; // the page that is shown
let current: { path: string; listener: ((query: URLSearchParams) => void) | null } = { path: '', listener: null };

// ---- pages ----

function showPage(): void {
  if (!isLoggedIn()) return;
  const { path, query } = place();
  if (path === current.path && current.listener !== null) return current.listener(query);
  open?.abort();
  open = new AbortController();
  const element = h('div', { class: 'page' });
  const isFirst = current.path === '';
  current = { path, listener: null };
  const mine = current;
  const title = (text: string): void => {
    document.title = `${text} · ${name}`;
  };
  fill(main, element, zoneFoot());
  closeMenu();
  const route = routes.find((each) => each.path.test(path));
  paintMenu(route?.section ?? '');
  if (route === undefined) {
    title('No such page');
    element.append(
      heading('No such page'),
      emptyState('alert', 'There is no such page', 'This address has no page in the console.', linkButton('Overview', '#/')),
    );
  } else if (!route.scopes.every(can)) {
    title('Not allowed');
    element.append(
      heading('Not allowed'),
      emptyState(
        'shield',
        'Your key lacks a scope',
        [
          'This page needs ',
          route.scopes.filter((scope) => !can(scope)).map((scope) => [h('code', { class: 'scope' }, scope), ' ']),
          '. Log in with a key that has it.',
        ],
        linkButton('Overview', '#/'),
      ),
    );
  } else {
    const show = route.page;
    const view: View = {
      element,
      parameters: route.path.exec(path)!.slice(1),
      query,
      signal: open.signal,
      title,
      onQuery: (listener) => {
        mine.listener = listener;
      },
    };
    try {
      show(view);
    } catch (error) {
      console.error(error);
      fill(
        element,
        heading('This page cannot be shown'),
        problemBox(error, () => globalThis.location.reload()),
      );
    }
  }
  scrollTo(0, 0);
  // A screen reader begins to read where the page has changed.
  if (!isFirst && !element.contains(document.activeElement))
    (element.querySelector<HTMLElement>('h1') ?? main).focus({ preventScroll: true });
}

// ---- the frame ----

const closeMenu = (): void => {
  document.body.classList.remove('menu-open');
  menuButton.setAttribute('aria-expanded', 'false');
};
const menuButton = button(
  '',
  () => {
    const isOpen = document.body.classList.toggle('menu-open');
    menuButton.setAttribute('aria-expanded', String(isOpen));
    if (isOpen) sidebar.querySelector<HTMLElement>('a')?.focus();
  },
  { kind: 'quiet', shape: 'menu', label: 'Menu' },
);
menuButton.setAttribute('aria-controls', 'sidebar');
addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && document.body.classList.contains('menu-open')) {
    closeMenu();
    menuButton.focus();
  }
});

function paintMenu(section: string): void {
  fill(
    sidebar,
    h('a', { class: 'brand', href: '#/' }, logo(), name),
    menu.map(([group, entries]): Child => {
      const shown = entries.filter(([, , , scope]) => scope === '' || can(scope));
      return (
        shown.length > 0 &&
        h(
          'div',
          { class: 'menu-group' },
          group && h('h2', {}, group),
          h(
            'ul',
            {},
            shown.map(([path, text, shape]) =>
              h('li', {}, h('a', { href: `#${path}`, 'aria-current': path === section ? 'page' : null }, icon(shape), text)),
            ),
          ),
        )
      );
    }),
    h('div', { class: 'menu-end' }, h('a', { href: '/docs' }, icon('book'), 'Documentation'), account()),
  );
}

const sessionNote = h('p', { class: 'faint' });
const paintSession = (): void => {
  sessionNote.textContent = `Session until ${when(sessionEnd())}`;
};

function account(): HTMLElement {
  const { name: keyName, project, start, last4 } = caller();
  const leave = (text: string, everywhere: boolean): HTMLButtonElement => {
    const element: HTMLButtonElement = button(
      text,
      () =>
        void busy(element, () =>
          logOut(everywhere).catch((error: unknown) => {
            if (!isProblem(error) || error.status !== 401) tell(error);
          }),
        ),
      { kind: 'quiet', small: true, shape: everywhere ? undefined : 'door' } as Parameters<typeof button>[2],
    );
    return element;
  };
  paintSession();
  return h(
    'details',
    { class: 'account' },
    h(
      'summary',
      {},
      h('span', { class: 'account-name' }, named(keyName)),
      h('span', { class: 'under' }, named(project), start !== null && [' · ', h('code', {}, `${start}…${last4}`)]),
    ),
    h('div', {}, sessionNote, leave('Log out', false), leave('Log out everywhere', true)),
  );
}

function showFrame(): void {
  fill(
    document.body,
    h(
      'a',
      {
        class: 'skip',
        href: '#content',
        onclick: (event) => {
          event.preventDefault();
          main.focus();
        },
      },
      'Skip to the content',
    ),
    h(
      'header',
      { class: 'topbar' },
      menuButton,
      h('a', { class: 'brand', href: '#/' }, logo(), name),
    ),
    sidebar,
    h('div', { class: 'veil', onclick: closeMenu }),
    main,
    noticeRegion(),
  );
}

// The time zone of all times of the page, which one may choose.
const zoneFoot = (): HTMLElement =>
  h(
    'footer',
    { class: 'page-foot' },
    h(
      'label',
      {},
      'Time zone ',
      h(
        'select',
        {
          value: chosenZone(),
          onchange: (event) => {
            chooseZone((event.target as HTMLSelectElement).value);
            current = { path: '', listener: null };
            showPage();
            paintSession();
          },
        },
        zones.map((zone) => h('option', { value: zone }, zone)),
      ),
    ),
  );

// ---- the session ----

// Shows the login page; the address stays, so that one goes on where one was.
function end(reason: Problem | string | null): void {
  open?.abort();
  open = null;
  current = { path: '', listener: null };
  setCaller(null);
  forgetSession();
  document.title = `Log in · ${name}`;
  document.querySelectorAll('dialog').forEach((dialog) => dialog.close());
  document.body.classList.remove('menu-open');
  fill(document.body, loginPage(reason, enter), noticeRegion());
  document.getElementById('key')?.focus();
}

// After a login: the documents' "try it" leads here, and back to its operation. An address elsewhere is ignored.
async function enter(): Promise<void> {
  const origin = new URLSearchParams(globalThis.location.hash.split('?')[1]).get('next') ?? '';
  if (/^\/docs(?:[/#]|$)/.test(origin)) globalThis.location.assign(origin);
  else await begin();
}

async function begin(): Promise<void> {
  setCaller(await read<CurrentKey>('/keys/current'));
  showFrame();
  current = { path: '', listener: null };
  showPage();
}

// A session in use is renewed; one that nobody uses ends.
let lastUse = Date.now();
for (const type of ['pointerdown', 'keydown'])
  addEventListener(
    type,
    () => {
      lastUse = Date.now();
    },
    { passive: true },
  );
setInterval(() => {
  if (!isLoggedIn()) return;
  const left = sessionEnd() - now();
  if (left < 50 * 60_000 && Date.now() - lastUse < 10 * 60_000) renew().then(paintSession, () => undefined);
}, 60_000);

// A text comes after the problem of a request that was under way, and is what the user waits for.
onSessionEnd(async (reason) => {
  await whenSecretStored();
  if (isLoggedIn() || typeof reason === 'string') end(reason);
});
onStorage(async (isOver) => {
  await whenSecretStored();
  if (isOver && isLoggedIn()) end(loggedOut);
  else if (!isOver && !isLoggedIn()) void begin().catch(() => undefined);
});
addEventListener('hashchange', showPage);
addEventListener('unhandledrejection', (event) => {
  if (event.reason instanceof DOMException && event.reason.name === 'AbortError') event.preventDefault();
});

if (sessionEnd() > now()) {
  begin().catch((error: unknown) => {
    if (isProblem(error) && [401, 403].includes(error.status)) end(error);
    else
      fill(
        document.body,
        h(
          'main',
          { class: 'login' },
          problemBox(error, () => globalThis.location.reload()),
        ),
      );
  });
} else end(null);
