import { PreconditionFailedError } from './errors.js';

/**
 * Changes a record so that nobody's change is lost: reads it, writes with If-Match, and begins again where somebody else was
 * faster.
 *
 *     await modify(() => client.getUser(1), (user, options) => client.updateUser(1, { name: `${user.name}!` }, options));
 */
export async function modify<Item extends object, Result>(
  read: () => Promise<Item>,
  write: (record: Item, options: { ifMatch: Item }) => Promise<Result>,
  { attempts = 5 }: { attempts?: number } = {},
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    const record = await read();
    try {
      return await write(record, { ifMatch: record });
    } catch (error) {
      if (!(error instanceof PreconditionFailedError) || attempt >= attempts) throw error;
    }
  }
}
