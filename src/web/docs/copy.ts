import { all, button, element } from './dom';

const titles: Record<string, string> = { sh: 'Shell', http: 'HTTP', json: 'JSON', ts: 'TypeScript', typescript: 'TypeScript', python: 'Python', go: 'Go' };

function titleOf(block: HTMLElement): string {
  const language = block.querySelector('code')?.className.replace('language-', '') ?? '';
  return titles[language] ?? language;
}

// A bar above each block of text, with a button that puts it on the clipboard: over the block it would cover text.
export function addCopyButtons(within: ParentNode = document): void {
  for (const block of all('pre', within)) {
    const frame = element('div', { class: 'copyable' });
    block.replaceWith(frame);
    const copy = button('Copy', 'copy', async () => {
      try {
        await navigator.clipboard.writeText(block.textContent ?? '');
        copy.textContent = 'Copied';
      } catch {
        getSelection()?.selectAllChildren(block); // to be copied by hand
        copy.textContent = 'Selected';
      }
      setTimeout(() => { copy.textContent = 'Copy'; }, 1500);
    });
    frame.append(element('div', { class: 'bar' }, element('span', {}, titleOf(block)), copy), block);
  }
}
