// Users: the list, and changing one.
import { read, request } from './api';
import { can, go, link, View } from './context';
import { confirm, openDialog } from './dialogs';
import { h, named } from './dom';
import { atField, editor } from './editor';
import { Field, field, form, input } from './form';
import { ago, moment } from './format';
import { filterText, showList, table } from './lists';
import { postTable } from './posts';
import type { Page, Post, User } from './types';
import { button, card, emptyState, facts, heading, load, loadRecord, notify } from './ui';

export function usersPage(view: View): void {
  view.title('Users');
  view.element.append(
    heading('Users', {
      lead: 'The users of your applications. All projects share them.',
      actions: [can('users:write') && button('Add user', () => newUser(), { kind: 'primary', shape: 'plus' })],
    }),
  );
  showList<User>(view, {
    path: '/users',
    nouns: ['user', 'users'],
    shape: 'users',
    filters: ['email'],
    bar: (query) => [filterText('E-mail', 'email', query, { placeholder: 'ada@example.org', size: 26 })],
    parameters: (query) => ({ email: query.get('email') }),
    nothing: () =>
      emptyState(
        'users',
        'No users yet',
        'Applications create them with POST /users; the first one can come from here.',
        can('users:write') && button('Add user', () => newUser(), { kind: 'primary', shape: 'plus' }),
      ),
    show: (users, extent) =>
      table(
        'Users',
        [
          {
            head: 'Name',
            kind: 'main',
            cell: (user) => [
              h('a', { class: 'strong', href: link(`/users/${user.id}`) }, named(user.name)),
              h('span', { class: 'under' }, `#${user.id}`),
            ],
            order: ({ name }) => name,
          },
          { head: 'E-mail', cell: (user) => named(user.email), order: ({ email }) => email },
          { head: 'Created', cell: (user) => ago(user.created_at), order: (user) => user.created_at },
          { head: 'Updated', kind: 'wide', cell: (user) => ago(user.updated_at), order: (user) => user.updated_at },
        ],
        users,
        { href: (user) => link(`/users/${user.id}`), extent },
      ),
    csv: [
      ['id', ({ id }) => id],
      ['name', ({ name }) => name],
      ['email', ({ email }) => email],
      ['created_at', (user) => user.created_at],
      ['updated_at', (user) => user.updated_at],
    ],
  });
}

function userFields(user?: User): { fields: Field[]; body(): { name: string; email: string } } {
  const name = field('Name', input({ value: user?.name ?? '', maxlength: 400 }), { pointer: '/name' });
  const email = field('E-mail', input({ type: 'email', value: user?.email ?? '' }), { pointer: '/email' });
  return {
    fields: [name, email],
    body: () => ({ name: (name.control as HTMLInputElement).value, email: (email.control as HTMLInputElement).value.trim() }),
  };
}

function newUser(): void {
  const { fields, body } = userFields();
  const dialog = openDialog('Add a user', [
    form(
      () => fields,
      fields.map(({ element }) => element),
      {
        action: 'Add user',
        cancel: () => dialog.close(),
        async submit(idempotencyKey) {
          const { body: user } = await request<User>('POST', '/users', { body: body(), idempotencyKey }).catch((error: unknown) =>
            atField(error, 'email_taken', '/email'),
          );
          dialog.close();
          notify(['Added ', named(user.name), '.']);
          go(`/users/${user.id}`);
        },
      },
    ),
  ]);
}

export function userPage(view: View): void {
  const id = view.parameters[0]!;
  view.title(`User ${id}`);
  const region = h('div', {});
  view.element.append(region);
  const refresh = (): Promise<void> =>
    loadRecord(region, 'user', ['Users', '/users'], async () => {
      const { body: user, etag } = await request<User>('GET', `/users/${id}`, { signal: view.signal });
      view.title(user.name);
      const posts = h('div', {});
      if (can('posts:read'))
        void load(posts, async () =>
          postTable(
            (await read<Page<Post>>('/posts', { user_id: id, limit: 20, sort: '-id' }, view.signal)).data,
            'This user has no posts.',
          ),
        );
      return [
        heading(named(user.name), {
          back: ['Users', '/users'],
          lead: [named(user.email), ` · #${user.id}`],
          actions: [
            can('users:write') &&
              button(
                'Delete',
                () =>
                  void confirm(
                    ['Delete ', named(user.name), '?'],
                    ['The posts of this user are deleted too. This cannot be undone.'],
                    'Delete user',
                    async () => {
                      await request('DELETE', `/users/${id}`, { etag });
                      notify(`User ${id} is deleted.`);
                      go('/users');
                    },
                  ),
                { kind: 'danger', shape: 'trash' },
              ),
          ],
        }),
        h(
          'div',
          { class: 'columns' },
          can('users:write') ? card('Edit', [editor(`/users/${id}`, user, etag, (now: User) => userFields(now), refresh)]) : null,
          card('About', [
            facts(['Created', moment(user.created_at)], ['Updated', moment(user.updated_at)], ['Id', String(user.id)]),
          ]),
        ),
        can('posts:read') &&
          card('Posts', [posts], { actions: [h('a', { href: link('/posts', { user_id: id }) }, 'All posts'), can('posts:write') && h('a', { href: link('/posts', { new: id }) }, 'Create a post')] }),
      ];
    });
  void refresh();
}
