// Requests with the login of the console: its cookie goes with them, and the field shows the service that a page of its own
// sends them, which no page of another origin can do without being asked about.
export interface Answer { status: number; statusText: string; milliseconds: number; fields: [string, string][]; body: string }

export async function send(method: string, path: string, body: string | undefined, fields: Record<string, string>): Promise<Answer> {
  const start = performance.now();
  const headers: Record<string, string> = { ...fields, Accept: 'application/json', 'X-Requested-With': 'latchkey' };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const response = await fetch(path, { method, headers, credentials: 'same-origin', cache: 'no-store', redirect: 'error', ...(body === undefined ? {} : { body }) });
  const text = await response.text();
  return { status: response.status, statusText: response.statusText, milliseconds: Math.round(performance.now() - start),
    fields: [...response.headers.entries()], body: text };
}

export function hasConsole(): boolean {
  return document.querySelector('.elsewhere a[href="/console"]') !== null;
}
