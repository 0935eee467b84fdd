export { Latchkey, type LatchkeyOptions, responseOf } from './client.js';
export type { CallOptions, ChangeOptions, FeedOptions, ReadOptions, ResponseInfo } from './call.js';
export * from './errors.js';
export type * from './generated/operations.js';
export { modify } from './modify.js';
export { BackwardPages, ChangeFeed, CursorPages } from './pages.js';
export { defaultRetryPolicy, type RetryPolicy } from './retry.js';
export { type VerifiedWebhook, verifyWebhook, type WebhookErrorReason, type WebhookOptions, WebhookVerificationError } from './webhooks.js';
