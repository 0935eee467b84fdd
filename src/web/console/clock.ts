// The time of the service. Times in its answers are told against it: by the clock of a computer that is wrong, a key would have
// expired that works, and what happened now be days ago.

const storageName = 'latchkey.clock_ahead'; // for the pages that follow, which ask before they have an answer
const tolerance = 2000; // Date has whole seconds, and an answer takes its time

let ahead = Number(localStorage.getItem(storageName) ?? 0) || 0; // of this computer, in milliseconds

export const now = (): number => Date.now() - ahead;

// From the Date of an answer to a request that was sent at `sent` by this computer's clock.
export function setClock(date: string | null, sent: number): void {
  const time = Date.parse(date ?? '');
  if (Number.isNaN(time)) return;
  const difference = (sent + Date.now()) / 2 - (time + 500);
  const seen = Math.abs(difference) > tolerance ? Math.round(difference) : 0;
  if (Math.abs(seen - ahead) <= tolerance && (seen === 0) === (ahead === 0)) return;
  ahead = seen;
  if (seen === 0) localStorage.removeItem(storageName);
  else localStorage.setItem(storageName, String(seen));
}
