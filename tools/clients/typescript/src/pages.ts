// Lists as async iterators, which ask for the next page when the one before is used up.

import type { FeedOptions } from './call.js';
import { NetworkError } from './errors.js';
import { sleep } from './retry.js';

interface Page<Item> {
  data: Item[];
}
type Position = Record<string, unknown>;
type Read<Result> = (position: Position) => Promise<Result>;
// A page with these members of `pagination`: a gateway may answer 200 in its own words.
function pageOf<Result extends Page<unknown>>(answer: Result, ...members: string[]): Result {
  const { data, pagination } = (answer ?? {}) as { data?: unknown; pagination?: unknown };
  const isPagination = typeof pagination === 'object' && pagination !== null && members.every((name) => name in pagination);
  if (Array.isArray(data) && isPagination) return answer;
  throw new NetworkError("the answer is no page of a list: it is not the service's");
}

const pageLimit = 100;
const feedLimit = 1000;

abstract class Pages<Item, Result extends Page<Item>> implements AsyncIterable<Item> {
  /** Page by page. */
  abstract pages(): AsyncGenerator<Result, void, undefined>;

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) yield* page.data;
  }

  /** All of it as one array, or the first `max`. */
  async toArray(max = Infinity): Promise<Item[]> {
    const items: Item[] = [];
    if (max <= 0) return items;
    for await (const item of this) if (items.push(item) >= max) break;
    return items;
  }
}

interface CursorPage<Item> extends Page<Item> {
  pagination: { next_cursor: string | null };
}

/** A list by cursor: what is inserted or deleted meanwhile neither repeats nor hides another. */
export class CursorPages<Item, Result extends CursorPage<Item>> extends Pages<Item, Result> {
  constructor(private readonly read: Read<Result>, private readonly query: { limit?: number }) {
    super();
  }

  async *pages(): AsyncGenerator<Result, void, undefined> {
    const limit = this.query.limit ?? pageLimit;
    let position: Position = { limit };
    for (;;) {
      const page = pageOf(await this.read(position), 'next_cursor');
      yield page;
      const cursor = page.pagination.next_cursor;
      if (cursor === null) return;
      position = { limit, cursor, page: undefined };
    }
  }
}

interface BackwardPage<Item> extends Page<Item> {
  pagination: { next_before: number | null; has_more: boolean };
}

/** A list from the newest to the oldest. */
export class BackwardPages<Item, Result extends BackwardPage<Item>> extends Pages<Item, Result> {
  constructor(private readonly read: Read<Result>, private readonly query: { limit?: number }) {
    super();
  }

  async *pages(): AsyncGenerator<Result, void, undefined> {
    let position: Position = { limit: this.query.limit ?? pageLimit };
    for (;;) {
      const page = pageOf(await this.read(position), 'has_more', 'next_before');
      yield page;
      const { has_more, next_before } = page.pagination;
      if (!has_more || next_before === null) return;
      position = { ...position, before: next_before };
    }
  }
}

interface FeedPage<Item> extends Page<Item> {
  pagination: { next_after: number; has_more: boolean };
}

/** The feed of changes. Store `position` with the work that was done, and begin there after a stop. */
export class ChangeFeed<Item extends { sequence: number }, Result extends FeedPage<Item>> extends Pages<Item, Result> {
  /** For `after`: all changes up to it were taken out of the iterator, and the next one was asked for; undefined before that. */
  position: string | undefined;

  constructor(private readonly read: Read<Result>, private readonly query: { after?: string; limit?: number }, private readonly options: FeedOptions) {
    super();
    this.position = query.after;
  }

  async *pages(): AsyncGenerator<Result, void, undefined> {
    const { follow = false, pollMs = 1000, signal } = this.options;
    for (;;) {
      const page = pageOf(await this.read({ limit: this.query.limit ?? feedLimit, after: this.position }), 'next_after', 'has_more');
      yield page;
      this.position = String(page.pagination.next_after);
      if (page.pagination.has_more) continue;
      if (!follow) return;
      await sleep(pollMs, signal);
    }
  }

  override async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) {
      for (const change of page.data) {
        yield change;
        this.position = String(change.sequence);
      }
    }
  }
}
