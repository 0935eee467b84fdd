import { all, button, element } from './dom';

// A button at each block of text that puts it on the clipboard.
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
    frame.append(block, copy);
  }
}
