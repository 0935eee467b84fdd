// Users: the list, search by email, and changing one.
import { read, request } from './api';
import { can, go, link, setQuery, View } from './context';
import { confirm, openDialog } from './dialogs';
import { h, named } from './dom';
import { atField, editor } from './editor';
import { Field, field, form, input } from './form';
import { ago, moment } from './format';
import { filterBar, filterText, listInto, pager, table } from './lists';
import { postTable } from './posts';
import type { Page, Post, User } from './types';
import { button, card, emptyState, facts, heading, load, notify } from './ui';

export function usersPage(view: View): void {
  view.title('Users');
  view.element.append(
    heading('Users', {
      lead: 'The people that the service knows. All projects share them.',
      actions: [can('users:write') && button('Add user', () => newUser(), { kind: 'primary', shape: 'plus' })],
    }),
  );
  listInto(
    view,
    (query) =>
      filterBar(
        query,
        ['email'],
        filterText('E-mail', 'email', query, { placeholder: 'ada@example.org', size: 26, type: 'search' }),
      ),
    async (query) => {
      const { data, pagination } = await read<Page<User>>(
        '/users',
        { page: query.get('page'), limit: 50, sort: '-id', email: query.get('email') },
        view.signal,
      );
      if (data.length === 0) {
        return query.has('email')
          ? emptyState(
              'users',
              'No user has this address',
              'The whole address is compared, upper and lower case alike.',
              button('Show all', () => setQuery({ email: null })),
            )
          : emptyState(
              'users',
              'No users yet',
              'Applications create them with POST /users; the first one can come from here.',
              can('users:write') && button('Add user', () => newUser(), { kind: 'primary', shape: 'plus' }),
            );
      }
      return [
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
            },
            { head: 'E-mail', cell: (user) => named(user.email) },
            { head: 'Created', kind: 'wide', cell: (user) => ago(user.created_at) },
            { head: 'Changed', kind: 'wide', cell: (user) => ago(user.updated_at) },
          ],
          data,
          { href: (user) => link(`/users/${user.id}`) },
        ),
        pager(pagination, 'user'),
      ];
    },
  );
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
    load(region, async () => {
      const { body: user, etag } = await request<User>('GET', `/users/${id}`, { signal: view.signal });
      view.title(user.name);
      const posts = h('div', {});
      if (can('posts:read'))
        void load(posts, async () =>
          postTable(
            (await read<Page<Post>>('/posts', { user_id: id, limit: 20, sort: '-id' }, view.signal)).data,
            'This user has written nothing.',
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
                    ['The posts of this user vanish with it. That cannot be taken back.'],
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
          can('users:write') ? card('Change', [editor(`/users/${id}`, user, etag, (now: User) => userFields(now), refresh)]) : null,
          card('About', [
            facts(['Created', moment(user.created_at)], ['Changed', moment(user.updated_at)], ['Id', String(user.id)]),
          ]),
        ),
        can('posts:read') &&
          card('Posts', [posts], { actions: [can('posts:write') && h('a', { href: link('/posts', { new: id }) }, 'Write one')] }),
      ];
    });
  void refresh();
}
