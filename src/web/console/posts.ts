// Posts: the list, writing one, and changing it.
import { read, request } from './api';
import { can, go, link, setQuery, View } from './context';
import { confirm, openDialog } from './dialogs';
import { h, named } from './dom';
import { editor } from './editor';
import { Field, field, form, input, select } from './form';
import { ago, moment } from './format';
import { filterBar, filterSelect, filterText, listInto, pager, table } from './lists';
import type { Page, Post, PostStatus } from './types';
import { badge, button, card, emptyState, facts, heading, linkButton, load, notify, Tone } from './ui';

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
      lead: 'What users write: drafts, published, archived.',
      actions: [can('posts:write') && button('Write post', () => newPost(), { kind: 'primary', shape: 'plus' })],
    }),
  );
  listInto(
    view,
    (query) =>
      filterBar(
        query,
        ['status', 'user_id'],
        filterSelect('Status', 'status', query, [
          ['', 'any'],
          ['draft', 'draft'],
          ['published', 'published'],
          ['archived', 'archived'],
        ]),
        filterText('Author', 'user_id', query, { placeholder: 'id of a user', size: 10 }),
      ),
    async (query) => {
      const { data, pagination } = await read<Page<Post>>(
        '/posts',
        { page: query.get('page'), limit: 50, sort: '-id', status: query.get('status'), user_id: query.get('user_id') },
        view.signal,
      );
      if (data.length === 0) {
        return query.has('status') || query.has('user_id')
          ? emptyState('posts', 'No post matches', 'Take a filter away.', linkButton('Show all', link('/posts')))
          : emptyState(
              'posts',
              'No posts yet',
              'A post belongs to a user and begins as a draft.',
              can('posts:write') && button('Write post', () => newPost(), { kind: 'primary', shape: 'plus' }),
            );
      }
      return [postTable(data, ''), pager(pagination, 'post')];
    },
  );
  if (view.query.has('new') && can('posts:write')) {
    newPost(view.query.get('new') ?? '');
    setQuery({ new: null }, true);
  }
}

export function postTable(posts: Post[], nothing: string): HTMLElement {
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
      },
      { head: 'Status', cell: (post) => badge(statusTones[post.status], post.status) },
      {
        head: 'Author',
        cell: (post) =>
          can('users:read') ? h('a', { href: link(`/users/${post.user_id}`) }, `user ${post.user_id}`) : `user ${post.user_id}`,
      },
      { head: 'Published', kind: 'wide', cell: (post) => ago(post.published_at, '–') },
      { head: 'Changed', kind: 'wide', cell: (post) => ago(post.updated_at) },
    ],
    posts,
    { href: (post) => link(`/posts/${post.id}`) },
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
    'Write a post',
    [
      form(
        () => fields,
        fields.map(({ element }) => element),
        {
          action: 'Save post',
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
    load(region, async () => {
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
                  void confirm(['Delete ', named(post.title), '?'], ['That cannot be taken back.'], 'Delete post', async () => {
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
            ? card('Change', [editor(`/posts/${id}`, post, etag, (now: Post) => postFields(now), refresh)])
            : card('Body', [h('p', { class: 'prose' }, post.body)]),
          card('About', [
            facts(
              ['Created', moment(post.created_at)],
              ['Changed', moment(post.updated_at)],
              ['Published', moment(post.published_at, 'not yet')],
            ),
          ]),
        ),
      ];
    });
  void refresh();
}
