// What a query finds. Every word of it must begin a word of the title or of the text, or one of its synonyms must. Titles go before
// texts, then guides before operations and problems. Schemas come after whatever has the words: they are the reference of the rest.

export interface Entry { title: string; path: string; kind: string; text: string; words: string }
export interface Prepared { entry: Entry; rank: number; title: string; text: string }

const resultsMax = 12;
const textPlace = 100; // of a word that the text has, and the title has not
const kinds = ['Guide', 'Operation', 'Problem', 'Schema'];

// The field's words for what the documents call otherwise.
const synonyms: Record<string, string[]> = {
  acme: ['tls certificates'],
  apikey: ['key'],
  auth: ['authentication'],
  backup: ['back up', 'restore'],
  bearer: ['authentication', 'authorization'],
  compose: ['container', 'install'],
  csrf: ['cross site'],
  docker: ['container', 'install'],
  etag: ['no lost changes'],
  expiry: ['expire'],
  forbidden: ['403'],
  getting: ['first request'],
  golang: ['client libraries', 'openapi'],
  ha: ['cluster'],
  helm: ['container', 'install'],
  idempotent: ['idempotency'],
  introspection: ['introspect'],
  kong: ['keys from other systems', 'gateway'],
  kubernetes: ['container', 'install'],
  letsencrypt: ['tls certificates'],
  login: ['sessions', 'console'],
  nginx: ['gateway', 'proxy'],
  oauth: ['jwt', 'token'],
  organization: ['project'],
  pagination: ['paging'],
  permission: ['scope'],
  podman: ['container', 'install'],
  postman: ['openapi'],
  quickstart: ['first request'],
  quota: ['limit'],
  rate: ['limit'],
  rbac: ['scope'],
  remove: ['delete', 'deactivate'],
  retry: ['retries', 'idempotency'],
  revoke: ['deactivate'],
  role: ['scope'],
  rollback: ['upgrade', 'restore'],
  rotate: ['replace key', 'replace secret'],
  sdk: ['client libraries'],
  sse: ['stream'],
  started: ['first request'],
  swagger: ['openapi'],
  tenant: ['project'],
  throttle: ['limit'],
  throttling: ['limit'],
  tracing: ['traces'],
  ttl: ['expiry', 'expire'],
  unauthorized: ['401'],
  verify: ['protect your own api'],
  websocket: ['stream'],
  whitelist: ['allowlist', 'addresses'],
};
// What is proposed where nothing is found, as far as it finds something.
const proposals = ['revoke', 'quota', 'retry', 'backup', 'webhook'];
const proposalsMax = 3;

// As the service cuts texts into words.
function wordsOf(text: string): string[] {
  return text.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
}

function spaced(text: string): string {
  return ` ${wordsOf(text).join(' ')} `;
}

export function prepare(entry: Entry): Prepared {
  return { entry, rank: kinds.indexOf(entry.kind), title: spaced(entry.title), text: spaced(`${entry.path} ${entry.text} ${entry.words}`) };
}

// Where a word is found; lower is better.
function placeOf({ title, text }: Prepared, word: string): number {
  const isLong = word.length > 3; // a shorter one stands within many words
  if (title.startsWith(` ${word}`)) return 0;
  if (title.includes(` ${word}`)) return 1;
  if (isLong && title.includes(word)) return 2;
  if (text.includes(` ${word}`)) return textPlace;
  return isLong && text.includes(word) ? textPlace + 1 : Infinity;
}

// A synonym in the title counts like the word itself where the text has that, else a little less.
function placeOfAny(each: Prepared, word: string): number {
  const stem = word.length > 3 ? word.replace(/s$/, '') : word; // limits, limit
  const place = Math.min(placeOf(each, word), placeOf(each, `${stem} `)); // a whole word: cors is no kind of core
  const others = (synonyms[word] ?? synonyms[stem] ?? []).map((phrase) => Math.max(...phrase.split(' ').map((part) => placeOf(each, part))));
  return Math.min(place, Math.min(...others) + (place < Infinity ? 0 : 3));
}

function costOf({ entry, rank }: Prepared, wordCount: number): number {
  return 10 * rank + (entry.kind === 'Schema' ? textPlace * wordCount : 0);
}

export function find(index: Prepared[], query: string): Entry[] {
  const words = wordsOf(query);
  if (words.length === 0) return [];
  const all = index.map((each) => ({ each, points: words.reduce((sum, word) => sum + placeOfAny(each, word), costOf(each, words.length)) }))
    .filter(({ points }) => points < Infinity).sort((left, right) => left.points - right.points).map(({ each }) => each);
  const named = all.slice(resultsMax).filter(({ title }) => title === spaced(query)); // User is found by its name, behind all users
  return [...all.slice(0, resultsMax), ...named].map(({ entry }) => entry);
}

export function suggestions(index: Prepared[]): string[] {
  return proposals.filter((word) => find(index, word).length > 0).slice(0, proposalsMax);
}
