// The algebra of scopes (api.md §4): what a key may do, and what it may grant.

export const resources = ['users', 'posts', 'keys', 'usage', 'audit', 'changes', 'webhooks', 'events'] as const;
export type Resource = (typeof resources)[number];

// The scopes of each resource beside its wildcard.
export const actions: Record<Resource, readonly string[]> = {
  users: ['read', 'write'],
  posts: ['read', 'write'],
  keys: ['read', 'write', 'verify', 'verify_all'],
  usage: ['read'],
  audit: ['read'],
  changes: ['read'],
  webhooks: ['read', 'write'],
  events: ['read', 'write', 'manage'],
};

export const meaning: Record<Resource, string> = {
  users: 'Users of your applications',
  posts: 'Their posts',
  keys: 'Keys of the same project',
  usage: 'Requests of keys',
  audit: 'Changes of keys, secrets and webhooks',
  changes: 'Changes of every type',
  webhooks: 'Where changes are sent',
  events: 'Events of external services',
};

// Whether one scope covers another. `*:write` does not cover the secrets of sources, no wildcard of actions covers `verify`, and
// `keys:*` does not cover `verify_all`, which is about the keys of all projects.
function implies(held: string, wanted: string): boolean {
  if (held === '*' || held === wanted) return true;
  if (wanted === 'keys:verify_all') return false;
  if (wanted === 'keys:verify' && held === 'keys:verify_all') return true;
  const [resource, action = '', source] = wanted.split(':');
  if (held === `${resource}:*`) return true;
  if (action === 'read' || action === 'write') {
    if (held === `*:${action}` && resource !== '*') return true;
  }
  return source !== undefined && held === `${resource}:${action}`;
}

export const covers = (held: readonly string[], wanted: string): boolean => held.some((each) => implies(each, wanted));
