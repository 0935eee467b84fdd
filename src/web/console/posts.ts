// Posts: the list, creating one, and changing it.
import { request } from './api';
import { can, go, link, setQuery, View } from './context';
import { confirm, openDialog } from './dialogs';
import { h, named } from './dom';
import { editor } from './editor';
import { Field, field, form, input, select } from './form';
import { ago, moment } from './format';
import { Extent, filterSelect, filterText, showList, table } from './lists';
import type { Post, PostStatus } from './types';
import { badge, button, card, emptyState, facts, heading, loadRecord, notify, Tone } from './ui';

const statusTones: Record<PostStatus, Tone> = { draft: 'idle', published: 'good', archived: 'info' };
const following: Record<PostStatus, PostStatus[]> = {
  draft: ['draft', 'published', 'archived'],
  published: ['published', 'draft', 'archived'],
  archived: ['archived', 'draft'],
};

export function postsPage(view: View): void {
  view.title('Posts');
  view.element.append(
    heading('Posts', {
      lead: 'Posts of your users: drafts, published and archived ones.',
      actions: [can('posts:write') && button('Create post', () => newPost(), { kind: 'primary', shape: 'plus' })],
    }),
  );
  showList<Post>(view, {
    path: '/posts',
    nouns: ['post', 'posts'],
    shape: 'posts',
    filters: ['status', 'user_id'],
    bar: (query) => [
      filterSelect('Status', 'status', query, [
        ['', 'any'],
        ['draft', 'draft'],
        ['published', 'published'],
        ['archived', 'archived'],
      ]),
      filterText('Author', 'user_id', query, { placeholder: 'id of a user', size: 10 }),
    ],
    parameters: (query) => ({ status: query.get('status'), user_id: query.get('user_id') }),
    nothing: () =>
      emptyState(
        'posts',
        'No posts yet',
        'A post belongs to a user and begins as a draft.',
        can('posts:write') && button('Create post', () => newPost(), { kind: 'primary', shape: 'plus' }),
      ),
    show: (posts, extent) => postTable(posts, '', extent),
    csv: [
      ['id', ({ id }) => id],
      ['user_id', (post) => post.user_id],
      ['title', ({ title }) => title],
      ['status', ({ status }) => status],
      ['published_at', (post) => post.published_at],
      ['created_at', (post) => post.created_at],
      ['updated_at', (post) => post.updated_at],
      ['body', ({ body }) => body],
    ],
  });
  if (view.query.has('new') && can('posts:write')) {
    newPost(view.query.get('new') ?? '');
    setQuery({ new: null }, true);
  }
}

export function postTable(posts: Post[], nothing: string, extent?: Extent): HTMLElement {
  if (posts.length === 0) return h('p', { class: 'quiet-text' }, nothing);
  return table(
    'List of posts',
    [
      {
        head: 'Title',
        kind: 'main',
        cell: (post) => [
          h('a', { class: 'strong', href: link(`/posts/${post.id}`) }, named(post.title)),
          h('span', { class: 'under' }, `#${post.id}`),
        ],
        order: ({ title }) => title,
      },
      { head: 'Status', cell: (post) => badge(statusTones[post.status], post.status), order: ({ status }) => status },
      {
        head: 'Author',
        cell: (post) =>
          can('users:read') ? h('a', { href: link(`/users/${post.user_id}`) }, `user ${post.user_id}`) : `user ${post.user_id}`,
        order: (post) => post.user_id,
      },
      { head: 'Published', kind: 'wide', cell: (post) => ago(post.published_at, '–'), order: (post) => post.published_at },
      { head: 'Updated', kind: 'wide', cell: (post) => ago(post.updated_at), order: (post) => post.updated_at },
    ],
    posts,
    { href: (post) => link(`/posts/${post.id}`), extent },
  );
}

function postFields(post?: Partial<Post>): { fields: Field[]; body(): Partial<Post> } {
  const title = field('Title', input({ value: post?.title ?? '' }), { pointer: '/title' });
  const body = field('Body', h('textarea', { rows: 8, value: post?.body ?? '' }), { pointer: '/body' });
  const status = field(
    'Status',
    select(
      (post?.id ? following[post.status ?? 'draft'] : (['draft', 'published', 'archived'] as PostStatus[])).map(
        (each) => [each, each] as const,
      ),
      post?.status ?? 'draft',
    ),
    {
      pointer: '/status',
      hint: post?.status === 'archived' ? 'An archived post becomes a draft before it is published again.' : undefined,
    },
  );
  const author = field('Author', input({ value: post?.user_id ?? '', inputmode: 'numeric', placeholder: 'id of a user' }), {
    pointer: '/user_id',
  });
  const text = (one: Field): string => (one.control as HTMLInputElement).value;
  return {
    fields: post?.id ? [title, body, status] : [author, title, body, status],
    body: () => ({
      ...(post?.id ? {} : { user_id: Number(text(author)) }),
      title: text(title),
      body: text(body),
      status: text(status) as PostStatus,
    }),
  };
}

function newPost(author = ''): void {
  const { fields, body } = postFields(author ? { user_id: Number(author) } : undefined);
  const dialog = openDialog(
    'Create a post',
    [
      form(
        () => fields,
        fields.map(({ element }) => element),
        {
          action: 'Create post',
          cancel: () => dialog.close(),
          async submit(idempotencyKey) {
            const { body: post } = await request<Post>('POST', '/posts', { body: body(), idempotencyKey });
            dialog.close();
            go(`/posts/${post.id}`);
          },
        },
      ),
    ],
    { wide: true },
  );
}

export function postPage(view: View): void {
  const id = view.parameters[0]!;
  view.title(`Post ${id}`);
  const region = h('div', {});
  view.element.append(region);
  const refresh = (): Promise<void> =>
    loadRecord(region, 'post', ['Posts', '/posts'], async () => {
      const { body: post, etag } = await request<Post>('GET', `/posts/${id}`, { signal: view.signal });
      view.title(post.title);
      return [
        heading(named(post.title), {
          back: ['Posts', '/posts'],
          lead: [
            badge(statusTones[post.status], post.status),
            ` · #${post.id} · `,
            can('users:read') ? h('a', { href: link(`/users/${post.user_id}`) }, `user ${post.user_id}`) : `user ${post.user_id}`,
          ],
          actions: [
            can('posts:write') &&
              button(
                'Delete',
                () =>
                  void confirm(['Delete ', named(post.title), '?'], ['This cannot be undone.'], 'Delete post', async () => {
                    await request('DELETE', `/posts/${id}`, { etag });
                    notify(`Post ${id} is deleted.`);
                    go('/posts');
                  }),
                { kind: 'danger', shape: 'trash' },
              ),
          ],
        }),
        h(
          'div',
          { class: 'columns wide-first' },
          can('posts:write')
            ? card('Edit', [editor(`/posts/${id}`, post, etag, (now: Post) => postFields(now), refresh)])
            : card('Body', [h('p', { class: 'prose' }, post.body)]),
          card('About', [
            facts(
              ['Created', moment(post.created_at)],
              ['Updated', moment(post.updated_at)],
              ['Published', moment(post.published_at, 'not yet')],
            ),
          ]),
        ),
      ];
    });
  void refresh();
}
