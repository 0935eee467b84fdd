// Users and posts: lists, search, and changes that nobody else's are lost by.
import { isProblem, Problem, read, request } from './api';
import { can, go, link, setQuery, View } from './context';
import { fill, h, named } from './dom';
import { Field, field, form, input, select } from './form';
import { ago, moment } from './format';
import { listInto } from './list';
import type { Page, Post, PostStatus, User } from './types';
import { badge, button, card, confirm, emptyState, facts, filterBar, filterSelect, filterText, heading, linkButton, load, notify, openDialog, pager, table, Tone } from './ui';

export function usersPage(view: View): void {
  view.title('Users');
  view.element.append(heading('Users', { lead: 'The people that the service knows. All projects share them.', actions: [can('users:write') && button('Add user', () => newUser(), { kind: 'primary', shape: 'plus' })] }));
  listInto(view, (query) => filterBar(query, ['email'], filterText('E-mail', 'email', query, { placeholder: 'ada@example.org', size: 26, type: 'search' })), async (query) => {
    const { data, pagination } = await read<Page<User>>('/users', { page: query.get('page'), limit: 50, sort: '-id', email: query.get('email') }, view.signal);
    if (data.length === 0) {
      return query.has('email') ? emptyState('users', 'No user has this address', 'The whole address is compared, upper and lower case alike.', button('Show all', () => setQuery({ email: null })))
        : emptyState('users', 'No users yet', 'Applications create them with POST /users; the first one can come from here.', can('users:write') && button('Add user', () => newUser(), { kind: 'primary', shape: 'plus' }));
    }
    return [table('Users', [
      { head: 'Name', kind: 'main', cell: (user) => [h('a', { class: 'strong', href: link(`/users/${user.id}`) }, named(user.name)), h('span', { class: 'under' }, `#${user.id}`)] },
      { head: 'E-mail', cell: (user) => named(user.email) },
      { head: 'Created', kind: 'wide', cell: (user) => ago(user.created_at) },
      { head: 'Changed', kind: 'wide', cell: (user) => ago(user.updated_at) },
    ], data, { href: (user) => link(`/users/${user.id}`) }), pager(pagination, 'user')];
  });
}

function userFields(user?: User): { fields: Field[]; body(): { name: string; email: string } } {
  const name = field('Name', input({ value: user?.name ?? '', maxlength: 400 }), { pointer: '/name' });
  const email = field('E-mail', input({ type: 'email', value: user?.email ?? '' }), { pointer: '/email' });
  return { fields: [name, email], body: () => ({ name: (name.control as HTMLInputElement).value, email: (email.control as HTMLInputElement).value.trim() }) };
}

// A refused address is told at its field.
const atField = (error: unknown, code: string, pointer: string): never => {
  if (isProblem(error, code) && error.errors.length === 0) throw new Problem(error.status, error.code, error.title, error.detail, [{ pointer, code, detail: error.detail || error.title }], error.requestId, null, error.type);
  throw error;
};

function newUser(): void {
  const { fields, body } = userFields();
  const dialog = openDialog('Add a user', [form(() => fields, fields.map(({ element }) => element), { action: 'Add user', cancel: () => dialog.close(), async submit(idempotencyKey) {
    const { body: user } = await request<User>('POST', '/users', { body: body(), idempotencyKey }).catch((error: unknown) => atField(error, 'email_taken', '/email'));
    dialog.close();
    notify(['Added ', named(user.name), '.']);
    go(`/users/${user.id}`);
  } })]);
}

export function userPage(view: View): void {
  const id = view.parameters[0]!;
  view.title(`User ${id}`);
  const region = h('div', {});
  view.element.append(region);
  const refresh = (): Promise<void> => load(region, async () => {
    const { body: user, etag } = await request<User>('GET', `/users/${id}`, { signal: view.signal });
    view.title(user.name);
    const posts = h('div', {});
    if (can('posts:read')) void load(posts, async () => postTable((await read<Page<Post>>('/posts', { user_id: id, limit: 20, sort: '-id' }, view.signal)).data, 'This user has written nothing.'));
    return [heading(named(user.name), { back: ['Users', '/users'], lead: [named(user.email), ` · #${user.id}`], actions: [can('users:write') && button('Delete', () => void confirm(['Delete ', named(user.name), '?'], ['The posts of this user vanish with it. That cannot be taken back.'], 'Delete user', async () => {
      await request('DELETE', `/users/${id}`, { etag });
      notify(`User ${id} is deleted.`);
      go('/users');
    }), { kind: 'danger', shape: 'trash' })] }),
    h('div', { class: 'columns' }, can('users:write') ? card('Change', [editor(`/users/${id}`, user, etag, (now: User) => userFields(now), refresh)]) : null,
      card('About', [facts(['Created', moment(user.created_at)], ['Changed', moment(user.updated_at)], ['Id', String(user.id)])])),
    can('posts:read') && card('Posts', [posts], { actions: [can('posts:write') && h('a', { href: link('/posts', { new: id }) }, 'Write one')] })];
  });
  void refresh();
}

// A form that sends the version it was filled from: who was faster is told, and nothing is overwritten unseen.
function editor<T extends { updated_at: string }>(path: string, first: T, etag: string | null, make: (record: T) => { fields: Field[]; body(): Partial<T> }, refresh: () => Promise<void>): HTMLElement {
  const place = h('div', {});
  const show = (record: T, tag: string | null, values: T = record): void => {
    const { fields, body } = make(values);
    const conflict = h('div', {});
    fill(place, conflict, form(() => fields, fields.map(({ element }) => element), { action: 'Save', async submit(idempotencyKey) {
      const wanted = body();
      const changed = Object.fromEntries(Object.entries(wanted).filter(([name, value]) => Reflect.get(record, name) !== value));
      if (Object.keys(changed).length === 0) return notify('Nothing was changed.');
      try {
        await request<T>('PATCH', path, { body: changed, etag: tag, idempotencyKey });
        notify('Saved.');
        await refresh();
      } catch (error) {
        if (!isProblem(error, 'precondition_failed')) return atField(error, error instanceof Problem && error.code === 'email_taken' ? 'email_taken' : 'reference_not_found', error instanceof Problem && error.code === 'email_taken' ? '/email' : '/user_id');
        const now = await request<T>('GET', path);
        fill(conflict, conflictTable(record, now.body, wanted, () => show(now.body, now.etag, { ...now.body, ...changed } as T), () => void refresh()));
        conflict.querySelector<HTMLElement>('[tabindex]')?.focus();
      }
    } }));
  };
  show(first, etag);
  return place;
}

function conflictTable<T extends { updated_at: string }>(before: T, now: T, mine: Partial<T>, keep: () => void, take: () => void): HTMLElement {
  const names = Object.keys(mine).filter((name) => Reflect.get(mine, name) !== Reflect.get(before, name) || Reflect.get(now, name) !== Reflect.get(before, name));
  return h('div', { class: 'callout warn conflict', role: 'alert', tabindex: -1 }, h('div', {}, h('strong', {}, 'Somebody else was faster'),
    h('p', {}, 'It was changed ', ago(now.updated_at), ', after you had opened it. Nothing of yours was saved yet.'),
    table('Conflict', [
      { head: 'Member', cell: (name: string) => h('strong', {}, name) },
      { head: 'When you opened it', kind: 'wide', cell: (name) => named(String(Reflect.get(before, name))) },
      { head: 'Now', cell: (name) => named(String(Reflect.get(now, name)), { class: Reflect.get(now, name) === Reflect.get(before, name) ? null : 'changed' }) },
      { head: 'Yours', cell: (name) => named(String(Reflect.get(mine, name)), { class: Reflect.get(mine, name) === Reflect.get(before, name) ? null : 'changed' }) },
    ], names),
    h('div', { class: 'actions' }, button('Go on with mine', keep, { kind: 'primary', small: true }), button('Take what is there now', take, { small: true }))));
}

// ---- posts ----

const statusTones: Record<PostStatus, Tone> = { draft: 'idle', published: 'good', archived: 'info' };
const following: Record<PostStatus, PostStatus[]> = { draft: ['draft', 'published', 'archived'], published: ['published', 'draft', 'archived'], archived: ['archived', 'draft'] };

export function postsPage(view: View): void {
  view.title('Posts');
  view.element.append(heading('Posts', { lead: 'What users write: drafts, published, archived.', actions: [can('posts:write') && button('Write post', () => newPost(), { kind: 'primary', shape: 'plus' })] }));
  listInto(view, (query) => filterBar(query, ['status', 'user_id'], filterSelect('Status', 'status', query, [['', 'any'], ['draft', 'draft'], ['published', 'published'], ['archived', 'archived']]),
    filterText('Author', 'user_id', query, { placeholder: 'id of a user', size: 10 })), async (query) => {
    const { data, pagination } = await read<Page<Post>>('/posts', { page: query.get('page'), limit: 50, sort: '-id', status: query.get('status'), user_id: query.get('user_id') }, view.signal);
    if (data.length === 0) {
      return query.has('status') || query.has('user_id') ? emptyState('posts', 'No post matches', 'Take a filter away.', linkButton('Show all', link('/posts')))
        : emptyState('posts', 'No posts yet', 'A post belongs to a user and begins as a draft.', can('posts:write') && button('Write post', () => newPost(), { kind: 'primary', shape: 'plus' }));
    }
    return [postTable(data, ''), pager(pagination, 'post')];
  });
  if (view.query.has('new') && can('posts:write')) {
    newPost(view.query.get('new') ?? '');
    setQuery({ new: null }, true);
  }
}

function postTable(posts: Post[], nothing: string): HTMLElement {
  if (posts.length === 0) return h('p', { class: 'quiet-text' }, nothing);
  return table('List of posts', [
    { head: 'Title', kind: 'main', cell: (post) => [h('a', { class: 'strong', href: link(`/posts/${post.id}`) }, named(post.title)), h('span', { class: 'under' }, `#${post.id}`)] },
    { head: 'Status', cell: (post) => badge(statusTones[post.status], post.status) },
    { head: 'Author', cell: (post) => (can('users:read') ? h('a', { href: link(`/users/${post.user_id}`) }, `user ${post.user_id}`) : `user ${post.user_id}`) },
    { head: 'Published', kind: 'wide', cell: (post) => ago(post.published_at, '–') },
    { head: 'Changed', kind: 'wide', cell: (post) => ago(post.updated_at) },
  ], posts, { href: (post) => link(`/posts/${post.id}`) });
}

function postFields(post?: Partial<Post>): { fields: Field[]; body(): Partial<Post> } {
  const title = field('Title', input({ value: post?.title ?? '' }), { pointer: '/title' });
  const body = field('Body', h('textarea', { rows: 8, value: post?.body ?? '' }), { pointer: '/body' });
  const status = field('Status', select((post?.id ? following[post.status ?? 'draft'] : ['draft', 'published', 'archived'] as PostStatus[]).map((each) => [each, each] as const), post?.status ?? 'draft'), { pointer: '/status', hint: post?.status === 'archived' ? 'An archived post becomes a draft before it is published again.' : undefined });
  const author = field('Author', input({ value: post?.user_id ?? '', inputmode: 'numeric', placeholder: 'id of a user' }), { pointer: '/user_id' });
  const text = (one: Field): string => (one.control as HTMLInputElement).value;
  return { fields: post?.id ? [title, body, status] : [author, title, body, status],
    body: () => ({ ...(post?.id ? {} : { user_id: Number(text(author)) }), title: text(title), body: text(body), status: text(status) as PostStatus }) };
}

function newPost(author = ''): void {
  const { fields, body } = postFields(author ? { user_id: Number(author) } : undefined);
  const dialog = openDialog('Write a post', [form(() => fields, fields.map(({ element }) => element), { action: 'Save post', cancel: () => dialog.close(), async submit(idempotencyKey) {
    const { body: post } = await request<Post>('POST', '/posts', { body: body(), idempotencyKey });
    dialog.close();
    go(`/posts/${post.id}`);
  } })], { wide: true });
}

export function postPage(view: View): void {
  const id = view.parameters[0]!;
  view.title(`Post ${id}`);
  const region = h('div', {});
  view.element.append(region);
  const refresh = (): Promise<void> => load(region, async () => {
    const { body: post, etag } = await request<Post>('GET', `/posts/${id}`, { signal: view.signal });
    view.title(post.title);
    return [heading(named(post.title), { back: ['Posts', '/posts'], lead: [badge(statusTones[post.status], post.status), ` · #${post.id} · `, can('users:read') ? h('a', { href: link(`/users/${post.user_id}`) }, `user ${post.user_id}`) : `user ${post.user_id}`],
      actions: [can('posts:write') && button('Delete', () => void confirm(['Delete ', named(post.title), '?'], ['That cannot be taken back.'], 'Delete post', async () => {
        await request('DELETE', `/posts/${id}`, { etag });
        notify(`Post ${id} is deleted.`);
        go('/posts');
      }), { kind: 'danger', shape: 'trash' })] }),
    h('div', { class: 'columns wide-first' }, can('posts:write') ? card('Change', [editor(`/posts/${id}`, post, etag, (now: Post) => postFields(now), refresh)]) : card('Body', [h('p', { class: 'prose' }, post.body)]),
      card('About', [facts(['Created', moment(post.created_at)], ['Changed', moment(post.updated_at)], ['Published', moment(post.published_at, 'not yet')])]))];
  });
  void refresh();
}
