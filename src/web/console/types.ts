// The records of the API, as docs/api.md has them.

export interface Limit {
  name: string;
  limit: number;
  window_seconds: number;
  burst: number | null;
}
export interface LiveLimit extends Limit {
  remaining: number;
  full_in_seconds: number;
}
export type KeyState = 'scheduled' | 'active' | 'expired' | 'deactivated';

// What the answer to turning something off has where a node of the cluster has not confirmed it.
export interface Effect {
  effective_by?: string;
}

export interface Key extends Effect {
  id: number;
  kind: 'key' | 'jwt';
  name: string;
  project: string;
  environment: string;
  issuer: string | null;
  subject: string | null;
  start: string | null;
  last4: string | null;
  scopes: string[];
  state: KeyState;
  not_before: string | null;
  expires_at: string | null;
  created_at: string;
  created_by: number | null;
  deactivated_at: string | null;
  deactivation_reason: 'manual' | 'rotated' | 'compromised' | null;
  last_used_at: string | null;
  replaces: number | null;
  replaced_by: number | null;
  rotation_ends_at: string | null;
  rate_limits: Limit[];
  ip_allowlist: string[];
  metadata: Record<string, string>;
}
export type NewKey = Key & { key: string | null };
export type CurrentKey = Omit<Key, 'rate_limits'> & { rate_limits: LiveLimit[] };

export type Classes = '2xx' | '3xx' | '4xx' | '5xx';
export interface Point {
  start: string;
  requests: number;
  by_status: Record<Classes, number>;
  limited: number;
}
export type Granularity = 'minute' | 'hour' | 'day';
export interface KeyUsage {
  key_id: number;
  requests: number;
  points: Point[];
}
export interface Usage {
  data: KeyUsage[];
  total: { requests: number; points: Point[] };
  complete: boolean;
}

export interface Service {
  version: string;
  started_at: string;
  requests: Record<Classes, number>;
  limited: number;
  failed_authentications: number;
  latency: { count: number; sum_seconds: number; buckets: { le: number | null; count: number }[] };
  connections: number;
  streams: number;
  nodes: { name: string; is_self: boolean; is_alive: boolean; lag_rows: number; version: string }[];
}

export type Check = 'key' | 'state' | 'address' | 'route' | 'scope' | 'rate_limit';
export interface Verdict {
  valid: boolean;
  code: string;
  check: Check | null;
  missing_scope: string | null;
  key_id: number | null;
  project: string | null;
  environment: string | null;
  scopes: string[] | null;
  expires_at: string | null;
  rate_limits: LiveLimit[] | null;
}

export interface Pagination {
  page: number | null;
  limit: number;
  total: number | null; // null: too many to count
  total_pages: number | null;
  has_more: boolean;
  next_cursor: string | null;
}
export interface Page<T> {
  data: T[];
  pagination: Pagination;
}

export interface InboundEvent {
  id: number;
  source: string;
  delivery_id: string | null;
  key_id: number | null;
  verified: boolean;
  received_at: string;
  payload: unknown;
}
export interface EventSecret extends Effect {
  source: string;
  format: 'standard' | 'github' | 'stripe';
  secret?: string | null;
  created_at?: string;
  rotation_ends_at?: string | null;
}

export interface EventSource {
  source: string;
  events: number;
  secret: EventSecret | null;
}

export interface Change {
  sequence: number;
  type: string;
  occurred_at: string;
  key_id: number | null;
  data: Record<string, unknown>;
}
export interface Changes {
  data: Change[];
  pagination: { next_after: number; has_more: boolean; oldest: number | null };
}

export interface Webhook {
  id: number;
  url: string;
  types: string[];
  description: string | null;
  ordered: boolean;
  max_per_second: number | null;
  headers: Record<string, string>;
  signatures: string[];
  enabled: boolean;
  disabled_at: string | null;
  disabled_reason: 'manual' | 'gone' | 'failing' | 'revoked' | null;
  failing_since: string | null;
  position: number;
  project: string | null;
  public_key: string | null;
  secret_rotation_ends_at: string | null;
  created_by: number | null;
  created_at: string;
  updated_at: string;
}
export type NewWebhook = Webhook & { secret: string };
export interface Attempt {
  at: string;
  status: number | null;
  error: string | null;
  duration_ms: number;
  response: string | null;
}
export interface Delivery {
  sequence: number;
  message_id: string;
  type: string;
  state: 'pending' | 'delivered' | 'failed';
  attempts: Attempt[];
  next_attempt_at: string | null;
}
export interface Deliveries {
  data: Delivery[];
  pagination: { next_before: number | null; has_more: boolean };
}

export interface AuditEntry {
  id: number;
  created_at: string;
  action: string;
  actor_key_id: number | null;
  address: string | null;
  key_id: number | null;
  project: string | null;
  source: string | null;
  webhook_id: number | null;
  fields: string[];
  previous_hash: string;
  hash: string;
}

export interface User {
  id: number;
  name: string;
  email: string;
  created_at: string;
  updated_at: string;
}
export type PostStatus = 'draft' | 'published' | 'archived';
export interface Post {
  id: number;
  user_id: number;
  title: string;
  body: string;
  status: PostStatus;
  published_at: string | null;
  created_at: string;
  updated_at: string;
}
