import { all } from './dom';

// Samples that read the origin of the service from the environment, or ask the one of this machine, get that of the page: so they
// reach the service that the reader reads about.

const variables = /(?:process\.env\.LATCHKEY_URL!?|os\.environ\["LATCHKEY_URL"\]|os\.Getenv\("LATCHKEY_URL"\))( ?\+ ?")?/g;

function withOrigin(text: string): string {
  const { origin } = location;
  if (text.includes('export LATCHKEY_URL=')) return text.replace(/(export LATCHKEY_URL=)\S+/, `$1${origin}`);
  const changed = text.replace(/\$LATCHKEY_URL\b/g, origin).replace(/^(curl .*?)https:\/\/127\.0\.0\.1:8443(?=\/)/gm, `$1${origin}`)
    .replace(variables, (_, beginning?: string) => (beginning === undefined ? `"${origin}"` : `"${origin}`));
  return /\bos\./.test(changed) ? changed : changed.replace(/^import os\n\n|^\t"os"\n/m, ''); // nothing else came from there
}

export function showOrigin(): void {
  for (const block of all('pre > code[class^="language-"]')) {
    const text = block.textContent ?? '';
    const changed = withOrigin(text);
    if (changed !== text) block.textContent = changed;
  }
}
