// Rights of the key in use over webhooks. A key that sends changes to an address must be allowed to
// read them too.
import { can } from './context';

export const mayWrite = (): boolean => can('webhooks:write');
export const mayTell = (): boolean => mayWrite() && can('changes:read');
